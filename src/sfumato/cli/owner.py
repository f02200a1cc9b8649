"""`sfumato init`, `sfumato check` and `sfumato prepare`: what the owner does before the first query.

Comes in: data files, or a policy file. Goes out: a drafted policy; or every mistake of a policy with its line, or what
held of the rows, on the stdout of the owner who asked and nowhere else.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer
from rich.table import Table
from rich.text import Text

from sfumato.cli.opened_gateway import opened_gateway
from sfumato.engines.base import Measured
from sfumato.errors import InputError, PolicyError
from sfumato.gateway import FoundBound
from sfumato.owner.admission import AdmissionReport, check
from sfumato.owner.draft import DraftSource, draft, look, person_of
from sfumato.owner.policy_mistakes import read_all
from sfumato.owner.preparation import prepare
from sfumato.owner.unit_columns import candidates
from sfumato.policy import load, unknown
from sfumato.server.operator_log import keep_log
from sfumato.server.terminal_output import console, error_text, print_json, print_whole, progress
from sfumato.types import identifier, show

_SHOWN = 9
"""Candidates that are shown to choose from."""


def run_init(data: Sequence[str], unit: str | None, output: Path, master: str | None = None) -> None:
    """Draft a policy beside the data. A file that already exists is never written over."""
    _check_free(output)
    source = look(data, master)
    person = person_of(source, unit if unit is not None else _ask(source))
    text = draft(source, person, output.parent)
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        _check_free(output)
        raise
    _, left = read_all(text, output.absolute())
    out = console()
    columns = sum(len(schema.columns) for schema in source.tables.values())
    out.print(f"Wrote {output}: {_many(len(source.tables), 'table')}, {_many(columns, 'column')}. No row was read.")
    for reason in source.refused.values():
        out.print(Text(_printable(f"Left out: {reason}.")), soft_wrap=True)
    lines = list(dict.fromkeys(str(text[: (error.position or 1) - 1].count("\n") + 1) for error in left))
    on = f"on line {lines[0]}" if len(lines) == 1 else f"on lines {', '.join(lines)}"
    out.print(f'{_many(len(left), "decision")} left to you, marked "?", {on}.')
    named = "" if output == Path("sfumato.toml") else f" -p {shlex.quote(str(output))}"
    out.print('Next: edit the file and review the lines marked "check". Then:')
    out.print(f"  sfumato check{named}")
    asked = f"SELECT COUNT(*) FROM {_named(person[0])}"  # noqa: S608  shown to a person, not run
    out.print(f"  sfumato query {shlex.quote(asked)}{named}")


def _check_free(output: Path) -> None:
    if output.exists() or output.is_symlink():
        raise InputError(f'"{output}" already exists', hint="Name another file with -o, or move this one.")
    if not output.parent.is_dir():
        raise InputError(
            f'there is no directory "{output.parent}"', hint="Make it first, or name another file with -o."
        )


def _named(name: str) -> str:
    return name if name.isidentifier() and name == name.lower() else identifier(name)


def _ask(source: DraftSource) -> str:
    """Who the person is: asked on a terminal; elsewhere it has to be passed."""
    likely = [f"{table}.{column}" for table, column in candidates(source.tables)]
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError(
            "no privacy unit: which column identifies a person?",
            detail=f"Candidates by name: {', '.join(likely[:_SHOWN])}." if likely else None,
            hint=f"Pass --unit {shlex.quote(likely[0]) if likely else 'TABLE.COLUMN'}, or --unit row.",
        )
    out = console(stderr=True)
    out.print("Which column identifies a person? Every answer protects the people that it identifies.")
    for number, name in enumerate(likely[:_SHOWN], 1):
        out.print(f"  {number}  {_printable(name)}")
    if not likely:
        out.print("  No column name looks like an identifier. The columns are:")
        for name, schema in source.tables.items():
            out.print("  " + _printable(", ".join(f"{name}.{column}" for column in schema.columns)), soft_wrap=True)
    out.print("  row  each row is one person")
    said = str(typer.prompt("A number, TABLE.COLUMN, or row", default="1" if likely else None, err=True)).strip()
    chosen = int(said) - 1 if said.isdecimal() else -1
    return likely[chosen] if 0 <= chosen < min(len(likely), _SHOWN) else said


def run_check(policy: Path, *, as_json: bool) -> None:
    """Tell the owner what is wrong, or what held.

    Exit code 2 if the policy cannot be served, 1 if a column is mostly outside its declared domain.
    """
    with suppress(PolicyError):
        keep_log(load(policy))
    with progress() as say:
        report = check(policy, say)
    if report.problems:
        if as_json:
            print_json(_document(report))
        for problem in report.problems:
            sys.stderr.write(_printable(error_text(problem, report.text), keep="\n") + "\n")
        sys.stderr.write(f"{_many(len(report.problems), 'problem')}; the policy cannot be served.\n")
        sys.exit(2)
    if as_json:
        print_json(_document(report) | {"bounds": [one.to_dict() for one in _find_bounds(policy)]})
        _exit_on_mismatch(report)
        return
    _print(report)
    out = console()
    for one in _find_bounds(policy):
        paid = "charged now" if one.bought else "charged before"
        out.print(Text(_printable(f"{one.words}, {paid}")), soft_wrap=True)
    _exit_on_mismatch(report)


def _exit_on_mismatch(report: AdmissionReport) -> None:
    """Say last, on stderr, which columns would give wrong answers, and exit with code 1."""
    wrong = dict.fromkeys(f"{one.table}.{one.column}" for one in report.warnings if one.mismatch)
    if not wrong:
        return
    verb = "is" if len(wrong) == 1 else "are"
    text = f"{_many(len(wrong), 'column')} {verb} mostly outside the declared domain: {', '.join(wrong)}"
    hint = "Correct the domain in the policy; until then every answer about it is wrong."
    out = console(stderr=True)
    out.print(Text(_printable(f"ERROR: {text}"), style="bold red"), soft_wrap=True)
    out.print(f"HINT: {hint}", soft_wrap=True)
    sys.exit(1)


def _find_bounds(policy: Path) -> tuple[FoundBound, ...]:
    """Buy the bounds that the policy leaves to be found, and say before what that costs; once for each version."""
    if not unknown(load(policy)):
        return ()
    with opened_gateway(policy) as gate:
        each = show(gate.policy.privacy.query_epsilon)
        for one in gate.missing_bounds():
            words = f'{one.words} is "auto": estimating it costs epsilon {each}, once per version'
            sys.stderr.write(_printable(words) + "\n")
        return gate.find_bounds()


def run_prepare(policy: Path, *, as_json: bool) -> None:
    """Store the rows as questions read them best."""
    keep_log(load(policy))
    with progress() as say:
        written = prepare(policy, say)
    if as_json:
        fields = {"id": written.id, "version": written.version, "tables": list(written.tables), "bytes": written.size}
        print_json({"prepared": str(written.place), **fields})
        return
    out = console()
    listed = ", ".join(_printable(name) for name in written.tables)
    out.print(Text(_printable(f'"{written.id}", version {written.version}: prepared {listed}'), style="bold"))
    out.print("Answers stay the same and are faster. Run prepare again when the files or the policy change.")
    out.print(Text(f"{written.size:,} bytes in {written.place}", style="dim"), soft_wrap=True)


def _print(report: AdmissionReport) -> None:
    out = console()
    out.print(Text(_printable(f'"{report.id}", version {report.version}: the policy is valid'), style="bold"))
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for head in ("table", "rows", "people", "max rows per person", "declared"):
        table.add_column(head, justify="left" if head == "table" else "right", no_wrap=True)
    for name, found in (report.tables or {}).items():
        table.add_row(Text(_printable(name)), *_cells(found))
    for name in report.views:
        table.add_row(Text(_printable(name)), "a view", "", "", "")
    print_whole(out, table)
    for warned in report.warnings:
        where = warned.table if warned.column is None else f"{warned.table}.{warned.column}"
        style = "bold red" if warned.mismatch else "yellow"
        out.print(Text(_printable(f"line {warned.line}, {where}: {warned.message}"), style=style), soft_wrap=True)
    held = "The rows match the policy." if not report.warnings else "What does not match is enforced in every query."
    out.print(f"{held} Only you see these numbers: no answer, cost or note depends on them.", soft_wrap=True)
    out.print(Text(f"recorded in {report.admitted}", style="dim"), soft_wrap=True)


def _cells(found: Measured) -> tuple[str, ...]:
    if found.persons is None:
        return f"{found.rows:,}", "public", "", ""
    return f"{found.rows:,}", f"{found.persons:,}", f"{found.most_rows:,}", str(found.declared)


def _document(report: AdmissionReport) -> dict[str, Any]:
    return {
        "policy": str(report.path),
        "served": not report.problems,
        "problems": [{"line": _line(report, problem), **problem.to_dict()} for problem in report.problems],
        "id": report.id,
        "version": report.version,
        "digest": report.digest,
        "tables": {name: _plain(found) for name, found in (report.tables or {}).items()},
        "views": list(report.views),
        "warnings": [
            {
                "line": one.line,
                "table": one.table,
                "column": one.column,
                "message": one.message,
                "mismatch": one.mismatch,
            }
            for one in report.warnings
        ],
        "admitted": None if report.admitted is None else str(report.admitted),
    }


def _line(report: AdmissionReport, problem: PolicyError) -> int | None:
    text = report.text.replace("\r\n", "\n")
    return None if problem.position is None else text[: problem.position - 1].count("\n") + 1


def _plain(found: Measured) -> dict[str, Any]:
    if found.persons is None:
        return {"public": True, "rows": found.rows}
    names = ("rows", "persons", "without_person", "most_rows", "declared", "over", "removed", "unique_unit")
    columns = {name: dict(counts) for name, counts in (found.columns or {}).items()}
    return {"public": False, **{name: getattr(found, name) for name in names}, "columns": columns}


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _printable(text: str, keep: str = "") -> str:
    """A terminal must not obey what stands in a name."""
    return "".join(sign if sign.isprintable() or sign in keep else " " for sign in text)
