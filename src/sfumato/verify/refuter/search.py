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
from itertools import islice, product
from typing import Any

from sfumato.verify.cases import Maker, make_pools
from sfumato.verify.refuter.chances import NotComputed, with_precision
from sfumato.verify.refuter.events import Event, begins, chance_of, event_around, leaves_of, meets, reduced
from sfumato.verify.refuter.forms import Form
from sfumato.verify.refuter.lettered import Lettered, lettered, most, signs
from sfumato.verify.refuter.paths import INPUT, TooMany, Walker, Way
from sfumato.verify.refuter.witness import Witness, as_input, certified, real, refutes
from sfumato.verify.run import Env, Fault, NotRun, TooLong
from sfumato.verify.tree import Draw, Num, Param, Program, Type, expressions, names, statements, walk

DEPTHS = tuple(Fraction(n, 2) for n in (0, 1, 2, 4, 8, 16, 32, 64))
FAR, NEAR, REVEALED = (Fraction(64), Fraction(0)), (Fraction(0), Fraction(1, 2)), (Fraction(-1, 2), Fraction(0))
APART, BETWEEN, MIDDLE = (Fraction(0), Fraction(-64)), (Fraction(6), Fraction(0)), Fraction(-1000)
"""Depth of the inputs, and how much nearer the event's threshold is, where it is first looked whether a claim
breaks.
"""
SIZES, WORK, WAYS, ALL, PUBLICS, NEARER = 12, 45_000, 8, 40, 16, 1500
"""Lists of up to so many elements; so much work (about ways times noises) before the search gives up, so many looks
for each of up to three of so many parameters, so many ways are all looked at, and so much work goes into seeing a
witness more often.
"""
UNKNOWN = 1e6
"""What may be lost where that is not known: much."""


@dataclass(frozen=True, slots=True)
class Element:
    """A private element: a place of a list, a parameter, or a function of `uses`."""

    name: str
    place: int | None
    type: Type


Plan = tuple[dict[Element, int], dict[Element, int]]
"""The signs of all elements, and of those that change."""


@dataclass(frozen=True, slots=True)
class Look:
    """Where a witness is looked for: near a way, on one side of its outputs, from a neutral input."""

    way: Way
    side: int
    neutral: Env


@dataclass(frozen=True, slots=True)
class Task:
    """One place to look at: which elements change, and what may be lost."""

    look: Look
    plan: Plan
    most: float


