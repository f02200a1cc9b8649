"""`sfumato demo`: four questions to a made-up clinic, through the same gateway that serves real data.

Comes in: a directory. Goes out: the clinic's files in it, answers with intervals, what they cost and what remains, and
a picture of what one person changes. The clinic and its ledger are kept between runs: a second run gets the stored
answers, for nothing, and a budget that was used up in between refuses only what is new.
"""

from __future__ import annotations

import io
import json
import shlex
import tempfile
from contextlib import redirect_stdout
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from rich.console import Console
from rich.text import Text

from sfumato.doors.cli.clinic import POLICY_FILE, write_clinic
from sfumato.doors.cli.money import bar
from sfumato.doors.cli.say import amount, console, error_text, print_json, print_whole
from sfumato.doors.cli.tables import MOST_ROWS, answer_lines, answer_table
from sfumato.doors.operator import keep_log
from sfumato.errors import BudgetError, ClaimError, SfumatoError
from sfumato.gateway import Answer, Gateway, Spent, open_policy
from sfumato.mechanisms import Geometric
from sfumato.pictures import neighbours
from sfumato.policy import load
from sfumato.reals import exp, round_up
from sfumato.words import show

ANALYST = "ana"
HOME = Path("sfumato-demo")
PRICE = Fraction(1, 10)
"""Of the first question, and of the picture."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, in words and in SQL, and what is paid for it."""

    words: str
    sql: str
    epsilon: Fraction


QUESTIONS = (
    Question(
        "How many patients have each disease?",
        "SELECT disease, COUNT(*) AS patients FROM patient GROUP BY disease",
        PRICE,
    ),
    Question(
        "What do adults earn on average, by area?",
        "SELECT area, AVG(salary) AS salary FROM patient WHERE age >= 18 GROUP BY area",
        Fraction(1, 10),
    ),
    Question(
        "How many visits and visitors were there each year?",
        "SELECT EXTRACT(year FROM day) AS year, COUNT(*) AS visits, COUNT(DISTINCT patient_ssn) AS visitors "
        "FROM visit GROUP BY year ORDER BY year",
        Fraction(2, 10),
    ),
    Question(
        "What do visits cost in each city, the dearest first?",
        "SELECT city, SUM(cost) AS cost FROM visit WHERE city IS NOT NULL GROUP BY city ORDER BY cost DESC",
        Fraction(3, 10),
    ),
)
REFUSED = Question(
    "Which disease does one person have?",
    "SELECT disease FROM patient WHERE ssn = '000-00-0042'",
    PRICE,
)
TO_TRY = Question(
    "How old are patients with a cold?",
    "SELECT AVG(age) FROM patient WHERE disease = 'Cold'",
    PRICE,
)

Outcome = Answer | SfumatoError


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
    policy = directory / POLICY_FILE
    keep_log(load(policy))
    with open_policy(policy) as gate:
        asked = [(question, ask(gate, question)) for question in (*QUESTIONS, QUESTIONS[0], REFUSED)]
        left, total = gate.budget(ANALYST).remaining, gate.budget(ANALYST).total
    document = {
        "clinic": str(directory),
        "policy": str(policy),
        "user": ANALYST,
        "answers": [_document(question, outcome) for question, outcome in asked],
        "budget": {"total": Spent.of(total).to_dict(), "remaining": Spent.of(left).to_dict()},
        "picture": str(picture),
    }
    if check:
        check_document(document)
        check_doors(document)
    if as_json:
        print_json(document)
    else:
        out = console()
        _print(policy, asked, out)
        _print_end(policy, picture, bar(left, total), amount(left.epsilon or Fraction(0)), out)


def ask(gate: Gateway, question: Question) -> Outcome:
    """The answer, or why there is none: a budget that earlier runs have used up ends no demo."""
    try:
        return gate.sql(question.sql, epsilon=question.epsilon, analyst=ANALYST)
    except SfumatoError as error:
        return error


def _document(question: Question, outcome: Outcome) -> dict[str, Any]:
    refused = isinstance(outcome, SfumatoError)
    return {
        "question": question.words,
        "sql": question.sql,
        "epsilon": str(question.epsilon),
        "answer": None if refused else outcome.to_dict(),
        "refused": outcome.to_dict() if refused else None,
    }


def draw_bob() -> str:
    """The two laws of the count of colds, without and with Bob. It shows the noise alone: no row is read for it."""
    mechanism = Geometric(sensitivity_l1=Fraction(1), epsilon=PRICE)
    outputs = list(range(-20, 21))
    return neighbours(
        outputs,
        [float(mechanism.mass(z)) for z in outputs],
        [float(mechanism.mass(z - 1)) for z in outputs],
        epsilon=PRICE,
        title="Patients with a cold: is Bob one of them?",
        axis="noisy count, less the true count without Bob",
    )


