"""Expressions as DuckDB's SQL: total functions only, exact numbers as whole steps, everything quoted.

Comes in: nodes of our tree. Goes out: text for DuckDB. Names and values come from the policy and from the tree, never
from the analyst's text; every partial operation is guarded by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from fractions import Fraction
from math import ceil

from sfumato.algebra import geo_cells
from sfumato.algebra.functions import FUNCTIONS, add_spellings, common_grid
from sfumato.algebra.functions.bits import held_in_64_bits
from sfumato.algebra.functions.casts import WIDTHS, decimal_size, target, whole_range
from sfumato.algebra.functions.curves import away, written
from sfumato.algebra.functions.interval_ends import ENDS, misplaced
from sfumato.algebra.functions.times import MICRO
from sfumato.algebra.interval_values import Span, stored
from sfumato.algebra.tree import (
    BOOLEAN,
    DATE,
    DECIMAL,
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
    Over,
)
from sfumato.engines.base import bounded_sql, too_deep
from sfumato.engines.duckdb.text_spelling import TEXT_SPELLINGS, upper
from sfumato.engines.duckdb.time_spelling import TIME_SPELLINGS, difference
from sfumato.errors import QueryError
from sfumato.interrupts import step
from sfumato.types import identifier, string

ENGINE = "duckdb"
_SMALL = 1 << 62
_LONGEST = 40_000
_Spelling = Callable[[Call], str]


def is_small(facts: Facts) -> bool:
    """Whether an exact number, in steps, surely fits into 62 bits."""
    return facts.bounded and facts.grid is not None and facts.largest / facts.grid < _SMALL


def _size(facts: Facts) -> Fraction:
    """How large an exact number can be: its bounds, or what 63 bits hold."""
    return facts.largest if facts.bounded else Fraction(1 << 63) * (facts.grid or 1)


def _too_many_digits(node: Node) -> QueryError:
    return QueryError(
        "these numbers have too many digits",
        position=node.position,
        hint="Write numbers with fewer digits after the point, or declare narrower bounds.",
    )


def _short(sql: str) -> str:
    """Text that is about to be written several times: nested too deeply it would grow without end."""
    if len(sql) > _LONGEST:
        raise too_deep()
    return sql


def literal(value: object, facts: Facts) -> str:  # noqa: PLR0911  one line for each kind of value
    """A constant, an exact number in steps of its grid."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | Fraction):
        number = int(value if facts.grid == 1 else Fraction(value) / (facts.grid or 1))
        return f"({number}::{'BIGINT' if abs(number) < _SMALL else 'HUGEINT'})"
    if isinstance(value, Span):
        return f"({value.compared}::BIGINT)"
    if isinstance(value, datetime):
        return f"TIMESTAMP {string(value.isoformat(sep=' '))}"
    if isinstance(value, date):
        return f"DATE {string(value.isoformat())}"
    return string(str(value))


def is_fixed(node: Node) -> bool:
    """Whether a value is the same in every row, so that it orders nothing."""
    fixed = isinstance(node, Constant) or node.facts.kind == NULL
    return fixed or (isinstance(node, Call) and all(map(is_fixed, node.args)))


def expression(node: Node) -> str:
    """The SQL of a node; an exact number in steps of its own grid."""
    if isinstance(node, Column):
        return identifier(node.name)
    if isinstance(node, Constant):
        return literal(node.value, node.facts)
    if isinstance(node, Call):
        step()
        spelling = INTERNAL.get(node.name) or FUNCTIONS[node.name].spellings.get(ENGINE)
        if spelling is None:
            raise _not_yet(node)
        return bounded_sql(spelling(node))
    raise AssertionError(f"{type(node).__name__} is emitted by its relation")


