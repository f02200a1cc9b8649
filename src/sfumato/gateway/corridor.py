"""The walk itself: `Gateway.sql` is the house in ten lines."""

from __future__ import annotations

import json
import secrets
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from fractions import Fraction
from functools import lru_cache, partial
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from sfumato.accounting import Pure, Refinement, price
from sfumato.engines import Engine, connect
from sfumato.engines.base import failure
from sfumato.engines.prepared import Prepared, look
from sfumato.errors import (
    BudgetError,
    EngineError,
    InputError,
    LedgerError,
    PolicyError,
    QueryError,
    SfumatoError,
)
from sfumato.gateway.answer import Answer, Drawn, Draws, Spent, build, longest_total, sheets
from sfumato.gateway.bounds import OWNER, Bounds, Found
from sfumato.gateway.memory import Asking, Memory, Told
from sfumato.gateway.preview import (
    Less,
    Preview,
    after,
    columns_of,
    columns_unknown,
    lacking,
    least,
    less,
    notes_of,
    said,
)
from sfumato.gateway.succession import Line, handed_on
from sfumato.gateway.timing import grid_of
from sfumato.ledger import Ledger, Overtaken, Receipt, Standing, Stored
from sfumato.mechanisms import Gaussian, Geometric
from sfumato.policy import Policy, Unknown, from_dict, load, with_bounds, with_schema, with_types
from sfumato.sql.aggregates.base import DISTINCT, Term, width_of
from sfumato.sql.bind import Question, bind, refused_views
from sfumato.sql.cut import GAUSSIAN, GEOMETRIC, Cut, Extra, Part
from sfumato.sql.cut import Released as ReleasedBundle
from sfumato.sql.fast import Known
from sfumato.sql.parse import parse
from sfumato.sql.plan import Plan, noise_of, plan
from sfumato.sql.sources import stored_scans
from sfumato.sql.tree import DATE, TIMESTAMP
from sfumato.words import Exact, Loss, Sheet, positive, probability, show, whole

_MOST_REFINED = 5000
"""Better answers are drawn number by number; beyond so many a new answer is drawn in full."""
_REMEMBERED = 1024
"""Texts that are bound once, and rehearsals that are held once."""
_THINKERS = 2
"""Plans that are made at the same time: they take turns at the interpreter anyway, and a crowd of them would keep it
from those who have an answer to send or a debit to write."""
_FREE = Spent(Fraction(0), Fraction(0), Fraction(0))


