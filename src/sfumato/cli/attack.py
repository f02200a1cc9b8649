"""`sfumato attack`: run the attacks against a policy, or against a table behind several defences.

Comes in: which attacks, on what. Goes out: reports. Exit code 1 where an attack succeeded against the target, the
gateway, or the only defence that was named.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from rich.table import Table

from sfumato.attacks import ATTACKS, Endpoint, Knowledge
from sfumato.attacks.defences import DEFENCES, make
from sfumato.attacks.document import document, keep
from sfumato.attacks.gate import policy_endpoint, table_endpoint
from sfumato.attacks.page import page
from sfumato.attacks.promise import SMALLER
from sfumato.attacks.report import AttackReport, referee
from sfumato.attacks.scene import set_scene
from sfumato.attacks.sheet import TABLE, Sheet, read_sheet
from sfumato.attacks.trend import rate_of_trend
from sfumato.cli.attack_progress import AttackProgress
from sfumato.cli.outputs import check_apart
from sfumato.errors import InputError
from sfumato.policy import ROW, Policy, load
from sfumato.server.terminal_output import console, print_json, print_whole

TOTAL = Fraction(1)
"""The budget of the gateway that is put in front of a plain table."""
Outcome = tuple[list[AttackReport], Knowledge]


@dataclass(frozen=True)
class AttackCommand:
    """The command line."""

    name: str
    target: str | None
    csv: Path | None
    defence: str
    secret: str | None
    known: str | None
    given: Path | None
    spend: bool
    report: Path | None
    sparse: bool = False
    tables: Path | None = None
    release: tuple[str, ...] = ()
    hierarchies: Path | None = None
    graph: bool = False


@dataclass(frozen=True)
class _Scene:
    """What an attacker knows; and for the referee the truth, what the others tell, and true counts."""

    knowledge: Knowledge
    truth: tuple[bool, ...]
    trend: float
    count: Callable[[str], int]


def run(wanted: AttackCommand, *, as_json: bool) -> None:
    """Attack, say it, write it down, exit."""
    read = (wanted.csv, wanted.target, wanted.given, wanted.tables, wanted.hierarchies, *wanted.release)
    check_apart(wanted.report, "--report", read)
    if wanted.tables is not None:
        _on_published(wanted, as_json=as_json)
        return
    if wanted.graph:
        _on_graph(wanted, as_json=as_json)
        return
    reports, knowledge = _outcome(wanted)
    what = wanted.target or str(wanted.csv)
    own = "own" if wanted.spend else "copy"
    found = document(reports, what, knowledge, None if wanted.target is None else own, published=bool(wanted.release))
    if wanted.target is not None and "://" not in wanted.target:
        place = keep(found, load(Path(wanted.target)).data.state)
        sys.stderr.write(f"Saved {place} for the owner and the auditors\n")
    if wanted.report is not None:
        wanted.report.write_text(page(found), encoding="utf-8")
        sys.stderr.write(f"Wrote {wanted.report}\n")
    if as_json:
        print_json(found)
    else:
        _say(reports)
    only = len({report.defence for report in reports}) == 1
    if any(report.succeeded and (only or report.defence == "dp") for report in reports):
        sys.exit(1)


def _outcome(wanted: AttackCommand) -> Outcome:
    if wanted.target is None and wanted.csv is None:
        raise InputError("name a --target or a --csv")
    if wanted.release:
        return _on_release(wanted)
    if wanted.name != "all" and wanted.name not in ATTACKS:
        raise InputError(f'attack "{wanted.name}" is not known', hint=f"One of: all, {', '.join(ATTACKS)}.")
    names = list(ATTACKS) if wanted.name == "all" else [wanted.name]
    known = None if wanted.known is None else [word.strip() for word in wanted.known.split(",") if word.strip()]
    if wanted.sparse:
        return _on_sparse(wanted)
    if wanted.target is None:
        return _on_table(wanted, names, known)
    if "://" in wanted.target:
        return _on_server(wanted, names, known)
    if wanted.csv is None:
        return _on_target(wanted, names, known)
    raise InputError("name a --target or a --csv, and not both")


def _on_published(wanted: AttackCommand, *, as_json: bool) -> None:
    from sfumato.cli.attack_published import tables

    if wanted.name != "reconstruction":
        raise InputError("--tables is for reconstruction", hint="sfumato attack reconstruction --tables FILE")
    assert wanted.tables is not None
    tables(wanted.tables, wanted.csv, as_json=as_json)


def _on_sparse(wanted: AttackCommand) -> Outcome:
    from sfumato.cli.attack_published import sparse

    if wanted.name != "linking" or wanted.csv is None or wanted.target is not None:
        raise InputError("--sparse is for linking a table", hint="sfumato attack linking --sparse --csv FILE")
    return sparse(wanted.csv, wanted.given, _defences(wanted), TOTAL)


def _on_release(wanted: AttackCommand) -> Outcome:
    from sfumato.cli.attack_release import releases

    if wanted.csv is None or wanted.target is not None:
        raise InputError("--release needs the original table", hint="Add --csv FILE.")
    known = None if wanted.known is None else [word.strip() for word in wanted.known.split(",") if word.strip()]
    place = wanted.hierarchies
    return releases(wanted.name, wanted.csv, wanted.release, secret=wanted.secret, known=known, hierarchies=place)


def _on_graph(wanted: AttackCommand, *, as_json: bool) -> None:
    from sfumato.cli.attack_release import graph

    if wanted.name != "linking" or wanted.target is not None:
        raise InputError("--graph is for linking", hint="sfumato attack linking --graph [--csv EDGES]")
    graph(wanted.csv, as_json=as_json)


def _defences(wanted: AttackCommand) -> list[str]:
    defences = [word.strip() for word in wanted.defence.split(",") if word.strip()]
    for defence in defences:
        if defence not in DEFENCES:
            raise InputError(f'defence "{defence}" is not known', hint=f"Use some of: {', '.join(DEFENCES)}.")
    return defences


def _on_table(wanted: AttackCommand, names: list[str], known: list[str] | None) -> Outcome:
    defences = _defences(wanted)
    assert wanted.csv is not None
    sheet = read_sheet(wanted.csv)
    rows = sheet.records()
    knowledge, truth = set_scene(rows, TABLE, wanted.secret, known)
    trend = rate_of_trend(rows, knowledge, truth)
    knowledge, truth = _with_list(wanted.given, knowledge, truth)
    scene = _Scene(knowledge, truth, trend, sheet.count)
    reports = []
    with AttackProgress(len(defences) * len(names)) as bar:
        for defence in defences:
            for name in names:
                with _defended(defence, sheet, knowledge) as endpoint:
                    reports.append(_one(name, endpoint, scene, bar))
    return reports, knowledge


@contextmanager
def _defended(defence: str, sheet: Sheet, knowledge: Knowledge) -> Iterator[Endpoint]:
    """A fresh endpoint for each attack: one attack's budget is not another's."""
    with ExitStack() as stack:
        if defence == "dp":
            yield stack.enter_context(table_endpoint(sheet, knowledge.key, TOTAL))
            return
        quasi = tuple(c for c in knowledge.people[0].known if c not in (knowledge.key, knowledge.fact.column))
        yield make(defence, sheet, knowledge.fact.column, quasi)


def _on_server(wanted: AttackCommand, names: list[str], known: list[str] | None) -> Outcome:
    """A server is asked as an analyst asks it; the rows for the referee are a file, named as the table is."""
    assert wanted.target is not None
    if wanted.csv is None:
        raise InputError(
            "scoring an attack needs the original rows", hint="Name them with --csv TABLE.csv, and the --secret."
        )
    if not wanted.spend:
        raise InputError(
            "a running server has one ledger, and an attack spends from it",
            hint="Add --spend, or name its policy file.",
        )
    from sfumato.attacks.remote import remote_endpoint

    sheet = read_sheet(wanted.csv)
    rows = sheet.records()
    knowledge, truth = set_scene(rows, wanted.csv.stem, wanted.secret, known)
    trend = rate_of_trend(rows, knowledge, truth)
    scene = _Scene(knowledge, truth, trend, sheet.count)
    reports = []
    with AttackProgress(len(names)) as bar:
        for left, name in zip(range(len(names), 0, -1), names, strict=True):
            with remote_endpoint(wanted.target, left) as endpoint:
                reports.append(_one(name, endpoint, scene, bar))
    return reports, knowledge


def _on_target(wanted: AttackCommand, names: list[str], known: list[str] | None) -> Outcome:
    assert wanted.target is not None
    path = Path(wanted.target)
    policy = load(path)
    table, sheet, rows = _rows_of(policy, wanted.secret)
    unit = policy.tables[table].unit
    assert isinstance(unit, str)
    listed = next((c.name for c in policy.tables[table].columns.values() if c.values), None)
    knowledge, truth = set_scene(rows, table, wanted.secret or listed, known, key=unit)
    trend = rate_of_trend(rows, knowledge, truth)
    scene = _Scene(knowledge, truth, trend, sheet.count)
    reports = []
    with AttackProgress(len(names)) as bar:
        for left, name in zip(range(len(names), 0, -1), names, strict=True):
            with policy_endpoint(path, spend=wanted.spend, part=left if wanted.spend else 1) as endpoint:
                reports.append(_one(name, endpoint, scene, bar))
    return reports, knowledge


def _rows_of(policy: Policy, secret: str | None) -> tuple[str, Sheet, list[dict[str, Any]]]:
    """The owner's rows, for the referee: a table of files in which a person has one row."""
    files = policy.source.files if isinstance(policy.source.files, dict) else {}
    for table in policy.tables.values():
        fits = not table.public and table.rows_per_unit == 1 and isinstance(table.unit, str) and table.unit != ROW
        has = secret is None or any(secret == c or secret.startswith(f"{c}=") for c in table.columns)
        if fits and has and isinstance(files.get(table.name), str):
            declared = {c.name: c.type for c in table.columns.values() if c.type is not None}
            sheet = read_sheet(Path(str(files[table.name])), declared)
            rows = sheet.records()
            return table.name, sheet, [{c: row[c] for c in table.columns if c in row} for row in rows]
    raise InputError(
        "no table of this policy can be attacked",
        detail="It takes one that is a file, with rows_per_unit = 1 and the secret column in it.",
    )


