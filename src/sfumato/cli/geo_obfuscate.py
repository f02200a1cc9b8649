"""`sfumato geo obfuscate`: reports for a file of points, or for one position."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from sfumato.cli.design_common import grid_of, tell
from sfumato.errors import InputError
from sfumato.geo.files import Batch, ColumnChoice, Columns, Obfuscated, obfuscate_file, open_points
from sfumato.geo.files.streams import Report, persons_of
from sfumato.geo.mechanism import LocationMechanism
from sfumato.geo.traces import TraceMechanism
from sfumato.geo.zones import Zone
from sfumato.ledger.person_budgets import LedgerPurse
from sfumato.server.terminal_output import console, print_json

_POSITION = re.compile(r"\s*([-+]?\d+(?:\.\d*)?)\s*,\s*([-+]?\d+(?:\.\d*)?)\s*")


@dataclass(frozen=True)
class ObfuscateOptions:
    """The command line."""

    source: str
    out: Path | None
    level: str
    radius: str
    lat: str | None
    lon: str | None
    grid: str | None
    around: str | None
    reach: str
    zones: tuple[str, ...]
    keep: str | None
    others: str


def position(text: str, what: str) -> tuple[str, str]:
    """LAT,LON as written."""
    found = _POSITION.fullmatch(text)
    if found is None:
        raise InputError(f'{what} "{text}" is not a position', hint="Write latitude,longitude in degrees: 48.86,2.29.")
    return found[1], found[2]


def mechanism(
    level: str, radius: str, *, grid: str | None, around: str | None, reach: str, zones: tuple[str, ...] = ()
) -> LocationMechanism:
    """The mechanism that options describe."""
    discs = []
    for text in zones:
        head, comma, size = text.rpartition(",")
        if not comma:
            raise InputError(f'zone "{text}" is not understood', hint="Write latitude,longitude,metres.")
        discs.append(Zone(*position(head, "zone"), size))  # type: ignore[arg-type]  # decimals as written
    centre = None if around is None else position(around, "--around")
    return LocationMechanism.within(level, radius, around=centre, grid=grid, reach=reach, zones=discs)


def run(
    order: ObfuscateOptions, *, budget: str | None, person: str | None, ledger: Path | None, yes: bool, as_json: bool
) -> None:
    """Do it, and say what was done."""
    if order.others not in ("drop", "refuse"):
        raise InputError(f'--others is drop or refuse, but is "{order.others}"')
    if budget is None and (person is not None or ledger is not None):
        raise InputError("--person and --ledger need --budget", hint='For example --budget "20 ln 4".')
    made = mechanism(
        order.level, order.radius, grid=order.grid, around=order.around, reach=order.reach, zones=order.zones
    )
    if order.out is None:
        _one(order, made, as_json=as_json)
        return
    source = Path(order.source)
    names = () if order.keep is None else tuple(name.strip() for name in order.keep.split(",") if name.strip())
    every = names == ("all",)
    kept = () if every else names + ((person,) if person is not None and person not in names else ())
    choice = ColumnChoice(order.lat, order.lon, kept, every, order.others == "refuse")
    opened = open_points(source, choice)
    _confirm(opened[0], yes=yes)
    with ExitStack() as stack:
        trace = None
        if budget is not None:
            trace = TraceMechanism.of(made, budget)
            trace.check_first()
            for batch in open_points(source, choice)[1]:  # a bad row is refused before anything is spent
                made.frame.coordinates(batch.lat, batch.lon, batch.done)
            if ledger is not None:
                purse = stack.enter_context(LedgerPurse.open(ledger, _label(made), trace.total))
                trace = TraceMechanism.of(made, budget, purse=purse)
        progress = stack.enter_context(_progress())
        report = None if trace is None else _traced(trace, opened[0], person)
        done = obfuscate_file(source, order.out, made, choice, progress=progress, report=report, opened=opened)
    _say(order, made, done, traced=budget is not None, as_json=as_json)


def _label(made: LocationMechanism) -> str:
    """What a unit of a budget means, and which grid a remembered report lies on."""
    shown = settings(made)
    return f"level {shown['level']} within {shown['radius']:g} m, {made.frame!r}"


def run_budget(ledger: Path, *, as_json: bool) -> None:
    """What each person has spent, after the ledger was verified."""
    with LedgerPurse.visit(ledger) as purse:
        purse.verify()
        people = [(cell.partition(" ")[2], held.spent) for cell, held in sorted(purse.people().items())]
        total = purse.budget
    if as_json:
        rows = [{"person": name, "spent": float(spent), "remaining": float(total - spent)} for name, spent in people]
        print_json({"budget": float(total), "people": rows})
        return
    tell([f"a budget of {float(total):.6g} for each person; the ledger is whole", ""])
    grid_of(
        ("person", "spent", "remaining"),
        [[name, f"{float(spent):.6g}", f"{float(total - spent):.6g}"] for name, spent in people],
    )


def _traced(trace: TraceMechanism, columns: Columns, person: str | None) -> Report:
    def report(batch: Batch) -> Any:
        import numpy as np

        who = [""] * len(batch.lat) if person is None else persons_of(batch, columns, person)
        steps = [
            trace.report(str(name), lat, lon)
            for name, lat, lon in zip(who, batch.lat.tolist(), batch.lon.tolist(), strict=True)
        ]
        return np.array([step.lat for step in steps]), np.array([step.lon for step in steps])

    return report


def _one(order: ObfuscateOptions, made: LocationMechanism, *, as_json: bool) -> None:
    if _POSITION.fullmatch(order.source) is None:
        raise InputError("where to write? name a file with -o", hint="Or give a position: 48.86,2.29.")
    lat, lon = made.report(*position(order.source, "IN"))
    if as_json:
        print_json({"lat": lat, "lon": lon} | settings(made))
    else:
        tell([f"{lat:.7f},{lon:.7f}"])


def settings(made: LocationMechanism) -> dict[str, Any]:
    """What a report promises, for programs."""
    return {
        "level": str(made.level),
        "radius": float(made.radius),
        "grid": float(made.frame.step),
        "frame": "planar" if made.frame.dimensions == 2 else "worldwide",
        "epsilon_per_metre": float(made.inner.epsilon),
    }


def _confirm(columns: Columns, *, yes: bool) -> None:
    if not columns.guessed:
        return
    words = f'Latitude is "{columns.lat}", longitude is "{columns.lon}"'
    if not yes and sys.stdin.isatty() and sys.stderr.isatty():
        if not typer.confirm(f"{words}: right?", default=True, err=True):
            raise InputError("the columns were not confirmed", hint="Name them with --lat and --lon.")
    else:
        sys.stderr.write(f"{words} (guessed from the names)\n")


@contextmanager
def _progress() -> Iterator[Any]:
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.completed:,} points"), TimeElapsedColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda rows: bar.update(task, completed=rows)


def _say(order: ObfuscateOptions, made: LocationMechanism, done: Obfuscated, *, traced: bool, as_json: bool) -> None:
    for line in done.remarks:
        sys.stderr.write(f"Note: {line}\n")
    if as_json:
        kept, dropped = list(done.columns.kept), list(done.columns.dropped)
        print_json(
            {"rows": done.rows, "kept": kept, "dropped": dropped, "remarks": list(done.remarks)} | settings(made)
        )
        return
    lines = [f"{done.rows:,} reports at level {made.level} within {float(made.radius):g} m, in {order.out}"]
    if done.columns.dropped:
        lines.append(f"dropped: {', '.join(done.columns.dropped)} (--keep keeps columns)")
    if not traced:
        lines.append("every report costs the level: reports about one person add up (--budget limits them)")
    if made.frame.dimensions == 3:
        lines.append("worldwide grid: with --around LAT,LON, a public place, reports are 15 % nearer")
    tell(lines)
