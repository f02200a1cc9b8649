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
from typing import Any

from sfumato.reals import Real
from sfumato.verify.tree import (
    Assign,
    Binary,
    Call,
    Draw,
    Expr,
    If,
    Index,
    Items,
    Num,
    Program,
    Return,
    Stmt,
    Truth,
    Type,
    Unary,
    Var,
    While,
)

Env = dict[str, Any]
Code = Callable[[Env], Any]


class Fault(Exception):
    """Something that no run may do: a division by zero, an index outside of its list, …"""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.message = message
        self.at = at


class TooLong(Exception):
    """A run that takes more rounds of loops than it was given."""


class NotRun(Exception):
    """Something that this kind of number cannot do."""


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
    ) -> None:
        self.program = program
        self.exact = exact
        self.decide = decide
        self.real = real
        self._codes: dict[int, Code] = {}
        self._kept: list[Expr] = []

    def run(self, env: Env, rounds: int = 1000) -> Running:
        """Run from an environment that holds the parameters, eps, delta and functions of `uses` by name with
        brackets.
        """
        left = [rounds]
        value = yield from self._block(self.program.body, env, left)
        return value[0] if value is not None else None

    def _block(self, body: tuple[Stmt, ...], env: Env, left: list[int]) -> Generator[Stop, Any, tuple[Any] | None]:
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
            raise Fault("expected a truth", test.at)
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
                constant = value if self.exact else float(value)
                return lambda _: constant
            case Truth(value=truth):
                return lambda _: truth
            case Var(name=name):
                return self._variable(name, node.at)
            case Items(items=items):
                codes = [self.code(item) for item in items]
                return lambda env: tuple(code(env) for code in codes)
            case Unary(op="!", arg=arg):
                inner = self.code(arg)
                return lambda env: not inner(env)
            case Unary(arg=arg):
                inside = self.code(arg)
                return lambda env: -inside(env)
            case Index(base=base, index=index):
                return self._index(self.code(base), self.code(index), node.at)
            case Call():
                return self._call(node)
            case Binary():
                return self._binary(node)
        raise NotRun

    @staticmethod
    def _variable(name: str, at: int) -> Code:
        def read(env: Env) -> Any:
            if name not in env:
                raise Fault(f'"{name}" has no value yet', at)
            return env[name]

        return read

    @staticmethod
    def _index(base: Code, index: Code, at: int) -> Code:
        def read(env: Env) -> Any:
            inside, place = base(env), index(env)
            if not isinstance(inside, tuple):
                raise Fault("expected a list", at)
            if not isinstance(place, int | float | Fraction):
                raise NotRun
            if place != int(place) or not 0 <= place < len(inside):
                raise Fault(f"index {place} lies outside of a list of {len(inside)}", at)
            return inside[int(place)]

        return read

    def _binary(self, node: Binary) -> Code:
        left, right, op, at = self.code(node.left), self.code(node.right), node.op, node.at
        match op:
            case "&&":
                return lambda env: left(env) and right(env)
            case "||":
                return lambda env: left(env) or right(env)
            case "+":
                return lambda env: add(left(env), right(env), 1, at)
            case "-":
                return lambda env: add(left(env), right(env), -1, at)
            case "*":
                return lambda env: left(env) * right(env)
            case "/":
                return lambda env: divide(left(env), right(env), at)
            case "mod":
                return lambda env: modulo(left(env), right(env), at)
            case "^":
                return lambda env: left(env) ** _whole(right(env))
            case "++":
                return lambda env: left(env) + right(env)
            case "xor" | "and" | "or":
                return lambda env: bitwise(op, left(env), right(env), at)
        return lambda env: self.compare(left(env), right(env), op)

    def compare(self, left: Any, right: Any, op: str) -> bool:
        """One comparison; truths and lists are only equal or not, and `false` is not 0."""
        plain = int | float | Fraction
        if isinstance(left, bool | tuple) or isinstance(right, bool | tuple):
            if op not in ("=", "!="):
                raise NotRun
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

    def _call(self, node: Call) -> Code:
        codes, at, name = [self.code(arg) for arg in node.args], node.at, node.name
        match name:
            case "abs":
                return lambda env: value if self.compare(value := codes[0](env), 0, ">=") else -value
            case "min":
                return lambda env: self._least(codes[0](env), codes[1](env))
            case "max":
                return lambda env: self._greatest(codes[0](env), codes[1](env))
            case "clamp":
                return lambda env: self._least(self._greatest(codes[0](env), codes[1](env)), codes[2](env))
            case "size":
                return lambda env: len(codes[0](env)) if self.exact else float(len(codes[0](env)))
            case "int":
                return lambda env: Fraction(_number_of(codes[0](env)))
            case "exp" | "ln" | "sqrt":
                return lambda env: self.real_function(name, codes[0](env), at)
        return lambda env: env[f"{name}()"](tuple(code(env) for code in codes))

    def _least(self, left: Any, right: Any) -> Any:
        return left if self.compare(left, right, "<=") else right

    def _greatest(self, left: Any, right: Any) -> Any:
        return right if self.compare(left, right, "<=") else left

    def real_function(self, name: str, value: Any, at: int) -> Any:
        """exp, ln, sqrt: of floats; exact runs cannot, unless somebody computes them for them."""
        from math import exp, log, sqrt

        if not isinstance(value, int | float | Fraction) and self.real is None:
            raise NotRun
        if not isinstance(value, int | float | Fraction | Real) and self.real is not None:
            return self.real(name, value)  # whoever computes it knows where it fails
        if (name == "ln" and value <= 0) or (name == "sqrt" and value < 0):
            raise Fault(f"{name} of {value}", at)
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


