"""What the rows do not keep to, in plain words, and what every question does about it.

Comes in: a table of the policy and what was measured of it. Goes out: warnings with the lines of the policy. They are
not mistakes: what is declared is enforced, whatever the rows are like.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sfumato.owner.measure import Measured
from sfumato.policy import Table
from sfumato.policy.positions import Marks


@dataclass(frozen=True, slots=True)
class Warned:
    """A declaration that the rows do not keep to, and the line where it stands."""

    line: int
    table: str
    column: str | None
    message: str


def warnings_of(table: Table, found: Measured | None, marks: Marks) -> list[Warned]:
    """What does not hold, in plain words, and what is done about it in every question."""
    if found is None or found.persons is None:
        return []

    def warned(column: str | None, key: str, message: str) -> Warned:
        place = ("tables", table.name, *(() if column is None else ("columns", column)))
        return Warned(_line(marks, (*place, key)), table.name, column, message)

    rows = [] if found.rows else [warned(None, "unit", "there is no row")]
    if found.without_person:
        rows.append(warned(None, "unit", f"{_many(found.without_person, 'row')} without a person: left out"))
    if found.over:
        share = f"{_many(found.removed, 'row')} of {found.rows:,} ({_percent(found.removed, found.rows)})"
        done = "they are left out" if table.rows_per_unit == 1 else "each of their rows counts for less"
        most = _many(table.rows_per_unit, "row")
        people = f"{_many(found.over, 'person')} of {found.persons:,} with more than {most}"
        worth = "which removes" if table.rows_per_unit == 1 else "which removes as much as"
        rows.append(warned(None, "rows_per_unit", f"{people}, up to {found.most_rows:,}: {done}, {worth} {share}"))
    for name, counts in (found.columns or {}).items():
        rows += [warned(name, key, message) for key, message in _about(table, name, counts, found.rows)]
    return rows


def _about(table: Table, name: str, counts: Mapping[str, int], rows: int) -> list[tuple[str, str]]:
    """(key, message) for each declaration of a column that does not hold."""
    column, found = table.columns[name], []
    if counts["nulls"] == rows and rows:
        found.append(("", "every value is NULL: is the name spelt as in the files?"))
    elif counts["nulls"] and not column.nulls:
        found.append(("nulls", f"{_many(counts['nulls'], 'row')} with NULL: left out, as nulls = false says"))
    said = {
        "unreadable": ("type", f"not of type {column.type}: NULL"),
        "below": ("min", "below min: counted as min"),
        "above": ("max", "above max: counted as max"),
        "outside": ("values", "not in the list: NULL"),
        "too_long": ("max_length", f"longer than {column.max_length} characters: cut"),
    }
    for kind, (key, words) in said.items():
        if counts.get(kind):
            number = _many(counts[kind], "text" if kind == "too_long" else "value")
            found.append((key, f"{number} ({_percent(counts[kind], rows)}) {words}"))
    return found


def _line(marks: Marks, place: tuple[str, ...]) -> int:
    offset = (marks.error(place, "").position or 1) - 1
    return (marks.text or "")[:offset].count("\n") + 1


def _many(number: int | str | None, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}" if isinstance(number, int) else f"{number} {what}s"


def _percent(part: int, whole: int) -> str:
    share = 100 * part / whole
    return "less than 0.1 %" if share < 0.1 else f"{share:.1f} %"
