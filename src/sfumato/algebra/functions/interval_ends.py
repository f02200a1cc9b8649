"""sfumato_low(x), sfumato_high(x), sfumato_error(x): the ends of a number's interval as columns of an answer.

Comes in: bound items. Goes out: the items as the numbers themselves, and of which of them an end is shown instead. They
read nothing of their own: a tool that cannot SET has its error bars, and they are free beside the number.
"""

from __future__ import annotations

from sfumato.algebra.functions.record import ScalarFunction
from sfumato.algebra.functions.rules import Mismatch
from sfumato.algebra.tree import NUMBERS, Call, Facts, Node
from sfumato.errors import QueryError

LOW, HIGH, ERROR = "sfumato_low", "sfumato_high", "sfumato_error"
ENDS = (LOW, HIGH, ERROR)
Items = tuple[tuple[str, Node], ...]


def _rule(args: tuple[Node, ...], _: str) -> Facts:
    facts = args[0].facts
    if facts.kind not in NUMBERS:
        raise Mismatch(f"interval ends exist for numbers only, but this is {facts.kind}")
    return Facts(facts.kind, None, None, facts.grid, True)


_WORDS = {LOW: "the lower end of a number's interval", HIGH: "the upper end", ERROR: "half the width"}
END_FUNCTIONS = tuple(ScalarFunction(name, _rule, f"{name}(x)", _WORDS[name], by_name=True) for name in ENDS)


def without_ends(items: Items) -> tuple[Items, tuple[tuple[int, str], ...]]:
    """The numbers themselves, and which item shows which end."""
    found = tuple((i, node.name) for i, (_, node) in enumerate(items) if isinstance(node, Call) and node.name in ENDS)
    places = dict(found)
    shown = tuple(
        (name, node.args[0]) if i in places and isinstance(node, Call) else (name, node)
        for i, (name, node) in enumerate(items)
    )
    return shown, found


def misplaced(node: Call) -> QueryError:
    """The refusal of an end that something is computed from."""
    return QueryError(
        f"{node.name} can only be used as a column of the answer",
        position=node.position,
        hint=f"Put {node.name}(…) directly into the select list.",
    )
