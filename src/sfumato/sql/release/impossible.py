"""Rows that nobody can have: conditions that the declared domains rule out, so that what is asked is a constant.

Comes in: the private relation below a release, or a FILTER. Goes out: the conditions that no row can fulfil together,
or nothing where some row might; and a sentence about them with the nearest value that is listed.

Guarantee: where conditions are returned, the relation has no row on any database under the policy.
Proof: what holds of every row is a conjunction. Parts of it that compare bare columns with constants, or can be written
    so (`_plain`), and nothing else, are looked at, those that share columns together: `joint_sensitivity` tries a value
    from every stretch of the declared domains, which scans enforce. The rest of the conjunction only leaves fewer rows.
    An inner join of nothing, what is named, marked, sorted or grouped by person of nothing, and a union of nothings,
    are nothing. Privacy does not rest on it: an answer that is the same on every database tells nothing about any, also
    where it is wrong.
Reference: semantics 1.2, 1.4; a conjunction is true only where each of its parts is; decision 143.
Checked by: laws::what_is_called_impossible_has_no_row, laws::a_filter_that_matches_nobody_is_free,
    laws::other_forms_that_are_called_impossible_have_no_row, laws::a_case_that_nobody_fulfils_is_free
"""

from __future__ import annotations

from datetime import date
from difflib import get_close_matches
from fractions import Fraction

from sfumato.algebra.relations import (
    Distinct,
    Filter,
    Fixed,
    Grouped,
    Join,
    MarkJoin,
    Projection,
    Relation,
    Release,
    UnionAll,
    Windowed,
    conditions,
    remembered,
)
from sfumato.algebra.tree import (
    BOOLEAN,
    DATE,
    TEXT,
    Aggregate,
    Call,
    Column,
    Constant,
    Facts,
    Node,
    columns_of,
    conjuncts,
)
from sfumato.interrupts import step
from sfumato.sql.release.joint_sensitivity import FALSE, TRUE, can_hold, is_atom
from sfumato.types import show

