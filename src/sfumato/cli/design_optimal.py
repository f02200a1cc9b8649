"""`sfumato design optimal` and `universal`: the best mechanism, and whether geometric noise is best for everybody."""

from __future__ import annotations

from typing import Any

from sfumato.cli.design_common import APPROXIMATE, ASKED, WIDE, PlotTarget, grid_of, tell
from sfumato.cli.design_problem import Problem, function, gather
from sfumato.design.optimum import Optimum, optimal
from sfumato.design.plot import heat
from sfumato.design.telling import document, name, say, short
from sfumato.design.universality import Universal, universal
from sfumato.errors import InputError
from sfumato.server.terminal_output import print_json


def run_optimal(what: str | None, options: Problem, *, drawn: PlotTarget, as_json: bool) -> None:
    """`design optimal`: what the command line calls metric is that of privacy; gains by distance are Euclidean."""
    if what is not None and not what.endswith(".toml"):
        raise InputError(f'"{what}" is no problem file', hint="Name a FILE.toml, or use options alone.")
    problem = gather(what, options, "mechanism")
    if "inputs" not in problem or "epsilon" not in problem:
        raise InputError("the best mechanism needs --inputs and --epsilon", hint="And --metric: 1 for any two if none.")
    found = optimal(
        problem.get("prior", "uniform"),
        problem.get("gain", "identity"),
        problem["epsilon"],
        problem.get("metric"),
        inputs=problem["inputs"],
        guesses=problem.get("guesses"),
    )
    if as_json:
        print_json(_optimum_document(found))
        return
    made = found.channel
    if len(made.outputs) <= WIDE:
        heads = ("input", *(name(y) for y in made.outputs))
        rows = zip(made.inputs, made.matrix, strict=True)
        grid_of(heads, [[name(x), *(f"{float(p):.4f}" for p in row)] for x, row in rows])
    else:
        tell([f"{len(made.inputs)} inputs, {len(made.outputs)} outputs: --json gives them all"])
    lines = [
        f"utility {float(found.utility):.6f}; no mechanism with this epsilon has more than {float(found.bound):.6f}",
        f"epsilon {found.level} holds for every pair of inputs and every output: checked in whole numbers",
    ]
    tell(lines + ([APPROXIMATE] if made.approximate else []))
    drawn.lines(heat([name(x) for x in made.inputs], [[float(p) for p in row] for row in made.matrix]))
    drawn.file(made.picture("The best mechanism"))


def _optimum_document(found: Optimum) -> dict[str, Any]:
    made = found.channel
    return {
        "utility": document(found.utility),
        "bound": document(found.bound),
        "inputs": document(list(made.inputs)),
        "outputs": document(list(made.outputs)),
        "matrix": document(made.matrix),
        "certificate": found.certificate,
        "approximate": made.approximate,
    }


def run_universal(what: str, options: Problem, *, as_json: bool) -> None:
    """`design universal`."""
    problem = gather(what, options, "query")
    query = problem.get("query")
    if not isinstance(query, str):
        raise InputError("the problem names no query", hint='For example query = "count".')
    words = {key: problem[key] for key in ASKED if key in problem}
    if "prior" in problem or "gain" in problem:
        words["users"] = [(problem.get("prior", "uniform"), problem.get("gain", "distance"))]
    level = problem.get("epsilon", "ln 2")
    found = universal(function(query) or query, problem.get("low"), problem.get("high"), epsilon=level, **words)
    if as_json:
        print_json(_universal_document(found))
        return
    shown = " – ".join(short(answer) for answer in found.answers[:WIDE])
    more = f" and {len(found.answers) - WIDE} more" if len(found.answers) > WIDE else ""
    pairs = "pair" if len(found.edges) == 1 else "pairs"
    tell([f"{len(found.answers)} answers, {len(found.edges)} {pairs} of neighbours, by {found.how}"])
    if found.path:
        tell(
            [
                f"a straight line: {shown}{more}",
                "geometric noise is best for every prior and every gain that falls with the distance",
            ]
        )
    else:
        tell(["no straight line: no mechanism is best for everybody"])
    rows = [[_user(u.prior), _user(u.gain), say(u.noise), f"{u.optimum:.6f}", _lost(u.gap)] for u in found.users]
    grid_of(("prior", "gain", "noise, remapped", "best", "lost"), rows)


def _lost(gap: float) -> str:
    """The bound is a proof, and a proof in whole numbers stops a hair above the optimum."""
    return "< 1e-6" if gap < 1e-6 else f"{gap:.4f}"


def _user(word: Any) -> str:
    return word if isinstance(word, str) else "given"


def _universal_document(found: Universal) -> dict[str, Any]:
    users = [
        {
            "prior": document(user.prior),
            "gain": document(user.gain),
            "noise": document(user.noise),
            "best": user.optimum,
            "gap": user.gap,
        }
        for user in found.users
    ]
    edges = [document(edge) for edge in found.edges]
    answer = {"path": found.path, "answers": document(found.answers), "edges": edges, "how": found.how}
    return answer | {"users": users, "gap": found.gap}
