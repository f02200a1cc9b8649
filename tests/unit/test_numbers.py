"""What a column is computed from: its laws, what it gives away at most, and that no row has a part in that."""

from datetime import date
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

import sfumato
from sfumato.gateway import Gateway, Query
from sfumato.mechanisms import Gaussian, Geometric
from sfumato.mechanisms.order import MostFrequent, OrderStatistic
from sfumato.mechanisms.rank_interval import RankInterval
from sfumato.pictures import largest_ratio
from sfumato.server.http.distribution_plots import column_law
from sfumato.types import Exact, show

EPSILON = Fraction(1, 10)
ONE = [  # a question of one release, and what its column is computed from: law, epsilon, what one person moves
    ("COUNT(*)", [(Geometric, EPSILON, "1")]),
    ("SUM(age)", [(Geometric, EPSILON, "120")]),
    ("COUNT(DISTINCT area)", [(Geometric, EPSILON, "1")]),
    ("AVG(age)", [(Geometric, EPSILON, "120")]),
    ("STDDEV(age)", [(Geometric, EPSILON, "14400")]),
    ("CORR(age, pay)", [(Geometric, EPSILON, "14400000000")]),
    ("BOOL_OR(age > 99)", [(Geometric, EPSILON, "1")]),
    ("SUM(pay) / COUNT(*)", [(Geometric, EPSILON / 2, "1000"), (Geometric, EPSILON / 2, "1")]),
    ("COUNT(*) FILTER (WHERE age > 50) * COUNT(*)", [(Geometric, EPSILON, "1")]),  # the part and the rest
    ("MIN(age)", [(OrderStatistic, EPSILON, None)]),
    ("MAX(day)", [(OrderStatistic, EPSILON, None)]),
    ("MEDIAN(pay)", [(OrderStatistic, EPSILON * 3 / 4, None)]),  # the rest is for its interval
    ("PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY age)", [(OrderStatistic, EPSILON * 3 / 4, None)]),
    ("MODE() WITHIN GROUP (ORDER BY area)", [(MostFrequent, EPSILON, None)]),
]


def protected(rows: int = 40, shift: int = 0, **more: Any) -> Gateway:
    frame = pd.DataFrame(
        {
            "id": range(rows),
            "age": [(i + shift) % 120 for i in range(rows)],
            "pay": [(i * 7 + shift) % 1000 for i in range(rows)],
            "area": ["<script>" if (i + shift) % 3 else "b" for i in range(rows)],
            "day": [date(2024, 1, 1) for _ in range(rows)],
        }
    )
    bounds = {"age": (0, 120), "pay": (0, 1000), "day": (date(2024, 1, 1), date(2024, 12, 31))}
    return sfumato.protect(
        frame, unit="id", rows_per_unit=1, epsilon=4, bounds=bounds, values={"area": ["<script>", "b", "c"]}, **more
    )


@pytest.fixture(scope="module")
def gate() -> Gateway:
    return protected(delta=1e-6)


def law(gate: Gateway, sql: str, column: int = 0, **more: Any) -> dict[str, Any]:
    guest: Any = SimpleNamespace(user=SimpleNamespace(asks_as=None))
    return column_law(gate, guest, Query(sql, epsilon=EPSILON, **more), column)


@pytest.mark.parametrize(("item", "wanted"), ONE)
def test_a_result_is_drawn_from_the_numbers_that_were_released(gate: Gateway, item: str, wanted: list[Any]) -> None:
    sql = f"SELECT {item} FROM data"
    (column,) = gate.explain(sql, epsilon=EPSILON).columns
    assert [(type(one.law), one.law.epsilon) for one in column.numbers.numbers] == [one[:2] for one in wanted]
    found = law(gate, sql)
    assert (found["why"], found["epsilon"], found["at_most"]) == (None, "0.1", "0.52498")
    for picture, (_, epsilon, moves) in zip(found["pictures"], wanted, strict=True):
        assert picture["moves"] == moves
        out, inside = picture["bob_out"], picture["bob_in"]
        assert 0.99 < sum(out) < 1 + 1e-9
        assert 0.99 < sum(inside) < 1 + 1e-9
        assert 1 < largest_ratio(out, inside) < float(2 ** (float(epsilon) * 1.4427)) * (1 + 1e-9)
        assert "the claim is false" not in picture["svg"]
        assert "<script>" not in picture["svg"]


def test_a_column_gives_away_no_more_than_its_question(gate: Gateway) -> None:
    """Later releases read earlier ones, Gaussian noise has no epsilon, chosen keys cost delta: each has its claim."""
    staged = law(gate, "SELECT COUNT(*) FROM data WHERE age > (SELECT AVG(age) FROM data)")
    assert (staged["pictures"][0]["epsilon"], staged["epsilon"]) == ("0.05", "0.1")
    both = law(gate, "SELECT AVG(age), SUM(pay) FROM data", 1)
    assert (both["epsilon"], both["pictures"][0]["epsilon"]) == ("0.05", "0.05")
    sets = law(gate, "SELECT area, COUNT(*) FROM data GROUP BY GROUPING SETS ((area), ())", 1)
    assert (sets["pictures"][0]["epsilon"], sets["epsilon"]) == ("0.05", "0.1")
    later = law(gate, "SELECT n + 1 FROM (SELECT COUNT(*) AS n FROM data) AS t")
    assert [one["what"] for one in later["pictures"]] == ["the number of rows"]
    opened = law(gate, "SELECT SUBSTR(CAST(id AS TEXT), 1, 1), COUNT(*) FROM data GROUP BY 1", 1)
    assert (opened["epsilon"], len(opened["pictures"])) == (None, 1)
    assert "costs delta" in opened["why"]
    gaussian = law(gate, "SELECT AVG(age) FROM data", noise="gaussian")
    assert (gaussian["epsilon"], gaussian["pictures"][0]["epsilon"]) == (None, None)
    assert isinstance(
        gate.explain("SELECT SUM(age) FROM data", noise="gaussian").columns[0].numbers.numbers[0].law, Gaussian
    )
    choice = law(gate, "SELECT MIN(age) FROM data", noise="gaussian")
    assert choice["epsilon"] == choice["pictures"][0]["epsilon"] == "0.2"  # rho of a choice is epsilon²/8, not /2


