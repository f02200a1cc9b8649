"""How many people have how much in a query: what `rows_per_unit = "auto"` of that query is estimated from.

Comes in: a bound query. Goes out: another one over the same private rows: people by the number of their rows; where the
query counts people, of their groups; where it is one SUM, by the sizes of their values added up, as multiples of the
largest value (semantics 3.1). Bucket k is for more than 2^(k-1) and up to 2^k of these; as many buckets as C needs.

Guarantee: a person changes one bucket by one under add-remove; under replace she leaves one and enters one.
Proof: it is a query like any other, and goes through planning, the checker and the charge: rows are grouped by the
    person, so that each has one row, which has one bucket. Nothing about it is taken on trust.
Reference: semantics 1.3, 2.2, 3.1d.
Checked by: laws::people_by_their_rows_in_a_query_move_by_one, laws::an_estimate_of_rows_is_charged_with_its_query
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.algebra.aggregates import AGGREGATES
from sfumato.algebra.functions import call
from sfumato.algebra.relations import Release, grouped, released
from sfumato.algebra.tree import Node
from sfumato.sql.bind import per_unit
from sfumato.sql.bind.bound_query import Bound
from sfumato.sql.bind.constants import constant
from sfumato.sql.query_binding import BoundQuery, question_of
from sfumato.sql.release.bundles import bundles_of
from sfumato.sql.release.plan import pays

_SIZE = "size"
"""The names here have no number in front, so that no column of a query has one of them."""


def estimable(question: BoundQuery) -> Release | None:
    """The one release of a query in which several rows of a person may count; None where there is no such one."""
    paid = [release for release in question.releases if pays(release)]
    return paid[0] if len(paid) == len(question.releases) == 1 and paid[0].below.person_rows > 1 else None


def sizes_question(release: Release, *, clipped: bool) -> BoundQuery:
    """People by how much of theirs reaches a release; `clipped`: a lone SUM is clipped, as under geometric noise."""
    most, last = release.below.person_rows, (release.below.person_rows - 1).bit_length()
    below, summed, unit = release.below, bundles_of(release), Fraction(1)
    if (
        summed.bundles
        and all(bundle.person for bundle in summed.bundles)
        and not summed.extras
        and len(release.sets) == 1
    ):
        below = grouped(below, list(release.keys), [], release.sets, release.number)  # people count once in a group
    size = per_unit.bind("count", (), None, most, 0)
    lone = release.aggregates[0][1] if [one.name for _, one in release.aggregates] == ["sum"] else None
    if clipped and summed.bundles and lone is not None and lone.arg is not None:
        size = per_unit.bind("sum", (call("abs", (lone.arg,)),), lone.where, most, 0)
        unit = summed.bundles[0].length
    own = grouped(below, [], [(_SIZE, size)], ((),), release.number)
    number = call("coalesce", (own.columns[_SIZE], constant(0)))  # a sum of no values is NULL
    ends = [unit * 2**bucket for bucket in range(last)]
    cases: list[Node] = []
    for bucket, end in enumerate(ends):
        cases += [call("<=", (number, constant(int(end) if end.denominator == 1 else end))), constant(bucket)]
    key = call("case", (*cases, constant(last)))
    people = AGGREGATES["count"].bind((), None, 0)
    top = released(own, [("bucket", key)], [("people", people)], ((0,),), release.number)
    return question_of(Bound(top, tuple((name, top.columns[name]) for name in ("bucket", "people"))))
