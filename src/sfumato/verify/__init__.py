"""Verify: prove that a program keeps its privacy claim, or show two inputs and an event that break it.

    from sfumato.verify import program, verify

`program` reads a text of the language, or decorates a Python function; what it returns can be verified, simulated and
shown. Solvers are imported when something is verified: reading programs needs none.
"""

from __future__ import annotations

from sfumato.verify.code import Code, program

__all__ = ["Code", "program"]
