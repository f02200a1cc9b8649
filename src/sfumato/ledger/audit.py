"""Recompute everything: is this ledger what happened, and was every debit within the budget of its day?

Comes in: a connection with one snapshot of the file. Goes out: a report, or the first entry that is wrong. The chain is
the truth; sums, answers and keys beside it must be what follows from it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from fractions import Fraction
from heapq import nlargest
from typing import Any

from sfumato.accounting import PrivacyFilter, from_dict, price
from sfumato.errors import BudgetError, LedgerError
from sfumato.ledger.cells import scope_of, units_of
from sfumato.ledger.chain import FIRST, canonical, digest, walk
from sfumato.ledger.protocol import StoreConnection, dialect_of
from sfumato.ledger.records import EVERYBODY, ChainReport, Entry, SpendingTerms, loss_from_dict
from sfumato.ledger.running_sums import AMOUNTS, ZERO, add, columns, limits_of, write_units
from sfumato.ledger.schema import FORMAT
from sfumato.ledger.spending import row_of
from sfumato.ledger.units import find_conflict, known_units
from sfumato.types import UNIT, Loss


class Tally:
    """What the cells of one scope have paid in one currency, and which two have paid most.

    A cell comes among the two that paid most only by paying, so those two and the ones that pay now are enough.
    """

    def __init__(self) -> None:
        self.paid: dict[str, int] = {}
        self.top: list[str] = []

    def take(self, cells: list[str], cost: int, most: int) -> int:
        """Charge these cells; by how much the largest grew, or the `most` largest together."""
        before = self._peak(most)
        for cell in cells:
            self.paid[cell] = self.paid.get(cell, 0) + cost
        self.top = nlargest(2, {*self.top, *cells}, key=self.paid.__getitem__)
        return self._peak(most) - before

    def _peak(self, most: int) -> int:
        return sum(self.paid[cell] for cell in self.top[:most])


class Replay:
    """The state of a ledger as the entries make it, one after the other."""

    def __init__(self) -> None:
        self.terms: SpendingTerms | None = None
        self.recorded: dict[str, Any] | None = None
        self.tallies: dict[tuple[str, str], tuple[Tally, Tally, Tally]] = {}
        self.filters: dict[str, PrivacyFilter] = {}
        self.sums: dict[str, dict[str, int]] = {EVERYBODY: dict(ZERO)}
        self.debits: dict[str, Entry] = {}
        self.answers: dict[str, Entry] = {}
        self.failed: set[str] = set()
        self.failures: Counter[str] = Counter()
        self.policies: list[tuple[dict[str, Any], bool]] = []
        self.frozen = False
        self.seq, self.hash = 0, FIRST
        self.spending = hashlib.sha256()

    def take(self, entry: Entry) -> None:
        """One more entry, or why it cannot be."""
        if (entry.kind == "opened") != (entry.seq == 1):
            raise _wrong(entry, "a ledger is opened once, by its first entry")
        try:
            getattr(self, f"_{entry.kind}")(entry)  # one method a kind, and the kind is one of chain.KINDS
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise _wrong(entry, f"its fields are damaged ({type(error).__name__})") from error
        self.seq, self.hash = entry.seq, entry.hash

    def _opened(self, entry: Entry) -> None:
        if not 1 <= entry.body["format"] <= FORMAT or not isinstance(entry.body["data"], str):
            raise _wrong(entry, "it names no data set, or an unknown format")

    def _policy(self, entry: Entry) -> None:
        if entry.body["before"] != self.recorded:
            raise _wrong(entry, "the policy that it replaces was not the one in force")
        self.terms = SpendingTerms.from_dict(entry.body["now"])
        if self.debits and self.terms.covers_less(self.recorded):
            raise _wrong(entry, "earlier charges were not computed for its adjacency")
        if (conflict := find_conflict(known_units(self.policies), self.terms.units)) is not None:
            raise _wrong(entry, f"the units of earlier charges are not its units: {conflict}")
        self.recorded = entry.body["now"]
        self.policies.append((entry.body["now"], False))
        self.filters = self.terms.filters()
        for who, budget in self.filters.items():
            budget.restore(self.sums.get(who, ZERO))

    def _debit(self, entry: Entry) -> None:
        body, analyst = entry.body, entry.analyst
        if not analyst or self.terms is None or body["receipt"] in self.debits:
            raise _wrong(entry, "it has no analyst, no policy, or a receipt that was used before")
        if self.frozen or self.failures[body["version"]] >= self.terms.failures:
            raise _wrong(
                entry, "nothing could be charged then: the budget was frozen, or the version was closed by failures"
            )
        cost = price(from_dict(body["event"]))
        if loss_from_dict(body["price"]) != cost:
            raise _wrong(entry, "its cost is not that of its event")
        cells = body.get("cells")  # format 1 had none: everybody
        if cells is not None and not (self.terms.partition and _are_names(cells)):
            raise _wrong(entry, "its cells are not those of a partition")
        scope = scope_of(self.terms, body["version"], body.get("rows"))
        for who in (EVERYBODY, analyst):
            self._spend(entry, who, cost if cells is None else self._grow(who, scope, cells, cost))
        self.debits[body["receipt"]] = entry
        self.policies[-1] = (self.policies[-1][0], True)
        _note(self.spending, row_of(entry, self.sums))

    def _spend(self, entry: Entry, who: str, cost: Loss) -> None:
        if who in self.filters:
            try:
                self.filters[who].spend(cost)
            except BudgetError as error:
                raise _wrong(entry, "it exceeds the budget in force at the time") from error
        self.sums[who] = add(self.sums.get(who, ZERO), cost)

    def _grow(self, who: str, scope: str, cells: list[str], cost: Loss) -> Loss:
        """What a charge to cells adds to what is spent: by how much the largest of them grows in each currency."""
        assert self.terms is not None
        most = self.terms.adjacency.keys(1)
        tallies = self.tallies.setdefault((who, scope), (Tally(), Tally(), Tally()))
        epsilon, rho, delta = (
            tally.take(cells, units, most) * UNIT for tally, units in zip(tallies, units_of(cost), strict=True)
        )
        return Loss(None if cost.epsilon is None else epsilon, None if cost.rho is None else rho, delta)

    def _answer(self, entry: Entry) -> None:
        self._settle(entry)
        self.answers[entry.body["receipt"]] = entry

    def _failed(self, entry: Entry) -> None:
        debit = self._settle(entry)
        self.failed.add(entry.body["receipt"])
        self.failures[debit.body["version"]] += 1

    def _settle(self, entry: Entry) -> Entry:
        receipt = entry.body["receipt"]
        debit = self.debits.get(receipt)
        if debit is None or debit.seq != entry.body["debit"] or debit.analyst != entry.analyst:
            raise _wrong(entry, "it has no debit")
        if receipt in self.answers or receipt in self.failed:
            raise _wrong(entry, "its debit was answered or failed before")
        return debit

    def _frozen(self, _: Entry) -> None:
        self.frozen = True

    def _thawed(self, _: Entry) -> None:
        self.frozen = False

    def _reopened(self, _: Entry) -> None:
        self.failures.clear()


def _are_names(cells: object) -> bool:
    """One name or more, in order, each once."""
    if not isinstance(cells, list) or not cells or not all(isinstance(cell, str) and cell for cell in cells):
        return False
    return cells == sorted(set(cells))


def _wrong(entry: Entry, why: str) -> LedgerError:
    return LedgerError(f"entry {entry.seq} of the ledger is not valid", detail=f"{entry.kind}: {why}.")


def audit(connection: StoreConnection) -> ChainReport:
    """Walk the chain and replay it; then hold what lies beside it against it."""
    replay = Replay()
    for entry in walk(connection):
        replay.take(entry)
    if replay.terms is None:
        raise LedgerError("the chain of the ledger is empty or has no policy")
    _check_sums(connection, replay, replay.terms)
    _check_cells(connection, replay)
    _check_spending(connection, replay)
    _check_answers(connection, replay)
    _check_keys(connection, replay)
    dialect_of(connection).check_inside(connection)
    total = replay.sums[EVERYBODY]
    return ChainReport(
        entries=replay.seq,
        debits=len(replay.debits),
        answers=len(replay.answers),
        failures=len(replay.failed),
        seq=replay.seq,
        hash=replay.hash,
        spent=Loss(
            None if total["epsilon_shut"] else total["epsilon"] * UNIT,
            None if total["rho_shut"] else total["rho"] * UNIT,
            total["delta"] * UNIT,
        ),
    )


def _check_sums(connection: StoreConnection, replay: Replay, terms: SpendingTerms) -> None:
    """Each row is what the debits add up to, beside the limits of the policy in force."""
    limits = limits_of(terms)
    wanted = {
        who: (*columns(state), *limits.get(who, (None, None, None)))
        for who, state in (dict.fromkeys(limits, ZERO) | replay.sums).items()
    }
    found = {row[0]: tuple(row[1:]) for row in connection.execute("SELECT * FROM sums")}
    for who in sorted(wanted.keys() | found.keys()):
        if wanted.get(who) != found.get(who):
            raise _wrong_sums("sums", who, replay)


def _check_cells(connection: StoreConnection, replay: Replay) -> None:
    """Each cell is what its debits add up to, and there is none beside them."""
    wanted = {
        (who, scope, cell): tuple(write_units(tally.paid[cell]) for tally in tallies)
        for (who, scope), tallies in replay.tallies.items()
        for cell in tallies[0].paid
    }
    query = f"SELECT analyst, scope, cell, {', '.join(AMOUNTS)} FROM cells"  # noqa: S608 - constants
    found = {row[:3]: tuple(row[3:]) for row in connection.execute(query)}
    if wanted != found:
        where = min(place for place in wanted.keys() | found.keys() if wanted.get(place) != found.get(place))
        raise _wrong_sums("cells", where[0], replay)


def _check_spending(connection: StoreConnection, replay: Replay) -> None:
    """The sums that stand beside each debit are those that the chain adds up to then."""
    found = hashlib.sha256()
    for row in connection.execute("SELECT * FROM spending ORDER BY debit"):
        _note(found, row)
    if found.digest() != replay.spending.digest():
        raise _wrong_sums("sums after each debit", EVERYBODY, replay)


def _note(seen: Any, row: tuple[Any, ...]) -> None:
    seen.update(canonical(list(row)).encode())


def _wrong_sums(what: str, who: str, replay: Replay) -> LedgerError:
    owner = "everybody" if who == EVERYBODY else f'"{who}"'
    return LedgerError(
        f"the {what} of {owner} are not those of the debits",
        detail=f"The chain was replayed up to entry {replay.seq}.",
    )


def _check_answers(connection: StoreConnection, replay: Replay) -> None:
    """Each stored answer is the one that the chain has recorded for its debit, and none is missing."""
    left = dict(replay.answers)
    query = "SELECT receipt, question, version, epsilon, body, debit, seq FROM answer ORDER BY seq"
    for receipt, question, version, epsilon, body, debit, seq in connection.execute(query):
        entry, paid = left.pop(receipt, None), replay.debits.get(receipt)
        if paid is None:
            raise LedgerError(f"the stored answer of receipt {receipt} has no debit")
        if entry is None:
            raise LedgerError(f"the stored answer of receipt {receipt} has no entry in the chain")
        asked = tuple(paid.body[field] for field in ("question", "version", "epsilon"))
        same = (question, version, epsilon, debit, seq) == (*asked, paid.seq, entry.seq)
        if not same or not isinstance(body, bytes) or digest(body) != entry.body["digest"]:
            raise LedgerError(f"the answer of entry {entry.seq} of the ledger was changed")
    if left:
        raise LedgerError(f"the answer of entry {min(entry.seq for entry in left.values())} of the ledger is missing")


def _check_keys(connection: StoreConnection, replay: Replay) -> None:
    """A key stands for a debit of the same question; a higher epsilon may have answered it."""
    debits = {entry.seq: entry for entry in replay.debits.values()}
    for analyst, question, epsilon, seq in connection.execute("SELECT analyst, question, epsilon, debit FROM key"):
        paid = debits.get(seq)
        if paid is None or paid.body["question"] != question or Fraction(paid.body["epsilon"]) < Fraction(epsilon):
            raise LedgerError(f'an idempotency key of "{analyst}" was used for a different query')
