"""Planted persons: one run of the whole gateway, its SQL, ledger, engine and noise, audited by guesses.

Comes in: a policy. Goes out: a Verdict on a claimed epsilon. For each of up to a thousand cells of one column a fair
coin decides whether a made-up person stands there, or in the next one. One GROUP BY buys the whole budget of the
policy; whoever knows all other rows guesses each coin from the noisy counts. Files of the owner are copied into a
temporary folder.
"""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb

from sfumato.audit import AuditVerdict, verdict_of_guesses
from sfumato.errors import InputError
from sfumato.gateway import fork_policy
from sfumato.policy import ROW, Policy, PolicyColumn, Table, load
from sfumato.sampling import sample_bernoulli
from sfumato.types import identifier, string

MOST = 1000
"""Persons that are planted or not."""


def audit_gateway(path: Path, epsilon: Fraction, delta: Fraction) -> AuditVerdict:
    """Plant, ask once, guess.

    Where neighbours have one person more or less, a coin says whether she is there. Where they have another person in
    the place of one (replace), she is there, and the coin says in which of two cells: the score is the difference of
    the two. She has as many rows as a person may have, all in one cell.
    """
    policy = load(path)
    table, column, cells = _where(policy)
    assert isinstance(table.rows_per_unit, int)
    replaced = policy.privacy.adjacency.value == "replace"
    pairs = list(zip(cells[::2], cells[1::2], strict=False)) if replaced else [(cell, None) for cell in cells]
    coins = [bool(coin) for coin in sample_bernoulli(Fraction(1, 2), len(pairs))]
    chosen = [one if coin else other for (one, other), coin in zip(pairs, coins, strict=True)]
    planted = [cell for cell in chosen if cell is not None]
    with tempfile.TemporaryDirectory(prefix="sfumato-audit-") as folder:
        file, before = _plant(policy, table, column, planted, Path(folder))
        with fork_policy(path, Path(folder), {table.name: file}) as gate:
            name = identifier(column.name)
            sql = f"SELECT {name}, COUNT(*) FROM {identifier(table.name)} GROUP BY {name}"
            answer = gate.sql(sql, epsilon=policy.privacy.epsilon)
    noisy = {row[0]: row[1] for row in answer.rows}
    more = {cell: noisy.get(cell, 0) - before.get(cell, 0) for cell in cells}
    scores = [more[one] - (0 if other is None else more[other]) for one, other in pairs]
    middle = Fraction(0) if replaced else Fraction(table.rows_per_unit, 2)
    return verdict_of_guesses(str(path), coins, scores, middle=middle, epsilon=epsilon, delta=delta)


def _where(policy: Policy) -> tuple[Table, PolicyColumn, list[Any]]:
    """The column with the most cells that can be listed, in a table whose rows say whose they are."""
    best: tuple[Table, PolicyColumn, list[Any]] | None = None
    files = policy.source.files if isinstance(policy.source.files, dict) else {}
    if not files:
        raise InputError(
            "people can be planted only in files", hint="Audit a policy over files of the same shape, or a function."
        )
    for table in policy.tables.values():
        if (
            table.public
            or not isinstance(table.rows_per_unit, int)
            or not isinstance(table.unit, str)
            or table.unit == ROW
            or not isinstance(files.get(table.name), str)
        ):
            continue
        for column in table.columns.values():
            cells = _cells(column)
            if column.name != table.unit and len(cells) > len(best[2] if best else ()):
                best = table, column, cells
    if best is None or len(best[2]) < 2:
        raise InputError(
            "nobody can be planted under this policy",
            detail="It takes a table of one file, with its unit in a column of its own and a number of rows per unit,"
            " and in it a column with values or whole bounds.",
        )
    return best


def _cells(column: PolicyColumn) -> list[Any]:
    if column.values is not None:
        return list(column.values)[:MOST]
    if column.type == "integer" and isinstance(column.low, int) and isinstance(column.high, int):
        return list(range(column.low, min(column.high, column.low + MOST - 1) + 1))
    return []


def _plant(
    policy: Policy, table: Table, column: PolicyColumn, cells: list[Any], folder: Path
) -> tuple[str, dict[Any, int]]:
    """The table's file with these persons, each like some other one but for name and cell; and the counts before."""
    assert isinstance(policy.source.files, dict)
    assert isinstance(table.unit, str)
    source = _reader(str(policy.source.files[table.name]))
    unit, name = identifier(table.unit), identifier(column.name)
    target = folder / f"{table.name}.parquet"
    with duckdb.connect() as engine:
        kinds = {str(row[0]): str(row[1]) for row in engine.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()}
        rows = engine.execute(f"SELECT {name}, COUNT(*) FROM {source} GROUP BY ALL").fetchall()
        engine.execute(f"CREATE TABLE planted ({unit} {kinds[table.unit]}, {name} {kinds[column.name]})")
        text = kinds[table.unit].startswith("VARCHAR")
        each = range(int(table.rows_per_unit or 1))
        people = [(f"~{i}" if text else -1 - i, cell) for i, cell in enumerate(cells) for _ in each]
        if people:
            engine.executemany("INSERT INTO planted VALUES (?, ?)", people)
        columns = ", ".join(
            f"planted.{identifier(c)}" if c in (table.unit, column.name) else f"model.{identifier(c)}" for c in kinds
        )
        engine.execute(
            f"COPY (SELECT * FROM {source} UNION ALL SELECT {columns} FROM planted,"
            f" (SELECT * FROM {source} LIMIT 1) AS model) TO {string(str(target))} (FORMAT parquet)"
        )
    kind = int if column.type == "integer" else str
    return str(target), {kind(cell): int(count) for cell, count in rows if cell is not None}


def _reader(file: str) -> str:
    if file.endswith((".csv", ".tsv", ".csv.gz", ".tsv.gz")):
        return f"read_csv({string(file)}, all_varchar = true, header = true)"
    return string(file)
