"""Verify, prover: a new name for each new use of a variable. Comes in: a program. Goes out: the same program, in which
a variable that is given a new value between two loops has another name from there on.

Invariants speak of variables by name: where a second loop counts with the counter of the first, candidates for one are
mixed with what is known of the other. Two names keep them apart while a proof is searched; the proof is told in the
program's own names, and the kernel checks it so.

A statement of the outermost block, `x := e` or a draw, gives a variable a new name if a loop before it assigns x and x
is no parameter: whatever stands behind it reads and assigns the new one. A loop of the outermost block also has a new
name of its own for a variable that each of its rounds assigns before anything in it reads it, and whose value nothing
behind the loop reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sfumato.verify.kernel.proof import Proof
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.prover.rewrite import replaced
from sfumato.verify.tree import (
    Assign,
    Draw,
    Expr,
    If,
    Program,
    Return,
    Skip,
    Stmt,
    Var,
    While,
    changed,
    expressions,
    names,
    statements,
)


def fresh_names(program: Program) -> tuple[Program, dict[str, str]]:
    """The program with a new name wherever the outermost block gives another value to what a loop has changed, and the
    old names of the new ones.
    """
    taken = {name for part in statements(program.body) for node in expressions(part) for name in names(node)}
    taken |= changed(program.body) | {param.name for param in program.params} | {"eps", "delta"}
    given = {param.name for param in program.params} | {"eps", "delta"}
    now: dict[str, str] = {}
    looped: set[str] = set()
    old: dict[str, str] = {}
    body: list[Stmt] = []
    for place, statement in enumerate(program.body):
        if isinstance(statement, Assign | Draw) and statement.name in looped - given:
            new = _unused(statement.name, taken)
            body.append(_renamed(statement, now, new))
            now[statement.name], old[new] = new, statement.name
        elif isinstance(statement, While):
            rest = program.body[place + 1 :]
            shared = sorted(changed(statement.body) & looped - given)
            own = [name for name in shared if _is_local(name, statement) and _is_dead(name, rest)]
            inside = {name: _unused(name, taken) for name in own}
            body.append(_renamed(statement, now | inside))
            old |= {new: name for name, new in inside.items()}
            looped |= changed(statement.body)
        else:
            body.append(_renamed(statement, now))
    return replace(program, body=tuple(body)), old


def _is_local(name: str, loop: While) -> bool:
    """Whether every round gives a variable a value before anything reads it."""
    if name in names(loop.test):
        return False
    for statement in loop.body:
        if isinstance(statement, Assign | Draw) and statement.name == name:
            return not _reads(name, (statement,))
        if _reads(name, (statement,)) or name in changed((statement,)):
            return False
    return False


def _is_dead(name: str, rest: tuple[Stmt, ...]) -> bool:
    """Whether nothing reads what a variable is now."""
    for statement in rest:
        if isinstance(statement, Assign | Draw) and statement.name == name and not _reads(name, (statement,)):
            return True
        local = isinstance(statement, While) and _is_local(name, statement)
        if not local and _reads(name, (statement,)):
            return False
    return True


def _reads(name: str, body: tuple[Stmt, ...]) -> bool:
    return any(name in names(node) for part in statements(body) for node in expressions(part))


def _unused(name: str, taken: set[str]) -> str:
    """A name that the program does not have; it is taken now."""
    found = next(f"{name}_{k}" for k in range(2, len(taken) + 3) if f"{name}_{k}" not in taken)
    taken.add(found)
    return found


def _renamed(statement: Stmt, now: dict[str, str], new: str | None = None) -> Stmt:
    """The statement with the names of now; what it assigns is the new one, if there is one."""

    def told(node: Expr) -> Expr:
        return _told(node, now)

    match statement:
        case Assign(name=name, value=value):
            return replace(statement, name=new or now.get(name, name), value=told(value))
        case Draw(name=name, args=args):
            return replace(statement, name=new or now.get(name, name), args=tuple(map(told, args)))
        case If(test=test, then=then, other=other):
            sides = [tuple(_renamed(part, now) for part in side) for side in (then, other)]
            return replace(statement, test=told(test), then=sides[0], other=sides[1])
        case While(test=test, body=body):
            return replace(statement, test=told(test), body=tuple(_renamed(part, now) for part in body))
        case Return(value=value):
            return replace(statement, value=told(value))
        case Skip(moved=None):
            return statement
    raise NoProofRule("names are given before draws are moved")


def _told(node: Expr, now: Mapping[str, str]) -> Expr:
    return replaced(node, {name: Var(new) for name, new in now.items()})


def renamed_proof(proof: Proof, now: Mapping[str, str]) -> Proof:
    """The proof in other names."""

    def each(nodes: dict[int, Expr]) -> dict[int, Expr]:
        return {place: _told(node, now) for place, node in nodes.items()}

    return replace(
        proof,
        shifts=each(proof.shifts),
        units=each(proof.units),
        ranks=each(proof.ranks),
        waits=each(proof.waits),
        invariants={loop: tuple(_told(node, now) for node in nodes) for loop, nodes in proof.invariants.items()},
        scales={now.get(name, name): node for name, node in proof.scales.items()},
        weights={now.get(name, name): ends for name, ends in proof.weights.items()},
    )
