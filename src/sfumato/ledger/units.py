"""The privacy unit of each table, and which changes of it a used ledger refuses.

Every charge bounds what one unit lost. If a later policy makes a unit of something larger (a household instead of a
person), the charges made so far bound only a part of what that larger unit lost. The ledger cannot tell a larger unit
from a smaller one, so it refuses every change that could be one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from sfumato.errors import InputError

Unit = Mapping[str, str]
"""`column` and `type` of a unit column; `column`, `join` and `key` of a unit in another table, and `more` pairs of a
composite key, as JSON; empty if public."""

Units = Mapping[str, Unit]
"""The unit of every table of a policy, by the table's name."""


def read_units(document: object) -> dict[str, dict[str, str]]:
    """Return units as plain dicts of text, from Python or from the chain, or raise one clear error."""
    if not isinstance(document, Mapping) or not all(isinstance(unit, Mapping) for unit in document.values()):
        raise InputError("units must be a mapping of tables to mappings")
    texts = [text for table, unit in document.items() for text in (table, *unit, *unit.values())]
    if not all(isinstance(text, str) for text in texts):
        raise InputError("units must hold nothing but text")
    return {table: dict(unit) for table, unit in sorted(document.items())}


def protected(units: Units) -> dict[str, Unit]:
    """Return the units of the tables that are about people."""
    return {table: unit for table, unit in units.items() if unit}


def known_units(policies: Iterable[tuple[Mapping[str, Any], bool]]) -> dict[str, Unit]:
    """Return the unit of each protected table that charges were made for.

    `policies` are all recorded terms, oldest first, each with whether something was charged under it. A table that a
    later policy left out stays known: leaving it out and naming it again is no way to change its unit. Charges under a
    policy that recorded no units (ledgers of format 1 and 2) count for the first units that were recorded after them.
    """
    known: dict[str, Unit] = {}
    unrecorded = False
    for terms, charged in policies:
        units = read_units(terms.get("units", {}))
        if charged or unrecorded:
            known = protected(units) | known
            unrecorded = not units
    return known


def find_conflict(known: Units, units: Units) -> str | None:
    """Return which change of unit a used ledger refuses, in words, or None if it may be recorded.

    Guarantee: if it returns None, then every table that was charged for and is still in the policy has the unit that it
        had when it was charged for, and the policy keeps at least one of these tables if it protects any table.
    Proof: the two loops below compare exactly that; a type is compared where both are recorded.
    Reference: semantics 5.8.
    Checked by: unit::a_used_ledger_keeps_its_unit, unit::a_unit_is_not_changed_by_way_of_another_policy,
        unit::replay_knows_that_a_unit_changed, end_to_end::a_coarser_unit_is_refused_where_anybody_was_charged
    """
    for table, unit in units.items():
        before = known.get(table)
        if before is None:
            continue
        if not unit:
            return f'table "{table}" cannot become public'
        if _differ(before, unit):
            return f'the unit of table "{table}" cannot change from {show_unit(before)} to {show_unit(unit)}'
    if known and protected(units) and not known.keys() & units.keys():
        names = ", ".join(f'"{table}"' for table in known)
        return f"the policy names none of the tables that were charged for ({names})"
    return None


def describe_changes(known: Units, before: Units, units: Units) -> list[str]:
    """Return what the owner should know about units that a used ledger accepts: nothing can check them."""
    told = []
    for table, unit in protected(units).items():
        if table in known:
            continue
        if before.get(table) == {}:
            told.append(
                f'table "{table}" is protected from now on; it was public before, and what was answered about it then'
                " was exact and was not charged"
            )
        else:
            others = ", ".join(f'"{other}"' for other in known)
            told.append(
                f'table "{table}" is new; its unit {show_unit(unit)} must identify the same people as in {others}:'
                " the charges made so far count for these identifiers"
            )
    return told


def _differ(before: Unit, unit: Unit) -> bool:
    optional = {"type"} if "type" not in before or "type" not in unit else set()
    return any(before.get(key) != unit.get(key) for key in {*before, *unit} - optional)


def show_unit(unit: Unit) -> str:
    """Return a unit as one would write it in a policy."""
    if "join" in unit:
        pairs = [(unit["column"], unit["key"]), *json.loads(unit.get("more", "[]"))]
        return '"' + " AND ".join(f"{column} = {unit['join']}.{key}" for column, key in pairs) + '"'
    if unit["column"] == "#row":
        return "each row"
    kind = f" ({unit['type']})" if "type" in unit else ""
    return f'"{unit["column"]}"{kind}'
