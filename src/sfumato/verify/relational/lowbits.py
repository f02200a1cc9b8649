"""Verify, relational: long bit lists by their last bits. Comes in: a program over `{0,1}^n`. Goes out: whether its last
bits are a program of their own, that program, and inputs cut down to them.

Guarantee: if `length_of` finds a length n, then for every j from 1 to n the law of the last j bits of each bit list of
    the output is the law of the output of the program `shortened` to j, on the last j bits of the inputs.
Proof: keeping the last j bits commutes with xor, and, or (bit by bit) and with + and - (residues modulo 2^n to residues
    modulo 2^j), and makes a uniform list of n bits a uniform list of j bits. Nothing else reads a bit list or n: no
    test, no index, no size, no literal. So by induction on the steps both programs go the same way with the same noise.
Reference: residues modulo 2^n map onto residues modulo 2^j.
Checked by: verify::last_bits_are_a_program_of_their_own
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sfumato.verify.run import Env
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
    SequenceLiteral,
    Stmt,
    Type,
    Var,
    While,
    changed,
    conjuncts,
    expressions,
    names,
    parts,
    statements,
    walk,
)


def length_of(program: Program) -> Num | Var | None:
    """The number that is the length of all bit lists, if nothing else hangs on it and nothing looks inside of them."""
    lengths = {arg for param in program.params for arg in _lengths(param.type)}
    lengths |= {
        draw.args[0]
        for draw in statements(program.body)
        if isinstance(draw, Draw) and draw.law == "Uniform" and len(draw.args) == 1
    }
    publics = {param.name for param in program.params if not param.private and param.type.kind == "int"}
    if len(lengths) != 1:
        return None
    (length,) = lengths
    name = length.name if isinstance(length, Var) else ""
    if not isinstance(length, Num | Var) or (name and (name not in publics or name in changed(program.body))):
        return None
    params = {param.name: param.type for param in program.params}
    if set(params) & changed(program.body) or any(not _is_flat(kind, name) for kind in params.values()):
        return None
    words = _words(program, params)
    return length if all(_is_blind(program, node, params, words, name) for node in _read(program)) else None


def shortened(program: Program, bits: int) -> Program:
    """The program with bit lists of another length; what is required of the length itself is not."""
    length, old = Num(Fraction(bits)), length_of(program)
    name = old.name if isinstance(old, Var) else ""
    required = tuple(node for node in conjuncts(*program.requires) if name not in names(node))

    def typed(kind: Type) -> Type:
        return Type(kind.kind, (length,) if kind.kind == "bits" else kind.args, tuple(map(typed, kind.items)))

    def block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(map(one, body))

    def one(statement: Stmt) -> Stmt:
        match statement:
            case Draw(law="Uniform", args=(_,)):
                return replace(statement, args=(length,))
            case If(then=then, other=other):
                return replace(statement, then=block(then), other=block(other))
            case While(body=body):
                return replace(statement, body=block(body))
        return statement

    params = tuple(replace(param, type=typed(param.type)) for param in program.params)
    return replace(program, params=params, output=typed(program.output), body=block(program.body), requires=required)


def _read(program: Program) -> Iterator[Expr]:
    for statement in statements(program.body):
        if not (isinstance(statement, Draw) and statement.law == "Uniform" and len(statement.args) == 1):
            yield from expressions(statement)


def _lengths(kind: Type) -> tuple[Expr, ...]:
    if kind.kind == "bits":
        return kind.args
    return tuple(length for item in kind.items for length in _lengths(item))


def _is_flat(kind: Type, length: str) -> bool:
    """No list inside of another, and no range that hangs on the length."""
    if kind.kind in ("list", "tuple"):
        return all(item.kind not in ("list", "tuple") and _is_flat(item, length) for item in kind.items)
    return kind.kind == "bits" or not any(length in names(end) for end in kind.args)


def _words(program: Program, params: dict[str, Type]) -> set[str]:
    """The variables that may hold bit lists."""
    found = {name for name, kind in params.items() if kind.kind == "bits"}
    while True:
        before = set(found)
        for statement in statements(program.body):
            drawn = isinstance(statement, Draw) and statement.law == "Uniform" and len(statement.args) == 1
            if drawn or (isinstance(statement, Assign) and is_word(statement.value, params, found)):
                assert isinstance(statement, Draw | Assign)
                found.add(statement.name)
        if found == before:
            return found


def is_word(node: Expr, params: dict[str, Type], words: set[str]) -> bool:
    """Whether an expression may be a bit list."""
    match node:
        case Var(name=name):
            return name in words
        case Index(base=Var(name=name)) if name in params:
            return bool(_lengths(params[name])) and params[name].kind != "bits"
        case Binary(op="xor" | "and" | "or" | "+" | "-", left=left, right=right):
            return is_word(left, params, words) or is_word(right, params, words)
    return False


def _is_blind(program: Program, node: Expr, params: dict[str, Type], words: set[str], length: str) -> bool:
    """Whether an expression does nothing with bit lists but combine them and put them into lists."""

    def word(inner: Expr) -> bool:
        return is_word(inner, params, words)

    match node:
        case Var(name=name):
            return name != length
        case Index(base=base, index=index):
            list_of = isinstance(base, Var) and base.name in params and params[base.name].kind in ("list", "tuple")
            return list_of and not word(index) and _is_blind(program, index, params, words, length)
        case FunctionCall(name="size", args=(Var(name=name),)):
            return name in params and params[name].kind == "list"
        case FunctionCall(name=name, args=args):
            if name == "int" or any(word(arg) for arg in args):
                return False
        case Binary(op="xor" | "and" | "or" | "+" | "-", left=left, right=right):
            if word(left) != word(right) or isinstance(left, SequenceLiteral) or isinstance(right, SequenceLiteral):
                return False
        case Binary(op="++", left=left, right=right):
            if word(left) or word(right):
                return False
        case Binary() if any(word(inner) for inner in walk(node)):
            return False
    return all(_is_blind(program, inner, params, words, length) for inner in parts(node))


# ---- inputs


def resized(program: Program, env: Env, bits: int) -> Env:
    """An input with so many last bits of its bit lists, zeros in front of those that are shorter."""
    return {**env, **{param.name: _sized(param.type, env[param.name], bits) for param in program.params}}


def _sized(kind: Type, value: Any, bits: int) -> Any:
    if kind.kind == "bits":
        return (*[Fraction(0)] * (bits - len(value)), *value[max(0, len(value) - bits) :])
    if kind.kind == "list":
        return tuple(_sized(kind.items[0], item, bits) for item in value)
    if kind.kind == "tuple":
        return tuple(_sized(inner, item, bits) for inner, item in zip(kind.items, value, strict=True))
    return value
