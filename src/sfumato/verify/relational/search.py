"""Verify, relational: looking for couplings. Comes in: a program with a property. Goes out: a coupling that the kernel
accepts, or the condition at which none was found.

Draws begin without a coupling. The first pair of values that should be equal and is not gives an equation; it is solved
for the noise of the second run, and the runs begin again. What is left over is coupled by the identity. Invariants of
loops begin as all that may be the same, and lose what does not stay so.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations, permutations, product

import z3

from sfumato.verify.kernel.pair import CouplingCase, CouplingProof, RunPair, ideal, side_by_side
from sfumato.verify.kernel.secrecy import first_open, is_shown
from sfumato.verify.kernel.single import Open
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.relational.solve import NOISE, Maps, solutions
from sfumato.verify.tree import (
    Binary,
    Draw,
    Expr,
    FunctionCall,
    If,
    Num,
    Program,
    Var,
    While,
    changed,
    names,
    statements,
)

TRIES = 30
"""Pairs of runs that are followed for one beginning before the search gives up; and for all together:"""
ALL = 90
_ZERO = Num(Fraction(0))


@dataclass(slots=True)
class Hunt:
    """The search for one case."""

    program: Program
    tests: tuple[tuple[int, Expr], ...]
    truths: tuple[bool, ...]
    left: list[int]
    tries: int = TRIES
    stuck: tuple[RunPair, Open] | None = None
    seen: set[str] = field(default_factory=set)

    def find(self, case: CouplingCase) -> CouplingCase | None:
        """A case like this one under which everything is proved."""
        key = repr(
            (
                sorted(case.couplings.items()),
                sorted(case.alone),
                sorted(case.invariants.items()),
                case.order,
                case.turned,
            )
        )
        if self.tries <= 0 or self.left[0] <= 0 or key in self.seen:
            return None
        self.seen.add(key)
        self.tries -= 1
        self.left[0] -= 1
        pair = self.follow(case, searching=True)
        if pair is None:
            return None
        found = first_open(pair)
        if found is None:
            return self.finished(case, pair)
        self.stuck = self.stuck or (pair, found)
        for option in self.options(case, pair, found):
            done = self.find(option)
            if done is not None:
                return done
        return None

    def follow(self, case: CouplingCase, *, searching: bool) -> RunPair | None:
        """Two runs under a case; None where the proof rule says nothing."""
        pair = RunPair(self.program, case, searching)
        try:
            pair.run(self.tests, self.truths)
        except (NoProofRule, z3.Z3Exception):
            return None
        return pair

    def finished(self, case: CouplingCase, pair: RunPair) -> CouplingCase | None:
        """Couple what is left by the identity, and look whether that holds."""
        left = {meeting.sites: (NOISE, NOISE) for meeting in pair.meetings if meeting.open}
        done = replace(case, couplings={**left, **case.couplings})
        again = self.follow(done, searching=False)
        return done if again is not None and first_open(again) is None else None

    def options(self, case: CouplingCase, pair: RunPair, found: Open) -> list[CouplingCase]:
        """What may close an open condition, the likeliest first."""
        solved: list[tuple[tuple[int, int], Maps]] = []
        for one, two in found.pairs:
            for meeting in reversed([meeting for meeting in pair.meetings if meeting.open]):
                solved += [(meeting.sites, maps) for maps in solutions(pair.world, meeting, one, two)]
        options = [replace(case, couplings={**case.couplings, sites: maps}) for sites, maps in solved]
        dropped = _dropped(case, found)
        if dropped is not None and (not options or all(maps == (NOISE, NOISE) for _, maps in solved)):
            options.insert(0, dropped)
        elif dropped is not None:
            options.append(dropped)
        if found.kind in ("output", "path", "step", "entry"):
            left = dict.fromkeys(meeting.sites for meeting in pair.meetings if meeting.open)
            options += [replace(case, couplings={**case.couplings, sites: (NOISE, NOISE)}) for sites in left]
        return options


def _dropped(case: CouplingCase, found: Open) -> CouplingCase | None:
    """The case without the invariant that is not kept."""
    loop, _, place = found.label.partition(":")
    if found.kind not in ("step", "entry") or not place.isdigit():
        return None
    kept = [node for number, node in enumerate(case.invariants[int(loop)]) if number != int(place)]
    return replace(case, invariants={**case.invariants, int(loop): tuple(kept)})


Stuck = tuple[RunPair, Open] | None


def search(program: Program, tries: int = ALL) -> tuple[CouplingProof | None, Stuck]:
    """A coupling that shows the property; and else the first condition that was open."""
    stuck: Stuck = None
    tests, left = _tests(program), [tries]
    for chosen in ((), tests) if tests else ((),):
        cases = []
        for truths in product((True, False), repeat=len(chosen)):
            case, found_open = _case(program, chosen, truths, left)
            stuck = stuck or found_open
            if case is None:
                break
            cases.append(case)
        else:
            found = CouplingProof(chosen, tuple(cases))
            if is_shown(program, found):
                return found, None
    return None, stuck


def _case(
    program: Program, tests: tuple[tuple[int, Expr], ...], truths: tuple[bool, ...], left: list[int]
) -> tuple[CouplingCase | None, Stuck]:
    stuck: Stuck = None
    for start in _starts(program):
        hunt = Hunt(program, tests, truths, left)
        found = hunt.find(start)
        stuck = stuck or hunt.stuck
        if found is not None:
            return found, None
    return None, stuck


def _starts(program: Program) -> list[CouplingCase]:
    """Cases to begin with: loops with invariants, or passed round by round; for `uniform`, which draws count."""
    loops = [loop for loop in statements(program.body) if isinstance(loop, While)]
    plain = [CouplingCase()]
    if loops:
        plain.insert(0, CouplingCase(invariants={loop.number: _candidates(loop) for loop in loops}))
    draws = [draw.number for draw in statements(program.body) if isinstance(draw, Draw)]
    turns = _turns(program)
    if program.property != "uniform":
        others = [replace(case, alone=alone) for case in plain[-1:] for alone in _alone(draws)]
        return [*plain, *(replace(case, turned=turned) for case in plain for turned in turns), *others]
    try:
        parts = len(ideal(program).body) - 1
    except NoProofRule:
        return []
    found = []
    for case in [replace(case, turned=turned) for turned in ((), *turns) for case in plain]:
        for order in permutations(range(parts)) if parts <= 3 else (tuple(range(parts)),):
            for chosen in combinations(draws, parts):
                alone = frozenset((1, number) for number in draws if number not in chosen)
                found.append(replace(case, alone=alone, order=order))
    return found[:48]


def _turns(program: Program) -> list[tuple[int, ...]]:
    """Other orders of draws that stand side by side."""
    size = len(side_by_side(program.body))
    return list(permutations(range(size)))[1:] if 2 <= size <= 3 else []


def _alone(draws: list[int]) -> list[frozenset[tuple[int, int]]]:
    """Draws of one side that are made alone: for branches that draw differently."""
    if not 1 < len(draws) <= 4:
        return []
    return [frozenset({(1, number), (2, number)}) for number in draws]


def _candidates(loop: While) -> tuple[Expr, ...]:
    """What may hold whenever a round begins."""
    found: list[Expr] = [FunctionCall("#same", (Var(name),)) for name in sorted(changed(loop.body))]
    for node in _comparisons(loop.test):
        for left, right in ((node.left, node.right), (node.right, node.left)):
            if isinstance(left, Var) and left.name in changed(loop.body):
                found.append(Binary(">=", left, _ZERO))
                if not names(right) & changed(loop.body):
                    found.append(Binary("<=", left, right))
    return tuple(found)


def _comparisons(node: Expr) -> list[Binary]:
    if isinstance(node, Binary) and node.op in ("&&", "||"):
        return _comparisons(node.left) + _comparisons(node.right)
    return [node] if isinstance(node, Binary) and node.op in ("<", "<=", ">", ">=", "!=") else []


def _tests(program: Program) -> tuple[tuple[int, Expr], ...]:
    """Tests of inputs that both runs may answer differently."""
    inputs = {param.name for param in program.params} - changed(program.body) | {"eps", "delta"}
    private = {param.name for param in program.params if param.private}
    tests = [statement.test for statement in statements(program.body) if isinstance(statement, If)]
    found = [test for test in tests if names(test) <= inputs and names(test) & private]
    sides = (1,) if program.property == "uniform" else (1, 2)
    return tuple((side, test) for test in list(dict.fromkeys(found))[:2] for side in sides)
