"""Verify: programs as they run. Comes in: a program and one input. Goes out: what it draws, where it is, what it
returns.

A run is a generator: at each draw it hands out the law with its arguments and is sent the drawn value; at each
beginning of a loop it hands out its variables. Numbers may be fractions, floats, or forms that are linear in noise:
whatever adds and multiplies. Comparisons of such forms are decided by whoever runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any

from sfumato.reals import Real
from sfumato.verify.tree import (
    Again,
    Assign,
    Binary,
    Draw,
    Expr,
    FunctionCall,
    If,
    Index,
    Num,
    Program,
    Return,
    SequenceLiteral,
    Stmt,
    TruthLiteral,
    Type,
    Unary,
    Var,
    While,
)

BITS = 1 << 15
"""Bits of the longest number that a run computes."""
ITEMS = 1 << 12
"""Elements of the longest list that a run makes, unless it is given more."""
Env = dict[str, Any]


class _Again(tuple[Any, ...]):
    """Nothing was returned: told apart from an empty list by being itself."""

    __slots__ = ()


REJECTED = _Again()
"""What a run ends with where noise would be drawn again."""
Code = Callable[[Env], Any]


class RunFault(Exception):
    """Something that no run may do: a division by zero, an index outside of its list, …"""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.message = message
        self.at = at


class NotRun(Exception):
    """Something that this kind of number cannot do."""


class TooLong(NotRun):
    """A run that takes more rounds of loops than it was given, or makes numbers and lists that are too long."""


@dataclass(frozen=True, slots=True)
class AtDraw:
    """A draw: the statement, and its arguments' values."""

    draw: Draw
    args: tuple[Any, ...]
    env: Env


@dataclass(frozen=True, slots=True)
class AtLoop:
    """The beginning of a round, before the test."""

    loop: While
    env: Env


Stop = AtDraw | AtLoop
Running = Generator[Stop, Any, Any]


