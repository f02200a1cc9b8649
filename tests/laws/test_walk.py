"""The whole walk, from an analyst's words to an answer: right where noise is nothing, private where it is not.

Epsilon 10^9 stands for infinity: what is left of the noise is far below the last digit that is shown.
"""

# ruff: noqa: E501  a question stands on one line
from __future__ import annotations

import random
from collections import defaultdict
from decimal import Decimal
from fractions import Fraction

import duckdb
import pytest
from scipy import stats

from sfumato.errors import BudgetError, QueryError, SfumatoError
from sfumato.gateway import answer as answers
from sfumato.gateway import open_policy, protect
from tests.laws.directed import planned, policy

F = Fraction
SURE = 10**9

VISIT = """
city = { values = ["Paris", "Lyon", "Nice"] }
cost = { type = "decimal", min = 0, max = 1000, grid = 0.01 }
age = { type = "integer", min = 0, max = 120 }
day = { type = "date", min = 2024-01-01, max = 2024-12-31 }
well = { type = "boolean" }
"""


def opened(tmp_path, rows, columns=VISIT, *, each=1, privacy="", types=None, name="visit"):
    """A gateway over rows (unit first), written to a database; the budget is as good as endless."""
    names = [line.split("=")[0].strip() for line in columns.strip().splitlines()]
    types = types or {"city": "VARCHAR", "cost": "DECIMAL(18, 4)", "age": "BIGINT", "day": "DATE", "well": "BOOLEAN"}
    place = tmp_path / f"{random.Random().getrandbits(60)}.duckdb"
    with duckdb.connect(str(place)) as connection:
        heads = ", ".join(["ssn VARCHAR", *(f"{n} {types.get(n, 'VARCHAR')}" for n in names)])
        connection.execute(f"CREATE TABLE {name} ({heads})")
        if rows:
            connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * (len(names) + 1))})", rows)
    if "epsilon" not in privacy:
        privacy = f"epsilon = 1e12\nquery_epsilon = {SURE}\n{privacy}"
    text = f"""
[source]
engine = "duckdb"
files = "{place.name}"
[data]
id = "{place.stem}"
[privacy]
{privacy}
[tables.{name}]
unit = "ssn"
rows_per_unit = {each}
[tables.{name}.columns]
ssn = {{ type = "text", max_length = 11 }}
{columns}
"""
    path = place.with_suffix(".toml")
    path.write_text(text)
    return open_policy(path)


def crowd(people=60, most=5, seed=1):
    """Visits of people with one to five each; some values unknown."""
    r = random.Random(seed)
    return [
        (
            f"{p:03}",
            r.choice(["Paris", "Lyon", None]),
            r.choice([None, round(r.uniform(0, 1000), 2)]),
            r.choice([None, r.randint(0, 120)]),
            f"2024-{r.randint(1, 12):02}-{r.randint(1, 28):02}",
            r.choice([True, False, None]),
        )
        for p in range(people)
        for _ in range(r.randint(1, most))
    ]


def near(shown, true):
    """Equal up to what is left of the noise, and of rounding."""
    if shown is None or true is None or not isinstance(true, int | float | Decimal):
        return shown == true
    return abs(float(shown) - float(true)) <= 1e-3 + 1e-6 * abs(float(true))


# right where noise is nothing
ASKED = [
    "COUNT(*)", "COUNT(cost)", "COUNT(city)", "COUNT(DISTINCT ssn)", "SUM(cost)", "AVG(cost)", "SUM(age)", "AVG(age)",
    "COUNT(*) FILTER (WHERE age > 50)", "SUM(cost) FILTER (WHERE well)", "AVG(age) FILTER (WHERE city = 'Paris')",
    "COUNT(DISTINCT ssn) FILTER (WHERE well)", "SUM(CASE WHEN well THEN 1 ELSE 0 END)", "SUM(age * 2 - 3)",
    "SUM(ROUND(cost))", "SUM(FLOOR(cost))", "SUM(CEIL(cost))", "AVG(ABS(age - 60))", "SUM(LEAST(age, 50))",
    "SUM(GREATEST(age, 50))", "SUM(age % 7)", "SUM(EXTRACT(month FROM day))", "COUNT(NULLIF(city, 'Paris'))",
    "SUM(LENGTH(COALESCE(city, 'nowhere')))", "SUM(CAST(well AS INTEGER))", "SUM(day - DATE '2024-01-01')",
]  # fmt: skip


