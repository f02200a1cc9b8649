"""Verify, prover: a draw of a loop that is moved by what all other rounds drew. Comes in: a program. Goes out: proofs
to try, and candidates for invariants.

For the best of a list with its distance from the second best: the winner is moved by how far the greatest of all others
moves (kernel/lastly.py).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sfumato.verify.kernel.kinds import kinds_of
from sfumato.verify.kernel.lastly import ANSWER, LAST, MOST, OWN, PASSED, SEEN, counter_of
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.prover.quantity import implies
from sfumato.verify.prover.rewrite import ONE, ZERO, linear, minus, negative, replaced, shift_of
from sfumato.verify.prover.sites import NOISE, answers_of, uses_of
from sfumato.verify.prover.trial import Bench, Sight, Trial, drawn, kept
from sfumato.verify.run import AtDraw, Env, NotRun, RunFault
from sfumato.verify.tree import Binary, Draw, Expr, FunctionCall, Num, Program, Unary, Var, While, changed, names

Last = tuple[int, str, Expr, Expr]


def lasts_to_try(program: Program, direction: str) -> list[tuple[Last, dict[int, Expr]]]:
    """A draw that may be made last with what is added to it, how far it is moved, and its shift."""
    found: list[tuple[Last, dict[int, Expr]]] = []
    loops = [part for part in program.body if isinstance(part, While)]
    if not any(place is not None for place in answers_of(program).values()):
        return found  # nothing is shown beside the answer
    for draw, uses in uses_of(program, direction).items():
        loop = next((part for part in loops if draw in part.body), None)
        if loop is None or draw.law != "Laplace" or sum(isinstance(part, Draw) for part in loop.body) > 1:
            continue
        try:
            counter = counter_of(loop)
        except NoProofRule:
            continue
        for value in dict.fromkeys((*uses.kept, *uses.shown)):
            split = linear(value, NOISE)
            if split is None or abs(split[0]) != 1 or names(split[1]) & (changed(loop.body) - {counter}):
                continue
            base = split[1] if split[0] == 1 else None
            if base is None:
                continue
            there = replaced(base, {counter: Var(ANSWER)})
            moved = minus(shift_of(Var(MOST)), shift_of(there))
            shift = FunctionCall("#if", (Binary("=", Var(counter), Var(ANSWER)), Var(LAST), ZERO))
            found += [((draw.number, word, base, moved), {draw.number: shift}) for word in ("max", "min")]
    return found[:4]


class Extremes:
    """Candidates for the loop of a draw that is made last, from what was seen."""

    def __init__(self, bench: Bench, loop: While, sights: list[Sight], last: Last) -> None:
        self.bench, self.loop, self.sights = bench, loop, sights
        _, self.word, self.base, _ = last
        kinds = kinds_of(bench.program)
        own = {MOST, OWN, SEEN, PASSED}
        moving = [name for name in sorted(changed(loop.body) - own) if all(name in s.one for s in sights)]
        self.counter = counter_of(loop)
        self.real = [name for name in moving if kinds.get(name) in ("int", "real") and name != self.counter]
        self.whole = [name for name in moving if kinds.get(name) == "int" and name != self.counter]

    def _values(self, node: Expr) -> np.ndarray:
        ghost = self.bench.ghost(node)
        return np.array([float(ghost(sight.one, sight.two)) for sight in self.sights])

    def candidates(self) -> list[Expr]:
        """What held in all states."""
        found = [*self._said(), *self._shifts(), *self._counted(), *self._spent()]
        return [node for node in dict.fromkeys(found) if self._held(node)]

    def _held(self, node: Expr) -> bool:
        try:
            return bool((self._values(node) == 1.0).all())
        except (RunFault, NotRun, KeyError, TypeError):
            return False

    def _said(self) -> Iterator[Expr]:
        """Which variables are the greatest of others, and which are the answer's own, in both runs."""
        before, after = Unary("!", Var(PASSED)), Var(PASSED)
        both = Binary("&&", after, Var(SEEN))
        above, below = (
            Binary(sign, Var(OWN), Var(MOST)) for sign in (("<", ">") if self.word == "min" else (">", "<"))
        )
        greatest = FunctionCall(self.word, (Var(OWN), Var(MOST)))
        guards = [
            Binary("&&", before, Var(SEEN)),
            both,
            Binary("&&", both, above),
            Binary("&&", both, below),
            Binary("&&", after, Unary("!", Var(SEEN))),
        ]
        facts: list[Expr] = []
        for name in self.real:
            facts += [Binary("=", Var(name), other) for other in (Var(MOST), Var(OWN), greatest)]
            facts.append(Binary("<=", Var(name), Var(MOST)))
        for name in self.whole:
            facts += [Binary(sign, Var(name), Var(ANSWER)) for sign in ("=", "!=")]
            facts.append(Binary("<", Var(name), Var(self.counter)))
        for guard in guards:
            for fact in facts:
                said = implies(guard, fact)
                yield said
                yield self._second(said)

    def _second(self, node: Expr) -> Expr:
        """The same of the second run."""
        moving = (*self.real, *self.whole, MOST, OWN, SEEN, PASSED, self.counter)
        return replaced(
            node, {name: FunctionCall("#two", (Var(name),)) for name in moving if name not in (SEEN, PASSED)}
        )

    def _shifts(self) -> Iterator[Expr]:
        moved = shift_of(Var(MOST))
        for far in (ONE, Num(ONE.value * 2)):
            yield implies(Var(SEEN), Binary("<=", moved, far))
            yield implies(Var(SEEN), Binary(">=", moved, negative(far)))
        for name in (SEEN, PASSED):
            yield FunctionCall("#same", (Var(name),))
        there = shift_of(replaced(self.base, {self.counter: Var(ANSWER)}))
        yield implies(Var(PASSED), Binary("=", minus(shift_of(Var(OWN)), there), Var(LAST)))
        for sign in (">=", "<="):
            yield implies(Var(SEEN), Binary(sign, moved, ZERO))

    def _counted(self) -> Iterator[Expr]:
        """From which round on something has been seen, and when the answer's was passed."""
        counter = Var(self.counter)
        yield implies(Var(PASSED), Binary(">", counter, Var(ANSWER)))
        yield implies(
            Unary("!", Var(PASSED)), Binary("||", Binary("<=", counter, Var(ANSWER)), Binary("<", Var(ANSWER), ZERO))
        )
        for least in (ONE, Num(ONE.value * 2)):
            yield implies(Binary(">=", counter, least), Var(SEEN))
        yield implies(Var(SEEN), Binary(">", counter, ZERO))
        yield implies(Binary("&&", Var(PASSED), Var(SEEN)), Binary(">", counter, ONE))
        yield implies(
            Binary("&&", Binary(">", counter, ZERO), Unary("!", Var(SEEN))),
            Binary("&&", Var(PASSED), Binary("=", counter, ONE)),
        )
        yield implies(Binary("&&", Binary(">", counter, ZERO), Unary("!", Var(PASSED))), Var(SEEN))

    def _spent(self) -> Iterator[Expr]:
        draw = next(part for part in self.loop.body if isinstance(part, Draw))
        spent = FunctionCall("#if", (Var(PASSED), FunctionCall("abs", (Var(LAST),)), ZERO))
        yield Binary("=", Var(f"#spent{draw.number}"), spent)
        yield Binary("=", shift_of(Var(self.counter)), ZERO)


def end_of(bench: Bench, trial: Trial, env: Env) -> Env:
    """The variables of a run at its end."""
    running, used = bench.runner.run(env, 64), 0
    try:
        stop = next(running)
        while True:
            value = None
            if isinstance(stop, AtDraw):
                value, used = kept(stop, drawn(stop, trial.noise[used % 64])), used + 1
            stop = running.send(value)
    except StopIteration:
        return env


def moved_last(bench: Bench, trial: Trial, moved: Expr) -> bool:
    """Note in a trial how far the last draw is moved; False where that is not known."""
    try:
        ends = [end_of(bench, trial, {**env, **trial.ghosts}) for env in (trial.one, trial.two)]
        trial.ghosts[LAST] = float(bench.ghost(moved)(*ends))
    except (RunFault, NotRun, KeyError, TypeError, IndexError):
        return False
    return True
