"""Verify, finite laws: loops of any length whose rounds can be listed. Comes in: a program. Goes out: what one round
loses, and whether that keeps within the claim.

A round first looks at private values and draws (the *look*), then only at what the look has found. Sizes, numbers of
rounds and whatever rounds collect may have no end: what a look adds to a sum, or appends to a list, is part of what it
has found.

Guarantee: if `decide_rounds` says so, the claim holds for all sizes.
Proof: let y be what a look hands on, with the law L_v(y) on private values v; everything else in the program is a
    function of y's, of public values and of draws that do not depend on private values. Let c bound
    ln L_v(y)/L_w(y) for all values v, w and all y. For lists of one length the chance of any sequence of y's and other
    draws is a product of the laws of its looks, so neighbours differ by a factor of at most e^(n c), where n is how
    many looks see different values: one for each element that differs, because the counter, which always moves in one
    direction, visits every place at most once; or as many as there are rounds, where a private value is read in all
    of them. A variable x that a look only changes to x + e or x ++ [e] is, after it, a function of what it was before
    and of what was added, which is what the look makes of 0 or []. Outputs are functions of such sequences, and
    sequences that never end are limits of finite ones.
Reference: Dwork, Roth, 2014, theorem 3.14 (composition); McSherry, SIGMOD 2009, theorem 4 (parallel composition).
Checked by: verify::rounds_agree_with_listing_at_small_sizes, verify::a_loop_that_remembers_is_not_taken_for_rounds
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

from sfumato.verify.finite.decide import ENDLESS, ROOTS, Decision, Judge, whole_law
from sfumato.verify.finite.field import NeedRoot, with_precision
from sfumato.verify.finite.inputs import Listing
from sfumato.verify.finite.law import Machine, read_first
from sfumato.verify.finite.observed import observed
from sfumato.verify.run import NotRun, RunFault
from sfumato.verify.tree import (
    Assign,
    Binary,
    Draw,
    Expr,
    FunctionCall,
    If,
    Index,
    Num,
    Param,
    Program,
    Return,
    SequenceLiteral,
    Stmt,
    Type,
    Unary,
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

ELEMENT = "#element"


def decide_rounds(program: Program) -> Decision | None:
    """Whether a claim holds, by listing one round; None if it does not follow, or the program is not of this shape."""
    with_precision(192)
    for look in looks_of(program):
        found = _decided(observed(look) or look)
        if found is not None:
            return found
    return None


def _decided(look: Program) -> Decision | None:
    root = 1
    while root <= ROOTS:
        try:
            return _decide(look, Listing(look, root))
        except NeedRoot as need:
            root = need.root
        except (NotRun, RunFault, TypeError):
            return None
    return None


def _decide(look: Program, listing: Listing) -> Decision | None:
    """Every two private values are told apart by one look at most as the claim says."""
    found = Decision(holds=True)
    for setting in listing.settings():
        inputs = listing.inputs(setting)
        laws = [whole_law(Machine(look, setting.domain), env) for env in inputs]
        pairs = [(one, two) for one, two in product(range(len(inputs)), repeat=2) if one != two]
        judge = Judge(look, setting, inputs, laws)
        found.inputs += len(inputs)
        found.pairs += len(pairs)
        found.losses.append((setting, judge.losses(pairs)))
        if not judge.is_claimable() or any(True for _ in judge.suspects(pairs)):
            return None
    return found if found.inputs else None


# ---- the shape


def looks_of(program: Program) -> Iterator[Program]:
    """The looks of a program that is one loop of them, as programs of their own; the shortest first."""
    private = [param for param in program.params if param.private]
    loops = [place for place, part in enumerate(program.body) if isinstance(part, While)]
    given = {other.name for other in program.params} | {"eps", "delta"}
    if program.uses or len(private) != 1 or len(loops) != 1 or given & changed(program.body):
        return
    if program.adjacent in ("addremove", "moves", None) or any(
        isinstance(part, Draw) and part.law in ENDLESS for part in statements(program.body)
    ):
        return
    (param,) = private
    before, loop, after = program.body[: loops[0]], program.body[loops[0]], program.body[loops[0] + 1 :]
    assert isinstance(loop, While)
    outside = (
        loop.test,
        *program.requires,
        *(node for part in statements((*before, *after)) for node in expressions(part)),
    )
    reading = [place for place, part in enumerate(loop.body) if _reads(part, param)]
    if any(_sees(node, param) for node in outside) or not reading:
        return
    for end in range(reading[-1] + 1, len(loop.body) + 1):
        try:
            yield _parted(program, param, (before, loop, after), end)
        except NotRun:
            continue


def _parted(program: Program, param: Param, parts_of: tuple[Any, While, Any], end: int) -> Program:
    """The look that ends at a place of the loop's body."""
    before, loop, after = parts_of
    counter, step = _counter(program, before, loop)
    reading = [place for place, part in enumerate(loop.body[:end]) if _reads(part, param)]
    if reading[0] < loop.body.index(step) < reading[-1]:
        raise NotRun  # one look sees two places
    looks, rest = tuple(part for part in loop.body[:end] if part != step), loop.body[end:]
    if any(isinstance(part, While | Return) for part in statements(looks)):
        raise NotRun
    handed = sorted(changed(looks) & read_first((*rest, loop), read_first(after, frozenset())))
    reader = _Reader(param, counter, _place(looks, param, counter))
    body = (
        *_constants(before, program),
        *_collected(looks),
        *(reader.statement(part) for part in looks),
        Return(SequenceLiteral(tuple(map(Var, handed)))),
    )
    return _look(program, param, body, _claim(program, _times(program, param, loop, counter)))


