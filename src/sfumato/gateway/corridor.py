"""The walk itself: `Gateway.sql` is the house in ten lines."""

from __future__ import annotations

import json
import secrets
import sys
import threading
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any

from sfumato.accounting import Pure, Refinement, price
from sfumato.engines import Engine, connect
from sfumato.engines.base import failure
from sfumato.errors import (
    BudgetError,
    EngineError,
    InputError,
    LedgerError,
    PolicyError,
    QueryError,
    SfumatoError,
)
from sfumato.gateway.answer import Answer, Drawn, Draws, Spent, build, longest_total, mechanism_of, sheets
from sfumato.gateway.memory import Asking, Memory, Told
from sfumato.gateway.preview import Preview, columns_of, notes_of
from sfumato.ledger import Ledger, Overtaken, Receipt, Standing, Stored
from sfumato.mechanisms import Geometric
from sfumato.policy import Column, Policy, from_dict, load, with_types
from sfumato.sql.aggregates.base import DISTINCT, Term, width_of
from sfumato.sql.bind import Question, bind
from sfumato.sql.cut import GAUSSIAN, GEOMETRIC, Cut, Extra, Part
from sfumato.sql.cut import Released as ReleasedBundle
from sfumato.sql.parse import parse
from sfumato.sql.plan import Plan, plan
from sfumato.sql.select import stored
from sfumato.sql.sources import scan_of
from sfumato.sql.tree import DATE, TIMESTAMP
from sfumato.words import Exact, Sheet, identifier, positive, probability, show

OWNER = "owner"
_LONGEST = 10_000
"""Texts of public tables are read to this length."""
_MOST_REFINED = 5000
"""Better answers are drawn number by number; beyond so many a new answer is drawn in full."""
_THINKERS = 2
"""Plans that are made at the same time: they take turns at the interpreter anyway, and a crowd of them would keep it
from those who have an answer to send or a debit to write."""
_FREE = Spent(Fraction(0), Fraction(0), Fraction(0))


