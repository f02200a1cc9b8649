"""Verify, prover: two runs side by side, with numbers. Comes in: a case, noise, shifts. Goes out: whether they may be
right.

A shift that breaks on a case is no proof; where a trial goes through, the states at the beginning of each loop are
kept, and invariants are guessed from them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import exp, log, tanh
from typing import Any

from sfumato.verify.cases import AdjacentCase, Dice, to_floats
from sfumato.verify.kernel.product import is_quiet
from sfumato.verify.kernel.redraws import made_again
from sfumato.verify.kernel.renyi import SYMMETRIC
from sfumato.verify.kernel.turned import TURN
from sfumato.verify.prover.elements import waits_of
from sfumato.verify.prover.rewrite import rebuilt
from sfumato.verify.prover.sites import answers_of, second_answers
from sfumato.verify.run import REJECTED, AtDraw, AtLoop, Env, NotRun, RunFault, Runner, Running, TooLong
from sfumato.verify.tree import Draw, Expr, FunctionCall, Program, Var, parts

Ghost = Callable[[Env, Env], Any]
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Sight:
    """What was seen at the beginning of a round of a loop: both runs' variables, ghosts and what was spent among
    them.
    """

    one: Env
    two: Env


@dataclass(slots=True)
class Trial:
    """One case with its noise, ready to be run with any shifts."""

    one: Env
    two: Env
    ghosts: Env
    noise: list[float]
    sights: dict[int, list[Sight]] = field(default_factory=dict)
    pure: float = 0.0  # what the last run spent
    ratios: dict[int, tuple[float, float]] = field(default_factory=dict)  # of the weights of choices, in nats
    far: float = 0.0  # how far the draw that is paid with delta was moved, in nats
    squares: float = 0.0  # and the squares of its Gaussian shifts
    moves: dict[int, float] = field(default_factory=dict)  # how far each Gaussian noise was moved


class Bench:
    """A program on trial."""

    def __init__(self, program: Program, direction: str = "both") -> None:
        self.program = program
        self.direction = direction
        self.waits = waits_of(program, direction)
        self.curve: int | None = None  # the draw that is paid with delta
        self.curved: frozenset[int] = frozenset()  # draws that are charged by their curves, in a Rényi claim
        self.tail: tuple[int, str, Expr] | None = None  # the draw whose far values are left to delta
        self.places = tuple(
            next(iter(found.values()), None) for found in (answers_of(program), second_answers(program))
        )
        self.runner = Runner(program, exact=False)
        self.again = made_again(program)  # draws that cost twice
        self._ghosts: dict[int, tuple[Ghost, Expr]] = {}

    def trial(self, case: AdjacentCase, dice: Dice) -> Trial:
        """A case with noise: mostly small, at times far out."""
        reach = dice.pick((1.0, 1.0, 2.0, 6.0, 24.0))
        noise = [(dice.below(13) - 6) / 2 * dice.pick((1.0, reach)) for _ in range(64)]
        return Trial(to_floats(case.one), to_floats(case.two), to_floats(case.ghosts), noise)

    def answer(self, trial: Trial) -> Any:
        """What the first run returns."""
        running = self.runner.run(dict(trial.one), 64)
        used = 0
        try:
            stop = next(running)
            while True:
                value = None
                if isinstance(stop, AtDraw):
                    value, used = kept(stop, drawn(stop, trial.noise[used % 64])), used + 1
                stop = running.send(value)
        except StopIteration as end:
            return end.value

    def passes(
        self, trial: Trial, shifts: dict[int, Expr], *, pointwise: bool, watch: dict[int, Expr] | None = None
    ) -> bool:
        """Whether both runs keep together, return the same and spend no more than the claim.

        With units to `watch` in, states are kept, with what was spent at each draw in its unit.
        """
        try:
            return self._passes(trial, shifts, pointwise=pointwise, watch=watch)
        except (RunFault, TooLong, NotRun, KeyError, TypeError, IndexError, OverflowError, ZeroDivisionError):
            return False

    def _passes(self, trial: Trial, shifts: dict[int, Expr], *, pointwise: bool, watch: dict[int, Expr] | None) -> bool:
        ones, twos = {**trial.one, **trial.ghosts}, {**trial.two, **trial.ghosts}
        runs = (self.runner.run(ones, 64), self.runner.run(twos, 64))
        stops: list[Any] = [_advance(running, None) for running in runs]
        used, cost, squares, waiting = 0, 0.0, 0.0, {}
        trial.far = 0.0
        units = {number: self.runner.code(unit)(trial.one) for number, unit in (watch or {}).items()}
        spent: dict[int, float] = dict.fromkeys(units, 0.0)
        while True:
            first, second = stops
            if isinstance(first, AtLoop) and isinstance(second, AtLoop) and first.loop.number == second.loop.number:
                waiting[first.loop.number] = (dict(ones), dict(twos))
                if watch is not None:
                    self._see(trial, first.loop.number, ones, twos, spent)
                waits = self._waiting(first.loop.number, ones, twos)
                stops = [
                    stop if run == waits else _advance(running, None)
                    for run, (stop, running) in enumerate(zip(stops, runs, strict=True))
                ]
            elif isinstance(first, AtDraw) and isinstance(second, AtDraw) and first.draw.number == second.draw.number:
                noise = drawn(first, trial.noise[used % 64])
                used += 1
                if self.tail is not None and self.tail[0] == first.draw.number and self._is_far(noise, trial):
                    return True
                shift = self._shift(first, ones, twos, noise, shifts)
                gauss = first.draw.law == "Gauss" and len(self.program.claim) != 1
                squared = gauss and not self.program.renyi
                if first.draw.law == "Choice" and isinstance(first.draw.args[0], Var):
                    _widen(trial.ratios, first.draw.number, _ratios(first.args[0], second.args[0]))
                if first.draw.number == self.curve:
                    price = _distance(first, second, shift)
                else:
                    price = _square(first, second, shift) if gauss else priced(first, second, noise, shift)
                if price is None:
                    return False
                if squared:
                    trial.moves[first.draw.number] = abs(shift - (second.args[1] - first.args[1]))
                price = 2 * price if first.draw.number in self.again else price
                if first.draw.number == self.curve:
                    trial.far, price = price, 0.0
                counted, price = self._charged(trial, first.draw, price)
                if first.draw.number in units:
                    spent[first.draw.number] += counted / units[first.draw.number]
                cost, squares = (cost, squares + price) if squared else (cost + price, squares)
                stops = [_advance(runs[0], kept(first, noise)), _advance(runs[1], kept(second, noise + shift))]
            elif isinstance(first, AtLoop) and is_quiet(first.loop.body):
                if watch is not None and first.loop.number in waiting:
                    self._see(trial, first.loop.number, ones, waiting[first.loop.number][1], spent)
                stops[0] = _advance(runs[0], None)
            elif isinstance(second, AtLoop) and is_quiet(second.loop.body):
                if watch is not None and second.loop.number in waiting:
                    self._see(trial, second.loop.number, waiting[second.loop.number][0] | trial.ghosts, twos, spent)
                stops[1] = _advance(runs[1], None)
            elif isinstance(first, tuple) and isinstance(second, tuple):
                trial.pure, trial.squares = cost, squares
                return self._ends(trial, first[0], second[0], cost, pointwise=pointwise)
            else:
                return False

    def _charged(self, trial: Trial, draw: Draw, price: float) -> tuple[float, float]:
        """What a draw counts towards its unit, and at least how much it is charged: a Rényi claim has curves."""
        if not self.program.renyi or draw.law not in SYMMETRIC:
            return price, price
        moved = price**0.5 if draw.law == "Gauss" else price
        trial.moves[draw.number] = max(moved, trial.moves.get(draw.number, 0.0))
        order = [float(self.runner.code(node)(trial.one)) for node in self.program.renyi[:-1]]
        charged = divergence(draw.law, moved, *order)
        return (moved if draw.number in self.curved else moved**2), charged

    def _is_far(self, noise: float, trial: Trial) -> bool:
        """Whether noise lies where delta pays for everything."""
        assert self.tail is not None
        bound = self.runner.code(self.tail[2])(trial.one)
        return bool(noise >= bound if self.tail[1] == "above" else -noise >= bound)

    def shown(self, output: Any, which: int = 0) -> Any:
        """What of an output is the answer of pointwise proofs, or the second one; None if there is none."""
        if isinstance(output, tuple):
            place = self.places[which]
            return output[place] if place is not None and place < len(output) else None
        return None if which else output

    def _waiting(self, loop: int, one: Env, two: Env) -> int | None:
        """The run that waits while the other one goes round, if one does."""
        if loop not in self.waits or not self.ghost(self.waits[loop])(one, two):
            return None
        return 0 if self.direction == "more" else 1

    def _ends(self, trial: Trial, first: Any, second: Any, cost: float, *, pointwise: bool) -> bool:
        if pointwise and not same(self.shown(first), trial.ghosts.get("#answer")):
            return True
        if "#second" in trial.ghosts and not same(self.shown(first, 1), trial.ghosts["#second"]):
            return True
        claim = self.runner.code((*self.program.claim, *self.program.renyi[-1:])[0])(trial.one)
        return same(first, second) and cost * self.program.group <= claim + TOLERANCE

    def _see(self, trial: Trial, loop: int, one: Env, two: Env, spent: dict[int, float]) -> None:
        seen = dict(one)
        for number, amount in spent.items():
            seen[f"#spent{number}"] = amount
        trial.sights.setdefault(loop, []).append(Sight(seen, dict(two)))

    def _shift(self, stop: AtDraw, one: Env, two: Env, noise: float, shifts: dict[int, Expr]) -> float:
        node = shifts.get(stop.draw.number)
        if node is None:
            return 0.0
        one["#noise"] = noise
        found = self.ghost(node)(one, two)
        del one["#noise"]
        return float(found)

    def ghost(self, node: Expr) -> Ghost:
        """An expression of a proof as a function of two runs' variables."""
        found = self._ghosts.get(id(node))
        if found is None:
            found = self._ghosts[id(node)] = (self._make(node), node)
        return found[0]

    def _make(self, node: Expr) -> Ghost:
        if isinstance(node, FunctionCall) and node.name in ("#shift", "#two"):
            inside = self.ghost(node.args[0])
            if node.name == "#two":
                return lambda _, two: inside(two, two)
            return lambda one, two: inside(two, two) - inside(one, one)
        if isinstance(node, FunctionCall) and node.name == "#same":
            code = self.runner.code(node.args[0])
            return lambda one, two: same(code(one), code(two))
        if isinstance(node, FunctionCall) and node.name == TURN:
            where = self.ghost(node.args[0])
            return lambda one, two: 1.0 - 2.0 * one["#noise"] if where(one, two) else 0.0
        if isinstance(node, FunctionCall) and node.name == "#if":
            test, first, second = (self.ghost(arg) for arg in node.args)
            return lambda one, two: first(one, two) if test(one, two) else second(one, two)
        inner = _ghost_calls(node)
        if not inner:
            code = self.runner.code(node)
            return lambda one, _: code(one)
        holes = {f"#hole{k}": self.ghost(part) for k, part in enumerate(inner)}
        swap = {id(part): Var(f"#hole{k}") for k, part in enumerate(inner)}
        code = self.runner.code(_replaced(node, swap))
        return lambda one, two: code({**one, **{name: ghost(one, two) for name, ghost in holes.items()}})