def _with_list(given: Path | None, knowledge: Knowledge, truth: tuple[bool, ...]) -> tuple[Knowledge, tuple[bool, ...]]:
    """Only those people who are on the attacker's own list, as that list spells them."""
    if given is None:
        return knowledge, truth
    from dataclasses import replace

    from sfumato.attacks.base import Person
    from sfumato.attacks.linking import link

    listed = read_sheet(given).records()
    shared = [c for c in knowledge.people[0].known if listed and c in listed[0]]
    if not shared:
        raise InputError(f'"{given.name}" shares no column with what is known')
    places = link(listed, [one.known for one in knowledge.people], shared)
    met = [(entry, found[0]) for entry, found in zip(listed, places, strict=True) if len(found) == 1]
    if not met:
        raise InputError(f'nobody on "{given.name}" is in the table')
    people = tuple(Person({c: entry[c] for c in shared}, knowledge.people[i].where) for entry, i in met)
    key = knowledge.key if knowledge.key in shared else None
    return replace(knowledge, people=people, key=key, only=None, others=(), told={}, hints={}), tuple(
        truth[i] for _, i in met
    )


def _one(name: str, endpoint: Endpoint, scene: _Scene, bar: AttackProgress) -> AttackReport:
    attack = ATTACKS[name]
    endpoint.run = bar.begin(name, endpoint.name, endpoint.run)
    report = referee(
        name,
        attack.run,
        endpoint,
        scene.knowledge,
        scene.truth,
        advice=attack.advice,
        trend=scene.trend,
        exact=scene.count,
    )
    bar.end()
    return report


