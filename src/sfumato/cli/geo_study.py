"""`sfumato geo retrieve`, `evaluate` and `optimal`: what location privacy costs and what it hides."""

from __future__ import annotations

import csv
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from sfumato import pictures
from sfumato.cli.design_common import PlotTarget, grid_of, tell
from sfumato.cli.geo_obfuscate import mechanism, settings
from sfumato.errors import InputError
from sfumato.geo.cell_priors import read_prior
from sfumato.geo.evaluation import Evaluation, evaluate, grid_optimum
from sfumato.geo.files import ColumnChoice, read_positions
from sfumato.geo.grid_channels import GridCells
from sfumato.geo.retrieval import FARTHEST, demonstrate, retrieve
from sfumato.server.terminal_output import print_json

_BITS = 40


@dataclass(frozen=True)
class Service:
    """The command line of `geo retrieve`."""

    interest: str
    level: str
    radius: str
    confidence: str
    grid: str | None
    around: str | None
    reach: str | None
    places: Path | None
    users: Path | None
    most: int
    lat: str | None = None
    lon: str | None = None


def run_retrieve(service: Service, *, as_json: bool) -> None:
    """`geo retrieve`."""
    if (service.places is None) != (service.users is None):
        raise InputError("a trial needs both --places and --users")
    if service.most < 1:
        raise InputError("--most is at least 1")
    made = mechanism(service.level, service.radius, grid=service.grid, around=service.around, reach=service.reach)
    area = retrieve(made, service.interest, service.confidence)
    trial = None
    if service.places is not None and service.users is not None:
        choice = ColumnChoice(service.lat, service.lon)
        lat, lon = read_positions(service.users, choice)
        every = max(1, -(-len(lat) // max(1, service.most)))
        trial = demonstrate(made, area, read_positions(service.places, choice), (lat[::every], lon[::every]))
    if as_json:
        shown = asdict(area) | settings(made) | {"radius": area.radius, "protection_radius": float(made.radius)}
        if trial is not None:
            shown["trial"] = asdict(trial) | {"lost": trial.lost, "bandwidth": trial.bandwidth}
        print_json(shown)
        return
    kind = "planar" if made.frame.dimensions == 2 else "worldwide"
    lines = [
        f"request everything within {area.grid_radius:.1f} m of the report",
        f"with probability {area.confidence:g}, that covers everything within {area.interest:g} m of the true position",
        f"reports are on a {kind} grid of {float(made.frame.step):g} m",
        f"planar noise without a grid, as in the literature, needs {area.radius:.1f} m",
    ]
    if area.grid_radius == FARTHEST:
        lines.append("that is the whole earth: the level is too low, or the confidence too high, to save anything")
    if trial is not None:
        lines += [
            f"tried on {trial.queries} positions: recall {trial.recall:.4f}, nothing missed in {trial.complete:.1%}",
            f"{trial.received:.1f} places received for {trial.wanted:.1f} wanted ({trial.bandwidth:.1f} times)",
            f"{trial.lost:.2f} places lost for each query",
        ]
    tell(lines)


def prior_of(path: Path | None, cells: GridCells, names: tuple[str | None, str | None]) -> Any:
    """The prior of a file: weights if its first line is numbers, else points."""
    if path is None:
        return None
    if not path.exists():
        raise InputError(f'cannot use file "{path}": no such file', sqlstate="58P01")
    if path.suffix.lower() in (".csv", ".txt") and _is_numbers(path):
        return read_prior(path, cells)
    return read_prior(path, cells, read_positions(path, ColumnChoice(*names)))


def _is_numbers(path: Path) -> bool:
    with path.open(newline="", encoding="utf-8-sig") as file:
        first = next(csv.reader(file), [])
    try:
        return bool([float(entry) for entry in first if entry.strip()])
    except ValueError:
        return False


def run_evaluate(
    grid: str, side: int, prior: Path | None, names: tuple[str | None, str | None], *, svg: Path | None, as_json: bool
) -> None:
    """`geo evaluate`."""
    target = PlotTarget(plot=False, svg=svg, read=prior)
    cells = GridCells.parse(grid)
    if side < 1 or side > max(cells.width, cells.height):
        raise InputError("--side is at least 1 and not larger than the grid")
    weights = prior_of(prior, cells, names)
    given = None if weights is None else {"uniform": np.full(cells.count, 1 / cells.count), "given": weights}
    done = evaluate(cells, side=side, priors=given)
    target.file(_picture(done) if svg is not None else "")
    if as_json:
        rows = [asdict(row) | {"epsilon": None if row.epsilon is None else float(row.epsilon)} for row in done.rows]
        print_json({"grid": grid, "loss": done.loss, "rows": rows, "remarks": done.remarks})
        return
    grid_of(
        ("prior", "mechanism", "loss", "loss here", "adversary's error", "planar's", "Bayes error", "epsilon"),
        [
            [
                row.prior,
                row.mechanism,
                f"{row.loss:.4f}",
                f"{row.loss_here:.4f}",
                f"{row.adversary_error:.4f}",
                "–" if row.planar_error is None else f"{row.planar_error:.4f}",
                f"{row.bayes_error:.3f}",
                "–" if row.epsilon is None else f"{float(row.epsilon):.4f}",
            ]
            for row in done.rows
        ],
    )
    units = "loss and error in cells; epsilon per cell, certified; – where no epsilon holds"
    losses = "loss: the one that a mechanism was made for; loss here: under the prior of the row"
    tell([units, losses, "planar's: the error against planar noise with the loss here of the row", *done.remarks])


def _picture(done: Evaluation) -> str:
    """Both errors of every mechanism, by prior; dummies, whose users lose nothing, without bars below."""
    groups, dummies = [], []
    for prior in dict.fromkeys(row.prior for row in done.rows):
        rows = [row for row in done.rows if row.prior == prior]
        shown = [(row.mechanism, (row.adversary_error, row.bayes_error)) for row in rows if row.loss > 0]
        groups.append(pictures.BarGroup(f"prior {prior}", shown))
        dummies += [(f"prior {prior}", (row.adversary_error, row.bayes_error)) for row in rows if row.loss == 0]
    name = next((row.mechanism for row in done.rows if row.loss == 0), "")
    last = [pictures.BarGroup(f"{name}: the price is bandwidth, not loss", dummies, bars=False)] if dummies else []
    columns = ("error in cells", "Bayes error")
    return pictures.grouped_bars([*groups, *last], columns, title="What an adversary who knows the prior gets wrong")


def run_optimal(
    grid: str, epsilon: str, prior: Path | None, names: tuple[str | None, str | None], *, as_json: bool
) -> None:
    """`geo optimal`."""
    cells = GridCells.parse(grid)
    weights = prior_of(prior, cells, names)
    made = grid_optimum(cells, epsilon, "uniform" if weights is None else _fractions(weights))
    loss, bound = -made.utility, -made.bound
    if as_json:
        certificate = made.certificate
        print_json(
            {"grid": grid, "epsilon": epsilon, "loss": float(loss), "bound": float(bound), "certificate": certificate}
        )
        return
    tell(
        [
            f"expected distance {float(loss):.6f} cells; none with this epsilon has less than {float(bound):.6f}",
            f"epsilon {made.level} per cell holds for every pair of cells and every report: checked in whole numbers",
        ]
    )


def _fractions(weights: Any) -> list[Fraction]:
    """Weights as fractions of 2^-40 that add up to 1."""
    whole = [round(float(w) * (1 << _BITS)) for w in weights]
    whole[int(np.argmax(weights))] += (1 << _BITS) - sum(whole)
    return [Fraction(n, 1 << _BITS) for n in whole]
