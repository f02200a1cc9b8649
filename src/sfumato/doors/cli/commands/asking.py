"""`sfumato query`, `explain` and `budget`: questions, what they cost, and what is left."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.doors.cli.commands.shape import HERE, Json, PolicyFile, group, help_of, takes
from sfumato.errors import InputError

if TYPE_CHECKING:
    from sfumato.doors.cli.ask import Asked

commands = group()
budget = group(
    "budget",
    help_of(
        "What may be spent, what was, and what is left.",
        "sfumato budget --analyst ana -p sfumato-demo/sfumato.toml",
    ),
    alone=True,
)


class Noise(StrEnum):
    """The laws that may be asked for."""

    GEOMETRIC = "geometric"
    GAUSSIAN = "gaussian"


Sql = Annotated[str, typer.Argument(metavar="SQL", help="The question, in PostgreSQL's dialect.")]
Analyst = Annotated[str, typer.Option("--analyst", metavar="NAME", help="Who asks; a share is hers to spend.")]
Whose = Annotated[str | None, typer.Option("--analyst", metavar="NAME", help="Whose budget (default: everybody's).")]
Epsilon = Annotated[str | None, typer.Option("--epsilon", metavar="E", help="What to spend (default: query_epsilon).")]
Within = Annotated[str | None, typer.Option("--within", metavar="W", help="Spend what makes every number ± W.")]
Confidence = Annotated[str, typer.Option("--confidence", metavar="C", help="How sure the intervals are.")]
Rows = Annotated[int | None, typer.Option("--rows-per-unit", metavar="C", help="Let fewer rows of a person count.")]
Law = Annotated[
    Noise | None, typer.Option("--noise", help="The law of the noise (default: geometric, or gaussian under zcdp).")
]
QUESTION = {
    "policy": (PolicyFile, HERE),
    "analyst": (Analyst, "owner"),
    "epsilon": (Epsilon, None),
    "within": (Within, None),
    "confidence": (Confidence, "0.95"),
    "rows_per_unit": (Rows, None),
    "noise": (Law, None),
}
"""How a question is asked: the same for its answer and for its preview."""


def _asked(sql: str, words: dict[str, Any]) -> Asked:
    from sfumato.doors.cli.ask import Asked

    law = words.pop("noise")
    return Asked(sql, **words, noise=law and law.value)


@commands.command(
    "query",
    help=help_of(
        "Ask a question, and pay for it. Asked again, it is free: the stored answer comes back.",
        'sfumato query "SELECT disease, COUNT(*) FROM patient GROUP BY disease" -p sfumato-demo/sfumato.toml',
    ),
)
@takes(QUESTION)
def _query(
    sql: Sql,
    *,
    json: Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="All rows as CSV on stdout, with the ends of intervals.")] = False,
    **words: Any,
) -> None:
    if json and csv:
        raise InputError("give --json or --csv, not both")
    from sfumato.doors.cli.ask import query

    query(_asked(sql, words), as_json=json, as_csv=csv)


@commands.command(
    "explain",
    help=help_of(
        "What a question would cost and how far off its answer may be: free, and no row is read.",
        'sfumato explain "SELECT SUM(cost) FROM visit" --group 3 -p sfumato-demo/sfumato.toml',
    ),
)
@takes(QUESTION)
def _explain(
    sql: Sql,
    *,
    group: Annotated[
        int | None, typer.Option("--group", metavar="K", help="Also what it costs K people together.")
    ] = None,
    json: Json = False,
    **words: Any,
) -> None:
    from sfumato.doors.cli.ask import explain

    explain(_asked(sql, words), people=group, as_json=json)


@budget.callback()
def _budget(context: typer.Context, policy: PolicyFile = HERE, analyst: Whose = None, json: Json = False) -> None:
    context.obj = (policy, analyst, json)
    if context.invoked_subcommand is None:
        from sfumato.doors.cli.money import show_budget

        show_budget(policy, analyst, as_json=json)


@budget.command(
    "split",
    help=help_of(
        "The largest equal epsilon for N more questions, under the policy's composition: exact.",
        "sfumato budget split 40 -p sfumato-demo/sfumato.toml",
    ),
)
def _split(
    context: typer.Context,
    questions: Annotated[int, typer.Argument(metavar="N", help="How many questions.")],
    policy: Annotated[Path | None, typer.Option("-p", "--policy", metavar="POLICY", help="The policy file.")] = None,
    analyst: Whose = None,
    json: Json = False,
) -> None:
    from sfumato.doors.cli.money import split

    above: tuple[Path, str | None, bool] = context.obj
    split(policy or above[0], analyst or above[1], questions, as_json=json or above[2])
