"""Verify, kernel: noise is drawn when it is needed. Comes in: a program. Goes out: the same program, its draws later.

A shift can only look at what was before its draw: a noise that is drawn before the sum that it hides has nothing to
look at. Two rewritings help, beside those of branches.py, coins.py, items.py and returns.py. The kernel makes all of
them itself, so that nobody has to be believed.

Guarantee: on every input the rewritten program has outputs with the same law as the program.
Proof: (1) A draw changes place with the statement after it if that statement neither reads nor assigns the drawn
    variable, assigns nothing that the law's arguments read, and does not return: the drawn value is independent of
    all else, and nothing looked at it in between. Where that statement may never end, the mark that stays in the
    draw's place asks whether the law's arguments are allowed: the program as written fails there. (2) A list z that
    a loop fills with one draw per round, from a law whose arguments never change, holds independent values of one
    law. If nothing but one later loop reads it, and that only as z[j], where j is 0 at first and one more after
    each round, then every round reads an element that no other round reads; drawing it there instead gives the same
    joint law. The later loop's test holds j below the first loop's end n, so that z[j] is always there; `j <
    size(z)` says the same, because j is a whole number, not negative, and z has as many elements as there are such
    numbers below n. The later loop may run less often than the first one, or never, and then nothing would ask
    whether the law's arguments are allowed: the mark that is left in the place of the first loop asks it, if that
    loop runs at all. Asking once is enough, because the arguments never change.
Reference: the principle of deferred decisions (Knuth 1976; Mitzenmacher, Upfal, Probability and Computing, 1.3).
Checked by: verify::late_draws_keep_the_law_of_outputs
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sfumato.verify.kernel.branches import joined_branches
from sfumato.verify.kernel.items import one_item
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
    conjuncts,
    expressions,
    names,
    statements,
)

ZERO, ONE = Num(Fraction(0)), Num(Fraction(1))


def late(program: Program, endless: frozenset[int] = frozenset()) -> Program:
    """The program with its draws as late as they can be; doing it twice changes nothing. Of loops in `endless` a proof
    does not ask that they end.
    """
    program = joined_branches(one_item(program))
    body = program.body
    for _ in statements(body):  # each time one list less
        found = _without_list(body)
        if found is None:
            break
        body = found
    return replace(program, body=_settled(body, endless))


def _reads(body: tuple[Stmt, ...]) -> set[str]:
    return {name for statement in statements(body) for node in expressions(statement) for name in names(node)}


# ---- a draw and the statements after it


def _settled(body: tuple[Stmt, ...], endless: frozenset[int]) -> tuple[Stmt, ...]:
    done: list[Stmt] = []
    for statement in reversed(body):
        match statement:
            case If(test=test, then=then, other=other, at=at):
                done.insert(0, If(test, _settled(then, endless), _settled(other, endless), at))
            case While(test=test, body=inner, number=number, at=at):
                done.insert(0, While(test, _settled(inner, endless), number, at))
            case Draw():
                place = _place(statement, done)
                done.insert(place, statement)
                if any(_may_not_end(part, endless) for part in done[:place]):
                    done.insert(0, Skip(statement.at, statement, TruthLiteral(True)))
            case _:
                done.insert(0, statement)
    return tuple(done)


def _may_not_end(statement: Stmt, endless: frozenset[int]) -> bool:
    """Whether a statement has a loop of which the proof does not ask that it ends: one that is not quiet, one without a
    rank, or one that draws until something holds.
    """
    if any(isinstance(part, Again) for part in statements((statement,))):
        return True
    loops = [part for part in statements((statement,)) if isinstance(part, While)]
    return any(
        loop.number in endless or any(isinstance(part, Draw | Return | While) for part in statements(loop.body))
        for loop in loops
    )


def _place(draw: Draw, rest: list[Stmt]) -> int:
    """Over how many statements a draw is moved; none if nothing in this block stops it. Draws keep their order."""
    inside = {name for arg in draw.args for name in names(arg)}
    for place, statement in enumerate(rest):
        block = (statement,)
        mentioned = draw.name in _reads(block) | changed(block) or inside & changed(block)
        if mentioned or any(isinstance(part, Return) for part in statements(block)):
            return max((k + 1 for k in range(place) if not isinstance(rest[k], Draw)), default=0)
    return 0


# ---- a list of noise, and the loop that reads it


def _without_list(body: tuple[Stmt, ...]) -> tuple[Stmt, ...] | None:
    """The block with one list of noise less; None if there is none to take away."""
    for first, filling in enumerate(body):
        if isinstance(filling, While):
            for second in range(first + 1, len(body)):
                reading = body[second]
                if isinstance(reading, While):
                    found = _moved(body, first, second)
                    if found is not None:
                        return found
    return None


def _moved(body: tuple[Stmt, ...], first: int, second: int) -> tuple[Stmt, ...] | None:
    filling, reading = body[first], body[second]
    assert isinstance(filling, While)
    assert isinstance(reading, While)
    parts = _filled(filling)
    if parts is None:
        return None
    draw, kept, counter, end = parts
    reading = _bounded(reading, kept, end)
    fixed = {name for node in (end, *draw.args) for name in names(node)}
    step = _counter(reading, end)
    others = (*body[:first], *body[first + 1 : second], *body[second + 1 :])
    begun = [place for place, statement in enumerate(body) if kept in changed((statement,))]
    if (
        step is None
        or fixed & changed(body)
        or len(begun) != 2  # where it begins and where it is filled
        or body[begun[0]] != Assign(kept, SequenceLiteral(()))
        or begun[0] > first
        or kept in _reads(others)
        or draw.name in _reads(others) | changed(others) | _reads((reading,)) | changed((reading,))
        or not _starts_at_zero(body[:first], counter)
        or not _starts_at_zero(body[:second], step)
        or any(isinstance(part, Return) for part in statements(body[first:second]))
    ):
        return None
    inner = _read_once(reading, kept, step, draw)
    if inner is None:
        return None
    later = body[first + 1 :]
    again = next((part for part in later if counter in _reads((part,)) | changed((part,))), None)
    forgotten = again is None or (isinstance(again, Assign) and counter not in names(again.value))
    loop = () if forgotten else (While(filling.test, (Assign(counter, _more(counter)),), filling.number, filling.at),)
    before = tuple(part for place, part in enumerate(body[:first]) if place != begun[0])
    new = While(reading.test, inner, reading.number, reading.at)
    mark = Skip(filling.at, draw, Binary("<", ZERO, end))
    return (*before, mark, *loop, *body[first + 1 : second], new, *body[second + 1 :])


def _more(name: str) -> Expr:
    return Binary("+", Var(name), ONE)


def _filled(loop: While) -> tuple[Draw, str, str, Expr] | None:
    """(draw, list, counter, end) of `while (i < end) { e :=$ …; z := z ++ [e]; i := i + 1 }`."""
    match loop.test:
        case Binary(op="<", left=Var(name=counter), right=end) | Binary(op=">", left=end, right=Var(name=counter)):
            pass
        case _:
            return None
    draws = [part for part in loop.body if isinstance(part, Draw)]
    rest = [part for part in loop.body if not isinstance(part, Draw)]
    if len(draws) != 1 or len(rest) != 2 or Assign(counter, _more(counter)) not in rest:
        return None
    draw = draws[0]
    filled = next((part for part in rest if part != Assign(counter, _more(counter))), None)
    match filled:
        case Assign(
            name=kept, value=Binary(op="++", left=Var(name=before), right=SequenceLiteral(items=(Var(name=item),)))
        ) if kept == before and item == draw.name and loop.body.index(draw) < loop.body.index(filled):
            different = len({kept, counter, draw.name}) == 3
            return (draw, kept, counter, end) if different and counter not in names(end) else None
    return None


def _counter(loop: While, end: Expr) -> str | None:
    """The counter of a loop whose test holds it below an end, and that counts by one."""
    for test in conjuncts(loop.test):
        match test:
            case Binary(op="<", left=Var(name=name), right=most) | Binary(op=">", left=most, right=Var(name=name)) if (
                most == end
            ):
                steps = [
                    part for part in statements(loop.body) if isinstance(part, Assign | Draw) and part.name == name
                ]
                if steps == [Assign(name, _more(name))] and steps[0] in loop.body:
                    return name
    return None


def _bounded(loop: While, kept: str, end: Expr) -> While:
    """The loop whose test says `j < end` of its counter in the place of `j < size(z)`, and of nothing else."""
    size = FunctionCall("size", (Var(kept),))
    counter = _counter(loop, size)
    if counter is None:
        return loop
    said = Binary("<", Var(counter), end)
    test = _put(_put(loop.test, Binary("<", Var(counter), size), said), Binary(">", size, Var(counter)), said)
    return replace(loop, test=test)


def _starts_at_zero(before: tuple[Stmt, ...], name: str) -> bool:
    """Whether the last statement that assigns a variable sets it to 0."""
    last = next((part for part in reversed(before) if name in changed((part,))), None)
    return last == Assign(name, ZERO)


def _read_once(loop: While, kept: str, counter: str, draw: Draw) -> tuple[Stmt, ...] | None:
    """The loop's body with a draw of its own, if it reads the list only at its counter, before it counts."""
    step = next(place for place, part in enumerate(loop.body) if part == Assign(counter, _more(counter)))
    if kept in _reads(loop.body[step:]) or kept in names(loop.test):
        return None
    read = Index(Var(kept), Var(counter))
    inner = tuple(_swapped(part, read, Var(draw.name)) for part in loop.body)
    return None if kept in _reads(inner) else (draw, *inner)


