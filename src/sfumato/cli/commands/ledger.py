"""`sfumato ledger`: show the record of charges, verify it, copy it, freeze and unfreeze."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.commands.common import HERE, Json, PolicyFile, group, help_of

ledger = group("ledger", "Show, verify, copy and freeze the ledger of charges.")
Target = Annotated[Path, typer.Argument(metavar="FILE", help="Where to write.")]


@ledger.command(
    "show",
    help=help_of(
        "List all entries: charges, answers, failures, policy changes.",
        "sfumato ledger show -p sfumato-demo/sfumato.toml",
    ),
)
def _ledger_show(
    policy: PolicyFile = HERE,
    json: Json = False,
    follow: Annotated[bool, typer.Option("--follow", help="Keep printing new entries until Ctrl-C.")] = False,
) -> None:
    from sfumato.cli.ledger import follow_entries, show_entries

    if follow:
        follow_entries(policy, as_json=json)
    else:
        show_entries(policy, as_json=json)


@ledger.command(
    "verify",
    help=help_of(
        "Recompute the hash chain. Exit code 1 if anything was edited, removed or moved.",
        "sfumato ledger verify --plans -p sfumato-demo/sfumato.toml",
    ),
)
def _ledger_verify(
    policy: PolicyFile = HERE,
    plans: Annotated[bool, typer.Option("--plans", help="Also derive the sensitivity of every query again.")] = False,
    json: Json = False,
) -> None:
    from sfumato.cli.ledger import verify

    verify(policy, plans=plans, as_json=json)


@ledger.command(
    "export",
    help=help_of(
        "Write the chain as JSON lines for an auditor. It holds the text of every query.",
        "sfumato ledger export clinic.jsonl -p sfumato-demo/sfumato.toml",
    ),
)
def _ledger_export(file: Target, policy: PolicyFile = HERE) -> None:
    from sfumato.cli.ledger import export

    export(policy, file)


@ledger.command(
    "report",
    help=help_of(
        "Draft a document that data protection law (GDPR) requires.\n\n"
        "--article is 15 (access), 17 (erasure), 20 (portability), 30 (records of processing), 33 (breach) or 35 "
        "(impact assessment). What the policy and the ledger record is filled in; the rest is marked as open. A draft, "
        "not legal advice.",
        "sfumato ledger report --article 33 -p sfumato-demo/sfumato.toml",
    ),
)
def _ledger_report(
    policy: PolicyFile = HERE,
    *,
    article: Annotated[str, typer.Option("--article", metavar="N", help="15, 17, 20, 30, 33 or 35.")],
    json: Json = False,
) -> None:
    from sfumato.cli.ledger_report import report

    report(policy, article, as_json=json)


@ledger.command(
    "backup",
    help=help_of(
        "Write a consistent copy, also while serving. Never copy the ledger's file by itself.",
        "sfumato ledger backup clinic.backup -p sfumato-demo/sfumato.toml",
    ),
)
def _ledger_backup(file: Target, policy: PolicyFile = HERE) -> None:
    from sfumato.cli.ledger import backup

    backup(policy, file)


@ledger.command(
    "accept",
    help=help_of(
        "Accept a new or older ledger after a loss. Charges that it does not hold are forgotten, so use it only for "
        "a ledger that cannot be restored.",
        "sfumato ledger accept -p sfumato-demo/sfumato.toml",
    ),
)
def _ledger_accept(policy: PolicyFile = HERE) -> None:
    from sfumato.cli.ledger import accept

    accept(policy)


@ledger.command(
    "move",
    help=help_of(
        "Move a ledger into a PostgreSQL server. Gateways on several hosts can share it there. The chain stays the "
        "same; the old place is no longer served. If a move was interrupted, run it again.",
        "sfumato ledger move sfumato-demo/clinic.ledger postgresql://ledger@db.example/sfumato",
    ),
)
def _ledger_move(
    source: Annotated[str, typer.Argument(metavar="FROM", help="The file of the ledger, or its address.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="postgresql://USER@HOST/DATABASE[#SCHEMA]")],
) -> None:
    from sfumato.cli.ledger import move

    move(source, target)


_CHANGES = {
    "freeze": "Stop answering queries in every process.",
    "unfreeze": "Answer queries again after a freeze.",
    "reopen": "Open data versions that failures closed.",
}


def _changing(word: str) -> Callable[..., None]:
    """A command that writes this word into the chain."""

    def change_it(policy: PolicyFile = HERE) -> None:
        from sfumato.cli.ledger import change

        change(policy, word)

    return change_it


for _word, _about in _CHANGES.items():
    _example = f"sfumato ledger {_word} -p sfumato-demo/sfumato.toml"
    ledger.command(_word, help=help_of(_about, _example))(_changing(_word))
ledger.command("thaw", help=help_of("The same as unfreeze.", "sfumato ledger thaw -p sfumato-demo/sfumato.toml"))(
    _changing("unfreeze")
)
