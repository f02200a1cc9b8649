"""Verify, refuter: the search where draws can be listed but inputs cannot. Comes in: a program. Goes out: a witness, or
None.

Inputs are put far from each other in a few patterns and their neighbours one step further; both laws are computed, and
the outputs that break the claim are the event. A program with Geometric noise is first searched as if its noise were
Laplace noise, which has a search of its own. Nothing but `witness.certified` says that a claim is false.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice, product
from math import exp, log
from typing import Any

from sfumato.verify.cases import Maker, make_pools
from sfumato.verify.effort import spend
from sfumato.verify.finite.field import with_precision
from sfumato.verify.finite.law import Law, tagged
from sfumato.verify.refuter.events import OutputSet
from sfumato.verify.refuter.inputs import Element, InputMaker, put
from sfumato.verify.refuter.listed import law_at, may_contain, with_floats
from sfumato.verify.refuter.points import CONTINUOUS
from sfumato.verify.refuter.search import RefuterSearch
from sfumato.verify.refuter.twin import twin_of
from sfumato.verify.refuter.witness import Witness, certified, real
from sfumato.verify.run import Env, NotRun, RunFault
from sfumato.verify.tree import Binary, Draw, Num, Program, statements

FAR = tuple(map(Fraction, (0, 1, 4, 16, 64)))
WORK, FAILED, CERTIFIED = 60_000, 8, 6
"""States that are moved, laws that are too great, and candidates that are certified, before the search gives up."""
STATES, EACH = 6000, 12
"""States that are moved for one law at most, and what a law costs beside them."""
TWINS = tuple(map(Fraction, ("1", "9/8", "5/4", "3/2", "2", "3")))
"""Multiples of the claim that the twin is held against: where it loses more, it does so further out."""
TWIN_WORK = 20_000
"""Work for one search of the twin."""
EPS = tuple(map(Fraction, ("1", "1/2", "2", "4", "1/4", "1/10", "10")))


@dataclass(slots=True)
class ListingBudget:
    """What is left to spend, and the best loss seen."""

    program: Program
    best: float = 0.0
    laws: dict[Any, Law | None] = field(default_factory=dict)
    work: int = WORK
    failed: int = 0
    tried: int = 0
    base: InputMaker = field(init=False)

    def __post_init__(self) -> None:
        self.base = InputMaker(self.program, Maker(self.program))

    def run(self) -> Witness | None:
        """The first witness."""
        drawn = [part.law for part in statements(self.program.body) if isinstance(part, Draw)]
        if any(law in CONTINUOUS for law in drawn) or self.program.uses:
            return None
        found = self._by_twin() if {"Geometric", "TruncGeometric"} & set(drawn) else None
        if found is not None:
            return found
        with_precision(128)
        for one, two in self.pairs():
            if self.work < 0 or self.failed > FAILED or self.tried >= CERTIFIED:
                return None
            found = self._break(one, two) or self._break(two, one)
            if found is not None:
                return found
        return None

    def _by_twin(self) -> Witness | None:
        """The witness of the program with Laplace noise, if it is one for this program too."""
        twin = twin_of(self.program)
        for factor in TWINS if twin is not None else ():
            assert twin is not None
            claim = (Binary("*", Num(factor), twin.claim[0]), *twin.claim[1:])
            near = RefuterSearch(replace(twin, claim=claim), work=TWIN_WORK).run()
            if near is None:
                return None
            found = certified(self.program, near.one, near.two, near.event) or self._break(near.one, near.two)
            if found is not None:
                return found
        return None

    # ---- pairs of inputs

    def pairs(self) -> Iterator[tuple[Env, Env]]:
        """Adjacent inputs, small and plain ones first."""
        maker = Maker(self.program)
        for public, size in self._settings():
            neutral = self.base.neutral(public, size)
            if neutral is None:
                continue
            elements = self.base.elements(size)
            for far in FAR:
                for one in self._inputs(neutral, elements, far):
                    for two in self._neighbours(one, elements):
                        if maker.admits(one) and maker.admits(two):
                            yield one, two
        for case in maker.cases(40):
            yield case.one, case.two

    def _settings(self) -> Iterator[tuple[Env, int]]:
        pools = make_pools(self.program, 4)
        lists = any(param.private and param.type.kind == "list" for param in self.program.params)
        named = [param for param in self.program.params if not param.private]
        if any(param.name not in pools.publics for param in named):
            return
        eps = list(dict.fromkeys((*pools.eps, *EPS)))
        sizes = [size for size in pools.sizes if 0 < size <= 5] if lists else [0]
        publics = product(*(pools.publics[param.name][:6] for param in named))
        for first, delta, size, values in islice(product(eps, pools.delta, sizes, publics), 120):
            env: Env = {"eps": first, "delta": delta}
            yield env | {param.name: value for param, value in zip(named, values, strict=True)}, size

    def _inputs(self, neutral: Env, elements: list[Element], far: Fraction) -> Iterator[Env]:
        """All elements alike, and one of them away from the others, to either side."""
        patterns = [[0] * len(elements)]
        for place, side in product(range(len(elements)), (1, -1)):
            patterns += [[side if place == at else 0 for at in range(len(elements))]]
        for pattern in patterns if far else patterns[:1]:
            env = neutral
            for element, side in zip(elements, pattern, strict=True):
                poles = self.base.poles(element.type, neutral)
                value = (poles[1] if side > 0 else poles[0]) if poles else side * far
                env = put(env, element, value)
            yield env

    def _neighbours(self, one: Env, elements: list[Element]) -> Iterator[Env]:
        """Neighbours at the greatest distance: each element alone, all together, one against the others."""
        word, count = self.program.adjacent, len(elements)
        if word == "addremove":
            for element in elements:
                items = one[element.name]
                if element.place is not None:
                    yield one | {element.name: (*items[: element.place], *items[element.place + 1 :])}
            return
        signs: list[list[int]] = []
        for place in range(count):
            for side in (1, -1):
                alone = [side if place == at else 0 for at in range(count)]
                against = [side if place == at else -side for at in range(count)]
                signs += {"one": [alone], "moves": [], "inc": [alone], "dec": [alone]}.get(word or "", [against, alone])
        if word == "moves":
            signs = [
                [(at == a) - (at == b) for at in range(count)] for a in range(count) for b in range(count) if a != b
            ]
        elif word != "one":
            signs += [[1] * count, [-1] * count]
        steps = [list(map(Fraction, pattern)) for pattern in signs]
        steps += [[side / 2 for side in pattern] for pattern in steps[:2]]  # between whole numbers
        for moves in steps:
            env = one
            for element, move in zip(elements, moves, strict=True):
                if move and (move.denominator == 1 or element.type.kind == "real"):
                    env = self._moved(env, element, move)
            if env != one:
                yield env

    def _moved(self, env: Env, element: Element, side: Fraction) -> Env:
        poles = self.base.poles(element.type, env)
        before = env[element.name] if element.place is None else env[element.name][element.place]
        if poles is None:
            steps = self.program.group if self.program.adjacent == "one" else 1
            return put(env, element, before + side * steps)
        end = side > 0 if element.type.kind == "range" else before == poles[0]
        return put(env, element, poles[1] if end else poles[0])

    # ---- one pair

    def _law(self, env: Env) -> Law | None:
        key = tuple(sorted((name, str(value)) for name, value in env.items()))
        if key not in self.laws:
            self.laws[key] = None
            for reach in (24, 8, 3):
                try:
                    self.laws[key] = found = law_at(self.program, env, reach, with_floats, most=STATES)
                    self.work -= EACH + found.work
                    break
                except RunFault:
                    break
                except (NotRun, ArithmeticError):
                    self.failed += 1
        return self.laws[key]

    def _break(self, one: Env, two: Env) -> Witness | None:
        """A witness on this pair, if the claim breaks on it."""
        first, second = self._law(one), self._law(two)
        try:
            limits = [float(real(part, one).mid()) for part in self.program.claim]
        except NotRun:
            return None
        if first is None or second is None or limits[0] > 600:
            return None
        self.work -= 2 + len(first.outputs) // 8
        spend(40 + 4 * len(first.outputs))
        factor, delta = exp(limits[0]), limits[1] if len(limits) > 1 else 0.0
        gains: list[tuple[float, Any]] = []
        for value, weight in first.outputs.values():
            other = second.at(tagged(value)) + self._unsure(second, value)
            if other > 0 and weight > 0 and limits[0] > 0:
                self.best = max(self.best, _ratio(weight, float(other), limits[0]) if not delta else 0.0)
            if weight > factor * other * (1 + 1e-9) and weight > 1e-250:
                gains.append((weight - factor * other, value))
        if not gains or sum(gain for gain, _ in gains) <= delta * (1 + 1e-9):
            return None
        gains.sort(key=lambda row: -row[0])
        self.tried += 1
        event = OutputSet(tuple(value for _, value in (gains if delta else gains[:1])))
        return certified(self.program, one, two, event)

    @staticmethod
    def _unsure(law: Law, value: Any) -> float:
        vague = sum(weight for other, weight in law.vague if may_contain(OutputSet((value,)), other))
        return float(law.lost) + float(vague)


def _ratio(first: float, second: float, claim: float) -> float:
    return log(first / second) / claim
