"""The gateway as an endpoint: over a policy, on a fork of its ledger; or over a plain table, with a budget of its own.

Comes in: a policy file, or a table. Goes out: an Endpoint that asks as an analyst does, and says what was spent.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

from sfumato.attacks.base import Endpoint, Rows, plain
from sfumato.attacks.sheet import TABLE, Sheet
from sfumato.gateway import Gateway, Loaded, enter, open_policy, read_rows
from sfumato.ledger import Ledger, has_ledger
from sfumato.policy import load
from sfumato.types import identifier, show, string

_PLACES = 6
"""Decimals of a number that a policy is declared with, at most."""
_LISTED = 200
"""Different values up to which a column is declared by its list."""


@contextmanager
def policy_endpoint(path: Path, *, spend: bool, part: int = 1) -> Iterator[Endpoint]:
    """The gateway of a policy: its own ledger is written only with `spend`. One part of so many of what is left is for
    this attack. Without `spend` an attack may begin again on another copy of the ledger.
    """
    with tempfile.TemporaryDirectory(prefix="sfumato-attack-") as folder:
        policy = load(path)
        if spend:
            with open_policy(path) as gate:
                yield _Copies([gate]).endpoint(path.name, part)
            return
        loaded = read_rows(policy)

        def copy(number: int) -> Gateway:
            place = Path(folder) / f"fork{number}.ledger"
            if has_ledger(policy.data.ledger):
                with Ledger.visit(policy.data.ledger, anchor=policy.data.anchor) as book:
                    book.fork(place)
            return enter(loaded, str(place))

        with closing(_Copies([copy(0)], copy)) as copies:
            yield copies.endpoint(path.name, part)


@contextmanager
def table_endpoint(sheet: Sheet, key: str | None, epsilon: Fraction) -> Iterator[Endpoint]:
    """The gateway over a plain table, one row a person, with this total."""
    with tempfile.TemporaryDirectory(prefix="sfumato-attack-") as name:
        folder = Path(name)
        taken = {column.casefold() for column in sheet.columns}
        unit = key or next(name for name in (f"row{i}" for i in count(1)) if name not in taken)  # "row" is no column
        extra = "" if key else f", rowid AS {identifier(unit)}"
        policy = folder / "sfumato.toml"
        declared = _policy(sheet, unit, epsilon)
        gone: list[str] = []

        def rows() -> Loaded:
            left = "".join(f" AND NOT ({where})" for where in gone)
            target = folder / "data.parquet"
            sheet.engine.execute(
                f"COPY (SELECT *{extra} FROM {identifier(TABLE)} WHERE TRUE{left}) TO {string(str(target))} "
                "(FORMAT parquet)"
            )
            version = f'id = "attacked"\nversion = "{len(gone)}"\n'  # other rows, for which no stored answer stands
            policy.write_text(declared.replace('id = "attacked"\n', version, 1), encoding="utf-8")
            return read_rows(load(policy))

        loaded = rows()

        def copy(number: int) -> Gateway:
            return enter(loaded, str(folder / f"copy{number}.ledger"))

        with closing(_Copies([copy(0)], copy)) as copies:

            def leave(where: str) -> None:
                gone.append(where)
                copies.succeed(lambda place: enter(rows(), place), str(folder / f"copy{copies.number}.ledger"))

            yield replace(copies.endpoint("dp"), leave=leave)


class _Copies:
    """A gateway, and others over the same rows on other copies of its ledger: an attack that spends all of a budget on
    one person is measured on several people.
    """

    def __init__(self, gates: list[Gateway], copy: Callable[[int], Gateway] | None = None) -> None:
        self.gates, self.copy, self.number = gates, copy, 0
        self.price: Fraction | None = None
        self.most = Fraction(0)

    @property
    def gate(self) -> Gateway:
        return self.gates[-1]

    def endpoint(self, name: str, part: int = 1) -> Endpoint:
        privacy = self.gate.policy.privacy

        def share(questions: int) -> None:
            left = self.gate.budget(None).remaining.epsilon or Fraction(0)
            each = Fraction(int(left * 10**12) // (max(1, questions) * part), 10**12)
            self.price = max(each, privacy.min_epsilon)

        def run(sql: str) -> Rows:
            return self.gate.sql(sql, epsilon=self.price).rows

        between = 1 if privacy.adjacency.value == "replace" else 2
        fresh = None if self.copy is None else self._fresh
        return Endpoint(name, run, privacy.epsilon, self._spent, share, between=between, fresh=fresh)

    def _fresh(self) -> None:
        """Another copy of the ledger, as it was in the beginning."""
        assert self.copy is not None
        self._spent()
        self.number += 1
        self.gates.append(self.copy(self.number))

    def succeed(self, open_on: Callable[[str], Gateway], ledger: str) -> None:
        """Other rows, on the ledger that is being spent."""
        for gate in self.gates:
            gate.close()
        self.gates = [open_on(ledger)]
        self.copy = None

    def _spent(self) -> Fraction:
        """On one copy, at most."""
        self.most = max(self.most, self.gate.budget(None).spent.epsilon or Fraction(0))
        return self.most

    def close(self) -> None:
        """Let go of every copy."""
        for gate in self.gates:
            gate.close()


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
