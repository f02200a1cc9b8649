"""Verify, kernel: what a prover hands in. Comes in: shifts, invariants and the like, as expressions. Goes out: a proof
of one direction, which `product.py` checks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from sfumato.verify.tree import Binary, Expr, Num, Unary


@dataclass(frozen=True, slots=True)
class Proof:
    """What a prover hands in for one direction: shifts by draw, invariants and ranks by loop; units make numbers
    small.
    """

    direction: str
    pointwise: bool = False
    shifts: dict[int, Expr] = field(default_factory=dict)
    units: dict[int, Expr] = field(default_factory=dict)  # what is spent at a draw is counted in this unit
    scales: dict[str, Expr] = field(default_factory=dict)  # a variable that loops change is a multiple of this
    invariants: dict[int, tuple[Expr, ...]] = field(default_factory=dict)
    ranks: dict[int, Expr] = field(default_factory=dict)
    waits: dict[int, Expr] = field(default_factory=dict)  # in a loop without draws: when the shorter run waits
    unrolled: frozenset[int] = frozenset()  # loops that are gone through round by round: their tests are known
    weights: dict[str, tuple[Expr, Expr]] = field(default_factory=dict)
    """Lists of weights, of any length: between which bounds each logarithm moves."""
    case: Expr | None = None  # what is also required: there is another proof where it does not hold
    gauss: tuple[Expr, Expr] | None = None  # bounds of what other draws cost, and of the squares of Gaussian shifts
    normal: tuple[Expr, Expr, Expr] | None = None
    """Numbers within which a Gaussian proof keeps for all parameters: least epsilon, most squares, least delta."""
    bell: bool = False  # whether delta is a formula, and at least a tail of Gaussian noise (bell.py)
    curve: tuple[int, Expr, Expr] | None = None
    """A draw whose loss is met by delta, a bound of what other draws cost, and of how far this one is moved."""
    counted: bool = False  # whether the proof is about the program whose counted coins are one draw (coins.py)
    one_return: bool = False  # whether the proof is about the program with one return at its end (returns.py)
    redrawn: bool = False  # whether the proof is about the program whose redrawn noise is one draw (redraws.py)
    tail: tuple[int, str, Expr] | None = None
    """A draw whose noise is left to delta above or below a bound."""
    last: tuple[int, str, Expr, Expr] | None = None
    """A draw of a loop that is made last (lastly.py), whether it is compared with the greatest or the least, what is
    added to its noise, and how far it is moved.
    """
    curved: frozenset[int] = frozenset()
    """In a Rényi claim (renyi.py): draws that are charged by their own curve. Their unit is how far they are moved at
    most, in nats.
    """


def fraction_of(node: Expr) -> Fraction | None:
    """A number that is written out, also as a quotient or with a sign; None for everything else."""
    match node:
        case Num(value=value):
            return value
        case Unary(op="-", arg=Num(value=value)):
            return -value
        case Binary(op="/", left=left, right=Num(value=below)) if below:
            above = fraction_of(left)
            return None if above is None else above / below
    return None
