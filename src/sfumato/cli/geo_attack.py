"""`sfumato geo attack`: do the last digits of a report reveal the true position?"""

from __future__ import annotations

from pathlib import Path
from secrets import randbelow

import numpy as np
import typer

from sfumato.attacks import location
from sfumato.attacks.location import Accusation, Residual
from sfumato.cli.design_common import grid_of, tell
from sfumato.cli.geo_obfuscate import mechanism
from sfumato.errors import InputError
from sfumato.geo.files import ColumnChoice, read_positions
from sfumato.geo.mechanism import sized_level
from sfumato.server.terminal_output import print_json
from sfumato.types import sized

_PLACE = (48.8584, 2.2945)
_SURELY = 1e-6
"""Hits that somebody who guesses has less often than this are an identification."""
OURS, ROUNDED, FILE = "this mechanism", "rounded inverse", "reports of the file"


def run_attack(
    level: str,
    radius: str,
    trials: int,
    reports: Path | None,
    users: Path | None,
    *,
    names: tuple[str | None, str | None] = (None, None),
    as_json: bool,
) -> None:
    """Attack this mechanism and a known bad one, or the reports of a file."""
    if (reports is None) != (users is None):
        raise InputError("an attack on a file needs both --reports and --users")
    if not 1 <= trials <= 100_000:
        raise InputError("--trials is between 1 and 100000")
    epsilon = float(sized_level(level).over(sized(radius, "radius")).epsilon)
    if reports is not None and users is not None:
        found = {FILE: _of_files(reports, users, ColumnChoice(*names), _measures(epsilon, []), trials)}
    else:
        found = _of_mechanisms(level, radius, epsilon, trials)
    _say(found, as_json=as_json)
    target = FILE if FILE in found else OURS
    if found[target].by_chance < _SURELY:
        raise typer.Exit(1)


def _measures(epsilon: float, more: list[Residual]) -> list[Residual]:
    """What is known to go wrong: radii rounded at six decimals, and offsets rounded in degrees."""
    return [location.decimals_of_radius(epsilon), *(location.decimals_of_offset(10.0**-d) for d in (4, 5, 6, 7)), *more]


def _of_mechanisms(level: str, radius: str, epsilon: float, trials: int) -> dict[str, Accusation]:
    made = mechanism(level, radius)
    among = location.candidates(*_PLACE)
    true = [randbelow(len(among[0])) for _ in range(trials)]
    inner = [
        location.decimals_of_radius(float(made.inner.epsilon)),
        location.decimals_of_radius(1, float(made.frame.step)),
    ]
    ours = [location.precision(made.report, measure, true, among) for measure in _measures(epsilon, inner)]
    bad = location.precision(location.rounded_inverse(epsilon), location.decimals_of_radius(epsilon), true, among)
    return {ROUNDED: bad, OURS: max(ours, key=lambda one: one.identified)}


def _of_files(reports: Path, users: Path, choice: ColumnChoice, measures: list[Residual], trials: int) -> Accusation:
    seen, true = read_positions(reports, choice), read_positions(users, choice)
    if len(seen[0]) != len(true[0]):
        raise InputError(
            "the two files do not have the same number of rows",
            detail=f"There are {len(seen[0])} reports and {len(true[0])} true positions.",
            hint="Each report must be in the same row as its true position.",
        )
    rows = np.unique(np.linspace(0, len(true[0]) - 1, min(trials, len(true[0]))).astype(np.int64))
    known, given = ((lat[rows], lon[rows]) for lat, lon in (true, seen))
    return max((location.accuse(known, given, measure) for measure in measures), key=lambda one: one.identified)


def _say(found: dict[str, Accusation], *, as_json: bool) -> None:
    if as_json:
        targets = [
            {
                "target": name,
                "trials": one.trials,
                "identified": one.identified,
                "candidates": one.candidates,
                "by_chance": one.by_chance,
            }
            for name, one in found.items()
        ]
        print_json({"targets": targets})
        return
    grid_of(
        ("target", "reports", "identified", "a guess would", "p"),
        [
            [name, str(one.trials), str(one.identified), f"{one.blind:.2f}", f"{one.by_chance:.2g}"]
            for name, one in found.items()
        ],
    )
    candidates = next(iter(found.values())).candidates
    tell(
        [
            f"each report: one of {candidates} candidates, 11 m apart, is claimed to be the true position",
            f"p: how probably a guess identifies as many; below {_SURELY:g} positions are identified (exit code 1)",
            "a larger p shows nothing, in either direction: several digits are tried, and the best attempt is printed",
        ]
    )
