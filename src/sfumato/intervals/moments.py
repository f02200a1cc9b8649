"""Intervals of variances, covariances, correlations and regressions: from the noisy sums that they are computed of.

Comes in: an aggregate and its sums in one released row. Goes out: an interval, or None where the noise rules nothing
out; the intervals of sums that it needs are asked for on the way, so that those of many rows are found together. Sums
of products about the true means are linear in the released sums; the means are in intervals of their own, and all that
they might be is covered by the corners of these.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

from sfumato.algebra.aggregates import pair, spread
from sfumato.algebra.aggregates.mean import ends_of
from sfumato.algebra.noise_sums import ONE, Draw, Linear, total, weighed
from sfumato.algebra.noise_widths import Interval
from sfumato.algebra.tree import Aggregate
from sfumato.intervals.sum_intervals import ColumnEnds, RatioQuestion, Steps

Ends = tuple[Fraction, Fraction]
Moments = dict[str, Linear]
"""n ("00"), the sums of a ("10") and b ("01"), of ab ("11"), a² ("20") and b² ("02")."""
_NINES = Fraction(1, 10**9)


def of_one(aggregate: Aggregate, draws: tuple[Draw, ...]) -> Moments:
    """COUNT, SUM and sum of squares of x - low, from the three sums of a variance."""
    rows = spread.weights(*ends_of(aggregate))
    count, first, second = (weighed(row, draws) for row in rows)
    return {"00": count, "10": first, "20": second}


def of_two(aggregate: Aggregate, draws: tuple[Draw, ...]) -> Moments:
    """The moments of y - low and x - low, from the four or nine sums of two numbers."""
    return {name: weighed(row, draws) for name, row in pair.weights(aggregate).items()}


def told(aggregate: Aggregate, draws: tuple[Draw, ...], confidence: Fraction) -> Steps[Interval]:
    """The interval of an aggregate that is no ratio of sums.

    Guarantee: with at least this probability it holds what the exact sums would give.
    Proof: the allowed misses are divided among the means and what is computed about them. About fixed m and k the sum
        of (a - m)(b - k) is linear in the released sums, with weights that are linear in m and in k; so is its noise,
        whose bound by Chernoff is convex in the weights, being the least over s of s (L + c(w/s)), which is jointly
        convex in w and s. An interval at the true means is therefore within those at the corners of any box that holds
        these. A variance takes m and k from one interval. What follows is monotone in each.
    Reference: semantics 3.4; Chernoff's bound as the perspective of a cumulant generating function.
    Checked by: laws::intervals_hold_what_they_promise, unit::every_interval_above_the_cut_holds_what_it_promises
    """
    if aggregate.name in spread.NAMES:
        return (yield from _spread(aggregate, draws, confidence))
    return (yield from _pair(aggregate, draws, confidence))


def _sure(confidence: Fraction, events: int) -> Fraction:
    """What each of so many must be told with, so that all hold together."""
    return 1 - (1 - confidence) / events


def _at(found: ColumnEnds | None) -> Ends | None:
    """The interval of this row."""
    return None if found is None else found.at(0)


def _mean(first: Linear, count: Linear, width: Fraction, sure: Fraction) -> Steps[Ends | None]:
    """Where the true mean is, within its possible range."""
    (found,) = yield [RatioQuestion(first, count, sure)]
    ends = _at(found)
    if ends is None:
        return None
    low, high = max(Fraction(0), ends[0]), min(width, ends[1])
    return (low, high) if low <= high else None


def _about(
    m: Moments, names: str, means: tuple[Ends, Ends], *, sure: Fraction, bottom: Linear = ONE
) -> Steps[Ends | None]:
    """The sum of products about the means (over `bottom`): the hull over the corners of where the means are.

    `names` is yy, xx or yx.
    """
    square, first, second = {"yy": ("20", "10", "10"), "xx": ("02", "01", "01"), "yx": ("11", "01", "10")}[names]
    corners = [(a, b) for a, b in product(means[0], means[1]) if names == "yx" or a <= b]  # the others are the same
    about = (m[square], m[first], m[second], m["00"])
    sums = [total(about, (Fraction(1), -a, -b, a * b)) for a, b in corners]
    found = yield [RatioQuestion(one, bottom, sure, chernoff=True) for one in sums]
    known = [ends for ends in map(_at, found) if ends is not None]
    if len(known) < len(found):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _spread(aggregate: Aggregate, draws: tuple[Draw, ...], confidence: Fraction) -> Steps[Interval]:
    """A variance or its root."""
    low, high = ends_of(aggregate)
    m, samples = of_one(aggregate, draws), aggregate.name.endswith("samp")
    sure = _sure(confidence, 3 if samples else 2)
    mean = yield from _mean(m["10"], m["00"], high - low, sure)
    if mean is None:
        return None
    about = yield from _about(m, "yy", (mean, mean), sure=sure, bottom=m["00"])
    if about is None:
        return None
    down, up = max(Fraction(0), about[0]), max(Fraction(0), about[1])
    if samples:
        grown = yield from _sampled(m["00"], sure)
        if grown is None:
            return None
        down, up = down * grown[0], up * grown[1]
    most = aggregate.facts.high
    if most is not None:
        most = most if aggregate.name.startswith("var") else most * most
        down, up = min(down, most), min(up, most)
    return (down, up) if aggregate.name.startswith("var") else roots((down, up))


def _sampled(count: Linear, sure: Fraction) -> Steps[Ends | None]:
    """n/(n - 1), by which a sample's variance is larger."""
    (found,) = yield [RatioQuestion(count, ONE, sure)]
    ends = _at(found)
    if ends is None or ends[0] <= 1:
        return None
    return ends[1] / (ends[1] - 1), ends[0] / (ends[0] - 1)


