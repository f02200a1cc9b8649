"""Provenance of a number in post-processing: the draws, the public values and the choices between them.

Comes in: an expression over columns whose origins are known. Goes out: its origin, or None where it depends on noise in
a way that no interval is told of. An origin says by its leaves which hidden columns hold, row by row, which released
row a draw is of, and what is public in it (`traced` carries them up); `told` then works out intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from sfumato.algebra.functions import FUNCTIONS
from sfumato.algebra.tree import NUMBERS, Call, Column, Constant, Facts, Node, columns_of


@dataclass(frozen=True)
class Slot:
    """A leaf by its number among the values that come with a row."""

    number: int
    facts: Facts


Leaf = Node | Slot


@dataclass(frozen=True)
class PublicValue:
    """A public value: keys, public tables, and what is computed of these."""

    leaf: Leaf


@dataclass(frozen=True)
class ReleasedColumn:
    """A released column, in the released row whose number the leaf gives; NULL where there is none."""

    name: str
    place: Leaf


@dataclass(frozen=True)
class WindowTotal:
    """A window's total over released rows, running or whole, by the window's name, at a released row."""

    name: str
    place: Leaf


@dataclass(frozen=True)
class ComputedNumber:
    """A function of other numbers; in `case` also of conditions."""

    name: str
    args: tuple[Origin, ...]
    facts: Facts
    extra: str = ""
    grids: tuple[Facts, ...] = ()
    """The facts of the arguments: a number is brought to the grid of its type where it matters which one it is."""


@dataclass(frozen=True)
class Choice:
    """One of several, by a public number: rows of a UNION. None is one that cannot be told."""

    which: Leaf
    options: tuple[Origin | None, ...]


@dataclass(frozen=True)
class ListedAggregate:
    """An aggregate over public rows, which the leaf lists; `inner` is over the slots of one of them.

    `column` is its name, by which a preview may know it. `where` is a noisy condition, over the slots too: the
    aggregate is over those of the rows for which it holds.
    """

    name: str
    inner: Origin
    rows: Leaf
    column: str
    where: Origin | None = None


@dataclass(frozen=True)
class PossiblyNull:
    """A number that is NULL where noise has decided that there is no row: then nothing can be told of it."""

    inner: Origin


Origin = PublicValue | ReleasedColumn | WindowTotal | ComputedNumber | Choice | ListedAggregate | PossiblyNull
Known = dict[str, Origin | None]
"""The columns that noise has touched; all others are public."""

_KEEPS = ("coalesce", "nullif", "settle")
"""They give one of their arguments as it is."""
TESTS = ("=", "<>", "<", "<=", ">", ">=", "and", "or", "not", "is null")
"""Conditions that may stand in CASE about noisy numbers."""


def is_noisy(node: Node, known: Known) -> bool:
    """Whether an expression reads what noise has touched."""
    return not known.keys().isdisjoint(columns_of(node))


def _has_rule(name: str) -> bool:
    """Whether a function of intervals is known."""
    return name in FUNCTIONS and FUNCTIONS[name].interval is not None


def origin(node: Node, known: Known) -> Origin | None:
    """What an expression is made of."""
    if isinstance(node, Column) and node.name in known:
        return known[node.name]
    if not is_noisy(node, known):
        return PublicValue(node)
    if not isinstance(node, Call):
        return None
    numbers = node.facts.kind in NUMBERS and all(arg.facts.kind in (*NUMBERS, "null") for arg in node.args)
    plain = numbers and (node.name in _KEEPS or _has_rule(node.name))
    if not plain and node.name not in TESTS and not (node.name == "case" and node.facts.kind in NUMBERS):
        return None
    made = [origin(arg, known) for arg in node.args]
    args = tuple(arg for arg in made if arg is not None)
    if len(args) < len(made):
        return None
    return ComputedNumber(node.name, args, node.facts, node.extra, tuple(arg.facts for arg in node.args))


def leaves(of: Origin | None) -> Iterator[Leaf]:
    """All leaves but those inside of lists, which belong to other rows."""
    match of:
        case PublicValue(leaf):
            yield leaf
        case ReleasedColumn(_, place) | WindowTotal(_, place):
            yield place
        case ComputedNumber(args=args):
            for arg in args:
                yield from leaves(arg)
        case Choice(which, options):
            yield which
            for option in options:
                yield from leaves(option)
        case ListedAggregate(rows=rows):
            yield rows
        case PossiblyNull(inner):
            yield from leaves(inner)


def moved(of: Origin, move: Callable[[Leaf], Leaf]) -> Origin:  # noqa: PLR0911  one line for each kind of origin
    """The same with other leaves."""
    match of:
        case PublicValue(leaf):
            return PublicValue(move(leaf))
        case ReleasedColumn(name, place):
            return ReleasedColumn(name, move(place))
        case WindowTotal(name, place):
            return WindowTotal(name, move(place))
        case ComputedNumber(args=args):
            return replace(of, args=tuple(moved(arg, move) for arg in args))
        case Choice(which, options):
            return Choice(move(which), tuple(None if one is None else moved(one, move) for one in options))
        case ListedAggregate(rows=rows):
            return replace(of, rows=move(rows))
        case PossiblyNull(inner):
            return PossiblyNull(moved(inner, move))


def numbered(origins: list[Origin | None]) -> tuple[list[Origin | None], tuple[Node, ...]]:
    """Origins over slots, and the nodes that give these; what is written in the question needs none."""
    nodes: dict[Node, int] = {}

    def move(leaf: Leaf) -> Leaf:
        if isinstance(leaf, Slot | Constant):
            return leaf
        return Slot(nodes.setdefault(leaf, len(nodes)), leaf.facts)

    made = [None if one is None else moved(one, move) for one in origins]
    return made, tuple(nodes)
