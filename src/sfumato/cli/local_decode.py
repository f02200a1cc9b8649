"""`sfumato local decode` and `local collect`: reports into estimates, and tasks into a server's hands."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.cli.design_common import grid_of, tell
from sfumato.cli.local_files import check_task, load_task, progress, read_batches, write_table
from sfumato.cli.outputs import check_apart
from sfumato.errors import InputError
from sfumato.local.collecting import Collection, collections, install
from sfumato.local.decoding import ReportTally, read_candidates
from sfumato.local.estimates import Estimated
from sfumato.local.shuffling import bound_shuffled
from sfumato.local.sketch import PrefixExtending
from sfumato.local.task import LocalTask
from sfumato.policy import load
from sfumato.server.terminal_output import print_json
from sfumato.types import certainty

_SHOWN = 40


@dataclass(frozen=True, slots=True)
class DecodeAsked:
    """The options of the command."""

    population: str
    confidence: str
    post: str
    candidates: Path | None
    correction: str | None
    fake: int
    delta: str | None


def run_decode(reports: Path, task_file: Path, asked: DecodeAsked, *, out: Path | None, as_json: bool) -> None:
    """The command."""
    held = list(reports.iterdir()) if out is not None and reports.is_dir() else []
    check_apart(out, "-o", [reports, *held, task_file, asked.candidates])
    if out is not None and reports.is_dir() and reports.resolve() in out.resolve().parents:
        raise InputError("-o would write into the directory of a collector", hint="Give another place.")
    tally = ReportTally(load_task(task_file), None if asked.candidates is None else read_candidates(asked.candidates))
    _check_fits(tally.task, asked)
    with progress("decoding") as step:
        for total, batch in _batches(reports, tally):
            tally.add_bytes(batch)
            step(tally.reports, total)
    confidence = float(certainty(asked.confidence))
    words: Any = {"population": asked.population, "confidence": confidence}
    rows = tally.estimates(post=asked.post, correction=asked.correction or "holm", **words)
    if tally.malformed:
        sys.stderr.write(f"malformed reports left out: {tally.malformed:,}\n")
    if out is not None:
        write_table([row.to_dict() for row in rows], out)
    remarks = [] if not asked.fake else [_moved(tally, asked.fake, asked.post)]
    remarks += [] if asked.delta is None else [_shuffled(reports, tally, asked.delta, asked.fake)]
    if as_json:  # a list of estimates; what is said about all of them goes beside it
        sys.stderr.writelines(f"{remark}\n" for remark in remarks)
        sys.stdout.write(json.dumps([row.to_dict() for row in rows], indent=2) + "\n")
        return
    _show(tally, rows, asked, confidence)
    tell(remarks)


def _check_fits(task: LocalTask, asked: DecodeAsked) -> None:
    """An option that this mechanism has no use for is a mistake, and not passed over in silence."""
    searched = task.encoder.takes == "strings" and task.mechanism != "prefix"
    if asked.candidates is not None and not searched:
        raise InputError(f"--candidates is for rappor and count-mean-sketch, but the task uses {task.mechanism}")
    if asked.correction is not None and task.mechanism != "rappor":
        why = "always uses Holm's" if task.mechanism == "prefix" else "has no p-values"
        raise InputError(f"--correction is for rappor, but the task uses {task.mechanism}, which {why}")
    if asked.post != "none" and task.encoder.takes != "values":
        raise InputError("--post is for a declared list of values")


def _moved(tally: ReportTally, fake: int, post: str) -> str:
    down, up = tally.moved_by(fake, post)
    what = "the mean" if tally.task.encoder.takes == "numbers" else "a share"
    what += f" (--post {post})" if post != "none" else ""
    return f"{fake:,} fake reports among them could have moved {what} by {down:.3g} to +{up:.3g}"


def _shuffled(reports: Path, tally: ReportTally, delta: str, fake: int) -> str:
    """What shuffling adds. A collector shuffles each batch for itself, so the smallest one counts; and a report that no
    device can have sent hides nobody, nor does a fake one, whose sender knows it.
    """
    if not tally.task.single or (reports.is_dir() and not Collection(reports).task.single):
        return "one person may have sent several of these reports: the effect of shuffling is not bounded"
    n, which = max(1, tally.reports - fake), "if they were shuffled together, these reports"
    if reports.is_dir():
        n = max(1, Collection(reports).smallest - tally.malformed - fake)
        which = f"shuffled within batches, the smallest of which holds {n:,} reports, they"
    which = which.replace(" reports", " honest reports") if fake else which
    return f"{which} cost epsilon {bound_shuffled(tally.task.epsilon, n, delta):.3g} at delta {delta}"


def _batches(reports: Path, tally: ReportTally) -> Iterator[tuple[int, list[bytes]]]:
    """From a Parquet file, or from the directory of a collector."""
    if reports.is_dir():
        held = Collection(reports)
        if held.task.digest != tally.task.digest:
            raise InputError(
                f'the reports in "{reports}" belong to another task',
                hint=f"Decode them with {reports / 'task.toml'}.",
            )
        for batch in held.batches(tally.task.encoder.width):
            yield held.stored, batch
        return
    check_task(reports, tally.task)
    for total, rows in read_batches(reports, "report", "BLOB"):
        yield total, [bytes(row or b"") for row in rows]


def _show(tally: ReportTally, rows: list[Estimated], asked: DecodeAsked, confidence: float) -> None:
    whom = "those who reported" if asked.population == "fixed" else "everybody they were drawn from"
    reports = "1 report" if tally.reports == 1 else f"{tally.reports:,} reports"
    tell([f"{reports}; {100 * confidence:g} % intervals for {whom}", ""])
    tested = any(row.p_value is not None for row in rows)
    ranked = sorted(rows, key=lambda row: -row.estimate)
    heads = ("value", "estimate", "low", "high", *(["adjusted p"] if tested else []))
    grid_of(heads, [_cells(row, tested) for row in ranked[:_SHOWN]])
    tell([f"… {len(ranked) - _SHOWN} more; --json shows all"] if len(ranked) > _SHOWN else [])
    if isinstance(tally.task.encoder, PrefixExtending):
        tell([f"prefix: texts are cut to their first {tally.task.encoder.letters} bytes"])


def _cells(row: Estimated, tested: bool) -> list[str]:
    digits = 4 if row.high - row.low < 0.01 else 3
    cells = [row.value, *(f"{number:.{digits}f}" for number in (row.estimate, row.low, row.high))]
    return [*cells, f"{row.p_value:.2g}"] if tested and row.p_value is not None else cells


def run_collect(task_file: Path | None, policy: Path, *, as_json: bool) -> None:
    """The command."""
    state = load(policy).data.state
    if task_file is not None:
        load_task(task_file)
        name = install(Path(state), task_file.read_text(encoding="utf-8"))
        sys.stderr.write(f"Reports on {name} are collected at /api/collect/{name}\n")
        return
    found = [held.to_dict() for held in collections(Path(state))]
    if as_json:
        print_json({"tasks": found})
        return
    grid_of(("task", "mechanism", "reports", "waiting"), [[str(v) for v in one.values()] for one in found])
