"""`sfumato demo`: four questions to a sample clinic, answered with noise, each paid from one budget.

Comes in: a directory. Goes out: the clinic's files, a picture, and one document that is printed for people or as JSON.
The order is the house's: price, debit, read, noise.
"""

from __future__ import annotations

import json
import sys
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sfumato.accounting import Filter, price
from sfumato.doors.cli.clinic import write_clinic
from sfumato.doors.cli.questions import QUESTIONS, Question
from sfumato.doors.cli.say import console
from sfumato.errors import ClaimError
from sfumato.mechanisms import Geometric
from sfumato.pictures import neighbours
from sfumato.reals import exp, round_up
from sfumato.words import show

BUDGET = Fraction(1)
CONFIDENCE = Fraction(95, 100)
HOME = Path("sfumato-demo")


def run(directory: Path | None, *, fresh: bool, as_json: bool, check: bool) -> None:
    """The command: make the clinic, ask, draw, print."""
    if check and directory is None:
        with tempfile.TemporaryDirectory(prefix="sfumato-") as temporary:
            _run(Path(temporary), fresh=True, as_json=as_json, check=True)
    else:
        _run(directory or HOME, fresh=fresh, as_json=as_json, check=check)


def _run(directory: Path, *, fresh: bool, as_json: bool, check: bool) -> None:
    write_clinic(directory, fresh=fresh)
    picture = directory / "bob.svg"
    picture.write_text(draw_bob(), encoding="utf-8")
    document = ask_all(directory)
    document["picture"] = str(picture)
    if check:
        check_document(document)
    if as_json:
        sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    else:
        _print(document, console())


def ask_all(directory: Path) -> dict[str, Any]:
    """Ask each question once; the document that `--json` prints."""
    budget = Filter("pure", epsilon=BUDGET)
    answers = [ask(question, directory, budget) for question in QUESTIONS]
    return {
        "clinic": str(directory),
        "budget": {"epsilon": str(BUDGET), "remaining": str(budget.remaining().epsilon)},
        "confidence": str(CONFIDENCE),
        "answers": answers,
    }


def ask(question: Question, directory: Path, budget: Filter) -> dict[str, Any]:
    """One release: priced and debited before a row is read."""
    mechanism = Geometric(sensitivity_l1=Fraction(question.sensitivity_l1), epsilon=question.epsilon)
    cost = price(mechanism.event)
    budget.spend(cost)
    noisy = mechanism.release(question.read(directory))
    low, high = mechanism.interval(CONFIDENCE)
    values = [int(value) for value in np.atleast_1d(noisy)]
    unit = question.unit
    groups = [[group] for group in question.groups] or [[]]
    return {
        "question": question.text,
        "change": question.change,
        "columns": ["group", question.column] if question.groups else [question.column],
        "rows": [[*names, _on_grid(value, unit)] for names, value in zip(groups, values, strict=True)],
        "intervals": [
            [*(None for _ in names), [_on_grid(value - high, unit, -1), _on_grid(value - low, unit, 1)]]
            for names, value in zip(groups, values, strict=True)
        ],
        "law": "geometric",
        "cost": {"epsilon": str(cost.epsilon)},
        "remaining": {"epsilon": str(budget.remaining().epsilon)},
    }


def draw_bob() -> str:
    """The two laws of the count of colds, without and with Bob. It shows the noise alone: no row is read for it."""
    question = QUESTIONS[0]
    mechanism = Geometric(sensitivity_l1=Fraction(question.sensitivity_l1), epsilon=question.epsilon)
    outputs = list(range(-20, 21))
    return neighbours(
        outputs,
        [float(mechanism.mass(z)) for z in outputs],
        [float(mechanism.mass(z - 1)) for z in outputs],
        epsilon=question.epsilon,
        title="Patients with a cold: is Bob one of them?",
        axis="noisy count, less the true count without Bob",
    )


