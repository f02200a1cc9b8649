"""Verify, kernel: everything that conditions may assume, and on which path. Comes in: formulas. Goes out: formulas that
hold on every path.

There are three ways to state a fact, and none of them can state more than is true.

`require` states what holds of the inputs, and only before the first unknown of a path exists.
`define` states what a term means (an element lies in its type, exp is positive). The term must not be an unknown that
was made on a path.
`learn` states what holds on one path, such as the range of a draw. It stores the implication "path => fact", so the
fact is worth nothing where the path is not taken.

Guarantee: a fact about an unknown that was made on a path is only ever assumed on that path.
Proof: the unknown is bound when it is made. From then on `require` refuses everything and `define` refuses every term
    whose value depends on it, so `learn` is the only way left, and `learn` adds the path as a premise.
Reference: Floyd, Assigning meanings to programs, 1967 (an assertion belongs to a place in the program).
Checked by: verify::a_side_fact_in_a_branch_proves_nothing_outside_of_it,
    verify::a_fact_about_a_drawn_value_needs_a_path
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import z3


class Misplaced(Exception):
    """A fact that is stated outside of the path on which it holds: a mistake in the kernel itself."""


class ProofFacts(Sequence[Any]):
    """The facts of one proof, in the order in which they were stated."""

    def __init__(self) -> None:
        self._stated: list[Any] = []
        self._ids: set[int] = set()
        self._bound: dict[int, Any] = {}

    def __len__(self) -> int:
        return len(self._stated)

    def __getitem__(self, place: Any) -> Any:
        return self._stated[place]

    def bind(self, *unknowns: Any) -> None:
        """Mark unknowns as made on a path."""
        for unknown in unknowns:
            self._bound[unknown.get_id()] = unknown  # it is kept, so that no other term gets its id

    def require(self, *facts: Any) -> None:
        """State what holds of all inputs: only before the first step of a program."""
        if self._bound:
            raise Misplaced("requirements are stated before the first step")
        self._add(facts)

    def define(self, term: Any, *facts: Any) -> None:
        """State what a term means, wherever it stands; it is no unknown of a path, nor made of one."""
        if any(leaf.get_id() in self._bound for leaf in values_in(term)):
            raise Misplaced(f"{term} was made on a path")
        self._add(facts)

    def learn(self, path: Sequence[Any], *facts: Any) -> None:
        """State what holds on a path."""
        premises = [part for part in path if not z3.is_true(part)]
        self._add(tuple(z3.Implies(z3.And(*premises), fact) for fact in facts) if premises else facts)

    def _add(self, facts: Sequence[Any]) -> None:
        for fact in facts:
            if fact.get_id() not in self._ids:  # facts are kept, so that no other term gets their id
                self._ids.add(fact.get_id())
                self._stated.append(fact)


def values_in(term: Any) -> Iterator[Any]:
    """The unknowns that a number is computed from. What an unknown function is given, or what a choice tests, does not
    count: a fact about the result says nothing about it.
    """
    waiting, seen = [term], set()
    while waiting:
        part = waiting.pop()
        if part.get_id() in seen:
            continue
        seen.add(part.get_id())
        if z3.is_app_of(part, z3.Z3_OP_ITE):
            waiting += part.children()[1:]
        elif z3.is_app_of(part, z3.Z3_OP_UNINTERPRETED):
            yield part
        else:
            waiting += part.children()
