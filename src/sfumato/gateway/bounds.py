"""Bounds that the policy leaves to be estimated: `rows_per_unit = "auto"`, `sum_per_unit = "auto"` (semantics 1.3).

Comes in: a policy, a ledger, an engine. Goes out: what is known for a data version, or what is bought: one noisy
histogram of persons for each bound, once for each version, paid for in the owner's name before a row is read, stored
like an answer, and free from then on for everybody. The number itself is post-processing of it.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.accounting import Pure, price
from sfumato.algebra.relations import scans_in
from sfumato.algebra.unit_histogram import Histogram, histogram
from sfumato.engines import Engine
from sfumato.engines.base import failure
from sfumato.errors import BudgetError, EngineError
from sfumato.gateway.clipping import Persons
from sfumato.gateway.query import OWNER
from sfumato.gateway.timing import Grid
from sfumato.ledger import Ledger, Receipt, Stored
from sfumato.policy import Policy, Unknown, unknown, with_bounds
from sfumato.policy.unknown import STAND_IN
from sfumato.sql.query_binding import BoundQuery
from sfumato.sql.release.digest import PREFIX
from sfumato.sql.release.normal_form import key_of
from sfumato.sql.release.plan import pays
from sfumato.sql.release.releases import summed
from sfumato.types import Exact, Loss, show


@dataclass(frozen=True)
class FoundBound:
    """A bound of one data version: its number, the noisy persons that it was chosen by, and whether it was bought now.

    Where too few persons could be seen, rows are two, the least for which nobody is left out, and a sum has no bound of
    its own.
    """

    of: Unknown
    version: str
    persons: Persons
    step: Fraction
    bought: bool = False

    @property
    def value(self) -> Fraction | None:
        """The number that stands for "auto"."""
        best = self.persons.best()
        if best is None:
            return Fraction(STAND_IN) if self.of.column is None else None
        return best * self.step

    @property
    def words(self) -> str:
        """One line for people."""
        value = self.value
        number = "the default, because too few people were visible" if value is None else show(value)
        if value is not None and self.persons.best() is None:
            number += ", because too few people were visible"
        cost = f"estimated for epsilon {show(self.persons.epsilon)}"
        return f'{self.of.words} for version "{self.version}": {number}; {cost}'

    def to_dict(self) -> dict[str, Any]:
        """For programs; the numbers of persons are noisy, and public."""
        return {
            "table": self.of.table,
            "column": self.of.column,
            "version": self.version,
            "value": None if self.value is None else str(self.value),
            "persons": list(self.persons.counts),
            "epsilon": str(self.persons.epsilon),
            "bought": self.bought,
        }


Known = dict[Unknown, FoundBound]
"""What is known of one data version at one moment: a plan is made with one of these, whatever others buy meanwhile."""


class AutoBounds:
    """What is known of a policy's "auto" bounds, version by version."""

    def __init__(self, policy: Policy, ledger: Ledger, engine: Engine, grid: Grid) -> None:
        self._policy, self._ledger, self._engine, self._grid = policy, ledger, engine, grid
        views = engine.views()
        self.all = tuple(one for one in unknown(policy) if one.table not in views)  # a view has the rows of its tables
        firsts = {one: self._first_digest(one) for one in self.all}
        self._digests = {one: (self._digest(one), *([] if key is None else [key])) for one, key in firsts.items()}
        self._known: dict[tuple[Unknown, str], FoundBound] = {}
        self._buying = threading.Lock()

    @property
    def price(self) -> Loss:
        """What finding one bound costs."""
        return price(Pure(self._policy.privacy.query_epsilon))

    def known(self, version: str) -> Known:
        """What was bought for this version, by any process: free."""
        for one in self.all:
            if (one, version) not in self._known:
                least = self._policy.privacy.min_epsilon
                kept = (self._ledger.stored(key, version, least) for key in self._digests[one])
                stored = next((answer for answer in kept if answer is not None), None)
                if stored is not None:
                    self._known[one, version] = self._found(one, version, stored)
        return {one: self._known[one, version] for one in self.all if (one, version) in self._known}

    def settled(self, values: Mapping[Unknown, Fraction | None]) -> Policy:
        """The policy with these numbers, and stand-ins for the rest."""
        return with_bounds(self._policy, values) if unknown(self._policy) else self._policy

    def missing(
        self, known: Known, question: BoundQuery | None = None, *, gaussian: bool = False
    ) -> tuple[Unknown, ...]:
        """The bounds that are not known, or those of them that a question needs."""
        left = tuple(one for one in self.all if one not in known)
        if question is None or not left:
            return left
        paid = [release for release in question.releases if pays(release)]
        needed = {Unknown(scan.table.name) for release in paid for scan in scans_in(release.below)}
        sums = [] if gaussian else [summed(release) for release in paid]  # a lone SUM is clipped under geometric noise
        needed |= {Unknown(of[0].name, of[1]) for of in sums if of is not None}
        return tuple(one for one in left if one in needed)

    def buy(self, wanted: Iterable[Unknown], version: str) -> tuple[FoundBound, ...]:
        """Find these bounds: those that are not known yet are paid for.

        Guarantee: a bound costs `query_epsilon`, once for each data version; whatever is chosen by it later says
            nothing more about a person.
        Proof: the histogram moves by the stated sensitivity (sql.histogram), the geometric law on it costs its epsilon,
            and it is stored before it is used, so it is drawn once. The debit is durable before the engine runs; a
            failure after it is recorded, and the debit stands. Which number is chosen is post-processing, and a
            question's own noise is scaled to that number, true or not.
        Reference: semantics 1.3, 5.2 and 5.4; Amin, Kulesza, Munoz, Vassilvitskii, ICML 2019 (bounds by paid numbers).
        Checked by: unit::a_bound_is_paid_before_it_is_read_and_only_once, laws::a_person_is_in_one_bucket,
            laws::replaced_she_leaves_one_bucket_and_enters_one, unit::a_bound_that_failed_is_recorded
        """
        with self._buying:  # two threads would pay for one bound twice
            known = self.known(version)
            return tuple(known.get(one) or self._buy(one, version) for one in wanted)

    def _buy(self, one: Unknown, version: str) -> FoundBound:
        epsilon = self._policy.privacy.query_epsilon
        name = one.table if one.column is None else f"{one.table}.{one.column}"
        text = f"bound {'rows_per_unit' if one.column is None else 'sum_per_unit'} of {name}"
        try:
            paid = self._ledger.debit(
                OWNER, Pure(epsilon), question=self._digests[one][0], epsilon=epsilon, version=version, text=text
            )
        except BudgetError as error:
            raise self.refused(one, f"{error.message}: {error.detail}" if error.detail else error.message) from None
        stored = paid if isinstance(paid, Stored) else self._ledger.store(paid, self._draw(one, paid))
        found = self._found(one, version, stored)
        self._known[one, version] = found
        return FoundBound(found.of, version, found.persons, found.step, bought=isinstance(paid, Receipt))

    def refused(self, one: Unknown, detail: str) -> BudgetError:
        """What asking raises where a bound cannot be paid for."""
        hint = 'The owner can write a number instead of "auto", or raise the budget.'
        return BudgetError(
            f"{one.words} is not known, and the budget does not allow estimating it", detail=detail, hint=hint
        )

    def _draw(self, one: Unknown, receipt: Receipt) -> bytes:
        """Run, then noise on every bucket in order, also the empty ones; how long it takes is not shown."""
        try:
            with self._grid.hidden(self._grid.now()):
                of = self._histogram(one)
                rows = {int(bucket): row.part(0) for (bucket,), row in self._engine.histogram(of)}
                exact = [rows.get(bucket, 0) for bucket in range(of.buckets)]
                law = self._persons((), self._policy.privacy.query_epsilon, one).law
                counts = [int(count) for count in law.release(Exact(exact))]
        except Exception as error:  # noqa: BLE001  one sentence for every cause (semantics 6.2)
            self._ledger.fail(receipt)
            raise error if isinstance(error, EngineError) else failure(error) from None
        return json.dumps({"format": 1, "persons": counts}, separators=(",", ":")).encode()

    def _histogram(self, one: Unknown, *, stored: bool = True) -> Histogram:
        table = self._policy.tables[one.table]
        return histogram(table, self._policy, one.column, stored=stored and one.table in self._engine.stored())

    def _persons(self, counts: tuple[int, ...], epsilon: Fraction, one: Unknown) -> Persons:
        return Persons(counts, epsilon, self._policy.privacy.adjacency, alone=one.column is None)

    def _found(self, one: Unknown, version: str, stored: Stored) -> FoundBound:
        counts = tuple(int(count) for count in json.loads(stored.answer)["persons"])
        return FoundBound(one, version, self._persons(counts, stored.epsilon, one), self._histogram(one).step)

    def _digest(self, one: Unknown) -> str:
        """What makes two such histograms the same: table and column, their buckets, the policy as it is written."""
        of = self._histogram(one, stored=False)
        return f"{PREFIX}{key_of('histogram', one.table, one.column, of.buckets, str(of.step), self._policy.digest)}"

    def _first_digest(self, one: Unknown) -> str | None:
        """The key of the same histogram in versions that digested an engine's SQL."""
        sql = self._engine.first_text(self._histogram(one, stored=False))
        kind = "rows per person" if one.column is None else "sizes per person"
        document = [kind, one.table, one.column, sql, self._policy.digest]
        return None if sql is None else hashlib.sha256(json.dumps(document, ensure_ascii=False).encode()).hexdigest()
