"""`sfumato geo obfuscate`: reports for a file of points, or for one position.

What a command line names is used or refused: an option that has no use for this input, this format or without another
option is an error. One position with a budget is a trace of one report, and its ledger is what outlives the command.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import typer

from sfumato.cli.design_common import grid_of, tell
from sfumato.cli.outputs import check_apart
from sfumato.errors import BudgetError, InputError
from sfumato.geo.files import Batch, ColumnChoice, Columns, Obfuscated, obfuscate_file, open_points
from sfumato.geo.files.streams import Report, check_file, persons_of
from sfumato.geo.mechanism import LocationMechanism
from sfumato.geo.traces import HELD, TraceMechanism
from sfumato.geo.zones import Zone
from sfumato.ledger import LedgerPurse
from sfumato.server.terminal_output import console, print_json
from sfumato.types import show

_REACH = "500000"
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
    reach: str | None
    zones: tuple[str, ...]
    keep: str | None
    others: str | None

    @property
    def is_position(self) -> bool:
        """Whether IN is a position, and not the name of a file."""
        return _POSITION.fullmatch(self.source) is not None and not Path(self.source).exists()

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of --keep."""
        names = () if self.keep is None else tuple(name.strip() for name in self.keep.split(",") if name.strip())
        if self.keep is not None and not names:
            raise InputError("--keep names no column", hint="Leave it out: other columns are dropped.")
        return names


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
            words, many = _listed(f"--{name}" for name, value in vars(self).items() if value is not None)
            raise InputError(f"{words} need{'' if many else 's'} --budget", hint='For example --budget "20 ln 4".')

    def trace(self, made: LocationMechanism, purse: LedgerPurse | None = None) -> TraceMechanism:
        """The trace that they describe."""
        return TraceMechanism.of(made, self.budget, test=self.test, threshold=self.threshold, purse=purse)


def _listed(options: Iterable[str]) -> tuple[str, bool]:
    """Names of options in a sentence, and whether they are several."""
    *before, last = options
    return (f"{', '.join(before)} and {last}" if before else last), bool(before)


def position(text: str, what: str) -> tuple[str, str]:
    """LAT,LON as written."""
    found = _POSITION.fullmatch(text)
    if found is None:
        raise InputError(f'{what} "{text}" is not a position', hint="Write latitude,longitude in degrees: 48.86,2.29.")
    return found[1], found[2]


def mechanism(
    level: str,
    radius: str,
    *,
    grid: str | None = None,
    around: str | None = None,
    reach: str | None = None,
    zones: tuple[str, ...] = (),
) -> LocationMechanism:
    """The mechanism that options describe."""
    if reach is not None and around is None:
        raise InputError("--reach needs --around", hint="A worldwide grid has no centre to reach from.")
    discs = []
    for text in zones:
        head, comma, size = text.rpartition(",")
        if not comma:
            raise InputError(f'zone "{text}" is not understood', hint="Write latitude,longitude,metres.")
        discs.append(Zone(*position(head, "zone"), size))  # type: ignore[arg-type]  # decimals as written
    centre = None if around is None else position(around, "--around")
    return LocationMechanism.within(level, radius, around=centre, grid=grid, reach=reach or _REACH, zones=discs)


def run(order: ObfuscateOptions, of: TraceOptions, *, yes: bool, as_json: bool) -> None:
    """Do it, and say what was done."""
    if order.others not in (None, "drop", "refuse"):
        raise InputError(f'--others is drop or refuse, but is "{order.others}"')
    of.check()
    made = mechanism(
        order.level, order.radius, grid=order.grid, around=order.around, reach=order.reach, zones=order.zones
    )
    if order.is_position:
        _check_one(order, of)
        _one(order.source, made, of, as_json=as_json)
    elif order.out is None:
        raise InputError("where to write? name a file with -o", hint="Or give a position: 48.86,2.29.")
    else:
        _file(order, order.out, made, of, yes=yes, as_json=as_json)


def _check_one(order: ObfuscateOptions, of: TraceOptions) -> None:
    """Options that one position has no use for."""
    given = {
        "-o": order.out,
        "--lat": order.lat,
        "--lon": order.lon,
        "--keep": order.keep,
        "--others": order.others,
        "--person": of.person,
    }
    if any(value is not None for value in given.values()):
        words, many = _listed(name for name, value in given.items() if value is not None)
        raise InputError(f"{words} {'are' if many else 'is'} for a file of points, but IN is a position")
    if of.budget is not None and of.ledger is None:
        raise InputError(
            "--budget for one position needs --ledger",
            detail="Without a ledger the budget would end with this command.",
            hint="For example --ledger positions.ledger.",
        )


