"""Social networks without names, named by their shape alone (Narayanan and Shmatikov, S&P 2009).

Comes in: a graph of who knows whom; two copies of it lose some edges each, and one of them loses its names. Goes out:
how many people are found again, from a few whom the attacker knows in both: their neighbours are compared, then the
neighbours' neighbours, and a match is kept if it stands out and the other side agrees.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Graph = dict[int, set[int]]
_STANDS_OUT = 0.5
"""By how many standard deviations of the scores the best match exceeds the second: the value of the paper."""
_ROUNDS = 12


@dataclass(frozen=True)
class GraphReport:
    """People in both copies, of whom so many were known before, so many were named, and so many of these rightly."""

    people: int
    seeds: int
    named: int
    right: int

    @property
    def found(self) -> float:
        """The part of people not known before who were named rightly."""
        return self.right / max(1, self.people - self.seeds)

    @property
    def wrong(self) -> float:
        """The part of names that are wrong."""
        return 1 - self.right / self.named if self.named else 0.0

    @property
    def succeeded(self) -> bool:
        """Whether far more were named rightly than by luck, which names one in as many as there are."""
        return self.right > 10 and self.right > 10 * self.named / max(1, self.people)


def attack_graph(edges: Sequence[tuple[int, int]], keep: float, seeds: int) -> GraphReport:
    """Make two copies of a graph, each with a part of its edges, and name the people of one by the other."""
    first, second = _copy(edges, keep, "anonymous"), _copy(edges, keep, "named")
    people = sorted(set(first) & set(second))
    known = sorted(people, key=lambda one: (-len(first[one]) * len(second[one]), one))[:seeds]
    mapping = propagate(first, second, {one: one for one in known})
    named = {one: other for one, other in mapping.items() if one not in known}
    return GraphReport(len(people), len(known), len(named), sum(one == other for one, other in named.items()))


def sample_graph(people: int, friends: int) -> list[tuple[int, int]]:
    """A made-up network, the same each time: newcomers befriend popular people and friends of friends."""
    draw = _stream("network")
    edges: set[tuple[int, int]] = {(a, b) for b in range(friends + 1) for a in range(b)}
    ends = [one for edge in sorted(edges) for one in edge]
    near: Graph = {}
    for a, b in sorted(edges):
        near.setdefault(a, set()).add(b)
        near.setdefault(b, set()).add(a)
    for newcomer in range(friends + 1, people):
        chosen: set[int] = set()
        while len(chosen) < friends:
            other = ends[int(next(draw) * len(ends))]
            if chosen and next(draw) < 0.3:
                around = sorted(near[max(chosen)] - {newcomer})
                other = around[int(next(draw) * len(around))]
            chosen.add(other)
        for other in sorted(chosen):
            edges.add((other, newcomer))
            near.setdefault(other, set()).add(newcomer)
            near.setdefault(newcomer, set()).add(other)
            ends += [other, newcomer]
    return sorted(edges)


def _stream(name: str) -> Iterator[float]:
    """Numbers from 0 to 1 that depend on a name alone: a demonstration repeats, and is no secret."""
    counter = 0
    while True:
        digest = hashlib.sha256(f"{name} {counter}".encode()).digest()
        for i in range(0, 32, 8):
            yield int.from_bytes(digest[i : i + 8], "big") / 2**64
        counter += 1


def _copy(edges: Sequence[tuple[int, int]], keep: float, name: str) -> Graph:
    graph: Graph = {}
    for (a, b), drawn in zip(edges, _stream(name), strict=False):
        if drawn < keep:
            graph.setdefault(a, set()).add(b)
            graph.setdefault(b, set()).add(a)
    return graph


def propagate(first: Graph, second: Graph, known: dict[int, int]) -> dict[int, int]:
    """Extend a mapping of people in one graph to people in the other, until nothing changes."""
    mapping = dict(known)
    for _ in range(_ROUNDS):
        before = dict(mapping)
        for one in sorted(first, key=lambda person: (-len(first[person]), person)):
            if one in known:
                continue
            other = _best(one, first, second, mapping)
            back = {there: here for here, there in mapping.items() if here != one}
            if other is not None and _best(other, second, first, back) == one and other not in back:
                mapping[one] = other
            else:
                mapping.pop(one, None)
        if mapping == before:
            break
    return mapping


def _best(one: int, first: Graph, second: Graph, mapping: dict[int, int]) -> int | None:
    """The person of the other graph who shares most mapped neighbours, if somebody stands out."""
    scores: dict[int, float] = {}
    for neighbour in first[one]:
        there = mapping.get(neighbour)
        for candidate in second.get(there, ()) if there is not None else ():
            scores[candidate] = scores.get(candidate, 0.0) + 1 / math.sqrt(len(second[candidate]))
    if len(scores) < 2:
        return None
    ordered = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    mean = sum(scores.values()) / len(scores)
    spread = math.sqrt(sum((score - mean) ** 2 for score in scores.values()) / len(scores))
    return ordered[0][0] if spread and (ordered[0][1] - ordered[1][1]) / spread >= _STANDS_OUT else None
