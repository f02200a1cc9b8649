"""A number without an interval is exact, or a note says that it is not: at every interface."""

# ruff: noqa: E501  questions stand on one line
from __future__ import annotations

import csv
import io
from dataclasses import replace

import duckdb
import pytest

import sfumato
from sfumato.gateway import Answer, NumberWorth, worth_notes
from sfumato.intervals import no_interval
from sfumato.server.answer_tables import answer_lines, write_csv
from sfumato.server.pgwire import gateway_calls

T = "(SELECT city, COUNT(*) AS n FROM data GROUP BY city) AS t"
OPEN = "(SELECT url, COUNT(*) AS n FROM data GROUP BY url) AS t"
BARE = {
    f"SELECT COUNT(*) AS x FROM {OPEN}": no_interval.ROWS,
    "SELECT COUNT(*) AS x FROM (SELECT url FROM data GROUP BY url) AS t": no_interval.ROWS,
    f"SELECT SUM(n) AS x FROM {OPEN} WHERE n > 100": no_interval.ROWS,
    f"SELECT url, SUM(n) OVER () AS x FROM {OPEN}": no_interval.ROWS,
    f"SELECT city, RANK() OVER (ORDER BY n) AS x FROM {T}": no_interval.ORDER,
    f"SELECT city, n AS x FROM {T} EXCEPT SELECT city, 5 FROM {T}": no_interval.EQUAL,
    f"SELECT COUNT(*) AS x FROM (SELECT city FROM {T} EXCEPT SELECT city FROM {T} WHERE n < 100) AS e": no_interval.ROWS,
    f"SELECT city, n IN (SELECT COUNT(*) FROM data GROUP BY city) AS x FROM {T}": no_interval.SOUGHT,
    f"SELECT city, n > 100 AS x FROM {T}": no_interval.TRUTH,
    f"SELECT city, CASE WHEN n > 100 THEN 'large' ELSE 'small' END AS x FROM {T}": no_interval.FUNCTION,
    "SELECT BOOL_OR(age > 90) AS x FROM data": no_interval.TRUTH,
    "SELECT COUNT(*) AS x FROM data WHERE age > (SELECT AVG(age) FROM data)": no_interval.STAGED,
    f"SELECT 2 * r AS x FROM (SELECT RANK() OVER (ORDER BY n) AS r FROM {T}) AS s": no_interval.ORDER,
    f"SELECT n AS k, COUNT(*) AS x FROM {T} GROUP BY n": no_interval.ROWS,
}
EXACT = [
    f"SELECT COUNT(*) AS x FROM {T}",
    f"SELECT COUNT(n) AS x FROM {T}",
    f"SELECT city, RANK() OVER (ORDER BY city) AS x FROM {T}",
    f"SELECT city AS x FROM {T} WHERE n > 100",
    "SELECT COUNT(*) FILTER (WHERE age > 300) AS x, COUNT(*) AS n FROM data",
    "SELECT MAX(age) FILTER (WHERE age > 300) AS x, COUNT(*) AS n FROM data",
    "SELECT COUNT(*) AS x FROM data WHERE age > 300",
]


@pytest.fixture(scope="module")
def gate() -> sfumato.Gateway:
    columns = "i AS id, ['A', 'B', 'C'][1 + (i % 7) // 3] AS city, 'u' || (i % 9) AS url, i % 100 AS age"
    frame = duckdb.sql(f"SELECT {columns} FROM range(3000) AS r(i)").arrow()
    return sfumato.protect(
        frame,
        unit="id",
        rows_per_unit=1,
        epsilon=10_000,
        delta=1e-3,
        bounds={"age": (0, 120)},
        values={"city": ["A", "B", "C", "Z"]},
    )


def everywhere(answer: Answer) -> list[str]:
    """What each interface says beside the rows: Python, a notebook, JSON and HTTP, the terminal, the wire."""
    ((_, notice),) = gateway_calls._make(answer, False).result.notices
    return [
        repr(answer),
        answer._repr_html_(),
        "\n".join(f"note on {column}: {text}" for column, text in answer.to_dict()["notes"]),
        "\n".join(answer_lines(answer, answer.worth())),
        str(notice.detail),
    ]


