"""The report as a page: one HTML file without links to anywhere, for a data-protection officer.

Comes in: the document. Goes out: the outcome of each defence in a sentence, the table before and after, curves of what
was recovered against the number of questions, and for each attack what it does, what it cost and what it asked.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from sfumato.attacks.promise import SMALLER, percent
from sfumato.pictures import STYLE, curves

_STYLE = """
:root { --paper: #ffffff; --ink: #1c2530; --quiet: #5a6675; --line: #d9dee5;
  --broken: #a3262a; --allowed: #8a5a00; --held: #1d6b3a;
  --shade: #f4f6f8; }
@media (prefers-color-scheme: dark) { :root { --paper: #14181d; --ink: #e8ecf1; --quiet: #a3afbd; --line: #323a44;
  --broken: #ff8a8d; --allowed: #e8b65a; --held: #7ad29b; --shade: #1c2229; } }
body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; max-width: 62rem;
  margin: 2rem auto; padding: 0 1rem; overflow-wrap: break-word; }
h1 { line-height: 1.2; overflow-wrap: anywhere; } h2 { margin: 2.5rem 0 .3rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: .4rem .6rem .4rem 0; text-align: left; vertical-align: top; }
thead th { color: var(--quiet); font-weight: 500; }
.wide { overflow-x: auto; } .wide td, .wide th { white-space: nowrap; padding-right: 1.2rem; }
.broken { color: var(--broken); font-weight: 600; } .allowed { color: var(--allowed); font-weight: 600; }
.held { color: var(--held); } .quiet { color: var(--quiet); }
pre { white-space: pre-wrap; overflow-wrap: anywhere; border-left: 3px solid var(--line); padding-left: .8rem;
  margin: .4rem 0; font-size: 13px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.2rem; } dt { color: var(--quiet); }
dd { margin: 0; overflow-wrap: anywhere; }
.pictures { display: flex; flex-wrap: wrap; gap: 1rem; } .pictures svg { width: 100%; max-width: 30rem; }
details { margin: .6rem 0; } summary { cursor: pointer; color: var(--quiet); }
@media (max-width: 40rem) { .each, .each tbody, .each tr, .each th, .each td { display: block; border: 0; padding: 0; }
  .each tr { border-bottom: 1px solid var(--line); padding: .5rem 0; } dl { grid-template-columns: 1fr; }
  dd { margin-bottom: .4rem; } }
@media print { details { display: none; } h2 { break-after: avoid; } svg, table { break-inside: avoid; } }
"""

_AT_ONCE = 4
"""Curves that can be told apart in one picture, with that of a guess."""
_LONG = 80
"""Letters of a name or a value that are shown."""
_LEDGER = {
    "copy": "a copy of the ledger: nothing was spent",
    "own": "the ledger itself: the attacks' queries are charged",
}


def page(found: dict[str, Any]) -> str:
    """The whole document."""
    what = html.escape(found["target"])
    by = {(report["attack"], report["defence"]): report for report in found["reports"]}
    names = [defence["name"] for defence in found["defences"]]
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width, initial-scale=1'>",
        f"<title>Attacks on {what}</title><style>{_STYLE}{STYLE}</style>",
        f"<h1>Would the data have been safe?</h1><p>Attacks on <strong>{what}</strong></p>",
        *_facts(found),
        "<h2>In short</h2><table class=each><tbody>",
        *(_in_short(defence) for defence in found["defences"]),
        "</tbody></table>",
        f"<p>{_how(found)}, then claimed who has the secret. Always",
        f"guessing the most common value is right {percent(found['base_rate'])} of the time, so a right claim is not",
        "yet a recovered secret. <span class=broken>Broken</span>: right more often than a guess, than everybody",
        "else's rows reveal, and than any promise permits, beyond chance; or proved where nothing is promised.",
        "<span class=allowed>Allowed</span>: right more often than a guess, within what the guarantee permits.",
        "<span class=held>Held</span>: no better than a guess, within the statistical error. A failed attack does not",
        "show that none would succeed.</p>",
        "<div class=wide><table><thead><tr><th>attack</th>",
        *(f"<th>{html.escape(name)}</th>" for name in names),
        "</tr></thead><tbody>",
    ]
    for attack in found["attacks"]:
        cells = "".join(_marked(by.get((attack["name"], name))) for name in names)
        parts.append(f"<tr><th>{html.escape(attack['name'])}</th>{cells}</tr>")
    parts.append("</tbody></table></div>")
    for attack in found["attacks"]:
        parts += _section(attack, [by[attack["name"], name] for name in names if (attack["name"], name) in by])
    return "\n".join(parts) + "\n"


def _facts(found: dict[str, Any]) -> list[str]:
    secret = found["secret"]
    facts = {
        "made": found["made"].replace("T", " ").replace("+00:00", " UTC"),
        "secret": f"whether {_brief(secret['column'])} is {_brief(secret['value'])}",
        "people": f"{found['people']:,} people, of whom the attacker knows {', '.join(map(_brief, found['known']))}",
        "a guess": f"right for {percent(found['base_rate'])} of them, without asking anything",
    }
    trend = max((report.get("trend", 0.0) for report in found["reports"]), default=0.0)
    if trend > found["base_rate"]:
        facts["the others"] = f"everybody else's rows reveal it for at least {percent(trend)}: this is no privacy loss"
    if found["ledger"] is not None:
        facts["asked on"] = _LEDGER[found["ledger"]]
    return ["<dl>", *(f"<dt>{name}</dt><dd>{html.escape(text)}</dd>" for name, text in facts.items()), "</dl>"]


def _brief(text: str) -> str:
    return text if len(text) <= _LONG else f"{text[:_LONG]}…"


def _in_short(defence: dict[str, Any]) -> str:
    kind = (
        "broken" if defence["broken"] else "allowed" if defence["allowed"] else "held" if defence["tried"] else "quiet"
    )
    promise = f"<br><span class=quiet>{html.escape(defence['promise'])}</span>" if defence["promise"] else ""
    return (
        f"<tr><th>{html.escape(defence['name'])}</th><td class=quiet>{html.escape(defence['what'])}</td>"
        f"<td class={kind}>{html.escape(defence['sentence'])}{promise}</td></tr>"
    )


def _marked(report: dict[str, Any] | None) -> str:
    if report is None:
        return "<td></td>"
    unanswered = 0 < report["queries"] == report["refused"]
    nothing = "quiet" if unanswered else "held"
    kind = {"not applicable": "quiet", "nothing": nothing}.get(report["outcome"], report["outcome"])
    word, colon, rest = report["short"].partition(": ")
    return f"<td class={kind}>{word}{'<br>' if colon else ''}{rest}</td>"


def cure(attack: dict[str, Any], reports: Sequence[dict[str, Any]]) -> str:
    """What helps against an attack: less epsilon, where it only learned what the guarantee permits."""
    outcomes = {report["outcome"] for report in reports}
    return SMALLER if "allowed" in outcomes and "broken" not in outcomes else str(attack["advice"])


def _section(attack: dict[str, Any], reports: Sequence[dict[str, Any]]) -> list[str]:
    parts = [f"<h2>{html.escape(attack['name'])}</h2><p>{html.escape(attack['what'].capitalize())}.</p>"]
    parts += ["<div class=pictures>", *drawings(attack["name"], reports), "</div><table class=each><tbody>"]
    parts += [_line(report) for report in reports]
    parts.append("</tbody></table>")
    won = (report for report in reports if report["outcome"] in ("broken", "allowed") and report["worst"])
    one = next(won, None)
    if one is not None:
        parts.append(f"<p>The queries that succeeded against {html.escape(one['defence'])}:</p>")
        parts += [f"<pre>{html.escape(sql)}</pre>" for sql in one["worst"]]
    parts += [_transcript(report) for report in reports if report["transcript"]]
    parts.append(f"<p>The cheapest defence: {html.escape(cure(attack, reports))}.</p>")
    return parts


def drawings(attack: str, reports: Sequence[dict[str, Any]]) -> list[str]:
    """How many claims are right after how many questions, behind each defence, with the line of a guess."""
    found = [(str(one["defence"]), [(float(x), 100 * float(y)) for x, y in sorted(one["curve"])]) for one in reports]
    drawn = [(name, points) for name, points in found if len(points) > 1]
    guess = 100 * max((float(one["base_rate"]) for one in reports), default=0.0)
    pictures = []
    for shown in (drawn[i : i + _AT_ONCE] for i in range(0, len(drawn), _AT_ONCE)):
        ends = [x for _, points in shown for x, _ in points]
        lines = [*shown, ("a guess", [(min(ends), guess), (max(ends), guess)])]
        if any(y for _, points in lines for _, y in points):
            pictures.append(curves(lines, title=attack, axis="queries asked", measure="% of claims right", bare=True))
    return pictures


def _how(found: dict[str, Any]) -> str:
    if found.get("published"):
        return "Each attack read the published table and what its attacker knows"
    return "Each attack ran queries that an analyst may run"


def _line(report: dict[str, Any]) -> str:
    total = report["total"]
    budget = "no budget" if total is None else f"epsilon {_amount(report['spent'])} of {_amount(total)}"
    seconds = f"{report['seconds']['asking']:.1f} s querying, {report['seconds']['thinking']:.1f} s computing"
    return (
        f"<tr><th>{html.escape(report['defence'])}</th><td>{html.escape(report['words'])}</td><td class=quiet>"
        f"{report['queries']:,} queries, {report['refused']:,} refused, {budget}; {seconds}</td></tr>"
    )


def _transcript(report: dict[str, Any]) -> str:
    asked, shown = report["queries"], report["transcript"]
    some = "all of them" if asked == len(shown) else f"{len(shown)} of {asked:,}, from the beginning and the end"
    lines = "".join(f"<pre>{html.escape(one['sql'])}{_refused(one['refused'])}</pre>" for one in shown)
    return f"<details><summary>Queries to {html.escape(report['defence'])}: {some}</summary>{lines}</details>"


def _refused(text: str | None) -> str:
    return f"\n-- refused: {html.escape(text)}" if text else ""


def _amount(text: str | None) -> str:
    return f"{float(text or 0):.4g}"
