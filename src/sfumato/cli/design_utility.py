"""`sfumato design utility`: the utility of an answer, compared and plotted."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sfumato import pictures
from sfumato.cli.design_common import APPROXIMATE, MADE, WIDE, PlotTarget, grid_of, level_text, make, tell
from sfumato.cli.design_problem import Problem, gather
from sfumato.design.compose import worst_pair
from sfumato.design.plot import bars
from sfumato.design.telling import document, name, say
from sfumato.design.utilities import Utility, curve, utility
from sfumato.errors import InputError
from sfumato.mechanisms import Channel
from sfumato.server.terminal_output import print_json
from sfumato.types import as_written


def run_utility(what: str | None, options: Problem, *, drawn: PlotTarget, as_json: bool) -> None:
    """`design utility`."""
    problem = gather(what, options, "mechanism")
    prior, gain = problem.get("prior", "uniform"), problem.get("gain", "identity")
    guesses = problem.get("guesses")
    made = make(problem)
    found = utility(made, prior, gain, guesses=guesses)
    others = [word.strip() for word in str(problem.get("compare", "")).split(",") if word.strip()]
    beside = {word: make(problem, word) for word in others}
    worth = {word: utility(one, prior, gain, guesses=guesses) for word, one in beside.items()}
    if as_json:
        table = {word: utility_document(one) for word, one in worth.items()}
        print_json(utility_document(found) | ({"compare": table} if others else {}))
        return
    tell(_utility_lines(found))
    if others:
        mine = str(problem.get("mechanism", "the table"))
        metric = problem.get("metric")
        rows = [_compared(mine, made, found, metric)]
        rows += [_compared(word, one, worth[word], metric) for word, one in beside.items()]
        grid_of(("mechanism", "epsilon", "utility"), rows)
    if drawn.plot or drawn.svg is not None:
        _draw_curves([str(problem.get("mechanism", "")), *others], problem, drawn)


def _compared(word: str, made: Channel, found: Utility, metric: Any) -> list[str]:
    worst = worst_pair(made, metric)
    return [word, "0" if worst is None else level_text(made, worst), say(found.gain)]


def utility_document(found: Utility) -> dict[str, Any]:
    """A utility for programs."""
    return {
        "utility": document(found.gain),
        "remap": [[document(z), document(w)] for z, w in found.remap.items()],
        "without": document(found.without),
        "guess": document(found.guess),
        "additive_leakage": document(found.additive),
        "multiplicative_leakage": document(found.multiplicative),
        "approximate": found.approximate,
    }


def _utility_lines(found: Utility) -> list[str]:
    moved = [f"{name(z)} as {name(w)}" for z, w in found.remap.items() if name(z).lstrip("<>=") != name(w)]
    first = "take every answer as it is" if not moved else "read " + ", ".join(moved[:WIDE])
    more = f" and {len(moved) - WIDE} more" if len(moved) > WIDE else ""
    ratio = found.multiplicative
    return [
        f"utility {say(found.gain)}",
        f"best remapping: {first}{more}",
        f"without an answer {say(found.without)}, by guessing {name(found.guess)}",
        f"leakage {say(found.additive)} more" + ("" if ratio is None else f", {say(ratio)} times as much"),
        *([APPROXIMATE] if found.approximate else []),
    ]


def _draw_curves(words: Sequence[str], problem: Problem, drawn: PlotTarget) -> None:
    """The utility over epsilon, from a tenth of it to three times, for each mechanism."""
    if not words[0] or "inputs" not in problem:
        raise InputError("a curve over epsilon needs a mechanism that is called by its name")
    top = 3 * as_written(problem["epsilon"], "epsilon") if _plain(problem.get("epsilon")) else Fraction(3)
    levels = [top * i / 20 for i in range(1, 21)]
    options = {key: problem[key] for key in MADE if key in problem and key != "epsilon"}
    prior, gain = problem.get("prior", "uniform"), problem.get("gain", "identity")
    lines = [(word, curve(word, problem["inputs"], levels, prior, gain, **options)) for word in words]
    for word, line in lines:
        drawn.lines(
            [f"{word}: utility by epsilon", *bars([f"{float(e):.3g}" for e, _ in line], [float(u) for _, u in line])]
        )
    floats = [(word, [(float(e), float(u)) for e, u in line]) for word, line in lines]
    drawn.file(pictures.curves(floats, title="Utility", axis="epsilon", measure="utility"))


def _plain(epsilon: Any) -> bool:
    return epsilon is not None and "ln" not in str(epsilon)
