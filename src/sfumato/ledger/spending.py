"""What was spent after each debit, written down with it: a curve of years costs a few hundred rows to read.

Comes in: the sums after a debit. Goes out: rows of the table `spending`, which is what the chain says and no more:
`verify` works it out anew and compares.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from sfumato.ledger.chain import head, read_last
from sfumato.ledger.protocol import StoreConnection
from sfumato.ledger.records import EVERYBODY, Entry, SpendingCurve, SpendingPoint
from sfumato.ledger.running_sums import AMOUNTS, read_sums
from sfumato.types import UNIT, Loss

_SHUT = ("epsilon_shut", "rho_shut")


def _pack(state: Mapping[str, int]) -> str:
    """A state of sums as text: amounts in units, then which currencies are shut."""
    return json.dumps([state[name] for name in (*AMOUNTS, *_SHUT)], separators=(",", ":"))


def _unpack(text: str) -> Loss:
    epsilon, rho, delta, no_epsilon, no_rho = json.loads(text)
    return Loss(None if no_epsilon else epsilon * UNIT, None if no_rho else rho * UNIT, delta * UNIT)


def row_of(debit: Entry, states: Mapping[str, Mapping[str, int]]) -> tuple[int, int, str, str, str]:
    """The row of a debit: its number, its entry, its question, and the sums after it."""
    own, everybody = states[debit.analyst or EVERYBODY], states[EVERYBODY]
    return everybody["debits"], debit.seq, str(debit.body["question"]), _pack(own), _pack(everybody)


def write_spending(connection: StoreConnection, debit: Entry, states: Mapping[str, Mapping[str, int]]) -> None:
    """Put down the sums after a debit, inside the transaction that is open."""
    connection.execute("INSERT INTO spending VALUES(?, ?, ?, ?, ?)", row_of(debit, states))


def read_spending(connection: StoreConnection, most: int) -> SpendingCurve:
    """At most so many points of the curve, evenly apart, the last debit among them; and how the ledger stands.

    Guarantee: the number of rows that are read does not depend on how many entries there are.
    Proof: every statement is answered by a primary key or an index.
    Reference: docs/threats.md, Availability.
    Checked by: unit::looking_at_a_long_ledger_reads_few_rows
    """
    debits = read_sums(connection, EVERYBODY)["debits"]
    step = max(1, -(-debits // most))
    wanted = range(debits, 0, -step)
    marks = ", ".join("?" * len(wanted))
    rows = connection.execute(
        "SELECT spending.seq, time, analyst, own, everybody FROM spending JOIN entry ON entry.seq = spending.seq"  # noqa: S608 - marks
        f" WHERE debit IN ({marks}) ORDER BY debit",
        tuple(wanted),
    )
    points = tuple(SpendingPoint(seq, time, who, _unpack(own), _unpack(all_)) for seq, time, who, own, all_ in rows)
    entries, sealed = head(connection)
    last = read_last(connection, "frozen", "thawed")
    return SpendingCurve(debits, entries, sealed, last is not None and last.kind == "frozen", points)


def fill_spending(connection: StoreConnection) -> None:
    """Write the table of a ledger that had none, from its chain."""
    from sfumato.ledger.audit import Replay
    from sfumato.ledger.chain import walk

    replay = Replay()
    for entry in walk(connection):
        replay.take(entry)
        if entry.kind == "debit":
            write_spending(connection, entry, replay.sums)
