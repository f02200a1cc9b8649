"""Verify: prove the privacy claim of a program, or show two inputs and an event that violate it.

    from sfumato.verify import lifting, program

`program` reads a text of the language, or decorates a Python function; what it returns can be verified, simulated and
shown. `lifting` couples two given distributions within a relation, or shows why it cannot be done.
Solvers are imported when something is verified: parsing programs needs none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.verify.code import Code, program

if TYPE_CHECKING:
    from sfumato.design.lifting import lifting

__all__ = ["Code", "lifting", "program"]


def __getattr__(name: str) -> Any:
    """`lifting`, when it is asked for: checking a certificate does not need it."""
    if name == "lifting":
        from sfumato.design.lifting import lifting

        return lifting
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