class Gateway:
    """The owner's data behind a policy and a ledger. A context manager."""

    def __init__(self, policy: Policy, ledger: Ledger, engine: Engine) -> None:
        self.policy, self._ledger, self._engine = policy, ledger, engine
        self._clock = ledger.clock  # one clock for versions, questions and the chain
        self._views, self._stored, self._unique = engine.views(), engine.stored(), engine.unique()
        self._memory, self._thinking = Memory(), threading.Semaphore(_THINKERS)
        self._look = lru_cache(maxsize=1024)(engine.run_public)  # public tables do not change while they are open

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
        noise: str | None = None,
        within: Any = None,
        confidence: Any = Fraction(95, 100),
        key: str | None = None,
    ) -> Answer:
        """Answer a question: this spends, unless its answer is stored."""
        sure = probability(confidence, "confidence")
        asking = Asking(sql, epsilon, rows_per_unit, noise, within, sure, self._clock().date())
        with self._ledger.asking():
            return self._asked(asking, analyst, key)

    def _asked(self, asking: Asking, analyst: str, key: str | None) -> Answer:
        """Plan, look for the answer, pay, draw, store, answer."""
        asked = self._thought(asking)
        if asked.event is None:
            return self._answer(asked, _nothing(asked), cost=_FREE, analyst=analyst, confidence=asking.confidence)
        if key is None and (told := self._told(asking, asked, analyst)) is not None:
            return told
        before = self._improved(asked)
        try:
            paid = self._pay(asked, before, analyst=analyst, text=asking.sql, key=key)
        except Overtaken:  # somebody was faster: the better answer costs in full
            before, paid = None, self._pay(asked, None, analyst=analyst, text=asking.sql, key=key)
        if isinstance(paid, Stored):
            stored = paid
        else:
            stored = self._ledger.store(paid, _write(self._draw(asked, paid, before, asking.rows_per_unit)))
        cost = _FREE if isinstance(paid, Stored) else Spent.of(paid.price)
        return self._answer_of(asking, asked, stored, cost=cost, analyst=analyst)

    def recall(
        self,
        sql: str,
        epsilon: Any = None,
        *,
        analyst: str = OWNER,
        rows_per_unit: int | None = None,
        noise: str | None = None,
        within: Any = None,
        confidence: Any = Fraction(95, 100),
    ) -> Answer | None:
        """What `sql` would answer without work and without spending, if it is at hand: for doors that cannot wait."""
        sure = probability(confidence, "confidence")
        now = self._clock()
        asking = Asking(sql, epsilon, rows_per_unit, noise, within, sure, now.date())
        version, mark = self.policy.version_at(now), self._ledger.mark()
        told = self._memory.told(asking, version, mark)
        left = None if told is None else told.left.get(analyst)
        return None if told is None or left is None else told.answer.again(_FREE, left)

    def _told(self, asking: Asking, asked: Plan, analyst: str) -> Answer | None:
        """The stored answer; and it is remembered, so that it is at hand until the ledger changes."""
        mark, version = self._ledger.mark(), self._version()
        told = self._memory.told(asking, version, mark)
        if told is None:
            stored = self._ledger.again(asked.digest, version, asked.epsilon)
            if stored is None:
                return None
            answer = self._memory.built(asking, version, stored.receipt.id)
            if answer is None:
                answer = self._answer_of(asking, asked, stored, cost=_FREE, analyst=analyst)
            told = Told(mark, version, answer, asked if answer.plan is None else answer.plan)
            self._memory.keep_answer(asking, told)
        left = told.left.get(analyst)
        if left is None:
            left = told.left[analyst] = self._left(analyst, told.asked)
        return told.answer.again(_FREE, left)

    def _answer_of(self, asking: Asking, asked: Plan, stored: Stored, *, cost: Spent, analyst: str) -> Answer:
        """Stored numbers as an answer; those that were drawn at a higher epsilon have a plan of their own."""
        drawn = asked if stored.epsilon == asked.epsilon else self._replan(asked, stored.epsilon, asking.rows_per_unit)
        draws, sure = _read(stored.answer, drawn), asking.confidence
        return self._answer(drawn, draws, cost=cost, analyst=analyst, confidence=sure, receipt=stored.receipt.id)

    def _thought(self, asking: Asking) -> Plan:
        """The plan of a question, made once a day."""
        known = self._memory.plan(asking)
        if known is not None:
            return known
        with self._thinking:
            made = self._plan(
                asking.sql,
                asking.epsilon,
                rows_per_unit=asking.rows_per_unit,
                noise=asking.noise,
                within=asking.within,
                confidence=asking.confidence,
            )
        if self._clock().date() == asking.day:  # else nobody knows for which of two days it was made
            self._memory.keep_plan(asking, made)
        return made

    def _pay(self, asked: Plan, before: Stored | None, *, analyst: str, text: str, key: str | None) -> Receipt | Stored:
        """The debit, durable; of a better answer, the difference."""
        assert asked.event is not None
        event = asked.event if before is None else Refinement(before.epsilon, asked.epsilon)
        return self._ledger.debit(
            analyst,
            event,
            question=asked.digest,
            epsilon=asked.epsilon,
            version=self._version(),
            text=text,
            key=key,
            cells=asked.cells,
        )

    def _improved(self, asked: Plan) -> Stored | None:
        """The stored answer that this question would make better for the difference in price (semantics 5.4).

        Under the pure ledger, for geometric noise on list keys, and where there are not too many numbers.
        """
        pure = self.policy.privacy.composition == "pure" and isinstance(asked.event, Pure)
        if not pure or asked.noise != GEOMETRIC or len(asked.cuts) != 1:
            return None
        parts = asked.cuts[0].parts
        cells = sum(len(part.groups) * sum(len(r.bundle.parts) for r in part.bundles) for part in parts)
        if cells > _MOST_REFINED or any(part.chosen for part in parts):
            return None
        if any(r.extra or r.running for part in parts for r in part.bundles):
            return None
        best = self._ledger.stored(asked.digest, self._version(), self.policy.privacy.min_epsilon)
        return best if best is not None and best.epsilon < asked.epsilon else None

    def explain(
        self,
        sql: str,
        epsilon: Any = None,
        *,
        analyst: str = OWNER,
        rows_per_unit: int | None = None,
        noise: str | None = None,
        within: Any = None,
        confidence: Any = Fraction(95, 100),
        key: str | None = None,  # noqa: ARG002  the same arguments as `sql`
    ) -> Preview:
        """What asking would cost and give: free, and never raises for a refusal."""
        try:
            sure = probability(confidence, "confidence")
            asked = self._thought(Asking(sql, epsilon, rows_per_unit, noise, within, sure, self._clock().date()))
        except SfumatoError as refusal:
            return Preview(refusal)
        before = self._left(analyst, asked)
        if asked.event is None or self._ledger.stored(asked.digest, self._version(), asked.epsilon) is not None:
            return Preview(None, _FREE, before, before, columns_of(asked), asked.notes, sure)
        improved = self._improved(asked)
        cost = price(asked.event if improved is None else Refinement(improved.epsilon, asked.epsilon))
        refused = None
        if self._ledger.remaining_count(analyst, cost, cells=asked.cells, version=self._version()) < 1:
            refused = BudgetError(
                f'budget of "{analyst}" on "{self.policy.data.id}" does not allow this question',
                detail=_lacking(Spent.of(cost), before),
                hint="Ask for a smaller epsilon, or the owner for a larger budget; stored answers stay free.",
            )
        after = Spent(_minus(before.epsilon, cost.epsilon), _minus(before.rho, cost.rho), before.delta - cost.delta)
        notes = notes_of(asked, self.policy.privacy.composition, self._ledger.budget(None).spent.epsilon is not None)
        return Preview(refused, Spent.of(cost), before, after, columns_of(asked), notes, sure)

    def budget(self, analyst: str | None = None) -> Standing:
        """What an analyst may spend, has spent, and has left; of everybody together without a name."""
        return self._ledger.budget(analyst)

    @property
    def ledger(self) -> Ledger:
        """The record itself, for owners and auditors: a door decides who may look."""
        return self._ledger

    # the steps
    def _plan(
        self, sql: str, epsilon: Any, *, rows_per_unit: int | None, noise: str | None, within: Any, confidence: Fraction
    ) -> Plan:
        if noise not in (None, GEOMETRIC, GAUSSIAN):
            raise InputError(f'noise "{noise}" is not known', hint='Use "geometric" or "gaussian".')
        if epsilon is not None and within is not None:
            raise InputError("give epsilon or within, not both")
        try:
            question = bind(
                parse(sql), self.policy, self._clock().date(), self._look, views=self._views, stored=self._stored
            )
            wanted = self.policy.privacy.query_epsilon if epsilon is None else positive(epsilon, "epsilon")
            if within is not None:
                wanted = self._within(question, rows_per_unit, noise, positive(within, "within"), confidence)
            asked = self._planned(question, self._allowed(wanted), rows_per_unit, noise)
            self._rehearse(asked)
        except RecursionError:
            raise QueryError("the question is nested too deeply", sqlstate="54001") from None
        return asked

    def _planned(self, question: Question, epsilon: Fraction, rows_per_unit: int | None, noise: str | None) -> Plan:
        return plan(question, self.policy, epsilon, rows_per_unit, noise=noise, run=self._look, unique=self._unique)

    def _allowed(self, epsilon: Fraction) -> Fraction:
        least = self.policy.privacy.min_epsilon
        if epsilon < least:
            raise InputError(f"epsilon must be at least {show(least)} under this policy, but is {show(epsilon)}")
        return epsilon

    def _replan(self, asked: Plan, epsilon: Fraction, rows_per_unit: int | None) -> Plan:
        """The plan of a stored answer that was drawn at a higher epsilon."""
        return self._planned(asked.question, epsilon, rows_per_unit, asked.noise)

    def _within(
        self, question: Question, rows_per_unit: int | None, noise: str | None, width: Fraction, confidence: Fraction
    ) -> Fraction:
        """The least epsilon, to three digits, for which every column is within the wanted width (semantics 5.7)."""
        one = self._planned(question, Fraction(1), rows_per_unit, noise)
        least = self.policy.privacy.min_epsilon
        bundles = [released for part in one.cuts for kept in part.parts for released in kept.bundles]
        for part in one.cuts:
            for _, aggregate, source in part.sources:
                if source.bundle >= 0 and source.formula not in ("count", "count_persons", "sum", DISTINCT):
                    raise QueryError(
                        f"within cannot be promised for {aggregate.name.upper()}: its error depends on the number of"
                        " rows",
                        position=aggregate.position,
                        hint="Ask with epsilon, or for COUNT and SUM apart.",
                    )
        if not bundles:
            return max(self.policy.privacy.query_epsilon, least)

        def narrow(at: Fraction) -> bool:
            if not any(part.totals for part in one.cuts):
                return _narrow(bundles, at, width, confidence)
            return _narrow_totals(self._planned(question, at, rows_per_unit, noise), width, confidence)

        step = Fraction(1, 1000)
        while not narrow(step):
            step *= 10
        while step > least and narrow(step / 10):
            step /= 10
        low, high = 100, 1000  # in thousandths of `step`
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if narrow(step * middle / 1000) else (middle, high)
        return max(step * high / 1000, least)

    def _draw(self, asked: Plan, receipt: Receipt, before: Stored | None, rows_per_unit: int | None) -> Draws:
        """Run, then noise, stage by stage; a failure after the debit is recorded, and the debit stands."""
        try:
            if before is not None:
                return self._refined(asked, self._replan(asked, before.epsilon, rows_per_unit), before)
            drawn: list[tuple[Drawn, ...]] = []
            for number, part in enumerate(asked.cuts):
                released = sheets(asked.cuts[:number], tuple(drawn))
                drawn.append(tuple(self._release(kept, released) for kept in part.parts))
            return tuple(drawn)
        except Exception as error:  # noqa: BLE001  one sentence for every cause (semantics 6.2)
            self._ledger.fail(receipt)
            raise error if isinstance(error, EngineError) else failure(error) from None

    def _refined(self, asked: Plan, earlier: Plan, before: Stored) -> Draws:
        """Better numbers, each drawn given the earlier one."""
        (cut,), (old,), (drawn,) = asked.cuts, earlier.cuts, _read(before.answer, earlier)
        better = []
        for part, was, found in zip(cut.parts, old.parts, drawn, strict=True):
            rows = {tuple(group): sums for group, sums in self._sums(part, (), None)}
            cells, at = [], 0
            for released, then, known in zip(part.bundles, was.bundles, found.cells, strict=True):
                width = len(released.bundle.parts)
                new, law = mechanism_of(released, part), mechanism_of(then, was)
                assert isinstance(new, Geometric)
                assert isinstance(law, Geometric)
                exact = [_sums(rows.get(group), at, width) for group in part.groups]
                cells.append(
                    tuple(
                        tuple(new.refine(value, seen, law) for value, seen in zip(row, numbers, strict=True))
                        for row, numbers in zip(exact, known, strict=True)
                    )
                )
                at += width
            better.append(Drawn((), tuple(cells)))
        return (tuple(better),)

    def _release(self, part: Part, before: tuple[Sheet, ...]) -> Drawn:
        """Which open keys are shown, then noise on every sum of every group, in list and key order."""
        salted = bool(part.chosen) or any(r.extra is not None and "$salt" in r.extra.sql for r in part.bundles)
        salt = secrets.token_hex(16) if salted else None
        places = [part.kept.index(i) for i in (*part.chosen, *part.listed)]
        found = self._sums(part, before, salt)
        shown: tuple[tuple[Any, ...], ...] = ()
        if part.selection is not None and part.people is not None:
            counted = found
            if part.fast is None:
                counted = self._engine.run(part.people, len(part.chosen), before, salt)
            counted = sorted(counted, key=_in_order)
            people = [row.part(-1) for _, row in counted]
            chosen = part.selection.release(Exact(people)).tolist() if people else []
            shown = tuple(key for (key, _), kept in zip(counted, chosen, strict=True) if kept)
        rows = {tuple(group[i] for i in places): sums for group, sums in found}
        groups = [(*key, *group) for key in (shown if part.chosen else ((),)) for group in part.groups]
        cells, at = [], 0
        for released in part.bundles:
            if released.extra is not None:
                cells.append(
                    self._chosen(released, released.extra, part, groups, places=places, sheets=before, salt=salt)
                )
                continue
            width = len(released.bundle.parts)
            exact = [cell for group in groups for cell in _sums(rows.get(group), at, width)]
            flat = _noisy(released, part, exact)
            cells.append(tuple(tuple(flat[i : i + width]) for i in range(0, len(flat), width)))
            at += width
        return Drawn(shown, tuple(cells))

    def _sums(self, part: Part, before: tuple[Sheet, ...], salt: str | None) -> list[tuple[tuple[Any, ...], Exact]]:
        """The sums of a part, group by group; what has none is asked for nothing."""
        sql = part.fast or part.sql
        return [] if sql is None else self._engine.run(sql, len(part.kept), before, salt if part.chosen else None)

    def _chosen(
        self,
        released: ReleasedBundle,
        extra: Extra,
        part: Part,
        groups: list[tuple[Any, ...]],
        *,
        places: list[int],
        sheets: tuple[Sheet, ...],
        salt: str | None,
    ) -> tuple[tuple[int, ...], ...]:
        """What is not a sum: noise on numbers of different values, or a choice in every group."""
        salted = salt if "$salt" in extra.sql else None
        found = self._engine.run(extra.sql, len(part.kept) + (extra.law is not None), sheets, salted)
        if extra.law is None:
            counts = {tuple(group[i] for i in places): row for group, row in found}
            exact = [_sums(counts.get(group), 0, 1)[0] for group in groups]
            return tuple((int(value),) for value in mechanism_of(released, part).release(Exact(exact))) if exact else ()
        rows: dict[tuple[Any, ...], list[tuple[int, Exact]]] = {}
        for group, weight in found:
            rows.setdefault(tuple(group[i] for i in places), []).append((int(group[-1]), weight.part(0)))
        chosen = []
        for group in groups:
            there = sorted(rows.get(group, []), key=lambda row: row[0])
            weights = Exact([weight for _, weight in there])
            chosen.append((extra.law.release([place for place, _ in there], weights, extra.low, extra.high),))
        return tuple(chosen)

    def _answer(
        self,
        asked: Plan,
        draws: Draws,
        *,
        cost: Spent,
        analyst: str,
        confidence: Fraction,
        receipt: str | None = None,
    ) -> Answer:
        left = self._left(analyst, asked)
        run = self._engine.run_public
        return build(asked, draws, run=run, cost=cost, remaining=left, receipt=receipt, confidence=confidence)

    def _rehearse(self, asked: Plan) -> None:
        """What lies above the cut, once over zeros: what cannot be computed is refused before anything is paid."""
        draws = _nothing(asked, rows=1)
        build(
            replace(asked, cuts=tuple(_first(part) for part in asked.cuts)),
            draws,
            run=self._run_above,
            cost=_FREE,
            remaining=_FREE,
            receipt=None,
            confidence=Fraction(1, 2),
        )

    def _run_above(self, sql: str, released: tuple[Sheet, ...]) -> list[tuple[Any, ...]]:
        try:
            return self._engine.run_public(sql, released)
        except EngineError:
            raise QueryError("what is asked of the released numbers cannot be computed", sqlstate="22000") from None

    def _version(self) -> str:
        """The data version now. One of the calendar never comes again: its rows are gone, and who was in which cell."""
        version = self.policy.version_at(self._clock())
        if self.policy.dated:
            latest = self.policy.version_at(self._ledger.latest())
            if version < latest:
                raise LedgerError(
                    "the clock went back",
                    detail=f"It says version {version}, but the ledger has come to {latest}.",
                    hint="The owner sets the clock right, or names the version in the policy.",
                )
        return version

    def _left(self, analyst: str, asked: Plan | None) -> Spent:
        """What is left, for a question to the same people."""
        who = None if analyst == OWNER else analyst
        if asked is None or asked.event is None:
            return Spent.of(self._ledger.budget(who).remaining)
        of: dict[str, Any] = {"cells": asked.cells, "version": self._version()}
        count = self._ledger.remaining_count(analyst, price(asked.event), **of)
        return Spent.of(self._ledger.budget(who, **of).remaining, count)


