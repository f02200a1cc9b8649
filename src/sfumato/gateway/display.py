"""How answers, previews, budgets and gateways look in Python: a few lines of text, or HTML in a notebook.

Comes in: one of these records. Goes out: text. Values have the digits that the noise allows, with ± beside them; cost,
what is left and notes follow. Nothing of the plan or of the data is shown beyond what the record itself says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any

from sfumato.errors import SfumatoError
from sfumato.gateway.amounts import Spent
from sfumato.gateway.charts import draw
from sfumato.gateway.rounding import (
    DELTA,
    NO_ROWS,
    amount,
    around,
    budget_title,
    by_rho,
    cost_line,
    fewer_lines,
    in_currency,
    many,
    note_lines,
    plain,
    preview_cost_line,
    width,
)
from sfumato.gateway.shown_intervals import NumberWorth
from sfumato.gateway.worth_notes import all_notes
from sfumato.policy import ROW, Policy, Table, UnitJoin
from sfumato.types import show

if TYPE_CHECKING:
    from sfumato.gateway.answer import Answer
    from sfumato.gateway.budgets import AnalystBudget
    from sfumato.gateway.preview import Preview

_LINES, _HTML_ROWS = 20, 100
"""Rows that are shown as text and in a notebook; `to_pandas` has them all."""
_NUMBERS = ("bigint", "numeric")
_STYLE = (
    "<style>.sfumato{font:13px system-ui,sans-serif}.sfumato table{border-collapse:collapse;margin:4px 0}"
    ".sfumato th,.sfumato td{padding:2px 10px 2px 0;text-align:left;white-space:nowrap}"
    ".sfumato td:last-child{white-space:normal}"
    ".sfumato .n{text-align:right;font-variant-numeric:tabular-nums}.sfumato small,.sfumato p{opacity:.75}"
    ".sfumato p{margin:3px 0}.sfumato .sfumato-budget{display:inline-block;width:160px;height:9px;background:#8884;"
    "vertical-align:middle}.sfumato .sfumato-budget i{display:block;height:9px;background:#b8860b}</style>"
)
"""Charts are inside of this page: a class here must not be one of theirs, or it would change what they draw."""


# answers
def answer_text(answer: Answer) -> str:
    """The first rows, what they cost and what is left."""
    worth = answer.worth(first=_LINES)
    cells = [list(answer.columns)]
    cells += [
        [" ".join(filter(None, around(value, one.interval, unknown=one.unknown))) for value, one in row]
        for row in _beside(answer, worth)
    ]
    lines = _aligned(cells, answer.types)
    if len(answer.rows) > _LINES:
        lines.append(f"… {many(len(answer.rows) - _LINES, 'more row')}")
    return "\n".join([*(lines if answer.columns else []), *_about(answer, worth)])


def answer_html(answer: Answer) -> str:
    """A table, a chart, cost, what is left and notes."""
    worth = answer.worth(first=_HTML_ROWS)
    columns = list(zip(answer.columns, answer.types, answer.noisy, strict=True))
    head = "".join(f"<th{_kind(kind)}>{escape(name)}</th>{'<th></th>' * noisy}" for name, kind, noisy in columns)
    body = []
    for row in _beside(answer, worth):
        cells = []
        for (value, one), (_, kind, noisy) in zip(row, columns, strict=True):
            number, beside = around(value, one.interval, unknown=one.unknown)
            digits = number if one.unknown else plain(value)
            cells.append(f'<td{_kind(kind)} title="{escape(digits)}">{escape(number)}</td>')
            if noisy:  # a cell of its own, so that the digits of a column are below each other
                cells.append(f"<td><small>{escape(beside)}</small></td>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    more = len(answer.rows) - _HTML_ROWS
    lines = [f"… {many(more, 'more row')}"] if more > 0 else []
    lines += [f"± and ranges: {show(answer.confidence * 100)} % confidence"] if any(answer.noisy) else []
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    return _page(table + _picture(answer), [*lines, *_about(answer, worth)])


def _beside(answer: Answer, worth: list[list[NumberWorth]]) -> list[list[tuple[Any, NumberWorth]]]:
    """Of the first rows each value, and what it is worth."""
    return [list(zip(*parts, strict=True)) for parts in zip(answer.rows[: len(worth)], worth, strict=True)]


def _about(answer: Answer, worth: list[list[NumberWorth]]) -> list[str]:
    line = cost_line(answer.cost, answer.remaining, stored=answer.receipt is not None)
    notes = note_lines(all_notes(answer, worth))
    return [*([] if answer.rows or not answer.columns else [NO_ROWS]), line, *notes]


def _picture(answer: Answer) -> str:
    """The chart of an answer with several rows, where it can be drawn."""
    if len(answer.rows) < 2 or not any(answer.noisy):
        return ""
    try:
        return draw(answer).svg
    except SfumatoError:
        return ""


# previews
def preview_text(preview: Preview) -> str:
    """Cost, and of each column its noise and its expected ±; or the refusal."""
    heads = ["column", "noise", "scale", f"± at {show(preview.confidence * 100)} %", ""]
    cells = [heads, *([*row, column.note] for row, column in zip(_columns(preview), preview.columns, strict=True))]
    lines = _aligned(cells, ("text", "text", "bigint", "bigint", "text")) if preview.columns else []
    return "\n".join([*lines, *_price(preview)])


def preview_html(preview: Preview) -> str:
    """The same as HTML."""
    heads = ("column", "noise", "scale", f"± at {show(preview.confidence * 100)} %", "")
    rows = [[*row, column.note] for row, column in zip(_columns(preview), preview.columns, strict=True)]
    return _page(_html_table(heads, rows, numbers=(2, 3)) if rows else "", _price(preview))


def _columns(preview: Preview) -> list[list[str]]:
    rows = []
    for column in preview.columns:
        half = column.half_width(preview.confidence)
        scale, ends = (None if x is None else width(x) for x in (column.scale, half))
        rows.append([column.name, column.law, scale or "", ends or ""])
    return rows


def _price(preview: Preview) -> list[str]:
    lines = []
    if (line := preview_cost_line(preview)) is not None:
        lines.append(line)
    if preview.refused is not None:
        lines += [f"refused: {part}" if i == 0 else part for i, part in enumerate(str(preview.refused).split("\n"))]
    return [*lines, *fewer_lines(preview), *note_lines(preview.notes)]


# budgets
def budget_text(budget: AnalystBudget) -> str:
    """What is left of what."""
    left, total = Spent.of(budget.remaining), Spent.of(budget.total)
    in_rho = by_rho(left)
    delta = ""
    if budget.total.delta:
        delta = f"; delta {amount(budget.remaining.delta)} of {amount(budget.total.delta)} left for undeclared groups"
    words = f"{in_currency(left, in_rho=in_rho)} of {in_currency(total, in_rho=in_rho).split(' ', 1)[1]} left{delta}"
    return f"{budget_title(budget.analyst)}: {words}"


def budget_html(budget: AnalystBudget) -> str:
    """A bar of what is left, and the amounts of each currency that has a total."""
    losses = (("total", budget.total), ("spent", budget.spent), ("left", budget.remaining))
    heads = ["epsilon"] if budget.total.epsilon is not None else []
    heads += ["rho"] if budget.total.rho is not None else []
    heads += ["delta"] if budget.total.delta else []
    rows = [
        [name, *("–" if x is None else amount(x) for x in (getattr(loss, head) for head in heads))]
        for name, loss in losses
    ]
    shown = [DELTA if head == "delta" else head for head in heads]
    table = _html_table(("", *shown), rows, numbers=range(1, len(heads) + 1))
    return _page(f"<p><b>{escape(budget_title(budget.analyst))}</b></p>{_bar(budget)}{table}", [])


def _bar(budget: AnalystBudget) -> str:
    rooms = [
        Fraction(left or 0) / total
        for left, total in (
            (budget.remaining.epsilon, budget.total.epsilon),
            (budget.remaining.rho, budget.total.rho),
        )
        if total
    ]
    left = int(100 * max(rooms, default=Fraction(0)))
    return f'<span class="sfumato-budget" title="{left} % left"><i style="width:{left}%"></i></span> {left} % left'


# gateways
def gateway_text(policy: Policy, budget: AnalystBudget) -> str:
    """Data set, tables and budget in a line."""
    tables = ", ".join(plain(name) for name in policy.tables)
    return f'<Gateway "{plain(policy.data.id)}": {tables}; {budget_text(budget)}>'


def gateway_html(policy: Policy, budget: AnalystBudget) -> str:
    """What can be asked about: each table with its privacy unit, its contribution bound and its columns."""
    heads = ("table", "privacy unit", "max rows per unit", "columns")
    rows = []
    for table in policy.tables.values():
        most = "" if table.public else str(table.rows_per_unit)
        rows.append([table.name, unit_words(table), most, ", ".join(table.columns)])
    title = f"<p><b>{escape(policy.data.id)}</b>, version {escape(policy.data.version)}</p>"
    return _page(title + _html_table(heads, rows, numbers=(2,)) + budget_html(budget).removeprefix(_STYLE), [])


def unit_words(table: Table) -> str:
    """Who is protected in a table."""
    if table.unit == ROW:
        return "each row"
    if isinstance(table.unit, UnitJoin):
        return f"{', '.join(column for column, _ in table.unit.pairs)} → {table.unit.place}"
    return table.unit or "none: public"


# parts
def _aligned(cells: Sequence[Sequence[str]], types: Sequence[str]) -> list[str]:
    """A table as lines of text; numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            cell.rjust(size) if kind in _NUMBERS else cell.ljust(size)
            for cell, size, kind in zip(row, widths, types, strict=True)
        ).rstrip()
        for row in cells
    ]


def _kind(kind: str) -> str:
    return ' class="n"' if kind in _NUMBERS else ""


def _html_table(heads: Iterable[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[int]) -> str:
    def cell(tag: str, place: int, text: str) -> str:
        right = ' class="n"' if place in numbers else ""
        return f"<{tag}{right}>{escape(text)}</{tag}>"

    head = "".join(cell("th", i, text) for i, text in enumerate(heads))
    body = "".join(f"<tr>{''.join(cell('td', i, text) for i, text in enumerate(row))}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _page(body: str, lines: Iterable[str]) -> str:
    return f'{_STYLE}<div class="sfumato">{body}{"".join(f"<p>{escape(line)}</p>" for line in lines)}</div>'
