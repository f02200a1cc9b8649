"""Verify, refuter: the search. Comes in: a program with a claim. Goes out: a certified witness, or None.

Small inputs first. On a neutral input all ways through the program are listed; for each way it is seen which elements
make its event less likely when they grow; then inputs are moved far to the unlikely side, and the neighbour one step
further, where losses come near their supremum. The first depth at which the claim breaks is kept: it is the event
that a sampler sees most often. Nothing but `witness.certified` says that a claim is false.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

from sfumato.verify.cases import Maker, make_pools
from sfumato.verify.effort import spend
from sfumato.verify.refuter.chances import NotComputed, with_precision
from sfumato.verify.refuter.events import OutputPattern, begins, chance_of, event_around, leaves_of, meets, reduced
from sfumato.verify.refuter.forms import Form
from sfumato.verify.refuter.inputs import MIDDLE, SIZES, Element, InputMaker, Plan, get, put
from sfumato.verify.refuter.lettered import Lettered, lettered, most, signs
from sfumato.verify.refuter.paths import INPUT, ProgramPath, TooManyPaths, Walker
from sfumato.verify.refuter.witness import Witness, as_input, certified, real, refutes
from sfumato.verify.run import REJECTED, Env, NotRun, RunFault, TooLong
from sfumato.verify.tree import Draw, Num, Program, expressions, names, statements, walk

DEPTHS = tuple(Fraction(n, 2) for n in (0, 1, 2, 4, 8, 16, 32, 64))
FAR, NEAR, REVEALED = (Fraction(64), Fraction(0)), (Fraction(0), Fraction(1, 2)), (Fraction(-1, 2), Fraction(0))
APART, BETWEEN = (Fraction(0), Fraction(-64)), (Fraction(6), Fraction(0))
"""Depth of the inputs, and how much nearer the event's threshold is, where it is first looked whether a claim
breaks.
"""
WORK, WAYS, ALL, NEARER = 45_000, 8, 40, 1500
"""So much work (about ways times noises) before the search gives up, so many looks
for each of up to three of so many parameters, so many ways are all looked at, and so much work goes into seeing a
witness more often.
"""
CHANCE = 25
"""Steps that a unit of this work counts for."""
UNKNOWN = 1e6
"""What may be lost where that is not known: much."""


@dataclass(frozen=True, slots=True)
class Look:
    """Where a witness is looked for: near a way, on one side of its outputs, from a neutral input."""

    way: ProgramPath
    side: int
    neutral: Env


@dataclass(frozen=True, slots=True)
class RefuterTask:
    """One place to look at: which elements change, and what may be lost."""

    look: Look
    plan: Plan
    most: float


@dataclass(slots=True)
class RefuterSearch:
    """What is left to spend, and the best loss seen."""

    program: Program
    work: int = WORK
    best: float = 0.0
    seen_loss: float = 0.0  # of the last look
    cost: int = 0  # of the last chance
    tried: set[Any] = field(default_factory=set)
    seen: dict[Any, list[ProgramPath]] = field(default_factory=dict)
    inputs: InputMaker = field(init=False)
    walker: Walker = field(init=False)
    written: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        self.inputs = InputMaker(self.program, Maker(self.program))
        numbers = {
            part.value
            for statement in statements(self.program.body)
            for node in expressions(statement)
            for part in walk(node)
            if isinstance(part, Num) and part.value not in (0, 1)
        }
        self.written = tuple(sorted(numbers)[:4])
        self.walker = Walker(self.program, most=300)

    def run(self) -> Witness | None:
        """The first witness."""
        drawn = {part.law for part in statements(self.program.body) if isinstance(part, Draw)}
        if drawn & {"Gauss", "Geometric", "TruncGeometric"}:
            return None  # normal.py and discrete.py look there
        with_precision(384)
        try:
            for publics, size in self._settings():
                found = self._at(publics, size)
                if found is not None:
                    return found
        except _Spent:
            return None
        return None

    def _settings(self) -> Iterator[tuple[list[Env], int]]:
        """Parameters and sizes: epsilon 1 first, short lists first."""
        pools = make_pools(self.program, SIZES)
        lists = any(param.private and param.type.kind == "list" for param in self.program.params)
        sizes = [size for size in pools.sizes if size and (size <= 6 or size % 2 == 0)] if lists else [0]
        more = (Fraction(1, 4), Fraction(4), Fraction(1, 10), Fraction(10))
        first, rest_eps = pools.eps[0], [*pools.eps[1:], *more]
        plans = [(first, size) for size in sizes]
        others = [(eps, size) for eps in rest_eps for size in sizes[:2]]
        plans = plans if self._scales_with_epsilon(sizes) else [*plans[:2], *others, *plans[2:]]
        deltas = pools.delta if self._names("delta") else pools.delta[:1]
        for (eps, size), delta in product(plans, deltas):
            found = self.inputs.publics({"eps": eps, "delta": delta}, size)
            if found:
                yield found, size

    def _scales_with_epsilon(self, sizes: list[int]) -> bool:
        """Whether noise and claim just scale when epsilon doubles: then epsilon 1 shows what others would."""
        seen = []
        for eps in (Fraction(1), Fraction(2)):
            for env in self.inputs.publics({"eps": eps, "delta": Fraction(0)}, sizes[0])[:1]:
                neutral = self.inputs.neutral(env, sizes[0])
                assert neutral is not None
                try:
                    ways = self._ways(neutral)
                except (NotRun, TooManyPaths, RunFault, TooLong):
                    return False
                scales = [tuple(noise.scale * eps for noise in way.noises) for way in ways]
                seen.append((scales, float((real(self.program.claim[0], neutral) / int(eps)).mid())))
        return len(seen) == 2 and seen[0] == seen[1]

    def _names(self, name: str) -> bool:
        return any(name in names(node) for node in (*self.program.requires, *self.program.claim))

    # ---- one setting

    def _at(self, publics: list[Env], size: int) -> Witness | None:
        """The first witness at one size: where most may be lost is looked at first."""
        tasks: list[RefuterTask] = []
        for public in publics:
            neutral = self.inputs.neutral(public, size)
            if neutral is not None:
                try:
                    tasks += self._tasks(neutral, size)
                except (NotRun, TooManyPaths, RunFault, TooLong):
                    continue
        tasks.sort(key=lambda task: -task.most)
        different = {_alike(task): task for task in reversed(tasks)}  # of those that look alike the most promising
        chosen = sorted(different.values(), key=lambda task: -task.most)
        for task in chosen[: WAYS * min(len(publics), 3)]:
            try:
                found = self._around(task)
            except (NotRun, NotComputed, TooManyPaths, RunFault, TooLong):
                continue
            if found is not None:
                return found
        return None

    def _tasks(self, neutral: Env, size: int) -> Iterator[RefuterTask]:
        """Where to look: near each way, outputs below (-1), above (1), or each where it moves from (0)."""
        letters = {INPUT + place: element for place, element in enumerate(self.inputs.all_elements(size))}
        ways = self._promising(self._marked(neutral, letters), size)
        slow = not ways
        for found in ways or self._promising(neutral, size):
            sides = (-1, 1, 0) if event_around(found.way, (), Fraction(0)).tests else (-1,)
            same = [other for other in ways if len(sides) == 1 and _output(other) == _output(found)]
            for side in sides:
                self._pay(2 + size // 4)
                look = Look(found.way, side, neutral)
                if slow or found.hidden:
                    yield from self._slowly(look, size, hidden=found.hidden)
                    continue
                signed = {letters[letter]: sign for letter, sign in signs(found, side, list(letters)).items()}
                if self.program.uses and not any(signed[element] for element in self.inputs.elements(size)):
                    signed |= dict.fromkeys(self.inputs.elements(size), 1)
                for plan in self.inputs.plans(signed, size):
                    tried = (self._above(other, look, plan, letters) for other in (found, *same[:6]))
                    above = next((lost for lost in tried if lost > 0), 0.0)
                    if above > 0:
                        yield RefuterTask(look, plan, above)

    def _marked(self, neutral: Env, letters: dict[int, Element]) -> Env | None:
        """The input with a letter added to each number; None if some elements are no numbers."""
        if any(element.type.kind not in ("real", "int", "interval", "range") for element in letters.values()):
            return None
        marked = neutral
        for letter, element in letters.items():
            marked = put(marked, element, Form(get(neutral, element), ((letter, Fraction(1)),)))
        return marked

    def _promising(self, env: Env | None, size: int) -> list[Lettered]:
        """All ways if there are few; else those that change their mind seldom, or at equal intervals; none if this
        input cannot be walked.
        """
        if env is None:
            return []
        self._pay(ALL)
        walker = Walker(self.program, most=ALL)
        try:
            return [lettered(way) for way in walker.ways(as_input(env))]
        except TooManyPaths:
            pass
        except (NotRun, RunFault, TooLong, TypeError):
            return []
        rules = [rule for first in range(2 * size) for rule in _rules(first, size)]
        self._pay(len(rules))
        found = {way.decided: way for way in (walker.by_rule(as_input(env), rule) for rule in rules)}
        return [lettered(way) for way in found.values()]

    def _above(self, found: Lettered, look: Look, plan: Plan, letters: dict[int, Element]) -> float:
        """How far above the claim a plan may lose."""
        if any(element.type.kind == "gone" for element in plan[1]):
            return UNKNOWN
        one = self.inputs.far(look.neutral, plan[0], FAR[0])
        two = self.inputs.changed(one, plan[1], look.neutral)
        change = {letter: get(two, element) - get(one, element) for letter, element in letters.items()}
        lost = most(found, look.side, change)
        return UNKNOWN if lost is None else lost - float(real(self.program.claim[0], one).mid()) * (1 + 1e-9)

    def _slowly(self, look: Look, size: int, *, hidden: bool) -> Iterator[RefuterTask]:
        """The same for ways that are not linear in inputs: each element is moved for itself."""
        try:
            signed = self._signs(look.way, look.side, look.neutral, size)
            if hidden:  # inputs alone decide something, perhaps far from here
                signed = {element: sign or 1 for element, sign in signed.items()}
            for plan in self.inputs.plans(signed, size):
                self._pay(4)
                yield RefuterTask(look, plan, UNKNOWN)
        except (NotRun, NotComputed, TooManyPaths, RunFault, TooLong):
            return

    def _ways(self, env: Env) -> list[ProgramPath]:
        key = tuple(sorted(env.items()))
        if key not in self.seen:
            if len(self.seen) > 64:
                self.seen.clear()
            self.seen[key] = self.walker.ways(as_input(env))
        return self.seen[key]

    def _chance(self, event: OutputPattern, env: Env) -> Any:
        """The chance of an event; what it takes is taken off the work that is allowed."""
        ways = self.walker.ways(as_input(env), partial(begins, event)) if self.walker.grown else self._ways(env)
        meeting = [way for way in ways if way.output is REJECTED or meets(event, way) is not None]
        self.cost = 4 + len(ways) + sum(len(way.noises) ** 2 for way in meeting)
        self._pay(self.cost)
        return chance_of(event, meeting)

    def _pay(self, work: int) -> None:
        self.work -= work
        spend(CHANCE * work)
        if self.work < 0:
            raise _Spent

    def _around(self, task: RefuterTask) -> Witness | None:
        """Look for a witness near one way through the program, and then for the nearest one to be seen."""
        look, plan = task.look, task.plan
        for depth, offset in self._looks(task):
            self.seen_loss = 0.0
            far = self._breaks(look, plan, depth, offset)
            if far is not None:
                return self._nearer(task, far, offset) or certified(self.program, *far)
            if self.seen_loss and task.most < UNKNOWN:  # far out is where losses are greatest, if they are seen there
                return None
        return None

    def _nearer(self, task: RefuterTask, far: tuple[Env, Env, OutputPattern], offset: Fraction) -> Witness | None:
        """The same at the first depth at which the claim breaks, if that is found with little work."""
        enough = self.work - NEARER
        for depth in DEPTHS:
            if self.work - self.cost < enough:
                return None
            try:
                pair = self._breaks(task.look, task.plan, depth, offset)
            except (_Spent, NotRun, NotComputed, TooManyPaths, RunFault, TooLong):
                return None
            if pair is not None and pair != far:
                found = certified(self.program, *pair)
                if found is not None:
                    return found
        return None

    def _looks(self, task: RefuterTask) -> Iterator[tuple[Fraction, Fraction]]:
        """(depth of the inputs, how much nearer the event's threshold is)."""
        yield FAR
        yield NEAR
        yield BETWEEN
        yield REVEALED
        if task.most == UNKNOWN:  # nothing is known: inputs near the numbers of the text, and events far from inputs
            yield APART
            yield MIDDLE, Fraction(0)
            yield from ((number, Fraction(0)) for number in self.written)

    def _signs(self, way: ProgramPath, side: int, neutral: Env, size: int) -> dict[Element, int]:
        """+1 where a greater element makes the event of this way less likely, -1 where more likely, 0 where it does
        nothing.
        """
        event = event_around(way, (side,) if side else None, Fraction(0))
        before = self._tests(event, way)
        found = {}
        for element in self.inputs.all_elements(size):
            poles = self.inputs.poles(element.type, neutral) or (Fraction(0), Fraction(1))
            moved = self.walker.way(as_input(put(neutral, element, poles[1])), way.decided)
            after = self._tests(event, moved) if moved else None
            found[element] = self._sign(before, after)
            if not found[element] and moved and (moved.noises != way.noises or moved.output != way.output):
                found[element] = 1
        if self.program.uses and not any(found[element] for element in self.inputs.elements(size)):
            found |= dict.fromkeys(self.inputs.elements(size), 1)
        return found

    @staticmethod
    def _tests(event: OutputPattern, way: ProgramPath) -> list[Form] | None:
        more = meets(event, way)
        return None if more is None else [*way.tests, *more]

    @staticmethod
    def _sign(before: list[Form] | None, after: list[Form] | None) -> int:
        if before is None:
            return 0
        if after is None or [test.factors for test in before] != [test.factors for test in after]:
            return 1
        steps = [b.constant - a.constant for a, b in zip(before, after, strict=True)]
        return 0 if not any(steps) else 1 if sum(steps) <= 0 else -1

    def _breaks(
        self, look: Look, plan: Plan, depth: Fraction, offset: Fraction
    ) -> tuple[Env, Env, OutputPattern] | None:
        """The pair and the event at a depth, in the order in which the claim breaks; None if it does not."""
        signs, changes = plan
        one = self.inputs.far(look.neutral, signs, depth)
        two = self.inputs.changed(one, changes, look.neutral)
        event = self._event(look.way, look.side, (one, two), depth - offset)
        tried = (event, *(tuple(sorted(env.items())) for env in (one, two)))
        if event is None or tried in self.tried:
            return None
        limits = [real(part, one) for part in self.program.claim]
        chances = [self._chance(event, env) for env in (one, two)]
        if chances[1] > 0 and chances[0] > 0 and limits[0] > 0:
            self.seen_loss = abs(float(((chances[0] / chances[1]).log() / limits[0]).mid()))
            self.best = max(self.best, self.seen_loss)
        if refutes(chances[0], chances[1], limits):
            return one, two, event
        if refutes(chances[1], chances[0], limits):
            return two, one, event
        self.tried.add(tried)
        return None

    def _event(self, way: ProgramPath, side: int, pair: tuple[Env, Env], depth: Fraction) -> OutputPattern | None:
        """The event of the same way on another input, its thresholds so deep."""
        one, two = (self.walker.way(as_input(env), way.decided) for env in pair)
        if one is None:
            return None
        if side:
            return event_around(one, (side,), depth)
        if two is None:
            return None
        first, second = (reduced(leaves_of(found.output)[1]) for found in (one, two))
        sides = []
        for (_, a), (_, b) in zip(first, second, strict=False):
            rises = isinstance(a, Form) and isinstance(b, Form) and b.constant >= a.constant
            sides.append(-1 if rises else 1)
        return event_around(one, tuple(sides), depth)


def _rules(first: int, size: int) -> list[Callable[[int], int]]:
    """Choices that change once, after the first ones, or again and again at that distance."""

    def once(k: int) -> int:
        return int(k >= first)

    def often(k: int) -> int:
        return int(k % (first + 1) == first)

    kinds = [once] if first == 0 or first >= size else [once, often]
    return [rule for kind in kinds for rule in (kind, lambda k, kind=kind: 1 - kind(k))]


def _output(found: Lettered) -> OutputPattern:
    """What a way shows, but for numbers with noise."""
    return event_around(found.way, None, Fraction(0))


def _alike(task: RefuterTask) -> tuple[Any, ...]:
    """What two tasks have in common that look at one event on one pair of inputs."""
    event = event_around(task.look.way, None, Fraction(0))
    return (
        tuple(sorted(task.look.neutral.items())),
        event,
        task.look.side,
        *(tuple(part.items()) for part in task.plan),
    )


class _Spent(Exception):
    """No more work is allowed."""
