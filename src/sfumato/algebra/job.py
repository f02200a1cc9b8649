"""The plan of one release as a value: *sum over privacy units of bound(vector of the unit)*.

Comes in: what `cut` has decided of one grouping set. Goes out: a Job. It holds relations and expressions of our own
algebra (`relations`, `tree`) and the operator that bounds what one unit contributes; no text of any engine. Its meaning
is written down in `engines/reference.py`; an engine compiles it (`write`, `fast`) and must give the same rows.

The bound, in this order:

1. *Rows*: the rows of the relation below the release, each with its unit. Parts of a bundle are functions of a row. In
   a row that feeds more than `together` bundles every part is zero (bundles that count units are not looked at unless
   `limits.alone`).
2. *Keys*: where keys are open, `limits.keys` of a unit's different open keys are kept, by a keyed hash; rows under
   other keys are gone. Before that, where `limits.alone`, units with several rows are gone.
3. *Weight*: n is the number of the unit's rows, g the number of its groups, q the sum over groups of the squares of its
   numbers of rows. A bundle is weighted by the integer floor(2^20 · C / n), 2^20 where n <= C; under `limits.gaussian`
   by C2 over the root of q, rounded down; a bundle that counts units by g instead of n (and by 1 where
   `limits.few`). Where `limits.alone`, units with several rows are gone and the weight is 1. With `clip` the weight is
   floor(2^20 · clip / s), s the sum over groups of the sizes of the unit's sums, both in steps of the grid.
4. *Sums*: for each unit and group the sum of a part over rows, or the largest for a bundle that counts units; times the
   weight; over all units.

An aggregate of `extras` is no sum. A choice gives, for each group and place of a value, the sum of the weights by n of
the rows there (1 where `limits.alone`). A number of different values gives, for each group, how many different values
there are among those that units keep: `different_values` of each unit's pairs of group and value, by a keyed hash.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sfumato.algebra.aggregates.base import Bundle
from sfumato.algebra.functions import common_grid
from sfumato.algebra.relations import Release
from sfumato.algebra.tree import Aggregate

FINE = 1 << 20
"""Weights are whole numbers of 2^-20 (semantics 3.1b)."""


@dataclass(frozen=True)
class ContributionLimits:
    """What bounds one person: `alone` where she has one row; C (or C2), rows, and open keys or different values.

    `few`: she is in no more groups than count, so that in counts of persons her weight is one.
    """

    alone: bool
    gaussian: bool
    bound: Fraction
    most: int
    keys: int
    few: bool = False


@dataclass(frozen=True, eq=False)
class Job:
    """One grouping set of a release: its keys by number (`kept`, of which `chosen` are open), and what is computed."""

    release: Release
    limits: ContributionLimits
    kept: tuple[int, ...]
    chosen: tuple[int, ...]
    bundles: tuple[Bundle, ...]
    clip: Fraction | None
    extras: tuple[Aggregate, ...] = ()
    together: int | None = None
    """How many bundles one row may feed; the engine holds rows to it. None where it may feed all."""
    different_values: tuple[int, ...] = ()
    """How many different values of a person count, for each aggregate of `extras` that counts them."""


def grid_of(bundle: Bundle) -> Fraction:
    """The grid on which all parts of a bundle lie."""
    return common_grid(*(part.facts.grid for part in bundle.parts)) or Fraction(1)
