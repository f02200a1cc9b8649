"""What an aggregate is made of: parts that the engine adds up, the length of a row in them, and the number that comes
of it.

An aggregate is a file with one `Kind`, a row of the table AGGREGATES: everybody who parses, plans, answers, tells of or
documents it finds what it is there, and knows no name of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sqlglot import exp

from sfumato.algebra.functions import call
from sfumato.algebra.noise_sums import Draw, Linear, Moment, Pick, Ratio
from sfumato.algebra.noise_widths import NoiseTerm
from sfumato.algebra.tree import DOUBLE, INTEGER, NULL, Aggregate, Call, Constant, Facts, Node
from sfumato.errors import QueryError

ONE = Constant(1, Facts(INTEGER, Fraction(1), Fraction(1), Fraction(1), False))
ZERO = Constant(0, Facts(INTEGER, Fraction(0), Fraction(0), Fraction(1), False))

SUMS, DISTINCT, CHOICE = "sums", "distinct", "choice"
"""How an aggregate is released: noise on sums, noise on a number of different values, or a choice by ranks."""


@dataclass(frozen=True)
class Bundle:
    """Parts that are released together at one scale.

    Guarantee: for every admissible row the sizes of its parts add up to at most `length`.
    Proof: for one part it is the largest size that interval arithmetic gives; for the two ends of a mean, (x - low) and
        (high - x) are not negative and add up to high - low; the three parts of a variance are the terms of that sum's
        square, the nine of two numbers those of a product of two squares.
    Reference: Kulesza, Suresh, Wang, ICML 2024 (two-ended sums); Bernstein's polynomials.
    Checked by: laws::no_row_is_longer_than_its_bundle
    """

    parts: tuple[Node, ...]
    length: Fraction
    person: bool = False
    whole: bool = False
    """No part is negative, and together they are as long as the bundle in every row that is known."""

    @property
    def nonnegative(self) -> bool:
        """No part can be negative."""
        return self.whole or all(part.facts.low is not None and part.facts.low >= 0 for part in self.parts)


Sums = tuple[Fraction, ...]
"""The noisy sums of a bundle in one group."""


@dataclass(frozen=True)
class Formula:
    """How a number comes of the noisy sums of a bundle."""

    name: str
    """Its name in digests and messages."""
    value: Callable[[Aggregate, Sums, NoiseTerm | None], Any]
    """The number, given the noise of each sum."""
    number: Callable[[Aggregate, Callable[[int], Draw]], Ratio | Moment | Pick | None] = lambda *_: None
    """The same as draws, of which intervals are made, given which draw each sum is; None where there is no interval."""
    words: Callable[[Aggregate, str], str] = lambda *_: "the number of rows"
    """What is released for it, given the names of the columns that it is about."""
    plain: bool = False
    """It is the bundle's one sum as it is."""
    adds_up: bool = False
    """Totals of it over groups are sums of the same kind."""


@dataclass(frozen=True)
class Joint:
    """Sums of one argument that several aggregates come of, for one price."""

    bundle: Callable[[Aggregate], Bundle]
    formulas: Mapping[str, Formula]
    """By the name of the aggregate."""
    is_wanted: Callable[[set[str]], bool]
    """Given the names of all aggregates that are asked of the same argument."""


@dataclass(frozen=True)
class AggregateKind:
    """An aggregate, as a row of the table AGGREGATES."""

    name: str
    bind: Callable[[tuple[Node, ...], Node | None, int], Aggregate]
    """The aggregate of these arguments under this FILTER, with what is known of its value; or a refusal."""
    bundle: Callable[[Aggregate], Bundle]
    """What is summed over rows."""
    formula: Formula
    measure: str = SUMS
    adds_values: bool = False
    """Different values are added up, not counted: each is held to its bounds, and moves the number by its size."""
    of_constant: Formula | None = None
    """From a number of rows, where the argument is the same in every row."""
    range: Callable[[Aggregate], Range] = lambda _: (None, None)
    """Within which numbers it is shown (semantics 4.3)."""
    never_null: bool = False
    """It has a number also where there is no row."""
    usage: str = ""
    """How it is written."""
    words: str = ""
    """What it gives, in a few words."""
    nodes: tuple[type[exp.Expression], ...] = ()
    """The parser's kinds of node for it; the first has its name as PostgreSQL's title of the column."""
    by_name: bool = False
    """The parser has no kind of node for it: it is known by its name alone."""
    over_unit: Callable[[str, tuple[Node, ...], int, int], Facts] | None = None
    """What is known of it over at most so many rows of one person; None where it is not supported there."""
    over_public: Callable[[str, tuple[Node, ...], int], Facts] | None = None
    """What is known of it over public rows; None where it is not supported there."""


Range = tuple[Fraction | None, Fraction | None]


def first(_: Aggregate, sums: Sums, __: NoiseTerm | None) -> Fraction:
    """The value of a plain sum."""
    return sums[0]


def first_draw(_: Aggregate, draw: Callable[[int], Draw]) -> Ratio:
    """A plain sum as its draw."""
    return Ratio(Linear(frozenset([(draw(0), Fraction(1))])))


def from_zero(_: Aggregate) -> Range:
    """No number below zero is shown."""
    return Fraction(0), None


def filtered(part: Node, where: Node | None) -> Node:
    """The part where the FILTER holds, else nothing."""
    return part if where is None else call("case", (where, part, ZERO))


def filtered_to_null(arg: Node, where: Node | None) -> Node:
    """The value where the FILTER holds, else NULL."""
    return arg if where is None else call("case", (where, arg, Constant(None, Facts(NULL))))


def known(arg: Node) -> Node:
    """The condition that the argument is not NULL."""
    return call("not", (call("is null", (arg,)),))


_DIGITS, _ROOM = 6, 1 << 60
"""Digits after the point to which a double is rounded before it is added up, and how many steps that may take."""


def _on_a_grid(arg: Node, position: int) -> Node:
    """A double as the exact number that it was, or rounded: to six digits where its bounds leave room for them."""
    if isinstance(arg, Call) and arg.name == "cast" and arg.extra == DOUBLE and arg.args[0].facts.exact:
        return arg.args[0]
    if not arg.facts.bounded:
        return arg
    digits = _DIGITS
    while digits and arg.facts.largest * 10**digits >= _ROOM:
        digits -= 1
    return call("round", (arg,), str(digits), position) if arg.facts.largest * 10**digits < _ROOM else arg


def bounded_number(arg: Node | None, name: str, position: int) -> Node:
    """An exact number with bounds, which sums need."""
    if arg is None:
        raise QueryError(f"{name} needs a column", position=position, sqlstate="42601")
    facts = arg.facts
    if facts.kind not in ("integer", "decimal", "double"):
        raise QueryError(f"{name} needs numbers, but was given {facts.kind}", position=position, sqlstate="42883")
    if not facts.exact:
        arg = _on_a_grid(arg, position)
        facts = arg.facts
    if not facts.exact:
        raise QueryError(
            f"{name} needs numbers on a grid, so that sums are exact",
            position=position,
            hint="Declare min, max and grid in the policy, or round the expression: ROUND(x, 2).",
        )
    if not facts.bounded:
        raise QueryError(
            f"{name} needs bounds: without them, one person's influence is unlimited",
            position=position,
            hint="Declare min and max in the policy (in Python: bounds=), or clamp: LEAST(GREATEST(x, 0), 100).",
        )
    return arg
