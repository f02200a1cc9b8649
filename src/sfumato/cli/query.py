"""`sfumato query` and `sfumato explain`: one query through the gateway of a policy file.

Comes in: SQL and options, as typed. Goes out: an answer for people, or one document, or CSV. An error is shown with its
place in the question, as a caret.
"""

from __future__ import annotations

import sys
from pathlib import Path

from rich.text import Text

from sfumato.accounting import group
from sfumato.cli.opened_gateway import opened_gateway, say_no_share
from sfumato.errors import SfumatoError
from sfumato.gateway import Preview, Query, Spent
from sfumato.server.answer_tables import answer_lines, print_answer, print_preview, write_csv
from sfumato.server.terminal_output import console, print_json, stop
from sfumato.types import Loss, show, whole


def query(asked: Query, policy: Path, analyst: str, *, as_json: bool, as_csv: bool) -> None:
    """Ask, and pay."""
    try:
        with opened_gateway(policy) as gate:
            answer = gate.answer(asked, analyst)
            say_no_share(gate.policy, analyst)
    except SfumatoError as error:
        stop(error, asked.sql)
    if as_json:
        print_json(answer.to_dict())
    elif as_csv:
        write_csv(answer, sys.stdout)
        sys.stderr.write("".join(f"{line}\n" for line in answer_lines(answer, answer.worth())))
    else:
        print_answer(answer, console())


def explain(asked: Query, policy: Path, analyst: str, *, people: int | None, why: bool, as_json: bool) -> None:
    """What asking would cost and give, and `why` so much. A refusal is shown like an answer, and sets the exit code."""
    count = None if people is None else whole(people, "group", low=1)
    with opened_gateway(policy) as gate:
        preview = gate.preview(asked, analyst)
        say_no_share(gate.policy, analyst)
    together = None if count is None or preview.cost is None else _together(preview.cost, count)
    if as_json:
        group_of = {} if together is None else {"group": {"people": count, **together.to_dict()}}
        reasons = {"why": [reason.to_dict() for reason in preview.why]} if why else {}
        print_json(preview.to_dict() | group_of | reasons)
    elif preview.columns:
        _print(preview, count, together)
        for reason in preview.why if why else ():
            console().print(Text(reason.words()))
    if preview.refused is not None:
        stop(preview.refused, asked.sql)


def _print(preview: Preview, count: int | None, together: Spent | None) -> None:
    out = console()
    print_preview(preview, out)
    if together is not None:
        parts = {"epsilon": together.epsilon, "rho": together.rho, "delta": together.delta}
        named = ", ".join(f"{name} {show(value)}" for name, value in parts.items() if value)
        out.print(f"{count} people together: {named or 'nothing'}")


def _together(cost: Spent, people: int) -> Spent:
    return Spent.of(group(Loss(cost.epsilon, cost.rho, cost.delta), people))
