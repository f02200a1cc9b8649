"""Verify: what a program may spend, as a sum over its draws. Comes in: a program. Goes out: the least such sum that is
proved, and the smallest change of scales that would bring it down to the claim.

What is spent at a draw is how often its noise is shifted, times by how far, divided by its scale. How often: nothing,
once, twice, as often as a public number says, or with every element of the list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from sfumato.verify.amounts import Amounts, over
from sfumato.verify.kernel.check import is_proved
from sfumato.verify.kernel.polynomial import Poly, atom_power, number
from sfumato.verify.prover.search import search
from sfumato.verify.show import show
from sfumato.verify.tree import (
    Binary,
    Draw,
    Expr,
    FunctionCall,
    If,
    Num,
    Program,
    Stmt,
    Unary,
    Var,
    While,
    changed,
    names,
    statements,
    walk,
)


def proves(program: Program, claim: Expr | None = None) -> bool:
    """Whether a proof is found, of another claim if one is given."""
    asked = program if claim is None else replace(program, claim=(claim,))
    attempt = search(asked)
    return attempt.proofs is not None and is_proved(asked, attempt.proofs)


@dataclass(frozen=True)
class DrawCost:
    """A draw: the amount that a shift by one unit costs, and how often it may be shifted."""

    draw: Draw
    weight: Poly
    looped: bool


class SpendingShape:
    """What a program may spend, as a sum over its draws."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.amounts = Amounts()

    @cached_property
    def noises(self) -> tuple[DrawCost, ...] | None:
        """The draws with what they cost; None if one of them has a scale that is not a public product."""
        found = []
        fixed = ({param.name for param in self.program.params} | {"eps"}) - changed(self.program.body)
        for draw, looped in _draws(self.program.body, looped=False):
            rate = _rate(draw)
            if rate is None or not names(rate) <= fixed:
                return None
            weight = self.amounts.read(rate)
            if weight is None or len(weight.terms) != 1:
                return None
            found.append(DrawCost(draw, weight * self._step(weight), looped))
        return tuple(found)

    def _step(self, weight: Poly) -> Poly:
        """By how far a noise is shifted: sizes that stand in a scale stand in the number that it hides."""
        found = number(1)
        for atom, power in weight.terms[0][0]:
            if isinstance(self.amounts.atoms[atom], FunctionCall) and power > 0:
                found *= atom_power(atom, -power)
        return found * self._width

    @cached_property
    def _width(self) -> Poly:
        """How far an element may move: its range, or one."""
        kinds = [param.type for param in self.program.params if param.private]
        kind = kinds[0].items[0] if kinds and kinds[0].kind == "list" else kinds[0] if kinds else None
        if kind is None or kind.kind not in ("interval", "range"):
            return number(1)
        low, high = (self.amounts.read(end) for end in kind.args)
        return number(1) if low is None or high is None else high - low

    @cached_property
    def _levels(self) -> tuple[tuple[Poly, ...], ...]:
        """How often a noise in a loop may be shifted: as often as something public says, or with every element."""
        few = [number(1), number(2)]
        for param in self.program.params:
            if not param.private and param.type.kind in ("int", "range"):
                name = self.amounts.atom(Var(param.name))
                few += [name, name * number(2)]
        few += [number(value) for value in _ends(self.program.body) if value > 2]
        sizes = [
            self.amounts.atom(FunctionCall("size", (Var(param.name),)))
            for param in self.program.params
            if param.private and param.type.kind == "list" and self.program.adjacent != "addremove"
        ]
        many = [*few, *sizes, *(size * number(2) for size in sizes)]
        return (tuple(few), tuple(many)) if sizes else (tuple(few),)

    def amount(self, counts: list[Poly]) -> Poly:
        """The sum."""
        total = number(0)
        for noise, count in zip(self.noises or (), counts, strict=True):
            total += noise.weight * count
        return total

    def least(self) -> list[Poly] | None:
        """How often each noise has to be paid for: one by one as small as a proof is found for."""
        if not self.noises:
            return None
        for level in self._levels:
            counts = [level[-1] if noise.looped else number(2) for noise in self.noises]
            if not self._holds(counts):
                continue
            for place, noise in enumerate(self.noises):
                for count in (number(0), *(level if noise.looped else (number(1),)))[: -1 if noise.looped else None]:
                    fewer = [*counts[:place], count, *counts[place + 1 :]]
                    if self._holds(fewer):
                        counts = fewer
                        break
            return counts
        return None

    def _holds(self, counts: list[Poly]) -> bool:
        return proves(self.program, self.amounts.show(self.amount(counts)))

    # ---- repairs

    def repair(self, counts: list[Poly]) -> str | None:
        """The smallest change of scales with which the claim is proved: of one draw, or else of all alike."""
        claim = self.amounts.read(self.program.claim[0])
        if claim is None or self.noises is None:
            return None
        for noise, count in zip(self.noises, counts, strict=True):
            own = noise.weight * count
            left = claim - (self.amount(counts) - own)
            factor = over(own, left) if own.terms and len(left.terms) == 1 and left.terms[0][1] > 0 else None
            if factor is not None and (said := self._repaired((noise.draw,), factor)) is not None:
                return said
        factor = over(self.amount(counts), claim)
        return None if factor is None else self._repaired(tuple(noise.draw for noise in self.noises), factor)

    def _repaired(self, draws: tuple[Draw, ...], factor: Poly) -> str | None:
        node = self.amounts.show(factor)
        chosen = {draw.number for draw in draws}
        body = _changed(self.program.body, lambda draw: _widened(draw, node) if draw.number in chosen else draw)
        if factor.constant == 1 or not proves(replace(self.program, body=body)):
            return None
        lines = sorted({self.program.source.count("\n", 0, draw.at) + 1 for draw in draws})
        where = ", ".join(str(line) for line in lines)
        return f"the scale of the noise in line {where}, times {show(node)}"


