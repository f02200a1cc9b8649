"""Names, types and constants as Spark's SQL reads them, and a value that is used several times but computed once.

Comes in: names and values of our tree. Goes out: text. Every constant has a type. A text is written in letters and
digits, every other character by its number: no backslash, no quote and no `${…}` of it is ever read by Spark.
"""

from __future__ import annotations

import hashlib
import re
from datetime import date, datetime
from fractions import Fraction

from sfumato.algebra.interval_values import Span
from sfumato.algebra.tree import BOOLEAN, DATE, DOUBLE, INTERVAL, NULL, TEXT, TIMESTAMP, Facts, Node
from sfumato.engines.base import too_deep
from sfumato.errors import QueryError

SMALL = 1 << 62
"""Exact numbers of fewer steps are BIGINT: no sum of two of them leaves 64 bits. All others are DECIMAL(38, 0)."""
WIDE = "DECIMAL(38, 0)"
MOST = 10**38 - 1
"""The largest number of 38 digits: what has no bounds is NULL beyond it."""
ROOMY = 10**37
"""Bounded numbers of more steps than this are refused: a sum or a product by two of them would not be held."""
_PLAIN = re.compile(r"[A-Za-z0-9 _.,:;/@#%&<>=~+*?(){}|^!\[\]-]")
_SAFE_NAME = re.compile(r"[A-Za-z0-9_.# -]+")
_BARE = re.compile(r"\(?(?:\w+\.)?(?:`[^`]+`|[a-z][a-z0-9]*)\)?|-?[0-9]+L?")
"""A column, a name of a value, or a number: read in no time."""
_CHEAP = 64
"""Characters of a value that is rather written again than bound to a name, unless it is bound itself."""
_LONGEST_TEXT = 200_000
"""Characters of one expression: it may be written several times into a larger one."""


def identifier(name: str) -> str:
    """A quoted name; one with signs that Spark might read in another way is hashed."""
    if not _SAFE_NAME.fullmatch(name):
        name = "#" + hashlib.sha256(name.encode()).hexdigest()[:40]
    return f"`{name}`"


def quoted(name: str) -> str:
    """The name of a column of the source, to the letter; `$` is written so that no variable is put in."""
    return "`" + name.replace("`", "``") + "`"


def is_small(facts: Facts) -> bool:
    """Whether an exact number, in steps, surely fits into 62 bits."""
    return facts.bounded and facts.grid is not None and facts.largest / facts.grid < SMALL


def type_of(facts: Facts) -> str:
    """The type in which a value is held; an exact number as whole steps of its grid."""
    if facts.exact:
        return "BIGINT" if is_small(facts) else WIDE
    kinds = {
        INTERVAL: "BIGINT",
        DOUBLE: "DOUBLE",
        DATE: "DATE",
        TIMESTAMP: "TIMESTAMP",
        BOOLEAN: "BOOLEAN",
        TEXT: "STRING",
        NULL: "STRING",
    }
    return kinds.get(facts.kind, "DOUBLE")


def null(facts: Facts) -> str:
    """A missing value of a type."""
    return f"CAST(NULL AS {type_of(facts)})"


def whole(number: int, wide: bool = False) -> str:
    """A whole number: BIGINT, or of 38 digits where it is `wide` or large."""
    if wide or abs(number) >= SMALL:
        if abs(number) > MOST:
            raise too_many_digits()
        return f"CAST({number}BD AS {WIDE})"
    return f"{number}L" if number >= 0 else f"({number}L)"


def text(value: str) -> str:
    """A constant text. Half a character is none."""
    if any(0xD800 <= ord(c) <= 0xDFFF for c in value):
        raise QueryError("this text holds a character that Spark does not keep", sqlstate="22021")
    return (
        "'"
        + "".join(c if _PLAIN.match(c) or (c.isalnum() and ord(c) > 127) else _numbered(ord(c)) for c in value)
        + "'"
    )


def _numbered(code: int) -> str:
    return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


