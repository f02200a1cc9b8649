"""How files spell values: a release is text, and what is known of people has kinds.

Comes in: the owner's rows with their kinds, and the same file as text. Goes out: for each value its spellings, and for
each text of the secret column its value. A date written 01/02/2020 is the same cell in the file and in the release.
A secret of a release that is nobody's, as a label, or a value in another spelling, is one error: whoever took it for
another value would claim what is not so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sfumato.anonymity.inspection.reading import NULL, PublishedTable
from sfumato.attacks.base import SecretFact, plain
from sfumato.errors import InputError

_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?([eE][-+]?\d{1,3})?", re.ASCII)
"""A number as engines write it: a comma in the place of the point may be anything."""
_TRUTHS = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}


@dataclass(frozen=True)
class Spelling:
    """`texts` has the spellings of values by column, `values` the values of spellings."""

    texts: Mapping[str, Mapping[Any, tuple[str, ...]]] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def of(self, column: str, value: Any) -> tuple[str, ...]:
        """How a value is written: as the file has it, and as an engine writes it."""
        usual = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        return tuple(dict.fromkeys([*self.texts.get(column, {}).get(_key(value), ()), usual]))

    def secrets(self, release: str, fact: SecretFact, texts: Iterable[str], own: Iterable[Any]) -> dict[str, Any]:
        """The values of the secret column of a release by their texts; `own` are those of people, if they are known.

        Guarantee: each text is the value of somebody, written as the owner's file writes it, or as the plain text of a
            value of its kind. Where values of people are not known, it is at least a value of the kind of the secret.
        Proof: all other texts are refused.
        Reference: none; equality of texts.
        Checked by: attacks::no_certain_claim_is_wrong_however_the_secret_is_spelt
        """
        known, values = self.values.get(fact.column, {}), {_key(value): value for value in own}
        texts_of, kinds = values or {_key(fact.value): fact.value}, {type(value) for value in values.values()}
        found: dict[str, Any] = {}
        for text in texts:
            bare = "" if text == NULL else text
            read = [_key(value) for value in _readings(kinds or {type(fact.value)}, bare)]
            if bare in known:
                found[text] = known[bare]
            elif any(key in texts_of for key in read):
                found[text] = next(texts_of[key] for key in read if key in texts_of)
            elif values or known or not _may_be_other(fact, bare):
                raise InputError(
                    f'"{release}" has the secret "{bare[:60]}", which is nobody\'s value of "{fact.column}"',
                    hint="Attack a release whose secrets are spelt as in the original table.",
                )
            else:
                found[text] = read[0][1] if read else None
        return found


def _key(value: Any) -> tuple[str, Any]:
    """1, 1.0 and True are three values."""
    return type(value).__name__, value


def _readings(kinds: Iterable[type[Any]], text: str) -> list[Any]:
    """What a text is as a value of each of these kinds, where it is a plain spelling of one."""
    found = [_read(kind, text) for kind in kinds]
    return [None] * (text == "" and str not in kinds) + [value for value in found if value is not None]


def _read(kind: type[Any], text: str) -> Any:
    """A text as a value of one kind; None where it is not a plain spelling of one."""
    try:
        if issubclass(kind, str):
            return text
        if issubclass(kind, bool):
            return _TRUTHS.get(text.casefold())
        if issubclass(kind, int | float):
            return _number(kind, Decimal(text)) if _NUMBER.fullmatch(text) else None
        if issubclass(kind, datetime):
            return datetime.fromisoformat(text)
        if issubclass(kind, date):
            return date.fromisoformat(text[:10]) if text[10:] in ("", " 00:00:00", "T00:00:00") else None
    except (ValueError, ArithmeticError):
        pass
    return None


def _number(kind: type[Any], number: Decimal) -> Any:
    return None if kind is int and number != number.to_integral_value() else kind(number)


def _may_be_other(fact: SecretFact, text: str) -> bool:
    """Whether a text can be another value than the secret, where values of people are not known: no label, and no
    other spelling of it.
    """
    if not isinstance(fact.value, str):
        return text == "" or _read(type(fact.value), text) is not None
    bare = text.strip().casefold()
    return bare.strip("*") != "" and bare != fact.value.strip().casefold() and "|" not in text


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
