"""What the commands of the drawing board share: the channel of a problem, tables, epsilons in words, pictures."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from sfumato.design.channels import channel
from sfumato.design.compose import Pair
from sfumato.design.telling import short
from sfumato.doors.cli.problem import Problem
from sfumato.doors.cli.say import console, print_whole
from sfumato.errors import InputError
from sfumato.mechanisms import Channel
from sfumato.reals import Real
from sfumato.words import show

WIDE = 12
"""Columns of a channel that are shown to people; all go to programs."""
ASKED = ("min_size", "size", "max_size", "adjacency", "metrics", "values", "step", "percentile", "where")
MADE = ("outputs", "epsilon", "sensitivity", "step", "metric")
APPROXIMATE = "approximate: made from floats"


@dataclass(frozen=True)
class Drawn:
    """Where to draw."""

    plot: bool
    svg: Path | None

    def lines(self, text: Sequence[str]) -> None:
        """In the terminal."""
        if self.plot:
            for line in text:
                console().print(line, soft_wrap=True)

    def file(self, svg: str) -> None:
        """Into a file."""
        if self.svg is not None:
            self.svg.write_text(svg, encoding="utf-8")
            sys.stderr.write(f"Wrote {self.svg}\n")


def tell(lines: Sequence[str]) -> None:
    """Plain lines."""
    out = console()
    for line in lines:
        out.print(line, soft_wrap=True)


def grid_of(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table without lines, as wide as it is."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for i, head in enumerate(heads):
        table.add_column(head, no_wrap=True, justify="right" if i else "left")
    for row in rows:
        table.add_row(*row)
    print_whole(console(), table)


def make(problem: Problem, mechanism: str | None = None) -> Channel:
    """The channel of a problem."""
    if "table" in problem and mechanism is None:
        return channel(problem["table"], problem.get("inputs"), problem.get("outputs"))
    word = mechanism or problem.get("mechanism")
    if not isinstance(word, str):
        raise InputError("name a mechanism, or give its --table")
    return channel(word, problem.get("inputs"), **{key: problem[key] for key in MADE if key in problem})


def level_text(made: Channel, pair: Pair) -> str:
    """An epsilon: the logarithm of the very ratio where the entries are fractions."""
    if pair.epsilon is None:
        return "none"
    number = f"{float(pair.epsilon):.12g}"
    if pair.ratio is None or pair.output is None or any(isinstance(p, Real) for row in made.matrix for p in row):
        return number
    plain = not isinstance(pair.distance, Real)
    over = "" if plain and pair.distance == 1 else f" / {short(pair.distance)}"
    return f"ln {show(pair.ratio)}{over} ≈ {number}"
