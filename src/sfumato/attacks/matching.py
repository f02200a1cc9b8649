"""Which class of a release a person can be in, if every released row is somebody's and nobody has two.

Comes in: how many people have which candidate classes, and the rows of each class. Goes out: for each set of candidates
the classes that are left in some assignment of all rows, and whether people with these candidates have a row in all of
them. A row that one person alone fits is hers, however many other rows fit her too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

Candidates = tuple[int, ...]
"""Classes whose labels cover a person."""
_MOST_EDGES = 500_000
"""Pairs of candidates and classes up to which assignments are compared."""


@dataclass(frozen=True)
class Forced:
    """What all assignments have in common. `left` has candidates that remain; `sure` those who have a row for certain.

    Candidates that are in neither are those of whom nothing follows: rows that fit nobody are among theirs.
    """

    left: Mapping[Candidates, Candidates]
    sure: frozenset[Candidates]


def forced(people: Mapping[Candidates, int], sizes: Sequence[int]) -> Forced:
    """The classes that people can be in.

    Guarantee: a class is left for a person exactly if some assignment of every row to a person whom its labels cover,
        at most one row each, puts her there; and she is sure to have a row exactly if she has one in every assignment.
    Proof: assignments are the flows that fill every class. One unit can be moved onto an edge, or off a person, exactly
        along a cycle of the residual graph of one such flow: inside a strongly connected part of it.
    Reference: Berge 1957; Ahuja, Magnanti, Orlin, Network Flows, 1993.
    Checked by: attacks::what_is_forced_is_what_all_assignments_share
    """
    left: dict[Candidates, Candidates] = {}
    sure: set[Candidates] = set()
    for groups in _components(people):
        if sum(map(len, groups)) > _MOST_EDGES:
            found = _where_all_have_rows(groups, people, sizes)
        else:
            flow = _RowFlow({group: people[group] for group in groups}, sizes)
            if not flow.fill():
                continue
            found = flow.forced()
        left |= found.left
        sure |= found.sure
    return Forced(left, frozenset(sure))


def _components(people: Iterable[Candidates]) -> list[list[Candidates]]:
    """Candidates in parts that share no class."""
    above: dict[int, int] = {}

    def top(at: int) -> int:
        above.setdefault(at, at)
        while above[at] != at:
            above[at] = above[above[at]]
            at = above[at]
        return at

    groups = [group for group in people if group]
    for group in groups:
        for at in group[1:]:
            above[top(at)] = top(group[0])
    parts: dict[int, list[Candidates]] = {}
    for group in groups:
        parts.setdefault(top(group[0]), []).append(group)
    return list(parts.values())


def _where_all_have_rows(
    groups: Sequence[Candidates], people: Mapping[Candidates, int], sizes: Sequence[int]
) -> Forced:
    """What follows class by class: a class with as many rows as people who fit it has all of them."""
    fitting: dict[int, int] = {}
    for group in groups:
        for at in group:
            fitting[at] = fitting.get(at, 0) + people[group]
    full = {at for at, many in fitting.items() if sizes[at] == many}
    sure = {group: at for group in groups for at in group if at in full}
    return Forced({group: (at,) for group, at in sure.items()}, frozenset(sure))


@dataclass
class _RowFlow:
    """Rows of classes that are given to people by their candidates."""

    people: Mapping[Candidates, int]
    sizes: Sequence[int]
    given: dict[Candidates, dict[int, int]] = field(default_factory=dict)
    spare: dict[Candidates, int] = field(default_factory=dict)
    fitting: dict[int, list[Candidates]] = field(default_factory=dict)

    def fill(self) -> bool:
        """Give every row to somebody; False where that cannot be done."""
        self.spare = dict(self.people)
        self.given = {group: {} for group in self.people}
        for group in sorted(self.people, key=len):
            for at in group:
                self.fitting.setdefault(at, []).append(group)
        for at in sorted(self.fitting, key=lambda one: len(self.fitting[one])):
            needs = self.sizes[at]
            while needs:
                many = self._augment(at, needs)
                if not many:
                    return False
                needs -= many
        return True

    def _augment(self, start: int, needs: int) -> int:
        """Rows of a class along one path to people without a row; how many."""
        came: dict[int, tuple[int, Candidates] | None] = {start: None}
        seen: set[Candidates] = set()
        queue = deque([start])
        while queue:
            at = queue.popleft()
            for group in self.fitting[at]:
                if group in seen:
                    continue
                seen.add(group)
                if self.spare[group]:
                    return self._move(at, group, came, needs)
                for other, many in self.given[group].items():
                    if many and other not in came:
                        came[other] = (at, group)
                        queue.append(other)
        return 0

    def _move(self, at: int, group: Candidates, came: dict[int, tuple[int, Candidates] | None], needs: int) -> int:
        path, here = [], at
        while (step := came[here]) is not None:
            path.append((here, *step))
            here = step[0]
        many = min([needs, self.spare[group], *(self.given[through][old] for old, _, through in path)])
        self.spare[group] -= many
        self.given[group][at] = self.given[group].get(at, 0) + many
        for old, new, through in path:
            self.given[through][old] -= many
            self.given[through][new] = self.given[through].get(new, 0) + many
        return many

    def forced(self) -> Forced:
        """What every flow that fills all classes has."""
        names: dict[object, int] = {"nobody": 0}
        for group in self.people:
            names[group] = len(names)
        for at in self.fitting:
            names[at] = len(names)
        arcs: list[list[int]] = [[] for _ in names]
        for group, many in self.people.items():
            arcs[names[group]] += [names[at] for at in group]
            for at, rows in self.given[group].items():
                if rows:
                    arcs[names[at]].append(names[group])
            if self.spare[group]:
                arcs[0].append(names[group])
            if self.spare[group] < many:
                arcs[names[group]].append(0)
        part = strong_parts(arcs)
        left, sure = {}, set()
        for group in self.people:
            here = part[names[group]]
            left[group] = tuple(at for at in group if self.given[group].get(at) or part[names[at]] == here)
            if not self.spare[group] and here != part[0]:
                sure.add(group)
        return Forced(left, frozenset(sure))


def strong_parts(arcs: Sequence[Sequence[int]]) -> list[int]:
    """For each node the number of its strongly connected part (Kosaraju): those that reach each other."""
    back: list[list[int]] = [[] for _ in arcs]
    for node, after in enumerate(arcs):
        for one in after:
            back[one].append(node)
    part = [-1] * len(arcs)
    for root in reversed(_finished(arcs)):
        waiting = [root]
        while waiting:
            node = waiting.pop()
            if part[node] < 0:
                part[node] = root
                waiting += back[node]
    return part


def _finished(arcs: Sequence[Sequence[int]]) -> list[int]:
    """Nodes in the order in which a walk in depth leaves them."""
    seen, order = [False] * len(arcs), []
    for root in range(len(arcs)):
        work = [(root, False)]
        while work:
            node, done = work.pop()
            if done:
                order.append(node)
            elif not seen[node]:
                seen[node] = True
                work += [(node, True), *((after, False) for after in arcs[node] if not seen[after])]
    return order
