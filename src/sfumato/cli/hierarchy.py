"""`sfumato hierarchy draft`: hierarchies proposed from a policy, or from the schema of a file."""

from __future__ import annotations

import sys
from pathlib import Path

from sfumato.anonymity.draft import DeclaredColumn, draft_hierarchies
from sfumato.errors import InputError

_WHOLE = ("BIGINT", "INTEGER", "SMALLINT", "TINYINT", "HUGEINT", "UBIGINT", "UINTEGER", "USMALLINT", "UTINYINT")


def draft(data: str | None, policy: Path, table: str | None, quasi: str | None, out: Path | None) -> None:
    """Print the proposal, or write it to a file that is not there yet."""
    columns = _of_policy(policy, table) if data is None else _of_file(data)
    wanted = list(columns) if quasi is None else [word.strip() for word in quasi.split(",") if word.strip()]
    for name in wanted:
        if name not in columns:
            raise InputError(f'there is no column "{name}"', hint=f"There are {', '.join(columns)}.")
    text = draft_hierarchies({name: columns[name] for name in wanted})
    if out is None:
        sys.stdout.write(text)
        return
    if out.exists():
        raise InputError(f'"{out}" already exists', hint="Use another name, or remove it.")
    out.write_text(text, encoding="utf-8")
    sys.stderr.write(f"Wrote {out}\n")


def _of_policy(path: Path, table: str | None) -> dict[str, DeclaredColumn]:
    from sfumato.policy import load

    tables = {name: one for name, one in load(path).tables.items() if not one.public}
    if table is None and len(tables) == 1:
        table = next(iter(tables))
    if table is None or table not in tables:
        raise InputError("which table?", hint=f"Add --table, one of {', '.join(tables)}.")
    return {
        name: DeclaredColumn(column.type or "text", column.low, column.high, tuple(map(str, column.values or ())))
        for name, column in tables[table].columns.items()
    }


def _of_file(data: str) -> dict[str, DeclaredColumn]:
    """The types of the schema; a text file declares none."""
    from sfumato.anonymity.source import open_source

    with open_source(data) as source:
        if source.text:
            return dict.fromkeys(source.columns, DeclaredColumn(""))
        described = source.engine.execute(f"DESCRIBE {source.sql}").fetchall()
    return {str(row[0]): DeclaredColumn(_type(str(row[1]))) for row in described}


def _type(kind: str) -> str:
    if kind in _WHOLE:
        return "integer"
    if kind.startswith(("DECIMAL", "FLOAT", "DOUBLE")):
        return "double"
    return "date" if kind.startswith(("DATE", "TIMESTAMP")) else "text"