def _whole(value: Any) -> int:
    if not isinstance(value, int | float | Fraction) or value != int(value):
        raise NotRun
    whole = int(value)
    if abs(whole) > 64:
        raise NotRun
    return whole


def _number_of(bits: tuple[Any, ...]) -> int:
    return int("".join(str(int(bit)) for bit in bits) or "0", 2)


def add(left: Any, right: Any, sign: int, at: int) -> Any:
    """`+` and `-`, of two bit lists modulo 2^n."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        if len(left) != len(right):
            raise Fault(f"bit lists of {len(left)} and {len(right)} bits", at)
        total = (_number_of(left) + sign * _number_of(right)) % 2 ** len(left)
        return tuple(Fraction(int(bit)) for bit in f"{total:0{len(left)}b}"[: len(left)])
    if isinstance(left, tuple | bool) or isinstance(right, tuple | bool):
        raise Fault("expected two numbers", at)
    return left + right if sign == 1 else left - right


def bitwise(op: str, left: Any, right: Any, at: int) -> Any:
    """`xor`, `and`, `or` of bits, and bit by bit."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        if len(left) != len(right):
            raise Fault(f"bit lists of {len(left)} and {len(right)} bits", at)
        return tuple(bitwise(op, a, b, at) for a, b in zip(left, right, strict=True))
    a, b = int(left), int(right)
    return Fraction(a ^ b if op == "xor" else a & b if op == "and" else a | b)


def divide(left: Any, right: Any, at: int) -> Any:
    """A quotient."""
    if isinstance(right, Real):
        return left / right
    if isinstance(right, bool | tuple):
        raise NotRun
    if right == 0:
        raise Fault("division by zero", at)
    return Fraction(left, right) if isinstance(left, int) and isinstance(right, int) else left / right


def modulo(left: Any, right: Any, at: int) -> Any:
    """x mod m in [0, m)."""
    plain = int | float | Fraction
    if not isinstance(left, plain) or not isinstance(right, plain):
        raise NotRun
    if right <= 0:
        raise Fault(f"mod by {right}", at)
    return left % right


def check_law(draw: Draw, args: tuple[Any, ...]) -> None:
    """Raise the fault of a law whose arguments are not allowed."""
    plain = int | float | Fraction | Real
    first = args[0]
    if draw.law == "Choice":
        if not isinstance(first, tuple) or not first or any(weight < 0 for weight in first) or not _some(first):
            raise Fault("weights that are negative or all zero", draw.at)
        return
    if isinstance(first, tuple):
        raise Fault("expected a number", draw.at)
    if not isinstance(first, plain):
        raise NotRun
    if draw.law in ("Laplace", "Exponential", "Gauss") and first <= 0:
        raise Fault(f"scale {first}", draw.at)
    if draw.law in ("Geometric", "TruncGeometric") and not 0 < first < 1:
        raise Fault(f"ratio {first}", draw.at)
    if draw.law == "Bernoulli" and not 0 <= first <= 1:
        raise Fault(f"probability {first}", draw.at)
    ends = {"Uniform": args, "TruncGeometric": args[1:3]}.get(draw.law, ())
    if len(ends) == 2 and Fraction(ends[0]) > Fraction(ends[1]):
        raise Fault(f"lower end {ends[0]} above upper end {ends[1]}", draw.at)


def _some(weights: tuple[Any, ...]) -> bool:
    """Whether one of them, none of which is negative, is not zero."""
    return any(weight > 0 for weight in weights)


def elements(kind: Type) -> Type:
    """The type of one element of a list type."""
    return kind.items[0]