def roots(ends: Ends) -> Ends:
    """Square roots, outward."""
    low, high = (Fraction(math.sqrt(end)) for end in ends)
    return low * (1 - _NINES), high * (1 + _NINES)


# two numbers
def _pair(aggregate: Aggregate, draws: tuple[Draw, ...], confidence: Fraction) -> Steps[Interval]:
    name, m = aggregate.name, of_two(aggregate, draws)
    (low_y, high_y), (low_x, high_x) = pair.ends(aggregate)
    asked = _PARTS[name]
    sure = _sure(confidence, 2 + len(asked) + name.endswith("samp"))
    mean_y = yield from _mean(m["10"], m["00"], high_y - low_y, sure)
    mean_x = yield from _mean(m["01"], m["00"], high_x - low_x, sure)
    if mean_y is None or mean_x is None:
        return None
    means = {"yy": (mean_y, mean_y), "xx": (mean_x, mean_x), "yx": (mean_y, mean_x)}
    bottom = m["00"] if name.startswith("covar") else ONE
    known: dict[str, Ends] = {}
    for part in asked:
        ends = yield from _about(m, part, means[part], sure=sure, bottom=bottom)
        if ends is None:
            return None
        known[part] = ends
    for part in ("yy", "xx"):
        if part in known:
            known[part] = max(Fraction(0), known[part][0]), max(Fraction(0), known[part][1])
    if name.startswith("covar"):
        grown: Ends | None = Fraction(1), Fraction(1)
        if name.endswith("samp"):
            grown = yield from _sampled(m["00"], sure)
        most = (high_y - low_y) * (high_x - low_x) / (4 if name.endswith("pop") else 2)
        return None if grown is None else _clipped(times(known["yx"], grown), -most, most)
    x, y = (low_x + mean_x[0], low_x + mean_x[1]), (low_y + mean_y[0], low_y + mean_y[1])
    return known[asked[0]] if len(asked) == 1 else _line(known, x, y, name) if len(asked) == 2 else _fit(name, known)


def _line(known: dict[str, Ends], x: Ends, y: Ends, name: str) -> Interval:
    """The slope of the line that fits best, or where it meets X = 0; None where X may be all the same."""
    if known["xx"][0] <= 0:
        return None
    slope = times(known["yx"], (1 / known["xx"][1], 1 / known["xx"][0]))
    tilted = times(slope, x)
    return slope if name == "regr_slope" else (y[0] - tilted[1], y[1] - tilted[0])


_PARTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("covar_pop", "covar_samp", "regr_sxy"), ("yx",)),
    **dict.fromkeys(("regr_slope", "regr_intercept"), ("yx", "xx")),
    **dict.fromkeys(("corr", "regr_r2"), ("yx", "xx", "yy")),
    "regr_sxx": ("xx",),
    "regr_syy": ("yy",),
}


def _fit(name: str, known: dict[str, Ends]) -> Interval:
    """A correlation, or its square: within what is possible, also where a divisor may be zero; None for all of it."""
    least, most = roots((known["xx"][0] * known["yy"][0], known["xx"][1] * known["yy"][1]))
    low, high = known["yx"]
    if most <= 0:
        return None
    # the nearest to zero that each end can be, or the farthest; what divides by nothing is as far as possible
    ends = [
        end / (least if outward else most) if (least if outward else most) else Fraction(1 if end > 0 else -1)
        for end, outward in ((low, low < 0), (high, high > 0))
    ]
    down, up = max(Fraction(-1), min(Fraction(1), ends[0])), max(Fraction(-1), min(Fraction(1), ends[1]))
    if name == "corr":
        return None if up - down == 2 else (down, up)
    squares = sorted((down * down, up * up))
    down, up = (Fraction(0), squares[1]) if low <= 0 <= high else (squares[0], squares[1])
    return None if up - down == 1 else (down, up)


def _clipped(ends: Ends, low: Fraction, high: Fraction) -> Ends:
    return min(high, max(low, ends[0])), max(low, min(high, ends[1]))


def times(a: Ends, b: Ends) -> Ends:
    """All products."""
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)
