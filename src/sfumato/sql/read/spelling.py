"""How a part of a query is spelled in SQL, for messages about it: the parser's own names are nobody's words.

Comes in: a node of the parser's tree, perhaps with one of its parts. Goes out: a few words.
"""

from __future__ import annotations

import re
from typing import Any

from sqlglot import errors as sqlglot_errors
from sqlglot import exp

FAULTS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What the parser itself fails with, on functions with too few arguments for example: the text is at fault."""
_PARTS = {
    "into": "SELECT INTO",
    "locks": "FOR UPDATE",
    "windows": "WINDOW",
    "qualify": "QUALIFY",
    "recursive": "WITH RECURSIVE",
    "laterals": "LATERAL",
    "sample": "TABLESAMPLE",
    "operation_modifiers": "a word between SELECT and its columns",
    "materialized": "MATERIALIZED",
    "pivots": "PIVOT",
    "ordinality": "WITH ORDINALITY",
    "by_name": "BY NAME",
}
"""What a part of a clause is called in SQL."""
_WORDS = ("ANY", "ALL", "FETCH", "LATERAL", "PIVOT", "VALUES", "INTERVAL", "ARRAY", "SELECT", "UNION", "JOIN")
"""Kinds of nodes that have the name of the word of SQL that they are."""
_CALL = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\s*\(")
_LONGEST = 40


def spelled(node: Any, part: str | None = None) -> str:
    r"""The words of SQL for a node, or for a part of it.

    >>> import sqlglot
    >>> spelled(sqlglot.parse_one("to_char(a, 'YYYY')", read="postgres"))
    'function to_char'
    >>> spelled(sqlglot.parse_one("a -> 'b'", read="postgres"))
    '"a -> \'b\'"'
    """
    if part is not None:
        return _PARTS.get(part.strip("_"), f"this form of {spelled(node)}")
    kind = type(node).__name__.upper()
    if kind in _WORDS:
        return kind
    if "called" in node.meta:
        return f"function {node.meta['called']}"
    text = _text(node)
    call = _CALL.match(text)
    if isinstance(node, exp.Func) and call is not None:
        return f"function {call[1].lower()}"
    if not text:
        return "this"
    return f'"{text}"' if len(text) <= _LONGEST else f'"{text[:_LONGEST]}…"'


def note_calls(tree: Any, text: str) -> None:
    """Write into the tree how each function was called: the parser forgets it, but not where it stands."""
    for call in tree.find_all(exp.Func):
        if "start" in call.meta:
            call.meta["called"] = text[call.meta["start"] : call.meta["end"] + 1].lower()


def _text(node: Any) -> str:
    """The node as PostgreSQL writes it; nothing where the parser cannot."""
    try:
        return " ".join(str(node.sql(dialect="postgres", comments=False)).split())
    except (sqlglot_errors.SqlglotError, *FAULTS, RecursionError):
        return ""
