"""Location privacy: noisy positions with a proved level of protection.

    from sfumato import geo
    place = geo.within("ln 4", 200, around=(48.85, 2.35))      level ln 4 within 200 m, on a planar grid
    place.report(48.8584, 2.2945)                              one report
    geo.retrieve(place, interest=300).grid_radius              how far around a report to ask a service
    geo.trace(place, budget="20 ln 4").report("ana", 48.8, 2.3)     many positions of one person, with a budget
    geo.evaluate(geo.GridCells(9, 9)).rows                         mechanisms of equal loss against several adversaries

Positions are degrees, distances are metres. Each name is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what `__getattr__` fetches, for type checkers and editors
    from sfumato.geo.continuous import Discretisation as Discretisation
    from sfumato.geo.definitions import check_definitions as check_definitions
    from sfumato.geo.definitions import worst_prior as worst_prior
    from sfumato.geo.evaluation import evaluate as evaluate
    from sfumato.geo.evaluation import grid_optimum as grid_optimum
    from sfumato.geo.files import ColumnChoice as ColumnChoice
    from sfumato.geo.files import obfuscate_file as obfuscate_file
    from sfumato.geo.frames import Around as Around
    from sfumato.geo.frames import Worldwide as Worldwide
    from sfumato.geo.grid_channels import GridCells as GridCells
    from sfumato.geo.grid_channels import certified as certified
    from sfumato.geo.lattice_noise import LatticeNoise as LatticeNoise
    from sfumato.geo.mechanism import LocationMechanism as LocationMechanism
    from sfumato.geo.retrieval import demonstrate as demonstrate
    from sfumato.geo.retrieval import retrieve as retrieve
    from sfumato.geo.saved_places import SavedPlaces as SavedPlaces
    from sfumato.geo.traces import TraceMechanism as TraceMechanism
    from sfumato.geo.zones import Zone as Zone

    within, trace = LocationMechanism.within, TraceMechanism.of

_HOMES = {
    "LocationMechanism": "mechanism",
    "LatticeNoise": "lattice_noise",
    "Around": "frames",
    "Worldwide": "frames",
    "Zone": "zones",
    "TraceMechanism": "traces",
    "SavedPlaces": "saved_places",
    "retrieve": "retrieval",
    "demonstrate": "retrieval",
    "Discretisation": "continuous",
    "check_definitions": "definitions",
    "worst_prior": "definitions",
    "GridCells": "grid_channels",
    "certified": "grid_channels",
    "evaluate": "evaluation",
    "grid_optimum": "evaluation",
    "ColumnChoice": "files",
    "obfuscate_file": "files",
}

__all__ = [*_HOMES, "trace", "within"]  # noqa: PLE0604  the table is the list


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"sfumato.geo.{_HOMES[name]}"), name)
    if name in ("within", "trace"):
        home, kind, method = {
            "within": ("mechanism", "LocationMechanism", "within"),
            "trace": ("traces", "TraceMechanism", "of"),
        }[name]
        return getattr(getattr(import_module(f"sfumato.geo.{home}"), kind), method)
    raise AttributeError(f"module 'sfumato.geo' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
