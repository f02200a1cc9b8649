"""Casts as PostgreSQL's SQL, which has no TRY_CAST: each is made only where it cannot fail, else NULL.

Comes in: a cast whose pair of types binding has allowed. Goes out: text. A text is read where a regular expression says
that it is written as a value of the type, and where its number is in range; a day must be one of its month.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.algebra.functions.casts import WIDTHS, decimal_size, target, whole_range
from sfumato.algebra.functions.curves import away
from sfumato.algebra.tree import BOOLEAN, DATE, DECIMAL, DOUBLE, INTEGER, NULL, NUMBERS, TEXT, TIMESTAMP, Call, Facts
from sfumato.engines.postgres import doubles, expressions
from sfumato.engines.postgres.spelling import is_small, null, once

BLANKS = "E' \\t\\n\\f\\r\\x0B'"
_SPACE = "[ \\t\\n\\f\\r]*"
WHOLE = f"'^{_SPACE}[+-]?[0-9]+{_SPACE}$'"
NUMBER = f"'^{_SPACE}[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]{{1,4}})?{_SPACE}$'"
_ISO = "'^ *[0-9]{4}-[0-9]{1,2}-[0-9]{1,2} *$'"
LONGEST = 4000
"""Bytes of a text that is read as a value of another type: with an exponent of four digits, numeric holds all of them.
Of much longer texts regular expressions and blanks fail, for they need several bytes of memory for each character.
"""
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
        TEXT: _cut(f"{x}::text", numbers),
        BOOLEAN: f"({x} <> 0)" if inner.facts.kind == INTEGER else x,
        DOUBLE: near,
        "real": _real(near),
        DATE: f"{x}::date",
        TIMESTAMP: f"{x}::timestamp",
    }
    return others.get(word, x)


def _real(x: str) -> str:
    """24 bits of a double; NULL where a real does not hold it, zero where it is too small."""
    most, least = "3.4028235677973362e38", "7.006492321624086e-46"
    return once(
        {"x": x},
        f"CASE WHEN x = 'NaN' OR abs(x) = 'Infinity' THEN x WHEN abs(x) >= {most} THEN NULL"
        f" WHEN abs(x) <= {least} THEN 0::float8 ELSE x::float4::float8 END",
    )


def _cut(sql: str, numbers: list[int]) -> str:
    collated = f'({sql} COLLATE "C")'
    return f"substring({collated}, 1, {numbers[0]})" if numbers else collated


def parsed(x: str, pattern: str = NUMBER) -> str:
    """The numeric that a text is written as, else NULL. Names its argument several times."""
    return if_short(x, f"CASE WHEN {x} ~ {pattern} THEN btrim({x}, {BLANKS})::numeric END")


def if_short(x: str, value: str) -> str:
    """A value that is made of a text, where the text is not longer than one that could be read; else NULL."""
    return f"CASE WHEN octet_length({x}) <= {LONGEST} THEN {value} END"


def from_text(x: str, word: str, numbers: list[int], facts: Facts) -> str:
    """What PostgreSQL reads as a value of the type, else NULL."""
    if word == TEXT:
        return _cut(x, numbers)
    if word == BOOLEAN:
        known = if_short("x", f'lower(btrim(x, {BLANKS}) COLLATE "C")')
        return once(
            {"x": once({"x": x}, known)}, f"CASE WHEN x IN ({_TRUE}) THEN TRUE WHEN x IN ({_FALSE}) THEN FALSE END"
        )
    if word == DATE:
        return day(x)
    if word in WIDTHS:
        low, high = whole_range(word)
        return once({"x": once({"x": x}, parsed("x", WHOLE))}, f"CASE WHEN x BETWEEN {low} AND {high} THEN x END")
    if word == DECIMAL and numbers:
        step, most = decimal_size(numbers)
        places, last = len(str(step.denominator)) - 1, int(most / step)
        steps = f"round(({once({'x': x}, parsed('x'))}) * {10**places})"
        return once({"x": steps}, f"CASE WHEN x BETWEEN {-last} AND {last} THEN x END")
    near = doubles.of_numeric(once({"x": x}, parsed("x")))
    return once({"x": near}, "CASE WHEN abs(x) < 'Infinity' THEN x END") if facts.kind == DOUBLE else near


def day(x: str) -> str:
    """A date that is written as 2024-01-31, if there is one."""
    digits = f"string_to_array(btrim({x}, ' '), '-')"
    return once(
        {"p": if_short(x, f"CASE WHEN {x} ~ {_ISO} THEN {digits}::int[] END")},
        "CASE WHEN p[1] >= 1 AND p[2] BETWEEN 1 AND 12 AND p[3] BETWEEN 1 AND CASE WHEN p[2] IN (4, 6, 9, 11) THEN 30"
        " WHEN p[2] <> 2 THEN 31 WHEN p[1] % 4 = 0 AND (p[1] % 100 <> 0 OR p[1] % 400 = 0) THEN 29 ELSE 28 END"
        " THEN make_date(p[1], p[2], p[3]) END",
    )


def _within(sql: str, ends: tuple[Fraction, Fraction], known: Facts, facts: Facts) -> str:
    """A number of steps in a type that holds these; NULL where it does not, unless the bounds exclude that."""
    grid = facts.grid or Fraction(1)
    if known.low is not None and known.high is not None and ends[0] <= known.low and known.high <= ends[1]:
        return sql
    found = once({"x": sql}, f"CASE WHEN x BETWEEN {int(ends[0] / grid)} AND {int(ends[1] / grid)} THEN x END")
    return f"({found})::bigint" if is_small(facts) else f"({found})::numeric"


def _nearest(facts: Facts, step: Fraction, grid: Fraction) -> Facts:
    """What is known of a number after it was rounded, before its type leaves anything out."""
    if facts.low is None or facts.high is None:
        return Facts(DECIMAL, grid=grid)
    return Facts(DECIMAL, away(facts.low / step) * step, away(facts.high / step) * step, grid)


def _to_whole(node: Call, word: str, x: str) -> str:
    inner = node.args[0]
    if inner.facts.kind == BOOLEAN:
        return f"{x}::int::bigint"
    low, high = whole_range(word)
    if not inner.facts.exact:
        near = once(
            {"x": doubles.whole(f"round({expressions.double(inner)})")},
            f"CASE WHEN x BETWEEN {low} AND {high} THEN x END",
        )
        return expressions.within_bounds(near, node.facts)
    known = _nearest(inner.facts, Fraction(1), Fraction(1))
    return _within(expressions.rounded(Call("round", (inner,), known)), (low, high), known, node.facts)


def _to_decimal(node: Call, numbers: list[int]) -> str:
    inner, (step, most) = node.args[0], decimal_size(numbers)
    grid = node.facts.grid or step
    known, last = _nearest(inner.facts, step, grid), most // grid * grid
    return _within(expressions.rounded(Call("round", (inner,), known)), (-last, last), known, node.facts)
