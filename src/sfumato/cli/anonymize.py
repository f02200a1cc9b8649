"""`sfumato anonymize`: a release with its loss, bound and risks; or a comparison of several, which writes nothing.

Comes in: the command line, or a TOML file of the same words. Goes out: the release in a file, a table or a document.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from sfumato import pictures
from sfumato.anonymity import AnonymizedRelease, AnonymizeRequest, anonymize, by_dimension, compare
from sfumato.anonymity.releases import check_target
from sfumato.anonymity.writing import other_tables
from sfumato.cli.anonymize_request import request_of
from sfumato.cli.outputs import check_apart
from sfumato.cli.release_record import note, read_record
from sfumato.errors import InputError
from sfumato.server.terminal_output import console, print_json, print_whole
from sfumato.types import whole, without_password

_COMPARED = (1, 2, 5, 10, 20, 50, 100)


@dataclass(frozen=True)
class AnonymizeCommand:
    """The command line of `sfumato anonymize`."""

    data: str
    words: dict[str, Any]
    hierarchies: Path | None
    out: str | None
    seconds: float | None
    dry_run: bool
    dimensions: bool
    svg: Path | None
    record: Path | None


def run(wanted: AnonymizeCommand, *, as_json: bool) -> None:
    """Make the release, or compare several."""
    given = {**wanted.words, "hierarchies": wanted.hierarchies, "seconds": wanted.seconds, "out": wanted.out}
    request, out = request_of(wanted.data, given)
    _check_outputs(wanted, request, out)
    if wanted.dry_run or wanted.dimensions:
        _compare(wanted, request, as_json=as_json)
        return
    if wanted.svg is not None:
        raise InputError("--svg draws a comparison", hint="Add --dry-run or --dimensions.")
    if out is None:
        raise InputError("no output file was given", hint="Add -o OUT, or --dry-run to write nothing.")
    check_target(request.data, out)
    if wanted.record is not None:
        _check_writable(wanted.record)  # a release that cannot be noted is not made
    record = wanted.record
    with _progress() as told:
        announce = None if record is None else partial(note, record, request, out)
        release = anonymize(request, out, told, announce)
    if as_json:
        print_json(release.to_dict())
    else:
        _say(request, release, out)
    _warn_of_others(out)


def _warn_of_others(out: str) -> None:
    others = other_tables(out)
    if others:
        shown = ", ".join(f'"{name}"' for name in others[:5]) + (", …" if len(others) > 5 else "")
        sys.stderr.write(
            f'WARNING: "{out.partition("#")[0]}" also has {shown}: do not publish this file, for whoever gets it gets '
            "these too. Write the release into a file of its own.\n"
        )


def _check_outputs(wanted: AnonymizeCommand, request: AnonymizeRequest, out: str | None) -> None:
    """Refuse to write over anything that is read, or one output over another."""
    place = request.hierarchies if isinstance(request.hierarchies, Path) else None
    read = [wanted.data, place, request.population]
    if out is not None and "#" not in out:  # that it is not the table itself is looked at where it is written
        check_apart(out, "-o", [*(one for one in read if one != request.data), wanted.record])
    check_apart(wanted.svg, "--svg", [*read, request.data, out, wanted.record])
    check_apart(wanted.record, "--record", [*read, request.data, out])
    if wanted.record is not None and wanted.record.exists():
        read_record(wanted.record)  # whatever else is there is not written into


def _check_writable(file: Path) -> None:
    """Refuse a file that cannot be written, before anything is searched for or written."""
    folder = file.resolve().parent
    if file.is_dir() or not os.access(file if file.exists() else folder, os.W_OK):
        raise InputError(f'"{file}" cannot be written', sqlstate="58P01")


@contextmanager
def _progress() -> Iterator[Any]:
    """A bar on a terminal: how much of the distance between the best loss and the bound is closed."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("searching"), BarColumn(), TextColumn("{task.fields[words]}"))
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0, words="")

        def told(checks: int, best: float, bound: float) -> None:
            words = f"{checks:,} checked, loss {best:.4f}, bound {bound:.4f} (Ctrl-C stops with the best so far)"
            bar.update(task, completed=bound / best if best else 1.0, words=words)

        yield told


def _compare(wanted: AnonymizeCommand, request: AnonymizeRequest, *, as_json: bool) -> None:
    asked = [] if request.k is None else [whole(request.k, "k", 1)]
    if wanted.svg is not None:
        _check_writable(wanted.svg)
    with _progress() as told:
        if wanted.dimensions:
            name, found = "quasi-identifiers", list(by_dimension(request, told))
        else:
            name, found = "k", list(compare(request, sorted({*_COMPARED, *asked}), told))
    if asked and not wanted.dimensions and asked[0] not in [many for many, _ in found]:
        anonymize(request, None)  # the error says why there is none
    if wanted.svg is not None:
        wanted.svg.write_text(picture(name, found), encoding="utf-8")
    if as_json:
        print_json(
            {
                "by": name,
                "releases": [{**release.to_dict(), "reached": release.k, name: many} for many, release in found],
            }
        )
        return
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    heads = (name, "loss", "gap", "suppressed", "classes", "average", "prosecutor", "journalist", "marketer", "unique")
    for head in (*heads, *([] if request.sampling is None else ("Zayatz", "Pitman"))):
        table.add_column(head, justify="right", no_wrap=True)
    for many, release in found:
        table.add_row(*_row(many, release))
    print_whole(console(), table)


