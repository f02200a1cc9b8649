"""Verify, refuter: the search. Comes in: a program with a claim. Goes out: a certified witness, or None.

Small inputs first. On a neutral input all ways through the program are listed; for each way it is seen which elements
make its event less likely when they grow; then inputs are moved far to the unlikely side, and the neighbour one step
further, where losses come near their supremum. The first depth at which the claim breaks is kept: it is the event
that a sampler sees most often. Nothing but `witness.certified` says that a claim is false.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice, product
from typing import Any

from sfumato.verify.cases import Maker, make_pools
from sfumato.verify.refuter.chances import Noise, NotComputed, ball, with_precision
from sfumato.verify.refuter.events import Event, chance_of, event_around, leaves_of, meets, reduced
from sfumato.verify.refuter.forms import Form
from sfumato.verify.refuter.paths import TooMany, Walker, Way
from sfumato.verify.refuter.witness import Witness, as_input, certified, real, refutes
from sfumato.verify.run import Env, Fault, NotRun, TooLong
from sfumato.verify.tree import Draw, Param, Program, Type, names, statements

DEPTHS = tuple(Fraction(n, 2) for n in (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128))
FAR, NEAR, REVEALED = (Fraction(64), Fraction(0)), (Fraction(0), Fraction(1, 2)), (Fraction(-1, 2), Fraction(0))
"""Depth of the inputs, and how much nearer the event's threshold is, where it is first looked whether a claim
breaks.
"""
SIZES, WORK, WAYS = 9, 60_000, 10
"""Lists of up to so many elements; so much work (about ways times noises) before the search gives up, and so many
ways for each setting.
"""


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


@dataclass(slots=True)
class Search:
    """What is left to spend, and the best loss seen."""

    program: Program
    work: int = WORK
    best: float = 0.0
    tried: set[Any] = field(default_factory=set)
    seen: dict[Any, list[Way]] = field(default_factory=dict)
    maker: Maker = field(init=False)
    walker: Walker = field(init=False)

    def __post_init__(self) -> None:
        self.maker = Maker(self.program)
        self.walker = Walker(self.program, most=300)

    def run(self) -> Witness | None:
        """The first witness."""
        if any(isinstance(part, Draw) and part.law == "Gauss" for part in statements(self.program.body)):
            return None  # its losses grow without end: normal.py
        with_precision(384)
        try:
            for public, size in self._settings():
                found = self._at(public, size)
                if found is not None:
                    return found
        except _Spent:
            return None
        return None

    def _settings(self) -> Iterator[tuple[Env, int]]:
        """Parameters and sizes: epsilon 1 first, short lists first, promising parameters first."""
        pools = make_pools(self.program, SIZES)
        lists = any(param.private and param.type.kind == "list" for param in self.program.params)
        sizes = [size for size in pools.sizes if size > 0] if lists else [0]
        more = (Fraction(1, 4), Fraction(4), Fraction(1, 10), Fraction(10))
        first, rest_eps = pools.eps[0], [*pools.eps[1:], *more]
        plans = [(first, size) for size in sizes]
        others = [(eps, size) for eps in rest_eps for size in sizes[:2]]
        plans = [*plans, *others] if self._scales_with_epsilon(sizes) else [*plans[:2], *others, *plans[2:]]
        deltas = pools.delta if self._names("delta") else pools.delta[:1]
        kept: list[tuple[Env, int]] = []
        for (eps, size), delta in product(plans, deltas):
            found = self._publics({"eps": eps, "delta": delta}, size)
            rest = found[1:]
            yield from ((public, size) for public in found[:1])
            if size <= 2:  # small ones are cheap
                yield from ((public, size) for public in rest)
            else:
                kept += [(public, size) for public in rest if eps == first]
        yield from kept

    def _scales_with_epsilon(self, sizes: list[int]) -> bool:
        """Whether noise and claim just scale when epsilon doubles: then epsilon 1 shows what others would."""
        seen = []
        for eps in (Fraction(1), Fraction(2)):
            for env in self._publics({"eps": eps, "delta": Fraction(0)}, sizes[0])[:1]:
                neutral = self.neutral(env, sizes[0])
                assert neutral is not None
                scales = [tuple(noise.scale * eps for noise in way.noises) for way in self._ways(neutral)]
                seen.append((scales, float((real(self.program.claim[0], neutral) / int(eps)).mid())))
        return len(seen) == 2 and seen[0] == seen[1]

    def _names(self, name: str) -> bool:
        return any(name in names(node) for node in (*self.program.requires, *self.program.claim))

    def _publics(self, base: Env, size: int) -> list[Env]:
        """Parameters: of those that are admitted, those under which runs are given away most by their noise."""
        pools = make_pools(self.program, SIZES)
        named = [param for param in self.program.params if not param.private]
        if any(param.type.kind in ("list", "bits", "tuple", "bool") for param in named):
            return []
        ordered = [tuple(dict.fromkeys((*pools.publics[param.name], Fraction(size)))) for param in named]
        found: list[tuple[Fraction, bool, Env]] = []
        for values in islice(product(*ordered), 400):
            env = base | {param.name: value for param, value in zip(named, values, strict=True)}
            neutral = self.neutral(env, size)
            if neutral is None or not self.maker.admits(neutral):
                continue
            try:
                limit = float(real(self.program.claim[0], neutral).mid())
                ends = self.walker.ends(as_input(neutral))
            except (NotRun, TooMany, Fault, TooLong):
                continue
            most = max(_given_away(way) for way in ends)
            found.append((most - Fraction(limit), any(_shows(way) for way in ends), env))
            if len(found) >= 16:
                break
        if not found:
            return []
        found.sort(key=lambda row: -row[0])
        bare = [row for row in found if row[1] and row[1] != found[0][1]]
        level = [row for row in found if row[0] == found[0][0]]
        chosen = [*bare[:1], found[0], *(level[1:] if not size else [*level[1:3], level[-1]])]
        return [env for place, (_, _, env) in enumerate(chosen) if env not in [row[2] for row in chosen[:place]]]

    # ---- inputs

    def _private(self) -> list[Param]:
        return [param for param in self.program.params if param.private]

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

    def _at(self, public: Env, size: int) -> Witness | None:
        neutral = self.neutral(public, size)
        if neutral is None:
            return None
        try:
            ways = self._ways(neutral)
        except (NotRun, TooMany, Fault, TooLong):
            return None
        ways.sort(key=lambda way: (-_given_away(way), way.decided))
        for way in ways[:WAYS]:
            for side in (-1, 1, 0):
                try:
                    found = self._around(way, side, neutral, size)
                except (NotRun, NotComputed, TooMany, Fault, TooLong):
                    continue
                if found is not None:
                    return found
                if not event_around(way, (), Fraction(0)).tests:
                    break
        return None

    def _ways(self, env: Env) -> list[Way]:
        key = tuple(sorted(env.items()))
        if key not in self.seen:
            if len(self.seen) > 64:
                self.seen.clear()
            self.seen[key] = self.walker.ways(as_input(env))
        return self.seen[key]

    def _chance(self, event: Event, env: Env) -> Any:
        """The chance of an event; what it takes is taken off the work that is allowed."""
        ways = self._ways(env)
        meeting = [way for way in ways if meets(event, way) is not None]
        self.work -= 4 + len(ways) + sum(len(way.noises) ** 2 for way in meeting)
        if self.work < 0:
            raise _Spent
        return chance_of(event, meeting)

    def _around(self, way: Way, side: int, neutral: Env, size: int) -> Witness | None:
        """Look for a witness near one way through the program: outputs below (-1), above (1), or each where it moves
        from (0).
        """
        look = Look(way, side, neutral)
        signs, hidden = self._signs(way, side, neutral, size)
        for plan in self._plans(signs, size):
            for depth, offset in self._looks(way, hidden=hidden):
                if self._breaks(look, plan, depth, offset) is None:
                    continue
                for nearer in (*DEPTHS, depth):
                    pair = self._breaks(look, plan, nearer, offset)
                    if pair is not None:
                        found = certified(self.program, *pair)
                        if found is not None:
                            return found
        return None

    @staticmethod
    def _looks(way: Way, *, hidden: bool) -> Iterator[tuple[Fraction, Fraction]]:
        yield FAR
        if event_around(way, (), Fraction(0)).tests:
            yield NEAR
        if hidden:
            yield REVEALED

    def _signs(self, way: Way, side: int, neutral: Env, size: int) -> tuple[dict[Element, int], bool]:
        """+1 where a greater element makes the event of this way less likely, -1 where more likely, 0 where it does
        nothing.

        And whether two tests on the neutral input exclude each other, as when nothing but inputs decides between them.
        """
        event = event_around(way, (side,) if side else None, Fraction(0))
        before = self._tests(event, way)
        found = {}
        for element in self.elements(size) + [
            Element(f"{use.name}()", None, Type("real")) for use in self.program.uses
        ]:
            poles = self.poles(element.type, neutral) or (Fraction(0), Fraction(1))
            moved = self.walker.way(as_input(put(neutral, element, poles[1])), way.decided)
            after = self._tests(event, moved) if moved else None
            found[element] = self._sign(before, after)
            if not found[element] and moved and (moved.noises != way.noises or moved.output != way.output):
                found[element] = 1
        if self.program.uses and not any(found[element] for element in self.elements(size)):
            found |= dict.fromkeys(self.elements(size), 1)
        seen = {test.factors for test in before or ()}
        return found, any(tuple((noise, -factor) for noise, factor in factors) in seen for factors in seen)

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
        most = self._at_most(event, look.way.decided, (one, two))
        if most is not None and ball(most) <= limits[0]:
            return None
        chances = [self._chance(event, env) for env in (one, two)]
        if chances[1] > 0 and chances[0] > 0 and limits[0] > 0:
            self.best = max(self.best, abs(float(((chances[0] / chances[1]).log() / limits[0]).mid())))
        if refutes(chances[0], chances[1], limits):
            return one, two, event
        if refutes(chances[1], chances[0], limits):
            return two, one, event
        self.tried.add(tried)
        return None

    def _at_most(self, event: Event, decided: tuple[int, ...], pair: tuple[Env, Env]) -> Fraction | None:
        """What this way can lose at most: the cost of moving noises so that all its tests stay as they are."""
        one, two = (self.walker.way(as_input(env), decided) for env in pair)
        if one is None or two is None or one.noises != two.noises:
            return None
        first, second = self._tests(event, one), self._tests(event, two)
        if first is None or second is None or [test.factors for test in first] != [test.factors for test in second]:
            return None
        steps = [b.constant - a.constant for a, b in zip(first, second, strict=True)]
        costs = [_cover(first, steps, one.noises, widest=widest) for widest in (True, False)]
        return min((cost for cost in costs if cost is not None), default=None)

    def _far(self, neutral: Env, signs: dict[Element, int], depth: Fraction) -> Env:
        env = neutral
        for element, sign in signs.items():
            if element.name.endswith("()"):
                continue
            poles = self.poles(element.type, neutral)
            if poles:
                env = put(env, element, poles[0] if sign >= 0 else poles[1])
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


def _cover(tests: list[Form], steps: list[Fraction], noises: tuple[Noise, ...], *, widest: bool) -> Fraction | None:
    """The cost of undoing all steps by noises of which each undoes every test that it stands in; None if that fails."""
    members: dict[int, list[tuple[int, Fraction]]] = {}
    for place, test in enumerate(tests):
        for number, factor in test.factors:
            members.setdefault(number, []).append((place, factor))
    left = {place for place, step in enumerate(steps) if step}
    cost = Fraction(0)
    for number, where in sorted(
        members.items(), key=lambda item: (len(item[1]) if not widest else -len(item[1]), item[0])
    ):
        shifts = {-steps[place] / factor for place, factor in where}
        if len(shifts) == 1 and {place for place, _ in where} <= left:
            cost += abs(shifts.pop()) / noises[number].scale
            left -= {place for place, _ in where}
    return None if left else cost


def _shows(way: Way) -> bool:
    """Whether an output holds a number, or outputs a combination of numbers, without noise."""
    _, leaves = leaves_of(way.output)
    bare = any(isinstance(leaf, Fraction) for leaf in leaves)
    return bare or any(not isinstance(value, Form) for _, value in reduced(leaves))


def _given_away(way: Way) -> Fraction:
    """At most what moving every noise of a way by one costs: where that is much, much may be lost."""
    return sum((1 / noise.scale for noise in way.noises), Fraction(0))


class _Spent(Exception):
    """No more work is allowed."""


def put(env: Env, element: Element, value: Any) -> Env:
    """An input with one element changed."""
    if element.place is None:
        return env | {element.name: value}
    items = list(env.get(element.name, ()))
    while len(items) <= element.place:
        items.append(value)
    items[element.place] = value
    return env | {element.name: tuple(items)}
