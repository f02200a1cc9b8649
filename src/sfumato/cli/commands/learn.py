"""`sfumato learn`: exercises with checked answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.commands.common import Json, group, help_of

commands = group()


@commands.command(
    "learn",
    help=help_of(
        "Exercises with computed and checked answers.\n\n"
        "Without NAME all are listed. --answer takes 0.25, 1/4, 25 % or ln 3; exit code 1 if it is wrong. The name "
        "holdout runs a demonstration: an analysis over-fits a hold-out set, but not through the gateway.",
        "sfumato learn coins --answer 'ln 3'",
    ),
)
def _learn(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Which exercise, or holdout.")] = None,
    *,
    answer: Annotated[str | None, typer.Option("--answer", metavar="NUMBER", help="Check this answer.")] = None,
    show: Annotated[bool, typer.Option("--show", help="Show the answer, and the command that computes it.")] = False,
    svg: Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="holdout: draw it into a file.")] = None,
    json: Json = False,
) -> None:
    from sfumato.cli.learn import run

    run(name, answer, svg, show=show, as_json=json)