def _row(many: int, release: AnonymizedRelease) -> list[str]:
    measures = release.measures
    gap = "–" if release.gap is None else f"{release.gap:.4f}"
    return [
        str(many),
        f"{float(release.loss):.4f}",
        gap,
        f"{release.suppressed:,}",
        f"{measures.classes:,}",
        f"{float(measures.average_class_size):.1f}",
        f"{float(measures.prosecutor):.4f}",
        f"{float(measures.journalist):.4f}",
        f"{float(measures.marketer):.4f}",
        f"{float(measures.uniques):.4f}",
        *(f"{part:.4f}" for part in measures.population_uniques.values()),
    ]


def picture(name: str, found: list[tuple[int, AnonymizedRelease]]) -> str:
    """Loss and risks as curves."""
    lines: list[pictures.Curve] = [
        ("information loss", [(many, float(release.loss)) for many, release in found]),
        ("prosecutor's risk", [(many, float(release.measures.prosecutor)) for many, release in found]),
        ("journalist's risk", [(many, float(release.measures.journalist)) for many, release in found]),
        ("marketer's risk", [(many, float(release.measures.marketer)) for many, release in found]),
        ("unique rows", [(many, float(release.measures.uniques)) for many, release in found]),
    ]
    return pictures.curves(
        lines, title=f"What a release loses and risks, by {name}", axis=name, measure="loss, risk, part of rows"
    )


def _rows(many: int) -> str:
    return "row" if many == 1 else "rows"


def _say(request: AnonymizeRequest, release: AnonymizedRelease, out: str) -> None:
    stream = console()
    stream.print(
        f"{release.released:,} of {release.rows:,} {_rows(release.rows)} released to {without_password(out)}; "
        f"{release.suppressed:,} suppressed",
        soft_wrap=True,
    )
    if release.dummies:
        stream.print(f"{release.dummies:,} of the rows are dummies that represent nobody")
    if release.bound is None:
        proof = (
            "no bound is known for local recoding" if request.method == "mondrian" else "no bound is known with dummies"
        ) + _early(request, release)
    elif release.optimal:
        proof = f"the smallest of all {release.nodes:,} generalisations ({release.checks:,} checked)"
    else:
        ended = "ended early" if release.interrupted else "ended"
        checks = f"{ended} after {release.checks:,} checks{_longer(request, release)}"
        proof = f"lower bound {release.bound:.4f}, gap {release.gap:.4f} ({checks})"
    stream.print(f"loss {float(release.loss):.4f}: {proof}", soft_wrap=True)
    if release.levels:
        levels = ", ".join(f"{name} {level}" for name, level in release.levels.items())
        stream.print(f"levels: {levels}", soft_wrap=True)
    reached = [f"k = {release.k}"]
    if release.l is not None:
        reached.append(f"distinct l = {release.l}")
    if release.t is not None:
        reached.append(f"t = {release.t:.4f}")
    measures = release.measures
    asked = [words for words in release.satisfies if not words.startswith(("k = ", "l = ", "t = "))]
    reached += [] if not asked else [f"and as asked {', '.join(asked)}"]
    average = f"{measures.classes:,} classes of {float(measures.average_class_size):.1f} rows on average"
    stream.print(f"reached: {', '.join(reached)}; {average}", soft_wrap=True)
    stream.print(
        f"utility: discernibility {measures.discernibility:,}, non-uniform entropy lost {100 * measures.entropy:.1f} %"
    )
    stream.print(
        f"risk: prosecutor {float(measures.prosecutor):.4f}, journalist {float(measures.journalist):.4f}, "
        f"marketer {float(measures.marketer):.4f}, unique rows {float(measures.uniques):.4f}"
    )
    if measures.population_uniques:
        parts = ", ".join(f"{name.capitalize()} {part:.4f}" for name, part in measures.population_uniques.items())
        stream.print(f"unique in the population, estimated: {parts}")


def _early(request: AnonymizeRequest, release: AnonymizedRelease) -> str:
    return f"; ended early{_longer(request, release)}" if release.interrupted else ""


def _longer(request: AnonymizeRequest, release: AnonymizedRelease) -> str:
    return "; --seconds S searches longer" if release.interrupted and request.seconds is None else ""
