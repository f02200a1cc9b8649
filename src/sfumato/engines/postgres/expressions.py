"""Expressions as PostgreSQL's SQL: total, whatever the rows hold.

Comes in: nodes of our tree. Goes out: text. An exact number is bigint where its bounds say that 62 bits hold it, else
numeric, which has no end here; doubles go through `doubles`. Division by zero is NULL. Names and values come from the
policy and from the tree, never from the analyst's text.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sfumato.algebra import geo_cells
from sfumato.algebra.functions import FUNCTIONS, add_spellings, common_grid
from sfumato.algebra.functions.bits import held_in_64_bits
from sfumato.algebra.functions.curves import written
from sfumato.algebra.functions.interval_ends import ENDS, misplaced
from sfumato.algebra.functions.times import MICRO
from sfumato.algebra.tree import (
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    NULL,
    NUMBERS,
    TEXT,
    TIMESTAMP,
    Call,
    Column,
    Constant,
    Facts,
    Node,
)
from sfumato.engines.postgres import casts, doubles, letters, times
from sfumato.engines.postgres.moments import MOMENTS, difference
from sfumato.engines.postgres.spelling import (
    LARGEST,
    SMALL,
    identifier,
    is_small,
    literal,
    null,
    number,
    once,
    short,
    text,
)
from sfumato.engines.postgres.texts import TEXTS
from sfumato.errors import QueryError
from sfumato.interrupts import step

ENGINE = "postgres"
_Spelling = Callable[[Call], str]
_TAME = Fraction(10) ** 140
"""Numbers between this and its inverse can be multiplied and divided as they are."""


def expression(node: Node) -> str:
    """The SQL of a node, of the type `type_of(node.facts)`."""
    if isinstance(node, Column):
        return identifier(node.name)
    if isinstance(node, Constant):
        return literal(node.value, node.facts)
    if isinstance(node, Call):
        step()
        if node.name in ENDS:
            raise misplaced(node)
        spelling = INTERNAL.get(node.name) or FUNCTIONS[node.name].spellings.get(ENGINE)
        if spelling is None:
            raise _not_yet(node)
        return short(spelling(node), node)
    raise AssertionError(f"{type(node).__name__} is written by its relation")


# numbers
def steps(node: Node, grid: Fraction, wide: bool = False) -> str:
    """An exact number in steps of a finer grid; the caller says that bigint holds it, or that it is `wide`."""
    if node.facts.kind == NULL:
        return f"NULL::{'numeric' if wide else 'bigint'}"
    inner = expression(node)
    if wide and is_small(node.facts):
        inner = f"{inner}::numeric"
    ratio = Fraction(node.facts.grid or 1) / grid
    assert ratio.denominator == 1, "a finer grid"
    if ratio == 1:
        return inner
    scaled = f"({inner} * {ratio.numerator})"
    return scaled if node.facts.bounded else _limited(scaled)


def narrowed(sql: str, facts: Facts) -> str:
    """A numeric as the type of its facts."""
    return f"({sql})::bigint" if is_small(facts) else sql


def held(sql: str, facts: Facts) -> str:
    """A number of the type of its facts; without bounds it is limited."""
    return narrowed(sql, facts) if facts.bounded else _limited(sql)


def _limited(sql: str) -> str:
    """A number without bounds: NULL where its size needs more than 127 bits, as in the embedded engine."""
    return once({"x": sql}, f"CASE WHEN abs(x) < {LARGEST} THEN x END")


def common(nodes: tuple[Node, ...]) -> tuple[Fraction, bool]:
    """The grid on which all exact numbers lie, and whether 62 bits might not hold one of them there."""
    exact = [node for node in nodes if node.facts.kind != NULL]
    grid = common_grid(*dict.fromkeys(node.facts.grid for node in exact)) or Fraction(1)
    return grid, not all(node.facts.bounded and node.facts.largest < grid * SMALL for node in exact)


def double(node: Node) -> str:
    """Any number as a double."""
    facts = node.facts
    if facts.kind == NULL:
        return "NULL::float8"
    inner = expression(node)
    if not facts.exact or facts.grid is None:
        return inner
    scaled = f"({inner})::float8"
    if facts.grid.numerator != 1:
        scaled = f"({scaled} * {facts.grid.numerator}::float8)"
    return scaled if facts.grid.denominator == 1 else f"({scaled} / {facts.grid.denominator}::float8)"


def _tame(node: Node) -> bool:
    """A number that is zero or neither large nor small."""
    facts = node.facts
    return facts.exact and facts.bounded and facts.largest < _TAME and (facts.grid or 1) > 1 / _TAME


def _arithmetic(node: Call) -> str:
    a, b = node.args
    if node.facts.kind == INTERVAL:
        return difference(node, [expression(a), expression(b)])
    if DATE in (node.facts.kind, a.facts.kind):
        return times.arithmetic(node, expression(a), expression(b))
    if not node.facts.exact:
        return _of_doubles(node)
    if node.name == "*":
        wide = not is_small(node.facts)
        x, y = (steps(arg, arg.facts.grid or Fraction(1), wide) for arg in (a, b))
        return held(f"({x} * {y})", node.facts) if wide else f"({x} * {y})"
    grid, wide = common((a, b, node))
    x, y = steps(a, grid, wide), steps(b, grid, wide)
    return held(f"({x} {node.name} {y})", node.facts) if wide else f"({x} {node.name} {y})"


def _of_doubles(node: Call) -> str:
    a, b = node.args
    x, y = double(a), double(b)
    if _tame(a) and _tame(b):
        return f"({x} {node.name} {y})"
    return doubles.multiply(x, y) if node.name == "*" else doubles.add(x, y, node.name)


def _divide(node: Call) -> str:
    a, b = node.args
    if node.facts.kind == INTEGER:
        return _quotient(node)
    x, y = double(a), double(b)
    return f"({x} / NULLIF({y}, 0))" if _tame(a) and _tame(b) else doubles.divide(x, y)


def _quotient(node: Call) -> str:
    """The quotient toward zero of whole numbers of steps of one grid, and the rest."""
    a, b = node.args
    grid, wide = common((a, b))
    x, y = steps(a, grid, wide), steps(b, grid, wide)
    if node.name == "%":
        sql = f"({x} % NULLIF({y}, 0))"
    else:
        sql = f"div({x}, NULLIF({y}, 0))" if wide else f"({x} / NULLIF({y}, 0))"
    return narrowed(sql, node.facts) if wide else _widened(sql, node.facts)


def _widened(sql: str, facts: Facts) -> str:
    """A bigint as the type of its facts."""
    return sql if is_small(facts) else f"({sql})::numeric"


def _of_bits(node: Call) -> str:
    """Of numbers that 64 bits hold; others are NULL."""
    parts = (held_in_64_bits(arg) for arg in node.args)
    x, y = ("NULL::bigint" if part.facts.kind == NULL else f"({expression(part)})::bigint" for part in parts)
    return _widened(f"({x} {node.name} {y})", node.facts)


def _signed(template: str) -> _Spelling:
    return lambda node: null(node.facts) if node.facts.kind == NULL else template.format(expression(node.args[0]))


def _sign(node: Call) -> str:
    x = node.args[0]
    return f"sign({steps(x, x.facts.grid or Fraction(1), True) if x.facts.exact else double(x)})::bigint"


def rounded(node: Call) -> str:
    """Steps of one grid onto another: floor, ceiling, toward zero, or nearest with halves away from zero."""
    inner, grid = node.args[0], node.facts.grid or Fraction(1)
    if not inner.facts.exact:
        return _rounded_double(node)
    own = inner.facts.grid or Fraction(1)
    n, d = (grid / own).numerator, (grid / own).denominator
    wide = not inner.facts.bounded or 4 * d * inner.facts.largest / own + n >= SMALL
    if n == 1:  # already on the coarser grid
        sql = steps(inner, grid, wide)
        return narrowed(sql, node.facts) if wide else _widened(sql, node.facts)
    x = f"({steps(inner, own, wide)} * {d})"
    if wide:
        exact = {  # a quotient of numerics is rounded: floor and ceiling by the rest, which is exact
            "floor": once({"x": x}, f"div(x, {n}) - (x % {n} < 0)::int"),
            "ceil": once({"x": x}, f"div(x, {n}) + (x % {n} > 0)::int"),
            "trunc": f"div({x}, {n})",
            "round": once({"x": x}, f"sign(x) * div(2 * abs(x) + {n}, {2 * n})"),
        }
        return narrowed(exact[node.name], node.facts)
    exact = {
        "floor": once({"x": x}, f"x / {n} - (x % {n} < 0)::int"),
        "ceil": once({"x": x}, f"x / {n} + (x % {n} > 0)::int"),
        "trunc": f"({x} / {n})",
        "round": once({"x": x}, f"sign(x)::bigint * ((2 * abs(x) + {n}) / {2 * n})"),
    }
    return _widened(exact[node.name], node.facts)


def _rounded_double(node: Call) -> str:
    """A double onto a grid, held to its bounds; NULL where it is not finite or too large."""
    inner, per = double(node.args[0]), 1 / (node.facts.grid or Fraction(1))
    scaled = inner
    if per.numerator != 1:
        scaled = doubles.multiply(scaled, f"{per.numerator}::float8")
    if per.denominator != 1:
        scaled = doubles.divide(scaled, f"{per.denominator}::float8")
    nearest = doubles.away(scaled) if node.name == "round" else f"{node.name}({scaled})"
    return within_bounds(doubles.whole(nearest), node.facts)


def within_bounds(sql: str, facts: Facts) -> str:
    """A numeric that came of doubles, held to its bounds, of the type of its facts."""
    if facts.low is None or facts.high is None or facts.grid is None:
        return sql
    low, high = int(facts.low / facts.grid), int(facts.high / facts.grid)
    return narrowed(once({"x": sql}, f"CASE WHEN x < {low} THEN {low} WHEN x > {high} THEN {high} ELSE x END"), facts)


def _log(node: Call) -> str:
    base = written(node.args[:1])
    if base == [10]:
        return doubles.ln(double(node.args[1]), "log")
    return doubles.divide(doubles.ln(double(node.args[1])), doubles.ln(double(node.args[0])))


def _power(node: Call) -> str:
    """Multiplied out where it is exact."""
    base, times_ = node.args
    if not node.facts.exact:
        return doubles.power(double(base), double(times_))
    wide = not is_small(node.facts)
    x = steps(base, base.facts.grid or Fraction(1), wide)
    return once({"x": x}, " * ".join(["x"] * int(written((times_,))[0])))


def _width_bucket(node: Call) -> str:
    """Exact numbers in whole steps of one grid, others as doubles; from a high end downward where it comes first."""
    x, (low, high, count) = node.args[0], written(node.args[1:])
    sign = ""
    if low > high:
        sign, low, high = "-", -low, -high
    if x.facts.exact:
        grid, _ = common(node.args[:3])
        a, b = str(int(low / grid)), str(int(high / grid))
        value, odd = f"({sign}{steps(x, grid, wide=True)})", ""
        inner = f"div((x - ({a})) * {count}, ({b}) - ({a})) + 1"
    else:
        a, b = number(float(low)), number(float(high))
        value, odd = f"({sign}{double(x)})", " OR x = 'NaN'"
        width = doubles.divide(doubles.add("x", a, "-"), f"({b} - {a})")
        inner = f"LEAST(floor({doubles.multiply(width, f'{count}::float8')}) + 1, {count})"
    outside = f"WHEN x IS NULL{odd} THEN NULL WHEN x < {a} THEN 0 WHEN x >= {b} THEN {count} + 1"
    return _widened(f"({once({'x': value}, f'CASE {outside} ELSE {inner} END')})::bigint", node.facts)


# choices and comparisons
def alike(nodes: tuple[Node, ...]) -> list[str]:
    """Several values in one representation: exact numbers on one grid, other numbers as doubles."""
    kinds = {node.facts.kind for node in nodes} - {NULL}
    if kinds and kinds <= set(NUMBERS):
        if all(node.facts.exact or node.facts.kind == NULL for node in nodes):
            grid, wide = common(nodes)
            return [steps(node, grid, wide) for node in nodes]
        return [double(node) for node in nodes]
    kind = TIMESTAMP if kinds == {DATE, TIMESTAMP} else next(iter(kinds), TEXT)
    return [represented(node, Facts(kind)) for node in nodes]


def represented(node: Node, facts: Facts) -> str:
    """A value as one of the results of CASE or COALESCE, or of a column of UNION."""
    if node.facts.kind == NULL:
        return null(facts)
    if facts.exact and facts.grid is not None:
        return steps(node, facts.grid, not is_small(facts))
    if facts.kind == DOUBLE:
        return double(node)
    if facts.kind == TIMESTAMP and node.facts.kind == DATE:
        return f"{expression(node)}::timestamp"
    return expression(node)


def _comparison(node: Call) -> str:
    left, right = alike(node.args)
    return f"({left} {node.name.upper()} {right})"


def _among(node: Call) -> str:
    if node.args[0].facts.kind == NULL:
        return "NULL::boolean"
    operand, *values = alike(node.args)
    return f"({operand} IN ({', '.join(values)}))"


def _clamp(node: Call) -> str:
    """The first between the two others; NULL stays NULL."""
    x, low, high = alike(node.args)
    sql = once({"x": x}, f"CASE WHEN x < {low} THEN {low} WHEN x > {high} THEN {high} ELSE x END")
    if isinstance(node.args[0], Column):
        sql = f"CASE WHEN {x} < {low} THEN {low} WHEN {x} > {high} THEN {high} ELSE {x} END"
    if not node.facts.exact:
        return sql
    grid, wide = common(node.args)
    ratio = grid / (node.facts.grid or grid)
    sql = f"({sql})" if ratio == 1 else f"(({sql}) * {ratio.numerator} / {ratio.denominator})"
    return narrowed(sql, node.facts) if wide else _widened(sql, node.facts)


def _case(node: Call) -> str:
    pairs = zip(node.args[:-1:2], node.args[1:-1:2], strict=True)
    branches = " ".join(f"WHEN {truth(test)} THEN {represented(value, node.facts)}" for test, value in pairs)
    return f"(CASE {branches} ELSE {represented(node.args[-1], node.facts)} END)"


def truth(node: Node) -> str:
    """A condition; a missing one is of no other type."""
    return "NULL::boolean" if node.facts.kind == NULL else expression(node)


def _logic(template: str) -> _Spelling:
    return lambda node: template.format(*(truth(arg) for arg in node.args))


def _many(function: str) -> _Spelling:
    return lambda node: f"{function}({', '.join(represented(arg, node.facts) for arg in node.args)})"


def _nullif(node: Call) -> str:
    if node.args[0].facts.kind == NULL:
        return null(node.facts)
    a, b = alike(node.args)
    return f"(CASE WHEN {a} = {b} THEN NULL ELSE {expression(node.args[0])} END)"


# text
def _text(node: Node) -> str:
    return "NULL::text" if node.facts.kind == NULL else expression(node)


def _plain(template: str) -> _Spelling:
    return lambda node: template.format(*(_text(arg) for arg in node.args))


def _counted(template: str) -> _Spelling:
    """A function of a text and of written whole numbers."""

    def emit(node: Call) -> str:
        counts = [str(int(n)) for n in written(node.args[1:])]
        return template.format(_text(node.args[0]), ", ".join(counts))

    return emit


def _trim(node: Call) -> str:
    function = {"leading": "ltrim", "trailing": "rtrim"}.get(node.extra, "btrim")
    characters = _text(node.args[1]) if len(node.args) > 1 else text(" ")
    return f"{function}({_text(node.args[0])}, {characters})"


def _concat(node: Call) -> str:
    return "(" + " || ".join(f"COALESCE({_text(arg)}, ''::text)" for arg in node.args) + ")"


def _geo_cell(node: Call) -> str:
    """The centre of a point's cell, as text: whole numbers throughout; NULL where a coordinate is."""
    grid = geo_cells.read(node.extra)
    (lat, lon), (south, west) = node.args, grid.first
    row = _cell_place(lat, grid.south, grid.height * grid.unit, grid.rows)
    column = _cell_place(lon, grid.west, grid.width * grid.unit, grid.columns)
    north, east = (
        _degrees(f"({row} * {grid.height} + ({south}))", grid.digits),
        _degrees(f"({column} * {grid.width} + ({west}))", grid.digits),
    )
    unknown = " OR ".join(f"{expression(arg)} IS NULL" for arg in node.args)
    return f"(CASE WHEN {unknown} THEN NULL ELSE {north} || ',' || {east} END)::text COLLATE \"C\""


