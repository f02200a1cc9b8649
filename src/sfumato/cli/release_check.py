"""`sfumato release-check`: what a published table guarantees, and what is wrong with it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from rich.console import Console

from sfumato.anonymity.inspection import Claims, EarlierRelease, ReleaseFault, ReleaseReport, check_release, claims_of
from sfumato.anonymity.inspection.canonical import write_canonical
from sfumato.anonymity.inspection.reading import read_published
from sfumato.cli.anonymize_request import names_in
from sfumato.cli.outputs import check_apart
from sfumato.cli.release_record import CheckedRelease, RecordedReleases, place_of, recorded
from sfumato.errors import InputError
from sfumato.server.terminal_output import console, print_json


def run(
    release: str,
    raw: str,
    words: dict[str, Any],
    *,
    hierarchies: Path | None,
    earlier: list[str],
    record: Path | None,
    dummies: int | None,
    canonical: Path | None,
    as_json: bool,
) -> None:
    """Check, print the result, and exit with 1 if there is a fault or something could not be checked."""
    if place_of(release) in map(place_of, earlier):
        raise InputError("--earlier names the release itself", hint="Name the file of an earlier release.")
    check_apart(canonical, "--canonical", [release, raw, hierarchies, record, *earlier])
    quasi, sensitive = names_in(words["quasi"] or ""), words["sensitive"]
    known = RecordedReleases(list(map(EarlierRelease, earlier)), None, hierarchies)
    if record is not None:
        known = recorded(record, CheckedRelease(release, raw, quasi, sensitive, hierarchies, dummies or 0), earlier)
    if dummies is None:
        dummies = 0 if known.this is None else known.this.claims.dummies
    lost = known.lost
    report = check_release(
        release,
        raw,
        quasi,
        sensitive,
        keep=names_in(words["keep"] or ""),
        hierarchies=known.hierarchies,
        earlier=known.earlier,
        recorded=known.this,
        claims=_claims(words, dummies),
        order=names_in(words["order"] or ""),
        population=words["population"],
    )
    if canonical is not None:
        write_canonical(read_published(release), canonical)
    if as_json:
        print_json(report.to_dict() | {"passed": report.passed and not lost, "not_compared": lost})
    else:
        _say(report, lost)
    if not report.faultless or lost:
        sys.exit(1)


def _claims(words: dict[str, Any], dummies: int) -> Claims:
    return claims_of(
        words["k"], words["l"], words["t"],
        diversity=words["diversity"] or "distinct", c=words["c"] or 3, distance=words["distance"] or "equal",
        dummies=dummies, beta=words["beta"], presence=names_in(words["presence"] or "") or None,
    )  # fmt: skip


def _say(report: ReleaseReport, lost: list[str]) -> None:
    out = console()
    _say_numbers(out, report)
    if report.k_with_kept is not None:
        out.print(f"for those who know the kept columns too: k = {report.k_with_kept}")
    for name, k in report.meet:
        out.print(f'together with "{name}": k = {k}')
    _say_left(out, report, lost)
    for fault in report.faults:
        out.print(f"FAULT {_where(fault)}: {fault.words}", soft_wrap=True)
    for note in report.notes:
        out.print(f"note {_where(note)}: {note.words}", soft_wrap=True)
    for hint in dict.fromkeys(one.hint for one in (*report.faults, *report.notes)):
        out.print(f"hint: {hint}", soft_wrap=True)
    out.print(str(report.scope), soft_wrap=True)
    if report.passed and not lost:
        out.print("passed: no fault found")
    elif report.faultless and not lost:
        out.print("no fault found; the notes say why this is not a full pass")
    elif not report.faults:
        out.print("not passed: no fault found, but not everything could be checked")


def _say_numbers(out: Console, report: ReleaseReport) -> None:
    """k, l, t and the risks."""
    sizes = f"{_many(report.rows, 'row', 'rows')} in {_many(report.classes, 'class', 'classes')}"
    out.print(f"{sizes}, the smallest of {report.k}: k = {report.k}")
    if report.dummies:
        out.print(f"{report.dummies:,} of the rows are dummies: they match nobody in the original table")
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


def _many(count: int, one: str, several: str) -> str:
    return f"{count:,} {one if count == 1 else several}"


def _where(fault: ReleaseFault) -> str:
    column = "" if fault.column is None else f' in "{fault.column}"'
    return f"{fault.kind}{column}" + (f", row {fault.row}" if fault.row else "")


def _say_left(out: Console, report: ReleaseReport, lost: list[str]) -> None:
    """What could not be checked, and labels that mislead."""
    for words in (*lost, *report.not_together):
        out.print(f"not checked: {words}", soft_wrap=True)
    for column, labels in report.unread.items():
        what = f'the meaning of {len(labels)} labels of "{column}", such as "{labels[0][:60]}" (give --hierarchies)'
        out.print(f"not checked: {what}", soft_wrap=True)
    for column, labels in report.misleading.items():
        what = f'the hierarchy of "{column}" puts values under labels that exclude them'
        out.print(f"misleading: {what}, such as {labels[0]}", soft_wrap=True)
    if not report.exact:
        out.print("not checked: classes overlap so much that each was compared with the original rows separately")
