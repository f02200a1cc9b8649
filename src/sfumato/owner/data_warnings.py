"""Where the rows do not match what the policy declares, and what every query does about it.

Comes in: a table of the policy and what was measured of it. Goes out: warnings with the lines of the policy. What is
declared is enforced, whatever the rows are like; but a column that lies mostly outside of its declared domain is a
mismatch, because every answer about it would be wrong.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from sfumato.engines.base import Measured
from sfumato.policy import ROW, Policy, Table
from sfumato.policy.columns import read_column, settle
from sfumato.policy.positions import Marks
from sfumato.policy.sections import Section


@dataclass(frozen=True, slots=True)
class Warned:
    """A declaration that the rows do not keep to, and the line where it stands.

    `mismatch`: most values of the column lie outside of its declared domain.
    """

    line: int
    table: str
    column: str | None
    message: str
    mismatch: bool = False


def warnings_of(table: Table, found: Measured | None, marks: Marks) -> list[Warned]:
    """What does not hold, and what every query does about it."""
    if found is None or found.persons is None:
        return []

    def warned(column: str | None, key: str, message: str, *, mismatch: bool = False) -> Warned:
        place = ("tables", table.name, *(() if column is None else ("columns", column)))
        return Warned(_line(marks, (*place, key)), table.name, column, message, mismatch)

    rows = [] if found.rows else [warned(None, "unit", "there is no row")]
    if found.without_person:
        rows.append(warned(None, "unit", f"{_many(found.without_person, 'row')} without a privacy unit: left out"))
    if found.over:
        share = f"{found.removed:,} of {_many(found.rows, 'row')} ({_percent(found.removed, found.rows)})"
        done = "they are left out" if table.rows_per_unit == 1 else "their rows are down-weighted"
        most = _many(table.rows_per_unit, "row")
        have = "has" if found.over == 1 else "have"
        people = f"{found.over:,} of {_many(found.persons, 'person', 'people')} {have} more than {most}"
        worth = "which removes" if table.rows_per_unit == 1 else "which removes up to"
        rows.append(warned(None, "rows_per_unit", f"{people} (up to {found.most_rows:,}); {done}, {worth} {share}"))
    for name, counts in (found.columns or {}).items():
        mostly = _is_mostly_outside(counts, found.rows)
        rows += [warned(name, key, text, mismatch=mostly) for key, text in _about(table, name, counts, found.rows)]
    return rows


def unit_warnings(policy: Policy, marks: Marks) -> list[Warned]:
    """Unit columns that are declared more widely than another one: all of them have the values that they share."""
    written = tomllib.loads(marks.text or "", parse_float=Decimal).get("tables", {})
    warned = list[Warned]()
    for name, table in policy.tables.items():
        if not isinstance(table.unit, str) or table.unit == ROW:
            continue
        shared, place = table.columns[table.unit], ("tables", name, "columns", table.unit)
        section = Section(written[name]["columns"][table.unit], place, marks)
        declared = replace(read_column(section, type_required=False, public=False), type=shared.type)
        if settle(declared, section, public=False).domain != shared.domain:
            message = (
                "declared more widely than the unit column of another table; the narrower declaration applies to all"
            )
            warned.append(Warned(_line(marks, place), name, table.unit, message))
    return warned


def _is_mostly_outside(counts: Mapping[str, int], rows: int) -> bool:
    """Whether more than half of the values that are there lie outside of the declared domain."""
    wrong = sum(counts.get(kind, 0) for kind in ("unreadable", "below", "above", "outside"))
    return 2 * wrong > rows - counts["nulls"]


def _about(table: Table, name: str, counts: Mapping[str, int], rows: int) -> list[tuple[str, str]]:
    """(key, message) for each declaration of a column that does not hold."""
    column, found = table.columns[name], []
    if counts["nulls"] == rows and rows:
        found.append(("", "every value is NULL: does the name match the files?"))
    elif counts["nulls"] and not column.nulls:
        found.append(("nulls", f"{_many(counts['nulls'], 'row')} with NULL: left out (nulls = false)"))
    said = {
        "unreadable": ("type", f"not of type {column.type}: NULL"),
        "below": ("min", "below min: counted as min"),
        "above": ("max", "above max: counted as max"),
        "outside": ("values", "not in the list: NULL"),
        "too_long": ("max_length", f"longer than {column.max_length} characters: truncated"),
    }
    for kind, (key, words) in said.items():
        if counts.get(kind):
            number = _many(counts[kind], "text" if kind == "too_long" else "value")
            found.append((key, f"{number} ({_percent(counts[kind], rows)}) {words}"))
    return found


def _line(marks: Marks, place: tuple[str, ...]) -> int:
    offset = (marks.error(place, "").position or 1) - 1
    return (marks.text or "")[:offset].count("\n") + 1


def _many(number: int | str | None, what: str, plural: str | None = None) -> str:
    several = plural or f"{what}s"
    return f"{number:,} {what if number == 1 else several}" if isinstance(number, int) else f"{number} {several}"


def _percent(part: int, whole: int) -> str:
    share = 100 * part / whole
    return "less than 0.1 %" if share < 0.1 else f"{share:.1f} %"
