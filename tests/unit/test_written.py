"""What statements compute from literals: patterns, intervals, and what EXTRACT gives divided; and a released top-N."""

# ruff: noqa: E501  a statement stands on one line

from __future__ import annotations

from pathlib import Path

import pytest

import sfumato
from sfumato.algebra.interval_values import Span, clocked, read
from tests.corpus import tables


@pytest.fixture(scope="module")
def gate(tmp_path_factory):
    with tables.plain() as plain:
        policy = tables.write(plain, Path(tmp_path_factory.mktemp("written")))
        with sfumato.open(policy) as gateway:
            yield gateway, plain


SAME = {
    "an interval with a clock": "SELECT count(*) FROM visit WHERE started_at < ended_at - interval '1 day 02:30:00'",
    "the same, compared": "SELECT count(*) FROM visit WHERE ended_at - started_at > interval '1 day 02:30:00'",
    "a cast that is added": "SELECT count(*) FROM visit WHERE ended_at > started_at + '1 day 02:30'::interval",
    "counted months": "SELECT count(*) FROM visit WHERE started_at > timestamp '2023-06-01' + 3 * interval '1 month'",
    "an upper pattern": "SELECT count(*) FROM patient WHERE upper(name) LIKE upper('%an%')",
    "a pattern of parts": "SELECT count(*) FROM visit WHERE note LIKE '%' || 'test' || '%'",
    "a part of a month": "SELECT extract(month FROM born) / 5 AS k, count(*) FROM patient GROUP BY 1",
    "a condition on it": "SELECT count(*) FROM patient WHERE extract(month FROM born) / 4 > 2.5",
    "its sum": "SELECT sum(extract(day FROM born) / 7) FROM patient",
    "through a sub-query": "SELECT k / 5, n FROM (SELECT extract(month FROM day) AS k, count(*) AS n FROM visit GROUP BY 1) t WHERE n > 0",
    "whole again": "SELECT extract(month FROM born)::int // 5 AS k, count(*) FROM patient GROUP BY 1",
}


@pytest.mark.parametrize("name", SAME)
def test_what_is_computed_from_literals_means_what_plain_sql_says(name, gate):
    gateway, plain = gate
    ours = gateway.sql(SAME[name].replace("//", "/")).rows
    rows = sorted(tuple(round(float(v), 4) for v in row) for row in ours if row[-1] and row[0] is not None)
    assert rows == sorted(tuple(round(float(v), 4) for v in row) for row in plain.execute(SAME[name]).fetchall())


def test_a_numeric_part_and_the_same_integer_are_not_one_stored_answer(gate):
    gateway, _ = gate
    parts = [f"extract(day FROM born){cast}" for cast in ("", "::int", "::bigint")]
    for text in ("SELECT sum({} / 5) FROM patient", "SELECT count(*) FROM patient WHERE {} / (age + 1) > 0"):
        first, *whole = (gateway.sql(text.format(part)).rows[0][0] for part in parts)
        assert float(first) > float(whole[0])
        assert whole[0] == whole[1]


def test_a_mean_of_intervals(gate):
    gateway, plain = gate
    texts = "SELECT extract(epoch FROM avg(ended_at - started_at)), extract(epoch FROM sum(ended_at - started_at)) FROM visit"
    epoch = plain.execute(
        "SELECT avg(epoch(ended_at) - epoch(started_at)), sum(epoch(ended_at) - epoch(started_at)) FROM visit"
    ).fetchall()[0]
    assert [float(v) for v in gateway.sql(texts).rows[0]] == pytest.approx(epoch, abs=0.01)
    shown = gateway.sql("SELECT avg(ended_at - started_at), sum(ended_at - started_at) FROM visit").rows[0]
    assert [read(text) is not None for text in shown] == [True, True]


def test_an_interval_is_read_again_as_it_was_written():
    for span in (Span(14, -3, -5_400_000_001), Span(0, 0, 0), Span(-1, 40, 10**12 + 7)):
        assert read(clocked(span)) == span


JOINED = "SELECT kind, count(*) FROM visit JOIN (SELECT kind AS k, count(*) AS n FROM visit GROUP BY kind ORDER BY n DESC LIMIT 2) s ON kind = k GROUP BY kind"
AMONG = "SELECT kind, extract(year FROM day), count(*) FROM visit WHERE day IS NOT NULL AND kind IN (SELECT kind FROM visit GROUP BY kind ORDER BY count(*) DESC LIMIT 2) GROUP BY 1, 2"


def test_a_released_top_n_leaves_its_keys_alone(gate):
    """Superset's series limit: keys that the earlier release rules out are not shown."""
    gateway, plain = gate
    for text in (JOINED, AMONG):
        ours, wanted = gateway.sql(text), plain.execute(text).fetchall()
        assert {row[:-1] for row in ours.rows} == {tuple(row[:-1]) for row in wanted}
        assert gateway.explain(text).refused is None
    kept = gateway.sql(JOINED.replace("JOIN", "LEFT JOIN", 1))
    assert len(kept.rows) == 5
    denied = gateway.sql(
        "SELECT kind, count(*) FROM visit WHERE kind NOT IN (SELECT kind FROM visit GROUP BY kind ORDER BY count(*) DESC LIMIT 2) GROUP BY kind"
    )
    assert len(denied.rows) == 5


def test_exists_beside_no_table_is_answered_by_a_release(gate):
    gateway, _ = gate
    found = gateway.sql(
        "SELECT EXISTS (SELECT 1 FROM visit WHERE cost > 500), EXISTS (SELECT 1 FROM region WHERE r_name = 'x')"
    )
    assert found.columns == ("exists", "exists")
    assert found.rows == [(True, False)]
    assert found.cost.epsilon > 0


def test_an_answer_stored_under_the_old_meaning_is_not_given_again(tmp_path, monkeypatch):
    """Before, EXTRACT was divided as a whole number: the same text is another query now."""
    text = "SELECT count(*) FROM patient WHERE extract(day FROM born) / (age + 1) > 0"
    with tables.plain() as plain:
        policy = tables.write(plain, tmp_path)
    with monkeypatch.context() as before, sfumato.open(policy) as gateway:
        before.setattr("sfumato.algebra.functions.calls._NUMERIC", ())
        old = gateway.sql(text)
    with sfumato.open(policy) as gateway:
        new = gateway.sql(text)
    assert new.cost.epsilon > 0
    assert new.rows[0][0] > old.rows[0][0]
