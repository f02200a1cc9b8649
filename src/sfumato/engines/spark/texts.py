"""Functions of text as Spark's SQL: total, NULL in and NULL out.

Comes in: a call and the SQL of its arguments. Goes out: text. A pattern has one meaning in every engine, or is refused:
what `patterns` takes is written here in the words of Java, where `$` would also stand before a last line feed and a dot
would leave line feeds out.
"""

from __future__ import annotations

from collections.abc import Callable

from sfumato.algebra.functions.curves import written as numbers
from sfumato.algebra.functions.texts import JSON_ESCAPES
from sfumato.algebra.pattern_meaning import groups, template
from sfumato.algebra.tree import Call, Constant, Node
from sfumato.engines.spark import going_back
from sfumato.engines.spark.spelling import once, text
from sfumato.errors import QueryError

_LONGEST = 1 << 20
"""Characters of a text of which nothing is declared."""
_MOST_PARTS = 500
"""Parts of a pattern of LIKE: each needs room on the stack of Java's machine."""
_SPECIAL = set("\\.*+?|()[]{}^$&-~#")


def java(node: Node, of: Node) -> str:
    """A written pattern in the words of Java, which is looked for in another value."""
    pattern = pattern_of(node)
    if going_back.repeats_groups(pattern):
        raise QueryError(
            "a group that is repeated is not supported over Spark yet",
            position=node.position,
            detail="Its expressions go back over a text, and fail on long ones.",
            hint="Repeat a list of characters, such as [a-z]+.",
        )
    if going_back.steps(pattern, _LONGEST if of.facts.length is None else of.facts.length) > going_back.MOST:
        raise QueryError(
            "this regular expression may go back over a text too often",
            position=node.position,
            detail="How long Spark takes would depend on one row.",
            hint="Write LIKE with %, lists that do not hold what follows them, ^ at the beginning, or LEFT(x, 50).",
        )
    return java_of(pattern)


def java_of(pattern: str) -> str:
    """The pattern in the words of Java."""
    result, listed, signs = "(?s)", False, iter(pattern)
    for sign in signs:
        if sign == "\\" and not listed:
            result += _escaped(next(signs))
        elif listed:
            result += sign if sign.isalnum() or sign in "]-^" else _escaped(sign)
            listed = sign != "]"
        else:
            listed = sign == "["
            result += "\\z" if sign == "$" else "\\A" if sign == "^" else sign
    return result


def _escaped(sign: str) -> str:
    return sign if sign.isalnum() or sign in " _" or not sign.isascii() else "\\" + sign


def pattern_of(node: Node) -> str:
    """A written pattern."""
    assert isinstance(node, Constant)
    return str(node.value)


def like(pattern: str) -> str:
    """A pattern of LIKE, with a backslash as its escape, in the words of Java, which never goes back before a %.

    What stands between two % is looked for from left to right, and where it is found first it is taken: if the rest can
    be found after a later place, it can be found after the first one too. What follows the last % ends the text.
    """
    parts, signs = [""], iter(pattern)
    any_, wild = 0, 0
    for sign in signs:
        if sign == "_":
            any_ += 1
            continue
        if any_:
            parts[-1], any_, wild = parts[-1] + f".{{{any_}}}", 0, wild + 1
        if sign == "%":
            parts.append("")
        else:
            parts[-1] += _quoted(next(signs, "\\") if sign == "\\" else sign)
    parts[-1] += f".{{{any_}}}" if any_ else ""
    if len(parts) + wild > _MOST_PARTS:
        raise QueryError(f"a pattern of LIKE may have at most {_MOST_PARTS} parts over Spark", sqlstate="54000")
    first, *middle = parts
    if not middle:
        return f"(?s)\\A{first}\\z"
    *middle, last = middle
    found = [f"(?>.*?{part})" for part in middle if part]
    return f"(?s)\\A{first}{''.join(found)}" + (f".*{last}\\z" if last else "")


def _quoted(sign: str) -> str:
    return "\\" + sign if sign in _SPECIAL else sign


def matches(x: str, pattern: str) -> str:
    """Whether a pattern of Java is found."""
    return f"({x} RLIKE {text(pattern)})"


def regexp_like(node: Call, args: list[str]) -> str:
    """Whether a pattern is found."""
    return matches(args[0], java(node.args[1], node.args[0]))


def split_part(node: Call, args: list[str]) -> str:
    """The n-th part, or the n-th from the end; the empty text where there is none."""
    n = int(numbers(node.args[2:])[0])
    return f"split_part({args[0]}, {args[1]}, {n})"


def pad(function: str) -> Callable[[Call, list[str]], str]:
    """Exactly so many characters."""
    return lambda node, args: f"{function}({args[0]}, {int(numbers(node.args[1:2])[0])}, {args[2]})"


def concat_ws(_: Call, args: list[str]) -> str:
    """The texts that are not NULL, with the first between them; NULL where that one is."""
    return once({"s": args[0]}, f"CASE WHEN s IS NOT NULL THEN concat_ws({', '.join(['s', *args[1:]])}) END")


def regexp_replace(node: Call, args: list[str]) -> str:
    """The first match, or all of them, by what the replacement says; the first is found after what stands before it."""
    pattern, parts = java(node.args[1], node.args[0]), template(pattern_of(node.args[2])) or []
    first = node.extra != "g"
    if first:  # the whole match is the second group
        pattern = f"(?s)\\A(.*?)({pattern.removeprefix('(?s)')})"
    signs = [f"${p + 2 * first}" if isinstance(p, int) else _kept(p) for p in parts]
    signs = ["$1", *signs] if first else signs
    return f"regexp_replace({args[0]}, {text(pattern)}, {text(''.join(signs))})"


def _kept(part: str) -> str:
    """A piece of a replacement as it is; a digit after a number of a group would belong to it."""
    return "".join("\\" + sign if not sign.isalpha() else sign for sign in part)


def regexp_substring(node: Call, args: list[str]) -> str:
    """What matches, or its first group; NULL where nothing does."""
    pattern = pattern_of(node.args[1])
    found, group = text(java(node.args[1], node.args[0])), 1 if groups(pattern) else 0
    return once({"s": args[0]}, f"CASE WHEN s RLIKE {found} THEN regexp_extract(s, {found}, {group}) END")


def json_string(_: Call, args: list[str]) -> str:
    """The text in quotes, with what JSON writes for some characters."""
    found = args[0]
    for old, new in JSON_ESCAPES:
        found = f"replace({found}, {text(old)}, {text(new)})"
    quote = text('"')
    return f"concat({quote}, {found}, {quote})"


TEXTS: dict[str, Callable[[Call, list[str]], str]] = {
    "split_part": split_part,
    "lpad": pad("lpad"),
    "rpad": pad("rpad"),
    "concat_ws": concat_ws,
    "regexp_replace": regexp_replace,
    "regexp_substring": regexp_substring,
    "json_string": json_string,
    "regexp_like": regexp_like,
}
"""Functions of text by name."""
