"""The best private mechanism for somebody: her prior, her gain, an epsilon and a metric.

Comes in: what `optimal` is given. Goes out: an Optimum: a mechanism in fractions that has been checked to be private,
its utility, and a bound that no private mechanism exceeds. `program` and `interior` search in floats, `repair` makes
whole numbers of what they find, `certificate` checks them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sfumato.design.certificate import Prices, bound_utility, check
from sfumato.design.dominance import replace
from sfumato.design.gains import Gain
from sfumato.design.interior import InteriorPoint, maximise
from sfumato.design.level import Level
from sfumato.design.line import Paid, on_a_line
from sfumato.design.priors import Prior
from sfumato.design.problem import BITS, Problem, problem_of
from sfumato.design.program import LinearProgram, program_of
from sfumato.design.repair import WIDE, repaired
from sfumato.errors import ClaimError, InputError
from sfumato.mechanisms import Channel
from sfumato.mechanisms.metrics import Metric
from sfumato.reals import as_real
from sfumato.types import as_written, show

Floats = NDArray[np.float64]
TOUCHING = 1e-8
"""Inputs at an epsilon d below this have one row: nobody loses more than that part of a gain."""
MOST = 400
"""Inputs and guesses at most."""
LARGEST = 30_000_000
"""Cells of the search at most, outputs times squared inputs: some ten tables of this size are held at once."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """A private mechanism and how far it is from the best.

    Guarantee: `channel` is epsilon d-private, its utility is at least `utility` (exactly, where gains are fractions),
        and no epsilon d-private mechanism has a utility above `bound`.
    Proof: `certificate.check` has compared every pair of inputs in whole numbers; `bound_utility` is weak duality in
        whole numbers. Both see only the problem and the result; neither relies on the search.
    Reference: Ghosh, Roughgarden, Sundararajan, STOC 2009; Bordenabe, Chatzikokolakis, Palamidessi, CCS 2014.
    Checked by: design::optima_are_private_in_whole_numbers, design::the_bound_is_the_optimum_of_a_second_solver,
        design::geometric_noise_is_the_optimum_of_a_count, design::a_solver_that_lies_is_found_out
    """

    channel: Channel
    utility: Fraction
    bound: Fraction
    level: Level
    problem: Problem = field(repr=False)
    prices: tuple[Prices, ...] = field(repr=False)

    @property
    def gap(self) -> Fraction:
        """How much better the best mechanism can be at most."""
        return self.bound - self.utility

    @cached_property
    def certificate(self) -> dict[str, Any]:
        """What was proved, as a document: numbers as fractions, the matrix and the prices by their digests."""
        digest = hashlib.sha256()
        for paid in self.prices:
            digest.update(repr((paid.here.tolist(), paid.there.tolist(), list(paid.price))).encode())
        return {
            "claim": "private, and within `gap` of the best private mechanism",
            "epsilon": str(self.level),
            "inputs": len(self.problem.inputs),
            "guesses": len(self.problem.guesses),
            "distances": _digest(
                [[None if d is None else f"{float(d):.17g}" for d in row] for row in self.problem.apart]
            ),
            "matrix": _digest([[f"{p.numerator}/{p.denominator}" for p in row] for row in _fractions(self.channel)]),
            "prices": digest.hexdigest(),
            "utility": show(self.utility),
            "bound": show(self.bound),
            "gap": f"{float(self.gap):.3g}",
        }


def optimal(
    prior: Prior,
    gain: Gain,
    epsilon: Any,
    metric: Metric = None,
    *,
    inputs: Sequence[Any] | None = None,
    guesses: Sequence[Any] | None = None,
    distance: Metric = "euclidean",
    tolerance: Any = "1e-6",
) -> Optimum:
    """The mechanism of the largest expected gain among all that are epsilon d-private; outputs are guesses.

    `metric` is the one of privacy, `distance` the one of the gains "distance" and "loss". Raises ClaimError where the
    utility cannot be proved to be within `tolerance` of the best, as a part of what is at stake between the best and
    the worst guesses.

    >>> best = optimal("uniform", "identity", "ln 2", "manhattan", inputs=range(3))
    >>> round(float(best.utility), 9), float(best.gap) < 1e-9
    (0.555555556, True)
    """
    problem = problem_of(prior, gain, epsilon, metric, inputs=inputs, guesses=guesses, distance=distance)
    allowed = as_written(tolerance, "tolerance")
    if max(len(problem.inputs), len(problem.guesses)) > MOST:
        _refuse_size(len(problem.inputs), len(problem.guesses))
    matrix, prices, stake = _searched(problem)
    rows = [[Fraction(int(p), 1 << WIDE) for p in matrix[:, place]] for place in problem.place]
    check(rows, problem.level, [list(row) for row in problem.apart], problem.inputs)
    utility, bound = _utility(problem, rows), bound_utility(problem, prices)
    rounding = Fraction(16 * len(problem.inputs), 1 << BITS)  # of worth and of gains, each in units of 2^-BITS
    if bound - utility > allowed * Fraction(stake) + rounding:
        raise ClaimError(
            "a private mechanism was found, but not proved to be near the best",
            detail=f"It is worth {float(utility):.9g}; none is worth more than {float(bound):.9g}.",
            hint="Allow more by tolerance=, or change what is badly scaled: epsilon, prior or gain.",
        )
    channel = Channel(rows, problem.inputs, problem.guesses, approximate=problem.approximate)
    return Optimum(channel, utility, bound, problem.level, problem, prices)


def _searched(problem: Problem) -> tuple[NDArray[Any], tuple[Prices, ...], float]:
    """Whole numbers for each guess and place, prices for each guess, and what is at stake."""
    worth, distance, own = problem.floats()
    stake = float(np.ptp(worth, axis=0).sum())
    decay = np.array([[_cautious(high) for _, high in row] for row in problem.decays], dtype=object)
    best = int(worth.sum(axis=1).argmax())
    line = on_a_line(worth, distance) if stake > 0 else None
    if line is not None:
        columns, asked = _together(line[0], decay, distance)
        return repaired(columns, np.copy, asked, best), tuple(_prices(rows) for rows in line[1]), stake
    instead = replace(worth, own)
    kept, best = np.unique(instead.kept), int(instead.kept[best])
    matrix = np.zeros((len(worth), problem.places), dtype=object)
    paid: dict[int, Paid] = {}
    if len(kept) == 1 or problem.places == 1:
        matrix[best] = 1 << WIDE
    else:
        program = program_of(worth[kept], distance)
        if program.worth.size * problem.places > LARGEST:
            _refuse_size(len(problem.inputs), len(problem.guesses))
        point = maximise(program)
        columns, asked = _together(point.columns, decay, distance)
        matrix[kept] = repaired(columns, program.whole, asked, int(np.flatnonzero(kept == best)[0]))
        paid = {int(kept[z]): rows for z, rows in _paid(program, point, stake * 1e-16)}
    prices = [_prices([*paid.get(int(z), []), *cover]) for z, cover in zip(instead.kept, instead.covers, strict=True)]
    return matrix, tuple(prices), stake


def _cautious(decay: int) -> int:
    """A decay a little larger than it must be: an epsilon that is computed from the matrix rounds to the one asked."""
    more = decay + (decay >> 64)
    return more if more < 1 << BITS else decay


def _together(columns: Floats, decay: NDArray[Any], distance: Floats) -> tuple[Floats, NDArray[Any]]:
    """Inputs that almost touch are treated alike: a repair would pay more for the rounding between them.

    They get the mean of their columns, and what is asked of one of them by another input is asked of all.
    """
    same = distance < TOUCHING
    while ((wider := same @ same) != same).any():
        same = wider
    if same.sum() > len(same):
        piece = [np.flatnonzero(row) for row in same]
        asked = decay.copy()
        for x, here in enumerate(piece):
            for y, there in enumerate(piece):
                if not same[x, y]:
                    asked[x, y] = decay[np.ix_(here, there)].max()
        decay = asked
    return np.asarray(columns @ (same / same.sum(axis=0))), decay


def _refuse_size(inputs: int, guesses: int) -> NoReturn:
    raise InputError(
        f"a problem of {inputs} inputs and {guesses} guesses is too large for the best mechanism",
        detail=f"At most {MOST} of each where the problem has symmetries, and about 300 where it has none.",
        hint="Take the exponential mechanism or tight constraints, with the best remapping.",
    )


def _paid(program: LinearProgram, point: InteriorPoint, least: float) -> Iterator[tuple[int, Paid]]:
    """For each output the rows that have a price: the images of those of its orbit's first output."""
    rows, seen = point.rows, set()
    pairs = [np.flatnonzero((price > least) & (rows.here != rows.there)) for price in point.prices]
    for outputs, inputs in zip(program.group.outputs, program.group.inputs, strict=True):
        for z, pair, price in zip(outputs[program.group.chosen].tolist(), pairs, point.prices, strict=True):
            if z not in seen:
                seen.add(z)
                here, there = inputs[rows.here[pair]], inputs[rows.there[pair]]
                yield z, list(zip(here.tolist(), there.tolist(), price[pair].tolist(), strict=True))


