"""`sfumato design sensitivity` and `channel`: read the problem, call sfumato.design, print the result.

Comes in: words of the command line. Goes out: a few lines for people, or one document for programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sfumato import pictures
from sfumato.cli.design_common import APPROXIMATE, ASKED, WIDE, PlotTarget, grid_of, level_text, make, tell
from sfumato.cli.design_problem import Problem, function, gather, point
from sfumato.design.asking import shown
from sfumato.design.builders import LARGEST
from sfumato.design.compose import TellingPair, pairs
from sfumato.design.densities import LaplaceDensity, laplace
from sfumato.design.plot import bars, heat
from sfumato.design.sensitivities import swing
from sfumato.design.telling import decimal, document, name, say, short
from sfumato.errors import InputError
from sfumato.mechanisms import Channel, needed_epsilon
from sfumato.reals import Real
from sfumato.server.terminal_output import print_json
from sfumato.types import as_written


def run_sensitivity(what: str, options: Problem, *, as_json: bool) -> None:
    """`design sensitivity`."""
    problem = gather(what, options, "query")
    query = problem.get("query")
    if not isinstance(query, str):
        raise InputError("the problem names no query", hint='For example query = "average".')
    words = {key: problem[key] for key in ASKED if key in problem}
    found = swing(function(query) or query, problem.get("low"), problem.get("high"), **words)
    pair = None if found.databases is None else [shown(one) for one in found.databases]
    if as_json:
        shown_pair = None if pair is None else {"databases": pair, "answers": document(found.answers)}
        kind = {"sensitivity": document(found.value), "how": found.how, "pair": shown_pair}
        print_json(kind | {"approximate": found.approximate})
        return
    lines = [f"sensitivity {say(found.value)}", f"by {found.how}"]
    if pair is not None and found.answers is not None:
        lines.append(f"{pair[0]} gives {say(found.answers[0])}, {pair[1]} gives {say(found.answers[1])}")
    tell(lines + ([APPROXIMATE] if found.approximate else []))


def run_channel(what: str | None, options: Problem, *, every_pair: bool, drawn: PlotTarget, as_json: bool) -> None:
    """`design channel`."""
    problem = gather(what, options, "mechanism")
    if problem.get("mechanism") in ("laplace", "truncated-laplace"):
        return _densities(problem, drawn, as_json=as_json)
    if _is_large(problem) and not every_pair and "row" in problem:
        return _one_row(problem, drawn, as_json=as_json)
    made = make(problem)
    found = pairs(made, problem.get("metric"))
    if as_json:
        print_json(_channel_document(made, found, problem))
        return None
    _show_matrix(made, problem.get("row"))
    tell(_epsilon_lines(made, found, problem.get("metric")))
    if every_pair:
        grid_of(("inputs", "distance", "epsilon", "at output"), [_pair_row(made, pair) for pair in found])
    if "refines" in problem:
        tell(_refinement(made, make(problem, problem["refines"]), str(problem["refines"])))
    title = str(problem.get("mechanism", "A channel"))
    if "row" in problem:
        _draw_law(made, made.inputs.index(point(problem["row"])), title, drawn)
        return None
    drawn.lines(heat([name(x) for x in made.inputs], [[float(p) for p in row] for row in made.matrix]))
    drawn.file(made.picture(title))
    return None


def _is_large(problem: Problem) -> bool:
    """Whether a mechanism that is called by its name has too many entries to be written out."""
    plain = isinstance(problem.get("mechanism"), str) and not {"query", "beside", "then", "refines"} & problem.keys()
    inputs = problem.get("inputs") or []
    return plain and len(inputs) * len(problem.get("outputs") or inputs) > LARGEST


def _one_row(problem: Problem, drawn: PlotTarget, *, as_json: bool) -> None:
    """A row of a large channel, computed without the others but for the next, with which it is drawn."""
    inputs, x = problem["inputs"], point(problem["row"])
    if x not in inputs:
        raise InputError(f"{name(x)} is no input of this channel")
    at = inputs.index(x)
    made = make(problem, rows=[x, inputs[at + 1 if at + 1 < len(inputs) else at - 1]])
    if as_json:
        print_json({"input": document(x), "outputs": document(list(made.outputs)), "row": document(made.matrix[0])})
        return
    _show_matrix(made, problem["row"])
    tell([f"one row of {len(inputs)}: the epsilon of a channel of more than {LARGEST} entries is not computed"])
    _draw_law(made, 0, str(problem["mechanism"]), drawn, banded=False)


def _draw_law(made: Channel, x: int, title: str, drawn: PlotTarget, *, banded: bool = True) -> None:
    """The law of one input; in a file, beside that of the next, with what their epsilon allows where `banded`."""
    if not drawn.plot and drawn.svg is None:
        return
    law = [float(p) for p in made.matrix[x]]
    drawn.lines(bars([name(y) for y in made.outputs], law))
    beside = x + 1 if x + 1 < len(made.inputs) else max(0, x - 1)
    other = [float(p) for p in made.matrix[beside]]
    labels = (f"input {name(made.inputs[x])}", f"input {name(made.inputs[beside])}")
    places: list[int | str] = [y if isinstance(y, int) else name(y) for y in made.outputs]
    level = None
    if banded:
        needed = [found[1] for pair in ((x, beside), (beside, x)) if (found := made.ratio(*pair)) is not None]
        level = None if None in needed else needed_epsilon(max(filter(None, needed), default=Fraction(1)), Fraction(1))
    drawn.file(pictures.neighbours(places, law, other, epsilon=level, title=title, axis="output", labels=labels))


def _channel_document(made: Channel, found: list[TellingPair], problem: Problem) -> dict[str, Any]:
    each = [
        {
            "inputs": [document(pair.first), document(pair.second)],
            "distance": document(pair.distance),
            "ratio": document(pair.ratio),
            "output": document(pair.output),
            "epsilon": document(pair.epsilon),
        }
        for pair in found
    ]
    answer = {"inputs": document(list(made.inputs)), "outputs": document(list(made.outputs))}
    answer |= {"matrix": document(made.matrix), "pairs": each, "approximate": made.approximate}
    answer["epsilon"] = document(found[0].epsilon if found else Fraction(0))
    if "refines" in problem:
        from sfumato.design.refinement import refines

        verdict = refines(made, make(problem, problem["refines"]))
        factor = None if verdict.factor is None else document(verdict.factor.matrix)
        answer["refines"] = {"holds": verdict.holds, "factor": factor, "gain": document(verdict.gain)}
    return answer


def _show_matrix(made: Channel, row: Any) -> None:
    if row is not None:
        x = point(row)
        if x not in made.inputs:
            raise InputError(f"{name(x)} is no input of this channel")
        grid_of(
            ("output", f"input {name(x)}"), [_cells(y, p) for y, p in zip(made.outputs, _row(made, x), strict=True)]
        )
        return
    if len(made.outputs) > WIDE:
        tell([f"{len(made.inputs)} inputs, {len(made.outputs)} outputs: --row shows one, --json all"])
        return
    heads = ("input", *(name(y) for y in made.outputs))
    grid_of(heads, [[name(x), *(short(p) for p in row)] for x, row in zip(made.inputs, made.matrix, strict=True)])


def _row(made: Channel, x: Any) -> Sequence[Fraction | Real]:
    return made.matrix[made.inputs.index(x)]


def _cells(y: Any, p: Fraction | Real) -> list[str]:
    return [name(y), short(p)]


def _epsilon_lines(made: Channel, found: list[TellingPair], metric: Any) -> list[str]:
    if not found:
        return ["epsilon 0: there is one input"]
    worst = found[0]
    unit = "" if metric is None else f" for each unit of the {metric if isinstance(metric, str) else 'given'} distance"
    if worst.epsilon is None:
        lines = [f"no epsilon: {name(worst.first)} can give {name(worst.output)}, {name(worst.second)} cannot"]
    elif worst.output is None:
        lines = ["epsilon 0: all rows are equal"]
    else:
        at = f"{name(worst.first)} against {name(worst.second)} at output {name(worst.output)}"
        lines = [f"epsilon {level_text(made, worst)}{unit}: {at}"]
    return lines + ([APPROXIMATE] if made.approximate else [])


def _pair_row(made: Channel, pair: TellingPair) -> list[str]:
    return [f"{name(pair.first)}, {name(pair.second)}", short(pair.distance), level_text(made, pair), _output(pair)]


def _output(pair: TellingPair) -> str:
    return "–" if pair.output is None else name(pair.output)


def _refinement(first: Channel, second: Channel, other: str) -> list[str]:
    from sfumato.design.refinement import refines

    verdict = refines(first, second)
    if verdict.factor is not None:
        head = f"{other} is a post-processing of it, by the channel"
        return [head, *("  " + "  ".join(short(p) for p in row) for row in verdict.factor.matrix)]
    assert verdict.gain is not None
    assert verdict.utilities is not None
    worth = (
        f"utility {say(verdict.utilities[1])} against {say(verdict.utilities[0])} under the uniform prior and the gain"
    )
    rows = ("  " + "  ".join(short(g) for g in row) for row in verdict.gain)
    return [f"{other} is no post-processing of it: {worth}", *rows]


def _densities(problem: Problem, drawn: PlotTarget, *, as_json: bool) -> None:
    """Laplace noise, as densities: what a matrix cannot show."""
    cut = problem["mechanism"] == "truncated-laplace"
    inputs = problem.get("inputs") or []
    if not inputs or "epsilon" not in problem:
        raise InputError("a density needs --inputs, --epsilon and --at (where to show it)")
    if cut and not ("low" in problem and "high" in problem):
        raise InputError("a truncated density needs --low and --high")
    ends = (problem.get("low"), problem.get("high")) if cut else (None, None)
    law = laplace(problem.get("sensitivity", 1), problem["epsilon"], *ends)
    at = problem.get("at") or []
    if as_json:
        density = {name(y): {name(z): document(law.density(z, y)) for z in at} for y in inputs}
        both = {name(y): document(law.atoms(y)) for y in inputs} if cut else None
        print_json({"peak": document(law.peak), "density": density, "atoms": both})
        return
    c = f"c = {say(law.peak)}, rate {say(law.rate.epsilon)}"
    tell([f"density c e^(-rate |z - y|) with {c}" + (f", strictly between {ends[0]} and {ends[1]}" if cut else "")])
    rows = [[name(z), *(decimal(law.density(z, y)) for y in inputs), *_ratio(law, z, inputs)] for z in at]
    heads = ["z", *(f"y = {name(y)}" for y in inputs), *(["ratio"] if len(inputs) == 2 else [])]
    if cut:
        for end, which in zip(ends, (0, 1), strict=True):
            atoms = [law.atoms(y)[which] for y in inputs]
            shown_ratio = [decimal(atoms[0] / atoms[1])] if len(inputs) == 2 else []
            rows.insert(which * len(rows), [f"atom at {end}", *(decimal(p) for p in atoms), *shown_ratio])
    grid_of(heads, rows)
    if drawn.plot or drawn.svg is not None:
        _draw_densities(law, inputs, drawn)


def _draw_densities(law: LaplaceDensity, inputs: Sequence[Any], drawn: PlotTarget) -> None:
    """The densities over the range, or over eight scales beyond the answers."""
    beyond = 8 * law.sensitivity / law.level.below()
    low = min(inputs) - beyond if law.low is None else law.low
    high = max(inputs) + beyond if law.high is None else law.high
    at = sorted({*(low + (high - low) * Fraction(2 * i + 1, 240) for i in range(120)), *_peaks(law, inputs)})
    lines = [(f"y = {name(y)}", [(float(z), float(law.density(z, y))) for z in at]) for y in inputs[:5]]
    for title, line in lines:
        drawn.lines([title, *bars([f"{z:.4g}" for z, _ in line[::6]], [p for _, p in line[::6]])])
    drawn.file(pictures.curves(lines, title="Laplace densities", axis="z", measure="density"))


def _peaks(law: LaplaceDensity, inputs: Sequence[Any]) -> list[Fraction]:
    """The inputs at which a density is largest: within the range of a truncated one."""
    places = [as_written(y, "input") for y in inputs]
    return [y for y in places if (law.low is None or law.low < y) and (law.high is None or y < law.high)]


def _ratio(law: LaplaceDensity, z: Any, inputs: Sequence[Any]) -> list[str]:
    if len(inputs) != 2:
        return []
    first, second = (law.density(z, y) for y in inputs)
    nothing = not isinstance(second, Real) and second == 0
    return ["–" if nothing else decimal(first / second)]
