"""`sfumato demo`: four queries on a made-up clinic, then its interfaces, through the gateway that serves real data.

Comes in: a directory. Goes out: the clinic's files in it, answers with intervals, what they cost and what remains, a
picture of what one person changes, and lines to copy for every door, which stay open until Ctrl-C. The clinic and its
ledger are kept between runs: a second run gets the stored answers, for nothing, and a budget that was used up in
between refuses only what is new. Passwords are made up anew at each start, as none is kept.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shlex
import shutil
import sys
import tempfile
from dataclasses import dataclass, replace
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from sfumato.cli.budget import bar
from sfumato.cli.clinic import GUIDE, POLICY_FILE, write_clinic
from sfumato.cli.demo_check import check_document, check_doors
from sfumato.cli.serve import links, make_order, reachable
from sfumato.cli.survey import write_survey
from sfumato.errors import BudgetError, InputError, SfumatoError
from sfumato.gateway import AnalystBudget, Answer, Gateway, Spent, open_policy
from sfumato.gateway.rounding import amount
from sfumato.mechanisms import Geometric
from sfumato.pictures import neighbours
from sfumato.policy import load
from sfumato.reals import exp, round_up
from sfumato.server.answer_tables import MOST_ROWS, answer_lines, answer_table
from sfumato.server.classroom import open_class, student
from sfumato.server.operator_log import keep_log
from sfumato.server.process.control import is_served
from sfumato.server.process.serve_options import HTTP, PG, listen, listen_near
from sfumato.server.process.signals import ServeRun
from sfumato.server.terminal_output import console, error_text, print_whole
from sfumato.server.tokens import issue, link
from sfumato.server.users import OWNER, Users
from sfumato.types import show

ANALYST = "ana"
HOME, CLASS_HOME = Path("sfumato-demo"), Path("sfumato-class")
MOST_STUDENTS = 500
_DAY = timedelta(days=1)
PRICE = Fraction(1, 10)
"""Of the first question, and of the picture."""


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """What is asked, in words and in SQL, and what is paid for it."""

    words: str
    sql: str
    epsilon: Fraction


QUESTIONS = (
    DemoQuestion(
        "How many patients have each disease?",
        "SELECT disease, COUNT(*) AS patients FROM patient GROUP BY disease",
        PRICE,
    ),
    DemoQuestion(
        "What do adults earn on average, by area?",
        "SELECT area, AVG(salary) AS salary FROM patient WHERE age >= 18 GROUP BY area",
        Fraction(1, 10),
    ),
    DemoQuestion(
        "How many visits and visitors were there each year?",
        "SELECT EXTRACT(year FROM day) AS year, COUNT(*) AS visits, COUNT(DISTINCT patient_ssn) AS visitors "
        "FROM visit GROUP BY year ORDER BY year",
        Fraction(2, 10),
    ),
    DemoQuestion(
        "What do visits cost in each city, most expensive first?",
        "SELECT city, SUM(cost) AS cost FROM visit WHERE city IS NOT NULL GROUP BY city ORDER BY cost DESC",
        Fraction(3, 10),
    ),
)
REFUSED = DemoQuestion(
    "Which disease does one person have?",
    "SELECT disease FROM patient WHERE ssn = '000-00-0042'",
    PRICE,
)
TO_TRY = DemoQuestion(
    "How old are patients with a cold?",
    "SELECT AVG(age) FROM patient WHERE disease = 'Cold'",
    PRICE,
)

OVER_HTTP = DemoQuestion(
    "How old are patients in each area?", "SELECT area, AVG(age) FROM patient GROUP BY area", PRICE
)
"""Without a quotation mark, as it stands in a line for a shell."""

Outcome = Answer | SfumatoError


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """How the demo runs: addresses that were named are used as they are, else the next ports that are free."""

    fresh: bool
    as_json: bool
    check: bool
    survey: bool = False
    pg: str | None = None
    http: str | None = None
    students: int = 0

    @property
    def home(self) -> Path:
        """Where the clinic is if no directory is named: a class does not use up the budget of a demo."""
        return CLASS_HOME if self.students else HOME


def run(directory: Path | None, options: DemoOptions) -> None:
    """The command: make the clinic, ask, draw, print."""
    if not 0 <= options.students <= MOST_STUDENTS:
        raise InputError(f"--students must be at most {MOST_STUDENTS}, but is {options.students}")
    if options.check and directory is None:
        with tempfile.TemporaryDirectory(prefix="sfumato-") as temporary:
            _run(Path(temporary), replace(options, fresh=True))
    else:
        _run(directory or options.home, options)


def _run(directory: Path, options: DemoOptions) -> None:
    fresh, as_json, check, survey = options.fresh, options.as_json, options.check, options.survey
    if fresh and is_served(directory / ".sfumato"):
        raise InputError(f'the clinic in "{directory}" is being served', hint="Stop that server first.")
    write_clinic(directory, fresh=fresh, students=options.students)
    picture = directory / "bob.svg"
    picture.write_text(draw_bob(), encoding="utf-8")
    policy = directory / POLICY_FILE
    keep_log(load(policy))
    if options.students and student(options.students) not in load(policy).analysts:
        raise InputError(
            f'the clinic in "{directory}" has no places for {options.students} students',
            hint="Name another directory, or start over with --fresh.",
        )
    with open_policy(policy) as gate:
        asked = [(question, ask(gate, question)) for question in (*QUESTIONS, QUESTIONS[0], REFUSED)]
        budgets = {name: gate.budget(name) for name in (GUIDE, ANALYST)}
    if not as_json:
        out = console()
        _print(policy, asked, out)
        _print_end(picture, budgets, out)
    order = make_order(policy, options.pg or PG, options.http or HTTP, None, None, plain=options.students > 0)
    sockets = listen_near(order) if options.pg is None and options.http is None else listen(order)
    try:
        document: dict[str, Any] = {
            **_welcome(policy, links(order, sockets, load(policy).data.id)),
            "clinic": str(directory),
            "answers": [_document(question, outcome) for question, outcome in asked],
            "budget": _amounts(budgets[ANALYST]),
            "guide": _amounts(budgets[GUIDE]),
            "picture": str(picture),
        }
        if survey:
            document["survey"] = f"{document['http']}/survey/{write_survey(Path(load(policy).data.state))}"
        if options.students:
            key = open_class(Users(load(policy).data.state), _DAY)
            document["class"] = f"{reachable(document['http'])}/class/{key}"
            document["students"] = options.students
        visit = (lambda: _check(document)) if check else None
        asyncio.run(ServeRun(order, sockets, 1, lambda: _tell(document, as_json, check), visit).run())
    finally:
        sockets.close()


def _welcome(policy: Path, found: dict[str, str]) -> dict[str, Any]:
    """Users with new passwords, a token, and where the doors are."""
    users = Users(load(policy).data.state)
    passwords = {name: secrets.token_urlsafe(12) for name in (ANALYST, OWNER)}
    for name, password in passwords.items():
        users.add(name, OWNER if name == OWNER else "analyst", password)
    return {
        **found,
        "token": issue(users, ANALYST, _DAY)[1],
        "console": f"{found['http']}/?link={link(users, ANALYST, _DAY)[1]}",
        "user": ANALYST,
        "password": passwords[ANALYST],
        "owner_password": passwords[OWNER],
        "policy": str(policy.resolve()),
    }


def _check(document: dict[str, Any]) -> None:
    check_document(document)
    check_doors(document)


def _tell(document: dict[str, Any], as_json: bool, check: bool) -> None:
    """The document in one line, or what to copy; then the word that people and programs wait for."""
    if as_json:
        sys.stdout.write(json.dumps(document) + "\n")
    else:
        _print_doors(document, console())
    if not check:
        sys.stdout.write("ready\n")
    sys.stdout.flush()


def ask(gate: Gateway, question: DemoQuestion) -> Outcome:
    """The answer, or why there is none: a budget that earlier runs have used up ends no demo."""
    try:
        return gate.sql(question.sql, epsilon=question.epsilon, analyst=GUIDE)
    except SfumatoError as error:
        return error


def _amounts(budget: AnalystBudget) -> dict[str, Any]:
    return {"total": Spent.of(budget.total).to_dict(), "remaining": Spent.of(budget.remaining).to_dict()}


def _document(question: DemoQuestion, outcome: Outcome) -> dict[str, Any]:
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
        axis="noisy count minus the true count without Bob",
    )


# for people
def _print(policy: Path, asked: list[tuple[DemoQuestion, Outcome]], out: Console) -> None:
    out.print(f"\nA made-up clinic in {policy.parent}: about 4,000 people, none of them real.")
    total = amount(load(policy).privacy.epsilon)
    out.print(
        f'The user "{GUIDE}" runs these queries. Its budget is epsilon 1, out of a total of {total} for all analysts.'
    )
    *four, again, refused = asked
    for number, (question, outcome) in enumerate(four, 1):
        _print_one(f"{number}. {question.words}", question, outcome, out)
    _print_one("The same query again: the stored answer, so the noise cannot be averaged away.", *again, out)
    _print_one(f"A refused query: {refused[0].words}", *refused, out)


def _print_one(head: str, question: DemoQuestion, outcome: Outcome, out: Console) -> None:
    out.print()
    out.print(Text(head, style="bold"))
    out.print(Text(f"{question.sql};", style="cyan"), soft_wrap=True)
    if isinstance(outcome, Answer):
        print_whole(out, answer_table(outcome, MOST_ROWS))
        for line in answer_lines(outcome, outcome.worth(first=MOST_ROWS)):
            if not line.startswith("receipt"):
                out.print(Text(line, style="dim"))
        return
    out.print(Text(error_text(outcome, question.sql).rstrip(), style="yellow"), soft_wrap=True)
    if isinstance(outcome, BudgetError):
        out.print(Text("Repeated queries stay free. The option --fresh starts over.", style="dim"))


def _print_end(picture: Path, budgets: dict[str, AnalystBudget], out: Console) -> None:
    suspicion = show(round_up(100 / (1 + exp(-sum((q.epsilon for q in QUESTIONS), Fraction(0)))), Fraction(1, 10)))
    out.print()
    for name, budget in budgets.items():
        left, total = (amount(loss.epsilon or Fraction(0)) for loss in (budget.remaining, budget.total))
        label = f"budget of {name}".ljust(len(f"budget of {GUIDE}"))
        out.print(Text.assemble(f"{label} ", bar(budget.remaining, budget.total), f", epsilon {left} of {total}"))
    out.print("Each interval covers the exact number with at least 95 % confidence.")
    out.print("After these four answers, a 50 % suspicion that somebody is among the patients")
    out.print(f"can become at most {suspicion} %.")
    out.print(f"\nPicture: {picture} (one count with Bob in the data and without him)")


def own_command() -> str:
    """How this program is called from another terminal: by its name where the shell would find it."""
    found, own = shutil.which("sfumato"), Path(sys.argv[0])
    if own.name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m sfumato"
    if found is not None and own.exists() and Path(found).samefile(own):
        return "sfumato"
    return shlex.quote(os.path.normpath(own.absolute())) if own.name == "sfumato" else "sfumato"


def _print_doors(document: dict[str, Any], out: Console) -> None:
    """Lines to copy, for another terminal."""
    file, command = shlex.quote(document["policy"]), own_command()
    students, inside = (
        document.get("students", 0),
        document["pg"].replace("://", f"://{ANALYST}:{document['password']}@"),
    )
    asked = json.dumps({"sql": OVER_HTTP.sql})
    token = f"-H 'Authorization: Bearer {document['token']}'"
    show_all = {
        **(
            {f"For a class of {students}: this link gives each student an account, for a day:": (document["class"],)}
            if students
            else {}
        ),
        "Open in a browser (the link works once):": (document["console"],),
        **(
            {"A survey for anybody, with noise added in the browser:": (document["survey"],)}
            if "survey" in document
            else {}
        ),
        f"Try it in another terminal (as {ANALYST}, with the budget above):": (
            f"psql {inside}",
            f'{command} explain "{TO_TRY.sql}" -p {file}',
            f'{command} query "{TO_TRY.sql}" -p {file} --analyst {ANALYST}',
            f"{command} ledger show --follow -p {file}",
        ),
        "Over HTTP, with a token for a day:": (
            f"curl {document['http']}/api/query {token} -H 'Content-Type: application/json' -d '{asked}'",
        ),
        "With pandas (pip install pandas 'psycopg[binary]'):": (
            "import pandas, psycopg",
            f'rows = psycopg.connect("{inside}").execute("{TO_TRY.sql}")',
            "pandas.DataFrame(rows.fetchall(), columns=[column.name for column in rows.description])",
        ),
    }
    for head, lines in show_all.items():
        out.print(f"\n{head}")
        for line in lines:
            out.print(Text(f"  {line}", style="cyan"), soft_wrap=True)
    out.print(f"\nThe owner logs in as {OWNER} with the password {document['owner_password']}. Press Ctrl-C to stop.")
