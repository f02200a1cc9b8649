"""Functions of text: case, length, parts by place, joining, and comparing with a pattern.

Comes in: arguments with their facts. Goes out: facts of the value, with the longest text that it can be.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.algebra import geo_cells, patterns
from sfumato.algebra.functions.record import ScalarFunction
from sfumato.algebra.functions.rules import (
    FARTHEST,
    LONGEST,
    Mismatch,
    need_exact,
    nullable,
    text_facts,
    written_text,
)
from sfumato.algebra.tree import BOOLEAN, INTEGER, JSON, TEXT, Constant, Facts, Node


def _cased(args: tuple[Node, ...], _: str) -> Facts:
    """Changing the case of one character may give up to three (ß, ŉ)."""
    facts = text_facts(args)
    return Facts(TEXT, nullable=facts.nullable, length=None if facts.length is None else 3 * facts.length)


def _length(args: tuple[Node, ...], _: str) -> Facts:
    f = text_facts(args)
    high = None if f.length is None else Fraction(f.length)
    return Facts(INTEGER, Fraction(0), high, Fraction(1), f.nullable)


def _substring(args: tuple[Node, ...], _: str) -> Facts:
    for arg in args[1:]:
        if not isinstance(arg, Constant) or not isinstance(arg.value, int) or not 0 <= arg.value <= FARTHEST:
            raise Mismatch(f"substring needs integer literals from 0 to {FARTHEST} for its position and length")
    f = text_facts(args[:1])
    if len(args) < 3 or not isinstance(args[2], Constant) or not isinstance(args[2].value, int):
        return f
    most = args[2].value
    return Facts(TEXT, nullable=f.nullable, length=most if f.length is None else min(most, f.length))


def _side(args: tuple[Node, ...], _: str) -> Facts:
    """left(s, n) and right(s, n): at most n characters."""
    number = args[1].value if isinstance(args[1], Constant) else None
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= FARTHEST:
        raise Mismatch(f"left and right need an integer literal from 0 to {FARTHEST}")
    f = text_facts(args[:1])
    return Facts(TEXT, nullable=f.nullable, length=number if f.length is None else min(number, f.length))


def _trim(args: tuple[Node, ...], _: str) -> Facts:
    """Blanks, or written characters, taken from one side or both."""
    for arg in args[1:]:
        written_text(arg, 100)
    return text_facts(args[:1])


def _replace(args: tuple[Node, ...], _: str) -> Facts:
    """Each place of a written text by another one: the length grows by a known factor at most."""
    f, old, new = text_facts(args[:1]), written_text(args[1], 1000), written_text(args[2], 1000)
    if f.length is None:
        raise Mismatch("replace needs text of declared length")
    length = f.length
    if old:
        length = max(length, length // len(old) * len(new) + length % len(old))
    if length > LONGEST:
        raise Mismatch(f"this could produce a text of more than {LONGEST} characters")
    return Facts(TEXT, nullable=f.nullable, length=length)


def _position(args: tuple[Node, ...], _: str) -> Facts:
    """strpos(s, part): 0 where it is not found; the empty text is found at 1."""
    f, _part = text_facts(args[:1]), text_facts(args[1:])
    high = None if f.length is None else Fraction(max(f.length, 1))
    return Facts(INTEGER, Fraction(0), high, Fraction(1), nullable(args))


def _starts_with(args: tuple[Node, ...], _: str) -> Facts:
    for arg in args:
        text_facts((arg,))
    return Facts(BOOLEAN, nullable=nullable(args))


def _regular(args: tuple[Node, ...], _: str) -> Facts:
    """x ~ pattern, for the patterns by which PostgreSQL and the engine mean the same."""
    text_facts(args[:1])
    why = patterns.problem(written_text(args[1], patterns.LONGEST))
    if why is not None:
        raise Mismatch(f"this regular expression is not supported: {why}")
    return Facts(BOOLEAN, nullable=nullable(args))


def _added(args: tuple[Node, ...]) -> int:
    """The length of texts one after the other."""
    lengths = [text_facts((arg,)).length for arg in args]
    length = sum(x for x in lengths if x is not None) if None not in lengths else None
    if length is None or length > LONGEST:
        raise Mismatch("|| needs text of declared length")
    return length


def _concat(args: tuple[Node, ...], _: str) -> Facts:
    return Facts(TEXT, nullable=nullable(args), length=_added(args))


def _concat_known(args: tuple[Node, ...], extra: str) -> Facts:
    """concat(a, b, …): NULLs are passed over. `extra` says that JSON is put together."""
    return Facts(TEXT, nullable=False, length=_added(args), every=JSON if extra == JSON else "")


def _like(args: tuple[Node, ...], _: str) -> Facts:
    if not isinstance(args[1], Constant) or not isinstance(args[1].value, str) or len(args[1].value) > 1000:
        raise Mismatch("LIKE needs a literal pattern of at most 1000 characters")
    if (len(args[1].value) - len(args[1].value.rstrip("\\"))) % 2:
        raise Mismatch("a LIKE pattern cannot end with a single backslash")
    text_facts(args[:1])
    return Facts(BOOLEAN, nullable=nullable(args))


def _geo_cell(args: tuple[Node, ...], extra: str) -> Facts:
    """The name of the cell that holds a point; `points` writes the grid into `extra`."""
    need_exact("geo_cell", args)
    if len(args) != 2 or not extra:
        raise Mismatch("geo_cell needs a latitude, a longitude and a literal side in metres")
    return Facts(TEXT, nullable=nullable(args), length=geo_cells.longest_name(geo_cells.read(extra)))


def _md5(args: tuple[Node, ...], _: str) -> Facts:
    return Facts(TEXT, nullable=text_facts(args).nullable, length=32)


def _ascii(args: tuple[Node, ...], _: str) -> Facts:
    """The number of the first character; 0 of the empty text."""
    return Facts(INTEGER, Fraction(0), Fraction(0x10FFFF), Fraction(1), text_facts(args).nullable)


def _octets(args: tuple[Node, ...], _: str) -> Facts:
    """Bytes in UTF-8: at most four for a character."""
    f = text_facts(args)
    high = None if f.length is None else Fraction(4 * f.length)
    return Facts(INTEGER, Fraction(0), high, Fraction(1), f.nullable)


def _translate(args: tuple[Node, ...], _: str) -> Facts:
    """Each written character by the one in its place, or by nothing: no text becomes longer."""
    for arg in args[1:3]:
        written_text(arg, 100)
    return text_facts(args[:1])


def _json_string(args: tuple[Node, ...], _: str) -> Facts:
    """In quotes; a character becomes two at most."""
    f = text_facts(args)
    if f.length is not None and 2 * f.length + 2 > LONGEST:
        raise Mismatch(f"this could produce a text of more than {LONGEST} characters")
    return Facts(TEXT, nullable=f.nullable, length=None if f.length is None else 2 * f.length + 2, every=JSON)


JSON_ESCAPES = (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"))
"""What stands for a character in a text of JSON, in the order in which they are replaced."""


def _reversed(args: tuple[Node, ...], _: str) -> Facts:
    return text_facts(args)


TEXTS = (
    ScalarFunction("lower", _cased, "lower(text)", "in lower case"),
    ScalarFunction("upper", _cased, "upper(text)", "in upper case"),
    ScalarFunction(
        "trim", _trim, "trim(both 'xy' from text)", "the text without blanks, or these characters, at its ends"
    ),
    ScalarFunction("length", _length, "length(text)", "the number of characters"),
    ScalarFunction("substring", _substring, "substring(text, from, length)", "characters by position, from 1"),
    ScalarFunction("left", _side, "left(text, n)", "the first n characters"),
    ScalarFunction("right", _side, "right(text, n)", "the last n characters"),
    ScalarFunction("reverse", _reversed, "reverse(text)", "the characters in reverse order"),
    ScalarFunction("replace", _replace, "replace(text, old, new)", "every occurrence of one text replaced by another"),
    ScalarFunction("strpos", _position, "strpos(text, part)", "position of the part, from 1; 0 if it is not found"),
    ScalarFunction("starts_with", _starts_with, "starts_with(text, part)", "whether the text starts with this prefix"),
    ScalarFunction("||", _concat, "a || b", "two texts joined"),
    ScalarFunction("concat", _concat_known, "concat(a, b, …)", "texts joined; NULLs are skipped", sees_null=True),
    ScalarFunction("like", _like, "text LIKE 'a%'", "whether the text matches a pattern of % and _"),
    ScalarFunction("ilike", _like, "text ILIKE 'a%'", "the same, case-insensitive"),
    ScalarFunction("regexp_like", _regular, "text ~ 'pattern'", "whether a regular expression matches; also ~*"),
    ScalarFunction("md5", _md5, "md5(text)", "the MD5 hash of the text in UTF-8, as 32 hexadecimal digits"),
    ScalarFunction("ascii", _ascii, "ascii(text)", "the Unicode number of the first character; 0 of the empty text"),
    ScalarFunction("octet_length", _octets, "octet_length(text)", "the number of bytes in UTF-8", by_name=True),
    ScalarFunction("json_string", _json_string, "to_json(text)", "the text as JSON, in quotes"),
    ScalarFunction(
        "translate", _translate, "translate(text, 'abc', 'xy')", "each character by the one in its place, or removed"
    ),
    ScalarFunction(
        "geo_cell", _geo_cell, "geo_cell(lat, lon, metres)", "the grid cell that contains a point", by_name=True
    ),
)
"""Functions of text."""
