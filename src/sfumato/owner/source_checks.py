"""A policy against what its source declares: files, tables, columns, types, identifiers of one kind.

Comes in: a policy and the places of its keys. Goes out: everything that is missing or does not fit, at its line. No row
is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from sfumato.errors import EngineError, PolicyError
from sfumato.ledger import is_address
from sfumato.owner import schema as _schema
from sfumato.owner.schema import Schema, kind_of
from sfumato.policy import ROW, Policy, Table, UnitJoin
from sfumato.policy.columns import settle
from sfumato.policy.positions import Marks
from sfumato.policy.sections import Section, quote
from sfumato.policy.tables import check_units

_KNOWN = ("duckdb", "postgres", "spark")
"""Engines whose sources can be looked at."""


def against(policy: Policy, marks: Marks) -> list[PolicyError]:
    """What the source lacks: files, tables, columns, types, identifiers of one kind. No row is read."""
    if "://" in policy.data.ledger and not is_address(policy.data.ledger):
        hint = "Name a file, or postgresql://…."
        return [marks.error(("data", "ledger"), "the ledger is neither a file nor in PostgreSQL", hint)]
    if policy.source.engine not in _KNOWN:
        message = f'engine "{policy.source.engine}" is not supported yet'
        return [marks.error(("source", "engine"), message, 'Use engine = "duckdb", "postgres" or "spark".', value=True)]
    schemas: dict[str, Schema] = {}
    found = list(_schemas(policy, marks, schemas))
    for name, schema in schemas.items():
        found += _columns(policy.tables[name], schema, marks)
    if not found:
        found += _types(policy, schemas, marks)
    if not found:
        found += _units(policy, schemas, marks)
    return found


def _schemas(policy: Policy, marks: Marks, schemas: dict[str, Schema]) -> Iterator[PolicyError]:
    """The schema of every table into `schemas`; gives what cannot be found or read."""
    files = policy.source.files
    if policy.source.engine == "spark":
        yield from _of_spark(policy, marks, schemas)
    elif policy.source.engine == "postgres":
        yield from _of_server(policy, marks, schemas)
    elif isinstance(files, str):
        yield from _of_database(files, policy, marks, schemas)
    else:
        assert files is not None
        yield from _of_files(files, policy, marks, schemas)


def _of_files(
    files: Mapping[str, str | tuple[str, ...]], policy: Policy, marks: Marks, schemas: dict[str, Schema]
) -> Iterator[PolicyError]:
    for name in policy.tables:
        paths = files[name]
        listed = [paths] if isinstance(paths, str) else paths
        if any("://" in path for path in listed):  # what lies elsewhere is known to the engine
            continue
        try:
            schemas[name] = _schema.of_files(listed)
        except PolicyError as error:
            yield marks.error(("source", "files", name), error.message, error.hint, value=True)


def _of_database(file: str, policy: Policy, marks: Marks, schemas: dict[str, Schema]) -> Iterator[PolicyError]:
    try:
        tables, views = _schema.of_database(file)
    except PolicyError as error:
        yield marks.error(("source", "files"), error.message, error.hint, value=True)
        return
    for name in policy.tables:
        if name in tables:
            schemas[name] = tables[name]
        elif name not in views:  # what a view shows is known to the engine
            hint = _near(name, [*tables, *views]) or "Names must match exactly."
            yield marks.error(("tables", name), f"the database has no table {quote(name)}", hint)


def _of_server(policy: Policy, marks: Marks, schemas: dict[str, Schema]) -> Iterator[PolicyError]:
    """Tables as the role finds them; what cannot be protected is refused with the reason that a query would meet."""
    try:
        found = _schema.of_server(str(policy.source.dsn), policy.tables)
        near = _schema.of_server(str(policy.source.dsn)) if found.refused else found
    except (PolicyError, EngineError) as error:
        yield marks.error(("source", "dsn"), error.message, error.hint, value=True)
        return
    schemas.update(found.tables)
    for name, said in found.refused.items():
        hint = said.hint if name in near.refused else _near(name, [*near.tables, *near.views]) or said.hint
        yield marks.error(("tables", name), said.message, hint)


def _of_spark(policy: Policy, marks: Marks, schemas: dict[str, Schema]) -> Iterator[PolicyError]:
    assert isinstance(policy.source.files, dict)
    named = {name: policy.source.files[name] for name in policy.tables}
    try:
        found, wrong = _schema.of_spark(str(policy.source.dsn), named)
    except (PolicyError, EngineError) as error:
        yield marks.error(("source", "master"), error.message, error.hint, value=True)
        return
    schemas.update(found)
    for name, said in wrong.items():
        yield marks.error(("source", "tables", name), said.message, said.hint, value=True)


def _columns(table: Table, schema: Schema, marks: Marks) -> Iterator[PolicyError]:
    for name, column in table.columns.items():
        place = ("tables", table.name, "columns", name)
        if name not in schema.columns:
            if _only_known_by_rows(table, schema):
                continue
            hint = _near(name, schema.columns) or f"The source has: {', '.join(schema.columns)}."
            yield marks.error(place, f"table {quote(table.name)} has no column {quote(name)}", hint)
        elif kind_of(schema.columns[name]) is None and column.type != "text":
            kind = schema.columns[name]
            hint = "Leave the column out, or store it in a plain type."
            yield marks.error(place, f"{quote(f'{table.name}.{name}')} is {kind}, which no query can read", hint)


def _only_known_by_rows(table: Table, schema: Schema) -> bool:
    """JSON lines: a name that is missing in the first line may stand in another; `measure` sees them all."""
    return schema.by_rows and not table.public


def _near(name: str, names: Mapping[str, Any] | list[str]) -> str | None:
    folded = {other.casefold(): other for other in names}
    near = folded.get(name.casefold()) or next(iter(get_close_matches(name, list(names), 1)), None)
    return f"Did you mean {quote(near)}? Names must match exactly." if near else None


def _types(policy: Policy, schemas: Mapping[str, Schema], marks: Marks) -> list[PolicyError]:
    """Types that were left to the schema: the rules that depend on them hold, and units are of one kind."""
    found, tables = [], dict(policy.tables)
    for name, schema in schemas.items():
        table, columns = tables[name], {}
        for key, column in table.columns.items():
            columns[key] = column
            if column.type is None and (kind := kind_of(schema.columns[key])) is not None:
                section = Section({}, ("tables", name, "columns", key), marks)
                try:
                    columns[key] = settle(replace(column, type=kind), section, public=table.public)
                except PolicyError as error:
                    found.append(error)
        tables[name] = replace(table, columns=columns)
    if not found:
        try:
            check_units(tables, marks)
        except PolicyError as error:
            found.append(error)
    return found


def _units(policy: Policy, schemas: Mapping[str, Schema], marks: Marks) -> Iterator[PolicyError]:
    """Identifiers are compared as they are stored: in one type (semantics 1.1)."""
    first: tuple[str, str] | None = None
    for name, table in policy.tables.items():
        if name not in schemas or table.unit in (None, ROW):
            continue
        if isinstance(table.unit, UnitJoin):
            ends = [((name, column), (table.unit.table, key)) for column, key in table.unit.pairs]
        else:
            one = (name, str(table.unit))
            ends, first = [(one, first or one)], first or one
        for one, other in ends:
            if other[0] not in schemas:
                continue
            types = [schemas[of].columns.get(column, "VARCHAR") for of, column in (one, other)]
            if types[0] != types[1] and {kind_of(kind) for kind in types} != {"integer"}:
                source = f"{quote('.'.join(one))} is {types[0]} in the source"
                hint = "Identifiers are compared as they are: store both in the same type, in files of the same kind."
                message = f"{source}, but {quote('.'.join(other))} is {types[1]}"
                yield marks.error(("tables", name, "unit"), message, hint, value=True)