_ORDERS = {"=": (0,), "<>": (-1, 1), "<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (0, 1)}
_TURNED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_LIKE = ("like", "ilike")
_CASES = {"lower": str.lower, "upper": str.upper}
_FEW = 12
"""Listed values that a note names."""

_TRUTH = Facts(BOOLEAN)
_UNKNOWN = Constant(None, _TRUTH)

Impossible = tuple[Node, ...]


@remembered
def nobody(release: Release) -> Impossible:
    """The conditions by which no row can reach this release; nothing where one might."""
    return _empty(release.below, _Tried())


@remembered
def no_row(release: Release, aggregate: Aggregate) -> Impossible:
    """The conditions by which no row of this release can feed an aggregate: its FILTER, and the CASE that it is over.

    Aggregates leave NULL out, and a sum is not changed by zeros: so an aggregate is that of no rows if its argument is
    NULL in every row, and a SUM also if it is NULL or zero there.
    """
    zero = (None, 0) if aggregate.name == "sum" else (None,)
    fed = [_unless(node, zero if node is aggregate.arg else (None,)) for node in (aggregate.arg, aggregate.second)]
    said = [node for node in fed if not isinstance(node, Constant)]  # what is constant in the text needs no domains
    parts = [part for node in (aggregate.where, *said) for part in conjuncts(node)]
    return unfulfillable([*parts, *conditions(release.below)]) if parts else ()


def _unless(node: Node | None, values: tuple[object, ...]) -> Node:
    """A condition that holds wherever a number is another one than these: by the constants of CASE alone."""
    if isinstance(node, Constant) and not isinstance(node.value, bool) and node.value in values:
        return FALSE
    if not isinstance(node, Call) or node.name != "case":
        return TRUE
    tests = [
        Call("and", (test, inner), _TRUTH) if inner is not TRUE else test
        for test, value in zip(node.args[:-1:2], node.args[1:-1:2], strict=True)
        if (inner := _unless(value, values)) is not FALSE
    ]
    last = _unless(node.args[-1], values)
    if last is TRUE:
        return TRUE
    tests += [] if last is FALSE else [last]
    return FALSE if not tests else tests[0] if len(tests) == 1 else Call("or", tuple(tests), _TRUTH)


def _empty(relation: Relation, tried: _Tried) -> Impossible:  # noqa: PLR0911  one case for each operator
    step()
    if isinstance(relation, Filter | Join) and (parts := tried.unfulfillable(conditions(relation))):
        return parts
    if isinstance(relation, Filter | Projection | MarkJoin | Windowed | Distinct | Fixed):
        return _empty(relation.below, tried)
    if isinstance(relation, Grouped):
        return _empty(relation.below, tried) if relation.private else ()  # of public rows a total has a row of its own
    if isinstance(relation, UnionAll):
        sides = [_empty(part, tried) for part, _ in relation.parts]
        return tuple(part for side in sides for part in side) if all(sides) else ()
    if isinstance(relation, Join):
        left, right = _empty(relation.left, tried), _empty(relation.right, tried)
        if relation.kind == "full":
            return (*left, *right) if left and right else ()
        return left or (right if relation.kind == "inner" else ())
    return ()


def unfulfillable(parts: list[Node]) -> Impossible:
    """Those of these conditions that no row can fulfil together; nothing where none are found."""
    return _Tried().unfulfillable(parts)


class _Tried:
    """What was found of conditions, each once: a join has those of both its sides, and so has each join above it."""

    def __init__(self) -> None:
        self._plain: dict[int, tuple[Node, Node | None]] = {}
        self._found: dict[tuple[int, ...], Impossible] = {}

    def unfulfillable(self, parts: list[Node]) -> Impossible:
        """Those that no row can fulfil together: those that share columns are tried together."""
        left = [(part, plain, columns_of(plain).keys()) for part in parts if (plain := self._made(part)) is not None]
        while left:
            step()
            tied, reads, left = [left[0]], set(left[0][2]), left[1:]
            while more := [one for one in left if reads & one[2]]:
                tied, left = [*tied, *more], [one for one in left if not reads & one[2]]
                reads.update(name for one in more for name in one[2])
            key = tuple(id(part) for part, _, _ in tied)
            if key not in self._found:
                self._found[key] = _impossible([(part, plain) for part, plain, _ in tied])
            if self._found[key]:
                return self._found[key]
        return ()

    def _made(self, part: Node) -> Node | None:
        """What `_plain` makes of it; the part is kept beside, so that its identity stays its own."""
        if id(part) not in self._plain:
            self._plain[id(part)] = part, _plain(part)
        return self._plain[id(part)][1]


def _impossible(tied: list[tuple[Node, Node]]) -> Impossible:
    if can_hold([plain for _, plain in tied]):
        return ()
    alone = [one for one, plain in tied if not can_hold([plain])]
    return tuple(alone[:1] or [one for one, _ in tied])


def _plain(node: Node) -> Node | None:  # noqa: PLR0911  one case for each kind of node
    """A condition made of comparisons of bare columns with constants; None where there is anything else in it."""
    step()
    if isinstance(node, Constant):
        return node
    if not isinstance(node, Call):
        return None
    if node.name == "in":
        tests = [_plain(Call("=", (node.args[0], value), _TRUTH)) for value in node.args[1:]]
        return _joined("or", tests)
    if node.name in ("and", "or", "not"):
        return _joined(node.name, [_plain(arg) for arg in node.args])
    if node.name in _LIKE and len(node.args) == 2:
        return _matched(node)
    if node.name in _ORDERS and len(node.args) == 2:
        return _comparison(node)
    return node if is_atom(node) else None


def _comparison(node: Call) -> Node | None:
    """A comparison of a column or an expression with a constant, the constant at its right."""
    one, other = node.args
    if isinstance(one, Constant) and isinstance(other, Constant):
        return _compared(node.name, one, other)
    if isinstance(one, Constant):
        node = Call(_TURNED[node.name], (other, one), _TRUTH)
    if isinstance(node.args[1], Constant) and node.args[1].value is None and isinstance(node.args[0], Column):
        return _UNKNOWN
    if isinstance(node.args[0], Call):
        return _computed(node, node.args[0])
    return node if is_atom(node) else None


def _matched(node: Call) -> Node | None:
    """A pattern without wildcards is a text: LIKE is =, and ILIKE = in lower case."""
    text, pattern = node.args
    if not isinstance(pattern, Constant) or not isinstance(pattern.value, str) or set(pattern.value) & set("%_\\"):
        return None
    if node.name == "like":
        return _plain(Call("=", (text, pattern), _TRUTH))
    lower = Constant(pattern.value.lower(), pattern.facts)
    return (
        _computed(Call("=", (text, lower), _TRUTH), Call("lower", (text,), text.facts))
        if pattern.value.isascii()
        else None
    )


def _computed(node: Call, left: Call) -> Node | None:
    """An expression compared with a constant: of lower and upper of a list, the values for which it holds; of an exact
    number whether it holds at all, by the bounds of the expression.

    It may be NULL where FALSE stands here. AND, OR and NOT are monotone in what is unknown: what cannot be true with
    FALSE there cannot be true with NULL either.
    """
    value = node.args[1].value if isinstance(node.args[1], Constant) else None
    if left.name in _CASES and isinstance(left.args[0], Column) and isinstance(value, str) and node.name == "=":
        column, listed = left.args[0], left.args[0].facts.values
        if column.facts.kind != TEXT or listed is None or not all(isinstance(v, str) and v.isascii() for v in listed):
            return None
        same = [v for v in listed if _CASES[left.name](str(v)) == value]
        atoms: list[Node | None] = [Call("=", (column, Constant(v, column.facts)), _TRUTH) for v in same]
        return _joined("or", atoms) if atoms else FALSE
    low, high = left.facts.low, left.facts.high
    if low is None or high is None or not _is_arithmetic(left) or not _is_number(node.args[1]):
        return None
    number = Fraction(value)  # type: ignore[arg-type]
    signs = set(range((low > number) - (low < number), (high > number) - (high < number) + 1))
    holds = signs & set(_ORDERS[node.name])
    return FALSE if not holds else TRUE if holds == signs else None


def _is_arithmetic(node: Node) -> bool:
    """Whether it is made of exact columns and constants by sums and products: its bounds are those of its values."""
    if isinstance(node, Call):
        return node.name in ("+", "-", "*", "negate") and node.facts.exact and all(map(_is_arithmetic, node.args))
    return isinstance(node, Column | Constant) and node.facts.exact


def _is_number(node: Node) -> bool:
    return (
        isinstance(node, Constant)
        and isinstance(node.value, int | Fraction)
        and not isinstance(node.value, bool)
        and node.facts.exact
    )


def _joined(name: str, parts: list[Node | None]) -> Node | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return known[0] if name == "or" and len(known) == 1 else Call(name, tuple(known), _TRUTH)


def _compared(name: str, one: Constant, other: Constant) -> Node | None:
    """Two written values of one kind, compared; texts are compared for equality only, as engines sort them."""
    if one.value is None or other.value is None:
        return _UNKNOWN
    numbers = [isinstance(c.value, int | Fraction) and not isinstance(c.value, bool) for c in (one, other)]
    if all(numbers) and one.facts.exact and other.facts.exact:
        a, b = Fraction(one.value), Fraction(other.value)  # type: ignore[arg-type]
        return TRUE if (a > b) - (a < b) in _ORDERS[name] else FALSE
    if isinstance(one.value, str) and isinstance(other.value, str) and name in ("=", "<>"):
        return TRUE if (one.value == other.value) == (name == "=") else FALSE
    return None


# words
def words(parts: Impossible) -> str:
    """A note: what cannot be, and what is listed instead."""
    told = " and ".join(dict.fromkeys(_said(part) for part in parts))
    hints = dict.fromkeys(hint for part in parts for atom in _atoms(part) if (hint := _hint(atom)))
    return "; ".join([f"no row can have {told}, so the result for such rows is exact and free", *hints])


def _atoms(node: Node) -> list[Call]:
    if isinstance(node, Call) and node.name == "in":
        return [Call("=", (node.args[0], value), _TRUTH) for value in node.args[1:]]
    if isinstance(node, Call) and node.name in ("and", "or", "not"):
        return [atom for arg in node.args for atom in _atoms(arg)]
    return [node] if isinstance(node, Call) and node.name in (*_ORDERS, *_LIKE) else []


def _said(node: Node) -> str:
    if isinstance(node, Column):
        return node.name.partition(".")[2] or node.name
    if isinstance(node, Constant):
        return _written(node.value)
    if isinstance(node, Call) and node.name == "in":
        return f"{_said(node.args[0])} IN ({', '.join(map(_said, node.args[1:]))})"
    if isinstance(node, Call) and node.name == "not":
        return f"NOT ({_said(node.args[0])})"
    if isinstance(node, Call) and node.name == "is null":
        return f"{_said(node.args[0])} IS NULL"
    assert isinstance(node, Call)
    words = [_said(arg) for arg in node.args]
    infix = len(words) > 1 and (not node.name.isalpha() or node.name in ("and", "or", *_LIKE))
    return f" {node.name.upper()} ".join(words) if infix else f"{node.name}({', '.join(words)})"


def _written(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
    if isinstance(value, int | Fraction):
        return show(Fraction(value))
    return f"'{value}'"


def _hint(atom: Call) -> str:
    """What is declared of a column, or known of an expression, that is compared with a value outside of it."""
    sides = (
        [arg for arg in atom.args if not isinstance(arg, Constant)],
        [arg for arg in atom.args if isinstance(arg, Constant)],
    )
    if [len(side) for side in sides] != [1, 1]:
        return ""
    left, value = sides[0][0], sides[1][0].value
    facts, name = left.facts, _said(left)
    listed, verb = facts.values if isinstance(left, Column) else None, f"the policy lists {{}} for {name}"
    if isinstance(left, Call) and left.name in _CASES and isinstance(left.args[0], Column):
        values = left.args[0].facts.values
        listed = None if values is None else tuple(dict.fromkeys(_CASES[left.name](str(one)) for one in values))
        verb = f"{name} is one of {{}}"
    if listed is not None and value not in listed and facts.kind == TEXT:
        known = [str(one) for one in listed]
        some = ", ".join(known[:_FEW]) + (", …" if len(known) > _FEW else "")
        near = nearest(str(value), known)
        return verb.format(some) + ("" if near is None else f": did you mean {_written(near)}?")
    if facts.low is not None and facts.high is not None and listed is None:
        ends = [date.fromordinal(int(end)) if facts.kind == DATE else show(end) for end in (facts.low, facts.high)]
        return f"{name} is from {ends[0]} to {ends[1]}"
    return ""


def nearest(text: str, listed: list[str]) -> str | None:
    """The listed value that is written most like a text, whatever its case; None where none is near."""
    by_case = {one.casefold().strip(): one for one in reversed(listed)}
    found = get_close_matches(text.casefold().strip(), by_case, n=1, cutoff=0.6)
    return by_case[found[0]] if found else None
