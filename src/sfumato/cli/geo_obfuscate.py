"""`sfumato geo obfuscate`: reports for a file of points, or for one position."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
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
from sfumato.ledger import LedgerPurse
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


@dataclass(frozen=True)
class TraceOptions:
    """The options that make a person's positions one trace."""

    budget: str | None = None
    person: str | None = None
    ledger: Path | None = None
    test: str | None = None
    threshold: str | None = None

    def check(self) -> None:
        """Options of a trace are for traces."""
        if self.budget is None and self != TraceOptions():
            named = [f"--{name}" for name, value in vars(self).items() if value is not None]
            words = f"{', '.join(named[:-1])} and {named[-1]}" if named[1:] else named[0]
            raise InputError(f"{words} need{'' if named[1:] else 's'} --budget", hint='For example --budget "20 ln 4".')

    def trace(self, made: LocationMechanism, purse: LedgerPurse | None = None) -> TraceMechanism:
        """The trace that they describe."""
        return TraceMechanism.of(made, self.budget, test=self.test, threshold=self.threshold, purse=purse)


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


def run(order: ObfuscateOptions, of: TraceOptions, *, yes: bool, as_json: bool) -> None:
    """Do it, and say what was done."""
    if order.others not in ("drop", "refuse"):
        raise InputError(f'--others is drop or refuse, but is "{order.others}"')
    of.check()
    made = mechanism(
        order.level, order.radius, grid=order.grid, around=order.around, reach=order.reach, zones=order.zones
    )
    if order.out is None:
        _one(order, made, as_json=as_json)
        return
    source = Path(order.source)
    names = () if order.keep is None else tuple(name.strip() for name in order.keep.split(",") if name.strip())
    every = names == ("all",)
    kept = () if every else names + ((of.person,) if of.person is not None and of.person not in names else ())
    choice = ColumnChoice(order.lat, order.lon, kept, every, order.others == "refuse", guess=yes or _asks())
    opened = open_points(source, choice)
    _confirm(opened[0], yes=yes)
    with ExitStack() as stack:
        trace = None
        if of.budget is not None:
            trace = of.trace(made)
            trace.check_first()
            for batch in open_points(source, choice)[1]:  # a bad row is refused before anything is spent
                made.frame.coordinates(batch.lat, batch.lon, batch.done, refuse=False)
            if of.ledger is not None:
                _say_changed(of.ledger, trace.total)
                trace = of.trace(made, stack.enter_context(LedgerPurse.open(of.ledger, _label(made), trace.total)))
        progress = stack.enter_context(_progress())
        report = None if trace is None else _traced(trace, opened[0], of.person)
        done = obfuscate_file(source, order.out, made, choice, progress=progress, report=report, opened=opened)
    _say(order, made, done, traced=trace is not None, as_json=as_json)


def _say_changed(ledger: Path, budget: Fraction) -> None:
    """Tell that a ledger has had another budget until now: raising it is a decision, not a matter of spelling."""
    if not ledger.is_file() or not ledger.stat().st_size:
        return
    with LedgerPurse.visit(ledger) as purse:
        before = purse.budget
    if before != budget:
        way = "raised" if budget > before else "lowered"
        sys.stderr.write(f"Note: the budget of each person is {way} from {float(before):.6g} to {float(budget):.6g}\n")


def _label(made: LocationMechanism) -> str:
    """What a unit of a budget means, and which grid a remembered report lies on.

    Zones change neither, and a ledger must not name somebody's home.
    """
    shown = settings(made)
    return f"level {shown['level']} within {shown['radius']:g} m, {getattr(made.frame, 'frame', made.frame)!r}"


def run_budget(ledger: Path, *, as_json: bool) -> None:
    """What each person has spent, after the ledger was verified."""
    with LedgerPurse.visit(ledger) as purse:
        purse.verify()
        total = purse.budget
        held = sorted(purse.people().items())
        people = [(cell.partition(" ")[2], one.spent, max(total - one.spent, Fraction(0))) for cell, one in held]
    if as_json:
        rows = [{"person": name, "spent": float(spent), "remaining": float(left)} for name, spent, left in people]
        print_json({"budget": float(total), "people": rows})
        return
    tell([f"a budget of {float(total):.6g} for each person; the ledger is whole", ""])
    grid_of(
        ("person", "spent", "remaining"),
        [[name, f"{float(spent):.6g}", f"{float(left):.6g}"] for name, spent, left in people],
    )


def _traced(trace: TraceMechanism, columns: Columns, person: str | None) -> Report:
    def report(batch: Batch) -> Any:
        import numpy as np

        who = [""] * len(batch.lat) if person is None else persons_of(batch, columns, person)
        steps = trace.report_many([str(name) for name in who], batch.lat, batch.lon)
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


def _asks() -> bool:
    """Whether somebody is there to confirm a guess."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _confirm(columns: Columns, *, yes: bool) -> None:
    if not columns.guessed:
        return
    words = f'Latitude is "{columns.lat}", longitude is "{columns.lon}"'
    if not yes and _asks():
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
    reports = "1 report" if done.rows == 1 else f"{done.rows:,} reports"
    lines = [f"{reports} at level {made.level} within {float(made.radius):g} m, in {order.out}"]
    if done.columns.dropped:
        lines.append(f"dropped: {', '.join(done.columns.dropped)} (--keep keeps columns)")
    if not traced:
        lines.append("every report costs the level: reports about one person add up (--budget limits them)")
    if made.frame.dimensions == 3:
        lines.append("worldwide grid: with --around LAT,LON, a public place, reports are 15 % nearer")
    tell(lines)
