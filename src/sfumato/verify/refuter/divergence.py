"""Verify, refuter: witnesses against claims about Rényi divergence. Comes in: two inputs, an order, sets of outputs, or
the document of them. Goes out: whether the claim is refuted. No search is imported here.

Outputs are divided into cells, whose chances on both inputs are computed; their divergence is at most that of the
outputs. On the real numbers cells lie between bounds of one, two or three combinations of outputs; where draws can be
listed, each output is a cell.

Guarantee: a witness that `certified` returns shows that the claim is false: the inputs are admitted and adjacent, and
    their laws have a greater divergence than claimed, at an order that the claim speaks of, all in ball arithmetic.
Proof: with chances p_i and q_i of disjoint sets, ln(sum p_i^a q_i^(1-a))/(a-1) is at most the divergence of order a > 1
    (a set that is left out only makes it smaller). Each part is at least its value at the lower end of p_i and the
    upper end of q_i. Sets between bounds are half-open, and their chances are differences of those up to each bound.
Reference: van Erven, Harremoës, IEEE Trans. Information Theory 2014, theorem 9 (data processing).
Checked by: verify::renyi_claims_below_the_curve_are_refuted, verify::a_changed_renyi_witness_is_rejected
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

from flint import arb

from sfumato.errors import InputError
from sfumato.verify.effort import LOOK, is_spent, limited, spend
from sfumato.verify.faults import say_value
from sfumato.verify.finite.law import tagged
from sfumato.verify.kernel.certificate import FORMAT, hash_of
from sfumato.verify.parse import read_program
from sfumato.verify.refuter.chances import NotComputed, ball, with_precision
from sfumato.verify.refuter.documents import (
    exact_inputs,
    exact_number,
    exact_value,
    plain_inputs,
    plain_value,
    shape_document,
    shape_of,
)
from sfumato.verify.refuter.events import OutputPattern, OutputSet, Test, chance_of
from sfumato.verify.refuter.listed import law_at, may_contain, with_balls
from sfumato.verify.refuter.paths import ProgramPath, TooManyPaths, Walker
from sfumato.verify.refuter.witness import admitted, as_input, floor_text, real
from sfumato.verify.run import Env, NotRun, RunFault, Runner, TooLong
from sfumato.verify.tree import Program

REACH, FAR = 24, 120
"""How far Geometric noise is followed at first and then."""
CELL = 60
"""Steps of a search that a cell counts for."""
CHECK = 2 * LOOK
"""Steps of a check: a search that found a witness has certified it with fewer."""
Factors = tuple[tuple[int, Fraction], ...]
FAILS = (NotComputed, NotRun, TooManyPaths, RunFault, TooLong, TypeError, ArithmeticError, InputError)


@dataclass(frozen=True, slots=True)
class DivergenceGrid:
    """Outputs of one shape with these exact leaves, cut at bounds of combinations of the other leaves."""

    pattern: OutputPattern
    cuts: tuple[tuple[Factors, tuple[Fraction, ...]], ...]


Cells = tuple[DivergenceGrid, ...] | tuple[OutputSet, ...]


@dataclass(frozen=True, slots=True)
class DivergenceWitness:
    """Adjacent inputs, an order, sets of outputs, and how much the laws differ at least."""

    one: Env
    two: Env
    order: str
    cells: Cells
    at_least: str
    claim: str


def certified(program: Program, one: Env, two: Env, order: Fraction, cells: Cells) -> DivergenceWitness | None:
    """The witness, if these inputs, this order and these sets of outputs refute the claim."""
    if not program.renyi or order <= 1 or not cells or not are_disjoint(cells) or not admitted(program, one, two):
        return None
    with_precision(256)
    try:
        if any(Runner(program, exact=True).code(part)(one) != order for part in program.renyi[:-1]):
            return None
        most = real(program.renyi[-1], one)
        listed = sum(len(cell.values) for cell in cells if isinstance(cell, OutputSet))
        reach = FAR if listed > 2 * REACH + 2 else REACH
        sides = [chances_of(program, env, cells, reach) for env in (one, two)]
    except FAILS:
        return None
    chances = list(zip(*sides, strict=True))
    a = ball(order)
    bound = most if len(program.renyi) == 2 else most * a
    total = arb(0)
    for first, second in chances:
        p, q = first.lower(), second.upper()
        if p > 0 and second.is_zero():
            return DivergenceWitness(one, two, str(order), cells, "infinite", _text(bound))
        if p > 0 and q > 0:
            total += (a * p.log() + (1 - a) * q.log()).exp()
    if not total > 0:
        return None
    found = total.log() / (a - 1)
    if not found > bound:
        return None
    return DivergenceWitness(one, two, str(order), cells, floor_text(found), _text(bound))


def are_disjoint(cells: Cells) -> bool:
    """Whether no output lies in two of the sets."""
    if all(isinstance(cell, OutputSet) for cell in cells):
        values = [tagged(value) for cell in cells if isinstance(cell, OutputSet) for value in cell.values]
        return len(set(values)) == len(values)
    grids = [cell for cell in cells if isinstance(cell, DivergenceGrid)]
    if len(grids) < len(cells):
        return False
    for grid in grids:
        pattern = grid.pattern
        if pattern.tests or any(list(cut) != sorted(set(cut)) for _, cut in grid.cuts):
            return False
    return all(are_apart(grid.pattern, other.pattern) for at, grid in enumerate(grids) for other in grids[at + 1 :])


def are_apart(first: OutputPattern, second: OutputPattern) -> bool:
    """Whether no output fits both patterns."""
    if first.shape != second.shape:
        return True
    pairs = zip(first.leaves, second.leaves, strict=True)
    return any(a is not None and b is not None and tagged(a) != tagged(b) for a, b in pairs)


def chances_of(program: Program, env: Env, cells: Cells, reach: int) -> list[Any]:
    """Balls that hold the chances of all sets on an input; Geometric noise is followed up to a reach."""
    if isinstance(cells[0], OutputSet):
        law = law_at(program, env, reach, with_balls)
        found = []
        for cell in cells:
            assert isinstance(cell, OutputSet)
            unsure = arb(0) + law.lost
            unsure += sum((weight for value, weight in law.vague if may_contain(cell, value)), arb(0))
            weights = [law.outputs[key][1] for value in cell.values if (key := tagged(value)) in law.outputs]
            total = sum(weights, arb(0))
            found.append(total + unsure * arb(0.5, 0.5))
        return found
    ways = Walker(program).ways(as_input(env))
    return [chance for grid in cells if isinstance(grid, DivergenceGrid) for chance in _grid_chances(grid, ways)]


def _grid_chances(grid: DivergenceGrid, ways: list[ProgramPath]) -> Iterator[Any]:
    """The chances of all cells of a grid: differences of the chances up to bounds."""
    shape = [len(cut) + 1 for _, cut in grid.cuts]
    spend(CELL * prod(shape))
    below: dict[tuple[int, ...], Any] = {}
    for corner in product(*(range(count + 1) for count in shape)):
        below[corner] = arb(0)
        if all(corner):  # bound 0 stands for minus infinity, the last one for infinity
            tests = tuple(
                Test(factors, "<=", cut[at - 1])
                for at, (factors, cut) in zip(corner, grid.cuts, strict=True)
                if at <= len(cut)
            )
            event = OutputPattern(grid.pattern.shape, grid.pattern.leaves, tests)
            below[corner] = chance_of(event, ways)
    for cell in product(*(range(count) for count in shape)):
        total = arb(0)
        for lower in product((0, 1), repeat=len(cell)):
            corner = tuple(at + 1 - down for at, down in zip(cell, lower, strict=True))
            total += (-1) ** sum(lower) * below[corner]
        yield total


def _text(found: Any) -> str:
    return str(found.str(12, radius=False))


def divergence_document(found: DivergenceWitness) -> dict[str, Any]:
    """A witness as one document."""
    return {
        "input": plain_inputs(found.one),
        "neighbour": plain_inputs(found.two),
        "order": found.order,
        "cells": [_cell_document(cell) for cell in found.cells],
        "divergence": found.at_least,
        "claim": found.claim,
    }


def _cell_document(cell: DivergenceGrid | OutputSet) -> dict[str, Any]:
    if isinstance(cell, OutputSet):
        return {"outputs": [plain_value(value) for value in cell.values]}
    return {
        "shape": shape_document(cell.pattern.shape),
        "leaves": [leaf if isinstance(leaf, bool) or leaf is None else str(leaf) for leaf in cell.pattern.leaves],
        "cuts": [
            {"factors": {str(place): str(factor) for place, factor in factors}, "bounds": [str(cut) for cut in cuts]}
            for factors, cuts in cell.cuts
        ],
    }


def _cell_of(said: dict[str, Any]) -> DivergenceGrid | OutputSet:
    if "outputs" in said:
        return OutputSet(tuple(exact_value(value) for value in said["outputs"]))
    leaves = tuple(leaf if isinstance(leaf, bool) or leaf is None else exact_number(leaf) for leaf in said["leaves"])
    cuts = tuple(
        (
            tuple((int(place), exact_number(factor)) for place, factor in cut["factors"].items()),
            tuple(exact_number(bound) for bound in cut["bounds"]),
        )
        for cut in said["cuts"]
    )
    return DivergenceGrid(OutputPattern(shape_of(said["shape"]), leaves, ()), cuts)


def divergence_certificate(program: Program, found: DivergenceWitness) -> dict[str, Any]:
    """The certificate of a refutation."""
    return {
        "format": FORMAT,
        "verdict": "REFUTED",
        "kind": "divergence",
        "program": program.source,
        "hash": hash_of(program.source),
        "witness": divergence_document(found),
    }


def witness_faults(document: dict[str, Any]) -> list[str]:
    """Why a document is no refutation; empty if it is one: everything is computed anew."""
    if document["format"] != FORMAT or document["verdict"] != "REFUTED":
        return ["it is not a certificate of a refutation in this format"]
    if hash_of(document["program"]) != document["hash"]:
        return ["the hash is not that of the program"]
    program, said = read_program(document["program"]), document["witness"]
    one, two = (exact_inputs(said[side]) for side in ("input", "neighbour"))
    cells: Any = tuple(_cell_of(cell) for cell in said["cells"])
    with limited(CHECK):
        found = certified(program, one, two, exact_number(said["order"]), cells)
        if found is None and is_spent():
            return ["there are more sets of outputs than a check goes through"]
    if found is None:
        return ["these inputs and these sets of outputs do not refute the claim"]
    return [] if divergence_document(found) == said else ["the witness has entries that no check reads"]


def said_sets(found: DivergenceWitness) -> str:
    """The sets of outputs in words."""
    if isinstance(found.cells[0], OutputSet):
        values = [value for cell in found.cells if isinstance(cell, OutputSet) for value in cell.values]
        few = ", ".join(say_value(value) for value in values[:6])
        return f"outputs {few}{', …' if len(values) > 6 else ''}"
    count = sum(prod(len(cut) + 1 for _, cut in cell.cuts) for cell in found.cells if isinstance(cell, DivergenceGrid))
    return f"{count} sets of outputs, between bounds"
