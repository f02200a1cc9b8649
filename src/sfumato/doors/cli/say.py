"""How the command line speaks: a console that honours NO_COLOR, errors with five fields, exit codes."""

from __future__ import annotations

import os
import sys

from rich.console import Console

from sfumato.errors import (
    BudgetError,
    ClaimError,
    EngineError,
    InputError,
    LedgerError,
    PolicyError,
    QueryError,
    SfumatoError,
)

_EXIT_CODES: tuple[tuple[type[SfumatoError], int], ...] = (
    (ClaimError, 1),
    (InputError, 2),  # before QueryError, its parent: a parameter on the command line
    (PolicyError, 2),
    (QueryError, 3),
    (BudgetError, 4),
    (EngineError, 5),
    (LedgerError, 5),
)


def console() -> Console:
    """Where people read: no escape codes at all under NO_COLOR, or where stdout is not a terminal."""
    plain = bool(os.environ.get("NO_COLOR")) or not sys.stdout.isatty()
    return Console(color_system=None if plain else "auto", highlight=False, soft_wrap=plain, emoji=False)


def print_error(error: SfumatoError) -> None:
    """The five fields on stderr, one to a line, those that are there."""
    fields = error.to_dict()
    sys.stderr.write(f"ERROR {fields['sqlstate']}: {fields['message']}\n")
    for name in ("detail", "hint", "position"):
        if fields[name] is not None:
            sys.stderr.write(f"{name.upper()}: {fields[name]}\n")


def exit_code(error: SfumatoError) -> int:
    """The exit code that tells a program what kind of error it was."""
    return next((code for kind, code in _EXIT_CODES if isinstance(error, kind)), 2)
