"""Expressions as Spark's SQL, with ANSI mode on: total, whatever the rows hold.

Comes in: nodes of our tree. Goes out: text. An exact number is BIGINT where its bounds say that 62 bits hold it, else
DECIMAL(38, 0). Bounded arithmetic cannot overflow, by its bounds; what has no bounds goes through Spark's try_
functions and is NULL beyond 38 digits. Division by zero is NULL. Names and values come from the policy and the tree,
never from the analyst's text.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil

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
from sfumato.engines.spark import casts, doubles, letters, texts, times
from sfumato.engines.spark.spelling import (
    ROOMY,
    SMALL,
    WIDE,
    absolute,
    identifier,
    is_small,
    literal,
    negative,
    null,
    number,
    once,
    quotient,
    short,
    text,
    too_many_digits,
    whole,
)
from sfumato.engines.spark.texts import TEXTS
from sfumato.engines.spark.times import TIMES, difference
from sfumato.errors import QueryError
from sfumato.interrupts import step

ENGINE = "spark"
_Spelling = Callable[[Call], str]
_UNBOUNDED = Fraction(1 << 63)
"""The most steps of a number of the source that has no bounds."""
_TRIED = {"+": "try_add", "-": "try_subtract", "*": "try_multiply"}


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
def operated(sign: str, x: str, y: str, sure: bool) -> str:
    """A sum, difference or product; NULL beyond 38 digits where nothing is known of the numbers."""
    return f"({x} {sign} {y})" if sure else f"{_TRIED[sign]}({x}, {y})"


def steps(node: Node, grid: Fraction, wide: bool = False) -> str:
    """An exact number in steps of a finer grid; the caller says that BIGINT holds it, or that it is `wide`."""
    if node.facts.kind == NULL:
        return f"CAST(NULL AS {WIDE if wide else 'BIGINT'})"
    inner = expression(node)
    if wide and is_small(node.facts):
        inner = f"CAST({inner} AS {WIDE})"
    ratio = Fraction(node.facts.grid or 1) / grid
    assert ratio.denominator == 1, "a finer grid"
    if ratio == 1:
        return inner
    if size(node.facts) / grid > ROOMY:
        raise too_many_digits(node)
    return operated("*", inner, whole(ratio.numerator, wide), node.facts.bounded)


def size(facts: Facts) -> Fraction:
    """The largest a number may be; without bounds, as large as the source has it."""
    return facts.largest if facts.bounded else _UNBOUNDED * (facts.grid or 1)


def narrowed(sql: str, facts: Facts) -> str:
    """A wide number as the type of its facts."""
    return f"CAST({sql} AS BIGINT)" if is_small(facts) else sql


def widened(sql: str, facts: Facts) -> str:
    """A BIGINT as the type of its facts."""
    return sql if is_small(facts) else f"CAST({sql} AS {WIDE})"


def common(nodes: tuple[Node, ...]) -> tuple[Fraction, bool]:
    """The grid on which all exact numbers lie, and whether 62 bits might not hold one of them there."""
    exact = [node for node in nodes if node.facts.kind != NULL]
    grid = common_grid(*dict.fromkeys(node.facts.grid for node in exact)) or Fraction(1)
    for node in exact:
        if node.facts.exact and size(node.facts) > grid * ROOMY:
            raise too_many_digits(node)
    return grid, not all(node.facts.bounded and node.facts.largest < grid * SMALL for node in exact)


def double(node: Node) -> str:
    """Any number as a double."""
    facts = node.facts
    if facts.kind == NULL:
        return "CAST(NULL AS DOUBLE)"
    inner = expression(node)
    if not facts.exact or facts.grid is None:
        return inner
    scaled = f"CAST({inner} AS DOUBLE)"
    if facts.grid.numerator != 1:
        scaled = f"({scaled} * {number(float(facts.grid.numerator))})"
    return scaled if facts.grid.denominator == 1 else f"({scaled} / {number(float(facts.grid.denominator))})"


def _arithmetic(node: Call) -> str:
    a, b = node.args
    if node.facts.kind == INTERVAL:
        return difference(node, [expression(a), expression(b)])
    if DATE in (node.facts.kind, a.facts.kind):
        return times.arithmetic(node, expression(a), expression(b))
    if not node.facts.exact:
        return f"({double(a)} {node.name} {double(b)})"
    sure = node.facts.bounded
    if node.name == "*":
        wide = not is_small(node.facts)
        x, y = (steps(arg, arg.facts.grid or Fraction(1), wide) for arg in (a, b))
        return operated("*", x, y, sure)
    grid, wide = common((a, b, node))
    x, y = steps(a, grid, wide), steps(b, grid, wide)
    sql = operated(node.name, x, y, sure)
    return narrowed(sql, node.facts) if wide else sql


def _divide(node: Call) -> str:
    a, b = node.args
    return _quotient(node) if node.facts.kind == INTEGER else doubles.divide(double(a), double(b))


def _quotient(node: Call) -> str:
    """The quotient toward zero of whole numbers of steps of one grid, and the rest."""
    a, b = node.args
    grid, wide = common((a, b))
    x, y = steps(a, grid, wide), steps(b, grid, wide)
    by = f"NULLIF({y}, {whole(0, wide)})"
    if not wide:
        return widened(f"({x} {'%' if node.name == '%' else 'div'} {by})", node.facts)
    sql = f"({x} % {by})" if node.name == "%" else quotient(x, by, sure=a.facts.bounded and b.facts.bounded)
    return narrowed(sql, node.facts)


def _of_bits(node: Call) -> str:
    """Of numbers that 64 bits hold; others are NULL."""
    x, y = (f"CAST({expression(held_in_64_bits(arg))} AS BIGINT)" for arg in node.args)
    return widened(f"({x} {'^' if node.name == '#' else node.name} {y})", node.facts)


def _signed(template: str, of_wide: Callable[[str], str]) -> _Spelling:
    def emit(node: Call) -> str:
        if node.facts.kind == NULL:
            return null(node.facts)
        x, facts = expression(node.args[0]), node.args[0].facts
        return once({"x": x}, of_wide("x")) if facts.exact and not is_small(facts) else template.format(x)

    return emit


def _sign(node: Call) -> str:
    x = node.args[0]
    if x.facts.kind == NULL:
        return "CAST(NULL AS BIGINT)"
    if not x.facts.exact:  # NaN is the largest number
        return once({"x": double(x)}, "CASE WHEN x > 0D THEN 1L WHEN x < 0D THEN (-1L) WHEN x IS NOT NULL THEN 0L END")
    zero = whole(0, not is_small(x.facts))
    found = f"CASE WHEN x > {zero} THEN 1L WHEN x < {zero} THEN (-1L) WHEN x IS NOT NULL THEN 0L END"
    return once({"x": expression(x)}, found)


def rounded(node: Call) -> str:
    """Steps of one grid onto another: floor, ceiling, toward zero, or nearest with halves away from zero."""
    inner, grid = node.args[0], node.facts.grid or Fraction(1)
    if not inner.facts.exact:
        return _rounded_double(node)
    own, sure = inner.facts.grid or Fraction(1), inner.facts.bounded
    n, d = (grid / own).numerator, (grid / own).denominator
    wide = not sure or 4 * d * inner.facts.largest / own + n >= SMALL
    if n == 1:  # already on the coarser grid
        sql = steps(inner, grid, wide)
        return narrowed(sql, node.facts) if wide else widened(sql, node.facts)
    if 4 * d * size(inner.facts) / own + n > ROOMY:
        raise too_many_digits(node)
    x = operated("*", steps(inner, own, wide), whole(d, wide), sure)
    by, twice, zero = whole(n, wide), whole(2 * n, wide), whole(0, wide)
    if not wide:
        exact = {
            "floor": once({"x": x}, f"x div {by} - CASE WHEN x % {by} < 0L THEN 1L ELSE 0L END"),
            "ceil": once({"x": x}, f"x div {by} + CASE WHEN x % {by} > 0L THEN 1L ELSE 0L END"),
            "trunc": f"({x} div {by})",
            "round": once({"x": x}, f"CASE WHEN x < 0L THEN (-1L) ELSE 1L END * ((2L * abs(x) + {by}) div {twice})"),
        }
        return widened(exact[node.name], node.facts)
    whole_part = quotient("x", by, sure=sure)
    doubled = f"{operated('+', operated('*', whole(2, wide), absolute('x'), sure), by, sure)}"
    nearest = quotient(doubled, twice, sure=sure)
    exact = {
        "floor": once({"x": x}, f"{whole_part} - CASE WHEN x % {by} < {zero} THEN 1L ELSE 0L END"),
        "ceil": once({"x": x}, f"{whole_part} + CASE WHEN x % {by} > {zero} THEN 1L ELSE 0L END"),
        "trunc": once({"x": x}, whole_part),
        "round": once({"x": x}, f"CASE WHEN x < {zero} THEN (-1L) ELSE 1L END * {nearest}"),
    }
    return narrowed(exact[node.name], node.facts)


def _rounded_double(node: Call) -> str:
    """A double onto a grid, held to its bounds; NULL where it is not finite or too large."""
    inner, per = double(node.args[0]), 1 / (node.facts.grid or Fraction(1))
    scaled = inner
    if per.numerator != 1:
        scaled = f"({scaled} * {number(float(per.numerator))})"
    if per.denominator != 1:
        scaled = f"({scaled} / {number(float(per.denominator))})"
    nearest = {"round": doubles.away, "floor": doubles.floor, "ceil": doubles.ceil, "trunc": doubles.trunc}
    return within_bounds(doubles.whole_of(nearest[node.name](scaled), beyond=node.facts.bounded), node.facts)


def within_bounds(sql: str, facts: Facts) -> str:
    """A wide number that came of doubles, held to its bounds, of the type of its facts."""
    if facts.low is None or facts.high is None or facts.grid is None:
        return sql
    most = 10**38 - 1
    ends = max(int(facts.low / facts.grid), -most), min(int(facts.high / facts.grid), most)
    low, high = (whole(end, wide=True) for end in ends)
    return narrowed(once({"x": sql}, f"CASE WHEN x < {low} THEN {low} WHEN x > {high} THEN {high} ELSE x END"), facts)


def _log(node: Call) -> str:
    base = written(node.args[:1])
    if base == [10]:
        return doubles.ln(double(node.args[1]), "log10")
    return doubles.divide(doubles.ln(double(node.args[1])), doubles.ln(double(node.args[0])))


def _power(node: Call) -> str:
    """Multiplied out where it is exact."""
    base, times_ = node.args
    if not node.facts.exact:
        return doubles.power(double(base), double(times_))
    wide = not is_small(node.facts)
    x = steps(base, base.facts.grid or Fraction(1), wide)
    result = "x"
    for _ in range(int(written((times_,))[0]) - 1):
        result = operated("*", result, "x", node.facts.bounded)
    return once({"x": x}, result)


def _width_bucket(node: Call) -> str:
    """Exact numbers in whole steps of one grid, others as doubles; from a high end downward where it comes first."""
    x, (low, high, count) = node.args[0], written(node.args[1:])
    down = low > high
    if down:
        low, high = -low, -high
    if x.facts.exact:
        grid, _ = common(node.args[:3])
        if (size(x.facts) + abs(low) + abs(high)) / grid * count > ROOMY:
            raise too_many_digits(node)
        ends = int(low / grid), int(high / grid)
        a, b = (whole(end, wide=True) for end in ends)
        value, odd = f"({steps(x, grid, wide=True)})", ""
        value = negative(value) if down else value
        inner = f"{quotient(f'(x - {a}) * {whole(int(count), wide=True)}', whole(ends[1] - ends[0], wide=True))} + 1L"
    else:
        a, b = number(float(low)), number(float(high))
        value, odd = f"({'-' if down else ''}{double(x)})", " OR isnan(x)"
        inside = f"((x - {a}) / ({b} - {a}) * {number(float(count))})"
        inner = f"LEAST(CAST(floor({inside}) AS BIGINT) + 1L, {count}L)"
    outside = f"WHEN x IS NULL{odd} THEN NULL WHEN x < {a} THEN 0L WHEN x >= {b} THEN {count + 1}L"
    return widened(f"CAST({once({'x': value}, f'CASE {outside} ELSE {inner} END')} AS BIGINT)", node.facts)


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
        return f"CAST({expression(node)} AS TIMESTAMP)"
    return expression(node)


def _comparison(node: Call) -> str:
    left, right = alike(node.args)
    return f"({left} {node.name.upper()} {right})"


def _among(node: Call) -> str:
    if node.args[0].facts.kind == NULL:
        return "CAST(NULL AS BOOLEAN)"
    operand, *values = alike(node.args)
    return f"({operand} IN ({', '.join(values)}))"


def _clamp(node: Call) -> str:
    """The first between the two others; NULL stays NULL."""
    x, low, high = alike(node.args)
    sql = once({"x": x}, f"CASE WHEN x < {low} THEN {low} WHEN x > {high} THEN {high} ELSE x END")
    if not node.facts.exact:
        return sql
    grid, wide = common(node.args)
    ratio = grid / (node.facts.grid or grid)
    if ratio != 1:
        n, d = (whole(end, wide) for end in (ratio.numerator, ratio.denominator))
        product = operated("*", sql, n, node.args[0].facts.bounded)
        sql = quotient(product, d, sure=False) if wide else f"({product} div {d})"
    return narrowed(sql, node.facts) if wide else widened(sql, node.facts)


def _case(node: Call) -> str:
    pairs = zip(node.args[:-1:2], node.args[1:-1:2], strict=True)
    branches = " ".join(f"WHEN {truth(test)} THEN {represented(value, node.facts)}" for test, value in pairs)
    return f"(CASE {branches} ELSE {represented(node.args[-1], node.facts)} END)"


def truth(node: Node) -> str:
    """A condition; a missing one is of no other type."""
    return "CAST(NULL AS BOOLEAN)" if node.facts.kind == NULL else expression(node)


def _logic(template: str) -> _Spelling:
    return lambda node: template.format(*(truth(arg) for arg in node.args))


def _many(function: str) -> _Spelling:
    def emit(node: Call) -> str:
        values = [represented(arg, node.facts) for arg in node.args]
        return f"{function}({', '.join(values)})" if len(values) > 1 else values[0]

    return emit


def _nullif(node: Call) -> str:
    if node.args[0].facts.kind == NULL:
        return null(node.facts)
    a, b = alike(node.args)
    return f"(CASE WHEN {a} = {b} THEN NULL ELSE {expression(node.args[0])} END)"


# text
def _text(node: Node) -> str:
    return "CAST(NULL AS STRING)" if node.facts.kind == NULL else expression(node)


def _plain(template: str) -> _Spelling:
    return lambda node: template.format(*(_text(arg) for arg in node.args))


def _substring(node: Call) -> str:
    """From a place on, which may lie before the text: what would stand there is left out."""
    start, *length = (int(n) for n in written(node.args[1:]))
    if not length:
        return f"substring({_text(node.args[0])}, {max(start, 1)})"
    return f"substring({_text(node.args[0])}, {max(start, 1)}, {max(start + length[0] - max(start, 1), 0)})"


def _left(node: Call) -> str:
    n = int(written(node.args[1:])[0])
    many = str(n) if n >= 0 else f"greatest(length(x) - {-n}, 0)"
    return once({"x": _text(node.args[0])}, f"substring(x, 1, {many})")


def _right(node: Call) -> str:
    n = int(written(node.args[1:])[0])
    start = f"greatest(length(x) - {n} + 1, 1)" if n >= 0 else str(1 - n)
    return once({"x": _text(node.args[0])}, f"substring(x, {start})")


def _trim(node: Call) -> str:
    way = {"leading": "LEADING", "trailing": "TRAILING"}.get(node.extra, "BOTH")
    characters = _text(node.args[1]) if len(node.args) > 1 else text(" ")
    return f"trim({way} {characters} FROM {_text(node.args[0])})"


def _concat(node: Call) -> str:
    return "concat(" + ", ".join(f"COALESCE({_text(arg)}, '')" for arg in node.args) + ")"


def _like(node: Call) -> str:
    return texts.matches(_text(node.args[0]), texts.like(texts.pattern_of(node.args[1])))


def _ilike(node: Call) -> str:
    lowered = letters.lowered(texts.pattern_of(node.args[1]))
    return texts.matches(letters.cased("lower", _text(node.args[0])), texts.like(lowered))


def _geo_cell(node: Call) -> str:
    """The centre of a point's cell, as text: whole numbers throughout; NULL where a coordinate is."""
    grid = geo_cells.read(node.extra)
    (lat, lon), (south, west) = node.args, grid.first
    row = _cell_place(lat, grid.south, grid.height * grid.unit, grid.rows)
    column = _cell_place(lon, grid.west, grid.width * grid.unit, grid.columns)
    north = _degrees(f"({row} * {grid.height}L + {whole(int(south))})", grid.digits)
    east = _degrees(f"({column} * {grid.width}L + {whole(int(west))})", grid.digits)
    axes = (lat, grid.south), (lon, grid.west)
    unknown = " OR ".join(f"{steps(arg, _axis_grid(arg, low), True)} IS NULL" for arg, low in axes)
    return f"CASE WHEN {unknown} THEN NULL ELSE concat({north}, ',', {east}) END"


