"""The ledger: open it, charge, store answers, record failures, read, verify.

Comes in: a question with its event, from many threads and several processes. Goes out: a receipt that is on the disk, a
stored answer, or a refusal. Nothing here sees data or draws noise.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO, TypeVar

from sfumato.accounting import Event
from sfumato.errors import InputError, LedgerError
from sfumato.interrupts import check_wanted
from sfumato.ledger import answers, audit, chain, moving, store
from sfumato.ledger.anchor import check_anchor, read_anchor
from sfumato.ledger.balance import count_left, find_standing
from sfumato.ledger.cells import check_cells
from sfumato.ledger.charging import ChargeRequest, check_serving, decide, find_again, make_request
from sfumato.ledger.earlier_use import check_found
from sfumato.ledger.group_commit import LedgerWriter
from sfumato.ledger.last_head import read_last_head
from sfumato.ledger.moved_ledger import check_here
from sfumato.ledger.opening import (
    Clock,
    Opening,
    check_change,
    is_address,
    make_server,
    now,
    open_ledger,
    place_of,
    stamp,
)
from sfumato.ledger.operator_messages import Owner, went_back
from sfumato.ledger.protocol import Store, StoreConnection, Work
from sfumato.ledger.records import (
    BudgetState,
    Busy,
    ChainReport,
    ChargeOutcome,
    ClaimedElsewhere,
    Entry,
    OtherStore,
    Receipt,
    SpendingCurve,
    SpendingTerms,
    Stored,
    name,
)
from sfumato.ledger.spending import read_spending
from sfumato.ledger.transactions import LedgerTransaction
from sfumato.ledger.units import Units, read_units
from sfumato.sampling import epoch
from sfumato.types import Adjacency, Loss, positive

T = TypeVar("T")

PATIENCE = 6
"""How many times as long as for a debit is waited to record what became of it."""

TURN, PAUSE = 60.0, 0.02
"""Seconds for which a question waits for another gateway that is about to answer it, and between two looks. Who goes
while it waits frees its turn with its connection; who is slower than that is not waited for, and both have paid."""

LARGEST = 100_000_000
"""Bytes of one answer; SQLite itself ends at a thousand million."""


class Ledger:
    """The debits, answers and failures of one data set. Make one with `open` or `visit`; it is a context manager.

    Any number of threads may use it. After a failed write it is dead: every call raises a LedgerError, serving stops.
    `begun` is where opening it began a new ledger; None if there was one.
    """

    def __init__(self, opening: Opening) -> None:
        self._owner = Owner()
        self._rules, self._store, self._writer, self.begun = open_ledger(opening, self._owner)
        self._opening, self.clock = opening, opening.clock
        self.data_id, self.terms = self._rules.data_id, self._rules.terms
        self._epoch = epoch()
        self._finish = weakref.finalize(self, _finish, self._epoch, self._writer, self._store)

    # opening

    @classmethod
    def open(
        cls,
        path: Path | str,
        *,
        data_id: str,
        composition: str,
        epsilon: object,
        delta: object = 0,
        delta_selection: object | None = None,
        shares: Mapping[str, Any] | None = None,
        policy_digest: str = "",
        failures: int = 3,
        adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
        partition: str | None = None,
        units: Units | None = None,
        anchor: Path | str | None = None,
        last_head: Path | None = None,
        who: str = "owner",
        busy: float = 10.0,
        clock: Clock = now,
    ) -> Ledger:
        """Open or make the ledger of a data set, under this policy; a policy that differs from the last is an entry.

        `partition` names the column whose values are the cells of people; without it every question is charged to
        everybody. `units` says what one unit is in each table: a used ledger keeps it. `:memory:` lives only in this
        process. `anchor` names a file, best on another disk; `last_head` one in the state directory, by which a lost
        ledger is missed. `busy` is how many seconds to wait for another process.
        """
        terms = SpendingTerms.of(
            digest=policy_digest,
            composition=composition,
            epsilon=epsilon,
            delta=delta,
            delta_selection=delta_selection,
            shares=shares or {},
            failures=failures,
            adjacency=adjacency,
            partition=partition,
            units=units,
        )
        held = None if anchor is None else Path(anchor).absolute()
        return cls(Opening(place_of(path), name(data_id, "data id"), terms, held, last_head, who, busy, clock))

    @classmethod
    def visit(
        cls,
        path: Path | str,
        *,
        anchor: Path | str | None = None,
        last_head: Path | None = None,
        busy: float = 10.0,
        clock: Clock = now,
    ) -> Ledger:
        """Open a ledger that exists, under the policy that it recorded last, and write nothing by doing so.

        For those who look, verify, back up, freeze: an edited policy file takes effect when the gateway reloads it.
        """
        if not is_address(path) and (not Path(path).is_file() or Path(path).stat().st_size == 0):
            check_found(last_head, read_last_head(last_head))
            raise LedgerError(f'there is no ledger at "{Path(path).name}"')
        held = None if anchor is None else Path(anchor).absolute()
        return cls(Opening(place_of(path), None, None, held, last_head, "", busy, clock))

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Finish what was asked for, and close the file."""
        self._finish()

    # spending

    def debit(
        self,
        analyst: str,
        event: Event,
        *,
        question: str,
        epsilon: object,
        version: str,
        text: str,
        key: str | None = None,
        cells: tuple[str, ...] | None = None,
        rows: str | None = None,
        plan: Mapping[str, Any] | None = None,
    ) -> Receipt | Stored:
        """Pay for a question before any row is read for it; or find that it was paid for already.

        `question` is the digest of the canonical question without its epsilon, `version` that of the data, `text` what
        the analyst wrote. A `key` makes a retry safe: it brings back the stored answer, or pays again. `cells` names
        the cells of the partition that hold everybody whose rows can change the answer; None is everybody. `rows` names
        the rows that they are cells of: in others a person may be in another cell, so these add up. `plan` says
        how it was planned, and why it costs no more: JSON, kept with the debit.

        Guarantee: a receipt is on the disk when it is returned. All receipts that were ever returned, by any thread and
            any process, fit together in the filter of the total, and those of an analyst with a share in hers. A
            refusal writes nothing. A stored answer to the same question on the same data version, drawn at this
            epsilon or a higher one, costs nothing. What is charged to cells counts as `accounting.Cells` says: spent is
            what everybody was charged plus, for each data version and its rows, the largest cell (replace: the two
            largest).
        Proof: BEGIN IMMEDIATE admits one writer at a time, sums are read inside its transaction, and what the filter
            admits is written with them in one commit; a result is handed out after that commit returned, which under
            WAL with synchronous=FULL is after fsync. A price is that of the event, rounded up once. An answer given
            again is the same answer: it says nothing new. Sums of cells are read and written beside the others, and
            what a charge adds to the largest is added to the sum that the filter and the walls of the file bound.
        Reference: semantics 5.1 to 5.4; Haerder, Reuter, ACM Computing Surveys 15, 1983 (one force serves a group).
        Checked by: unit::forty_tenths_are_four, unit::fifty_nine_tenths_under_best_in_a_ledger,
            unit::shares_ration_one_total, unit::a_refusal_writes_nothing, unit::a_higher_epsilon_is_free,
            unit::eight_threads_spend_one_budget, unit::cells_are_parallel, unit::another_process_charged_the_cell,
            laws::spent_is_the_worst_path, end_to_end::two_processes_spend_one_budget,
            end_to_end::two_processes_share_the_cells,
            end_to_end::what_was_printed_is_in_the_ledger_after_kill, end_to_end::a_full_disk_stops_serving,
            end_to_end::a_disk_that_fails_at_any_call, end_to_end::the_power_goes_at_any_moment,
            end_to_end::a_gateway_with_an_old_policy_spends_nothing
        """
        request = make_request(
            self.terms,
            analyst,
            event,
            question=question,
            epsilon=epsilon,
            version=version,
            text=_text(text),
            key=key,
            cells=cells,
            rows=rows,
            plan=plan,
        )
        end = time.monotonic() + TURN
        while True:
            wait = time.monotonic() < end
            try:
                return self._write(partial(self._decide, request=request, wait=wait))
            except ClaimedElsewhere:
                check_wanted()
                time.sleep(PAUSE)

    def _decide(self, connection: StoreConnection, request: ChargeRequest, *, wait: bool) -> Receipt | Stored:
        return decide(connection, self._rules, request, self._now(connection), wait=wait)

    def store(self, receipt: Receipt, answer: bytes) -> Stored:
        """Keep the answer that a debit paid for, before its first byte leaves.

        Guarantee: the answer that is returned is on the disk, and is the one that everybody gets who asks the same
            question on the same data version at the same epsilon, before and after any crash. One debit pays for at
            most one answer.
        Proof: the first answer to a question is inserted in the transaction that looked for one, so a second draw finds
            it and is dropped; answers and their digests in the chain are never changed. A reply that was lost is given
            again, not drawn again, so draws of one question cannot be averaged.
        Reference: semantics 5.2 and 5.4.
        Checked by: unit::the_first_answer_wins, unit::one_debit_pays_for_one_answer, unit::a_retry_gets_the_answer,
            end_to_end::what_was_printed_is_in_the_ledger_after_kill,
            end_to_end::what_left_the_gateway_is_in_the_ledger,
            end_to_end::after_a_failed_sync_the_file_is_not_trusted,
            end_to_end::an_answer_that_cannot_be_stored_is_not_given
        """
        kept = bytes(answer)
        if len(kept) > LARGEST:
            raise InputError(f"an answer must have at most {LARGEST} bytes, but has {len(kept)}")
        return self._settle(lambda connection: answers.store(connection, receipt, kept, self._now(connection)))

    def together(self, work: Callable[[LedgerTransaction], T]) -> T:
        """Do several debits, and store their answers, in one transaction; return when it is on the disk.

        Guarantee: no other thread or process writes while `work` runs. All that it charged is on the disk when this
            returns; if it raises, or the commit fails, or the process ends before, none of it is.
        Proof: `work` is one piece of work of the writer, inside BEGIN IMMEDIATE and behind one savepoint.
        Reference: semantics 5.1 and 5.2.
        Checked by: geo::a_batch_that_is_not_committed_reports_nothing,
            geo::what_was_reported_is_in_the_ledger_after_kill
        """
        return self._write(lambda connection: work(LedgerTransaction(connection, self._rules, self._now(connection))))

    def fail(self, receipt: Receipt) -> None:
        """Record that a question failed after it was paid for. The debit stands; too many close the data version.

        A failure that cannot be recorded would not be counted (semantics 6.2), so that ends serving.
        """
        try:
            self._settle(lambda connection: answers.fail(connection, receipt, self._now(connection)))
        except Busy as error:
            self._writer.give_up(error)
            raise

    def freeze(self, who: str) -> None:
        """Refuse every question from now on, in every process."""
        self._note("frozen", who)

    def thaw(self, who: str) -> None:
        """Answer again."""
        self._note("thawed", who)

    def reopen(self, who: str) -> None:
        """The owner has looked at the failures: data versions that they closed are open again."""
        self._note("reopened", who)

    def _note(self, kind: str, who: str) -> None:
        document = {"who": name(who, "who")}

        def write(connection: StoreConnection) -> None:
            check_here(connection)
            chain.append(connection, self._now(connection), kind, None, document)

        self._write(write)

    # looking

    def asking(self) -> AbstractContextManager[None]:
        """Around a question that will soon have something to write: under load, commits wait for each other."""
        return self._writer.asking()

    def mark(self) -> int:
        """A number that is another one after every change of the ledger, whichever process made it.

        Guarantee: between two calls in this process that return the same number nothing was committed to the file, so
            that whatever was read after the first of them is what would be read after the second; and the file was not
            replaced by another one.
        Proof: PRAGMA data_version, on a connection that writes nothing itself, changes with each commit of any other
            connection, that of our own writer among them (sqlite.org/pragma.html#pragma_data_version). In memory there
            is one writer, which counts the rows that it has changed before it tells anybody. The names of the files are
            looked at each time, as after a commit.
        Reference: semantics 5.4 and 5.6.
        Checked by: unit::every_change_moves_the_mark, unit::another_process_moves_the_mark,
            unit::a_ledger_that_was_replaced_has_no_mark
        """
        self._check()
        if not self._store.readable:
            return self._writer.changes
        return self._looking(self._store.mark)

    def again(self, question: str, version: str, epsilon: object) -> Stored | None:
        """What `debit` would give for nothing, or raise before it pays; it writes nothing and waits for no writer."""
        asked = (question, version, positive(epsilon, "epsilon"))
        with self._telling():
            return self._read(lambda connection: find_again(connection, self._rules, asked))

    def check_serving(self, version: str) -> None:
        """Raise what any query on this version meets now: a frozen ledger, or a closed version. Writes nothing."""
        with self._telling():
            self._read(lambda connection: check_serving(connection, self._rules, version))

    def latest(self) -> datetime:
        """The time of the last entry; `clock` is behind it only if it went back."""
        return datetime.fromisoformat(self._read(chain.latest_time))

    def stored(self, question: str, version: str, epsilon: object) -> Stored | None:
        """The answer that this question would get for nothing."""
        wanted = positive(epsilon, "epsilon")
        return self._read(lambda connection: answers.find_best_answer(connection, question, version, wanted))

    def best(self, question: str, version: str) -> Stored | None:
        """The best answer that is stored, whatever its epsilon."""
        return self._read(lambda connection: answers.find_latest_answer(connection, question, version))

    def has_other_questions(self, prefix: str) -> bool:
        """Whether an answer is stored for a question whose digest does not begin so."""
        after = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        looks = (
            ("SELECT 1 FROM answer WHERE question < ? LIMIT 1", prefix),
            (
                "SELECT 1 FROM answer WHERE question >= ? LIMIT 1",
                after,
            ),
        )
        return self._read(lambda c: any(c.execute(sql, (end,)).fetchone() is not None for sql, end in looks))

    def budget(
        self,
        analyst: str | None = None,
        *,
        cells: tuple[str, ...] | None = None,
        version: str | None = None,
        rows: str | None = None,
    ) -> BudgetState:
        """Where an analyst stands, or everybody together; what remains is for a question to all, or to these cells."""
        touched = check_cells(cells, self.terms)
        of: dict[str, Any] = {"cells": touched, "version": version, "rows": rows}
        return self._read(lambda connection: find_standing(connection, self.terms, analyst, **of))

    def remaining_count(
        self,
        analyst: str | None,
        loss: Loss,
        *,
        cells: tuple[str, ...] | None = None,
        version: str | None = None,
        rows: str | None = None,
    ) -> int:
        """How many more releases of this price fit, for an analyst or for everybody, to all or to the same cells."""
        of: dict[str, Any] = {"cells": check_cells(cells, self.terms), "version": version, "rows": rows}
        return self._read(lambda connection: count_left(connection, self.terms, analyst, loss, **of))

    def check_successor(self, *, adjacency: Adjacency | str, units: Units) -> None:
        """Raise what opening this ledger under a policy with this adjacency and these units would raise."""
        terms = replace(self.terms, adjacency=Adjacency.of(adjacency), units=read_units(units))
        self._read(lambda connection: check_change(connection, self.terms.to_dict(), terms))

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """The chain, from the entry after a number."""
        while page := self._read(partial(chain.read_page, after=after)):
            yield from page
            after = page[-1].seq

    def history(self, analyst: str, *, before: int | None = None, limit: int = 100) -> list[ChargeOutcome]:
        """What one analyst has paid for, the newest first: her own entries and nobody else's."""
        first = 2**63 - 1 if before is None else before
        found = self._read(lambda connection: chain.read_own(connection, analyst, first, limit))
        ends = {entry.body["receipt"]: entry.kind for entry in found if entry.kind != "debit"}
        return [
            ChargeOutcome(entry, ends.get(entry.body["receipt"], "open")) for entry in found if entry.kind == "debit"
        ]

    def spending(self, most: int) -> SpendingCurve:
        """What was spent when and by whom, in at most so many points, the last debit among them."""
        return self._read(lambda connection: read_spending(connection, most))

    def export(self, target: Path | str | TextIO) -> None:
        """The chain as JSON lines, durable where a path is given."""
        if not isinstance(target, (str, Path)):
            for entry in self.entries():
                target.write(chain.canonical(_line(entry)) + "\n")
            return
        handle = os.open(target, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            self.export(file)
            file.flush()
            os.fsync(file.fileno())

    def backup(self, target: Path | str) -> None:
        """A copy in one file, whole and durable, while serving goes on. Never copy the file itself without its WAL."""
        self._check()
        try:
            self._store.backup(Path(target))
        except (sqlite3.Error, OSError) as error:
            raise store.unreachable(error) from error

    def move(self, target: str, who: str) -> ChainReport:
        """Move this ledger into a PostgreSQL server; see `moving.arrive`. It is spent there from then on.

        A move that was interrupted is finished by moving it to the same place again.
        """
        if not is_address(target):
            raise InputError("a ledger is moved into a PostgreSQL server", hint="Write postgresql://…/DATABASE.")
        new, shown = make_server(target, self._opening.busy)
        self.verify()
        new.exists()  # before anything is written
        asker = name(who, "who")
        went = self._write(lambda connection: moving.leave(connection, shown, asker, self._now(connection)))

        def copy(connection: StoreConnection) -> ChainReport:
            return moving.arrive(connection, new, went, asker, stamp(self.clock))

        return self._store.read(copy, alone=True)

    def fork(self, target: Path) -> None:
        """Write a file with the same ledger, to try out what is not to be spent."""
        self._check()
        if isinstance(self._opening.path, Path):
            self.backup(target)
        else:
            self._read(lambda connection: moving.copy_to_file(connection, target))

    def verify(self) -> ChainReport:
        """Recompute the ledger from its chain.

        Guarantee: if it returns, then no entry was edited, removed or moved since it was written, short of cutting the
            end or writing every later entry anew; with an anchor, not even that up to the entry that the anchor names.
            Every debit has the price of its event and was within the budget of its day; the sums, those of the cells,
            the stored answers and their debits are those of the chain. Otherwise a LedgerError names the first entry
            that is wrong.
        Proof: each hash is over all fields of its entry and the hash before it, so a change shows in the first entry
            that differs unless SHA-256 collides, and the hash of the last entry binds all before it. The rest is
            recomputed by the code that decides.
        Reference: semantics 5.6; Haber, Stornetta, Journal of Cryptology 3, 1991.
        Checked by: unit::verify_finds_an_edited_body, unit::verify_finds_edited_sums,
            unit::verify_finds_a_deleted_entry, unit::verify_finds_swapped_entries, unit::verify_finds_a_cut_tail,
            unit::verify_finds_an_edited_answer, unit::verify_finds_an_answer_without_its_debit,
            unit::verify_finds_an_older_backup, unit::verify_finds_what_was_hashed_anew,
            unit::verify_finds_edited_cells, unit::verify_finds_cells_that_were_hashed_anew
        """
        self._check()
        mark = None if self._opening.anchor is None else read_anchor(self._opening.anchor)
        if self._opening.anchor is not None and mark is None:
            raise LedgerError("the anchor of the ledger is missing")

        def work(connection: StoreConnection) -> ChainReport:
            check_anchor(connection, mark)
            return audit.audit(connection)

        if not self._store.readable:
            return self._writer.submit(work)
        return self._store.read(work, alone=True)  # a long chain blocks nobody

    # inside

    def _now(self, connection: StoreConnection) -> str:
        now, latest = stamp(self.clock), chain.latest_time(connection)
        if now < latest:
            self._owner.tell(went_back(now, latest), logging.WARNING)
        return now

    def _check(self) -> None:
        if self._epoch is not epoch():  # also of a fork below Python, and where the child has the same number
            raise LedgerError("the ledger was opened before a fork", hint="Open it in the process that uses it.")
        self._writer.check_alive()

    def _write(self, work: Work[T]) -> T:
        self._check()
        with self._telling():
            return self._writer.submit(work)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """What stops questions is told to the owner as well."""
        try:
            yield
        except ClaimedElsewhere:
            raise
        except LedgerError as error:
            if not self._writer.ended:  # then the owner knows already
                self._owner.tell(error)
            raise

    def _settle(self, work: Work[T]) -> T:
        """What was paid for is worth waiting for: another process that holds the lock is given more time."""
        for _ in range(PATIENCE - 1):
            try:
                return self._write(work)
            except Busy:
                continue
        return self._write(work)

    def _read(self, work: Work[T]) -> T:
        self._check()
        if not self._store.readable:
            return self._writer.submit(work)
        return self._looking(lambda: self._store.read(work))

    def _looking(self, look: Callable[[], T]) -> T:
        """Look at the store that was opened; if it is another one by now, every call raises from then on."""
        try:
            self._store.check_before(self._writer.submit)
        except LedgerError as error:
            if not self._writer.ended:
                self._writer.give_up(error)
            raise
        try:
            return look()
        except OtherStore as error:
            self._writer.give_up(error)
            raise


def _finish(opened: object, writer: LedgerWriter, store: Store) -> None:
    if opened is not epoch():  # a forked child must not touch what its parent has open, nor when it ends
        return
    store.close_readers()
    writer.close()


def _text(text: object) -> str:
    if not isinstance(text, str) or len(text) > LARGEST:
        raise InputError("the text of a question must be text")
    return text


def _line(entry: Entry) -> dict[str, Any]:
    return {field: getattr(entry, field) for field in chain.COLUMNS.split(", ")}
