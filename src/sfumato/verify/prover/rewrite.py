"""Verify, prover: expressions rewritten. Comes in, goes out: trees."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sfumato.verify.tree import Binary, Expr, FunctionCall, Index, Num, SequenceLiteral, Unary, Var, names

ZERO, ONE = Num(Fraction(0)), Num(Fraction(1))


def rebuilt(node: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The same node with its parts changed."""
    match node:
        case Unary(op=op, arg=arg):
            return Unary(op, change(arg), node.at)
        case Binary(op=op, left=left, right=right):
            return Binary(op, change(left), change(right), node.at)
        case FunctionCall(name=name, args=args):
            return FunctionCall(name, tuple(change(arg) for arg in args), node.at)
        case Index(base=base, index=index):
            return Index(change(base), change(index), node.at)
        case SequenceLiteral(items=items):
            return SequenceLiteral(tuple(change(item) for item in items), node.at)
    return node


def replaced(node: Expr, by: dict[str, Expr]) -> Expr:
    """Variables replaced by expressions."""
    if isinstance(node, Var):
        return by.get(node.name, node)
    return rebuilt(node, lambda part: replaced(part, by))


def folded(node: Expr) -> Expr:
    """Numbers that are added, subtracted or multiplied, as one number."""
    match rebuilt(node, folded):
        case Unary(op="-", arg=Num(value=value)):
            return Num(-value)
        case Binary(op="+" | "-" | "*" as op, left=Num(value=left), right=Num(value=right)):
            return Num(left + right if op == "+" else left - right if op == "-" else left * right)
        case found:
            return found


def picked(node: Expr) -> Expr:
    """`[a, b][0]` is a."""
    match rebuilt(node, picked):
        case Index(base=SequenceLiteral(items=items), index=Num(value=place)) if place in range(len(items)):
            return items[int(place)]
        case found:
            return found


def plus(left: Expr, right: Expr) -> Expr:
    """A sum, without zeros."""
    if left == ZERO:
        return right
    if isinstance(right, Unary) and right.op == "-":
        return Binary("-", left, right.arg)
    return left if right == ZERO else Binary("+", left, right)


def minus(left: Expr, right: Expr) -> Expr:
    """A difference, without zeros."""
    if right == ZERO:
        return left
    return negative(right) if left == ZERO else Binary("-", left, right)


def negative(node: Expr) -> Expr:
    """-x, without a second sign."""
    match node:
        case Num(value=value):
            return Num(-value)
        case Unary(op="-", arg=arg):
            return arg
        case Binary(op="-", left=left, right=right):
            return Binary("-", right, left)
    return Unary("-", node)


def scaled(node: Expr, factor: Fraction) -> Expr:
    """factor * x."""
    if factor == 1 or node == ZERO:
        return node
    if factor == -1:
        return negative(node)
    return Num(node.value * factor) if isinstance(node, Num) else Binary("*", Num(factor), node)


def shift_of(node: Expr) -> Expr:
    """`#shift(e)`, of sums part by part, and 0 of numbers."""
    match node:
        case Num():
            return ZERO
        case Binary(op="+", left=left, right=right):
            return plus(shift_of(left), shift_of(right))
        case Binary(op="-", left=left, right=right):
            return minus(shift_of(left), shift_of(right))
        case Unary(op="-", arg=arg):
            return negative(shift_of(arg))
    return FunctionCall("#shift", (node,))


def linear(node: Expr, name: str) -> tuple[Fraction, Expr] | None:
    """(c, rest) if the expression is c * name + rest, with a number c."""
    match node:
        case Var(name=found) if found == name:
            return Fraction(1), ZERO
        case Unary(op="-", arg=arg):
            inside = linear(arg, name)
            return None if inside is None else (-inside[0], negative(inside[1]))
        case Binary(op=op, left=left, right=right) if op in ("+", "-"):
            first, second = linear(left, name), linear(right, name)
            if first is None or second is None:
                return None
            if op == "+":
                return first[0] + second[0], plus(first[1], second[1])
            return first[0] - second[0], minus(first[1], second[1])
        case Binary(op="*", left=Num(value=value), right=right) | Binary(op="*", left=right, right=Num(value=value)):
            inside = linear(right, name)
            return None if inside is None else (inside[0] * value, scaled(inside[1], value))
        case Binary(op="/", left=left, right=Num(value=value)) if value:
            inside = linear(left, name)
            return None if inside is None else (inside[0] / value, scaled(inside[1], 1 / value))
    return None if _reads(node, name) else (Fraction(0), node)


def _reads(node: Expr, name: str) -> bool:
    return name in names(node)
