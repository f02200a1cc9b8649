"""The rows of an answer as marks of a chart: which column is the axis, which ones are told apart by colour and shape.

Comes in: an Answer and the columns that were asked for. Goes out: a ChartPlan, and a Mark for each row.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Literal

from sfumato.errors import InputError
from sfumato.gateway.rounding import around, plain

if TYPE_CHECKING:
    from sfumato.gateway.answer import Answer

MOST_SERIES = 8
"""Lines, or colours of grouped bars, in one chart: of more, the largest, and the chart says so."""
_FEWEST_POINTS = 13
"""Numbers from so many rows on are a line; fewer are bars."""
_CODE = re.compile(r"(^|_)(zip|zipcode|postcode|postal|plz|code|id|ward|district)(_|$)", re.IGNORECASE)
"""Whole numbers that are names: they have bars, as in the console."""
_SEPARATOR = " · "
_TIMES = ("date", "timestamp")
_DAY = 86400.0


@dataclass(frozen=True, slots=True)
class Mark:
    """One row of a chart: its key, also as text and as a place on an axis; its value and the ends of its interval.

    The name has all keys of the row, the group the one that is drawn over, the series the others. A row without a
    finite number, or with one that is called unknown, is not drawn.
    """

    key: Any
    name: str
    at: float
    value: float
    low: float
    high: float
    text: str
    series: str = ""
    group: str = ""
    drawn: bool = True


@dataclass(frozen=True, slots=True)
class ChartPlan:
    """What is drawn: numbers of one column over another one, and a series for each combination of further ones."""

    kind: Literal["line", "groups", "bars"]
    key: int | None
    series: tuple[int, ...]
    value: int


def plan_chart(answer: Answer, x: str | None, y: str | None) -> ChartPlan:
    """By default the first noisy number over a time, else over a number with further keys, else over the first key."""
    names = list(answer.columns)
    for name, what in ((x, "x"), (y, "y")):
        if name is not None and name not in names:
            raise InputError(f'{what}: there is no column "{name}"', hint=f"The columns are {', '.join(names)}.")
    numbers = [i for i, kind in enumerate(answer.types) if kind in ("bigint", "numeric")]
    keys = [i for i, noisy in enumerate(answer.noisy) if not noisy]
    if y is not None and names.index(y) not in numbers:
        raise InputError(f'y: column "{y}" does not hold numbers')
    if y is not None and x is None:
        keys = [i for i in keys if i != names.index(y)]
    kind, key = _kind_and_key(answer, keys, None if x is None else names.index(x))
    drawn = [i for i in numbers if i != key]
    value = names.index(y) if y is not None else next((i for i in drawn if answer.noisy[i]), next(iter(drawn), None))
    if value is None:
        raise InputError("this answer has no column of numbers to draw")
    return ChartPlan(kind, key, () if key is None else tuple(i for i in keys if i not in (key, value)), value)


def _kind_and_key(
    answer: Answer, keys: Sequence[int], chosen: int | None
) -> tuple[Literal["line", "groups", "bars"], int | None]:
    counts = [len({row[i] for row in answer.rows}) for i in range(len(answer.columns))]
    if chosen is None and len(keys) > 1:
        times = [i for i in keys if is_time(answer, i)]
        axis = max(times or [i for i in keys if _is_number(answer, i)], key=lambda i: counts[i], default=None)
        if axis is not None and counts[axis] > 2:
            return "line", axis
        if len(keys) == 2 and min(counts[i] for i in keys) > 1:
            return "groups", max(keys, key=lambda i: counts[i])  # fewer values are colours, more are groups
        return "bars", keys[0]
    key = chosen if chosen is not None else next(iter(keys), None)
    if key is None:
        return "bars", None
    others = [i for i in keys if i != key]
    if is_time(answer, key) or (_is_number(answer, key) and counts[key] >= (3 if others else _FEWEST_POINTS)):
        return "line", key
    return ("groups" if len(others) == 1 and min(counts[key], counts[others[0]]) > 1 else "bars"), key


def is_time(answer: Answer, column: int) -> bool:
    """Whether a column holds dates or times."""
    return answer.types[column] in _TIMES


def _is_number(answer: Answer, column: int) -> bool:
    """Whether a column holds numbers that are no codes."""
    kind = answer.types[column]
    return kind == "numeric" or (kind == "bigint" and not _CODE.search(answer.columns[column]))


def marks_of(answer: Answer, plan: ChartPlan) -> list[Mark]:
    """A mark for each row."""
    result, value = [], plan.value
    for place, (row, ends, unknown) in enumerate(zip(answer.rows, answer.intervals(), answer.untold(), strict=True)):
        drawn = row[value] is not None and not unknown[value] and math.isfinite(float(row[value]))
        number = float(row[value]) if drawn else 0.0
        interval = ends[value]
        low, high = (number, number) if interval is None or not drawn else (float(interval[0]), float(interval[1]))
        keys = [] if plan.key is None else [plan.key, *plan.series]
        words = [plain(row[i]) for i in keys]
        at = float(place) if plan.key is None else _place(row[plan.key], place)
        result.append(
            Mark(
                key=None if plan.key is None else row[plan.key],
                name=_SEPARATOR.join(words),
                at=at,
                value=number,
                low=low,
                high=high,
                text=" ".join(part for part in around(row[value], interval) if part),
                series=_SEPARATOR.join(words[1:]),
                group=words[0] if words else "",
                drawn=drawn,
            )
        )
    return result


def _place(key: Any, row: int) -> float:
    if isinstance(key, datetime):
        return key.timestamp() if key.tzinfo else (key - datetime(1970, 1, 1)).total_seconds()  # noqa: DTZ001  naive is UTC
    if isinstance(key, date):
        return float((key - date(1970, 1, 1)).days) * _DAY
    if key is None:
        return math.nan
    return float(row) if isinstance(key, bool | str) else float(key)


def by_series(marks: Iterable[Mark]) -> dict[str, list[Mark]]:
    """The marks of each series, in the order of the answer."""
    series: dict[str, list[Mark]] = {}
    for mark in marks:
        series.setdefault(mark.series, []).append(mark)
    return series


def largest_series(marks: Iterable[Mark]) -> tuple[list[str], int]:
    """The names of the series with the largest numbers in total, in the order of the answer, and how many there are."""
    sizes = {name: sum(abs(mark.value) for mark in part) for name, part in by_series(marks).items()}
    chosen = sorted(sizes, key=lambda name: -sizes[name])[:MOST_SERIES]
    return [name for name in sizes if name in chosen], len(sizes)
