"""Verify, kernel: noise that is drawn until something holds. Comes in: a program. Goes out: the same program, in which
such a loop is one draw that is accepted or made again.

Guarantee: on every input the rewritten program has outputs with the same law as the program, and a draw that may be
    made again costs at most twice what it costs once.
Proof: (1) Forms: `z :=$ L; s; while (t) { z :=$ L; s }`, and `ok := false; while (!ok) { z :=$ L; s; ok := a }`, also
    with `if (a) { ok := true }`, where s assigns variables that are read only after they were assigned in the same
    round, and the arguments of L read nothing that the loop assigns. So all rounds are alike and independent, and the
    loop ends with the law of one round under the condition that it is accepted. (2) Let the draw be of Laplace or
    Geometric noise, moved by a, which does not read the noise, and let A1 and A2 be the noises that are accepted in
    the two runs, given all that was drawn before. The kernel asks that both runs accept together, whatever the noise:
    so h is in A1 exactly if h + a is in A2. With c the cost of the move, p1(h) <= e^c p2(h + a) and p2(h + a) <= e^c
    p1(h), because |a - d(centre)| is the same both ways. Integrated over A1, the chances Z1 and Z2 of being accepted
    satisfy Z2 <= e^c Z1, and p1(h)/Z1 <= e^(2c) p2(h + a)/Z2. (3) If nothing is accepted in one run, nothing is in the
    other: both never end, and what was spent is asked to be within the claim there. No other draw stands between the
    draw and its test, so that Z1 and Z2 depend on what was drawn before alone.
Reference: Holohan, Antonatos, Braghin, Mac Aonghusa, JPC 2020 (bounded Laplace mechanism).
Checked by: verify::redrawn_noise_keeps_the_law_of_outputs, verify::redrawn_noise_costs_twice
"""

from __future__ import annotations

from dataclasses import replace

from sfumato.verify.tree import (
    Again,
    Assign,
    Binary,
    Draw,
    Expr,
    If,
    Num,
    Program,
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

LAWS = ("Laplace", "Geometric")


def redrawn(program: Program) -> Program:
    """The program with one draw for each loop that draws until something holds."""
    return replace(program, body=_block(program.body))


def made_again(program: Program) -> frozenset[int]:
    """The draws that may be made again."""
    return frozenset(part.number for part in statements(program.body) if isinstance(part, Again))


def _block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    done: list[Stmt] = []
    for statement in body:
        match statement:
            case While():
                found = _repeated(done, statement) or _flagged(done, statement)
                if found is None:
                    done.append(replace(statement, body=_block(statement.body)))
                else:
                    done = found
            case If(then=then, other=other):
                done.append(replace(statement, then=_block(then), other=_block(other)))
            case _:
                done.append(statement)
    return tuple(done)


def _repeated(done: list[Stmt], loop: While) -> list[Stmt] | None:
    """`z :=$ L; s; while (t) { z :=$ L; s }`."""
    before = done[-len(loop.body) :]
    if len(before) != len(loop.body) or not _is_alike(loop.body):
        return None
    draw, other = before[0], loop.body[0]
    if not isinstance(draw, Draw) or not isinstance(other, Draw):
        return None
    if replace(other, number=draw.number) != draw or tuple(before[1:]) != loop.body[1:]:
        return None
    return [*done, Again(loop.test, draw.number, loop.at)]


def _flagged(done: list[Stmt], loop: While) -> list[Stmt] | None:
    """`ok := false; while (!ok) { z :=$ L; s; ok := a }`, or the other way round."""
    match loop.test:
        case Unary(op="!", arg=Var(name=flag)):
            up: Expr = TruthLiteral(False)
        case Var(name=flag):
            up = TruthLiteral(True)
        case Binary(op="=", left=Var(name=flag), right=Num() as up):
            pass
        case _:
            return None
    first = next((part for part in reversed(done) if flag in changed((part,))), None)
    if first != Assign(flag, up) or not loop.body:
        return None
    *rest, last = loop.body
    match last:
        case Assign(name=name, value=value) if name == flag and isinstance(up, TruthLiteral):
            again, down = value if up.value else Unary("!", value), TruthLiteral(not up.value)
        case If(test=test, then=(Assign(name=name, value=down),), other=()) if name == flag and _ends(down, up):
            again = Unary("!", test)
        case _:
            return None
    if flag in names(again) or any(flag in _reads(part) | changed((part,)) for part in rest):
        return None
    draw = rest[0] if rest else None
    if not _is_alike(tuple(rest)) or not isinstance(draw, Draw):
        return None
    return [*done, *rest, Again(again, draw.number, loop.at), Assign(flag, down, loop.at)]


def _ends(value: Expr, up: Expr) -> bool:
    """Whether a flag that holds a value ends the loop."""
    if isinstance(up, Num):
        return isinstance(value, Num) and value.value != up.value
    return isinstance(value, TruthLiteral) and value != up


def _is_alike(body: tuple[Stmt, ...]) -> bool:
    """A draw and assignments, of which each round does the same, whatever the rounds before have left."""
    if not body or not isinstance(body[0], Draw) or body[0].law not in LAWS:
        return False
    own, made = changed(body), {body[0].name}
    if own & _reads(body[0]):
        return False
    for part in body[1:]:
        if not isinstance(part, Assign) or names(part.value) & own - made:
            return False
        made.add(part.name)
    return True


def _reads(statement: Stmt) -> set[str]:
    return {name for node in expressions(statement) for name in names(node)}
