"""The room that writes engine SQL: total functions only, exact numbers as whole steps, everything quoted.

Comes in: nodes of our tree. Goes out: text for DuckDB. Names and values come from the policy and from the tree, never
from the analyst's text; every partial operation is guarded by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from fractions import Fraction

from sfumato.errors import QueryError
from sfumato.sql.functions import common_grid
from sfumato.sql.tree import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    NULL,
    NUMBERS,
    TIMESTAMP,
    Call,
    Column,
    Constant,
    Facts,
    Node,
    Over,
)
from sfumato.words import identifier, string

_SMALL = 1 << 62
_LONGEST = 5000
_Spelling = Callable[[Call], str]


def is_small(facts: Facts) -> bool:
    """Whether an exact number, in steps, surely fits into 62 bits."""
    return facts.bounded and facts.grid is not None and facts.largest / facts.grid < _SMALL


def _size(facts: Facts) -> Fraction:
    """How large an exact number can be: its bounds, or what 63 bits hold."""
    return facts.largest if facts.bounded else Fraction(1 << 63) * (facts.grid or 1)


def _too_many_digits(node: Node) -> QueryError:
    return QueryError(
        "numbers of too many digits meet here",
        position=node.position,
        hint="Write numbers with fewer digits after the point, or declare narrower bounds.",
    )


def _short(sql: str) -> str:
    """Text that is about to be written several times: nested too deeply it would grow without end."""
    if len(sql) > _LONGEST:
        raise QueryError("this expression is nested too deeply", hint="Round once, at the end.", sqlstate="54001")
    return sql


def literal(value: object, facts: Facts) -> str:
    """A constant, an exact number in steps of its grid."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | Fraction):
        steps = Fraction(value) / (facts.grid or 1)
        return f"({int(steps)}::{'BIGINT' if abs(steps) < _SMALL else 'HUGEINT'})"
    if isinstance(value, datetime):
        return f"TIMESTAMP {string(value.isoformat(sep=' '))}"
    if isinstance(value, date):
        return f"DATE {string(value.isoformat())}"
    return string(str(value))


def expression(node: Node) -> str:
    """The SQL of a node; an exact number in steps of its own grid."""
    if isinstance(node, Column):
        return identifier(node.name)
    if isinstance(node, Constant):
        return literal(node.value, node.facts)
    if isinstance(node, Over):
        return _over(node)
    if isinstance(node, Call):
        return _SPELLINGS[node.name](node)
    raise AssertionError("an aggregate is emitted by the plan")


def steps(node: Node, grid: Fraction, wide: bool = False) -> str:
    """An exact number in steps of a finer grid."""
    inner = expression(node)
    if node.facts.kind == NULL:
        return "NULL"
    if wide:
        inner = f"CAST({inner} AS HUGEINT)"
    ratio = Fraction(node.facts.grid or 1) / grid
    if ratio != 1 and _size(node.facts) / grid > 1 << 120:
        raise _too_many_digits(node)
    return inner if ratio == 1 else _guarded(f"({inner} * {int(ratio)})", node.facts.bounded)


def double(node: Node) -> str:
    """Any number as a double."""
    facts = node.facts
    inner = expression(node)
    if facts.kind == NULL:
        return "CAST(NULL AS DOUBLE)"
    if not facts.exact or facts.grid is None:
        return inner
    scaled = f"CAST({inner} AS DOUBLE)"
    if facts.grid.numerator != 1:
        scaled = f"({scaled} * {facts.grid.numerator})"
    return scaled if facts.grid.denominator == 1 else f"({scaled} / {facts.grid.denominator})"


def _common(nodes: tuple[Node, ...]) -> tuple[Fraction, bool]:
    """The grid on which all exact numbers lie, and whether 62 bits might not hold one of them there."""
    grid = common_grid(*(node.facts.grid for node in nodes if node.facts.kind != NULL)) or Fraction(1)
    for node in nodes:
        if node.facts.exact and _size(node.facts) / grid > 1 << 120:
            raise _too_many_digits(node)
    wide = not all(
        n.facts.kind == NULL or is_small(Facts(n.facts.kind, n.facts.low, n.facts.high, grid)) for n in nodes
    )
    return grid, wide


def _guarded(sql: str, sure: bool) -> str:
    """TRY gives NULL where an unbounded number outgrows the engine."""
    return sql if sure else f"TRY({sql})"


