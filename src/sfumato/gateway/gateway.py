"""The pipeline: `Gateway.answer` takes a query through plan, check, charge, run, sample, store and finish."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from sfumato.accounting import Event, Pure, Refinement, Together, price
from sfumato.engines import Engine
from sfumato.engines.base import failure
from sfumato.errors import EngineError, LedgerError, SfumatoError
from sfumato.gateway import display
from sfumato.gateway.answer import FREE, Answer, Spent, build
from sfumato.gateway.answer_codec import nothing, read, rows_of, write
from sfumato.gateway.auto_rows import (
    NO_DIFFERENCE,
    check_options,
    chosen_rows,
    divided,
    matters,
    not_yet,
    words,
)
from sfumato.gateway.bounds import AutoBounds, FoundBound
from sfumato.gateway.budgets import AnalystBudget
from sfumato.gateway.expected_refusals import ExpectedRefusals
from sfumato.gateway.handover import Handover, handed_on
from sfumato.gateway.per_query_lock import QueryLocks
from sfumato.gateway.planner import Planner
from sfumato.gateway.preview import (
    FewerRows,
    Preview,
    after,
    columns_of,
    less,
    notes_of,
)
from sfumato.gateway.query import AUTO, OWNER, Query, QueryTime, Rows
from sfumato.gateway.recent_answers import RecentAnswers, RememberedAnswer
from sfumato.gateway.rederive import PlannerOf, Rederived, rederive
from sfumato.gateway.released_tables import Draws
from sfumato.gateway.run_and_sample import BetweenStages, draw, is_refinable, refine
from sfumato.gateway.timing import grid_of
from sfumato.gateway.which_noise import about_the_other, chosen
from sfumato.interrupts import FINISHING, Slots, Stopped, check_wanted, detached, who
from sfumato.ledger import Entry, Ledger, Overtaken, Receipt, Stored
from sfumato.policy import LIVE, Policy, Unknown
from sfumato.sql.release.claims import Reason
from sfumato.sql.release.plan import Plan
from sfumato.sql.unit_sizes import estimable

if TYPE_CHECKING:
    from sfumato.gateway.programs import Outcome

_RUNS = 2
"""Runs over private rows at the same time, of each analyst: one who waits here has paid, and waits for their own
queries; unless another analyst waits for the same answer, and has a run left."""


class Gateway:
    """The owner's data behind a policy and a ledger. A context manager."""

    def __init__(self, policy: Policy, ledger: Ledger, engine: Engine, rows: str) -> None:
        """`rows` names the engine's rows, private and public: no other rows have this name."""
        self.policy, self._ledger, self._engine, self._rows = policy, ledger, engine, rows
        self.line, self._grid = Handover(), grid_of(policy.privacy.timing)
        self._clock = ledger.clock  # one clock for versions, queries and the chain
        self._bounds = AutoBounds(policy, ledger, engine, self._grid)
        self._foresight = ExpectedRefusals(policy, ledger, self._bounds, rows)
        self._planner = Planner(policy, engine, ledger, self._bounds, self._version)
        self._memory, self._turns = RecentAnswers(), QueryLocks()
        self._running = Slots(2**30, _RUNS)

    def __repr__(self) -> str:
        return display.gateway_text(self.policy, self.budget())

    def _repr_html_(self) -> str:
        return display.gateway_html(self.policy, self.budget())

    def __enter__(self) -> Gateway:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the data and the ledger."""
        self._engine.close()
        self._ledger.close()

    def stop(self) -> None:
        """End every run of the engine, now and later: the server shuts down. What was charged stays charged."""
        self._engine.stop()

    def retire(self) -> None:
        """Close, after another gateway has taken over and the last question has left this one."""
        self.line.wait_until_empty()
        self.close()

    def sql(
        self,
        sql: str,
        epsilon: Any = None,
        *,
        analyst: str = OWNER,
        rows_per_unit: int | Literal["auto"] | None = None,
        noise: str | None = None,
        within: Any = None,
        confidence: Any = Fraction(95, 100),
        key: str | None = None,
    ) -> Answer:
        """Run a query. It is charged, with any bound that it has to estimate first, unless its answer is stored."""
        return self.answer(Query(sql, epsilon, rows_per_unit, noise, within, confidence), analyst, key)

    def explain(
        self,
        sql: str,
        epsilon: Any = None,
        *,
        analyst: str = OWNER,
        rows_per_unit: int | Literal["auto"] | None = None,
        noise: str | None = None,
        within: Any = None,
        confidence: Any = Fraction(95, 100),
        key: str | None = None,  # noqa: ARG002  the same arguments as `sql`
    ) -> Preview:
        """Return the cost and expected error of a query. Free; a refusal is returned, not raised."""
        return self.preview(Query(sql, epsilon, rows_per_unit, noise, within, confidence), analyst)

    @handed_on
    def answer(self, query: Query, analyst: str = OWNER, key: str | None = None) -> Answer:
        """Plan, look for a stored answer; else charge, run, sample and store it. One query has one payer at a time."""
        arrived, at, query = self._grid.now(), self._moment(), Query.given(query).checked()
        with self._ledger.asking():
            query = self._with_noise(query, at)
            query, estimate, notes = self._with_rows(query, analyst, at, arrived)
            plan, bought = self._planned(query, analyst, at)
            answer = self._paid(query, plan, analyst, key, at, arrived=arrived)
            notes = [*notes, *((None, one.words) for one in bought)]
            cost = answer.cost if estimate is None else answer.cost.plus(estimate.cost)
            return replace(answer, cost=cost, notes=[*answer.notes, *notes]) if notes else answer

    def _paid(
        self, query: Query, plan: Plan, analyst: str, key: str | None, at: QueryTime, *, arrived: float
    ) -> Answer:
        """The stored answer, or one that is charged."""
        answer = self._free(query, plan, analyst, key, at)
        if answer is None:
            with self._turns.of(plan.digest):
                answer = self._charged(query, plan, analyst, key, at, arrived=arrived)
        return answer

    def _with_rows(
        self, query: Query, analyst: str, at: QueryTime, arrived: float
    ) -> tuple[Query, Answer | None, list[tuple[str | None, str]]]:
        """The query with the rows that "auto" stands for, the estimate that they come from, and notes about both.

        Guarantee: all that is paid is refused or admitted before the estimate is charged.
        Proof: the price of the query does not depend on the rows that count, so that it is known before. Of a stored
            estimate nothing is charged here, and the query with its rows may be stored as well.
        Reference: semantics 2.3 and 5.2; `auto_rows.divided`.
        Checked by: laws::an_estimate_of_rows_is_charged_with_its_query
        """
        if query.rows_per_unit != AUTO:
            return query, None, []
        check_options(query)
        plan, bought = self._planned(query._replace(rows_per_unit=None), analyst, at)
        notes: list[tuple[str | None, str]] = [(None, one.words) for one in bought]
        if not self._is_estimated(query, plan):
            return query._replace(rows_per_unit=None), None, [*notes, (None, NO_DIFFERENCE)]
        sizes, rest = divided(query, plan)
        estimating, later = self._planner.plan(sizes, at), self._planner.plan(rest, at)
        people = self._stored(sizes, estimating, analyst, at)
        if people is None:
            both = price(Together(tuple(one.event for one in (estimating, later) if one.event is not None)))
            before, version = self._left(analyst, plan), self._version()
            refused = self._foresight.refused(analyst, plan, both, before, version)
            if refused is not None:
                raise refused
            people = self._paid(sizes, estimating, analyst, None, at, arrived=arrived)
        rows = chosen_rows(later, people, self.policy.privacy.adjacency)
        return rest._replace(rows_per_unit=rows), people, [*notes, (None, words(rows, people))]

    def _is_estimated(self, query: Query, plan: Plan) -> bool:
        """Whether a lower number of rows can be estimated for a query, and would mean less noise."""
        if plan.event is None or estimable(plan.question) is None:
            return False
        return matters(plan, self._planner.planned(plan.question, plan.epsilon, 1, query.noise))

    def _planned(self, query: Query, analyst: str, at: QueryTime) -> tuple[Plan, tuple[FoundBound, ...]]:
        """The plan of a query, and the bounds that were bought for it."""
        plan, bought = self._planner.plan(query, at), list[FoundBound]()
        while plan.missing:
            self._check_paid(query, plan, analyst)
            bought += [one for one in self._bounds.buy(plan.missing, self._version()) if one.bought]
            plan = self._planner.plan(query, at)
        return plan, tuple(bought)

    def _with_noise(self, query: Query, at: QueryTime) -> Query:
        """The query with the noise that "auto" stands for now: it depends on the policy and the ledger."""
        if query.noise != AUTO:
            return query
        privacy, counted = self.policy.privacy, self._ledger.budget(None).spent.epsilon is not None
        noise = chosen(
            partial(self._planned_with, query, at),
            composition=privacy.composition,
            epsilon_open=counted,
            stored=lambda plan: self._ledger.stored(plan.digest, self._version(), plan.epsilon) is not None,
        )
        return query._replace(noise=noise)

    def _planned_with(self, query: Query, at: QueryTime, noise: str) -> Plan:
        rows = None if query.rows_per_unit == AUTO else query.rows_per_unit
        return self._planner.plan(query._replace(noise=noise, rows_per_unit=rows), at)

    def _check_paid(self, query: Query, plan: Plan, analyst: str) -> None:
        """Refuse what the budget does not allow before a bound is bought for it."""
        before, version, priced = self._left(analyst, plan), self._version(), query.within is None
        preview = self._foresight.not_known(plan, analyst, before, version, priced=priced, confidence=query.confidence)
        if preview.refused is not None:
            raise preview.refused

    def _free(self, query: Query, plan: Plan, analyst: str, key: str | None, at: QueryTime) -> Answer | None:
        """The answer that costs nothing, if there is one: a constant of the schema, or a stored answer."""
        if plan.event is None:
            return self._answer(plan, nothing(plan), cost=FREE, analyst=analyst, confidence=query.confidence)
        return None if key is not None else self._stored(query, plan, analyst, at)

    def _charged(
        self, query: Query, plan: Plan, analyst: str, key: str | None, at: QueryTime, *, arrived: float
    ) -> Answer:
        """Check, charge, run, sample, store: nothing before the charge depends on rows, and nobody who left pays."""
        kept = self._planner.check(plan, query, at.day)
        check_wanted()
        before = self._improved(plan)
        pay = partial(self._pay, plan, analyst=analyst, text=query.sql, key=key, kept=kept)
        try:
            paid = pay(before)
        except Overtaken:  # somebody was faster: the better answer costs in full
            before, paid = None, pay(None)
        with self._grid.even(arrived, wait=isinstance(paid, Receipt)):
            if isinstance(paid, Stored):
                return self._answer_of(query, plan, paid, cost=FREE, analyst=analyst)
            draws = self._draw(plan, paid, before, query.rows_per_unit, arrived)
            written = write(draws, plan.layout, self._exact_name(plan))
            stored, cost = self._ledger.store(paid, written), Spent.of(paid.price)
            fresh = draws if stored.answer == written else None  # else another answer was there first
            return self._answer_of(query, plan, stored, cost=cost, analyst=analyst, fresh=fresh)

    @handed_on
    def recall(self, query: Query, analyst: str = OWNER) -> Answer | None:
        """What `answer` would return without work and without spending, if it is remembered: for callers that cannot
        wait.
        """
        if self._is_live or query.rows_per_unit == AUTO:  # whether rows have changed, and the bound, are asked for
            return None
        now = self._clock()
        version, mark = self.policy.version_at(now), self._ledger.mark()
        told = self._memory.told(query.checked(), QueryTime(now.date()), version, mark)
        left = None if told is None else told.left.get(analyst)
        return None if told is None or left is None else told.answer.again(FREE, left)

    def _stored(self, query: Query, plan: Plan, analyst: str, at: QueryTime) -> Answer | None:
        """The stored answer; and it is remembered until the ledger changes."""
        mark, version = self._ledger.mark(), self._version()
        told = self._memory.told(query, at, version, mark)
        if told is None:
            stored = self._ledger.again(plan.digest, version, plan.epsilon)
            if stored is None:
                return None
            answer = self._memory.built(query, at, version, stored.receipt.id)
            if answer is None:
                answer = self._answer_of(query, plan, stored, cost=FREE, analyst=analyst)
            told = RememberedAnswer(mark, version, answer, plan if answer.plan is None else answer.plan)
            self._memory.keep_answer(query, at, told)
        left = told.left.get(analyst)
        if left is None:
            left = told.left[analyst] = self._left(analyst, told.asked)
        return told.answer.again(FREE, left)

    def _answer_of(
        self, query: Query, plan: Plan, stored: Stored, *, cost: Spent, analyst: str, fresh: Draws | None = None
    ) -> Answer:
        """Stored numbers as an answer; those that were drawn at a higher epsilon have a plan of their own.

        `fresh` are the same numbers before they were written (`answer_codec.write`): they need not be read again.
        """
        drawn = self._planner.at_epsilon(plan, stored.epsilon, query.rows_per_unit)
        draws, sure = read(stored.answer, drawn) if fresh is None else fresh, query.confidence
        return self._answer(drawn, draws, cost=cost, analyst=analyst, confidence=sure, receipt=stored.receipt.id)

    def _pay(
        self, asked: Plan, before: Stored | None, *, analyst: str, text: str, key: str | None, kept: dict[str, Any]
    ) -> Receipt | Stored:
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
            rows=self._rows,
            plan=kept,
        )

    def _improved(self, asked: Plan) -> Stored | None:
        """The stored answer that this question would make better for the difference in price (semantics 5.4).

        Under the pure ledger, for geometric noise on list keys, and where there are not too many numbers.

        Guarantee: it was drawn for the exact numbers that are there now.
        Proof: exact numbers depend on how they are computed and on the rows, and it has the name of both. That is not
            left to the digest, whose normal form might take two queries for one: the statements of the plain form are
            compared as they are written. A stamp of files changes with each write; rows of a frame, and those that
            changed while they were read, have a name that nobody else has.
        Reference: semantics 5.4; for another number the pair would lose up to twice the earlier epsilon more.
        Checked by: unit::a_better_answer_is_for_the_same_rows, unit::a_better_answer_is_for_the_same_statement
        """
        pure = self.policy.privacy.composition == "pure" and isinstance(asked.event, Pure)
        if not pure or not is_refinable(asked):
            return None
        best = self._ledger.best(asked.digest, self._version())
        if best is None or best.epsilon >= asked.epsilon or rows_of(best.answer) != self._exact_name(asked):
            return None
        return best

    def _exact_name(self, asked: Plan) -> str:
        """The name of the exact numbers of a plan: of the rows, and of how the engine computes its jobs from them."""
        jobs = [self._engine.identity(part.job) for cut in asked.cuts for part in cut.parts]
        return hashlib.sha256("\n".join([self._rows, *jobs]).encode()).hexdigest()

    @handed_on
    def preview(self, query: Query, analyst: str = OWNER) -> Preview:
        """Return the cost and expected error of a query. Free; a refusal is returned, not raised."""
        try:
            at = self._moment()
            query = self._with_noise(Query.given(query).checked(), at)
            query, estimating, about_rows = self._foreseen_rows(query, analyst, at)
            plan = self._planner.plan(query, at)
            why = self._planner.reasons(plan)
            self._planner.dry_run(plan)
        except SfumatoError as refusal:
            return Preview(refusal)
        sure, version = query.confidence, self._version()
        before, fewer = self._left(analyst, plan), partial(self._fewer, plan, self.bounds())
        closed = None if plan.event is None else self._foresight.closed(version)
        if closed is not None:
            return Preview(closed, None, before, None, columns_of(plan), plan.notes, sure, fewer, why=why)
        if plan.missing:
            priced = query.within is None
            return self._foresight.not_known(plan, analyst, before, version, priced=priced, confidence=sure)
        stored = plan.event is not None and self._ledger.stored(plan.digest, version, plan.epsilon) is not None
        if plan.event is None or stored:
            notes = plan.notes + about_rows
            return Preview(None, FREE, before, before, columns_of(plan), notes, sure, fewer, why=why, stored=stored)
        improved = self._improved(plan)
        own = plan.event if improved is None else Refinement(improved.epsilon, plan.epsilon)
        cost = price(own if estimating is None else Together((estimating, own)))
        refused = self._foresight.refused(analyst, plan, cost, before, version)
        counted = self._ledger.budget(None).spent.epsilon is not None
        notes = notes_of(plan, self.policy.privacy.composition, counted)
        planned = partial(self._planned_with, query, at)
        other = about_the_other(plan, planned, composition=self.policy.privacy.composition, epsilon_open=counted)
        notes += ((None, other),) if other is not None else ()
        notes += about_rows
        left = after(before, cost)
        return Preview(refused, Spent.of(cost), before, left, columns_of(plan), notes, sure, fewer, why=why)

    def _foreseen_rows(
        self, query: Query, analyst: str, at: QueryTime
    ) -> tuple[Query, Event | None, tuple[tuple[None, str], ...]]:
        """The query as it is previewed: with the rows of a stored estimate, or without a lower bound; what estimating
        would cost first, and a note.
        """
        if query.rows_per_unit != AUTO:
            return query, None, ()
        check_options(query)
        whole = query._replace(rows_per_unit=None)
        plan = self._planner.plan(whole, at)
        if plan.missing or not self._is_estimated(query, plan):
            return whole, None, () if plan.missing else ((None, NO_DIFFERENCE),)
        sizes, rest = divided(query, plan)
        estimating, later = self._planner.plan(sizes, at), self._planner.plan(rest, at)
        people = self._stored(sizes, estimating, analyst, at)
        if people is None:
            return rest, estimating.event, ((None, not_yet(plan)),)
        rows = chosen_rows(later, people, self.policy.privacy.adjacency)
        return rest._replace(rows_per_unit=rows), None, ((None, words(rows, people)),)

    def _fewer(self, asked: Plan, found: tuple[FoundBound, ...], confidence: Fraction) -> tuple[FewerRows, ...]:
        """What fewer rows of each person would give: from plans, and from bounds that were found.

        Planned when somebody looks at it. What planning reads of public tables was read for the first plan, and kept.
        """
        again = partial(self._planner.planned, asked.question, asked.epsilon, noise=asked.noise)
        return less(asked, again, found, confidence)

    def bounds(self) -> tuple[FoundBound, ...]:
        """The bounds that were estimated for this data version. Free."""
        return tuple(self._bounds.known(self._version()).values())

    def missing_bounds(self) -> tuple[Unknown, ...]:
        """The "auto" bounds of the policy that are not yet estimated for this data version. Free."""
        return self._bounds.missing(self._bounds.known(self._version()))

    def find_bounds(self) -> tuple[FoundBound, ...]:
        """Estimate all "auto" bounds of the policy. Charged once per bound and data version."""
        return self._bounds.buy(self._bounds.all, self._version())

    @handed_on
    def release(
        self, certificate: Mapping[str, Any], column: str, epsilon: Any, *, public: Mapping[str, Any] | None = None
    ) -> Outcome:
        """Run a proved program on a private column, TABLE.COLUMN. Charged to the owner."""
        from sfumato.gateway import programs

        engine, version = self._engine, self._version()
        ordered = programs.order(certificate, column, epsilon, public or {}, policy=self.policy, engine=engine)
        with self._ledger.asking(), self._turns.of(ordered.digest):
            value, paid, receipt = programs.release(ordered, self._ledger, engine, version, self._grid)
        cost = FREE if isinstance(paid, Stored) else Spent.of(paid.price)
        left = Spent.of(self._ledger.budget(None).remaining)
        return programs.Outcome(ordered.program.name, value, cost, left, receipt)

    @handed_on
    def budget(self, analyst: str | None = None) -> AnalystBudget:
        """The budget of an analyst: total, spent and remaining. Without a name, the total budget of all analysts."""
        return AnalystBudget.of(self._ledger.budget(analyst), analyst)

    def rederive(self, earlier: PlannerOf = lambda _: None) -> Rederived:
        """Make and check every plan of the ledger once more; free, and nothing is recorded.

        `earlier` plans under policies that are no longer in force, by their digests.
        """
        return rederive(self._ledger, lambda one: self.plan_again if one == self.policy.digest else earlier(one))

    def plan_again(self, entry: Entry, composition: str) -> tuple[Plan, tuple[Reason, ...]]:
        """The plan of an entry of the ledger, made and checked once more under this policy."""
        return self._planner.again(entry, composition)

    @property
    def ledger(self) -> Ledger:
        """The record itself, for owners and auditors: a door decides who may look."""
        return self._ledger

    def _draw(self, asked: Plan, receipt: Receipt, before: Stored | None, rows_per_unit: Rows, arrived: float) -> Draws:
        """Run, then noise, stage by stage; a failure after the debit is recorded, and the debit stands."""
        try:
            others = partial(self._turns.analysts, asked.digest)
            with self._grid.hidden(arrived), detached(), self._running.of(who(), others):
                if before is None:
                    return draw(self._engine, asked)
                earlier = self._planner.at_epsilon(asked, before.epsilon, rows_per_unit)
                return refine(self._engine, asked, earlier, read(before.answer, earlier))
        except (Stopped, BetweenStages):  # as after a crash: the charge stands, and the data version has not failed
            raise
        except Exception as error:  # noqa: BLE001  one sentence for every cause (semantics 6.2)
            self._ledger.fail(receipt)
            raise error if isinstance(error, EngineError) else failure(error) from None

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
        with FINISHING.of(who()):
            return build(
                asked,
                draws,
                finish=self._engine.finish,
                cost=cost,
                remaining=left,
                receipt=receipt,
                confidence=confidence,
            )

    @property
    def _is_live(self) -> bool:
        return self.policy.data.version == LIVE

    def _moment(self) -> QueryTime:
        """Now: the day, and which rows a live data version has; "" where the owner names versions.

        Guarantee: a stored answer is told again only while no row has changed since before it was drawn.
        Proof: the marker is a part of the key of an answer. It was read before the answer was drawn, and comes never
            again once something was written (`Engine.marker`). The version that the ledger counts by stays the same:
            new rows refill nothing, for a person's rows over time are one unit.
        Reference: semantics 5.4.
        Checked by: unit::answers_about_live_rows_are_told_again_until_rows_change
        """
        return QueryTime(self._clock().date(), self._engine.marker() if self._is_live else "")

    def _version(self) -> str:
        """The data version now. One of the calendar never comes again: its rows are gone, and who was in which cell."""
        version = self.policy.version_at(self._clock())
        if self.policy.dated:
            latest = self.policy.version_at(self._ledger.latest())
            if version < latest:
                raise LedgerError(
                    "the clock went back",
                    detail=f"It gives version {version}, but the ledger is already at {latest}.",
                    hint="The owner must correct the clock, or name the version in the policy.",
                )
        return version

    def _left(self, analyst: str, asked: Plan | None) -> Spent:
        """What is left, for a question to the same people."""
        who = None if analyst == OWNER else analyst
        if asked is None or asked.event is None:
            return Spent.of(self._ledger.budget(who).remaining)
        of: dict[str, Any] = {"cells": asked.cells, "version": self._version(), "rows": self._rows}
        count = self._ledger.remaining_count(analyst, price(asked.event), **of)
        return Spent.of(self._ledger.budget(who, **of).remaining, count)
