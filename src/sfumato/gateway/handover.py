"""One gateway replaces another: a new policy or new rows come in while queries go on.

Comes in: calls of a gateway, and its successor. Goes out: each call is answered by the gateway that it met, or by the
one that came after it; a gateway that was succeeded is closed when the last call has left it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from sfumato.gateway.tracebacks import MENDABLE
from sfumato.ledger import Superseded

PATIENCE = 30.0
"""Seconds that a question waits for a successor which was announced."""

P = ParamSpec("P")
R = TypeVar("R")


class Handover:
    """Who is inside a gateway, and who comes after it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._announced = False
        self._next: Any = None

    def enter(self) -> bool:
        """Come in, unless somebody else serves by now."""
        with self._changed:
            if self._next is not None:
                return False
            self._inside += 1
            return True

    def leave(self) -> None:
        """Go."""
        with self._changed:
            self._inside -= 1
            self._changed.notify_all()

    def wait_until_empty(self) -> None:
        """Until all have left; with a successor, nobody comes in any more."""
        with self._changed:
            self._changed.wait_for(lambda: self._inside == 0)

    def announce(self, coming: bool) -> None:
        """A successor is about to come, or does not come after all."""
        with self._changed:
            self._announced = coming
            self._changed.notify_all()

    def give_way(self, successor: Any) -> None:
        """From now on the successor answers; those who are inside finish."""
        with self._changed:
            self._next, self._announced = successor, False
            self._changed.notify_all()

    def successor(self, *, wait: bool = False) -> Any:
        """Who serves now; None if nobody has come, or only one is announced who does not come in time."""
        with self._changed:
            if wait:
                self._changed.wait_for(lambda: not self._announced, PATIENCE)
            return self._next


class _Succeeded(Protocol):
    @property
    def line(self) -> Handover: ...


G = TypeVar("G", bound=_Succeeded)


def handed_on(method: Callable[Concatenate[G, P], R]) -> Callable[Concatenate[G, P], R]:
    """A method that a gateway with a successor leaves to it.

    A debit that meets a change of policy was refused and wrote nothing: where a successor is on its way, as when
    several processes reload one after another, the question waits for it and is asked there.
    """

    @wraps(method)
    def call(gate: G, /, *args: P.args, **options: P.kwargs) -> R:
        serving: Any = gate
        while True:
            if serving.line.enter():
                try:
                    return method(serving, *args, **options)
                except MENDABLE as error:
                    raise error.with_traceback(None) from None
                except Superseded:
                    found = serving.line.successor(wait=True)
                    if found is None:
                        raise
                finally:
                    serving.line.leave()
            serving = serving.line.successor()

    return call
