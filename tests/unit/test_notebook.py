"""Answers, previews, budgets and gateways in Python and in a notebook: short text, HTML, charts, frames."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise

import pandas as pd
import pytest

import sfumato
from sfumato.errors import BudgetError, InputError, PolicyError, QueryError
from sfumato.gateway.chart_axes import ticks, time_ticks
from sfumato.gateway.chart_marks import Mark
from sfumato.gateway.line_charts import thin
from sfumato.gateway.rounding import around
from sfumato.server.http.playground import play
from sfumato.server.pgwire.results import BUDGET_FIELDS

N = 3000
SQL = "SELECT ill, COUNT(*) AS n, AVG(age) AS age FROM data GROUP BY ill"
DAILY = "SELECT day, COUNT(*) AS n FROM data GROUP BY day"


@pytest.fixture(scope="module")
def gate():
    rows = {
        "ssn": range(N),
        "age": [20 + i % 60 for i in range(N)],
        "ill": ["yes", "<b>no</b>"] * (N // 2),
        "day": [date(2024, 1, 1) + timedelta(days=i % 1000) for i in range(N)],
    }
    return sfumato.protect(
        pd.DataFrame(rows),
        unit="ssn",
        rows_per_unit=1,
        epsilon=1000,
        bounds={"age": (0, 120), "day": (date(2024, 1, 1), date(2026, 12, 31))},
        values={"ill": ["yes", "<b>no</b>"]},
    )


@pytest.fixture(scope="module")
def answer(gate):
    return gate.sql(SQL, epsilon=100)


def test_text_is_short_and_says_what_counts(gate, answer):
    lines = repr(answer).split("\n")
    assert lines[0].split() == ["ill", "n", "age"]
    assert len(lines) == 1 + 3 + 3
    assert lines[4].startswith("cost: epsilon 100; epsilon ")
    assert lines[5].startswith("note: ")
    assert lines[-1].startswith("note on age: unknown: ")  # the mean of the NULL group, in which nobody is
    assert lines[-1].partition(" (")[2].startswith("row 3)")
    preview = gate.explain("SELECT COUNT(*) AS n FROM data", epsilon=2)
    assert repr(preview).split("\n")[:2] == [
        "column  noise      scale  ± at 95 %",
        "n       geometric    0.5          1  one person changes it by at most 1",
    ]
    assert "would cost: epsilon 2; epsilon" in repr(preview)
    assert repr(gate.budget()).startswith("Total budget (all analysts): epsilon ")
    assert repr(gate).startswith('<Gateway "data": data; Total budget (all analysts): epsilon ')
    refused = repr(gate.explain("SELECT * FROM data"))
    assert refused.startswith("refused: ")
    assert "HINT: " in refused
    for record in (answer, preview, gate.budget(), gate, gate.explain("SELECT * FROM data")):
        assert len(repr(record)) < 800  # nothing of plans, jobs or engines
        assert not any(word in repr(record) for word in ("Fraction(", "SELECT ill", "#person", "Plan(", "Scan("))


def test_many_rows_are_cut_and_counted(gate):
    daily = gate.sql(DAILY, epsilon=10)
    assert repr(daily).split("\n")[21] == f"… {len(daily) - 20:,} more rows"
    assert f"… {len(daily) - 100:,} more rows" in daily._repr_html_()


def test_html_holds_no_markup_of_the_data(gate, answer):
    for record in (answer, gate.explain(SQL, epsilon=100), gate.budget(), gate, gate.explain("SELECT * FROM data")):
        html = record._repr_html_()
        assert html.startswith("<style>")
        assert "<b>no</b>" not in html
    assert "&lt;b&gt;no" in answer._repr_html_()
    assert "<svg" in answer._repr_html_()
    assert "95 % confidence" in answer._repr_html_()


def test_the_style_of_the_page_does_not_reach_into_charts(answer):
    """A class of the table around a chart that a chart also uses would draw all bars with one width."""
    html = answer._repr_html_()
    page, chart = html[: html.index("</style>")], html[html.index("<svg") : html.index("</svg>")]
    outside = set(re.findall(r"\.([a-z][\w-]*)", page)) - {"sfumato"}
    drawn = set(re.findall(r'class="([^"]+)"', chart))
    assert "bar" in drawn
    assert not outside & drawn
    widths = {float(width) for width in re.findall(r'<rect [^>]*width="([\d.]+)"[^>]*class="bar"', chart)}
    assert len(widths) == len({row[1] for row in answer.rows})


def test_a_number_that_says_nothing_is_called_unknown():
    """The average of a group with nobody in it spans the whole range: its digits would be read as a result."""
    frame = pd.DataFrame({"ssn": range(200), "age": [30] * 200, "ill": ["yes"] * 200})
    few = sfumato.protect(
        frame, unit="ssn", rows_per_unit=1, epsilon=1, bounds={"age": (0, 120)}, values={"ill": ["yes", "no"]}
    )
    found = few.sql("SELECT ill, AVG(age) AS age FROM data GROUP BY ill", epsilon=0.01)
    assert any(cell for row in found.untold() for cell in row)
    for i, (line, row) in enumerate(zip(repr(found).split("\n")[1:4], found.untold(), strict=True)):
        assert ("unknown (0 to 120)" in line) == row[1] == ([i, 1] in found.to_dict()["unknown"])
    assert ">unknown</td><td><small>(0 to 120)</small></td>" in found._repr_html_()


def test_an_unknown_number_is_not_drawn():
    """A bar at 79 with a whisker over everything is read as 79."""
    frame = pd.DataFrame({"ssn": range(2000), "age": [30] * 2000, "ill": ["yes"] * 2000})
    many = sfumato.protect(
        frame, unit="ssn", rows_per_unit=1, epsilon=4, bounds={"age": (0, 120)}, values={"ill": ["yes", "no"]}
    )
    found = many.sql("SELECT ill, AVG(age) AS age FROM data GROUP BY ill", epsilon=0.1)
    unknown = sum(row[1] for row in found.untold())
    assert unknown in (1, 2)
    chart = found.plot()
    assert chart.svg.count('class="bar"') == 3 - unknown
    assert f"{unknown} unknown number{'s are' if unknown > 1 else ' is'} not drawn." in " ".join(words(chart))


def test_a_frozen_ledger_is_known_before_anybody_asks(gate):
    """A preview of what would not be answered says so; afterwards it is a preview again."""
    gate.sql("SELECT COUNT(*) AS n FROM data", epsilon=1)
    gate.ledger.freeze("owner")
    try:
        for sql in ("SELECT COUNT(*) AS n FROM data", "SELECT AVG(age) FROM data"):  # stored, and new
            preview = gate.explain(sql, epsilon=1)
            assert "is frozen: no query is answered" in str(preview.refused)
            assert preview.cost is None
            with pytest.raises(BudgetError, match="is frozen") as caught:
                gate.sql(sql, epsilon=1)
            assert str(caught.value) == str(preview.refused)
        assert gate.explain("SELECT 1", epsilon=1).refused is None
    finally:
        gate.ledger.thaw("owner")
    assert gate.explain("SELECT AVG(age) FROM data", epsilon=1).refused is None


def test_an_answer_is_a_sequence_of_rows_with_columns(answer):
    assert len(answer) == 3
    assert list(answer) == answer.rows
    assert answer["n"] == [row[1] for row in answer.rows]
    with pytest.raises(InputError, match="there is no column 'm'"):
        answer["m"]


def test_an_answer_without_rows_is_still_an_answer(gate):
    nobody = gate.sql("SELECT ill, COUNT(*) AS n FROM data GROUP BY ill HAVING COUNT(*) > 1000000", epsilon=1)
    assert len(nobody) == 0
    assert bool(nobody)
    assert nobody.to_pandas(intervals=True).columns.tolist() == ["ill", "n", "n_low", "n_high"]
    assert "cost" in repr(nobody)
    with pytest.raises(InputError, match="no row to draw"):
        nobody.plot()


@pytest.mark.parametrize(("number", "noise"), [("COUNT(*)", None), ("AVG(age)", None), ("AVG(age)", "gaussian")])
def test_how_large_a_group_must_be_is_said_before_anything_is_charged(number, noise):
    """A query over undeclared keys may return no row: the preview names the number that decides."""
    rows = {"id": range(900), "street": [f"street {i % 60}" for i in range(900)], "age": [40] * 900}
    gate = sfumato.protect(
        pd.DataFrame(rows), unit="id", rows_per_unit=1, epsilon=4, delta=1e-6, bounds={"age": (0, 120)}
    )
    options = {} if noise is None else {"noise": noise}
    sql = f"SELECT street, {number} AS n FROM data GROUP BY street"
    preview = gate.explain(sql, epsilon="0.1", **options)
    (said,) = [note for _, note in preview.notes if note.endswith("(thresholding)")]
    assert int(re.search(r"[\d,]+", said)[0].replace(",", "")) > 30  # 15 people live in each street
    answer = gate.sql(sql, epsilon="0.1", **options)
    assert said in [note for _, note in answer.notes]
    assert len(answer) == 0
    assert repr(answer).split("\n")[1] == "(no rows)"
    assert "(no rows)" in answer._repr_html_()


def test_frames_have_plain_types_and_intervals_when_asked(gate, answer):
    frame = answer.to_pandas()
    assert frame.columns.tolist() == ["ill", "n", "age"]
    assert [str(kind) for kind in frame.dtypes][1:] == ["Int64", "float64"]
    assert frame["n"].sum() == sum(answer["n"])
    wide = answer.to_pandas(intervals=True)
    assert wide.columns.tolist() == ["ill", "n", "n_low", "n_high", "age", "age_low", "age_high"]
    ends = answer.intervals()
    assert [(row.n_low, row.n_high) for row in wide.itertuples()] == [pair[1] for pair in ends]
    assert answer.to_polars(intervals=True).columns == wide.columns.tolist()
    assert [str(field.type) for field in answer.to_arrow(intervals=True).schema][1:5] == ["int64"] * 3 + ["double"]
    assert str(answer.to_arrow(exact=True).schema.field("age").type).startswith("decimal128")
    assert answer.to_arrow(exact=True)["age"].to_pylist()[:2] == answer["age"][:2]
    daily = gate.sql(DAILY, epsilon=10).to_pandas()
    assert str(daily["day"].dtype) == "datetime64[s]"
    assert daily.set_index("day")["n"].rolling(7).mean().notna().any()


def test_names_that_are_there_already_get_a_number(gate):
    twice = gate.sql("SELECT COUNT(*) AS n, COUNT(*) AS n_low, COUNT(*) AS n FROM data", epsilon=1)
    names = twice.to_pandas(intervals=True).columns.tolist()
    assert len(names) == len(set(names)) == 9
    assert names[:2] == ["n", "n_low_2"]


def test_charts_have_whiskers_and_ticks(gate, answer):
    bars = ET.fromstring(gate.sql("SELECT ill, COUNT(*) FROM data GROUP BY ill", epsilon=1).plot().svg)
    ns = "{http://www.w3.org/2000/svg}"
    assert len([line for line in bars.iter(f"{ns}line") if line.get("class") == "whisker"]) >= 3
    assert ET.fromstring(answer.plot(y="n").svg).find(f"{ns}title").text == "n by ill"
    line = ET.fromstring(gate.sql(DAILY, epsilon=10).plot()._repr_svg_())
    assert any(part.get("class") == "band" for part in line.iter(f"{ns}path"))
    for wrong in ({"x": "m"}, {"y": "m"}, {"y": "ill"}):
        with pytest.raises(InputError, match=rf"^{next(iter(wrong))}: "):
            answer.plot(**wrong)


def test_bars_of_several_keys_are_named_by_all_of_them(gate):
    """Two bars with one name would be read as one group."""
    by_both = "SELECT ill, age > 50 AS old, COUNT(*) AS n FROM data GROUP BY ill, old"
    chart = ET.fromstring(gate.sql(by_both, epsilon=10).plot().svg)
    ns = "{http://www.w3.org/2000/svg}"
    names = [part.find(f"{ns}title").text.partition(":")[0] for part in chart.iter(f"{ns}g")]
    assert len(set(names)) == len(names) == 9
    assert "yes · true" in names
    assert chart.find(f"{ns}title").text == "n by ill, old"


NS = "{http://www.w3.org/2000/svg}"


def parts(chart, tag, kind):
    return [part for part in ET.fromstring(chart.svg).iter(NS + tag) if kind in (part.get("class") or "").split()]


def words(chart):
    return [text.text or "" for text in ET.fromstring(chart.svg).iter(f"{NS}text")]


def test_a_line_for_each_value_of_another_key(gate):
    """One line through all rows would jump between groups at every day; bars would be named by day and group."""
    daily = "SELECT ill, day, COUNT(*) AS n FROM data WHERE ill IS NOT NULL GROUP BY day, ill"
    chart = gate.sql(daily, epsilon=10).plot()
    assert len(parts(chart, "path", "curve")) == 2
    assert {"yes", "<b>no</b>", "2024-07", "2026-07", "n by day, ill"} <= set(words(chart))
    assert "<b>" not in chart.svg
    assert "Rows without a day are not drawn." in " ".join(words(chart))


def test_of_many_lines_the_largest_are_drawn(gate):
    sql = """SELECT date_trunc('month', day) AS month, age, COUNT(*) AS n FROM data
    WHERE age < 30 AND (age > 24 OR EXTRACT(year FROM day) = 2024) GROUP BY 1, 2"""
    answer = gate.sql(sql, epsilon=50)
    chart = answer.plot()
    sizes = {}
    for month, age, n in answer.rows:
        if month is not None:
            sizes[str(age)] = sizes.get(str(age), 0) + abs(n)
    assert len(sizes) > 8
    drawn = [text.text for text in parts(chart, "text", "name")]
    assert sum(sizes[name] for name in drawn) == sum(sorted(sizes.values())[-8:])
    assert len(parts(chart, "path", "curve")) == len(drawn) == 8
    assert len({path.get("d") for path in parts(chart, "path", "dot")}) == 8
    assert f"Showing 8 of {len(sizes)} lines (by age), those with the largest n in total." in " ".join(words(chart))


def test_a_missing_month_is_a_gap(gate):
    """A line across it would show numbers that nobody drew; whiskers say how sure each point is."""
    sql = """SELECT date_trunc('month', day) AS month, ill, COUNT(*) AS n FROM data
    WHERE day < DATE '2025-01-01' AND ill IS NOT NULL AND NOT (ill = 'yes' AND EXTRACT(month FROM day) = 4)
    GROUP BY 1, 2 HAVING COUNT(*) > 20"""
    answer = gate.sql(sql, epsilon=2)
    chart = answer.plot()
    assert sorted(path.get("d").count("M") for path in parts(chart, "path", "curve")) == [1, 2]
    assert len(parts(chart, "path", "dot")) == len(answer.rows) + 2  # and the legend
    assert len(answer.rows) == 23
    assert parts(chart, "line", "whisker")
    assert not parts(chart, "path", "band")


def test_two_keys_of_names_are_grouped_bars(gate):
    answer = gate.sql("SELECT age > 50 AS old, ill, COUNT(*) AS n FROM data WHERE age > 10 GROUP BY 1, 2", epsilon=10)
    chart = answer.plot()
    assert len(parts(chart, "rect", "bar")) == len(answer.rows)
    assert {"true", "false"} <= {
        text.text for text in [*parts(chart, "text", "name"), *ET.fromstring(chart.svg).iter()]
    }
    assert len({bar.get("x") for bar in parts(chart, "rect", "bar") if float(bar.get("width")) > 9}) == 1  # all from 0
    some = "SELECT age > 50 AS old, ill, COUNT(*) AS n FROM data WHERE age < 51 OR ill = 'yes' GROUP BY 1, 2"
    lacks = gate.sql(f"{some} HAVING COUNT(*) > 20", epsilon=10)
    assert len(lacks.rows) == 3
    assert words(lacks.plot()).count("no row") == 1


def test_a_line_far_above_0_says_where_its_axis_starts(gate):
    answer = gate.sql("SELECT date_trunc('year', day) AS year, AVG(age) AS age FROM data GROUP BY 1", epsilon=100)
    assert re.search(r"The axis starts at [\d.]+, not at 0\.", " ".join(words(answer.plot())))


def test_codes_are_bars():
    frame = pd.DataFrame({"ssn": range(300), "zipcode": [75000 + i % 20 for i in range(300)]})
    bounds = {"zipcode": (75000, 75019)}
    gate = sfumato.protect(frame, unit="ssn", rows_per_unit=1, epsilon=10, bounds=bounds)
    answer = gate.sql("SELECT zipcode, COUNT(*) AS n FROM data GROUP BY zipcode", epsilon=1)
    assert 'class="curve' not in answer.plot().svg


@pytest.mark.parametrize(
    ("first", "last", "names"),
    [
        (
            datetime(2024, 3, 1, 10, 7, tzinfo=UTC),
            datetime(2024, 3, 1, 13, tzinfo=UTC),
            ["03-01 11:00", "03-01 12:00", "03-01 13:00"],
        ),
        (date(2024, 2, 27), date(2024, 3, 1), ["2024-02-27", "2024-02-28", "2024-02-29", "2024-03-01"]),
        (date(2023, 11, 15), date(2024, 8, 1), ["2024-01", "2024-04", "2024-07"]),
        (date(1960, 1, 1), date(1999, 1, 1), ["1960", "1970", "1980", "1990"]),
    ],
)
def test_times_are_named_at_round_ones(first, last, names):
    ends = [datetime(*when.timetuple()[:6], tzinfo=UTC).timestamp() for when in (first, last)]
    assert [name for _, name in time_ticks(*ends)] == names


def test_a_chart_is_saved(answer, tmp_path):
    place = answer.plot().save(tmp_path / "chart.svg")
    assert ET.parse(place).getroot().tag.endswith("svg")


def test_matplotlib_axes_are_drawn_on(answer):
    class Axes:
        def __init__(self):
            self.calls = {}

        def __getattr__(self, name):
            return lambda *args, **options: self.calls.setdefault(name, (args, options))

    axes = Axes()
    assert answer.plot(ax=axes) is axes
    (names, heights), options = axes.calls["bar"]
    assert heights == [float(n) for n in answer["n"]]
    assert len(options["yerr"][0]) == len(names) == 3
    assert axes.calls["set_ylabel"][0] == ("n",)


def test_thinning_keeps_every_peak():
    marks = [Mark(None, "", i, 1000.0 if i == 4321 else i % 7, 0, 0, "") for i in range(10_000)]
    kept = thin(marks)
    assert len(kept) <= 600
    assert [mark.at for mark in kept] == sorted(mark.at for mark in kept)
    assert max(mark.value for mark in kept) == 1000
    assert thin(marks[:600]) == marks[:600]


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 7), (-3, 12), (0, 123456), (0, 0), (0.001, 0.0042), (5, 5)])
def test_ticks_are_round_and_cover(low, high):
    steps = ticks(low, high)
    assert 2 <= len(steps) <= 8
    assert steps[0] <= low
    assert steps[-1] >= high
    gaps = {round(b - a, 9) for a, b in pairwise(steps)}
    assert len(gaps) == 1
    assert f"{gaps.pop():e}"[0] in "125"


def test_what_is_shown_is_never_narrower_than_the_interval():
    assert around(Decimal("10.04"), (Decimal("9.037"), Decimal("11.043"))) == ("10.0", "±1.1")
    assert around(3, (0, 34)) == ("3", "(0 to 34)")
    assert around(7, (7, 7)) == ("7", "±0")
    assert around(None, (0, 120)) == ("NULL", "(0 to 120)")
    assert around("x", None) == ("x", "")


def test_a_refusal_ends_in_our_sentence_and_hides_our_frames(gate):
    for error, ask in (
        (QueryError, lambda: gate.sql("SELECT nosuch FROM data")),
        (BudgetError, lambda: gate.sql("SELECT COUNT(*) FROM data", epsilon=10**6)),
        (PolicyError, lambda: sfumato.open("/nonexistent/sfumato.toml")),
        (InputError, lambda: sfumato.protect(pd.DataFrame({"a": [1]}), unit="b", rows_per_unit=1, epsilon=1)),
    ):
        with pytest.raises(error) as raised:
            ask()
        ours = [frame for frame in raised.traceback if "sfumato/gateway" in str(frame.path)]
        assert 1 <= len(ours) <= 2  # where it enters and where it is raised, and nothing in between
        assert raised.value.__suppress_context__
        assert raised.value._render_traceback_() == [f"{type(raised.value).__name__}: {raised.value}"]


def test_text_in_the_place_of_a_query_is_refused_by_name(gate):
    with pytest.raises(InputError, match="not a Query"):
        gate.answer(SQL)
    assert isinstance(gate.preview(SQL).refused, InputError)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_undeclared_key_without_delta_says_what_to_pass():
    rows = pd.DataFrame({"id": range(50), "word": ["a", "b"] * 25})
    with sfumato.protect(rows, "id", 1, 1) as gateway, pytest.raises(QueryError) as caught:
        gateway.sql("SELECT word, COUNT(*) FROM data GROUP BY word")
    assert "delta=" in caught.value.hint
    assert "values=" in caught.value.hint


def test_what_is_left_is_counted_in_queries_of_the_cost_beside_it():
    """`about 44 more` beside epsilon 3.9 and cost 0.1 looked like a mistake; so did 0 left after a refused query."""
    frame = pd.DataFrame({"ssn": range(200)})
    gate = sfumato.protect(frame, unit="ssn", rows_per_unit=1, epsilon=4, delta=1e-6)
    sql = "SELECT COUNT(*) AS n FROM data"
    enough = "(enough for about 59 queries like this one at epsilon 0.1, composed with zCDP)"
    assert f"epsilon 4 left {enough}, epsilon 3.9 after" in repr(gate.explain(sql, epsilon=0.1))
    assert "(enough for about 4 queries at epsilon 1)" in repr(gate.explain(sql, epsilon=1))
    assert "(enough for about 1 query at epsilon 3)" in repr(gate.explain(sql, epsilon=3))
    refused = gate.explain(sql, epsilon=5)
    assert refused.refused is not None
    assert "epsilon 4 left (not enough for another query like this), – after" in repr(refused)
    gate.sql(sql, epsilon=0.1)
    again = gate.sql(sql, epsilon=0.1)
    assert "cost: free, the answer was stored; epsilon 3.9 left\n" in f"{again}\n"


def test_the_delta_of_a_budget_says_what_it_is_for():
    gate = sfumato.protect(pd.DataFrame({"ssn": range(9)}), unit="ssn", rows_per_unit=1, epsilon=4, delta=1e-6)
    assert ">delta (group selection)<" in gate.budget()._repr_html_()
    assert [field.name for field in BUDGET_FIELDS] == ["budget", "epsilon", "rho", "delta (group selection)"]


def test_randomized_response_is_about_an_answer():
    """Everybody is in the data there: epsilon bounds what is learnt of Bob's answer."""
    rows = [row[0] for row in play("response", {"epsilon": "1"})["rows"]]
    assert "a 50 % suspicion that Bob's true answer is yes becomes at most" in rows
    assert not any("in the data" in row for row in rows)
