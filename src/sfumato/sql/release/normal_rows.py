"""Relations in a normal form, so that two spellings of one query read the same rows under one key.

Comes in: relations and expressions of the algebra, with the names that a query gave them. Goes out: keys without names.
Inner joins and filters become one product with one set of conditions, whatever their order and however deep the
sub-queries; columns are what they are computed of; what nobody reads is no part of a key.

Guarantee: relations with one key hold the same rows, those of a private one with the same person.
Proof: a product is determined by its factors and conditions; every other relation by the keys of what is below it, and
    by what it does. A column is a word of a row of a place: the word is the key of what it holds, in terms of the rows
    that its relation was made of. Two places with equal rows keep different numbers.
Reference: semantics 5.4.
Checked by: laws::one_key_means_one_answer, laws::spellings_of_one_query_cost_once
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import singledispatchmethod
from itertools import groupby, islice, permutations, product

from sfumato.algebra.relations import (
    Distinct,
    Filter,
    Fixed,
    Grouped,
    Itself,
    Join,
    Limited,
    MarkJoin,
    Projection,
    Relation,
    Release,
    Scan,
    Series,
    SetOperation,
    SingleRow,
    UnionAll,
    Windowed,
)
from sfumato.algebra.tree import Aggregate, Call, Column, Constant, Facts, Node, Over, Sorted
from sfumato.interrupts import step
from sfumato.sql.release.normal_form import (
    Keys,
    NormalTerm,
    Place,
    SharedKeys,
    SharedLimits,
    held,
    key_of,
    key_of_long,
    simplified,
)

_MOST_ORDERS = 24
"""Orders of equal factors that are tried for the least key; beyond them the order is as it was written."""


@dataclass(frozen=True)
class RowProduct:
    """A product of places under conditions, and what its columns are."""

    places: tuple[Place, ...]
    conditions: tuple[NormalTerm, ...]
    columns: dict[str, NormalTerm]

    def node(self, node: Node) -> NormalTerm:
        """An expression over these rows."""
        if isinstance(node, Column):
            return self.columns[node.name]
        if isinstance(node, Constant):
            return NormalTerm("constant", (), node.facts, value=node.value)
        if isinstance(node, Call):
            step()
            return simplified(NormalTerm(node.name, tuple(self.node(arg) for arg in node.args), node.facts, node.extra))
        raise AssertionError(f"a {type(node).__name__} is no expression over rows")


@dataclass(frozen=True)
class Closed:
    """Rows whose places have numbers: their key, and the keys of expressions over them."""

    key: str
    rows: RowProduct
    keys: Keys
    numbers: dict[Place, str]

    def of(self, node: Node | None) -> str | None:
        """The key of an expression."""
        return None if node is None else self.keys.of(self.rows.node(node))

    def column(self, name: str) -> str:
        """The key of a column."""
        return self.keys.of(self.rows.columns[name])

    def aggregate(self, aggregate: Aggregate) -> str:
        """The key of an aggregate over these rows, with the bounds that its value is held to."""
        parts = [self.of(node) for node in (aggregate.arg, aggregate.where, aggregate.second)]
        types = [_bounds(node.facts) for node in (aggregate.arg, aggregate.second) if node is not None]
        return key_of(aggregate.name, aggregate.extra, parts, types, _bounds(aggregate.facts))

    def order(self, items: Iterable[Sorted]) -> list[list[object]]:
        """The keys of an order."""
        return [[self.of(item.node), item.descending, item.nulls_first] for item in items]


def close(rows: RowProduct, prefix: str = "") -> Closed:
    """Number the places: by their keys, and among equal ones in the order that gives the least key."""
    places = sorted(rows.places, key=lambda place: place.key)
    alike = [list(group) for _, group in groupby(places, key=lambda place: place.key)]
    found: Closed | None = None
    some = [islice(permutations(group), _MOST_ORDERS) for group in alike]  # `product` reads each to its end first
    shared, limits = SharedKeys(), SharedLimits()
    known: dict[NormalTerm, NormalTerm] = {}
    conditions = [held(condition, known) for condition in rows.conditions]
    for order in islice(product(*some), _MOST_ORDERS):
        step()
        numbers = {place: f"{prefix}{i}" for i, place in enumerate(one for group in order for one in group)}
        keys = Keys(numbers, shared, limits)
        key = key_of("product", [place.key for place in places], keys.all_of(conditions))
        if found is None or key < found.key:
            found = Closed(key, rows, keys, numbers)
    assert found is not None
    return found


class NormalRows:
    """Relations in their normal form; `released` has the keys of earlier releases and of their columns."""

    def __init__(self, released: Mapping[Release, tuple[str, Mapping[str, str]]]) -> None:
        self._released = released

    def close(self, relation: Relation, prefix: str = "") -> Closed:
        """A relation by itself."""
        return close(self.rows(relation), prefix)

    @singledispatchmethod
    def rows(self, relation: Relation) -> RowProduct:
        """A relation as a product; what is none becomes one place."""
        raise AssertionError(f"a {type(relation).__name__} has no normal form")

    @rows.register
    def _(self, relation: SingleRow) -> RowProduct:  # noqa: ARG002  its kind is all that is known
        return RowProduct((), (), {})

    @rows.register
    def _(self, relation: Series) -> RowProduct:
        return _placed(relation, key_of_long("series", *map(str, relation.values)), {relation.name: "value"})

    @rows.register
    def _(self, relation: Scan) -> RowProduct:
        key = key_of("scan", relation.table.name, relation.single)
        return _placed(relation, key, {name: name.split(".", 1)[1] for name in relation.columns})

    @rows.register
    def _(self, relation: Release) -> RowProduct:
        key, words = self._released[relation]
        return _placed(relation, key, words)

    @rows.register
    def _(self, relation: Fixed) -> RowProduct:
        return self.rows(relation.below)

    @rows.register
    def _(self, relation: Filter) -> RowProduct:
        rows = self.rows(relation.below)
        return replace(rows, conditions=(*rows.conditions, rows.node(relation.condition)))

    @rows.register
    def _(self, relation: Projection) -> RowProduct:
        rows = self.rows(relation.below)
        return replace(rows, columns={name: rows.node(node) for name, node in relation.items})

    @rows.register
    def _(self, relation: Join) -> RowProduct:
        if relation.kind != "inner":
            return self._outer(relation)
        left, right = self.rows(relation.left), self.rows(relation.right)
        if relation.left.private and relation.right.private and not relation.by_person:
            raise AssertionError("rows of two persons do not meet")
        both = _both(left, right)
        on = () if relation.on is None else (both.node(relation.on),)
        return replace(both, conditions=(*both.conditions, *on))

    def _outer(self, relation: Join) -> RowProduct:
        left, right = self.close(relation.left, "l"), self.close(relation.right, "r")
        both = _both(left.rows, right.rows)
        keys = Keys(left.numbers | right.numbers)
        on = [] if relation.on is None else [both.node(relation.on)]
        key = key_of(relation.kind, left.key, right.key, keys.all_of(on), relation.by_person)
        words = {  # a value that reads no row is there only where its side is
            name: key_of("left" if name in left.rows.columns else "right", keys.of(both.columns[name]))
            for name in relation.columns
            if name in both.columns
        }
        return _placed(relation, key, words | {f"{relation.number}.unit": "unit"})

    @rows.register
    def _(self, relation: MarkJoin) -> RowProduct:
        rows, right = self.rows(relation.below), self.close(relation.right, "m")
        both = _both(rows, right.rows)
        on = [] if relation.on is None else [both.node(relation.on)]
        compared = [both.node(node) for node in (relation.operand, relation.value) if node is not None]

        def mark(numbers: dict[Place, str]) -> str:
            keys = Keys({place: f"o{number}" for place, number in numbers.items()} | right.numbers)
            types = [[term.facts.kind, str(term.facts.grid)] for term in compared]
            return key_of("mark", right.key, keys.all_of(on), relation.by_person, list(map(keys.of, compared)), types)

        facts = relation.columns[relation.name].facts
        return replace(rows, columns={**rows.columns, relation.name: NormalTerm("mark", (), facts, inner=mark)})

    @rows.register
    def _(self, relation: Windowed) -> RowProduct:
        closed = self.close(relation.below)
        places = tuple(sorted(closed.numbers, key=lambda place: int(closed.numbers[place])))
        columns = dict(closed.rows.columns)
        for name, over in relation.windows:
            word = key_of("over", closed.key, _over(closed, over))
            columns[name] = NormalTerm("column", (), over.facts, word, places)
        return replace(closed.rows, columns=columns)

    @rows.register
    def _(self, relation: Grouped) -> RowProduct:
        closed = self.close(relation.below)
        words = {name: closed.of(node) or "" for name, node in relation.keys}
        words |= {name: _least(words[name]) for name in words if name in relation.persons_columns}
        by = [words[name] for name, _ in relation.keys]
        sets = relation.sets or (tuple(range(len(by))),)
        key = key_of("grouped", closed.key, relation.private, [sorted({by[i] for i in kept}) for kept in sets])
        for i, (name, _) in enumerate(relation.keys):  # a key is NULL in the sets that leave it out
            words[name] = key_of(by[i], [number for number, kept in enumerate(sets) if i in kept])
        words |= {name: closed.aggregate(aggregate) for name, aggregate in relation.aggregates}
        return _placed(relation, key, {f"{relation.number}.set": "set"} | words)

    @rows.register
    def _(self, relation: Distinct) -> RowProduct:
        closed = self.close(relation.below)
        words = {name: closed.column(name) for name in relation.columns}
        words |= {name: _least(words[name]) for name in relation.persons_columns}
        return _placed(relation, key_of("distinct", closed.key, relation.private, sorted(set(words.values()))), words)

    @rows.register
    def _(self, relation: Limited) -> RowProduct:
        closed = self.close(relation.below)
        words = {name: closed.column(name) for name in relation.columns}
        ends = [relation.limit, relation.offset, [words.get(name, name) for name in relation.shape.places]]
        key = key_of("limited", closed.key, closed.order(relation.order), ends, sorted(set(words.values())))
        return _placed(relation, key, words)

    @rows.register
    def _(self, relation: UnionAll) -> RowProduct:
        return _placed(relation, key_of("stacked", sorted(self._parts(relation))), _by_number(relation))

    @rows.register
    def _(self, relation: SetOperation) -> RowProduct:
        return _placed(relation, key_of(relation.kind, self._parts(relation)), _by_number(relation))

    @rows.register
    def _(self, relation: Itself) -> RowProduct:
        return _placed(relation, key_of("itself", relation.depth), _by_number(relation))

    def _parts(self, relation: UnionAll | SetOperation) -> list[str]:
        found = []
        for part, nodes in relation.parts:
            closed = self.close(part)
            types = [[node.facts.kind, str(node.facts.grid)] for node in nodes]
            found.append(key_of(closed.key, [closed.of(node) for node in nodes], types))
        return found


def _least(word: str) -> str:
    """The person's identifier in one row for each of her groups: the least of hers, and no key of the group (an
    expression of it, such as u + 0, is one).
    """
    return key_of("least", word)


def _over(closed: Closed, over: Over) -> list[object]:
    args = [[closed.of(node), node.facts.kind, str(node.facts.grid)] for node in over.args]
    by = sorted({str(closed.of(node)) for node in over.partition})
    return [over.name, args, by, closed.order(over.order), over.frame, _bounds(over.facts)]


def _placed(relation: Relation, key: str, words: Mapping[str, str]) -> RowProduct:
    """A relation that is one place of a product."""
    place = Place(key)
    columns = {
        name: NormalTerm("column", (), relation.columns[name].facts, word, (place,))
        for name, word in words.items()
        if name in relation.columns
    }
    return RowProduct((place,), (), columns)


def _both(left: RowProduct, right: RowProduct) -> RowProduct:
    columns = {**left.columns, **right.columns}
    return RowProduct((*left.places, *right.places), (*left.conditions, *right.conditions), columns)


def _by_number(relation: Relation) -> dict[str, str]:
    return {name: str(number) for number, name in enumerate(relation.columns)}


def _bounds(facts: Facts) -> list[str]:
    return [facts.kind, str(facts.low), str(facts.high), str(facts.grid), str(facts.length)]
