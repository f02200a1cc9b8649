"""The command line: `sfumato COMMAND`. What can be typed stands in commands/; what it does in one file per command.

People get plain English on stdout; programs ask for `--json` and get one document there. Errors go to stderr with
their five fields. Exit codes: 0 done, 1 a checked claim is false, 2 command line, files or policy, 3 SQL that is not
answered because of its text, 4 the budget does not allow it, 5 engine or ledger unavailable, 6 undecided.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from sfumato.doors.cli.commands import asking, design, doors, doubting, ledger, owner
from sfumato.doors.cli.commands.shape import group
from sfumato.doors.cli.say import stop
from sfumato.errors import InputError, SfumatoError

ABOUT = "SQL over private data: noisy answers with exact laws, exact prices and a budget that holds."
app = group("sfumato", ABOUT)
for _file in (owner, asking, doors, doubting):
    app.registered_commands += _file.commands.registered_commands
for _group in (asking.budget, ledger.ledger, doors.user, design.design):
    app.add_typer(_group)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"sfumato {version('sfumato')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """SQL over private data: noisy answers with exact laws, exact prices and a budget that holds."""


def main() -> None:
    """The console script: every error becomes five fields on stderr and an exit code."""
    try:
        app()
    except SfumatoError as error:
        stop(error)
    except BrokenPipeError:  # the reader of our output left, for example `head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        where = f' "{error.filename}"' if error.filename else ""
        stop(InputError(f"cannot use file{where}: {reason}", sqlstate="58P01"))
