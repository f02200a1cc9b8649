"""Verify, finite laws: finite Markov chains. Comes in: where each state leads. Goes out: how often each is met, as
expected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from sfumato.verify.finite.field import LetterRatio
from sfumato.verify.run import NotRun

MOST = 60
"""States of a strongly connected component: their visits are the solution of so many equations."""


class Leads(Protocol):
    """Where a state leads: to others, by number, with weights; and whether it leads out at once."""

    goes_on: dict[int, Any]

    @property
    def ends(self) -> bool:
        """Whether some way leads out at once."""


Steps = Mapping[int, Leads]


def add_to(where: dict[int, Any], key: int, weight: Any) -> None:
    """Add to a weight that may not be there yet."""
    where[key] = where[key] + weight if key in where else weight


def visits_of(steps: Steps, start: dict[int, Any], one: Any) -> Iterator[tuple[int, Any]]:
    """How often each beginning of a round is expected to be met; those from which nothing ends are left out."""
    ending = _ending(steps)
    order = _components(steps, ending)
    visits = {key: weight for key, weight in start.items() if key in ending}
    for component in order:
        inside = [key for key in component if key in visits or len(component) > 1]
        if len(component) > 1 or component[0] in steps[component[0]].goes_on:
            solved = _solved(component, steps, visits, one)
        else:
            solved = {key: visits[key] for key in inside}
        for key, amount in solved.items():
            yield key, amount
            for there, weight in steps[key].goes_on.items():
                if there in ending and there not in component:
                    add_to(visits, there, amount * weight)


def _ending(steps: Steps) -> set[int]:
    """The beginnings from which some way leads out."""
    before: dict[int, list[int]] = {}
    for key, found in steps.items():
        for there in found.goes_on:
            before.setdefault(there, []).append(key)
    todo = [key for key, found in steps.items() if found.ends]
    ending = set(todo)
    while todo:
        for key in before.get(todo.pop(), ()):
            if key not in ending:
                ending.add(key)
                todo.append(key)
    return ending


def _components(steps: Steps, ending: set[int]) -> list[list[int]]:
    """Strongly connected components, those that lead to others first (Tarjan, without recursion)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    held: set[int] = set()
    found: list[list[int]] = []
    for root in steps:
        if root in index or root not in ending:
            continue
        work = [(root, iter([key for key in steps[root].goes_on if key in ending]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        held.add(root)
        while work:
            key, rest = work[-1]
            there = next(rest, None)
            if there is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[key])
                if low[key] == index[key]:
                    component = []
                    while True:
                        component.append(stack.pop())
                        held.discard(component[-1])
                        if component[-1] == key:
                            break
                    found.append(component)
            elif there not in index:
                index[there] = low[there] = len(index)
                stack.append(there)
                held.add(there)
                work.append((there, iter([key for key in steps[there].goes_on if key in ending])))
            elif there in held:
                low[key] = min(low[key], index[there])
    return found[::-1]


def _solved(component: list[int], steps: Steps, visits: dict[int, Any], one: Any) -> dict[int, Any]:
    """v = start + v T inside of a component, by elimination."""
    if len(component) > MOST:
        raise NotRun
    zero = one - one
    rows = [
        [*((one if here == there else zero) - _weight(steps[there], here, zero) for there in component),
         visits.get(here, zero)]
        for here in component
    ]  # fmt: skip
    size = len(component)
    for place in range(size):
        pivot = rows[place][place]
        if not is_positive(pivot):
            raise NotRun  # for some parameters the loop may never end
        rows[place] = [value / pivot for value in rows[place]]
        for other in range(size):
            factor = rows[other][place]
            if other != place:
                rows[other] = [a - factor * b for a, b in zip(rows[other], rows[place], strict=True)]
    return {key: rows[place][size] for place, key in enumerate(component)}


def is_positive(weight: Any) -> bool:
    """Whether a weight is positive for all parameters."""
    return weight.field.sure(weight, ">") if isinstance(weight, LetterRatio) else bool(weight > 0)


def _weight(found: Leads, there: int, zero: Any) -> Any:
    return found.goes_on.get(there, zero)
