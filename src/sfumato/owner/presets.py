"""What the name of a column suggests, and nothing but the name: a proposal for the owner to check.

Comes in: a name and, where the source declares one, a type. Goes out: the declaration as TOML, with "?" wherever the
owner has to decide, and a word of explanation. No value is looked at (semantics 1.3).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

UNDECIDED = "?"
"""What stands where the owner has to decide: no key of a policy takes it."""

_SPLIT = re.compile(r"[^0-9A-Za-z]+|(?<=[a-z0-9])(?=[A-Z])")
_BOUNDS = 'min = "?", max = "?"'


def words_of(name: str) -> list[str]:
    """The words in a name, in lower case.

    >>> words_of("BirthDate"), words_of("zip code"), words_of("n_visits")
    (['birth', 'date'], ['zip', 'code'], ['n', 'visits'])
    """
    return [word.lower() for word in _SPLIT.split(name) if word]


@dataclass(frozen=True, slots=True)
class Preset:
    """Columns with one of these words as their last (or first) one, of one of these types."""

    last: tuple[str, ...]
    kinds: tuple[str, ...]
    declared: str
    first: tuple[str, ...] = ()

    def fits(self, words: list[str], kind: str | None) -> bool:
        """Whether it speaks of a column; a type of None is not known."""
        named = words[-1] in self.last or (len(words) > 1 and words[0] in self.first)
        return named and (kind is None or kind in self.kinds)


_MONEY = (
    *("price", "cost", "costs", "amount", "salary", "income", "fee", "fees", "wage", "revenue", "payment", "charge"),
    *("balance", "total", "premium", "paid", "spent", "rent"),
)
_NUMBER = ("integer",)
_REAL = ("decimal", "double")
_WORDS = ("text",)
_BETWEEN = '{{ type = "integer", min = {}, max = {} }}'
_LONG = '{{ type = "text", max_length = {} }}'

PRESETS = (
    Preset(("age", "ages"), _NUMBER, _BETWEEN.format(0, 120)),
    Preset(("year", "yr"), _NUMBER, _BETWEEN.format(1900, 2100)),
    Preset(("month",), _NUMBER, _BETWEEN.format(1, 12)),
    Preset(("quarter",), _NUMBER, _BETWEEN.format(1, 4)),
    Preset(("week",), _NUMBER, _BETWEEN.format(1, 53)),
    Preset(("weekday", "dow"), _NUMBER, _BETWEEN.format(0, 7)),
    Preset(("hour",), _NUMBER, _BETWEEN.format(0, 23)),
    Preset(("minute", "second"), _NUMBER, _BETWEEN.format(0, 59)),
    Preset(("quantity", "qty", "count", "visits", "children"), _NUMBER, '{ type = "integer", min = 0, max = "?" }'),
    Preset(("percent", "percentage", "pct"), _REAL, '{ type = "decimal", min = 0, max = 100, grid = 0.01 }'),
    Preset(("lat", "latitude"), _REAL, '{ type = "decimal", min = -90, max = 90, grid = 0.0001 }'),
    Preset(("lon", "lng", "longitude"), _REAL, '{ type = "decimal", min = -180, max = 180, grid = 0.0001 }'),
    Preset(_MONEY, _REAL, f'{{ type = "decimal", {_BOUNDS}, grid = 0.01 }}'),
    Preset(("date", "dob", "day", "birthday", "birthdate", "born"), ("date",), f'{{ type = "date", {_BOUNDS} }}'),
    Preset(("timestamp", "datetime", "at"), ("timestamp",), f'{{ type = "timestamp", {_BOUNDS} }}'),
    Preset((), ("boolean",), '{ type = "boolean" }', first=("is", "has", "was")),
    Preset(("ssn",), _WORDS, _LONG.format(11)),
    Preset(("zip", "zipcode", "postcode", "postal", "plz"), _WORDS, _LONG.format(10), first=("zip", "postal")),
    Preset(("phone", "mobile", "fax", "telephone"), _WORDS, _LONG.format(20)),
    Preset(("country", "city", "town", "state", "region", "county"), _WORDS, _LONG.format(60)),
    Preset(("name", "firstname", "lastname", "surname"), _WORDS, _LONG.format(80)),
    Preset(("street", "address"), _WORDS, _LONG.format(120)),
    Preset(("email", "mail"), _WORDS, _LONG.format(254)),
    Preset(("note", "notes", "comment", "comments", "description", "text"), _WORDS, _LONG.format(400)),
)
"""The first that fits is taken."""

_PLAIN = {
    "integer": ('{ type = "integer" }', "add min and max to sum it or group by it"),
    "double": ('{ type = "double" }', "add min, max and grid to sum it"),
    "date": (f'{{ type = "date", {_BOUNDS} }}', ""),
    "timestamp": (f'{{ type = "timestamp", {_BOUNDS} }}', ""),
    "boolean": ('{ type = "boolean" }', ""),
    "text": ('{ type = "text", max_length = 100 }', 'or values = ["a", "b"] to group by it'),
}


def propose(name: str, kind: str | None, digits: int | None = None) -> tuple[str, str]:
    """A declaration and a note. `kind` is None where the source declares no type, `digits` those of a decimal.

    >>> propose("age", None)[0], propose("zip code", None)[0]
    ('{ type = "integer", min = 0, max = 120 }', '{ type = "text", max_length = 10 }')
    >>> propose("Price", "decimal", 3)[0]
    '{ type = "decimal", min = "?", max = "?", grid = 0.001 }'
    """
    words = words_of(name) or [""]
    fitting = next((preset for preset in PRESETS if preset.fits(words, kind)), None)
    if fitting is not None:
        return _in_steps(fitting.declared, digits), ""
    if kind == "decimal":
        return _in_steps('{ type = "decimal" }', None), "add min, max and grid to sum it"
    if kind == "integer" and words[-1] in _MONEY:
        return f'{{ type = "integer", {_BOUNDS} }}', ""
    return _PLAIN[kind or "text"]


def _in_steps(declared: str, digits: int | None) -> str:
    """With the grid of a decimal that the source declares."""
    if digits is None:
        return declared
    step = "1" if digits == 0 else f"0.{'0' * (digits - 1)}1"
    return re.sub(r"grid = [\d.]+", f"grid = {step}", declared)


def identifier_of(name: str, kind: str | None) -> str:
    """The declaration of a column that names a person, or leads to one: it is compared byte for byte."""
    if kind in (None, "text"):
        declared = propose(name, "text")[0]
        return '{ type = "text", max_length = 64 }' if declared == _PLAIN["text"][0] else declared
    return f'{{ type = "{kind}" }}'