def _draws(body: tuple[Stmt, ...], *, looped: bool) -> Iterator[tuple[Draw, bool]]:
    for statement in body:
        match statement:
            case Draw():
                yield statement, looped
            case If(then=then, other=other):
                yield from _draws((*then, *other), looped=looped)
            case While(body=inner):
                yield from _draws(inner, looped=True)


def _rate(draw: Draw) -> Expr | None:
    """What a shift by one costs: 1/scale."""
    first = draw.args[0]
    if draw.law in ("Laplace", "Exponential"):
        return Binary("/", Num(Fraction(1)), first)
    if draw.law in ("Geometric", "TruncGeometric") and isinstance(first, FunctionCall) and first.name == "exp":
        return Unary("-", first.args[0])
    return None


def _widened(draw: Draw, factor: Expr) -> Draw:
    first = draw.args[0]
    if isinstance(first, FunctionCall) and first.name == "exp":
        return replace(draw, args=(FunctionCall("exp", (Binary("/", first.args[0], factor),)), *draw.args[1:]))
    return replace(draw, args=(Binary("*", first, factor), *draw.args[1:]))


def _changed(body: tuple[Stmt, ...], change: Callable[[Draw], Draw]) -> tuple[Stmt, ...]:
    def one(statement: Stmt) -> Stmt:
        match statement:
            case Draw():
                return change(statement)
            case If(then=then, other=other):
                return replace(statement, then=_changed(then, change), other=_changed(other, change))
            case While(body=inner):
                return replace(statement, body=_changed(inner, change))
        return statement

    return tuple(one(statement) for statement in body)


def _ends(body: tuple[Stmt, ...]) -> list[Fraction]:
    """The numbers in the tests of loops."""
    return sorted({
        part.value
        for statement in statements(body)
        if isinstance(statement, While)
        for part in walk(statement.test)
        if isinstance(part, Num)
    })  # fmt: skip