class Gateway:
    """The owner's data behind a policy and a ledger. A context manager."""

    def __init__(self, policy: Policy, ledger: Ledger, engine: Engine) -> None:
        self.policy, self._ledger, self._engine = policy, ledger, engine
        self.line, self._grid = Line(), grid_of(policy.privacy.timing)
        self._clock = ledger.clock  # one clock for versions, questions and the chain
        self._views, self._stored = engine.views(), engine.stored()
        self._known = Known(engine.unique(), engine.counted())
        self._bounds = Bounds(policy, ledger, engine)
        self._memory, self._thinking = Memory(), threading.Semaphore(_THINKERS)
        # public tables, the policy and the engine do not change while they are open
        self._look = lru_cache(maxsize=_REMEMBERED)(engine.run_public)
        self._bound = lru_cache(maxsize=_REMEMBERED)(self._bind)
        self._tried = lru_cache(maxsize=_REMEMBERED)(self._try_above)

    def __enter__(self) -> Gateway:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of data and ledger."""
        self._engine.close()
        self._ledger.close()

    def retire(self) -> None:
        """Close, after another gateway has taken over and the last question has left this one."""
        self.line.wait_until_empty()
        self.close()

    @handed_on
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
        """Answer a question: this spends, unless its answer is stored; also for a bound that is left to be found."""
        arrived = self._grid.now()
        sure = probability(confidence, "confidence")
        asking = Asking(sql, epsilon, rows_per_unit, noise, within, sure, self._clock().date())
        with self._ledger.asking():
            return self._asked(asking, analyst, key, arrived)

    def _asked(self, asking: Asking, analyst: str, key: str | None, arrived: float) -> Answer:
        """Plan, look for the answer, pay, draw, store, answer."""
        asked = self._thought(asking)
        if asked.missing:
            found = self._bounds.buy(asked.missing, self._version())
            answer = self._asked(asking, analyst, key, arrived)
            return replace(answer, notes=[*answer.notes, *((None, one.words) for one in found if one.bought)])
        if asked.event is None:
            return self._answer(asked, _nothing(asked), cost=_FREE, analyst=analyst, confidence=asking.confidence)
        if key is None and (told := self._told(asking, asked, analyst)) is not None:
            return told
        before = self._improved(asked)
        try:
            paid = self._pay(asked, before, analyst=analyst, text=asking.sql, key=key)
        except Overtaken:  # somebody was faster: the better answer costs in full
            before, paid = None, self._pay(asked, None, analyst=analyst, text=asking.sql, key=key)
        with self._grid.even(arrived, wait=isinstance(paid, Receipt)):
            if isinstance(paid, Stored):
                stored = paid
            else:
                draws = self._draw(asked, paid, before, asking.rows_per_unit, arrived)
                stored = self._ledger.store(paid, _write(draws))
            cost = _FREE if isinstance(paid, Stored) else Spent.of(paid.price)
            return self._answer_of(asking, asked, stored, cost=cost, analyst=analyst)

    @handed_on
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
        # else nobody knows for which of two days it was made; and one with stand-ins is made anew when bounds are known
        if self._clock().date() == asking.day and not made.missing:
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

    @handed_on
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
        before, fewer = self._left(analyst, asked), partial(self._fewer, asked, self.bounds())
        if asked.missing:
            return self._not_known(asked, analyst, before, within=within, confidence=sure)
        if asked.event is None or self._ledger.stored(asked.digest, self._version(), asked.epsilon) is not None:
            return Preview(None, _FREE, before, before, columns_of(asked), asked.notes, sure, fewer)
        improved = self._improved(asked)
        cost = price(asked.event if improved is None else Refinement(improved.epsilon, asked.epsilon))
        refused = self._refused(analyst, asked, cost, before)
        notes = notes_of(asked, self.policy.privacy.composition, self._ledger.budget(None).spent.epsilon is not None)
        return Preview(refused, Spent.of(cost), before, after(before, cost), columns_of(asked), notes, sure, fewer)

    def _refused(self, analyst: str, asked: Plan, cost: Loss, before: Spent) -> BudgetError | None:
        """What asking would raise if it costs more than is left."""
        if self._ledger.remaining_count(analyst, cost, cells=asked.cells, version=self._version()) >= 1:
            return None
        return BudgetError(
            f'budget of "{analyst}" on "{self.policy.data.id}" does not allow this question',
            detail=lacking(Spent.of(cost), before),
            hint="Ask for a smaller epsilon, or the owner for a larger budget; stored answers stay free.",
        )

    def _not_known(self, asked: Plan, analyst: str, before: Spent, *, within: Any, confidence: Fraction) -> Preview:
        """The preview of a question for which bounds are to be found first: what they cost, and what it costs then.

        Free, so nothing that depends on the bounds is told; where the width is to choose the price, not even that.
        """
        assert asked.event is not None
        missing, columns = asked.missing, columns_unknown(asked)
        shown = Preview(None, None, before, None, columns, confidence=confidence, bounds=missing)
        each, left = self._bounds.price, Spent.of(self._ledger.budget(None).remaining)
        once = f"is not known yet: asking finds it first, for {said(each, left)}, once for this data version"
        shown = replace(shown, notes=tuple((None, f"{one.words} {once}") for one in missing))
        if self._ledger.remaining_count(None, each) < len(missing):
            return replace(shown, refused=self._bounds.refused(missing[0], lacking(Spent.of(each), left)))
        if within is not None:
            return shown
        cost = price(asked.event)
        for _ in missing:
            left = after(left, each)
        refused = self._refused(analyst, asked, cost, before)
        mine, everybody = after(before, cost), after(left, cost)
        return replace(shown, refused=refused, cost=Spent.of(cost), after=least(mine, everybody))

    def _fewer(self, asked: Plan, found: tuple[Found, ...], confidence: Fraction) -> tuple[Less, ...]:
        """What fewer rows of each person would give: from plans, and from bounds that were found.

        Planned when somebody looks at it. What planning reads of public tables was read for the first plan, and kept.
        """
        again = partial(self._planned, asked.question, asked.epsilon, noise=asked.noise)
        return less(asked, again, found, confidence)

    def bounds(self) -> tuple[Found, ...]:
        """The bounds that were found for this data version: free."""
        return tuple(self._bounds.known(self._version()).values())

    def missing_bounds(self) -> tuple[Unknown, ...]:
        """The bounds that the policy leaves to be found, and nobody has paid for in this data version: free."""
        return self._bounds.missing(self._bounds.known(self._version()))

    def find_bounds(self) -> tuple[Found, ...]:
        """All bounds that the policy leaves to be found: this spends, once for each of them in each data version."""
        return self._bounds.buy(self._bounds.all, self._version())

    @handed_on
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
            known = self._bounds.known(self._version())
            question = self._bound(sql, self._clock().date(), tuple((one, found.value) for one, found in known.items()))
            missing = self._bounds.missing(known, question, gaussian=noise_of(self.policy, noise) == GAUSSIAN)
            if missing and rows_per_unit is not None:  # whether it lowers anything is seen when the bounds are known
                whole(rows_per_unit, "rows_per_unit", 1)
                rows_per_unit = None
            wanted = self.policy.privacy.query_epsilon if epsilon is None else positive(epsilon, "epsilon")
            if within is not None:
                wanted = self._within(question, rows_per_unit, noise, positive(within, "within"), confidence)
            asked = self._planned(question, self._allowed(wanted), rows_per_unit, noise)
            self._rehearse(asked)
        except RecursionError:
            raise QueryError("the question is nested too deeply", sqlstate="54001") from None
        return replace(asked, missing=missing) if missing else asked

    def _bind(self, sql: str, today: date, found: tuple[tuple[Unknown, Fraction | None], ...]) -> Question:
        policy = self._bounds.settled(dict(found))
        return bind(parse(sql), policy, today, self._look, views=self._views, stored=self._stored)

    def _planned(self, question: Question, epsilon: Fraction, rows_per_unit: int | None, noise: str | None) -> Plan:
        return plan(question, self.policy, epsilon, rows_per_unit, noise=noise, run=self._look, known=self._known)

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

    def _draw(
        self, asked: Plan, receipt: Receipt, before: Stored | None, rows_per_unit: int | None, arrived: float
    ) -> Draws:
        """Run, then noise, stage by stage; a failure after the debit is recorded, and the debit stands."""
        try:
            with self._grid.hidden(arrived):
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
                new, law = _law(released, part), _law(then, was)
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
            last = sum(len(released.bundle.parts) for released in part.bundles) if part.fast is not None else 0
            people = Exact.gather((row for _, row in counted), last, 1)
            chosen = part.selection.release(people).tolist() if counted else []
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
            flat = _noisy(released, part, Exact.gather(map(rows.get, groups), at, width)) if groups else []
            cells.append(tuple(zip(*([iter(flat)] * width), strict=True)))
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
            exact = Exact.gather(map(counts.get, groups), 0, 1)
            return tuple((value,) for value in _law(released, part).release(exact).tolist()) if groups else ()
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
        """The same statement over the same zeros is the same rehearsal: it is held once."""
        frozen = tuple((sheet.name, sheet.columns, tuple(map(tuple, sheet.values))) for sheet in released)
        return self._tried(sql, frozen)

    def _try_above(self, sql: str, released: tuple[tuple[Any, ...], ...]) -> list[tuple[Any, ...]]:
        try:
            return self._engine.run_public(sql, tuple(Sheet(*sheet) for sheet in released))
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


def _noisy(released: ReleasedBundle, part: Part, exact: Exact) -> list[int]:
    """Sums with noise, in the order of the groups."""
    if released.running is not None:
        return released.running.release(exact, part.groups)
    return list(_law(released, part).release(exact).tolist())


def _law(released: ReleasedBundle, part: Part) -> Geometric | Gaussian:
    """The mechanism of a bundle, on whole numbers."""
    if released.noise == GAUSSIAN:
        return Gaussian(None, part.share, squared=released.sensitivity / released.unit**2)
    return Geometric(released.sensitivity / released.unit, part.share)


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
    return enter(read_rows(load(path)))


@dataclass(frozen=True, slots=True)
class Loaded:
    """A policy with its rows, read and checked; nothing is recorded yet, and nothing can be asked."""

    policy: Policy
    engine: Engine


def read_rows(policy: Policy, frames: dict[str, Any] | None = None) -> Loaded:
    """The slow half of opening: a reload does it beside the gateway that serves."""
    _check_file(policy.data.ledger)
    engine = connect(policy, frames, _prepared(policy))
    try:
        policy = with_schema(policy, {name: engine.schema(table) for name, table in policy.tables.items()})
        _check_views(policy, engine)
        engine.keep(stored_scans(policy, (name for name in policy.tables if name not in engine.views())))
    except BaseException:
        engine.close()
        raise
    return Loaded(policy, engine)


def enter(loaded: Loaded, ledger: str | None = None) -> Gateway:
    """The quick half: the ledger, in which a changed policy becomes an entry."""
    policy, engine = loaded.policy, loaded.engine
    try:
        book = _open_ledger(policy, ledger or policy.data.ledger, None if ledger else policy.data.anchor)
    except BaseException:
        engine.close()
        raise
    return Gateway(policy, book, engine)


def _check_file(ledger: str) -> None:
    if "://" in ledger:
        raise PolicyError("a ledger in PostgreSQL is not supported yet", hint="Name a file.")


def _open_ledger(policy: Policy, ledger: str, anchor: str | None) -> Ledger:
    _check_file(ledger)
    privacy = policy.privacy
    return Ledger.open(
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


def _prepared(policy: Policy) -> Prepared | None:
    """The rows that the owner prepared, if they are what this policy would read now (semantics 1.4)."""
    found = look(policy, policy.version_at(datetime.now(UTC)))
    if found is None or stored_scans(with_types(policy, found.schemas), found.scans) != found.scans:
        return None
    return found


def _check_views(policy: Policy, engine: Engine) -> None:
    """A view that would be refused in a question is refused when the policy is opened."""
    for name, refused in refused_views(with_bounds(policy, {}), engine.views(), engine.run_public):
        message = f'"{name}" is a view that cannot be protected: {refused.message}'
        raise PolicyError(message, detail=refused.detail, hint=refused.hint)


def protect(
    frame: Any,
    unit: str,
    rows_per_unit: int | Literal["auto"],
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

    `bounds` are (low, high) for whole numbers and dates, (low, high, grid) for decimals. With
    `rows_per_unit="auto"` the first question also pays for finding it.
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
    return enter(read_rows(policy, {name: frame}), ":memory:" if ledger is None else str(ledger))


def _bounds(low: Any, high: Any, grid: Any = None) -> dict[str, Any]:
    """(low, high) of whole numbers or dates, or (low, high, grid) of decimals."""
    if isinstance(low, date):
        return {"type": "timestamp" if isinstance(low, datetime) else "date", "min": low, "max": high}
    whole = grid is None and all(isinstance(end, int) for end in (low, high))
    if grid is None and not whole:
        raise InputError("decimals need a grid", hint=f"Write ({low}, {high}, 0.01).")
    step = {} if grid is None else {"grid": grid}
    return {"type": "integer" if whole else "decimal", "min": low, "max": high, **step}
