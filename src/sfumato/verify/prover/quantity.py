"""Verify, prover: quantities that guesses are about. Comes in: expressions of proofs. Goes out: their values, and
candidates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.verify.prover.rewrite import ONE, ZERO
from sfumato.verify.tree import Binary, Expr, FunctionCall, Unary, Var

Array = Any
NEAR = 1e-9


@dataclass(frozen=True, slots=True)
class Quantity:
    """An expression of a proof, and its value in every state."""

    node: Expr
    values: Array


def implies(guard: Expr | None, node: Expr) -> Expr:
    """A candidate under a guard."""
    return node if guard is None else Binary("||", Unary("!", guard), node)


def passed_once(name: str, ghost: str) -> Expr:
    """1 from where a counter has passed a place, before it 0."""
    return FunctionCall("#if", (Binary(">", Var(name), Var(ghost)), ONE, ZERO))


def is_equation(node: Expr) -> bool:
    """Whether a candidate says all about a quantity."""
    return isinstance(node, Binary) and node.op == "="


def times(width: Expr, node: Expr) -> Expr:
    """width * x."""
    return node if width == ONE else Binary("*", width, node)
