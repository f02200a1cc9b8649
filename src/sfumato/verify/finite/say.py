"""Verify, finite laws: exact numbers as text of the language. Comes in: a number. Goes out: words that name it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sfumato.verify.finite.field import Letter, LetterRatio


def say_number(value: Any) -> str:
    """A number, exactly."""
    if isinstance(value, tuple):
        return f"[{', '.join(say_number(item) for item in value)}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, LetterRatio):
        return str(value)
    top, bottom = (_polynomial(part, value) for part in (value.top, value.bottom))
    return top if bottom == "1" else f"({top}) / ({bottom})"


def _polynomial(one: Any, value: LetterRatio) -> str:
    terms = []
    for powers, factor in one.to_dict().items():
        letters = [(value.field.letters[place], power) for place, power in enumerate(map(int, powers)) if power]
        parts = [_letter(letter, power, value.field.root) for letter, power in letters]
        size = abs(int(factor))
        words = [str(size)] * (size != 1 or not parts) + parts
        terms.append(("-" if factor < 0 else "+", " * ".join(words)))
    text = " ".join(f"{sign} {words}" for sign, words in terms)
    return text.removeprefix("+ ") or "0"


def _letter(letter: Letter, power: int, root: int) -> str:
    if letter.kind in ("decay", "e"):
        exponent = Fraction(power, root)
        if letter.kind == "e":
            return f"exp({exponent})"
        times = "" if exponent == 1 else f"{exponent}*"
        return f"exp(-{times}eps)"
    name = letter.name or f"{letter.kind}({say_number(letter.of)})"
    if letter.kind == "pow":
        name = f"({letter.of})^({letter.power})"
    return name if power == 1 else f"{name}^{power}"


def say_loss(factor: Any) -> str:
    """A loss in nats, from e^loss: `ln(3)`, `2 * eps`, `ln((1 + …) / …)`."""
    if isinstance(factor, str):
        return factor
    if isinstance(factor, LetterRatio) and factor.top.is_constant() and len(factor.bottom.to_dict()) == 1:
        ((powers, _),) = factor.bottom.to_dict().items()
        letters = [(factor.field.letters[place], power) for place, power in enumerate(map(int, powers)) if power]
        if factor.top.is_one() and len(letters) == 1 and letters[0][0].kind == "decay":
            exponent = Fraction(letters[0][1], factor.field.root)
            return "eps" if exponent == 1 else f"{exponent} * eps"
    return "0" if factor == 1 else f"ln({say_number(factor)})"
