"""Every exception of the package, each with its SQLSTATE.

    SfumatoError
    ├── QueryError      the query is refused; the user can fix it   0A000, or a narrower code of class 42
    │   ├── InputError  a parameter is not allowed                  22023
    │   └── CollectionFull  a collector has no room for reports     53100
    ├── PolicyError     the policy is not valid                     F0000
    ├── BudgetError     the budget does not allow it                53400
    ├── EngineError     the engine failed; its own text is masked   58000
    ├── LedgerError     the ledger of charges cannot be trusted     58030
    ├── PlanError       a plan claims less than it would reveal     XX000
    └── ClaimError      a checked claim is false                  P0001

Every interface shows five fields: sqlstate, message, detail, hint, position. The message is one line, lowercase,
without a full stop and without row data; the detail states the numbers; the hint says what to try instead.
"""

from __future__ import annotations

from enum import Enum
from typing import ClassVar


class Obstacle(Enum):
    """What stands in the way of a refused query, for whoever looks for a statement near to it that is answered."""

    OTHERS_JOINED = "a join would combine rows of different people"
    OTHERS_DECIDE = "rows of other people would decide about a row"
    OTHERS_COMPARED = "a private sub-query is compared by another column than the person"
    OTHERS_IN_WINDOW = "a window would read rows of other people"
    TIES_IN_WINDOW = "a window depends on the order of rows that tie"
    WINDOW = "a window is not allowed, or not in this form"
    NOBODYS_ROWS = "rows would belong to nobody"
    ROWS_CUT = "LIMIT would choose among rows of people"
    PERSON_SHOWN = "an aggregate would show who a person is"
    PERSON_MISSING = "the person must be there, as a bare column"
    TEXT_ORDERED = "the first or last text would be a value of one person"


class GeneralHint(str):
    """A hint that is a statement, or that says nothing of this query: a statement that keeps more of it is better."""

    __slots__ = ()


class SfumatoError(Exception):
    """The root: five fields, printed as PostgreSQL prints them."""

    default_sqlstate: ClassVar[str] = "XX000"

    def __init__(
        self,
        message: str,
        *,
        detail: str | None = None,
        hint: str | None = None,
        position: int | None = None,
        sqlstate: str | None = None,
        obstacle: Obstacle | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail
        self.hint = hint
        self.position = position or None  # a parser that does not know says 0
        self.sqlstate = sqlstate or self.default_sqlstate
        self.obstacle = obstacle

    def __str__(self) -> str:
        lines = [self.message]
        if self.detail:
            lines.append(f"DETAIL: {self.detail}")
        if self.hint:
            lines.append(f"HINT: {self.hint}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, str | int | None]:
        """The five fields as one document, the same at every door."""
        return {
            "sqlstate": self.sqlstate,
            "message": self.message,
            "detail": self.detail,
            "hint": self.hint,
            "position": self.position,
        }


class _Mendable:
    """An error that the caller can mend: a notebook shows its sentence and none of our frames."""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]


class QueryError(_Mendable, SfumatoError):
    """The question cannot be answered as it stands; the person who asks can mend it."""

    default_sqlstate = "0A000"


class InputError(QueryError):
    """A parameter is outside of what is allowed."""

    default_sqlstate = "22023"


class CollectionFull(QueryError):
    """A collector takes no more reports; nothing was stored."""

    default_sqlstate = "53100"


class PolicyError(_Mendable, SfumatoError):
    """What the owner wrote is not a policy."""

    default_sqlstate = "F0000"


class BudgetError(_Mendable, SfumatoError):
    """The budget does not allow this release; nothing was spent."""

    default_sqlstate = "53400"


class EngineError(SfumatoError):
    """The engine failed; its own words go to the operator's log only."""

    default_sqlstate = "58000"


class LedgerError(SfumatoError):
    """The record of debits is damaged or out of reach: serving stops."""

    default_sqlstate = "58030"


class PlanError(SfumatoError):
    """A plan claims that one person matters less than its operators allow: a fault of ours, and nothing was spent."""


class ClaimError(SfumatoError):
    """A promise was checked and is false."""

    default_sqlstate = "P0001"