def _arithmetic(node: Call) -> str:
    a, b = node.args
    if node.facts.kind == DATE:
        return f"({expression(a)} {node.name} CAST({expression(b)} AS INTEGER))"
    if a.facts.kind == DATE and b.facts.kind == DATE:
        return f"CAST({expression(a)} - {expression(b)} AS BIGINT)"
    if not node.facts.exact:
        return f"({double(a)} {node.name} {double(b)})"
    sure = node.facts.bounded
    if node.name == "*":
        wide = not is_small(node.facts)
        return _guarded(f"({steps(a, a.facts.grid or Fraction(1), wide)} * {expression(b)})", sure)
    grid, wide = _common((a, b, node))
    return _guarded(f"({steps(a, grid, wide)} {node.name} {steps(b, grid, wide)})", sure)


def _divide(node: Call) -> str:
    a, b = node.args
    if node.facts.kind == INTEGER:
        return _guarded(f"({expression(a)} // NULLIF({expression(b)}, 0))", node.facts.bounded)
    return f"({double(a)} / NULLIF({double(b)}, 0))"


def _modulo(node: Call) -> str:
    return _guarded(f"({expression(node.args[0])} % NULLIF({expression(node.args[1])}, 0))", node.args[0].facts.bounded)


def _comparison(node: Call) -> str:
    a, b = node.args
    left, right = _alike((a, b))
    return f"({left} {node.name} {right})"


def _alike(nodes: tuple[Node, ...]) -> list[str]:
    """Several values in one representation: exact numbers on one grid, other numbers as doubles."""
    kinds = {node.facts.kind for node in nodes} - {NULL}
    if kinds and kinds <= set(NUMBERS):
        if all(node.facts.exact or node.facts.kind == NULL for node in nodes):
            grid, wide = _common(nodes)
            return [steps(node, grid, wide) for node in nodes]
        return [double(node) for node in nodes]
    if kinds == {DATE, TIMESTAMP}:
        return [f"CAST({expression(node)} AS TIMESTAMP)" for node in nodes]
    return [expression(node) for node in nodes]


def _as(node: Node, facts: Facts) -> str:
    """A value as one of the results of CASE or COALESCE."""
    if node.facts.kind == NULL:
        return "NULL"
    if facts.exact and facts.grid is not None:
        return steps(node, facts.grid, not is_small(facts))
    if facts.kind == DOUBLE:
        return double(node)
    if facts.kind == TIMESTAMP and node.facts.kind == DATE:
        return f"CAST({expression(node)} AS TIMESTAMP)"
    return expression(node)


def _case(node: Call) -> str:
    pairs = zip(node.args[:-1:2], node.args[1:-1:2], strict=True)
    branches = " ".join(f"WHEN {expression(test)} THEN {_as(value, node.facts)}" for test, value in pairs)
    return f"CASE {branches} ELSE {_as(node.args[-1], node.facts)} END"


def _many(function: str) -> _Spelling:
    def emit(node: Call) -> str:
        return f"{function}({', '.join(_as(arg, node.facts) for arg in node.args)})"

    return emit


def _nullif(node: Call) -> str:
    a, b = _alike(node.args)
    _short(a)
    return f"CASE WHEN {a} = {b} THEN NULL ELSE {expression(node.args[0])} END"


def _rounded(node: Call) -> str:
    """Steps of one grid onto another: floor, ceiling, or nearest with halves away from zero, as PostgreSQL does."""
    inner = node.args[0]
    grid = node.facts.grid or Fraction(1)
    if not inner.facts.exact:
        scaled = f"({double(inner)} * {(1 / grid).numerator} / {(1 / grid).denominator})"
        return _within_bounds(f"TRY_CAST({node.name}({scaled}) AS HUGEINT)", node.facts)
    own = inner.facts.grid or Fraction(1)
    n, d = (grid / own).numerator, (grid / own).denominator
    wide = not inner.facts.bounded or 4 * d * inner.facts.largest / own + n >= _SMALL
    if n == 1:  # already on the coarser grid
        return steps(inner, grid, wide)
    x = _short(f"({steps(inner, own, wide)} * {d})")
    if node.name == "floor":
        sql = f"(({x} - (({x} % {n}) + {n}) % {n}) // {n})"
    elif node.name == "ceil":
        sql = f"(-((-{x} - ((-{x} % {n}) + {n}) % {n}) // {n}))"
    else:
        sql = f"(SIGN({x}) * ((2 * ABS({x}) + {n}) // {2 * n}))"
    return _guarded(sql, inner.facts.bounded)


