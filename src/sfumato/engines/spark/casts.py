"""Casts as Spark's SQL: TRY_CAST behind a pattern that says what is written as a value of the type, else NULL.

Comes in: a cast whose pair of types binding has allowed. Goes out: text. Spark would read more than other engines:
blank signs of all kinds, years of any length, words for infinity.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.algebra.functions.casts import WIDTHS, decimal_size, target, whole_range
from sfumato.algebra.functions.curves import away
from sfumato.algebra.tree import BOOLEAN, DATE, DECIMAL, DOUBLE, INTEGER, NULL, NUMBERS, TEXT, TIMESTAMP, Call, Facts
from sfumato.engines.spark import doubles, expressions
from sfumato.engines.spark.spelling import WIDE, is_small, null, once, text, whole

BLANKS = text(" \t\n\f\r\x0b")
_SPACE = r"[ \t\n\f\r]*"
WHOLE = text(rf"\A{_SPACE}[+-]?[0-9]+{_SPACE}\z")
NUMBER = text(rf"\A{_SPACE}[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{{1,4}})?{_SPACE}\z")
_ISO = text(r"\A *[0-9]{4}-[0-9]{1,2}-[0-9]{1,2} *\z")
LONGEST = 4000
"""Bytes of a text that is read as a value of another type."""
_TRUE = "'t', 'tr', 'tru', 'true', 'y', 'ye', 'yes', 'on', '1'"
_FALSE = "'f', 'fa', 'fal', 'fals', 'false', 'n', 'no', 'of', 'off', '0'"


def cast(node: Call) -> str:
    """A value as another type."""
    inner = node.args[0]
    word, numbers = target(node.extra)
    if inner.facts.kind == NULL:
        return null(node.facts)
    x = expressions.expression(inner)
    if inner.facts.kind == TEXT:
        return from_text(x, word, numbers, node.facts)
    if word in WIDTHS:
        return _to_whole(node, word, x)
    if word == DECIMAL and numbers:
        return _to_decimal(node, numbers)
    near = expressions.double(inner) if inner.facts.kind in NUMBERS else x
    others = {
        TEXT: _cut(f"CAST({x} AS STRING)", numbers),
        BOOLEAN: f"({x} <> 0)" if inner.facts.kind == INTEGER else x,
        DOUBLE: near,
        "real": _real(near),
        DATE: f"CAST({x} AS DATE)",
        TIMESTAMP: f"CAST({x} AS TIMESTAMP)",
    }
    return others.get(word, x)


def _real(x: str) -> str:
    """24 bits of a double; NULL where a real does not hold it."""
    held = once({"r": "CAST(CAST(x AS FLOAT) AS DOUBLE)"}, f"CASE WHEN abs(r) < {doubles.INFINITE} THEN r END")
    return once({"x": x}, f"CASE WHEN abs(x) < {doubles.INFINITE} THEN {held} ELSE x END")


def _cut(sql: str, numbers: list[int]) -> str:
    return f"substring({sql}, 1, {numbers[0]})" if numbers else sql


def if_short(x: str, value: str) -> str:
    """A value that is made of a text, where the text is not longer than one that could be read; else NULL."""
    return f"CASE WHEN octet_length({x}) <= {LONGEST} THEN {value} END"


def parsed(x: str, kind: str, pattern: str = NUMBER) -> str:
    """The number of a type that a text is written as, else NULL. Names its argument several times."""
    return if_short(x, f"CASE WHEN {x} RLIKE {pattern} THEN TRY_CAST(btrim({x}, {BLANKS}) AS {kind}) END")


def steps_of(x: str, places: int) -> str:
    """A text as a whole number of steps of so many digits after the point, halves away from zero; else NULL."""
    exact = once({"x": x}, parsed("x", f"DECIMAL(38, {places})"))
    return without_point(exact, places)


def without_point(sql: str, places: int) -> str:
    """A decimal of so many digits after the point as a whole number of its last ones."""
    return f"CAST(replace(CAST({sql} AS STRING), '.', '') AS {WIDE})" if places else f"CAST({sql} AS {WIDE})"


def from_text(x: str, word: str, numbers: list[int], facts: Facts) -> str:
    """What PostgreSQL reads as a value of the type, else NULL."""
    if word == TEXT:
        return _cut(x, numbers)
    if word == BOOLEAN:
        known = if_short("x", f"lower(btrim(x, {BLANKS}))")
        return once(
            {"x": once({"x": x}, known)}, f"CASE WHEN x IN ({_TRUE}) THEN TRUE WHEN x IN ({_FALSE}) THEN FALSE END"
        )
    if word == DATE:
        return day(x)
    if word in WIDTHS:
        low, high = (whole(int(end), wide=True) for end in whole_range(word))
        found = once(
            {"x": once({"x": x}, parsed("x", WIDE, WHOLE))}, f"CASE WHEN x BETWEEN {low} AND {high} THEN x END"
        )
        return expressions.narrowed(found, facts)
    if word == DECIMAL and numbers:
        step, most = decimal_size(numbers)
        places, last = len(str(step.denominator)) - 1, int(most / step)
        ends = whole(-last, wide=True), whole(last, wide=True)
        found = once({"x": steps_of(x, places)}, f"CASE WHEN x BETWEEN {ends[0]} AND {ends[1]} THEN x END")
        return expressions.narrowed(found, facts)
    near = once({"x": x}, parsed("x", "DOUBLE"))
    return once({"x": near}, f"CASE WHEN abs(x) < {doubles.INFINITE} THEN x END")


def day(x: str) -> str:
    """A date that is written as 2024-01-31, if there is one."""
    found = once({"d": "TRY_CAST(btrim(x, ' ') AS DATE)"}, "CASE WHEN d >= DATE'0001-01-01' THEN d END")
    return once({"x": x}, if_short("x", f"CASE WHEN x RLIKE {_ISO} THEN {found} END"))


def _within(sql: str, ends: tuple[Fraction, Fraction], known: Facts, facts: Facts) -> str:
    """A number of steps in a type that holds these; NULL where it does not, unless the bounds exclude that."""
    grid = facts.grid or Fraction(1)
    if known.low is not None and known.high is not None and ends[0] <= known.low and known.high <= ends[1]:
        return sql if is_small(known) == is_small(facts) else expressions.widened(sql, facts)
    low, high = (whole(int(end / grid), wide=True) for end in ends)
    found = once({"x": sql}, f"CASE WHEN x BETWEEN {low} AND {high} THEN x END")
    return expressions.narrowed(found, facts) if is_small(facts) else f"CAST({found} AS {WIDE})"


def _nearest(facts: Facts, step: Fraction, grid: Fraction) -> Facts:
    """What is known of a number after it was rounded, before its type leaves anything out."""
    if facts.low is None or facts.high is None:
        return Facts(DECIMAL, grid=grid)
    return Facts(DECIMAL, away(facts.low / step) * step, away(facts.high / step) * step, grid)


def _to_whole(node: Call, word: str, x: str) -> str:
    inner = node.args[0]
    if inner.facts.kind == BOOLEAN:
        return f"CAST({x} AS BIGINT)"
    low, high = (int(end) for end in whole_range(word))
    if not inner.facts.exact:
        ends = whole(low, wide=True), whole(high, wide=True)
        near = once(
            {"x": doubles.whole_of(f"rint({expressions.double(inner)})")},
            f"CASE WHEN x BETWEEN {ends[0]} AND {ends[1]} THEN x END",
        )
        return expressions.within_bounds(near, node.facts)
    known = _nearest(inner.facts, Fraction(1), Fraction(1))
    return _within(
        expressions.rounded(Call("round", (inner,), known)), (Fraction(low), Fraction(high)), known, node.facts
    )


def _to_decimal(node: Call, numbers: list[int]) -> str:
    inner, (step, most) = node.args[0], decimal_size(numbers)
    grid = node.facts.grid or step
    known, last = _nearest(inner.facts, step, grid), most // grid * grid
    return _within(expressions.rounded(Call("round", (inner,), known)), (-last, last), known, node.facts)
