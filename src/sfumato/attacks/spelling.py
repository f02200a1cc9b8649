"""How files spell values: a release is text, and what is known of people has kinds.

Comes in: the owner's rows with their kinds, and the same file as text. Goes out: for each value its spellings, and for
each text of the secret column its value. A date written 01/02/2020 is the same cell in the file and in the release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sfumato.anonymity.inspection.reading import NULL, PublishedTable
from sfumato.attacks.base import plain


@dataclass(frozen=True)
class Spelling:
    """`texts` has the spellings of values by column, `values` the values of spellings."""

    texts: Mapping[str, Mapping[Any, tuple[str, ...]]] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def of(self, column: str, value: Any) -> tuple[str, ...]:
        """How a value is written: as the file has it, and as an engine writes it."""
        usual = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        return tuple(dict.fromkeys([*self.texts.get(column, {}).get(_key(value), ()), usual]))

    def value(self, column: str, text: str) -> Any:
        """The value that a text stands for; the text itself where the file does not have it."""
        text = "" if text == NULL else text
        return self.values.get(column, {}).get(text, text)


def _key(value: Any) -> tuple[str, Any]:
    """1, 1.0 and True are three values."""
    return type(value).__name__, value


def spelling_of(rows: Sequence[Mapping[str, Any]], table: PublishedTable) -> Spelling:
    """The spellings of a file: the same rows read twice. Where they do not agree in number, none are known."""
    if len(rows) != len(table.rows) or not rows:
        return Spelling()
    texts: dict[str, dict[Any, tuple[str, ...]]] = {}
    values: dict[str, dict[str, Any]] = {}
    for column in rows[0]:
        if column not in table.columns:
            continue
        place, found, back = table.column(column), texts.setdefault(column, {}), values.setdefault(column, {})
        for row, cells in zip(rows, table.rows, strict=True):
            value, text = plain(row[column]), "" if cells[place] == NULL else cells[place]
            known = found.setdefault(_key(value), ())
            if text not in known:
                found[_key(value)] = (*known, text)
            back.setdefault(text, value)
    return Spelling(texts, values)