def _prices(rows: Paid) -> Prices:
    here, there, price = zip(*rows, strict=True) if rows else ((), (), ())
    whole = np.array([int(p * 2.0**BITS) for p in price], dtype=object)
    return Prices(np.array(here, dtype=np.intp), np.array(there, dtype=np.intp), whole)


def _utility(problem: Problem, rows: list[list[Fraction]]) -> Fraction:
    """The expected gain when the output is the guess: exact where gains are fractions, else from below."""
    unit = Fraction(1, 1 << (BITS + WIDE))
    total = Fraction(0)
    lows: dict[int, int] = {}
    for x, (p, row) in enumerate(zip(problem.prior, rows, strict=True)):
        whole, share = 0, Fraction(0)
        for z, chance in enumerate(row):
            g = problem.gain[z][x]
            if isinstance(g, Fraction) and g.denominator > 1:
                share += g * chance
                continue
            if id(g) not in lows:
                lows[id(g)] = g.numerator << BITS if isinstance(g, Fraction) else as_real(g).enclose(BITS)[0]
            whole += lows[id(g)] * chance.numerator * ((1 << WIDE) // chance.denominator)
        total += p * (share + whole * unit)
    return total


def _fractions(channel: Channel) -> list[list[Fraction]]:
    return [[as_written(p) for p in row] for row in channel.matrix]


def _digest(table: list[list[Any]]) -> str:
    return hashlib.sha256(repr(table).encode()).hexdigest()
