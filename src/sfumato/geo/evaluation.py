"""The lecture's comparison: mechanisms of equal loss on a small grid, against adversaries with several priors.

Every mechanism is configured so that a user with the uniform prior loses the same: the expected distance between the
true cell and the reported one. Then adversaries who know a prior guess the true cell, as well as it can be guessed.
Users with that prior lose more or less than this; so each mechanism is also compared with the planar noise at which
they lose as much as with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sfumato.design.metrics import grid
from sfumato.design.optimum import Optimum, optimal
from sfumato.errors import InputError
from sfumato.geo.cell_priors import shaped_priors
from sfumato.geo.grid_channels import (
    GridCells,
    adversary_error,
    bayes_error,
    calibrate_planar,
    certified,
    certified_rows,
    cloaking,
    expected_loss,
    fractions_of_logs,
    planar,
    planar_logs,
    solve_loss,
)
from sfumato.geo.mechanism import sized_level
from sfumato.geo.shokri import INTERIOR, VERTEX, optimal_for_prior
from sfumato.sampling import sample_uniform

Floats = NDArray[np.float64]
_SAMPLES = 3000
_SAME = 1e-6
PLANAR, CLOAKING, BEST = "planar", "cloaking", "geo-indistinguishable optimum"
FOR_PRIOR, PLANAR_HERE = "optimal for the prior", "planar for the prior"
FOR_UNIFORM, FOR_UNIFORM_2 = "optimal for uniform (vertex)", "optimal for uniform (interior)"


@dataclass(frozen=True)
class Scored:
    """One mechanism against one adversary. `loss` is that of the uniform prior (of the prior itself for the mechanisms
    made for it), `loss_here` that of the adversary's prior. `planar_error` is the adversary's error against planar
    noise of the same `loss_here`; None: there is none. `epsilon` per cell is certified; None: there is none.
    """

    prior: str
    mechanism: str
    loss: float
    loss_here: float
    adversary_error: float
    bayes_error: float
    epsilon: Fraction | None
    planar_error: float | None = None


@dataclass(frozen=True)
class Evaluation:
    """All rows, and what they say about the lecture's ordering."""

    cells: GridCells
    loss: float
    rows: tuple[Scored, ...]

    def row(self, prior: str, mechanism: str) -> Scored:
        """The row of a mechanism against an adversary."""
        return next(row for row in self.rows if (row.prior, row.mechanism) == (prior, mechanism))

    @property
    def remarks(self) -> list[str]:
        """Where the lecture's ordering holds and where it does not."""
        lines = []
        for prior in dict.fromkeys(row.prior for row in self.rows):
            ours = self.row(prior, PLANAR)
            others = [self.row(prior, name) for name in (CLOAKING, FOR_UNIFORM, FOR_UNIFORM_2)]
            for row in others:
                above = row.adversary_error > ours.adversary_error + _SAME
                if above or _hides_more(row):
                    what = "does not hold" if above else "holds, but not at equal loss"
                    errors = f"{_error(row)}, {_error(ours)}"
                    lines.append(f"prior {prior}: the lecture's ordering {what}: {errors}; {_at_equal_loss(row)}")
        spread = [
            abs(self.row(p, FOR_UNIFORM).adversary_error - self.row(p, FOR_UNIFORM_2).adversary_error)
            for p in dict.fromkeys(row.prior for row in self.rows)
        ]
        lines.append(
            "Shokri's optimum for the uniform prior is degenerate: its linear program has many solutions of the same "
            f"value, two of which differ by up to {max(spread):.3f} in the adversary's error under another prior"
        )
        dummies = next((row.mechanism for row in self.rows if row.mechanism.endswith(" dummies")), None)
        if dummies is not None:
            lines.append(f"{dummies}: the service answers for every reported cell, so the price is bandwidth, not loss")
        return lines


def _error(row: Scored) -> str:
    return f"{row.mechanism} has error {row.adversary_error:.3f} at loss {row.loss_here:.3f}"


def _hides_more(row: Scored) -> bool:
    return row.planar_error is not None and row.adversary_error > row.planar_error + _SAME


def _at_equal_loss(row: Scored) -> str:
    if row.planar_error is None:
        return f"no planar noise has loss {row.loss_here:.3f}"
    kind = "better" if _hides_more(row) else "not better"
    return f"{kind} than planar noise of loss {row.loss_here:.3f}, whose error is {row.planar_error:.3f}"


@dataclass(frozen=True, eq=False)
class _Tried:
    """A mechanism, the loss that it was made for, and its certified epsilon."""

    table: Floats
    loss: float
    epsilon: Fraction | None

    @classmethod
    def of(cls, cells: GridCells, table: Floats, prior: Floats) -> _Tried:
        return cls(table, expected_loss(table, prior, cells.distance), certified(cells, table))

    @classmethod
    def of_planar(cls, cells: GridCells, epsilon: float, prior: Floats) -> _Tried:
        """Some of its probabilities are those of no float."""
        logs = planar_logs(cells, epsilon)
        table = np.exp(logs)
        rows = fractions_of_logs(logs)
        return cls(table, expected_loss(table, prior, cells.distance), certified_rows(cells, rows))


