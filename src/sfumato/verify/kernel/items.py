"""Verify, kernel: one item for both branches. Comes in: a program. Goes out: the same program, in which a coin that
chooses what is put at the end of a list chooses a number first.

Of a list that branches make longer is known only whether both runs took the same branch. Two runs that take different
branches, because a coin was turned, may still put the same number there.

Guarantee: on every input the rewritten program does what the program does.
Proof: both branches of the test end with r := r ++ [e], each with its own e, and nothing else in them reads or assigns
    r. Each branch computes its e, in the same place, into a new variable v that nothing else reads, and r := r ++ [v]
    comes after the test. Which items are numbers in both branches is asked of kinds.py, because a variable that is a
    number on one way and a truth on another has no value in the kernel.
Reference: code motion: Barthe, Grégoire, Zanella, POPL 2009.
Checked by: verify::one_item_for_both_branches_keeps_outputs, verify::what_the_kernel_accepts_is_true
"""

from __future__ import annotations

from dataclasses import replace

from sfumato.verify.kernel.kinds import kind_of, kinds_of
from sfumato.verify.tree import (
    Assign,
    Binary,
    Draw,
    Expr,
    If,
    Program,
    SequenceLiteral,
    Stmt,
    Var,
    While,
    changed,
    draws_of,
    expressions,
    names,
    statements,
)


def one_item(program: Program) -> Program:
    """The program with one item for both branches of tests that read nothing but coins."""
    coins = {draw.name for draw in draws_of(program) if draw.law == "Bernoulli"}
    if not coins:
        return program
    return replace(program, body=_block(program, program.body, coins))


def _block(program: Program, body: tuple[Stmt, ...], coins: set[str]) -> tuple[Stmt, ...]:
    done: list[Stmt] = []
    for statement in body:
        match statement:
            case If(test=test, then=then, other=other, at=at):
                then, other = _block(program, then, coins), _block(program, other, coins)
                found = _joined(program, If(test, then, other, at)) if names(test) <= coins else None
                done += found or (If(test, then, other, at),)
            case While(body=inner):
                done.append(replace(statement, body=_block(program, inner, coins)))
            case _:
                done.append(statement)
    return tuple(done)


def _joined(program: Program, choice: If) -> tuple[Stmt, ...] | None:
    """The test with its branches, and after it the list that both made longer; None if they do not."""
    first, second = _item(choice.then), _item(choice.other)
    if first is None or second is None or first[0] != second[0]:
        return None
    given = changed(program.body)
    kinds, types = kinds_of(program), {param.name: param.type for param in program.params if param.name not in given}
    if any(kind_of(item, kinds, types) not in ("int", "real") for _, item in (first, second)):
        return None
    name, kept = f"#item{choice.at}", first[0]
    sides = [
        (*side[:-1], Assign(name, item, side[-1].at))
        for side, (_, item) in ((choice.then, first), (choice.other, second))
    ]
    longer = Binary("++", Var(kept), SequenceLiteral((Var(name),)), choice.at)
    return If(choice.test, sides[0], sides[1], choice.at), Assign(kept, longer, choice.at)


def _item(body: tuple[Stmt, ...]) -> tuple[str, Expr] | None:
    """The list that a branch ends with making longer, and by what; None if anything else in it has to do with it."""
    match body[-1] if body else None:
        case Assign(name=name, value=Binary(op="++", left=Var(name=before), right=SequenceLiteral(items=(item,)))) if (
            name == before and name not in names(item)
        ):
            rest = body[:-1]
            read = {found for part in statements(rest) for node in expressions(part) for found in names(node)}
            returns = any(not isinstance(part, Assign | If | Draw) for part in statements(rest))
            return None if name in read | changed(rest) or returns else (name, item)
    return None
