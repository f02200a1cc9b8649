"""Transaction blocks: idle, open or failed. A rollback takes back settings, never budget.

Comes in: BEGIN, COMMIT and their kin. Goes out: the tag that PostgreSQL would give, and warnings.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sfumato.errors import QueryError
from sfumato.server.per_user_limits import Allowance
from sfumato.server.pgwire.commands import Transaction
from sfumato.server.pgwire.results import Result
from sfumato.server.pgwire.settings import Settings

IDLE, OPEN, FAILED = "I", "T", "E"
MOST_POINTS = 250
Kept = tuple[dict[str, str], dict[str, str]]


@dataclass(frozen=True, slots=True, weakref_slot=True)
class SavePoint:
    """A name, and the settings that ROLLBACK TO goes back to."""

    name: str
    kept: Kept


@dataclass
class TransactionBlock:
    """The transaction of a session."""

    settings: Settings
    status: str = IDLE
    before: Kept | None = None
    points: list[SavePoint] = field(default_factory=list)

    def enter(self) -> None:
        """A message begins: outside of a block, an error takes back what it has set."""
        if self.status == IDLE and self.before is None:
            self.before = self.settings.copy()

    def leave(self) -> None:
        """A message, or everything up to Sync, ends well."""
        if self.status == IDLE:
            self.before = None
            self.settings.end_local()

    def fail(self) -> None:
        """An error: a block is failed from now on, outside of one everything is taken back."""
        if self.status == OPEN:
            self.status = FAILED
        elif self.status == IDLE and self.before is not None:
            self.settings.restore(self.before)
            self.before = None

    def run(self, command: Transaction, allowance: Allowance) -> Result:
        """What a command of transactions does; a savepoint keeps settings, which count as what is kept for a user."""
        if command.word == "begin":
            return self._begin()
        if command.word in ("commit", "rollback"):
            return self._end(command)
        if self.status == IDLE:
            word = command.word.upper() if command.word != "release" else "RELEASE SAVEPOINT"
            raise QueryError(f"{word} can only be used in transaction blocks", sqlstate="25P01")
        if command.word == "savepoint":
            if len(self.points) >= MOST_POINTS:
                hint = "Release some of them."
                raise QueryError(f"a transaction has at most {MOST_POINTS} savepoints", sqlstate="54000", hint=hint)
            point = SavePoint(command.name, self.settings.copy())
            allowance.hold(point, self.settings.size)
            self.points.append(point)
            return Result(tag="SAVEPOINT")
        at = max((i for i, point in enumerate(self.points) if point.name == command.name), default=None)
        if at is None:
            raise QueryError(f'savepoint "{command.name}" does not exist', sqlstate="3B001")
        if command.word == "release":
            del self.points[at:]
            return Result(tag="RELEASE")
        self.settings.restore(self.points[at].kept)
        del self.points[at + 1 :]
        self.status = OPEN
        return Result(tag="ROLLBACK")

    def _begin(self) -> Result:
        if self.status != IDLE:
            return Result(tag="BEGIN", notices=[warning("there is already a transaction in progress", "25001")])
        self.status, self.before = OPEN, self.settings.copy()
        return Result(tag="BEGIN")

    def _end(self, command: Transaction) -> Result:
        result = Result(tag=command.word.upper())
        if self.status == IDLE:
            result.notices.append(warning("there is no transaction in progress", "25P01"))
        if command.word == "rollback" or self.status == FAILED:
            result.tag = "ROLLBACK"
            if self.before is not None and self.status != IDLE:
                self.settings.restore(self.before)
        self.settings.end_local()
        self.points.clear()
        self.status = OPEN if command.chain and self.status != IDLE else IDLE
        self.before = self.settings.copy() if self.status == OPEN else None
        return result


def warning(text: str, sqlstate: str) -> tuple[str, QueryError]:
    """A notice of severity WARNING."""
    return "WARNING", QueryError(text, sqlstate=sqlstate)
