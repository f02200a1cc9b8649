"""The chart of an answer as SVG: bars with whiskers for categories, a line with its band for times and many numbers.

Comes in: an Answer, and which columns to draw. Goes out: a Chart, which a notebook shows and `save` writes. Whiskers
and bands are the confidence intervals of the answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import InputError
from sfumato.gateway.bar_charts import bar_chart, grouped_bar_chart
from sfumato.gateway.chart_axes import gaps
from sfumato.gateway.chart_frame import ChartText
from sfumato.gateway.chart_marks import ChartPlan, Mark, by_series, is_time, largest_series, marks_of, plan_chart
from sfumato.gateway.line_charts import has_bands, line_chart
from sfumato.gateway.rounding import many
from sfumato.types import show

if TYPE_CHECKING:
    from sfumato.gateway.answer import Answer


@dataclass(frozen=True)
class Chart:
    """An SVG chart; notebooks display it."""

    svg: str

    def __repr__(self) -> str:
        return f"<Chart: SVG of {len(self.svg):,} characters; .save(path) writes it>"

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> Path:
        """Write the SVG to a file."""
        place = Path(path)
        place.write_text(self.svg, encoding="utf-8")
        return place


def draw(answer: Answer, x: str | None = None, y: str | None = None) -> Chart:
    """The chart of an answer."""
    plan = plan_chart(answer, x, y)
    marks = marks_of(answer, plan)
    drawn = [mark for mark in marks if mark.drawn]
    if not marks or (not drawn and plan.kind != "groups"):
        raise InputError("this answer has no row to draw")
    value, by = answer.columns[plan.value], [] if plan.key is None else [plan.key, *plan.series]
    title = f"{value} by {', '.join(answer.columns[i] for i in by)}" if by else value
    unknown = sum(row[plan.value] for row in answer.untold())
    notes = (f"{many(unknown, 'unknown number')} {'is' if unknown == 1 else 'are'} not drawn.",) if unknown else ()
    axis = "" if plan.key is None else answer.columns[plan.key]
    text = ChartText(title, axis, ", ".join(answer.columns[i] for i in plan.series), notes)
    if plan.kind == "line" and any(math.isfinite(mark.at) for mark in drawn):
        return Chart(_lines(answer, plan, marks, text))
    whiskers = f"Whiskers {_contain(answer)}"
    if plan.kind == "groups":
        names, total = largest_series(marks)
        chosen = [mark for mark in marks if mark.series in names]
        said = _left_out(len(names), total, "colours", text.head, value)
        return Chart(grouped_bar_chart(replace(text, notes=(whiskers, *said, *notes)), chosen, names))
    return Chart(bar_chart(replace(text, notes=(whiskers, *notes)), drawn))


def _contain(answer: Answer) -> str:
    return f"contain the exact number with {show(answer.confidence * 100)} % confidence."


def _lines(answer: Answer, plan: ChartPlan, marks: Sequence[Mark], text: ChartText) -> str:
    """The chart of one line, or of the largest of several. A key of NULL has no place on the axis."""
    placed = sorted((mark for mark in marks if math.isfinite(mark.at)), key=lambda mark: mark.at)
    names, total = largest_series(mark for mark in placed if mark.drawn)
    lines = {name: [mark for mark in placed if mark.drawn and mark.series == name] for name in names}
    sure = f"{'Whiskers' if len(names) > 1 and not has_bands(lines) else 'Bands'} {_contain(answer)}"
    said = [sure, *_left_out(len(names), total, "lines", text.head, answer.columns[plan.value])]
    said += [f"Rows without a {text.axis} are not drawn."] if len(placed) < len(marks) else []
    places = {mark.at: mark.group for mark in placed}
    timed = plan.key is not None and is_time(answer, plan.key)
    return line_chart(replace(text, notes=(*said, *text.notes)), lines, places, timed=timed)


def _left_out(chosen: int, total: int, what: str, head: str, value: str) -> list[str]:
    if chosen == total:
        return []
    return [f"Showing {chosen} of {total:,} {what} (by {head}), those with the largest {value} in total."]


def draw_on(axes: Any, answer: Answer, x: str | None, y: str | None) -> Any:
    """The same on axes of matplotlib, which it returns."""
    plan = plan_chart(answer, x, y)
    rows = marks_of(answer, plan)
    marks = [mark for mark in rows if mark.drawn and (plan.kind != "line" or math.isfinite(mark.at))]
    chosen, total = largest_series(marks)
    head = ", ".join(answer.columns[i] for i in plan.series)
    if plan.kind == "line":
        places = sorted({mark.at for mark in rows if math.isfinite(mark.at)})
        for i, name in enumerate(chosen):
            points = sorted((mark for mark in marks if mark.series == name), key=lambda mark: mark.at)
            axes.errorbar(*_with_gaps(points, places), **_style(i, name))
    elif plan.kind == "groups":
        groups = list(dict.fromkeys(mark.group for mark in marks if mark.series in chosen))
        width = 0.8 / max(1, len(chosen))
        for i, name in enumerate(chosen):
            part = by_series(marks)[name]
            at = [groups.index(mark.group) + (i - (len(chosen) - 1) / 2) * width for mark in part]
            axes.bar(at, [mark.value for mark in part], width, yerr=_errors(part), capsize=3, label=name)
        axes.set_xticks(range(len(groups)), groups)
    else:
        names, values = [mark.name for mark in marks], [mark.value for mark in marks]
        axes.bar(names, values, yerr=_errors(marks), capsize=4)
    if plan.kind != "bars" and plan.series:
        axes.legend(title=f"{head} ({len(chosen)} of {total:,})" if len(chosen) < total else head)
    if plan.key is not None:
        axes.set_xlabel(answer.columns[plan.key])
    axes.set_ylabel(answer.columns[plan.value])
    return axes


def _style(i: int, name: str) -> dict[str, Any]:
    return {"label": name, "marker": "os^DPvX_"[i], "capsize": 3} if name else {}


def _errors(marks: Sequence[Mark]) -> list[list[float]]:
    """How far each interval goes below and above its value, as matplotlib wants it."""
    return [[mark.value - mark.low for mark in marks], [mark.high - mark.value for mark in marks]]


def _with_gaps(points: Sequence[Mark], places: Sequence[float]) -> tuple[list[Any], list[float], list[list[float]]]:
    """Keys, values and errors of a line; a value that is not a number breaks it where a point is missing."""
    keys: list[Any] = []
    values: list[float] = []
    errors: list[list[float]] = [[], []]
    pieces = gaps([mark.at for mark in points], places)
    for i, mark in enumerate(points):
        if i and pieces[i] > pieces[i - 1]:
            keys.append(mark.key)
            for row in (values, *errors):
                row.append(math.nan)
        keys.append(mark.key)
        values.append(mark.value)
        errors[0].append(mark.value - mark.low)
        errors[1].append(mark.high - mark.value)
    return keys, values, errors
