"""Verify, finite laws: the door. Comes in: a program whose inputs and draws can be listed. Goes out: whether its claim
holds, what it loses exactly, or where it seems to break.

Guarantee: `holds` is True only if for all adjacent inputs x, x' that are admitted and every set E of outputs
    Pr[P(x) in E] <= e^k Pr[P(x') in E] + t.
Proof: the listing holds all inputs (inputs.py) and the laws are exact (law.py). For a claim k it is enough that
    e^k P'(o) - P(o) is never negative for any single output o, because E is a union of them; for (k, t) that the sum of
    P(o) - e^k P'(o) over those o where it may be positive is never above t, the worst E being the set of those o where
    it is. Signs are proved for all parameters (signs.py). Never returning is an output too.
Reference: Dwork, McSherry, Nissim, Smith, TCC 2006; Barthe, Chadha, Jagannath, Sistla, Viswanathan, LICS 2020.
Checked by: verify::exact_verdicts_agree_with_an_independent_enumeration,
    verify::a_claim_at_its_tight_constant_is_proved
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

from sfumato.verify.finite.field import NeedRoot, with_precision
from sfumato.verify.finite.inputs import Listing, Setting, adjacent_pairs
from sfumato.verify.finite.law import WORK, Law, Machine
from sfumato.verify.run import Env, NotRun, RunFault
from sfumato.verify.tree import Draw, Program, statements

REACHES = (0, 6, 24)
ROOTS = 24
ENDLESS = ("Laplace", "Exponential", "Gauss")
"""Laws of real numbers, which cannot be listed."""
NEVER = ("never",)
"""The output of runs that do not end."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """Where a claim seems to break: two inputs, outputs, and by how much it misses (as a function of parameters)."""

    one: Env
    two: Env
    outputs: tuple[Any, ...]
    gap: Any
    setting: Setting


@dataclass(slots=True)
class Decision:
    """What the exact laws say about a claim."""

    holds: bool
    suspects: list[Suspect] = field(default_factory=list)
    losses: list[tuple[Setting, tuple[tuple[Any, Any], ...]]] = field(default_factory=list)
    inputs: int = 0
    pairs: int = 0


def decide(program: Program) -> Decision | None:
    """Whether a claim holds, by listing everything; None if that cannot be done."""
    if any(isinstance(part, Draw) and part.law in ENDLESS for part in statements(program.body)):
        return None
    with_precision(192)
    root = 1
    while root <= ROOTS:
        try:
            return _decide(program, Listing(program, root))
        except NeedRoot as need:
            root = need.root
        except (NotRun, RunFault, TypeError):
            return None
    return None


def _decide(program: Program, listing: Listing) -> Decision:
    found, left = Decision(holds=True), WORK
    for setting in listing.settings():
        inputs = listing.inputs(setting)
        pairs = adjacent_pairs(program, inputs)
        laws = []
        for env in inputs:
            machine = Machine(program, setting.domain, most=left)
            laws.append(whole_law(machine, env))
            left -= machine.work
        found.inputs += len(inputs)
        found.pairs += len(pairs)
        judge = Judge(program, setting, inputs, laws)
        if not judge.is_claimable():
            found.holds = False
        found.losses.append((setting, judge.losses(pairs)))
        for suspect in judge.suspects(pairs):
            found.holds = False
            found.suspects.append(suspect)
            if len(found.suspects) >= 8:
                return found
    if not found.inputs:
        raise NotRun
    return found


def whole_law(machine: Machine, env: Env) -> Law:
    """The law on one input, with every weight known; raises NotRun if some are not."""
    for reach in REACHES:
        try:
            law = machine.run(env, reach)
        except NotRun:
            if reach == REACHES[-1] or not _is_endless(machine.program):
                raise
            continue
        if law.is_whole:
            rest = 1 - sum((weight for _, weight in law.outputs.values()), Fraction(0))
            if rest != 0:
                law.add(NEVER, rest)
            return law
    raise NotRun


def _is_endless(program: Program) -> bool:
    """Whether noise is listed up to a reach."""
    return any(isinstance(part, Draw) and part.law in ("Geometric", "Steps") for part in statements(program.body))


class Judge:
    """The laws of one setting, held against the claim."""

    def __init__(self, program: Program, setting: Setting, inputs: list[Env], laws: list[Law]) -> None:
        self.setting = setting
        self.inputs = inputs
        self.laws = laws
        self.sure = setting.domain.always
        runner = setting.runner(program)
        self.claims = [[runner.code(part)(env) for part in program.claim] for env in inputs]

    def is_claimable(self) -> bool:
        """Whether no claim is negative: every input is adjacent to itself. e^k is at least 1 exactly if k is at least
        0.
        """
        return all(
            self.sure(self.factor(one) - 1, ">=") and all(self.sure(delta, ">=") for delta in self.claims[one][1:])
            for one in range(len(self.inputs))
        )

    def factor(self, one: int) -> Any:
        """e^k on an input."""
        return self.setting.domain.field.function("exp", self.claims[one][0])

    def losses(self, pairs: list[tuple[int, int]]) -> tuple[tuple[Any, Any], ...]:
        """Every two chances of one output on adjacent inputs, without repetitions."""
        found: dict[tuple[Any, Any], None] = {}
        for one, two in pairs:
            if self.laws[one] is not self.laws[two]:
                for key in self.laws[one].outputs:
                    found[self.laws[one].at(key), self.laws[two].at(key)] = None
        return tuple(found)

    def suspects(self, pairs: list[tuple[int, int]]) -> Iterator[Suspect]:
        """Pairs for which the claim is not proved."""
        known: dict[Any, bool] = {}
        for one, two in pairs:
            if self.claims[one] != self.claims[two]:
                raise NotRun  # a claim is the same for both inputs
            factor, open_outputs = self.factor(one), []
            for key in self.laws[one].outputs:
                chances = (self.laws[one].at(key), self.laws[two].at(key), factor)
                if chances not in known:
                    known[chances] = self.sure(factor * chances[1] - chances[0], ">=")
                if not known[chances]:
                    open_outputs.append(key)
            suspect = self._open(one, two, factor, open_outputs)
            if suspect is not None:
                yield suspect

    def _open(self, one: int, two: int, factor: Any, keys: list[Any]) -> Suspect | None:
        """What is left to hold against the claimed delta."""
        first, second = self.laws[one], self.laws[two]
        delta = self.claims[one][1] if len(self.claims[one]) > 1 else Fraction(0)
        if not keys:
            if self.sure(delta, ">="):
                return None
            raise NotRun
        gains = {key: first.at(key) - factor * second.at(key) for key in keys}
        loose = [key for key in keys if not self.sure(gains[key], ">=")]
        if len(loose) > 6:
            raise NotRun
        surely: Any = sum((gains[key] for key in keys if key not in loose), Fraction(0))
        for chosen in product((True, False), repeat=len(loose)):
            more = [key for key, taken in zip(loose, chosen, strict=True) if taken]
            total: Any = sum((gains[key] for key in more), surely)
            if not self.sure(delta - total, ">="):
                event = tuple(first.outputs[key][0] for key in keys if key not in loose or key in more)
                if len(self.claims[one]) == 1 and not event:
                    continue
                return Suspect(self.inputs[one], self.inputs[two], event, delta - total, self.setting)
        return None


def best(values: list[Any], at_least: Callable[[Any, str], bool]) -> Any:
    """The greatest of several numbers, for all parameters; None if there is none."""
    top: Any = None
    for value in values:
        if top is None or at_least(value - top, ">="):
            top = value
    if top is None or not all(at_least(top - value, ">=") for value in values):
        return None
    return top


def exact_loss(program: Program) -> Any:
    """The supremum of all losses, as e^loss: a fraction, a Ratio for all epsilon, "infinite"; None if it is not known.

    This is the least constant that can be claimed, in nats the logarithm of what is returned.
    """
    decision = decide(program)
    if decision is None or len(decision.losses) != 1:
        return None
    setting, pairs = decision.losses[0]
    if any(second == 0 and first != 0 for first, second in pairs):
        return "infinite"
    try:
        return best([Fraction(1), *(first / second for first, second in pairs if second != 0)], setting.domain.always)
    except NotRun:
        return None