class Runner:
    """A program, ready to run. `exact` makes numbers of the text fractions, else floats; `real` computes exp, ln and
    sqrt of fractions.
    """

    def __init__(
        self,
        program: Program,
        *,
        exact: bool = True,
        decide: Callable[[Any, str], bool] | None = None,
        real: Callable[[str, Any], Any] | None = None,
        items: float = ITEMS,
        bits: float = BITS,
    ) -> None:
        self.program = program
        self.items, self.bits = items, bits
        self.exact = exact
        self.decide = decide
        self.real = real
        self._codes: dict[int, Code] = {}
        self._kept: list[Expr] = []

    def run(self, env: Env, rounds: float = 1000) -> Running:
        """Run from an environment that holds the parameters, eps, delta and functions of `uses` by name with
        brackets.
        """
        left = [rounds]
        value = yield from self._block(self.program.body, env, left)
        return value[0] if value is not None else None

    def _block(self, body: tuple[Stmt, ...], env: Env, left: list[float]) -> Generator[Stop, Any, tuple[Any] | None]:
        for statement in body:
            match statement:
                case Assign(name=name, value=value):
                    env[name] = self.code(value)(env)
                case Draw(name=name):
                    args = tuple(self.code(arg)(env) for arg in statement.args)
                    check_law(statement, args)
                    env[name] = yield AtDraw(statement, args, env)
                case Return(value=value):
                    return (self.code(value)(env),)
                case Again(test=test):
                    if self.truth(test, env):
                        return (REJECTED,)
                case If(test=test, then=then, other=other):
                    found = yield from self._block(then if self.truth(test, env) else other, env, left)
                    if found is not None:
                        return found
                case While(test=test, body=inner):
                    while True:
                        yield AtLoop(statement, env)
                        if not self.truth(test, env):
                            break
                        left[0] -= 1
                        if left[0] < 0:
                            raise TooLong
                        found = yield from self._block(inner, env, left)
                        if found is not None:
                            return found
        return None

    def truth(self, test: Expr, env: Env) -> bool:
        """Whether a test holds."""
        found = self.code(test)(env)
        if not isinstance(found, bool):
            raise RunFault("expected a truth", test.at)
        return found

    # ---- expressions become functions once, and are called often

    def code(self, node: Expr) -> Code:
        """The function of an expression."""
        found = self._codes.get(id(node))
        if found is None:
            found = self._codes[id(node)] = self._make(node)
            self._kept.append(node)  # so that no other node gets its id
        return found

    def _make(self, node: Expr) -> Code:
        match node:
            case Num(value=value):
                constant = value if self.exact else as_float(value)
                return lambda _: constant
            case TruthLiteral(value=truth):
                return lambda _: truth
            case Var(name=name):
                return self._variable(name, node.at)
            case SequenceLiteral(items=items):
                codes = [self.code(item) for item in items]
                return lambda env: tuple(code(env) for code in codes)
            case Unary(op="!", arg=arg):
                inner = self.code(arg)
                return lambda env: not truth_of(inner(env), node.at)
            case Unary(arg=arg):
                inside = self.code(arg)
                return lambda env: -number_of(inside(env), node.at)
            case Index(base=base, index=index):
                return self._index(self.code(base), self.code(index), node.at)
            case FunctionCall():
                return self._call(node)
            case Binary():
                return self._binary(node)
        raise NotRun

    @staticmethod
    def _variable(name: str, at: int) -> Code:
        def read(env: Env) -> Any:
            if name not in env:
                raise RunFault(f'"{name}" has no value yet', at)
            return env[name]

        return read

    @staticmethod
    def _index(base: Code, index: Code, at: int) -> Code:
        def read(env: Env) -> Any:
            inside, place = base(env), index(env)
            if not isinstance(inside, tuple):
                raise RunFault("expected a list", at)
            place = number_of(place, at)
            if not isinstance(place, int | float | Fraction):
                raise NotRun
            if place != int(place) or not 0 <= place < len(inside):
                raise RunFault(f"index {place} is outside a list of length {len(inside)}", at)
            return inside[int(place)]

        return read

    def _binary(self, node: Binary) -> Code:
        left, right, op, at = self.code(node.left), self.code(node.right), node.op, node.at
        match op:
            case "&&":
                return lambda env: truth_of(left(env), at) and truth_of(right(env), at)
            case "||":
                return lambda env: truth_of(left(env), at) or truth_of(right(env), at)
            case "+":
                return lambda env: add(left(env), right(env), 1, at)
            case "-":
                return lambda env: add(left(env), right(env), -1, at)
            case "*":
                return lambda env: multiply(left(env), right(env), at, self.bits)
            case "/":
                return lambda env: divide(left(env), right(env), at, self.bits)
            case "mod":
                return lambda env: modulo(left(env), right(env), at)
            case "^":
                return lambda env: power(left(env), right(env), at, self.bits)
            case "++":
                return lambda env: self._joined(list_of(left(env), at), list_of(right(env), at))
            case "xor" | "and" | "or":
                return lambda env: bitwise(op, left(env), right(env), at)
        return lambda env: self.compare(left(env), right(env), op, at)

    def _joined(self, left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
        if len(left) + len(right) > self.items:
            raise TooLong
        return left + right

    def compare(self, left: Any, right: Any, op: str, at: int = 0) -> bool:
        """One comparison; truths and lists are only equal or not, and `false` is not 0."""
        plain = int | float | Fraction
        if isinstance(left, bool | tuple) or isinstance(right, bool | tuple):
            if op not in ("=", "!="):
                raise RunFault("expected two numbers", at)
            if isinstance(left, tuple) and isinstance(right, tuple):
                same = len(left) == len(right) and all(
                    self.compare(a, b, "=") for a, b in zip(left, right, strict=True)
                )
            else:
                same = type(left) is type(right) and left == right
            return same == (op == "=")
        if isinstance(left, plain) and isinstance(right, plain):
            return COMPARE[op](left, right)
        if self.decide is None:
            raise NotRun
        return self.decide(left - right, op)

    def _call(self, node: FunctionCall) -> Code:
        codes, at, name = [self.code(arg) for arg in node.args], node.at, node.name
        match name:
            case "abs":
                return lambda env: value if self.compare(value := codes[0](env), 0, ">=", at) else -value
            case "min":
                return lambda env: self._least(codes[0](env), codes[1](env), at)
            case "max":
                return lambda env: self._greatest(codes[0](env), codes[1](env), at)
            case "clamp":
                return lambda env: self._least(self._greatest(codes[0](env), codes[1](env), at), codes[2](env), at)
            case "size":
                kind = int if self.exact else float
                return lambda env: kind(len(list_of(codes[0](env), at)))
            case "int":
                return lambda env: Fraction(_number_of(list_of(codes[0](env), at), at))
            case "exp" | "ln" | "sqrt":
                return lambda env: self.real_function(name, number_of(codes[0](env), at), at)
        return lambda env: env[f"{name}()"](tuple(code(env) for code in codes))

    def _least(self, left: Any, right: Any, at: int) -> Any:
        return left if self.compare(left, right, "<=", at) else right

    def _greatest(self, left: Any, right: Any, at: int) -> Any:
        return right if self.compare(left, right, "<=", at) else left

    def real_function(self, name: str, value: Any, at: int) -> Any:
        """exp, ln, sqrt: of floats; exact runs cannot, unless somebody computes them for them."""
        from math import exp, log, sqrt

        if not isinstance(value, int | float | Fraction) and self.real is None:
            raise NotRun
        if not isinstance(value, int | float | Fraction | Real) and self.real is not None:
            return self.real(name, value)  # whoever computes it knows where it fails
        if (name == "ln" and value <= 0) or (name == "sqrt" and value < 0):
            raise RunFault(f"{name} of {value}", at)
        if self.real is not None:
            return self.real(name, value)
        if self.exact:
            raise NotRun
        return {"exp": exp, "ln": log, "sqrt": sqrt}[name](value)


COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: bool(a == b),
    "!=": lambda a, b: bool(a != b),
    "<": lambda a, b: bool(a < b),
    "<=": lambda a, b: bool(a <= b),
    ">": lambda a, b: bool(a > b),
    ">=": lambda a, b: bool(a >= b),
}


