"""Pairs of neighbours that tend to give wrong mechanisms away, for each word that says what neighbours are.

Comes in: a word. Goes out: pairs of inputs. The patterns are those that found the known wrong mechanisms of the
literature (Ding and others, CCS 2018; Bichsel and others, S&P 2021): one differs, all differ, one against the rest,
half against half, at several lengths and levels; and ramps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sfumato.errors import InputError

Pair = tuple[Any, Any]
_SIZES = (1, 2, 5, 10, 20)


def _number() -> Iterator[Pair]:
    yield 0, 1
    yield 10, 11


def _one() -> Iterator[Pair]:
    for n in _SIZES:
        for level in (0, 1):
            other = 1 - level
            yield [level] * n, [other] + [level] * (n - 1)
            if n > 1:
                yield [level] * n, [level] * (n - 1) + [other]


def _all() -> Iterator[Pair]:
    yield [0], [1]
    for n in (12, 20, 30):  # ramps by halves: whatever level tells most, some entries are there
        ramp = [(i - n // 2) / 2 for i in range(n)]
        yield ramp, [x + 1 for x in ramp[:-1]] + [ramp[-1] - 1]
    for n in _SIZES[1:]:
        yield [0] * (n - 1) + [1], [1] * (n - 1) + [0]
        if n < _SIZES[-1]:  # the longest ones are the dearest to run
            yield [0] * n, [1] * n
    for n in (5, 20):
        half = n // 2
        yield [0] * half + [1] * (n - half), [1] * half + [0] * (n - half)
    yield [1, 0, 0, 0, 0], [0, 1, 1, 1, 1]
    yield [0, 0, 0, 0, 5], [1, 1, 1, 1, 4]


def _up() -> Iterator[Pair]:
    for n in _SIZES:
        yield [0] * n, [1] * n
        if n > 1:
            yield [0] * n, [1] + [0] * (n - 1)
            yield [0] * n, [0] * (n - 1) + [1]
            yield [0] * n, [0] + [1] * (n - 1)


def _add_remove() -> Iterator[Pair]:
    for n in _SIZES:
        for extra in (0, 1):
            yield [0] * n, [0] * n + [extra]
            yield [1] * n, [extra] + [1] * n


def _any() -> Iterator[Pair]:
    yield from ((0, 1), (0, 2), (1, 2))


ADJACENT: dict[str, Callable[[], Iterator[Pair]]] = {
    "number": _number,
    "one": _one,
    "all": _all,
    "inc": _up,
    "dec": _up,
    "addremove": _add_remove,
    "any": _any,
}
"""number: two numbers 1 apart. one: lists of which one entry differs, by at most 1. all: every entry may. inc, dec: all
the same way. addremove: one entry more. any: any two of a few values.
"""
_SAME = {"replace": "one", "add-remove": "addremove"}


def pairs_of(word: str) -> list[Pair]:
    """The pairs that a word stands for."""
    known = ADJACENT.get(_SAME.get(word, word))
    if known is None:
        raise InputError(f'adjacency "{word}" is not known', hint=f"Use one of: {', '.join((*ADJACENT, *_SAME))}.")
    return list(known())
