"""The walk itself: `Gateway.sql` is the house in ten lines."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from fractions import Fraction
from functools import lru_cache, partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

from sfumato.accounting import Pure, Refinement, price
from sfumato.engines import Engine
from sfumato.engines.base import failure
from sfumato.errors import (
    EngineError,
    InputError,
    LedgerError,
    QueryError,
    SfumatoError,
)
from sfumato.gateway.answer import FREE, Answer, Spent, build
from sfumato.gateway.bounds import OWNER, Bounds, Found
from sfumato.gateway.drawing import draw, is_refinable, refine
from sfumato.gateway.foresight import Foresight
from sfumato.gateway.keeping import nothing, read, write
from sfumato.gateway.memory import Asking, Memory, Told
from sfumato.gateway.preview import (
    Less,
    Preview,
    after,
    columns_of,
    less,
    notes_of,
)
from sfumato.gateway.rehearsal import Rehearsal
from sfumato.gateway.sheets import Draws
from sfumato.gateway.succession import Line, handed_on
from sfumato.gateway.timing import grid_of
from sfumato.gateway.turns import Turns
from sfumato.gateway.width import epsilon_within
from sfumato.ledger import Ledger, Overtaken, Receipt, Standing, Stored
from sfumato.policy import Policy, Unknown
from sfumato.sql.bind import Question, bind
from sfumato.sql.counted import Known
from sfumato.sql.cut import GAUSSIAN, GEOMETRIC
from sfumato.sql.parse import parse
from sfumato.sql.plan import Plan, noise_of, plan
from sfumato.words import certainty, positive, show, whole

if TYPE_CHECKING:
    from sfumato.gateway.programs import Outcome

_REMEMBERED = 1024
"""Texts that are bound once."""
_THINKERS = 2
"""Plans that are made at the same time: they take turns at the interpreter anyway, and a crowd of them would keep it
from those who have an answer to send or a debit to write."""


class Gateway:
    """The owner's data behind a policy and a ledger. A context manager."""

    def __init__(self, policy: Policy, ledger: Ledger, engine: Engine) -> None:
        self.policy, self._ledger, self._engine = policy, ledger, engine
        self.line, self._grid = Line(), grid_of(policy.privacy.timing)
        self._clock = ledger.clock  # one clock for versions, questions and the chain
        self._views, self._stored = engine.views(), engine.stored()
        self._known = Known(engine.unique(), engine.counted())
        self._bounds = Bounds(policy, ledger, engine)
        self._foresight = Foresight(policy, ledger, self._bounds)
        self._memory, self._turns, self._thinking = Memory(), Turns(), threading.Semaphore(_THINKERS)
        # public tables, the policy and the engine do not change while they are open
        self._look = lru_cache(maxsize=_REMEMBERED)(engine.run_public)
        self._bound = lru_cache(maxsize=_REMEMBERED)(self._bind)
        self._rehearsal = Rehearsal(engine.run_public)

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
        sure = certainty(confidence)
        asking = Asking(sql, epsilon, rows_per_unit, noise, within, sure, self._clock().date())
        with self._ledger.asking():
            return self._asked(asking, analyst, key, arrived)

    def _asked(self, asking: Asking, analyst: str, key: str | None, arrived: float) -> Answer:
        """Plan, look for the answer; then it is somebody's turn to pay."""
        asked = self._thought(asking)
        if asked.missing:
            found = self._bounds.buy(asked.missing, self._version())
            answer = self._asked(asking, analyst, key, arrived)
            return replace(answer, notes=[*answer.notes, *((None, one.words) for one in found if one.bought)])
        if asked.event is None:
            return self._answer(asked, nothing(asked), cost=FREE, analyst=analyst, confidence=asking.confidence)
        if key is None and (told := self._told(asking, asked, analyst)) is not None:
            return told
        with self._turns.of(asked.digest):
            return self._paid(asking, asked, analyst, key, arrived=arrived)

    def _paid(self, asking: Asking, asked: Plan, analyst: str, key: str | None, *, arrived: float) -> Answer:
        """Pay, draw, store, answer."""
        before = self._improved(asked)
        try:
            paid = self._pay(asked, before, analyst=analyst, text=asking.sql, key=key)
        except Overtaken:  # somebody was faster: the better answer costs in full
            before, paid = None, self._pay(asked, None, analyst=analyst, text=asking.sql, key=key)
        with self._grid.even(arrived, wait=isinstance(paid, Receipt)):
            if isinstance(paid, Stored):
                return self._answer_of(asking, asked, paid, cost=FREE, analyst=analyst)
            draws = self._draw(asked, paid, before, asking.rows_per_unit, arrived)
            written = write(draws)
            stored, cost = self._ledger.store(paid, written), Spent.of(paid.price)
            fresh = draws if stored.answer == written else None  # else another answer was there first
            return self._answer_of(asking, asked, stored, cost=cost, analyst=analyst, fresh=fresh)

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
        sure = certainty(confidence)
        now = self._clock()
        asking = Asking(sql, epsilon, rows_per_unit, noise, within, sure, now.date())
        version, mark = self.policy.version_at(now), self._ledger.mark()
        told = self._memory.told(asking, version, mark)
        left = None if told is None else told.left.get(analyst)
        return None if told is None or left is None else told.answer.again(FREE, left)

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
                answer = self._answer_of(asking, asked, stored, cost=FREE, analyst=analyst)
            told = Told(mark, version, answer, asked if answer.plan is None else answer.plan)
            self._memory.keep_answer(asking, told)
        left = told.left.get(analyst)
        if left is None:
            left = told.left[analyst] = self._left(analyst, told.asked)
        return told.answer.again(FREE, left)

    def _answer_of(
        self, asking: Asking, asked: Plan, stored: Stored, *, cost: Spent, analyst: str, fresh: Draws | None = None
    ) -> Answer:
        """Stored numbers as an answer; those that were drawn at a higher epsilon have a plan of their own.

        `fresh` are the same numbers before they were written (see `keeping.write`): they need not be read again.
        """
        drawn = asked if stored.epsilon == asked.epsilon else self._replan(asked, stored.epsilon, asking.rows_per_unit)
        draws, sure = read(stored.answer, drawn) if fresh is None else fresh, asking.confidence
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
        if not pure or not is_refinable(asked):
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
            sure = certainty(confidence)
            asked = self._thought(Asking(sql, epsilon, rows_per_unit, noise, within, sure, self._clock().date()))
        except SfumatoError as refusal:
            return Preview(refusal)
        before, fewer = self._left(analyst, asked), partial(self._fewer, asked, self.bounds())
        if asked.missing:
            return self._foresight.not_known(
                asked, analyst, before, self._version(), priced=within is None, confidence=sure
            )
        if asked.event is None or self._ledger.stored(asked.digest, self._version(), asked.epsilon) is not None:
            return Preview(None, FREE, before, before, columns_of(asked), asked.notes, sure, fewer)
        improved = self._improved(asked)
        cost = price(asked.event if improved is None else Refinement(improved.epsilon, asked.epsilon))
        refused = self._foresight.refused(analyst, asked, cost, before, self._version())
        notes = notes_of(asked, self.policy.privacy.composition, self._ledger.budget(None).spent.epsilon is not None)
        return Preview(refused, Spent.of(cost), before, after(before, cost), columns_of(asked), notes, sure, fewer)

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
    def release(
        self, certificate: Mapping[str, Any], column: str, epsilon: Any, *, public: Mapping[str, Any] | None = None
    ) -> Outcome:
        """Run a program that was proved on a private column, TABLE.COLUMN: this spends, in the owner's name."""
        from sfumato.gateway import programs

        engine, version = self._engine, self._version()
        ordered = programs.order(certificate, column, epsilon, public or {}, policy=self.policy, engine=engine)
        with self._ledger.asking(), self._turns.of(ordered.digest):
            value, paid, receipt = programs.release(ordered, self._ledger, engine, version)
        cost = FREE if isinstance(paid, Stored) else Spent.of(paid.price)
        left = Spent.of(self._ledger.budget(None).remaining)
        return programs.Outcome(ordered.program.name, value, cost, left, receipt)

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
                planned = partial(self._planned, question, rows_per_unit=rows_per_unit, noise=noise)
                wanted = epsilon_within(planned, positive(within, "within"), confidence, self.policy.privacy)
            asked = self._planned(question, self._allowed(wanted), rows_per_unit, noise)
            self._rehearsal.of(asked)
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

    def _draw(
        self, asked: Plan, receipt: Receipt, before: Stored | None, rows_per_unit: int | None, arrived: float
    ) -> Draws:
        """Run, then noise, stage by stage; a failure after the debit is recorded, and the debit stands."""
        try:
            with self._grid.hidden(arrived):
                if before is None:
                    return draw(self._engine, asked)
                earlier = self._replan(asked, before.epsilon, rows_per_unit)
                return refine(self._engine, asked, earlier, read(before.answer, earlier))
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
        run = self._engine.run_public
        return build(asked, draws, run=run, cost=cost, remaining=left, receipt=receipt, confidence=confidence)

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