def _ghost_calls(node: Expr) -> list[Expr]:
    if isinstance(node, FunctionCall) and node.name.startswith("#"):
        return [node]
    return [found for part in parts(node) for found in _ghost_calls(part)]


def _replaced(node: Expr, swap: dict[int, Var]) -> Expr:
    if id(node) in swap:
        return swap[id(node)]
    return rebuilt(node, lambda part: _replaced(part, swap))


def _advance(running: Running, value: Any) -> Any:
    """The next stop of a run, or its result in a tuple."""
    try:
        return running.send(value)
    except StopIteration as end:
        return (end.value,)


def drawn(stop: AtDraw, noise: float) -> float:
    """A value of the law, from a number that stands for noise."""
    if stop.draw.law in ("Bernoulli", "Uniform", "Choice"):
        low, high = {"Uniform": stop.args}.get(stop.draw.law, (0, 1))
        if stop.draw.law == "Choice":
            high = len(stop.args[0]) - 1
        return float(low + abs(int(noise * 2)) % int(high - low + 1))
    if stop.draw.law == "Exponential":
        return abs(noise)
    if stop.draw.law == "Steps":
        return float(abs(int(noise)))
    if stop.draw.law in ("Geometric", "TruncGeometric"):
        return float(int(noise))
    return float(noise + (stop.args[1] if stop.draw.law in ("Laplace", "Gauss") else 0))


