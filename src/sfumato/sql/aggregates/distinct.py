"""COUNT(DISTINCT x): each person keeps at most K values, by a keyed hash; the number of values that anybody kept."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import prod

from sfumato.errors import QueryError
from sfumato.sql.aggregates import over_public, over_unit
from sfumato.sql.aggregates.base import DISTINCT, AggregateKind, Bundle, Formula, Range, first, first_draw
from sfumato.sql.relations import listed, size_of
from sfumato.sql.tree import DOUBLE, INTEGER, Aggregate, Column, Facts, Node, columns_of


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
    usage="COUNT(DISTINCT x)",
    words="the number of different values",
    over_unit=over_unit.different,
    over_public=over_public.counted,
)


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