def steps(node: Node, grid: Fraction, wide: bool = False) -> str:
    """An exact number in steps of a finer grid."""
    inner = expression(node)
    if node.facts.kind == NULL:
        return "NULL"
    if wide:
        inner = f"CAST({inner} AS HUGEINT)"
    if node.facts.grid == grid:
        return inner
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
    exact = [node for node in nodes if node.facts.kind != NULL]
    grid = common_grid(*dict.fromkeys(node.facts.grid for node in exact)) or Fraction(1)
    most, small = grid * (1 << 120), grid * _SMALL
    for node in exact:
        if node.facts.exact and _size(node.facts) > most:
            raise _too_many_digits(node)
    wide = not all(node.facts.bounded and node.facts.largest < small for node in exact)
    return grid, wide


def _guarded(sql: str, sure: bool) -> str:
    """TRY gives NULL where an unbounded number outgrows the engine."""
    return sql if sure else f"TRY({sql})"


def _arithmetic(node: Call) -> str:
    a, b = node.args
    if node.facts.kind == DATE:
        return f"({expression(a)} {node.name} CAST({expression(b)} AS INTEGER))"
    if node.facts.kind == INTERVAL:
        return difference(node, [_short(expression(a)), _short(expression(b))])
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


def _remainder(operator: str) -> _Spelling:
    """The rest, and the quotient toward zero, of whole numbers of steps of one grid."""

    def emit(node: Call) -> str:
        a, b = node.args
        if a.facts.kind == b.facts.kind == INTEGER:
            x, y = expression(a), expression(b)
        else:
            grid, wide = _common((a, b))
            x, y = steps(a, grid, wide), steps(b, grid, wide)
        return _guarded(f"({x} {operator} NULLIF({y}, 0))", a.facts.bounded)

    return emit


def _of_bits(template: str) -> _Spelling:
    """Of numbers that 64 bits hold; others are NULL."""

    def emit(node: Call) -> str:
        sql = template.format(*(f"CAST({expression(held_in_64_bits(arg))} AS BIGINT)" for arg in node.args))
        return sql if is_small(node.facts) else f"CAST({sql} AS HUGEINT)"

    return emit


def _comparison(node: Call) -> str:
    a, b = node.args
    left, right = alike((a, b))
    return f"({left} {node.name.upper()} {right})"


def _among(node: Call) -> str:
    listed = _listed_steps(node)
    if listed is not None:
        return listed
    operand, *values = alike(node.args)
    return f"({operand} IN ({', '.join(_bare(value) for value in values)}))"


def _listed_steps(node: Call) -> str | None:
    """The same where exact numbers are listed that surely fit into 62 bits, each written in steps at once.

    In long lists the engine would spend its time on multiplying what is known here.
    """
    operand, *values = node.args
    listed: list[int | Fraction] = []
    for value in values:
        number = value.value if isinstance(value, Constant) and value.facts.exact else None
        if isinstance(number, int | Fraction) and not isinstance(number, bool):
            listed.append(number)
    if not (operand.facts.exact and operand.facts.bounded) or len(listed) < len(values):
        return None
    grid = common_grid(*dict.fromkeys(arg.facts.grid for arg in node.args)) or Fraction(1)
    per_unit = 1 / grid
    largest = max(operand.facts.largest, -Fraction(min(listed)), Fraction(max(listed)))
    if per_unit.denominator != 1 or largest >= grid * _SMALL:
        return None
    each = per_unit.numerator
    return f"({steps(operand, grid)} IN ({', '.join(str(int(number * each)) for number in listed)}))"


def _bare(value: str) -> str:
    """A written whole number without its cast, where it stands beside an operand that has a type: it is read faster."""
    number = value[1:].removesuffix("::BIGINT)")
    return number if number.removeprefix("-").isdecimal() else value


def _clamp(node: Call) -> str:
    """The first between the two others; NULL stays NULL."""
    number, low, high = alike(node.args)
    return f"CASE WHEN {number} < {low} THEN {low} WHEN {number} > {high} THEN {high} ELSE {number} END"


