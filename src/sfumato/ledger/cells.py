"""Sums of cells: what was charged to single cells of the partition of people, for everybody and for each analyst.

Comes in: the cells that a question touches. Goes out: how high they stand among the others, read inside the transaction
that decides on it, in as many steps as cells are touched. A scope is one state of the rows under one meaning of the
cells: in other rows a person may be in another cell, also under the same name of a data version, and an owner who
declares other values may move people. So other rows, another version and another policy begin another scope, and scopes
add up.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.accounting import Heights, TouchedCells
from sfumato.errors import InputError
from sfumato.ledger.chain import canonical
from sfumato.ledger.protocol import StoreConnection, dialect_of
from sfumato.ledger.records import SpendingTerms
from sfumato.ledger.running_sums import AMOUNTS, write_units
from sfumato.types import UNIT, Adjacency, Loss

LONGEST_CELL = 10_000
"""Characters in the name of a cell: a declared value, as the gateway writes it."""

Amounts = tuple[int, int, int]
"""Epsilon, rho and delta of one cell, in units. A release without a claim shuts its door in the sums, for all cells."""


def check_cells(cells: object, terms: SpendingTerms) -> tuple[str, ...] | None:
    """The names of cells in one order, each once; None is everybody. No cell at all would be a question for nothing."""
    if cells is None:
        return None
    if terms.partition is None:
        raise InputError("the ledger has no partition of people", hint="Charge the query to all people.")
    if not isinstance(cells, tuple) or not cells or not all(_is_name(cell) for cell in cells):
        raise InputError(
            f"cells must be one name or more, of 1 to {LONGEST_CELL} printable characters, but are {cells!r:.80}"
        )
    return tuple(sorted(set(cells)))


def _is_name(cell: object) -> bool:
    return isinstance(cell, str) and cell.isprintable() and 0 < len(cell) <= LONGEST_CELL


def scope_of(terms: SpendingTerms, version: str, rows: str | None) -> str:
    """Within what nobody changes her cell: one data version, one partition, one meaning of the values, the same rows.

    Charges of earlier ledgers do not name their rows: together they are a scope of their own.
    """
    return canonical([terms.digest, terms.partition, version, *([] if rows is None else [rows])])


def units_of(loss: Loss) -> Amounts:
    """A price in units, with 0 where it makes no claim; prices are whole units."""
    return _units(loss.epsilon), _units(loss.rho), _units(loss.delta)


def _units(amount: Fraction | None) -> int:
    return (amount or 0) // UNIT


def weigh(
    connection: StoreConnection, who: str, scope: str, cells: tuple[str, ...], adjacency: Adjacency
) -> TouchedCells:
    """Where these cells stand among all cells of their scope."""
    touched = _read(connection, who, scope, cells)
    heights = []
    for place, currency in enumerate(AMOUNTS):
        others = tuple(
            int(amount)
            for cell, amount in connection.execute(
                f"SELECT cell, {currency} FROM cells WHERE analyst = ? AND scope = ?"  # noqa: S608 - a constant
                f" ORDER BY {currency} DESC LIMIT ?",
                (who, scope, adjacency.keys(1)),
            )
            if cell not in touched
        )
        heights.append(Heights(tuple(paid[place] for paid in touched.values()), others))
    return TouchedCells(adjacency, *heights)


def _read(connection: StoreConnection, who: str, scope: str, cells: tuple[str, ...]) -> dict[str, Amounts]:
    """What each of these cells has paid; one that was never charged has paid nothing."""
    query = "SELECT epsilon, rho, delta FROM cells WHERE analyst = ? AND scope = ? AND cell = ?"
    found = {cell: connection.execute(query, (who, scope, cell)).fetchone() or (0, 0, 0) for cell in cells}
    return {cell: (int(epsilon), int(rho), int(delta)) for cell, (epsilon, rho, delta) in found.items()}


def write_cells(connection: StoreConnection, who: str, scope: str, cells: tuple[str, ...], loss: Loss) -> None:
    """Charge a price to each of these cells, inside the transaction that is open."""
    cost = units_of(loss)
    dialect_of(connection).check_fits(who, scope, max(cells, key=len))
    connection.executemany(
        "INSERT INTO cells(analyst, scope, cell, epsilon, rho, delta) VALUES(?, ?, ?, ?, ?, ?)"
        " ON CONFLICT(analyst, scope, cell)"
        " DO UPDATE SET epsilon = excluded.epsilon, rho = excluded.rho, delta = excluded.delta",
        [
            (who, scope, cell, *(write_units(before + more) for before, more in zip(paid, cost, strict=True)))
            for cell, paid in _read(connection, who, scope, cells).items()
        ],
    )
