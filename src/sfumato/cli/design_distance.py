"""`sfumato design distance`: how far apart two distributions, or two databases, are."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sfumato.cli.design_common import tell
from sfumato.cli.design_problem import Problem, gather, points
from sfumato.design.distance import hamming_distance, histogram, l1_distance, pure_distance, skewed_distance
from sfumato.design.telling import document, name, say
from sfumato.errors import InputError
from sfumato.mechanisms.metrics import manhattan
from sfumato.server.terminal_output import print_json
from sfumato.types import as_written

Law = dict[Any, Fraction]


def run_distance(one: str, two: str | None, options: Problem, *, as_json: bool) -> None:
    """`design distance`."""
    problem = gather(one if two is None else None, options, "first")
    first, second = (one, two) if two is not None else (problem.get("first"), problem.get("second"))
    if first is None or second is None:
        raise InputError("a distance is one of two", hint='For example "a=1/2,b=1/2" "a=1/4,b=3/4".')
    laws = [_law(side) for side in (first, second)]
    found: dict[str, Any]
    if laws[0] is not None and laws[1] is not None:
        found = _of_laws(laws[0], laws[1], problem.get("epsilon"))
    elif laws[0] is None and laws[1] is None:
        found = _of_databases(_records(first), _records(second), problem)
    else:
        raise InputError("a law and a database have no distance")
    if as_json:
        print_json({key: document(value) for key, value in found.items()})
        return
    tell([f"{key.replace('_', ' ')} {value if isinstance(value, str) else say(value)}" for key, value in found.items()])


def _law(side: Any) -> Law | None:
    """a=1/2,b=1/2, or a table of TOML, as a law; None for anything else."""
    if isinstance(side, dict):
        pairs = [(str(value), chance) for value, chance in side.items()]
    elif isinstance(side, str) and "=" in side:
        pairs = [(part.partition("=")[0].strip(), part.partition("=")[2]) for part in side.split(",")]
    else:
        return None
    return {value: as_written(chance, f"the chance of {value}") for value, chance in pairs}


def _records(side: Any) -> list[Any]:
    return points(side) if side not in ("", []) else []


def _of_laws(one: Law, two: Law, epsilon: Any) -> dict[str, Any]:
    statistical, pure = skewed_distance(one, two), pure_distance(one, two)
    found: dict[str, Any] = {"statistical_distance": statistical.value, "on_the_event": _event(statistical.event)}
    found |= {"largest_ratio": pure.ratio, "at": name(pure.at), "epsilon": pure.nats}
    if epsilon is not None:
        found["skewed_distance"] = skewed_distance(one, two, epsilon).value
    return found


def _event(event: frozenset[Any]) -> str:
    return "{" + ", ".join(sorted(map(name, event))) + "}"


def _of_databases(one: Sequence[Any], two: Sequence[Any], problem: Problem) -> dict[str, Any]:
    found: dict[str, Any] = {"L1_distance_of_histograms": l1_distance(histogram(one), histogram(two))}
    if len(one) != len(two):
        return found
    found["Hamming_distance"] = hamming_distance(one, two)
    if all(isinstance(value, (int, Fraction)) for value in (*one, *two)):
        found["Manhattan_distance"] = manhattan(tuple(one), tuple(two))
        if "low" in problem and "high" in problem:
            width = as_written(problem["high"], "high") - as_written(problem["low"], "low")
            if width <= 0:
                raise InputError("high must be above low")
            found["normalised_Manhattan_distance"] = manhattan(tuple(one), tuple(two)) / width
    return found