def alike(nodes: tuple[Node, ...]) -> list[str]:
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


def represented(node: Node, facts: Facts) -> str:
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
    branches = " ".join(f"WHEN {expression(test)} THEN {represented(value, node.facts)}" for test, value in pairs)
    return f"CASE {branches} ELSE {represented(node.args[-1], node.facts)} END"


def _many(function: str) -> _Spelling:
    def emit(node: Call) -> str:
        return f"{function}({', '.join(represented(arg, node.facts) for arg in node.args)})"

    return emit


def _nullif(node: Call) -> str:
    a, b = alike(node.args)
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
    elif node.name == "trunc":
        sql = f"({x} // {n})"
    else:
        sql = f"(SIGN({x}) * ((2 * ABS({x}) + {n}) // {2 * n}))"
    return _guarded(sql, inner.facts.bounded)


def _settled(node: Call) -> str:
    """Fine steps onto the grid of a column: nearest, halves upward; the offset makes a quotient toward zero a floor."""
    inner, grid = node.args[0], node.facts.grid or Fraction(1)
    own = inner.facts.grid or Fraction(1)
    n, d = 2 * (grid / own).numerator, 2 * (grid / own).denominator
    most = (1 << 120) // n
    return f"TRY(({steps(inner, own, wide=True)} * {d} + {n // 2 + most * n}) // {n} - {most})"


def _within_bounds(number: str, facts: Facts) -> str:
    """A number that came of doubles, which may stray by a hair, held to the bounds that exact arithmetic gives."""
    if facts.low is None or facts.high is None or facts.grid is None:
        return number
    most = (1 << 127) - 1  # beyond it the engine has no whole number, and the double has become NULL
    low, high = max(int(facts.low / facts.grid), -most), min(int(facts.high / facts.grid), most)
    _short(number)
    return f"CASE WHEN {number} IS NULL THEN NULL ELSE LEAST(GREATEST({number}, {low}), {high}) END"


def _ln(node: Node) -> str:
    """What has a logarithm, else NULL."""
    return f"NULLIF(GREATEST({double(node)}, 0), 0)"


def _log(node: Call) -> str:
    base = written(node.args[:1])
    if base in ([2], [10]):
        return f"LOG{base[0]}({_ln(node.args[1])})"
    return f"(LN({_ln(node.args[1])}) / NULLIF(LN({_ln(node.args[0])}), 0))"


def _sqrt(node: Call) -> str:
    x = _short(double(node.args[0]))
    return f"SQRT(CASE WHEN {x} >= 0 THEN {x} END)"


def _power(node: Call) -> str:
    """Multiplied out where it is exact; a double that is not finite becomes NULL."""
    if node.facts.exact:
        x = _short(steps(node.args[0], node.args[0].facts.grid or Fraction(1), wide=not is_small(node.facts)))
        return f"({' * '.join([x] * int(written(node.args[1:])[0]))})"
    power = _short(f"POWER({double(node.args[0])}, {double(node.args[1])})")
    return f"CASE WHEN ISFINITE({power}) THEN {power} END"


def _width_bucket(node: Call) -> str:
    """Exact numbers in whole steps of one grid, others as doubles; from a high end downward where it comes first."""
    x, (low, high, count) = node.args[0], written(node.args[1:])
    sign = ""
    if low > high:
        sign, low, high = "-", -low, -high
    if x.facts.exact:
        grid, _ = _common(node.args[:3])
        a, b = str(int(low / grid)), str(int(high / grid))
        if (_size(x.facts) + abs(low) + abs(high)) / grid * count > 1 << 120:
            raise _too_many_digits(node)
        value = _short(_guarded(f"({sign}{steps(x, grid, wide=True)})", x.facts.bounded))
        inner = _guarded(f"((({value} - {a}) * {count}) // ({b} - {a}) + 1)", x.facts.bounded)
        unknown = f"{value} IS NULL"
    else:
        a, b = repr(float(low)), repr(float(high))
        value = _short(f"({sign}{double(x)})")
        inner = f"LEAST(FLOOR(({value} - {a}) / ({b} - {a}) * {count}) + 1, {count})"
        unknown = f"{value} IS NULL OR ISNAN({value})"
    outside = f"WHEN {unknown} THEN NULL WHEN {value} < {a} THEN 0 WHEN {value} >= {b} THEN {count} + 1"
    return f"CAST(CASE {outside} ELSE {inner} END AS BIGINT)"


