"""Verify, kernel: a second opinion. Comes in: a condition in SMT-LIB. Goes out: whether cvc5, if it is installed,
agrees.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

STEPS = "200000"
"""Steps of cvc5 for one condition; beyond them it has no opinion."""


def second_solver() -> Callable[[str], bool | None] | None:
    """A function that is True if cvc5 proves a condition, False if it refutes it, None if it does not know."""
    if find_spec("cvc5") is None:
        return None
    import cvc5

    def ask(text: str) -> bool | None:
        solver = cvc5.Solver()
        solver.setOption("rlimit-per", STEPS)
        parser = cvc5.InputParser(solver)
        parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, f"(set-logic ALL)\n{text}", "condition")
        symbols = parser.getSymbolManager()
        answer = ""
        try:
            while not (command := parser.nextCommand()).isNull():
                answer += str(command.invoke(solver, symbols))
        except RuntimeError:  # a formula that it does not take
            return None
        return {"unsat": True, "sat": False}.get(answer.strip())

    return ask
