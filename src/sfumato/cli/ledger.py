"""`sfumato ledger`: show the record of charges, verify it, copy it, freeze and unfreeze.

Comes in: a policy file, which names the ledger. Goes out: what the ledger says. The data are not opened. A ledger that
is not what happened exits 1; one that is out of reach exits 5.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from sfumato.cli.outputs import check_apart
from sfumato.errors import ClaimError, InputError, LedgerError
from sfumato.gateway.rederive import Rederived
from sfumato.gateway.rounding import amount, many
from sfumato.ledger import (
    OPERATOR,
    Entry,
    Ledger,
    ServerError,
    SpendingTerms,
    accept_loss,
    accept_server,
    check_found,
    find_earlier_use,
    has_ledger,
    is_address,
    place_of_last_head,
    read_last_head,
)
from sfumato.policy import Policy, load
from sfumato.server.answer_tables import MOST_ROWS
from sfumato.server.terminal_output import console, print_json, print_table
from sfumato.types import show

_EVERY = 0.25
"""Seconds between two looks at what is new."""
WHO = "owner"
"""Who freezes and thaws: whoever can write the ledger's file is the owner."""


@contextmanager
def open_book(path: Path) -> Iterator[tuple[Policy, Ledger]]:
    """The policy and its ledger; before the first question there is none yet, and an empty one stands in for it."""
    policy = load(path)
    if not has_ledger(policy.data.ledger):
        check_found(_last_head(policy), read_last_head(_last_head(policy)))
        with _empty(policy) as ledger:
            yield policy, ledger
        return
    with _visit(policy) as ledger:
        if replace(ledger.terms, digest="", units={}) != _terms(policy):
            sys.stderr.write("The policy file was changed since the last query; it takes effect with the next one.\n")
        yield policy, ledger


@contextmanager
def visit(path: Path) -> Iterator[Ledger]:
    """The ledger that a policy names; it must exist."""
    with _visit(load(path)) as ledger:
        yield ledger


def _visit(policy: Policy) -> Ledger:
    return Ledger.visit(policy.data.ledger, anchor=policy.data.anchor, last_head=_last_head(policy))


def _last_head(policy: Policy) -> Path:
    return place_of_last_head(policy.data.state, policy.data.id)


def _amounts(policy: Policy) -> dict[str, Any]:
    privacy = policy.privacy
    return {
        "composition": privacy.composition,
        "epsilon": privacy.epsilon,
        "delta": privacy.delta,
        "delta_selection": privacy.delta_selection,
        "shares": {name: share.epsilon for name, share in policy.analysts.items()},
        "failures": privacy.failures,
        "adjacency": privacy.adjacency,
        "partition": None if privacy.partition is None else ".".join(privacy.partition),
    }


def _terms(policy: Policy) -> SpendingTerms:
    """The policy's terms without digest and units, which may depend on types that the gateway read off a schema."""
    return SpendingTerms.of(digest="", **_amounts(policy))


def _empty(policy: Policy) -> Ledger:
    return Ledger.open(":memory:", data_id=policy.data.id, policy_digest=policy.digest, **_amounts(policy))


def show_entries(path: Path, *, as_json: bool) -> None:
    """The chain: when, what, who, what it cost, which question."""
    with visit(path) as ledger:
        entries = list(ledger.entries())
    if as_json:
        print_json({"entries": [_plain(entry) for entry in entries]})
        return
    out = console()
    if len(entries) > MOST_ROWS and sys.stdout.isatty():
        with out.pager(styles=out.color_system is not None):
            print_table(out, _table(entries))
        return
    left_out = max(0, len(entries) - MOST_ROWS)
    if left_out:
        sys.stderr.write(f"The last {MOST_ROWS:,} of {len(entries):,} entries; `sfumato ledger export` has all.\n")
    print_table(out, _table(entries[left_out:]))


