"""Verify, prover: what a draw may be shifted by. Comes in: a program. Goes out: for each draw a list of shifts to try.

A noise is used in three ways. It is added to something that is shown: the shift undoes how far that something moves.
It decides a test: the shift undoes it on one branch and is nothing on the other. It moves a threshold that later
tests are compared with: the shift is as far as they can move. For outputs that can be listed there is a fourth: the
shift is made only where the answer is decided, `#if(i = #answer, …)`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

from sfumato.verify.kernel.kinds import kind_of, kinds_of
from sfumato.verify.kernel.turned import TURN
from sfumato.verify.prover.elements import apart, to_come
from sfumato.verify.prover.loops import LATER, after_round
from sfumato.verify.prover.rewrite import (
    ONE,
    ZERO,
    folded,
    linear,
    minus,
    negative,
    picked,
    plus,
    replaced,
    scaled,
    shift_of,
)
from sfumato.verify.tree import (
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
    Stmt,
    Type,
    Unary,
    Var,
    While,
    changed,
    expressions,
    names,
    parts,
    statements,
    walk,
)

NOISE = "#noise"
"""The noise that is looked at."""
_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")


@dataclass(slots=True)
class NoiseUses:
    """Where a noise goes: tests and shown values, in terms of what is known when it is drawn."""

    tests: list[Expr] = field(default_factory=list)
    shown: list[Expr] = field(default_factory=list)
    kept: list[Expr] = field(default_factory=list)  # in variables
    inside: list[Expr] = field(default_factory=list)  # parts of what is shown or kept together with later noise
    ways: dict[Expr, tuple[list[Expr], list[Expr]]] = field(default_factory=dict)
    """What is shown or kept on either side of a test that does not read the noise."""
    ahead: list[Expr] = field(default_factory=list)  # shifts that undo what a loop will add to the noise
    loops: list[While] = field(default_factory=list)
    again: Expr | None = None  # the test of the innermost loop, as it will be after this round


def shifts_to_try(
    program: Program, direction: str, *, pointwise: bool, site: int | None = None, second: bool = False
) -> dict[int, list[Expr]]:
    """For each draw, by number, the shifts to try, likely ones first; `site` is a draw that is paid with delta,
    `second` whether two answers are shown.
    """
    found = {}
    for draw, uses in uses_of(program, direction).items():
        gauss = draw.law == "Gauss" and (len(program.claim) == 2 or bool(program.renyi))
        whole = ("Geometric", "TruncGeometric", "Steps")
        if gauss or draw.law in ("Laplace", "Exponential", *whole) or draw.number == site:
            answers = ("#answer", "#second") if second else ("#answer",) if pointwise else ()
            tried = _candidates(program, draw, uses, answers)
            if draw.law in ("Exponential", "Steps") and draw.number != site:
                tried = [node for one in tried for node in (one, _upwards(one)) if node is not None]
            found[draw.number] = list(dict.fromkeys(tried))
        elif draw.law == "Bernoulli" and not draw.name.startswith("#"):
            turns = _turns(program, uses)
            if turns:
                found[draw.number] = [*turns, ZERO]
    return found


def _turns(program: Program, uses: NoiseUses) -> list[Expr]:
    """Where a coin may be turned: where something that is read beside it, or in its loop, is not the same."""
    private = {param.name for param in program.params if param.private}
    body = uses.loops[-1].body if uses.loops else program.body
    kinds, types = kinds_of(program), {param.name: param.type for param in program.params}
    read: list[Expr] = []
    for statement in statements(body):
        for node in expressions(statement):
            found = [
                part
                for part in walk(node)
                if (isinstance(part, Index) and isinstance(part.base, Var) and part.base.name in private)
                or (isinstance(part, Var) and part.name in private)
            ]
            read += [part for part in found if kind_of(part, kinds, types) in ("int", "real")]
    return [FunctionCall(TURN, (Binary("!=", shift_of(part), ZERO),)) for part in dict.fromkeys(read)]


def _upwards(node: Expr) -> Expr | None:
    """The shift where it is not negative, else none: noise on one side cannot go below it."""
    if NOISE in names(node) or isinstance(node, Num):
        return None
    return FunctionCall("#if", (Binary(">=", node, ZERO), node, ZERO))


def _candidates(program: Program, draw: Draw, uses: NoiseUses, answers: tuple[str, ...]) -> list[Expr]:
    centre = draw.args[1] if draw.law in ("Laplace", "Gauss") else draw.args[3] if len(draw.args) > 3 else ZERO
    home = _simple(shift_of(centre), program)
    if draw.law == "TruncGeometric":  # the centre is added to the noise
        home = negative(home)
    undone = [node for value in uses.shown for node in _undone(value, program)]
    kept = [node for value in uses.kept for node in _undone(value, program) if node != ZERO]
    tested = [(test, node) for test in uses.tests for atom in atoms_of(test) for node in _undone(atom, program)]
    widths = [scaled(width, factor) for factor in (Fraction(1), Fraction(2)) for width in widths_of(program)]
    steps = [step for width in widths for step in (width, negative(width))]
    tried: list[Expr] = []
    if answers:
        for where in _answers(program, uses, answers):
            for test in uses.tests:
                for atom in atoms_of(test):
                    direct = [_simple(node, program) for node in _direct_undone(atom, program)]
                    tried += [
                        FunctionCall("#if", (where, plus(step, node), home))
                        for node in direct
                        for step in (*steps, ZERO)
                    ]
            for value in (*uses.kept, *uses.shown):
                direct = [_simple(node, program) for node in _direct_undone(value, program)]
                tried += [
                    FunctionCall("#if", (where, plus(step, node), home)) for node in direct for step in (*steps, ZERO)
                ]
            tried += [FunctionCall("#if", (where, node, home)) for _, node in tested]
    for test, node in tested:
        tried += [FunctionCall("#if", (test, node, home)), FunctionCall("#if", (test, home, node))]
    tried += [*undone, *uses.ahead]
    for test in uses.tests:
        tried += [FunctionCall("#if", (test, node, home)) for node in undone]
    for test, sides in uses.ways.items():
        there = [[home, *(node for value in side for node in _undone(value, program))] for side in sides]
        tried += [
            FunctionCall("#if", (test, *pair)) for pair in product(*map(dict.fromkeys, there)) if pair != (home, home)
        ]
    tried += kept
    if not undone or tested:
        tried += [node for _, node in tested]
        steps = [plus(home, step) for step in steps]
        tried += steps
        for test in (*([uses.again] if uses.again else []), *(loop.test for loop in uses.loops[-1:])):
            tried += [FunctionCall("#if", (test, step, home)) for step in steps]
        for test, node in tested:
            tried += [FunctionCall("#if", (test, plus(step, node), home)) for step in steps]
    if Var(NOISE) in uses.shown:  # kept in a list, to be added later
        lists = [param.name for param in program.params if param.private and param.type.kind == "list"]
        moved = sorted(changed(uses.loops[-1].body)) if uses.loops else []
        counters = [name for name in moved if kinds_of(program).get(name) == "int"]
        tried += [negative(shift_of(Index(Var(name), Var(at)))) for name, at in product(lists, counters)]
    tried += [node for value in uses.inside for node in _undone(value, program)]
    return [*tried, home, ZERO]


def _answers(program: Program, uses: NoiseUses, answers: tuple[str, ...]) -> list[Expr]:
    """Tests that the answer is decided by this draw."""
    kinds = kinds_of(program)
    whole = sorted(name for name in changed(program.body) if kinds.get(name) == "int")
    inside = [name for loop in uses.loops for name in whole if name in changed(loop.body)]
    found: list[Expr] = [*given_by(program, inside), *(Var(name) for name in dict.fromkeys(inside))]
    numbers = [Num(Fraction(k)) for k in range(4)] + [Num(Fraction(-1))]
    nodes = list(dict.fromkeys(found)) or numbers
    if len(answers) > 1 and uses.loops:  # those that this loop decides
        here = changed(uses.loops[0].body)
        shown: dict[str, list[Expr]] = {"#answer": [*answers_of(program)], "#second": [*second_answers(program)]}
        said = {name: {node.name for node in found if isinstance(node, Var)} for name, found in shown.items()}
        answers = tuple(name for name in answers if said[name] & here) or answers
    single: list[Expr] = [Binary("=", node, Var(answer)) for answer in answers for node in nodes]
    if len(answers) < 2:
        return single
    first, second = answers
    either = [
        Binary("||", Binary("=", node, Var(first)), Binary("=", node, Var(second))) for node in nodes if names(node)
    ]
    return [*either, *single]


def answers_of(program: Program) -> dict[Expr, int | None]:
    """What is returned, where that can be listed: by itself, or as the first such part of a list (at its place)."""
    kinds, types = kinds_of(program), {param.name: param.type for param in program.params}
    found: dict[Expr, int | None] = {}
    for statement in statements(program.body):
        if isinstance(statement, Return):
            items = statement.value.items if isinstance(statement.value, SequenceLiteral) else (statement.value,)
            places = [place for place, item in enumerate(items) if kind_of(item, kinds, types) in ("int", "bool")]
            for place in places[:1]:
                found[items[place]] = place if isinstance(statement.value, SequenceLiteral) else None
    return found


def second_answers(program: Program) -> dict[Expr, int]:
    """The second part of a returned list that can be listed, and its place."""
    kinds, types = kinds_of(program), {param.name: param.type for param in program.params}
    found: dict[Expr, int] = {}
    for statement in statements(program.body):
        if isinstance(statement, Return) and isinstance(statement.value, SequenceLiteral):
            items = statement.value.items
            places = [place for place, item in enumerate(items) if kind_of(item, kinds, types) in ("int", "bool")]
            for place in places[1:2]:
                found[items[place]] = place
    return found


def given_by(program: Program, counters: list[str]) -> list[Expr]:
    """What is assigned to the variable that is returned, where counters alone say it: `max := i + 1`."""
    shown = {node.name for node in (*answers_of(program), *second_answers(program)) if isinstance(node, Var)}
    return [
        statement.value
        for statement in statements(program.body)
        if isinstance(statement, Assign) and statement.name in shown
        if names(statement.value) and names(statement.value) <= set(counters) - shown
    ]


def widths_of(program: Program) -> list[Expr]:
    """How far an element may move."""
    found: list[Expr] = []
    for param in program.params:
        if param.private:
            found += _widths(param.type)
    found += [use.sensitivity for use in program.uses]
    return list(dict.fromkeys(found)) or [ONE]


def ends_of(program: Program) -> list[Expr]:
    """The least and the greatest that an element of a list may be."""
    return [
        folded(end)
        for param in program.params
        if param.private and param.type.items and param.type.items[0].kind in ("interval", "range")
        for end in param.type.items[0].args
    ]


def _widths(kind: Type) -> list[Expr]:
    if kind.kind in ("interval", "range"):
        low, high = (folded(end) for end in kind.args)
        return [folded(minus(high, low))]
    return [width for item in kind.items for width in _widths(item)] if kind.items else [ONE]


def atoms_of(test: Expr) -> list[Expr]:
    """The comparisons of a test that read the noise, as differences."""
    if isinstance(test, Binary) and test.op in _COMPARISONS:
        return [minus(test.left, test.right)] if NOISE in names(test) else []
    return [atom for part in parts(test) for atom in atoms_of(part)]


def _undone(value: Expr, program: Program) -> list[Expr]:
    """The shift that keeps c * noise + rest where it is."""
    if isinstance(value, Binary) and value.op in _COMPARISONS:
        return _undone(minus(value.left, value.right), program)
    found = linear(value, NOISE)
    if found is None:  # inside of a quotient, max, clamp, …: undone there, it is undone here
        return [node for part in parts(value) if NOISE in names(part) for node in _undone(part, program)]
    if not found[0]:
        return []
    return [_simple(scaled(negative(shift_of(found[1])), 1 / found[0]), program)]


def _direct_undone(value: Expr, program: Program) -> list[Expr]:
    """The same for what is read off the input alone: not for variables, which may have gone different ways."""
    found = linear(value, NOISE)
    if found is None or not found[0]:
        return []
    private = {param.name for param in program.params if param.private}
    rest: Expr = ZERO
    for sign, part in summands_of(found[1]):
        if names(part) & private or any(isinstance(inner, FunctionCall) for inner in walk(part)):
            rest = plus(rest, part) if sign > 0 else minus(rest, part)
    return [scaled(negative(shift_of(rest)), 1 / found[0])]


def summands_of(node: Expr, sign: int = 1) -> list[tuple[int, Expr]]:
    """The parts of a sum, with their signs."""
    match node:
        case Binary(op="+", left=left, right=right):
            return summands_of(left, sign) + summands_of(right, sign)
        case Binary(op="-", left=left, right=right):
            return summands_of(left, sign) + summands_of(right, -sign)
        case Unary(op="-", arg=arg):
            return summands_of(arg, -sign)
    return [(sign, node)]


def _simple(node: Expr, program: Program) -> Expr:
    """Without the shifts of what is public and never assigned: they are zero."""
    still = {param.name for param in program.params if not param.private} | {"eps", "delta"}
    still -= changed(program.body)
    match node:
        case FunctionCall(name="#shift", args=(inside,)) if names(inside) <= still:
            return ZERO
        case Binary(op="+", left=left, right=right):
            return plus(_simple(left, program), _simple(right, program))
        case Binary(op="-", left=left, right=right):
            return minus(_simple(left, program), _simple(right, program))
        case Unary(op="-", arg=arg):
            return negative(_simple(arg, program))
    return node


# ---- where a noise goes


def uses_of(program: Program, direction: str) -> dict[Draw, NoiseUses]:
    """For each draw what happens to its noise."""
    found: dict[Draw, NoiseUses] = {}
    _find(program.body, [], [], found, [])
    for place, statement in enumerate(program.body):
        if isinstance(statement, Draw):
            _look_ahead(program, direction, place, found[statement])
    return found


def _look_ahead(program: Program, direction: str, place: int, uses: NoiseUses) -> None:
    """Loops after a draw that add to its noise."""
    draw = program.body[place]
    assert isinstance(draw, Draw)
    by: dict[str, Expr] = {draw.name: Var(NOISE)}
    for statement in program.body[place + 1 :]:
        if isinstance(statement, While):
            for reading, name, amount in apart(program, statement, direction):
                split = linear(by.get(name, ZERO), NOISE)
                if split is not None and split[0]:
                    uses.ahead.append(scaled(negative(to_come(program, reading, amount)), 1 / split[0]))
        by = after_round((statement,), by)


def _find(
    body: tuple[Stmt, ...],
    later: list[tuple[Stmt, ...]],
    loops: list[While],
    found: dict[Draw, NoiseUses],
    outside: list[tuple[Stmt, ...]],
) -> None:
    """Look for draws; `later` comes after the block in the same round, `outside` after the innermost loop."""
    for place, statement in enumerate(body):
        rest = [body[place + 1 :], *later]
        if isinstance(statement, Draw):
            uses = NoiseUses(loops=list(loops))
            by: dict[str, Expr] = {statement.name: Var(NOISE)}
            for block in rest:
                by = _follow(block, by, uses, None)
            for loop in loops[-1:]:
                again = _said(loop.test, by)
                uses.again = None if names(again) & {NOISE, LATER} else again
                by |= dict.fromkeys(changed(loop.body), Var(LATER))
            for block in outside:
                by = _follow(block, by, uses, None)
            found[statement] = uses
        elif isinstance(statement, If):
            _find(statement.then, rest, loops, found, outside)
            _find(statement.other, rest, loops, found, outside)
        elif isinstance(statement, While):
            _find(statement.body, [], [*loops, statement], found, [*rest, *outside])


def _follow(
    body: tuple[Stmt, ...], by: dict[str, Expr], uses: NoiseUses, side: tuple[Expr, int] | None
) -> dict[str, Expr]:
    """Note where the noise is used; `by` says what variables are, in terms of those at the draw; `side` says on which
    side of which test this block stands.
    """
    by = dict(by)
    ways = [] if side is None else uses.ways.setdefault(side[0], ([], []))[side[1]]
    for statement in body:
        match statement:
            case Assign(name=name, value=value):
                listed = isinstance(value, SequenceLiteral) or (isinstance(value, Binary) and value.op == "++")
                for item in _shown(value):
                    for where in (uses.shown if listed else uses.kept, ways):
                        _note(where, _said(item, by))
                    _note_inside(uses.inside, _said(item, by))
                by[name] = _said(value, by)
            case Return(value=value):
                for item in _shown(value):
                    for where in (uses.shown, ways):
                        _note(where, _said(item, by))
                    _note_inside(uses.inside, _said(item, by))
            case Draw(name=name):
                by[name] = Var(LATER)
            case If(test=test, then=then, other=other):
                said = _said(test, by)
                _note(uses.tests, said)
                sides = [
                    _follow(block, by, uses, side if names(said) & {NOISE, LATER} else (said, place))
                    for place, block in enumerate((then, other))
                ]
                for name in changed((statement,)):
                    values = [found.get(name, Var(name)) for found in sides]
                    by[name] = _either(said, *values)
            case While(body=inner):
                by |= dict.fromkeys(changed(inner), Var(LATER))
                _follow(inner, by, uses, None)
    return by


def _either(test: Expr, first: Expr, second: Expr) -> Expr:
    """What a variable is after two branches: the noise, and beside it what each branch makes of all else."""
    if first == second:
        return first
    sides = (linear(first, NOISE), linear(second, NOISE))
    if sides[0] is None or sides[1] is None or sides[0][0] != sides[1][0] or not sides[0][0]:
        return Var(LATER)
    if LATER in names(first) | names(second) or names(test) & {NOISE, LATER}:
        return Var(LATER)
    return plus(scaled(Var(NOISE), sides[0][0]), FunctionCall("#if", (test, sides[0][1], sides[1][1])))


def _shown(value: Expr) -> list[Expr]:
    """The numbers inside of a list that is built."""
    if isinstance(value, SequenceLiteral):
        return [inner for item in value.items for inner in _shown(item)]
    if isinstance(value, Binary) and value.op == "++":
        return _shown(value.left) + _shown(value.right)
    return [value]


def _said(node: Expr, by: dict[str, Expr]) -> Expr:
    return picked(replaced(node, by))


def _note(where: list[Expr], node: Expr) -> None:
    if NOISE in names(node) and LATER not in names(node) and node not in where:
        where.append(node)


def _note_inside(where: list[Expr], node: Expr) -> None:
    """Of a value that also reads what is drawn later, note those parts that do not: `max(c + noise, later)`, and of a
    sum the summands that do not, in whichever order it is written: `c - later + noise`.
    """
    if LATER in names(node):
        rest: Expr = ZERO
        for sign, part in summands_of(node):
            if LATER not in names(part):
                rest = plus(rest, part) if sign > 0 else minus(rest, part)
        if rest != Var(NOISE):
            _note(where, rest)
        for part in parts(node):
            if part != Var(NOISE) and LATER not in names(part):
                _note(where, part)
            _note_inside(where, part)
