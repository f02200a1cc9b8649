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

from sfumato.attacks.base import AttackResult, Claim, Endpoint, Knowledge, is_over, not_applicable
from sfumato.errors import BudgetError, SfumatoError
from sfumato.types import identifier

_FORMS = ("%Y-%m-%d", "%m/%d/%Y", "%m/%d/%y", "%d.%m.%Y", "%d.%m.%y", "%Y%m%d", "%d %b %Y")
_GENERAL = re.compile(r"[*|]|\.\.|^[<>≤≥]")
"""What a generalised value has in it."""
_NUMBER = r"([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)"
_SPAN = re.compile(rf"{_NUMBER}\.\.{_NUMBER}")
_BOUND = re.compile(rf"(<=?|>=?|≤|≥)\s*{_NUMBER}")
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
    """Whether a released value can stand for a known one.

    It is equal, a star, a set a|b, a range 20..29, a bound such as < 30 or ≥ 40, or a prefix 021**.
    """
    released, known = str(general).strip(), normal(value)
    if released in ("*", "") or normal(general) == known:
        return True
    if "|" in released:
        return known in {normal(part) for part in released.split("|")}
    span = _SPAN.fullmatch(released)
    if span:
        try:
            return float(span[1]) <= float(known) <= float(span[2])
        except ValueError:
            return False
    bound = _BOUND.fullmatch(released)
    if bound:
        return _within(bound[1], bound[2], known)
    return released.endswith("*") and str(value).strip().casefold().startswith(released.rstrip("*").casefold())


def _within(sign: str, edge: str, known: str) -> bool:
    try:
        value, limit = float(known), float(edge)
    except ValueError:
        return False
    return {"<": value < limit, "<=": value <= limit, "≤": value <= limit, ">": value > limit}.get(sign, value >= limit)


def run(endpoint: Endpoint, knowledge: Knowledge) -> AttackResult:
    """Get rows without names, as published or by asking for them, and join."""
    fact, rows = knowledge.fact, endpoint.release
    columns = [c for c in knowledge.people[0].known if c != knowledge.key]
    if not columns:
        return not_applicable("nothing is known of a person but the name, and rows have none")
    if rows is None:
        shown = ", ".join(map(identifier, [*columns, fact.column]))
        try:
            found = endpoint.ask(f"SELECT {shown} FROM {identifier(knowledge.table)}")
        except SfumatoError as error:
            if is_over(error) and not isinstance(error, BudgetError):
                raise
            return AttackResult(reason="rows are refused, and none are published")
        rows = [dict(zip([*columns, fact.column], row, strict=True)) for row in found]
    linked = link([one.known for one in knowledge.people], rows, columns)
    claims = []
    for i, matches in enumerate(linked):
        having = {fact.holds(rows[row][fact.column]) for row in matches}
        if len(having) == 1:  # one row, or several that agree
            claims.append(Claim(i, having.pop(), certain=True))
    if not claims:
        return AttackResult(reason="every person fits rows with the secret and rows without it")
    worst = tuple(asked.sql for asked in endpoint.log[-1:])
    return AttackResult(tuple(claims), reason="rows without names are joined with a list of names", worst=worst)


def link(people: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> list[list[int]]:
    """For each person the rows that fit exactly after normalising, by an index over plain values."""
    general = [c for c in columns if any(_GENERAL.search(str(row[c])) for row in rows)]
    plain = [c for c in columns if c not in general]
    index: dict[tuple[str, ...], dict[tuple[str, ...], list[int]]] = {}
    for number, row in enumerate(rows):
        classes = index.setdefault(tuple(normal(row[c]) for c in plain), {})
        classes.setdefault(tuple("" if row[c] is None else str(row[c]) for c in general), []).append(number)
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