def _first(part: Cut) -> Cut:
    """A cut with one group in each grouping set."""
    return replace(part, parts=tuple(replace(kept, groups=kept.groups[:1]) for kept in part.parts))


def _nothing(asked: Plan, rows: int | None = None) -> Draws:
    """Zeros in all groups, or in the first ones; open keys are none, or one that is NULL."""
    draws = []
    for part in asked.cuts:
        found = []
        for kept in part.parts:
            keys = ((None,) * len(kept.chosen),) if kept.chosen and rows else ()
            count = len(kept.groups[:rows]) * (len(keys) if kept.chosen else 1)
            cells = tuple((_zeros(released),) * count for released in kept.bundles)
            found.append(Drawn(keys, cells))
        draws.append(tuple(found))
    return tuple(draws)


def _zeros(released: ReleasedBundle) -> tuple[int, ...]:
    """What stands for nothing: zeros, or the first candidate."""
    if released.extra is not None:
        return (released.extra.low,)
    return (0,) * len(released.bundle.parts)


def _noisy(released: ReleasedBundle, part: Part, exact: list[Any]) -> list[int]:
    """Sums with noise, in the order of the groups."""
    if not exact:
        return []
    if released.running is not None:
        return released.running.release(exact, part.groups)
    return [int(value) for value in mechanism_of(released, part).release(Exact(exact))]


