"""Systems of the interior point, solved without cancellation although their numbers differ by fifteen powers of ten.

Comes in: for each output z its column k, and for each row its slack s and price p. Goes out: the inverse of each
H = sum over rows of (p/s) a a', a = e_here - decay e_there, as a recipe that keeps small differences apart.

Near the optimum rows with a slack of nothing weigh 1e12 times others. A column then moves as a whole, or in a few
pieces that are stiff inside; what tells one stiff piece's motion from another's drowns in H. So:

- unknowns are relative changes t = dk/k. Then H = Laplacian(w) + diag(h), w >= 0 between inputs, h = k (a'p) moderate;
- inputs are eliminated one after another by additions of positive numbers alone (Grassmann, Taksar, Heyman 1985): a
  pivot is the sum of weights to what is left, plus h, never a difference of large numbers;
- the last input of a stiff piece would have a pivot of almost nothing. It becomes a *root*: t = (root's own t) + (small
  difference e), and the roots' system is assembled from slacks and from weights between pieces, again without
  cancellation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.design.program import PrivacyRows

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

WEAK = (1e-4, 1e-6, 1e-3, 1e-8, 1e-2)
"""A pivot below this part of the input's largest weight marks the last input of a stiff piece: what to try, in turn."""
_PANEL = 16
_SMALL = 12


@dataclass(frozen=True, eq=False)
class RootBlock:
    """Columns with the same number of roots. Inputs are reordered by `place`, the roots last.

    `within` is the inverse between inputs that are no roots; `member` says to which root's piece an input belongs;
    `pull` is H times member; `lean` = within pull; `between` is the inverse of the roots' system.
    """

    columns: Places
    place: Places
    k: Floats
    within: Floats
    member: Floats
    pull: Floats
    lean: Floats
    between: Floats

    def solve(self, b: Floats) -> tuple[Floats, Floats]:
        """(motion of the piece, difference from it) for H dk = b, both relative to k and in the order of `place`."""
        right = self.k * b
        free = self.within.shape[1]
        inner = right[:, :free]
        sums = np.einsum("zxr,zx->zr", self.member, right) - np.einsum("zxr,zx->zr", self.lean, inner)
        roots = _times(self.between, sums)
        differ = np.zeros_like(right)
        differ[:, :free] = _times(self.within, inner - _times(self.pull, roots))
        return _times(self.member, roots), differ

    @property
    def roots(self) -> Places:
        """The roots of each column."""
        return self.place[:, self.within.shape[1] :]

    def inverse(self) -> Floats:
        """The inverse of each H, in the order of `place`."""
        free = self.within.shape[1]
        moves = self.member.copy()
        moves[:, :free] -= self.lean
        out = np.matmul(np.matmul(moves, self.between), moves.transpose(0, 2, 1))
        out[:, :free, :free] += self.within
        out *= self.k[:, :, None]
        out *= self.k[:, None, :]
        return np.asarray(out)


def factor(
    rows: PrivacyRows, k: Floats, slack: Floats, price: Floats, roots: NDArray[np.bool_], *, limit: float
) -> list[RootBlock]:
    """The inverses of the systems of all columns. `roots`: those of the step before, likely to be roots again."""
    size = k.shape[1]
    stiff = price / slack
    stiff *= rows.decay * k[:, rows.here]
    stiff *= k[:, rows.there]
    weights = np.zeros((len(k), size, size))
    weights[:, rows.here, rows.there] = stiff
    weights += weights.transpose(0, 2, 1).copy()
    excess = k * rows.prices(price)
    # small probabilities first: an input that holds much of its column stays until the end
    place = np.lexsort((k, roots), axis=1)
    weights = _reordered(weights, place)
    upper, pivots = eliminate(weights, np.take_along_axis(excess, place, 1))
    weak = np.pad(pivots < limit * weights.max(axis=2)[:, :-1], ((0, 0), (0, 1)), constant_values=True)
    found = weak.sum(axis=1)
    again = np.flatnonzero((weak != (np.arange(size) >= size - found[:, None])).any(axis=1))
    if len(again):
        last = np.argsort(weak[again], axis=1, kind="stable")
        place[again] = np.take_along_axis(place[again], last, 1)
        weights[again] = _reordered(weights[again], last)
        upper[again], pivots[again] = eliminate(weights[again], np.take_along_axis(excess[again], place[again], 1))
    blocks = []
    for count in np.unique(found):
        at, free = np.flatnonzero(found == count), size - int(count)
        inner = unit_inverse(upper[at, :free, :free])
        within = np.matmul(inner / pivots[at, None, :free], inner.transpose(0, 2, 1))
        sorted_k, sorted_h = (np.take_along_axis(v[at], place[at], 1) for v in (k, excess))
        blocks.append(
            _assembled(
                rows,
                _Held(at, place[at], sorted_k, sorted_h, weights[at], within, slack[at] * price[at], price[at]),
            )
        )
    return blocks


