"""A task file: everything that a device needs to report, and a collector to read its reports.

    name = "colours"
    mechanism = "k-ary"
    epsilon = "1"                     # what one report costs, at least what its thresholds say
    lifetime = "1"                    # what one device may ever spend on this task
    expires = "2027-01-01"
    values = ["red", "green", "blue"]
    [parameters]
    size = 3
    truth = 2473911344
    bits = 32

It is TOML in which every value stands on one line and is written as in JSON: a browser reads it with a few lines of
code. `values` may be replaced by the `size` of the parameters (values are then 0, 1, ...), and for numbers by `low` and
`high`. A signature may stand on the first line.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np

from sfumato.accounting import Pure
from sfumato.csv_rows import number
from sfumato.errors import BudgetError, InputError
from sfumato.local.rappor import Rappor
from sfumato.local.table import ENCODERS
from sfumato.local.tape import Indices, Octets, SystemTape, Tape
from sfumato.reals import round_up
from sfumato.types import as_written, show, sized, whole

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_KEYS = (
    *("name", "mechanism", "epsilon", "lifetime", "expires", "question", "values", "other"),
    *("low", "high", "minimum_batch", "parameters", "signature"),
)
_LONGEST = 1 << 22
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True)
class LocalTask:
    """A task that was parsed and checked: its stated epsilon covers its thresholds."""

    name: str
    encoder: Any
    epsilon: Fraction
    lifetime: Fraction
    values: tuple[str, ...] | None = None
    low: Fraction | None = None
    high: Fraction | None = None
    other: str | None = None
    expires: date | None = None
    question: str | None = None
    minimum_batch: int = 100

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise InputError(f"a task's name has small letters, digits, - and _, but is {self.name!r}")
        if self.name == "constructor":  # every object of JavaScript has one
            raise InputError("a task cannot be named constructor: browsers would refuse it")
        costs = self.encoder.epsilon
        if self.epsilon < costs:
            raise InputError(
                f"the task states epsilon {show(self.epsilon)}, but its thresholds cost more",
                detail=f"One report costs {show(costs)}.",
                hint="State that, or plan the task again.",
            )
        if self.lifetime < self.unit_cost:
            raise InputError(
                f"the lifetime budget {show(self.lifetime)} does not pay for one report",
                hint=f"It must be at least {show(self.unit_cost)}.",
            )
        self._check_domain()

    def _check_domain(self) -> None:
        takes, size = self.encoder.takes, getattr(self.encoder, "size", None)
        if takes == "numbers" and (self.low is None or self.high is None or not _is_range(self.low, self.high)):
            raise InputError("a task for numbers states low and high, and low is smaller")
        if takes != "numbers" and (self.low is not None or self.high is not None):
            raise InputError("low and high are for numbers only")
        for text in (*(self.values or ()), self.question or ""):
            if any(0xD800 <= ord(letter) < 0xE000 for letter in text):
                raise InputError("values and question must be Unicode text")
        if self.values is not None:
            if takes != "values":
                raise InputError(f"{self.encoder.name} takes {takes}, not a list of values")
            if len(set(self.values)) != len(self.values) or len(self.values) != size:
                raise InputError(f"values must name {size} different values, but names {len(set(self.values))}")
        if self.other is not None and self.other not in (self.values or ()):
            raise InputError("other must be one of the values")

    @property
    def mechanism(self) -> str:
        """Its name in the table of encoders."""
        return str(self.encoder.name)

    @property
    def memoised(self) -> bool:
        """Whether a device draws one permanent copy, from its first text, and reports that again and again."""
        return isinstance(self.encoder, Rappor)

    @property
    def unit_cost(self) -> Fraction:
        """What the lifetime budget pays for: a report, or a permanent copy with all of its reports."""
        return self.encoder.permanent if isinstance(self.encoder, Rappor) else self.epsilon

    @property
    def event(self) -> Pure:
        """The event that the lifetime budget pays for, for an accountant."""
        return Pure(self.unit_cost)

    @property
    def allowed(self) -> int:
        """How many reports one device may ever send; or 1, the permanent copy. A second copy would tell when a text has
        changed, which no epsilon covers: whoever wants to follow texts begins a new task at a time fixed in advance.
        """
        return 1 if self.memoised else int(self.lifetime // self.unit_cost)

    @property
    def single(self) -> bool:
        """Whether a person sends at most one report. The effect of shuffling is known for such tasks only."""
        return not self.memoised and self.allowed == 1

    @property
    def identity(self) -> bytes:
        """What permanent copies belong to: name, mechanism and parameters, not the texts."""
        named = {"mechanism": self.mechanism, "name": self.name, "parameters": parameters(self.encoder)}
        return json.dumps(named, sort_keys=True, separators=(",", ":")).encode()

    @property
    def meaning(self) -> tuple[object, ...]:
        """What determines how its reports are decoded: tasks that differ in it cannot be decoded together."""
        labels = self.labels if self.encoder.takes == "values" else None
        return self.identity, labels, self.other, self.low, self.high

    @property
    def digest(self) -> str:
        """The digest of `meaning`. A file of reports carries it, so that no other task decodes them."""
        labels = self.labels if self.encoder.takes == "values" else None
        read = [self.mechanism, parameters(self.encoder), labels, self.low, self.high]
        return hashlib.sha256(json.dumps(read, default=str, sort_keys=True).encode()).hexdigest()

    @property
    def labels(self) -> tuple[str, ...]:
        """The values as texts."""
        return self.values or tuple(str(i) for i in range(self.encoder.size))

    def check_open(self, today: date | None = None) -> None:
        """Refuse to report after the last day, in UTC."""
        if self.expires is not None and (today or datetime.now(UTC).date()) > self.expires:
            raise InputError(f"the task expired on {self.expires}", hint="Ask its owner for a new one.")

    def inputs(self, values: Iterable[Any], first: int = 1) -> Any:
        """Values as the encoder takes them: indices, points of the grid, or texts. `first` is the number of the row."""
        if self.encoder.takes == "strings":
            return [_text(value, row) for row, value in enumerate(values, first)]
        if self.encoder.takes == "numbers":
            return self._points(values, first)
        known = {label: index for index, label in enumerate(self.labels)}
        otherwise = None if self.other is None else known[self.other]
        indices = [known.get(value if isinstance(value, str) else str(value), otherwise) for value in values]
        if None in indices:
            raise InputError(f"row {first + indices.index(None)}: the value is not one of the task's values")
        return np.array(indices, np.int64)

    def _points(self, values: Iterable[Any], first: int) -> Indices:
        """The nearest point of the grid; numbers outside of the range count as its ends. The browser computes alike."""
        assert self.low is not None
        assert self.high is not None
        numbers = np.array([_number(value, row) for row, value in enumerate(values, first)], np.float64)
        if not np.isfinite(numbers).all():
            raise InputError(f"row {first + int(np.flatnonzero(~np.isfinite(numbers))[0])}: the value is not finite")
        low, high = float(self.low), float(self.high)
        share = (np.clip(numbers, low, high) - low) / (high - low)
        points: Indices = np.floor(share * self.encoder.grid + 0.5).astype(np.int64)
        return points

    def encode(self, values: Iterable[Any], tape: Tape | None = None, first: int = 1) -> Octets:
        """One report for each value, from as many different devices."""
        self.check_open()
        reports: Octets = self.encoder.encode(self.inputs(values, first), tape or SystemTape())
        return reports

    def to_toml(self) -> str:
        """The file."""
        lines = [f"name = {_json(self.name)}", f"mechanism = {_json(self.mechanism)}"]
        lines += [f'epsilon = "{show(self.epsilon)}"', f'lifetime = "{show(self.lifetime)}"']
        plain = {"question": self.question, "other": self.other, "values": self.values and list(self.values)}
        lines += [f"{key} = {_json(value)}" for key, value in plain.items() if value is not None]
        lines += [f'{key} = "{show(end)}"' for key, end in (("low", self.low), ("high", self.high)) if end is not None]
        lines += [] if self.expires is None else [f'expires = "{self.expires.isoformat()}"']
        lines += [f"minimum_batch = {self.minimum_batch}", "[parameters]"]
        lines += [f"{key} = {value}" for key, value in parameters(self.encoder).items()]
        return "\n".join(lines) + "\n"


def planned_task(name: str, encoder: Any, **words: Any) -> LocalTask:
    """A task that states exactly what its thresholds cost, and one report (or one text) for a lifetime."""
    costs = round_up(encoder.epsilon)
    lifetime = words.pop("lifetime", None)
    once = encoder.permanent if isinstance(encoder, Rappor) else costs
    return LocalTask(name, encoder, costs, once if lifetime is None else sized(lifetime, "lifetime"), **words)


def parameters(encoder: Any) -> dict[str, int]:
    """The integers of an encoder, by name."""
    return {field.name: getattr(encoder, field.name) for field in fields(encoder)}


def _json(value: Any) -> str:
    """A value that TOML and JSON read alike: rare letters as they are, for TOML knows no halves of them."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _is_range(low: Fraction, high: Fraction) -> bool:
    """Also for the floats that devices compute with."""
    try:
        return 0 < float(high) - float(low) < float("inf")
    except OverflowError:
        return False