def _narrow(bundles: list[ReleasedBundle], epsilon: Fraction, width: Fraction, confidence: Fraction) -> bool:
    """Whether every interval at this epsilon is within the width."""
    for released in bundles:
        gaussian = released.noise == GAUSSIAN
        scale = released.scale / (epsilon**2 if gaussian else epsilon)
        if width_of(((Fraction(1), Term(scale, released.unit, gaussian)),), confidence) > width:
            return False
    return True


def _narrow_totals(planned: Plan, width: Fraction, confidence: Fraction) -> bool:
    """Whether every sum, and every running total of a question, is within the width under this very plan."""
    terms = []
    for part in planned.cuts:
        bundles = [released for kept in part.parts for released in kept.bundles]
        terms += [Term(r.scale, r.unit, r.noise == GAUSSIAN) for r in bundles if r.running is None]
        of = {name: source.bundle for name, _, source in part.sources}
        known = [(of[column], reading) for _, column, reading in part.totals if of[column] >= 0]
        if known and (part.parts[0].chosen or not part.parts[0].groups):
            raise QueryError(
                "within cannot be promised for running totals over keys that are not declared",
                hint="Ask with epsilon.",
            )
        terms += [longest_total(part, bundle, reading) for bundle, reading in known]
    return all(width_of(((Fraction(1), term),), confidence) <= width for term in terms)


