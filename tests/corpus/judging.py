"""How a statement of the corpus went: right, refused for privacy, refused by us, or wrong.

Comes in: a statement and the answers of plain SQL and of the gateway. Goes out: a verdict. An answer is right if it has
the rows of plain SQL, with numbers as near as the noise of a huge epsilon leaves them, and besides only groups of
declared keys in which nobody is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from sfumato.errors import QueryError, SfumatoError
from sfumato.gateway import Gateway

RIGHT, PRIVATE, OURS, WRONG = "right", "refused for privacy", "refused by us", "wrong"
_HERE = Path(__file__).parent / "statements"
_NEAR = 0.003


@dataclass(frozen=True)
class Case:
    """A statement, what it is in plain DuckDB's words, whether privacy forbids it, and what may differ.

    `loose`: there may be more rows; `fewer`: groups of few persons are missing.
    """

    corpus: str
    number: int
    text: str
    plain: str
    private: bool
    loose: bool
    fewer: bool


def cases() -> list[Case]:
    """Every statement: they are divided by lines of `---`; marks stand in comments before them."""
    found = []
    for path in sorted(_HERE.glob("*.sql")):
        for number, block in enumerate(re.split(r"(?m)^---\s*$", path.read_text()), 1):
            marks = [line for line in block.splitlines() if line.startswith("-- ")]
            text = "\n".join(line for line in block.splitlines() if not line.startswith("-- ")).strip()
            plain = " ".join(line.removeprefix("-- plain:") for line in marks if line.startswith("-- plain:"))
            if text:
                loose, private, fewer = ("-- " + mark in marks for mark in ("loose", "private", "suppressed"))
                found.append(Case(path.stem, number, text, plain.strip() or text, private, loose, fewer))
    return found


def judge(case: Case, gateway: Gateway, plain: duckdb.DuckDBPyConnection) -> tuple[str, str]:
    """The verdict on one statement, and why."""
    try:
        answer = gateway.sql(case.text)
    except SfumatoError as error:
        why = f"{error.sqlstate} {error.message}" + (f" [{error.hint}]" if error.hint else "")
        return (PRIVATE if case.private else OURS), why if isinstance(error, QueryError) else f"FAILED {why}"
    if case.private:
        return WRONG, "answered, though it was marked as private"
    wanted = plain.execute(re.sub(r'"?public"?\.', "", case.plain)).fetchall()
    ours = [tuple(row) for row in answer.rows]
    why = difference(wanted, ours, loose=True) if case.fewer else difference(ours, wanted, loose=case.loose)
    return (RIGHT, "") if why is None else (WRONG, why)


def difference(ours: list[tuple[Any, ...]], wanted: list[tuple[Any, ...]], *, loose: bool = False) -> str | None:
    """What is different between two answers as sets of rows; None where nothing is."""
    left = [tuple(map(_value, row)) for row in ours]
    for row in (tuple(map(_value, row)) for row in wanted):
        match = next((i for i, other in enumerate(left) if _alike(row, other)), None)
        if match is None:
            near = next((other for other in left if other[:1] == row[:1]), None)
            return f"no row {row}; nearest {near}; {len(ours)} rows for {len(wanted)}"
        left.pop(match)
    extra = [row for row in left if not _empty(row)]
    if extra and not loose:
        return f"{len(extra)} rows too many, such as {extra[0]}; {len(ours)} rows for {len(wanted)}"
    return None


def _empty(row: tuple[Any, ...]) -> bool:
    """A group of a declared key in which nobody is: its numbers are nothing, or near it."""
    return any(value is None or (isinstance(value, float) and abs(value) < _NEAR) for value in row)


def _value(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float | Decimal):
        return float(value)
    if isinstance(value, datetime):
        value = value.replace(tzinfo=None)
        return value.date() if value == datetime.combine(value.date(), datetime.min.time()) else value
    if isinstance(value, list):  # as PostgreSQL prints an array
        return "{" + ",".join(str(one) for one in value) + "}"
    if isinstance(value, timedelta):
        return value
    return value if isinstance(value, date) else str(value)


def _alike(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    return len(a) == len(b) and all(map(_same, a, b))


def _same(a: Any, b: Any) -> bool:
    if a is None and isinstance(b, float):
        a = 0.0  # a sum over no row: how many there are is not known
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= _NEAR * max(1.0, abs(a)) + 0.006
    return bool(a == b)
