"""Verify, relational: a map of noise from an equation. Comes in: two values that should be equal, and a draw of both
runs that one of them hangs on. Goes out: what the second run must have drawn, as an expression, and its inverse.

Nothing here is trusted: the kernel checks every map that is found.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import z3

from sfumato.verify.kernel import forms
from sfumato.verify.kernel.couple import Meeting
from sfumato.verify.kernel.forms import Form
from sfumato.verify.kernel.single import SingleRun
from sfumato.verify.kernel.symbols import Bit, BitList, Row, SolverNumber, Symbol, World
from sfumato.verify.tree import Binary, Expr, FunctionCall, Index, Num, SequenceLiteral, Var

Maps = tuple[Expr, Expr]
NOISE = Var("#noise")


class NoWords(Exception):
    """A term that cannot be said at the draw: it hangs on something later, or has no name."""


def solutions(world: World, meeting: Meeting, one: Symbol, two: Symbol) -> list[Maps]:
    """Maps of a draw's noise that may make two values equal."""
    if isinstance(one, Bit | BitList) and isinstance(two, Bit | BitList) and isinstance(meeting.two, Bit | BitList):
        found = _by_forms(world, meeting, one.form, two.form)
        return [found] if found else []
    numbers = all(isinstance(value, SolverNumber) for value in (meeting.one, meeting.two))
    if numbers and isinstance(one, SolverNumber | Bit) and isinstance(two, SolverNumber | Bit):
        return _by_numbers(world, meeting, world.number(one), world.number(two))
    return []


# ---- bits and bit lists


def _name(value: Symbol) -> object:
    """The name of a value that is one unknown."""
    if isinstance(value, Bit | BitList) and len(value.form) == 1:
        (product,) = value.form
        if len(product) == 1:
            ((kind, name),) = product
            if kind == "name":
                return name
    return None


def _by_forms(world: World, meeting: Meeting, one: Form, two: Form) -> Maps | None:
    noise, image = _name(meeting.one), _name(meeting.two)
    there = forms.isolate(two, image, one)
    if there is None or image in forms.atoms(there):
        return None
    back = forms.isolate(there, noise, forms.unknown(image))
    if back is None or noise in forms.atoms(back):
        return None
    speaker = Speaker(world, meeting)
    try:
        return speaker.form(there), speaker.form(back)
    except NoWords:
        return None


# ---- numbers


def _by_numbers(world: World, meeting: Meeting, one: Any, two: Any) -> list[Maps]:
    noise, image = world.number(meeting.one), world.number(meeting.two)
    wrapped = z3.is_mod(one) and z3.is_mod(two) and one.arg(1).eq(two.arg(1))
    left, right = (one.arg(0), two.arg(0)) if wrapped else (one, two)
    there = _isolated(right, image, left)
    if there is None:
        return []
    inside = there.arg(0) if z3.is_mod(there) else there
    back = _isolated(inside, noise, image)
    if back is None:
        return []
    speaker = Speaker(world, meeting)
    found = []
    for wrap in (True, False) if wrapped or z3.is_mod(there) else (False, True):
        try:
            if wrap and meeting.law != "Uniform":
                continue
            maps = (
                speaker.number(there if z3.is_mod(there) else _wrapped(there, meeting.supports[1]) if wrap else there),
                speaker.number(_wrapped(back, meeting.supports[0]) if wrap else back),
            )
        except NoWords:
            continue
        found.append(maps)
    return found


def _isolated(term: Any, unknown: Any, value: Any) -> Any:
    """What an unknown must be so that a term, linear in it with factor 1 or -1, has a value; None if it is not so."""
    zero, one = (
        z3.simplify(
            z3.substitute(term, (unknown, z3.IntVal(n, term.ctx) if unknown.is_int() else z3.RealVal(n, term.ctx)))
        )
        for n in (0, 1)
    )
    factor = z3.simplify(one - zero)
    if not (z3.is_int_value(factor) or z3.is_rational_value(factor)):
        return None
    sign = factor.as_fraction() if z3.is_rational_value(factor) else Fraction(factor.as_long())
    if abs(sign) != 1:
        return None
    rest = z3.simplify(term - sign.numerator * unknown - zero)
    if not (
        (z3.is_int_value(rest) and rest.as_long() == 0) or (z3.is_rational_value(rest) and rest.as_fraction() == 0)
    ):
        return None
    found = z3.simplify(value - zero if sign == 1 else zero - value)
    if unknown.is_int() and not found.is_int():
        return None
    return None if _mentions(found, unknown) else found


def _wrapped(term: Any, ends: Any) -> Any:
    """A number moved into a range by multiples of its size."""
    low, high = ends
    size = z3.simplify(high - low + 1)
    inside = z3.simplify(term - low)
    return z3.simplify(low + inside % size) if not (z3.is_int_value(low) and low.as_long() == 0) else inside % size


def _mentions(term: Any, unknown: Any) -> bool:
    return bool(term.eq(unknown)) or any(_mentions(child, unknown) for child in term.children())


# ---- terms back to expressions