def kept(stop: AtDraw, noise: float) -> float:
    """What a variable holds after a draw: the noise, for the truncated law around its centre and between its ends."""
    if stop.draw.law != "TruncGeometric":
        return noise
    low, high, *centre = stop.args[1:]
    return float(min(max(noise + (centre[0] if centre else 0), low), high))


def priced(first: AtDraw, second: AtDraw, noise: float, shift: float) -> float | None:
    """What it costs to move noise; None where the law does not allow it."""
    if first.draw.law == "Laplace":
        if first.args[0] != second.args[0]:
            return None
        size = abs(shift - (second.args[1] - first.args[1]))
        return float(size / first.args[0])
    if first.draw.law == "Exponential":
        if first.args[0] != second.args[0] or noise + shift < 0:
            return None
        return float(shift / first.args[0])
    if first.draw.law == "Steps":
        landed = first.args == second.args and shift == int(shift) and noise + shift >= 0 and 0 < first.args[0] < 1
        return float(shift * -log(first.args[0])) if landed else None
    if first.draw.law == "Choice" and first.args != second.args:
        return _chosen(first.args[0], second.args[0], int(noise)) if not shift else None
    if first.args[:1] != second.args[:1]:
        return None
    if first.draw.law == "Bernoulli" and shift:
        chance = float(first.args[0])
        return (1 if noise else -1) * log(chance / (1 - chance)) if 0 < chance < 1 else None
    if first.draw.law in ("Geometric", "TruncGeometric"):
        return None if shift != int(shift) else abs(shift) * -log(first.args[0])
    return None if shift or first.args != second.args else 0.0


