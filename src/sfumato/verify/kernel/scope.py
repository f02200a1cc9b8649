"""Verify, kernel: for which sizes something is proved. Comes in: a program and a size. Goes out: the program for short
lists only.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from sfumato.verify.tree import Binary, FunctionCall, Num, Program, Var


def within(program: Program, size: int) -> Program:
    """The same program, for private lists of at most so many elements: it requires that beside all else."""
    short = tuple(
        Binary("<=", FunctionCall("size", (Var(param.name),)), Num(Fraction(size)))
        for param in program.params
        if param.private and param.type.kind == "list"
    )
    return replace(program, requires=(*program.requires, *short))


def scoped(program: Program, scope: Any) -> Program:
    """The program of a certificate's scope: "all", or {"size": n}."""
    if scope == "all":
        return program
    size = scope["size"]
    if set(scope) != {"size"} or not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise ValueError("a scope is all, or a size")
    return within(program, size)
