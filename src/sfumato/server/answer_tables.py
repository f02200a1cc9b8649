"""Answers and previews as people read them: numbers right-aligned, each with its interval beside it.

Comes in: an Answer or a Preview. Goes out: text in a terminal, or CSV. A number is shown with no more decimals than its
interval makes sense of, and ends of intervals are rounded outward; programs ask for `--json` and get all digits.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sfumato.gateway import Answer, NumberWorth, Preview, all_notes
from sfumato.gateway.rounding import (
    NO_ROWS,
    UNKNOWN,
    cost_line,
    fewer_lines,
    note_lines,
    plain,
    preview_cost_line,
    shown,
)
from sfumato.gateway.rounding import width as width_of
from sfumato.server.terminal_output import console, print_whole
from sfumato.types import show

MOST_ROWS = 1000
"""More rows than these go through a pager, or all of them to `--csv`."""

_NUMBERS = ("bigint", "numeric")
_MARGIN = 2


def print_answer(answer: Answer, out: Console) -> None:
    """The rows, then what they cost and what remains."""
    many = len(answer.rows) > MOST_ROWS
    if many and sys.stdout.isatty():
        with out.pager(styles=out.color_system is not None):
            print_whole(out, answer_table(answer, len(answer.rows)))
    else:
        print_whole(out, answer_table(answer, MOST_ROWS))
    if many:
        shown = f"{len(answer.rows):,} rows" if sys.stdout.isatty() else f"{MOST_ROWS:,} of {len(answer.rows):,} rows"
        console(stderr=True).print(f"{shown} are shown; --csv writes them all.")
    for line in answer_lines(answer, answer.worth(first=MOST_ROWS)):
        out.print(Text(line, style="dim"))


def answer_table(answer: Answer, most: int) -> Table:
    """The first rows as a table; beside each noisy column its interval."""
    rows, worth = answer.rows[:most], answer.worth(first=most)
    noisy = [any(row[i].interval is not None for row in worth) for i in range(len(answer.columns))]
    table = Table(box=None, padding=(0, _MARGIN, 0, 0), pad_edge=False, header_style="bold")
    for name, kind, has_interval in zip(answer.columns, answer.types, noisy, strict=True):
        table.add_column(Text(name), justify="right" if kind in _NUMBERS else "left", no_wrap=True)
        if has_interval:
            head = f"{show(answer.confidence * 100)} % interval"
            table.add_column(Text(head, style="dim"), justify="left", style="dim", no_wrap=True)
    for row, told in zip(rows, worth, strict=True):
        cells: list[Text] = []
        for value, one, has_interval in zip(row, told, noisy, strict=True):
            number, around = shown(value, one.interval)
            cells.append(Text(UNKNOWN if one.unknown else number))
            if has_interval:
                cells.append(Text(around))
        table.add_row(*cells)
    return table


def answer_lines(answer: Answer, worth: Sequence[Sequence[NumberWorth]]) -> list[str]:
    """What it cost, what remains, what to keep in mind, also of what its numbers are worth, and the receipt."""
    lines = [] if answer.rows or not answer.columns else [NO_ROWS]
    lines.append(cost_line(answer.cost, answer.remaining, stored=answer.receipt is not None))
    lines += note_lines(all_notes(answer, worth))
    if answer.receipt is not None:
        lines.append(f"receipt {answer.receipt}")
    return lines


def print_preview(preview: Preview, out: Console) -> None:
    """Law, scale and expected interval of each column; cost, and the budget before and after."""
    confidence = preview.confidence
    table = Table(box=None, padding=(0, _MARGIN, 0, 0), pad_edge=False, header_style="bold")
    heads = ("column", "noise", "scale", f"± at {show(confidence * 100)} %", "")
    for head, justify in zip(heads, ("left", "left", "right", "right", "left"), strict=True):
        table.add_column(head, justify=justify, no_wrap=bool(head))  # type: ignore[arg-type]
    for column in preview.columns:
        width = column.half_width(confidence)
        scale = "" if column.scale is None else width_of(column.scale)
        around = "" if width is None else width_of(width)
        table.add_row(Text(column.name), column.law, scale, around, Text(column.note, style="dim"))
    print_whole(out, table)
    if (line := preview_cost_line(preview)) is not None:
        out.print(line)
    for line in (*fewer_lines(preview), *note_lines(preview.notes)):
        out.print(Text(line, style="dim"))


def write_csv(answer: Answer, out: TextIO) -> None:
    """All rows, every digit, NULL and unknown numbers as nothing; after each noisy column the ends of its interval."""
    worth = answer.worth()
    intervals = [[one.interval for one in row] for row in worth]
    noisy = [any(row[i] is not None for row in intervals) for i in range(len(answer.columns))]
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_beside(answer.columns, [(f"{c}_low", f"{c}_high") for c in answer.columns], noisy))
    for row, ends in zip(answer.known_rows(worth), intervals, strict=True):
        cells = ["" if value is None else plain(value) if isinstance(value, Decimal) else value for value in row]
        writer.writerow(_beside(cells, [("", "") if e is None else tuple(map(plain, e)) for e in ends], noisy))


def _beside(values: Sequence[Any], ends: Sequence[tuple[Any, ...]], noisy: Sequence[bool]) -> list[Any]:
    together = zip(values, ends, noisy, strict=True)
    return [cell for value, pair, has in together for cell in (value, *(pair if has else ()))]
