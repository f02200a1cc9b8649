"""Verify: inputs to try. Comes in: a program. Goes out: adjacent pairs of inputs that it admits, made up in a fixed
order.

Only searches use them: to throw away alignments that cannot be, to guess invariants, to look for inputs on which a
program fails, and to begin a refutation. Nothing is concluded from a case alone but that it is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.verify.run import Env, NotRun, RunFault, Runner, as_float
from sfumato.verify.tree import Binary, Num, Param, Program, Type, Unary, names, statements, walk
from sfumato.verify.tree import Draw as Drawn

HALVES = tuple(Fraction(k, 2) for k in range(-6, 7))


class Dice:
    """Numbers in a fixed order that looks disorderly: they choose cases, never noise that anybody sees."""

    def __init__(self, seed: int = 1) -> None:
        self.state = seed

    def below(self, n: int) -> int:
        """A whole number from 0 to n - 1."""
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64  # Knuth's constants
        return (self.state >> 33) % n

    def pick(self, items: Any) -> Any:
        """One of several."""
        return items[self.below(len(items))]


@dataclass(frozen=True, slots=True)
class AdjacentCase:
    """Two adjacent inputs, exactly; `ghosts` says where they differ."""

    one: Env
    two: Env
    ghosts: Env


@dataclass(frozen=True, slots=True)
class Pools:
    """From which values parameters are taken."""

    publics: dict[str, tuple[Any, ...]]
    eps: tuple[Fraction, ...]
    delta: tuple[Fraction, ...]
    sizes: tuple[int, ...]


def make_pools(program: Program, longest: int) -> Pools:
    """Small numbers, and those that the text of the program names."""
    written = _written(program)
    named = {name for node in program.requires for name in names(node)}
    whole = [value for value in written if value.denominator == 1]
    ints = [Fraction(n) for n in (1, 2, 3, 0, 4, 5, -1)] + whole + [value + 1 for value in whole]
    reals = [Fraction(0), Fraction(1), Fraction(-1), Fraction(1, 2), Fraction(2), Fraction(5), *written]
    publics: dict[str, tuple[Any, ...]] = {}
    for param in program.params:
        if not param.private:
            numbers = _unique(ints if param.type.kind in ("int", "range") else reals)
            publics[param.name] = (True, False) if param.type.kind == "bool" else numbers
    eps = [Fraction(1), Fraction(1, 2), Fraction(2)] + (
        [value for value in written if value > 0] if "eps" in named else []
    )
    delta = [Fraction(0), Fraction(1, 8)]
    if "delta" in named:
        delta += [Fraction(1, 100_000), Fraction(1, 100), *(value for value in written if 0 <= value < 1)]
    sizes = [
        *range(longest + 1),
        *(int(value) for value in whole if 0 <= value <= 12),
        *(int(value) + 1 for value in whole if 0 <= value <= 8),
    ]
    return Pools(publics, _unique(eps), _unique(delta), tuple(sorted(set(sizes))))


def _written(program: Program) -> list[Fraction]:
    """The numbers that requirements name: as they stand there, and as `1/1000` computes them."""
    found = []
    runner = Runner(program, exact=True)
    for node in program.requires:
        for part in walk(node):
            if isinstance(part, Num):
                found.append(part.value)
            elif isinstance(part, Binary | Unary) and not names(part):
                try:
                    value = runner.code(part)({})
                except (NotRun, RunFault):
                    continue
                found += [] if isinstance(value, bool | tuple) else [Fraction(value)]
    return found


def _unique(values: list[Fraction]) -> tuple[Fraction, ...]:
    return tuple(dict.fromkeys(values))


class Maker:
    """Makes cases of one program."""

    def __init__(self, program: Program, seed: int = 1, longest: int = 6) -> None:
        self.program = program
        self.dice = Dice(seed)
        self.pools = make_pools(program, longest)
        self.exact = Runner(program, exact=True)
        self.floats = Runner(program, exact=False)

    def cases(self, wanted: int, direction: str = "both", tries: int = 40) -> Iterator[AdjacentCase]:
        """Up to so many cases, each the first of some tries that the program admits."""
        for number in range(wanted):
            for _ in range(tries):
                case = self.make(direction, plain=number < 4)
                if case is not None:
                    yield case
                    break

    def make(self, direction: str, *, plain: bool = False) -> AdjacentCase | None:
        """One case, or None if it is not admitted."""
        dice = self.dice
        public: Env = {
            "eps": dice.pick(self.pools.eps[:1] if plain else self.pools.eps),
            "delta": dice.pick(self.pools.delta),
        }
        for param in self.program.params:
            if not param.private:
                if param.type.kind in ("list", "bits", "tuple"):
                    public[param.name] = ()
                    continue
                public[param.name] = dice.pick(self.pools.publics[param.name])
        try:
            for param in self.program.params:
                if not param.private and param.type.kind in ("list", "bits", "tuple"):
                    public[param.name] = self._value(param.type, public)
            return self._pair(public, direction)
        except (NotRun, RunFault, ValueError, ArithmeticError):
            return None

    def _pair(self, public: Env, direction: str) -> AdjacentCase | None:
        one = dict(public)
        for param in self._private():
            one[param.name] = self._value(param.type, public)
        two, ghosts = self._neighbour(one, public, direction)
        if not self.admits(one) or not self.admits(two):
            return None
        for number, use in enumerate(self.program.uses):
            reach = self.bound(use.sensitivity, public)
            base = self.dice.pick(HALVES)
            step = self.dice.pick((reach, -reach, reach / 2, Fraction(0)))
            for env, value in ((one, base), (two, base + step)):
                env[f"{use.name}()"] = _Constant(value, number)
        return AdjacentCase(one, two, ghosts)

    def _private(self) -> list[Param]:
        return [param for param in self.program.params if param.private]

    def bound(self, node: Any, env: Env) -> Fraction:
        """A number of the header; exactly where that is possible."""
        try:
            return Fraction(self.exact.code(node)(env))
        except NotRun:
            return Fraction(self.floats.code(node)(to_floats(env)))

    def admits(self, env: Env, *, exactly: bool = False) -> bool:
        """Whether an input lies in its types and satisfies what is required; NotRun if only floats could tell, and they
        are not asked (`exactly`).
        """
        holds = self.exact.truth if exactly else self._holds
        try:
            inside = all(self._inside(param.type, env[param.name], env) for param in self.program.params)
            return inside and all(holds(node, env) for node in self.program.requires)
        except RunFault:
            return False

    def _holds(self, node: Any, env: Env) -> bool:
        try:
            return self.exact.truth(node, env)
        except NotRun:
            return self.floats.truth(node, to_floats(env))

    def _inside(self, kind: Type, value: Any, env: Env) -> bool:
        match kind.kind:
            case "interval" | "range":
                low, high = (self.bound(end, env) for end in kind.args)
                return bool(low <= value <= high) and (kind.kind == "interval" or value.denominator == 1)
            case "int":
                return bool(value.denominator == 1)
            case "list":
                return all(self._inside(kind.items[0], item, env) for item in value)
        return True

    def _value(self, kind: Type, env: Env) -> Any:
        """A value of a type."""
        dice = self.dice
        match kind.kind:
            case "real":
                return dice.pick(HALVES)
            case "int":
                return Fraction(dice.below(7) - 3)
            case "bool":
                return dice.below(2) == 1
            case "interval":
                low, high = (self.bound(end, env) for end in kind.args)
                return dice.pick((low, high, (low + high) / 2, low, high))
            case "range":
                low, high = (self.bound(end, env) for end in kind.args)
                if low > high:
                    raise ValueError
                return low + dice.below(min(int(high - low), 1000) + 1)
            case "bits":
                bits = self.bound(kind.args[0], env)
                if not 0 <= bits <= 4096:
                    raise ValueError
                return tuple(Fraction(dice.below(2)) for _ in range(int(bits)))
            case "tuple":
                return tuple(self._value(item, env) for item in kind.items)
        return tuple(self._value(kind.items[0], env) for _ in range(dice.pick(self.pools.sizes)))

    # ---- neighbours

    def _neighbour(self, one: Env, public: Env, direction: str) -> tuple[Env, Env]:
        two, ghosts = dict(one), {}
        word = self.program.adjacent or "any"
        chosen = self.dice.pick(self._private()).name if self._private() else ""
        lists = [param.name for param in self._private() if param.type.kind == "list"]
        if word in ("addremove", "moves") and chosen not in lists:
            chosen = lists[0] if lists else ""
        if word == "moves" and not lists:  # of numbers by themselves, two differ
            first, second = (param.name for param in self._private()[:2])
            two |= {first: one[first] + 1, second: one[second] - 1}
        for param in self._private():
            name, kind = param.name, param.type
            if word == "any":
                two[name] = self._value(kind, public)
            elif word == "addremove":
                if name == chosen:
                    two[name], place = self._resized(kind, one[name], public, direction)
                    ghosts["#place"] = ghosts[f"#place_{name}"] = place
            elif word == "moves":
                if name == chosen:
                    two[name], up, down = self._swapped(one[name])
                    ghosts |= {"#up": up, "#down": down, f"#up_{name}": up, f"#down_{name}": down}
            elif kind.kind == "list":
                places = range(len(one[name]))
                if word == "one":
                    here = self.dice.below(max(1, len(one[name])))
                    ghosts["#place"] = ghosts[f"#place_{name}"] = Fraction(here)
                    places = range(here, here + 1) if chosen == name and one[name] else range(0)
                items = list(one[name])
                for at in places:
                    items[at] = self._moved(kind.items[0], items[at], public, direction)
                two[name] = tuple(items)
            elif word != "one" or chosen == name:
                two[name] = self._moved(kind, one[name], public, direction)
        return two, ghosts

    def _moved(self, kind: Type, value: Any, env: Env, direction: str) -> Any:
        if kind.kind in ("real", "int"):
            steps = {"up": (0, 1, 1), "down": (0, -1, -1)}.get(direction, (1, -1, 0, 1, -1))
            step = Fraction(self.dice.pick(steps))
            return value + (step / 2 if kind.kind == "real" and self.dice.below(4) == 0 else step)
        found = self._value(kind, env)
        if direction in ("up", "down") and isinstance(found, Fraction) and (found < value) == (direction == "up"):
            return value
        return found

    def _resized(self, kind: Type, items: Any, env: Env, direction: str) -> tuple[Any, Fraction]:
        place = self.dice.below(len(items) + (direction == "more")) if items or direction == "more" else 0
        if direction == "more":
            return (*items[:place], self._value(kind.items[0], env), *items[place:]), Fraction(place)
        if not items:
            raise ValueError
        return (*items[:place], *items[place + 1 :]), Fraction(place)

    def _swapped(self, items: Any) -> tuple[Any, Fraction, Fraction]:
        if len(items) < 2:
            raise ValueError
        up = self.dice.below(len(items))
        down = (up + 1 + self.dice.below(len(items) - 1)) % len(items)
        return tuple(x + (k == up) - (k == down) for k, x in enumerate(items)), Fraction(up), Fraction(down)


@dataclass(frozen=True, slots=True)
class _Constant:
    """A function of `uses` on one input: one number."""

    value: Any
    number: int

    def __call__(self, _: Any) -> Any:
        return self.value


def to_floats(env: Env) -> Env:
    """An environment with floats for fractions: for trials, which need no exactness."""
    return {name: _float(value) for name, value in env.items()}


def _float(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, Fraction | int):
        return as_float(value)
    if isinstance(value, tuple):
        return tuple(_float(item) for item in value)
    if isinstance(value, _Constant):
        return _Constant(as_float(value.value), value.number)
    return value


def has_draws(program: Program) -> bool:
    """Whether anything is drawn at all."""
    return any(isinstance(statement, Drawn) for statement in statements(program.body))
