"""Small programs with claims about Rényi divergence, and proofs that are right, nearly right or wrong.

The truth comes from certified integration of p^a q^(1-a) over the law of the outputs, or sums over whole noise; nothing
of the verifier computes it. What it returns is at most the divergence, so that a claim below it is false.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from flint import acb, arb, ctx

from sfumato.verify.kernel.check import is_proved
from sfumato.verify.kernel.proof import Proof
from sfumato.verify.parse import read_program, read_proof

ORDERS = tuple(map(Fraction, ("1.001", "1.5", "2", "3", "7", "20")))
LAWS = ("Gauss", "Laplace", "Geometric")


@dataclass(frozen=True)
class Part:
    """One output: weight * c + noise. `by` is the scale, of Geometric noise the rate."""

    law: str
    weight: Fraction
    by: Fraction


@cache
def divergence(part: Part, order: Fraction) -> float:
    """At most the Rényi divergence of one output between c and c + 1."""
    ctx.prec = 80
    moved = abs(part.weight)
    if not moved:
        return 0.0
    a = arb(order.numerator) / order.denominator
    found = _whole(int(moved), part.by, a) if part.law == "Geometric" else _real(part, moved, a)
    return float((found.log() / (a - 1)).lower())


def _whole(steps: int, rate: Fraction, a: arb) -> arb:
    t = arb(rate.numerator) / rate.denominator
    ratio = (-t).exp()
    least = (1 - ratio) / (1 + ratio)
    reach = 40 + int(60 / rate)
    total = arb(0)
    for z in range(-reach, reach + steps + 1):
        total += least * (-a * t * abs(z) - (1 - a) * t * abs(z - steps)).exp()
    return total


def _real(part: Part, moved: Fraction, a: arb) -> arb:
    scale, far = arb(part.by.numerator) / part.by.denominator, arb(moved.numerator) / moved.denominator

    def above(z: acb, side: int, other: int) -> acb:
        if part.law == "Gauss":
            return (-a * z * z / (2 * scale**2) - (1 - a) * (z - far) ** 2 / (2 * scale**2)).exp() / (
                scale * (2 * arb.pi()).sqrt()
            )
        return (-a * side * z / scale - (1 - a) * other * (z - far) / scale).exp() / (2 * scale)

    wide = 30 * scale + 20 * far
    pieces = ((-wide, arb(0), -1, -1), (arb(0), far, 1, -1), (far, far + wide, 1, 1))
    total = arb(0)
    for low, high, side, other in pieces:
        total += acb.integral(lambda z, _, s=side, o=other: above(z, s, o), acb(low), acb(high)).real
    return total


def truth(parts: list[Part], order: Fraction | None) -> float:
    """At most the divergence of all outputs; without an order its greatest quotient by orders, of those tried."""
    if order is not None:
        return sum(divergence(part, order) for part in parts)
    return max(sum(divergence(part, tried) for part in parts) / float(tried) for tried in ORDERS)


def make(dice: random.Random) -> tuple[str, Proof, float, Fraction]:
    """A text, a proof that somebody might hand in, the truth, and the claim."""
    parts = []
    for _ in range(dice.randint(1, 3)):
        law = dice.choice(LAWS)
        weight = Fraction(dice.choice((0, 1, 1, 1, 2, -1))) if law == "Geometric" else Fraction(dice.randint(-4, 4), 2)
        parts.append(Part(law, weight, Fraction(dice.randint(1, 8), 2)))
    order = dice.choice((None, *ORDERS[1:5]))
    real = truth(parts, order)
    claim = Fraction(max(real * dice.choice((0.5, 0.9, 0.97, 0.995, 1.005, 1.1, 1.6)), 0.0)).limit_denominator(10**6)
    said = f"zcdp({claim})" if order is None else f"renyi({order}, {claim})"
    lines, shown, shifts, units, curved = [], [], {}, {}, set()
    for number, part in enumerate(parts, 1):
        args = f"exp(-{part.by})" if part.law == "Geometric" else f"{part.by}, 0"
        lines.append(f"z{number} :=$ {part.law}({args});")
        shown.append(f"{part.weight} * c + z{number}")
        if part.weight and dice.random() < 0.97:
            shifts[number] = _shift(dice, part, number)
        nats = part.by * abs(part.weight) if part.law == "Geometric" else abs(part.weight) / part.by
        if part.law != "Gauss" and nats and dice.random() < 0.6:
            curved.add(number)
            units[number] = read_proof(str(nats * dice.choice((1, 1, 1, 1, 2, Fraction(1, 2)))))
    body = " ".join(lines)
    text = f"F(c : private int) : public real list adjacent one; claim {said}; {body} return [{', '.join(shown)}]"
    return text, Proof("both", shifts=shifts, units=units, curved=frozenset(curved)), real, claim


def _shift(dice: random.Random, part: Part, number: int):
    right = f"-({part.weight}) * #shift(c)"
    wrong = ("0", f"-({part.weight}) * #shift(c) / 2", f"#if(#noise > 0, {right}, {right})")
    return read_proof(right if dice.random() < 0.9 else dice.choice(wrong))


def contradictions(seed: int, count: int) -> tuple[int, list[str]]:
    """How many proofs the kernel accepts, and those programs of which it accepts what is false."""
    dice, accepted, false = random.Random(seed), 0, []
    for _ in range(count):
        text, proof, real, claim = make(dice)
        if is_proved(read_program(text), (proof,)):
            accepted += 1
            if float(claim) < real * (1 - 1e-9):
                false.append(text)
    return accepted, false