def _in_order(row: tuple[tuple[Any, ...], Exact]) -> list[tuple[bool, Any]]:
    """Keys in their own order, NULL last (semantics 2.5)."""
    return [(value is None, 0 if value is None else value) for value in row[0]]


def _sums(row: Exact | None, at: int, width: int) -> tuple[Any, ...]:
    """The sums of one bundle in one group, still sealed; a group without rows has none."""
    return (0,) * width if row is None else tuple(row.part(i) for i in range(at, at + width))


def _lacking(cost: Spent, left: Spent) -> str:
    """What does not suffice: delta, or epsilon, or rho where the price or what is left is counted in it."""
    if cost.delta > left.delta:
        return f"It costs delta {show(cost.delta)}; {show(left.delta)} remains."
    if cost.epsilon is None or (not left.epsilon and left.rho is not None):
        return f"It costs rho {show(cost.rho or 0)}; {show(left.rho or 0)} remains."
    return f"It costs epsilon {show(cost.epsilon)}; {show(left.epsilon or 0)} remains."


def _minus(left: Fraction | None, cost: Fraction | None) -> Fraction | None:
    """What is left at a door; a price without a claim in its currency shuts it."""
    if left is None or cost is None:
        return None if left is None else Fraction(0)
    return max(Fraction(0), left - cost)


