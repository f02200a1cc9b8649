"""Progress of an attack: a bar on a terminal, an occasional line elsewhere.

Comes in: how many attacks there will be, and each question as it is asked. Goes out: text on stderr, and nothing else.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from sfumato.attacks.base import Rows

_PATIENCE = 10.0
"""Seconds after which a person wants to know how far it is."""


class AttackProgress:
    """A bar of attacks, with the questions of the one that runs."""

    def __init__(self, total: int) -> None:
        self._bar: Progress | None = None
        if sys.stderr.isatty():
            words = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
            self._bar = Progress(*words, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, attack: str, defence: str, run: Callable[[str], Rows]) -> Callable[[str], Rows]:
        """The same endpoint, each question of which is seen."""
        if self._bar is None:
            sys.stderr.write(f"{attack} against {defence} …\n")
        else:
            self._bar.update(self._task, description=f"{attack} against {defence}")
        started = last = time.monotonic()
        asked = 0

        def counted(sql: str) -> Rows:
            nonlocal asked, last
            asked, now = asked + 1, time.monotonic()
            if self._bar is not None:
                self._bar.update(self._task, description=f"{attack} against {defence}: {asked:,} queries")
            elif now - last > _PATIENCE:
                last = now
                sys.stderr.write(f"  {asked:,} queries, {now - started:.0f} s\n")
            return run(sql)

        return counted

    def end(self) -> None:
        """One attack is done."""
        if self._bar is not None:
            self._bar.advance(self._task)
