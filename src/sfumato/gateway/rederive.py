"""Plans derived anew: every charge of the ledger against what one person can change, long after it was made.

Comes in: policies with their tables, and the ledger that was served under them. Goes out: how many plans were made and
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

from sfumato.accounting import Event, Refinement, from_dict
from sfumato.errors import PlanError, SfumatoError
from sfumato.gateway.query import Rows
from sfumato.ledger import Entry, Ledger
from sfumato.sql.release.claims import Reason
from sfumato.sql.release.plan import Plan

_LONGEST = 1 << 16
"""Bytes of a derivation that is kept whole; of the numbers of a longer one the hash is kept."""
OTHER_POLICY, NO_PLAN, OTHER_PLAN = "an earlier policy, not kept", "no plan was stored", "planned differently today"
OTHER_TABLES = "an earlier policy, whose tables cannot be read now"
OTHER_WORDS = "only a hash of its wording was stored, and the wording has changed"


def record(asked: Plan, reasons: tuple[Reason, ...], rows_per_unit: Rows, day: date) -> dict[str, Any]:
    """What is kept of a plan with its debit: what it takes to make it again, and why it costs no more."""
    derived: Any = [reason.to_dict() for reason in reasons]
    if len(json.dumps(derived)) > _LONGEST:
        derived = {"numbers": _hash_of_numbers(reasons)}
    return {"noise": asked.noise, "rows_per_unit": rows_per_unit, "day": day.isoformat(), "derived": derived}


def _hash_of_numbers(reasons: tuple[Reason, ...]) -> str:
    """The names and numbers of a derivation, without its words: those may be improved later."""
    numbers = [[reason.name, str(reason.derived), str(reason.claimed)] for reason in reasons]
    return sha256(json.dumps(numbers).encode()).hexdigest()


@dataclass
class Rederived:
    """How many plans were derived anew; how many were not, and why; and what is wrong."""

    plans: int = 0
    not_derived: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return {"derived": self.plans, "not_derived": dict(self.not_derived), "wrong": self.wrong}


Again = Callable[[Entry, str], tuple[Plan, tuple[Reason, ...]]]
"""The plan of a debit under a composition, made once more; PlanError where a claim is below what is derived."""
PlannerOf = Callable[[str], Again | None]
"""What plans under the policy with a digest; None for one that was not kept."""


def rederive(ledger: Ledger, planner_of: PlannerOf) -> Rederived:
    """Derive anew each plan of the ledger, under the policy that was in force when it was made."""
    found, digest, composition = Rederived(), "", ""
    planners: dict[str, Again | str] = {}
    for entry in ledger.entries():
        if entry.kind == "policy":
            digest, composition = entry.body["now"]["digest"], entry.body["now"]["composition"]
        if entry.kind != "debit":
            continue
        if "plan" not in entry.body:
            found.not_derived[NO_PLAN] += 1
            continue
        if digest not in planners:
            planners[digest] = _planner(planner_of, digest)
        again = planners[digest]
        if isinstance(again, str):
            found.not_derived[again] += 1
        else:
            _one(entry, again, composition, found)
    return found


def _planner(planner_of: PlannerOf, digest: str) -> Again | str:
    """What plans under a policy, or why there is nothing that does."""
    try:
        return planner_of(digest) or OTHER_POLICY
    except SfumatoError:
        return OTHER_TABLES


def _one(entry: Entry, again: Again, composition: str, found: Rederived) -> None:
    try:
        asked, reasons = again(entry, composition)
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
    kept = entry.body["plan"]["derived"]
    if isinstance(kept, str) and kept != sha256(json.dumps([r.to_dict() for r in reasons]).encode()).hexdigest():
        found.not_derived[OTHER_WORDS] += 1
        return
    problem = _problem(kept, reasons)
    if problem is not None:
        found.wrong.append(f"entry {entry.seq}: {problem}")
    found.plans += 1


def _is_covered(charged: Event, asked: Plan) -> bool:
    """Whether what was charged is what the plan costs; of a better answer the difference was charged."""
    return charged == asked.event or (isinstance(charged, Refinement) and charged.epsilon == asked.epsilon)


def _problem(kept: Any, reasons: tuple[Reason, ...]) -> str | None:
    """What is wrong with a derivation that was kept; None if it is what is derived now, or more."""
    if isinstance(kept, str):  # a hash of words and numbers, which early versions kept
        return None
    if isinstance(kept, dict):
        same = kept["numbers"] == _hash_of_numbers(reasons)
        return None if same else "its derivation has other numbers than the stored one"
    if len(kept) != len(reasons):
        return "its derivation has other numbers than the stored one"
    for before, reason in zip(kept, reasons, strict=True):
        if Fraction(before["claimed"]) < reason.derived:
            return f"{reason.name} is charged for sensitivity {before['claimed']}, but has {reason.derived}"
    return None
