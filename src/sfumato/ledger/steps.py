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


class StepResult(Enum):
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


class StepReply(Enum):
    """What those who wait are told."""

    RESULTS = "results"
    """What was asked for; it is durable."""
    NOTHING = "nothing"
    """Nothing was written; trying again is safe."""
    UNKNOWN = "unknown"
    """It may have been written; nothing was released for it."""
    END = "end"
    """An error, and every later call gets one too, until the owner starts again."""


NEXT: dict[tuple[Step, StepResult], Step | StepReply] = {
    (Step.BEGIN, StepResult.DONE): Step.WORK,
    (Step.BEGIN, StepResult.BUSY): StepReply.NOTHING,
    (Step.BEGIN, StepResult.LOST): StepReply.NOTHING,
    (Step.BEGIN, StepResult.OLDER): StepReply.END,
    (Step.BEGIN, StepResult.WRONG): StepReply.END,
    (Step.WORK, StepResult.DONE): Step.COMMIT,
    (Step.WORK, StepResult.BUSY): StepReply.NOTHING,
    (Step.WORK, StepResult.LOST): StepReply.NOTHING,
    (Step.WORK, StepResult.OLDER): StepReply.END,
    (Step.WORK, StepResult.WRONG): StepReply.END,
    (Step.COMMIT, StepResult.DONE): Step.NOTE,
    (Step.COMMIT, StepResult.BUSY): StepReply.NOTHING,
    (Step.COMMIT, StepResult.LOST): Step.LOOK,
    (Step.COMMIT, StepResult.OLDER): StepReply.END,
    (Step.COMMIT, StepResult.WRONG): StepReply.END,
    (Step.LOOK, StepResult.DONE): Step.NOTE,
    (Step.LOOK, StepResult.ABSENT): StepReply.NOTHING,
    (Step.LOOK, StepResult.BUSY): StepReply.UNKNOWN,
    (Step.LOOK, StepResult.LOST): StepReply.UNKNOWN,
    (Step.LOOK, StepResult.OLDER): StepReply.END,
    (Step.LOOK, StepResult.WRONG): StepReply.END,
    (Step.NOTE, StepResult.DONE): StepReply.RESULTS,
    (Step.NOTE, StepResult.BUSY): StepReply.END,
    (Step.NOTE, StepResult.LOST): StepReply.END,
    (Step.NOTE, StepResult.OLDER): StepReply.END,
    (Step.NOTE, StepResult.WRONG): StepReply.END,
}
"""Each step, and what follows each thing that can be heard there.

Guarantee: who is told RESULTS was told what is durable; who is told NOTHING may try again without paying twice.
Proof: results are told after a commit that was acknowledged, or that was found in the chain. Nothing can have been
    written before COMMIT was sent; after it, the lock is held until the server has decided, so that an entry which is
    not there under the lock never comes.
Reference: semantics 5.2; Gray, Reuter, Transaction Processing, 1993, 10.4 (the commit of a silent partner).
Checked by: laws::every_interleaving_keeps_the_promise, laws::each_line_of_the_table_is_needed
"""