@pytest.mark.parametrize("sql", BARE)
def test_a_noisy_number_without_an_interval_is_named(gate: sfumato.Gateway, sql: str) -> None:
    answer, preview = gate.sql(sql, epsilon=1), gate.explain(sql, epsilon=1)
    place = answer.columns.index("x")
    assert {row[place] for row in answer.intervals()} == {None}
    assert ("x", BARE[sql]) in answer.notes
    assert all(f"note on x: {BARE[sql]}" in text for text in everywhere(answer))
    assert ("x", BARE[sql]) in preview.notes
    assert (preview.columns[place].law, preview.columns[place].note) == ("derived", BARE[sql])


@pytest.mark.parametrize("sql", EXACT)
def test_an_exact_number_is_not_called_noisy(gate: sfumato.Gateway, sql: str) -> None:
    answer = gate.sql(sql, epsilon=1)
    place = answer.columns.index("x")
    assert {row[place] for row in answer.intervals()} <= {None}
    assert not any("no interval" in text or "unknown" in text for text in everywhere(answer))
    assert gate.explain(sql, epsilon=1).columns[place].law == "exact"


PICKED = {
    f"SELECT city, n FROM {T} ORDER BY n DESC LIMIT 2": True,
    f"SELECT city FROM {T} ORDER BY n OFFSET 1": True,
    f"SELECT SUM(n) FROM (SELECT n FROM {T} ORDER BY n LIMIT 2) AS s": True,
    f"SELECT city FROM (SELECT city, RANK() OVER (ORDER BY n) AS r FROM {T}) AS s WHERE r <= 2": True,
    f"SELECT city FROM (SELECT city, 2 * r AS q FROM (SELECT city, RANK() OVER (ORDER BY n) AS r FROM {T}) AS s) AS u WHERE q < 5": True,
    "SELECT DISTINCT ON (u) u, city FROM (SELECT age > 50 AS u, city, COUNT(*) AS n FROM data GROUP BY 1, 2) AS s ORDER BY u, n DESC": True,
    f"SELECT city, n FROM {T} ORDER BY n DESC": False,
    f"SELECT city, n FROM {T} ORDER BY city LIMIT 2": False,
    f"SELECT city, n FROM {T} WHERE n > 100": False,
    f"SELECT city FROM (SELECT city, n, RANK() OVER (ORDER BY city) AS r FROM {T}) AS s WHERE r <= 2": False,
    "SELECT COUNT(*) FROM data ORDER BY 1 LIMIT 1": False,
}


@pytest.mark.parametrize("sql", PICKED)
def test_rows_that_noise_picks_are_said_to_be(gate: sfumato.Gateway, sql: str) -> None:
    answer, preview = gate.sql(sql, epsilon=1), gate.explain(sql, epsilon=1)
    assert ((None, no_interval.PICKED) in answer.notes) is PICKED[sql]
    assert ((None, no_interval.PICKED) in preview.notes) is PICKED[sql]


def test_some_rows_without_an_interval_are_counted(gate: sfumato.Gateway) -> None:
    """A NULL that noise has made is not the NULL of an exact answer."""
    few = f"SELECT * FROM {T} WHERE n > 500"
    answer = gate.sql(f"SELECT t.city, u.n AS x FROM {T} LEFT JOIN ({few}) AS u USING (city)", epsilon=1)
    assert [row[1] is None for row in answer.rows] == [False, False, True, True, True]
    said = "note on x: no interval (rows 3 to 5): the noise decides which values it is computed from"
    assert all(said in text for text in everywhere(answer))


