"""Subsets of people that an analyst can write down: about every second person, and hardly ever the same ones.

Comes in: what is known. Goes out: a source of conditions, each with the line of who fulfils it. Three ways: an
arithmetic pattern of a numeric key; a sum of weights, one for each value of what is known; or a plain list of people.
All look random and are the same each time: an attack can be repeated.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.base import Knowledge, literal
from sfumato.types import identifier

Lines = NDArray[np.bool_]
_PRIME = 10_007
_LISTED, _DESCRIBED, _PRICED = 1000, 48, 100
"""People who are named in a list where the key is a text, who are described where nothing else is known, and who are
listed where each answer has a price."""
_MOST = 2500
"""Unknown numbers that are solved for at once."""
_HASHED = 4
"""Columns of which a number is made that looks random."""
_CASES = 120
"""Values of one column that get a weight of their own; of more, ranges of values do."""


@dataclass(frozen=True)
class SubsetSource:
    """Whom it can ask about: groups of people who look alike, of these sizes. `place` is each person's group.

    `make(number, share)` gives a condition that about this share fulfils, and who does. `short` says that conditions
    are short, however many people there are.
    """

    sizes: NDArray[np.float64]
    place: list[int]
    make: Callable[[int, float], tuple[str, Lines]]
    short: bool = False


def source(knowledge: Knowledge, *, priced: bool) -> SubsetSource:
    """The shortest way that reaches the most people."""
    keys = [one.known[knowledge.key] for one in knowledge.people] if knowledge.key else []
    if keys and knowledge.only is not None and all(type(k) is int and abs(k) < 2**63 for k in keys):
        return _by_number(knowledge, keys)
    if not keys and knowledge.only is not None and len(knowledge.everybody) <= _MOST:
        return _by_weights(knowledge)
    return listed(knowledge, _PRICED if priced else _LISTED if keys else _DESCRIBED)


def random_numbers(words: str, count: int) -> list[int]:
    """Whole numbers below 2^32 that look random and are the same each time."""
    digest = hashlib.shake_128(words.encode()).digest(4 * count)
    return [int(number) for number in np.frombuffer(digest, ">u4")]


def _by_number(knowledge: Knowledge, keys: list[int]) -> SubsetSource:
    """A quadratic pattern of the key modulo a prime, another one each time: two keys agree modulo few of them. The
    primes are small enough for products to fit into 32 bits, which is what some engines compute in.
    """
    assert knowledge.key is not None
    name, column = np.array(keys, np.int64), identifier(knowledge.key)

    def make(number: int, share: float) -> tuple[str, Lines]:
        which, *rest = random_numbers(f"pattern {number}", 4)
        p = _PRIMES[which % len(_PRIMES)]
        a, b, c = (value % (p - 1) + 1 for value in rest)
        cut, left = int(p * share), np.fmod(name, p)
        where = f"(({column} % {p}) * (({column} % {p}) * {a} % {p} + {b}) + {c}) % {p} < {cut}"
        return knowledge.among(where), np.fmod(left * (np.fmod(left * a, p) + b) + c, p) < cut

    return SubsetSource(np.ones(len(keys)), list(range(len(keys))), make, short=True)


def _primes(low: int, high: int) -> list[int]:
    sieve = np.ones(high, bool)
    for i in range(2, int(high**0.5) + 1):
        sieve[i * i :: i] = False
    return [int(p) for p in np.flatnonzero(sieve) if p >= low]


_PRIMES = _primes(20_000, 30_000)


def _by_weights(knowledge: Knowledge) -> SubsetSource:
    """Each value of each known column has a weight, drawn anew each time; the sum modulo a prime decides."""
    people = knowledge.everybody
    columns = _telling(people, len(knowledge.people))
    groups: dict[tuple[str, ...], int] = {}
    place = [groups.setdefault(tuple(str(one[c]) for c in columns), len(groups)) for one in people]
    sizes = np.bincount(place, minlength=len(groups)).astype(float)
    some = {group: one for one, group in zip(people, place, strict=True)}
    weighers = [_weigher(c, [some[group][c] for group in range(len(groups))]) for c in columns]

    def make(number: int, share: float) -> tuple[str, Lines]:
        terms, total = [], np.zeros(len(groups), np.int64)
        for weigh in weighers:
            sql, weights = weigh(number)
            terms.append(sql)
            total += weights
        cut = int(_PRIME * share)
        return knowledge.among(f"({' + '.join(terms) or '0'}) % {_PRIME} < {cut}"), np.fmod(total, _PRIME) < cut

    return SubsetSource(sizes, place[: len(knowledge.people)], make)


def _telling(people: list[dict[str, Any]], wanted: int) -> list[str]:
    """Columns that tell as many of the wanted people apart as all do; those with many values are left out first."""
    values = {c: len({str(one[c]) for one in people}) for c in people[0]}
    columns = [c for c in people[0] if values[c] > 1]

    def apart(some: list[str]) -> int:
        lines = [tuple(str(one[c]) for c in some) for one in people]
        counts = Counter(lines)
        return sum(counts[line] == 1 for line in lines[:wanted])

    whole = apart(columns)
    for column in sorted(columns, key=lambda c: -values[c] if not _is_whole(people, c) else 0):
        fewer = [c for c in columns if c != column]
        if fewer and apart(fewer) == whole:
            columns = fewer
    return columns


def _is_whole(people: list[dict[str, Any]], column: str) -> bool:
    return all(one[column] is None or (type(one[column]) is int and abs(one[column]) < 2**63) for one in people)


def _weigher(column: str, values: list[Any]) -> Callable[[int], tuple[str, NDArray[np.int64]]]:
    """For one column: SQL for the weight of a row, and the weights of these values."""
    name = identifier(column)
    there = sorted({v for v in values if v is not None})
    if len(there) > 8 and _is_whole([{column: v} for v in values], column):
        return _number_weigher(name, values)
    if len(there) > _CASES:
        return _range_weigher(name, there, values)
    code = np.array([len(there) if v is None else there.index(v) for v in values])

    def weigh(number: int) -> tuple[str, NDArray[np.int64]]:
        drawn = np.array(random_numbers(f"{column} {number}", len(there) + 1), np.int64) % _PRIME
        cases = " ".join(f"WHEN {literal(v)} THEN {w}" for v, w in zip(there, drawn, strict=False))
        return f"CASE {name} {cases} ELSE {drawn[-1]} END", drawn[code]

    return weigh


def _number_weigher(name: str, values: list[Any]) -> Callable[[int], tuple[str, NDArray[np.int64]]]:
    """Whole numbers: a multiple of each, another one each time."""
    gaps = any(v is None for v in values)
    left = np.fmod(np.array([0 if v is None else v for v in values], np.int64), _PRIME)
    empty = np.array([v is None for v in values])

    def weigh(number: int) -> tuple[str, NDArray[np.int64]]:
        times, instead = (drawn % _PRIME for drawn in random_numbers(f"{name} {number}", 2))
        product = f"({name} % {_PRIME}) * {times} % {_PRIME}"
        sql = f"CASE WHEN {name} IS NULL THEN {instead} ELSE {product} END" if gaps else product
        return sql, np.where(empty, instead, np.fmod(left * times, _PRIME))

    return weigh


def _range_weigher(name: str, there: list[Any], values: list[Any]) -> Callable[[int], tuple[str, NDArray[np.int64]]]:
    """Many values: ranges, cut at other values each time."""
    order = {v: i for i, v in enumerate(there)}
    code = np.array([-1 if v is None else order[v] for v in values])

    def weigh(number: int) -> tuple[str, NDArray[np.int64]]:
        drawn = random_numbers(f"{name} {number}", 2 * _CASES + 1)
        cuts = sorted({cut % len(there) for cut in drawn[:_CASES]})
        weights = np.array(drawn[_CASES:], np.int64)[: len(cuts) + 1] % _PRIME
        cases = " ".join(f"WHEN {name} <= {literal(there[c])} THEN {w}" for c, w in zip(cuts, weights, strict=False))
        where = np.searchsorted(cuts, code)  # the first cut that is not below
        return f"CASE {cases} ELSE {weights[-1]} END", np.where(code < 0, weights[-1], weights[where])

    return weigh


def hashed(knowledge: Knowledge, number: int) -> tuple[str, int]:
    """A number below the second result that looks random, made of each row's key or of what is known of people; another
    one for each `number`. Only the values that columns can have go into it, and nobody's row.
    """
    keys = [one.known[knowledge.key] for one in knowledge.people] if knowledge.key else []
    if keys and all(type(k) is int and abs(k) < 2**63 for k in keys):
        which, *rest = random_numbers(f"hash {number}", 4)
        p, column = _PRIMES[which % len(_PRIMES)], identifier(knowledge.key or "")
        a, b, c = (value % (p - 1) + 1 for value in rest)
        return f"((({column} % {p}) * (({column} % {p}) * {a} % {p} + {b}) + {c}) % {p})", p
    people = knowledge.everybody
    columns = sorted(people[0], key=lambda c: -len({str(one[c]) for one in people}))
    terms = [_weigher(c, [one[c] for one in people])(number)[0] for c in columns[:_HASHED] if c != knowledge.key]
    return f"(({' + '.join(terms) or '0'}) % {_PRIME})", _PRIME


def listed(knowledge: Knowledge, most: int) -> SubsetSource:
    """Lists of names, or of descriptions."""
    people = knowledge.people[:most]

    def make(number: int, share: float) -> tuple[str, Lines]:
        line = np.array(random_numbers(f"subset {number}", len(people))) < share * 2**32
        return named(knowledge, line), line

    return SubsetSource(np.ones(len(people)), list(range(len(people))), make)


def named(knowledge: Knowledge, line: Lines) -> str:
    """The condition that somebody is one of these."""
    chosen = [one for one, inside in zip(knowledge.people, line.tolist(), strict=False) if inside]
    if not chosen:
        return "1 = 0"
    if knowledge.key is not None:
        values = ", ".join(literal(one.known[knowledge.key]) for one in chosen)
        return f"{identifier(knowledge.key)} IN ({values})"
    return "(" + " OR ".join(f"({one.where})" for one in chosen) + ")"
