"""Types of the parameters of mechanisms, for type checkers: what people may write, and what is kept.

Comes in: nothing that runs. Goes out: annotations. `Geometric(1, "0.5")` is what people write, and `.epsilon` is a
Fraction afterwards: to a type checker such a field is a descriptor that is set with a Number and read as a Fraction.
When the program runs it is a plain field of a dataclass, whose __post_init__ converts and checks it. (A type checker
takes every such field to have a default; a missing argument is an error when the program runs.)
"""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.types import Adjacency

Number = int | float | str | Fraction | Decimal
"""A number as people write it; a float is the decimal that Python prints for it."""

_REQUIRED: Any = dataclasses.MISSING

if TYPE_CHECKING:

    class AsFraction:
        """Set with a Number, read as a Fraction."""

        def __init__(self, default: Any = _REQUIRED) -> None: ...
        def __get__(self, instance: Any, owner: Any = None) -> Fraction: ...
        def __set__(self, instance: Any, value: Number) -> None: ...

    class AsWhole:
        """Set with a whole Number, read as an int."""

        def __init__(self, default: Any = _REQUIRED) -> None: ...
        def __get__(self, instance: Any, owner: Any = None) -> int: ...
        def __set__(self, instance: Any, value: Number) -> None: ...

    class MaybeFraction:
        """Set with a Number or None, read as a Fraction or None."""

        def __init__(self, default: Any = _REQUIRED) -> None: ...
        def __get__(self, instance: Any, owner: Any = None) -> Fraction | None: ...
        def __set__(self, instance: Any, value: Number | None) -> None: ...

    class AsAdjacency:
        """Set with an Adjacency or its name, read as an Adjacency."""

        def __init__(self, default: Any = _REQUIRED) -> None: ...
        def __get__(self, instance: Any, owner: Any = None) -> Adjacency: ...
        def __set__(self, instance: Any, value: Adjacency | str) -> None: ...

else:

    def _field(default: Any = _REQUIRED) -> Any:
        return dataclasses.field(default=default)

    AsFraction = AsWhole = MaybeFraction = AsAdjacency = _field
