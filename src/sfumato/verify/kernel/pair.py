"""Verify, kernel: two runs and a coupling of their noise. Comes in: a program with a property, and couplings: for each
draw a map of noise with its inverse. Goes out: the conditions under which the property holds.

Guarantee: if all conditions hold, the two runs have the same law of outputs, for all inputs that are related.
Proof: by induction on the steps of a pair of runs there is a joint law of both whose marginals are the laws of each.
    Assignments and tests change nothing. Where one run draws alone, its value is independent of the other run. Where
    both draw, the value of the first is mapped by g; g maps the first support into the second (`support`), h maps back,
    undoes g and is undone by it (`inverse`), so g is a bijection, and every value has the mass of its image (`mass`):
    the pair has both laws as marginals. Runs that go round a loop with invariants do so together (`path`), from any
    state that the invariants describe, and so stop equally often. Whenever both return, they return the same
    (`output`): so the laws of outputs are equal, and so is the chance of never returning.
Reference: Barthe, Grégoire, Zanella, "Formal certification of code-based cryptographic proofs", 2009 (rule Rand of
    probabilistic relational Hoare logic); Lindvall, "Lectures on the coupling method", 1992.
Checked by: verify::a_map_that_is_no_bijection_proves_no_secrecy, verify::what_is_said_of_random_programs_is_true,
    verify::whatever_coupling_the_kernel_accepts_is_true, verify::a_relational_kernel_with_a_fault_is_caught
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import z3

from sfumato.verify.kernel.couple import Coupled, Meeting
from sfumato.verify.kernel.kinds import kinds_of
from sfumato.verify.kernel.single import Open, Reader, SingleRun
from sfumato.verify.kernel.symbols import BitList, Chain, Given, Row, SolverNumber, SolverTruth, Symbol, World
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.tree import (
    Assign,
    Binary,
    Draw,
    Expr,
    FunctionCall,
    If,
    Num,
    Program,
    Return,
    SequenceLiteral,
    Stmt,
    Type,
    Var,
    While,
    changed,
    names,
    statements,
)

PATHS = 600
"""Pairs of ways through a program that are followed before the proof rule gives up."""
ROUNDS = 1200
"""Rounds of loops that are followed one by one."""


@dataclass(frozen=True, slots=True)
class CouplingCase:
    """Couplings for one case: (draw of the first run, draw of the second) to a map and its inverse; draws of a side
    that are made alone; invariants of loops, `#same(x)` or a test that holds in both runs.
    """

    couplings: Mapping[tuple[int, int], tuple[Expr, Expr]] = field(default_factory=dict)
    alone: frozenset[tuple[int, int]] = frozenset()
    invariants: Mapping[int, tuple[Expr, ...]] = field(default_factory=dict)
    order: tuple[int, ...] = ()
    """For `uniform`: in which order the parts of the output are drawn by the ideal program."""
    turned: tuple[int, ...] = ()
    """In which order the first draws that stand side by side are made: independent draws may be made in any."""


@dataclass(frozen=True, slots=True)
class CouplingProof:
    """A proof: tests of the inputs, (run, test), that tell cases apart, and a case for each combination of truths."""

    tests: tuple[tuple[int, Expr], ...]
    cases: tuple[CouplingCase, ...]


@dataclass(frozen=True, slots=True)
class Back:
    """The end of a round, and the values with which it began."""

    loop: While
    begun: dict[str, Symbol]


@dataclass(slots=True)
class RunPair:
    """Two runs under one case, with everything that has to hold. `searching` leaves draws without a coupling open."""

    program: Program
    case: CouplingCase
    searching: bool = False
    world: World = field(default_factory=World)
    conditions: list[Open] = field(default_factory=list)
    meetings: list[Meeting] = field(default_factory=list)
    paths: int = 0
    rounds: int = 0
    reached: bool = False
    """Whether any inputs may be in this case."""
    kinds: dict[str, str] = field(default_factory=dict)
    waiting: list[tuple[SingleRun, SingleRun, list[Any]]] = field(default_factory=list)

    def reader(self, known: list[Any]) -> Reader:
        """What evaluates expressions here."""
        return Reader(self.world, known, self.conditions)

    def run(self, tests: tuple[tuple[int, Expr], ...] = (), truths: tuple[bool, ...] = ()) -> None:
        """Follow both runs to their ends."""
        program = self.program
        body = turned_body(program.body, self.case.turned)
        other = ideal(program, self.case.order).body if program.property == "uniform" else body
        self.kinds = kinds_of(program)
        reader = self.reader([])
        shared = program.property == "uniform"
        one, two = (reader.parameters(program, side, shared=shared) for side in (1, 2))
        runs = SingleRun(1, dict(one), one, {}, body), SingleRun(2, dict(two), two, {}, other)
        known = []
        for (side, test), truth in zip(tests, truths, strict=True):
            found = reader.truth(test, runs[side - 1])
            known.append(found if truth else z3.Not(found))
        self.reached = self.possible(known)
        if self.reached:
            self.waiting.append((*runs, known))
        while self.waiting:
            self.step(*self.waiting.pop())

    def possible(self, known: list[Any]) -> bool:
        """Whether nothing is known to exclude this; what is not decided is possible."""
        return self.world.is_possible(known)

    def still(self, known: list[Any]) -> list[Any]:
        """What is known on a path that is still possible after a step; from a contradiction nothing is shown."""
        if not self.possible(known):
            raise NoProofRule("a step that leaves nothing of its path")
        return known

    # ---- both runs

    def explore(self, one: SingleRun, two: SingleRun, known: list[Any]) -> None:
        """Go on from here, after whatever waits longer."""
        self.waiting.append((one, two, known))

    def step(self, one: SingleRun, two: SingleRun, known: list[Any]) -> None:
        """Let each run go to its next draw, loop or end; then what they do together."""
        for first, with_first in self.advance(one, known):
            for second, with_both in self.advance(two, with_first):
                self.paths += 1
                if self.paths > PATHS:
                    raise NoProofRule("too many pairs of ways through the program")
                self.meet(first, second, with_both)

    def meet(self, one: SingleRun, two: SingleRun, known: list[Any]) -> None:
        """The rule for where both runs are."""
        first, second = one.todo[0], two.todo[0]
        apart = isinstance(first, Draw), isinstance(second, Draw)
        if isinstance(first, Draw) and (not apart[1] or (1, first.number) in self.case.alone):
            return self.explore(self.draws_alone(one, known), two, self.still(known))
        if isinstance(second, Draw) and (not apart[0] or (2, second.number) in self.case.alone):
            return self.explore(one, self.draws_alone(two, known), self.still(known))
        if isinstance(first, Draw) and isinstance(second, Draw):
            found = Coupled(self.reader(known), self.meetings).draw(
                one, two, self.case.couplings.get((first.number, second.number)), searching=self.searching
            )
            return self.explore(*found, self.still(known))
        if isinstance(first, Return) and isinstance(second, Return):
            reader = self.reader(known)
            goal, pairs = self.world.equal(reader.value(first.value, one), reader.value(second.value, two))
            return reader.require("output", "both return the same", first.at, goal, pairs)
        if isinstance(first, While) and isinstance(second, While) and first.number == second.number:
            return self.loop(first, one, two, known)
        if isinstance(first, Back) and isinstance(second, Back) and first.loop.number == second.loop.number:
            return self.kept("step", first.loop, one, two, known)
        at = getattr(first, "at", 0) or getattr(second, "at", 0)
        return self.reader(known).require("path", "both runs stop at the same place", at, self.world.false)

    def draws_alone(self, run: SingleRun, known: list[Any]) -> SingleRun:
        """A draw of one run, whatever the other does."""
        after = run.copy()
        draw = after.todo[0]
        value = Coupled(self.reader(known), self.meetings).alone(draw, run)
        after.store[draw.name] = after.draws[draw.number] = value
        after.todo = after.todo[1:]
        return after

    # ---- one run

    def advance(self, run: SingleRun, known: list[Any]) -> list[tuple[SingleRun, list[Any]]]:
        """All ways to the next stop, each with what is then known."""
        found: list[tuple[SingleRun, list[Any]]] = []
        waiting = [(run.copy(), known)]
        while waiting:
            here, with_this = waiting.pop()
            if len(found) + len(waiting) > PATHS:
                raise NoProofRule("too many ways through the program")
            while True:
                if not here.todo:
                    raise NoProofRule("a way that does not return")
                statement, rest = here.todo[0], here.todo[1:]
                reader = self.reader(with_this)
                if isinstance(statement, Assign):
                    here.store[statement.name] = reader.value(statement.value, here)
                    here.todo = rest
                elif isinstance(statement, If | While) and not self.is_stop(statement):
                    ways = self.ways(statement, rest, reader.truth(statement.test, here), with_this)
                    if not ways:  # one of both branches is taken, unless nothing ever gets here
                        self.still(with_this)
                        break
                    for todo, more in ways[1:]:
                        copy = here.copy()
                        copy.todo = todo
                        waiting.append((copy, more))
                    here.todo, with_this = ways[0]
                elif isinstance(statement, Draw | Return | Back | While):
                    found.append((here, with_this))
                    break
                else:
                    here.todo = rest
        return found

    def is_stop(self, statement: If | While) -> bool:
        """Loops with invariants are entered together."""
        return isinstance(statement, While) and statement.number in self.case.invariants

    def ways(self, node: If | While, rest: tuple[Any, ...], test: Any, known: list[Any]) -> list[tuple[Any, list[Any]]]:
        """The branches that are possible."""
        yes = (*node.body, node, *rest) if isinstance(node, While) else (*node.then, *rest)
        no = rest if isinstance(node, While) else (*node.other, *rest)
        if isinstance(node, While):
            self.rounds += 1
            if self.rounds > ROUNDS:
                raise NoProofRule("a loop that goes round too often")
        if z3.is_true(test):
            return [(yes, known)]
        if z3.is_false(test):
            return [(no, known)]
        both = ((yes, [*known, test]), (no, [*known, z3.Not(test)]))
        found = [way for way in both if self.possible(way[1])]
        if isinstance(node, While) and len(found) > 1:
            self.rounds += ROUNDS // 24  # loops with a known end are followed, others need invariants
        return found

    # ---- loops

    def loop(self, loop: While, one: SingleRun, two: SingleRun, known: list[Any]) -> None:
        """Both runs go round together, from any state that the invariants describe."""
        self.kept("entry", loop, one, two, known)
        runs = one.copy(), two.copy()
        begun = self.forget(loop, runs, known)
        with_this, reader = list(known), self.reader(known)
        for node in self.case.invariants[loop.number]:
            if not _same(node):
                with_this += [reader.truth(node, run) for run in runs]
        reader = self.reader(self.still(with_this))
        tests = [reader.truth(loop.test, run) for run in runs]
        goal = self.world.true if tests[0].eq(tests[1]) else z3.simplify(tests[0] == tests[1])
        reader.require("path", "both runs go round as often", loop.at, goal)
        rest = one.todo[1:]
        for run, after in zip(runs, (rest, two.todo[1:]), strict=True):
            run.todo = after
        inside = runs[0].copy(), runs[1].copy()
        for run, values in zip(inside, begun, strict=True):
            run.todo = (*loop.body, Back(loop, values))
        for ways, more in ((inside, tests), (runs, [z3.Not(test) for test in tests])):
            if self.possible([*with_this, *more]):
                self.explore(*ways, [*with_this, *more])

    def forget(
        self, loop: While, runs: tuple[SingleRun, SingleRun], known: list[Any]
    ) -> tuple[dict[str, Symbol], dict[str, Symbol]]:
        """Replace what a loop may change by unknown values, the same one for what is said to be the same; return
        them.
        """
        begun: tuple[dict[str, Symbol], dict[str, Symbol]] = ({}, {})
        same = {_same(node) for node in self.case.invariants[loop.number]}
        inner = {statement.number for statement in statements(loop.body) if isinstance(statement, Draw)}
        for name in sorted(changed(loop.body)):
            values = [run.store.pop(name, None) for run in runs]
            if values[0] is None or values[1] is None:
                continue
            fresh = self.unknown(name, values[0], known)
            runs[0].store[name] = fresh
            runs[1].store[name] = fresh if name in same else self.unknown(name, values[1], known)
            for run, values_of in zip(runs, begun, strict=True):
                values_of[name] = run.store[name]
        for run in runs:
            for number in inner:
                run.draws.pop(number, None)
        return begun

    def unknown(self, name: str, like: Symbol, known: list[Any]) -> Symbol:
        """Any value of the kind that a variable holds, on the path where this is known."""
        world = self.world
        match like:
            case SolverTruth():
                return SolverTruth(world.truth(name))
            case BitList(size=size):
                return world.bit_list(name, size)
            case Row() | Chain() | Given():
                size = world.integer(f"size {name}")
                world.facts.learn(known, size >= 0)
                return Chain(z3.Const(world.name(name), world.list_sort), size)
        whole = self.kinds.get(name) == "int" and world.number(like).is_int()
        return SolverNumber(world.integer(name) if whole else world.real(name))

    def kept(self, kind: str, loop: While, one: SingleRun, two: SingleRun, known: list[Any]) -> None:
        """The conditions that invariants hold at the beginning of a round."""
        for run in (one, two):
            if isinstance(run.todo[0], Back):
                self.fits(run.todo[0], run, known)
        for place, node in enumerate(self.case.invariants[loop.number]):
            reader, label = self.reader(known), f"{loop.number}:{place}"
            name = _same(node)
            if name is None:
                for run in (one, two):
                    reader.require(kind, label, loop.at, reader.truth(node, run))
            elif name in one.store and name in two.store:
                goal, pairs = self.world.equal(one.store[name], two.store[name])
                reader.require(kind, label, loop.at, goal, pairs)

    def fits(self, end: Back, run: SingleRun, known: list[Any]) -> None:
        """What a round leaves is of the kind that every round begins with."""
        for name, begun in end.begun.items():
            after = run.store[name]
            if _shape(begun) != _shape(after):
                raise NoProofRule(f'"{name}" holds values of different kinds')
            if isinstance(begun, BitList) and isinstance(after, BitList):
                goal = z3.simplify(begun.size == after.size)
                self.reader(known).require("step", f"the length of {name} stays", end.loop.at, goal)
            if isinstance(begun, SolverNumber) and begun.term.is_int() and not self.world.number(after).is_int():
                raise NoProofRule(f'"{name}" holds values of different kinds')


def _shape(value: Symbol) -> str:
    match value:
        case SolverTruth():
            return "truth"
        case BitList():
            return "bits"
        case Row() | Chain() | Given():
            return "list"
    return "number"


def _same(node: Expr) -> str | None:
    """The variable of which an invariant says that it is the same in both runs."""
    match node:
        case FunctionCall(name="#same", args=(Var(name=name),)):
            return name
    return None


# ---- independent draws in another order


def side_by_side(body: tuple[Stmt, ...]) -> tuple[Draw, ...]:
    """The first draws of a body that stand side by side, none of which reads or replaces another."""
    found: list[Draw] = []
    drawn: set[str] = set()
    read: set[str] = set()
    for statement in body:
        if not isinstance(statement, Draw):
            if found:
                break
            continue
        reads = {name for arg in statement.args for name in names(arg)}
        if drawn & {statement.name, *reads} or statement.name in read:
            break
        found.append(statement)
        drawn.add(statement.name)
        read |= reads
    return tuple(found)


def turned_body(body: tuple[Stmt, ...], order: tuple[int, ...]) -> tuple[Stmt, ...]:
    """A body whose first draws side by side are made in another order: its law is the same."""
    if not order:
        return body
    draws = side_by_side(body)
    if sorted(order) != list(range(len(draws))):
        raise NoProofRule("an order that is none")
    start = body.index(draws[0])
    return (*body[:start], *(draws[place] for place in order), *body[start + len(draws) :])


# ---- the law that `uniform` compares with


def ideal(program: Program, order: tuple[int, ...] = ()) -> Program:
    """A program that returns every value of the output type equally often: a draw for each part, in any order."""
    body: list[Stmt] = []
    value = _sampled(program.output, body)
    if order and sorted(order) != list(range(len(body))):
        raise NoProofRule("an order that is none")
    drawn = [body[place] for place in order] if order else body
    return replace(program, body=(*drawn, Return(value)))


def _sampled(kind: Type, body: list[Stmt]) -> Expr:
    number = len(body) + 1
    name = f"u{number}"
    match kind.kind:
        case "bits":
            body.append(Draw(name, "Uniform", kind.args, number))
            return Var(name)
        case "range":
            body.append(Draw(name, "Uniform", kind.args, number))
            return Var(name)
        case "bool":
            body.append(Draw(name, "Bernoulli", (Num(Fraction(1, 2)),), number))
            return Binary("=", Var(name), Num(Fraction(1)))
        case "tuple":
            return SequenceLiteral(tuple(_sampled(item, body) for item in kind.items))
    raise NoProofRule("an output type that has no uniform law")
