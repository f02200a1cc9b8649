"""Reading one section of a policy: each key is taken with its kind and its limits, or refused at its place.

Comes in: a table of the document and its path. Goes out: text, flags, Fractions, whole numbers, or a PolicyError that
says what is allowed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, NoReturn, TypeVar

from sfumato.errors import InputError
from sfumato.policy.positions import Marks, Path
from sfumato.types import as_written, show

MOST_BITS = 400
"""About 120 digits above or below the line. More is a slip of the hand, and would only make arithmetic slow."""

Default = TypeVar("Default")


def quote(name: object, most: int = 60) -> str:
    """A name in quotes, on one line, cut where it is long."""
    text = str(name)
    return json.dumps(text if len(text) <= most else text[: most - 1] + "…", ensure_ascii=False)


def kind_of(value: object) -> str:
    """What a value is, in words that a person who wrote TOML knows."""
    if isinstance(value, bool):
        return "true" if value else "false"
    kinds: list[tuple[type | tuple[type, ...], str]] = [
        (str, "text"),
        (Integral, "a whole number"),
        ((Real, Decimal), "a number"),
        (datetime, "a date with a time"),
        (date, "a date"),
        (time, "a time"),
        (Mapping, "a table"),
        ((list, tuple), "a list"),
    ]
    return next((words for kind, words in kinds if isinstance(value, kind)), type(value).__name__)


@dataclass(frozen=True, slots=True)
class Section:
    """One table of the document."""

    content: Mapping[str, Any]
    path: Path
    marks: Marks

    @property
    def label(self) -> str:
        """The section as a person would write its header."""
        if not self.path:
            return "the policy"
        parts = (str(part) if re.fullmatch(r"[A-Za-z0-9_-]+", str(part)) else quote(part) for part in self.path)
        return f"[{'.'.join(parts)}]"

    def __contains__(self, key: str) -> bool:
        return key in self.content

    def refuse(self, key: str | None, message: str, hint: str | None = None) -> NoReturn:
        """A mistake at a key; at the head of the section for None, or where the key is not written."""
        raise self.marks.error(self.path if key is None else (*self.path, key), message, hint)

    def refuse_value(self, key: str, rule: str, hint: str | None = None, index: int | None = None) -> NoReturn:
        """A mistake at a value, or at one element of a list: `key in [section] rule`."""
        path: Path = (*self.path, key) if index is None else (*self.path, key, index)
        raise self.marks.error(path, f"{self.name(key)} {rule}", hint, value=True)

    def name(self, key: str) -> str:
        """A key and where it stands, as messages say it."""
        return f"{key} in {self.label}" if self.path else key

    def refuse_kind(self, key: str, wanted: str, hint: str | None = None) -> NoReturn:
        """A value of another kind than the key takes."""
        self.refuse_value(key, f"must be {wanted}, but is {kind_of(self.content[key])}", hint)

    def only(self, *allowed: str, homes: Mapping[str, str] | None = None) -> None:
        """Refuse every key that is not one of these; `homes` are the sections in which others stand."""
        for key in self.content:
            if key not in allowed:
                near = get_close_matches(str(key), allowed, 1)
                hint = f'Did you mean "{near[0]}"?' if near else f"Allowed here: {', '.join(allowed)}."
                if homes is not None and key in homes:
                    hint = f"It belongs in [{homes[key]}]."
                self.refuse(key, f"unknown key {quote(key)} in {self.label}", hint)

    def needs(self, key: str, hint: str) -> None:
        """Refuse a section without this key."""
        if key not in self.content:
            self.refuse(None, f"{self.label} has no {key}", hint)

    def section(self, key: str, *, required: bool = False) -> Section:
        """The section of this name; an empty one where it is missing and may be."""
        if required and key not in self.content:
            inner = Section({}, (*self.path, key), self.marks)
            self.refuse(None, f"{self.label} has no {inner.label}", f"Add a section {inner.label}.")
        content = self.content.get(key, {})
        if not isinstance(content, Mapping):
            self.refuse_kind(key, "a table", "Write a section, or { key = value }.")
        return Section(content, (*self.path, key), self.marks)

    def sections(self) -> Iterator[tuple[str, Section]]:
        """Every section inside, by name: names are not empty and differ by more than case."""
        self.check_names()
        for name in self.content:
            yield name, self.section(name)

    def check_names(self) -> None:
        """Names that the owner gives: two that differ only in case would be one at the wire."""
        seen: dict[str, str] = {}
        for name in self.content:
            if not isinstance(name, str) or not name or "\0" in name:
                self.refuse(name, f"a name in {self.label} must be non-empty text without NUL")
            if (other := seen.setdefault(name.casefold(), name)) != name:
                both = f"{quote(other)} and {quote(name)}"
                self.refuse(name, f"{both} in {self.label} differ only in case", "Rename one of them.")

    def text(self, key: str, default: Default, hint: str | None = None) -> str | Default:
        """A text that is not empty."""
        if key not in self.content:
            return default
        value = self.content[key]
        if not isinstance(value, str):
            self.refuse_kind(key, "text", hint or "Write it in quotes.")
        if not value or "\0" in value:
            self.refuse_value(key, "must be non-empty text without NUL")
        return value

    def choice(self, key: str, options: Sequence[str], default: Default) -> str | Default:
        """One of a few words."""
        value = self.text(key, None)
        if value is None:
            return default
        if value not in options:
            near = get_close_matches(value, options, 1)
            allowed = ", ".join(f'"{option}"' for option in options)
            hint = f'Did you mean "{near[0]}"?' if near else None
            self.refuse_value(key, f"must be one of {allowed}, but is {quote(value)}", hint)
        return value

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self.content.get(key, default)
        if not isinstance(value, bool):
            self.refuse_kind(key, "true or false")
        return value

    def number(self, key: str, default: Default) -> Fraction | Default:
        """The decimal that is written, as a Fraction."""
        if key not in self.content:
            return default
        value = self.content[key]
        if isinstance(value, bool) or not isinstance(value, (Real, Decimal)):
            self.refuse_kind(key, "a number", "Write it without quotes." if isinstance(value, str) else None)
        if isinstance(value, Integral) and int(value).bit_length() > MOST_BITS:
            self.refuse_value(key, "has too many digits")
        try:
            number = as_written(value)
        except InputError:
            self.refuse_value(key, "must be a finite number of at most 120 digits")
        if max(number.numerator.bit_length(), number.denominator.bit_length()) > MOST_BITS:
            self.refuse_value(key, "has too many digits")
        return number

    def positive(self, key: str, default: Default) -> Fraction | Default:
        """A number above zero."""
        number = self.number(key, None)
        if number is None:
            return default
        if number <= 0:
            self.refuse_value(key, f"must be above 0, but is {show(number)}")
        return number

    def whole(self, key: str, default: Default, hint: str | None = None) -> int | Default:
        """A whole number, at least one."""
        number = self.number(key, None)
        if number is None:
            return default
        if number.denominator != 1 or number < 1:
            self.refuse_value(key, f"must be a whole number, at least 1, but is {show(number)}", hint)
        return int(number)
