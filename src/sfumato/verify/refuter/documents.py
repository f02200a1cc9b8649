"""Verify, refuter: values of programs in documents. Comes in: numbers, truths and lists. Goes out: what JSON can hold,
and back.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from sfumato.verify.faults import say_value
from sfumato.verify.run import Env


def plain_value(value: Any) -> Any:
    """A value as JSON: fractions as text."""
    if isinstance(value, tuple):
        return [plain_value(item) for item in value]
    return value if isinstance(value, bool) else say_value(value)


def exact_number(text: str) -> Fraction:
    """The number of a document, written as `say_value` writes it: with an exponent a few characters would be a number
    that no memory holds.
    """
    if re.fullmatch(r"-?[0-9]+(/[0-9]+)?", text) is None:
        raise ValueError("a number is a fraction")
    return Fraction(text)


def exact_value(value: Any) -> Any:
    """The value of a document."""
    if isinstance(value, list):
        return tuple(exact_value(item) for item in value)
    return value if isinstance(value, bool) else exact_number(value)


def shape_document(shape: Any) -> Any:
    """The shape of an output as JSON."""
    return None if shape is None else [shape_document(item) for item in shape]


def shape_of(shape: Any) -> Any:
    """The shape of a document."""
    return None if shape is None else tuple(shape_of(item) for item in shape)


def plain_inputs(env: Env) -> dict[str, Any]:
    """Inputs as JSON."""
    return {name: plain_value(value) for name, value in env.items()}


def exact_inputs(said: dict[str, Any]) -> Env:
    """The inputs of a document."""
    return {name: exact_value(value) for name, value in said.items()}
