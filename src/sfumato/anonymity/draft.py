"""Proposals for hierarchies, from what is declared about columns and never from rows.

Comes in: for each column its declared type, bounds or values. Goes out: the text of a TOML file; `"?"` marks what the
owner has to decide.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

_UNITS = ((366 * 40, "decade"), (366 * 3, "year"), (93, "quarter"), (0, "month"))


@dataclass(frozen=True)
class DeclaredColumn:
    """What is known of a column without a look at its rows; its type is empty where nothing declares one."""

    type: str
    low: object = None
    high: object = None
    values: Sequence[str] = ()


def draft_hierarchies(columns: Mapping[str, DeclaredColumn], *, decided: bool = False) -> str:
    """A TOML file with a section for each column; if `decided`, what the owner has to decide is left at `*`."""
    if decided:
        head = "# Drafted from declared types and bounds: no row was read. A column without more is kept, or is *.\n"
        return head + "".join(f"\n[{_quoted(name)}]\n{_decided(column)}" for name, column in columns.items())
    head = (
        "# Generalisation hierarchies, drafted from declared types and bounds: no row was read.\n"
        '# Replace every "?" and change what does not suit your data; release with --hierarchies THIS_FILE.\n'
    )
    return head + "".join(f"\n[{_quoted(name)}]\n{_section(column)}" for name, column in columns.items())


def _quoted(text: str) -> str:
    """A text as TOML writes it, which has no pairs of surrogates."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _decided(column: DeclaredColumn) -> str:
    text = _section(column)
    return 'kind = "star"\n' if '"?"' in text or column.type in ("text", "") else text


def _section(column: DeclaredColumn) -> str:
    if column.values:
        rows = ",\n".join(f'  [{_quoted(str(value))}, "?"]' for value in column.values)
        return f'kind = "rows"      # a label between each value and *, for example its group\nrows = [\n{rows},\n]\n'
    if column.type in ("date", "timestamp"):
        return _dates(column)
    if column.type == "integer":
        return _intervals(column)
    if not column.type:
        return (
            'kind = "star"      # kept as it is, or *: a CSV file declares no types\n'
            '# whole numbers:   kind = "intervals", low = "?", high = "?", widths = [5, 10, 20]\n'
            '# dates:           kind = "dates", low = "?", high = "?", levels = ["month", "year"]\n'
            '# codes:           kind = "prefix", length = 5, stars = [2, 3]\n'
        )
    if column.type in ("decimal", "double"):
        return 'kind = "star"      # kept as it is, or *: round it to whole numbers for kind = "intervals"\n'
    return 'kind = "star"      # kept as it is, or *; kind = "prefix" for codes: length = 5, stars = [2, 3]\n'


def _intervals(column: DeclaredColumn) -> str:
    if column.low is None or column.high is None:
        return 'kind = "intervals"\nlow = "?"           # the least possible value\nhigh = "?"\nwidths = [5, 10, 20]\n'
    low, high = int(str(column.low)), int(str(column.high))
    first = _nice(max((high - low + 1) / 24, 2))
    widths = [first * 2**i for i in range(4) if first * 2**i <= max((high - low + 1) / 2, 2)]
    return f'kind = "intervals"\nlow = {low}\nhigh = {high}\nwidths = {widths}\n'


def _nice(width: float) -> int:
    """1, 2 or 5 times a power of ten, and 2 at least."""
    power = 10 ** math.floor(math.log10(width))
    return max(2, next(int(step * power) for step in (1, 2, 5, 10) if step * power >= width))


def _dates(column: DeclaredColumn) -> str:
    if not isinstance(column.low, date) or not isinstance(column.high, date):
        return (
            'kind = "dates"\nlow = "?"           # a date such as 2015-01-01\nhigh = "?"\nlevels = ["month", "year"]\n'
        )
    days = (column.high - column.low).days
    units = [unit for least, unit in reversed(_UNITS) if days > least]
    low, high = (date(day.year, day.month, day.day) for day in (column.low, column.high))
    return f'kind = "dates"\nlow = {low}\nhigh = {high}\nlevels = {json.dumps(units)}\n'
