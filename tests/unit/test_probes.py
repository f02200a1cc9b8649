"""Queries that show no row by their text: they read nothing, so they are free and never refused for privacy."""

# ruff: noqa: E501  a query stands on one line
from __future__ import annotations

from datetime import date

import pytest

from sfumato.algebra.relations import releases_in, scans_in
from sfumato.errors import QueryError
from sfumato.sql.query_binding import bind
from sfumato.sql.read.parser import parse
from tests.laws.directed import INT, LIST, policy
from tests.tableless import tableless

MADE = policy({"i": INT, "s": LIST}, rows=3)
EMPTY = [
    "SELECT * FROM t WHERE 1 = 0", "SELECT * FROM t WHERE false", "SELECT * FROM t LIMIT 0", "SELECT u FROM t WHERE NULL",
    "SELECT * FROM t WHERE i > 3 AND 2 < 1", "SELECT * FROM t WHERE 'a' = 'b'", "SELECT * FROM (SELECT * FROM t) q LIMIT 0",
    "SELECT * FROM (SELECT * FROM t WHERE false) q", "SELECT * FROM (SELECT * FROM t LIMIT 0) q", "SELECT * FROM t WHERE NOT true",
    "SELECT s, COUNT(*) FROM t GROUP BY s LIMIT 0", "SELECT * FROM (SELECT s, SUM(i) AS x FROM t GROUP BY s) q WHERE 1 = 0",
]  # fmt: skip
SHOWN = [
    "SELECT * FROM t WHERE 1 = 1", "SELECT * FROM t WHERE i = 0", "SELECT * FROM t LIMIT 1", "SELECT * FROM t WHERE true",
    "SELECT * FROM t WHERE false OR i > 2", "SELECT * FROM t WHERE 1 <> 0", "SELECT * FROM t OFFSET 0",
]  # fmt: skip


@pytest.mark.parametrize("text", EMPTY)
def test_a_query_that_shows_no_row_reads_nothing(text: str) -> None:
    question = bind(parse(text), MADE, date(2024, 1, 1), tableless())
    assert scans_in(question.relation, through=True) == []
    assert releases_in(question.relation) == []
    assert not question.relation.private
    assert question.items


@pytest.mark.parametrize("text", SHOWN)
def test_a_query_that_may_show_rows_is_still_refused(text: str) -> None:
    with pytest.raises(QueryError) as caught:
        bind(parse(text), MADE, date(2024, 1, 1), tableless())
    assert caught.value.sqlstate in ("42501", "0A000")


def test_a_count_over_no_row_is_a_query_like_others() -> None:
    """COUNT(*) has a row of its own, so it is charged: what it shows is noise."""
    question = bind(parse("SELECT COUNT(*) FROM t WHERE false"), MADE, date(2024, 1, 1), tableless())
    assert len(releases_in(question.relation)) == 1
