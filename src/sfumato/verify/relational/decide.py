"""Verify, relational: the decision by exact laws. Comes in: a program with a property. Goes out: two inputs with different
laws, or that there are none, or none up to a size.

For `secrecy` the laws on all private inputs are compared for each public one; for `uniform` each law with that of the
output type.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any

from sfumato.verify.faults import say_input
from sfumato.verify.lexer import mistake
from sfumato.verify.relational.exact import Budget, Law, frozen, law_of, thawed
from sfumato.verify.relational.inputs import Inputs
from sfumato.verify.run import Env, Fault, NotRun, Runner, TooLong
from sfumato.verify.tree import Program

LEVELS = 12
TYPE = 4096
"""Output types with more values are not written out."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What refutes a property: two inputs and an output whose chances differ; for `uniform`, one input and two outputs."""

    one: Env
    two: Env
    output: Any
    other_output: Any
    chance: Fraction
    other_chance: Fraction


@dataclass(frozen=True, slots=True)
class Search:
    """What exact laws say: a difference; or up to which level there is none, and whether that is everything."""

    difference: Difference | None
    level: int | None
    complete: bool
    growing: tuple[str, ...]


def enumerate_laws(program: Program, runs: int) -> Search:
    """Compare laws, level by level, as far as so many runs reach."""
    inputs, runner, budget = Inputs(program), Runner(program), Budget(runs)
    last = inputs.last_level()
    laws: dict[Any, Law] = {}
    reached = None
    for level in range(LEVELS if inputs.growing else 1):
        try:
            found, complete = _level(inputs, runner, budget, laws, level)
        except (TooLong, NotRun, TypeError, OverflowError):
            break
        if found is not None:
            return Search(found, None, False, inputs.growing)
        if not complete:
            break
        reached = level
        if last is not None and level >= last:
            return Search(None, level, True, inputs.growing)
    return Search(None, reached, False, inputs.growing)


def _level(
    inputs: Inputs, runner: Runner, budget: Budget, laws: dict[Any, Law], level: int
) -> tuple[Difference | None, bool]:
    complete = True
    uniform = inputs.program.property == "uniform"
    for public, all_public in inputs.publics(level):
        made, all_private = inputs.privates(public, level)
        complete = complete and all_public and all_private
        first: Env | None = None
        for env in made:
            key = _key(env)
            if key not in laws:
                laws[key] = _law(inputs.program, runner, env, budget)
            if uniform:
                found = not_uniform(inputs, env, laws[key])
            elif first is None:
                first, found = env, None
            else:
                found = difference(first, env, laws[_key(first)], laws[key])
            if found is not None:
                return found, False
    return None, complete


def _law(program: Program, runner: Runner, env: Env, budget: Budget) -> Law:
    try:
        return law_of(runner, env, budget)
    except Fault as fault:
        raise mistake(
            program.source, fault.at, f"{fault.message} is reached", detail=f"With {say_input(program, env)}.",
            hint="Exclude such inputs with `requires`, or test for them.",
        ) from fault  # fmt: skip


def _key(env: Env) -> Any:
    return tuple((name, frozen(value)) for name, value in sorted(env.items()))


def difference(one: Env, two: Env, law: Law, other: Law) -> Difference | None:
    """Where two laws differ most; None if they are equal."""
    zero = Fraction(0)
    outputs = [output for output in {**law, **other} if law.get(output, zero) != other.get(output, zero)]
    if not outputs:
        return None
    best = min(outputs, key=lambda output: (-abs(law.get(output, zero) - other.get(output, zero)), repr(output)))
    output = thawed(best)
    return Difference(one, two, output, output, law.get(best, zero), other.get(best, zero))


def not_uniform(inputs: Inputs, env: Env, law: Law) -> Difference | None:
    """Two outputs that are not equally likely; None if all values of the type are, and nothing else is returned."""
    kind = inputs.program.output
    values = inputs.output_values(kind, env, TYPE)
    if values is None:
        return None
    keys = [frozen(value) for value in values.items]
    if values.all and all(law.get(key) == Fraction(1, len(keys)) for key in keys) and len(law) == len(keys):
        return None
    zero = Fraction(0)
    seen = list(islice({**dict.fromkeys(law), **dict.fromkeys(keys)}, TYPE))
    often = max(seen, key=lambda key: law.get(key, zero))
    seldom = min(seen, key=lambda key: law.get(key, zero))
    if law.get(often, zero) == law.get(seldom, zero):
        return None
    return Difference(env, env, thawed(often), thawed(seldom), law.get(often, zero), law.get(seldom, zero))


def is_difference(program: Program, said: Difference) -> bool:
    """Whether two inputs are admitted and related, and the chances are those that are said, and differ.

    Guarantee: then the property does not hold.
    Proof: the laws are computed anew, exactly (exact.py); public parts are equal; both inputs satisfy what is required.
    Reference: the definition.
    Checked by: verify::a_changed_difference_is_rejected
    """
    inputs, runner = Inputs(program), Runner(program)
    private = {param.name for param in program.params if param.private}
    names = {param.name for param in program.params} | {"eps", "delta"}
    if set(said.one) != names or set(said.two) != names or not 0 <= said.one["delta"] < 1 or said.one["eps"] <= 0:
        return False
    if any(said.one[name] != said.two[name] for name in names - private):
        return False
    if not all(inputs.fits(env) for env in (said.one, said.two)):
        return False
    if program.property == "uniform":
        if said.one != said.two or said.output == said.other_output:
            return False
        outputs = [said.output, said.other_output]
        typed = [inputs.is_output(output, said.one) for output in outputs]
        if not (typed[1] and (typed[0] or said.chance > 0)):
            return False
    elif frozen(said.output) != frozen(said.other_output):
        return False
    try:
        laws = [law_of(runner, env, Budget(10**6)) for env in (said.one, said.two)]
    except (TooLong, NotRun, Fault, TypeError):
        return False
    chances = [
        law.get(frozen(output), Fraction(0)) for law, output in zip(laws, (said.output, said.other_output), strict=True)
    ]
    return chances == [said.chance, said.other_chance] and chances[0] != chances[1]
