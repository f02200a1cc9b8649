"""Verify: operands of the right kind. Comes in: a program whose names are known. Goes out: nothing, or an error with
its place.

A value is a number, a truth or a list. Variables have no declaration: a variable may hold any kind that is assigned to
it somewhere. An operation is an error if no kind that its operand may have fits it, so that a program that passes
may still hold a wrong kind on one of its paths; a run then stops there with the same words (run.py).
"""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.errors import InputError
from sfumato.verify.lexer import mistake
from sfumato.verify.tree import (
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
    TruthLiteral,
    Type,
    Unary,
    Var,
    While,
    promises,
    statements,
    walk,
)

Kinds = frozenset[str]
NUMBER, TRUTH, LIST = (frozenset({word}) for word in ("number", "truth", "list"))
ANY = NUMBER | TRUTH | LIST
_LOGIC, _ORDER, _EQUAL = ("&&", "||"), ("<", "<=", ">", ">="), ("=", "!=")
_BITS, _SUMS = ("xor", "and", "or"), ("+", "-")


def check_kinds(program: Program) -> None:
    """Raise InputError at the first operand of a wrong kind."""
    checking = _Checking(program)
    for node, wanted in _roots(program):
        checking.check(node, wanted)


def _roots(program: Program) -> Iterator[tuple[Expr, Kinds]]:
    """All expressions of a program, with the kinds that fit their places."""
    for kind in (*(param.type for param in program.params), program.output):
        yield from ((end, NUMBER) for end in _ends(kind))
    yield from ((node, TRUTH) for node in program.requires)
    yield from ((node, NUMBER) for node in promises(program))
    yield from ((use.sensitivity, NUMBER) for use in program.uses)
    for statement in statements(program.body):
        match statement:
            case If(test=test) | While(test=test):
                yield test, TRUTH
            case Draw(law=law, args=args):
                yield from ((arg, LIST if law == "Choice" else NUMBER) for arg in args)
            case Assign(value=value):
                yield value, ANY
            case Return(value=value):  # what is declared; elements of lists may be of any kind
                yield value, kinds_of_type(program.output)


def _ends(kind: Type) -> tuple[Expr, ...]:
    return (*kind.args, *(end for item in kind.items for end in _ends(item)))


def kinds_of_type(kind: Type) -> Kinds:
    """The kind of a value of a type."""
    if kind.kind in ("list", "tuple", "bits"):
        return LIST
    return TRUTH if kind.kind == "bool" else NUMBER


class _Checking:
    """The kinds that each variable may have."""

    def __init__(self, program: Program) -> None:
        self.source = program.source
        self.kinds: dict[str, Kinds] = {param.name: kinds_of_type(param.type) for param in program.params}
        self.kinds |= {"eps": NUMBER, "delta": NUMBER}
        before: dict[str, Kinds] = {}
        while before != self.kinds:
            before = dict(self.kinds)
            for part in statements(program.body):
                if isinstance(part, Draw):
                    self._may_be(part.name, LIST if part.law == "Uniform" and len(part.args) == 1 else NUMBER)
                elif isinstance(part, Assign):
                    self._may_be(part.name, self.of(part.value))

    def _may_be(self, name: str, kinds: Kinds) -> None:
        self.kinds[name] = self.kinds.get(name, frozenset()) | kinds

    def of(self, node: Expr) -> Kinds:
        """The kinds that an expression may have."""
        match node:
            case Var(name=name):
                return self.kinds.get(name, frozenset())
            case Num() | Unary(op="-"):
                return NUMBER
            case TruthLiteral() | Unary():
                return TRUTH
            case SequenceLiteral():
                return LIST
            case Index():
                return ANY
            case FunctionCall():
                return NUMBER
            case Binary(op=op) if op in (*_LOGIC, *_ORDER, *_EQUAL):
                return TRUTH
            case Binary(op="++"):
                return LIST
            case Binary(op=op, left=left, right=right) if op in (*_SUMS, *_BITS):
                both = (self.of(left) or ANY) & (self.of(right) or ANY)
                return both & (NUMBER | LIST) or NUMBER
        return NUMBER

    def check(self, node: Expr, wanted: Kinds) -> None:
        """An expression in a place where these kinds fit, and everything inside of it."""
        self._fits(node, wanted)
        for part in walk(node):
            for operand, fitting in self._operands(part):
                self._fits(operand, fitting)

    def _operands(self, node: Expr) -> Iterator[tuple[Expr, Kinds]]:
        match node:
            case Unary(op=op, arg=arg):
                yield arg, TRUTH if op == "!" else NUMBER
            case Index(base=base, index=index):
                yield base, LIST
                yield index, NUMBER
            case FunctionCall(name="size" | "int", args=args):
                yield from ((arg, LIST) for arg in args)
            case FunctionCall(name="abs" | "exp" | "ln" | "sqrt" | "min" | "max" | "clamp", args=args):
                yield from ((arg, NUMBER) for arg in args)
            case Binary(op=op, left=left, right=right) if op not in _EQUAL:
                fitting = TRUTH if op in _LOGIC else LIST if op == "++" else NUMBER
                if op in (*_SUMS, *_BITS):
                    fitting = NUMBER | LIST
                yield left, fitting
                yield right, fitting
                if op in (*_SUMS, *_BITS) and self.of(left):  # two numbers, or two lists
                    yield right, self.of(left)

    def _fits(self, node: Expr, wanted: Kinds) -> None:
        found = self.of(node)
        if found and not found & wanted:
            raise self._mistake(node, wanted, found)

    def _mistake(self, node: Expr, wanted: Kinds, found: Kinds) -> InputError:
        said, other = (" or ".join(f"a {word}" for word in sorted(kinds)) for kinds in (wanted, found))
        return mistake(self.source, node.at, f"expected {said}, found {other}")