@pytest.mark.parametrize("keys", ["", "city", "well", "EXTRACT(month FROM day)", "city, well"])
def test_every_aggregate_is_the_engines_where_nothing_is_bounded(tmp_path, keys) -> None:
    """Nobody has more rows than count, so the weights are one, and plain SQL says what is right."""
    rows = crowd()
    with opened(tmp_path, rows, each=5) as gateway, duckdb.connect() as plain:
        plain.execute(
            "CREATE TABLE visit (ssn VARCHAR, city VARCHAR, cost DECIMAL(18, 2), age BIGINT, day DATE, well BOOLEAN)"
        )
        plain.executemany("INSERT INTO visit VALUES (?, ?, ?, ?, ?, ?)", rows)
        for asked in ASKED:
            text = f"SELECT {keys + ', ' if keys else ''}{asked} FROM visit{' GROUP BY ' + keys if keys else ''}"
            shown, width = gateway.sql(text).rows, keys.count(",") + 1 if keys else 0
            true = {row[:width]: row[width] for row in plain.execute(text).fetchall()}
            for row in shown:
                right = true.pop(row[:width], None)
                zero = right is None and "AVG" not in asked  # a sum of nothing is zero here: NULL would tell
                assert near(row[width], 0 if zero else right) or (right is None and "AVG" in asked), (text, row, right)
            assert not true, (text, true)


