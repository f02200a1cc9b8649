"""Functions of text as DuckDB spells them: total, NULL in and NULL out.

Comes in: a call and the SQL of its arguments. Goes out: SQL.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.algebra.functions.texts import JSON_ESCAPES
from sfumato.algebra.pattern_meaning import groups, template
from sfumato.algebra.tree import Call, Constant
from sfumato.types import string

_WORDS = r"'[\p{L}\p{N}]+|[^\p{L}\p{N}]+'"


UNCHANGED = "ß"
"""The one letter of Unicode that has no capital among its simple mappings, and that DuckDB gives one (ẞ)."""


def upper(x: str, listed: Sequence[object] | None = None) -> str:
    """The text in capital letters, one for one; `listed` are all texts that there can be, where that is known."""
    if listed is not None and not any(UNCHANGED in str(text) for text in listed):
        return f"UPPER({x})"
    letter = string(UNCHANGED)
    parts = f"ARRAY_TO_STRING(LIST_TRANSFORM(STRING_SPLIT({x}, {letter}), lambda part: UPPER(part)), {letter})"
    return f"CASE WHEN CONTAINS({x}, {letter}) THEN {parts} ELSE UPPER({x}) END"


def split_part(_: Call, args: list[str]) -> str:
    """The n-th part; the empty text where there is none."""
    text, delimiter, n = args
    return f"CASE WHEN {text} IS NOT NULL THEN COALESCE(STRING_SPLIT({text}, {delimiter})[{n}], '') END"


def initcap(_: Call, args: list[str]) -> str:
    """Each word: the first letter in upper case, the others in lower case."""
    words = f"REGEXP_EXTRACT_ALL({args[0]}, {_WORDS})"
    first = f"CASE WHEN w[1] = {string(UNCHANGED)} THEN w[1] ELSE UPPER(w[1]) END"
    return f"ARRAY_TO_STRING(LIST_TRANSFORM({words}, lambda w: {first} || LOWER(w[2:])), '')"


def pad(function: str, args: list[str]) -> str:
    """Exactly so many characters."""
    text, width, fill = args
    return f"{function}({text}, CAST({width} AS INTEGER), {fill})"


def concat_ws(_: Call, args: list[str]) -> str:
    """The texts that are not NULL, with the first between them."""
    return f"CONCAT_WS({', '.join(args)})"


def regexp_replace(node: Call, args: list[str]) -> str:
    """The first match, or all of them, by what the replacement says."""
    new = node.args[2]
    assert isinstance(new, Constant)
    parts = template(str(new.value)) or []
    written = "".join(f"\\{part}" if isinstance(part, int) else part.replace("\\", "\\\\") for part in parts)
    return f"REGEXP_REPLACE({args[0]}, {args[1]}, {string(written)}, {string('s' + node.extra)})"


def regexp_substring(node: Call, args: list[str]) -> str:
    """What matches, or its first group; NULL where nothing does."""
    pattern = node.args[1]
    assert isinstance(pattern, Constant)
    group = 1 if groups(str(pattern.value)) else 0
    found = f"REGEXP_EXTRACT({args[0]}, {args[1]}, {group}, 's')"
    return f"CASE WHEN REGEXP_MATCHES({args[0]}, {args[1]}, 's') THEN {found} END"


def json_string(_: Call, args: list[str]) -> str:
    """The text in quotes, with what JSON writes for some characters."""
    found = args[0]
    for old, new in JSON_ESCAPES:
        found = f"REPLACE({found}, {string(old)}, {string(new)})"
    quote = string('"')
    return f"({quote} || {found} || {quote})"


TEXT_SPELLINGS = {
    "split_part": split_part,
    "initcap": initcap,
    "lpad": lambda _, args: pad("LPAD", args),
    "rpad": lambda _, args: pad("RPAD", args),
    "concat_ws": concat_ws,
    "regexp_replace": regexp_replace,
    "regexp_substring": regexp_substring,
    "json_string": json_string,
}
"""Functions of text by name."""
