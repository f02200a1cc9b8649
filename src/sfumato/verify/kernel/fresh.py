"""Verify, kernel: a new name for each new use of a variable. Comes in: a program. Goes out: the same program, in which
a variable that is given a new value between two loops has another name from there on.

Invariants speak of variables by name: where a second loop counts with the counter of the first, what is known of the
first is forgotten. Two names keep them apart.

Guarantee: on every input the rewritten program does what the program does.
Proof: only a statement of the outermost block, `x := e` or a draw, gives a variable a new name, if a loop before it
    assigns x and x is no parameter. It is run at most once, after all that stands before it and before all that
    stands behind it. Its own expressions are read before x is assigned, so they keep the old name; whatever stands
    behind it reads and assigns the new one, which nothing else has. So both programs pass the same states, but for the
    names. A loop of the outermost block also has a new name of its own for a variable that each of its rounds assigns
    before anything in it reads it, and whose value nothing behind the loop reads: there the old name keeps what it had
    before the loop, and is given another value before it is read.
Reference: Cytron, Ferrante, Rosen, Wegman, Zadeck, TOPLAS 1991 (static single assignment).
Checked by: verify::new_names_keep_outputs, verify::what_the_kernel_accepts_is_true
"""

from __future__ import annotations

from dataclasses import replace

from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.tree import (
    Again,
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
    Skip,
    Stmt,
    TruthLiteral,
    Unary,
    Var,
    While,
    changed,
    expressions,
    names,
    statements,
)


def fresh_names(program: Program) -> Program:
    """The program with a new name wherever the outermost block gives another value to what a loop has changed."""
    taken = {name for part in statements(program.body) for node in expressions(part) for name in names(node)}
    taken |= changed(program.body) | {param.name for param in program.params} | {"eps", "delta"}
    given = {param.name for param in program.params} | {"eps", "delta"}
    now: dict[str, str] = {}
    looped: set[str] = set()
    body: list[Stmt] = []
    for place, statement in enumerate(program.body):
        if isinstance(statement, Assign | Draw) and statement.name in looped - given:
            new = _unused(statement.name, taken)
            body.append(_renamed(statement, now, new))
            now[statement.name] = new
        elif isinstance(statement, While):
            rest = program.body[place + 1 :]
            shared = sorted(changed(statement.body) & looped - given)
            own = [name for name in shared if _is_local(name, statement) and _is_dead(name, rest)]
            body.append(_renamed(statement, now | {name: _unused(name, taken) for name in own}))
            looped |= changed(statement.body)
        else:
            body.append(_renamed(statement, now))
    return replace(program, body=tuple(body))


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
        case Skip() | Again():
            raise NoProofRule("names are given before draws are moved")
    raise NoProofRule("a statement of an unknown kind")


def _told(node: Expr, now: dict[str, str]) -> Expr:
    match node:
        case Var(name=name):
            return replace(node, name=now.get(name, name))
        case Unary(arg=arg):
            return replace(node, arg=_told(arg, now))
        case Binary(left=left, right=right):
            return replace(node, left=_told(left, now), right=_told(right, now))
        case FunctionCall(args=args):
            return replace(node, args=tuple(_told(arg, now) for arg in args))
        case Index(base=base, index=index):
            return replace(node, base=_told(base, now), index=_told(index, now))
        case SequenceLiteral(items=items):
            return replace(node, items=tuple(_told(item, now) for item in items))
        case Num() | TruthLiteral():
            return node
    raise NoProofRule("an expression of an unknown kind")
