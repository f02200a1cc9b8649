"""What is declared of the columns of a frame, from its types and the arguments of `sfumato.protect`.

Comes in: the frame's types, bounds, lists of values, and which columns can be used. Goes out: the columns of a policy.
An argument that does not fit the frame is named in the error.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from sfumato.errors import InputError
from sfumato.policy.records import utc
from sfumato.types import as_written, show

_LONGEST = 200
"""Characters of a text column that is not declared: longer texts are cut."""


@dataclass(frozen=True)
class Declared:
    """The arguments of `sfumato.protect` that are about columns, and the types of the frame."""

    types: Mapping[str, str | None]
    unit: str
    bounds: Mapping[str, tuple[Any, ...]]
    values: Mapping[str, Iterable[Any]]
    wanted: Iterable[str] | None
    hide: Iterable[str]
    objects: Collection[str] = ()
    """Columns of Python objects, whose type does not say whether they hold texts or numbers."""

    def columns(self) -> dict[str, dict[str, Any]]:
        """What is declared of each column that can be used."""
        hidden = self._names("hide", self.hide)
        named = None if self.wanted is None else self._names("columns", self.wanted)
        self._check_unit(hidden)
        declared = self._check_declared(hidden)
        usable = {name for name, kind in self.types.items() if kind is not None and not name.startswith("#")}
        chosen = (usable if named is None else named) | declared | ({self.unit} - {"row"})
        bounds, values, objects = self.bounds, self.values, self.objects
        return {
            name: _column(name, self.types[name], self.unit, bounds.get(name), values.get(name), open_=name in objects)
            for name in self.types
            if name in chosen - hidden
        }

    def _check_unit(self, hidden: set[str]) -> None:
        if not isinstance(self.unit, str):
            raise InputError(f"unit must be the name of a column, but is {type(self.unit).__name__}")
        if self.unit == "row":
            if "row" in self.types and "row" not in hidden:
                message = 'unit="row" means that each row is a person, but the frame has a column "row"'
                raise InputError(message, hint='Rename the column, or pass hide=["row"].')
            return
        self._names("unit", [self.unit])
        if self.unit in hidden:
            raise InputError(f'column "{self.unit}" is the unit and in hide')

    def _check_declared(self, hidden: set[str]) -> set[str]:
        """The columns with bounds or a list."""
        for argument, given in (("bounds", self.bounds), ("values", self.values)):
            if not isinstance(given, Mapping):
                raise InputError(f"{argument} must be a dict of columns, but is {type(given).__name__}")
            for name in self._names(argument, given):
                if name in hidden:
                    raise InputError(f'column "{name}" is in {argument} and in hide')
        twice = next((name for name in self.bounds if name in self.values), None)
        if twice is not None:
            raise InputError(f'column "{twice}" is in bounds and in values', hint="A list of values needs no bounds.")
        return {*self.bounds, *self.values}

    def _names(self, argument: str, given: Iterable[str]) -> set[str]:
        """These names, each of which is a column of the frame."""
        if isinstance(given, str):
            hint = f'Pass {argument}=["{given}"].'
            raise InputError(f'{argument} must be a list of columns, but is "{given}"', hint=hint)
        names = list(given)
        for name in names:
            if name not in self.types:
                hint = f"Its columns are {', '.join(self.types)}."
                raise InputError(f'{argument}: the frame has no column "{name}"', hint=hint)
        return set(names)


def _column(
    name: str, kind: str | None, unit: str, ends: tuple[Any, ...] | None, listed: Iterable[Any] | None, *, open_: bool
) -> dict[str, Any]:
    """What is declared of one column; `open_`: its type does not say whether it holds texts or numbers."""
    if kind is None:
        hint = f'Leave it out with hide=["{name}"], or store it in a plain type.'
        raise InputError(f'column "{name}" has a type that no query can read', hint=hint)
    if name == unit and kind in ("double", "boolean"):
        hint = f'Store identifiers as integers or text, for example frame["{name}"].astype("Int64").'
        raise InputError(f'unit: column "{name}" is {kind}, which cannot identify people', hint=hint)
    if listed is not None:
        return {"values": _listed(name, kind, listed)}
    if ends is not None:
        return _bounded(name, kind, ends, open_=open_)
    return {"type": "text", "max_length": _LONGEST} if kind == "text" else {"type": kind}


def _listed(name: str, kind: str, listed: Iterable[Any]) -> list[Any]:
    if isinstance(listed, str):
        raise InputError(f'values["{name}"] must be a list, but is "{listed}"', hint=f'Pass ["{listed}"].')
    values = [value.item() if hasattr(value, "item") else value for value in listed]
    wrong = {"text": str, "boolean": bool}.get(kind)
    odd = next((value for value in values if wrong is not None and not isinstance(value, wrong)), None)
    if odd is not None:
        raise InputError(f'values["{name}"]: the column is {kind}, but {odd!r} is {type(odd).__name__}')
    return values


def _bounded(name: str, kind: str, ends: tuple[Any, ...], *, open_: bool) -> dict[str, Any]:
    """(low, high), or with a grid."""
    label = f'bounds["{name}"]'
    if not isinstance(ends, tuple | list) or len(ends) not in (2, 3):
        raise InputError(f"{label} must be (low, high) or (low, high, grid), but is {ends!r}")
    low, high = (_time(end) for end in ends[:2])
    grid = ends[2] if len(ends) == 3 else None
    if kind == "boolean":
        raise InputError(f"{label}: the column is boolean and needs no bounds")
    times = [isinstance(end, date) for end in (low, high)]
    if kind == "text" and not open_ and not all(times):
        hint = f'Pass values={{"{name}": […]}}, or convert the column to numbers before.'
        raise InputError(f"{label}: the column is text, which has no bounds", hint=hint)
    if all(times) and grid is None:
        return _between_times(label, kind, low, high)
    if any(times) or kind in ("date", "timestamp"):
        hint = 'Pass dates, times, pandas.Timestamp or ISO text, for example ("2023-01-01", "2025-12-31").'
        needed = f"must be two dates or two times for a column of type {kind}"
        raise InputError(f"{label} {needed}, but is {ends!r}", hint=hint)
    return _between_numbers(label, kind, low, high, grid)


def _between_times(label: str, kind: str, low: Any, high: Any) -> dict[str, Any]:
    if kind not in ("date", "timestamp", "text"):
        raise InputError(f"{label}: the column is {kind}, which has no dates")
    moments = any(isinstance(end, datetime) for end in (low, high))
    if kind != "date":  # two days are days, also of a column that has times
        kind = "timestamp" if moments else "date"
    if kind == "date":
        ends = [end.date() if isinstance(end, datetime) else end for end in (low, high)]
    else:
        ends = [utc(end) if isinstance(end, datetime) else _midnight(end) for end in (low, high)]
    if ends[0] > ends[1]:
        raise InputError(f"{label}: low {low} is above high {high}")
    return {"type": kind, "min": ends[0], "max": ends[1]}


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day)  # noqa: DTZ001  a moment without a zone is UTC


def _between_numbers(label: str, kind: str, low: Any, high: Any, grid: Any) -> dict[str, Any]:
    numbers = [as_written(end, label) for end in (low, high)]
    if numbers[0] > numbers[1]:
        raise InputError(f"{label}: low {show(numbers[0])} is above high {show(numbers[1])}")
    step = None if grid is None else as_written(grid, f"the grid of {label}")
    if step is not None and step <= 0:
        raise InputError(f"{label}: the grid must be above 0, but is {show(step)}")
    whole = all(number.denominator == 1 for number in numbers)
    if kind == "integer" and not whole:
        raise InputError(f"{label} must be whole numbers, as the column is, but is ({low}, {high})")
    if kind in ("double", "decimal") and step is None:
        hint = f"Write ({low}, {high}, 0.01) to round to hundredths, or ({low}, {high}, 1) to whole numbers."
        needed = f"a column of type {kind} needs a grid, the step to which values are rounded"
        raise InputError(f"{label}: {needed}", hint=hint)
    if kind == "text" and not whole and step is None:
        raise InputError(f"{label}: numbers that are not whole need a grid", hint=f"Write ({low}, {high}, 0.01).")
    of_whole = kind == "integer" or (whole and step in (None, Fraction(1)))
    if of_whole and step in (None, Fraction(1)):
        return {"type": "integer", "min": int(numbers[0]), "max": int(numbers[1])}
    return {"type": "decimal", "min": numbers[0], "max": numbers[1], "grid": step}


def _time(end: Any) -> Any:
    """A bound as the policy takes it: times of pandas and NumPy, and ISO text, as Python's own."""
    if type(end).__module__.startswith("numpy") and hasattr(end, "item"):
        end = end.astype("datetime64[us]").item() if type(end).__name__ == "datetime64" else end.item()
    if isinstance(end, str):
        try:
            return date.fromisoformat(end) if len(end) == 10 else datetime.fromisoformat(end)
        except ValueError:
            return end
    if isinstance(end, datetime) and hasattr(end, "to_pydatetime"):
        return end.to_pydatetime(warn=False)
    return end
