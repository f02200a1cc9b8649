"""Linking: rows without names, joined with a list that has names (Sweeney 1997); and scored, where nothing fits.

Values are normalised first: dates in any usual order, codes with lost zeros, capitals, blanks. The score counts rare
agreements for more, and a match is claimed if the best row stands out from the second (Narayanan and Shmatikov, S&P
2008): this also links sparse records, such as a few ratings, of which some are wrong.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import date, datetime
from functools import lru_cache
from typing import Any

from sfumato.attacks.base import Claim, Endpoint, Found, Knowledge
from sfumato.errors import BudgetError, SfumatoError
from sfumato.words import identifier

_FORMS = ("%Y-%m-%d", "%m/%d/%Y", "%m/%d/%y", "%d.%m.%Y", "%d.%m.%y", "%Y%m%d", "%d %b %Y")
_STANDS_OUT = 1.5
"""By how many standard deviations of all scores the best one must exceed the second: the value of the paper."""


def normal(value: Any) -> str:
    """One spelling: dates as ISO, whole numbers without leading zeros or a zero fraction, words in lower case."""
    if value is None:
        return ""
    if isinstance(value, date):
        return value.isoformat()[:10]
    text = str(value).strip()
    if re.fullmatch(r"[-+]?\d+(\.0+)?", text):
        return str(int(float(text))) if len(text) < 16 else text.lstrip("0")
    if re.search(r"\d[-/. ]", text):
        for form in _FORMS:
            try:
                found = datetime.strptime(text, form).date()  # noqa: DTZ007  a birthday has no zone
            except ValueError:
                continue
            return found.isoformat()
    return " ".join(text.casefold().split())


def covers(general: Any, value: Any) -> bool:
    """Whether a released value can stand for a known one: equal, a star, a set a|b, a range 20-29 or a prefix 021**."""
    released, known = str(general).strip(), normal(value)
    if released in ("*", "") or normal(general) == known:
        return True
    if "|" in released:
        return known in {normal(part) for part in released.split("|")}
    span = re.fullmatch(r"(-?\d+(?:\.\d+)?)\.\.(-?\d+(?:\.\d+)?)", released)
    if span:
        try:
            return float(span[1]) <= float(known) <= float(span[2])
        except ValueError:
            return False
    return released.endswith("*") and str(value).strip().casefold().startswith(released.rstrip("*").casefold())


def run(endpoint: Endpoint, knowledge: Knowledge) -> Found:
    """Get rows without names, as published or by asking for them, and join."""
    columns = [c for c in (knowledge.people[0].known if knowledge.people else {}) if c != knowledge.key]
    rows = endpoint.release
    if rows is None:
        shown = ", ".join(map(identifier, [*columns, knowledge.secret_column]))
        try:
            found = endpoint.ask(f"SELECT {shown} FROM {identifier(knowledge.table)}")
        except (BudgetError, SfumatoError):
            return Found(reason="rows are refused, and none are published")
        rows = [dict(zip([*columns, knowledge.secret_column], row, strict=True)) for row in found]
    linked = link([one.known for one in knowledge.people], rows, columns)
    claims = []
    for i, matches in enumerate(linked):
        secrets = {normal(rows[row][knowledge.secret_column]) for row in matches}
        if len(secrets) == 1:  # one row, or several that agree
            claims.append(Claim(i, secrets.pop() == normal(knowledge.secret_value), certain=True))
    worst = tuple(asked.sql for asked in endpoint.log[-1:])
    return Found(tuple(claims), reason="rows without names are joined with a list of names", worst=worst)


def link(people: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> list[list[int]]:
    """For each person the rows that fit exactly after normalising, by an index over plain values."""
    general = [c for c in columns if any("*" in str(r[c]) or "|" in str(r[c]) or ".." in str(r[c]) for r in rows)]
    plain = [c for c in columns if c not in general]
    index: dict[tuple[str, ...], dict[tuple[str, ...], list[int]]] = {}
    for number, row in enumerate(rows):
        classes = index.setdefault(tuple(normal(row[c]) for c in plain), {})
        classes.setdefault(tuple(str(row[c]) for c in general), []).append(number)
    fits = lru_cache(maxsize=1 << 16)(covers)
    return [
        [
            number
            for released, numbers in index.get(tuple(normal(one[c]) for c in plain), {}).items()
            if all(fits(value, one[c]) for value, c in zip(released, general, strict=True))
            for number in numbers
        ]
        for one in people
    ]


class Sparse:
    """Records of which each has few of very many items, ready to be looked up by some of them."""

    def __init__(self, records: Sequence[dict[str, Any]]) -> None:
        self._many = len(records)
        self._having: dict[str, list[tuple[int, Any]]] = {}
        for number, record in enumerate(records):
            for item, value in record.items():
                if value is not None:
                    self._having.setdefault(item, []).append((number, value))

    def find(self, aux: dict[str, Any], tolerance: float = 0.0) -> tuple[int | None, float]:
        """The record that a few known items belong to, or None if none stands out; and by how much the best one does.

        An item that few records have weighs 1/ln(support); values agree within the tolerance.
        """
        scores: dict[int, float] = {}
        for item, value in aux.items():
            having = self._having.get(item, [])
            weight = 1 / math.log(max(len(having), 2) + 1)
            for number, held in having:
                if _alike(held, value, tolerance):
                    scores[number] = scores.get(number, 0.0) + weight
        centre = sum(scores.values()) / self._many
        squares = sum((score - centre) ** 2 for score in scores.values())
        spread = math.sqrt((squares + (self._many - len(scores)) * centre**2) / self._many)
        if self._many < 2 or spread == 0:
            return None, 0.0
        first, second = ([*sorted(scores, key=lambda number: -scores[number])[:2], -1])[:2]
        lead = (scores[first] - scores.get(second, 0.0)) / spread
        return (first if lead >= _STANDS_OUT else None), lead


def _alike(one: Any, other: Any, tolerance: float) -> bool:
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return abs(one - other) <= tolerance
    return normal(one) == normal(other)
