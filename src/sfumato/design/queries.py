"""Queries by name: how each is computed, and how far its answer moves, in closed form.

Comes in: a range of values, sizes, an adjacency or a metric. Goes out: a function of a database; a fraction. What is
said here in formulas is checked by looking at all databases of small domains.

W is high - low and n the smallest number of records. Under "replace" one record takes another value; under "add-remove"
there is one record more or less. "percentile" is the value of rank ceil(p n / 100); "percentage" is how many in a
hundred have a property. "median" is the percentile of 50.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.errors import InputError

Answer = Any
Where = Callable[[Any], bool]


@dataclass(frozen=True)
class DatabaseRange:
    """Over which databases: numbers from low to high, at least `least` records; a step where the values have one."""

    low: Fraction
    high: Fraction
    least: int
    step: Fraction | None = None

    @property
    def width(self) -> Fraction:
        """W."""
        return self.high - self.low


@dataclass(frozen=True)
class NamedQuery:
    """A name, how to compute it, the fewest records that it needs, and what it is with a property."""

    name: str
    compute: Callable[[Sequence[Any], Where, Fraction], Answer]
    needs: int
    property: bool = False


def _rank(records: Sequence[Any], p: Fraction) -> Any:
    return sorted(records)[max(1, -(-p * len(records) // 100)) - 1]


QUERIES = {
    query.name: query
    for query in (
        NamedQuery("count", lambda x, where, _: sum(1 for v in x if where(v)), 0, property=True),
        NamedQuery("sum", lambda x, _, __: sum(x, Fraction(0)), 0),
        NamedQuery("average", lambda x, _, __: sum(x, Fraction(0)) / len(x), 1),
        NamedQuery(
            "percentage", lambda x, where, _: Fraction(100 * sum(1 for v in x if where(v)), len(x)), 1, property=True
        ),
        NamedQuery("percentile", lambda x, _, p: _rank(x, p), 1),
        NamedQuery("median", lambda x, _, __: _rank(x, Fraction(50)), 1),
        NamedQuery("max", lambda x, _, __: max(x), 1),
        NamedQuery("min", lambda x, _, __: min(x), 1),
    )
}
"""Every query that has a closed form."""


def query_named(name: str) -> NamedQuery:
    """The query of this name."""
    word = {"mean": "average", "avg": "average", "maximum": "max", "minimum": "min"}.get(name, name)
    if word not in QUERIES:
        raise InputError(
            f'query "{name}" is not known', hint=f"One of: {', '.join(QUERIES)}; or a function of a database."
        )
    return QUERIES[word]


def by_adjacency(query: NamedQuery, over: DatabaseRange, adjacency: str, exact_size: bool) -> Fraction:
    """The sensitivity under an adjacency, in closed form.

    Guarantee: no two neighbours over the range have answers further apart, and some two are that far apart.
    Proof: a replaced record moves a sum by up to W, a mean of n by W/n, an order statistic from low to high (k records
        low and the rest high, the k-th moved up), a count by 1 and a percentage by 100/n. A record v that is added
        moves a sum by |v|; a mean by |mean - v|/(n + 1); a percentage k/n by (n - k)/(n(n + 1)) or k/(n(n + 1)), at
        most 1/(n + 1) of a hundred; an order statistic by W: whether the rank stays or grows with it, one choice of k
        records low has the rank's value on the other side. All are largest for the fewest records. "both" is the
        larger.
    Reference: Dwork, McSherry, Nissim, Smith, TCC 2006 (sensitivity); the average age of the course.
    Checked by: design::closed_forms_agree_with_all_databases
    """
    parts = []
    if adjacency != "add-remove" and not (exact_size and over.least == 0):
        parts.append(_replaced(query.name, over, max(over.least, 1)))
    if adjacency != "replace" and not exact_size:
        parts.append(_added(query.name, over, max(over.least, query.needs)))
    if not parts:
        raise InputError(
            "no two databases are neighbours here",
            detail="All have the same number of records, and neighbours have one more or less.",
            hint='Take the adjacency "replace", or a minimum size.',
        )
    return max(parts)


def _replaced(name: str, over: DatabaseRange, n: int) -> Fraction:
    if over.width == 0:
        return Fraction(0)
    return {
        "count": Fraction(1),
        "sum": over.width,
        "average": over.width / n,
        "percentage": Fraction(100, n),
    }.get(name, over.width)


def _added(name: str, over: DatabaseRange, n: int) -> Fraction:
    return {
        "count": Fraction(1),
        "sum": max(abs(over.low), abs(over.high)),
        "average": over.width / (n + 1),
        "percentage": Fraction(100, n + 1),
    }.get(name, over.width)


def by_metric(query: NamedQuery, over: DatabaseRange, normalised: bool) -> Fraction:
    """The sensitivity with respect to the Manhattan distance of databases of one size, in closed form.

    Guarantee: answers are at most this times the distance apart, and for some two databases exactly this.
    Proof: a record that moves by t moves a sum by t, a mean of n by t/n, an order statistic by at most t. A count jumps
        by 1 however small the move across the threshold is: a step s of the values makes it 1/s, and without a step
        there is no bound. Normalised distances are 1/W of these, so that the sensitivity is W times.
    Reference: Chatzikokolakis, Andres, Bordenabe, Palamidessi, PETS 2013.
    Checked by: design::closed_forms_of_metrics_agree_with_all_databases
    """
    n = max(over.least, 1)
    if over.width == 0:
        raise InputError("a metric of databases needs two values that differ")
    unit = over.width if normalised else Fraction(1)
    if query.property:
        if over.step is None:
            raise InputError(
                f"the {query.name} has no sensitivity with respect to this metric",
                detail="A value next to the bound of the property crosses it by a move as small as one likes.",
                hint="Name the step of the values, or use the Hamming distance.",
            )
        return unit / over.step * (1 if query.name == "count" else Fraction(100, n))
    return unit / n if query.name == "average" else unit
