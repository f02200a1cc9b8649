"""MIN, MAX, MEDIAN, percentiles and MODE: they choose among public candidates, by weighted ranks or counts.

Candidates are the whole steps of the grid, days, or the values of a list (semantics 3.5). What is chosen is a candidate
even where there is no row; how good it is can be said in ranks only, so there is no interval of values.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sfumato.errors import QueryError
from sfumato.sql.aggregates.base import CHOICE, Bundle, Kind, bounded_number, filtered_to_null
from sfumato.sql.emit import expression, literal
from sfumato.sql.tree import BOOLEAN, DATE, DECIMAL, NUMBERS, TEXT, Aggregate, Constant, Node

NAMES = ("min", "max", "median", "percentile_cont", "percentile_disc", "mode")


def _bind(name: str, args: tuple[Node, ...], where: Node | None, position: int) -> Aggregate:
    if not args:
        raise QueryError(f"{name.upper()} needs a column", position=position, sqlstate="42601")
    arg, extra = args[0], ""
    if name.startswith("percentile"):
        value = args[1].value if len(args) > 1 and isinstance(args[1], Constant) else None
        if isinstance(value, bool) or not isinstance(value, int | Fraction) or not 0 <= value <= 1:
            raise QueryError("a percentile needs a written fraction from 0 to 1", position=position, sqlstate="22003")
        extra = str(Fraction(value))
    facts = arg.facts
    if facts.kind == DATE and facts.bounded:
        return Aggregate(name, arg, where, replace(facts, nullable=False, values=None), position, extra)
    if name == "mode" and (facts.kind == BOOLEAN or facts.values is not None):
        return Aggregate(name, arg, where, replace(facts, nullable=False), position, extra)
    if facts.kind not in NUMBERS:
        raise QueryError(
            f"{name.upper()} needs numbers or dates with bounds" + (", or a list" if name == "mode" else ""),
            position=position,
            hint="Declare min and max in the policy, or values for MODE.",
        )
    arg = bounded_number(arg, name.upper(), position)
    kind = DECIMAL if name in ("median", "percentile_cont") else arg.facts.kind
    return Aggregate(name, arg, where, replace(arg.facts, kind=kind, nullable=False, values=None), position, extra)


def candidates(aggregate: Aggregate) -> tuple[int, int]:
    """The first and the last place that a value can have."""
    facts = _argument(aggregate).facts
    if aggregate.name == "mode" and (facts.kind == BOOLEAN or facts.values is not None):
        return 0, (2 if facts.values is None else len(facts.values)) - 1
    assert facts.low is not None
    assert facts.high is not None
    grid = facts.grid or Fraction(1)
    return int(facts.low / grid), int(facts.high / grid)


def place(aggregate: Aggregate) -> str:
    """The SQL of a row's place, NULL where it does not take part."""
    arg = _argument(aggregate)
    facts = arg.facts
    inner = expression(filtered_to_null(arg, aggregate.where))
    if facts.kind == DATE:
        return f"CAST({inner} - DATE '0001-01-01' AS BIGINT) + 1"
    if aggregate.name != "mode" or (facts.kind != BOOLEAN and facts.values is None):
        return inner
    values = facts.values if facts.values is not None else (False, True)
    branches = " ".join(f"WHEN {literal(value, facts)} THEN {i}" for i, value in enumerate(values))
    return f"CASE {inner} {branches} END"


def value(aggregate: Aggregate, chosen: int) -> Fraction | str | bool | int:
    """The value at a place; a day by its number."""
    facts = _argument(aggregate).facts
    if aggregate.name == "mode" and facts.values is not None:
        listed = facts.values[chosen]
        return Fraction(listed) if isinstance(listed, int) and facts.kind not in (BOOLEAN, TEXT) else listed
    if aggregate.name == "mode" and facts.kind == BOOLEAN:
        return bool(chosen)
    return chosen if facts.kind == DATE else chosen * (facts.grid or Fraction(1))


def fraction(aggregate: Aggregate) -> Fraction | None:
    """Which quantile is asked for; None for the ends and the mode."""
    if aggregate.name == "median":
        return Fraction(1, 2)
    return Fraction(aggregate.extra) if aggregate.extra else None


def _argument(aggregate: Aggregate) -> Node:
    assert aggregate.arg is not None
    return aggregate.arg


def _kind(name: str) -> Kind:
    def bind(args: tuple[Node, ...], where: Node | None, position: int) -> Aggregate:
        return _bind(name, args, where, position)

    return Kind(name, bind, lambda _: Bundle((), Fraction(1)), lambda _, sums: sums[0], CHOICE)


ORDERS = tuple(_kind(name) for name in NAMES)