def _collected(looks: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Beginnings of variables that a look only adds to: of a sum 0, of a list []."""
    found: list[Stmt] = []
    for name in sorted(changed(looks) & read_first(looks, frozenset())):
        writers = [part for part in statements(looks) if _writes(part) and name in changed((part,))]
        values = [part.value for part in writers if isinstance(part, Assign)]
        reads = sum(_mentions(node, name) for part in statements(looks) for node in expressions(part))
        if len(values) == len(writers) == reads:
            if all(_grows(value, name, "++") for value in values):
                found.append(Assign(name, SequenceLiteral(())))
            elif all(_grows(value, name, "+") for value in values):
                found.append(Assign(name, Num(Fraction(0))))
    return tuple(found)


def _mentions(node: Expr, name: str) -> int:
    return sum(isinstance(part, Var) and part.name == name for part in walk(node))


def _grows(value: Expr, name: str, op: str) -> bool:
    """Whether a value is the variable with something added: `x ++ e` at its end, `x + e` and `e + x` anywhere."""
    match value:
        case Var(name=same):
            return same == name
        case Binary(op="++", left=left) if op == "++":
            return _grows(left, name, op)
        case Binary(op="+", left=left, right=right) if op == "+":
            return _grows(left, name, op) or _grows(right, name, op)
        case Binary(op="-", left=left) if op == "+":
            return _grows(left, name, op)
    return False


def _place(looks: tuple[Stmt, ...], param: Param, counter: str) -> Expr:
    """Where a look reads the list: always at one place, which another value of the counter does not name."""
    found = {
        part.index
        for statement in statements(looks)
        for node in expressions(statement)
        for part in walk(node)
        if isinstance(part, Index) and part.base == Var(param.name)
    }
    if param.type.kind != "list":
        return Var(counter)
    if len(found) != 1:
        raise NotRun
    (place,) = found
    if not _moves_with(place, counter, param):
        raise NotRun
    return place


def _moves_with(node: Expr, counter: str, param: Param) -> bool:
    """Whether an index is the counter, or minus it, and numbers or the size of the list. Nothing else of the list may
    stand in it: elements that say where to look would be seen by every look.
    """
    match node:
        case Var(name=name):
            return name == counter
        case Binary(op="+" | "-", left=left, right=right):
            moving = [_moves_with(part, counter, param) for part in (left, right)]
            other = right if moving[0] else left
            return moving.count(True) == 1 and names(other) <= {param.name} and not _sees(other, param)
    return False


def _look(program: Program, param: Param, body: tuple[Stmt, ...], claim: tuple[Expr, ...]) -> Program:
    """The look as a program of its own, with those public parameters that it reads."""
    requires = tuple(node for node in conjuncts(*program.requires) if param.name not in names(node))
    read = {name for part in statements(body) for node in expressions(part) for name in names(node)}
    read |= {name for node in claim for name in names(node)}
    public = [other for other in program.params if not other.private]
    while more := {name for node in requires if names(node) & read for name in names(node)} - read:
        read |= more
    kind = param.type.items[0] if param.type.kind == "list" else param.type
    kept = tuple(other for other in public if other.name in read or _bounds(param.type) & {other.name})
    asked = tuple(node for node in requires if names(node) <= {other.name for other in kept} | {"eps", "delta"})
    return replace(
        program,
        params=(*kept, Param(ELEMENT, True, kind)),
        body=body,
        claim=claim,
        requires=asked,
        adjacent="any",
        group=1,
    )


def _bounds(kind: Type) -> set[str]:
    """The names in the ends of a type."""
    return {name for end in kind.args for name in names(end)} | {name for item in kind.items for name in _bounds(item)}


def _claim(program: Program, times: Expr | None) -> tuple[Expr, ...]:
    """What is claimed of one look."""
    if times is None and program.group == 1:
        return program.claim
    claim = program.claim[0] if times is None else _per_round(program.claim[0], times)
    match program.claim[1:]:
        case (Num(value=value),) if value < 0:
            raise NotRun
        case () | (Num() | Var(name="delta"),):
            return (claim if program.group == 1 else Binary("/", claim, Num(Fraction(program.group))),)
    raise NotRun


def _sees(node: Expr, param: Param) -> bool:
    """Whether an expression reads more of a parameter than its size."""
    if isinstance(node, FunctionCall) and node.name == "size" and node.args == (Var(param.name),):
        return False
    if isinstance(node, Var):
        return node.name == param.name
    return any(_sees(part, param) for part in parts(node))


def _reads(statement: Stmt, param: Param) -> bool:
    return any(_sees(node, param) for part in statements((statement,)) for node in expressions(part))


def _counter(program: Program, before: tuple[Stmt, ...], loop: While) -> tuple[str, Stmt]:
    """The variable that counts rounds, and the step that it makes in each, always the same; assigned nowhere else."""
    for statement in loop.body:
        match statement:
            case Assign(
                name=name,
                value=Binary(op="+" | "-", left=Var(name=same), right=Num(value=step))
                | Binary(op="+", left=Num(value=step), right=Var(name=same)),
            ) if name == same and step != 0:
                writers = [part for part in statements(program.body) if name in changed((part,)) and _writes(part)]
                first = [part for part in before if isinstance(part, Assign) and part.name == name]
                if len(writers) == 2 and len(first) == 1:
                    return name, statement
    raise NotRun


def _writes(statement: Stmt) -> bool:
    return isinstance(statement, Assign | Draw)


def _constants(before: tuple[Stmt, ...], program: Program) -> tuple[Stmt, ...]:
    """Assignments before the loop of names that are assigned only there."""
    written = [part.name for part in statements(program.body) if isinstance(part, Assign | Draw)]
    return tuple(part for part in before if isinstance(part, Assign) and written.count(part.name) == 1)


def _times(program: Program, param: Param, loop: While, counter: str) -> Expr | None:
    """How many looks see different values: one (None), or as many as there are rounds."""
    if param.type.kind == "list" and program.adjacent == "one":
        return None
    if param.type.kind == "list" and program.adjacent == "any":
        raise NotRun  # lengths may differ
    start = [part.value for part in program.body if isinstance(part, Assign) and part.name == counter]
    if _steps(loop, counter) != Fraction(1):
        raise NotRun
    for node in conjuncts(loop.test):
        match node:
            case Binary(op="<", left=Var(name=name), right=end) if name == counter and start == [Num(Fraction(0))]:
                if end == FunctionCall("size", (Var(param.name),)) or _is_count(program, end):
                    return end
    raise NotRun


def _steps(loop: While, counter: str) -> Fraction | None:
    """How far the counter goes in a round."""
    for part in loop.body:
        if isinstance(part, Assign) and part.name == counter and isinstance(part.value, Binary):
            number = part.value.right if isinstance(part.value.right, Num) else part.value.left
            assert isinstance(number, Num)
            return -number.value if part.value.op == "-" else number.value
    return None


def _is_count(program: Program, end: Expr) -> bool:
    """Whether an end is a public whole number that is required not to be negative."""
    whole = {param.name for param in program.params if not param.private and param.type.kind == "int"}
    if not isinstance(end, Var) or end.name not in whole:
        return False
    for node in conjuncts(*program.requires):
        match node:
            case Binary(op=">=", left=Var(name=name), right=Num(value=low)) if name == end.name and low >= 0:
                return True
            case Binary(op=">", left=Var(name=name), right=Num(value=low)) if name == end.name and low >= -1:
                return True
    return False


def _per_round(claim: Expr, times: Expr) -> Expr:
    """k, of a claim that is written times * k or k * times."""
    match claim:
        case Binary(op="*", left=left, right=right) if left == times:
            return right
        case Binary(op="*", left=left, right=right) if right == times:
            return left
    raise NotRun


@dataclass(frozen=True, slots=True)
class _Reader:
    """Puts the element in the place of `d[i]`."""

    param: Param
    counter: str
    place: Expr

    def statement(self, statement: Stmt) -> Stmt:
        match statement:
            case Assign(value=value):
                return replace(statement, value=self.expression(value))
            case Draw(args=args):
                return replace(statement, args=tuple(self.expression(arg) for arg in args))
            case If(test=test, then=then, other=other):
                blocks = [tuple(self.statement(part) for part in block) for block in (then, other)]
                return replace(statement, test=self.expression(test), then=blocks[0], other=blocks[1])
        return statement

    def expression(self, node: Expr) -> Expr:
        if self.param.type.kind != "list":
            if isinstance(node, Var):
                return Var(ELEMENT, node.at) if node.name == self.param.name else node
        elif node == Index(Var(self.param.name), self.place):
            return Var(ELEMENT, node.at)
        match node:
            case Var(name=name) if name in (self.param.name, self.counter):
                raise NotRun  # the place itself, or the list as a whole
            case Unary(arg=arg):
                return replace(node, arg=self.expression(arg))
            case Binary(left=left, right=right):
                return replace(node, left=self.expression(left), right=self.expression(right))
            case FunctionCall(args=args):
                return replace(node, args=tuple(self.expression(arg) for arg in args))
            case Index(base=base, index=index):
                return replace(node, base=self.expression(base), index=self.expression(index))
            case SequenceLiteral(items=items):
                return replace(node, items=tuple(self.expression(item) for item in items))
        return node
