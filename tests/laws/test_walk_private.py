"""The whole walk where noise is not nothing: attacks of the first lecture, oracles of errors, and intervals that cover."""

# ruff: noqa: E501  a question stands on one line
from __future__ import annotations

import pytest
from scipy import stats

from sfumato.errors import SfumatoError
from tests.laws.walking import SURE, F, opened

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