def _within_bounds(number: str, facts: Facts) -> str:
    """A number that came of doubles, which may stray by a hair, held to the bounds that exact arithmetic gives."""
    if facts.low is None or facts.high is None or facts.grid is None:
        return number
    low, high = int(facts.low / facts.grid), int(facts.high / facts.grid)
    _short(number)
    return f"CASE WHEN {number} IS NULL THEN NULL ELSE LEAST(GREATEST({number}, {low}), {high}) END"


def _cast(node: Call) -> str:
    inner = node.args[0]
    if node.extra == INTEGER:
        if inner.facts.kind == BOOLEAN:
            return f"CAST({expression(inner)} AS BIGINT)"
        if inner.facts.exact:
            return _rounded(Call("round", (inner,), node.facts))
        return _within_bounds(f"TRY_CAST(ROUND_EVEN({double(inner)}, 0) AS BIGINT)", node.facts)
    if node.extra == DOUBLE:
        return double(inner)
    if node.extra == DATE:
        return f"CAST({expression(inner)} AS DATE)"
    return expression(inner)


def _extract(node: Call) -> str:
    return f"CAST(EXTRACT({node.extra} FROM {expression(node.args[0])}) AS BIGINT)"


def _date_trunc(node: Call) -> str:
    return f"CAST(date_trunc({string(node.extra)}, {expression(node.args[0])}) AS DATE)"


def _over(node: Over) -> str:
    """A window above the cut."""
    args = ", ".join(expression(arg) for arg in node.args)
    if node.name == "count" and not node.args:
        args = "*"
    if node.name == "avg":
        args = double(node.args[0])
    call = f"CAST({node.name}({args}) OVER ({{}}) AS {'DOUBLE' if node.name == 'avg' else 'HUGEINT'})"
    if node.args and node.args[0].facts.kind not in NUMBERS:
        call = f"{node.name}({args}) OVER ({{}})"
    parts = []
    if node.partition:
        parts.append("PARTITION BY " + ", ".join(expression(p) for p in node.partition))
    if node.order:
        parts.append("ORDER BY " + ", ".join(sort_key(s.node, s.descending, s.nulls_first) for s in node.order))
    return call.format(" ".join(parts))


def sort_key(node: Node, descending: bool, nulls_first: bool) -> str:
    """An item of ORDER BY, NULLs where PostgreSQL puts them."""
    return f"{expression(node)} {'DESC' if descending else 'ASC'} NULLS {'FIRST' if nulls_first else 'LAST'}"


def _plain(template: str) -> _Spelling:
    return lambda node: template.format(*(expression(arg) for arg in node.args))


_SPELLINGS: dict[str, _Spelling] = {
    "+": _arithmetic,
    "-": _arithmetic,
    "*": _arithmetic,
    "/": _divide,
    "%": _modulo,
    "negate": lambda node: _guarded(f"(-{expression(node.args[0])})", node.facts.bounded),
    "abs": lambda node: _guarded(f"ABS({expression(node.args[0])})", node.facts.bounded),
    "sign": _plain("CAST(SIGN({0}) AS BIGINT)"),
    "round": _rounded,
    "floor": _rounded,
    "ceil": _rounded,
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">="), _comparison),
    "and": _plain("({0} AND {1})"),
    "or": _plain("({0} OR {1})"),
    "not": _plain("(NOT {0})"),
    "is null": _plain("({0} IS NULL)"),
    "case": _case,
    "coalesce": _many("COALESCE"),
    "nullif": _nullif,
    "greatest": _many("GREATEST"),
    "least": _many("LEAST"),
    "extract": _extract,
    "date_trunc": _date_trunc,
    "lower": _plain("LOWER({0})"),
    "upper": _plain("UPPER({0})"),
    "trim": _plain("TRIM({0})"),
    "length": _plain("CAST(LENGTH({0}) AS BIGINT)"),
    "substring": lambda node: f"SUBSTRING({', '.join(expression(arg) for arg in node.args)})",
    "||": _plain("({0} || {1})"),
    "like": _plain("({0} LIKE {1} ESCAPE '\\')"),
    "cast": _cast,
}
