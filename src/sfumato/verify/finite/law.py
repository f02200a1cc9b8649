"""Verify, finite laws: what a program does on one input. Comes in: a program and an input. Goes out: every output with
its chance.

All states that a program may be in are moved through it together, each with its weight; equal states are one state.
What is not read any more is forgotten, so that states meet again. The beginnings of a loop's rounds are the nodes of a
graph: a round leads from one to others, or out. A loop that may go on forever leads back, and the weights are those of
a finite Markov chain.

Guarantee: outputs have exactly the weights that are given, up to `lost`, which may belong to any output; vague outputs
    are lists of ranges that hold the true one. What never returns has the rest of the weight.
Proof: a draw splits a state by the law of the draw. Expected visits v of the nodes of a loop solve v = start + v T,
    where T leaves out nodes from which no way leads out: then I - T is invertible, and weights out are v times the
    chances of leaving.
Reference: Kemeny, Snell, Finite Markov Chains, 1960, theorem 3.2.1.
Checked by: verify::exact_laws_are_those_of_an_independent_enumeration, verify::a_rejection_loop_is_a_geometric_series
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sfumato.verify.finite.chain import add_to, visits_of
from sfumato.verify.finite.draws import Beyond, Undecided, outcomes_of
from sfumato.verify.finite.signs import ParameterDomain
from sfumato.verify.kernel.coins import counted_coins
from sfumato.verify.run import Env, NotRun, Runner
from sfumato.verify.tree import Assign, Draw, Expr, If, Program, Return, Stmt, While, expressions, names, statements

WORK = 120_000
"""Statements times states for one law; beyond them it is not computed."""
NODES = 3000
"""Beginnings of rounds of one loop."""

Cloud = list[tuple[Env, Any]]


class TooManyStates(NotRun):
    """More states than are looked at."""


@dataclass(slots=True)
class Law:
    """Outputs by key, with their weights; outputs that are only known to lie in ranges; what was lost (0: nothing)."""

    outputs: dict[Any, tuple[Any, Any]] = field(default_factory=dict)
    vague: list[tuple[Any, Any]] = field(default_factory=list)
    lost: Any = 0
    work: int = 0  # states that were moved

    def add(self, value: Any, weight: Any) -> None:
        """One more way to an output."""
        if _is_vague(value):
            self.vague.append((value, weight))
            return
        key = tagged(value)
        self.outputs[key] = (value, self.outputs[key][1] + weight if key in self.outputs else weight)

    def at(self, key: Any) -> Any:
        """The weight of an output."""
        return self.outputs[key][1] if key in self.outputs else Fraction(0)

    @property
    def is_whole(self) -> bool:
        """Whether every weight is known."""
        return not self.vague and isinstance(self.lost, int)


def tagged(value: Any) -> Any:
    """A value as a key: `false` is not 0."""
    if isinstance(value, tuple):
        return tuple(tagged(item) for item in value)
    if isinstance(value, bool):
        return ("b", value)
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value


def _is_vague(value: Any) -> bool:
    return isinstance(value, Beyond) or (isinstance(value, tuple) and any(_is_vague(item) for item in value))


class Machine:
    """A program, ready for laws. `weigh` makes weights of exact numbers: itself, or balls, or floats. With `only` (a
    variable, and whether a value of it is still of interest) all other ways are given up: their outputs are not told.
    """

    def __init__(
        self,
        program: Program,
        domain: ParameterDomain,
        *,
        weigh: Callable[[Any], Any] | None = None,
        most: int = WORK,
        only: tuple[str, Callable[[Any], bool]] | None = None,
    ) -> None:
        self.program = program = counted_coins(program)
        self.domain = domain
        self.weigh = weigh or (lambda value: value)
        self.runner = Runner(program, exact=True, decide=self.decide, real=domain.field.function)
        self.reach = 0
        self.most = most
        self.only = only
        self.work = 0
        self.law = Law()
        self.drawn: dict[Any, list[tuple[Any, Any]]] = {}
        self._needed: dict[tuple[int, int, frozenset[str]], frozenset[str]] = {}
        self.local = sorted({part.name for part in statements(program.body) if isinstance(part, Assign | Draw)})

    def decide(self, difference: Any, sign: str) -> bool:
        """A comparison of exact numbers, the same for all parameters."""
        if isinstance(difference, Beyond):
            return difference.compare(sign)
        found = self.domain.decided(difference, sign)
        if found is None:
            raise NotRun
        return found

    def run(self, env: Env, reach: int = 0) -> Law:
        """The law on one input; Geometric noise is followed up to `reach`, and beyond as a range."""
        self.law, self.work, self.reach = Law(), 0, reach
        self.drawn.clear()
        self.block(self.program.body, [(dict(env), self.weigh(Fraction(1)))], frozenset())
        self.law.work = self.work
        return self.law

    # ---- statements

    def block(self, body: tuple[Stmt, ...], cloud: Cloud, live: frozenset[str]) -> Cloud:
        """Move states through statements; `live` is what is read after them."""
        for place, statement in enumerate(body):
            if not cloud:
                return cloud
            self.count(len(cloud))
            after = self.needed(body, place + 1, live)
            cloud = self.step(statement, cloud, after)
            if not isinstance(statement, Draw):
                cloud = self.merged(cloud, after)
        return cloud

    def count(self, states: int) -> None:
        """Count states that are moved."""
        self.work += states
        if self.work > self.most:
            raise TooManyStates

    def needed(self, body: tuple[Stmt, ...], place: int, live: frozenset[str]) -> frozenset[str]:
        """What is read from a place of a block on."""
        key = (id(body), place, live)
        if key not in self._needed:
            self._needed[key] = read_first(body[place:], live)
        return self._needed[key]

    def step(self, statement: Stmt, cloud: Cloud, live: frozenset[str]) -> Cloud:
        """Move states through one statement."""
        match statement:
            case Assign(name=name, value=value):
                code = self.runner.code(value)
                cloud = self._each(cloud, lambda env: [({**env, name: code(env)}, None)])
                if self.only is not None and self.only[0] == name:
                    cloud = [(env, weight) for env, weight in cloud if self.only[1](env[name])]
                return cloud
            case Draw():
                return self._each(cloud, lambda env: self._drawn(statement, env))
            case Return(value=value):
                returned = self._each(cloud, lambda env: [({"": self.runner.code(value)(env)}, None)])
                for env, weight in returned:
                    self.law.add(env[""], weight)
                return []
            case If(test=test, then=then, other=other):
                yes, no = self.split(test, cloud)
                return self.block(then, yes, live) + self.block(other, no, live)
            case While():
                return self.loop(statement, cloud, live)
        return cloud

    def _each(self, cloud: Cloud, move: Callable[[Env], list[tuple[Env, Any]]]) -> Cloud:
        """Move every state; the weight is lost where a range is too wide to tell."""
        found: Cloud = []
        for env, weight in cloud:
            try:
                moved = move(env)
            except Undecided:
                self.law.lost = self.law.lost + weight
                continue
            found += [(after, weight if factor is None else weight * factor) for after, factor in moved]
        return found

    def _drawn(self, draw: Draw, env: Env) -> list[tuple[Env, Any]]:
        args = tuple(self.runner.code(arg)(env) for arg in draw.args)
        key = (draw.number, tagged(args))
        if key not in self.drawn:
            listed = outcomes_of(draw, args, self.domain, self.reach)
            self.drawn[key] = [(value, self.weigh(chance)) for value, chance in listed]
        return [({**env, draw.name: value}, weight) for value, weight in self.drawn[key]]

    def split(self, test: Expr, cloud: Cloud) -> tuple[Cloud, Cloud]:
        """Those states in which a test holds, and the others."""
        tested = self._each(cloud, lambda env: [({"env": env, "holds": self.runner.truth(test, env)}, None)])
        yes = [(found["env"], weight) for found, weight in tested if found["holds"]]
        return yes, [(found["env"], weight) for found, weight in tested if not found["holds"]]

    def merged(self, cloud: Cloud, live: frozenset[str]) -> Cloud:
        """Equal states as one, without what is not read any more."""
        if len(cloud) < 2:
            return cloud
        found: dict[Any, tuple[Env, Any]] = {}
        gone = [name for name in self.local if name not in live]
        for env, weight in cloud:
            key = self.key(env, live)
            if key in found:
                found[key] = (found[key][0], found[key][1] + weight)
            else:
                kept = dict(env)
                for name in gone:
                    kept.pop(name, None)
                found[key] = (kept, weight)
        return list(found.values())

    def key(self, env: Env, live: frozenset[str]) -> Any:
        """What tells states apart."""
        return tuple((name, tagged(env[name])) for name in self.local if name in live and name in env)

    # ---- loops

    def loop(self, loop: While, cloud: Cloud, live: frozenset[str]) -> Cloud:
        """All rounds of a loop."""
        live = read_first((loop,), live)
        ids: dict[Any, int] = {}
        nodes: list[Env] = []

        def named(env: Env) -> int:
            key = self.key(env, live)
            if key not in ids:
                ids[key] = len(nodes)
                nodes.append(env)
            return ids[key]

        start: dict[int, Any] = {}
        for env, weight in cloud:
            add_to(start, named(env), weight)
        steps: dict[int, Round] = {}
        while len(steps) < len(nodes):
            if len(steps) > NODES:
                raise TooManyStates
            steps[len(steps)] = self._round(loop, nodes[len(steps)], live, named)
        out: Cloud = []
        for node, visits in visits_of(steps, start, self.weigh(Fraction(1))):
            found = steps[node]
            out += [(env, weight * visits) for env, weight in found.leaves]
            for value, weight in (*found.law.outputs.values(), *found.law.vague):
                self.law.add(value, weight * visits)
            if not isinstance(found.law.lost, int):
                self.law.lost = self.law.lost + found.law.lost * visits
        return out

    def _round(self, loop: While, env: Env, live: frozenset[str], named: Callable[[Env], int]) -> Round:
        """One round from one beginning."""
        outer, self.law = self.law, Law()
        try:
            goes, leaves = self.split(loop.test, [(dict(env), self.weigh(Fraction(1)))])
            goes_on: dict[int, Any] = {}
            after = self.block(loop.body, goes, live)
            self.count(len(after))
            for there, weight in self.merged(after, live):
                add_to(goes_on, named(there), weight)
            return Round(goes_on, leaves, self.law)
        finally:
            self.law = outer


@dataclass(slots=True)
class Round:
    """Where a round leads from one beginning: to others, out of the loop, to outputs."""

    goes_on: dict[int, Any]
    leaves: Cloud
    law: Law

    @property
    def ends(self) -> bool:
        """Whether some way leads out at once."""
        return bool(self.leaves or self.law.outputs or self.law.vague or not isinstance(self.law.lost, int))


def read_first(body: tuple[Stmt, ...], live: frozenset[str]) -> frozenset[str]:
    """The variables whose values may be read in a block, or after it, before they are assigned anew."""
    for statement in reversed(body):
        read = frozenset(name for node in expressions(statement) for name in names(node))
        match statement:
            case Assign(name=name) | Draw(name=name):
                live = (live - {name}) | read
            case Return():
                live = read
            case If(then=then, other=other):
                live = read | read_first(then, live) | read_first(other, live)
            case While(body=inner):
                live = live | read
                while not (more := read_first(inner, live)) <= live:
                    live = live | more
    return live
