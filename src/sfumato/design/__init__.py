"""The design room: what a mechanism tells, what it is worth, and which one is best. Exact where mathematics is exact.

    from sfumato import design
    design.sensitivity("average", 0, 120, min_size=100)               how far one person moves an answer
    made = design.channel("geometric", range(11), epsilon=1)          the matrix of a mechanism; .epsilon("manhattan")
    design.posterior("uniform", made, 3)                              what is believed after an answer
    design.utility(made, "uniform", "distance")                       what an answer is worth, with the best remapping
    design.optimal("uniform", "distance", 1, "manhattan", inputs=range(11))     the best one, checked in whole numbers
    design.universal("count", size=10)                                whether geometric noise is best for everybody

Fractions give fractions back; powers of e are exact reals; what came as floats says that it is approximate. Importing
this room imports nothing else: each name is fetched from its file when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what `__getattr__` fetches, for type checkers and editors
    from sfumato.design.channels import channel as channel
    from sfumato.design.channels import table as table
    from sfumato.design.compose import after as after
    from sfumato.design.compose import cascade as cascade
    from sfumato.design.compose import deterministic as deterministic
    from sfumato.design.compose import pairs as pairs
    from sfumato.design.compose import parallel as parallel
    from sfumato.design.compose import reduced as reduced
    from sfumato.design.densities import laplace as laplace
    from sfumato.design.metrics import distances as distances
    from sfumato.design.metrics import grid as grid
    from sfumato.design.optimum import optimal as optimal
    from sfumato.design.people import told as told
    from sfumato.design.people import who as who
    from sfumato.design.posteriors import belief as belief
    from sfumato.design.posteriors import posterior as posterior
    from sfumato.design.refinement import refines as refines
    from sfumato.design.sensitivities import sensitivity as sensitivity
    from sfumato.design.sensitivities import swing as swing
    from sfumato.design.universality import universal as universal
    from sfumato.design.utilities import compare as compare
    from sfumato.design.utilities import curve as curve
    from sfumato.design.utilities import expected_gain as expected_gain
    from sfumato.design.utilities import utility as utility

_HOMES = {
    "sensitivity": "sensitivities",
    "swing": "sensitivities",
    "channel": "channels",
    "table": "channels",
    "laplace": "densities",
    "pairs": "compose",
    "cascade": "compose",
    "parallel": "compose",
    "deterministic": "compose",
    "after": "compose",
    "reduced": "compose",
    "refines": "refinement",
    "posterior": "posteriors",
    "belief": "posteriors",
    "who": "people",
    "told": "people",
    "utility": "utilities",
    "expected_gain": "utilities",
    "compare": "utilities",
    "curve": "utilities",
    "optimal": "optimum",
    "universal": "universality",
    "distances": "metrics",
    "grid": "metrics",
}
"""Every public name and the file that holds it. No file has the name of a function: the file would hide it."""

__all__ = [*_HOMES]  # noqa: PLE0604  the table is the list


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"sfumato.design.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'sfumato.design' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
