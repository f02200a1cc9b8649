"""`sfumato demo`, `init`, `check` and `prepare`: the first steps of an owner."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.doors.cli.commands.shape import HERE, Json, PolicyFile, group, help_of

commands = group()


@commands.command(
    "demo",
    help=help_of(
        "Ask a made-up clinic four questions, in SQL; then open its doors, until Ctrl-C.\n\n"
        "Shows noisy answers, how far off they may be, what each of them costs and what is left of the "
        "budget; then one question again, which is free, and one that is refused. The doors stay open on ports of this "
        "machine, with lines to copy. DIR is kept between runs; passwords are new at each start.",
        "sfumato demo --fresh --check",
    ),
)
def _demo(
    directory: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Where the sample clinic is kept (default ./sfumato-demo).")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over: files, ledger and budget.")] = False,
    json: Json = False,
    check: Annotated[
        bool,
        typer.Option("--check", help="Ask through every door, and stop; without DIR in a temporary one."),
    ] = False,
) -> None:
    from sfumato.doors.cli.demo import run

    run(directory, fresh=fresh, as_json=json, check=check)


@commands.command(
    "init",
    help=help_of(
        "Draft a policy from the names and types of columns; no row is read.\n\n"
        "DATA are .parquet, .csv, .tsv or .jsonl files, patterns of them in quotes, or one .duckdb database. "
        'What only you can decide is marked "?" in the draft; a file that is there already is not written over.',
        "sfumato init sfumato-demo/patient.parquet sfumato-demo/visit.csv --unit patient.ssn -o draft.toml",
    ),
)
def _init(
    data: Annotated[list[str], typer.Argument(metavar="DATA", help="Where the rows are.")],
    unit: Annotated[
        str | None,
        typer.Option("--unit", metavar="TABLE.COLUMN", help="Who the person is (default: asks on a terminal)."),
    ] = None,
    output: Annotated[Path, typer.Option("-o", metavar="FILE", help="Where to write.")] = HERE,
) -> None:
    from sfumato.doors.cli.owner import run_init

    run_init(data, unit, output)


@commands.command(
    "check",
    help=help_of(
        "Check a policy against its data, and admit the data version.\n\n"
        "Names every mistake with its line; reads the rows once and tells you, and nobody else, how far they keep to "
        "what is declared. Exit code 2 if the policy cannot be served.",
        "sfumato check -p sfumato-demo/sfumato.toml",
    ),
)
def _check(policy: PolicyFile = HERE, json: Json = False) -> None:
    from sfumato.doors.cli.owner import run_check

    run_check(policy, as_json=json)


@commands.command(
    "prepare",
    help=help_of(
        "Store the rows clustered by person, so that each question takes less work.\n\n"
        "Answers stay the same. What is stored is used for this policy, data version and state of the files alone: "
        "prepare again when one of them has changed.",
        "sfumato prepare -p sfumato-demo/sfumato.toml",
    ),
)
def _prepare(policy: PolicyFile = HERE, json: Json = False) -> None:
    from sfumato.doors.cli.owner import run_prepare

    run_prepare(policy, as_json=json)
