"""What a scalar function is: one record, which everybody who binds, bounds, computes, writes or documents it reads.

A new function is one record with all of its parts. The functions of the table hold their facts here; what an engine
writes for them stands with that engine, and their meaning with the reference interpreter, which is written apart from
every engine: those modules add their part to the record (`add_parts`, `add_spellings`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sfumato.algebra.functions.rules import Rule
from sfumato.algebra.tree import Call, Node

Ends = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class ScalarFunction:
    """A scalar function that may stand below a release: total, and bounded in cost and size."""

    name: str
    """Its name in our tree, and so in digests."""
    facts: Rule
    """What is known of its value: kind, bounds, grid, length, and whether it may be NULL; or a refusal."""
    usage: str
    """How it is written."""
    words: str
    """What it gives, in a few words."""
    sees_null: bool = False
    """It may have a value where an argument is NULL."""
    by_name: bool = False
    """The parser has no kind of node for it: it is known by its name alone."""
    bind: Callable[[tuple[Node, ...], int], Node] | None = None
    """How a call by name is bound; without it, its arguments are taken as they stand."""
    meaning: Callable[[Call, Callable[[Node], Any]], Any] | None = None
    """Its value, given how to evaluate an argument; None where the reference interpreter does not know it."""
    interval: Callable[[Any, list[Ends]], Ends | None] | None = None
    """An interval that holds its value wherever the arguments are in theirs; None where it cannot be told."""
    spellings: Mapping[str, Callable[[Call], str]] = field(default_factory=dict)
    """By the name of an engine: its text there."""
