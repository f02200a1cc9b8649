"""Functions of text below a release that tools write: parts, padding, and patterns that replace or take out.

Comes in: arguments with their facts. Goes out: facts of the value, with the longest text that it can be. Their meaning
is in `engines/reference_texts.py`.
"""

from __future__ import annotations

from sfumato.algebra import pattern_meaning as meaning
from sfumato.algebra import patterns
from sfumato.algebra.functions.record import ScalarFunction
from sfumato.algebra.functions.rules import LONGEST, Mismatch, text_facts, written_text, written_whole
from sfumato.algebra.tree import TEXT, Facts, Node

_MOST_PARTS, _WIDEST = 1000, 1000


def _split_part(args: tuple[Node, ...], _: str) -> Facts:
    """split_part(text, delimiter, n): the n-th part, counted from the end where n is negative; else the empty text."""
    if not written_text(args[1], 100):
        raise Mismatch("split_part needs a delimiter of at least one character")
    if written_whole(args[2], -_MOST_PARTS, _MOST_PARTS, "split_part") == 0:
        raise Mismatch("split_part counts from 1, or from -1 backwards")
    return text_facts(args[:1])


def _initcap(args: tuple[Node, ...], _: str) -> Facts:
    """Changing the case of one character may give up to three."""
    facts = text_facts(args)
    return Facts(TEXT, nullable=facts.nullable, length=None if facts.length is None else 3 * facts.length)


def _pad(args: tuple[Node, ...], _: str) -> Facts:
    """lpad and rpad: exactly n characters, cut or filled."""
    width = written_whole(args[1], 0, _WIDEST, "lpad or rpad")
    if not written_text(args[2], 100):
        raise Mismatch("lpad and rpad need a non-empty fill text")
    return Facts(TEXT, nullable=text_facts(args[:1]).nullable, length=width)


def _concat_ws(args: tuple[Node, ...], _: str) -> Facts:
    """concat_ws(between, a, b, …): NULLs are passed over."""
    between = written_text(args[0], 100)
    lengths = [text_facts((arg,)).length for arg in args[1:]]
    if not lengths or None in lengths:
        raise Mismatch("concat_ws needs text of declared length")
    length = sum(x for x in lengths if x is not None) + len(between) * (len(lengths) - 1)
    if length > LONGEST:
        raise Mismatch(f"this could produce a text of more than {LONGEST} characters")
    return Facts(TEXT, nullable=False, length=length)


def _one_meaning(pattern: str, *, parts: bool) -> str:
    """A pattern that takes the same text in every engine."""
    why = patterns.problem(pattern) or meaning.ambiguity(pattern, parts=parts)
    if why is not None:
        raise Mismatch(f"this regular expression is not supported here: {why}")
    return pattern


def _regexp_replace(args: tuple[Node, ...], extra: str) -> Facts:
    """regexp_replace(text, pattern, replacement, flags): `extra` holds the flags, of which g is known."""
    if extra not in ("", "g"):
        raise Mismatch("regexp_replace supports only the flag g; for i write both cases into the pattern")
    pattern, new = written_text(args[1], patterns.LONGEST), written_text(args[2], 1000)
    taken = meaning.template(new)
    if taken is None or any(number > meaning.groups(pattern) for number in taken if isinstance(number, int)):
        raise Mismatch("a replacement may contain text and \\1 to \\9, for groups of the pattern")
    _one_meaning(pattern, parts=any(isinstance(part, int) and part for part in taken))
    if meaning.may_be_empty(pattern) and extra == "g":
        raise Mismatch("a pattern that is replaced everywhere must not match the empty text")
    facts = text_facts(args[:1])
    if facts.length is None:
        raise Mismatch("regexp_replace needs text of declared length")
    fixed = sum(len(part) for part in taken if isinstance(part, str))
    groups = sum(isinstance(part, int) for part in taken)
    times = facts.length + 1 if extra == "g" else 1
    length = facts.length + times * fixed + groups * facts.length
    if length > LONGEST:
        raise Mismatch(f"this could produce a text of more than {LONGEST} characters")
    return Facts(TEXT, nullable=facts.nullable, length=length)


def _regexp_substring(args: tuple[Node, ...], _: str) -> Facts:
    """substring(text from pattern): the match, or its first group; NULL if there is none."""
    pattern = written_text(args[1], patterns.LONGEST)
    _one_meaning(pattern, parts=meaning.groups(pattern) > 0)
    return Facts(TEXT, nullable=True, length=text_facts(args[:1]).length)


TEXT_PARTS = (
    ScalarFunction("split_part", _split_part, "split_part(text, ',', n)", "the n-th part between delimiters"),
    ScalarFunction("initcap", _initcap, "initcap(text)", "each word capitalised"),
    ScalarFunction("lpad", _pad, "lpad(text, n, fill)", "n characters, filled on the left or truncated"),
    ScalarFunction("rpad", _pad, "rpad(text, n, fill)", "n characters, filled on the right or truncated"),
    ScalarFunction(
        "concat_ws",
        _concat_ws,
        "concat_ws(separator, a, b, …)",
        "texts joined by a separator; NULLs are skipped",
        sees_null=True,
    ),
    ScalarFunction(
        "regexp_replace", _regexp_replace, "regexp_replace(text, pattern, new, 'g')", "what matches replaced"
    ),
    ScalarFunction(
        "regexp_substring",
        _regexp_substring,
        "substring(text from 'pattern')",
        "the match, or its first group; NULL if there is none",
    ),
)
"""Functions that take texts apart and put them together."""
