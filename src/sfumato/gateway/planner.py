"""From a query to its plan: parsed, bound, planned, checked and tried on empty tables. Nothing here is charged.

Comes in: a Query, and the bounds that were found for this data version. Goes out: a Plan, or a refusal that depends on
the text, the policy and the ledger alone. Plans and bound queries are kept: public tables, the policy and the engine do
not change while a gateway is open.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from fractions import Fraction
from functools import partial
from typing import Any

from sfumato.algebra.functions import bounded_work
from sfumato.engines import Engine
from sfumato.engines.base import OPERATOR
from sfumato.errors import EngineError, InputError, QueryError
from sfumato.gateway.bounds import AutoBounds
from sfumato.gateway.dry_run import DryRun
from sfumato.gateway.epsilon_for_width import epsilon_within
from sfumato.gateway.query import AUTO, Query, QueryTime, Rows
from sfumato.gateway.rederive import record
from sfumato.interrupts import planning
from sfumato.ledger import Entry, Ledger
from sfumato.policy import Policy, Unknown
from sfumato.recent import Recent
from sfumato.sql.query_binding import BoundQuery, bind
from sfumato.sql.read.parser import parse
from sfumato.sql.release.claims import Reason, check
from sfumato.sql.release.digest import PREFIX
from sfumato.sql.release.normal_form import key_of
from sfumato.sql.release.plan import Plan, noise_of, plan
from sfumato.sql.release.release_plan import GAUSSIAN, GEOMETRIC
from sfumato.sql.unit_sizes import estimable, sizes_question
from sfumato.types import positive, show, told, whole

_PLANS, _QUESTIONS = 64 * 2**20, 128 * 2**20
"""Bytes of plans and of bound queries that are kept at most, with the public rows that an engine keeps for them."""


class Planner:
    """Plans of one gateway. `version` names the data version of now."""

    def __init__(
        self, policy: Policy, engine: Engine, ledger: Ledger, bounds: AutoBounds, version: Callable[[], str]
    ) -> None:
        self._policy, self._engine, self._ledger = policy, engine, ledger
        self._bounds, self._version = bounds, version
        self._views, self._stored = engine.views(), engine.stored()
        self._plans: Recent[Plan] = Recent(_PLANS)
        self._questions: Recent[BoundQuery] = Recent(_QUESTIONS)
        self._dry_run = DryRun(engine)
        self._has_first_digests = ledger.has_other_questions(PREFIX)

    def plan(self, query: Query, at: QueryTime) -> Plan:
        """The plan of a query at a moment, under the digest of its stored answer; made once."""
        key = query.key(at)
        known = self._plans.get(key)
        if known is None:
            with planning():
                known = self.fresh(query, at.day)
            if at.rows and known.event is not None:
                known = replace(known, digest=f"{PREFIX}{key_of('rows', known.digest, at.rows)}")
            if key is not None and not known.missing:  # one with stand-ins is made anew when the bounds are known
                self._plans.put(key, known)
        return self._as_stored(known)

    def fresh(self, query: Query, day: date) -> Plan:
        """The plan of a query on a day, made now."""
        noise, rows_per_unit, within = query.noise, query.rows_per_unit, query.within
        if noise not in (None, GEOMETRIC, GAUSSIAN):
            raise InputError(f'noise "{noise!s:.40}" is not known', hint='Use "geometric", "gaussian" or "auto".')
        if query.epsilon is not None and within is not None:
            raise InputError("give epsilon or within, not both")
        try:
            known = self._bounds.known(self._version())
            question = self._bound(query.sql, day, tuple((one, found.value) for one, found in known.items()))
            missing = self._bounds.missing(known, question, gaussian=noise_of(self._policy, noise) == GAUSSIAN)
            if rows_per_unit == AUTO:  # the plan of the estimate: see `auto_rows`
                question, rows_per_unit = self._sizes(question, noise_of(self._policy, noise)), None
            if missing and rows_per_unit is not None:  # whether it lowers anything is seen when the bounds are known
                whole(rows_per_unit, "rows_per_unit", 1)
                rows_per_unit = None
            privacy = self._policy.privacy
            epsilon = privacy.query_epsilon if query.epsilon is None else positive(query.epsilon, "epsilon")
            if within is not None:
                planned = partial(self.planned, question, rows_per_unit=rows_per_unit, noise=noise)
                epsilon = epsilon_within(planned, positive(within, "within"), query.confidence, privacy)
            made = self.planned(question, self._allowed(epsilon), rows_per_unit, noise)
            self._dry_run.above(made)
        except RecursionError:
            raise QueryError("the query is nested too deeply", sqlstate="54001") from None
        except (
            LookupError,
            AttributeError,
            TypeError,
            ArithmeticError,
            AssertionError,
        ) as error:  # nothing was charged yet
            OPERATOR.error("planning failed: %s", error, exc_info=error)
            raise QueryError("this query cannot be planned", hint="Rewrite the query.") from None
        return replace(made, missing=missing) if missing and made.event is not None else made

    def planned(self, question: BoundQuery, epsilon: Fraction, rows_per_unit: Rows, noise: str | None) -> Plan:
        """The plan of a bound query at an epsilon; one that estimates rows has no bound of its own."""
        rows_per_unit = None if rows_per_unit == AUTO else rows_per_unit
        return plan(question, self._policy, epsilon, rows_per_unit, noise=noise, rows=self._engine)

    def at_epsilon(self, made: Plan, epsilon: Fraction, rows_per_unit: Rows) -> Plan:
        """The plan under which an answer was stored at another epsilon."""
        if made.epsilon == epsilon:
            return made
        other = self.planned(made.question, epsilon, rows_per_unit, made.noise)
        return other if made.layout is not None else replace(other, digest=made.digest, layout=None)

    def reasons(self, made: Plan) -> tuple[Reason, ...]:
        """Why the plan costs no more than it says; PlanError where it would. One with stand-ins is not to be run."""
        return () if made.missing else check(made.cuts, self._policy.privacy.adjacency, made.event)

    def check(self, made: Plan, query: Query, day: date) -> dict[str, Any]:
        """Derive the bound of every job anew and run the jobs on empty tables: what is kept of it with the charge."""
        with planning():
            kept = record(made, self.reasons(made), query.rows_per_unit, day)
            kept["query_delta"] = str(self._policy.privacy.query_delta)
            self._dry_run.below(made)
        return kept

    def dry_run(self, made: Plan) -> None:
        """Run the jobs on empty tables of the same types."""
        self._dry_run.below(made)

    def again(self, entry: Entry, composition: str) -> tuple[Plan, tuple[Reason, ...]]:
        """The plan of an entry of the ledger, made and checked once more."""
        kept, known = entry.body["plan"], self._bounds.known(entry.body["version"])
        found = tuple((one, bound.value) for one, bound in known.items())
        question = self._bound(entry.body["text"], date.fromisoformat(kept["day"]), found)
        question = self._sizes(question, kept["noise"]) if kept["rows_per_unit"] == AUTO else question
        delta = Fraction(kept.get("query_delta", self._policy.privacy.query_delta))  # early versions did not keep it
        privacy = replace(self._policy.privacy, query_delta=delta, composition=composition)
        policy = replace(self._policy, privacy=privacy)
        rows = None if kept["rows_per_unit"] == AUTO else kept["rows_per_unit"]
        epsilon = Fraction(entry.body["epsilon"])
        made = plan(question, policy, epsilon, rows, noise=kept["noise"], rows=self._engine)
        return made, self.reasons(made)

    def _sizes(self, question: BoundQuery, noise: str) -> BoundQuery:
        """The query that estimates how many rows of a person count in another one."""
        release = estimable(question)
        if release is None:
            raise QueryError("there is nothing to estimate: no release of this query counts several rows of a person")
        return sizes_question(release, clipped=noise == GEOMETRIC)

    def _bound(self, sql: str, today: date, found: tuple[tuple[Unknown, Fraction | None], ...]) -> BoundQuery:
        """A text is bound once, as long as there is room for the public rows that it keeps."""
        question = self._questions.get((sql, today, found))
        if question is None:
            question = self._bind(sql, self._bounds.settled(dict(found)), today)
            self._questions.put((sql, today, found), question)
        return question

    def _bind(self, sql: str, policy: Policy, today: date) -> BoundQuery:
        of: dict[str, Any] = {"views": self._views, "stored": self._stored, "keeper": self._engine}
        try:
            with bounded_work():
                return bind(parse(sql), policy, today, self._engine, **of)
        except EngineError:
            raise QueryError(
                "a sub-query over public tables cannot be computed",
                sqlstate="22000",
                hint="Rewrite the query; nothing was charged, and the operator's log has the cause.",
            ) from None

    def _allowed(self, epsilon: Fraction) -> Fraction:
        least = self._policy.privacy.min_epsilon
        if epsilon < least:
            raise InputError(f"epsilon must be at least {show(least)} under this policy, but is {told(epsilon)}")
        return epsilon

    def _as_stored(self, made: Plan) -> Plan:
        """The plan under its first digest, where an earlier version of sfumato stored its answer under that."""
        if made.event is None or made.missing or not self._has_first_digests:
            return made
        first, least = self._engine.first_digest(self._policy, made.noise, made.cuts), self._policy.privacy.min_epsilon
        if first is None:
            return made
        stored = [self._ledger.stored(one, self._version(), least) is not None for one in (made.digest, first)]
        return replace(made, digest=first, layout=None) if stored == [False, True] else made
