"""`sfumato demo`, `init`, `check` and `prepare`: the first steps of an owner."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.commands.common import HERE, Json, PolicyFile, group, help_of

commands = group()


@commands.command(
    "demo",
    help=help_of(
        "Query a synthetic clinic data set, then serve it.\n\n"
        "Runs until Ctrl-C. "
        "Shows noisy answers with confidence intervals, their cost and what is left of the budget; then a repeated "
        "query, which is free, and one that is refused. Then serves PostgreSQL, HTTP and the console on this machine "
        "and prints commands to copy. DIR is kept between runs; passwords are new at each start. With --students it "
        "also prints one link for a class: each student who opens it gets an account and a budget. Add "
        "--http 0.0.0.0:8439 so that other machines can connect (without TLS: nobody in the data is real).",
        "sfumato demo --fresh --check",
    ),
)
def _demo(
    directory: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Where to keep the clinic (default ./sfumato-demo).")
    ] = None,
    *,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over: new files, ledger and budget.")] = False,
    json: Json = False,
    check: Annotated[
        bool,
        typer.Option("--check", help="Query every interface once, then stop."),
    ] = False,
    survey: Annotated[bool, typer.Option("--survey", help="Add a survey page that adds noise in the browser.")] = False,
    students: Annotated[
        int, typer.Option("--students", metavar="N", help="A class of N (DIR is then ./sfumato-class).")
    ] = 0,
    pg: Annotated[str | None, typer.Option("--pg", metavar="HOST:PORT", help="For PostgreSQL clients.")] = None,
    http: Annotated[str | None, typer.Option("--http", metavar="HOST:PORT", help="For HTTP and the console.")] = None,
) -> None:
    from sfumato.cli.demo import DemoOptions, run

    run(directory, DemoOptions(fresh, json, check, survey, pg, http, students))


@commands.command(
    "init",
    help=help_of(
        "Draft a policy from column names and types.\n\n"
        "No row is read. "
        "DATA is .parquet, .csv, .tsv or .jsonl files, quoted patterns of them, one .duckdb database, or "
        "postgresql://USER@HOST/DATABASE. "
        'What only you can decide is marked "?" in the draft. An existing file is never overwritten.',
        "sfumato init sfumato-demo/patient.parquet sfumato-demo/visit.csv --unit patient.ssn -o draft.toml",
    ),
)
def _init(
    data: Annotated[list[str], typer.Argument(metavar="DATA", help="Files or database with the rows.")],
    unit: Annotated[
        str | None,
        typer.Option(
            "--unit", metavar="TABLE.COLUMN", help="Column that identifies a person, or row. Asks if missing."
        ),
    ] = None,
    output: Annotated[Path, typer.Option("-o", metavar="FILE", help="Where to write.")] = HERE,
    master: Annotated[
        str | None,
        typer.Option(
            "--master",
            metavar="MASTER",
            help="Spark master, for example local[2]. DATA may be table:NAME or table:SCHEMA.*",
        ),
    ] = None,
) -> None:
    from sfumato.cli.owner import run_init

    run_init(data, unit, output, master)


@commands.command(
    "check",
    help=help_of(
        "Check a policy against its data.\n\n"
        "Also records the data version. "
        "Reports every mistake with its line, reads the rows once, and shows only you where they do not match the "
        "policy. Exit code 2 if the policy cannot be served, 1 if a column is mostly outside its declared domain.",
        "sfumato check -p sfumato-demo/sfumato.toml",
    ),
)
def _check(policy: PolicyFile = HERE, json: Json = False) -> None:
    from sfumato.cli.owner import run_check

    run_check(policy, as_json=json)


@commands.command(
    "prepare",
    help=help_of(
        "Store the rows so that queries run faster.\n\n"
        "They are clustered by privacy unit. "
        "Answers stay the same. The stored rows are used for this policy, data version and state of the files only: "
        "run it again when one of them changes.",
        "sfumato prepare -p sfumato-demo/sfumato.toml",
    ),
)
def _prepare(policy: PolicyFile = HERE, json: Json = False) -> None:
    from sfumato.cli.owner import run_prepare

    run_prepare(policy, as_json=json)