def _axis_grid(arg: Node, low: Fraction) -> Fraction:
    """The grid on which a coordinate and the end of its axis both lie."""
    return common_grid(arg.facts.grid, abs(low)) or Fraction(1)


def _cell_place(arg: Node, low: Fraction, side: Fraction, count: int) -> str:
    """In which of `count` cells of one axis a coordinate lies, from 0; beyond the ends, in the first or the last.

    It is held to the ends before anything is computed with it, so that no number is too large.
    """
    own = _axis_grid(arg, low)
    ratio, start = own / side, int(low / own)
    end = start + ceil(count / ratio)
    if max(abs(start), abs(end), (end - start) * ratio.numerator) > ROOMY:
        raise too_many_digits(arg)
    first, last = whole(start, wide=True), whole(end, wide=True)
    held = f"LEAST(GREATEST({steps(arg, own, True)}, {first}), {last})"
    above = f"({held} - {first}) * {whole(ratio.numerator, wide=True)}"
    place = quotient(above, whole(ratio.denominator, wide=True))
    return f"CAST(LEAST(GREATEST({place}, {whole(0, wide=True)}), {whole(count - 1, wide=True)}) AS BIGINT)"


def _degrees(units: str, digits: int) -> str:
    return once(
        {"x": units},
        f"concat(CASE WHEN x < 0L THEN '-' ELSE '' END, CAST(abs(x) div {10**digits}L AS STRING), '.',"
        f" lpad(CAST(abs(x) % {10**digits}L AS STRING), {digits}, '0'))",
    )


