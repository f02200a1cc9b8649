"""LOWER and UPPER by Unicode's simple mappings: Java maps some letters to several, and looks at what stands beside.

Comes in: the text of an expression. Goes out: SQL. Keys of groups are computed beside Spark, in the embedded engine; a
letter that the two map to different ones would lose a group. So its own mapping is written out, for texts that are not
ASCII alone.
"""

from __future__ import annotations

import string

from sfumato.engines.postgres.letters import mapping
from sfumato.engines.spark.spelling import once, text

_LETTERS = {
    "lower": (string.ascii_uppercase, string.ascii_lowercase),
    "upper": (string.ascii_lowercase, string.ascii_uppercase),
}


def cased(function: str, x: str) -> str:
    """The text in small or in capital letters."""
    pairs = zip(_LETTERS[function], mapping(function), strict=True)
    before, after = (text(ascii_ + others) for ascii_, others in pairs)
    return once(
        {"x": x}, f"CASE WHEN octet_length(x) = length(x) THEN {function}(x) ELSE translate(x, {before}, {after}) END"
    )


def lowered(written: str) -> str:
    """A written text in small letters, by the same mapping."""
    before, after = mapping("lower")
    return written.translate(str.maketrans(_LETTERS["lower"][0] + before, _LETTERS["lower"][1] + after))