def _one(source: str, made: LocationMechanism, of: TraceOptions, *, as_json: bool) -> None:
    """One report; with a budget, the next one of the trace that the ledger keeps."""
    lat, lon = position(source, "IN")
    more: dict[str, Any] = {}
    if of.budget is None:
        seen = made.report(lat, lon)
    else:
        of.trace(made).check_first()
        made.frame.coordinates(np.array([float(lat)]), np.array([float(lon)]), None, refuse=False)
        with ExitStack() as stack:
            (step,) = _opened(stack, of, made).report_many([""], [float(lat)], [float(lon)])  # all its charges, or none
        if step.kind == HELD:
            raise BudgetError(
                "the location budget does not allow another report",
                detail=f"The budget is {of.budget}; sfumato geo budget shows what was spent.",
                hint="Keep the last report, or start a new budget deliberately.",
            )
        seen, more = (step.lat, step.lon), {"kind": step.kind, "spent": float(step.spent)}
    if as_json:
        print_json({"lat": seen[0], "lon": seen[1]} | settings(made) | more)
    else:
        tell([f"{seen[0]:.7f},{seen[1]:.7f}"])


def _file(
    order: ObfuscateOptions, out: Path, made: LocationMechanism, of: TraceOptions, *, yes: bool, as_json: bool
) -> None:
    source, names = Path(order.source), order.names
    check_apart(out, "-o", [source, of.ledger])
    check_apart(of.ledger, "--ledger", [source])
    every = names == ("all",)
    kept = () if every else names + ((of.person,) if of.person is not None and of.person not in names else ())
    choice = ColumnChoice(order.lat, order.lon, kept, every, order.others == "refuse", guess=yes or _asks())
    opened = open_points(source, choice)
    _check_columns(order, opened[0])
    _confirm(opened[0], yes=yes)
    with ExitStack() as stack:
        report = None
        if of.budget is not None:
            of.trace(made).check_first()
            check_file(source, out, made, choice, of.person)  # a bad row is refused before anything is spent
            report = _traced(_opened(stack, of, made), opened[0], of.person)
        progress = stack.enter_context(_progress())
        done = obfuscate_file(source, out, made, choice, progress=progress, report=report, opened=opened)
    _say(order, made, done, traced=report is not None, as_json=as_json)


def _check_columns(order: ObfuscateOptions, columns: Columns) -> None:
    """--lat and --lon name columns, and some formats have positions of their own."""
    given = {"--lat": (order.lat, columns.lat), "--lon": (order.lon, columns.lon)}
    unused = [option for option, (name, used) in given.items() if name is not None and name != used]
    if unused:
        words, many = _listed(unused)
        raise InputError(
            f"{words} name{'' if many else 's'} a column, but this format holds positions itself", hint="Leave it out."
        )


def _opened(stack: ExitStack, of: TraceOptions, made: LocationMechanism) -> TraceMechanism:
    """The trace, with its ledger where there is one.

    That a ledger has had another budget until now is said: raising it is a decision, not a matter of spelling.
    """
    if of.ledger is None:
        return of.trace(made)
    budget, before = of.trace(made).total, None
    if of.ledger.is_file() and of.ledger.stat().st_size:
        with LedgerPurse.visit(of.ledger) as purse:
            before = purse.budget
    trace = of.trace(made, stack.enter_context(LedgerPurse.open(of.ledger, _label(made), budget)))
    if before is not None and before != budget:
        way = "raised" if budget > before else "lowered"
        old, new = (f"{float(amount):.6g}" for amount in (before, budget))
        old, new = (old, new) if old != new else (show(before), show(budget))
        sys.stderr.write(f"Note: the budget of each person is {way} from {old} to {new}\n")
    return trace


def _label(made: LocationMechanism) -> str:
    """What a unit of a budget means, and which grid a remembered report lies on.

    Zones change neither, and a ledger must not name somebody's home.
    """
    return f"level {made.level} within {show(made.radius)} m, {getattr(made.frame, 'frame', made.frame)!r}"


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
        who = [""] * len(batch.lat) if person is None else persons_of(batch, columns, person)
        steps = trace.report_many(who, batch.lat, batch.lon)
        return np.array([step.lat for step in steps]), np.array([step.lon for step in steps])

    return report


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