def literal(value: object, facts: Facts) -> str:  # noqa: PLR0911  one answer for each kind of value
    """A constant, an exact number in steps of its grid."""
    if value is None:
        return null(facts)
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | Fraction):
        return whole(int(Fraction(value) / (facts.grid or 1)), wide=facts.exact and not is_small(facts))
    if isinstance(value, Span):
        return whole(value.compared)
    if isinstance(value, datetime):
        return f"TIMESTAMP'{value.year:04}-{value:%m-%d %H:%M:%S.%f}'"
    if isinstance(value, date):
        return f"DATE'{value.isoformat()}'"
    return text(str(value))


def number(value: float) -> str:
    """A double, exactly."""
    return f"CAST('{value!r}' AS DOUBLE)".replace("'inf'", "'Infinity'").replace("'-inf'", "'-Infinity'")


def once(values: dict[str, str], result: str) -> str:
    """A result that names each of some values several times: they are computed once, and not written again.

    Values have names of one letter here; in the SQL they are the variable of a function over an array of one element,
    named by the text itself, so that no inner one hides an outer one. A bare column stands where it is named, as does a
    short expression, which Spark computes once by itself.
    """
    held = {
        name: "v" + hashlib.sha256(f"{name} {value} {result}".encode()).hexdigest()[:10]
        for name, value in values.items()
    }
    result = _put(result, held)
    bare = {held[name]: value for name, value in values.items() if _is_cheap(value)}
    result = _put(result, bare) if bare else result
    for name, value in values.items():
        if held[name] not in bare:
            result = f"transform(array({value}), {held[name]} -> {result})[0]"
    return short(f"({result})")


def _is_cheap(value: str) -> bool:
    return bool(_BARE.fullmatch(value)) or (len(value) <= _CHEAP and "transform(" not in value)


def _put(result: str, values: dict[str, str]) -> str:
    """The text with values for their names, outside of quotes."""
    pieces = re.split(r"('[^']*'|`[^`]*`)", result)
    names = re.compile(r"(?<![\w.`])(" + "|".join(values) + r")(?![\w`(.])")
    return "".join(p if i % 2 else names.sub(lambda found: values[found[1]], p) for i, p in enumerate(pieces))


def short(sql: str, node: Node | None = None) -> str:
    """Text that is not too long to go on with."""
    if len(sql) > _LONGEST_TEXT:
        raise too_deep(0 if node is None else node.position)
    return sql


def too_many_digits(node: Node | None = None) -> QueryError:
    """Refuses a number that 38 digits might not hold."""
    return QueryError(
        "the numbers of this expression may need more than 37 digits, which Spark cannot represent",
        position=0 if node is None else node.position,
        hint="Write numbers with fewer digits after the point, or declare narrower bounds.",
    )


def negative(x: str) -> str:
    """A wide number with the other sign. Spark's own minus and ABS of decimals keep 34 digits, or raise (101)."""
    return f"(0L - {x})"


def absolute(x: str) -> str:
    """The size of a wide number. Names its argument several times."""
    return f"(CASE WHEN {x} < 0L THEN {negative(x)} ELSE {x} END)"


def quotient(x: str, y: str, *, sure: bool = True) -> str:
    """The quotient toward zero of two wide numbers. Spark's DIV keeps the last 64 bits alone, and says nothing.

    A division of 38 digits has 32 of them before the point; where a number without bounds has more and is divided by
    less than a million, it is taken apart.
    """
    exact = "CAST((x - x % y) / y AS DECIMAL(38, 0))"
    if sure:
        return once({"x": f"CAST({x} AS {WIDE})", "y": f"CAST({y} AS {WIDE})"}, exact)
    part = whole(10**16, wide=True)
    high = "CAST((x - x % h) / h AS DECIMAL(38, 0))"
    of_high = "CAST((g - g % y) / y AS DECIMAL(38, 0))"
    low = once({"l": "((g % y) * h + x % h)"}, "CAST((l - l % y) / y AS DECIMAL(38, 0))")
    apart = once({"g": high}, f"{of_high} * h + {low}")
    return once(
        {"x": f"CAST({x} AS {WIDE})", "y": f"CAST({y} AS {WIDE})", "h": part},
        f"CASE WHEN x BETWEEN {whole(-(10**31), wide=True)} AND {whole(10**31, wide=True)}"
        f" OR y NOT BETWEEN -9999999L AND 9999999L THEN {exact} ELSE {apart} END",
    )
