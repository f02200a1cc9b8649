"""Sensitivity: how far one person moves an answer. In closed form where there is one; else by looking at all databases.

Comes in: a query by name or any function of a database, the range of its values, sizes, and which databases are
neighbours or how far apart they are. Goes out: a fraction, with the two databases that are this far apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

from sfumato.design.asking import SensitivityProblem, Survey, ask, shown, survey
from sfumato.design.databases import Database, DatabaseDomain, path_of
from sfumato.design.queries import QUERIES, DatabaseRange, NamedQuery, by_adjacency, by_metric
from sfumato.design.telling import html_table, say
from sfumato.errors import InputError
from sfumato.mechanisms.metrics import (
    NORMALISED,
    Distance,
    Metric,
    as_distance,
    distances,
    is_zero,
    manhattan,
    same,
    word_function,
)
from sfumato.types import as_written, show

CLOSED = ("manhattan", NORMALISED)
ONE = Fraction(1)
SAID = {
    "both": "one record added, removed or changed",
    "add-remove": "one record added or removed",
    "replace": "one record changed",
}


@dataclass(frozen=True)
class Swing:
    """How far an answer moves: the largest, two databases that show it, and over which databases it was looked for."""

    value: Distance
    databases: tuple[Database, Database] | None
    answers: tuple[Any, Any] | None
    how: str
    approximate: bool = False

    def _repr_html_(self) -> str:
        rows = [("sensitivity", say(self.value)), ("by", self.how)]
        if self.databases is not None and self.answers is not None:
            rows += [(shown(x), say(y)) for x, y in zip(self.databases, self.answers, strict=True)]
        return html_table(("", "approximate" if self.approximate else ""), rows)


def sensitivity(query: Any, low: Any = None, high: Any = None, **options: Any) -> Distance:
    """How far apart the answers of two neighbours can be, or of two databases for each unit of their distance.

    A Fraction; a real where a Euclidean distance makes it a root. `swing` says more, and takes the same words.

    >>> sensitivity("average", 0, 120, min_size=100)
    Fraction(6, 5)
    >>> sensitivity(lambda ages: max(ages) - min(ages), 0, 4, size=3, adjacency="replace")
    Fraction(4, 1)
    """
    return swing(query, low, high, **options).value


def swing(
    query: str | Callable[[Database], Any], low: Any = None, high: Any = None, *, closed: bool = True, **options: Any
) -> Swing:
    """The sensitivity with its witness.

    `min_size` or exact `size`: how many records there are. `adjacency`: "both" (one record is added, removed or
    changed, as in the lecture), "add-remove" or "replace". `metrics` (d_X, d_Y) asks for the largest
    d_Y(f(x), f(x')) / d_X(x, x') over any two databases of one size instead. `percentile` is the p of that query,
    `where` the property of a count. A function, or a query with `values`, `where` or `closed=False`, is looked at on
    every database with values from low to high by `step` (1 unless said), or of the list `values`, from `min_size` to
    `max_size` records (one more than the least unless said): what is found holds for these databases. A metric is a
    word, a function, or a matrix: of the values, and then it adds up over records, or of the answers in their order.
    """
    asked = ask(query, low, high, **options)
    formula = closed and isinstance(asked.query, str) and asked.values is None and asked.where is None
    return _formula(asked) if formula and _has_formula(asked) else _widest(asked, survey(asked))


def _has_formula(asked: SensitivityProblem) -> bool:
    if asked.metrics is None:
        return True
    first, second = asked.metrics
    plain = isinstance(second, str) and second in ("manhattan", "euclidean")
    return plain and isinstance(first, str) and first in (*CLOSED, "hamming")


def _formula(asked: SensitivityProblem) -> Swing:
    query = QUERIES[str(asked.query)]
    over = _range(asked, query)
    if asked.size == 0:
        raise InputError("no two databases are neighbours here", detail="There is one database of no records.")
    many = f"{over.least} record{'' if over.least == 1 else 's'}"
    sizes = many if asked.size is not None else f"at least {many}" if over.least else "any number of records"
    values = "" if asked.low is None else f"values from {show(over.low)} to {show(over.high)}, "
    if asked.metrics is None or asked.metrics[0] == "hamming":
        word = asked.adjacency if asked.metrics is None or asked.size is None else "replace"
        found = by_adjacency(query, over, word, asked.size is not None)
        apart = SAID["replace" if asked.size is not None else word]
    else:
        found = by_metric(query, over, asked.metrics[0] == NORMALISED)
        apart = f"for each unit of the {asked.metrics[0]} distance"
    return Swing(found, None, None, f"closed form: {values}{sizes}, {apart}")


def _range(asked: SensitivityProblem, query: NamedQuery) -> DatabaseRange:
    least = max(asked.least, query.needs)
    if asked.size is not None and asked.size < query.needs:
        raise InputError(f"the {query.name} of an empty database is not defined", hint="Name a size of at least 1.")
    if asked.low is None or asked.high is None:
        if not query.property or asked.metrics is not None:
            raise InputError(f"the {query.name} needs low and high: the range of a value")
        return DatabaseRange(Fraction(0), Fraction(1), least, asked.step)
    if asked.low > asked.high:
        raise InputError(f"low must be at most high, but is {show(asked.low)} > {show(asked.high)}")
    if not 0 < asked.percentile <= 100:
        raise InputError(f"percentile must be above 0 and at most 100, but is {show(asked.percentile)}")
    return DatabaseRange(asked.low, asked.high, least, asked.step)


def _widest(asked: SensitivityProblem, seen: Survey) -> Swing:
    """Every pair of databases of the domain."""
    d_x, d_y = asked.metrics or (None, "manhattan")
    answers, between, unit = _in_units(d_y, seen.answers)
    found: Any = 0
    widest = None
    looked = False
    for one, other, apart in _pairs(asked, seen.domain, d_x):
        looked = True
        moved = between(answers[one], answers[other])
        if moved is found or is_zero(moved):
            continue
        if is_zero(apart):
            raise InputError("two databases at distance 0 have different answers: there is no sensitivity")
        ratio = moved / apart if apart is not ONE else moved
        if not same(ratio, found) and _more(ratio, found):
            found, widest = ratio, (one, other)
    if not looked:
        raise InputError("no two databases are neighbours here", hint="Allow sizes that differ, or replace.")
    pair = None if widest is None else (seen.answers[widest[0]], seen.answers[widest[1]])
    return Swing(found / unit, widest, pair, seen.how, seen.approximate)


def _in_units(
    metric: Metric, answers: dict[Database, Any]
) -> tuple[dict[Database, Any], Callable[[Any, Any], Any], Fraction]:
    """Numbers as whole multiples of 1/unit, whose differences are quick; else the answers and their metric."""
    plain = isinstance(metric, str) and metric in ("manhattan", "euclidean")
    if not plain or any(isinstance(a, (tuple, list)) for a in answers.values()):
        measure = _between_answers(metric, list(answers.values()))
        return answers, lambda a, b: as_distance(measure(a, b)), Fraction(1)
    exact = {database: as_written(answer, "answer") for database, answer in answers.items()}
    unit = lcm(*(answer.denominator for answer in exact.values()))
    return {d: int(a * unit) for d, a in exact.items()}, lambda a, b: abs(a - b), Fraction(unit)


def _more(ratio: Distance, found: Distance) -> bool:
    """ratio > found; ratios of roots that agree to thousands of bits count as equal."""
    try:
        return bool(ratio > found)
    except ArithmeticError:
        return False


def _pairs(
    asked: SensitivityProblem, domain: DatabaseDomain, d_x: Metric
) -> Iterator[tuple[Database, Database, Distance]]:
    if asked.metrics is None or (isinstance(d_x, str) and d_x == "hamming"):
        # any two databases are joined by neighbours: the largest ratio is one of neighbours
        word = asked.adjacency if asked.metrics is None or asked.size is None else "replace"
        yield from ((one, other, ONE) for one, other in domain.neighbours(word))
        return
    if isinstance(d_x, str) and d_x in CLOSED and path_of(domain.values):
        # distances add up along steps from value to value: the largest ratio is one of a step
        unit = domain.values[-1] - domain.values[0] if d_x == NORMALISED else Fraction(1)
        yield from ((one, other, manhattan(one, other) / (unit or 1)) for one, other in domain.steps())
        return
    measure = _between_databases(d_x, domain.values)
    yield from ((one, other, as_distance(measure(one, other))) for one, other in domain.equals())


def _between_databases(metric: Metric, values: Sequence[Any]) -> Callable[[Any, Any], Any]:
    """The metric as a function; a matrix is one of values, in their order, and adds up over records."""
    if metric is None or isinstance(metric, str) or callable(metric):
        return word_function(metric, [(value,) for value in values])
    between = _looked_up(metric, values)
    return lambda x, y: sum((between(a, b) for a, b in zip(x, y, strict=True)), Fraction(0))


def _between_answers(metric: Metric, answers: Sequence[Any]) -> Callable[[Any, Any], Any]:
    """The metric as a function; a matrix is one of the answers that occur, in ascending order."""
    if metric is None or isinstance(metric, str) or callable(metric):
        return word_function(metric, answers)
    try:
        return _looked_up(metric, sorted(set(answers)))
    except TypeError as error:
        raise InputError("a matrix of distances needs answers that have an order") from error


def _looked_up(matrix: Sequence[Sequence[Any]], points: Sequence[Any]) -> Callable[[Any, Any], Any]:
    table, place = distances(matrix, points), {point: i for i, point in enumerate(points)}
    return lambda a, b: table[place[a]][place[b]]