@dataclass(slots=True)
class Speaker:
    """Says forms and terms in words that are known before a draw."""

    world: World
    meeting: Meeting
    names: list[tuple[Symbol, Expr]] | None = None

    def known(self) -> list[tuple[Symbol, Expr]]:
        """Values that have a name, the plainest names first."""
        if self.names is None:
            self.names = [(self.meeting.one, NOISE), (self.meeting.two, NOISE)]
            one, two = self.meeting.runs
            for run, other in ((one, False), (two, True)):
                for value, node in _named(run):
                    self.names.append((value, FunctionCall("#two", (node,)) if other else node))
        return self.names

    def form(self, form: Form) -> Expr:
        """A form as an expression."""
        if form == forms.ZERO:
            raise NoWords
        parts = [self.product(part) for part in sorted(form, key=self._rank)]
        return _chain("xor", parts)

    def _rank(self, part: frozenset[Any]) -> tuple[int, str]:
        """The noise first, then by name."""
        names = set(forms.atoms(frozenset({part})))
        return (0 if names & {_name(self.meeting.one), _name(self.meeting.two)} else 1, str(sorted(map(str, names))))

    def product(self, part: frozenset[Any]) -> Expr:
        """A product of atoms."""
        if not part:
            return self._ones()
        return _chain("and", [self.atom(atom) for atom in sorted(part, key=str)])

    def _ones(self) -> Expr:
        """A constant of ones."""
        if isinstance(self.meeting.one, Bit):
            return Num(Fraction(1))
        size = z3.simplify(self.meeting.supports[0][0])
        if not z3.is_int_value(size):
            raise NoWords
        return SequenceLiteral(tuple(Num(Fraction(1)) for _ in range(size.as_long())))

    def atom(self, atom: Any) -> Expr:
        """An unknown, or a sum."""
        kind, inside = atom
        if kind == "sum":
            terms = sorted(inside, key=lambda term: (term[1] < 0, *min(self._rank(part) for part in term[0])))
            if terms[0][1] < 0 or any(abs(factor) != 1 for _, factor in terms):
                raise NoWords
            found = self.form(terms[0][0])
            for form, factor in terms[1:]:
                found = Binary("+" if factor > 0 else "-", found, self.form(form))
            return found
        for value, node in self.known():
            if _name(value) == inside:
                return node
        if inside in self.world.origins:
            base, index = self.world.origins[inside]
            if isinstance(index, tuple):
                return self._element(base, index)
            return Index(self.atom(base), self.number(index))
        read = self.world.bits.get(inside) if isinstance(inside, str) else None
        if read is not None and read.num_args() and read.decl().kind() == z3.Z3_OP_UNINTERPRETED:
            return self._element(read.decl().name(), tuple(read.children()))
        if isinstance(inside, str) and inside.startswith("<") and set(inside) <= set("<01, >"):
            return SequenceLiteral(tuple(Num(Fraction(int(bit))) for bit in inside[1:-1].split(", ")))
        raise NoWords

    def _element(self, label: str, at: tuple[Any, ...]) -> Expr:
        name, _, side = label.partition("@")
        if "." in name:
            raise NoWords
        node: Expr = Var(name)
        other = side == "2"
        for index in at:
            node = Index(node, self.number(index, other))
        return FunctionCall("#two", (node,)) if other else node

    def number(self, term: Any, inner: bool = False) -> Expr:
        """A term as an expression; `inner` says it inside of `#two`, where the second run's names are plain."""
        if z3.is_int_value(term):
            return _num(Fraction(term.as_long()))
        if z3.is_rational_value(term):
            return _num(Fraction(term.as_fraction()))
        for value, node in self.known():
            if isinstance(value, SolverNumber) and value.term.eq(term):
                if inner:
                    if not isinstance(node, FunctionCall):
                        continue
                    return node.args[0]
                return node
        if z3.is_add(term):
            return _sum([self.number(part, inner) for part in term.children()])
        if z3.is_mul(term) and term.num_args() == 2:
            left, right = (self.number(part, inner) for part in term.children())
            return Binary("*", left, right)
        if z3.is_mod(term):
            return Binary("mod", self.number(term.arg(0), inner), self.number(term.arg(1), inner))
        if term.num_args() and term.decl().kind() == z3.Z3_OP_UNINTERPRETED:
            return self._element(term.decl().name(), tuple(term.children()))
        if z3.is_app_of(term, z3.Z3_OP_ITE):
            return self._bit(term)
        raise NoWords

    def _bit(self, term: Any) -> Expr:
        for value, node in self.known():
            if isinstance(value, Bit) and self.world.number(value).eq(term):
                return node
        raise NoWords


def _named(run: SingleRun) -> list[tuple[Symbol, Expr]]:
    found: list[tuple[Symbol, Expr]] = []
    for name, value in run.inputs.items():
        found += _parts(value, Var(name))
    for number, value in run.draws.items():
        found.append((value, Var(f"#draw{number}")))
    for name, value in run.store.items():
        if name not in run.inputs:
            found += _parts(value, Var(name))
    return found


def _parts(value: Symbol, node: Expr) -> list[tuple[Symbol, Expr]]:
    if isinstance(value, Row):
        return [
            pair for place, item in enumerate(value.items) for pair in _parts(item, Index(node, Num(Fraction(place))))
        ]
    return [(value, node)]


def _num(value: Fraction) -> Expr:
    return Num(value)


def _chain(op: str, parts: list[Expr]) -> Expr:
    found = parts[0]
    for part in parts[1:]:
        found = Binary(op, found, part)
    return found


def _sum(parts: list[Expr]) -> Expr:
    """A sum, with minus signs where factors are negative; the noise first."""
    parts = sorted(parts, key=lambda part: (part != NOISE, _is_minus(part)))
    found = parts[0]
    for part in parts[1:]:
        found = Binary("-", found, _positive(part)) if _is_minus(part) else Binary("+", found, part)
    return found


def _is_minus(part: Expr) -> bool:
    match part:
        case Num(value=value) | Binary(op="*", left=Num(value=value)):
            return value < 0
    return False


def _positive(part: Expr) -> Expr:
    match part:
        case Num(value=value):
            return Num(-value)
        case Binary(op="*", left=Num(value=value), right=right):
            return right if value == -1 else Binary("*", Num(-value), right)
    return part
