"""`sfumato learn`: exercises with checked answers; and a hold-out that is over-fitted, or not.

Comes in: the name of an exercise, and perhaps an answer. Goes out: the question, or whether the answer is right. Exit
code 1 where it is not.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sfumato.cli.design_common import grid_of
from sfumato.errors import InputError
from sfumato.learn import EXERCISES, check
from sfumato.server.terminal_output import console, print_json

HOLDOUT = "holdout"


def run(name: str | None, answer: str | None, svg: Path | None, *, show: bool, as_json: bool) -> None:
    """List the exercises, ask one, check an answer, show it; or the demonstration."""
    if name is None:
        _list(as_json=as_json)
    elif name == HOLDOUT:
        _holdout(svg, as_json=as_json)
    else:
        _exercise(name, answer, show=show, as_json=as_json)


def _list(*, as_json: bool) -> None:
    if as_json:
        print_json({"exercises": [{"name": one.name, "question": one.question} for one in EXERCISES.values()]})
        return
    out = console()
    for one in EXERCISES.values():
        out.print(f"{one.name}: {one.question}", soft_wrap=True, highlight=False)
    out.print(f"{HOLDOUT}: a demonstration that privacy prevents over-fitting", soft_wrap=True, highlight=False)
    out.print("Answer one: sfumato learn NAME --answer NUMBER")


def _exercise(name: str, answer: str | None, *, show: bool, as_json: bool) -> None:
    if name not in EXERCISES:
        raise InputError(f'exercise "{name}" is not known', hint=f"One of: {', '.join([*EXERCISES, HOLDOUT])}.")
    one, out = EXERCISES[name], console()
    right = None if answer is None else check(name, answer)
    if as_json:
        found = {"name": name, "question": one.question, "right": right, "shown_by": one.shown_by}
        print_json(found | ({"answer": one.answer()} if show else {}))
    else:
        out.print(one.question, soft_wrap=True, highlight=False)
        if right is not None:
            out.print("Right." if right else "Not right.")
        elif not show:
            out.print(f"Answer it: sfumato learn {name} --answer NUMBER")
        if show:
            out.print(f"The answer is {one.answer():.6g}; see: {one.shown_by}", soft_wrap=True, highlight=False)
    if right is False:
        sys.exit(1)


def _holdout(svg: Path | None, *, as_json: bool) -> None:
    from sfumato.learn import EPSILON, FEATURES, PEOPLE, study

    found = study()
    if svg is not None:
        svg.write_text(found.picture(), encoding="utf-8")
        sys.stderr.write(f"Wrote {svg}\n")
    if as_json:
        print_json(found.to_dict())
        return
    out = console()
    out.print(
        f"{PEOPLE} people for training and {PEOPLE} held out, {FEATURES} features and a label, all of them coins: "
        "nothing can be learnt. Features that lean alike in both are kept, and their majority is taken.",
        soft_wrap=True,
        highlight=False,
    )
    rows = [
        [name, str(run.last.features), f"{100 * run.last.said:.1f} %", f"{100 * run.last.true:.1f} %"]
        for name, run in (("exact", found.without), (f"gateway, epsilon {float(EPSILON):g}", found.gateway))
    ]
    grid_of(("hold-out", "features", "it says", "fresh people"), rows)
