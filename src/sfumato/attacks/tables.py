"""Published tables as a file, for `census`: one line for each statistic.

Comes in: a CSV with a column for each attribute (empty: any value), and `low`, `high` (ages), `count`, `median`,
`mean`. An empty count is a suppressed one; 0 says that there is nobody, or that nobody can be. Goes out: the tables,
and the values that each attribute has in them.
"""

from __future__ import annotations

import csv
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path

from sfumato.attacks.census import Published
from sfumato.errors import InputError

_NUMBERS = ("low", "high", "count", "median", "mean")


def read_tables(file: Path) -> tuple[list[Published], list[str], list[list[str]]]:
    """The tables, the names of the attributes, and the values of each."""
    try:
        with file.open(newline="", encoding="utf-8") as opened:
            reader = csv.DictReader(opened)
            names = [name for name in reader.fieldnames or [] if name not in _NUMBERS]
            lines = list(reader)
    except FileNotFoundError:
        raise InputError(f'there is no file "{file.name}"', sqlstate="58P01") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f'"{file.name}" cannot be read as a table', detail=str(error)) from None
    if not lines or "count" not in (reader.fieldnames or []):
        raise InputError(
            f'"{file.name}" holds no published tables',
            hint=f"Its columns are the attributes and {', '.join(_NUMBERS)}, of which count must be there.",
        )
    tables = [_table(line, names, number) for number, line in enumerate(lines, 2)]
    return tables, names, [sorted({t.where[i] for t in tables if i in t.where}) or ["any"] for i in range(len(names))]


def _table(line: dict[str, str], names: list[str], number: int) -> Published:
    given = {name: (line.get(name) or "").strip() for name in _NUMBERS}
    try:
        count, low, high = (int(given[name]) if given[name] else None for name in ("count", "low", "high"))
        median = Fraction(Decimal(given["median"])) if given["median"] else None
        mean = Decimal(given["mean"]) if given["mean"] else None
    except (ValueError, InvalidOperation):
        raise InputError(f"line {number} of the tables has something that is not a number") from None
    digits = 1 if mean is None else max(1, -int(mean.as_tuple().exponent))
    return Published(
        {i: line[name].strip() for i, name in enumerate(names) if (line.get(name) or "").strip()},
        count,
        median,
        None if mean is None else Fraction(mean),
        0 if low is None else low,
        125 if high is None else high,
        digits=digits,
    )
