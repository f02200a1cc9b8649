"""What a choice by rank is worth: how many ranks it is off at most, in how small a group nothing is guaranteed, and
between which values the true one lies.

Comes in: what was planned for MIN, MAX, MEDIAN, percentiles or MODE. Goes out: numbers of rows, and a sentence; from
the question, the policy and epsilon alone. From what was drawn: the interval of the value. A value whose interval is
all that was declared is shown as NULL, a mode where a noisy COUNT(*) of the same rows tells a group of which it says
nothing: post-processing of released numbers.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from sfumato.algebra.aggregates import order
from sfumato.algebra.job import FINE
from sfumato.mechanisms import MISS, OrderStatistic
from sfumato.sql.release.release_plan import ReleasedBundle, ReleasePlan
from sfumato.types import show

SURE = Fraction(95, 100)
"""How sure it must be that a choice says nothing: the same for everybody who is told a stored answer."""


@dataclass(frozen=True)
class Ranks:
    """The rows that an end is looked for at (None for other choices), the error in rows, and of which groups it says
    nothing: of those with so many rows or fewer.
    """

    reach: int | None
    error: int
    nothing: int
    fraction: Fraction | None = None
    margin: int = 0
    """So many ranks beyond a quantile its interval reaches, about."""
    starts: int = 1
    """About the size of groups from which on the choice says something: twice the margin that an interval needs."""

    def words(self, confidence: Fraction) -> str:
        """A sentence for people."""
        sure = f"{show(confidence * 100)} %"
        small = f"no guarantee for groups of {self.nothing:,} rows or fewer"
        if self.reach is not None:
            about = f"about {self.reach:,} rows lie at or beyond this value (± {self.error:,} at {sure})"
            return f"not the extreme value itself: {about}; {small}"
        if self.fraction is None:
            return f"at {sure}, no other value has more than {self.error:,} rows more; {small}"
        off = f"within ± {self.error:,} ranks of the exact quantile at {sure}"
        return f"{off}; the interval reaches about {self.margin:,} ranks beyond it on each side; {small}"


def ranks(cut: ReleasePlan, released: ReleasedBundle, confidence: Fraction) -> Ranks | None:
    """What a choice is worth; None for what is none.

    Guarantee: with this probability a choice in a group with more rows than `nothing` is off by at most `error` ranks,
        of rows that count whole.
    Proof: `rank_error` of its law, in weights; a row that counts whole weighs one, or 2^20 where rows are weighed. In a
        group of n rows a quantile is off by max(q, 1 - q) n at most whatever is chosen, an end by n - reach, a mode by
        n: so of n rows with no more than that nothing is said.
    Reference: semantics 3.5.
    Checked by: laws::ranks_are_off_by_no_more_than_is_said
    """
    extra = released.extra
    if extra is None or extra.law is None:
        return None
    whole = 1 if cut.release.below.person_rows == 1 else FINE
    law, candidates = extra.law, extra.candidates[1] - extra.candidates[0] + 1
    error = -(-law.rank_error(candidates, confidence) // whole)
    if not isinstance(law, OrderStatistic):
        return Ranks(None, error, error, starts=error)
    if law.fraction is None:
        reach = -(-law.reach(candidates) // whole)
        return Ranks(reach, error, reach + error, starts=reach)
    margin, q = 0 if extra.around is None else -(-extra.around.enough // whole), law.fraction
    starts = ceil(2 * margin / (min(q, 1 - q) or Fraction(1)))
    return Ranks(None, error, int(error / max(q, 1 - q)), q, margin, starts)


def value_ends(released: ReleasedBundle, cells: tuple[int, ...], confidence: Fraction) -> tuple[Fraction, Fraction]:
    """The interval of a value that was chosen by rank, given what was drawn for it.

    Guarantee: with this probability it holds what SQL gives of the rows under the bounds of semantics 3.1.
    Proof: of a quantile, `RankInterval`. Of an end, `OrderStatistic`: but for one chance in ten thousand there is a row
        at what was chosen or further out, or all candidates are in the interval. A row lies at its place or, among
        steps, at the step of its number; all rows lie from the first candidate to the last.
    Reference: semantics 3.5.
    Checked by: laws::rank_intervals_hold_the_quantile, laws::an_end_has_a_row_or_says_nothing,
        laws::intervals_of_choices_hold_what_they_promise
    """
    extra = released.extra
    assert extra is not None
    assert isinstance(extra.law, OrderStatistic)
    first, last = extra.candidates
    chosen = bisect_left(extra.steps, cells[0]) if extra.steps else cells[0]
    if extra.around is not None:
        first, last = extra.around.ends(first, last, chosen, cells[1], confidence)
    elif 1 - confidence >= MISS:
        first, last = (first, chosen) if extra.law.from_end == "low" else (chosen, last)
    grid = Fraction(order.value(extra.aggregate, 1))
    low, high = (extra.steps[end] if extra.steps else end for end in (first, last))
    return min(low, extra.low if first == extra.candidates[0] else low) * grid, max(
        high, extra.high if last == extra.candidates[1] else high
    ) * grid


def says_nothing(released: ReleasedBundle, cells: tuple[int, ...]) -> bool:
    """Whether the interval of a value is all that was declared: the same for everybody who is told a stored answer."""
    assert released.extra is not None
    grid = Fraction(order.value(released.extra.aggregate, 1))
    whole = released.extra.low * grid, released.extra.high * grid
    return value_ends(released, cells, SURE) == whole
