"""Verify, refuter: small inputs of programs without end. Comes in: a program. Goes out: a witness, or None.

Sizes and whole numbers that have no end are kept small by further requirements; then everything can be listed, and
where the claim seems to break, a witness for the small program is one for the whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from sfumato.verify.effort import spend
from sfumato.verify.finite.decide import decide
from sfumato.verify.refuter.points import all_witnesses
from sfumato.verify.refuter.witness import Witness
from sfumato.verify.tree import (
    Assign,
    Binary,
    Draw,
    Expr,
    FunctionCall,
    If,
    Num,
    Param,
    Program,
    Stmt,
    Type,
    Var,
    While,
    draws_of,
    expressions,
    names,
    statements,
)

MOST = (1, 2, 3, 5)
LAWS = 40_000
"""Steps that a listing counts for."""
_LISTED = ("range", "bool", "bits", "tuple", "int")


@dataclass(slots=True)
class Small:
    """The search; it sees no losses below the claim."""

    program: Program
    best: float = 0.0

    def run(self) -> Witness | None:
        """The first witness."""
        short = replace(self.program, body=_read(self.program.body))
        if any(draw.law in ("Laplace", "Exponential", "Gauss", "Geometric") for draw in draws_of(short)):
            return None
        for most in MOST:
            asked = [node for param in self.program.params for node in _small(param, most)]
            if not asked:
                return None
            spend(LAWS)
            found = decide(replace(short, requires=(*self.program.requires, *asked)))
            if found is not None and not found.holds:
                witness: Witness | None = all_witnesses(self.program, found.suspects)
                if witness is not None:
                    return witness
        return None


def _read(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """A block without draws and assignments that nothing reads: noise that stands beside a program is none of it."""
    while True:
        read = {name for part in statements(body) for node in expressions(part) for name in names(node)}
        shorter = _only(body, read)
        if shorter == body:
            return body
        body = shorter


def _only(body: tuple[Stmt, ...], read: set[str]) -> tuple[Stmt, ...]:
    kept: list[Stmt] = []
    for statement in body:
        match statement:
            case Draw(name=name) | Assign(name=name) if name not in read:
                continue
            case If(then=then, other=other):
                kept.append(replace(statement, then=_only(then, read), other=_only(other, read)))
            case While(body=inner):
                kept.append(replace(statement, body=_only(inner, read)))
            case _:
                kept.append(statement)
    return tuple(kept)


def _small(param: Param, most: int) -> list[Expr]:
    """Requirements that keep a parameter small."""
    name = Var(param.name)
    if param.type.kind == "list" and _can_be_listed(param.type.items[0]):
        return [Binary("<=", FunctionCall("size", (name,)), Num(Fraction(most)))]
    if param.type.kind == "int":
        return [Binary(">=", name, Num(Fraction(-1))), Binary("<=", name, Num(Fraction(most)))]
    return []


def _can_be_listed(kind: Type) -> bool:
    return kind.kind in _LISTED and kind.kind != "int" and all(_can_be_listed(item) for item in kind.items)
