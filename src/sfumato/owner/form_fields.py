"""The fields of the policy's form: which keys it has, how each is written, and what it means.

Comes in: what an owner typed into a field. Goes out: the same as TOML, or one clear error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sfumato.accounting import COMPOSITIONS
from sfumato.errors import InputError
from sfumato.policy import AUTO, TYPES
from sfumato.policy.editing import as_text
from sfumato.types import Adjacency

_NUMBER = re.compile(r"[-+]?[0-9][0-9_]*(\.[0-9_]+)?([eE][-+]?[0-9]+)?")
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z?)?")
_LONGEST = 100_000


@dataclass(frozen=True, slots=True)
class FormField:
    """A key: how it is written (`number`, `bound`, `text`, `choice`, `flag`, `list`), and what it means.

    `options` are the words of a choice, words that a number may be instead, or what holds for a flag that is not there.
    """

    key: str
    kind: str
    about: str
    options: tuple[str, ...] = ()

    def literal(self, given: object, like: type = str) -> str | None:
        """What an owner typed, as TOML, with items of lists `like` this; None where nothing is left: the default."""
        if given is None or given in ("", []):
            return None
        if self.kind == "flag" and isinstance(given, bool):
            return "true" if given else "false"
        if self.kind == "list" and isinstance(given, list) and all(isinstance(one, str) for one in given):
            return f"[{', '.join(_item(one, like) for one in given)}]"
        if not isinstance(given, str) or len(given) > _LONGEST or self.kind in ("flag", "list"):
            raise InputError(f"{self.key} cannot have this value")
        text = given.strip()
        if self.kind in ("number", "bound"):
            if AUTO in self.options and text == AUTO:
                return as_text(AUTO)
            form = _NUMBER if self.kind == "number" else re.compile(f"{_NUMBER.pattern}|{_MOMENT.pattern}")
            if not form.fullmatch(text):
                example = "0.5 or 1e-6" if self.kind == "number" else "120, 0.5 or 2024-12-31"
                raise InputError(f"{self.key} must be a number, like {example}")
            return text
        if self.kind == "choice" and text not in self.options:
            raise InputError(f"{self.key} must be one of {', '.join(self.options)}")
        return as_text(text)


def _item(text: str, like: type) -> str:
    if (like is int and re.fullmatch(r"-?(0|[1-9][0-9]{0,17})", text)) or (like is bool and text in ("true", "false")):
        return text
    return as_text(text)


_AUTO = (AUTO,)
OF_PEOPLE = ("unit", "rows_per_unit", "groups_per_unit", "l2_per_unit", "sum_per_unit")
PRIVACY = (
    FormField("epsilon", "number", "The total privacy budget of all analysts."),
    FormField("delta", "number", "With this probability the bound may fail. Needed for groups that are not declared."),
    FormField("query_epsilon", "number", "The default cost of a query."),
    FormField("adjacency", "choice", "What one person can change: being in the data or not, or (replace) all rows.",
              tuple(word.value for word in Adjacency)),
    FormField("composition", "choice", "How charges add up.", COMPOSITIONS),
    FormField("timing", "choice", "padded: answers are sent at fixed times.", ("plain", "padded")),
    FormField("partition", "text", "table.column that divides people; each cell has the whole budget."),
    FormField("delta_selection", "number", "The part of delta for groups that are not declared."),
    FormField("query_delta", "number", "The default delta of a query."),
    FormField("min_epsilon", "number", "The minimum cost of a query."),
    FormField("failures", "number", "After this many engine failures, this version of the data is no longer served."),
)  # fmt: skip
SHARE = (FormField("epsilon", "number", "This analyst's share of the total."),)
DATA = (FormField("version", "text", "Version of the data. Change it when the rows change, or use daily or monthly."),)
TABLE = (
    FormField("public", "flag", "No row is about a person; answers about it are exact and free.", ("false",)),
    FormField("unit", "text", "The column that identifies a person, or row: each row is one person."),
    FormField("rows_per_unit", "number", "The maximum number of rows counted per person, or auto.", _AUTO),
    FormField("groups_per_unit", "number", "The maximum number of groups that one person counts in.", _AUTO),
    FormField("l2_per_unit", "number", "The same bound in the Euclidean norm, for Gaussian noise.", _AUTO),
)
COLUMN = (
    FormField("type", "choice", "", TYPES),
    FormField("min", "bound", "Lower values count as this one."),
    FormField("max", "bound", "Higher values count as this one."),
    FormField("grid", "number", "Values are rounded to multiples of it."),
    FormField("max_length", "number", "Longer texts are truncated."),
    FormField("values", "list", "One to a line; any other value becomes NULL."),
    FormField("nulls", "flag", "NULL may occur. If not, rows with NULL are excluded.", ("true",)),
)
