"""Verify, relational: findings for people. Comes in: a finding. Goes out: lines: maps of noise with their inverses, and
at a small size the joint law of both runs as a table with its marginals.

`x'` is x in the second run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sfumato.verify.faults import say_value
from sfumato.verify.finite.draws import outcomes_of
from sfumato.verify.finite.field import LetterField
from sfumato.verify.finite.signs import ParameterDomain
from sfumato.verify.kernel.pair import CouplingCase, CouplingProof, ideal, turned_body
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.lexer import place
from sfumato.verify.relational.documents import event_of
from sfumato.verify.relational.finding import Finding
from sfumato.verify.relational.inputs import ProgramInputs
from sfumato.verify.run import AtDraw, Env, NotRun, RunFault, Runner, TooLong
from sfumato.verify.show import show, show_draw
from sfumato.verify.tree import (
    Binary,
    Draw,
    Expr,
    FunctionCall,
    Index,
    Program,
    Return,
    SequenceLiteral,
    Unary,
    Var,
    While,
    statements,
)

WIDEST = 8
"""Tables have at most so many rows."""


@dataclass(frozen=True, slots=True)
class JointNoiseLaw:
    """The joint law of the noise of two runs on two inputs."""

    one: Env
    two: Env
    masses: dict[tuple[Any, Any], Fraction]
    outputs: dict[tuple[Any, Any], tuple[Any, Any]]

    def marginal(self, side: int) -> dict[Any, Fraction]:
        """The law of one run's noise."""
        found: dict[Any, Fraction] = {}
        for pair, mass in self.masses.items():
            found[pair[side]] = found.get(pair[side], Fraction(0)) + mass
        return found


def summary(program: Program, finding: Finding) -> list[str]:
    """A finding in a few lines."""
    words = f"{program.name} has the property {program.property}"
    if finding.verdict == "PROVED":
        if isinstance(finding.scope, dict):
            sizes = " and ".join(f"{name} <= {limit}" for name, limit in finding.scope.items())
            return [f"PROVED for {sizes} only: {words} there; nothing is known beyond."]
        required = " && ".join(show(node) for node in program.requires)
        limit = f" with {required}" if required else ""
        way = "by a coupling" if finding.coupling is not None else "by exact distributions"
        return [f"PROVED for all inputs{limit}: {words}, {way}."]
    found = finding.difference
    assert found is not None
    private = [param.name for param in program.params if param.private]
    lines = [
        f"REFUTED: {program.name} does not have the property {program.property}.",
        f"  Input      {_said(program, found.one)}",
    ]
    if program.property == "uniform":
        return [
            *lines,
            f"  Events     {event_of(found, found.output)} and {event_of(found, found.other_output)}",
            f"  Chances    {found.chance} and {found.other_chance}",
        ]
    changed = [name for name in private if found.one[name] != found.two[name]]
    return [
        *lines,
        f"  Neighbour  {', '.join(f'{name} = {say_value(found.two[name])}' for name in changed)}",
        f"  Event      {event_of(found, found.output)}",
        f"  Chances    {found.chance} and {found.other_chance}",
    ]


def explained(program: Program, finding: Finding) -> list[str]:
    """The coupling, and a table of it at a small size."""
    coupling = finding.coupling
    if coupling is None:
        return ["", finding.note[:1].upper() + finding.note[1:] + "."] if finding.verdict == "PROVED" else []
    if program.property == "uniform":
        lines = ["", "Two runs: the program, and one that draws its output uniformly (u'). x' is x in the second."]
    else:
        lines = ["", "Two runs, on x and on x', which agree in all public parts. x' is x in the second run."]
    for number, case in enumerate(coupling.cases):
        lines += _case(program, coupling, number, case)
    joint = small_joint(program, coupling)
    return lines + (_table(program, joint) if joint is not None else [])