def _cast(node: Call) -> str:
    inner = node.args[0]
    word, numbers = target(node.extra)
    if inner.facts.kind == NULL:
        return "NULL"
    if inner.facts.kind == TEXT:
        return _from_text(_short(expression(inner)), word, numbers)
    if word in WIDTHS:
        return _to_whole(node, word)
    if word == DECIMAL and numbers:
        return _to_decimal(node, numbers)
    if word == TEXT:
        return _cut(f"CAST({expression(inner)} AS VARCHAR)", numbers)
    others = {
        **dict.fromkeys((DECIMAL, inner.facts.kind), "{0}"),
        DOUBLE: "{1}",
        "real": "CAST(TRY_CAST({1} AS FLOAT) AS DOUBLE)",
        INTEGER: "({0} <> 0)",
    }
    word = INTEGER if (inner.facts.kind, word) == (INTEGER, BOOLEAN) else word
    number = double(inner) if inner.facts.kind in NUMBERS else ""
    return others.get(word, f"CAST({{0}} AS {word.upper()})").format(expression(inner), number)


def _from_text(x: str, word: str, numbers: list[int]) -> str:
    """What PostgreSQL reads as a value of the type, else NULL; a decimal without its point is its number of steps."""
    if word == TEXT:
        return _cut(x, numbers)
    if word == BOOLEAN:
        known = _short(f"TRIM(LOWER({x}), {_BLANKS})")
        return f"CASE WHEN {known} IN ({_TRUE}) THEN TRUE WHEN {known} IN ({_FALSE}) THEN FALSE END"
    if word == DATE:
        day = f"TRY_CAST(TRIM({x}, ' ') AS DATE)"
        return f"CASE WHEN REGEXP_FULL_MATCH({x}, {_ISO}) AND {day} >= DATE '0001-01-01' THEN {day} END"
    if word in WIDTHS:
        return f"CAST(CASE WHEN REGEXP_FULL_MATCH({x}, {_WHOLE}) THEN TRY_CAST({x} AS {_KIND[word]}) END AS BIGINT)"
    if word == DECIMAL and numbers:
        step, most = decimal_size(numbers)
        places = len(str(step.denominator)) - 1
        number = f"REPLACE(CAST(TRY_CAST({x} AS DECIMAL(38, {places})) AS VARCHAR), '.', '')"
        whole = f"CASE WHEN REGEXP_FULL_MATCH({x}, {_NUMBER}) THEN TRY_CAST({number} AS HUGEINT) END"
        return _within(whole, (-most, most), None, step)
    number = f"TRY_CAST({x} AS DOUBLE)"
    return f"CASE WHEN REGEXP_FULL_MATCH({x}, {_NUMBER}) AND ISFINITE({number}) THEN {number} END"


def _cut(text: str, numbers: list[int]) -> str:
    return f"SUBSTRING({text}, 1, {numbers[0]})" if numbers else text


_KIND = {INTEGER: "BIGINT", "int4": "INTEGER", "int2": "SMALLINT"}
_BLANKS = "chr(9) || chr(10) || chr(11) || chr(12) || chr(13) || ' '"
_WHOLE = r"'\s*[+-]?[0-9]+\s*'"
_NUMBER = r"'\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?\s*'"
_ISO = "' *[0-9]{4}-[0-9]{1,2}-[0-9]{1,2} *'"
_TRUE = "'t', 'tr', 'tru', 'true', 'y', 'ye', 'yes', 'on', '1'"
_FALSE = "'f', 'fa', 'fal', 'fals', 'false', 'n', 'no', 'of', 'off', '0'"
"""The texts that PostgreSQL reads as a value; the engine would read more of them (1e3, 0x1F and 1_000 as whole)."""


