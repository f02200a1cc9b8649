"""The inside of a ledger file: its tables, and the walls that SQLite itself keeps.

Everything that these walls forbid is also never done by the code; they are for the day on which the code is wrong.
Whoever may write the file can take them down, which is what the chain and `verify` are for.

Sums are text of fixed width: a unit is 1e-15, so SQLite's integers would end at epsilon 9223, and digits of one width
compare as numbers do.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable

from sfumato.errors import LedgerError
from sfumato.ledger.protocol import StoreConnection

FORMAT = 4
APPLICATION = 0x5366756D
"""Marks the file as ours ("Sfum"), so that no other database is taken for a ledger."""

DIGITS = 60
"""Budgets end at 10^18, rho is about epsilon², a unit is 10^-15: sums that were admitted have 52 digits at most."""

_TEXT = """
CREATE TABLE entry(
    seq INTEGER PRIMARY KEY,
    time TEXT NOT NULL,
    kind TEXT NOT NULL
        CHECK(kind IN ('opened', 'policy', 'debit', 'answer', 'failed', 'frozen', 'thawed', 'reopened')),
    analyst TEXT,
    body TEXT NOT NULL,
    previous TEXT NOT NULL,
    hash TEXT NOT NULL)

-- Few entries are of these kinds, and each debit looks for the last of them.
CREATE INDEX entry_rare ON entry(kind, seq) WHERE kind NOT IN ('debit', 'answer')

CREATE TRIGGER entry_follows BEFORE INSERT ON entry
WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM entry)
    OR NEW.previous IS NOT coalesce((SELECT hash FROM entry ORDER BY seq DESC LIMIT 1), printf('%064d', 0))
BEGIN SELECT RAISE(ABORT, 'an entry follows the last one'); END

CREATE TRIGGER entry_stays BEFORE UPDATE ON entry
BEGIN SELECT RAISE(ABORT, 'an entry is never changed'); END

CREATE TRIGGER entry_remains BEFORE DELETE ON entry
BEGIN SELECT RAISE(ABORT, 'an entry is never removed'); END

-- '' is everybody. Where the limit of delta is NULL, the analyst has no share.
CREATE TABLE sums(
    analyst TEXT PRIMARY KEY,
    epsilon TEXT NOT NULL CHECK(length(epsilon) = 60 AND epsilon NOT GLOB '*[^0-9]*'),
    rho TEXT NOT NULL CHECK(length(rho) = 60 AND rho NOT GLOB '*[^0-9]*'),
    delta TEXT NOT NULL CHECK(length(delta) = 60 AND delta NOT GLOB '*[^0-9]*'),
    epsilon_shut INTEGER NOT NULL CHECK(epsilon_shut IN (0, 1)),
    rho_shut INTEGER NOT NULL CHECK(rho_shut IN (0, 1)),
    debits INTEGER NOT NULL CHECK(debits >= 0),
    epsilon_limit TEXT,
    rho_limit TEXT,
    delta_limit TEXT) WITHOUT ROWID

CREATE TRIGGER sums_within_limits BEFORE UPDATE OF epsilon, rho, delta, epsilon_shut, rho_shut, debits ON sums
WHEN NEW.delta_limit IS NOT NULL AND NOT (
    NEW.delta <= NEW.delta_limit AND (
        NEW.epsilon_limit IS NOT NULL AND NEW.epsilon_shut = 0 AND NEW.epsilon <= NEW.epsilon_limit
        OR NEW.rho_limit IS NOT NULL AND NEW.rho_shut = 0 AND NEW.rho <= NEW.rho_limit))
BEGIN SELECT RAISE(ABORT, 'sums stay within their limits'); END

CREATE TRIGGER sums_grow BEFORE UPDATE OF analyst, epsilon, rho, delta, epsilon_shut, rho_shut, debits ON sums
WHEN NEW.epsilon < OLD.epsilon OR NEW.rho < OLD.rho OR NEW.delta < OLD.delta OR NEW.analyst IS NOT OLD.analyst
    OR NEW.epsilon_shut < OLD.epsilon_shut OR NEW.rho_shut < OLD.rho_shut OR NEW.debits IS NOT OLD.debits + 1
BEGIN SELECT RAISE(ABORT, 'nothing is refunded'); END

CREATE TRIGGER sums_remain BEFORE DELETE ON sums
BEGIN SELECT RAISE(ABORT, 'sums are never removed'); END

CREATE TABLE answer(
    receipt TEXT PRIMARY KEY,
    question TEXT NOT NULL,
    version TEXT NOT NULL,
    epsilon TEXT NOT NULL,
    body BLOB NOT NULL,
    debit INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    UNIQUE(question, version, epsilon))

CREATE TRIGGER answer_stays BEFORE UPDATE ON answer
BEGIN SELECT RAISE(ABORT, 'an answer is never changed'); END

CREATE TRIGGER answer_remains BEFORE DELETE ON answer
BEGIN SELECT RAISE(ABORT, 'an answer is never removed'); END

CREATE TABLE key(
    analyst TEXT NOT NULL,
    key TEXT NOT NULL,
    question TEXT NOT NULL,
    epsilon TEXT NOT NULL,
    debit INTEGER NOT NULL,
    PRIMARY KEY(analyst, key)) WITHOUT ROWID
"""

# A row is what one cell was charged, for everybody ('') or for one analyst. The largest ones are looked for each time.
_CELLS = """
CREATE TABLE cells(
    analyst TEXT NOT NULL,
    scope TEXT NOT NULL,
    cell TEXT NOT NULL,
    epsilon TEXT NOT NULL CHECK(length(epsilon) = 60 AND epsilon NOT GLOB '*[^0-9]*'),
    rho TEXT NOT NULL CHECK(length(rho) = 60 AND rho NOT GLOB '*[^0-9]*'),
    delta TEXT NOT NULL CHECK(length(delta) = 60 AND delta NOT GLOB '*[^0-9]*'),
    PRIMARY KEY(analyst, scope, cell)) WITHOUT ROWID

