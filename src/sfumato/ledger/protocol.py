"""What a ledger needs of the place where it is stored: SQLite's file, or a PostgreSQL server.

The rules of the ledger (`chain`, `decide`, `settle`, `sums`, `cells`, `audit`) are written once, in SQL that both
understand, with `?` for a value. A `Dialect` is what they cannot say in it; a `Store` is one open ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from sfumato.ledger.steps import StepResult

T = TypeVar("T")
Head = tuple[int, str]
"""Number and hash of the last entry."""


class Rows(Protocol):
    """What a statement gives."""

    def fetchone(self) -> Any:
        """Return the next row, or None."""

    def fetchall(self) -> list[Any]:
        """Return all rows."""

    def __iter__(self) -> Iterator[Any]: ...


class StoreConnection(Protocol):
    """Runs statements inside the transaction that is open; sqlite3's connections are some."""

    def execute(self, sql: str, parameters: Sequence[Any] = ..., /) -> Rows:
        """Run one statement."""

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> object:
        """Run one statement for each row of values."""


Work = Callable[[StoreConnection], T]


class Dialect(Protocol):
    """What differs between the two, where the rules need it."""

    def read_format(self, connection: StoreConnection) -> int:
        """Return the format of the tables; 0 where there are none."""

    def read_place(self, connection: StoreConnection) -> str:
        """Return the name of this place, which a ledger that was moved here names; a file has none."""

    def claim(self, connection: StoreConnection, question: str) -> bool:
        """Return whether nobody else is about to answer this question; from then on this process is."""

    def release(self, connection: StoreConnection, question: str) -> None:
        """Let others answer it."""

    def check_fits(self, *texts: str) -> None:
        """Refuse texts that are too long to be a key together."""

    def check_inside(self, connection: StoreConnection) -> None:
        """Check that the tables and their walls are those that this version makes."""


def dialect_of(connection: StoreConnection) -> Dialect:
    """Return how to speak with a connection; one that does not say is SQLite's."""
    from sfumato.ledger.schema import SQLITE

    found: Dialect = getattr(connection, "dialect", SQLITE)
    return found


class Store(Protocol):
    """One open ledger, for the thread that writes and for those that read."""

    shares_commits: bool
    """Whether a commit costs enough to wait for others who could share it."""
    faults: tuple[type[Exception], ...]
    """What a statement raises where the store itself refuses or fails."""
    readable: bool
    """Whether it can be read beside the thread that writes; one in memory cannot."""

    def exists(self) -> bool:
        """Return whether there is a ledger."""

    def check_left(self) -> None:
        """Refuse to begin a new ledger where something of an old one was left."""

    def start(self, prepare: Callable[[StoreConnection, bool], T]) -> T:
        """Open or make the ledger in one transaction; `prepare` is told whether the tables are new."""

    def begin(self) -> StoreConnection:
        """Take the lock, and check that this is the store that was served before."""

    def commit(self) -> None:
        """Make the transaction durable."""

    def undo(self) -> None:
        """Give the lock back after a transaction that came to nothing."""

    def look(self, head: Head) -> bool:
        """Return whether an entry was written, after a commit that nobody acknowledged."""

    def check_after(self, head: Head) -> None:
        """Check after a commit that whoever opens the ledger next finds it; remember its head."""

    def hear(self, error: BaseException) -> StepResult:
        """Return what an error of this store means."""

    def changes(self) -> int:
        """Return a number that grows with everything that this process writes."""

    def keep_up(self) -> None:
        """Do what is due now and then, after a commit; raise where the store cannot be trusted any more."""

    def check_before(self, submit: Callable[[Work[None]], None]) -> None:
        """Check before something is read that the store is still the one that was opened."""

    def mark(self) -> int:
        """Return a number that changes with every commit of anybody."""

    def read(self, work: Work[T], *, alone: bool = False) -> T:
        """Return what work finds that only reads, from one moment; `alone` on a connection of its own."""

    def backup(self, target: Path) -> None:
        """Write a whole copy."""

    def fail(self, error: BaseException) -> None:
        """End for good after an error, from the thread that writes."""

    def close_readers(self) -> None:
        """Close what only reads."""

    def close(self) -> None:
        """Close everything at the end, from the thread that writes."""
