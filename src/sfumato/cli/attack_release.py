"""`sfumato attack … --release OUT` and `sfumato attack linking --graph`: published tables and networks.

Comes in: the command line. Goes out: reports for the same table, page and document as of other attacks. Exit code 1
where an attack succeeded.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from pathlib import Path

from sfumato.anonymity.inspection.reading import read_published
from sfumato.attacks.base import Endpoint, Knowledge, Rows
from sfumato.attacks.graph import attack_graph, sample_graph
from sfumato.attacks.releases import RELEASE_ATTACKS, view
from sfumato.attacks.report import AttackReport, referee
from sfumato.attacks.scene import set_release_scene
from sfumato.attacks.sheet import TABLE, read_sheet
from sfumato.attacks.spelling import spelling_of
from sfumato.attacks.trend import rate_of_trend
from sfumato.errors import InputError, QueryError
from sfumato.server.terminal_output import console, print_json

_KEPT, _SEEDS, _PEOPLE, _FRIENDS = 0.85, 15, 600, 10


def releases(
    name: str,
    raw: Path,
    files: Sequence[str],
    *,
    secret: str | None,
    known: list[str] | None,
    hierarchies: Path | None,
) -> tuple[list[AttackReport], Knowledge]:
    """Attack published tables of the people of a file."""
    if name != "all" and name not in RELEASE_ATTACKS:
        raise InputError(f'"{name}" is not an attack on a release', hint=f"One of: all, {', '.join(RELEASE_ATTACKS)}.")
    rows = read_sheet(raw).records()
    knowledge, truth = set_release_scene(rows, TABLE, secret, known)
    spelling = spelling_of(rows, read_published(raw))
    views = [view(file, knowledge, hierarchies, spelling, rows) for file in files]
    trend = rate_of_trend(rows, knowledge, truth)
    reports = []
    for one in RELEASE_ATTACKS if name == "all" else [name]:
        attack = RELEASE_ATTACKS[one]
        endpoint = Endpoint(" + ".join(seen.name for seen in views), _nothing)
        reports.append(
            referee(one, lambda _, what, run=attack.run: run(views, what), endpoint, knowledge, truth,
                    advice=attack.advice, trend=trend)
        )  # fmt: skip
    return reports, knowledge


def _nothing(_: str) -> Rows:
    raise QueryError("a table is published, and no queries are answered")


def graph(edges: Path | None, *, as_json: bool) -> None:
    """Name the people of a network by its shape: of a file with two columns, or of a made-up one."""
    lines = sample_graph(_PEOPLE, _FRIENDS) if edges is None else _edges(edges)
    report = attack_graph(lines, _KEPT, _SEEDS)
    if as_json:
        print_json(
            {
                "people": report.people,
                "edges": len(lines),
                "kept": _KEPT,
                "seeds": report.seeds,
                "named": report.named,
                "right": report.right,
                "found": report.found,
                "wrong": report.wrong,
                "succeeded": report.succeeded,
            }
        )
    else:
        out = console()
        out.print(
            f"{report.people} people, {len(lines):,} edges; two copies keep {100 * _KEPT:.0f} % of the edges each, and "
            f"{report.seeds} people are known in both",
            soft_wrap=True,
        )
        out.print(
            f"{report.named} of the others are found by the shape of the network, {report.right} of them correctly: "
            f"{100 * report.found:.0f} % found, {100 * report.wrong:.0f} % of the names wrong",
            soft_wrap=True,
        )
    if report.succeeded:
        sys.exit(1)


def _edges(file: Path) -> list[tuple[int, int]]:
    try:
        with file.open(newline="", encoding="utf-8") as stream:
            rows = [row for row in csv.reader(stream) if row]
    except (UnicodeDecodeError, csv.Error):
        raise InputError(f'"{file.name}" is not UTF-8 text', hint="Save it as a CSV file in UTF-8.") from None
    if not rows or any(len(row) != 2 for row in rows):
        raise InputError(f'"{file.name}" is not a list of edges', hint="Give two columns: one person and another.")
    names = {name: i for i, name in enumerate(sorted({name for row in rows for name in row}))}
    return sorted({(min(p), max(p)) for a, b in rows if len(p := {names[a], names[b]}) == 2})
