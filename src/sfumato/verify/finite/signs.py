"""Verify, finite laws: signs of exact numbers, wherever the letters in them may lie. Comes in: a number. Goes out: yes,
or no proof.

Guarantee: `always(value, sign)` is True only if `value sign 0` for all parameters that the domain admits.
Proof: a number without parameters is enclosed by balls that do not hold zero. A quotient top/bottom has the sign of
    top * bottom. In one letter this is a polynomial over an interval that holds all values of the letter: it is not
    negative there if it is positive at one point and has no root of odd multiplicity inside, counted by Sturm's
    theorem on the product of its square-free factors of odd multiplicity; it is positive if it has no root at all. In
    several letters z3 finds no point of the domain where the sign is another. What is known of letters is: their
    intervals, e^-t <= 1/(1+t) and e^-t >= 1 - t, and what the program requires.
Reference: Sturm, Mémoire sur la résolution des équations numériques, 1829; Jovanović, de Moura, IJCAR 2012 (nlsat).
Checked by: verify::signs_of_polynomials_are_those_of_their_values, verify::a_claim_at_its_tight_constant_is_proved
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as empty
from fractions import Fraction
from itertools import pairwise
from typing import Any

from flint import ctx, fmpq_poly, fmpz_poly

from sfumato.verify.finite.field import LETTERS, Letter, LetterField, LetterRatio
from sfumato.verify.run import NotRun

PRECISIONS = (128, 512, 2048)
STEPS = 3_000_000
EXPONENT = 1 << 20
"""Binary digits before or behind the point of an end that is written as a fraction."""
_SWAPPED = {">=": "<=", ">": "<", "<=": ">=", "<": ">", "=": "=", "!=": "!="}
_NEGATED = {">=": "<", ">": "<=", "<=": ">", "<": ">=", "=": "!=", "!=": "="}


@dataclass(frozen=True, slots=True)
class NumberRange:
    """Where a number may lie: ends (None: none), and whether they are left out."""

    low: Any = None
    high: Any = None
    low_open: bool = True
    high_open: bool = True


@dataclass(slots=True)
class ParameterDomain:
    """What is known about parameters."""

    field: LetterField
    ranges: dict[str, NumberRange] = empty(default_factory=lambda: {"eps": NumberRange(Fraction(0))})
    facts: list[tuple[LetterRatio, str]] = empty(default_factory=list)
    _known: dict[tuple[Any, str], bool] = empty(default_factory=dict)

    def __post_init__(self) -> None:
        self.field.sure = self.always

    def always(self, value: Any, sign: str) -> bool:
        """Whether `value sign 0` is proved for the whole domain."""
        if not isinstance(value, LetterRatio):
            return _holds(Fraction(value), sign)
        if sign in ("<", "<="):
            return self.always(-value, _SWAPPED[sign])
        if sign == "=":
            return False  # it has a letter in it, and letters are not tied to each other
        if sign == "!=":
            return self.always(value, ">") or self.always(value, "<")
        key = (value, sign)
        if key not in self._known:
            self._known[key] = self._always(value, strict=sign == ">")
        return self._known[key]

    def decided(self, value: Any, sign: str) -> bool | None:
        """True or False if it is the same for the whole domain, and proved; else None."""
        if self.always(value, sign):
            return True
        return False if self.always(value, _NEGATED[sign]) else None

    def _always(self, value: LetterRatio, *, strict: bool) -> bool:
        if self.field.is_fixed(value):
            return self._fixed_sign(value) > 0
        one = value.top * value.bottom
        used = [place for place in range(LETTERS) if one.degrees()[place]]
        if len(used) == 1:
            (place,) = used
            found = self.range(self.field.letters[place])
            coefficients = [0] * (one.degrees()[place] + 1)
            for powers, factor in one.to_dict().items():
                coefficients[powers[place]] = int(factor)
            return keeps_sign(coefficients, found, strict=strict)
        return self._by_solver(one, used, strict=strict)

    def _fixed_sign(self, value: LetterRatio) -> int:
        """The sign of a number without parameters; 0 if balls cannot tell it from zero."""
        before = ctx.prec
        try:
            for bits in PRECISIONS:
                ctx.prec = bits
                found = self.field.ball(value)
                if found > 0 or found < 0:
                    return 1 if found > 0 else -1
        finally:
            ctx.prec = before
        return 0

    def range(self, letter: Letter) -> NumberRange:
        """An interval of fractions that holds all values of a letter."""
        if letter.kind == "name":
            found = self.ranges.get(letter.name, NumberRange())
            below, above = self._outward(found.low), self._outward(found.high)
            return NumberRange(below and below[0], above and above[1], found.low_open, found.high_open)
        if letter.kind == "decay":
            found = self.ranges["eps"]
            ends = [None if end is None else self._decayed(end) for end in (found.high, found.low)]
            least, greatest = ends[0] or (Fraction(0),) * 2, ends[1] or (Fraction(1),) * 2
            return NumberRange(least[0], greatest[1], found.high_open, found.low_open)
        if letter.kind in ("e", "pow") or self.field.is_fixed(letter.of):
            low, high = enclosed(self.field.letter_ball(letter, {}))
            return NumberRange(low, high, low_open=False, high_open=False)
        return NumberRange() if letter.kind == "ln" else NumberRange(Fraction(0), None, low_open=letter.kind == "exp")

    def _outward(self, end: Any) -> tuple[Fraction, Fraction] | None:
        if end is None or isinstance(end, Fraction):
            return None if end is None else (end, end)
        return enclosed(self.field.ball(end))

    def _decayed(self, end: Any) -> tuple[Fraction, Fraction]:
        """e^(-end/m) between two fractions."""
        if end == 0:
            return Fraction(1), Fraction(1)
        if isinstance(end, LetterRatio):
            found = self.field.exp(-end * Fraction(1, self.field.root))
            if isinstance(found, Fraction):
                return found, found
        return enclosed((-self.field.ball(end) / self.field.root).exp())

    # ---- several letters

    def _by_solver(self, one: Any, used: list[int], *, strict: bool) -> bool:
        import z3

        names = {place: z3.Real(f"g{place}") for place in range(len(self.field.letters))}
        solver = z3.SolverFor("QF_NRA")
        solver.set("rlimit", STEPS)
        facts = [(fact.top * fact.bottom, sign) for fact, sign in self.facts]
        reached = set(used)
        for _ in facts:
            for fact, _ in facts:
                more = {place for place in range(LETTERS) if fact.degrees()[place]}
                reached |= more if more & reached else set()
        eps, decay = (self._place(Letter(*key)) for key in (("name", "eps"), ("decay",)))
        for place in sorted(reached):
            found = self.range(self.field.letters[place])
            for end, is_open, below in ((found.low, found.low_open, True), (found.high, found.high_open, False)):
                if end is not None:
                    gap = names[place] - _rational(end) if below else _rational(end) - names[place]
                    solver.add(gap > 0 if is_open else gap >= 0)
        if eps in reached and decay in reached:
            time = names[eps] / self.field.root
            solver.add(names[decay] * (1 + time) <= 1, names[decay] >= 1 - time)
        unit = self._place(Letter("e"))
        for end, sign in ((self.ranges["eps"].low, "<="), (self.ranges["eps"].high, ">=")):
            if (
                unit in reached
                and decay in reached
                and isinstance(end, Fraction)
                and end.numerator * end.denominator < 50
            ):
                reached_end = names[decay] ** end.denominator * names[unit] ** end.numerator  # e^-eps against e^-end
                solver.add(reached_end <= 1 if sign == "<=" else reached_end >= 1)
        for fact, sign in facts:
            if {place for place in range(LETTERS) if fact.degrees()[place]} <= reached:
                term = _term(fact, names)
                solver.add({">=": term >= 0, ">": term > 0, "=": term == 0, "!=": term != 0}[sign])
        term = _term(one, names)
        solver.add(term <= 0 if strict else term < 0)
        return bool(solver.check() == z3.unsat)

    def _place(self, letter: Letter) -> int:
        return self.field.letters.index(letter) if letter in self.field.letters else -1


def _holds(value: Fraction, sign: str) -> bool:
    return {">=": value >= 0, ">": value > 0, "<=": value <= 0, "<": value < 0, "=": value == 0, "!=": value != 0}[sign]


def _rational(value: Fraction) -> Any:
    import z3

    return z3.RealVal(str(value))


def _term(one: Any, names: dict[int, Any]) -> Any:
    total: Any = _rational(Fraction(0))
    for powers, factor in one.to_dict().items():
        term: Any = _rational(Fraction(int(factor)))
        for place, power in enumerate(powers):
            for _ in range(power):
                term = term * names[place]
        total = total + term
    return total


def enclosed(found: Any) -> tuple[Fraction, Fraction]:
    """Two fractions around a ball."""
    return _dyadic(found.lower()), _dyadic(found.upper())


def _dyadic(end: Any) -> Fraction:
    mantissa, exponent = end.man_exp()
    if abs(int(exponent)) > EXPONENT:
        raise NotRun
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


# ---- one letter: Sturm


def keeps_sign(coefficients: list[int], where: NumberRange, *, strict: bool) -> bool:
    """Whether a polynomial (by rising powers) is positive, or not negative, on an interval."""
    one = fmpz_poly(coefficients)
    low, high = _finite(one, where)
    if low > high:
        return True  # nothing lies there
    if low == high:
        value = _value(one, low)
        return value > 0 or (not strict and value == 0)
    _, factors = one.factor_squarefree()
    odd = fmpz_poly([1])
    for factor, power in factors:
        if strict or power % 2:
            odd *= factor
    if roots_between(odd, low, high):
        return False
    if strict:
        ends = ((low, where.low_open or where.low is None), (high, where.high_open or where.high is None))
        if any(not is_open and _value(one, end) <= 0 for end, is_open in ends):
            return False
    return _sample(one, low, high) > 0


def _finite(one: Any, where: NumberRange) -> tuple[Fraction, Fraction]:
    """Ends beyond all roots where there are none."""
    lead = abs(int(one.leading_coefficient()))
    reach = 2 + Fraction(max(abs(int(value)) for value in one.coeffs()), lead)
    low, high = where.low, where.high
    if low is None:
        low = min(-reach, high - 1 if high is not None else -reach)
    if high is None:
        high = max(reach, low + 1)
    return low, high


def _value(one: Any, point: Fraction) -> Fraction:
    total = Fraction(0)
    for factor in reversed(one.coeffs()):
        total = total * point + int(factor)
    return total


def _sample(one: Any, low: Fraction, high: Fraction) -> Fraction:
    """The value at the first point inside that is no root."""
    parts = one.degree() + 2
    for number in range(1, parts):
        value = _value(one, low + (high - low) * number / parts)
        if value:
            return value
    return Fraction(0)


def roots_between(one: Any, low: Fraction, high: Fraction) -> int:
    """How many roots a square-free polynomial has strictly between two points, by Sturm's theorem."""
    if one.degree() < 1:
        return 0
    chain = [fmpq_poly(one), fmpq_poly(one.derivative())]
    while chain[-1].degree() > 0:
        chain.append(-(chain[-2] % chain[-1]))
    if not any(chain[-1].coeffs()):
        chain.pop()
    changes = [_changes([_fraction_value(part, point) for part in chain]) for point in (low, high)]
    return changes[0] - changes[1] - (_value(one, high) == 0)


def _fraction_value(one: Any, point: Fraction) -> Fraction:
    total = Fraction(0)
    for factor in reversed(one.coeffs()):
        total = total * point + Fraction(int(factor.p), int(factor.q))
    return total


def _changes(values: list[Fraction]) -> int:
    signs = [value > 0 for value in values if value]
    return sum(a != b for a, b in pairwise(signs))
