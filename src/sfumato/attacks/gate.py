"""The gateway as an endpoint: over a policy, on a fork of its ledger; or over a plain table, with a budget of its own.

Comes in: a policy file, or a table. Goes out: an Endpoint that asks as an analyst does, and says what was spent.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

from sfumato.attacks.base import Endpoint, Rows, plain
from sfumato.attacks.sheet import TABLE, Sheet
from sfumato.gateway import Gateway, fork_policy, open_policy
from sfumato.words import identifier, show, string

_PLACES = 6
"""Decimals of a number that a policy is declared with, at most."""
_LISTED = 200
"""Different values up to which a column is declared by its list."""


@contextmanager
def policy_endpoint(path: Path, *, spend: bool, part: int = 1) -> Iterator[Endpoint]:
    """The gateway of a policy: its own ledger is written only with `spend`. One part of so many of what is left is for
    this attack.
    """
    with (
        tempfile.TemporaryDirectory(prefix="sfumato-attack-") as folder,
        open_policy(path) if spend else fork_policy(path, Path(folder)) as gate,
    ):
        yield _endpoint(path.name, gate, part)


@contextmanager
def table_endpoint(sheet: Sheet, key: str | None, epsilon: Fraction) -> Iterator[Endpoint]:
    """The gateway over a plain table, one row a person, with this total."""
    with tempfile.TemporaryDirectory(prefix="sfumato-attack-") as name:
        folder = Path(name)
        taken = {column.casefold() for column in sheet.columns}
        unit = key or next(name for name in (f"row{i}" for i in count(1)) if name not in taken)  # "row" is no column
        extra = "" if key else f", rowid AS {identifier(unit)}"
        target = folder / "data.parquet"
        sheet.engine.execute(
            f"COPY (SELECT *{extra} FROM {identifier(TABLE)}) TO {string(str(target))} (FORMAT parquet)"
        )
        policy = folder / "sfumato.toml"
        policy.write_text(_policy(sheet, unit, epsilon), encoding="utf-8")
        with open_policy(policy) as gate:
            yield _endpoint("dp", gate)


def _endpoint(name: str, gate: Gateway, part: int = 1) -> Endpoint:
    price: list[Fraction | None] = [None]

    def share(questions: int) -> None:
        left = gate.budget(None).remaining.epsilon or Fraction(0)
        each = Fraction(int(left * 10**12) // (max(1, questions) * part), 10**12)
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
    columns = [f"{_key(unit)} = {{ {_unit(rows, unit)} }}"]
    columns += [f"{_key(c)} = {{ {_domain([plain(row[c]) for row in rows])} }}" for c in sheet.columns if c != unit]
    head = (
        f'[source]\nengine = "duckdb"\nfiles = {{ {TABLE} = "data.parquet" }}\n[data]\nid = "attacked"\n'
        f"[privacy]\nepsilon = {show(epsilon)}\n[tables.{TABLE}]\nunit = {_key(unit)}\nrows_per_unit = 1\n"
        f"[tables.{TABLE}.columns]\n"
    )
    return head + "\n".join(columns) + "\n"


def _key(name: str) -> str:
    """A string as TOML and JSON write it."""
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")


def _unit(rows: list[dict[str, Any]], unit: str) -> str:
    if unit not in rows[0]:
        return f'type = "integer", min = 0, max = {len(rows)}'
    values = [row[unit] for row in rows]
    if all(isinstance(value, int) for value in values):
        return f'type = "integer", min = {min(values)}, max = {max(values)}'
    return f'type = "text", max_length = {max(len(str(value)) for value in values)}'


def _domain(values: list[Any]) -> str:
    """What an owner would say of a column with these values."""
    there = [value for value in values if value is not None]
    kinds = {type(value) for value in there}
    if kinds == {bool}:
        return 'type = "boolean"'
    if kinds == {int}:
        return f'type = "integer", min = {min(there)}, max = {max(there)}'
    if kinds and kinds <= {int, float}:
        low, high = math.floor(min(there)), math.ceil(max(there))
        return f'type = "decimal", min = {low}, max = {high + (low == high)}, grid = {_grid(there)}'
    if kinds in ({datetime}, {date}):
        kind = "timestamp" if kinds == {datetime} else "date"
        return f'type = "{kind}", min = {min(there).isoformat()}, max = {max(there).isoformat()}'
    distinct = sorted({str(value) for value in there})
    if distinct and len(distinct) <= _LISTED:
        return f"values = [{', '.join(_key(value) for value in distinct)}]"
    return f'type = "text", max_length = {max((len(v) for v in distinct), default=1)}'


def _grid(values: list[Any]) -> str:
    """The coarsest power of ten that all these numbers are multiples of, within reason."""
    places = max((max(0, -int(Decimal(repr(v)).normalize().as_tuple().exponent)) for v in values), default=0)
    return f"{Decimal(1).scaleb(-min(places, _PLACES)):f}"