@dataclass(slots=True)
class Search:
    """What is left to spend, and the best loss seen."""

    program: Program
    work: int = WORK
    best: float = 0.0
    seen_loss: float = 0.0  # of the last look
    cost: int = 0  # of the last chance
    tried: set[Any] = field(default_factory=set)
    seen: dict[Any, list[Way]] = field(default_factory=dict)
    maker: Maker = field(init=False)
    walker: Walker = field(init=False)
    written: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        self.maker = Maker(self.program)
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
            found = self._publics({"eps": eps, "delta": delta}, size)
            if found:
                yield found, size

    def _scales_with_epsilon(self, sizes: list[int]) -> bool:
        """Whether noise and claim just scale when epsilon doubles: then epsilon 1 shows what others would."""
        seen = []
        for eps in (Fraction(1), Fraction(2)):
            for env in self._publics({"eps": eps, "delta": Fraction(0)}, sizes[0])[:1]:
                neutral = self.neutral(env, sizes[0])
                assert neutral is not None
                try:
                    ways = self._ways(neutral)
                except (NotRun, TooMany, Fault, TooLong):
                    return False
                scales = [tuple(noise.scale * eps for noise in way.noises) for way in ways]
                seen.append((scales, float((real(self.program.claim[0], neutral) / int(eps)).mid())))
        return len(seen) == 2 and seen[0] == seen[1]

    def _names(self, name: str) -> bool:
        return any(name in names(node) for node in (*self.program.requires, *self.program.claim))

    def _publics(self, base: Env, size: int) -> list[Env]:
        """Parameters that are admitted; of those that agree in whole numbers only two."""
        pools = make_pools(self.program, SIZES)
        named = [param for param in self.program.params if not param.private]
        if any(param.type.kind in ("list", "bits", "tuple") for param in named):
            return []
        more = {param.name: () if param.type.kind == "bool" else (Fraction(size),) for param in named}
        ordered = [tuple(dict.fromkeys((*pools.publics[name], *size))) for name, size in more.items()]
        found: list[Env] = []
        alike: dict[tuple[Fraction, ...], int] = {}
        for values in islice(product(*ordered), 400):
            whole = tuple(
                value for param, value in zip(named, values, strict=True) if param.type.kind in ("int", "range", "bool")
            )
            env = base | {param.name: value for param, value in zip(named, values, strict=True)}
            if alike.get(whole, 0) >= ((2 if whole else PUBLICS) if size < 2 else 1):
                continue
            neutral = self.neutral(env, size)
            if neutral is None or not self.maker.admits(neutral):
                continue
            alike[whole] = alike.get(whole, 0) + 1
            found.append(env)
            if len(found) >= PUBLICS:
                break
        return found

    # ---- inputs

    def _private(self) -> list[Param]:
        return [param for param in self.program.params if param.private]

    def _all_elements(self, size: int) -> list[Element]:
        """Private elements, and functions of `uses`."""
        return self.elements(size) + [Element(f"{use.name}()", None, Type("real")) for use in self.program.uses]

    def elements(self, size: int) -> list[Element]:
        """The private elements of inputs with lists of this size."""
        found = []
        for param in self._private():
            if param.type.kind == "list":
                found += [Element(param.name, place, param.type.items[0]) for place in range(size)]
            else:
                found.append(Element(param.name, None, param.type))
        return found

    def poles(self, kind: Type, env: Env) -> tuple[Any, Any] | None:
        """The two ends of a type; None if it has none."""
        match kind.kind:
            case "interval" | "range":
                low, high = (self.maker.bound(end, env) for end in kind.args)
                return low, high
            case "bool":
                return False, True
            case "bits":
                bits = int(self.maker.bound(kind.args[0], env))
                return (Fraction(0),) * bits, (Fraction(1),) * bits
            case "tuple":
                pairs = [self.poles(item, env) or (Fraction(0), Fraction(1)) for item in kind.items]
                return tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
            case "list":
                raise NotRun
        return None

    def neutral(self, public: Env, size: int) -> Env | None:
        """The input whose numbers are zero, or at the lower end of their type."""
        try:
            env = dict(public)
            for element in self.elements(size):
                poles = self.poles(element.type, public)
                env = put(env, element, poles[0] if poles else Fraction(0))
            for param in self._private():
                env.setdefault(param.name, ())
            return env | {f"{use.name}()": Fraction(0) for use in self.program.uses}
        except (NotRun, Fault, ValueError):
            return None

    # ---- one setting

    def _at(self, publics: list[Env], size: int) -> Witness | None:
        """The first witness at one size: where most may be lost is looked at first."""
        tasks: list[Task] = []
        for public in publics:
            neutral = self.neutral(public, size)
            if neutral is not None:
                try:
                    tasks += self._tasks(neutral, size)
                except (NotRun, TooMany, Fault, TooLong):
                    continue
        tasks.sort(key=lambda task: -task.most)
        different = {_alike(task): task for task in reversed(tasks)}  # of those that look alike the most promising
        chosen = sorted(different.values(), key=lambda task: -task.most)
        for task in chosen[: WAYS * min(len(publics), 3)]:
            try:
                found = self._around(task)
            except (NotRun, NotComputed, TooMany, Fault, TooLong):
                continue
            if found is not None:
                return found
        return None

    def _tasks(self, neutral: Env, size: int) -> Iterator[Task]:
        """Where to look: near each way, outputs below (-1), above (1), or each where it moves from (0)."""
        letters = {INPUT + place: element for place, element in enumerate(self._all_elements(size))}
        ways = self._promising(self._marked(neutral, letters), size)
        slow = not ways
        for found in ways or self._promising(neutral, size):
            sides = (-1, 1, 0) if event_around(found.way, (), Fraction(0)).tests else (-1,)
            same = [other for other in ways if len(sides) == 1 and _output(other) == _output(found)]
            for side in sides:
                self.work -= 2 + size // 4
                if self.work < 0:
                    raise _Spent
                look = Look(found.way, side, neutral)
                if slow or found.hidden:
                    yield from self._slowly(look, size, hidden=found.hidden)
                    continue
                signed = {letters[letter]: sign for letter, sign in signs(found, side, list(letters)).items()}
                if self.program.uses and not any(signed[element] for element in self.elements(size)):
                    signed |= dict.fromkeys(self.elements(size), 1)
                for plan in self._plans(signed, size):
                    tried = (self._above(other, look, plan, letters) for other in (found, *same[:6]))
                    above = next((lost for lost in tried if lost > 0), 0.0)
                    if above > 0:
                        yield Task(look, plan, above)

    def _marked(self, neutral: Env, letters: dict[int, Element]) -> Env | None:
        """The input with a letter added to each number; None if some elements are no numbers."""
        if any(element.type.kind not in ("real", "int", "interval", "range") for element in letters.values()):
            return None
        marked = neutral
        for letter, element in letters.items():
            marked = put(marked, element, Form(_get(neutral, element), ((letter, Fraction(1)),)))
        return marked

    def _promising(self, env: Env | None, size: int) -> list[Lettered]:
        """All ways if there are few; else those that change their mind seldom, or at equal intervals; none if this
        input cannot be walked.
        """
        if env is None:
            return []
        self.work -= ALL
        walker = Walker(self.program, most=ALL)
        try:
            return [lettered(way) for way in walker.ways(as_input(env))]
        except TooMany:
            pass
        except (NotRun, Fault, TooLong, TypeError):
            return []
        rules = [rule for first in range(2 * size) for rule in _rules(first, size)]
        self.work -= len(rules)
        found = {way.decided: way for way in (walker.by_rule(as_input(env), rule) for rule in rules)}
        return [lettered(way) for way in found.values()]

    def _above(self, found: Lettered, look: Look, plan: Plan, letters: dict[int, Element]) -> float:
        """How far above the claim a plan may lose."""
        if any(element.type.kind == "gone" for element in plan[1]):
            return UNKNOWN
        one = self._far(look.neutral, plan[0], FAR[0])
        two = self._changed(one, plan[1], look.neutral)
        change = {letter: _get(two, element) - _get(one, element) for letter, element in letters.items()}
        lost = most(found, look.side, change)
        return UNKNOWN if lost is None else lost - float(real(self.program.claim[0], one).mid()) * (1 + 1e-9)

    def _slowly(self, look: Look, size: int, *, hidden: bool) -> Iterator[Task]:
        """The same for ways that are not linear in inputs: each element is moved for itself."""
        try:
            signed = self._signs(look.way, look.side, look.neutral, size)
            if hidden:  # inputs alone decide something, perhaps far from here
                signed = {element: sign or 1 for element, sign in signed.items()}
            for plan in self._plans(signed, size):
                self.work -= 4
                yield Task(look, plan, UNKNOWN)
        except (NotRun, NotComputed, TooMany, Fault, TooLong):
            return

    def _ways(self, env: Env) -> list[Way]:
        key = tuple(sorted(env.items()))
        if key not in self.seen:
            if len(self.seen) > 64:
                self.seen.clear()
            self.seen[key] = self.walker.ways(as_input(env))
        return self.seen[key]

    def _chance(self, event: Event, env: Env) -> Any:
        """The chance of an event; what it takes is taken off the work that is allowed."""
        ways = self.walker.ways(as_input(env), partial(begins, event)) if self.walker.grown else self._ways(env)
        meeting = [way for way in ways if meets(event, way) is not None]
        self.cost = 4 + len(ways) + sum(len(way.noises) ** 2 for way in meeting)
        self.work -= self.cost
        if self.work < 0:
            raise _Spent
        return chance_of(event, meeting)

    def _around(self, task: Task) -> Witness | None:
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

    def _nearer(self, task: Task, far: tuple[Env, Env, Event], offset: Fraction) -> Witness | None:
        """The same at the first depth at which the claim breaks, if that is found with little work."""
        enough = self.work - NEARER
        for depth in DEPTHS:
            if self.work - self.cost < enough:
                return None
            try:
                pair = self._breaks(task.look, task.plan, depth, offset)
            except (_Spent, NotRun, NotComputed, TooMany, Fault, TooLong):
                return None
            if pair is not None and pair != far:
                found = certified(self.program, *pair)
                if found is not None:
                    return found
        return None

    def _looks(self, task: Task) -> Iterator[tuple[Fraction, Fraction]]:
        """(depth of the inputs, how much nearer the event's threshold is)."""
        yield FAR
        yield NEAR
        yield BETWEEN
        yield REVEALED
        if task.most == UNKNOWN:  # nothing is known: inputs near the numbers of the text, and events far from inputs
            yield APART
            yield MIDDLE, Fraction(0)
            yield from ((number, Fraction(0)) for number in self.written)

    def _signs(self, way: Way, side: int, neutral: Env, size: int) -> dict[Element, int]:
        """+1 where a greater element makes the event of this way less likely, -1 where more likely, 0 where it does
        nothing.
        """
        event = event_around(way, (side,) if side else None, Fraction(0))
        before = self._tests(event, way)
        found = {}
        for element in self._all_elements(size):
            poles = self.poles(element.type, neutral) or (Fraction(0), Fraction(1))
            moved = self.walker.way(as_input(put(neutral, element, poles[1])), way.decided)
            after = self._tests(event, moved) if moved else None
            found[element] = self._sign(before, after)
            if not found[element] and moved and (moved.noises != way.noises or moved.output != way.output):
                found[element] = 1
        if self.program.uses and not any(found[element] for element in self.elements(size)):
            found |= dict.fromkeys(self.elements(size), 1)
        return found

    @staticmethod
    def _tests(event: Event, way: Way) -> list[Form] | None:
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

    def _plans(self, signs: dict[Element, int], size: int) -> Iterator[Plan]:
        """(signs, which elements change and by which sign), as the adjacency allows."""
        functions = {element: sign for element, sign in signs.items() if element.name.endswith("()")}
        inputs = {element: sign for element, sign in signs.items() if element not in functions}
        word = self.program.adjacent
        active = [element for element, sign in inputs.items() if sign]
        if word in ("all", "any"):
            yield signs, signs
        elif word in ("inc", "dec"):
            for wanted in (1, -1):
                yield signs, {element: sign for element, sign in inputs.items() if sign == wanted} | functions
        elif word == "one":
            for start in range(len(active)):
                chosen = active[start : start + self.program.group]
                yield signs, {element: inputs[element] for element in chosen} | functions
        elif word == "moves":
            ups = [element for element in active if inputs[element] > 0] or active
            for first in ups:
                for second in inputs:
                    if second != first:
                        yield signs, {first: 1, second: -1}
        elif word == "addremove" and len(self._private()) == 1:
            for place in range(size):
                yield signs, {Element(self._private()[0].name, place, Type("gone")): 0}

    def _breaks(self, look: Look, plan: Plan, depth: Fraction, offset: Fraction) -> tuple[Env, Env, Event] | None:
        """The pair and the event at a depth, in the order in which the claim breaks; None if it does not."""
        signs, changes = plan
        one = self._far(look.neutral, signs, depth)
        two = self._changed(one, changes, look.neutral)
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

    def _far(self, neutral: Env, signs: dict[Element, int], depth: Fraction) -> Env:
        env = neutral
        for element, sign in signs.items():
            if element.name.endswith("()"):
                continue
            poles = self.poles(element.type, neutral)
            if poles:
                middle = depth == MIDDLE and element.type.kind == "interval"
                env = put(env, element, sum(poles) / 2 if middle else poles[0] if sign >= 0 else poles[1])
            else:
                whole = depth if element.type.kind == "real" else Fraction(int(depth))
                env = put(env, element, sign * whole)
        return env

    def _changed(self, one: Env, changes: dict[Element, int], neutral: Env) -> Env:
        env = one
        for element, sign in changes.items():
            if element.type.kind == "gone":
                items = one[element.name]
                env = env | {element.name: (*items[: element.place], *items[element.place + 1 :])}  # type: ignore[operator]  # a place
            elif element.name.endswith("()"):
                use = next(use for use in self.program.uses if f"{use.name}()" == element.name)
                env = env | {element.name: one[element.name] + sign * self.maker.bound(use.sensitivity, neutral)}
            else:
                poles = self.poles(element.type, neutral)
                before = env[element.name] if element.place is None else env[element.name][element.place]
                if poles:
                    env = put(env, element, poles[1] if before == poles[0] else poles[0])
                else:
                    steps = self.program.group if self.program.adjacent == "one" and len(changes) == 1 else 1
                    env = put(env, element, before + sign * steps)
        return env

    def _event(self, way: Way, side: int, pair: tuple[Env, Env], depth: Fraction) -> Event | None:
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


def _output(found: Lettered) -> Event:
    """What a way shows, but for numbers with noise."""
    return event_around(found.way, None, Fraction(0))


def _alike(task: Task) -> tuple[Any, ...]:
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


def _get(env: Env, element: Element) -> Fraction:
    value = env[element.name] if element.place is None else env[element.name][element.place]
    assert isinstance(value, Fraction)
    return value


def put(env: Env, element: Element, value: Any) -> Env:
    """An input with one element changed."""
    if element.place is None:
        return env | {element.name: value}
    items = list(env.get(element.name, ()))
    while len(items) <= element.place:
        items.append(value)
    items[element.place] = value
    return env | {element.name: tuple(items)}
