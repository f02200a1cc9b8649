"""`sfumato anonymize`, `release-check` and `hierarchy draft`: tables to be published."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli.commands.common import Json, PolicyFile, group, help_of, takes

commands = group()
hierarchy = group("hierarchy", "Hierarchies for `sfumato anonymize`.")

_TEXTS = {
    "quasi": ("--quasi", "A,B", "Quasi-identifiers: what others may know about a person."),
    "sensitive": ("--sensitive", "S", "The sensitive column."),
    "l": ("-l", "L", "l-diversity: different sensitive values in each class."),
    "diversity": ("--diversity", "KIND", "distinct (default), entropy or recursive."),
    "c": ("--ratio", "C", "The c of recursive (c,l)-diversity (default 3)."),
    "t": ("-t", "T", "t-closeness: each class within T of the table."),
    "distance": ("--distance", "KIND", "equal (default), ordered or hierarchical."),
    "order": ("--order", "V,W", "Sensitive values from low to high, for the ordered distance."),
    "keep": ("--keep", "A,B", "Columns to release unchanged."),
}
_SHARED = {
    name: (Annotated[str | None, typer.Option(option, metavar=metavar, help=about)], None)
    for name, (option, metavar, about) in _TEXTS.items()
}
_K = {"k": (Annotated[str | None, typer.Option("-k", metavar="K", help="Each class has at least K rows.")], None)}
_CLAIMED = {
    "beta": (Annotated[str | None, typer.Option("--beta", metavar="B", help="beta-likeness.")], None),
    "presence": (
        Annotated[
            str | None, typer.Option("--presence", metavar="LOW,HIGH", help="delta-presence, with --population.")
        ],
        None,
    ),
    "population": (
        Annotated[str | None, typer.Option("--population", metavar="DATA", help="The larger table of all people.")],
        None,
    ),
}
_MADE = {
    "suppress": (
        Annotated[str | None, typer.Option("--suppress", metavar="P", help="Fraction of rows that may be suppressed.")],
        None,
    ),
    "dummies": (
        Annotated[str | None, typer.Option("--dummies", metavar="P", help="Fraction of rows that may be dummies.")],
        None,
    ),
    "sampling": (
        Annotated[
            str | None,
            typer.Option("--sampling", metavar="F", help="Fraction of the population in the table, for uniqueness."),
        ],
        None,
    ),
    "method": (
        Annotated[str | None, typer.Option("--method", metavar="NAME", help="lattice (global, optimal) or mondrian.")],
        None,
    ),
}
Hierarchies = Annotated[
    Path | None,
    typer.Option("--hierarchies", metavar="DIR", help="A folder of NAME_hierarchy_COLUMN.csv, or a TOML file."),
]


@commands.command(
    "anonymize",
    help=help_of(
        "Make a k-anonymous release with minimal information loss.\n\n"
        "Also l-diversity and t-closeness; prints the gap to the best release. "
        "DATA is a CSV or Parquet file, DATABASE.duckdb#TABLE, postgresql://…#TABLE, or a FILE.toml with the same "
        "keys; options take precedence. Ctrl-C ends the search with the best release so far. --dry-run writes nothing "
        "and compares several k. Such a release resists linking only; `sfumato attack --release` shows what other "
        "attacks learn.",
        "sfumato anonymize sfumato-demo/patient.parquet --quasi age,area --sensitive disease -k 5 --suppress 0.05 "
        "-o release.csv",
    ),
)
@takes(_SHARED | _K | _CLAIMED | _MADE)
def _anonymize(
    data: Annotated[str, typer.Argument(metavar="DATA", help="The table, or a TOML file.")],
    *,
    hierarchies: Hierarchies = None,
    out: Annotated[str | None, typer.Option("-o", "--out", metavar="OUT", help="Where to write the release.")] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", metavar="S", help="Stop the search after S seconds (default: 30).")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Loss and risk for several k; nothing is written.")
    ] = False,
    dimensions: Annotated[
        bool, typer.Option("--dimensions", help="Loss against the number of quasi-identifiers; nothing is written.")
    ] = False,
    svg: Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Draw the loss as an SVG file.")] = None,
    record: Annotated[
        Path | None, typer.Option("--record", metavar="FILE", help="Record the release for later checks.")
    ] = None,
    json: Json = False,
    **words: Any,
) -> None:
    from sfumato.cli.anonymize import AnonymizeCommand, run

    run(AnonymizeCommand(data, words, hierarchies, out, seconds, dry_run, dimensions, svg, record), as_json=json)


@commands.command(
    "release-check",
    help=help_of(
        "Check a published table against the original.\n\n"
        "Computes k, l and t as exact fractions. Checks that every label covers the value it stands for, that all "
        "columns are declared, that rows are not in the order of the original ones, that the file contains nothing "
        "but its rows, and what remains protected given earlier releases of the same people. The output lists what was "
        "checked exactly, what by heuristics, and what was not checked. Exit code 1 if there is a fault or something "
        "could not be checked. Rows that are merely unsorted are noted.",
        "sfumato release-check release.csv --raw sfumato-demo/patient.parquet --quasi age,area --sensitive disease",
    ),
)
@takes(_SHARED | _K | _CLAIMED)
def _release_check(
    release: Annotated[str, typer.Argument(metavar="OUT", help="The published table.")],
    *,
    raw: Annotated[str, typer.Option("--raw", metavar="DATA", help="The original table.")],
    hierarchies: Hierarchies = None,
    earlier: Annotated[
        list[str] | None, typer.Option("--earlier", metavar="OUT", help="An earlier release of the same people.")
    ] = None,
    record: Annotated[
        Path | None, typer.Option("--record", metavar="FILE", help="The record of earlier releases.")
    ] = None,
    dummies: Annotated[
        int | None,
        typer.Option("--dummies", metavar="N", help="Number of rows that are dummies (default: what the record says)."),
    ] = None,
    canonical: Annotated[
        Path | None,
        typer.Option(
            "--canonical", metavar="FILE", help="Write the same rows as a sorted CSV file without anything else."
        ),
    ] = None,
    json: Json = False,
    **words: Any,
) -> None:
    from sfumato.cli.release_check import run

    run(
        release, raw, words, hierarchies=hierarchies, earlier=earlier or [], record=record, dummies=dummies,
        canonical=canonical, as_json=json,
    )  # fmt: skip


@hierarchy.command(
    "draft",
    help=help_of(
        "Draft hierarchies from declared types and bounds.\n\n"
        "No row is read. Without DATA, the columns are those of a table in the policy; otherwise those of the file, "
        'with "?" where the owner has to decide.',
        "sfumato hierarchy draft -p sfumato-demo/sfumato.toml --table patient --quasi age,admitted,zipcode",
    ),
)
def _draft(
    data: Annotated[str | None, typer.Argument(metavar="DATA", help="A Parquet or CSV file.")] = None,
    *,
    policy: PolicyFile = Path("sfumato.toml"),
    table: Annotated[str | None, typer.Option("--table", metavar="TABLE", help="Which table of the policy.")] = None,
    quasi: Annotated[str | None, typer.Option("--quasi", metavar="A,B", help="Which columns (default: all).")] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help="Where to write.")] = None,
) -> None:
    from sfumato.cli.hierarchy import draft

    draft(data, policy, table, quasi, out)
