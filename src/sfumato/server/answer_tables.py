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

from sfumato.gateway import Answer, Preview
from sfumato.gateway.rounding import (
    UNKNOWN,
    WHY_UNKNOWN,
    by_rho,
    charge,
    cost_line,
    in_currency,
    is_free,
    more_like_this,
    note_lines,
    plain,
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
    unknown = any(nothing for row in answer.untold(first=MOST_ROWS) for nothing in row)
    for line in (*answer_lines(answer), *([WHY_UNKNOWN] if unknown else [])):
        out.print(Text(line, style="dim"))


def answer_table(answer: Answer, most: int) -> Table:
    """The first rows as a table; beside each noisy column its interval."""
    rows, intervals, untold = answer.rows[:most], answer.intervals(first=most), answer.untold(first=most)
    noisy = [any(row[i] is not None for row in intervals) for i in range(len(answer.columns))]
    table = Table(box=None, padding=(0, _MARGIN, 0, 0), pad_edge=False, header_style="bold")
    for name, kind, has_interval in zip(answer.columns, answer.types, noisy, strict=True):
        table.add_column(Text(name), justify="right" if kind in _NUMBERS else "left", no_wrap=True)
        if has_interval:
            head = f"{show(answer.confidence * 100)} % interval"
            table.add_column(Text(head, style="dim"), justify="left", style="dim", no_wrap=True)
    for row, ends, nothing in zip(rows, intervals, untold, strict=False):
        cells: list[Text] = []
        for value, interval, has_interval, unknown in zip(row, ends, noisy, nothing, strict=True):
            number, around = shown(value, interval)
            cells.append(Text(UNKNOWN if unknown else number))
            if has_interval:
                cells.append(Text(around))
        table.add_row(*cells)
    return table


def answer_lines(answer: Answer) -> list[str]:
    """What it cost, what remains, what to keep in mind, and the receipt."""
    lines = [cost_line(answer.cost, answer.remaining, stored=answer.receipt is not None), *note_lines(answer.notes)]
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
    if preview.cost is not None and preview.before is not None and preview.after is not None:
        free = is_free(preview.cost)
        costs = "would cost: free" if free else f"would cost: {charge(preview.cost, preview.before)}"
        in_rho = preview.cost.epsilon is None or by_rho(preview.before)
        before, after = (in_currency(amounts, in_rho=in_rho) for amounts in (preview.before, preview.after))
        left = f"{costs}; {before} left{more_like_this(preview.before, preview.cost)}"
        out.print(left if preview.refused is not None or free else f"{left}, {after} after")
    for line in (*_fewer(preview), *note_lines(preview.notes)):
        out.print(Text(line, style="dim"))


def _fewer(preview: Preview) -> list[str]:
    """For each column what fewer rows of a person would give, where that is known without asking."""
    fewer = preview.fewer
    lines = []
    for i, column in enumerate(preview.columns):
        widths = [(one.rows_per_unit, one.half_widths[i]) for one in fewer]
        known = [f"{rows} → ± {width_of(width)}" for rows, width in widths if width is not None]
        if known:
            lines.append(f"rows_per_unit for {plain(column.name)}: {'; '.join(known)}")
    if lines:
        lines.append("with a lower bound, people with more rows are down-weighted")
    lost = [f"{one.rows_per_unit} → {float(100 * one.lost):.2g} %" for one in fewer if one.lost is not None]
    return [*lines, *([f"about this fraction of the table's rows would not count: {'; '.join(lost)}"] if lost else [])]


def write_csv(answer: Answer, out: TextIO) -> None:
    """All rows, every digit, NULL as nothing; each noisy column is followed by the ends of its interval."""
    intervals = answer.intervals()
    noisy = [any(row[i] is not None for row in intervals) for i in range(len(answer.columns))]
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_beside(answer.columns, [(f"{c}_low", f"{c}_high") for c in answer.columns], noisy))
    for row, ends in zip(answer.rows, intervals, strict=True):
        cells = ["" if value is None else plain(value) if isinstance(value, Decimal) else value for value in row]
        writer.writerow(_beside(cells, [("", "") if e is None else tuple(map(plain, e)) for e in ends], noisy))


def _beside(values: Sequence[Any], ends: Sequence[tuple[Any, ...]], noisy: Sequence[bool]) -> list[Any]:
    together = zip(values, ends, noisy, strict=True)
    return [cell for value, pair, has in together for cell in (value, *(pair if has else ()))]