CREATE INDEX cells_epsilon ON cells(analyst, scope, epsilon)

CREATE INDEX cells_rho ON cells(analyst, scope, rho)

CREATE INDEX cells_delta ON cells(analyst, scope, delta)

CREATE TRIGGER cells_grow BEFORE UPDATE ON cells
WHEN NEW.epsilon < OLD.epsilon OR NEW.rho < OLD.rho OR NEW.delta < OLD.delta
    OR NEW.analyst IS NOT OLD.analyst OR NEW.scope IS NOT OLD.scope OR NEW.cell IS NOT OLD.cell
BEGIN SELECT RAISE(ABORT, 'nothing is refunded'); END

CREATE TRIGGER cells_remain BEFORE DELETE ON cells
BEGIN SELECT RAISE(ABORT, 'sums are never removed'); END
"""


# What the main file looked like after the last checkpoint: see `guard`. It is no part of what the chain promises.
_FILE = """
CREATE TABLE file(
    one INTEGER PRIMARY KEY CHECK(one = 1),
    epoch TEXT NOT NULL,
    size INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    busy INTEGER NOT NULL)
"""

# For those who look: the debits of an analyst and of a question, and the sums after each debit, so that a page costs
# what it shows, and not what the whole chain holds.
_LOOKS = """
CREATE INDEX entry_own ON entry(analyst, seq) WHERE kind = 'debit'

CREATE TABLE spending(
    debit INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    question TEXT NOT NULL,
    own TEXT NOT NULL,
    everybody TEXT NOT NULL)

CREATE INDEX spending_asked ON spending(question, seq)

CREATE TRIGGER spending_stays BEFORE UPDATE ON spending
BEGIN SELECT RAISE(ABORT, 'what was spent is never changed'); END

CREATE TRIGGER spending_remains BEFORE DELETE ON spending
BEGIN SELECT RAISE(ABORT, 'what was spent is never removed'); END
"""


def _statements(text: str) -> tuple[str, ...]:
    return tuple(f"CREATE {part.strip()}" for part in re.sub(r"--.*", "", text).split("CREATE")[1:])


SCHEMA = _statements(_TEXT + _CELLS + _FILE + _LOOKS)


def _add_cells(connection: sqlite3.Connection) -> None:
    """From format 1, where every debit was charged to everybody: so it stays, and there are no cells yet."""
    for statement in _statements(_CELLS):
        connection.execute(statement)


def _add_file(connection: sqlite3.Connection) -> None:
    """From format 2, whose policies recorded no units: the next policy entry records them."""
    for statement in _statements(_FILE):
        connection.execute(statement)


def _add_looks(connection: sqlite3.Connection) -> None:
    """From format 3, in which the sums after each debit were not written down: they are those of the chain."""
    from sfumato.ledger.spending import fill_spending

    for statement in _statements(_LOOKS):
        connection.execute(statement)
    fill_spending(connection)


UPGRADES: dict[int, Callable[[sqlite3.Connection], None]] = {1: _add_cells, 2: _add_file, 3: _add_looks}
"""From a format to the next one, inside one transaction. A copy of the file is kept first."""


def create(connection: sqlite3.Connection) -> None:
    """Make the tables, inside the transaction that is open."""
    for statement in SCHEMA:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def format_of(connection: sqlite3.Connection) -> int:
    """The format of a ledger file: 0 for an empty one; another kind of database is refused."""
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    (number,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if mark == APPLICATION and number > 0:
        return int(number)
    if mark or number or tables:
        raise LedgerError("the file is a database, but not a ledger")
    return 0


def check_format(number: int) -> None:
    """Older code does not write into a newer file."""
    if number > FORMAT:
        raise LedgerError(
            "the ledger was written by newer code",
            detail=f"Its format is {number}; this version knows {FORMAT}.",
            hint="Upgrade sfumato.",
        )


class Sqlite:
    """What the rules of the ledger cannot say in SQL that every store understands."""

    def read_format(self, connection: StoreConnection) -> int:
        """Return the format of the tables."""
        return int(connection.execute("PRAGMA user_version").fetchone()[0])

    def read_place(self, connection: StoreConnection) -> str:  # noqa: ARG002 - see Dialect
        """A file has no name of its own: a copy of it would have the same."""
        return ""

    def claim(self, connection: StoreConnection, question: str) -> bool:  # noqa: ARG002 - see Dialect
        """Processes on one file do not wait for each other: each pays, and the first answer is kept."""
        return True

    def release(self, connection: StoreConnection, question: str) -> None:
        """Nothing was claimed."""

    def check_fits(self, *texts: str) -> None:
        """Any text can be a key."""

    def check_inside(self, connection: StoreConnection) -> None:
        """The tables and walls of this version, on pages that are whole."""
        check_schema(connection)
        (state,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if state != "ok":
            raise LedgerError("the file of the ledger is damaged", detail=f"{state}.")


SQLITE = Sqlite()


def check_schema(connection: StoreConnection) -> None:
    """The tables and triggers are those that this version makes: a wall that was taken down is an error."""
    found = {row[0] for row in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
    changed = sorted(found.symmetric_difference(SCHEMA))
    if changed:
        words = re.match(r"\w+ \w+ \w+", changed[0])
        raise LedgerError("the tables of the ledger were changed", detail=f"See {words[0] if words else 'the schema'}.")
