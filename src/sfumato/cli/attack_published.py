"""`sfumato attack` on published data: sparse records (`linking --sparse`), tables (`reconstruction --tables`).

Comes in: the command line. Goes out: reports for the same table and page as of other attacks; or the people that tables
give away. Exit code 1 where the attack succeeded.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from sfumato.attacks.base import Knowledge
from sfumato.attacks.census import CensusBlock, agree, reconstruct
from sfumato.attacks.defences import make
from sfumato.attacks.gate import table_endpoint
from sfumato.attacks.report import AttackReport
from sfumato.attacks.sheet import Sheet, read_sheet
from sfumato.attacks.sparse import attack_sparse, knowledge_of, known_of, records_of
from sfumato.attacks.tables import read_tables
from sfumato.errors import InputError
from sfumato.server.terminal_output import console, print_json


def sparse(file: Path, given: Path | None, defences: list[str], total: Any) -> tuple[list[AttackReport], Knowledge]:
    """Whose record is it, behind each defence."""
    sheet = read_sheet(file)
    records = records_of(sheet.records())
    known = known_of(records, None if given is None else records_of(read_sheet(given).records()))
    reports = [_behind(name, sheet, records, known, total) for name in defences]
    return reports, knowledge_of(known, records)


def _behind(name: str, sheet: Sheet, records: Any, known: Any, total: Any) -> AttackReport:
    sys.stderr.write(f"linking against {name} …\n")
    if name == "dp":
        with table_endpoint(sheet, None, total) as endpoint:
            return attack_sparse(endpoint, sheet.columns, records, known)
    return attack_sparse(make(name, sheet, sheet.columns[-1], sheet.columns[1:-1]), sheet.columns, records, known)


def tables(file: Path, truth: Path | None, *, as_json: bool) -> None:
    """The people behind published tables, and whether nobody else could be."""
    published, names, values = read_tables(file)
    block = reconstruct(published, values)
    if block is None:
        raise InputError("no people fit these tables", hint="Some numbers contradict each other, or were rounded.")
    right = None if truth is None else agree(block.people, _people(truth, names))
    if as_json:
        people = [{"age": age, **dict(zip(names, kinds, strict=True))} for age, kinds in block.people]
        print_json({"tables": str(file), "unique": block.unique, "people": people, "recovered": right})
    else:
        _say(block, names, len(published), right)
    if block.unique:
        sys.exit(1)


def _say(block: CensusBlock, names: list[str], many: int, right: int | None) -> None:
    out = console()
    others = "and no other people are" if block.unique else "but other people are also"
    out.print(f"{many} tables, {len(block.people)} people, {others} consistent with them:")
    for age, kinds in block.people:
        out.print(f"  {age:3}  {', '.join(kinds)}")
    if right is not None:
        out.print(f"{right} of them are in the truth, age and {', '.join(names)}.")


def _people(truth: Path, names: list[str]) -> list[tuple[int, tuple[str, ...]]]:
    rows = read_sheet(truth).records()
    missing = [name for name in ("age", *names) if not rows or name not in rows[0]]
    if missing:
        raise InputError(f'the truth has no column "{missing[0]}"')
    return [(int(row["age"]), tuple(str(row[name]) for name in names)) for row in rows]
