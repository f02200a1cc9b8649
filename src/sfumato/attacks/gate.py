"""The gateway as an endpoint: over a policy, on a fork of its ledger; or over a plain table, with a budget of its own.

Comes in: a policy file, or a table. Goes out: an Endpoint that asks as an analyst does, and says what was spent.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from sfumato.attacks.base import Endpoint, Rows
from sfumato.attacks.defences import TABLE, Sheet
from sfumato.gateway import Gateway, fork_policy, open_policy
from sfumato.words import identifier, show, string

_LISTED = 200
"""Different values up to which a column is declared by its list."""


@contextmanager
def policy_endpoint(path: Path, *, spend: bool) -> Iterator[Endpoint]:
    """The gateway of a policy: its own ledger is written only with `spend`."""
    with (
        tempfile.TemporaryDirectory(prefix="sfumato-attack-") as folder,
        open_policy(path) if spend else fork_policy(path, Path(folder)) as gate,
    ):
        yield _endpoint(path.name, gate)


@contextmanager
def table_endpoint(sheet: Sheet, key: str | None, epsilon: Fraction) -> Iterator[Endpoint]:
    """The gateway over a plain table, one row a person, with this total."""
    with tempfile.TemporaryDirectory(prefix="sfumato-attack-") as name:
        folder = Path(name)
        unit = key or "#row"
        extra = "" if key else f", rowid AS {identifier(unit)}"
        target = folder / "data.parquet"
        sheet.engine.execute(
            f"COPY (SELECT *{extra} FROM {identifier(TABLE)}) TO {string(str(target))} (FORMAT parquet)"
        )
        policy = folder / "sfumato.toml"
        policy.write_text(_policy(sheet, unit, epsilon), encoding="utf-8")
        with open_policy(policy) as gate:
            yield _endpoint("dp", gate)


def _endpoint(name: str, gate: Gateway) -> Endpoint:
    price: list[Fraction | None] = [None]

    def share(questions: int) -> None:
        left = gate.budget(None).remaining.epsilon or Fraction(0)
        each = Fraction(int(left * 10**12) // max(1, questions), 10**12)
        price[0] = max(each, gate.policy.privacy.min_epsilon)

    def run(sql: str) -> Rows:
        return gate.sql(sql, epsilon=price[0]).rows

    def spent() -> Fraction:
        return gate.budget(None).spent.epsilon or Fraction(0)

    between = 1 if gate.policy.privacy.adjacency.value == "replace" else 2
    return Endpoint(name, run, gate.policy.privacy.epsilon, spent, share, between=between)


def _policy(sheet: Sheet, unit: str, epsilon: Fraction) -> str:
    """A policy as an owner might declare it. Here the bounds are read off the rows: it is the attacker's gain alone."""
    rows = sheet.records()
    columns = [f"{_key(unit)} = {{ type = {_kind(rows, unit)} }}"]
    columns += [f"{_key(c)} = {{ {_domain([row[c] for row in rows])} }}" for c in sheet.columns if c != unit]
    head = (
        f'[source]\nengine = "duckdb"\nfiles = {{ {TABLE} = "data.parquet" }}\n[data]\nid = "attacked"\n'
        f"[privacy]\nepsilon = {show(epsilon)}\n[tables.{TABLE}]\nunit = {_key(unit)}\nrows_per_unit = 1\n"
        f"[tables.{TABLE}.columns]\n"
    )
    return head + "\n".join(columns) + "\n"


def _key(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _kind(rows: list[dict[str, Any]], unit: str) -> str:
    values = [row.get(unit, 0) for row in rows]
    if all(isinstance(value, int) for value in values):
        return (
            f'"integer", min = {min(values)}, max = {max(values)}'
            if unit in rows[0]
            else (f'"integer", min = 0, max = {len(rows)}')
        )
    return f'"text", max_length = {max(len(str(value)) for value in values)}'


def _domain(values: list[Any]) -> str:
    there = [value for value in values if value is not None]
    kinds: dict[type, Callable[[], str]] = {
        bool: lambda: 'type = "boolean"',
        int: lambda: f'type = "integer", min = {min(there)}, max = {max(there)}',
        float: lambda: f'type = "decimal", min = {int(min(there)) - 1}, max = {int(max(there)) + 1}, grid = 0.01',
        Decimal: lambda: f'type = "decimal", min = {int(min(there)) - 1}, max = {int(max(there)) + 1}, grid = 0.01',
        date: lambda: f'type = "date", min = {min(there).isoformat()}, max = {max(there).isoformat()}',
    }
    if there and type(there[0]) in kinds and all(type(v) is type(there[0]) for v in there):
        return kinds[type(there[0])]()
    distinct = sorted({str(value) for value in there})
    if distinct and len(distinct) <= _LISTED:
        return f"values = [{', '.join(_key(value) for value in distinct)}]"
    return f'type = "text", max_length = {max((len(v) for v in distinct), default=1)}'