def _case(program: Program, coupling: CouplingProof, number: int, case: CouplingCase) -> list[str]:
    lines = [""]
    if coupling.tests:
        truths = [(number >> (len(coupling.tests) - 1 - k)) & 1 == 0 for k in range(len(coupling.tests))]
        where = [
            ("" if truth else "not ") + f"({show(test)})" + ("'" if side == 2 else "")
            for (side, test), truth in zip(coupling.tests, truths, strict=True)
        ]
        lines = ["", f"Where {' and '.join(where)}:"]
    draws = {draw.number: draw for draw in statements(program.body) if isinstance(draw, Draw)}
    others = draws
    if program.property == "uniform":
        others = {draw.number: draw for draw in ideal(program).body if isinstance(draw, Draw)}
    for (first, second), (there, back) in sorted(case.couplings.items()):
        one, two = draws[first], others[second]
        image = f"{two.name}'"
        lines += [
            f"  line {place(program.source, one.at)[0]}: {show_draw(one)}",
            f"    {image} = {said(there, one.name)}",
            f"    and back: {one.name} = {said(back, image)}",
        ]
    for side, number_alone in sorted(case.alone):
        if side == 1:
            lines.append(f"  draw {number_alone}, {draws[number_alone].name}, is made by each run alone")
    for loop in statements(program.body):
        if isinstance(loop, While) and case.invariants.get(loop.number):
            lines.append(f"  at the start of each iteration of the loop in line {place(program.source, loop.at)[0]}:")
            lines += [f"    {_invariant(node)}" for node in case.invariants[loop.number]]
    ends = [statement for statement in statements(program.body) if isinstance(statement, Return)]
    return lines + [
        f"  line {place(program.source, end.at)[0]}: both return the same {show(end.value)}" for end in ends
    ]


def _invariant(node: Expr) -> str:
    if isinstance(node, FunctionCall) and node.name == "#same":
        return f"{show(node.args[0])} = {show(node.args[0])}'"
    return show(node)


def said(node: Expr, noise: str) -> str:
    """A map in words: `m xor m'`."""
    text = show(primed(node))
    return re.sub(r"#draw(\d+)", r"draw\1", text.replace("#noise", noise))


def primed(node: Expr, second: bool = False) -> Expr:
    """An expression of a coupling, with names of the second run primed."""
    match node:
        case FunctionCall(name="#two", args=(inside,)):
            return primed(inside, not second)
        case Var(name=name) if second:
            return Var(f"{name}'")
        case Unary(op=op, arg=arg):
            return Unary(op, primed(arg, second))
        case Binary(op=op, left=left, right=right):
            return Binary(op, primed(left, second), primed(right, second))
        case Index(base=base, index=index):
            return Index(primed(base, second), primed(index, second))
        case SequenceLiteral(items=items):
            return SequenceLiteral(tuple(primed(item, second) for item in items))
        case FunctionCall(name=name, args=args):
            return FunctionCall(name, tuple(primed(arg, second) for arg in args))
    return node


# ---- the joint law at a small size


def small_joint(program: Program, coupling: CouplingProof) -> JointNoiseLaw | None:
    """The coupling on two small inputs, as large as a table allows; where `requires` admits none, without it."""
    return _small_joint(program, coupling) or _small_joint(replace(program, requires=()), coupling)


def _small_joint(program: Program, coupling: CouplingProof) -> JointNoiseLaw | None:
    inputs, best = ProgramInputs(program, 64), None
    for level in range(4):
        for public, _ in inputs.publics(level)[:8]:
            made = list(inputs.privates(public, level)[0])
            if not made:
                continue
            joint = joint_law(program, coupling, made[-1 if program.property == "uniform" else 0], made[-1])
            fits = joint is not None and 1 < len(joint.marginal(0)) <= WIDEST
            if joint is not None and fits and (best is None or len(joint.masses) > len(best.masses)):
                best = joint
    return best


def joint_law(program: Program, coupling: CouplingProof, one: Env, two: Env) -> JointNoiseLaw | None:
    """The joint law of the noise of both runs under a coupling; None if a draw is made alone, or there are too many."""
    case = coupling.cases[_which(program, coupling, one, two)]
    if case.alone:
        return None
    masses: dict[tuple[Any, Any], Fraction] = {}
    outputs: dict[tuple[Any, Any], tuple[Any, Any]] = {}
    stack: list[tuple[tuple[Any, ...], Fraction]] = [((), Fraction(1))]
    try:
        while stack:
            given, mass = stack.pop()
            walk = _Walk(program, case, one, two, list(given))
            end = walk.run()
            if end is None:
                stack += [((*given, value), mass * part) for value, part in reversed(walk.choices) if part]
                if len(stack) > 4 * WIDEST:
                    return None
            else:
                pair = (tuple(walk.drawn[0]), tuple(walk.drawn[1]))
                masses[pair], outputs[pair] = mass, end
    except (NotRun, TooLong, RunFault, NoProofRule, KeyError):
        return None
    return JointNoiseLaw(one, two, masses, outputs)