def _within(number: str, ends: tuple[Fraction, Fraction], known: Facts | None, grid: Fraction) -> str:
    """A number of steps in a type that holds these; NULL where it does not, unless the bounds exclude that."""
    low, high = (None, None) if known is None else (known.low, known.high)
    if low is not None and high is not None and ends[0] <= low and high <= ends[1]:
        return number
    _short(number)
    return f"CASE WHEN {number} BETWEEN {int(ends[0] / grid)} AND {int(ends[1] / grid)} THEN {number} END"


def _nearest(facts: Facts, step: Fraction, grid: Fraction) -> Facts:
    """What is known of a number after it was rounded, before its type leaves anything out."""
    if facts.low is None or facts.high is None:
        return Facts(DECIMAL, grid=grid)
    return Facts(DECIMAL, away(facts.low / step) * step, away(facts.high / step) * step, grid)


def _to_whole(node: Call, word: str) -> str:
    inner = node.args[0]
    if inner.facts.kind == BOOLEAN:
        return f"CAST({expression(inner)} AS BIGINT)"
    if not inner.facts.exact:
        whole = f"CAST(TRY_CAST(ROUND_EVEN({double(inner)}, 0) AS {_KIND[word]}) AS BIGINT)"
        return _within_bounds(whole, node.facts)
    known = _nearest(inner.facts, Fraction(1), Fraction(1))
    return _within(_rounded(Call("round", (inner,), known)), whole_range(word), known, Fraction(1))


def _to_decimal(node: Call, numbers: list[int]) -> str:
    inner, (step, most) = node.args[0], decimal_size(numbers)
    grid = node.facts.grid or step
    known, last = _nearest(inner.facts, step, grid), most // grid * grid
    return _within(_rounded(Call("round", (inner,), known)), (-last, last), known, grid)


def _shift(node: Call) -> str:
    """Months, then days, then the clock; beyond the years 1 to 9999 NULL, where that may be."""
    inner, span = node.args[0], stored(node.extra)
    parts = [f"to_{word}({n})" for word, n in vars(span).items() if n] or ["to_days(0)"]
    moved = f"({' + '.join([f'CAST({expression(inner)} AS TIMESTAMP)', *parts])})"
    if node.facts.nullable:
        last = "TIMESTAMP '9999-12-31 23:59:59.999999'"
        moved = f"CASE WHEN {_short(moved)} BETWEEN TIMESTAMP '0001-01-01' AND {last} THEN {moved} END"
    return moved


def _trim(node: Call) -> str:
    """PostgreSQL's TRIM takes blanks; the engine's takes every kind of space unless it is told."""
    function = {"leading": "LTRIM", "trailing": "RTRIM"}.get(node.extra, "TRIM")
    characters = expression(node.args[1]) if len(node.args) > 1 else "' '"
    return f"{function}({expression(node.args[0])}, {characters})"


def _concat(node: Call) -> str:
    known = [f"COALESCE({expression(arg)}, '')" for arg in node.args]
    return f"({' || '.join(known)})"


def _geo_cell(node: Call) -> str:
    """The centre of a point's cell, as text: whole numbers throughout; NULL where a coordinate is."""
    grid = geo_cells.read(node.extra)
    (lat, lon), (south, west) = node.args, grid.first
    row = _cell_place(lat, grid.south, grid.height * grid.unit, grid.rows)
    column = _cell_place(lon, grid.west, grid.width * grid.unit, grid.columns)
    north = _degrees(_short(f"({row} * {grid.height} + {south})"), grid.digits)
    east = _degrees(_short(f"({column} * {grid.width} + {west})"), grid.digits)
    axes = (lat, grid.south), (lon, grid.west)
    unknown = " OR ".join(f"{steps(arg, _axis_grid(arg, low), True)} IS NULL" for arg, low in axes)
    return f"CASE WHEN {unknown} THEN NULL ELSE {north} || ',' || {east} END"


