"""The scan of a declared table: its columns with their domains, and whose rows they are.

Comes in: a table of the policy. Goes out: a Scan, whose domains the engine enforces on every row (semantics 1.4).
"""

from __future__ import annotations

from sfumato.algebra.column_facts import facts_of
from sfumato.algebra.key_parts import part_tag
from sfumato.algebra.relations import RelationShape, Scan
from sfumato.algebra.tree import KEY, PERSON, Column
from sfumato.policy import Policy, Table, UnitJoin


def scan_of(table: Table, policy: Policy, number: int, stored: bool = False) -> Scan:
    """The scan of a table: its columns with their domains, and whose rows they are."""
    through = []
    step = table
    while isinstance(step.unit, UnitJoin):
        step = policy.tables[step.unit.table]
        through.append(step)
    columns = {
        f"{number}.{name}": Column(f"{number}.{name}", facts_of(declared), unit=_unit(table, name, policy, number))
        for name, declared in table.columns.items()
    }
    rows = None if table.public else table.rows_per_unit
    keys = (frozenset[str](),) if rows == 1 else _keys(table, policy, number)
    single = policy.privacy.partition is not None and policy.privacy.partition[0] == table.name
    shape = RelationShape(columns, not table.public, rows if isinstance(rows, int) else None, keys)
    return Scan(shape, table, number, tuple(through), single, stored)


def _keys(table: Table, policy: Policy, number: int) -> tuple[frozenset[str], ...]:
    """The columns by which other tables find their unit in this one: no two rows have one value (semantics 1.1)."""
    joins = [other.unit for other in policy.tables.values() if isinstance(other.unit, UnitJoin)]
    keys = dict.fromkeys(frozenset(join.keys) for join in joins if join.table == table.name)
    return tuple(frozenset(f"{number}.{name}" for name in key) for key in keys if key <= table.columns.keys())


def _unit(table: Table, name: str, policy: Policy, number: int) -> str:
    """Whether a column is the person, or a key by which persons are found, or a part of one in this scan."""
    if table.unit == name:
        return PERSON
    own = [(table.unit, column, key) for column, key in table.unit.pairs] if isinstance(table.unit, UnitJoin) else []
    units = [other.unit for other in policy.tables.values() if isinstance(other.unit, UnitJoin)]
    led = [(unit, key, key) for unit in units if unit.table == table.name for key in unit.keys]
    for unit, column, key in (*own, *led):
        if column == name:
            tag = f"{unit.table}.{key}"
            return part_tag(unit.table, sorted(unit.keys), key, number) if unit.more else f"{KEY}:{tag}"
    return ""