def weighted(rows, each):
    """Weights by person, as the contract has them."""
    count = defaultdict(int)
    for row in rows:
        count[row[0]] += 1
    return [F(min(1 << 20, (each << 20) // count[row[0]]), 1 << 20) for row in rows]


@pytest.mark.parametrize(
    "asked", ["SUM(cost) / COUNT(*)", "100.0 * SUM(CASE WHEN city = 'Paris' THEN 1 ELSE 0 END) / COUNT(*)", "AVG(cost)"]
)
def test_ratios_are_person_weighted_ratios(tmp_path, asked) -> None:
    """Trap V5: heavy people weigh the same in both, so that ratios stay ratios."""
    r = random.Random(5)
    rows = [
        (f"{p}", r.choice(["Paris", "Lyon"]), round(r.uniform(0, 1000), 2), 1, "2024-01-01", True)
        for p in range(50)
        for _ in range(r.choice([1, 3, 40]))
    ]
    weights = weighted(rows, 5)
    total = sum(weights)
    right = {
        "SUM": sum(w * F(str(row[2])) for w, row in zip(weights, rows, strict=True)) / total,
        "100": 100 * sum(w for w, row in zip(weights, rows, strict=True) if row[1] == "Paris") / total,
    }
    with opened(tmp_path, rows, each=5) as gateway:
        shown = gateway.sql(f"SELECT {asked} FROM visit").rows[0][0]
        assert abs(float(shown) / float(right[asked[:3].replace("AVG", "SUM")]) - 1) < 0.01
        both = gateway.sql("SELECT AVG(cost), SUM(cost) / COUNT(cost) FROM visit").rows[0]
        assert abs(float(both[0]) / float(both[1]) - 1) < 1e-4


def test_one_visit_in_each_of_twenty_places_adds_a_quarter_to_each(tmp_path) -> None:
    """Trap V6: on a grid of whole rows she would vanish."""
    rows = [("her", place) for place in range(20)] + [
        (f"{p}", place) for p in range(3) for place in range(20) for _ in range(1) if place % 4 == p
    ]
    with opened(
        tmp_path, rows, "place = { type = 'integer', min = 0, max = 19 }", each=5, types={"place": "BIGINT"}
    ) as gateway:
        answer = gateway.sql("SELECT place, SUM(1) * 4, COUNT(*) FROM visit WHERE ssn = 'her' GROUP BY place")
        cells = [F(cell[0], 1 << 20) for cell in answer._draws[0][0].cells[0]]
        assert all(abs(cell - F(1, 4)) < F(1, 1000) for cell in cells[:20]), cells


def test_strange_numbers_are_what_the_contract_says(tmp_path) -> None:
    """Trap V7: NaN is NULL, beyond the bounds is the bound, NULL stays NULL."""
    rows = [(str(i), value) for i, value in enumerate(["30", None, "NaN", "inf", "-inf", "40"])]
    column = "x = { type = 'double', min = 0, max = 120, grid = 1 }"
    for kind in ("DOUBLE", "VARCHAR", "FLOAT"):
        with opened(tmp_path, rows, column, types={"x": kind}) as gateway:
            assert gateway.sql("SELECT SUM(x), COUNT(x), COUNT(*) FROM visit").rows == [(30 + 40 + 120, 4, 6)]
            assert near(gateway.sql("SELECT AVG(x) FROM visit").rows[0][0], 47.5)


def test_a_value_beyond_its_bound_is_the_bound_for_every_predicate(tmp_path) -> None:
    """Trap V3: 150 years are 120, also for WHERE and FILTER."""
    with opened(
        tmp_path, [("a", 150), ("b", 30)], "age = { type = 'integer', min = 0, max = 120 }", types={"age": "BIGINT"}
    ) as gateway:
        assert gateway.sql("SELECT COUNT(*) FILTER (WHERE age > 120) FROM visit").rows == [(0,)]
        assert gateway.sql("SELECT COUNT(*) FROM visit WHERE age = 120").rows == [(1,)]
        assert gateway.sql("SELECT SUM(age) FROM visit").rows == [(150,)]


def test_whole_numbers_divide_as_in_postgres(tmp_path) -> None:
    """Trap V15: below the cut, as a key, and above the cut; toward zero also for negative numbers."""
    rows = [(str(i), i - 20) for i in range(61)]
    with opened(tmp_path, rows, "age = { type = 'integer', min = -20, max = 40 }", types={"age": "BIGINT"}) as gateway:
        assert gateway.sql("SELECT COUNT(*) FROM visit WHERE age / 10 = 3").rows == [(10,)]
        grouped = dict(gateway.sql("SELECT age / 10, COUNT(*) FROM visit GROUP BY age / 10").rows)
        assert {k: v for k, v in grouped.items() if v} == {-2: 1, -1: 10, 0: 19, 1: 10, 2: 10, 3: 10, 4: 1}
        assert gateway.sql("SELECT COUNT(*) / 2 FROM visit").rows == [(30,)]
        assert gateway.sql("SELECT SUM(-7 / 2), SUM(-7 % 2) FROM visit").rows == [(-3 * 61, -61)]


# prices
def scales(text, made, **more):
    return [released.scale for released in planned(text, made, **more).cuts[0].parts[0].bundles]


def test_four_filters_that_exclude_each_other_share_one_price() -> None:
    """Trap V1: priced once; that one weight makes it true is in the examples of the neighbour check."""
    made = policy({"s": {"values": ["x", "y", "z"]}}, 20)
    four = "SELECT COUNT(*) FILTER (WHERE s = 'x'), COUNT(*) FILTER (WHERE s = 'y'), COUNT(*) FILTER (WHERE s = 'z'), COUNT(*) FILTER (WHERE s IS NULL) FROM t"
    assert scales(four, made) == [20] * 4
    assert scales(four.replace("s IS NULL", "i = 1").replace("i = 1", "u = 'a'"), made) == [40] * 4


def test_conditions_that_only_look_disjoint_are_priced_apart() -> None:
    """Trap V4: doubles, rests and quotients are opaque."""
    made = policy({"x": {"type": "double"}, "i": {"type": "integer", "min": -9, "max": 9}})
    for one, other in (
        ("x + 1e20 - 1e20 < 0.5", "x > 0.5"),
        ("i % 3 < 0", "i < 0"),
        ("COALESCE(i / i, 7) = 7", "i <> 0"),
    ):
        assert scales(f"SELECT COUNT(*) FILTER (WHERE {one}), COUNT(*) FILTER (WHERE {other}) FROM t", made) == [2, 2]


def test_replacing_a_person_costs_twice_but_for_one_count() -> None:
    """Trap V9."""
    columns = {"s": {"values": ["x", "y"]}, "i": {"type": "integer", "min": -50, "max": 100}}
    add, replace = policy(columns), policy(columns, adjacency="replace")
    for text, factor in (
        ("SELECT s, COUNT(*) FROM t GROUP BY s", 2),
        ("SELECT SUM(i) FROM t", 2),
        ("SELECT COUNT(*) FROM t", 1),
        ("SELECT AVG(i) FROM t", 2),
    ):
        assert scales(text, replace) == [factor * scale for scale in scales(text, add)], text


def test_forty_tenths_are_four(tmp_path) -> None:
    """Trap V13: exactly forty questions of 0.1 in a budget of 4, written in TOML and as a Python float."""
    rows = [(f"{p}", p) for p in range(9)]
    for epsilon in (None, 0.1, "0.1"):
        column = "x = { type = 'integer', min = 0, max = 99 }"
        with opened(
            tmp_path, rows, column, privacy="epsilon = 4.0\nquery_epsilon = 0.1", types={"x": "BIGINT"}
        ) as gateway:
            for i in range(40):
                assert gateway.sql(f"SELECT COUNT(*) FROM visit WHERE x < {i}", epsilon).cost.epsilon == F(1, 10)
            with pytest.raises(BudgetError) as refused:
                gateway.sql("SELECT COUNT(*) FROM visit WHERE x < 40", epsilon)
            assert refused.value.sqlstate == "53400"


def test_the_noise_is_drawn_from_the_law_of_the_plan(tmp_path, monkeypatch) -> None:
    """What the neighbour check proves of a plan holds for the answer only if the draw takes the plan's scale."""
    drawn = []

    class Spy(answers.Geometric):
        def release(self, exact):
            drawn.append(self.scale)
            return super().release(exact)

    monkeypatch.setattr(answers, "Geometric", Spy)
    with opened(tmp_path, crowd(), each=5) as gateway:
        for text in (
            "SELECT COUNT(*), SUM(cost), AVG(age) FROM visit",
            "SELECT city, COUNT(*) FROM visit GROUP BY city",
            "SELECT SUM(cost) FROM visit",
        ):
            drawn.clear()
            answer = gateway.sql(text, 1)
            bundles = answer._plan.cuts[0].parts[0].bundles
            assert [scale * r.unit for scale, r in zip(drawn, bundles, strict=True)] == [r.scale for r in bundles]


# the four examples of the first lecture
PATIENT = """
zipcode = { values = ["75002", "75003", "75004"] }
disease = { values = ["Cold", "Flu", "Asthma", "Broken Leg"] }
"""
PATIENTS = [
    (f"{i:03}", f"7500{i % 3 + 2}", ["Cold", "Flu", "Asthma", "Broken Leg", None][i % 5]) for i in range(100, 160)
]
LECTURE = {
    "one person": ["SELECT COUNT(*) FROM patient WHERE ssn = '123' AND disease = 'Cold'"],
    "union": ["SELECT COUNT(*) FROM patient WHERE disease = 'Cold' OR (ssn = '123' AND disease = 'Flu')", "SELECT COUNT(*) FROM patient WHERE disease = 'Cold'"],
    "difference": ["SELECT COUNT(*) FROM patient WHERE disease = 'Flu'", "SELECT COUNT(*) FROM patient WHERE disease = 'Flu' AND ssn != '123'"],
    "zip code": ["SELECT COUNT(*) FROM patient WHERE zipcode = '75002'", "SELECT COUNT(*) FROM patient WHERE zipcode = '75002' AND disease = 'Cold'"],
}  # fmt: skip


@pytest.mark.parametrize("attack", LECTURE)
def test_the_four_examples_of_the_first_lecture_are_answered_with_noise(tmp_path, attack) -> None:
    """None is refused, for a refusal would be a rule to play with; none is exact."""
    with opened(tmp_path, PATIENTS, PATIENT, name="patient") as gateway:
        for text in LECTURE[attack]:
            exact = gateway.sql(text, SURE).rows[0][0]
            released = [gateway.sql(f"{text} AND 'a{i}' = 'a{i}'", F(1, 2)) for i in range(40)]
            cells = [answer._draws[0][0].cells[0][0][0] for answer in released]
            assert len(set(cells)) > 3
            assert sum(cell == exact for cell in cells) < 34  # P(0) is tanh(1/4) = 0.245: more has a chance below 1e-13
            assert all(answer.cost.epsilon == F(1, 2) for answer in released)


def test_three_hundred_repeats_are_one_answer_and_one_debit(tmp_path) -> None:
    with opened(tmp_path, PATIENTS, PATIENT, name="patient", privacy="epsilon = 2\nquery_epsilon = 1") as gateway:
        texts = ["SELECT COUNT(*) FROM patient WHERE ssn='123'", "select count( * ) from patient p where p.ssn = '123'"]
        answers = [gateway.sql(texts[i % 2]) for i in range(300)]
        assert len({tuple(answer.rows) for answer in answers}) == 1
        assert [answer.cost.epsilon for answer in answers] == [1] + [0] * 299
        assert gateway.budget().remaining.epsilon == 1


def outcome(gateway, text):
    """What an attacker can tell apart without noise: that it was answered, how many rows, or the words of a refusal."""
    try:
        answer = gateway.sql(text, F(1, 10))
    except SfumatoError as refusal:
        return type(refusal).__name__, {**refusal.to_dict(), "position": None}  # the texts differ in length
    return "answered", [len(row) for row in answer.rows], answer.types, answer.notes, answer.cost


BOMBS = [
    "1 / (CASE WHEN {} THEN 0 ELSE 1 END) >= 0",
    "1.5 / (CASE WHEN {} THEN 0.0 ELSE 1.0 END) >= 0",
    "1 % (CASE WHEN {} THEN 0 ELSE 1 END) >= 0",
    "CAST(CASE WHEN {} THEN 1e29 ELSE 1 END AS INTEGER) >= 0",
    "CAST(CASE WHEN {} THEN 1e29 ELSE 1 END * 1.0 AS DOUBLE PRECISION) >= 0",
    "CASE WHEN {} THEN 9223372036854775807 ELSE 1 END + 9223372036854775807 >= 0",
    "CASE WHEN {} THEN 4611686018427387904 ELSE 1 END * 4 >= 0",
    "CASE WHEN {} THEN 1000000000 ELSE 0 END > 0.000000000000000000000000000001",
    "ABS(CASE WHEN {} THEN -9223372036854775808 ELSE 1 END) >= 0",
    "-(CASE WHEN {} THEN -9223372036854775808 ELSE 1 END) >= -1",
    "CASE WHEN {} THEN -9223372036854775808 ELSE 1 END / -1 >= -1",
    "CASE WHEN {} THEN ROUND(1e17, 6) ELSE 0 END >= 0",
    "DATE '9999-12-31' + (CASE WHEN {} THEN 1 ELSE 0 END) >= DATE '2024-01-01'",
    "SUBSTRING(disease, CASE WHEN {} THEN -1 ELSE 1 END) <> 'q'",
    "CASE WHEN {} THEN SUBSTRING(disease, 5000000000) ELSE '' END <> 'q'",
    "SQRT(CASE WHEN {} THEN -1 ELSE 1 END) >= 0",
    "LN(CASE WHEN {} THEN 0 ELSE 1 END) >= 0",
    "CAST(CASE WHEN {} THEN 'x' ELSE '1' END AS INTEGER) = 1",
    "CASE WHEN {} THEN REPEAT('a', 1000000000) ELSE '' END <> 'q'",
    "disease LIKE CASE WHEN {} THEN '\\' ELSE '%' END",
    "(SELECT 1 FROM patient WHERE {}) = 1",
]


@pytest.fixture(scope="module")
def with_and_without(tmp_path_factory):
    """Two gateways, over the same people but for one."""
    column = PATIENT + 'note = { type = "text", max_length = 20 }'
    there, place = [(*row, "a") for row in PATIENTS], tmp_path_factory.mktemp("oracle")
    with (
        opened(place, there, column, name="patient") as present,
        opened(place, [row for row in there if row[0] != "123"], column, name="patient") as absent,
    ):
        yield present, absent


@pytest.mark.parametrize("bomb", BOMBS)
def test_the_error_oracle_learns_nothing(with_and_without, bomb) -> None:
    """The same refusal, or the same kind of answer, with the person and without; and never an error of the engine."""
    seen = set()
    for disease in ("Cold", "Flu", "Asthma", "Broken Leg"):
        person = f"ssn = '123' AND disease = '{disease}'"
        text = f"SELECT COUNT(*) FROM patient WHERE {bomb.format(person)}"
        outcomes = [outcome(gateway, text) for gateway in with_and_without]
        assert repr(outcomes[0]) == repr(outcomes[1])
        assert outcomes[0][0] in ("answered", "QueryError"), outcomes[0]
        seen.add(repr(outcomes[0]).replace(disease, "?"))
    assert len(seen) == 1


# intervals
@pytest.mark.parametrize(("text", "people", "right"), [
    ("SELECT COUNT(*) FROM visit", 40, 40), ("SELECT SUM(x) FROM visit", 40, 780), ("SELECT AVG(x) FROM visit", 3, 1),
    pytest.param("SELECT AVG(x) FROM visit", 40, 19.5, marks=pytest.mark.slow),
    pytest.param("SELECT AVG(x) FROM visit", 1, 0, marks=pytest.mark.slow),
    pytest.param("SELECT COUNT(x), SUM(x) FROM visit", 40, 40, marks=pytest.mark.slow),
    pytest.param("SELECT COUNT(*) FROM visit", 0, 0, marks=pytest.mark.slow),
])  # fmt: skip
def test_intervals_cover_as_often_as_stated(tmp_path, text, people, right) -> None:
    """300 draws, each at a slightly higher epsilon so that none is a stored answer; false alarm 1e-9.

    Not under the pure ledger: there a better answer is drawn given the last one, and would be the same 300 times.
    """
    rows, column = [(str(i), i) for i in range(people)], "x = { type = 'integer', min = 0, max = 99 }"
    ledger = "composition = 'best'\ndelta = 1e-6"
    with opened(tmp_path, rows, column, types={"x": "BIGINT"}, privacy=ledger) as gateway:
        covered, drawn = 0, set()
        for i in range(300):
            answer = gateway.sql(text, F(1, 2) + F(i, 10**9))
            low, high = answer.intervals(F(9, 10))[0][0]
            covered += low <= right <= high
            drawn.add(answer._draws)
        assert len(drawn) > 5
        assert covered >= stats.binom.ppf(1e-9, 300, 0.9), covered


# what is shown
def test_groups_stand_in_list_order_with_the_empty_ones_and_the_unknown_last(tmp_path) -> None:
    """Trap V12: the order of the list, whoever is there; the engine's order is never seen."""
    columns = 'disease = { values = ["Cold", "Flu", "Asthma"] }'
    everybody = [("a", "Asthma"), ("b", None), ("c", "Cold"), ("d", "other")]
    for left_out in ("", "a", "b", "c", "d"):
        with opened(tmp_path, [row for row in everybody if row[0] != left_out], columns) as gateway:
            answer = gateway.sql("SELECT disease, COUNT(*) FROM visit GROUP BY disease", F(1, 10))
            assert [row[0] for row in answer.rows] == ["Cold", "Flu", "Asthma", None]
            assert [g[0] for g in gateway.sql("SELECT disease FROM visit GROUP BY 1").rows] == [
                "Cold",
                "Flu",
                "Asthma",
                None,
            ]


def test_names_and_types_are_those_of_postgres(tmp_path) -> None:
    with opened(tmp_path, crowd(), each=5) as gateway:
        answer = gateway.sql(
            "SELECT city, COUNT(*), SUM(age), SUM(cost) AS total, AVG(cost), COUNT(*) + 1, well, date_trunc('month', day), "
            'COUNT(DISTINCT ssn) "Who", CASE WHEN COUNT(*) > 1 THEN 2 END, EXTRACT(year FROM day), RANK() OVER (ORDER BY COUNT(*)) '
            "FROM visit GROUP BY city, well, date_trunc('month', day), EXTRACT(year FROM day)"
        )
        assert answer.columns == (
            "city",
            "count",
            "sum",
            "total",
            "avg",
            "?column?",
            "well",
            "date_trunc",
            "Who",
            "case",
            "extract",
            "rank",
        )
        assert answer.types[:7] == ("text", "bigint", "bigint", "numeric", "numeric", "bigint", "boolean")


@pytest.fixture(scope="module")
def cities(tmp_path_factory):
    rows = [(str(i), city) for i, city in enumerate(["Paris"] * 5 + ["Lyon"] * 9 + [None] * 2)]
    with opened(tmp_path_factory.mktemp("cities"), rows, 'city = { values = ["Paris", "Lyon", "Nice"] }') as gateway:
        yield gateway


@pytest.mark.parametrize(("text", "rows"), [
    ("SELECT city, COUNT(*) FROM visit GROUP BY city", [("Paris", 5), ("Lyon", 9), ("Nice", 0), (None, 2)]),
    ("SELECT city, COUNT(*) AS n FROM visit GROUP BY city ORDER BY n DESC", [("Lyon", 9), ("Paris", 5), (None, 2), ("Nice", 0)]),
    ("SELECT city, COUNT(*) FROM visit GROUP BY city ORDER BY 1", [("Lyon", 9), ("Nice", 0), ("Paris", 5), (None, 2)]),
    ("SELECT city, COUNT(*) FROM visit GROUP BY city ORDER BY city DESC", [(None, 2), ("Paris", 5), ("Nice", 0), ("Lyon", 9)]),
    ("SELECT city, COUNT(*) FROM visit GROUP BY city ORDER BY city NULLS FIRST LIMIT 2", [(None, 2), ("Lyon", 9)]),
    ("SELECT city FROM visit GROUP BY city ORDER BY COUNT(*) DESC LIMIT 1 OFFSET 1", [("Paris",)]),
    ("SELECT city, COUNT(*) FROM visit GROUP BY city HAVING COUNT(*) > 3", [("Paris", 5), ("Lyon", 9)]),
    ("SELECT city, COUNT(*) FROM visit WHERE city <> 'Lyon' GROUP BY city", [("Paris", 5), ("Nice", 0)]),
    ("SELECT DISTINCT COUNT(*) > 3 FROM visit GROUP BY city ORDER BY 1", [(False,), (True,)]),
    ("SELECT DISTINCT COUNT(*) > 3 FROM visit GROUP BY city ORDER BY 1 DESC LIMIT 1", [(True,)]),
    ("SELECT city, RANK() OVER (ORDER BY COUNT(*) DESC) FROM visit GROUP BY city", [("Paris", 2), ("Lyon", 1), ("Nice", 4), (None, 3)]),
    ("SELECT city, SUM(COUNT(*)) OVER () FROM visit GROUP BY city LIMIT 1", [("Paris", 16)]),
    ("SELECT city, SUM(COUNT(*)) OVER (ORDER BY COUNT(*)) FROM visit GROUP BY city", [("Paris", 7), ("Lyon", 16), ("Nice", 0), (None, 2)]),
    ("SELECT CASE WHEN COUNT(*) > 3 THEN 'many' ELSE 'few' END FROM visit GROUP BY city", [("many",), ("many",), ("few",), ("few",)]),
    ("SELECT COUNT(*) * 2 - 1, COUNT(*) / 3, COUNT(*) % 3 FROM visit", [(31, 5, 1)]),
    ("SELECT COUNT(*) FROM visit WHERE city = 'Nowhere'", [(0,)]),
])  # fmt: skip
def test_what_lies_above_the_cut_is_ordinary_sql(cities, text, rows) -> None:
    assert cities.sql(text).rows == rows


IGNORED = {
    "SELECT COUNT(*) FROM visit WHERE LENGTH(city) BETWEEN SYMMETRIC 5 AND 1": 14,
    "SELECT COUNT(*) FROM visit WHERE TRIM(LEADING 'P' FROM city) = 'aris'": 5,
    "SELECT COUNT(*) FROM visit WHERE TRIM('P' FROM city) = 'aris'": 5,
    "SELECT COUNT(*) FROM visit WHERE CAST(city AS VARCHAR(2)) = 'Pa'": 5,
    "SELECT SUM(COUNT(*)) OVER w FROM visit GROUP BY city WINDOW w AS (ORDER BY COUNT(*)) LIMIT 1": 7,
    "SELECT SUM(FLOOR(1.55, 1)) FROM visit": None,
}
"""Words that change what a question means, and the right first number; None: PostgreSQL knows no such question."""


@pytest.mark.parametrize("text", IGNORED)
def test_no_word_of_a_question_is_passed_over(cities, text) -> None:
    """Answered as PostgreSQL would, or refused; never answered as another question."""
    try:
        shown = cities.sql(text).rows[0][0]
    except QueryError:
        return
    assert IGNORED[text] is not None
    assert shown == IGNORED[text]


def test_a_clamp_bounds(tmp_path) -> None:
    """What the refusal of an unbounded SUM suggests."""
    with opened(tmp_path, [("a", 7), ("b", 700)], "x = { type = 'integer' }", types={"x": "BIGINT"}) as gateway:
        assert gateway.sql("SELECT SUM(LEAST(GREATEST(x, 0), 100)) FROM visit").rows == [(107,)]


def test_a_list_of_a_thousand_values_is_a_question_like_others(cities) -> None:
    listed = ", ".join(f"'{i}'" for i in range(1000))
    assert cities.sql(f"SELECT COUNT(*) FROM visit WHERE ssn IN ({listed})").rows == [(16,)]


class Untouchable:
    """An engine that must not be asked anything but what public tables hold, in an engine of their own."""

    def __init__(self, engine):
        self.run_public = engine.run_public

    def __getattr__(self, name):
        raise AssertionError(f"planning touched the engine: {name}")


def test_a_preview_touches_no_data(tmp_path) -> None:
    """Refusal, words, price and scale are the same with any engine: here one that cannot be touched."""
    with opened(tmp_path, crowd(), each=5) as gateway:
        engine, gateway._engine = gateway._engine, Untouchable(gateway._engine)
        for text in ("SELECT city, AVG(cost) FROM visit GROUP BY city", "SELECT * FROM visit", "SELECT COUNT(*) FROM nowhere", "SELECT city FROM visit GROUP BY 1", "nonsense",
                     "SELECT COUNT(*) FROM visit AS a JOIN visit AS b ON a.ssn = b.ssn WHERE a.cost > (SELECT AVG(cost) FROM visit)"):  # fmt: skip
            gateway.explain(text).to_dict()
        with pytest.raises(QueryError):
            gateway.sql("SELECT ssn FROM visit")
        gateway._engine = engine


def test_a_frame_is_protected(capsys) -> None:
    """The same walk from Python, with what DuckDB can scan."""
    arrow = pytest.importorskip("pyarrow")
    frame = arrow.table({"who": [1, 2, 3, 3], "x": [1, 2, 3, 4], "city": ["a", "b", "c", None]})
    with protect(frame, "who", 2, 10**10, bounds={"x": (0, 10)}, values={"city": ["a", "b"]}) as gateway:
        answer = gateway.sql("SELECT city, SUM(x), COUNT(DISTINCT who) FROM data GROUP BY city", SURE)
        assert answer.rows == [("a", 1, 1), ("b", 2, 1), (None, 7, 1)]
    assert "as long as this process" in capsys.readouterr().err


def test_a_question_without_groups_has_no_rows(cities) -> None:
    assert cities.sql("SELECT city, COUNT(*) FROM visit WHERE city = 'Nowhere' GROUP BY city").rows == []


def test_units_of_a_collated_column_are_compared_byte_for_byte(tmp_path) -> None:
    """A collation of the owner's database would make one person of 'a' and 'A', and one key of 'x' and 'X'."""
    kinds = {"ssn": "VARCHAR", "s": "VARCHAR COLLATE NOCASE"}
    columns = 's = { values = ["x", "y"] }'
    for rows in ([("a", "X"), ("b", "x")], [("b", "x"), ("a", "X")]):
        with opened(tmp_path, rows, columns, types=kinds) as gateway:
            assert gateway.sql("SELECT s, COUNT(*) FROM visit GROUP BY s").rows == [("x", 1), ("y", 0), (None, 1)]
            assert gateway.sql("SELECT COUNT(*) FROM visit WHERE s = 'x'").rows == [(1,)]