def _axis_grid(arg: Node, low: Fraction) -> Fraction:
    """The grid on which a coordinate and the end of its axis both lie."""
    return common_grid(arg.facts.grid, abs(low)) or Fraction(1)


def _cell_place(arg: Node, low: Fraction, size: Fraction, count: int) -> str:
    """In which of `count` cells of one axis a coordinate lies, from 0; beyond the ends, in the first or the last.

    It is held to the ends before anything is computed with it, so that no number is too large.
    """
    own = _axis_grid(arg, low)
    ratio, start = own / size, int(low / own)
    end = start + ceil(count / ratio)
    most = max(abs(start), abs(end), (end - start) * ratio.numerator)
    if most > 1 << 120:
        raise _too_many_digits(arg)
    wide = most >= _SMALL or _size(arg.facts) / own >= _SMALL
    inner, first = steps(arg, own, wide), literal(start, Facts(INTEGER))
    above = f"(LEAST(GREATEST({inner}, {first}), {literal(end, Facts(INTEGER))}) - {first}) * {ratio.numerator}"
    return f"CAST(LEAST(GREATEST(({above}) // {ratio.denominator}, 0), {count - 1}) AS BIGINT)"


def _degrees(units: str, digits: int) -> str:
    sign = f"CASE WHEN {units} < 0 THEN '-' ELSE '' END"
    whole, rest = (f"CAST(ABS({units}) {word} {10**digits} AS VARCHAR)" for word in ("//", "%"))
    return f"{sign} || {whole} || '.' || LPAD({rest}, {digits}, '0')"


def _spelled(spelling: Callable[[Call, list[str]], str]) -> _Spelling:
    """A function of another module: its arguments may be written several times."""
    return lambda node: spelling(node, [_short(expression(arg)) for arg in node.args])


def over(node: Over) -> str:
    """A window above the cut."""
    args = ", ".join(expression(arg) for arg in node.args)
    if node.name == "count" and not node.args:
        args = "*"
    if node.name in ("avg", "stddev_samp", "stddev_pop", "var_samp", "var_pop") or (
        node.args and node.args[0].facts.kind == DOUBLE
    ):
        value, *rest = node.args  # how many rows away, and what stands where there is none
        args = ", ".join([double(value), *(expression(arg) for arg in rest[:1]), *(double(arg) for arg in rest[1:])])
    parts = []
    if node.partition:
        parts.append("PARTITION BY " + ", ".join(expression(p) for p in node.partition))
    if node.order:
        parts.append("ORDER BY " + ", ".join(sort_key(s.node, s.descending, s.nulls_first) for s in node.order))
    if node.frame:
        parts.append(node.frame)
    call = f"{node.name}({args}) OVER ({' '.join(parts)})"
    return f"CAST({call} AS HUGEINT)" if node.facts.exact else call


def sort_key(node: Node, descending: bool, nulls_first: bool) -> str:
    """An item of ORDER BY, NULLs where PostgreSQL puts them."""
    return f"{expression(node)} {'DESC' if descending else 'ASC'} NULLS {'FIRST' if nulls_first else 'LAST'}"


def _misplaced(node: Call) -> str:
    raise misplaced(node)


def _plain(template: str) -> _Spelling:
    return lambda node: template.format(*(expression(arg) for arg in node.args))


def _not_yet(node: Call) -> QueryError:
    return QueryError(f"{node.name.upper()} is not supported over DuckDB", position=node.position)