def as_float(value: Fraction | int) -> float:
    """The nearest float; of numbers beyond all floats there is none."""
    try:
        return float(value)
    except OverflowError as error:
        raise NotRun from error


def _whole(value: Any) -> int:
    if not isinstance(value, int | float | Fraction) or not isfinite(value) or value != int(value):
        raise NotRun
    whole = int(value)
    if abs(whole) > 64:
        raise NotRun
    return whole


# ---- what an operand has to be


def number_of(value: Any, at: int) -> Any:
    """A value that is a number."""
    if isinstance(value, bool | tuple):
        raise RunFault("expected a number", at)
    return value


def truth_of(value: Any, at: int) -> bool:
    """A value that is a truth."""
    if not isinstance(value, bool):
        raise RunFault("expected a truth", at)
    return value


def list_of(value: Any, at: int) -> tuple[Any, ...]:
    """A value that is a list."""
    if not isinstance(value, tuple):
        raise RunFault("expected a list", at)
    return value


def bit_of(value: Any, at: int) -> int:
    """A value that is a bit."""
    if isinstance(value, bool | tuple):
        raise RunFault("expected a bit", at)
    if not isinstance(value, int | float | Fraction):
        raise NotRun
    if value not in (0, 1):
        raise RunFault(f"expected a bit, found {value}", at)
    return int(value)


def multiply(left: Any, right: Any, at: int, bits: float = BITS) -> Any:
    """A product; of numbers so large that nobody waits for it, none."""
    left, right = number_of(left, at), number_of(right, at)
    if _bits(left) + _bits(right) > bits:
        raise TooLong
    return left * right


def power(base: Any, exponent: Any, at: int, bits: float = BITS) -> Any:
    """A power with a whole exponent."""
    base, whole = number_of(base, at), _whole(number_of(exponent, at))
    if _bits(base) * abs(whole) > bits:
        raise TooLong
    if whole < 0 and isinstance(base, int | float | Fraction) and base == 0:
        raise RunFault("division by zero", at)
    return base**whole