def follow_entries(path: Path, *, as_json: bool) -> None:
    """The chain, a line for each entry as it is written; with `--json` a document in each line. Ctrl-C ends it."""
    out, last = console(), 0
    try:
        with visit(path) as ledger:
            while True:
                for entry in ledger.entries(after=last):
                    last = entry.seq
                    sys.stdout.write(json.dumps(_plain(entry)) + "\n") if as_json else out.print(_line(entry))
                sys.stdout.flush()
                time.sleep(_EVERY)
    except KeyboardInterrupt:
        return


def _line(entry: Entry) -> Text:
    """One entry, without a table's look ahead."""
    when = entry.time[:19].replace("T", " ")
    words = [f"{entry.seq:>6}", when, f"{_kind(entry):<8}", f"{entry.analyst or '':<10}", f"{_cost(entry):>6}"]
    return Text("  ".join([*words, _words(entry)]).rstrip())


def _plain(entry: Entry) -> dict[str, Any]:
    names = ("seq", "time", "kind", "analyst", "body", "previous", "hash")
    return {name: getattr(entry, name) for name in names}


def _table(entries: list[Entry]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for head in ("entry", "time (UTC)", "kind", "analyst", "cost", ""):
        table.add_column(head, justify="right" if head in ("entry", "cost") else "left", no_wrap=head != "")
    for entry in entries:
        when = entry.time[:19].replace("T", " ")
        table.add_row(str(entry.seq), when, _kind(entry), Text(entry.analyst or ""), _cost(entry), Text(_words(entry)))
    return table


def _kind(entry: Entry) -> str:
    """As people read it; documents have the word of the chain."""
    return "charge" if entry.kind == "debit" else entry.kind


def _cost(entry: Entry) -> str:
    price = entry.body.get("price") or {}
    return next((amount(Fraction(price[name])) for name in ("epsilon", "rho") if price.get(name)), "")


def _words(entry: Entry) -> str:
    """The question, or who did what, in one line."""
    body = entry.body
    if entry.kind == "policy":
        now, before = body["now"], body["before"]
        was = "" if before is None else f"{show(Fraction(before['epsilon']))} → "
        return f"epsilon {was}{show(Fraction(now['epsilon']))}, by {body['who']}, digest {now['digest'][:12]}"
    if entry.kind in ("answer", "failed"):
        return f"of entry {body['debit']}"
    text = str(body.get("text") or body.get("who") or body.get("data") or "")
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def verify(path: Path, *, as_json: bool, plans: bool = False) -> None:
    """Recompute the whole chain. A ledger that is not what happened is a claim that is false: exit code 1."""
    derived: Rederived | None = None
    try:
        with visit(path) as ledger:
            report = ledger.verify()
            if plans:
                derived = _rederived(load(path), ledger)
    except LedgerError as error:
        if not is_broken(error) or not _is_there(load(path).data.ledger):
            raise
        raise ClaimError(error.message, detail=error.detail, hint=error.hint, sqlstate=error.sqlstate) from None
    if as_json:
        names = ("entries", "debits", "answers", "failures", "seq", "hash")
        spent = {name: None if (value := getattr(report.spent, name)) is None else str(value) for name in _CURRENCIES}
        more = {} if derived is None else {"plans": derived.to_dict()}
        print_json({name: getattr(report, name) for name in names} | {"spent": spent} | more)
        return
    out = console()
    counts = ((report.entries, "entry", "entries"), (report.debits, "charge", None), (report.answers, "answer", None))
    parts = ", ".join(many(*one) for one in (*counts, (report.failures, "failure", None)))
    out.print(f"The ledger is valid: {parts}; nothing was edited, removed or moved.")
    if derived is not None:
        out.print(_derived(derived.plans))
        for why, count in sorted(derived.not_derived.items()):
            out.print(f"{many(count, 'plan')} not derived: {why}.")
    out.print(Text(f"head {report.seq} {report.hash}", style="dim"))


def _derived(plans: int) -> str:
    if not plans:
        return "No plan was derived again: what the charges cover was not checked."
    return f"{many(plans, 'plan')} derived again: each charge covers what one person can change."


def _rederived(policy: Policy, ledger: Ledger) -> Rederived:
    from sfumato.gateway.opening import rederive

    found = rederive(policy, ledger)
    if found.wrong:
        raise ClaimError(
            f"{len(found.wrong)} of {found.plans + len(found.wrong)} plans do not cover what one person can change",
            detail=f"{'; '.join(found.wrong[:5])}.",
            hint="Stop serving with `sfumato ledger freeze`, and look at these entries with `sfumato ledger show`.",
        )
    return found


def _is_there(place: Path | str) -> bool:
    """Whether something is in the ledger's place: a file that was emptied is a ledger that does not hold."""
    return has_ledger(place) if is_address(place) else Path(place).exists()


def is_broken(error: LedgerError) -> bool:
    """Whether a ledger that was looked at is damaged, or only out of reach: busy, not there, not ours to read."""
    cause = error.__cause__
    if isinstance(cause, ServerError):
        return False
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    return not isinstance(cause, OSError)


_CURRENCIES = ("epsilon", "rho", "delta")


def export(path: Path, target: Path) -> None:
    """The chain as JSON lines."""
    _check_target(path, target)
    with visit(path) as ledger:
        ledger.export(target)
    sys.stderr.write(f"Wrote {target}\n")


def backup(path: Path, target: Path) -> None:
    """A whole copy while serving goes on."""
    _check_target(path, target)
    with visit(path) as ledger:
        ledger.backup(target)
    sys.stderr.write(f"Wrote {target}\n")


def _check_target(path: Path, target: Path) -> None:
    """A copy does not take the place of the ledger, nor of the policy that names it."""
    check_apart(target, "FILE", [path, load(path).data.ledger])


def accept(path: Path) -> None:
    """Let the gateway serve with a ledger that lacks what was recorded last, or with a new one."""
    policy = load(path)
    if is_address(policy.data.ledger) and has_ledger(policy.data.ledger) and accept_server(policy.data.ledger, WHO):
        OPERATOR.warning("the owner accepted another server for the ledger")
        sys.stderr.write("Accepted: the ledger is served by this server from now on; the chain records it.\n")
        return
    place = _last_head(policy)
    last, there = read_last_head(place), has_ledger(policy.data.ledger)
    if last is None and (there or find_earlier_use(place) is None):
        raise InputError("there is nothing to accept", detail="No ledger was served from this state directory before.")
    if last is not None and there:
        with Ledger.visit(policy.data.ledger, anchor=policy.data.anchor) as ledger:
            if any(entry.hash == last.hash for entry in ledger.entries(after=last.seq - 1)):
                raise InputError("there is nothing to accept", detail=f"The ledger holds entry {last.seq}, the last.")
    lost = accept_loss(place)
    assert lost is not None
    which = f"up to entry {lost.seq} that the ledger lacks" if lost.seq else "of the ledger that is gone"
    OPERATOR.warning("the owner accepted a ledger that lacks entries: charges %s are forgotten", which)
    sys.stderr.write(
        f"Accepted: charges {which} are forgotten. The next start serves what is there and records this in the chain.\n"
    )


def move(source: str, target: str) -> None:
    """Take a ledger into a PostgreSQL server."""
    with Ledger.visit(source) as ledger:
        report = ledger.move(target, WHO)
    sys.stderr.write(
        f"Moved: {many(report.entries, 'entry', 'entries')}, head {report.seq} {report.hash}. The old place is no"
        " longer served; name the new one as `ledger` in the policy of every gateway.\n"
    )


def change(path: Path, what: str) -> None:
    """Freeze, unfreeze, reopen: an entry of the chain."""
    said = {
        "freeze": "Frozen: no query is answered until you unfreeze with `sfumato ledger unfreeze`.",
        "unfreeze": "Unfrozen: queries are answered again.",
        "reopen": "Reopened: versions that failures had closed are open again.",
    }
    with visit(path) as ledger:
        {"freeze": ledger.freeze, "unfreeze": ledger.thaw, "reopen": ledger.reopen}[what](WHO)
    sys.stderr.write(said[what] + "\n")
