"""Functions of text as PostgreSQL's SQL: total, NULL in and NULL out.

Comes in: a call and the SQL of its arguments. Goes out: text. A pattern has one meaning in every engine, or is refused.
"""

from __future__ import annotations

from collections.abc import Callable

from sfumato.algebra.functions.curves import written as numbers
from sfumato.algebra.functions.texts import JSON_ESCAPES
from sfumato.algebra.pattern_meaning import template
from sfumato.algebra.tree import Call, Constant
from sfumato.engines.postgres.spelling import once
from sfumato.engines.postgres.spelling import text as written


def split_part(node: Call, args: list[str]) -> str:
    """The n-th part, or the n-th from the end; the empty text where there is none."""
    n = int(numbers(node.args[2:])[0])
    place = str(n) if n > 0 else f"cardinality(p) + 1 + ({n})"
    return once(
        {"p": f"string_to_array({args[0]}, {args[1]})"}, f"CASE WHEN p IS NOT NULL THEN COALESCE(p[{place}], '') END"
    )


def pad(function: str) -> Callable[[Call, list[str]], str]:
    """Exactly so many characters."""
    return lambda node, args: f"{function}({args[0]}, {int(numbers(node.args[1:2])[0])}, {args[2]})"


def concat_ws(_: Call, args: list[str]) -> str:
    """The texts that are not NULL, with the first between them."""
    return f'(concat_ws({", ".join(args)}) COLLATE "C")'


def regexp_replace(node: Call, args: list[str]) -> str:
    """The first match, or all of them, by what the replacement says."""
    new = node.args[2]
    assert isinstance(new, Constant)
    parts = template(str(new.value)) or []
    signs = [(f"\\{p}" if p else "\\&") if isinstance(p, int) else p.replace("\\", "\\\\") for p in parts]
    return f"regexp_replace({args[0]}, {args[1]}, {written(''.join(signs))}, '{node.extra}')"


def regexp_substring(_: Call, args: list[str]) -> str:
    """What matches, or its first group; NULL where nothing does."""
    return f"CASE WHEN {args[0]} ~ {args[1]} THEN COALESCE(substring({args[0]} FROM {args[1]}), '') END"


def json_string(_: Call, args: list[str]) -> str:
    """The text in quotes, with what JSON writes for some characters."""
    found = args[0]
    for old, new in JSON_ESCAPES:
        found = f"replace({found}, {written(old)}, {written(new)})"
    quote = written('"')
    return f"({quote} || {found} || {quote})"


TEXTS: dict[str, Callable[[Call, list[str]], str]] = {
    "split_part": split_part,
    "lpad": pad("lpad"),
    "rpad": pad("rpad"),
    "concat_ws": concat_ws,
    "regexp_replace": regexp_replace,
    "regexp_substring": regexp_substring,
    "json_string": json_string,
}
"""Functions of text by name."""