def _swapped(statement: Stmt, old: Expr, new: Expr) -> Stmt:
    match statement:
        case Assign(value=value) | Return(value=value):
            return replace(statement, value=_put(value, old, new))
        case Draw(args=args):
            return replace(statement, args=tuple(_put(arg, old, new) for arg in args))
        case If(test=test, then=then, other=other, at=at):
            blocks = [tuple(_swapped(part, old, new) for part in block) for block in (then, other)]
            return If(_put(test, old, new), blocks[0], blocks[1], at)
        case While(test=test, body=body):
            inner = tuple(_swapped(part, old, new) for part in body)
            return replace(statement, test=_put(test, old, new), body=inner)
    return statement


def _put(node: Expr, old: Expr, new: Expr) -> Expr:
    if node == old:
        return new
    match node:
        case Unary(op=op, arg=arg):
            return Unary(op, _put(arg, old, new), node.at)
        case Binary(op=op, left=left, right=right):
            return Binary(op, _put(left, old, new), _put(right, old, new), node.at)
        case FunctionCall(name=name, args=args):
            return FunctionCall(name, tuple(_put(arg, old, new) for arg in args), node.at)
        case Index(base=base, index=index):
            return Index(_put(base, old, new), _put(index, old, new), node.at)
        case SequenceLiteral(items=items):
            return SequenceLiteral(tuple(_put(item, old, new) for item in items), node.at)
    return node
