"""Answers and previews as people read them: numbers right-aligned, each with its interval in a quieter tone.

Comes in: an Answer or a Preview. Goes out: text in a terminal, or CSV. A number is shown with no more decimals than its
interval makes sense of, and ends of intervals are rounded outward; programs ask for `--json` and get all digits.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sfumato.doors.cli.say import amount, console, print_whole
from sfumato.gateway import Answer, Preview, Spent
from sfumato.words import show

MOST_ROWS = 1000
"""More rows than these go through a pager, or all of them to `--csv`."""

_NUMBERS = ("bigint", "numeric")
_MARGIN = 2
Interval = tuple[Any, Any] | None


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
    for line in answer_lines(answer):
        out.print(Text(line, style="dim"))


def answer_table(answer: Answer, most: int) -> Table:
    """The first rows as a table; beside each noisy column its interval."""
    rows, intervals = answer.rows[:most], answer.intervals()[:most]
    noisy = [any(row[i] is not None for row in intervals) for i in range(len(answer.columns))]
    table = Table(box=None, padding=(0, _MARGIN, 0, 0), pad_edge=False, header_style="bold")
    for name, kind, has_interval in zip(answer.columns, answer.types, noisy, strict=True):
        table.add_column(Text(name), justify="right" if kind in _NUMBERS else "left", no_wrap=True)
        if has_interval:
            head = f"{show(answer.confidence * 100)} %"
            table.add_column(Text(head, style="dim"), justify="left", style="dim", no_wrap=True)
    for row, ends in zip(rows, intervals, strict=True):
        cells: list[Text] = []
        for value, interval, has_interval in zip(row, ends, noisy, strict=True):
            number, around = shown(value, interval)
            cells.append(Text(number))
            if has_interval:
                cells.append(Text(around))
        table.add_row(*cells)
    return table


def shown(value: Any, interval: Interval) -> tuple[str, str]:
    """A value and its interval as text.

    >>> from decimal import Decimal
    >>> shown(Decimal("49.0863407472"), (Decimal("47.820895649"), Decimal("50.341322395")))
    ('49.1', '47.8 to 50.4')
    >>> shown(1355, (1324, 1386)), shown(None, None)
    (('1,355', '1,324 to 1,386'), ('NULL', ''))
    """
    if interval is None:
        return plain(value), ""
    low, high = (Decimal(end) for end in interval)
    places = _places(high - low)
    ends = f"{_rounded(low, places, ROUND_FLOOR)} to {_rounded(high, places, ROUND_CEILING)}"
    return ("NULL" if value is None else _rounded(Decimal(value), places, ROUND_HALF_EVEN)), ends


def plain(value: Any) -> str:
    """A key or a derived value, as PostgreSQL's own terminal shows it."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return f"{value:f}"
    return "".join(c if c.isprintable() else " " for c in str(value))


def _places(width: Decimal) -> int:
    """Decimals that say something beside an interval of this width: two digits of its half."""
    if width <= 0:
        return 6
    return max(0, min(12, 1 - (width / 2).adjusted()))


def _rounded(value: Decimal, places: int, rounding: str) -> str:
    """A number with thousands separators, and no decimals that it does not have."""
    has = max(0, -int(value.as_tuple().exponent))
    return f"{value.quantize(Decimal(1).scaleb(-min(places, has)), rounding=rounding):,}"


def answer_lines(answer: Answer) -> list[str]:
    """What it cost, what remains, what to keep in mind, and the receipt."""
    free = answer.cost.epsilon == 0 and answer.cost.rho == 0
    cost = "cost nothing" if free else f"cost {_price(answer.cost, answer.remaining)}"
    if free and answer.receipt is not None:
        cost = "cost nothing: asked before, the stored answer"
    left = spent(answer.remaining, in_rho=_by_rho(answer.remaining))
    lines = [f"{cost}; {left} remains{_more(answer.remaining)}"]
    lines += _notes(answer.notes)
    if answer.receipt is not None:
        lines.append(f"receipt {answer.receipt}")
    return lines


