"""One charge: whether the budget allows this query, and if so, its entry.

Comes in: a request whose price is fixed, and an open transaction. Goes out: a receipt, a stored answer, or a refusal.
All that is looked at is read inside the transaction: another process may have written a moment ago.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.accounting import BUDGET_REFUSALS, KINDS, Event, PrivacyFilter, Refinement, TouchedCells, price
from sfumato.errors import BudgetError, InputError, LedgerError
from sfumato.ledger.answers import check_refines, find_answer, find_best_answer
from sfumato.ledger.cells import check_cells, scope_of, weigh, write_cells
from sfumato.ledger.chain import append, read_entry, read_last
from sfumato.ledger.moved_ledger import check_here
from sfumato.ledger.protocol import StoreConnection, dialect_of
from sfumato.ledger.records import (
    EVERYBODY,
    ClaimedElsewhere,
    Receipt,
    SpendingTerms,
    Stored,
    Superseded,
    loss_to_dict,
    name,
)
from sfumato.ledger.running_sums import add, read_sums, write_sums
from sfumato.ledger.schema import check_format
from sfumato.ledger.spending import write_spending
from sfumato.types import Loss, positive


@dataclass(frozen=True, slots=True)
class ChargingRules:
    """What this process believes about the ledger: the data set and the policy, and filters to decide with."""

    data_id: str
    terms: SpendingTerms
    filters: dict[str, PrivacyFilter]
    policy: str
    """The hash of the entry that recorded these terms."""


@dataclass(frozen=True, slots=True)
class ChargeRequest:
    """A question with its price."""

    analyst: str
    question: str
    version: str
    epsilon: Fraction
    text: str
    key: str | None
    event: dict[str, Any]
    price: Loss
    cells: tuple[str, ...] | None
    """None is everybody."""
    rows: str | None
    """Which rows these cells are cells of."""
    before: Fraction | None = None
    """The epsilon of the answer that this one makes better."""
    plan: Mapping[str, Any] | None = None
    """How it was planned, and why it costs no more: what `ledger verify --plans` derives anew."""


def make_request(
    terms: SpendingTerms,
    analyst: str,
    event: Event,
    *,
    question: str,
    epsilon: object,
    version: str,
    text: str,
    key: str | None,
    cells: tuple[str, ...] | None,
    rows: str | None,
    plan: Mapping[str, Any] | None,
) -> ChargeRequest:
    """Check and price a question, before anybody waits for the disk."""
    if type(event) not in KINDS.values():
        raise InputError(f"an event must be of a known kind, but is {type(event).__name__}")
    return ChargeRequest(
        name(analyst, "analyst"),
        name(question, "question"),
        name(version, "version"),
        positive(epsilon, "epsilon"),
        text,
        None if key is None else name(key, "key"),
        event.to_dict(),
        price(event),
        check_cells(cells, terms),
        None if cells is None or rows is None else name(rows, "rows"),
        event.epsilon_before if isinstance(event, Refinement) else None,
        plan,
    )


def decide(
    connection: StoreConnection, rules: ChargingRules, request: ChargeRequest, now: str, *, wait: bool = False
) -> Receipt | Stored:
    """The whole of a debit, in the order in which it may end.

    With `wait`, a question that another gateway is about to answer is not paid for a second time: Claimed.
    """
    dialect = dialect_of(connection)
    stored = find_again(connection, rules, (request.question, request.version, request.epsilon), by=request)
    if stored is not None:
        _remember_key(connection, request, stored.receipt.seq)
        return stored
    if request.before is not None:
        check_refines(connection, request.question, request.version, request.before)
    states = _admit(connection, rules, request)
    dialect.check_fits(request.question, request.version, str(request.epsilon))
    dialect.check_fits(request.analyst, request.key or "")
    if not dialect.claim(connection, request.question) and wait:
        raise ClaimedElsewhere("another gateway is already answering the same query")
    receipt = os.urandom(16).hex()  # a name, not noise
    entry = append(connection, now, "debit", request.analyst, _body(receipt, request))
    for who, state in states.items():
        write_sums(connection, who, state)
        if request.cells is not None:
            scope = scope_of(rules.terms, request.version, request.rows)
            write_cells(connection, who, scope, request.cells, request.price)
    write_spending(connection, entry, states)
    _remember_key(connection, request, entry.seq)
    return Receipt(receipt, request.analyst, request.price, entry.seq)


def find_again(
    connection: StoreConnection, rules: ChargingRules, asked: tuple[str, str, Fraction], by: ChargeRequest | None = None
) -> Stored | None:
    """The answer that a question gets for nothing, if questions are answered at all now."""
    check_current(connection, rules)
    check_serving(connection, rules, asked[1])
    return (None if by is None else _find_by_key(connection, by)) or find_best_answer(connection, *asked)


def _body(receipt: str, request: ChargeRequest) -> dict[str, Any]:
    return {
        "receipt": receipt,
        "question": request.question,
        "version": request.version,
        "epsilon": str(request.epsilon),
        "text": request.text,
        "event": request.event,
        "price": loss_to_dict(request.price),
        "cells": None if request.cells is None else list(request.cells),
        **({} if request.rows is None else {"rows": request.rows}),
        **({} if request.plan is None else {"plan": request.plan}),
    }


def check_current(connection: StoreConnection, rules: ChargingRules) -> None:
    """The file is still of the known format, and the policy in force is the one that this process opened it with."""
    check_format(dialect_of(connection).read_format(connection))
    row = connection.execute(
        "SELECT hash FROM entry WHERE kind NOT IN ('debit', 'answer') AND kind = 'policy' ORDER BY seq DESC LIMIT 1"
    ).fetchone()
    if row != (rules.policy,):
        raise Superseded(
            "the policy was changed by another process",
            detail="Budgets are decided under the last policy that the ledger has recorded.",
            hint="Reload the policy.",
        )


def check_serving(connection: StoreConnection, rules: ChargingRules, version: str) -> None:
    """The ledger is here, the owner has not frozen the budget, and this data version has not failed too often."""
    if check_here(connection):
        raise BudgetError(
            f'the budget of "{rules.data_id}" is frozen: no query is answered',
            hint="The owner can unfreeze it, in the console or with `sfumato ledger unfreeze`.",
        )
    if count_failures(connection, version) >= rules.terms.failures:
        raise LedgerError(
            f'version "{version}" of "{rules.data_id}" is closed',
            detail=f"{rules.terms.failures} queries failed after they were charged.",
            hint="The owner can check the failures and reopen it.",
            sqlstate="58000",  # as EngineError: a failure of the engine closed it, and the ledger itself is sound
        )


def count_failures(connection: StoreConnection, version: str) -> int:
    """How many questions on this data version failed since the owner last looked."""
    reopened = read_last(connection, "reopened")
    rows = connection.execute(
        "SELECT seq FROM entry WHERE kind NOT IN ('debit', 'answer') AND kind = 'failed' AND seq > ?",
        (reopened.seq if reopened else 0,),
    ).fetchall()
    return sum(read_entry(connection, seq).body.get("version") == version for (seq,) in rows)


def _find_by_key(connection: StoreConnection, request: ChargeRequest) -> Stored | None:
    """What the same request was answered before; a key that stood for another question is an error."""
    if request.key is None:
        return None
    row = connection.execute(
        "SELECT question, epsilon, debit FROM key WHERE analyst = ? AND key = ?", (request.analyst, request.key)
    ).fetchone()
    if row is None:
        return None
    if (row[0], row[1]) != (request.question, str(request.epsilon)):
        raise InputError(
            "the idempotency key was used for another query",
            hint="A retry repeats the query and its epsilon; a new query needs a new key.",
        )
    paid = read_entry(connection, row[2]).body
    return find_answer(connection, paid["question"], paid["version"], paid["epsilon"])


def _remember_key(connection: StoreConnection, request: ChargeRequest, debit: int) -> None:
    """The key now stands for this debit; a retry that had to pay again moves it."""
    if request.key is not None:
        connection.execute(
            "INSERT INTO key(analyst, key, question, epsilon, debit) VALUES(?, ?, ?, ?, ?)"
            " ON CONFLICT(analyst, key) DO UPDATE SET debit = excluded.debit WHERE key.debit <> excluded.debit",
            (request.analyst, request.key, request.question, str(request.epsilon), debit),
        )


def _admit(connection: StoreConnection, rules: ChargingRules, request: ChargeRequest) -> dict[str, dict[str, int]]:
    """The sums after this debit, of everybody and of the analyst; or the refusal of the narrower budget."""
    after: dict[str, dict[str, int]] = {}
    refusals: list[tuple[Fraction, BudgetError]] = []
    for who in (EVERYBODY, request.analyst):
        before = read_sums(connection, who)
        of: dict[str, Any] = {"cells": request.cells, "version": request.version, "rows": request.rows}
        cells = find_cells(connection, rules.terms, who, **of)
        after[who] = add(before, request.price if cells is None else cells.growth(request.price))
        if who in rules.filters:
            budget = rules.filters[who]
            budget.restore(before)
            try:
                budget.spend(request.price, cells)
            except BudgetError as error:
                refusals.append((_room(budget.remaining(cells)), _refusal(rules.data_id, who, error)))
    if refusals:  # where both refuse, the hint of the wider one would be refused again
        raise min(refusals, key=lambda refusal: refusal[0])[1]
    return after


def find_cells(
    connection: StoreConnection,
    terms: SpendingTerms,
    who: str,
    *,
    cells: tuple[str, ...] | None,
    version: str | None,
    rows: str | None,
) -> TouchedCells | None:
    """Where the cells of a question stand, for everybody or for an analyst; None if it is charged to everybody."""
    if cells is None:
        return None
    scope = scope_of(terms, name(version, "version"), rows)
    return weigh(connection, who, scope, cells, terms.adjacency)


def _room(left: Loss) -> Fraction:
    return next(amount for amount in (left.epsilon, left.rho, left.delta) if amount is not None)


def _refusal(data_id: str, who: str, error: BudgetError) -> BudgetError:
    """The refusal of a filter, with the names that only the ledger knows."""
    owner = f'"{data_id}"' if who == EVERYBODY else f'"{who}" on "{data_id}"'
    message = error.message
    if message in BUDGET_REFUSALS:
        message = message.replace("budget", f"budget of {owner}", 1)
    return BudgetError(message, detail=error.detail, hint=error.hint, sqlstate=error.sqlstate)
