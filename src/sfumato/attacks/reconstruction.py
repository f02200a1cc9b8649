"""Reconstruction: the whole column of secrets, from counts over many subsets, each about half of the people.

The subsets are conditions that an analyst can send: an arithmetic pattern of a numeric key, or else a list of names.
Four questions for each person are asked, and decoded by least squares; if a few answers are far off, by linear
programming.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.base import Claim, Endpoint, Found, Knowledge, literal, not_applicable
from sfumato.attacks.decode import is_gross, least_absolute, least_squares
from sfumato.errors import BudgetError, InputError
from sfumato.words import identifier

_MOST = 1000
_LISTED, _DESCRIBED = 150, 48
"""People who are named in lists where the key is a text, and who are described where there is no key."""
_PRIME = 10_007
_TRIES = 20
_FEW = 60
"""People in a small set: some twenty to forty of them have the secret."""


def run(endpoint: Endpoint, knowledge: Knowledge, questions_per_person: int = 4) -> Found:
    """Ask, decode, claim."""
    numeric = knowledge.key is not None and all(
        isinstance(p.known[knowledge.key], int) and abs(p.known[knowledge.key]) < 2**31 for p in knowledge.people
    )
    people = knowledge.people[: _MOST if numeric else _LISTED if knowledge.key else _DESCRIBED]
    if len(people) < 8:
        return not_applicable("it takes at least eight people")
    names: Any = [p.known[knowledge.key] if knowledge.key else p.where for p in people]
    if numeric:
        names = np.array([np.fmod(name, _PRIME) for name in names], np.int64)
    wanted = questions_per_person * len(people)
    endpoint.share(wanted)
    lines: list[NDArray[np.bool_]] = []
    answers: list[float] = []
    few = min(0.5, _FEW / len(people))
    share, large = few, 0
    for number in range(3 * wanted):
        if number == _TRIES:
            share, large = 0.5, len(answers)
        elif number == 2 * _TRIES and len(answers) - large < _TRIES // 2:
            share = few  # large sets are refused, for they overlap: small ones that hardly do
        where, line = (_pattern if numeric else _listed)(knowledge, names, number, share)
        try:
            value = endpoint.number(knowledge.count(f"{where} AND {knowledge.secret}"))
        except BudgetError:
            break
        if value is not None:
            lines.append(line)
            answers.append(value)
        if len(answers) == wanted or (number > 4 * _TRIES and len(answers) < _TRIES // 2):
            break
    if len(answers) < 8:
        return Found(reason="subset counts were refused, or the budget was spent")
    subsets, given = np.array(lines), np.array(answers, float)
    curve = [(m, _claims(decoded(subsets[:m], given[:m]))) for m in _marks(len(given))]
    estimate = decoded(subsets, given)
    exact = bool(np.array_equal(subsets.astype(float) @ np.round(estimate), given)) and len(given) >= len(people)
    worst = tuple(asked.sql for asked in endpoint.log[-3:])
    return Found(_claims(estimate, certain=exact), worst=worst, curve=tuple(curve))


def decoded(subsets: NDArray[np.bool_], answers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Least squares; where a few answers are far off and SciPy is there, absolute errors."""
    estimate = least_squares(subsets, answers)
    if subsets.shape[1] <= 300 and len(answers) >= 2 * subsets.shape[1] and is_gross(subsets, answers, estimate):
        try:
            return least_absolute(subsets, answers)
        except InputError:
            return estimate
    return estimate


def _claims(estimate: NDArray[np.float64], *, certain: bool = False) -> tuple[Claim, ...]:
    return tuple(Claim(i, bool(value > 0.5), certain=certain) for i, value in enumerate(estimate.tolist()))


def _marks(questions: int) -> list[int]:
    return sorted({max(8, questions * part // 6) for part in range(1, 6)} - {questions})


def _numbers(number: int, count: int) -> list[int]:
    """Whole numbers that look random and are the same each time: the attack can be repeated."""
    found: list[int] = []
    while len(found) < count:
        text = f"subset {number} {len(found)}".encode()
        digest = hashlib.sha256(text).digest()
        found += [int.from_bytes(digest[i : i + 4], "big") for i in range(0, 32, 4)]
    return found[:count]


def _pattern(
    knowledge: Knowledge, names: NDArray[np.int64], number: int, share: float
) -> tuple[str, NDArray[np.bool_]]:
    """A quadratic pattern of the key modulo a prime: about every second person, and hardly ever the same ones."""
    assert knowledge.key is not None
    a, b, c = (value % (_PRIME - 1) + 1 for value in _numbers(number, 3))
    key, cut = identifier(knowledge.key), int(_PRIME * share)
    where = f"(({key} % {_PRIME}) * (({key} % {_PRIME}) * {a} % {_PRIME} + {b}) + {c}) % {_PRIME} < {cut}"
    return where, np.fmod(names * (np.fmod(names * a, _PRIME) + b) + c, _PRIME) < cut


def _listed(knowledge: Knowledge, names: list[Any], number: int, share: float) -> tuple[str, NDArray[np.bool_]]:
    line = np.array([value < share * 2**32 for value in _numbers(number, len(names))], bool)
    chosen = [name for name, inside in zip(names, line.tolist(), strict=True) if inside]
    if knowledge.key is not None:
        return f"{identifier(knowledge.key)} IN ({', '.join(literal(name) for name in chosen)})", line
    return "(" + " OR ".join(f"({where})" for where in chosen) + ")", line
