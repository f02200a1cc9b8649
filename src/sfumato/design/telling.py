"""How numbers of this room are told: fractions as such with a decimal beside them, reals to twelve digits.

Comes in: fractions, reals, names, records of them. Goes out: words for people; documents for programs, in which a
string is exact and a number is the nearest float.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from sfumato.reals import Real
from sfumato.types import show

LONG = 24
"""Characters of a fraction that people read; longer ones are shown as a decimal, and given whole to programs."""


LONG, LONGEST = 256, 4096
"""Bits of fractions that are still written out, for people and for programs; longer ones are decimals."""


def say(value: Any) -> str:
    """A number or a name, for people.

    >>> say(Fraction(16, 285)), say(Fraction(1, 4)), say((Fraction(1), None))
    ('16/285 ≈ 0.0561404', '0.25', '(1, none)')
    """
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Real):
        return f"≈ {float(value):.12g}"
    if isinstance(value, Fraction):
        return _fraction(value) if value.denominator.bit_length() <= LONG else f"≈ {float(value):.12g}"
    if isinstance(value, (tuple, list)):
        return "(" + ", ".join(say(v) for v in value) + ")"
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _fraction(value: Fraction) -> str:
    text = show(value)
    if "/" not in text and len(text) <= LONG:
        return text
    return f"{text} ≈ {float(value):.6g}" if len(text) <= LONG else f"≈ {float(value):.12g}"


def short(value: Any) -> str:
    """A number for a cell of a table: the fraction alone where it is short, else six digits."""
    if isinstance(value, Fraction):
        text = show(value)
        return text if len(text) <= 12 else decimal(value)
    return decimal(value) if isinstance(value, Real) else say(value)


def html_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A plain table, for notebooks."""
    top = "".join(f"<th>{html.escape(head)}</th>" for head in heads)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{top}</tr>{body}</table>"


def decimal(value: Fraction | Real) -> str:
    """Six digits, or twelve next to 1: what is not quite 0 or 1 is not called so."""
    number = float(value)
    if not isinstance(value, Real) and value in (0, 1):
        return str(int(value))
    text = f"{number:.6g}"
    return "< 1e-300" if number == 0 else f"{number:.12g}" if text == "1" else text


def document(value: Any) -> Any:
    """The same for programs."""
    if isinstance(value, Fraction):
        return str(value) if value.denominator.bit_length() <= LONGEST else float(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, Mapping):
        return {name(key): document(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [document(item) for item in value]
    return value


def name(value: Any) -> str:
    """A name as the key of a document."""
    if isinstance(value, tuple):
        return "(" + ", ".join(name(v) for v in value) + ")"
    return show(value) if isinstance(value, Fraction) else str(value)