@dataclass(frozen=True, eq=False)
class _Held:
    columns: Places
    place: Places
    k: Floats
    excess: Floats
    weights: Floats
    within: Floats
    gap: Floats
    price: Floats


def _assembled(rows: PrivacyRows, held: _Held) -> RootBlock:
    """Pieces, what pulls at them, and the roots' own system."""
    count, size = held.k.shape
    free = held.within.shape[1]
    roots = size - free
    if roots == 1:
        member, pull = np.ones((count, size, 1)), held.excess[:, :, None]
        own = held.gap.sum(axis=1)[:, None, None]
    else:
        reach = np.matmul(held.within, held.weights[:, :free, free:])
        piece = np.concatenate([reach.argmax(axis=2), np.broadcast_to(np.arange(roots), (count, roots))], axis=1)
        member = (piece[:, :, None] == np.arange(roots)).astype(np.float64)
        toward = np.matmul(held.weights, member)
        abroad = toward * (1 - member)
        pull = (held.excess + abroad.sum(axis=2))[:, :, None] * member - abroad
        own = -np.matmul(member.transpose(0, 2, 1), abroad)
        own[:, np.arange(roots), np.arange(roots)] = _roots_own(rows, held, piece, -own.sum(axis=2))
    inner = pull[:, :free]
    lean = np.matmul(held.within, inner)
    between = np.linalg.inv(own - np.matmul(inner.transpose(0, 2, 1), lean))
    return RootBlock(held.columns, held.place, held.k, held.within, member, inner, lean, between)


def _roots_own(rows: PrivacyRows, held: _Held, piece: Places, across: Floats) -> Floats:
    """The diagonal of the roots' system: weights to other pieces, and what prices say of the piece as a whole.

    Rows inside a piece say price times slack, which is exact; only rows between pieces, whose prices are small, say the
    difference of two terms.
    """
    home = np.empty_like(piece)
    np.put_along_axis(home, held.place, piece, 1)
    k = np.empty_like(held.k)
    np.put_along_axis(k, held.place, held.k, 1)
    here, there = home[:, rows.here], home[:, rows.there]
    inside = (here == there) | (rows.here == rows.there)
    give = np.where(inside, held.gap, held.price * k[:, rows.here])
    take = np.where(inside, 0.0, held.price * (rows.decay * k[:, rows.there]))
    parts = [
        across[:, r] + (give * (here == r)).sum(axis=1) - (take * (there == r)).sum(axis=1)
        for r in range(across.shape[1])
    ]
    return np.stack(parts, axis=1)


def eliminate(weights: Floats, excess: Floats) -> tuple[Floats, Floats]:
    """(unit upper triangle, pivots) of Laplacian(weights) + diag(excess), the last input grounded.

    Blocked: within a panel row by row, what lies behind it by one product of matrices. The first rows and pivots are
    those that remain if more of the last inputs are grounded.
    """
    w, h = weights.copy(), excess.copy()
    count, free = len(w), weights.shape[1] - 1
    upper = np.zeros((count, free, free))
    pivots = np.empty((count, free))
    for start in range(0, free, _PANEL):
        end = min(start + _PANEL, free)
        for p in range(start, end):
            row = w[:, p, p + 1 :]
            pivots[:, p] = row.sum(axis=1) + h[:, p]
            share = row / pivots[:, p, None]
            np.negative(share[:, :-1], out=upper[:, p, p + 1 :])
            h[:, p + 1 :] += share * h[:, p, None]
            if p + 1 < end:
                w[:, p + 1 : end, p + 1 :] += share[:, : end - p - 1, None] * row[:, None, :]
        panel = w[:, start:end, end:]
        w[:, end:, end:] += np.matmul((panel / pivots[:, start:end, None]).transpose(0, 2, 1), panel)
    upper[:, np.arange(free), np.arange(free)] = 1
    return upper, pivots


def unit_inverse(upper: Floats) -> Floats:
    """The inverse of unit upper triangles whose other entries are at most 0: sums of positive numbers, by halves."""
    size = upper.shape[1]
    if size <= _SMALL:
        return np.asarray(np.linalg.inv(upper))
    half = size // 2
    out = np.zeros_like(upper)
    out[:, :half, :half] = unit_inverse(upper[:, :half, :half])
    out[:, half:, half:] = unit_inverse(upper[:, half:, half:])
    out[:, :half, half:] = -np.matmul(np.matmul(out[:, :half, :half], upper[:, :half, half:]), out[:, half:, half:])
    return out


def _reordered(square: Floats, place: Places) -> Floats:
    return np.asarray(square[np.arange(len(square))[:, None, None], place[:, :, None], place[:, None, :]])


def _times(matrix: Floats, vector: Floats) -> Floats:
    return np.asarray(np.matmul(matrix, vector[:, :, None])[:, :, 0])
