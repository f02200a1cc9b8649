"""Local privacy: noise is added on each person's device, so the collector need not be trusted.

    from sfumato.local import ENCODERS, LocalTask, read_task

An encoder is one record of integers, in one table. A task file names an encoder, its values and its budget; the same
file drives Python and the browser. `estimates` and `strings` turn reports into shares and means with intervals.
"""

from __future__ import annotations

from sfumato.local.table import ENCODERS
from sfumato.local.task import LocalTask, read_task

__all__ = ["ENCODERS", "LocalTask", "read_task"]
