"""Verify, refuter: small inputs of programs without end. Comes in: a program. Goes out: a witness, or None.

Sizes and whole numbers that have no end are kept small by further requirements; then everything can be listed, and
where the claim seems to break, a witness for the small program is one for the whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from sfumato.verify.finite.decide import decide
from sfumato.verify.refuter.points import all_witnesses
from sfumato.verify.refuter.witness import Witness
from sfumato.verify.tree import Binary, Call, Draw, Expr, Num, Param, Program, Type, Var, statements

MOST = (1, 2, 3)
_LISTED = ("range", "bool", "bits", "tuple", "int")


@dataclass(slots=True)
class Small:
    """The search; it sees no losses below the claim."""

    program: Program
    best: float = 0.0

    def run(self) -> Witness | None:
        """The first witness."""
        draws = [part.law for part in statements(self.program.body) if isinstance(part, Draw)]
        if not draws or any(law in ("Laplace", "Exponential", "Gauss", "Geometric") for law in draws):
            return None
        for most in MOST:
            asked = [node for param in self.program.params for node in _small(param, most)]
            if not asked:
                return None
            found = decide(replace(self.program, requires=(*self.program.requires, *asked)))
            if found is not None and not found.holds:
                witness: Witness | None = all_witnesses(self.program, found.suspects)
                if witness is not None:
                    return witness
        return None


def _small(param: Param, most: int) -> list[Expr]:
    """Requirements that keep a parameter small."""
    name = Var(param.name)
    if param.type.kind == "list" and _can_be_listed(param.type.items[0]):
        return [Binary("<=", Call("size", (name,)), Num(Fraction(most)))]
    if param.type.kind == "int":
        return [Binary(">=", name, Num(Fraction(-1))), Binary("<=", name, Num(Fraction(most)))]
    return []


def _can_be_listed(kind: Type) -> bool:
    return kind.kind in _LISTED and kind.kind != "int" and all(_can_be_listed(item) for item in kind.items)