def test_a_reason_that_is_lost_would_be_seen(gate: sfumato.Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.sql.release.plan._without_interval", lambda *_: ())
    answer = gate.sql(f"SELECT COUNT(*) AS x FROM {OPEN} WHERE n > 1", epsilon=1)
    assert not any("no interval" in text for text in everywhere(answer))


def test_the_notice_gives_the_range_of_widths_and_what_is_unknown(gate: sfumato.Gateway) -> None:
    """Not the width of the widest group alone, which is often one with nobody in it."""
    answer = gate.sql("SELECT city, AVG(age) AS a, COUNT(*) AS n FROM data GROUP BY city", epsilon=0.3)
    ((_, notice),) = gateway_calls._make(answer, False).result.notices
    worth = [row[1] for row in answer.worth()]
    assert [one.unknown for one in worth] == [False, False, False, True, True]  # nobody is in Z and in the NULL group
    assert "a ± 1" in notice.message
    assert " (median " in notice.message
    assert "a unknown in 2 of 5 rows" in notice.message
    assert "n ± " in notice.message
    said = (
        "note on a: unknown: the noise is too large to rule out any possible value (rows 4 to 5); use a larger epsilon"
    )
    assert all(said in text for text in everywhere(answer))


def test_the_notice_of_a_long_answer_says_how_to_get_the_widths(gate: sfumato.Gateway) -> None:
    answer = gate.sql("SELECT age, AVG(LENGTH(url)) AS a, COUNT(*) AS n FROM data GROUP BY age", epsilon=1)
    assert 2 * len(answer.rows) > gateway_calls._MANY
    ((_, notice),) = gateway_calls._make(answer, False).result.notices
    assert "± of a differs by row, and may be unknown: SET sfumato.intervals = on; cost" in notice.message
    assert notice.message.startswith("n ± ")
    ((_, notice),) = gateway_calls._make(answer, True).result.notices
    assert "a unknown in " in notice.message


def test_a_mean_that_is_null_says_so(gate: sfumato.Gateway) -> None:
    for tried in range(200):  # until noise leaves nothing to divide by
        answer = gate.sql(f"SELECT AVG(age) AS a FROM data WHERE city = 'Z' AND age < {60 + tried % 60}", epsilon=0.3)
        if answer.rows[0][0] is None:
            break
    else:
        raise AssertionError
    assert (
        "a",
        "NULL means that no value can be given: with this much noise, too few rows are left to compute it from",
    ) in answer.notes
    assert answer.untold() == [[True]]
    said = everywhere(answer)
    assert all("note on a: unknown: " in text for text in said)
    assert not any("NULL means" in text for text in said)  # two notes that contradict each other


def test_a_null_that_is_not_unknown_keeps_its_note(gate: sfumato.Gateway) -> None:
    answer = gate.sql("SELECT city, AVG(age) AS a FROM data GROUP BY city", epsilon=1)
    note = ("a", f"{worth_notes.NO_VALUE}: a reason")
    told = [[NumberWorth(), NumberWorth(unknown=i >= 3)] for i in range(5)]
    missing = replace(answer, rows=[("A", None), *answer.rows[1:]], notes=[note])
    assert worth_notes.all_notes(missing, told)[0] == note
    assert note not in worth_notes.all_notes(replace(missing, rows=answer.rows), told)


def interfaces(answer: Answer, column: int) -> list[list[object]]:
    """The values of a column as each interface hands them out to programs."""
    out = io.StringIO()
    write_csv(answer, out)
    name = answer.columns[column]
    written = [line[name] for line in csv.DictReader(io.StringIO(out.getvalue()))]
    frame = answer.to_pandas()[name]
    return [
        [None if missing else value for value, missing in zip(frame, frame.isna(), strict=True)],
        answer.to_polars()[name].to_list(),
        answer.to_arrow(exact=True)[name].to_pylist(),
        answer.to_arrow(intervals=True)[name].to_pylist(),
        [value or None for value in written],
        [row[column] for row in answer.to_dict()["rows"]],
        [row[column] for row in gateway_calls._make(answer, False).result.rows or []],
        [row[column] for row in gateway_calls._make(answer, True).result.rows or []],
    ]


@pytest.mark.parametrize("key", ["city", "age"])  # a long answer has no intervals at the wire
def test_an_unknown_number_is_null_at_every_interface(gate: sfumato.Gateway, key: str) -> None:
    answer = gate.sql(f"SELECT {key}, AVG(LENGTH(url)) AS a, COUNT(*) AS n FROM data GROUP BY {key}", epsilon=0.3)
    unknown = [row[1] for row in answer.untold()]
    assert 0 < sum(unknown) < len(unknown)
    for values in interfaces(answer, 1):
        assert [value is None for value in values] == unknown
    for values in interfaces(answer, 2):
        assert None not in values
    ends = answer.to_arrow(intervals=True)
    assert None not in ends["a_low"].to_pylist() + ends["a_high"].to_pylist()
    assert [row[0] for row in answer.to_dict()["unknown"]] == [i for i, one in enumerate(unknown) if one]


def test_numbers_that_are_shown_at_zero_say_that_their_sum_is_biased(gate: sfumato.Gateway) -> None:
    """Counts are shown as at least 0; what SQL adds up is what was drawn."""
    inner = "SELECT age, COUNT(*) AS n, SUM(age) AS s FROM data WHERE city = 'Z' GROUP BY age"
    answer = gate.sql(inner, epsilon=0.3)
    said = "counts and sums are shown as at least 0, so adding them up overestimates the total; compute totals in SQL"
    assert all(said in text for text in everywhere(answer))
    total = gate.sql(f"SELECT SUM(n) AS n FROM ({inner}) AS t", epsilon=0.3)
    assert total.cost.epsilon == 0
    assert sum(answer["n"]) > total["n"][0] + 100
    assert not any("overestimates" in text for text in everywhere(total))
    only = gate.sql("SELECT age, COUNT(*) AS n, AVG(age) AS a FROM data WHERE city = 'Z' GROUP BY age", epsilon=0.3)
    assert any(text.startswith("counts are shown as at least 0") for _, text in only.notes)
    large = gate.sql("SELECT city, COUNT(*) AS n FROM data WHERE city <> 'Z' GROUP BY city LIMIT 3", epsilon=10)
    assert not any("overestimates" in text for _, text in large.notes)


@pytest.fixture(scope="module")
def visits() -> sfumato.Gateway:
    columns = "i // 4 AS id, ['A', 'B', 'C'][1 + i % 3] AS city, 'u' || (i % 9) AS url"
    frame = duckdb.sql(f"SELECT {columns} FROM range(8000) AS r(i)").arrow()
    return sfumato.protect(
        frame, unit="id", rows_per_unit=4, epsilon=1000, delta=1e-3, values={"city": ["A", "B", "C"]}
    )


def test_the_sizes_for_other_bounds_are_in_every_preview(visits: sfumato.Gateway) -> None:
    """As `sfumato explain` prints them: in Python and in a notebook too."""
    preview = visits.explain("SELECT url, COUNT(*) AS n FROM data GROUP BY url", epsilon=1)
    sizes = [one.keys.size for one in preview.fewer if one.keys is not None]
    assert len(sizes) == 3
    shown = "; ".join(f"{one.rows_per_unit} → about {one.keys.size}" for one in preview.fewer if one.keys is not None)
    said = f"smallest group with a 50 % chance of being shown, by rows_per_unit: {shown}"
    assert said in repr(preview)
    assert said in preview._repr_html_()


def test_a_threshold_says_what_it_is_about(visits: sfumato.Gateway) -> None:
    """People are counted by the undeclared key alone: a group of it and a listed key may be small."""
    by_both = visits.sql("SELECT city, url, COUNT(*) AS n FROM data GROUP BY city, url", epsilon=1)
    ((_, note),) = [note for note in by_both.notes if "thresholding" in note[1]]
    assert note.startswith("values of url with fewer than about ")
    assert "are shown with every declared group, however small (thresholding)" in note
    least = int(note.split("about ")[1].split(" people")[0].replace(",", ""))
    assert min(n for _, _, n in by_both.rows) < least
    alone = visits.explain("SELECT url, COUNT(*), AVG(LENGTH(city)) FROM data GROUP BY url", epsilon=1)
    assert any(text.startswith("groups with fewer than about ") for _, text in alone.notes)


def test_other_bounds_of_releases_that_differ_are_shown(visits: sfumato.Gateway) -> None:
    """One release has four rows of each person, the other three: no bound is tried that one of them cannot have."""
    people = "SELECT COUNT(*) AS m FROM (SELECT DISTINCT id, city = 'A' AS b FROM data) AS x"
    keys = "SELECT url, COUNT(*) AS n FROM data GROUP BY url"
    preview = visits.explain(f"SELECT t.url, t.n, u.m FROM ({keys}) AS t CROSS JOIN ({people}) AS u", epsilon=1)
    assert [one.rows_per_unit for one in preview.fewer] == [3, 2, 1]
    assert "rows_per_unit for n: 3 → " in repr(preview)