def _cell_place(arg: Node, low: Fraction, size: Fraction, count: int) -> str:
    """In which of `count` cells of one axis a coordinate lies, from 0; beyond the ends, in the first or the last."""
    own = common_grid(arg.facts.grid, abs(low)) or Fraction(1)
    ratio, start = own / size, int(low / own)
    above = f"({steps(arg, own, True)} - ({start})) * {ratio.numerator}"
    return f"LEAST(GREATEST(div({above}, {ratio.denominator}), 0), {count - 1})::bigint"


def _degrees(units: str, digits: int) -> str:
    return once(
        {"x": units},
        f"CASE WHEN x < 0 THEN '-' ELSE '' END || (abs(x) / {10**digits})::text || '.'"
        f" || lpad((abs(x) % {10**digits})::text, {digits}, '0')",
    )


def _spelled(spelling: Callable[[Call, list[str]], str]) -> _Spelling:
    """A function of another module."""
    return lambda node: spelling(node, [_text(arg) for arg in node.args])


def _not_yet(node: Call) -> QueryError:
    return QueryError(
        f"{node.name.upper()} is not supported over PostgreSQL yet",
        position=node.position,
        hint="It is supported in post-processing, over released numbers.",
    )


INTERNAL: dict[str, _Spelling] = {"clamp": _clamp}
"""Operators that no query writes."""
NOT_YET = ("initcap",)
"""Functions that are refused here, before anything is charged."""
SPELLINGS: dict[str, _Spelling] = {
    "+": _arithmetic,
    "-": _arithmetic,
    "*": _arithmetic,
    "/": _divide,
    "interval_of": lambda node: steps(node.args[0], MICRO, not is_small(node.facts)),
    "%": _quotient,
    "div": _quotient,
    **dict.fromkeys("&|#", _of_bits),
    "negate": _signed("(-{0})"),
    "abs": _signed("abs({0})"),
    "sign": _sign,
    "round": rounded,
    "floor": rounded,
    "ceil": rounded,
    "trunc": rounded,
    "ln": lambda node: doubles.ln(double(node.args[0])),
    "log10": lambda node: doubles.ln(double(node.args[0]), "log"),
    "log": _log,
    "exp": lambda node: doubles.exp(double(node.args[0])),
    "sqrt": lambda node: doubles.sqrt(double(node.args[0])),
    "cbrt": lambda node: f"cbrt({double(node.args[0])})",
    "power": _power,
    "width_bucket": _width_bucket,
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">=", "is distinct from"), _comparison),
    "in": _among,
    "and": _logic("({0} AND {1})"),
    "or": _logic("({0} OR {1})"),
    "not": _logic("(NOT {0})"),
    "is null": lambda node: f"({expression(node.args[0])} IS NULL)",
    "case": _case,
    "coalesce": _many("COALESCE"),
    "nullif": _nullif,
    "greatest": _many("GREATEST"),
    "least": _many("LEAST"),
    **{name: _spelled(spelling) for name, spelling in (MOMENTS | TEXTS).items()},
    "shift": lambda node: times.shift(node, expression(node.args[0])),
    "lower": lambda node: letters.cased("lower", _text(node.args[0])),
    "upper": lambda node: letters.cased("upper", _text(node.args[0])),
    "trim": _trim,
    "length": _plain("length({0})::bigint"),
    "substring": _counted("substring({0}, {1})"),
    "left": _counted("left({0}, {1})"),
    "right": _counted("right({0}, {1})"),
    "reverse": _plain("reverse({0})"),
    "replace": _plain("replace({0}, {1}, {2})"),
    # md5('') is computed when the statement is planned: a server without MD5 refuses it before a row is read
    "md5": _plain("(CASE WHEN md5('') IS NOT NULL THEN md5(convert_to({0}, 'UTF8')) END COLLATE \"C\")"),
    "ascii": _plain("ascii({0})::bigint"),
    "octet_length": _plain("octet_length(convert_to({0}, 'UTF8'))::bigint"),
    "translate": _plain("translate({0}, {1}, {2})"),
    "strpos": _plain("strpos({0}, {1})::bigint"),
    "starts_with": _plain("starts_with({0}, {1})"),
    "||": _plain("({0} || {1})"),
    "concat": _concat,
    "like": _plain("({0} LIKE {1} ESCAPE '\\')"),
    "ilike": lambda node: "({} LIKE {} ESCAPE '\\')".format(*(letters.cased("lower", _text(x)) for x in node.args)),
    "regexp_like": _plain("({0} ~ {1})"),
    "cast": casts.cast,
    "geo_cell": _geo_cell,
}
"""Every function below a release, and how it is written."""
add_spellings(ENGINE, SPELLINGS)

__all__ = ["SPELLINGS", "alike", "common", "double", "expression", "represented", "steps"]
