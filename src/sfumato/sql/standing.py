"""Sums of each person's rows that are stored when rows are prepared: those that a question about a whole table adds up.

Comes in: a policy and one of its tables. Goes out: the sums as SQL spells them, and the SELECT that stores them, a row
for each person. A question finds them by their spelling: the same words over the same rows are the same number.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from sfumato.errors import QueryError
from sfumato.policy import Policy
from sfumato.sql.aggregates import AGGREGATES
from sfumato.sql.aggregates.base import SUMS, Bundle
from sfumato.sql.bind import bind
from sfumato.sql.counted import ROWS, stored_sum
from sfumato.sql.parse import parse
from sfumato.sql.select import select
from sfumato.sql.sources import scan_of
from sfumato.sql.write import grid_of, spelled
from sfumato.words import identifier

_OF_A_COLUMN = ("COUNT({0})", "SUM({0})", "AVG({0})", "VAR_POP({0})", "COUNT(DISTINCT {0})")
_SURELY = 1 << 31
"""Steps of one row whose sum over any person's rows is held in 64 bits; what is longer is held in 128."""


def standing_sums(policy: Policy, table: str) -> dict[str, str]:
    """The sums that are stored for a table, by their spelling, with the type of their columns."""
    found: dict[str, str] = {}
    for bundle in _bundles(policy, table):
        narrow = "BIGINT" if bundle.length / grid_of(bundle) < _SURELY else "HUGEINT"
        found |= dict.fromkeys(spelled(bundle), narrow)
    return found


def _bundles(policy: Policy, table: str) -> Iterator[Bundle]:
    """Of COUNT(*) and of what can be asked of each column; the rest is refused, as a question would be."""
    columns = [identifier(name) for name in policy.tables[table].columns]
    for form in ("COUNT(*)", *(text.format(name) for name in columns for text in _OF_A_COLUMN)):
        try:
            asked = bind(parse(f"SELECT {form} FROM {identifier(table)}"), policy, date(2000, 1, 1))
        except QueryError:
            continue
        for release in asked.releases:
            for _, aggregate in release.aggregates:
                if AGGREGATES[aggregate.name].measure == SUMS:
                    yield AGGREGATES[aggregate.name].bundle(aggregate)


def people(policy: Policy, table: str, sums: dict[str, str]) -> str:
    """The SELECT over a kept table that gives one row for each person: her number of rows, and these sums."""
    scan = scan_of(policy.tables[table], policy, 0, stored=True)
    shown = [f"CAST({sum_} AS {kind}) AS {stored_sum(i)}" for i, (sum_, kind) in enumerate(sums.items())]
    head = ", ".join([f"COUNT(*) AS {identifier(ROWS)}", *shown])
    return f"SELECT {head} FROM ({select(scan, scan.columns)}) AS q GROUP BY _u"
