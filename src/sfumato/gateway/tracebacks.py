"""Short tracebacks: what the caller can mend ends in our sentence, and shows the caller's own lines."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from sfumato.errors import BudgetError, PolicyError, QueryError

MENDABLE = (QueryError, PolicyError, BudgetError)
"""Errors that the person who calls can do something about; of others every frame is shown."""

P = ParamSpec("P")
R = TypeVar("R")


def short_tracebacks(function: Callable[P, R]) -> Callable[P, R]:
    """A function whose refusals do not show what happened inside."""

    @wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> R:
        try:
            return function(*args, **options)
        except MENDABLE as error:
            raise error.with_traceback(None) from None

    return call
