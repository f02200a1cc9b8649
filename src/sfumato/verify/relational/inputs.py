"""Verify, relational: the inputs of a program, level by level. Comes in: a program. Goes out: public inputs, and for
each the private ones; with what is known about completeness.

A level limits what can grow: sizes of lists, and public whole numbers without an upper limit or with a far one. Types
that are not finite (`real`, `int` without limits) are represented by numbers around those of the text: good for finding
differences, never for excluding them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, product
from typing import Any

from sfumato.verify.cases import Maker
from sfumato.verify.finite.admit import surely_admitted
from sfumato.verify.run import ITEMS, Env, NotRun, RunFault
from sfumato.verify.tree import (
    Binary,
    Expr,
    FunctionCall,
    Num,
    Param,
    Program,
    Type,
    Var,
    conjuncts,
    expressions,
    names,
    statements,
    walk,
)

_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
FAR = 12
"""Public whole numbers with more values than this grow by levels."""
SHOWN = 40
"""As many numbers are tried for a type that is not finite."""


@dataclass(frozen=True, slots=True)
class Values:
    """Values of a type: how many, and whether these are all."""

    items: tuple[Any, ...]
    all: bool


class ProgramInputs:
    """The inputs of one program."""

    def __init__(self, program: Program, most: int = 4096) -> None:
        self.program = program
        self.most = most
        self.maker = Maker(program)
        self.limits = conjuncts(*program.requires)
        self.growing = self._growing()
        self.rounded = any(
            isinstance(part, FunctionCall) and part.name in ("exp", "ln", "sqrt")
            for node in (*program.requires, *(end for param in program.params for end in _bounds(param.type)))
            for part in walk(node)
        )
        self.numbers = _written(program)

    # ---- what can grow

    def limits_at(self, level: int) -> dict[str, int]:
        """How far everything that grows has grown at a level."""
        return {name: self._lowest(name) + level if not name.startswith("size(") else level for name in self.growing}

    def is_last(self, level: int) -> bool:
        """Whether nothing grows beyond a level."""
        for name, limit in self.limits_at(level).items():
            high = None if name.startswith("size(") else self.bounds(Var(name), {})[1]
            if high is None or limit < high:
                return False
        return True

    def _lowest(self, name: str) -> int:
        low = self.bounds(Var(name), {})[0]
        assert low is not None
        return int(-(-low // 1))

    def _growing(self) -> tuple[str, ...]:
        found = []
        for param in self.program.params:
            if not param.private and param.type.kind == "int":
                low, high = self.bounds(Var(param.name), {})
                if low is not None and (high is None or high - low > FAR):
                    found.append(param.name)
            elif param.type.kind == "list" and not self._is_limited(param.name):
                found.append(f"size({param.name})")
        return tuple(found)

    def _is_limited(self, name: str) -> bool:
        """Whether public numbers limit the size of a list."""
        public = {param.name for param in self.program.params if not param.private}
        size = FunctionCall("size", (Var(name),))
        for node in self.limits:
            if isinstance(node, Binary) and node.op in _TURNED:
                for left, right, op in _both_ways(node):
                    if left == size and op in ("<", "<=", "=") and names(right) <= public:
                        return True
        return False

    def bounds(self, what: Expr, env: Env) -> tuple[Fraction | None, Fraction | None]:
        """The limits that `requires` sets to a number, as far as they are plain comparisons with what is known."""
        low: Fraction | None = None
        high: Fraction | None = None
        for node in self.limits:
            if not isinstance(node, Binary) or node.op not in _TURNED:
                continue
            for left, right, op in _both_ways(node):
                if left != what:
                    continue
                if isinstance(right, FunctionCall) and right.name == "size" and op in (">", ">=", "="):
                    low = Fraction(0) if low is None else max(low, Fraction(0))
                if not names(right) <= set(env):
                    continue
                try:
                    value = self.maker.bound(right, env)
                except (NotRun, RunFault, TypeError, KeyError, ArithmeticError):
                    continue
                if op in (">", ">=", "="):
                    low = value if low is None else max(low, value)
                if op in ("<", "<=", "="):
                    high = value if high is None else min(high, value)
        return low, high

    # ---- public inputs

    def publics(self, level: int) -> list[tuple[Env, bool]]:
        """Public inputs up to a level, each with whether the values are all that there are up to it."""
        reads = {name for node in self._everything() for name in names(node)}
        start: list[tuple[Env, bool]] = []
        for eps in (1, Fraction(1, 2), 3) if "eps" in reads else (1,):
            for delta in (0, Fraction(1, 8)) if "delta" in reads else (0,):
                env = {"eps": Fraction(eps), "delta": Fraction(delta)}
                start.append((env, not reads & {"eps", "delta"} and not self.rounded))
        return self._extended(start, [param for param in self.program.params if not param.private], level)

    def _extended(self, envs: list[tuple[Env, bool]], params: list[Param], level: int) -> list[tuple[Env, bool]]:
        if not params:
            return envs
        ready = [p for p in params if not {n for b in _bounds(p.type) for n in names(b)} & {q.name for q in params}]
        param = (ready or params)[0]
        found = []
        for env, complete in envs:
            values = self.values(param, env, level)
            found += [({**env, param.name: value}, complete and values.all) for value in values.items]
        if len(found) > self.most:
            found = [(env, False) for env, _ in found[: self.most]]
        return self._extended(found, [other for other in params if other is not param], level)

    def _everything(self) -> Iterator[Expr]:
        """All expressions that a law may depend on; the ends of types are among them."""
        yield from self.program.requires
        for kind in (*(param.type for param in self.program.params), self.program.output):
            yield from _bounds(kind)
        for statement in statements(self.program.body):
            yield from expressions(statement)

    # ---- private inputs

    def privates(self, public: Env, level: int) -> tuple[Iterator[Env], bool]:
        """Inputs with these public parts that are admitted, and whether these are all up to this level."""
        params = [param for param in self.program.params if param.private]
        domains = [self.values(param, public, level) for param in params]
        total = 1
        for domain in domains:
            total *= len(domain.items)
        complete = all(domain.all for domain in domains) and total <= self.most
        made = (
            {**public, **dict(zip((param.name for param in params), values, strict=True))}
            for values in _spread([domain.items for domain in domains])
        )
        return (env for env in islice(made, self.most) if self._admits(env)), complete

    def _admits(self, env: Env) -> bool:
        """Whether an input is admitted, never by rounding: where roots and logarithms stand in what is required, only
        if that is proved (and then not all inputs are listed); elsewhere exactly, or NotRun.
        """
        return surely_admitted(self.program, env) if self.rounded else self.maker.admits(env, exactly=True)

    def output_values(self, kind: Type, env: Env, most: int) -> Values:
        """Values of the output type; of one that is not finite some. Raises NotRun if there are too many."""
        found = self._of(kind, env, 2)
        if len(found.items) > most:
            raise NotRun
        return found

    def is_output(self, output: Any, env: Env) -> bool:
        """Whether a value is one of the output type."""
        return self._fits(self.program.output, output, env)

    def fits(self, env: Env) -> bool:
        """Whether an input is one: of its types, and as required."""
        fits = all(self._fits(param.type, env[param.name], env) for param in self.program.params)
        return fits and surely_admitted(self.program, env)

    def _fits(self, kind: Type, value: Any, env: Env) -> bool:
        match kind.kind:
            case "bool":
                return isinstance(value, bool)
            case "int" | "real" | "range" | "interval":
                if isinstance(value, bool) or not isinstance(value, Fraction):
                    return False
                if kind.kind in ("int", "range") and value.denominator != 1:
                    return False
                return not kind.args or self.maker.bound(kind.args[0], env) <= value <= self.maker.bound(
                    kind.args[1], env
                )
            case "bits":
                bit = isinstance(value, tuple) and all(not isinstance(item, bool) and item in (0, 1) for item in value)
                return bit and len(value) == self.maker.bound(kind.args[0], env)
            case "tuple":
                return (
                    isinstance(value, tuple)
                    and len(value) == len(kind.items)
                    and all(self._fits(item, part, env) for item, part in zip(kind.items, value, strict=True))
                )
        return isinstance(value, tuple) and all(self._fits(kind.items[0], item, env) for item in value)

    def values(self, param: Param, env: Env, level: int) -> Values:
        """Values of a parameter."""
        if param.type.kind == "int":
            low, high = self.bounds(Var(param.name), env)
            if param.name in self.growing:
                first = self._lowest(param.name)
                top = first + level if high is None else min(first + level, int(high // 1))
                return Values(tuple(Fraction(n) for n in range(first, top + 1)), True)
            if low is not None and high is not None:
                return self._range(low, high)
        if param.type.kind == "list":
            limit = self.bounds(FunctionCall("size", (Var(param.name),)), env)[1]
            longest = level if f"size({param.name})" in self.growing or limit is None else max(-1, int(limit // 1))
            return self._lists(param.type.items[0], env, level, longest)
        return self._of(param.type, env, level)

    def _range(self, low: Fraction, high: Fraction) -> Values:
        first, last = -(-low // 1), high // 1
        if last - first >= self.most:
            near = [first, first + 1, first + 2, (first + last) // 2, last - 1, last]
            return Values(tuple(Fraction(n) for n in near), False)
        return Values(tuple(Fraction(n) for n in range(int(first), int(last) + 1)), True)

    def _of(self, kind: Type, env: Env, level: int) -> Values:
        match kind.kind:
            case "bool":
                return Values((False, True), True)
            case "range":
                low, high = (self.maker.bound(end, env) for end in kind.args)
                return self._range(low, high)
            case "interval":
                low, high = (self.maker.bound(end, env) for end in kind.args)
                inside = [number for number in self._near(env, whole=False) if low <= number <= high]
                return Values(tuple(dict.fromkeys((low, high, (low + high) / 2, *inside))), low == high)
            case "int" | "real":
                return Values(self._near(env, whole=kind.kind == "int"), False)
            case "bits":
                bits = self.maker.bound(kind.args[0], env)
                if bits < 0 or bits.denominator != 1:
                    return Values((), True)
                if bits > ITEMS:
                    raise NotRun
                made = product((Fraction(0), Fraction(1)), repeat=int(bits))
                return Values(tuple(islice(made, self.most)), bits < 60 and 2 ** int(bits) <= self.most)
            case "tuple":
                parts = [self._of(item, env, level) for item in kind.items]
                tuples = islice(product(*(part.items for part in parts)), self.most)
                total = 1
                for part in parts:
                    total *= len(part.items)
                return Values(tuple(tuples), all(part.all for part in parts) and total <= self.most)
        return Values(self._lists(kind.items[0], env, level, 2).items, False)  # a list inside of something

    def _lists(self, kind: Type, env: Env, level: int, longest: int) -> Values:
        inner = self._of(kind, env, level)
        found: list[Any] = []
        complete = inner.all
        for size in range(longest + 1):
            if len(found) >= self.most:  # there are longer ones, and no room for them
                return Values(tuple(found), False)
            made = tuple(islice(product(inner.items, repeat=size), self.most - len(found) + 1))
            complete = complete and len(made) + len(found) <= self.most
            found += made[: self.most - len(found)]
        return Values(tuple(found), complete)

    def _near(self, env: Env, *, whole: bool) -> tuple[Fraction, ...]:
        """Numbers around those of the text and the public ones."""
        known = [value for value in env.values() if isinstance(value, Fraction)]
        centres = [Fraction(0), *self.numbers, *known[2:], *(a * b for a in self.numbers[:4] for b in known[2:4])]
        found = [Fraction(n) for n in (0, 1, -1, 2)]
        for centre in centres:
            found += [centre, centre + 1, centre - 1, -centre, *([] if whole else [centre + Fraction(1, 2)])]
        kept = [number for number in found if not whole or number.denominator == 1]
        return tuple(dict.fromkeys(kept))[:SHOWN]


def _spread(domains: list[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """All combinations; those in which only one value is not the first come first."""
    if not all(domains):
        return
    first = tuple(domain[0] for domain in domains)
    yield first
    seen = {first}
    for place, domain in enumerate(domains):
        for value in (*domain[1:6], domain[-1]):
            made = (*first[:place], value, *first[place + 1 :])
            if made not in seen:
                seen.add(made)
                yield made
    yield from (made for made in product(*domains) if made not in seen)


def _both_ways(node: Binary) -> tuple[tuple[Expr, Expr, str], ...]:
    """A comparison, read from either side."""
    return (node.left, node.right, node.op), (node.right, node.left, _TURNED[node.op])


def _written(program: Program) -> tuple[Fraction, ...]:
    everything = [*program.requires, *(e for statement in statements(program.body) for e in expressions(statement))]
    found = [part.value for node in everything for part in walk(node) if isinstance(part, Num)]
    return tuple(dict.fromkeys(found))


def _bounds(kind: Type) -> tuple[Expr, ...]:
    return (*kind.args, *(bound for item in kind.items for bound in _bounds(item)))
