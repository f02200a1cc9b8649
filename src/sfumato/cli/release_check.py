"""`sfumato release-check`: what a published table guarantees, and what is wrong with it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from sfumato.anonymity.inspection import Claims, ReleaseReport, check_release, claims_of
from sfumato.cli.release_record import recorded
from sfumato.server.terminal_output import console, print_json


def run(
    release: str,
    raw: str,
    words: dict[str, Any],
    *,
    hierarchies: Path | None,
    earlier: list[str],
    record: Path | None,
    dummies: int,
    as_json: bool,
) -> None:
    """Check, say it, and exit with 1 if there is a fault."""
    noted, lost = ([], []) if record is None else recorded(record, release, raw)
    report = check_release(
        release,
        raw,
        _names(words["quasi"]),
        words["sensitive"],
        keep=_names(words["keep"]),
        hierarchies=hierarchies,
        earlier=[*earlier, *noted],
        claims=_claims(words, dummies),
        order=_names(words["order"]),
        population=words["population"],
    )
    if as_json:
        print_json(report.to_dict() | {"not_compared": lost})
    else:
        _say(report, lost)
    if report.faults:
        sys.exit(1)


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def _claims(words: dict[str, Any], dummies: int) -> Claims:
    return claims_of(
        words["k"], words["l"], words["t"],
        diversity=words["diversity"] or "distinct", c=words["c"] or 3, distance=words["distance"] or "equal",
        dummies=dummies, beta=words["beta"], presence=_names(words["presence"]) or None,
    )  # fmt: skip


def _say(report: ReleaseReport, lost: list[str]) -> None:
    out = console()
    out.print(f"{report.rows:,} rows in {report.classes:,} classes, the smallest of {report.k}: k = {report.k}")
    if report.distinct is not None and report.entropy is not None:
        ratio = "none" if report.recursive_c is None else f"above {report.recursive_c}"
        out.print(f"l: distinct {report.distinct}, entropy {report.entropy:.4f}, recursive c {ratio}")
        shown = ", ".join(f"{name} {value} ≈ {float(value):.4f}" for name, value in report.t.items())
        out.print(f"t: {shown}", soft_wrap=True)
    out.print(
        f"risk: prosecutor {report.prosecutor}, journalist {report.journalist}, marketer {report.marketer}; "
        f"discernibility {report.discernibility:,}, average class {float(report.average_class_size):.1f}",
        soft_wrap=True,
    )
    for name, k in report.meet:
        out.print(f'together with "{name}": k = {k}')
    for words in lost:
        out.print(f"not checked: {words}", soft_wrap=True)
    for column, labels in report.unread.items():
        out.print(f'not checked: the meaning of {len(labels)} labels of "{column}" (give --hierarchies)')
    for column, labels in report.misleading.items():
        what = f'the hierarchy of "{column}" puts values under labels that exclude them'
        out.print(f"misleading: {what}, such as {labels[0]}", soft_wrap=True)
    if not report.exact:
        out.print("not checked: classes overlap so much that each was compared with the original rows separately")
    for fault in report.faults:
        where = "".join([f' in "{fault.column}"' if fault.column else "", f", row {fault.row}" if fault.row else ""])
        out.print(f"FAULT {fault.kind}{where}: {fault.words}", soft_wrap=True)
    if not report.faults:
        out.print("no fault found")
