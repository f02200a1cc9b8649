"""Verify, relational: the decision by exact laws. Comes in: a program with a property. Goes out: two inputs with
different laws, or that there are none, or none up to a size.

For `secrecy` the laws on all private inputs are compared for each public one; for `uniform` each law with that of the
output type.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import Any

from sfumato.errors import InputError
from sfumato.verify.faults import say_input
from sfumato.verify.lexer import mistake
from sfumato.verify.relational.exact import Law, Laws, frozen, thawed
from sfumato.verify.relational.inputs import ProgramInputs
from sfumato.verify.relational.lowbits import length_of, resized, shortened
from sfumato.verify.run import Env, NotRun, RunFault
from sfumato.verify.tree import Num, Program, Var

CHECKED = 10**6
"""Work for the two laws of a difference."""
LEVELS, LOOKED = 12, 3
"""Levels that are decided, and that are looked at where not all inputs can be listed."""
TYPE = 4096
"""Output types with more values are not written out."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What refutes a property: two inputs and an output whose chances differ; for `uniform` one input, two outputs."""

    one: Env
    two: Env
    output: Any
    other_output: Any
    chance: Fraction
    other_chance: Fraction
    bits: int | None = None
    """If so, outputs are known by so many last bits of their bit lists."""


@dataclass(frozen=True, slots=True)
class ExactLawSearch:
    """What exact laws say: a difference; or up to which sizes there is none, and whether that is everything."""

    difference: Difference | None
    limits: dict[str, int] | None
    complete: bool


def enumerate_laws(program: Program, work: int) -> ExactLawSearch:
    """Compare laws, level by level, as far as so much work reaches."""
    inputs, laws = ProgramInputs(program), Laws(program, work)
    known: dict[Any, Law] = {}
    reached, whole = None, True
    for level in range(LEVELS if inputs.growing else 1):
        try:
            found, complete = _level(inputs, laws, known, level)
        except (NotRun, TypeError, KeyError, OverflowError):
            break
        if found is not None:
            return ExactLawSearch(found, None, False)
        whole = whole and complete
        if whole:
            reached = level
        if whole and inputs.is_last(level):
            return ExactLawSearch(None, {}, True)
        if not whole and level >= LOOKED:
            break
    limits = None if reached is None else inputs.limits_at(reached)
    return ExactLawSearch(None, limits, False)


def _level(inputs: ProgramInputs, laws: Laws, known: dict[Any, Law], level: int) -> tuple[Difference | None, bool]:
    complete = True
    uniform = inputs.program.property == "uniform"
    for public, all_public in inputs.publics(level):
        made, all_private = inputs.privates(public, level)
        complete = complete and all_public and all_private
        first: Env | None = None
        for env in made:
            key = _key(env)
            if key not in known:
                known[key] = _law(laws, env)
            if uniform:
                found = not_uniform(inputs, env, known[key])
            elif first is None:
                first, found = env, None
            else:
                found = difference(first, env, known[_key(first)], known[key])
            if found is not None:
                return found, False
    return None, complete


def _law(laws: Laws, env: Env) -> Law:
    try:
        return laws.of(env)
    except RunFault as fault:
        program = laws.program
        raise mistake(
            program.source, fault.at, f"{fault.message} is reached", detail=f"With {say_input(program, env)}.",
            hint="Exclude such inputs with `requires`, or test for them.",
        ) from fault  # fmt: skip


def _key(env: Env) -> Any:
    return tuple((name, frozen(value)) for name, value in sorted(env.items()))


def difference(one: Env, two: Env, law: Law, other: Law) -> Difference | None:
    """Where two laws differ most; None if they are equal."""
    if law == other:
        return None
    zero = Fraction(0)
    outputs = [output for output in {**law, **other} if law.get(output, zero) != other.get(output, zero)]
    best = min(outputs, key=lambda output: (-abs(law.get(output, zero) - other.get(output, zero)), repr(output)))
    output = thawed(best)
    return Difference(one, two, output, output, law.get(best, zero), other.get(best, zero))


def not_uniform(inputs: ProgramInputs, env: Env, law: Law) -> Difference | None:
    """Two outputs that are not equally likely; None if all values of the type are, and nothing else is returned."""
    kind = inputs.program.output
    values = inputs.output_values(kind, env, TYPE)
    keys = [frozen(value) for value in values.items]
    if values.all and all(law.get(key) == Fraction(1, len(keys)) for key in keys) and len(law) == len(keys):
        return None
    zero = Fraction(0)
    seen = list(islice({**dict.fromkeys(law), **dict.fromkeys(keys)}, TYPE))
    often = max(seen, key=lambda key: law.get(key, zero))
    seldom = min(seen, key=lambda key: law.get(key, zero))
    if law.get(often, zero) == law.get(seldom, zero):
        raise NotRun
    return Difference(env, env, thawed(often), thawed(seldom), law.get(often, zero), law.get(seldom, zero))


def last_bits(program: Program, work: int) -> Difference | None:
    """A difference of long bit lists that their last bits show."""
    length, inputs = length_of(program), ProgramInputs(program)
    if length is None or program.property == "uniform":
        return None
    low = length.value if isinstance(length, Num) else inputs.bounds(length, {})[0]
    if low is None or low < 1:
        return None
    for bits in (1, 2):
        try:
            found = enumerate_laws(shortened(program, bits), work).difference
        except InputError:
            continue  # an input of the short program need not be one of the long one
        if found is not None:
            whole = int(-(-low // 1))
            public = {length.name: Fraction(whole)} if isinstance(length, Var) else {}
            one, two = ({**resized(program, env, whole), **public} for env in (found.one, found.two))
            said = replace(found, one=one, two=two, bits=bits)
            if is_difference(program, said):
                return said
    return None


def is_difference(program: Program, said: Difference) -> bool:
    """Whether two inputs are admitted and related, and the chances are those that are said, and differ.

    Guarantee: then the property does not hold.
    Proof: the laws are computed anew, exactly (exact.py), or those of their last bits (lowbits.py); public parts are
        equal; both inputs satisfy what is required.
    Reference: the definition.
    Checked by: verify::a_changed_difference_is_rejected
    """
    inputs, laws = ProgramInputs(program), Laws(program, CHECKED)
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
    envs = (said.one, said.two)
    if said.bits is not None:
        length = length_of(program)
        if length is None or program.property == "uniform":
            return False
        if not 1 <= said.bits <= (length.value if isinstance(length, Num) else said.one[length.name]):
            return False
        laws = Laws(shortened(program, said.bits), CHECKED)
        envs = (resized(program, said.one, said.bits), resized(program, said.two, said.bits))
    try:
        both = [laws.of(env) for env in envs]
    except (NotRun, RunFault, TypeError, KeyError):
        return False
    chances = [
        law.get(frozen(output), Fraction(0)) for law, output in zip(both, (said.output, said.other_output), strict=True)
    ]
    return chances == [said.chance, said.other_chance] and chances[0] != chances[1]
