"""What the rules of functions share: refusals of arguments that do not go together, facts of text and of numbers.

Comes in: arguments with their facts. Goes out: facts of a value, or `Mismatch`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sfumato.algebra.tree import DECIMAL, INTEGER, NULL, NUMBERS, TEXT, Constant, Facts, Node

Rule = Callable[[tuple[Node, ...], str], Facts]
"""From arguments, and words such as `month`, to what is known of the value."""
LONGEST = 100_000
"""Beyond this many characters a text is not made."""


LIMIT = Fraction(1 << 100)
"""Beyond this many steps of the grid an intermediate number might not fit into the engine's 127 bits."""
FARTHEST = 1_000_000
"""The largest position, length or count that a query may write."""


class Mismatch(Exception):
    """Arguments that do not go together."""


class TooManyBits(Exception):
    """Bounds that an engine cannot hold."""


def nullable(args: tuple[Node, ...]) -> bool:
    """Whether an argument may be NULL."""
    return any(arg.facts.nullable for arg in args)


def text_facts(args: tuple[Node, ...]) -> Facts:
    """The first argument as text."""
    facts = args[0].facts
    if facts.kind not in (TEXT, NULL):
        raise Mismatch(f"text is needed here, but this is {facts.kind}")
    return Facts(TEXT, nullable=nullable(args), length=0 if facts.kind == NULL else facts.length)


def written_text(arg: Node, longest: int) -> str:
    """A text that is written in the query."""
    if not isinstance(arg, Constant) or not isinstance(arg.value, str) or len(arg.value) > longest:
        raise Mismatch(f"a text literal of at most {longest} characters is needed here")
    return arg.value


def written_whole(arg: Node, low: int, high: int, what: str) -> int:
    """A whole number that is written in the query."""
    value = arg.value if isinstance(arg, Constant) else None
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise Mismatch(f"{what} needs an integer literal from {low} to {high}")
    return value


def need_numbers(name: str, args: tuple[Node, ...]) -> None:
    """Refuse what is not a number."""
    for arg in args:
        if arg.facts.kind not in (*NUMBERS, NULL):
            raise Mismatch(f"{name} needs numbers, but was given {arg.facts.kind}")


def fit(facts: Facts) -> Facts:
    """Refuse exact numbers that could outgrow the engine."""
    if facts.exact and facts.bounded and facts.grid is not None and facts.largest / facts.grid > LIMIT:
        raise TooManyBits
    return facts


def common_grid(*grids: Fraction | None) -> Fraction | None:
    """The coarsest grid that holds multiples of all: gcd of fractions."""
    known = [g for g in grids if g is not None]
    if len(known) < len(grids) or not known:
        return None
    result = known[0]
    for other in known[1:]:
        a, b = result, other
        while b:
            a, b = b, a % b
        result = a
    return result


def exact_kind(args: tuple[Node, ...]) -> str:
    """The kind of exact numbers together."""
    return INTEGER if all(arg.facts.kind in (INTEGER, NULL) for arg in args) else DECIMAL


def need_exact(name: str, args: tuple[Node, ...]) -> None:
    """Refuse what is no exact number."""
    need_numbers(name, args)
    if not all(arg.facts.exact for arg in args):
        raise Mismatch(f"{name} needs exact numbers: whole numbers, or decimals with a declared grid")


def not_zero(f: Facts) -> bool:
    """An exact number that is surely not zero."""
    return f.low is not None and f.high is not None and not f.low <= 0 <= f.high
