"""The walk itself: `Gateway.sql` is the house in ten lines."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

from sfumato.accounting import price
from sfumato.engines import Engine, connect
from sfumato.engines.base import failure
from sfumato.errors import BudgetError, EngineError, InputError, PolicyError, QueryError, SfumatoError
from sfumato.gateway.answer import Answer, Cells, Spent, build, build_plain
from sfumato.gateway.preview import Preview, columns_of, exact_columns
from sfumato.ledger import Ledger, Receipt, Standing, Stored
from sfumato.mechanisms import Geometric
from sfumato.policy import Column, Policy, from_dict, load, with_types
from sfumato.sql.aggregates.base import half_width
from sfumato.sql.bind import Question, bind
from sfumato.sql.parse import parse
from sfumato.sql.plain import Plain, plain
from sfumato.sql.plan import Plan, plan
from sfumato.words import Exact, positive, probability, show

OWNER = "owner"
_LONGEST = 10_000
"""Texts of public tables are read to this length."""
_FREE = Spent(Fraction(0), Fraction(0), Fraction(0))


class Gateway:
    """The owner's data behind a policy and a ledger. A context manager."""

    def __init__(
        self, policy: Policy, ledger: Ledger, engine: Engine, clock: Callable[[], datetime] | None = None
    ) -> None:
        self.policy, self._ledger, self._engine = policy, ledger, engine
        self._clock = clock or (lambda: datetime.now(UTC))

    def __enter__(self) -> Gateway:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of data and ledger."""
        self._engine.close()
        self._ledger.close()

    def sql(
        self,
        sql: str,
        epsilon: Any = None,
        *,
        analyst: str = OWNER,
        rows_per_unit: int | None = None,
        noise: str = "geometric",
        within: Any = None,
        confidence: Any = Fraction(95, 100),
        key: str | None = None,
    ) -> Answer:
        """Answer a question: this spends."""
        sure = probability(confidence, "confidence")
        asked = self._plan(sql, epsilon, rows_per_unit=rows_per_unit, noise=noise, within=within, confidence=sure)
        if isinstance(asked, Plain):
            return build_plain(asked, self._engine.run_public(asked.sql), self._left(analyst, None))
        if asked.event is None:
            left = self._left(analyst, None)
            none: Cells = tuple(() for _ in asked.bundles)
            return build(asked, none, cost=_FREE, remaining=left, receipt=None, confidence=sure)
        paid = self._ledger.debit(
            analyst,
            asked.event,
            question=asked.digest,
            epsilon=asked.epsilon,
            version=self._version(),
            text=sql,
            key=key,
        )
        stored = paid if isinstance(paid, Stored) else self._ledger.store(paid, _write(self._draw(asked, paid)))
        drawn = asked if stored.epsilon == asked.epsilon else self._replan(asked, stored.epsilon, rows_per_unit)
        cost = _FREE if isinstance(paid, Stored) else Spent.of(paid.price)
        left = self._left(analyst, asked)
        cells = _read(stored.answer)
        return build(drawn, cells, cost=cost, remaining=left, receipt=stored.receipt.id, confidence=sure)

    def explain(
        self,
        sql: str,
        epsilon: Any = None,
        *,
        analyst: str = OWNER,
        rows_per_unit: int | None = None,
        noise: str = "geometric",
        within: Any = None,
        confidence: Any = Fraction(95, 100),
        key: str | None = None,  # noqa: ARG002  the same arguments as `sql`
    ) -> Preview:
        """What asking would cost and give: free, and never raises for a refusal."""
        try:
            sure = probability(confidence, "confidence")
            asked = self._plan(sql, epsilon, rows_per_unit=rows_per_unit, noise=noise, within=within, confidence=sure)
        except SfumatoError as refusal:
            return Preview(refusal)
        if isinstance(asked, Plain):
            left = self._left(analyst, None)
            return Preview(None, _FREE, left, left, exact_columns(asked))
        before = self._left(analyst, asked)
        if asked.event is None or self._ledger.stored(asked.digest, self._version(), asked.epsilon) is not None:
            return Preview(None, _FREE, before, before, columns_of(asked), asked.notes)
        cost = price(asked.event)
        refused = None
        if self._ledger.remaining_count(analyst, cost) < 1:
            refused = BudgetError(
                f'budget of "{analyst}" on "{self.policy.data.id}" does not allow this question',
                detail=f"It costs epsilon {show(cost.epsilon or 0)}; {show(before.epsilon or 0)} remains.",
                hint="Ask for a smaller epsilon, or the owner for a larger budget; stored answers stay free.",
            )
        after = Spent(_minus(before.epsilon, cost.epsilon), _minus(before.rho, cost.rho), before.delta - cost.delta)
        return Preview(refused, Spent.of(cost), before, after, columns_of(asked), asked.notes)

    def budget(self, analyst: str | None = None) -> Standing:
        """What an analyst may spend, has spent, and has left; of everybody together without a name."""
        return self._ledger.budget(analyst)

    # the steps
    def _plan(
        self, sql: str, epsilon: Any, *, rows_per_unit: int | None, noise: str, within: Any, confidence: Fraction
    ) -> Plan | Plain:
        if noise != "geometric":
            raise InputError(f'noise "{noise}" is not supported yet', hint='Use noise = "geometric".')
        if epsilon is not None and within is not None:
            raise InputError("give epsilon or within, not both")
        try:
            question = bind(parse(sql), self.policy, self._clock().date())
            if question.table.public:
                return plain(question)
            if within is not None:
                asked = self._within(question, rows_per_unit, positive(within, "within"), confidence)
            else:
                wanted = self.policy.privacy.query_epsilon if epsilon is None else positive(epsilon, "epsilon")
                asked = plan(question, self.policy, self._allowed(wanted), rows_per_unit)
            _rehearse(asked)
        except RecursionError:
            raise QueryError("the question is nested too deeply", sqlstate="54001") from None
        return asked

    def _allowed(self, epsilon: Fraction) -> Fraction:
        least = self.policy.privacy.min_epsilon
        if epsilon < least:
            raise InputError(f"epsilon must be at least {show(least)} under this policy, but is {show(epsilon)}")
        return epsilon

    def _replan(self, asked: Plan, epsilon: Fraction, rows_per_unit: int | None) -> Plan:
        """The plan of a stored answer that was drawn at a higher epsilon."""
        return plan(asked.question, self.policy, epsilon, rows_per_unit)

    def _within(self, question: Question, rows_per_unit: int | None, width: Fraction, confidence: Fraction) -> Plan:
        """The least epsilon, to three digits, for which every column is within the wanted width (semantics 5.7)."""
        one = plan(question, self.policy, Fraction(1), rows_per_unit)
        for aggregate, source in one.sources:
            if source.formula == "zero":
                continue
            if len(one.bundles[source.bundle].bundle.parts) > 1 or source.formula == "constant":
                raise QueryError(
                    f"within cannot be promised for {aggregate.name.upper()}: its error depends on the number of rows",
                    position=aggregate.position,
                    hint="Ask with epsilon, or for COUNT and SUM apart.",
                )
        if not one.bundles:
            return one
        step = Fraction(1, 1000)
        while not self._narrow(one, step, width, confidence):
            step *= 10
        while step > self.policy.privacy.min_epsilon and self._narrow(one, step / 10, width, confidence):
            step /= 10
        low, high = 100, 1000  # in thousandths of `step`
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._narrow(one, step * middle / 1000, width, confidence) else (middle, high)
        return plan(
            question,
            self.policy,
            self._allowed(max(step * high / 1000, self.policy.privacy.min_epsilon)),
            rows_per_unit,
        )

    def _narrow(self, one: Plan, epsilon: Fraction, width: Fraction, confidence: Fraction) -> bool:
        return all(half_width((Fraction(1),), r.scale / epsilon, r.unit, confidence) <= width for r in one.bundles)

    def _draw(self, asked: Plan, receipt: Receipt) -> Cells:
        """Run, then noise, in list order; a failure after the debit is recorded, and the debit stands."""
        if asked.sql is None:
            raise AssertionError("a question without a release does not run")
        try:
            return self._release(asked, dict(self._engine.run(asked.sql, len(asked.question.keys))))
        except Exception as error:  # noqa: BLE001  one sentence for every cause (semantics 6.2)
            self._ledger.fail(receipt)
            raise error if isinstance(error, EngineError) else failure(error) from None

    def _release(self, asked: Plan, rows: dict[tuple[Any, ...], Exact]) -> Cells:
        """Noise on every sum of every group, in list order."""
        cells, at = [], 0
        for released in asked.bundles:
            width = len(released.bundle.parts)
            exact = [_sums(rows.get(group), at, width) for group in asked.groups]
            law = Geometric(released.sensitivity / released.unit, asked.share)
            noisy = law.release(Exact([cell for group in exact for cell in group]))
            flat = [int(value) for value in noisy]
            cells.append(tuple(tuple(flat[i : i + width]) for i in range(0, len(flat), width)))
            at += width
        return tuple(cells)

    def _version(self) -> str:
        return self.policy.version_at(self._clock())

    def _left(self, analyst: str, asked: Plan | None) -> Spent:
        count = (
            None if asked is None or asked.event is None else self._ledger.remaining_count(analyst, price(asked.event))
        )
        return Spent.of(self._ledger.budget(None if analyst == OWNER else analyst).remaining, count)


def _rehearse(asked: Plan) -> None:
    """What lies above the cut, once over zeros: what cannot be computed is refused before anything is paid."""
    few = asked.groups[:1]
    zeros = tuple(tuple((0,) * len(released.bundle.parts) for _ in few) for released in asked.bundles)
    build(
        replace(asked, groups=few),
        zeros,
        cost=_FREE,
        remaining=_FREE,
        receipt=None,
        confidence=Fraction(1, 2),
    )


def _sums(row: Exact | None, at: int, width: int) -> tuple[Any, ...]:
    """The sums of one bundle in one group, still sealed; a group without rows has none."""
    return (0,) * width if row is None else tuple(row.part(i) for i in range(at, at + width))


def _minus(left: Fraction | None, cost: Fraction | None) -> Fraction | None:
    return None if left is None or cost is None else max(Fraction(0), left - cost)


def _write(cells: Cells) -> bytes:
    return json.dumps({"format": 1, "cells": cells}, separators=(",", ":")).encode()


def _read(stored: bytes) -> Cells:
    document = json.loads(stored)
    return tuple(tuple(tuple(group) for group in bundle) for bundle in document["cells"])


def open_policy(path: str | Path) -> Gateway:
    """The gateway of a policy file."""
    policy = load(path)
    return _open(policy, None, policy.data.ledger, policy.data.anchor)


def _open(policy: Policy, frames: dict[str, Any] | None, ledger: str, anchor: str | None) -> Gateway:
    if "://" in ledger:
        raise PolicyError("a ledger in PostgreSQL is not supported yet", hint="Name a file.")
    engine = connect(policy, frames)
    policy = _with_schema(policy, engine)
    privacy = policy.privacy
    book = Ledger.open(
        ledger,
        data_id=policy.data.id,
        composition=privacy.composition,
        epsilon=privacy.epsilon,
        delta=privacy.delta,
        delta_selection=privacy.delta_selection,
        shares={name: share.epsilon for name, share in policy.analysts.items()},
        policy_digest=policy.digest,
        failures=privacy.failures,
        anchor=anchor,
    )
    return Gateway(policy, book, engine)


def _with_schema(policy: Policy, engine: Engine) -> Policy:
    """Types that the owner left to a schema, and the columns of public tables that she did not list."""
    typed = with_types(policy, {name: engine.schema(table) for name, table in policy.tables.items()})
    tables = dict(typed.tables)
    for name, table in typed.tables.items():
        if table.public:
            columns = {c: Column(c, kind, max_length=_LONGEST) for c, kind in engine.schema(table).items()}
            tables[name] = replace(table, columns={**columns, **table.columns})
    return replace(typed, tables=tables)


def protect(
    frame: Any,
    unit: str,
    rows_per_unit: int,
    epsilon: Any,
    *,
    bounds: Mapping[str, tuple[Any, ...]] | None = None,
    values: Mapping[str, list[Any]] | None = None,
    name: str = "data",
    ledger: str | Path | None = None,
    delta: Any = 0,
    adjacency: str = "add-remove",
    composition: str | None = None,
) -> Gateway:
    """A gateway over a frame of pandas, Polars or Arrow; without `ledger` the budget lives as long as this process.

    `bounds` are (low, high) for whole numbers and dates, (low, high, grid) for decimals.
    """
    columns: dict[str, Any] = {unit: {"type": "text", "max_length": 200}}
    for column, ends in (bounds or {}).items():
        columns[column] = _bounds(*ends)
    for column, listed in (values or {}).items():
        columns[column] = {"values": list(listed)}
    privacy: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "adjacency": adjacency}
    if composition is not None:
        privacy["composition"] = composition
    document = {
        "source": {"engine": "duckdb", "files": {name: ":memory:"}},
        "data": {"id": name},
        "privacy": privacy,
        "tables": {name: {"unit": unit, "rows_per_unit": rows_per_unit, "columns": columns}},
    }
    policy = from_dict(document)
    if ledger is None:
        notice = "sfumato: no ledger is named, so this budget lives as long as this process"
        print(notice, file=sys.stderr)  # noqa: T201  a budget that is forgotten must be said aloud
    return _open(policy, {name: frame}, ":memory:" if ledger is None else str(ledger), None)


def _bounds(low: Any, high: Any, grid: Any = None) -> dict[str, Any]:
    """(low, high) of whole numbers or dates, or (low, high, grid) of decimals."""
    if isinstance(low, date):
        return {"type": "timestamp" if isinstance(low, datetime) else "date", "min": low, "max": high}
    whole = grid is None and all(isinstance(end, int) for end in (low, high))
    if grid is None and not whole:
        raise InputError("decimals need a grid", hint=f"Write ({low}, {high}, 0.01).")
    step = {} if grid is None else {"grid": grid}
    return {"type": "integer" if whole else "decimal", "min": low, "max": high, **step}
