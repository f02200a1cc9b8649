"""The gateway of a policy file, as commands open it: with the operator's log, and a word about a new ledger.

Comes in: a policy file. Goes out: its gateway. A new ledger is a full budget, so stderr says that one was begun.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sfumato.gateway import Gateway, open_policy
from sfumato.policy import Policy, load
from sfumato.server.operator_log import keep_log
from sfumato.server.terminal_output import say_new_ledger

OWNER = "owner"
"""Who has no share: the budget is that of everybody together."""


@contextmanager
def opened_gateway(policy: Path) -> Iterator[Gateway]:
    """Open the gateway of a policy for the time of a block."""
    keep_log(load(policy))
    with open_policy(policy) as gate:
        say_new_ledger(gate.ledger.begun)
        yield gate


def say_no_share(policy: Policy, analyst: str | None) -> None:
    """Say on stderr that an analyst has no share: a misspelt name would otherwise go unnoticed."""
    if analyst is not None and analyst != OWNER and analyst not in policy.analysts:
        sys.stderr.write(
            f"note: the policy has no [analysts.{analyst}]: this analyst can spend what is left of the total\n"
        )
