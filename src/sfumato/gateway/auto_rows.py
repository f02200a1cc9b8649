"""The contribution bound of one query, estimated for a part of its price: `rows_per_unit = "auto"` of a query.

Comes in: a query with "auto", its plan without, and the noisy numbers of people by their rows (`sql.unit_sizes`). Goes
out: how epsilon is divided, and the C for which noise and what is left out are least together. Post-processing: the
query is then planned and charged with this C like any other, true or not (semantics 3.1c).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from sfumato.errors import InputError
from sfumato.gateway.answer import Answer
from sfumato.gateway.clipping import Persons, choose
from sfumato.gateway.query import AUTO, Query
from sfumato.policy import FEW_GROUPS
from sfumato.policy.unknown import STAND_IN
from sfumato.sql.release.plan import Plan
from sfumato.sql.release.release_plan import GAUSSIAN, GEOMETRIC
from sfumato.types import Adjacency, show

SHARE = Fraction(1, 5)
"""What of epsilon pays for the estimate."""
_TITLE = "/* rows per person */"
"""How the ledger calls the estimate of a query: before its text."""
_DIGITS = 10**12


def check_options(query: Query) -> None:
    """InputError where the options exclude one another."""
    if query.rows_per_unit == AUTO and query.within is not None:
        raise InputError('give epsilon with rows_per_unit = "auto", not within: the width depends on what is estimated')


def divided(query: Query, plan: Plan) -> tuple[Query, Query]:
    """The query of the estimate, and the query itself with what is left and no bound of its own yet.

    Guarantee: together they cost no more than the epsilon that was asked for, or than its rho.
    Proof: geometric noise: 1/5 and 4/5 of epsilon. Gaussian noise costs epsilon²/2 in rho: the estimate 1/25 of the
        whole; the rest is an epsilon whose square is at most 24/25 of it, rounded down.
    Reference: semantics 5.3.
    Checked by: laws::an_estimate_of_rows_is_charged_with_its_query
    """
    rest = 1 - SHARE
    if plan.noise == GAUSSIAN:
        rest = Fraction(math.isqrt(int((1 - SHARE**2) * _DIGITS**2)), _DIGITS)
    estimate = query._replace(
        sql=f"{_TITLE} {query.sql}", epsilon=plan.epsilon * SHARE, noise=plan.noise, confidence=Fraction(95, 100)
    )
    return estimate, query._replace(epsilon=plan.epsilon * rest, rows_per_unit=None)


def matters(plan: Plan, lowest: Plan) -> bool:
    """Whether fewer rows of a person would mean less noise: not where, for instance, people are counted."""

    def sizes(of: Plan) -> list[Any]:
        parts = [part for cut in of.cuts for part in cut.parts]
        return [(bundle.scale, bundle.extra) for part in parts for bundle in part.bundles] + [
            p.selection for p in parts
        ]

    return sizes(plan) != sizes(lowest)


def chosen_rows(plan: Plan, people: Answer, adjacency: Adjacency) -> int | None:
    """C by the noisy numbers of people: the least sum of noise in all groups and of what is left out; None for all.

    What is left out is spread over the groups, while each has the whole noise. Where keys are undeclared, a few of them
    are counted, and the size from which they are shown, ln(1/delta) times the noise, stands for the noise; more than
    twice the default number of keys is not considered (`releases`: one noise decides up to there).
    """
    (cut,) = plan.cuts
    assert people.plan is not None
    most, counts = cut.release.below.person_rows, [int(row[1]) for row in people.rows]
    seen = Persons((*counts, 0), people.plan.epsilon, adjacency, alone=False).seen
    groups, opened = max((len(part.groups), bool(part.chosen)) for part in cut.parts)
    noise = groups * _noise(plan, cut.parts[0].share)
    if opened:
        noise *= FEW_GROUPS * math.ceil(-math.log(cut.terms.delta))
        last = (2 * FEW_GROUPS).bit_length()
        seen = (*seen[:last], sum(seen[last:]))
    rows = choose(seen, noise, alone=False) or STAND_IN
    return rows if rows < most else None


def _noise(plan: Plan, share: Fraction) -> Fraction:
    """The size of the noise in one number for each row that counts; without numbers all is spent on keys."""
    share = share or (plan.epsilon if plan.noise == GEOMETRIC else plan.epsilon**2 / 2)
    return 1 / share if plan.noise == GEOMETRIC else Fraction(math.isqrt(int(_DIGITS / share)), 10**6)


def words(rows: int | None, estimate: Answer) -> str:
    """One line for people."""
    assert estimate.plan is not None
    number = "all that the policy allows" if rows is None else rows
    return f"rows_per_unit: {number}, estimated for epsilon {show(estimate.plan.epsilon)}"


NO_DIFFERENCE = "rows_per_unit: not estimated, because a lower bound would not reduce the noise of this query"


def not_yet(plan: Plan) -> str:
    """What a preview says before anything is estimated."""
    return (
        f"rows_per_unit is estimated first, for epsilon {show(plan.epsilon * SHARE)}; the errors shown are upper "
        f"limits: those without a lower bound"
    )
