"""Prepared statements, portals and cursors: a portal keeps its answer for as long as it exists.

Comes in: a command, values, and the answer once it was drawn. Goes out: the rows of each fetch. No row is drawn twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sfumato.server.pgwire.commands import Command, Fetch
from sfumato.server.pgwire.results import Field, Result
from sfumato.server.pgwire.settings import Options
from sfumato.sql.read.lexer import SqlStatement
from sfumato.sql.read.parameters import FilledStatement

Row = tuple[Any, ...]


@dataclass(slots=True, weakref_slot=True)
class PreparedStatement:
    """A statement, its command, the types of its parameters; `looked` holds its columns, without and with intervals."""

    statement: SqlStatement | None
    command: Command | None
    oids: tuple[int, ...] = ()
    looked: dict[bool, tuple[Field, ...] | None] = field(default_factory=dict)
    described: bool | None = None


@dataclass(slots=True, weakref_slot=True)
class Portal:
    """A command with its values. `result` is None until it was run; `at` rows of it were sent."""

    command: Command | None
    prepared: PreparedStatement | None = None
    options: Options = field(default_factory=Options)
    filled: FilledStatement | None = None
    formats: tuple[int, ...] = ()
    result: Result | None = None
    at: int = 0
    hold: bool = False
    cursor: bool = False
    done: bool = False

    def take(self, limit: int) -> tuple[list[Row], bool]:
        """The next rows of an Execute, and whether there may be more; what was finished starts again, as drawn."""
        assert self.result is not None
        if self.done:
            self.at, self.done = 0, False
        rows = self.result.rows[self.at : self.at + limit] if limit > 0 else self.result.rows[self.at :]
        self.at += len(rows)
        self.done = not (limit > 0 and len(rows) == limit)
        return rows, not self.done

    def move(self, asked: Fetch) -> range:
        """The rows that FETCH or MOVE passes; `at` is the row that the cursor stands on, from 1, 0 before the first."""
        assert self.result is not None
        size, count = len(self.result.rows), asked.count
        if asked.direction in ("forward", "backward", "prior"):
            back = asked.direction != "forward"
            steps = size + 1 if count is None else count
            return self._walk(size, -steps if back else steps)
        goal = {
            "first": 1,
            "last": size,
            "absolute": (count or 0) if (count or 0) >= 0 else size + 1 + (count or 0),
            "relative": self.at + (count or 0),
        }[asked.direction]
        self.at = min(max(goal, 0), size + 1)
        return self._here(size)

    def rows(self, passed: range) -> list[Row]:
        """These rows."""
        assert self.result is not None
        if not passed:
            return []
        rows = self.result.rows[min(passed[0], passed[-1]) : max(passed[0], passed[-1]) + 1]
        return rows[:: passed.step]

    def _here(self, size: int) -> range:
        return range(self.at - 1, self.at) if 1 <= self.at <= size else range(0)

    def _walk(self, size: int, steps: int) -> range:
        if steps == 0:
            return self._here(size)
        start, self.at = self.at, min(max(self.at + steps, 0), size + 1)
        if steps > 0:
            return range(start, min(self.at, size))
        return range(min(start, size + 1) - 2, max(self.at, 1) - 2, -1)
