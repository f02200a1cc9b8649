"""`sfumato ledger`: look at the record of all debits, verify it, copy it, stop and start."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from sfumato.doors.cli.commands.shape import HERE, Json, PolicyFile, group, help_of

ledger = group("ledger", "The record of all debits: look, verify, copy, stop and start.")
Target = Annotated[Path, typer.Argument(metavar="FILE", help="Where to write.")]


@ledger.command(
    "show",
    help=help_of(
        "Every entry of the chain: debits, answers, failures, changes of policy.",
        "sfumato ledger show -p sfumato-demo/sfumato.toml",
    ),
)
def _ledger_show(
    policy: PolicyFile = HERE,
    json: Json = False,
    follow: Annotated[bool, typer.Option("--follow", help="Then go on with what is written, until Ctrl-C.")] = False,
) -> None:
    from sfumato.doors.cli.book import follow_entries, show_entries

    if follow:
        follow_entries(policy, as_json=json)
    else:
        show_entries(policy, as_json=json)


@ledger.command(
    "verify",
    help=help_of(
        "Recompute the whole chain; exit code 1 if anything was edited, removed or moved.",
        "sfumato ledger verify -p sfumato-demo/sfumato.toml",
    ),
)
def _ledger_verify(policy: PolicyFile = HERE, json: Json = False) -> None:
    from sfumato.doors.cli.book import verify

    verify(policy, as_json=json)


@ledger.command(
    "export",
    help=help_of(
        "The chain as JSON lines, for an auditor. It holds the text of every question.",
        "sfumato ledger export clinic.jsonl -p sfumato-demo/sfumato.toml",
    ),
)
def _ledger_export(file: Target, policy: PolicyFile = HERE) -> None:
    from sfumato.doors.cli.book import export

    export(policy, file)


@ledger.command(
    "backup",
    help=help_of(
        "A whole copy, also while questions are answered. Never copy the ledger's file by itself.",
        "sfumato ledger backup clinic.backup -p sfumato-demo/sfumato.toml",
    ),
)
def _ledger_backup(file: Target, policy: PolicyFile = HERE) -> None:
    from sfumato.doors.cli.book import backup

    backup(policy, file)


_CHANGES = {
    "freeze": "Answer no question from now on, in any process.",
    "thaw": "Answer questions again.",
    "reopen": "The owner has looked at the failures: data versions that they closed are open again.",
}


def _changing(word: str) -> Callable[..., None]:
    """A command that writes this word into the chain."""

    def change_it(policy: PolicyFile = HERE) -> None:
        from sfumato.doors.cli.book import change

        change(policy, word)

    return change_it


for _word, _about in _CHANGES.items():
    _example = f"sfumato ledger {_word} -p sfumato-demo/sfumato.toml"
    ledger.command(_word, help=help_of(_about, _example))(_changing(_word))
