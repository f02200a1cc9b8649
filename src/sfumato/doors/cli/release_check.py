"""`sfumato release-check`: what a published table really is, and what is wrong with it."""

from __future__ import annotations

import json as json_module
import sys
from pathlib import Path
from typing import Any

from sfumato.anonymity.inspection import Claims, ReleaseReport, check_release, claims_of
from sfumato.doors.cli.anonymize import place_of
from sfumato.doors.cli.say import console, print_json
from sfumato.errors import InputError


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
    before = [*earlier, *([] if record is None else recorded(record, release, raw))]
    report = check_release(
        release,
        raw,
        _names(words["quasi"]),
        words["sensitive"],
        keep=_names(words["keep"]),
        hierarchies=hierarchies,
        earlier=before,
        claims=_claims(words, dummies),
        order=_names(words["order"]),
    )
    if as_json:
        print_json(report.to_dict())
    else:
        _say(report)
    if report.faults:
        sys.exit(1)


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def _claims(words: dict[str, Any], dummies: int) -> Claims:
    return claims_of(
        words["k"], words["l"], words["t"],
        diversity=words["diversity"] or "distinct", c=words["c"] or 3, distance=words["distance"] or "equal",
        dummies=dummies,
    )  # fmt: skip


def recorded(record: Path, release: str, raw: str) -> list[str]:
    """Earlier releases of the same table, as `anonymize --record` noted them."""
    found = []
    for number, line in enumerate(record.read_text(encoding="utf-8").splitlines(), 1):
        try:
            entry = json_module.loads(line)
            same = entry["data"] == place_of(raw) and entry["out"] != place_of(release)
        except (ValueError, KeyError, TypeError):
            raise InputError(f'line {number} of "{record.name}" is not a record of a release') from None
        if same and entry["out"] not in found:
            found.append(entry["out"])
    return found


def _say(report: ReleaseReport) -> None:
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
