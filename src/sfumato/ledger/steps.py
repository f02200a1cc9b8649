"""What a writer does next: one table for every store, which the exhaustive search of the tests walks as well.

Comes in: where a transaction stands, and what was heard from the store. Goes out: the next step, or what those who wait
are told. A store in another process may fall silent at any step; the one that matters is COMMIT, after which nobody
knows whether it was written until it was looked for.
"""

from __future__ import annotations

from enum import Enum


class Step(Enum):
    """One thing that a writer does with its store."""

    BEGIN = "begin"
    """Take the lock, and check that the store is the one that was served before, and not an older one."""
    WORK = "work"
    """Decide and write, inside the transaction."""
    COMMIT = "commit"
    NOTE = "note"
    """Write the head of the chain into the anchor and the state directory."""
    LOOK = "look"
    """Take the lock on a new connection, and look for the last entry that the transaction wrote."""


class Heard(Enum):
    """What came back."""

    DONE = "done"
    BUSY = "busy"
    """Somebody else held the lock for too long, or the server undid the transaction for its own reasons."""
    LOST = "lost"
    """The connection broke, or nothing was heard for too long."""
    ABSENT = "absent"
    """The entry that was looked for is not in the chain."""
    OLDER = "older"
    """The store is not the one that was served: another server, or a chain that lacks what was seen in it."""
    WRONG = "wrong"
    """Anything else: a full disk, a wall of the schema, an anchor that cannot be written."""


class Tell(Enum):
    """What those who wait are told."""

    RESULTS = "results"
    """What was asked for; it is durable."""
    NOTHING = "nothing"
    """Nothing was written; trying again is safe."""
    UNKNOWN = "unknown"
    """It may have been written; nothing was released for it."""
    END = "end"
    """An error, and every later call gets one too, until the owner starts again."""


NEXT: dict[tuple[Step, Heard], Step | Tell] = {
    (Step.BEGIN, Heard.DONE): Step.WORK,
    (Step.BEGIN, Heard.BUSY): Tell.NOTHING,
    (Step.BEGIN, Heard.LOST): Tell.NOTHING,
    (Step.BEGIN, Heard.OLDER): Tell.END,
    (Step.BEGIN, Heard.WRONG): Tell.END,
    (Step.WORK, Heard.DONE): Step.COMMIT,
    (Step.WORK, Heard.BUSY): Tell.NOTHING,
    (Step.WORK, Heard.LOST): Tell.NOTHING,
    (Step.WORK, Heard.OLDER): Tell.END,
    (Step.WORK, Heard.WRONG): Tell.END,
    (Step.COMMIT, Heard.DONE): Step.NOTE,
    (Step.COMMIT, Heard.BUSY): Tell.NOTHING,
    (Step.COMMIT, Heard.LOST): Step.LOOK,
    (Step.COMMIT, Heard.OLDER): Tell.END,
    (Step.COMMIT, Heard.WRONG): Tell.END,
    (Step.LOOK, Heard.DONE): Step.NOTE,
    (Step.LOOK, Heard.ABSENT): Tell.NOTHING,
    (Step.LOOK, Heard.BUSY): Tell.UNKNOWN,
    (Step.LOOK, Heard.LOST): Tell.UNKNOWN,
    (Step.LOOK, Heard.OLDER): Tell.END,
    (Step.LOOK, Heard.WRONG): Tell.END,
    (Step.NOTE, Heard.DONE): Tell.RESULTS,
    (Step.NOTE, Heard.BUSY): Tell.END,
    (Step.NOTE, Heard.LOST): Tell.END,
    (Step.NOTE, Heard.OLDER): Tell.END,
    (Step.NOTE, Heard.WRONG): Tell.END,
}
"""Each step, and what follows each thing that can be heard there.

Guarantee: who is told RESULTS was told what is durable; who is told NOTHING may try again without paying twice.
Proof: results are told after a commit that was acknowledged, or that was found in the chain. Nothing can have been
    written before COMMIT was sent; after it, the lock is held until the server has decided, so that an entry which is
    not there under the lock never comes.
Reference: semantics 5.2; Gray, Reuter, Transaction Processing, 1993, 10.4 (the commit of a silent partner).
Checked by: laws::every_interleaving_keeps_the_promise, laws::each_line_of_the_table_is_needed
"""