def _number(value: Any, row: int) -> float:
    """A number, or a text that writes one: the grammar is that of the browser client."""
    try:
        if isinstance(value, str):
            return number(value)
        if isinstance(value, Real | Decimal) and value is not True and value is not False:
            return float(value)
    except (ValueError, OverflowError):
        pass
    raise InputError(f"row {row}: the value is not a number", hint="Write decimals with a point.")


def _text(value: Any, row: int) -> str:
    if not isinstance(value, str):
        raise InputError(f"row {row}: the value must be a text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(f"row {row}: the value is not Unicode text") from None
    return value


def read_task(text: str) -> LocalTask:
    """A task from the text of its file, or one clear error."""
    if len(text) > _LONGEST:
        raise InputError("a task file has at most 4 MiB")
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError("the task file is not TOML", detail=str(error).capitalize() + ".") from None
    except ValueError:  # Python reads no integer of more than 4300 digits
        raise InputError("a number in the task file is too long", hint="Parameters are at most 2^48.") from None
    for key in document:
        if key not in _KEYS:
            raise InputError(f'the task file has an unknown key "{key[:40]}"', hint=f"There are {', '.join(_KEYS)}.")
    return LocalTask(
        name=_string(document, "name"),
        encoder=_encoder(document),
        epsilon=sized(_need(document, "epsilon"), "epsilon"),
        lifetime=sized(document.get("lifetime", _need(document, "epsilon")), "lifetime"),
        values=_values(document),
        low=None if "low" not in document else as_written(document["low"], "low"),
        high=None if "high" not in document else as_written(document["high"], "high"),
        other=None if "other" not in document else _string(document, "other"),
        expires=_day(document),
        question=None if "question" not in document else _string(document, "question"),
        minimum_batch=whole(document.get("minimum_batch", 100), "minimum_batch", 1),
    )


def _need(document: dict[str, Any], key: str) -> Any:
    if key not in document:
        raise InputError(f'the task file has no value for "{key}"')
    return document[key]


def _string(document: dict[str, Any], key: str) -> str:
    value = _need(document, key)
    if not isinstance(value, str):
        raise InputError(f"{key} must be a text")
    return value


def _values(document: dict[str, Any]) -> tuple[str, ...] | None:
    values = document.get("values")
    if values is not None and not (isinstance(values, list) and all(isinstance(v, str) for v in values)):
        raise InputError("values must be a list of texts")
    return None if values is None else tuple(values)


def _day(document: dict[str, Any]) -> date | None:
    if "expires" not in document:
        return None
    try:
        written = _string(document, "expires")
        return date.fromisoformat(written if _DAY.fullmatch(written) else "")
    except ValueError:
        raise InputError('expires must be a day like "2027-01-31"') from None


def _encoder(document: dict[str, Any]) -> Any:
    name = _string(document, "mechanism")
    if name not in ENCODERS:
        raise InputError(f'there is no mechanism "{name[:40]}"', hint=f"There are {', '.join(ENCODERS)}.")
    given = _need(document, "parameters")
    wanted = [field.name for field in fields(ENCODERS[name])]
    if not isinstance(given, dict) or set(given) != set(wanted):
        raise InputError(f"the parameters of {name} are {', '.join(wanted)}", hint="State each of them, and no others.")
    for key, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 1 << 48:
            raise InputError(f"the parameter {key} must be a whole number from 0 to 2^48")
    return ENCODERS[name](**given)


def charge(task: LocalTask, paid: int) -> None:
    """Refuse a report, or a permanent copy, that the lifetime budget does not pay for; `paid` counts earlier ones."""
    if paid >= task.allowed:
        many = f"{task.allowed} {'report' if task.allowed == 1 else 'reports'}"
        raise BudgetError(
            "this device has spent its budget for this task",
            detail="It draws one permanent copy." if task.memoised else f"It may send {many} in all.",
            hint="Send the same report again." if task.memoised else None,
        )
