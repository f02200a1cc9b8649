"""Comparisons, conditions by the logic of three values, and choices between values.

Comes in: arguments with their facts. Goes out: facts of the value.
"""

from __future__ import annotations

from sfumato.algebra.functions.record import ScalarFunction
from sfumato.algebra.functions.rules import Mismatch, Rule, common_grid, fit, nullable
from sfumato.algebra.functions.times import AGE
from sfumato.algebra.tree import (
    BOOLEAN,
    DATE,
    DECIMAL,
    DOUBLE,
    INTEGER,
    INTERVAL,
    NULL,
    NUMBERS,
    TIMES,
    TIMESTAMP,
    Facts,
    Node,
)


def _compare(args: tuple[Node, ...], _: str) -> Facts:
    a, b = args[0].facts.kind, args[1].facts.kind
    numbers, times = (*NUMBERS, NULL), (*TIMES, NULL)
    if not (a == b or NULL in (a, b) or (a in numbers and b in numbers) or (a in times and b in times)):
        raise Mismatch(f"{a} cannot be compared with {b}")
    return Facts(BOOLEAN, nullable=nullable(args))


def _among(args: tuple[Node, ...], _: str) -> Facts:
    """IN: the first is compared with each of the others."""
    for value in args[1:]:
        _compare((args[0], value), "")
    return Facts(BOOLEAN, nullable=nullable(args))


def _logic(args: tuple[Node, ...], _: str) -> Facts:
    for arg in args:
        if arg.facts.kind not in (BOOLEAN, NULL):
            raise Mismatch(f"a condition is needed here, but this is {arg.facts.kind}")
    return Facts(BOOLEAN, nullable=nullable(args))


def _distinct(args: tuple[Node, ...], _: str) -> Facts:
    """IS DISTINCT FROM: two NULLs are alike, so this is never NULL."""
    _compare(args, "")
    return Facts(BOOLEAN, nullable=False)


def _is_null(_args: tuple[Node, ...], _: str) -> Facts:
    return Facts(BOOLEAN, nullable=False)


def union(facts: list[Facts], nullable: bool) -> Facts:
    """What holds of a value that is one of several."""
    known = [f for f in facts if f.kind != NULL]
    if not known:
        return Facts(NULL, nullable=True)
    kinds = {f.kind for f in known}
    if len(kinds) > 1 and not kinds <= set(NUMBERS) and not kinds <= set(TIMES):
        raise Mismatch(f"these types cannot be combined: {', '.join(sorted(kinds))}")
    lows, highs = [f.low for f in known], [f.high for f in known]
    low = min(x for x in lows if x is not None) if None not in lows else None
    high = max(x for x in highs if x is not None) if None not in highs else None
    if kinds <= set(NUMBERS):
        exact = all(f.exact for f in known)
        kind = DOUBLE if not exact else INTEGER if kinds == {INTEGER} else DECIMAL
        return fit(Facts(kind, low, high, common_grid(*(f.grid for f in known)) if exact else None, nullable))
    lengths = [f.length for f in known]
    length = max(x for x in lengths if x is not None) if None not in lengths else None
    kind = TIMESTAMP if TIMESTAMP in kinds else kinds.pop()
    units = {f.every for f in known}
    every = AGE if AGE in units else units.pop() if len(units) == 1 else ""
    grid = known[0].grid if kind in (DATE, INTERVAL) else None
    return Facts(kind, low, high, grid, nullable, length, every=every)


def _case(args: tuple[Node, ...], _: str) -> Facts:
    """condition, value, condition, value, ..., default."""
    _logic(args[:-1:2], "")
    results = [*args[1:-1:2], args[-1]]
    return union([r.facts for r in results], any(r.facts.nullable for r in results))


def _coalesce(args: tuple[Node, ...], _: str) -> Facts:
    return union([a.facts for a in args], all(a.facts.nullable for a in args))


def _nullif(args: tuple[Node, ...], _: str) -> Facts:
    _compare(args, "")
    f = args[0].facts
    return Facts(f.kind, f.low, f.high, f.grid, True, f.length, every=f.every)


def _extreme(sign: int) -> Rule:
    """GREATEST (1) and LEAST (-1): NULLs are passed over, as in PostgreSQL; what is never NULL clamps the others."""

    def rule(args: tuple[Node, ...], _: str) -> Facts:
        facts = union([a.facts for a in args], all(a.facts.nullable for a in args))
        sure = [a.facts for a in args if not a.facts.nullable]
        near = [f.low if sign > 0 else f.high for f in sure]
        clamps = [end for end in near if end is not None]
        low, high = facts.low, facts.high
        if clamps and sign > 0:
            low = max(clamps) if low is None else max(low, *clamps)
        elif clamps:
            high = min(clamps) if high is None else min(high, *clamps)
        return fit(Facts(facts.kind, low, high, facts.grid, facts.nullable, facts.length, every=facts.every))

    return rule


LOGIC = (
    *(
        ScalarFunction(sign, _compare, f"a {sign} b", "a comparison; NULL if either side is NULL")
        for sign in ("=", "<>", "<", "<=", ">", ">=")
    ),
    ScalarFunction("in", _among, "x IN (a, b, …)", "whether x is one of these"),
    ScalarFunction("and", _logic, "a AND b", "both conditions"),
    ScalarFunction("or", _logic, "a OR b", "one of the conditions"),
    ScalarFunction("not", _logic, "NOT a", "the opposite"),
    ScalarFunction("is null", _is_null, "x IS NULL", "whether x is NULL", sees_null=True),
    ScalarFunction(
        "is distinct from",
        _distinct,
        "a IS DISTINCT FROM b",
        "whether they differ; two NULLs are equal",
        sees_null=True,
    ),
    ScalarFunction(
        "case",
        _case,
        "CASE WHEN a THEN x ELSE y END",
        "the value of the first condition that is true",
        sees_null=True,
    ),
    ScalarFunction("coalesce", _coalesce, "coalesce(a, b, …)", "the first value that is not NULL", sees_null=True),
    ScalarFunction("nullif", _nullif, "nullif(a, b)", "NULL where both are equal, else a", sees_null=True),
    ScalarFunction(
        "greatest", _extreme(1), "greatest(a, b, …)", "the largest value; NULLs are skipped", sees_null=True
    ),
    ScalarFunction("least", _extreme(-1), "least(a, b, …)", "the smallest value; NULLs are skipped", sees_null=True),
)
"""Comparisons, conditions and choices."""
