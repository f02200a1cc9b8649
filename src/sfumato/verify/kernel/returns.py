"""Verify, kernel: one return for the end of a program. Comes in: a program. Goes out: the same program, in which the
branches at its end compute the output, and one statement returns it.

Two runs that take different branches cannot be followed if one of them returns there, even where both return the same:
an answer that is kept back below a threshold is 0 on several ways. A proof says whether it wants this form.

Guarantee: on every input the rewritten program has outputs with the same law as the program.
Proof: the end is everything from the first top-level test on that may return. It has no loops, and draws only at its
    own top level. (1) A draw of the end is made before it, if its arguments read only what no statement assigns, and
    nothing before it in the end reads or assigns the drawn variable: its law is the same there, it is independent of
    all else, and a value that is not used changes nothing. That its arguments are allowed is then asked on more ways
    than the program as written asks it. (2) What is left draws nothing. `return e` is `output := e`, and everything
    after it on the same way is left out; what follows a test is done at the end of each of its branches that does not
    return. So each way computes what it returned, and then it is returned. The variable is new.
Reference: Böhm, Jacopini, 1966 (one exit).
Checked by: verify::one_return_keeps_the_law_of_outputs, verify::what_the_kernel_accepts_is_true
"""

from __future__ import annotations

from dataclasses import replace

from sfumato.verify.tree import (
    Assign,
    Draw,
    If,
    Program,
    Return,
    Stmt,
    Var,
    While,
    changed,
    expressions,
    names,
    statements,
)

OUTPUT = "#output"
TESTS = 12
"""Tests at the end of a program, with repetitions."""


def one_return(program: Program) -> Program:
    """The program with one return at its end, if it can be written so."""
    body = program.body
    first = next((place for place, part in enumerate(body) if isinstance(part, If) and _may_return(part)), None)
    if first is None or any(isinstance(part, While) for part in statements(body[first:])):
        return program
    draws, rest = _without_draws(body[first:], changed(body))
    if any(isinstance(part, Draw) for part in statements(rest)):
        return program
    end = _computed(rest)
    if end is None or sum(isinstance(part, If) for part in statements(end)) > TESTS:
        return program
    return replace(program, body=(*body[:first], *draws, *end, Return(Var(OUTPUT), body[-1].at)))


def _may_return(statement: Stmt) -> bool:
    return any(isinstance(part, Return) for part in statements((statement,)))


def _without_draws(body: tuple[Stmt, ...], given: set[str]) -> tuple[tuple[Stmt, ...], tuple[Stmt, ...]]:
    """The draws that can be made before a block, and what is left of it."""
    draws: list[Stmt] = []
    kept: list[Stmt] = []
    for statement in body:
        if isinstance(statement, Draw) and not given & {name for arg in statement.args for name in names(arg)}:
            read = {name for part in statements(tuple(kept)) for node in expressions(part) for name in names(node)}
            others = changed((*draws, *kept))
            if statement.name not in read | others:
                draws.append(statement)
                continue
        kept.append(statement)
    return tuple(draws), tuple(kept)


def _computed(body: tuple[Stmt, ...], tests: int = 0) -> tuple[Stmt, ...] | None:
    """A block that computes what it returned; None if a way ends without a return."""
    for place, statement in enumerate(body):
        match statement:
            case Return(value=value, at=at):
                return (*body[:place], Assign(OUTPUT, value, at))
            case If(then=then, other=other) if _may_return(statement):
                if tests >= TESTS:
                    return None
                rest = body[place + 1 :]
                sides = [_computed((*side, *rest), tests + 1) for side in (then, other)]
                if sides[0] is None or sides[1] is None:
                    return None
                return (*body[:place], replace(statement, then=sides[0], other=sides[1]))
    return None
