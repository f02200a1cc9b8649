"""Verify, finite laws: all inputs of a program, where they can be listed. Comes in: a program. Goes out: settings of
its public parameters, and for each its inputs.

Whole numbers, truths and bits are listed; public reals stay letters, in the range that types and requirements give.
A listing holds at least every admitted input: what a requirement does not exclude for certain stays in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from sfumato.verify.adjacent import are_adjacent
from sfumato.verify.finite.field import Letter, LetterField, LetterRatio
from sfumato.verify.finite.signs import NumberRange, ParameterDomain
from sfumato.verify.run import Env, NotRun, RunFault, Runner
from sfumato.verify.tree import Binary, Expr, FunctionCall, Param, Program, Type, Var, conjuncts, names

VALUES, INPUTS = 130, 1100
"""Values of one parameter, and inputs of one setting, that are listed."""
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


@dataclass(slots=True)
class Setting:
    """Values of the public parameters, letters among them, and what is known about those."""

    public: Env
    domain: ParameterDomain

    def runner(self, program: Program) -> Runner:
        """Evaluates expressions in this setting."""

        def decide(difference: Any, sign: str) -> bool:
            found = self.domain.decided(difference, sign)
            if found is None:
                raise NotRun
            return found

        return Runner(program, exact=True, decide=decide, real=self.domain.field.function)


class Listing:
    """The inputs of one program, with e^(-eps/root) as a letter."""

    def __init__(self, program: Program, root: int) -> None:
        self.program = program
        self.root = root
        self.required = conjuncts(*program.requires)

    # ---- public parameters

    def settings(self) -> Iterator[Setting]:
        """All settings of public parameters."""
        if self.program.uses:
            raise NotRun  # a function may be any
        public = [param for param in self.program.params if not param.private]
        first = Setting({}, ParameterDomain(LetterField(self.root), {"eps": NumberRange(Fraction(0)), "delta": _DELTA}))
        runner = first.runner(self.program)
        pins = {name: pin for name in ("eps", "delta") if isinstance(pin := self._pin(Var(name), runner, {}), Fraction)}
        for values in self._chosen(public, pins, runner):
            setting = Setting(
                values, ParameterDomain(LetterField(self.root), {"eps": NumberRange(Fraction(0)), "delta": _DELTA})
            )
            for param in public:
                if param.name not in values:
                    self._letter(param, setting)
            for name in ("eps", "delta"):
                if name not in values:
                    again = self._pin(Var(name), setting.runner(self.program), {})
                    letter = setting.domain.field.letter(Letter("name", name))
                    values[name] = letter if again is None else again
            if self._assume(setting):
                yield setting

    def pinned(self) -> Setting:
        """The setting in which parameters that are required to be a number are that number, and others letters."""
        setting = Setting(
            {}, ParameterDomain(LetterField(self.root), {"eps": NumberRange(Fraction(0)), "delta": _DELTA})
        )
        runner = setting.runner(self.program)
        for name in ("eps", "delta", *(param.name for param in self.program.params if not param.private)):
            pin = self._pin(Var(name), runner, setting.public)
            setting.public[name] = setting.domain.field.letter(Letter("name", name)) if pin is None else pin
        return setting

    def _chosen(self, left: list[Param], env: Env, runner: Runner) -> Iterator[Env]:
        """Every choice of the public parameters that can be listed; reals are left out."""
        for place, param in enumerate(left):
            if param.type.kind in ("real", "interval"):
                pin = self._pin(Var(param.name), runner, env)
                if isinstance(pin, Fraction):
                    yield from self._chosen(left[:place] + left[place + 1 :], {**env, param.name: pin}, runner)
                    return
                continue
            try:
                values = self._values(param.type, Var(param.name), env, runner)
            except NotRun:
                continue
            for value in values:
                yield from self._chosen(left[:place] + left[place + 1 :], {**env, param.name: value}, runner)
            return
        if any(param.type.kind not in ("real", "interval") for param in left):
            raise NotRun
        yield dict(env)

    def _letter(self, param: Param, setting: Setting) -> None:
        """A public real as a letter, between the ends of its type."""
        setting.public[param.name] = setting.domain.field.letter(Letter("name", param.name))
        if param.type.args:
            ends = [_evaluated(end, setting.runner(self.program), setting.public) for end in param.type.args]
            low, high = (end if isinstance(end, Fraction) else None for end in ends)
            setting.domain.ranges[param.name] = NumberRange(low, high, low_open=False, high_open=False)

    def _pin(self, node: Expr, runner: Runner, env: Env) -> Any:
        """The number that a requirement says something is."""
        for required in self.required:
            for sign, other in _compared(required, node):
                if sign == "=":
                    found = _evaluated(other, runner, env)
                    if found is not None and (isinstance(found, Fraction) or runner_fixed(found)):
                        return found
        return None

    def _assume(self, setting: Setting) -> bool:
        """Make what is required of public parameters known; False if it fails for certain."""
        domain, runner = setting.domain, setting.runner(self.program)
        private = {param.name for param in self.program.params if param.private}
        for required in self.required:
            if names(required) & private:
                continue
            if not isinstance(required, Binary) or required.op not in (*_MIRRORED, "!="):
                if _evaluated(required, runner, setting.public) is False:
                    return False
                continue
            left, right = (_evaluated(side, runner, setting.public) for side in (required.left, required.right))
            if left is None or right is None or isinstance(left, bool | tuple) or isinstance(right, bool | tuple):
                continue
            gap = left - right
            if not isinstance(gap, LetterRatio):
                if not domain.always(gap, required.op):
                    return False
            elif not self._narrowed(domain, gap, required.op):
                sign = required.op
                domain.facts.append((gap, sign) if sign in (">", ">=", "=", "!=") else (-gap, _MIRRORED[sign]))
        return all(_possible(found) for found in domain.ranges.values())

    @staticmethod
    def _narrowed(domain: ParameterDomain, gap: LetterRatio, sign: str) -> bool:
        """A requirement that compares one parameter with a fixed number narrows its range."""
        named = [letter for letter in gap.letters() if letter.kind == "name"]
        if len(named) != 1 or not gap.bottom.is_constant() or sign == "!=":
            return False
        unit = domain.field.letter(named[0])
        slopes = [gap - unit * factor for factor in (1, -1)]
        for slope, rest in zip((1, -1), slopes, strict=True):
            if not (isinstance(rest, Fraction) or runner_fixed(rest)):
                continue
            end, word = -rest * slope, sign if slope == 1 else _MIRRORED[sign]
            found = domain.ranges.get(named[0].name, NumberRange())
            if word in (">", ">=") and (found.low is None or domain.always(end - found.low, ">=")):
                found = NumberRange(end, found.high, word == ">", found.high_open)
            elif word in ("<", "<=") and (found.high is None or domain.always(found.high - end, ">=")):
                found = NumberRange(found.low, end, found.low_open, word == "<")
            else:
                return False
            domain.ranges[named[0].name] = found
            return True
        return False

    # ---- inputs

    def inputs(self, setting: Setting) -> list[Env]:
        """All inputs of a setting."""
        private = [param for param in self.program.params if param.private]
        runner = setting.runner(self.program)
        listed = [self._values(param.type, Var(param.name), setting.public, runner) for param in private]
        found = []
        for values in product(*listed):
            env = {**setting.public, **{param.name: value for param, value in zip(private, values, strict=True)}}
            if all(_evaluated(required, runner, env) is not False for required in self.required):
                found.append(env)
            if len(found) > INPUTS:
                raise NotRun
        return found

    def _values(self, kind: Type, node: Expr, env: Env, runner: Runner) -> list[Any]:
        """All values of a type that requirements about `node` leave."""
        match kind.kind:
            case "bool":
                return [False, True]
            case "int" | "range":
                low, high = self._ends(node, env, runner, kind.args)
                return [Fraction(value) for value in range(low, high + 1)]
            case "bits":
                size = _evaluated(kind.args[0], runner, env)
                if not isinstance(size, Fraction) or not 0 <= size <= 10:
                    raise NotRun
                return [tuple(map(Fraction, bits)) for bits in product((0, 1), repeat=int(size))]
            case "tuple":
                return list(product(*(self._values(item, _NOTHING, env, runner) for item in kind.items)))
            case "list":
                items = self._values(kind.items[0], _NOTHING, env, runner)
                low, high = self._ends(FunctionCall("size", (node,)), env, runner, ())
                if high > INPUTS or len(items) ** high > INPUTS:
                    raise NotRun
                return [values for size in range(max(low, 0), high + 1) for values in product(items, repeat=size)]
        raise NotRun

    def _ends(self, node: Expr, env: Env, runner: Runner, ends: tuple[Expr, ...]) -> tuple[int, int]:
        """The least and the greatest whole number that type and requirements leave; NotRun if there is none."""
        lows, highs = [], []
        if ends:
            low, high = (_evaluated(end, runner, env) for end in ends)
            if not isinstance(low, Fraction) or not isinstance(high, Fraction):
                raise NotRun
            lows, highs = [low], [high]
        if isinstance(node, FunctionCall):
            lows.append(Fraction(0))
        for required in self.required:
            for sign, other in _compared(required, node):
                found = _evaluated(other, runner, env)
                if isinstance(found, Fraction):
                    lows += [found] * (sign in (">", ">=", "="))
                    highs += [found] * (sign in ("<", "<=", "="))
        if not lows or not highs or min(highs) - max(lows) > VALUES:
            raise NotRun
        return -int(-max(lows) // 1), int(min(highs) // 1)


_DELTA = NumberRange(Fraction(0), Fraction(1), low_open=False, high_open=True)
_NOTHING = Var("")


def runner_fixed(value: Any) -> bool:
    """Whether a number has no parameter in it."""
    return isinstance(value, LetterRatio) and value.field.is_fixed(value)


def _possible(found: NumberRange) -> bool:
    if not isinstance(found.low, Fraction) or not isinstance(found.high, Fraction):
        return True
    return found.low < found.high or (found.low == found.high and not found.low_open and not found.high_open)


def _evaluated(node: Expr, runner: Runner, env: Env) -> Any:
    """A value, if it is known."""
    try:
        found = runner.code(node)(env)
    except (NotRun, RunFault):
        return None
    return Fraction(found) if isinstance(found, int) and not isinstance(found, bool) else found


def _compared(required: Expr, node: Expr) -> Iterator[tuple[str, Expr]]:
    """(sign, other) of a requirement `node sign other`."""
    if isinstance(required, Binary) and required.op in _MIRRORED:
        if required.left == node:
            yield required.op, required.right
        elif required.right == node:
            yield _MIRRORED[required.op], required.left


def adjacent_pairs(program: Program, inputs: list[Env]) -> list[tuple[int, int]]:
    """All pairs of adjacent inputs, in both directions."""
    kinds = {kind.kind for param in program.params if param.private for kind in _elements(param.type)}
    if program.adjacent in ("inc", "dec", "moves") and not kinds <= {"int", "range", "real", "interval"}:
        raise NotRun
    single = [
        [
            other
            for other in range(len(inputs))
            if other != one and are_adjacent(program, inputs[one], inputs[other], None, 1)
        ]
        for one in range(len(inputs))
    ]
    found = []
    for one in range(len(inputs)):
        reached, front = {one}, {one}
        for _ in range(program.group):
            front = {there for here in front for there in single[here]} - reached
            reached |= front
            if not front:
                break
        found += [(one, other) for other in sorted(reached - {one})]
    return found


def _elements(kind: Type) -> list[Type]:
    return [kind.items[0]] if kind.kind == "list" else [kind]