def _notes(notes: Sequence[tuple[str | None, str]]) -> list[str]:
    return [f"note: {text}" if column is None else f"note on {column}: {text}" for column, text in notes]


def spent(amounts: Spent, *, in_rho: bool = False) -> str:
    """Epsilon, or rho where it is asked for or no epsilon is counted."""
    if amounts.rho is not None and (in_rho or amounts.epsilon is None):
        return f"rho {amount(amounts.rho)}"
    return "nothing that is counted" if amounts.epsilon is None else f"epsilon {amount(amounts.epsilon)}"


def _by_rho(left: Spent) -> bool:
    """Whether the door of epsilon is shut, or there is none, and that of rho is open."""
    return not left.epsilon and bool(left.rho)


def _price(cost: Spent, left: Spent) -> str:
    """What is debited, in the currency that is left, with the delta that choosing open keys costs."""
    return spent(cost, in_rho=_by_rho(left)) + (f" and delta {amount(cost.delta)}" if cost.delta else "")


def _more(left: Spent) -> str:
    return "" if left.queries is None else f" (about {left.queries:,} more like this)"


def print_preview(preview: Preview, out: Console) -> None:
    """Law, scale and expected interval of each column; cost, and the budget before and after."""
    confidence = preview.confidence
    table = Table(box=None, padding=(0, _MARGIN, 0, 0), pad_edge=False, header_style="bold")
    heads = ("column", "law", "scale", f"± at {show(confidence * 100)} %", "")
    for head, justify in zip(heads, ("left", "left", "right", "right", "left"), strict=True):
        table.add_column(head, justify=justify, no_wrap=bool(head))  # type: ignore[arg-type]
    for column in preview.columns:
        width = column.half_width(confidence)
        scale = "" if column.scale is None else _decimal(column.scale)
        around = "" if width is None else _decimal(width)
        table.add_row(Text(column.name), column.law, scale, around, Text(column.note, style="dim"))
    print_whole(out, table)
    if preview.cost is not None and preview.before is not None and preview.after is not None:
        free = preview.cost.epsilon == 0 and preview.cost.rho == 0
        costs = "would cost nothing" if free else f"would cost {_price(preview.cost, preview.before)}"
        in_rho = preview.cost.epsilon is None or _by_rho(preview.before)
        before, after = (spent(amounts, in_rho=in_rho) for amounts in (preview.before, preview.after))
        if preview.refused is not None:
            out.print(f"{costs}; {before} remains")
        else:
            out.print(f"{costs}: {before} before{_more(preview.before)}, {after} after")
    for line in (*_fewer(preview), *_notes(preview.notes)):
        out.print(Text(line, style="dim"))


def _fewer(preview: Preview) -> list[str]:
    """For each column what fewer rows of a person would give, where that is known without asking."""
    fewer = preview.fewer
    lines = []
    for i, column in enumerate(preview.columns):
        widths = [(one.rows_per_unit, one.half_widths[i]) for one in fewer]
        known = [f"{rows} → ± {_decimal(width)}" for rows, width in widths if width is not None]
        if known:
            lines.append(f"rows_per_unit for {plain(column.name)}: {'; '.join(known)}")
    if lines:
        lines.append("with fewer, who has more rows counts for less")
    lost = [f"{one.rows_per_unit} → {float(100 * one.lost):.2g} %" for one in fewer if one.lost is not None]
    return [*lines, *([f"of all rows of the table about so many would not count: {'; '.join(lost)}"] if lost else [])]


def _decimal(number: Fraction) -> str:
    """A width or a scale to three digits, rounded up, with thousands separators."""
    if number.denominator == 1 and number < 10**15:
        return f"{int(number):,}"
    digits = 2 - (Decimal(number.numerator) / Decimal(number.denominator)).adjusted()
    places = max(0, digits)
    up = -(-number * 10**places // 1)
    return f"{Decimal(int(up)).scaleb(-places):,}"


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
