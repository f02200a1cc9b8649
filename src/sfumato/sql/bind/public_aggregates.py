"""Aggregates over public rows: released tables and public ones. Ordinary SQL, exact and free.

Comes in: an aggregate's name and argument. Goes out: what is known of its value.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.errors import QueryError
from sfumato.sql.tree import BOOLEAN, DECIMAL, DOUBLE, INTEGER, NUMBERS, TEXT, Aggregate, Constant, Facts, Node

_COUNTS = ("count", "count_distinct")
DOUBLES = ("avg", "avg_distinct", "var_pop", "var_samp", "stddev_pop", "stddev_samp", "median",
           "percentile_cont")  # fmt: skip
_SUMS = ("sum", "sum_distinct")
_TRUTHS = ("bool_and", "bool_or")
PAIRS = ("corr", "covar_pop", "covar_samp", "regr_slope", "regr_intercept", "regr_r2", "regr_count", "regr_avgx",
         "regr_avgy", "regr_sxx", "regr_syy", "regr_sxy")  # fmt: skip
"""Aggregates of two numbers: y, then x."""
NAMES = (
    *_COUNTS,
    *PAIRS,
    "string_agg",
    "array_agg",
    *DOUBLES,
    *_TRUTHS,
    *_SUMS,
    "min",
    "max",
    "percentile_disc",
    "mode",
)
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
            raise QueryError("a percentile needs a literal fraction from 0 to 1", position=position, sqlstate="22003")
        extra = repr(float(value))
    arg = args[0] if args else None
    if name in ("string_agg", "array_agg"):
        return _listed(name, args, where, position)
    if name in PAIRS:
        return _paired(name, args, where, position)
    kind = INTEGER if arg is None else arg.facts.kind
    if name in (*DOUBLES, *_SUMS) and kind not in NUMBERS:
        raise QueryError(f"{name.upper()} needs numbers, but was given {kind}", position=position, sqlstate="42883")
    if name in _TRUTHS and kind != BOOLEAN:
        raise QueryError(f"{name.upper()} needs a condition", position=position, sqlstate="42883")
    return Aggregate(name, arg, where, _facts(name, arg), position, extra)


def _paired(name: str, args: tuple[Node, ...], where: Node | None, position: int) -> Aggregate:
    """A correlation, covariance or regression."""
    if len(args) != 2:
        raise QueryError(f"{name.upper()} takes two arguments", position=position, sqlstate="42883")
    for one in args:
        if one.facts.kind not in NUMBERS:
            words = f"{name.upper()} needs numbers, but was given {one.facts.kind}"
            raise QueryError(words, position=position, sqlstate="42883")
    facts = Facts(INTEGER, grid=Fraction(1), nullable=False) if name == "regr_count" else Facts(DOUBLE)
    return Aggregate(name, args[0], where, facts, position, second=args[1])


def _listed(name: str, args: tuple[Node, ...], where: Node | None, position: int) -> Aggregate:
    """string_agg and array_agg: `extra` is the direction and what stands between; `second` what it is sorted by."""
    between = args[1].value if isinstance(args[1], Constant) else None
    if not isinstance(between, str):
        raise QueryError("string_agg needs a literal separator", position=position, sqlstate="42883")
    by, down = (args[2], args[3]) if len(args) > 2 else (args[0], None)
    word = "DESC" if isinstance(down, Constant) and down.value is True else "ASC"
    return Aggregate(name, args[0], where, Facts(TEXT), position, f"{word} {between}", by)


def _facts(name: str, arg: Node | None) -> Facts:
    if name in _COUNTS or arg is None:
        return Facts(INTEGER, grid=Fraction(1), nullable=False)
    if name in DOUBLES:
        return Facts(DOUBLE)
    f = arg.facts
    summed = name in _SUMS
    if summed and f.kind == INTEGER:  # as in PostgreSQL: a sum of counts is numeric, and does not divide whole
        return Facts(DECIMAL, grid=f.grid)
    return Facts(f.kind, None if summed else f.low, None if summed else f.high, f.grid, True, f.length)