def test_where_there_is_no_picture_there_is_a_sentence(gate: Gateway) -> None:
    assert law(gate, "SELECT area, COUNT(*) FROM data GROUP BY area")["why"].startswith("this column has no noise")
    totals = "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day) FROM data GROUP BY day"
    assert law(gate, totals, 1)["why"].startswith("prefix sums share their noise")
    unknown = sfumato.protect(
        pd.DataFrame({"id": [1, 1, 2], "x": [1, 2, 3]}), unit="id", rows_per_unit="auto", epsilon=4
    )
    found = law(unknown, "SELECT COUNT(*) FROM data")
    assert (found["pictures"], found["epsilon"]) == ([], None)
    assert found["why"].startswith("its law is known once")


def test_the_law_says_what_the_rest_of_the_epsilon_pays_for() -> None:
    """A query that cost 0.1 showed "Epsilon 0.05" in the law of its count, without a word of the other half."""
    frame = pd.DataFrame({"id": [1, 2, 3], "note": ["x", "y", "z"], "age": [1, 2, 3]})
    chosen = sfumato.protect(frame, unit="id", rows_per_unit=2, epsilon=4, delta=1e-6, bounds={"age": (0, 9)})
    found = law(chosen, "SELECT note, SUM(age) FROM data GROUP BY note", 1)
    own = Fraction(found["pictures"][0]["epsilon"])
    assert 0 < own < EPSILON
    rest = f"the other {show(EPSILON - own)} pays for partition selection;"
    assert found["why"].startswith(f"the query costs epsilon 0.1: {show(own)} is for this column, {rest}")
    both = law(chosen, "SELECT note, SUM(age), SUM(age * age) FROM data GROUP BY note", 1)
    assert " pays for partition selection and for the other columns;" in both["why"]


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_a_picture_is_the_same_whatever_the_rows_are(adjacency: str) -> None:
    one, other = protected(adjacency=adjacency), protected(17, shift=5, adjacency=adjacency)
    for item, _ in ONE:
        sql = f"SELECT {item} FROM data"
        assert law(one, sql) == law(other, sql)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("q", [None, Fraction(1, 2), Fraction(9, 10)])
def test_mass_of_a_rank_is_that_of_its_score(q: Fraction | None, adjacency: str) -> None:
    """Against the definition, candidate by candidate."""
    places, weights, low, high = [2, 3, 7], [3, 1, 4], 0, 9
    for end in ("low", "high"):
        choice = OrderStatistic(q, Fraction(1), Fraction(1, 3), adjacency, end)  # type: ignore[arg-type]
        scores = []
        for c in range(low, high + 1):
            below, above = (sum(w for p, w in zip(places, weights, strict=True) if (p < c, p > c)[i]) for i in (0, 1))
            at = sum(weights) - below - above
            if q is None:
                outside, reach = (below if end == "low" else above), choice.reach(high - low + 1)
                nothing = c == (high if end == "low" else low)  # it says nothing, so it may be chosen of few rows
                scores.append(Fraction(max(0, outside - reach + 1, 0 if nothing else reach - outside - at)))
            else:
                scores.append(max(Fraction(0), below - q * sum(weights), above - (1 - q) * sum(weights)))
        terms = [2.718281828459045 ** float(-choice.epsilon / (2 * choice.sensitivity) * s) for s in scores]
        found = choice.mass(places, weights, low, high)
        by_place = [float(mass) / n for first, n, mass in found for _ in range(n)]
        assert by_place == pytest.approx([term / sum(terms) for term in terms], rel=1e-9)
        assert [first for first, _, _ in found] == sorted(first for first, _, _ in found)


def test_mass_of_the_most_frequent_is_that_of_its_weight() -> None:
    for high in (9, 3):
        held = {0: 2, 1: 5, 2: 0, 3: 1} if high == 3 else {2: 3, 7: 1}
        found = MostFrequent(Fraction(1), Fraction(1, 2)).mass(list(held), list(held.values()), 0, high)
        terms = [2.718281828459045 ** (held.get(c, 0) / 2) for c in range(high + 1)]
        by_place = [float(mass) / n for first, n, mass in found for _ in range(n)]
        assert by_place == pytest.approx([term / sum(terms) for term in terms], rel=1e-9)


def test_no_law_is_told_of_sealed_weights() -> None:
    for choice in (OrderStatistic(Fraction(1, 2), Fraction(1), Fraction(1)), MostFrequent(Fraction(1), Fraction(1))):
        with pytest.raises(TypeError, match="only a mechanism can read"):
            choice.mass([1], Exact([3]), 0, 9)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="only a mechanism can read"):
        RankInterval(Fraction(1, 2), 1, 1).mass([1], Exact([3]), 0, 9, 4)  # type: ignore[arg-type]
