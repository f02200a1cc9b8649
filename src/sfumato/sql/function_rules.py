"""What rules of functions share: the refusal of arguments that do not go together, and facts of text.

Comes in: arguments with their facts. Goes out: facts of a value, or `Mismatch`.
"""

from __future__ import annotations

from collections.abc import Callable

from sfumato.sql.tree import NULL, TEXT, Constant, Facts, Node

Rule = Callable[[tuple[Node, ...], str], Facts]
"""From arguments, and words such as `month`, to what is known of the value."""
LONGEST = 100_000
"""Beyond this many characters a text is not made."""


class Mismatch(Exception):
    """Arguments that do not go together."""


def nullable(args: tuple[Node, ...]) -> bool:
    """Whether an argument may be NULL."""
    return any(arg.facts.nullable for arg in args)


def text_facts(args: tuple[Node, ...]) -> Facts:
    """The first argument as text."""
    facts = args[0].facts
    if facts.kind not in (TEXT, NULL):
        raise Mismatch(f"text is needed here, but this is {facts.kind}")
    return Facts(TEXT, nullable=nullable(args), length=0 if facts.kind == NULL else facts.length)


def written_text(arg: Node, longest: int) -> str:
    """A text that is written in the query."""
    if not isinstance(arg, Constant) or not isinstance(arg.value, str) or len(arg.value) > longest:
        raise Mismatch(f"a text literal of at most {longest} characters is needed here")
    return arg.value


def written_whole(arg: Node, low: int, high: int, what: str) -> int:
    """A whole number that is written in the query."""
    value = arg.value if isinstance(arg, Constant) else None
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise Mismatch(f"{what} needs an integer literal from {low} to {high}")
    return value
