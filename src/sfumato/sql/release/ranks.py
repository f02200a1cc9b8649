"""What a choice by rank is worth: how many ranks it is off at most, and in how small a group nothing is guaranteed.

Comes in: what was planned for MIN, MAX, MEDIAN, percentiles or MODE. Goes out: numbers of rows, and a sentence; from
the question, the policy and epsilon alone. Where the answer tells a noisy COUNT(*) of the same group, and even its
upper end is a group of which the choice says nothing, it is shown as NULL: post-processing of released numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sfumato.mechanisms.order import OrderStatistic
from sfumato.sql.job import FINE
from sfumato.sql.release.releases import Cut, ReleasedBundle
from sfumato.words import show

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

    def words(self, confidence: Fraction) -> str:
        """A sentence for people."""
        sure = f"{show(confidence * 100)} %"
        small = f"nothing is guaranteed in groups of {self.nothing:,} rows or fewer"
        if self.reach is not None:
            return f"about the value that {self.reach:,} rows reach; {sure}: within ± {self.error:,} ranks; {small}"
        if self.fraction is None:
            return f"{sure}: no other value occurs more than {self.error:,} times more often; {small}"
        return f"{sure}: within ± {self.error:,} ranks; {small}"


def ranks(cut: Cut, released: ReleasedBundle, confidence: Fraction) -> Ranks | None:
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
        return Ranks(None, error, error)
    if law.fraction is None:
        reach = -(-law.reach(candidates) // whole)
        return Ranks(reach, error, reach + error)
    return Ranks(None, error, int(error / max(law.fraction, 1 - law.fraction)), law.fraction)
