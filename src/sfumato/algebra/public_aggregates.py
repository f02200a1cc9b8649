"""Aggregates over public rows: released tables and public ones. Ordinary SQL, exact and free.

Comes in: an aggregate's name and arguments. Goes out: the aggregate, with what is known of its value.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.algebra.aggregates import AGGREGATES
from sfumato.algebra.aggregates.over_public import as_double, of_pairs
from sfumato.algebra.tree import JSON, TEXT, Aggregate, Constant, Facts, Node
from sfumato.errors import QueryError

DIFFERENT_TEXTS = "string_agg_distinct"
DIFFERENT_ITEMS = "array_agg_distinct"
JSON_ENDS = {
    "json_agg": ("[", "]"), "jsonb_agg": ("[", "]"), "json_object_agg": ("{ ", " }"), "jsonb_object_agg": ("{", "}"),
}  # fmt: skip
"""Aggregates that make JSON, and what stands around the values."""
LISTS = ("string_agg", "array_agg", DIFFERENT_TEXTS, DIFFERENT_ITEMS, *JSON_ENDS)
OF_DIFFERENT = ("avg", "var_samp", "var_pop", "stddev_samp", "stddev_pop")
"""Aggregates of different values that are computed from the number of them and their sums."""


def bind(name: str, args: tuple[Node, ...], where: Node | None, position: int) -> Aggregate:
    """An aggregate over public rows needs no bounds."""
    kind = AGGREGATES.get(name)
    rule = _ONLY_HERE.get(name) if kind is None else kind.over_public
    if rule is None and name not in LISTS:
        raise QueryError(f"{name.upper()} is not supported over public rows", position=position)
    if not args and name != "count":
        raise QueryError(f"{name.upper()} needs a column", position=position, sqlstate="42601")
    if rule is None:
        return _listed(name, args, where, position)
    facts, second = rule(name, args, position), args[1] if rule is of_pairs else None
    extra = _fraction(args, position) if name.startswith("percentile") else ""
    return Aggregate(name, args[0] if args else None, where, facts, position, extra, second)


def _fraction(args: tuple[Node, ...], position: int) -> str:
    value = args[1].value if isinstance(args[1], Constant) else None
    if isinstance(value, bool) or not isinstance(value, int | Fraction) or not 0 <= value <= 1:
        raise QueryError("a percentile needs a literal fraction from 0 to 1", position=position, sqlstate="22003")
    return repr(float(value))


def _listed(name: str, args: tuple[Node, ...], where: Node | None, position: int) -> Aggregate:
    """string_agg and array_agg: `extra` is the direction and what stands between; `second` what it is sorted by."""
    between = args[1].value if isinstance(args[1], Constant) else None
    if not isinstance(between, str):
        raise QueryError("string_agg needs a literal separator", position=position, sqlstate="42883")
    by, down = (args[2], args[3]) if len(args) > 2 else (args[0], None)
    word = "DESC" if isinstance(down, Constant) and down.value is True else "ASC"
    facts = Facts(TEXT, every=JSON if name in JSON_ENDS else "")
    return Aggregate(name, args[0], where, facts, position, f"{word} {between}", by)


_ONLY_HERE = {f"{name}_distinct": as_double for name in OF_DIFFERENT}
"""Aggregates that are not released over people."""
DOUBLES = (*(name for name, kind in AGGREGATES.items() if kind.over_public is as_double), *_ONLY_HERE)
"""Aggregates whose numbers are doubles."""
