"""What names mean inside one SELECT: each visible column, under its table's name, as an expression over the relation.

Comes in: what FROM says. Goes out: the node that a name stands for. A sub-query sees the row around it through `outer`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import get_close_matches

from sfumato.algebra.functions import call
from sfumato.algebra.functions.interval_ends import HIGH, LOW
from sfumato.algebra.relations import Relation, releases_in
from sfumato.algebra.tree import NUMBERS, Node
from sfumato.errors import QueryError
from sfumato.types import identifier


@dataclass(frozen=True)
class ScopeColumn:
    """A visible column; a hidden one answers only to its table's name."""

    owner: str
    name: str
    node: Node
    hidden: bool = False


@dataclass
class Scope:
    """The relation that FROM has made, and its visible columns."""

    relation: Relation
    entries: list[ScopeColumn] = field(default_factory=list)
    outer: Scope | None = None

    def find(self, owner: str | None, name: str, position: int, *, folded: bool = False) -> Node:
        """The node of a name, here or in the query around; see `look` for names that were folded."""
        found = self.look(owner, name, position, folded=folded)
        if found is not None:
            return found.node
        end = self._end(owner, name, position, folded=folded)
        if end is None:
            raise self._unknown(owner, name, position)
        return end

    def _end(self, owner: str | None, name: str, position: int, *, folded: bool) -> Node | None:
        """`n_low` and `n_high` of a released number `n`: ends of its interval, as `sfumato.intervals` names them."""
        base, _, side = name.rpartition("_")
        if not base or side not in _SIDES or self.relation.shape.private or not releases_in(self.relation):
            return None
        found = self.look(owner, base, position, folded=folded)
        if found is None or found.node.facts.kind not in NUMBERS:
            return None
        return call(_SIDES[side], (found.node,), "", position)

    def look(self, owner: str | None, name: str, position: int, *, folded: bool = False) -> ScopeColumn | None:
        """The column of a name, here or in the query around; None where there is none.

        A name without quotes was folded to lower case. Where no column is written so, it means the one column that is
        when case is left aside: files have columns like UserID, and people write UserID.
        """
        for exactly in (True, False) if folded else (True,):
            scope: Scope | None = self
            while scope is not None:
                found = [
                    e
                    for e in scope.entries
                    if (e.name if exactly else e.name.lower()) == name
                    and (e.owner == owner or (owner is None and not e.hidden))
                ]
                if len(found) > 1:
                    owners = " or ".join(_written(entry) for entry in found)
                    raise QueryError(
                        f'column "{name}" is ambiguous', position=position, sqlstate="42702", hint=f"Write {owners}."
                    )
                if found:
                    return found[0]
                scope = scope.outer
        return None

    def _unknown(self, owner: str | None, name: str, position: int) -> QueryError:
        owners = list(dict.fromkeys(entry.owner for entry in self.entries))
        if owner is not None and owner not in owners:
            return QueryError(f'table "{owner}" is not in the FROM clause', position=position, sqlstate="42P01")
        place = owner if owner is not None else ", ".join(owners)
        known = dict.fromkeys(e.name for e in self.entries if owner in (None, e.owner))
        return QueryError(
            f'there is no column "{name}"' + (f' in "{place}"' if place else ""),
            position=position,
            sqlstate="42703",
            hint=there_are(name, list(known), "Columns") if known else "Add a FROM clause.",
        )

    def shown(self, owner: str | None = None) -> list[ScopeColumn]:
        """The columns of *, or of owner.*."""
        return [e for e in self.entries if (not e.hidden if owner is None else e.owner == owner)]


_SIDES = {"low": LOW, "high": HIGH}
_PLAIN = re.compile(r"[a-z_][a-z0-9_$]*")
_MOST_NAMES = 1000
"""Columns among which a similar name is looked for: this runs for every mistyped name."""


def there_are(name: str, known: list[str], what: str) -> str:
    """Names as they have to be written, after the one that was probably meant: cut at a hyphen, or mistyped."""
    written = {one: one if _PLAIN.fullmatch(one) else identifier(one) for one in known}
    parts = [one for one in known if one.startswith(name) and not _PLAIN.fullmatch(one[len(name) :] or "-")]
    near = parts or (get_close_matches(name, known, 1, 0.75) if len(known) <= _MOST_NAMES and len(name) < 100 else [])
    meant = f"Did you mean {written[near[0]]}? " if near else ""
    return f"{meant}{what}: {', '.join(written.values())}."


def _written(entry: ScopeColumn) -> str:
    """A column with its table, in quotes where it needs them."""
    name = entry.name if entry.name == entry.name.lower() else f'"{entry.name}"'
    return f"{entry.owner}.{name}"
