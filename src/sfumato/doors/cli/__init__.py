"""The command line: `sfumato COMMAND`. One file per command group, imported when it is called.

People get plain English on stdout; programs ask for `--json` and get one document there. Errors go to stderr with
their five fields. Exit codes: 0 done, 1 a checked claim is false, 2 command line, files or policy, 3 a question that
cannot be answered as it stands, 4 the budget does not allow it, 5 engine or ledger unavailable, 6 undecided.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from sfumato.doors.cli.say import exit_code, print_error
from sfumato.errors import InputError, SfumatoError

app = typer.Typer(
    name="sfumato",
    help="Differential privacy with exact noise and exact accounting.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # its tracebacks print local variables, and those may be rows
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
    """Differential privacy with exact noise and exact accounting."""


@app.command("demo")
def _demo(
    directory: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Where the sample clinic is kept (default ./sfumato-demo).")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Write the clinic's files anew.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One document on stdout, for programs.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Check the answers as well; without DIR in a temporary directory.")
    ] = False,
) -> None:
    """Ask a made-up clinic four questions.

    Shows noisy answers, how far off they may be, what each of them costs and what is left of the budget, and draws what
    one person changes. DIR is kept between runs.

    Example: sfumato demo --fresh
    """
    from sfumato.doors.cli.demo import run

    run(directory, fresh=fresh, as_json=json, check=check)


def main() -> None:
    """The console script: every error becomes five fields on stderr and an exit code."""
    try:
        app()
    except SfumatoError as error:
        print_error(error)
        sys.exit(exit_code(error))
    except BrokenPipeError:  # the reader of our output left, for example `head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        where = f' "{error.filename}"' if error.filename else ""
        print_error(InputError(f"cannot use file{where}: {reason}", sqlstate="58P01"))
        sys.exit(2)