def evaluate(cells: GridCells, *, side: int = 3, priors: Mapping[str, Floats] | None = None) -> Evaluation:
    """The whole comparison at the loss of cloaking with zones of side times side cells."""
    uniform, distance = np.full(cells.count, 1 / cells.count), cells.distance
    zones = cloaking(cells, side)
    loss = expected_loss(zones, uniform, distance)
    if loss <= 0:
        raise InputError("zones of one cell hide nothing", hint="Use a larger --side.")
    against = dict(priors or shaped_priors(cells, side))
    tables = {
        CLOAKING: zones,
        FOR_UNIFORM: optimal_for_prior(cells, uniform, loss, VERTEX),
        FOR_UNIFORM_2: optimal_for_prior(cells, uniform, loss, INTERIOR),
    }
    tried = {name: _Tried.of(cells, table, uniform) for name, table in tables.items()}
    tried[PLANAR] = _Tried.of_planar(cells, calibrate_planar(cells, loss, uniform), uniform)
    tried[BEST] = _Tried.of(cells, _optimum_of_loss(cells, loss), uniform)
    rows = []
    for prior, weights in against.items():
        own = _Tried.of(cells, optimal_for_prior(cells, weights, loss), weights)
        here = _planar_here(cells, loss, weights)
        made = {**tried, FOR_PRIOR: own} | ({} if here is None else {PLANAR_HERE: here})
        rows += [
            _beside_planar(_scored(prior, name, one, weights, cells), weights, cells) for name, one in made.items()
        ]
        rows.append(_dummies(prior, weights, cells, side * side))
    return Evaluation(cells, loss, tuple(rows))


def _planar_here(cells: GridCells, loss: float, weights: Floats) -> _Tried | None:
    """Planar noise that loses this much under this prior; None: no noise of this kind does."""
    epsilon = _planar_epsilon(cells, loss, weights)
    return None if epsilon is None else _Tried.of_planar(cells, epsilon, weights)


def _planar_epsilon(cells: GridCells, loss: float, weights: Floats) -> float | None:
    if loss <= _SAME:
        return None
    try:
        epsilon = calibrate_planar(cells, loss, weights)
    except InputError:  # it would have to be much wider than the grid
        return None
    return epsilon if abs(expected_loss(planar(cells, epsilon), weights, cells.distance) - loss) < _SAME else None


def _beside_planar(row: Scored, weights: Floats, cells: GridCells) -> Scored:
    """The row, compared with planar noise of the same loss under its prior."""
    if row.mechanism in (PLANAR, PLANAR_HERE):
        return replace(row, planar_error=row.adversary_error)
    epsilon = _planar_epsilon(cells, row.loss_here, weights)
    if epsilon is None:
        return row
    return replace(row, planar_error=adversary_error(planar(cells, epsilon), weights, cells.distance))


def _scored(prior: str, name: str, tried: _Tried, weights: Floats, cells: GridCells) -> Scored:
    table = tried.table
    return Scored(
        prior,
        name,
        tried.loss,
        expected_loss(table, weights, cells.distance),
        adversary_error(table, weights, cells.distance),
        bayes_error(table, weights),
        tried.epsilon,
    )


def _dummies(prior: str, weights: Floats, cells: GridCells, k: int) -> Scored:
    """Location k-anonymity: the true cell among k - 1 others drawn uniformly, estimated from random reports.

    The service answers for all k cells, so that the user loses nothing but bandwidth. Given a set of reported cells the
    posterior is the prior within the set: dummies hide nothing from those who know where people are.
    """
    k = min(k, cells.count)
    true = np.searchsorted(np.cumsum(weights), (np.arange(_SAMPLES) + 0.5) / _SAMPLES).clip(0, cells.count - 1)
    order = np.argsort(np.asarray(sample_uniform(1 << 60, _SAMPLES * cells.count)).reshape(_SAMPLES, -1), axis=1)
    rest = np.array([row[row != x][: k - 1] for row, x in zip(order, true, strict=True)])
    members = np.sort(np.concatenate([true[:, None], rest.astype(np.int64)], axis=1), axis=1)
    belief = weights[members]
    belief /= belief.sum(axis=1, keepdims=True)
    guess = np.einsum("gsk,sk->gs", cells.distance[:, members], belief).argmin(axis=0)
    error = float(cells.distance[guess, true].mean())
    likeliest = members[np.arange(_SAMPLES), belief.argmax(axis=1)]
    return Scored(prior, f"{k} dummies", 0.0, 0.0, error, float((likeliest != true).mean()), None)


def grid_optimum(cells: GridCells, epsilon: object, prior: object = "uniform") -> Optimum:
    """The geo-indistinguishable mechanism with the least expected distance, with its certificate."""
    points = grid(cells.width, cells.height)
    return optimal(prior, "loss", sized_level(epsilon), "euclidean", inputs=points)  # type: ignore[arg-type]  # as a person wrote it


def _optimum_of_loss(cells: GridCells, loss: float) -> Floats:
    """The optimum for the uniform prior whose loss is this one, within 1e-4."""
    made: list[Optimum] = []

    def lost(epsilon: float) -> float:
        made.append(grid_optimum(cells, Fraction(round(epsilon * 10**6), 10**6)))
        return -float(made[-1].utility)

    solve_loss(lost, loss, 1.45 / loss, 1e-4)
    return np.array([[float(p) for p in row] for row in made[-1].channel.matrix])