def divergence(law: str, moved: float, order: float | None = None) -> float:
    """About the Rényi divergence of a law from itself, moved by so many nats; without an order its greatest quotient
    by orders. For looking.
    """
    if law == "Gauss" or not moved:
        return (order or 1.0) * moved**2 / 2
    if order is None:
        return moved - 1 + exp(-moved) if law == "Laplace" else moved * tanh(moved / 2)
    up, down, less = (order - 1) * moved, -order * moved, order - 1
    if law == "Laplace":
        inside = (order + less * exp(down - up)) / (2 * order - 1)
    else:
        inside = (1 + exp(down - up)) / (1 + exp(-moved))
    return (up + log(inside)) / less


def _distance(first: AtDraw, second: AtDraw, shift: float) -> float | None:
    """How far noise is moved that delta pays for: in nats, or of a choice from a range as a part of the range."""
    if first.args[:1] != second.args[:1]:
        return None
    match first.draw.law:
        case "Exponential":
            return float(abs(shift) / first.args[0])
        case "Uniform":
            return None if first.args != second.args else float(abs(shift) / (first.args[1] - first.args[0] + 1))
        case "Steps":
            return float(abs(shift) * -log(first.args[0])) if 0 < first.args[0] < 1 else None
    return priced(first, second, 0.0, shift)


def _square(first: AtDraw, second: AtDraw, shift: float) -> float | None:
    """The square of a Gaussian shift, over that of its scale."""
    if first.args[0] != second.args[0]:
        return None
    return float(((shift - (second.args[1] - first.args[1])) / first.args[0]) ** 2)


def _ratios(first: Any, second: Any) -> tuple[float, float]:
    """Between which numbers the logarithms of weights move."""
    moved = [log(b / a) for a, b in zip(first, second, strict=True)]
    return min(moved), max(moved)


def _widen(ranges: dict[int, tuple[float, float]], site: int, seen: tuple[float, float]) -> None:
    low, high = ranges.get(site, seen)
    ranges[site] = min(low, seen[0]), max(high, seen[1])


def _chosen(first: Any, second: Any, place: int) -> float | None:
    """What the same choice costs at most, from weights to weights."""
    if len(first) != len(second) or min(*first, *second) <= 0:
        return None
    return float(log(first[place] / second[place]) + max(log(b / a) for a, b in zip(first, second, strict=True)))


def same(first: Any, second: Any) -> bool:
    """Equal outputs; numbers up to rounding, and `false` is not 0."""
    if first is REJECTED or second is REJECTED:
        return first is second
    if isinstance(first, tuple) and isinstance(second, tuple):
        return len(first) == len(second) and all(same(a, b) for a, b in zip(first, second, strict=True))
    if isinstance(first, bool) or isinstance(second, bool) or isinstance(first, tuple) or isinstance(second, tuple):
        return type(first) is type(second) and bool(first == second)
    return bool(abs(first - second) <= TOLERANCE * (1 + abs(first)))
