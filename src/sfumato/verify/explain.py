"""Verify: verdicts for people. Comes in: a verdict. Goes out: lines of text: the coupling as a table, or the witness.

`Δx` is how far x moves from the run on one input to the run on its neighbour; `O` is an output, `p` the place where
inputs differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sfumato.verify import advice
from sfumato.verify.faults import say_input, say_value
from sfumato.verify.kernel.coins import counted_coins
from sfumato.verify.kernel.late import late
from sfumato.verify.kernel.proof import Proof
from sfumato.verify.kernel.renyi import SYMMETRIC
from sfumato.verify.kernel.returns import one_return
from sfumato.verify.lexer import place
from sfumato.verify.refuter.divergence import DivergenceWitness, said_sets
from sfumato.verify.refuter.events import say
from sfumato.verify.relational import table
from sfumato.verify.show import show, show_draw
from sfumato.verify.tree import (
    Binary,
    Draw,
    Expr,
    FunctionCall,
    If,
    Num,
    Program,
    Return,
    Unary,
    While,
    draws_of,
    statements,
)
from sfumato.verify.verdict import Verdict, restriction

_ZERO = Num(Fraction(0))
SHOWN = 12
"""Pairs of chances that are shown of a listing."""
_DIRECTION = {
    "both": "x and any neighbour x'",
    "up": "x' at or above x",
    "down": "x' at or below x",
    "more": "x' has one element more",
    "less": "x' has one element less",
}


def summary(program: Program, verdict: Verdict) -> list[str]:
    """The verdict in a few lines."""
    if verdict.finding is not None:
        return table.summary(program, verdict.finding)
    relation = (
        f"adjacent {f'{program.group}(one)' if program.group > 1 else program.adjacent}"
        if program.adjacent
        else "property"
    )
    if verdict.verdict == "PROVED":
        sizes = f"for all inputs with {limit}" if (limit := restriction(program)) else "for all sizes"
        if isinstance(verdict.scope, dict):
            named = [param.name for param in program.params if param.private and param.type.kind == "list"]
            sizes = f"for {', '.join(f'size({name})' for name in named)} <= {verdict.scope['size']} only"
        lines = [f"PROVED {sizes}: {program.name} satisfies the claim {verdict.claim} ({relation})."]
        return lines if verdict.scope == "all" else [*lines, f"  {verdict.note[:1].upper()}{verdict.note[1:]}."]
    if verdict.verdict == "UNKNOWN":
        lines = [f"UNKNOWN: no proof and no counterexample for {program.name}, claim {verdict.claim} ({relation})."]
        said = [f"  {verdict.note[:1].upper()}{verdict.note[1:]}."]
        return [*lines, *said, *([f"  {verdict.hint}"] if verdict.hint else [])]
    if verdict.divergence is not None:
        return _divergence(program, verdict, verdict.divergence, relation)
    assert verdict.witness is not None
    found = verdict.witness
    changed = [name for name in found.two if found.two[name] != found.one[name]]
    more = "an infinite loss" if found.loss == "infinite" else f"a loss of at least {found.loss}"
    return [
        f"REFUTED: {program.name} does not satisfy the claim {verdict.claim} ({relation}).",
        f"  Input      {say_input(program, found.one)}",
        f"  Neighbour  {', '.join(f'{name} = {say_value(found.two[name])}' for name in changed)}",
        f"  Event      {say(found.event)}",
        f"  Chances    {found.chance_one} and {found.chance_two}: {more}, claimed {found.claim}",
        f"  {advice.why_refuted(program, found)}",
    ]


def _divergence(program: Program, verdict: Verdict, found: DivergenceWitness, relation: str) -> list[str]:
    """A refuted claim about Rényi divergence in a few lines."""
    changed = [name for name in found.two if found.two[name] != found.one[name]]
    return [
        f"REFUTED: {program.name} does not satisfy the claim {verdict.claim} ({relation}).",
        f"  Input      {say_input(program, found.one)}",
        f"  Neighbour  {', '.join(f'{name} = {say_value(found.two[name])}' for name in changed)}",
        f"  Order      {found.order}",
        f"  Divergence at least {found.at_least}, claimed {found.claim}; computed over {said_sets(found)}",
    ]


def explained(program: Program, verdict: Verdict) -> list[str]:
    """The proof as a student can follow it."""
    if verdict.finding is not None:
        return table.explained(program, verdict.finding)
    if verdict.verdict != "PROVED":
        return []
    if verdict.certificate is not None and "listing" in verdict.certificate:
        return _listing(verdict.certificate["listing"])
    if verdict.certificate is not None and "sampled" in verdict.certificate:
        every = " and ".join(verdict.certificate["sampled"]["claim"])
        return ["", f"The loop takes each element by a coin. The program that takes all of them loses at most {every}."]
    if verdict.certificate is not None and "pure" in verdict.certificate:
        inner = replace(verdict, certificate=verdict.certificate["claim"])
        return ["", f"It follows from the claim {verdict.certificate['pure']}:", *explained(program, inner)]
    lines = ["", "Two runs, on x and on x'. Δe is how far e moves from the first to the second."]
    for proof in verdict.proofs:
        where = "" if proof.case is None else f", where {said(proof.case, '')}"
        answer = ", and an output O" if proof.pointwise else ""
        lines += ["", f"Coupling for {_DIRECTION[proof.direction]}{where}{answer}:"]
        tree = counted_coins(program) if proof.counted else program
        tree = one_return(tree) if proof.one_return else tree
        lines += _table(tree, proof)
        counted = [
            f"  spent{number}: the cost of draw {number} so far, divided by {show(unit)}"
            for number, unit in proof.units.items()
            if any(f"#spent{number}" in show(node) for nodes in proof.invariants.values() for node in nodes)
        ]
        if proof.gauss is not None:
            pure, squares = (show(part) for part in proof.gauss)
            lines += [
                "",
                f"Squares sum up to at most {squares}, other costs to {pure}; the Gaussian curve covers the rest.",
            ]
        if proof.tail is not None:
            side = "at least" if proof.tail[1] == "above" else "at most minus"
            lines += ["", f"That draw {proof.tail[0]} is {side} {show(proof.tail[2])} is left to delta."]
        drawn = {draw.number: draw.law for draw in draws_of(tree)}
        if proof.curve is not None and drawn.get(proof.curve[0]) == "Uniform":
            lines += [
                "",
                f"At most the part {show(proof.curve[2])} of all values leaves the range, and is left to delta.",
            ]
        elif proof.curve is not None:
            pure, most = show(proof.curve[1]), _over("1", proof.curve[2])
            if isinstance(proof.curve[2], Binary) and proof.curve[2].op == "/":
                most = _over(show(proof.curve[2].left), proof.curve[2].right)
            left = f"e^k with k = {show(program.claim[0])}" + ("" if pure == "0" else f" - {pure}")
            lines += ["", f"What is moved by at most {most} nats is above {left} times by at most delta."]
        lines += ["", "Where the runs agree:"]
        lines += [f"  line {line}: {text}" for line, text in _agreements(tree, proof)]
        for loop in statements(tree.body):
            if isinstance(loop, While) and loop.number in proof.waits:
                waits = said(proof.waits[loop.number], "")
                line = place(program.source, loop.at)[0]
                lines.append(f"In line {line} the run on the shorter list waits while {waits}.")
            if isinstance(loop, While) and proof.invariants.get(loop.number):
                lines.append(f"At the start of each iteration of the loop in line {place(program.source, loop.at)[0]}:")
                lines += [f"  {said(node, '')}" for node in proof.invariants[loop.number]]
        lines += ["where", *counted] if counted else []
    return lines


def _listing(listing: dict[str, Any]) -> list[str]:
    """How everything was listed: what was compared with what."""
    whats = {"rounds": "values that one round may see", "seen": "truths and remainders that are seen"}
    what = whats.get(listing["of"], "inputs")
    lines = [
        "",
        f"All {listing['inputs']} {what} were listed in {listing['pairs']} pairs, with all probabilities on both.",
    ]
    for setting in listing["settings"]:
        public = ", ".join(f"{name} = {value}" for name, value in setting["public"].items())
        rows = setting["chances"][:SHOWN]
        lines.append(f"Chances on one and on the other{f', with {public}' if public else ''}:")
        width = max((len(first) for first, _ in rows), default=0)
        lines += [f"  {first.ljust(width)}  {second}" for first, second in rows]
        more = len(setting["chances"]) - len(rows)
        lines += [f"  and {more} more"] if more > 0 else []
    return [
        *lines,
        "The excess of each probability over e^k times the other is within the claim, for every pair of inputs.",
    ]


def _table(program: Program, proof: Proof) -> list[str]:
    rows = [("line", "draw", "is shifted by", "which costs")]
    followed = {draw.number for draw in draws_of(late(program))}
    for draw in statements(program.body):
        if isinstance(draw, Draw):
            node = proof.shifts.get(draw.number)
            shift = "0" if node is None else said(node, draw.name)
            cost = _cost(draw, node)
            if draw.number not in followed:
                shift, cost = "same as the draw of the previous branch", "the same"
            elif proof.curve is not None and proof.curve[0] == draw.number:
                cost = f"{cost}, paid with delta"
            elif program.renyi and cost != "0" and draw.number in proof.curved:
                cost = f"{cost}, charged by its curve"
            elif program.renyi and cost != "0" and draw.law in SYMMETRIC and draw.law != "Gauss":
                cost = f"({cost})^2, a square"
            rows.append((str(place(program.source, draw.at)[0]), show_draw(draw).replace("#", ""), shift, cost))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _cost(draw: Draw, node: Expr | None) -> str:
    if isinstance(node, FunctionCall) and node.name == "#if":
        test, first, second = node.args
        return f"{_cost(draw, first)} if {said(test, draw.name)}, else {_cost(draw, second)}"
    shift = "0" if node is None else said(node, draw.name)
    if draw.law == "Choice":
        return "at most how far two logarithms of weights move apart"
    if draw.law == "Laplace":
        centre = show(draw.args[1])
        move = "" if draw.args[1] == _ZERO else f" - Δ({centre})"
        if shift == "0":
            return _over(f"|Δ({centre})|" if move else "0", draw.args[0])
        return _over(f"|{shift}{move}|" if move else _size(shift), draw.args[0])
    if shift == "0":
        return "0"
    if draw.law == "Exponential":
        return _over(f"({shift})", draw.args[0])
    if draw.law == "Gauss":
        return f"({shift})^2 / ({show(draw.args[0])})^2, a square"
    rate = draw.args[0]
    if draw.law not in ("Geometric", "TruncGeometric", "Steps"):
        return "0"
    exponent = rate.args[0] if isinstance(rate, FunctionCall) and rate.name == "exp" else FunctionCall("ln", (rate,))
    rate = exponent.arg if isinstance(exponent, Unary) and exponent.op == "-" else Unary("-", exponent)
    return f"{f'({shift})' if draw.law == 'Steps' else _size(shift)} · {show(rate, 9)}"


def _size(shift: str) -> str:
    """|x|; of -x too."""
    return f"|{shift[1:]}|" if re.fullmatch(r"-Δ?\w+(\[\w+\])?", shift) else f"|{shift}|"


def _over(size: str, scale: Expr) -> str:
    """A size in scales, as people write it: |x| / (2/eps) is |x| · eps / 2."""
    if size == "0":
        return "0"
    if isinstance(scale, Binary) and scale.op == "/":
        below = "" if scale.left == Num(Fraction(1)) else f" / {show(scale.left, 9)}"
        return f"{size} · {show(scale.right, 9)}{below}"
    return f"{size} / {show(scale, 9)}"


def _agreements(program: Program, proof: Proof) -> Iterator[tuple[int, str]]:
    followed = {draw.number for draw in draws_of(late(program))}
    for statement in statements(program.body):
        line = place(program.source, statement.at)[0]
        match statement:
            case If(test=test, then=then, other=other):
                inside = list(statements((*then, *other)))
                loud = any(isinstance(inner, Draw | Return | While) for inner in inside)
                if any(isinstance(inner, Draw) and inner.number not in followed for inner in inside):
                    yield line, f"each run takes its own branch of ({show(test)}), and both branches have one draw"
                    continue
                yield (
                    line,
                    f"both take the same branch of ({show(test)})"
                    if loud
                    else f"each run decides ({show(test)}) separately",
                )
            case While(test=test):
                yield line, f"both repeat while ({show(test)})"
            case Return(value=value):
                yield (
                    line,
                    f"if the first returns O, so does the second: {show(value)}"
                    if proof.pointwise
                    else f"both return the same {said(value, '')}",
                )


def said(node: Expr, noise: str) -> str:
    """An expression of a proof in words."""
    if isinstance(node, FunctionCall) and node.name == "#if":
        test, first, second = node.args
        return f"{said(first, noise)} if {said(test, noise)}, else {said(second, noise)}"
    if isinstance(node, Binary) and node.op == "||" and isinstance(node.left, Unary) and node.left.op == "!":
        return f"if {said(node.left.arg, noise)} then {said(node.right, noise)}"
    text = show(node)
    text = re.sub(r"#shift\((\w+(?:\[[^\]]*\])*)\)", r"Δ\1", text)
    text = re.sub(r"#two\((\w+(?:\[[^\]]*\])*)\)", r"\1'", text)
    text = text.replace("#shift", "Δ").replace("#two", "second").replace("#same", "same")
    text = text.replace("#noise", noise).replace("#answer", "O").replace("#second", "O₂")
    text = re.sub(r"#arg\d+_(\d)", r"argument\1", re.sub(r"#(test|drawn|output)\d*", r"\1", text)).replace(
        "#steps", "steps"
    )
    text = re.sub(r"#place\w*", "p", text).replace("#up", "p₁").replace("#down", "p₂")
    return re.sub(r"#spent(\d+)", r"spent\1", text)
