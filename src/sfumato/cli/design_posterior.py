"""`sfumato design posterior`: beliefs after answers; or who has a secret, where a problem is about people."""

from __future__ import annotations

from typing import Any

from sfumato import pictures
from sfumato.cli.design_common import APPROXIMATE, PlotTarget, grid_of, make, tell
from sfumato.cli.design_problem import Problem, gather
from sfumato.design.people import told, who
from sfumato.design.plot import bars
from sfumato.design.posteriors import Belief, belief
from sfumato.design.telling import document, name, say, short
from sfumato.errors import InputError
from sfumato.server.terminal_output import print_json


def run_posterior(what: str | None, options: Problem, *, drawn: PlotTarget, as_json: bool) -> None:
    """`design posterior`."""
    problem = gather(what, options, "mechanism")
    if "people" in problem:
        _people(problem, drawn, as_json=as_json)
        return
    made = make(problem)
    found = belief(problem.get("prior", "uniform"), made, *problem.get("seen", ()))
    if as_json:
        print_json(_belief_document(found))
        return
    _show_belief(found)
    drawn.lines(bars([name(x) for x in found.posterior], [float(p) for p in found.posterior.values()]))
    drawn.file(_belief_picture(found))


def _belief_document(found: Belief) -> dict[str, Any]:
    """A belief for programs."""
    each = {
        name(x): {
            "prior": document(found.prior[x]),
            "posterior": document(p),
            "low": document(found.low(x)),
            "high": document(found.high(x)),
        }
        for x, p in found.posterior.items()
    }
    return {"inputs": each, "chance": document(found.chance), "approximate": found.approximate}


def _show_belief(found: Belief) -> None:
    """A belief for people."""
    rows = [
        [name(x), short(found.prior[x]), say(p), short(found.low(x)), short(found.high(x))]
        for x, p in found.posterior.items()
    ]
    grid_of(("input", "prior", "posterior", "at least", "at most"), rows)
    bound = "none" if found.ratio is None else short(found.ratio)
    lines = [
        f"the observation has probability {say(found.chance)}; the odds of an input move by a factor of at most {bound}"
    ]
    tell(lines + ([APPROXIMATE] if found.approximate else []))


def _belief_picture(found: Belief) -> str:
    """Prior and posterior side by side."""
    return pictures.neighbours(
        [name(x) for x in found.prior],
        [float(p) for p in found.prior.values()],
        [float(p) for p in found.posterior.values()],
        epsilon=None,
        title="Belief before and after",
        axis="input",
        labels=("prior", "posterior"),
    )


def _people(problem: Problem, drawn: PlotTarget, *, as_json: bool) -> None:
    """Who has the secret: a line for each person."""
    people = [str(person) for person in problem["people"]]
    answers = []
    for answer in problem.get("answers", ()):
        if "query" not in answer or "values" not in answer or len(answer.get("seen", ())) != 1:
            raise InputError("an answer about people needs query, values and seen")
        words = {key: value for key, value in answer.items() if key != "query"}
        noise = make(words) if "table" in answer or "mechanism" in answer else None
        answers.append(told(answer["query"], answer["values"], noise, answer["seen"][0]))
    found = who(len(people), answers, problem.get("each", "1/2"), problem.get("having"))
    rows = []
    for i, person in enumerate(people):
        before, after = found.of(lambda world, i=i: world[i])  # type: ignore[misc]  # one lambda for each person
        low, high = found.bounds(before)
        rows.append((person, before, after, low, high))
    if as_json:
        keys = ("prior", "posterior", "low", "high")
        print_json({row[0]: {key: document(value) for key, value in zip(keys, row[1:], strict=True)} for row in rows})
        return
    heads = ("has the secret", "prior", "posterior", "at least", "at most")
    grid_of(heads, [[row[0], short(row[1]), say(row[2]), short(row[3]), short(row[4])] for row in rows])
    bound = "by any factor" if found.ratio is None else f"by a factor of at most {short(found.ratio)}"
    tell([f"{len(found.prior)} worlds; the odds of any statement about them move {bound}"])
    drawn.lines(bars(people, [float(row[2]) for row in rows]))
