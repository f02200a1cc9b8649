"""`sfumato query`, `explain` and `budget`: queries, their cost, and what is left."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.commands.common import HERE, Json, PolicyFile, group, help_of, takes
from sfumato.errors import InputError

if TYPE_CHECKING:
    from sfumato.gateway import Query

commands = group()
budget = group(
    "budget",
    help_of(
        "Show the budget: total, spent and remaining.",
        "sfumato budget --analyst ana -p sfumato-demo/sfumato.toml",
    ),
    alone=True,
)


class NoiseOption(StrEnum):
    """The laws that may be asked for."""

    GEOMETRIC = "geometric"
    GAUSSIAN = "gaussian"
    AUTO = "auto"


Sql = Annotated[str, typer.Argument(metavar="SQL", help="A query in PostgreSQL's SQL.")]
Analyst = Annotated[str, typer.Option("--analyst", metavar="NAME", help="The analyst to charge.")]
Whose = Annotated[
    str | None, typer.Option("--analyst", metavar="NAME", help="Whose budget (default: the total of all analysts).")
]
Epsilon = Annotated[
    str | None, typer.Option("--epsilon", metavar="E", help="Epsilon to spend (default: query_epsilon).")
]
Within = Annotated[
    str | None, typer.Option("--within", metavar="W", help="Spend the epsilon needed for ± W, instead of E.")
]
Confidence = Annotated[str, typer.Option("--confidence", metavar="C", help="Confidence of the intervals.")]
_ROWS = "A lower contribution bound; auto estimates one for a fifth of E."
Rows = Annotated[str | None, typer.Option("--rows-per-unit", metavar="C", help=_ROWS)]
_NOISE = "Noise (default: geometric, or gaussian under zcdp); auto chooses the more precise one at the same cost."
Law = Annotated[NoiseOption | None, typer.Option("--noise", help=_NOISE)]
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


def _asked(sql: str, words: dict[str, Any]) -> tuple[Query, Path, str]:
    """The query, the policy file and the analyst's name."""
    from sfumato.gateway import AUTO, Query
    from sfumato.types import whole

    law, policy, analyst, rows = (words.pop(name) for name in ("noise", "policy", "analyst", "rows_per_unit"))
    most = rows if rows in (None, AUTO) else whole(rows, "rows_per_unit", 1)
    return Query(sql, **words, rows_per_unit=most, noise=law and law.value), policy, analyst


@commands.command(
    "query",
    help=help_of(
        "Run a query and charge it to the budget. Repeating it is free and returns the stored answer.",
        'sfumato query "SELECT disease, COUNT(*) FROM patient GROUP BY disease" -p sfumato-demo/sfumato.toml',
    ),
)
@takes(QUESTION)
def _query(
    sql: Sql,
    *,
    json: Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="All rows and intervals as CSV on stdout.")] = False,
    **words: Any,
) -> None:
    if json and csv:
        raise InputError("give --json or --csv, not both")
    from sfumato.cli.query import query

    query(*_asked(sql, words), as_json=json, as_csv=csv)


@commands.command(
    "explain",
    help=help_of(
        "Show the cost and expected error of a query. Free; no row is read.",
        'sfumato explain "SELECT SUM(cost) FROM visit" --group 3 -p sfumato-demo/sfumato.toml',
    ),
)
@takes(QUESTION)
def _explain(
    sql: Sql,
    *,
    group: Annotated[
        int | None, typer.Option("--group", metavar="K", help="Also show the cost for K people together.")
    ] = None,
    why: Annotated[bool, typer.Option("--why", help="Also show how the sensitivity is derived.")] = False,
    json: Json = False,
    **words: Any,
) -> None:
    from sfumato.cli.query import explain

    explain(*_asked(sql, words), people=group, why=why, as_json=json)


@budget.callback()
def _budget(context: typer.Context, policy: PolicyFile = HERE, analyst: Whose = None, json: Json = False) -> None:
    context.obj = (policy, analyst, json)
    if context.invoked_subcommand is None:
        from sfumato.cli.budget import show_budget

        show_budget(policy, analyst, as_json=json)


@budget.command(
    "split",
    help=help_of(
        "Split the remaining budget equally among N queries.",
        "sfumato budget split 40 -p sfumato-demo/sfumato.toml",
    ),
)
def _split(
    context: typer.Context,
    questions: Annotated[int, typer.Argument(metavar="N", help="How many queries.")],
    policy: Annotated[Path | None, typer.Option("-p", "--policy", metavar="POLICY", help="The policy file.")] = None,
    analyst: Whose = None,
    json: Json = False,
) -> None:
    from sfumato.cli.budget import split

    above: tuple[Path, str | None, bool] = context.obj
    split(policy or above[0], analyst or above[1], questions, as_json=json or above[2])