def _which(program: Program, coupling: CouplingProof, one: Env, two: Env) -> int:
    found, runner = 0, Runner(program)
    for side, test in coupling.tests:
        found = 2 * found + (0 if runner.truth(test, dict(one if side == 1 else two)) else 1)
    return found


class _Walk:
    """Both runs, the first with given noise, the second with what the coupling makes of it."""

    def __init__(self, program: Program, case: CouplingCase, one: Env, two: Env, given: list[Any]) -> None:
        turned = replace(program, body=turned_body(program.body, case.turned))
        other = ideal(program, case.order) if program.property == "uniform" else turned
        self.case, self.envs, self.given = case, (dict(one), dict(two)), given
        self.inputs = (one, two)
        self.runners = Runner(turned), Runner(other)
        self.drawn: tuple[list[Any], list[Any]] = ([], [])
        self.last: tuple[dict[int, Any], dict[int, Any]] = ({}, {})
        self.choices: list[tuple[Any, Fraction]] = []

    def run(self) -> tuple[Any, Any] | None:
        """Both outputs; None where more noise is needed, then `choices` holds it."""
        running = [runner.run(env, 100) for runner, env in zip(self.runners, self.envs, strict=True)]
        values: list[Any] = [None, None]
        while True:
            stops: list[Any] = [self._to_draw(run, value) for run, value in zip(running, values, strict=True)]
            if not any(isinstance(stop, AtDraw) for stop in stops):
                return stops[0][0], stops[1][0]
            if not all(isinstance(stop, AtDraw) for stop in stops):
                raise NotRun
            if not self.given:
                self.choices = outcomes_of(stops[0].draw, stops[0].args, ParameterDomain(LetterField(1)), 0)
                return None
            noise = self.given.pop(0)
            values = [noise, self._image(stops, noise)]
            for side, stop in enumerate(stops):
                self.drawn[side].append(values[side])
                self.last[side][stop.draw.number] = values[side]

    @staticmethod
    def _to_draw(run: Any, value: Any) -> Any:
        try:
            stop = run.send(value)
            while not isinstance(stop, AtDraw):
                stop = run.send(None)
        except StopIteration as end:
            return (end.value,)
        return stop

    def _image(self, stops: list[Any], noise: Any) -> Any:
        sites = (stops[0].draw.number, stops[1].draw.number)
        there = self.case.couplings.get(sites, (Var("#noise"), Var("#noise")))[0]
        env: Env = {"#noise": noise}
        for side, mark in enumerate(("", "'")):
            known = {**self.envs[side], **self.inputs[side]}
            known |= {f"#draw{number}": value for number, value in self.last[side].items()}
            env |= {f"{name}{mark}": value for name, value in known.items()}
        return self.runners[0].code(primed(there))(env)


def _table(program: Program, joint: JointNoiseLaw) -> list[str]:
    rows, columns = (sorted(joint.marginal(side)) for side in (0, 1))
    heads = ["", *(_values(column) for column in columns), "sum"]
    sums = joint.marginal(0), joint.marginal(1)
    cells = [heads]
    for row in rows:
        masses = [joint.masses.get((row, column)) for column in columns]
        cells.append([_values(row), *("." if mass is None else str(mass) for mass in masses), str(sums[0][row])])
    cells.append(["sum", *(str(sums[1][column]) for column in columns), "1"])
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    same = all(one == two for one, two in joint.outputs.values())
    private = {param.name for param in program.params if param.private}
    second = ", ".join(f"{name}' = {say_value(joint.two[name])}" for name in joint.two if name in private)
    where = _said(program, joint.one) + ("" if program.property == "uniform" else f", {second}")
    return [
        "",
        f"At {where}: rows are the first run's noise, columns the second's.",
        *("  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells),
        f"Rows and columns sum to both distributions; pairs with mass give {'equal' if same else 'OTHER'} outputs.",
    ]


def _values(values: tuple[Any, ...]) -> str:
    return " ".join(_short(value) for value in values)


def _short(value: Any) -> str:
    """A bit list as its bits."""
    return "".join(str(bit) for bit in value) if isinstance(value, tuple) else say_value(value)


def _said(program: Program, env: Env) -> str:
    return ", ".join(f"{param.name} = {say_value(env[param.name])}" for param in program.params)
