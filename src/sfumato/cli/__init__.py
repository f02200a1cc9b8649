"""The command line: `sfumato COMMAND`. commands/ declares what can be typed; one file per command does the work.

People get plain English on stdout; programs ask for `--json` and get one document there. Errors go to stderr with
their five fields. Exit codes: 0 done, 1 a checked claim is false, 2 command line, files or policy, 3 SQL that is not
answered because of its text, 4 the budget does not allow it, 5 engine or ledger unavailable, 6 undecided.
"""

from __future__ import annotations

import sfumato.cli.interrupts  # noqa: F401  imported for what it does: Ctrl-C while the rest is loaded

# isort: split
import os
import sys
from typing import Annotated

import typer

from sfumato.cli import commands
from sfumato.cli.commands.common import group
from sfumato.errors import InputError, SfumatoError
from sfumato.server.terminal_output import stop

os.environ.setdefault("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")  # the shell is named, not guessed
ABOUT = "A SQL gateway with differential privacy: noisy aggregates with intervals, and an enforced privacy budget."
app = group("sfumato", ABOUT, completion=True)
for _file in (commands.owner, commands.query, commands.serve, commands.checking, commands.anonymize, commands.learn):
    app.registered_commands += _file.commands.registered_commands
_groups = (
    commands.query.budget,
    commands.ledger.ledger,
    commands.serve.user,
    commands.design.design,
    commands.geo.geo,
    commands.anonymize.hierarchy,
    commands.local.local,
)
for _group in _groups:
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
    """A SQL gateway with differential privacy: noisy aggregates with intervals, and an enforced privacy budget.

    `sfumato --install-completion bash` (or zsh, or fish) sets up completion.
    """


def main() -> None:
    """The console script: every error becomes five fields on stderr and an exit code."""
    try:
        app(prog_name="sfumato")
    except SfumatoError as error:
        stop(error)
    except BrokenPipeError:  # the reader of our output left, for example `head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except RuntimeError as error:
        if str(error) != "Query interrupted":
            raise
        sys.exit(130)  # Ctrl-C while the engine ran, which says so by an error of its own
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        where = f' "{error.filename}"' if error.filename else ""
        stop(InputError(f"cannot use file{where}: {reason}", sqlstate="58P01"))
