"""Queries without tables: which of them are the gateway's own, and which are asked of the catalog.

Comes in: text and the policy. Goes out: whether the gateway computes it, with PostgreSQL's meaning and errors. What it
does not know, version() and current_setting('…') for example, is for the catalog.
"""

from __future__ import annotations

from datetime import date

from sqlglot import exp

from sfumato.errors import QueryError
from sfumato.policy import Policy
from sfumato.sql.query_binding import bind
from sfumato.sql.read.parser import parse

_INSIDE = ("extract", "substring", "trim", "overlay", "distinct")
"""Words that have a FROM of their own."""


def computes_alone(text: str, policy: Policy) -> bool:
    """Whether a query reads no table, and the gateway knows all that is in it; its errors of values are its own."""
    low = text.lower()
    if "from" in low and not any(word in low for word in _INSIDE):
        return False
    try:
        tree = parse(text)
        if any(tree.find_all(exp.Table)):
            return False
        bind(tree, policy, date(2000, 1, 1))
    except QueryError as error:
        return error.sqlstate is not None and error.sqlstate.startswith("22")
    return True
