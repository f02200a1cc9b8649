"""Patterns of to_char for numbers: digits, separators, a point, a sign, and signs that stand for themselves.

Comes in: a pattern as it is written. Goes out: its parts, or None where one of them is not known here. In PostgreSQL a
pattern means what its parts mean together: a 0 fills with zeros from its place on, FM leaves out what fills, a comma
before the first digit that is shown is a blank.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST_WHOLE, MOST_AFTER = 18, 12
"""Digits before and after the point: a whole number of 64 bits holds the first, ROUND takes the second."""
_LONGEST = 100
_PIECE = re.compile(r"""FM|MI|[09,.DGS]|"[^"\\]*"|[^A-Za-z0-9"\\]""", re.IGNORECASE)
_DIGITS = re.compile(r"([09](?:[09,]*[09])?)(?:\.([09]+))?")
"""Commas stand between digits, and digits on both sides of the point: else PostgreSQL forgets what follows."""
HINT = (
    "Write 9 and 0 for digits, a comma or G and a point or D between them, FM, one S or MI before or after the digits, "
    "and signs such as $ and %, or texts in double quotes, at the ends."
)
"""What is supported."""


@dataclass(frozen=True)
class NumberFormat:
    """A pattern: what stands before the digits, the digits, and what stands after them."""

    before: tuple[str | None, ...]
    """Texts; None is the place of MI."""
    whole: str
    """Of 9, 0 and commas."""
    after_point: str
    """Of 9 and 0; empty without a point."""
    after: tuple[str | None, ...]
    sign: str
    """S before the digits, s after them, M for MI, or nothing."""
    bare: bool
    """FM: nothing is filled."""

    @property
    def digits(self) -> int:
        """Digits before the point."""
        return len(self.whole.replace(",", ""))


def number_format(pattern: str) -> NumberFormat | None:
    """The parts of a pattern, or None."""
    pieces = _PIECE.findall(pattern)
    if len(pattern) > _LONGEST or "".join(pieces) != pattern:
        return None
    words = [
        piece.upper().replace("G", ",").replace("D", ".") if piece.isalpha() and piece.isascii() else piece
        for piece in pieces
    ]
    bare, words = "FM" in words, [word for word in words if word != "FM"]
    inside = [n for n, word in enumerate(words) if word in ("9", "0", ",", ".")]
    if not inside:
        return None
    first, last = inside[0], inside[-1] + 1
    parts = _DIGITS.fullmatch("".join(words[first:last]))
    if parts is None:
        return None
    whole, after_point = parts[1], parts[2] or ""
    signs = [
        word[0].lower() if word == "S" and n >= last else word[0] for n, word in enumerate(words) if _is_sign(word)
    ]
    if len(signs) > 1 or len(whole.replace(",", "")) > MOST_WHOLE or len(after_point) > MOST_AFTER:
        return None
    before, after = (tuple(_shown(word) for word in part if word != "S") for part in (words[:first], words[last:]))
    return NumberFormat(before, whole, after_point, after, "".join(signs), bare)


def _is_sign(word: str) -> bool:
    return word in ("S", "MI")


def _shown(word: str) -> str | None:
    """What a part at an end shows; None where it is MI."""
    return None if word == "MI" else word[1:-1] if word[0] == '"' else word
