"""Verify, finite laws: the curve of Gaussian noise. Comes in: a program and the bounds of a proof. Goes out: whether
they keep within the claim.

Guarantee: `keeps_within` is True only if delta_m(k - c) <= delta for the claim (k, delta), where c bounds what other
    draws cost and m^2 the squares of Gaussian shifts over scales.
Proof: delta_m(e) = Phi(m/2 - e/m) - exp(e) Phi(-m/2 - e/m) grows with m; it is enclosed by a ball whose upper end is
    compared with the lower end of a ball that holds delta. Parameters in it are numbers by `requires`, or the proof
    names numbers that hold for all parameters, which the kernel asks for: the curve falls with e.
Reference: Balle, Wang, ICML 2018, theorem 8; Dong, Roth, Su, JRSS B 2022 (groups: k m for k steps).
Checked by: verify::gaussian_curves_agree_with_quadrature, verify::gaussian_claims_are_decided_by_the_curve
"""

from __future__ import annotations

from typing import Any

from flint import arb

from sfumato.verify.finite.field import NeedRoot, ball, with_precision
from sfumato.verify.finite.inputs import Listing
from sfumato.verify.kernel.proof import Proof, fraction_of
from sfumato.verify.run import NotRun, RunFault
from sfumato.verify.tree import Expr, Program

BITS = 256


def normal(point: Any) -> Any:
    """A ball that holds Phi(point)."""
    return (-point / arb(2).sqrt()).erfc() / 2


def curve(shift: Any, epsilon: Any) -> Any:
    """delta of a Gaussian mechanism: `shift` is sensitivity over standard deviation, and positive."""
    return normal(shift / 2 - epsilon / shift) - epsilon.exp() * normal(-shift / 2 - epsilon / shift)


def fixed_numbers(program: Program, nodes: tuple[Expr, ...]) -> list[Any] | None:
    """Balls of expressions whose parameters are numbers by `requires`; None if some are not."""
    with_precision(BITS)
    root = 1
    while root <= 64:
        try:
            setting = Listing(program, root).pinned()
            runner = setting.runner(program)
            return [setting.domain.field.ball(runner.code(node)(setting.public)) for node in nodes]
        except NeedRoot as need:
            root = need.root
        except (NotRun, RunFault, TypeError):
            return None
    return None


def keeps_within(program: Program, proof: Proof) -> bool:
    """Whether the bounds of a Gaussian proof keep within the claim."""
    if proof.gauss is None or len(program.claim) != 2:
        return False
    if proof.normal is not None:
        with_precision(BITS)
        numbers = [number for part in proof.normal if (number := fraction_of(part)) is not None]
        if len(numbers) < len(proof.normal):
            return False
        left, squares, delta = map(ball, numbers)
    else:
        found = fixed_numbers(program, (*program.claim, *proof.gauss))
        if found is None:
            return False
        epsilon, delta, pure, squares = found
        left = epsilon - pure
    if not (left >= 0 and squares >= 0 and delta >= 0):
        return False
    if squares == 0:
        return True
    return bool(squares > 0 and curve(squares.sqrt(), left) <= delta)
