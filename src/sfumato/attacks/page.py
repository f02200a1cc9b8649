"""The report as a page: one HTML file without links to anywhere, for a data-protection officer.

Comes in: reports. Goes out: the table before and after, curves of what was recovered against the number of questions,
and the most damaging questions as SQL. It holds no secret of a person: only how many were found.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

from sfumato.attacks.report import Report
from sfumato.pictures import curves
from sfumato.words import show

_STYLE = """
:root { --paper: #ffffff; --ink: #1c2530; --quiet: #5a6675; --line: #d9dee5; --lost: #a3262a; --held: #1d6b3a; }
@media (prefers-color-scheme: dark) { :root { --paper: #14181d; --ink: #e8ecf1; --quiet: #a3afbd; --line: #323a44;
  --lost: #ff8a8d; --held: #7ad29b; } }
body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; max-width: 62rem;
  margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .6rem; text-align: left; vertical-align: top; }
.lost { color: var(--lost); font-weight: 600; } .held { color: var(--held); } .quiet { color: var(--quiet); }
pre { white-space: pre-wrap; overflow-wrap: anywhere; border-left: 3px solid var(--line); padding-left: .8rem; }
svg { max-width: 34rem; }
"""

_AT_ONCE = 5
"""Curves that can be told apart in one picture."""


def cell(report: Report) -> str:
    """The outcome in a few words: lost or held, and the number that decides."""
    if not report.applicable:
        return "–"
    if not report.claims:
        return "held: nothing"
    word = "LOST" if report.succeeded else "held"
    return f"{word}: {report.right} of {report.claims} ({100 * report.rate:.0f} %)"


def page(reports: Sequence[Report], what: str) -> str:
    """The whole document."""
    attacks = list(dict.fromkeys(report.attack for report in reports))
    defences = list(dict.fromkeys(report.defence for report in reports))
    by = {(report.attack, report.defence): report for report in reports}
    head = "".join(f"<th>{html.escape(name)}</th>" for name in defences)
    body = "".join(
        f"<tr><th>{html.escape(attack)}</th>{''.join(_cell(by.get((attack, name))) for name in defences)}</tr>"
        for attack in attacks
    )
    base = max((report.base_rate for report in reports), default=0.5)
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>",
        f"<title>Attacks on {html.escape(what)}</title><style>{_STYLE}</style>",
        f"<h1>Attacks on {html.escape(what)}</h1>",
        "<p>Each attack asked as an analyst may ask, and then claimed who has the secret. A claim that is right is a",
        "person whose secret was recovered. Whoever asks nothing and guesses the commoner value is right",
        f"{100 * base:.1f} % of the time: an attack has won only if it is better than that beyond chance, or, against",
        "an endpoint that promises epsilon, better than the promise allows.</p>",
        f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>",
    ]
    for attack in attacks:
        parts += _section(attack, [by[attack, name] for name in defences if (attack, name) in by])
    return "\n".join(parts) + "\n"


def _cell(report: Report | None) -> str:
    if report is None:
        return "<td></td>"
    kind = "lost" if report.succeeded else "held" if report.applicable else "quiet"
    return f'<td class="{kind}">{html.escape(cell(report))}</td>'


def _section(attack: str, reports: list[Report]) -> list[str]:
    parts = [f"<h2>{html.escape(attack)}</h2>"]
    found = [(report.defence, [(x, 100 * y) for x, y in sorted(report.curve)]) for report in reports]
    drawn = [(name, points) for name, points in found if len(points) > 1]
    parts += [
        curves(shown, title=attack, axis="questions asked", measure="% of claims that are right")
        for shown in (drawn[i : i + _AT_ONCE] for i in range(0, len(drawn), _AT_ONCE))
        if any(y for _, points in shown for _, y in points)
    ]
    parts.append("<table><tbody>")
    for report in reports:
        budget = "no budget" if report.total is None else f"epsilon {show(report.spent or 0)} of {show(report.total)}"
        bound = "" if report.bound is None else f"; the promise allows {100 * report.bound:.1f} %"
        seconds = f"{report.asking:.1f} s asking, {report.thinking:.1f} s thinking"
        parts.append(
            f"<tr><th>{html.escape(report.defence)}</th><td>{html.escape(report.words)}{bound}</td>"
            f'<td class="quiet">{report.queries} questions, {report.refused} refused, {budget}; {seconds}</td></tr>'
        )
    parts.append("</tbody></table>")
    lost = next((report for report in reports if report.succeeded and report.worst), None)
    if lost is not None:
        parts.append(f"<p>The questions that did it against {html.escape(lost.defence)}:</p>")
        parts += [f"<pre>{html.escape(_short(sql))}</pre>" for sql in lost.worst]
    parts.append(f"<p>The cheapest defence: {html.escape(reports[0].advice)}.</p>")
    return parts


def _short(sql: str) -> str:
    return sql if len(sql) <= 600 else f"{sql[:600]} … ({len(sql):,} characters)"
