"""Continuous planar Laplace noise, rounded to a grid: for comparison only.

Drawing an angle and a radius in floats and rounding to a grid is not private at the epsilon of the noise: cells have
different shapes in polar coordinates. Two published corrections say which level is obtained from an inner epsilon; both
are solved here for the inner one. Neither covers a radius drawn by inverting its distribution function from 53 bits,
whose last values lie far apart. The mechanism of this package needs none of this: its noise is drawn on the grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, log, log1p, pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.design.level import as_level
from sfumato.errors import InputError
from sfumato.sampling import source
from sfumato.types import positive

FORMS = ("lecture", "ccs13")


@dataclass(frozen=True)
class Discretisation:
    """A grid with steps u <= v in metres, reports at most `r_max` metres away, angles in multiples of `angle`."""

    u: float
    r_max: float
    angle: float = 2 * pi * 2.0**-53
    v: float | None = None

    @property
    def q(self) -> float:
        """The smaller grid step over the longest arc between two angles."""
        return self.u / (self.r_max * self.angle)

    def achieved(self, inner: float, form: str = "lecture") -> float:
        """The actual level per metre of noise with this epsilon; infinite where the form does not apply."""
        q = self.q
        if form == "ccs13":
            grown = 2 * exp(min(inner * self.u, 700))
            return inner + log((q + grown) / (q - grown)) / self.u if q > grown else inf
        if form != "lecture":
            raise InputError(f'"{form}" is not a form of the correction', hint=f"One of: {', '.join(FORMS)}.")
        grown = 3 * exp(min(inner * (self.v or self.u) * sqrt(2), 700))
        return inner + log1p((grown + 3) / (q - 5)) / self.u if q > 5 else inf

    def inner(self, wanted: Any, form: str = "lecture") -> float:
        """The largest epsilon of the noise that gives the wanted level, by bisection; refused where there is none."""
        level = float(as_level(wanted).epsilon)
        if not self.achieved(0.0, form) < level:
            raise InputError(
                "no noise gives this level on this grid",
                detail=f"Rounding alone gives {self.achieved(0.0, form):.6g} per metre; {level:.6g} was asked.",
                hint="Use a coarser grid, a smaller region or finer angles; or the exact mechanism, which needs none.",
            )
        low, high = 0.0, level
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if self.achieved(middle, form) <= level else (low, middle)
        return low


def sample_rounded(epsilon: Any, step: Any, count: int) -> NDArray[np.int64]:
    """Polar Laplace noise in floats, rounded to a grid of this step: grid points as rows. Not a private mechanism."""
    scale, size = 1 / float(as_level(epsilon).epsilon), float(positive(step, "grid"))
    words = source().take(3 * count, 64).astype(np.float64).reshape(3, count) + 0.5
    radius = -scale * np.log(words[0] * 2.0**-64 * (words[1] * 2.0**-64))
    theta = 2 * np.pi * words[2] * 2.0**-64
    return np.rint(np.stack([radius * np.cos(theta), radius * np.sin(theta)], axis=1) / size).astype(np.int64)
