"""A function applied to arguments, and how much of that one query may have.

Comes in: a name and arguments with their facts. Goes out: a Call with its own facts, or a refusal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace

from sfumato.algebra.functions.rules import Mismatch, TooManyBits
from sfumato.algebra.functions.table import FUNCTIONS
from sfumato.algebra.tree import INTEGER, TEXT, Call, Facts, Node
from sfumato.errors import QueryError


def call(name: str, args: tuple[Node, ...], extra: str = "", position: int = 0) -> Call:
    """A function applied: its facts are inferred, or it is refused with the place in the text."""
    function = FUNCTIONS.get(name)
    if function is None:
        raise QueryError(
            f"function {name} is not supported", position=position, hint=f"Supported: {', '.join(sorted(FUNCTIONS))}."
        )
    try:
        facts = function.facts(args, extra)
    except IndexError:
        many = f"{len(args)} argument{'' if len(args) == 1 else 's'}"
        raise QueryError(f"function {name} does not take {many}", position=position, sqlstate="42883") from None
    except Mismatch as mismatch:
        raise QueryError(str(mismatch), position=position, sqlstate="42883") from None
    except TooManyBits:
        raise QueryError(
            "the values of this expression may exceed 100 bits",
            position=position,
            hint="Declare narrower bounds, or compute with smaller numbers.",
        ) from None
    if facts.kind == INTEGER and (name in _NUMERIC or (name in _CARRIED and any(arg.facts.numeric for arg in args))):
        facts = replace(facts, numeric=True)
    _count(name, 1 if name == "in" else max(1, len(args) - 1), facts, position)
    return Call(name, args, facts, extra, position)


_NUMERIC = ("extract", "age_part")
"""Whole numbers that are numeric in PostgreSQL."""
_CARRIED = ("+", "-", "*", "%", "negate", "abs", "coalesce", "case", "nullif", "greatest", "least")
"""What is numeric in PostgreSQL where an argument is."""
_MOST_TEXT, _SHORT = 250_000, 250
"""Characters of all texts that a query makes of one row, where each is not short: an engine holds them for 2,048 rows
at once, and its own limit of memory does not count them."""
_MOST_CONDITIONS = 1_000
"""ANDs and ORs of one query: DuckDB compares each condition with each other one, and hears no interrupt meanwhile."""
_MOST_CALLS = 3_000
"""Operators and functions of one query, one of many arguments counted as so many: each takes a third of a millisecond
of planning. A list after IN is one operator."""
_made: ContextVar[Counter[str] | None] = ContextVar("made", default=None)


@contextmanager
def bounded_work() -> Iterator[None]:
    """Within this block a query is bound: its texts, its conditions and its calls are bounded together."""
    token = _made.set(Counter())
    try:
        yield
    finally:
        _made.reset(token)


def _count(name: str, calls: int, facts: Facts, position: int) -> None:
    made = _made.get()
    if made is None:
        return
    made["calls"] += calls
    if made["calls"] > _MOST_CALLS:
        raise QueryError(
            f"this query has more than {_MOST_CALLS} operators and functions",
            position=position,
            sqlstate="54001",
            hint="Put long lists of cases into a public table and join it, or split the query.",
        )
    if name in ("and", "or"):
        made["conditions"] += 1
        if made["conditions"] > _MOST_CONDITIONS:
            raise QueryError(
                f"this query joins more than {_MOST_CONDITIONS} conditions by AND and OR",
                position=position,
                sqlstate="54001",
                hint="Write x IN (1, 2, 3) instead of x = 1 OR x = 2 OR x = 3, or split the query.",
            )
    if facts.kind == TEXT and (facts.length or 0) > _SHORT:
        made["characters"] += facts.length or 0
        if made["characters"] > _MOST_TEXT:
            raise QueryError(
                f"the texts of this query may have more than {_MOST_TEXT} characters in one row",
                position=position,
                sqlstate="54000",
                hint="Truncate them with LEFT(x, 100), or declare shorter lengths.",
            )
