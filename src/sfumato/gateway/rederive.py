"""Plans derived anew: every charge of the ledger against what one person can change, long after it was made.

Comes in: a policy with its tables, and the ledger that was served under it. Goes out: how many plans were made and
derived once more, and each that does not cover what is derived now. Nothing is recorded and no private row is read;
public tables are, for how many of their rows one private row meets is a part of a plan.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from hashlib import sha256
from typing import Any

from sfumato.accounting import Event
from sfumato.accounting.events import Refinement, from_dict
from sfumato.errors import PlanError, SfumatoError
from sfumato.ledger import Entry, Ledger
from sfumato.sql.release.claims import Reason
from sfumato.sql.release.plan import Plan

_LONGEST = 1 << 16
"""Bytes of a derivation that is kept whole; of a longer one its hash is kept."""
OTHER_POLICY, NO_PLAN, OTHER_PLAN = "an earlier policy", "no plan was stored", "planned differently today"


def record(asked: Plan, reasons: tuple[Reason, ...], rows_per_unit: int | None, day: date) -> dict[str, Any]:
    """What is kept of a plan with its debit: what it takes to make it again, and why it costs no more."""
    derived: Any = [reason.to_dict() for reason in reasons]
    text = json.dumps(derived)
    if len(text) > _LONGEST:
        derived = sha256(text.encode()).hexdigest()
    return {"noise": asked.noise, "rows_per_unit": rows_per_unit, "day": day.isoformat(), "derived": derived}


@dataclass
class Rederived:
    """How many plans were derived anew; how many were not, and why; and what is wrong."""

    plans: int = 0
    not_derived: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return {"derived": self.plans, "not_derived": dict(self.not_derived), "wrong": self.wrong}


Again = Callable[[Entry], tuple[Plan, tuple[Reason, ...]]]
"""The plan of a debit, made and checked once more; PlanError where a claim is below what is derived."""


def rederive(ledger: Ledger, digest: str, again: Again) -> Rederived:
    """Derive anew each plan of the ledger that was made under the policy with this digest."""
    found, policy = Rederived(), ""
    for entry in ledger.entries():
        if entry.kind == "policy":
            policy = entry.body["now"]["digest"]
        if entry.kind != "debit":
            continue
        if "plan" not in entry.body:
            found.not_derived[NO_PLAN] += 1
        elif policy != digest:
            found.not_derived[OTHER_POLICY] += 1
        else:
            _one(entry, again, found)
    return found


def _one(entry: Entry, again: Again, found: Rederived) -> None:
    try:
        asked, reasons = again(entry)
    except PlanError as error:
        found.wrong.append(f"entry {entry.seq}: {error.message}")
        return
    except SfumatoError:  # a public table is another one, or is gone
        found.not_derived[OTHER_PLAN] += 1
        return
    if not _is_covered(from_dict(entry.body["event"]), asked):
        if asked.digest == entry.body["question"]:
            found.wrong.append(f"entry {entry.seq}: it was charged less than its plan costs")
        else:
            found.not_derived[OTHER_PLAN] += 1
        return
    problem = _problem(entry.body["plan"]["derived"], reasons)
    if problem is not None:
        found.wrong.append(f"entry {entry.seq}: {problem}")
    found.plans += 1


def _is_covered(charged: Event, asked: Plan) -> bool:
    """Whether what was charged is what the plan costs; of a better answer the difference was charged."""
    return charged == asked.event or (isinstance(charged, Refinement) and charged.epsilon == asked.epsilon)


def _problem(kept: Any, reasons: tuple[Reason, ...]) -> str | None:
    """What is wrong with a derivation that was kept; None if it is what is derived now, or more."""
    now = [reason.to_dict() for reason in reasons]
    if isinstance(kept, str):
        same = sha256(json.dumps(now).encode()).hexdigest() == kept
        return None if same else "its derivation differs from the stored one"
    if len(kept) != len(now):
        return "its derivation has other numbers than the stored one"
    for before, reason in zip(kept, reasons, strict=True):
        if Fraction(before["claimed"]) < reason.derived:
            return f"{reason.name} is charged for sensitivity {before['claimed']}, but has {reason.derived}"
    return None
