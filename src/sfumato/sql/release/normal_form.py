"""Expressions in a normal form, so that two spellings of one expression have one key.

Comes in: expressions whose columns stand for rows that have no number yet. Goes out: a key, once the rows are numbered.

Guarantee: expressions with one key have the same value for every row.
Proof: each rule below is an identity of the functions' written meaning, also where a value is NULL: AND, OR, sums,
    products, greatest and least of exact numbers with bounds commute and associate; NOT is pushed through comparisons,
    which are total orders; a comparison of numbers on a grid with a constant moves the constant to the next multiple of
    the grid, and is solved for x where the number is a constant plus a multiple of x, all exact and with bounds. Of
    several lower (or upper) bounds of one number the strongest is as good as all in an AND, the weakest in an OR: each
    is NULL where the number is. LIKE without a sign of patterns is =. CASE WHEN c THEN TRUE ELSE FALSE END is c IS
    TRUE, and in a filter that is c, also below AND and OR, because a filter keeps rows for which it is true. Numbers
    without bounds become NULL where they do not fit, which depends on the grids that meet and on every number in
    between: they are kept as they are written, with the types of all arguments, as is everything else whose meaning
    depends on types.
Reference: semantics 5.4; Kleene's logic.
Checked by: laws::one_key_means_one_answer, laws::spellings_of_one_query_cost_once
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

from sfumato.algebra.tree import BOOLEAN, DATE, DOUBLE, NULL, NUMBERS, Facts, Value
from sfumato.interrupts import step

TRUE, FALSE = "true", "false"
_NEGATED = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_LOGIC = ("and", "or", "not", *_NEGATED)
_TURNED = {">": "<", ">=": "<="}
_PIECE = 10_000
"""Characters that are written at once."""
_LINEAR = ("+", "-", "*", "negate")
_BY_VALUE = ("is null", "case", "coalesce", "nullif", "abs", "sign", "clamp")
"""Functions of the values of their arguments alone, whatever types these have; unless one is a double, for an exact
number becomes a double by way of its grid."""


@dataclass(frozen=True, eq=False)
class Place:
    """A row that is one of several which make up a row of a product; its number is known when the product is."""

    key: str


@dataclass(frozen=True, eq=False)
class NormalTerm:
    """An expression: of columns of places (`word` says which), of constants, or of other expressions."""

    name: str
    args: tuple[NormalTerm, ...]
    facts: Facts
    word: str = ""
    places: tuple[Place, ...] = ()
    value: Value = None
    inner: Callable[[dict[Place, str]], str] | None = None
    """The key of what reads other rows: a mark. It is given the numbers of the rows around it."""


def key_of(*parts: Any) -> str:
    """The key of a list of texts, numbers and lists."""
    return hashlib.sha256(_written(parts).encode()).hexdigest()


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def key_of_long(*parts: Any) -> str:
    """The same key where some of the parts are long: written in pieces, so that others have their turn in between."""
    found = hashlib.sha256()
    for piece in _pieces(parts):
        step()
        found.update(piece.encode())
    return found.hexdigest()


def _pieces(value: Any) -> Iterator[str]:
    """What `key_of` writes, text by text, long texts in slices: each character is written by itself."""
    if isinstance(value, str):
        yield '"'
        for at in range(0, len(value), _PIECE):
            yield _written(value[at : at + _PIECE])[1:-1]
        yield '"'
    elif isinstance(value, list | tuple) and sum(_length(part) for part in value) > _PIECE:
        for number, part in enumerate(value):
            yield "," if number else "["
            yield from _pieces(part)
        yield "]"
    else:
        yield _written(value)


def _length(value: Any) -> int:
    """How long a part is when it is written, roughly."""
    if isinstance(value, str):
        return len(value) + 3
    return 2 + sum(map(_length, value)) if isinstance(value, list | tuple) else 8


_READS = "_reads"
SharedKeys = dict[tuple[object, ...], str]
"""Keys by expression, whether it is negated, and the numbers of the places that it reads."""
SharedLimits = dict[str, tuple[str, int, Fraction]]
"""Of the key of a comparison of a number with a constant: the key of the number, on which side the constant stands, and
the constant."""


def _reads(term: NormalTerm) -> tuple[Place, ...] | None:
    """The places that an expression reads, worked out once; None where it reads other rows, by whichever places."""
    known = vars(term)
    if _READS not in known:
        step()
        inner = [_reads(arg) for arg in term.args]
        found = dict.fromkeys((*term.places, *(place for places in inner for place in places or ())))
        known[_READS] = None if term.inner is not None or None in inner else tuple(found)
    reads: tuple[Place, ...] | None = known[_READS]
    return reads


class Keys:
    """The keys of expressions over numbered places.

    `shared` holds keys by what they depend on: the expression, and the numbers of the places that it reads. Other
    numbers of other places leave them as they are.
    """

    def __init__(
        self, numbers: dict[Place, str], shared: SharedKeys | None = None, limits: SharedLimits | None = None
    ) -> None:
        self._numbers: dict[Place, str] = numbers
        self._shared: SharedKeys = {} if shared is None else shared
        self._limits: SharedLimits = {} if limits is None else limits
        self._atoms: dict[str, NormalTerm] = {}
        self._known: dict[tuple[NormalTerm, bool], str] = {}
        self._lines: dict[NormalTerm, tuple[Fraction, dict[str, Fraction]] | None] = {}

    def of(self, term: NormalTerm, negated: bool = False) -> str:
        """The key of an expression, or of its negation."""
        found = self._known.get((term, negated))
        if found is None:
            reads = _reads(term)
            place = None if reads is None else (term, negated, *(self._numbers[one] for one in reads))
            found = None if place is None else self._shared.get(place)
            if found is None:
                step()
                found = self._negation(term) if negated else self._key(term)
                if place is not None:
                    self._shared[place] = found
            self._known[term, negated] = found
        return found

    def all_of(self, terms: list[NormalTerm]) -> list[str]:
        """The keys of conditions that hold together, each once, in one order."""
        found = self._deciding("and", {key for term in terms for key in self._parts("and", term, negated=False)})
        return [FALSE] if FALSE in found else sorted(found - {TRUE})

    def _key(self, term: NormalTerm) -> str:
        if term.name in _LOGIC:
            return self._condition(term, negated=False)
        if term.inner is not None:
            return term.inner(self._numbers)
        if term.name == "column":
            return key_of("column", [self._numbers[place] for place in term.places], term.word)
        if term.name == "constant":
            return _constant(term)
        line = self._line(term)
        return self._call(term) if line is None else _line_key(line)

    def _negation(self, term: NormalTerm) -> str:
        return self._condition(term, negated=True) if term.name in _LOGIC else _not(self.of(term))

    def _condition(self, term: NormalTerm, *, negated: bool) -> str:
        if term.name == "not":
            return self.of(term.args[0], not negated)
        if term.name in _NEGATED:
            return self._comparison(_NEGATED[term.name] if negated else term.name, *term.args)
        return self._logic(term.name, term, negated=negated)

    def _call(self, term: NormalTerm) -> str:
        """A function of other expressions; of some the order of arguments is no matter, of some their types."""
        keys, by_value = [self.of(arg) for arg in term.args], not _by_type(term.args)
        if by_value and term.name in ("is distinct from", "greatest", "least"):
            return key_of(term.name, sorted(set(keys)))
        if by_value and term.name == "in":
            return key_of("in", keys[0], sorted(set(keys[1:])))
        types = [] if term.name in _BY_VALUE and by_value else [_type(arg.facts) for arg in term.args]
        return key_of(term.name, term.word, keys, types)

    def _logic(self, name: str, term: NormalTerm, *, negated: bool) -> str:
        """AND and OR: the parts of all of one kind, each once, in one order; a negation changes one to the other."""
        kind = {"and": "or", "or": "and"}[name] if negated else name
        parts = self._deciding(kind, self._parts(kind, term, negated=negated))
        ends, nothing = (FALSE, TRUE) if kind == "and" else (TRUE, FALSE)
        if ends in parts:
            return ends
        parts -= {nothing}
        if len(parts) < 2:
            return next(iter(parts), nothing)
        return key_of(kind, sorted(parts))

    def _deciding(self, kind: str, parts: set[str]) -> set[str]:
        """The parts without bounds that another bound of the same number makes idle: the strongest in an AND, the
        weakest in an OR.
        """
        ends: dict[tuple[str, int], list[tuple[Fraction, str]]] = {}
        for key in parts:
            if key in self._limits:
                number, side, end = self._limits[key]
                ends.setdefault((number, side), []).append((end, key))
        idle = set[str]()
        for (_, side), bounds in ends.items():
            decides = min if (side == 1) == (kind == "and") else max  # the number is on the left of an upper bound
            idle |= {key for _, key in bounds} - {decides(bounds)[1]}
        return parts - idle

    def _parts(self, kind: str, term: NormalTerm, *, negated: bool) -> set[str]:
        """The parts of an AND (or OR), through negations."""
        found: set[str] = set()
        waiting, met = [(term, negated)], set[tuple[NormalTerm, bool]]()
        while waiting:
            one, denied = waiting.pop()
            if (one, denied) in met:
                continue
            met.add((one, denied))
            if one.name == "not":
                waiting.append((one.args[0], not denied))
            elif one.name in ("and", "or") and (one.name == kind) != denied:
                waiting += [(arg, denied) for arg in one.args]
            else:
                found.add(self.of(one, denied))
        return found

    def _comparison(self, name: str, left: NormalTerm, right: NormalTerm) -> str:
        if name in _TURNED:
            name, left, right = _TURNED[name], right, left
        if _by_type((left, right)):
            return key_of(name, [[self.of(side), *_type(side.facts)] for side in (left, right)])
        truth = _truth(name, left, right)
        if truth is not None:
            return self.of(*truth)
        ends = [self._number(term) for term in (left, right)]
        if ends[0] is not None and ends[1] is not None:
            return TRUE if _holds(name, ends[0], ends[1]) else FALSE
        (left, right), ends = self._solved((left, right), ends)
        if name in ("<", "<="):
            name, keys = self._bound(name, (left, right), ends)
            return key_of(name, keys)
        keys = [
            self.of(side) if end is None else _number_key(end) for side, end in zip((left, right), ends, strict=True)
        ]
        return key_of(name, sorted(keys))

    def _solved(
        self, sides: tuple[NormalTerm, NormalTerm], ends: list[Fraction | None]
    ) -> tuple[tuple[NormalTerm, NormalTerm], list[Fraction | None]]:
        """A comparison of c + k x with a number, as one of x: the sides change places where k is negative."""
        for at, end in enumerate(ends):
            line = self._line(sides[1 - at])
            if end is None or line is None or len(line[1]) != 1:
                continue
            ((key, count),) = line[1].items()
            if count == 0 or key not in self._atoms:
                continue
            solved = [self._atoms[key], self._atoms[key]]
            solved[at] = sides[at]
            numbers: list[Fraction | None] = [None, None]
            numbers[at] = (end - line[0]) / count
            if count < 0:
                solved.reverse()
                numbers.reverse()
            return (solved[0], solved[1]), numbers
        return sides, ends

    def _bound(
        self, name: str, sides: tuple[NormalTerm, NormalTerm], ends: list[Fraction | None]
    ) -> tuple[str, list[str]]:
        """x < c and x <= c, where x is on a grid: x <= the largest multiple that satisfies it; and c < x likewise."""
        for at, end in enumerate(ends):
            grid = sides[1 - at].facts.grid
            if end is not None and sides[1 - at].facts.exact and grid is not None:
                steps, sign = end / grid, 1 if at == 1 else -1
                last = sign * math.floor(sign * steps)
                if name == "<" and last == steps:
                    last -= sign
                keys = [self.of(side) for side in sides]
                keys[at] = _number_key(last * grid)
                self._limits[key_of("<=", keys)] = keys[1 - at], at, last * grid
                return "<=", keys
        for at, side in enumerate(sides):
            day = side.value
            if name == "<" and type(day) is date and {s.facts.kind for s in sides} == {DATE}:
                keys = [self.of(one) for one in sides]
                try:
                    keys[at] = _day_key(day - timedelta(days=1 if at == 1 else -1))
                except OverflowError:
                    break
                return "<=", keys
        return name, [self.of(side) for side in sides]

    def _number(self, term: NormalTerm) -> Fraction | None:
        """The number that an expression always is; None where it is none, or may differ."""
        line = self._line(term)
        return line[0] if line is not None and not line[1] else None

    def _line(self, term: NormalTerm) -> tuple[Fraction, dict[str, Fraction]] | None:
        """An exact number as a constant and multiples of what it is made of; a multiple by 0 stays: it may be NULL."""
        if not term.facts.exact or (term.value is None and term.name == "constant"):
            return None
        if term not in self._lines:
            self._lines[term] = self._sum(term)
        return self._lines[term]

    def _sum(self, term: NormalTerm) -> tuple[Fraction, dict[str, Fraction]] | None:
        if term.name == "constant":
            return Fraction(term.value), {}  # type: ignore[arg-type]
        if term.name not in _LINEAR:
            return None
        if not all(one.facts.exact and one.facts.bounded for one in (term, *term.args)):
            return None
        parts = [self._line(arg) or self._atom(arg) for arg in term.args]
        if term.name == "negate":
            return _times(Fraction(-1), parts[0])
        if term.name == "*":
            return self._product(parts)
        constant, found = parts[0][0], dict(parts[0][1])
        sign = 1 if term.name == "+" else -1
        for more, others in parts[1:]:
            constant += sign * more
            for key, count in others.items():
                found[key] = found.get(key, Fraction(0)) + sign * count
        return constant, found

    def _atom(self, term: NormalTerm) -> tuple[Fraction, dict[str, Fraction]]:
        """A number that is made of nothing else, as a line."""
        key = self.of(term)
        self._atoms[key] = term
        return Fraction(0), {key: Fraction(1)}

    def _product(self, parts: list[tuple[Fraction, dict[str, Fraction]]]) -> tuple[Fraction, dict[str, Fraction]]:
        """A product: constants are taken out, and what is left stands in one order."""
        factor, keys = Fraction(1), []
        lines = []
        for constant, found in parts:
            if not found:
                factor *= constant
            else:
                lines.append((constant, found))
        if len(lines) == 1:
            return _times(factor, lines[0])
        if not lines:
            return factor, {}
        for line in lines:
            if line[0] == 0 and len(line[1]) == 1:
                ((key, count),) = line[1].items()
                factor *= count
                keys.append(key)
            else:
                keys.append(_line_key(line))
        return Fraction(0), {key_of("*", sorted(keys)): factor}


def simplified(term: NormalTerm) -> NormalTerm:
    """The same expression by a function that is known better."""
    if term.name == "like" and _is_text_alone(term.args[1]):
        return replace(term, name="=")
    if term.name == "case" and len(term.args) == 3:
        test, chosen, other = term.args
        if _is_truth(chosen, True) and _is_truth(other, False):
            return replace(term, name="coalesce", args=(test, other))
        if _is_truth(chosen, False) and _is_truth(other, True):
            return replace(term, name="not", args=(replace(term, name="coalesce", args=(test, chosen)),))
    return term


def _is_text_alone(term: NormalTerm) -> bool:
    """Whether it is a written pattern that one text matches: itself."""
    return term.name == "constant" and isinstance(term.value, str) and not set(term.value) & set("%_\\")


def _is_truth(term: NormalTerm, value: bool) -> bool:
    return term.name == "constant" and term.value is value


def held(condition: NormalTerm, known: dict[NormalTerm, NormalTerm]) -> NormalTerm:
    """A condition that is true for the same rows, but may be NULL where the other one is false: for filters."""
    found = known.get(condition)
    if found is None:
        step()
        found = condition
        if condition.name in ("and", "or"):
            args = tuple(held(arg, known) for arg in condition.args)
            found = condition if args == condition.args else replace(condition, args=args)
        elif condition.name == "coalesce" and len(condition.args) == 2 and _is_truth(condition.args[1], False):
            found = held(condition.args[0], known)
        known[condition] = found
    return found


def _times(factor: Fraction, line: tuple[Fraction, dict[str, Fraction]]) -> tuple[Fraction, dict[str, Fraction]]:
    return factor * line[0], {key: factor * count for key, count in line[1].items()}


def _line_key(line: tuple[Fraction, dict[str, Fraction]]) -> str:
    constant, found = line
    if not found:
        return _number_key(constant)
    if constant == 0 and list(found.values()) == [1]:
        return next(iter(found))
    return key_of("+", str(constant), sorted((key, str(count)) for key, count in found.items()))


def _number_key(value: Fraction) -> str:
    return key_of("constant", "number", str(value))


def _constant(term: NormalTerm) -> str:
    value, kind = term.value, term.facts.kind
    if value is None:
        return key_of("constant", NULL)
    if kind == BOOLEAN:
        return TRUE if value else FALSE
    if term.facts.exact:
        return _number_key(Fraction(value))  # type: ignore[arg-type]
    if type(value) is date:
        return _day_key(value)
    return key_of("constant", *_type(term.facts), value.isoformat() if isinstance(value, date) else str(value))


def _day_key(day: date) -> str:
    return key_of("constant", DATE, day.isoformat())


def _type(facts: Facts) -> list[str]:
    """What a function may see of its argument besides the value."""
    return [facts.kind, str(facts.grid)] if facts.kind in NUMBERS else [facts.kind, ""]


def _by_type(terms: tuple[NormalTerm, ...]) -> bool:
    """Whether types decide what a function makes of its arguments: doubles, and numbers that may not fit."""
    return any(_is_double(term.facts) or (term.facts.exact and not term.facts.bounded) for term in terms)


def _is_double(facts: Facts) -> bool:
    return facts.kind == DOUBLE and not facts.exact


def _not(key: str) -> str:
    return {TRUE: FALSE, FALSE: TRUE}.get(key) or key_of("not", key)


def _truth(name: str, left: NormalTerm, right: NormalTerm) -> tuple[NormalTerm, bool] | None:
    """x = TRUE is x; the expression and whether it is negated."""
    for one, other in ((left, right), (right, left)):
        if name in ("=", "<>") and other.name == "constant" and isinstance(other.value, bool):
            return one, (name == "=") != other.value
    return None


def _holds(name: str, left: Fraction, right: Fraction) -> bool:
    return {"=": left == right, "<>": left != right, "<": left < right, "<=": left <= right}[name]
