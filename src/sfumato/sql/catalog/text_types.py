"""Which columns of a query are name, "char", varchar or timestamptz: the engine calls them text and timestamp.

Comes in: the parser's tree, and the types of the relations' columns. Goes out: of each column that is shown the type of
PostgreSQL's text family, or None where the engine's own type says enough. Columns keep their type through sub-queries,
WITH and UNION; what a function makes of them is text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import errors as sqlglot_errors
from sqlglot import exp

from sfumato.interrupts import step
from sfumato.sql.bind.column_titles import called
from sfumato.sql.catalog.translation import CATALOG
from sfumato.sql.read.bounded_parser import trees
from sfumato.sql.read.spelling import FAULTS

Columns = Sequence[tuple[str, str | None]]
Relations = Mapping[tuple[str, str], Sequence[tuple[str, str]]]
_FAMILY = {
    "name": "name", "char": "char", "varchar": "varchar", "bpchar": "character", "_name": "name[]", "_char": "char[]",
    "timestamptz": "timestamptz",
    "sql_identifier": "name", "character_data": "varchar", "yes_or_no": "varchar",
}  # fmt: skip
_NAMES = (
    "pg_get_userbyid", "pg_encoding_to_char", "current_database", "current_schema", "current_user", "session_user",
    "current_catalog", "user", "current_role", "getdatabaseencoding", "pg_client_encoding",
)  # fmt: skip
"""Functions whose values are names."""
_DEEPEST = 30
_WIDEST = 1_664
"""Columns of a query, in PostgreSQL; names that stand for each other would double them at each step."""


def text_types(text: str, relations: Relations) -> tuple[str | None, ...]:
    """The type of each column, where it is one of the family; nothing at all where that cannot be told."""
    try:
        found = trees(text)
        columns = _shown(found[0], {}, relations, 0) if len(found) == 1 else None
    except (sqlglot_errors.SqlglotError, *FAULTS, RecursionError):
        return ()
    return () if columns is None else tuple(kind for _, kind in columns)


def _shown(tree: Any, known: Mapping[str, Columns], relations: Relations, depth: int) -> Columns | None:
    """The columns of a query with their types; None where * stands for columns that are not known."""
    while isinstance(tree, exp.Subquery) and isinstance(tree.this, exp.Query):
        tree = tree.this
    if depth > _DEEPEST or not isinstance(tree, exp.Select | exp.SetOperation):
        return None
    known = dict(known)
    clause = tree.args.get("with_")
    for part in clause.expressions if clause is not None else ():
        inner = _shown(part.this, known, relations, depth + 1)
        known[part.alias.lower()] = _renamed(inner or (), part.args["alias"])
    if isinstance(tree, exp.SetOperation):
        sides = [_shown(side, known, relations, depth + 1) for side in (tree.this, tree.expression)]
        left, right = sides
        if left is None or right is None or len(left) != len(right):
            return None
        return [(name, a if a == b else None) for (name, a), (_, b) in zip(left, right, strict=True)]
    sources = _sources(tree, known, relations, depth)
    found: list[tuple[str, str | None]] = []
    for item in tree.expressions:
        step()
        if len(found) > _WIDEST:
            return None
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            owner = item.table.lower() if isinstance(item, exp.Column) else None
            taken = [columns for name, columns in sources.items() if owner in (None, name)]
            if None in taken or not taken or sum(len(columns or ()) for columns in taken) > _WIDEST:
                return None
            found += [column for columns in taken for column in columns or ()]
        else:
            found.append((item.alias_or_name.lower(), _type(item.unalias(), sources, known, relations, depth)))
    return found


def _sources(
    tree: exp.Select, known: Mapping[str, Columns], relations: Relations, depth: int
) -> dict[str, Columns | None]:
    """What FROM names, in its order; None where the columns are not known."""
    start = tree.args.get("from_")
    parts = [] if start is None else [start.this, *(join.this for join in tree.args.get("joins") or ())]
    found: dict[str, Columns | None] = {}
    for part in parts:
        if isinstance(part, exp.Table) and isinstance(part.this, exp.Identifier):
            name, schema = part.name.lower(), part.db.lower()
            columns: Columns | None = known.get(name) if not schema else None
            if columns is None:
                base = relations.get((schema or CATALOG, name))
                columns = None if base is None else [(n, _FAMILY.get(k)) for n, k in base]
        else:
            columns = _shown(part, known, relations, depth + 1) if isinstance(part, exp.Subquery) else None
        alias = part.args.get("alias")
        found[part.alias_or_name.lower()] = _renamed(columns, alias) if columns is not None and alias else columns
    return found


def _renamed(columns: Columns, alias: Any) -> Columns:
    names = [str(name.name).lower() for name in alias.args.get("columns") or ()]
    return [(names[i] if i < len(names) else name, kind) for i, (name, kind) in enumerate(columns)]


def _is_untyped(node: Any) -> bool:
    """A string or NULL takes the type of what stands beside it."""
    return node is None or isinstance(node, exp.Null) or (isinstance(node, exp.Literal) and bool(node.is_string))


def _type(  # noqa: PLR0911  one line for each kind of expression
    node: Any, sources: Mapping[str, Columns | None], known: Mapping[str, Columns], relations: Relations, depth: int
) -> str | None:
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Cast):
        written = node.to.sql(dialect="postgres").lower().removeprefix("pg_catalog.")
        if written == '"char"':
            return "char"
        bare = written.partition("(")[0].removeprefix("information_schema.")
        return _FAMILY.get({"char": "bpchar", "character": "bpchar"}.get(bare, bare))
    if isinstance(node, exp.Subquery):
        inner = _shown(node, known, relations, depth + 1)
        return inner[0][1] if inner else None
    if isinstance(node, exp.ArrayAgg) or (isinstance(node, exp.Filter) and isinstance(node.this, exp.ArrayAgg)):
        return "text[]"
    if isinstance(node, exp.Case | exp.Coalesce):
        parts = [branch.args["true"] for branch in node.args.get("ifs") or ()]
        parts += [node.args.get("default")] if isinstance(node, exp.Case) else [node.this, *node.expressions]
        told = {_type(part, sources, known, relations, depth + 1) for part in parts if not _is_untyped(part)}
        return told.pop() if len(told) == 1 and depth <= _DEEPEST else None
    word = node.name.lower() if isinstance(node, exp.Column) and not node.table else called(node)
    if not isinstance(node, exp.Column) or word in ("user", "current_role"):
        return "name" if word in _NAMES else None
    owner, name = node.table.lower(), node.name.lower()
    kinds = [kind for at, columns in sources.items() if owner in ("", at) for n, kind in columns or () if n == name]
    return kinds[0] if kinds else None
