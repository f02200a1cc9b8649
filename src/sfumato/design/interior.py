"""The search for the best mechanism: an interior point that walks to the optimum of a Program.

Comes in: a Program. Goes out: columns that obey its rows with something to spare, prices of the rows, and how far apart
the two say the optimum lies. All columns share one thing, that they add up to 1 for each input; so each step needs one
small system for each column (`elimination`) and one for the sums: cubic in the inputs and linear in the outputs, where
a general solver sees millions of unrelated entries. Predictor and correctors: Mehrotra 1992, Gondzio 1996.

Nothing here is a promise: the columns are repaired and checked in whole numbers, the prices become a bound in whole
numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

import numpy as np
from numpy.typing import NDArray

from sfumato.design.elimination import WEAK, RootBlock, factor
from sfumato.design.program import LinearProgram, PrivacyRows

Floats = NDArray[np.float64]

ENOUGH = 1e-12
"""The search ends when columns and prices agree to this part of what is at stake."""
MOST = 300
_PATIENCE = 3
"""Steps without a better pair, once they agree to 1e-6: rounding has the last word."""
_SHY = 0.995
"""How far towards the nearest wall a step goes."""
_CORRECTORS = 1
_COARSE = 1e-2
"""Systems are solved with a refinement once columns and prices agree to this."""
_NEAR = 12
"""So many rows for each input from the start; the others join when they become tight."""
_TIGHT = 0.05
"""A row joins when its slack is below this part of the probability it bounds."""
_SHARES = (1.0, 0.7, 0.4, 0.2)
"""How much of a corrector is taken: whatever makes the longest step (Colombo and Gondzio, 2008)."""


@dataclass(frozen=True, eq=False)
class InteriorPoint:
    """Columns and prices, one for each output that the program has; `gap` is in units of what is at stake."""

    columns: Floats
    prices: Floats
    gap: float
    steps: int
    rows: PrivacyRows


@dataclass(eq=False)
class _State:
    k: Floats
    slack: Floats
    price: Floats
    y: Floats
    roots: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Step:
    k: Floats
    slack: Floats
    price: Floats
    y: Floats


def maximise(program: LinearProgram) -> InteriorPoint:
    """The best pair of columns and prices that was met on the way. Rows of far pairs join when they begin to matter."""
    scale = float(np.ptp(program.whole(program.worth), axis=0).sum()) / program.worth.shape[1]
    top = program.whole(program.worth).max(axis=0)
    worth = (program.worth - top) / (scale or 1.0)
    every, among = program.rows, program.rows.near(_NEAR)
    program = replace(program, rows=every.some(among))
    at = _start(program, worth)
    best, waited, steps = InteriorPoint(at.k, at.price, inf, 0, program.rows), 0, 0
    with np.errstate(all="ignore"):  # the last steps may divide by what has become 0: they are not taken
        for steps in range(MOST):
            gap = _gap(program, worth, at)
            if not np.isfinite(gap):
                break
            if gap < best.gap:
                waited = 0 if gap < 0.9 * best.gap else waited
                best = InteriorPoint(at.k, at.price, gap, steps, program.rows)
            waited += best.gap < 1e-6
            if gap < ENOUGH or waited > _PATIENCE:
                break
            try:
                ahead = _walked(program, worth, at, refine=gap < _COARSE)
            except np.linalg.LinAlgError:
                break
            at, among, program = _joined(program, every, among, at, ahead)
    return InteriorPoint(program.settled(best.columns), best.prices * scale, best.gap, steps, best.rows)


def _joined(
    program: LinearProgram, every: PrivacyRows, among: NDArray[np.bool_], at: _State, ahead: _State
) -> tuple[_State, NDArray[np.bool_], LinearProgram]:
    """The state after a step that breaks no row, and the rows from there on: those that have become tight join."""
    if among.all():
        return ahead, among, program
    rest = every.some(~among | (every.here == every.there))
    before, after = rest.slack(at.k), rest.slack(ahead.k)
    part = min(1.0, 0.9 * _length(float(((after - before) / before).min())))
    slack, k = ahead.slack, ahead.k
    if part < 0.9:
        k, slack = at.k + part * (k - at.k), at.slack + part * (slack - at.slack)
        after = rest.slack(k)
    tight = ((after < _TIGHT * k.take(rest.here, axis=1)).any(axis=0)) & (rest.here != rest.there)
    if not tight.any():
        return _State(k, slack, ahead.price, ahead.y, ahead.roots), among, program
    mean = _mean(program, ahead.price * slack)
    wider = np.zeros((len(slack), len(every.here), 2))
    wider[:, among] = np.stack([slack, ahead.price], axis=-1)
    place = np.flatnonzero(~among | (every.here == every.there))[tight]
    wider[:, place] = np.stack([after[:, tight], mean / after[:, tight]], axis=-1)
    among = among.copy()
    among[place] = True
    slack, price = np.moveaxis(wider[:, among], -1, 0).copy()
    return _State(k, slack, price, ahead.y, ahead.roots), among, replace(program, rows=every.some(among))


def _start(program: LinearProgram, worth: Floats) -> _State:
    """Prices inversely to slacks, so that no row is nearer to its wall than another."""
    k, size = program.first, worth.shape[1]
    slack = program.rows.slack(k)
    price = 0.1 / (float(program.count.sum()) * size) / slack
    return _State(k, slack, price, np.zeros(size), np.zeros(k.shape, dtype=bool))


def _gap(program: LinearProgram, worth: Floats, at: _State) -> float:
    """What the prices allow less what the columns reach, in units of what is at stake."""
    if not (at.slack.min() > 0 and at.price.min() >= 0):
        return inf
    allowed = (worth + program.rows.prices(at.price)).max(axis=0)
    allowed = allowed[program.group.back].max(axis=0)
    reached = program.everywhere(worth * at.k).sum()
    missing = np.abs(program.everywhere(at.k) - 1).max() * np.abs(allowed).sum()
    return float(np.abs(allowed.sum() - reached) + missing) / float(worth.shape[1])


@dataclass(frozen=True, eq=False)
class _System:
    """The linear system of one step, ready to be solved for several right sides."""

    program: LinearProgram
    at: _State
    blocks: list[RootBlock]
    sums: Floats
    refine: bool

    def direction(self, target: Floats, dual: Floats, primal: Floats) -> _Step:
        """The step that moves price * slack by target, mends the dual residual and the sums; refined near the end."""
        rows, at = self.program.rows, self.at
        price = target / at.slack
        piece, differ, y = self._solve(dual + rows.prices(price), primal)
        slack = self._slack(piece, differ)
        price -= self._stiff * slack
        if not self.refine:
            return _Step(at.k * (piece + differ), slack, price, y)
        left = dual + rows.prices(price) - y
        piece2, differ2, y2 = self._solve(left, primal - self.program.everywhere(at.k * (piece + differ)))
        slack2 = self._slack(piece2, differ2)
        k = at.k * ((piece + piece2) + (differ + differ2))
        slack += slack2
        slack2 *= self._stiff
        price -= slack2
        return _Step(k, slack, price, y + y2)

    @cached_property
    def _stiff(self) -> Floats:
        return np.asarray(self.at.price / self.at.slack)

    def _solve(self, b: Floats, primal: Floats) -> tuple[Floats, Floats, Floats]:
        piece, differ = self._columns(b)
        y = _shared(self.sums, self.program.everywhere(self.at.k * (piece + differ)) - primal)
        return (*self._columns(b - y), y)

    def _columns(self, b: Floats) -> tuple[Floats, Floats]:
        piece, differ = np.empty_like(b), np.empty_like(b)
        for block in self.blocks:
            at = block.columns[:, None]
            piece[at, block.place], differ[at, block.place] = block.solve(b[at, block.place])
        return piece, differ

    @cached_property
    def _far(self) -> Floats:
        rows = self.program.rows
        far = self.at.k.take(rows.there, axis=1)
        far *= rows.decay
        return np.asarray(far)

    def _slack(self, piece: Floats, differ: Floats) -> Floats:
        """How slacks change, from relative changes: what moves as a whole does not cancel against itself."""
        rows = self.program.rows
        bend = differ.take(rows.here, axis=1)
        bend -= differ.take(rows.there, axis=1)
        if any(block.roots.shape[1] > 1 for block in self.blocks):  # else all of a column is one piece
            apart = piece.take(rows.here, axis=1)
            apart -= piece.take(rows.there, axis=1)
            bend += apart
        bend *= self._far
        out = (piece + differ).take(rows.here, axis=1)
        out *= self.at.slack
        out += bend
        return np.asarray(out)


def _system(program: LinearProgram, at: _State, limit: float, refine: bool) -> _System:
    blocks = factor(program.rows, at.k, at.slack, at.price, at.roots, limit=limit)
    sums = np.zeros((at.k.shape[1],) * 2)
    share = program.count / len(program.group.inputs)
    for block in blocks:
        for z, place, inverse in zip(block.columns, block.place, block.inverse(), strict=True):
            sums[place[:, None], place] += share[z] * inverse
    total = np.zeros_like(sums)
    for back in program.group.back:
        total += sums[np.ix_(back, back)]
    return _System(program, at, blocks, total, refine)


def _shared(square: Floats, right: Floats) -> Floats:
    """The solution of a symmetric system; what its rows do not tell apart, as inputs that almost touch, stays alike."""
    try:
        return np.asarray(np.linalg.solve(square, right))
    except np.linalg.LinAlgError:
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = 1 / np.sqrt(np.diagonal(square))
            scaled = square * scale[:, None] * scale
        if not (np.isfinite(scaled).all() and np.isfinite(right * scale).all()):  # LAPACK would print its own words
            raise
        found = np.linalg.lstsq(scaled, right * scale, rcond=1e-15)[0]
        return np.asarray(found * scale)


def _solved(program: LinearProgram, at: _State, dual: Floats, primal: Floats, *, refine: bool) -> tuple[_System, _Step]:
    """The system and its predictor, for the first limit at which the predictor does what it should; or the best."""
    product = at.price * at.slack
    good = 1e-3 * float(program.count @ product.sum(axis=1)) / at.k.shape[1]
    best: tuple[float, _System, _Step] | None = None
    for limit in WEAK:
        try:
            system = _system(program, at, limit, refine)
            step = system.direction(-product, dual, primal)
        except np.linalg.LinAlgError:
            continue
        off = float(np.abs(dual + program.rows.prices(step.price) - step.y).max())
        if np.isfinite(off) and (best is None or off < best[0]):
            best = off, system, step
        if off < good:
            break
    if best is None:
        raise np.linalg.LinAlgError("no limit gives a system that can be solved")
    return best[1:]


def _walked(program: LinearProgram, worth: Floats, at: _State, *, refine: bool) -> _State:
    """One predictor, one corrector, and further ones while they lengthen the step."""
    dual = worth + program.rows.prices(at.price) - at.y
    primal = 1 - program.everywhere(at.k)
    system, step = _solved(program, at, dual, primal, refine=refine)
    reach, pay = _lengths(at, step)
    before = _mean(program, at.price * at.slack)
    after = _mean(program, (at.price + pay * step.price) * (at.slack + reach * step.slack))
    aim = (after / before) ** 3 * before
    step = _longest(at, step, system.direction(aim - step.slack * step.price, *_nothing(dual)))
    reach, pay = _lengths(at, step)
    for _ in range(_CORRECTORS):
        if min(reach, pay) > 0.9:
            break
        ahead = at.slack + min(1.0, 1.3 * reach + 0.1) * step.slack
        ahead *= at.price + min(1.0, 1.3 * pay + 0.1) * step.price
        target = np.maximum(np.clip(ahead, 0.1 * aim, 10 * aim) - ahead, -10 * aim)
        further = _longest(at, step, system.direction(target, *_nothing(dual)))
        better = _lengths(at, further)
        if sum(better) < reach + pay + 0.02:
            break
        step, (reach, pay) = further, better
    reach, pay = min(1.0, _SHY * reach), min(1.0, _SHY * pay)
    roots = np.zeros_like(at.roots)
    for block in system.blocks:
        roots[block.columns[:, None], block.roots] = True
    return _State(
        at.k + reach * step.k, at.slack + reach * step.slack, at.price + pay * step.price, at.y + pay * step.y, roots
    )


def _nothing(dual: Floats) -> tuple[Floats, Floats]:
    """Right sides for a direction that only moves products."""
    return np.zeros_like(dual), np.zeros(dual.shape[1])


def _longest(at: _State, step: _Step, further: _Step) -> _Step:
    """The step with as much of the further one as allows the longest way."""
    here = step.slack / at.slack, step.price / at.price
    beyond = further.slack / at.slack, further.price / at.price
    reach = {w: sum(_length(float((a + w * b).min())) for a, b in zip(here, beyond, strict=True)) for w in _SHARES}
    w = max(reach, key=reach.__getitem__)
    return _Step(
        step.k + w * further.k,
        step.slack + w * further.slack,
        step.price + w * further.price,
        step.y + w * further.y,
    )


def _mean(program: LinearProgram, product: Floats) -> float:
    total = float(program.count @ product.sum(axis=1))
    return total / float(program.count.sum() * product.shape[1])


def _lengths(at: _State, step: _Step) -> tuple[float, float]:
    """How much of the step columns and prices can take until the first of them meets its wall, at most 1."""
    return _length(float((step.slack / at.slack).min())), _length(float((step.price / at.price).min()))


def _length(worst: float) -> float:
    """The part of a step that can be taken where the worst relative change is this one."""
    return 1.0 if worst >= -1 else -1 / worst
