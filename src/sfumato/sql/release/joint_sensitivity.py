"""Joint sensitivity: how many aggregates one admissible row can feed at once.

Comes in: the parts of the bundles, the question's filter, the declared domains. Goes out: the largest number of bundles
that a single row can feed. Four counts of four eye colours share one price, for no row has two; brown eyes and taller
than six feet cost two.

The letters: an *atom* compares a bare column of exact type (integer, decimal, date, list) with a constant, or asks
whether it is NULL. Any other condition is opaque: it may hold or not, but equal conditions hold together.

Guarantee: no row that the policy admits and the filter lets through feeds more bundles than `longest_row` says.
Proof: the constants of a column's atoms cut its declared domain into points and gaps; every value in a gap, on the
    grid, gives the same truth values as the one value tried from it, and NULL is tried too. All combinations of such
    values over the columns, and of all truth values of the opaque conditions, are tried. A part that is not zero only
    where a condition holds is counted where that condition is true. Domains are enforced in the scan, so no other value
    reaches a condition. Beyond the limit of steps every bundle counts.
Reference: Dwork, McSherry, Nissim, Smith, TCC 2006 (sensitivity of a vector of questions).
Checked by: laws::longest_row_is_the_largest_over_all_rows, unit::eye_colours_cost_one, unit::opaque_conditions_add_up
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from fractions import Fraction
from itertools import product
from math import prod

from sfumato.algebra.aggregates.base import Bundle
from sfumato.algebra.tree import BOOLEAN, DATE, TEXT, Call, Column, Constant, Facts, Node
from sfumato.interrupts import step

STEPS = 200_000
"""How many conditions are looked at, over all combinations; not a clock: a price never depends on the machine."""

Truth = bool | None
World = dict[int | str, object]
"""The value of each column, and the truth of each opaque condition by the identity of its node."""
_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
TRUE = Constant(True, Facts(BOOLEAN, nullable=False))
FALSE = Constant(False, Facts(BOOLEAN, nullable=False))


def longest_row(bundles: list[Bundle], where: Node | None) -> int:
    """The largest number of bundles that one row can feed."""
    conditions = [_active(bundle) for bundle in bundles]
    everything = [*conditions, *([where] if where is not None else [])]
    atoms: dict[str, list[Call]] = {}
    opaque, places = list[Node](), dict[int, int]()
    for condition in everything:
        _survey(condition, atoms, opaque, places)
    cells = {name: list(_cells(found[0].args[0].facts, found)) for name, found in atoms.items()}
    worlds = prod(len(values) for values in cells.values()) * 3 ** len(opaque)
    if worlds * (len(opaque) + sum(len(found) for found in atoms.values())) > STEPS:
        return len(bundles)
    longest = 0
    for world in _worlds(cells, len(opaque), places):
        if where is None or _truth(where, world) is True:
            longest = max(longest, sum(_truth(condition, world) is True for condition in conditions))
    return longest


def _active(bundle: Bundle) -> Node:
    """A condition that holds wherever some part of the bundle is not zero."""
    result = _nonzero(bundle.parts[0])
    for part in bundle.parts[1:]:
        result = _or(result, _nonzero(part))
    return result


def _nonzero(node: Node) -> Node:
    """A condition without which the number is zero or NULL; where nothing is known, that it may always be another."""
    if isinstance(node, Constant):
        return FALSE if node.value in (0, None) else TRUE
    if isinstance(node, Call) and node.name == "coalesce":
        result: Node = FALSE
        for arg in node.args:
            result = _or(result, _nonzero(arg))
        return result
    if isinstance(node, Call) and node.name == "case":
        result = _nonzero(node.args[-1])
        for test, value in zip(node.args[:-1:2], node.args[1:-1:2], strict=True):
            inner = _nonzero(value)
            result = _or(result, test if inner == TRUE else FALSE if inner == FALSE else _and(test, inner))
        return result
    return TRUE


def _or(a: Node, b: Node) -> Node:
    if FALSE in (a, b):
        return b if a == FALSE else a
    return TRUE if TRUE in (a, b) else Call("or", (a, b), Facts(BOOLEAN))


def _and(a: Node, b: Node) -> Node:
    return Call("and", (a, b), Facts(BOOLEAN))


def can_hold(parts: list[Node]) -> bool:
    """Whether some admissible row makes all of these conditions true; yes, where that takes too many steps to see."""
    atoms: dict[str, list[Call]] = {}
    opaque, places = list[Node](), dict[int, int]()
    for part in parts:
        _survey(part, atoms, opaque, places)
    looks = len(parts) + len(opaque) + sum(len(found) for found in atoms.values())
    if prod(_fewest_cells(found) for found in atoms.values()) * 3 ** len(opaque) * looks > STEPS:
        return True  # a long list: its cells need not be listed to be counted
    cells = {name: list(_cells(found[0].args[0].facts, found)) for name, found in atoms.items()}
    if prod(len(values) for values in cells.values()) * 3 ** len(opaque) * looks > STEPS:
        return True
    return any(all(_truth(part, w) is True for part in parts) for w in _worlds(cells, len(opaque), places))


def is_atom(node: Node) -> bool:
    """Whether it compares a bare column of exact type with a constant, or asks whether it is NULL."""
    if not isinstance(node, Call) or not isinstance(node.args[0], Column):
        return False
    facts = node.args[0].facts
    if node.name == "is null":
        return facts.exact or facts.kind in (DATE, TEXT, BOOLEAN)
    if node.name not in _COMPARISONS or not isinstance(node.args[1], Constant):
        return False
    value = node.args[1].value
    if facts.kind == TEXT:
        return node.name in ("=", "<>") and isinstance(value, str)
    if facts.kind == DATE:
        return isinstance(value, date) and not isinstance(value, datetime)
    return facts.exact and isinstance(value, int | Fraction) and not isinstance(value, bool)


def _survey(node: Node, atoms: dict[str, list[Call]], opaque: list[Node], places: dict[int, int]) -> None:
    """The atoms by column, and the opaque conditions, each once; and which of these each node is, by its identity."""
    step()
    if isinstance(node, Call) and node.name in ("and", "or", "not"):
        for arg in node.args:
            _survey(arg, atoms, opaque, places)
    elif isinstance(node, Call) and is_atom(node):
        column = node.args[0]
        assert isinstance(column, Column)
        atoms.setdefault(column.name, []).append(node)
    elif not isinstance(node, Constant):
        if node not in opaque:
            opaque.append(node)
        places[id(node)] = opaque.index(node)


def _cells(facts: Facts, atoms: list[Call]) -> Iterator[object]:
    """One value from every stretch of the domain on which the atoms of this column do not change, and NULL."""
    constants = {_comparable(atom.args[1]) for atom in atoms if atom.name != "is null"}
    if facts.values is not None:
        yield from facts.values
    elif facts.kind == BOOLEAN:
        yield from (False, True)
    elif facts.kind == TEXT:
        yield from constants
        yield "".join(sorted(str(c) for c in constants)) + "?"  # a text that is none of them
    else:
        yield from _numbers(facts, {c for c in constants if isinstance(c, Fraction)})
    if facts.nullable:
        yield None


def _fewest_cells(atoms: list[Call]) -> int:
    """A bound from below on how many `_cells` a column has, from the texts or whole numbers beside it."""
    facts = atoms[0].args[0].facts
    if facts.values is not None or not (facts.exact or facts.kind == TEXT):
        return 1
    constants = {atom.args[1].value for atom in atoms if len(atom.args) > 1 and isinstance(atom.args[1], Constant)}
    if facts.kind == TEXT:
        return max(1, len(constants))
    if facts.grid is None or facts.grid.numerator != 1:  # else every whole number is on the grid
        return 1
    whole = {value for value in constants if isinstance(value, int) and not isinstance(value, bool)}
    low, high = facts.low, facts.high
    return max(1, sum((low is None or value >= low) and (high is None or value <= high) for value in whole))


def _numbers(facts: Facts, constants: set[Fraction]) -> Iterator[Fraction]:
    """The ends of the domain, each constant on the grid, and its neighbours on the grid: no stretch is left out."""
    grid = facts.grid or Fraction(1)
    tried: set[Fraction] = {end for end in (facts.low, facts.high) if end is not None}
    for constant in constants:
        step()
        below = constant // grid * grid
        tried |= {below - grid, below, below + grid}
    tried = tried or {Fraction(0)}
    for value in sorted(tried):
        if (facts.low is None or value >= facts.low) and (facts.high is None or value <= facts.high):
            yield value


def _comparable(node: Node) -> object:
    value = node.value if isinstance(node, Constant) else None
    if isinstance(value, date):
        return Fraction(value.toordinal())
    return Fraction(value) if isinstance(value, int | Fraction) else value


def _worlds(cells: dict[str, list[object]], opaque: int, places: dict[int, int]) -> Iterator[World]:
    names = list(cells)
    for values in product(*cells.values()):
        step()
        for truths in product((True, False, None), repeat=opaque):
            world: World = dict(zip(names, values, strict=True))
            world.update((node, truths[place]) for node, place in places.items())
            yield world


def _truth(node: Node, world: World) -> Truth:
    """A condition in one world, by the logic of three values."""
    if isinstance(node, Constant):
        return node.value if isinstance(node.value, bool) else None
    if isinstance(node, Call) and node.name in ("and", "or", "not"):
        truths = [_truth(arg, world) for arg in node.args]
        if node.name == "not":
            return None if truths[0] is None else not truths[0]
        decisive = node.name == "or"
        if decisive in truths:
            return decisive
        return None if None in truths else not decisive
    if isinstance(node, Call) and is_atom(node):
        return _atom(node, world)
    truth = world[id(node)]
    return truth if isinstance(truth, bool) else None


def _atom(node: Call, world: World) -> Truth:
    column = node.args[0]
    assert isinstance(column, Column)
    value = world[column.name]
    if node.name == "is null":
        return value is None
    other = _comparable(node.args[1])
    if value is None or other is None:
        return None
    left = Fraction(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if node.name in ("=", "<>"):
        return (left == other) == (node.name == "=")
    if not isinstance(left, Fraction) or not isinstance(other, Fraction):
        raise AssertionError("only exact numbers and dates are ordered here")
    return {"<": left < other, "<=": left <= other, ">": left > other, ">=": left >= other}[node.name]
