"""What the design commands share: the channel of a problem, tables, epsilons in words, plots."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from rich.table import Table

from sfumato.cli.design_problem import Problem
from sfumato.cli.outputs import check_apart
from sfumato.design.channels import channel, table
from sfumato.design.compose import TellingPair, after, cascade, parallel
from sfumato.design.queries import query_named
from sfumato.design.ranges import ladder
from sfumato.design.telling import short
from sfumato.errors import InputError
from sfumato.mechanisms import Channel
from sfumato.reals import Real
from sfumato.server.terminal_output import console, print_whole
from sfumato.types import show

WIDE = 12
"""Columns of a channel that are shown to people; all go to programs."""
LONG = 256
"""Bits of a ratio that is still written out."""
ASKED = ("min_size", "size", "max_size", "adjacency", "metrics", "values", "step", "percentile", "where")
MADE = ("outputs", "epsilon", "sensitivity", "step", "metric")
APPROXIMATE = "approximate: made from floats"


@dataclass(frozen=True)
class PlotTarget:
    """Where to draw; `read` is what the command reads."""

    plot: bool
    svg: Path | None
    read: str | Path | None = None

    def __post_init__(self) -> None:
        check_apart(self.svg, "--svg", [self.read])

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
    shown = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for i, head in enumerate(heads):
        shown.add_column(head, no_wrap=True, justify="right" if i else "left")
    for row in rows:
        shown.add_row(*row)
    print_whole(console(), shown)


def make(problem: Problem, mechanism: str | None = None, *, rows: Sequence[Any] | None = None) -> Channel:
    """The channel of a problem: of a mechanism or a table, after a query, beside another, before what is done to it.
    `rows` are the inputs of a mechanism whose rows alone are wanted.
    """
    made = _after(problem, mechanism) if "query" in problem else _plain(problem, mechanism, rows)
    if mechanism is None and "beside" in problem:
        made = parallel(made, make({key: value for key, value in problem.items() if key != "then"}, problem["beside"]))
    if mechanism is None and "then" in problem:
        made = cascade(made, table(problem["then"], made.outputs))
    return made


def _plain(problem: Problem, mechanism: str | None, rows: Sequence[Any] | None = None) -> Channel:
    if "table" in problem and mechanism is None:
        return channel(problem["table"], problem.get("inputs"), problem.get("outputs"))
    word = mechanism or problem.get("mechanism")
    if not isinstance(word, str):
        raise InputError("name a mechanism, or give its --table")
    return channel(word, problem.get("inputs"), rows=rows, **{key: problem[key] for key in MADE if key in problem})


def _after(problem: Problem, mechanism: str | None) -> Channel:
    """Inputs are databases: their answers go through the noise, and the metric is one of databases."""
    databases, word = problem.get("inputs") or [], str(problem["query"])
    if not databases or not all(isinstance(one, tuple) for one in databases):
        raise InputError("with --query the inputs are databases", hint='For example --inputs "(0,0);(0,1);(1,1)".')
    compute = query_named(word).compute
    answers = {one: compute(one, lambda value: value == 1, Fraction(50)) for one in databases}
    places = ladder(min(answers.values()), max(answers.values()), problem.get("step", 1))
    noise = _plain({**problem, "inputs": places, "metric": None}, mechanism)
    return after(answers.__getitem__, databases, noise)


def level_text(made: Channel, pair: TellingPair) -> str:
    """An epsilon: the logarithm of the very ratio where the entries are fractions."""
    if pair.epsilon is None:
        return "none"
    number = f"{float(pair.epsilon):.12g}"
    if pair.ratio is None or pair.output is None or pair.ratio.denominator.bit_length() > LONG:
        return number
    if any(isinstance(p, Real) for row in made.matrix for p in row):
        return number
    plain = not isinstance(pair.distance, Real)
    over = "" if plain and pair.distance == 1 else f" / {short(pair.distance)}"
    return f"ln {show(pair.ratio)}{over} ≈ {number}"
