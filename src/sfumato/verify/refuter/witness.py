"""Verify, refuter: a witness, and how it is certified. Comes in: two inputs and an event. Goes out: chances, loss,
verdict.

Guarantee: a witness that `certified` returns shows that the claim is false: the inputs are admitted and adjacent, and
    Pr[P(x) in E] > e^k Pr[P(x') in E] + delta, all in ball arithmetic.
Proof: both chances are balls that hold the true ones (chances.py), e^k is one, and the lower end of the difference is
    positive.
Reference: the definition of differential privacy; Johansson 2017 for balls.
Checked by: verify::a_changed_witness_is_rejected, verify::witnesses_agree_with_samples
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from flint import arb

from sfumato.verify.adjacent import are_adjacent
from sfumato.verify.cases import Maker
from sfumato.verify.finite.admit import surely_admitted
from sfumato.verify.refuter.chances import NotComputed, ball, with_precision
from sfumato.verify.refuter.events import OutputPattern, OutputSet, begins, chance_of
from sfumato.verify.refuter.listed import listed_chance
from sfumato.verify.refuter.paths import TooManyPaths, Walker
from sfumato.verify.run import Env, NotRun, RunFault, TooLong
from sfumato.verify.tree import Binary, Expr, FunctionCall, Num, Program, Unary, Var


@dataclass(frozen=True, slots=True)
class Witness:
    """Adjacent inputs (functions of `uses` as numbers under `f()`), an event, and what was computed: texts of balls."""

    one: Env
    two: Env
    event: OutputPattern | OutputSet
    chance_one: str
    chance_two: str
    loss: str  # at least this, in nats; "infinite"
    claim: str
    size: float  # of the chance on the first input: how often a sampler sees it


REACHES = (24, 96)
"""How far Geometric noise is followed, until the chances tell."""


def certified(
    program: Program, one: Env, two: Env, event: OutputPattern | OutputSet, bits: int = 512
) -> Witness | None:
    """The witness, if these inputs and this event refute the claim."""
    if not admitted(program, one, two):
        return None
    with_precision(bits)
    for chances in _ways_to_chances(program, event):
        try:
            first, second = (chances(env) for env in (one, two))
            limits = [real(part, one) for part in program.claim]
        except (NotComputed, NotRun, TooManyPaths, RunFault, TooLong):
            continue
        if refutes(first, second, limits):
            return _witness((one, two), event, (first, second), limits)
    return None


def _ways_to_chances(program: Program, event: OutputPattern | OutputSet) -> Iterator[Callable[[Env], Any]]:
    """Functions that compute the chance of an event on an input: along ways, or by listing."""
    if isinstance(event, OutputPattern):
        walker = Walker(program)
        yield lambda env: chance_of(event, walker.ways(as_input(env), partial(begins, event)))
    for reach in REACHES:
        yield lambda env, reach=reach: listed_chance(program, env, event, reach)  # type: ignore[misc]  # bound now


def _witness(
    inputs: tuple[Env, Env], event: OutputPattern | OutputSet, chances: tuple[Any, Any], limits: list[Any]
) -> Witness:
    (one, two), (first, second) = inputs, chances
    rest = first - (limits[1] if len(limits) > 1 else 0)
    loss = "infinite" if second == 0 else floor_text((rest.lower() / second.upper()).log())
    return Witness(one, two, event, _text(first), _text(second), loss, _text(limits[0]), float(first.mid()))


def refutes(first: Any, second: Any, limits: list[Any]) -> bool:
    """Pr1 > e^k Pr2 + delta, for certain."""
    delta = limits[1] if len(limits) > 1 else arb(0)
    return bool(first > limits[0].exp() * second + delta)


def admitted(program: Program, one: Env, two: Env) -> bool:
    """Whether two inputs are admitted and adjacent."""
    maker = Maker(program)
    wanted = {"eps", "delta", *(param.name for param in program.params), *(f"{use.name}()" for use in program.uses)}
    if set(one) != wanted or set(two) != wanted:
        return False  # a variable that comes in with a value would not be what the program makes it
    if not surely_admitted(program, one) or not surely_admitted(program, two):
        return False
    return are_adjacent(program, one, two, maker.bound) or _chained(program, one, two, maker)


def _chained(program: Program, one: Env, two: Env, maker: Maker) -> bool:
    """Whether steps through admitted inputs, of which each changes one private number, lead from one to the other."""
    names = [param.name for param in program.params if param.private and param.type.kind in ("int", "range")]
    here = one
    for _ in range(program.group):
        moving = next((name for name in names if here[name] != two[name]), None)
        if moving is None:
            break
        step = max(min(two[moving] - here[moving], Fraction(1)), Fraction(-1))
        there = {**here, moving: here[moving] + step}
        if not surely_admitted(program, there) or not are_adjacent(program, here, there, maker.bound, 1):
            return False
        here = there
    return program.adjacent == "one" and here == two


def as_input(env: Env) -> Env:
    """An environment in which functions of `uses` can be called."""
    return {name: (lambda _, found=value: found) if name.endswith("()") else value for name, value in env.items()}


def real(node: Expr, env: Env) -> Any:
    """A number of a claim as a ball."""
    match node:
        case Num(value=value):
            return ball(value)
        case Var(name=name) if isinstance(env.get(name), Fraction):
            return ball(env[name])
        case Unary(op="-", arg=arg):
            return -real(arg, env)
        case FunctionCall(name="size", args=(Var(name=name),)):
            return arb(len(env[name]))
        case FunctionCall(name="abs" | "exp" | "ln" | "sqrt" as name, args=(arg,)):
            inside = real(arg, env)
            functions: dict[str, Callable[[Any], Any]] = {"abs": abs, "exp": arb.exp, "ln": arb.log, "sqrt": arb.sqrt}
            return functions[name](inside)
        case FunctionCall(name="min" | "max" as name, args=(left, right)):
            return getattr(real(left, env), name)(real(right, env))
        case Binary(op=op, left=left, right=right) if op in ("+", "-", "*", "/"):
            a, b = real(left, env), real(right, env)
            return a + b if op == "+" else a - b if op == "-" else a * b if op == "*" else a / b
        case Binary(op="^", left=left, right=Num(value=power)) if power.denominator == 1:
            return real(left, env) ** int(power)
    raise NotRun


def _text(found: Any) -> str:
    return str(found.str(12, radius=False))


def floor_text(found: Any) -> str:
    """A number that is certainly not above: six digits, rounded down."""
    low = found.lower()
    digits = int((low * 10**6).floor().unique_fmpz())
    return (
        f"{digits // 10**6}.{digits % 10**6:06d}".rstrip("0").rstrip(".")
        if digits >= 0
        else str(Fraction(digits, 10**6))
    )
