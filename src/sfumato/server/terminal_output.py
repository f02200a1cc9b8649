"""Output on a terminal: a console that honours NO_COLOR, errors with five fields, exit codes, progress."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.segment import Segment, Segments
from rich.table import Table

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
_PARAMETER = InputError.default_sqlstate
_WIDE = 100
"""Columns of a line of SQL that are shown around a mistake."""


def console(*, stderr: bool = False) -> Console:
    """Where people read: no escape codes at all under NO_COLOR, or where the stream is not a terminal."""
    stream = sys.stderr if stderr else sys.stdout
    terminal = stream.isatty()
    plain = bool(os.environ.get("NO_COLOR")) or not terminal
    width = None if terminal else 100_000  # a file has no edge: nothing is wrapped or cut there
    return Console(
        color_system=None if plain else "auto",
        highlight=False,
        markup=False,
        emoji=False,
        stderr=stderr,
        width=width,
    )


def say_new_ledger(place: str | None) -> None:
    """Say on stderr where a ledger was begun, if one was: a new ledger is a full budget."""
    if place is not None:
        if Path(place).is_relative_to(Path.cwd()):
            place = str(Path(place).relative_to(Path.cwd()))
        sys.stderr.write(f"Created a new ledger: {place} (nothing has been charged yet).\n")


def print_whole(out: Console, table: Table) -> None:
    """A table as wide as its numbers are, also beyond the edge: a terminal wraps lines, but must not cut a number."""
    width = max(out.width, out.measure(table, options=out.options.update(width=100_000)).maximum)
    _print_trimmed(out, out.render_lines(table, out.options.update(width=width), pad=False))


def print_table(out: Console, table: Table) -> None:
    """A table whose long cells are wrapped at the edge of the terminal."""
    _print_trimmed(out, out.render_lines(table, pad=False))


def _print_trimmed(out: Console, lines: Sequence[Sequence[Segment]]) -> None:
    """Lines without blanks at their ends, which a narrow terminal would wrap into empty lines."""
    for line in lines:
        cells = list(line)
        while cells and not cells[-1].text.strip():
            cells.pop()
        if cells:
            cells[-1] = Segment(cells[-1].text.rstrip(), cells[-1].style)
        out.print(Segments([*cells, Segment.line()]), soft_wrap=True, end="")


def print_json(document: dict[str, Any]) -> None:
    """One document on stdout, in ASCII so that no terminal's encoding can spoil it."""
    sys.stdout.write(json.dumps(document, indent=2) + "\n")


def error_text(error: SfumatoError, sql: str | None = None) -> str:
    """The five fields, one to a line, those that are there; the position as a caret where the text is known."""
    fields = error.to_dict()
    lines = [f"ERROR {fields['sqlstate']}: {fields['message']}"]
    pointed = [] if sql is None or not error.position else _pointed(sql, error.position)
    lines += pointed
    for name in ("detail", "hint", "position"):
        if fields[name] and not (name == "position" and pointed):
            lines.append(f"{name.upper()}: {fields[name]}")
    return "\n".join(lines) + "\n"


def stop(error: SfumatoError, sql: str | None = None) -> NoReturn:
    """The error on stderr, and its exit code."""
    text = error_text(error, sql)
    sys.stderr.write(text.encode("utf-8", "replace").decode("utf-8"))  # an argument may hold bytes that are no text
    sys.exit(exit_code(error))


def _pointed(sql: str, position: int) -> list[str]:
    """The line of the question that holds a position, cut to what fits, and a caret below it."""
    at = min(position - 1, len(sql))
    start = sql.rfind("\n", 0, at) + 1
    line = sql[start:].split("\n", 1)[0].rstrip("\r")
    first = max(0, at - start - _WIDE // 2)
    shown = line[first : first + _WIDE]
    head = f"LINE {sql.count(chr(10), 0, at) + 1}: " + ("…" if first else "")
    tail = "…" if first + _WIDE < len(line) else ""
    before = _printable(shown[: at - start - first])
    return [head + _printable(shown) + tail, " " * cell_len(head + before) + "^"]


def _printable(text: str) -> str:
    """Tabs and control characters as blanks: a caret below them must not move, and a terminal must not obey them."""
    return "".join(character if character.isprintable() else " " for character in text)


def exit_code(error: SfumatoError) -> int:
    """The exit code that tells a program what kind of error it was."""
    if isinstance(error, QueryError) and error.sqlstate == _PARAMETER and not error.position:
        return 2  # a parameter that was given beside the question, whoever noticed it
    return next((code for kind, code in _EXIT_CODES if isinstance(error, kind)), 2)


@contextmanager
def progress() -> Iterator[Callable[[str], object]]:
    """A line on a terminal that says what is being done and for how long; no escape codes where they are unwanted."""
    out = console(stderr=True)
    if not sys.stderr.isatty():
        yield lambda _: None
    elif os.environ.get("NO_COLOR") or out.is_dumb_terminal:
        yield lambda words: out.print(_printable(f"{words} …"))
    else:
        columns = (SpinnerColumn(), TextColumn("{task.description} …"), TimeElapsedColumn())
        with Progress(*columns, console=out, transient=True) as bar:
            task = bar.add_task("")
            yield lambda words: bar.update(task, description=escape(_printable(words)))