def _say(reports: list[AttackReport]) -> None:
    out = console()
    defences = list(dict.fromkeys(report.defence for report in reports))
    by = {(report.attack, report.defence): report for report in reports}
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for head in ("attack", *defences):
        table.add_column(head, no_wrap=True)
    for attack in dict.fromkeys(report.attack for report in reports):
        table.add_row(attack, *(by[attack, defence].short for defence in defences))
    print_whole(out, table)
    out.print(f"A guess without any answers is right {100 * reports[0].base_rate:.1f} % of the time.")
    about_secret = [report for report in reports if report.promise and report.base_rate == reports[0].base_rate]
    for promise in dict.fromkeys(report.promise for report in about_secret if report.promise):
        out.print(f"{promise[0].upper()}{promise[1:]}.", soft_wrap=True)
    for report in reports:
        if not report.applicable:
            out.print(f"– {report.attack} against {report.defence}: {report.words}", soft_wrap=True)
    unanswered = [report for report in reports if report.unanswered]
    for report in unanswered[:1]:
        out.print(f"{report.attack} against {report.defence} shows {report.words}", soft_wrap=True)
    for report in reports:
        if report.outcome in ("broken", "allowed"):
            out.print(f"\n{report.attack} against {report.defence}: {report.words}", soft_wrap=True)
            for sql in report.worst:
                out.print(f"  {sql[:300]}")
            cure = SMALLER if report.outcome == "allowed" else report.advice
            out.print(f"  cheapest defence: {cure}")