def _write(draws: Draws) -> bytes:
    """Released numbers as they are stored; keys that JSON does not know as text."""
    document = [
        [{"keys": [[_plain(value) for value in key] for key in part.keys], "cells": part.cells} for part in drawn]
        for drawn in draws
    ]
    return json.dumps({"format": 2, "cuts": document}, separators=(",", ":")).encode()


def _read(stored: bytes, asked: Plan) -> Draws:
    document = json.loads(stored)
    return tuple(
        tuple(
            Drawn(
                tuple(
                    tuple(
                        _typed(value, part.release.keys[i][1].facts.kind)
                        for i, value in zip(kept.chosen, key, strict=True)
                    )
                    for key in found["keys"]
                ),
                tuple(tuple(tuple(group) for group in bundle) for bundle in found["cells"]),
            )
            for kept, found in zip(part.parts, drawn, strict=True)
        )
        for part, drawn in zip(asked.cuts, document["cuts"], strict=True)
    )


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value


def _typed(value: Any, kind: str) -> Any:
    """A stored key in its own type."""
    if value is None or kind not in (DATE, TIMESTAMP):
        return value
    return datetime.fromisoformat(value) if kind == TIMESTAMP else date.fromisoformat(value)


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
    _check_views(policy, engine)
    tables = [table for name, table in policy.tables.items() if name not in engine.views()]
    engine.keep({table.name: stored(scan_of(table, policy, 0)) for table in tables})
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
        adjacency=privacy.adjacency,
        partition=None if privacy.partition is None else ".".join(privacy.partition),
        anchor=anchor,
    )
    return Gateway(policy, book, engine)


def _check_views(policy: Policy, engine: Engine) -> None:
    """A view that would be refused in a question is refused when the policy is opened."""
    for name in engine.views():
        try:
            text = f"SELECT COUNT(*) FROM {identifier(name)}"  # noqa: S608  a name of the policy, quoted
            bind(parse(text), policy, date(2000, 1, 1), engine.run_public, views=engine.views())
        except QueryError as refused:
            engine.close()
            raise PolicyError(
                f'"{name}" is a view that cannot be protected: {refused.message}',
                detail=refused.detail,
                hint=refused.hint,
            ) from None


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