def check_document(document: dict[str, Any]) -> None:
    """Raise unless the document is whole: every answer inside its interval, and every cost accounted for."""
    spent = sum(Fraction(answer["cost"]["epsilon"]) for answer in document["answers"])
    picture = ET.parse(document["picture"]).getroot()  # noqa: S314 - this very process wrote it
    facts = {
        "four questions are answered": len(document["answers"]) == len(QUESTIONS),
        "what is spent and what remains make the budget": spent + Fraction(document["budget"]["remaining"]) == BUDGET,
        "every row has an interval around its value": all(
            Fraction(interval[-1][0]) <= Fraction(row[-1]) <= Fraction(interval[-1][1])
            for answer in document["answers"]
            for row, interval in zip(answer["rows"], answer["intervals"], strict=True)
        ),
        "the picture is an SVG document": picture.tag == "{http://www.w3.org/2000/svg}svg",
    }
    for fact, holds in facts.items():
        if not holds:
            raise ClaimError(f"the demo is broken: not true that {fact}")


def _on_grid(value: int, unit: Fraction, direction: int = 0) -> int | str:
    """A whole number of units as people read it: itself, or cents as a decimal, rounded to nearest, down or up."""
    if unit == 1:
        return value
    exact = value * unit * 100
    cents = round(exact) if direction == 0 else exact.__floor__() if direction < 0 else exact.__ceil__()
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02}"


def _print(document: dict[str, Any], out: Console) -> None:
    out.print(f"\nA made-up clinic in {document['clinic']}: about 4,000 people, none of them real.")
    out.print(f"Four questions, paid from one budget of epsilon {document['budget']['epsilon']}.")
    for number, answer in enumerate(document["answers"], 1):
        cost = show(Fraction(answer["cost"]["epsilon"]))
        left = show(Fraction(answer["remaining"]["epsilon"]))
        out.print()
        out.print(Text(f"{number}. {answer['question']}", style="bold"))
        out.print(Text(f"   {answer['change']}; cost epsilon {cost}, {left} remains", style="dim"))
        out.print(_table(answer))
    spent = BUDGET - Fraction(document["budget"]["remaining"])
    suspicion = show(round_up(100 / (1 + exp(-spent)), Fraction(1, 10)))
    out.print()
    out.print(_bar(spent))
    out.print("Each ± holds with 95 % or more, by the exact law of the noise. After all four answers, a suspicion of")
    out.print(f"50 % that somebody is among the patients can become {suspicion} % at most.")
    out.print(f"\nPicture: {document['picture']} (what one count shows with Bob in it and without)")
    out.print("Each run draws new noise from a full budget: the demo keeps no record of what earlier runs spent.")


def _table(answer: dict[str, Any]) -> Table:
    """Values right-aligned with their uncertainty, and no more digits than the noise allows."""
    table = Table(box=None, show_header=False, padding=(0, 1), pad_edge=False)
    for justify in ("left", "left", "right", "left"):
        table.add_column(justify=justify)
    for row, interval in zip(answer["rows"], answer["intervals"], strict=True):
        value, (low, high) = Fraction(row[-1]), map(Fraction, interval[-1])
        half = max(high - value, value - low)
        step = 10 ** max(0, len(str(int(half))) - 2)
        shown = round(value / step) * step
        around = -(-(half + abs(shown - value)) // step) * step  # outward: what is shown holds what is exact
        table.add_row("  ", row[0] if len(row) > 1 else answer["columns"][-1], f"{shown:,}", f"± {around:,}")
    return table


def _bar(spent: Fraction) -> Text:
    """Forty cells, rounded up in favour of what is spent."""
    full = -(-40 * spent // BUDGET)
    rest = f" {show(BUDGET - spent)} of {show(BUDGET)} remains"
    return Text.assemble("budget ", ("█" * int(full), "yellow"), ("░" * int(40 - full), "dim"), rest)
