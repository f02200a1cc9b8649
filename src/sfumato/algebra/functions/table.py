"""The table of scalar functions, and how the modules that know a part of many of them add it.

An operation that PostgreSQL would fail on gives NULL instead (a division by zero, a cast that does not fit): an error
would tell whether a row was there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from sfumato.algebra.functions.arithmetic import ARITHMETIC
from sfumato.algebra.functions.bits import BITS
from sfumato.algebra.functions.casts import CAST
from sfumato.algebra.functions.curves import CURVES
from sfumato.algebra.functions.interval_ends import END_FUNCTIONS
from sfumato.algebra.functions.logic import LOGIC
from sfumato.algebra.functions.record import ScalarFunction
from sfumato.algebra.functions.text_parts import TEXT_PARTS
from sfumato.algebra.functions.texts import TEXTS
from sfumato.algebra.functions.times import TIME_FUNCTIONS
from sfumato.algebra.tree import Call

FUNCTIONS: dict[str, ScalarFunction] = {
    function.name: function
    for function in (*ARITHMETIC, *BITS, *CURVES, *LOGIC, *TIME_FUNCTIONS, *TEXT_PARTS, *END_FUNCTIONS, *TEXTS, CAST)
}
"""Every function by name."""


def add_parts(part: str, known: Mapping[str, Any]) -> None:
    """Add one part (`bind`, `meaning` or `interval`) to the records of several functions."""
    for name, value in known.items():
        FUNCTIONS[name] = replace(FUNCTIONS[name], **{part: value})


def add_spellings(engine: str, known: Mapping[str, Callable[[Call], str]]) -> None:
    """Add what an engine writes for several functions."""
    for name, spelling in known.items():
        function = FUNCTIONS[name]
        FUNCTIONS[name] = replace(function, spellings={**function.spellings, engine: spelling})
