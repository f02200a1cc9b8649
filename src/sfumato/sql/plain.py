"""Aggregates over public rows: released tables and public ones. Ordinary SQL, exact and free.

Comes in: an aggregate's name and argument. Goes out: what is known of its value, and its SQL.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.errors import QueryError
from sfumato.sql.emit import double, expression
from sfumato.sql.tree import BOOLEAN, DECIMAL, DOUBLE, INTEGER, NUMBERS, Aggregate, Constant, Facts, Node

_COUNTS = ("count", "count_distinct")
_DOUBLES = ("avg", "var_pop", "var_samp", "stddev_pop", "stddev_samp", "median", "percentile_cont", "corr", "covar_pop",
            "covar_samp")  # fmt: skip
_TRUTHS = ("bool_and", "bool_or")
NAMES = (*_COUNTS, *_DOUBLES, *_TRUTHS, "sum", "min", "max", "percentile_disc", "mode")
"""Aggregates over public rows."""


def bind(name: str, args: tuple[Node, ...], where: Node | None, position: int) -> Aggregate:
    """An aggregate over public rows needs no bounds."""
    if name not in NAMES:
        raise QueryError(f"{name.upper()} is not supported over public rows", position=position)
    if not args and name != "count":
        raise QueryError(f"{name.upper()} needs a column", position=position, sqlstate="42601")
    extra = ""
    if name.startswith("percentile"):
        value = args[1].value if isinstance(args[1], Constant) else None
        if isinstance(value, bool) or not isinstance(value, int | Fraction) or not 0 <= value <= 1:
            raise QueryError("a percentile needs a written fraction from 0 to 1", position=position, sqlstate="22003")
        extra = repr(float(value))
    if name.startswith(("corr", "covar")):
        raise QueryError(f"{name.upper()} is not supported over public rows", position=position)
    arg = args[0] if args else None
    kind = INTEGER if arg is None else arg.facts.kind
    if name in (*_DOUBLES, "sum") and kind not in NUMBERS:
        raise QueryError(f"{name.upper()} needs numbers, but was given {kind}", position=position, sqlstate="42883")
    if name in _TRUTHS and kind != BOOLEAN:
        raise QueryError(f"{name.upper()} needs a condition", position=position, sqlstate="42883")
    return Aggregate(name, arg, where, _facts(name, arg), position, extra)


def _facts(name: str, arg: Node | None) -> Facts:
    if name in _COUNTS or arg is None:
        return Facts(INTEGER, grid=Fraction(1), nullable=False)
    if name in _DOUBLES:
        return Facts(DOUBLE)
    f = arg.facts
    if name == "sum" and f.kind == INTEGER:  # as in PostgreSQL: a sum of counts is numeric, and does not divide whole
        return Facts(DECIMAL, grid=f.grid)
    return Facts(f.kind, None if name == "sum" else f.low, None if name == "sum" else f.high, f.grid, True, f.length)


def spelling(aggregate: Aggregate) -> str:
    """The SQL of an aggregate over public rows."""
    where = f" FILTER (WHERE {expression(aggregate.where)})" if aggregate.where is not None else ""
    name, arg = aggregate.name, aggregate.arg
    if arg is None:
        return f"COUNT(*){where}"
    if name == "count_distinct":
        return f"COUNT(DISTINCT {expression(arg)}){where}"
    inner = double(arg) if name in _DOUBLES or aggregate.facts.kind == DOUBLE else expression(arg)
    second = f", {aggregate.extra}" if aggregate.extra else ""
    return f"{name.upper().replace('PERCENTILE', 'QUANTILE')}({inner}{second}){where}"
