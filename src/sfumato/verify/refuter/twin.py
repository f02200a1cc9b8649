"""Verify, refuter: the same program with real noise. Comes in: a program with Geometric noise. Goes out: one with
Laplace noise.

Where Laplace noise loses too much, Geometric noise of the same rate mostly does so on the same inputs. Only a guess.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sfumato.verify.tree import Assign, Binary, Draw, Expr, FunctionCall, If, Num, Program, Stmt, Unary, Var, While

_ZERO, _ONE = Num(Fraction(0)), Num(Fraction(1))


def twin_of(program: Program) -> Program | None:
    """The program with Laplace(1/t) for Geometric(exp(-t)); None if a ratio is not written so."""
    try:
        return replace(program, body=_block(program.body))
    except ValueError:
        return None


def _block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    return tuple(found for statement in body for found in _statement(statement))


def _statement(statement: Stmt) -> tuple[Stmt, ...]:
    match statement:
        case If(then=then, other=other):
            return (replace(statement, then=_block(then), other=_block(other)),)
        case While(body=body):
            return (replace(statement, body=_block(body)),)
        case Draw(law="Geometric", args=(ratio,)):
            return (replace(statement, law="Laplace", args=(_scale(ratio), _ZERO)),)
        case Draw(law="TruncGeometric", args=(ratio, low, high, *centre)):
            noise = replace(statement, law="Laplace", args=(_scale(ratio), centre[0] if centre else _ZERO))
            return noise, Assign(statement.name, FunctionCall("clamp", (Var(statement.name), low, high)), statement.at)
    return (statement,)


def _scale(ratio: Expr) -> Expr:
    if not isinstance(ratio, FunctionCall) or ratio.name != "exp":
        raise ValueError("not written exp(-t)")
    return Binary("/", _ONE, Unary("-", ratio.args[0]))