def _bits(value: Any) -> int:
    """How long a number is."""
    if isinstance(value, int):
        return value.bit_length()
    return value.numerator.bit_length() + value.denominator.bit_length() if isinstance(value, Fraction) else 0


def _number_of(bits: tuple[Any, ...], at: int) -> int:
    return int("".join(str(bit_of(bit, at)) for bit in bits) or "0", 2)


def add(left: Any, right: Any, sign: int, at: int) -> Any:
    """`+` and `-`, of two bit lists modulo 2^n."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        if len(left) != len(right):
            raise RunFault(f"bit lists of {len(left)} and {len(right)} bits", at)
        total = (_number_of(left, at) + sign * _number_of(right, at)) % 2 ** len(left)
        return tuple(Fraction(int(bit)) for bit in f"{total:0{len(left)}b}"[: len(left)])
    if isinstance(left, tuple | bool) or isinstance(right, tuple | bool):
        raise RunFault("expected two numbers", at)
    return left + right if sign == 1 else left - right


def bitwise(op: str, left: Any, right: Any, at: int) -> Any:
    """`xor`, `and`, `or` of bits, and bit by bit."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        if len(left) != len(right):
            raise RunFault(f"bit lists of {len(left)} and {len(right)} bits", at)
        return tuple(bitwise(op, a, b, at) for a, b in zip(left, right, strict=True))
    a, b = bit_of(left, at), bit_of(right, at)
    return Fraction(a ^ b if op == "xor" else a & b if op == "and" else a | b)


def divide(left: Any, right: Any, at: int, bits: float = BITS) -> Any:
    """A quotient."""
    left, right = number_of(left, at), number_of(right, at)
    if isinstance(right, Real):
        return left / right
    if _bits(left) + _bits(right) > bits:
        raise TooLong
    if right == 0:
        raise RunFault("division by zero", at)
    return Fraction(left, right) if isinstance(left, int) and isinstance(right, int) else left / right


def modulo(left: Any, right: Any, at: int) -> Any:
    """x mod m in [0, m)."""
    plain = int | float | Fraction
    left, right = number_of(left, at), number_of(right, at)
    if not isinstance(left, plain) or not isinstance(right, plain):
        raise NotRun
    if right <= 0:
        raise RunFault(f"mod by {right}", at)
    return left % right


def check_law(draw: Draw, args: tuple[Any, ...]) -> None:
    """Raise the fault of a law whose arguments are not allowed."""
    plain = int | float | Fraction | Real
    first = args[0]
    if draw.law == "Choice":
        weights = [number_of(weight, draw.at) for weight in list_of(first, draw.at)]
        if not weights or any(weight < 0 for weight in weights) or not any(weight > 0 for weight in weights):
            raise RunFault("weights that are negative or all zero", draw.at)
        return
    for arg in args:
        number_of(arg, draw.at)
    if not isinstance(first, plain):
        raise NotRun
    if draw.law in ("Laplace", "Exponential", "Gauss") and first <= 0:
        raise RunFault(f"scale {first}", draw.at)
    if draw.law in ("Geometric", "TruncGeometric") and not 0 < first < 1:
        raise RunFault(f"ratio {first}", draw.at)
    if draw.law == "Bernoulli" and not 0 <= first <= 1:
        raise RunFault(f"probability {first}", draw.at)
    ends = {"Uniform": args, "TruncGeometric": args[1:3]}.get(draw.law, ())
    if len(ends) == 2 and not all(isinstance(end, int | float | Fraction) for end in ends):
        raise NotRun
    if len(ends) == 2 and ends[0] > ends[1]:
        raise RunFault(f"lower end {ends[0]} above upper end {ends[1]}", draw.at)
    if draw.law == "Uniform" and any(end != int(end) for end in args):
        raise NotRun
    if draw.law == "Uniform" and len(args) == 1 and not 0 <= first <= 1 << 20:
        raise NotRun


def elements(kind: Type) -> Type:
    """The type of one element of a list type."""
    return kind.items[0]
