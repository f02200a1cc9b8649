"""COUNT(DISTINCT x) and SUM(DISTINCT x): each person keeps at most K values, by a keyed hash. Of the values that
anybody kept, the number or the sum.

Guarantee: one person moves the sum of all groups by at most K times the largest |x|.
Proof: what others keep does not depend on her, so a value leaves or enters a group's set only if she keeps it there;
    she keeps K pairs of group and value, and each moves its group's sum by its size, to which the engine holds it.
Reference: semantics 3.5; Dwork, McSherry, Nissim, Smith, TCC 2006.
Checked by: laws::the_claim_holds_where_each_rule_bites, laws::no_neighbour_exceeds_what_is_derived
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import prod

from sfumato.algebra.aggregates import over_public, over_unit
from sfumato.algebra.aggregates.base import (
    DISTINCT,
    AggregateKind,
    Bundle,
    Formula,
    Range,
    bounded_number,
    first,
    first_draw,
)
from sfumato.algebra.relations import listed, size_of
from sfumato.algebra.tree import DOUBLE, INTEGER, Aggregate, Column, Facts, Node, columns_of
from sfumato.errors import QueryError


def _bind(args: tuple[Node, ...], where: Node | None, position: int) -> Aggregate:
    if not args:
        raise QueryError("COUNT(DISTINCT …) needs a column", position=position, sqlstate="42601")
    if args[0].facts.kind == DOUBLE:
        raise QueryError(
            "COUNT(DISTINCT …) needs exact values, but this is a double", position=position, hint="Write ROUND(x, 2)."
        )
    facts = Facts(INTEGER, None, None, Fraction(1), nullable=False)
    return Aggregate("count_distinct", args[0], where, facts, position)


def _range(aggregate: Aggregate) -> Range:
    assert aggregate.arg is not None
    most = most_values(aggregate.arg)
    return Fraction(0), None if most is None else Fraction(most)


_DIFFERENT = Formula(DISTINCT, first, first_draw, lambda _, names: f"how many different values {names} has", plain=True)
COUNT_DISTINCT = AggregateKind(
    "count_distinct",
    _bind,
    lambda _: Bundle((), Fraction(1)),
    _DIFFERENT,
    DISTINCT,
    range=_range,
    never_null=True,
    usage="COUNT(DISTINCT x), COUNT(DISTINCT (x, y))",
    words="the number of different values, or of different rows",
    over_unit=over_unit.different,
    over_public=over_public.counted,
)


def _bind_sum(args: tuple[Node, ...], where: Node | None, position: int) -> Aggregate:
    number = bounded_number(args[0] if args else None, "SUM(DISTINCT …)", position)
    facts = Facts(number.facts.kind, None, None, number.facts.grid, nullable=True)
    return Aggregate("sum_distinct", number, where, facts, position)


def _range_of_sum(aggregate: Aggregate) -> Range:
    """What adds up numbers that are not negative is not negative."""
    low = None if aggregate.arg is None else aggregate.arg.facts.low
    return (Fraction(0) if low is not None and low >= 0 else None), None


_ADDED = Formula("sum_distinct", first, first_draw, lambda _, names: f"the sum of different {names}", plain=True)
SUM_DISTINCT = AggregateKind(
    "sum_distinct",
    _bind_sum,
    lambda _: Bundle((), Fraction(1)),
    _ADDED,
    DISTINCT,
    adds_values=True,
    range=_range_of_sum,
    never_null=True,
    usage="SUM(DISTINCT x)",
    words="the sum of the different values; also AVG, VAR and STDDEV of them",
    over_public=over_public.summed,
)


def size_of_value(aggregate: Aggregate) -> Fraction:
    """By how much one value more or less moves the number: one, or the largest value."""
    if not _adds(aggregate):
        return Fraction(1)
    assert aggregate.arg is not None
    return max(aggregate.arg.facts.largest, unit_of(aggregate))


def unit_of(aggregate: Aggregate) -> Fraction:
    """What the engine's whole number is a multiple of: one, or the grid of the values."""
    if not _adds(aggregate):
        return Fraction(1)
    assert aggregate.arg is not None
    return aggregate.arg.facts.grid or Fraction(1)


def is_nonnegative(aggregate: Aggregate) -> bool:
    """Whether no value can make the number smaller."""
    if not _adds(aggregate):
        return True
    assert aggregate.arg is not None
    return aggregate.arg.facts.low is not None and aggregate.arg.facts.low >= 0


def _adds(aggregate: Aggregate) -> bool:
    return aggregate.name == SUM_DISTINCT.name


@lru_cache(maxsize=4096)
def most_values(arg: Node) -> int | None:
    """How many different values an expression can have, NULL aside; None without a limit.

    Guarantee: no admissible rows give it more.
    Proof: three bounds hold, and the least is taken. Its facts: a list, a truth, or whole steps between two bounds. Its
        form: what CASE and COALESCE choose from. And its columns: a function has no more values than arguments, of
        which an unknown column is one more, for COALESCE and CASE make values of NULL.
    Reference: semantics 1.4, 3.5.
    Checked by: laws::no_rows_have_more_different_values, laws::the_claim_holds_where_each_rule_bites
    """
    written, columns = listed(arg), [size_of(column.facts) for column in columns_of(arg).values()]
    known = [size_of(replace(arg.facts, nullable=False)), None if written is None else len(set(written))]
    if not isinstance(arg, Column) and None not in columns:
        known.append(prod(size for size in columns if size is not None))
    return min((size for size in known if size is not None), default=None)


def moved(arg: Node, kept: int, cells: int | None) -> tuple[int, int]:
    """How many different values one person can add: in one group, and in all groups together.

    `kept` is K, of all her values in all groups; `cells` the number of groups, None where it is not known.

    Guarantee: her coming or going changes no group's number by more than the first, nor all of them together by more
        than the second; the squares of the changes add up to at most the product of both.
    Proof: a group's number changes by at most the values that she kept there, which are no more than there are; over
        all groups she kept K. Squares add up to at most the largest change times the sum of all.
    Reference: semantics 3.5.
    Checked by: laws::the_claim_holds_where_each_rule_bites, laws::mutations_of_the_plan_are_caught
    """
    listed_values = most_values(arg)
    if listed_values is None:
        return kept, kept
    one = max(1, min(kept, listed_values))
    return one, kept if cells is None else max(1, min(kept, listed_values * cells))
