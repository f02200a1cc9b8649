"""Whether rows stand in the order of other rows more than a random order would: a part, a sample, moved pieces.

Comes in: units, each a sequence of kinds of released rows beside the sequence of original rows. Goes out: the logarithm
of a bound on the chance that rows in a random order follow the original ones as closely.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from functools import lru_cache

CHANCE = 1e-6
"""How improbable an order must be to be called that of the original rows."""
_MOST_ROWS = 10_000
"""Rows of a unit that are compared: the first ones."""
_MOST_UNITS = 200
"""Units that are compared: the largest ones."""
_SMALL = 64
"""Rows of a unit up to which the law of its LCS is bounded term by term."""
_ROUNDING = 1e-9
"""More than what logarithms of small units are rounded by."""
_GROWTH = tuple(0.25 * i for i in range(1, 100))
_NEAR = (0.0, -0.15, 0.15)
"""Logarithms of factors of the z that are tried: every one of them gives a bound."""
_SMALLEST = -45.0
"""Terms below e^-45 of the largest one are added up by their ratio."""
Unit = tuple[Sequence[Hashable], Sequence[Hashable]]
"""Kinds of released rows in their order, and of original rows in theirs."""
Pairs = tuple[tuple[tuple[int, int], int], ...]
"""Original and released rows of one kind, and how many kinds have so many."""


def log_chance(units: Sequence[Unit]) -> float:
    """The logarithm of a bound on the chance that all units follow the original rows as closely as they do.

    Guarantee: if every unit is in a random order, for every x the result is below log(x) with probability at most x.
    Proof: one unit has a bound on P(LCS >= L) by the expected number of common subsequences of length L, and one on a
        common run by the union over its places; the smaller of the two, doubled, is a p-value; Fisher's sum of
        the logarithms of independent p-values is at most a sum of exponential variables. Of small units the sum of LCS
        is bounded by the product of their bounds on E[z^LCS], over z^L (Chernoff). The smaller of both is doubled.
    Reference: Baer and Brock 1968; Chernoff 1952; Fisher 1932.
    Checked by: unit::rows_in_a_random_order_are_not_called_ordered, unit::the_bound_is_above_the_exact_chance
    """
    told = [(rows, _known(rows, people)) for rows, people in units if len(set(rows)) > 1]
    small = [unit for unit in told if len(unit[0]) <= _SMALL and len(unit[1]) <= 8 * _SMALL]
    each = [_one(*unit) for unit in sorted(told, key=lambda unit: -len(unit[0]))[:_MOST_UNITS]]
    return min(0.0, math.log(2) + min(_fisher(each), _together(small)))


def _fisher(parts: Sequence[float]) -> float:
    """The logarithm of a bound on the tail of a sum of so many exponential variables."""
    total, many = -math.fsum(parts), len(parts)
    if total <= many:
        return 0.0
    return -total if many == 1 else many - total + many * math.log(total / many)  # Chernoff's bound


def _known(rows: Sequence[Hashable], people: Sequence[Hashable]) -> list[Hashable]:
    kinds = set(rows)
    return [kind for kind in people if kind in kinds]


def _pairs(rows: Sequence[Hashable], people: Sequence[Hashable]) -> Pairs:
    known, there = Counter(rows), Counter(people)
    return tuple(sorted(Counter((there[kind], many) for kind, many in known.items() if there[kind]).items()))


def _together(units: Sequence[Unit]) -> float:
    """The logarithm of a bound on the chance that small units have common subsequences of so many rows in all."""
    length = sum(common_length(*unit) for unit in units)
    found = [-length * s for s in _GROWTH]
    for shape, many in Counter(_pairs(*unit) for unit in units).items():
        found = [total + many * one for total, one in zip(found, _moments(shape), strict=True)]
    return min(0.0, *found)


@lru_cache(maxsize=1 << 14)
def _moments(pairs: Pairs) -> tuple[float, ...]:
    """Bounds on log E[e^(s LCS)] of a small unit for every s of _GROWTH."""
    tails = _tails(pairs)
    grown = [math.log(-math.expm1(-s)) for s in _GROWTH]
    return tuple(
        _log_sum([0.0, *(s * i + more + tail for i, tail in enumerate(tails, 1))])
        for s, more in zip(_GROWTH, grown, strict=True)
    )


@lru_cache(maxsize=1 << 14)
def _tails(pairs: Pairs) -> tuple[float, ...]:
    """Logarithms of bounds on P(LCS >= 1), P(LCS >= 2), ... of a small unit, in whole numbers until the last step."""
    product = [1]
    for pair, many in pairs:
        for _ in range(many):
            product = _times(product, *pair)
    found, least = [], 0.0
    for length, expected in enumerate(product[1:], 1):
        least = min(least, math.log(expected) - math.log(math.factorial(length)) + _ROUNDING)
        found.append(least)
    return tuple(found)


def _times(product: list[int], people: int, rows: int) -> list[int]:
    """A polynomial times the one of a kind: the sum of C(m, u) C(n, u) u! z^u."""
    kind = [math.comb(people, u) * math.comb(rows, u) * math.factorial(u) for u in range(min(people, rows) + 1)]
    found = [0] * (len(product) + len(kind) - 1)
    for i, one in enumerate(product):
        for j, other in enumerate(kind):
            found[i + j] += one * other
    return found


def _log_sum(logs: Sequence[float]) -> float:
    """The logarithm of the sum of numbers that are given by theirs."""
    top = max(logs)
    return top + math.log(math.fsum(math.exp(one - top) for one in logs))


def _one(rows: Sequence[Hashable], people: Sequence[Hashable]) -> float:
    """The logarithm of a p-value of one unit."""
    rows = rows[:_MOST_ROWS]
    people = _known(rows, people)[:_MOST_ROWS]
    if not people:
        return 0.0
    whole = log_expected(_pairs(rows, people), common_length(rows, people))
    run = log_run(rows, people)
    return min(0.0, math.log(2) + min(whole, run))


def common_length(rows: Sequence[Hashable], people: Sequence[Hashable]) -> int:
    """The length of the longest common subsequence, by whole numbers of one bit for a person (Hyyrö 2004)."""
    places: dict[Hashable, int] = {}
    for i, kind in enumerate(people):
        places[kind] = places.get(kind, 0) | 1 << i
    full = (1 << len(people)) - 1
    free = full
    for kind in rows:
        hit = free & places.get(kind, 0)
        if hit:
            free = ((free + hit) | (free - hit)) & full
    return len(people) - free.bit_count()


@lru_cache(maxsize=1 << 14)
def log_expected(pairs: Pairs, length: int) -> float:
    """A bound on the logarithm of the expected number of common subsequences of a length, rows in random order.

    `pairs` has original and released rows of a kind, and how many kinds have so many. A choice of u of m original and
    n released rows of every kind fits in u! orders, and one of the orders of all of them is the right one: the number
    is the coefficient at z^L of the product of sum C(m, u) C(n, u) u! z^u, over L!. A coefficient is at most the value
    over z^L, for every z.
    """
    low, high = -60.0, 60.0
    for _ in range(60):
        middle = (low + high) / 2
        expected = sum(many * _likeliest(*pair, math.exp(middle)) for pair, many in pairs)
        low, high = (middle, high) if expected < length else (low, middle)
    return min(
        sum(many * _kind_sum(*pair, low + near) for pair, many in pairs)
        - length * (low + near)
        - math.lgamma(length + 1)
        for near in _NEAR
    )


def _likeliest(people: int, rows: int, z: float) -> float:
    """About the u of the largest C(m, u) C(n, u) u! z^u: where a term is as large as the next one."""
    half = z * (people + rows) + 1
    return 2 * z * people * rows / (half + math.sqrt(max(0.0, half * half - 4 * z * z * people * rows)))


@lru_cache(maxsize=1 << 14)
def _kind_sum(people: int, rows: int, s: float) -> float:
    """The logarithm of the sum of C(m, u) C(n, u) u! e^(su), from its largest terms; what is left out is bounded.

    Ratios of terms fall: behind the last term that is added, the rest is at most its geometric series.
    """
    most = min(people, rows)
    start = min(most, round(_likeliest(people, rows, math.exp(s))))
    total, term, u = 1.0, 0.0, start
    while u < most:
        ratio = math.log(people - u) + math.log(rows - u) - math.log(u + 1) + s
        term, u = term + ratio, u + 1
        total += math.exp(term)
        if term < _SMALLEST and ratio < -0.1:
            total += math.exp(term) / -math.expm1(ratio)
            break
    term, u = 0.0, start
    while u > 0:
        ratio = math.log(u) - math.log(people - u + 1) - math.log(rows - u + 1) - s
        term, u = term + ratio, u - 1
        total += math.exp(term)
        if term < _SMALLEST and ratio < -0.1:
            total += math.exp(term) / -math.expm1(ratio)
            break
    top = math.lgamma(people + 1) - math.lgamma(people - start + 1) - math.lgamma(start + 1) + s * start
    return top + math.lgamma(rows + 1) - math.lgamma(rows - start + 1) + math.log(total)


def log_run(rows: Sequence[Hashable], people: Sequence[Hashable]) -> float:
    """A bound on the logarithm of the chance of a run that both have: its own chance, for every place in both."""
    end, length = longest_run(rows, people)
    known = Counter(rows)
    found = math.log(len(rows)) + math.log(len(people))
    for i, kind in enumerate(rows[end - length : end]):
        found += math.log(known[kind]) - math.log(len(rows) - i)
        known[kind] -= 1
    return found


def longest_run(rows: Sequence[Hashable], people: Sequence[Hashable]) -> tuple[int, int]:
    """Where the longest run of rows ends that stands in the original table too, and how long it is.

    By the suffix automaton of the original rows (Blumer and others 1985).
    """
    step: list[dict[Hashable, int]] = [{}]
    link, size = [-1], [0]
    last = 0
    for kind in people:
        new = len(step)
        step.append({})
        link.append(0)
        size.append(size[last] + 1)
        at = last
        while at >= 0 and kind not in step[at]:
            step[at][kind] = new
            at = link[at]
        if at >= 0:
            other = step[at][kind]
            if size[at] + 1 == size[other]:
                link[new] = other
            else:
                copy = len(step)
                step.append(dict(step[other]))
                link.append(link[other])
                size.append(size[at] + 1)
                while at >= 0 and step[at].get(kind) == other:
                    step[at][kind] = copy
                    at = link[at]
                link[other] = link[new] = copy
        last = new
    at = length = end = most = 0
    for i, kind in enumerate(rows, 1):
        while at and kind not in step[at]:
            at = link[at]
            length = size[at]
        if kind in step[at]:
            at, length = step[at][kind], length + 1
        if length > most:
            end, most = i, length
    return end, most


def blocks_of(columns: Sequence[Sequence[str]], many: int) -> list[list[int]]:
    """Rows in pieces within which no column sorts or groups them: the order of pieces follows from what they say."""
    blocks = [list(range(many))]
    left = list(columns)
    while True:
        column = next((one for one in left if _is_grouped(one, blocks)), None)
        if column is None:
            return blocks
        left.remove(column)
        finer: list[list[int]] = []
        for block in blocks:
            for i in block:
                if i != block[0] and column[i] == column[i - 1]:
                    finer[-1].append(i)
                else:
                    finer.append([i])
        blocks = finer


def _is_grouped(column: Sequence[str], blocks: Sequence[Sequence[int]]) -> bool:
    """Whether rows of one value stand together in every piece; where most values occur once, in their order."""
    groups = 0
    for block in blocks:
        seen: set[str] = set()
        for place, i in enumerate(block):
            if place and column[i] == column[i - 1]:
                continue
            if column[i] in seen:
                return False
            seen.add(column[i])
        groups += len(seen)
    if 2 * groups <= sum(map(len, blocks)):
        return True
    parts = [[column[i] for i in block] for block in blocks]
    return any(all(_is_sorted(part, as_number=way) for part in parts) for way in (False, True))


def _is_sorted(part: Sequence[str], *, as_number: bool) -> bool:
    """Whether texts are in their order or in its reverse."""
    try:
        keys: list[float] | list[str] = [float(text) for text in part] if as_number else list(part)
    except ValueError:
        return False
    return keys in (sorted(keys), sorted(keys, reverse=True))
