"""What the protocol asks of the gateway, and what it gets: records that know neither bytes nor sockets.

Comes in: nothing. Goes out: `Work`, which somebody with threads does, and `Result`, which `state` turns into messages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from sfumato.errors import SfumatoError
from sfumato.gateway.rounding import DELTA
from sfumato.server.pgwire.settings import Options
from sfumato.server.pgwire.types import oid_of


@dataclass(frozen=True, slots=True)
class Field:
    """A column of an answer: its name and its type in PostgreSQL's words."""

    name: str
    type: str

    @property
    def oid(self) -> int:
        """The number of its type."""
        return oid_of(self.type)


@dataclass(slots=True, weakref_slot=True)
class Result:
    """Rows with their columns and the tag of their command; columns None is a command without rows.

    `sets` are settings that a function of the question has set: name, value, and whether for this transaction alone.
    `size` is roughly how many bytes the rows take.
    """

    fields: tuple[Field, ...] | None = None
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    tag: str = "SELECT"
    notices: list[tuple[str, SfumatoError]] = field(default_factory=list)
    sets: list[tuple[str, str, bool]] = field(default_factory=list)
    size: int = 0
    sent: dict[tuple[int, ...], bytes] = field(default_factory=dict, repr=False, compare=False)
    """All its rows as messages, in the formats in which they were sent last."""


class WireTask(Enum):
    """What is to be done. Only ANSWER spends; COMPUTE calls a function that may take long."""

    ANSWER = "answer"
    LOOK = "look"
    PREVIEW = "preview"
    BUDGET = "budget"
    COMPUTE = "compute"


@dataclass(frozen=True, slots=True)
class Work:
    """One thing to be done elsewhere: the state machine waits for its Result (for LOOK: the columns) or its error."""

    task: WireTask
    sql: str = ""
    options: Options = field(default_factory=Options)
    settings: tuple[tuple[str, str], ...] = ()
    timeout: float | None = None
    compute: Callable[[], Any] | None = None


BUDGET_FIELDS = (Field("budget", "text"), *(Field(name, "numeric") for name in ("epsilon", "rho", DELTA)))
PLAN_FIELDS = (Field("QUERY PLAN", "text"),)
