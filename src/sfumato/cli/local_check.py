"""`sfumato local check`: what a task file claims, recomputed from its thresholds, and proved on request."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from sfumato.cli.design_common import tell
from sfumato.cli.local_files import load_task
from sfumato.local.programs import program_text
from sfumato.local.rappor import Rappor
from sfumato.local.task import LocalTask
from sfumato.server.terminal_output import print_json
from sfumato.types import show


def run_check(path: Path, key: Path | None, *, prove: bool, as_json: bool) -> None:
    """The command. A task whose stated epsilon does not cover its thresholds is refused when it is read."""
    task = load_task(path, key)
    document = _document(task, signed=None if key is None else True)
    verdicts = _proved(task) if prove else {}
    if prove:
        document["proofs"] = {what: verdict.to_dict() for what, verdict in verdicts.items()}
    if as_json:
        print_json(document)
    else:
        _show(task, document, verdicts)
    failed = next((verdict.exit_code for verdict in verdicts.values() if verdict.exit_code), 0)
    if failed:
        sys.exit(failed)


def _document(task: LocalTask, *, signed: bool | None) -> dict[str, Any]:
    encoder = task.encoder
    return {
        "name": task.name,
        "mechanism": task.mechanism,
        "epsilon": show(task.epsilon),
        "epsilon_of_thresholds": show(encoder.epsilon),
        "lifetime": show(task.lifetime),
        "permanent": show(encoder.permanent) if isinstance(encoder, Rappor) else None,
        "reports": None if task.memoised else task.allowed,
        "bytes": encoder.width,
        "minimum_batch": task.minimum_batch,
        "expires": None if task.expires is None else task.expires.isoformat(),
        "digest": task.digest,
        "signed": signed,
    }


def _proved(task: LocalTask) -> dict[str, Any]:
    """The verdict on one report; of RAPPOR, also on all reports of a device: those of the copy that it keeps."""
    from sfumato.verify.code import program, require_solvers

    require_solvers()
    encoder = task.encoder
    programs = {"one report": program_text(encoder)}
    if isinstance(encoder, Rappor) and not encoder.one_time:
        programs["all reports of a device"] = program_text(encoder.permanent_copy)
    return {what: program(text).verify() for what, text in programs.items()}


def _show(task: LocalTask, document: dict[str, Any], verdicts: dict[str, Any]) -> None:
    many = f"{document['bytes']} {'byte' if document['bytes'] == 1 else 'bytes'}"
    tell([f"{task.name}: {task.mechanism}, epsilon {document['epsilon']} and {many} a report"])
    if document["permanent"] is not None:
        tell([f"all reports of a device together: epsilon {document['permanent']} (its permanent copy)"])
    else:
        often = "one report" if task.allowed == 1 else f"{task.allowed:,} reports"
        tell([f"a device may send {often}: lifetime epsilon {document['lifetime']}"])
    tell([f"the epsilon of its thresholds is {document['epsilon_of_thresholds']}"])
    if document["expires"] is not None:
        tell([f"expires after {document['expires']}"])
    if document["signed"]:
        tell(["the signature is that of the given key"])
    for what, verdict in verdicts.items():
        tell([f"verifier: {what}: {verdict.verdict}"])