def _spelled(spelling: Callable[[Call, list[str]], str]) -> _Spelling:
    """A function of another module."""
    return lambda node: spelling(node, [_text(arg) for arg in node.args])


def _not_yet(node: Call) -> QueryError:
    return QueryError(
        f"{node.name.upper()} is not supported over Spark yet",
        position=node.position,
        hint="Use it above the aggregates, on released numbers.",
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
    "negate": _signed("(- {0})", negative),
    "abs": _signed("abs({0})", absolute),
    "sign": _sign,
    "round": rounded,
    "floor": rounded,
    "ceil": rounded,
    "trunc": rounded,
    "ln": lambda node: doubles.ln(double(node.args[0])),
    "log10": lambda node: doubles.ln(double(node.args[0]), "log10"),
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
    **{name: _spelled(spelling) for name, spelling in (TIMES | TEXTS).items()},
    "shift": lambda node: times.shift(node, expression(node.args[0])),
    "lower": lambda node: letters.cased("lower", _text(node.args[0])),
    "upper": lambda node: letters.cased("upper", _text(node.args[0])),
    "trim": _trim,
    "length": _plain("CAST(length({0}) AS BIGINT)"),
    "substring": _substring,
    "left": _left,
    "right": _right,
    "reverse": _plain("reverse({0})"),
    "replace": _plain("replace({0}, {1}, {2})"),
    "md5": _plain("md5(CAST({0} AS BINARY))"),
    "ascii": _plain("CAST(ascii({0}) AS BIGINT)"),
    "octet_length": _plain("CAST(octet_length({0}) AS BIGINT)"),
    "translate": _plain("translate({0}, {1}, {2})"),
    "strpos": _plain("CAST(instr({0}, {1}) AS BIGINT)"),
    "starts_with": _plain("startswith({0}, {1})"),
    "||": _plain("concat({0}, {1})"),
    "concat": _concat,
    "like": _like,
    "ilike": _ilike,
    "cast": casts.cast,
    "geo_cell": _geo_cell,
}
"""Every function below a release, and how it is written."""
add_spellings(ENGINE, SPELLINGS)

__all__ = ["SPELLINGS", "alike", "common", "double", "expression", "represented", "steps"]