INTERNAL: dict[str, _Spelling] = {
    "settle": _settled,
    "clamp": _clamp,
    "row": lambda node: f"ROW({', '.join(expression(arg) for arg in node.args)})",
}
"""Operators that no query writes."""
SPELLINGS: dict[str, _Spelling] = {
    "+": _arithmetic,
    "-": _arithmetic,
    "*": _arithmetic,
    "/": _divide,
    "interval_of": lambda node: steps(node.args[0], MICRO, not is_small(node.facts)),
    "%": _remainder("%"),
    "div": _remainder("//"),
    "&": _of_bits("({} & {})"),
    "|": _of_bits("({} | {})"),
    "#": _of_bits("XOR({}, {})"),
    "negate": lambda node: _guarded(f"(-{expression(node.args[0])})", node.facts.bounded),
    "abs": lambda node: _guarded(f"ABS({expression(node.args[0])})", node.facts.bounded),
    "sign": _plain("CAST(SIGN({0}) AS BIGINT)"),
    "round": _rounded,
    "floor": _rounded,
    "ceil": _rounded,
    "trunc": _rounded,
    "ln": lambda node: f"LN({_ln(node.args[0])})",
    "log10": lambda node: f"LOG10({_ln(node.args[0])})",
    "log": _log,
    "exp": lambda node: f"NULLIF(EXP({double(node.args[0])}), CAST('inf' AS DOUBLE))",
    "sqrt": _sqrt,
    "cbrt": lambda node: f"CBRT({double(node.args[0])})",
    "power": _power,
    "width_bucket": _width_bucket,
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">="), _comparison),
    "in": _among,
    "and": _plain("({0} AND {1})"),
    "or": _plain("({0} OR {1})"),
    "not": _plain("(NOT {0})"),
    "is null": _plain("({0} IS NULL)"),
    "is distinct from": _comparison,
    "case": _case,
    "coalesce": _many("COALESCE"),
    "nullif": _nullif,
    "greatest": _many("GREATEST"),
    "least": _many("LEAST"),
    **{name: _spelled(spelling) for name, spelling in (TIME_SPELLINGS | TEXT_SPELLINGS).items()},
    "shift": _shift,
    "lower": _plain("LOWER({0})"),
    "upper": lambda node: upper(_short(expression(node.args[0])), node.args[0].facts.values),
    "trim": _trim,
    "length": _plain("CAST(LENGTH({0}) AS BIGINT)"),
    "substring": lambda node: f"SUBSTRING({', '.join(expression(arg) for arg in node.args)})",
    "left": _plain("LEFT({0}, {1})"),
    "right": _plain("RIGHT({0}, {1})"),
    "reverse": _plain("ARRAY_TO_STRING(LIST_REVERSE(STRING_SPLIT({0}, '')), '')"),
    "replace": _plain("REPLACE({0}, {1}, {2})"),
    "strpos": _plain("CAST(STRPOS({0}, {1}) AS BIGINT)"),
    "starts_with": _plain("STARTS_WITH({0}, {1})"),
    "md5": _plain("MD5({0})"),
    "ascii": _plain("CAST(ASCII({0}) AS BIGINT)"),
    "octet_length": _plain("CAST(STRLEN({0}) AS BIGINT)"),
    "translate": _plain("TRANSLATE({0}, {1}, {2})"),
    "||": _plain("({0} || {1})"),
    "concat": _concat,
    "like": _plain("({0} LIKE {1} ESCAPE '\\')"),
    "ilike": _plain("(LOWER({0}) LIKE LOWER({1}) ESCAPE '\\')"),
    "regexp_like": _plain("REGEXP_MATCHES({0}, {1}, 's')"),
    "cast": _cast,
    **dict.fromkeys(ENDS, _misplaced),
    "geo_cell": _geo_cell,
}
"""Every function below a release, and how it is written."""
add_spellings(ENGINE, SPELLINGS)
