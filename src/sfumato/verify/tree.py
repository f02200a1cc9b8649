"""Verify: the small probabilistic language as records. Comes in: nothing. Goes out: the tree that all other files read.

A program is a header (parameters with types, a promise, what is required) and a body of statements. Every draw and
every loop has a number, in the order of the text: alignments and invariants are named by them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Num:
    """A number, as written."""

    value: Fraction
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class TruthLiteral:
    """`true` or `false`."""

    value: bool
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Var:
    """A name. In proofs also `#place`, `#answer`, `#noise`, `#spent1`."""

    name: str
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Unary:
    """`-x` or `!x`."""

    op: str
    arg: Expr
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Binary:
    """An operator between two expressions."""

    op: str
    left: Expr
    right: Expr
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function of the language, a function of `uses`, or in proofs `#shift`, `#same`, `#if`."""

    name: str
    args: tuple[Expr, ...]
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Index:
    """`d[i]`."""

    base: Expr
    index: Expr
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class SequenceLiteral:
    """A list `[a, b]`, or a tuple `(a, b)`: both are sequences."""

    items: tuple[Expr, ...]
    at: int = field(default=0, compare=False)


Expr = Num | TruthLiteral | Var | Unary | Binary | FunctionCall | Index | SequenceLiteral


@dataclass(frozen=True, slots=True)
class Assign:
    """`x := e`."""

    name: str
    value: Expr
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Draw:
    """`x :=$ Law(args)`; `number` counts the draws of the text from 1."""

    name: str
    law: str
    args: tuple[Expr, ...]
    number: int
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class If:
    """`if (test) { then } else { other }`."""

    test: Expr
    then: tuple[Stmt, ...]
    other: tuple[Stmt, ...]
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class While:
    """`while (test) { body }`; `number` counts the loops of the text from 1."""

    test: Expr
    body: tuple[Stmt, ...]
    number: int
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Return:
    """`return e`: the whole observation."""

    value: Expr
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Skip:
    """Nothing. Where the kernel has moved a draw to a later place, `moved` is that draw: where `test` holds, its
    arguments must still be allowed here, because the program as written draws here.
    """

    at: int = field(default=0, compare=False)
    moved: Draw | None = None
    test: Expr | None = None


@dataclass(frozen=True, slots=True)
class Again:
    """Where the test holds, everything since the draw of this number is done anew. No text can say this: the kernel
    writes it in the place of a loop that draws until something holds (kernel/redraws.py).
    """

    test: Expr
    number: int
    at: int = field(default=0, compare=False)


Stmt = Assign | Draw | If | While | Return | Skip | Again


@dataclass(frozen=True, slots=True)
class Type:
    """A type: kind is real, int, bool, interval, range, bits, tuple or list.

    `args` are the ends of an interval or range, or the number of bits; `items` the parts of a tuple, or of a list the
    one type of its elements.
    """

    kind: str
    args: tuple[Expr, ...] = ()
    items: tuple[Type, ...] = ()


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of the program."""

    name: str
    private: bool
    type: Type
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class UsesDirective:
    """`uses f : sensitivity e`: every deterministic function of the private inputs with that sensitivity."""

    name: str
    sensitivity: Expr
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Program:
    """One program with its promise; `source` is its text, for positions in messages and for the hash of
    certificates.
    """

    name: str
    params: tuple[Param, ...]
    output: Type
    requires: tuple[Expr, ...]
    adjacent: str | None  # one, all, inc, dec, addremove, moves, any
    group: int  # k of k(one), else 1
    claim: tuple[Expr, ...]  # one expression, two for (epsilon, delta), none for a property or a Rényi claim
    property: str | None
    uses: tuple[UsesDirective, ...]
    body: tuple[Stmt, ...]
    source: str = field(compare=False, repr=False, default="")
    renyi: tuple[Expr, ...] = ()  # rho of zcdp(rho), or order and bound of renyi(alpha, e)


def promises(program: Program) -> tuple[Expr, ...]:
    """The numbers of a claim of whatever kind; none for a property."""
    return program.claim or program.renyi


def parts(node: Expr) -> tuple[Expr, ...]:
    """The expressions directly inside an expression."""
    match node:
        case Unary(arg=arg):
            return (arg,)
        case Binary(left=left, right=right):
            return (left, right)
        case FunctionCall(args=args):
            return args
        case Index(base=base, index=index):
            return (base, index)
        case SequenceLiteral(items=items):
            return items
    return ()


def walk(node: Expr) -> Iterator[Expr]:
    """An expression and everything inside it."""
    yield node
    for part in parts(node):
        yield from walk(part)


def names(node: Expr) -> set[str]:
    """The variables that an expression reads."""
    return {part.name for part in walk(node) if isinstance(part, Var)}


def conjuncts(*nodes: Expr) -> list[Expr]:
    """The parts that must all hold."""
    found: list[Expr] = []
    for node in nodes:
        match node:
            case Binary(op="&&", left=left, right=right):
                found += conjuncts(left, right)
            case _:
                found.append(node)
    return found


def statements(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """All statements of a block, those of inner blocks too, in the order of the text."""
    for statement in body:
        yield statement
        if isinstance(statement, If):
            yield from statements(statement.then)
            yield from statements(statement.other)
        elif isinstance(statement, While):
            yield from statements(statement.body)


def draws_of(program: Program) -> list[Draw]:
    """All draws, in the order of the text."""
    return [statement for statement in statements(program.body) if isinstance(statement, Draw)]


def changed(body: tuple[Stmt, ...]) -> set[str]:
    """The variables that a block may assign."""
    return {statement.name for statement in statements(body) if isinstance(statement, Assign | Draw)}


def expressions(statement: Stmt) -> tuple[Expr, ...]:
    """The expressions directly inside a statement."""
    match statement:
        case Assign(value=value) | Return(value=value):
            return (value,)
        case Draw(args=args):
            return args
        case If(test=test) | While(test=test) | Again(test=test):
            return (test,)
        case Skip(moved=Draw(args=args), test=test) if test is not None:
            return (*args, test)
    return ()
