"""Verify, refuter: the inputs of a search. Comes in: a program. Goes out: parameters, inputs far from each other, and
their neighbours.

Numbers are put at a depth on one side of nothing, or at the ends of their type; neighbours are one step further, as
the adjacency allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, product
from typing import Any

from sfumato.verify.cases import Maker, make_pools
from sfumato.verify.run import ITEMS, Env, NotRun, RunFault
from sfumato.verify.tree import Param, Program, Type

SIZES, PUBLICS, MIDDLE = 12, 16, Fraction(-1000)
"""Lists of up to so many elements, so many parameters of one size; and the depth that stands for the middle of a
type.
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
class InputMaker:
    """Makes the inputs of one program."""

    program: Program
    maker: Maker

    def publics(self, base: Env, size: int) -> list[Env]:
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

    def _private(self) -> list[Param]:
        return [param for param in self.program.params if param.private]

    def all_elements(self, size: int) -> list[Element]:
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
                if bits > ITEMS:
                    raise NotRun
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
        except (NotRun, RunFault, ValueError):
            return None

    def plans(self, signs: dict[Element, int], size: int) -> Iterator[Plan]:
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

    def far(self, neutral: Env, signs: dict[Element, int], depth: Fraction) -> Env:
        """The input with each element at a depth, or at an end of its type, on the side that its sign says."""
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

    def changed(self, one: Env, changes: dict[Element, int], neutral: Env) -> Env:
        """The neighbour: each of these elements one step further, at the other end, or gone."""
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


def get(env: Env, element: Element) -> Fraction:
    """The number that an element is."""
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
