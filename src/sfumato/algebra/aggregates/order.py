"""MIN, MAX, MEDIAN, percentiles and MODE: they choose among public candidates, by weighted ranks or counts.

Candidates are the whole steps of the grid, days, seconds, or the values of a list (semantics 3.5). What is chosen is a
candidate even where there is no row; how good it is is said in ranks (`ranks`), and by an interval of values that was
drawn beside a quantile. An end has none but this: there is a value at it or further out.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

from sqlglot import exp

from sfumato.algebra.aggregates import over_public, over_unit
from sfumato.algebra.aggregates.base import CHOICE, AggregateKind, Bundle, Formula, Range, bounded_number
from sfumato.algebra.noise_sums import Pick
from sfumato.algebra.tree import (
    BOOLEAN,
    DATE,
    DECIMAL,
    NUMBERS,
    TEXT,
    TIMES,
    TIMESTAMP,
    Aggregate,
    Column,
    Constant,
    Node,
)
from sfumato.errors import GeneralHint, Obstacle, QueryError

_DAY = 86_400
NAMES = ("min", "max", "median", "percentile_cont", "percentile_disc", "mode")


def _bind(name: str, args: tuple[Node, ...], where: Node | None, position: int) -> Aggregate:
    if not args:
        raise QueryError(f"{name.upper()} needs a column", position=position, sqlstate="42601")
    arg, extra = args[0], ""
    if name.startswith("percentile"):
        value = args[1].value if len(args) > 1 and isinstance(args[1], Constant) else None
        if isinstance(value, bool) or not isinstance(value, int | Fraction) or not 0 <= value <= 1:
            raise QueryError("a percentile needs a literal fraction from 0 to 1", position=position, sqlstate="22003")
        extra = str(Fraction(value))
    facts = arg.facts
    if facts.kind in TIMES and facts.bounded:
        every = facts.every if facts.kind == DATE else "second"
        if isinstance(arg, Column):  # candidates are the moments between the bounds, also where some are listed
            arg = replace(arg, facts=replace(facts, values=None))
        return Aggregate(name, arg, where, replace(facts, nullable=True, values=None, every=every), position, extra)
    if name == "mode" and (facts.kind == BOOLEAN or facts.values is not None):
        return Aggregate(name, arg, where, replace(facts, nullable=True), position, extra)
    if facts.kind == TEXT and name in ("min", "max"):
        raise QueryError(
            f"{name.upper()} of text would return a value of one person",
            position=position,
            hint=GeneralHint("Count the values: SELECT x, COUNT(*) FROM t GROUP BY x."),
            obstacle=Obstacle.TEXT_ORDERED,
        )
    if facts.kind not in NUMBERS:
        raise QueryError(
            f"{name.upper()} needs numbers, dates or timestamps with bounds"
            + (", or a list" if name == "mode" else ""),
            position=position,
            hint="Declare min and max in the policy, or values for MODE.",
        )
    arg = bounded_number(arg, name.upper(), position)
    kind = DECIMAL if name in ("median", "percentile_cont") else arg.facts.kind
    return Aggregate(name, arg, where, replace(arg.facts, kind=kind, nullable=True, values=None), position, extra)


def candidates(aggregate: Aggregate) -> tuple[int, int]:
    """The first and the last place that a value can have."""
    facts = _argument(aggregate).facts
    if aggregate.name == "mode" and (facts.kind == BOOLEAN or facts.values is not None):
        return 0, (2 if facts.values is None else len(facts.values)) - 1
    assert facts.low is not None
    assert facts.high is not None
    if facts.kind == TIMESTAMP:
        return (int(facts.low) - 1) * _DAY, int(facts.high) * _DAY - 1
    grid = facts.grid or Fraction(1)
    return int(facts.low / grid), int(facts.high / grid)


def moment(place: int) -> datetime:
    """The moment at a place: whole seconds from the first day on."""
    return datetime(1, 1, 1) + timedelta(seconds=place)  # noqa: DTZ001  times have no zone here


def value(aggregate: Aggregate, chosen: int) -> Fraction | str | bool | int:
    """The value at a place; a day by its number, a moment by its second."""
    facts = _argument(aggregate).facts
    if aggregate.name == "mode" and facts.values is not None:
        listed = facts.values[chosen]
        return Fraction(listed) if isinstance(listed, int) and facts.kind not in (BOOLEAN, TEXT) else listed
    if aggregate.name == "mode" and facts.kind == BOOLEAN:
        return bool(chosen)
    return chosen if facts.kind in TIMES else chosen * (facts.grid or Fraction(1))


def fraction(aggregate: Aggregate) -> Fraction | None:
    """Which quantile is asked for; None for the ends and the mode."""
    if aggregate.name == "median":
        return Fraction(1, 2)
    return Fraction(aggregate.extra) if aggregate.extra else None


def _argument(aggregate: Aggregate) -> Node:
    assert aggregate.arg is not None
    return aggregate.arg


def _range(aggregate: Aggregate) -> Range:
    """From the first candidate to the last; a day by its number, a moment by its second."""
    if aggregate.name == "mode":
        return None, None
    grid = Fraction(1) if _argument(aggregate).facts.kind in TIMES else _argument(aggregate).facts.grid or Fraction(1)
    low, high = candidates(aggregate)
    return low * grid, high * grid


_CHOSEN = Formula(
    CHOICE, lambda aggregate, sums, _: value(aggregate, int(sums[0])), number=lambda _, draw: Pick(draw(0))
)


_ABOUT: dict[str, dict[str, Any]] = {
    "min": {
        "usage": "MIN(x)",
        "words": "the smallest value, chosen by rank",
        "nodes": (exp.Min,),
        "over_unit": over_unit.one_of_them,
        "over_public": over_public.one_of_them,
    },
    "max": {
        "usage": "MAX(x)",
        "words": "the largest value, chosen by rank",
        "nodes": (exp.Max,),
        "over_unit": over_unit.one_of_them,
        "over_public": over_public.one_of_them,
    },
    "median": {
        "usage": "MEDIAN(x)",
        "words": "the value in the middle, chosen by rank",
        "nodes": (exp.Median,),
        "over_unit": over_unit.interpolated,
        "over_public": over_public.as_double,
    },
    "percentile_cont": {
        "usage": "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)",
        "words": "the value below which this fraction of rows lies, chosen by rank",
        "nodes": (exp.PercentileCont,),
        "over_unit": over_unit.interpolated,
        "over_public": over_public.as_double,
    },
    "percentile_disc": {
        "usage": "PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY x)",
        "words": "the same, always one of the values",
        "nodes": (exp.PercentileDisc,),
        "over_unit": over_unit.one_of_them,
        "over_public": over_public.one_of_them,
    },
    "mode": {
        "usage": "MODE() WITHIN GROUP (ORDER BY x)",
        "words": "the most frequent value of a list",
        "nodes": (exp.Mode,),
        "over_public": over_public.one_of_them,
    },
}


def _kind(name: str) -> AggregateKind:
    def bind(args: tuple[Node, ...], where: Node | None, position: int) -> Aggregate:
        return _bind(name, args, where, position)

    return AggregateKind(name, bind, lambda _: Bundle((), Fraction(1)), _CHOSEN, CHOICE, range=_range, **_ABOUT[name])


ORDERS = tuple(_kind(name) for name in NAMES)
