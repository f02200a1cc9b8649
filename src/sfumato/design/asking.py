"""What is asked about a query: its range, sizes, neighbours; and its answers on every database of a finite domain.

Comes in: the words of `sensitivity` and `universal`. Goes out: a record of them, and a survey of all databases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.design.databases import Database, DatabaseDomain, as_adjacency
from sfumato.design.queries import QUERIES, query_named
from sfumato.design.ranges import ladder, tidy
from sfumato.errors import InputError, SfumatoError
from sfumato.mechanisms.metrics import Metric
from sfumato.types import as_written, show, whole


@dataclass(frozen=True)
class SensitivityProblem:
    """What the sensitivity is wanted of."""

    query: str | Callable[[Database], Any]
    low: Fraction | None
    high: Fraction | None
    least: int
    size: int | None
    most: int | None
    adjacency: str
    metrics: tuple[Metric, Metric] | None
    values: tuple[Any, ...] | None
    step: Fraction | None
    percentile: Fraction
    where: Callable[[Any], bool] | None


def ask(
    query: str | Callable[[Database], Any],
    low: Any = None,
    high: Any = None,
    *,
    min_size: int | None = None,
    size: int | None = None,
    max_size: int | None = None,
    adjacency: Any = "both",
    metrics: tuple[Metric, Metric] | str | None = None,
    values: Sequence[Any] | None = None,
    step: Any = None,
    percentile: Any = 50,
    where: Callable[[Any], bool] | None = None,
) -> SensitivityProblem:
    """The words as a record, each of them checked."""
    if min_size is None and size is None and not isinstance(query, str):
        min_size = _fewest(query)
    return SensitivityProblem(
        query if not isinstance(query, str) else query_named(query).name,
        None if low is None else as_written(low, "low"),
        None if high is None else as_written(high, "high"),
        whole((min_size or 0) if size is None else size, "size", 0),
        None if size is None else whole(size, "size", 0),
        None if max_size is None else whole(max_size, "max_size", 0),
        as_adjacency(adjacency),
        _metrics(metrics),
        None if values is None else tuple(values),
        None if step is None else as_written(step, "step"),
        as_written(percentile, "percentile"),
        where,
    )


def _fewest(function: Callable[[Database], Any]) -> int:
    """A function that says nothing about nobody is asked about somebody."""
    try:
        function(())
    except Exception:  # noqa: BLE001  a stranger's function may fail in any way
        return 1
    return 0


def _metrics(given: tuple[Metric, Metric] | str | None) -> tuple[Metric, Metric] | None:
    if given is None:
        return None
    pair = tuple(word.strip() for word in given.split(",")) if isinstance(given, str) else tuple(given)
    if len(pair) == 1:
        pair = (pair[0], "manhattan")
    if len(pair) != 2:
        raise InputError("metrics are two: of databases and of answers", hint='For example ("hamming", "manhattan").')
    return pair[0], pair[1]


@dataclass(frozen=True)
class Survey:
    """Every database of a domain and its answer."""

    domain: DatabaseDomain
    answers: dict[Database, Any]
    approximate: bool

    @property
    def how(self) -> str:
        """Over which databases."""
        small, large = self.domain.smallest, self.domain.largest
        sizes = f"{small}" if small == large else f"{small} to {large}"
        many = "record" if sizes == "1" else "records"
        return f"all {self.domain.count} databases of {sizes} {many} with {len(self.domain.values)} values"


def survey(asked: SensitivityProblem) -> Survey:
    """Ask every database."""
    values = asked.values
    if values is None:
        if asked.low is None or asked.high is None:
            raise InputError("a function needs low and high, or the list of values: the domain that is looked at")
        values = tuple(as_written(v, "value") for v in ladder(asked.low, asked.high, asked.step or 1))
    least = max(asked.least, QUERIES[asked.query].needs if isinstance(asked.query, str) else 0)
    grows = asked.size is None and asked.adjacency != "replace" and (asked.metrics or ("hamming",))[0] == "hamming"
    most = asked.size if asked.size is not None else (asked.most or max(least + int(grows), 1))
    domain = DatabaseDomain(values, least, max(most, least))
    function = _function(asked)
    try:
        answers = {database: function(database) for database in domain.all()}
    except TypeError:  # it may want ints, where fractions would keep its averages exact
        plain = DatabaseDomain(tuple(tidy(v) if isinstance(v, Fraction) else v for v in values), least, domain.largest)
        answers = {database: _answer(function, database) for database in plain.all()}
        domain = plain
    except SfumatoError:
        raise
    except Exception:  # noqa: BLE001  a stranger's function may fail in any way; below it is said where
        answers = {database: _answer(function, database) for database in domain.all()}
    answers = {database: int(answer) if isinstance(answer, bool) else answer for database, answer in answers.items()}
    return Survey(domain, answers, any(isinstance(answer, float) for answer in answers.values()))


def _function(asked: SensitivityProblem) -> Callable[[Database], Any]:
    if not isinstance(asked.query, str):
        return asked.query
    query, p = QUERIES[asked.query], asked.percentile
    split = asked.high if asked.values is None else asked.values[-1]
    where = asked.where or (lambda v: v == split)
    return lambda database: query.compute(database, where, p)


def _answer(function: Callable[[Database], Any], database: Database) -> Any:
    try:
        return function(database)
    except Exception as error:
        raise InputError(
            "the function fails on a database of the domain",
            detail=f"{type(error).__name__} on {shown(database)}: {error}",
            hint="Name a minimum size, or values that it is defined for.",
        ) from error


def shown(database: Any) -> str:
    """A database, or a value, as people write it."""
    if isinstance(database, tuple):
        return "(" + ", ".join(shown(v) for v in database) + ")"
    return show(database) if isinstance(database, Fraction) else str(database)
