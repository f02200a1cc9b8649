"""The gateway of a policy file, as commands open it: with the operator's log, and a word about a new ledger.

Comes in: a policy file. Goes out: its gateway. A new ledger is a full budget, so stderr says that one was begun.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sfumato.gateway import Gateway, open_policy
from sfumato.policy import load
from sfumato.server.operator_log import keep_log
from sfumato.server.terminal_output import say_new_ledger


@contextmanager
def opened_gateway(policy: Path) -> Iterator[Gateway]:
    """Open the gateway of a policy for the time of a block."""
    keep_log(load(policy))
    with open_policy(policy) as gate:
        say_new_ledger(gate.ledger.begun)
        yield gate
