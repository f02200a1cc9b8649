"""Verify: inputs on which a program fails, and requirements that nothing satisfies. Comes in: a program. Goes out: an
error.

A fault is only reported with an admitted input that runs into it, for noise that is not a coincidence: the same fault
appears when all noise is moved a little.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sfumato.errors import InputError
from sfumato.verify.cases import Dice, Maker, to_floats
from sfumato.verify.kernel.evaluate import Evaluator, State
from sfumato.verify.kernel.inputs import directions
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.lexer import mistake
from sfumato.verify.run import ITEMS, AtDraw, Env, NotRun, RunFault, Runner, TooLong
from sfumato.verify.tree import Program

CASES = 120
_NUMBERS = ("real", "int", "interval", "range")
_NUDGES = (Fraction(0), Fraction(1, 1009), Fraction(-3, 1013))


def check_inputs(program: Program) -> None:
    """Raise InputError if a requirement is contradictory, or an input that is admitted makes the program fail."""
    _check_neighbours(program)
    maker = Maker(program, seed=3)
    dice = Dice(11)
    seen = False
    for case in maker.cases(CASES, directions(program)[0]):
        seen = True
        for env in (case.one, case.two):
            fault = fault_on(program, env, [Fraction(dice.below(25) - 12, 2) for _ in range(32)])
            if fault is not None:
                what = fault.message if fault.message.startswith("expected") else f"{fault.message} is reached"
                raise mistake(
                    program.source, fault.at, what, detail=f"With {say_input(program, env)}.",
                    hint="Exclude such inputs with `requires`, or test for them.",
                )  # fmt: skip
    if not seen and not is_satisfiable(program):
        raise InputError("no input satisfies what the program requires", hint="Loosen `requires` or the types.")


def _check_neighbours(program: Program) -> None:
    """Some inputs can be adjacent: where none are, every claim would hold."""
    private = [param.type for param in program.params if param.private]
    has_list = any(kind.kind == "list" for kind in private)
    if program.adjacent == "addremove" and not has_list:
        raise mistake(program.source, 0, "expected a private list: `addremove` adds or removes one of its elements")
    numbers = [kind for kind in private if kind.kind in _NUMBERS]
    lists = [kind for kind in private if kind.kind == "list"]
    of_numbers = all(kind.items[0].kind in _NUMBERS for kind in lists)
    if program.adjacent == "moves" and not (
        of_numbers if lists else len(numbers) >= 2 and len(numbers) == len(private)
    ):
        raise mistake(program.source, 0, "expected a private list of numbers: `moves` changes two of its elements")


def fault_on(program: Program, env: Env, noise: list[Fraction]) -> RunFault | None:
    """The fault that a run on an input meets, with this noise and with noise a little off."""
    found = None
    for nudge in _NUDGES:
        moved = [value * (1 + nudge) + nudge for value in noise] if nudge else noise
        try:
            _run(Runner(program, exact=True), env, moved)
            return None
        except TooLong:
            return None
        except NotRun:
            try:
                _run(Runner(program, exact=False), to_floats(env), [float(value) for value in moved])
                return None
            except RunFault as fault:
                found = fault
            except (NotRun, ArithmeticError):
                return None
        except RunFault as fault:
            found = fault
    return found


def _run(runner: Runner, env: Env, noise: list[Any]) -> None:
    running = runner.run(dict(env), 64)
    used = 0
    try:
        stop = next(running)
        while True:
            value = None
            if isinstance(stop, AtDraw):
                value, used = _value(stop, noise[used % len(noise)]), used + 1
            stop = running.send(value)
    except StopIteration:
        return


def _value(stop: AtDraw, noise: Any) -> Any:
    law, args = stop.draw.law, stop.args
    if law == "Exponential":
        return abs(noise)
    if law in ("Geometric", "TruncGeometric"):
        value = type(noise)(round(noise))
        if law == "TruncGeometric":
            value = min(max(value + (args[3] if len(args) > 3 else 0), args[1]), args[2])
        return value
    if law in ("Bernoulli", "Choice", "Uniform"):
        if law == "Uniform" and len(args) == 1:
            if args[0] > ITEMS:
                raise TooLong
            return tuple(type(noise)(k % 2) for k in range(int(args[0])))
        low = args[0] if law == "Uniform" else 0
        count = 2 if law == "Bernoulli" else len(args[0]) if law == "Choice" else int(args[1] - args[0]) + 1
        return type(noise)(low + abs(round(noise * 2)) % count)
    return noise + args[1]


def is_satisfiable(program: Program) -> bool:
    """Whether some input may satisfy what is required, as far as the solver can tell."""
    try:
        evaluator = Evaluator(program, directions(program)[0])
        evaluator.inputs.start()
        state = State(dict(evaluator.inputs.values), {}, [])
        for node in program.requires:
            evaluator.facts.require(evaluator.truth(node, state).one)
    except NoProofRule:
        return True
    solver = evaluator.terms.solver()
    solver.add(*evaluator.facts)
    return str(solver.check()) != "unsat"


def say_input(program: Program, env: Env) -> str:
    """An input in words."""
    names = [param.name for param in program.params] + ["eps"]
    names += [f"{use.name}()" for use in program.uses]
    return ", ".join(f"{name} = {say_value(env[name])}" for name in names if name in env)


def say_value(value: Any) -> str:
    """A value as the language writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(say_value(item) for item in value)}]"
    return str(getattr(value, "value", value))