# checks, for `make demo CHECK=1`
def check_document(document: dict[str, Any]) -> None:
    """Raise unless the document is whole: answers inside their intervals, the same again for nothing, one refusal."""
    *answers, refused = document["answers"]
    spent = 1 - Fraction(document["budget"]["remaining"]["epsilon"])
    given = [entry["answer"] for entry in answers if entry["answer"] is not None]
    facts = {
        "every question is answered": len(given) == len(QUESTIONS) + 1,
        "every number lies inside its interval": all(_is_inside(answer) for answer in given),
        "what is spent and what remains make the budget": spent == sum(q.epsilon for q in QUESTIONS),
        "the same question again costs nothing": given[-1]["cost"]["epsilon"] == "0",
        "the same question again gets the same answer": given[-1]["rows"] == given[0]["rows"],
        "a question about one person is refused, with a hint": bool((refused["refused"] or {}).get("hint")),
        "the picture is an SVG document": _root(document["picture"]) == "{http://www.w3.org/2000/svg}svg",
    }
    for fact, holds in facts.items():
        if not holds:
            raise ClaimError(f"the demo is broken: not true that {fact}")


def _is_inside(answer: dict[str, Any]) -> bool:
    return len(answer["rows"]) == len(answer["intervals"]) and all(
        interval is None or Fraction(interval[0]) <= Fraction(value) <= Fraction(interval[1])
        for row, intervals in zip(answer["rows"], answer["intervals"], strict=True)
        for value, interval in zip(row, intervals, strict=True)
        if value is not None
    )


def _root(picture: str) -> str:
    return ET.parse(picture).getroot().tag  # noqa: S314 - this very process wrote it


def check_doors(document: dict[str, Any]) -> None:
    """The command line gives the answer that Python gave: one question, one stored answer, one document."""
    from sfumato.doors.cli import app

    first = document["answers"][0]
    heard = io.StringIO()
    words = ["query", first["sql"], "-p", document["policy"], "--analyst", ANALYST, "--epsilon", first["epsilon"]]
    with redirect_stdout(heard):
        app([*words, "--json"], standalone_mode=False)
    answer = json.loads(heard.getvalue())
    same = ("columns", "types", "rows", "intervals", "receipt")
    if [answer[name] for name in same] != [first["answer"][name] for name in same] or answer["cost"]["epsilon"] != "0":
        raise ClaimError("the demo is broken: the command line gives another answer than Python")


# for people
def _print(policy: Path, asked: list[tuple[Question, Outcome]], out: Console) -> None:
    out.print(f"\nA made-up clinic in {policy.parent}: about 4,000 people, none of them real.")
    out.print(f"{ANALYST} asks in SQL. Her share is epsilon 1 of the 4 that everybody together may ever learn.")
    *four, again, refused = asked
    for number, (question, outcome) in enumerate(four, 1):
        _print_one(f"{number}. {question.words}", question, outcome, out)
    _print_one("The same question again: the stored answer, so that noise cannot be averaged away.", *again, out)
    _print_one(f"What is refused: {refused[0].words}", *refused, out)


def _print_one(head: str, question: Question, outcome: Outcome, out: Console) -> None:
    out.print()
    out.print(Text(head, style="bold"))
    out.print(Text(f"{question.sql};", style="cyan"), soft_wrap=True)
    if isinstance(outcome, Answer):
        print_whole(out, answer_table(outcome, MOST_ROWS))
        for line in answer_lines(outcome):
            if not line.startswith("receipt"):
                out.print(Text(line, style="dim"))
        return
    out.print(Text(error_text(outcome, question.sql).rstrip(), style="yellow"), soft_wrap=True)
    if isinstance(outcome, BudgetError):
        out.print(Text(f"What was asked before stays free. `sfumato demo {HOME} --fresh` starts over.", style="dim"))


def _print_end(policy: Path, picture: Path, filled: Text, left: str, out: Console) -> None:
    suspicion = show(round_up(100 / (1 + exp(-sum((q.epsilon for q in QUESTIONS), Fraction(0)))), Fraction(1, 10)))
    file = shlex.quote(str(policy))
    out.print()
    out.print(Text.assemble("budget ", filled, f" epsilon {left} of 1 remains"))
    out.print("Each interval holds its number with 95 % or more, by the exact law of the noise.")
    out.print("After these four answers, a suspicion of 50 % that somebody is among the patients")
    out.print(f"can become {suspicion} % at most.")
    out.print(f"\nPicture: {picture} (what one count shows with Bob in it and without)")
    out.print("\nYour turn:")
    for line in (
        f'sfumato explain "{TO_TRY.sql}" -p {file}',
        f'sfumato query "{TO_TRY.sql}" -p {file} --analyst {ANALYST}',
        f"sfumato budget -p {file} --analyst {ANALYST}",
        f"sfumato ledger verify -p {file}",
    ):
        out.print(Text(f"  {line}", style="cyan"), soft_wrap=True)
    out.print("\nIn Python:")
    for line in ("import sfumato", f"gate = sfumato.open({str(policy)!r})", f'gate.sql("{TO_TRY.sql}").rows'):
        out.print(Text(f"  {line}", style="cyan"), soft_wrap=True)
    out.print("\nFor PostgreSQL clients:")
    for line in (f"sfumato user add {ANALYST} -p {file}", f"sfumato serve -p {file}"):
        out.print(Text(f"  {line}", style="cyan"), soft_wrap=True)
    out.print(Text("\nDoors for HTTP and a console are not built yet.", style="dim"))
