"""A refusal proposes the nearest statement that is answered: it keeps columns, conditions and groups of the query."""

import pytest
from tests.end_to_end.pg import make_clinic

import sfumato
from sfumato.sql import query_binding
from sfumato.sql.bind import nearest_statement

CASES = {
    "SELECT area, array_agg(age ORDER BY age), COUNT(*) FROM patient GROUP BY area":
        "SELECT area, COUNT(DISTINCT age), COUNT(*) FROM patient GROUP BY area",
    "SELECT area, string_agg(disease, ',') FROM patient GROUP BY area":
        "SELECT area, COUNT(DISTINCT disease) FROM patient GROUP BY area",
    "SELECT disease, MAX(ssn), COUNT(*) FROM patient GROUP BY disease":
        "SELECT disease, COUNT(DISTINCT ssn), COUNT(*) FROM patient GROUP BY disease",
    "SELECT ssn, disease, age FROM patient WHERE area = 'north' ORDER BY age LIMIT 10":
        "SELECT disease, age, COUNT(*) FROM patient WHERE area = 'north' GROUP BY disease, age",
    "SELECT * FROM patient WHERE age > 30 LIMIT 5": "SELECT COUNT(*) FROM patient WHERE age > 30",
    "SELECT a.city, AVG(b.cost) FROM visit a JOIN visit b ON a.city = b.city WHERE a.cost > 3 GROUP BY a.city":
        "SELECT a.city, AVG(b.cost) FROM visit AS a JOIN visit AS b ON (a.city = b.city)"
        " AND a.patient_ssn = b.patient_ssn WHERE a.cost > 3 GROUP BY a.city",
    "SELECT p.area, AVG(v.cost) FROM patient p, visit v GROUP BY p.area":
        "SELECT p.area, AVG(v.cost) FROM patient AS p JOIN visit AS v ON p.ssn = v.patient_ssn GROUP BY p.area",
    "SELECT area, COUNT(*) FROM patient WHERE age IN (SELECT cost FROM visit WHERE cost > 3) GROUP BY area":
        "SELECT area, COUNT(*) FROM patient WHERE patient.ssn IN (SELECT visit.patient_ssn FROM visit WHERE cost > 3)"
        " GROUP BY area",
    "SELECT DISTINCT ON (disease) disease, age FROM patient ORDER BY disease, age":
        "SELECT disease, age, COUNT(*) FROM patient GROUP BY disease, age",
    "SELECT zipcode, COUNT(*) FROM (SELECT zipcode FROM patient ORDER BY age LIMIT 100) t GROUP BY zipcode":
        "SELECT zipcode, COUNT(*) FROM (SELECT zipcode FROM patient) AS t GROUP BY zipcode",
    "SELECT r.name, COUNT(*) FROM region r LEFT JOIN patient p ON p.area = r.area GROUP BY r.name":
        "SELECT r.name, COUNT(*) FROM region AS r JOIN patient AS p ON p.area = r.area GROUP BY r.name",
    "SELECT AVG(r) FROM (SELECT RANK() OVER (PARTITION BY city ORDER BY cost) AS r FROM visit) t":
        "SELECT AVG(r) FROM (SELECT RANK() OVER (PARTITION BY visit.patient_ssn, city ORDER BY cost) AS r FROM visit)"
        " AS t",
    "SELECT MAX(street) FROM patient": "SELECT street, COUNT(*) FROM patient GROUP BY street",
    "SELECT area, AVG(age), MIN(disease) AS d FROM patient WHERE age > 3 GROUP BY area ORDER BY 3":
        "SELECT area, AVG(age), disease FROM patient WHERE age > 3 GROUP BY area, disease",
    "SELECT area, age, AVG(salary) OVER (PARTITION BY area), COUNT(*) OVER (PARTITION BY area) AS n FROM patient":
        "SELECT area, AVG(salary), COUNT(*) AS n FROM patient GROUP BY area",
    "SELECT age, COUNT(*) OVER () FROM patient WHERE area = 'north'":
        "SELECT COUNT(*) FROM patient WHERE area = 'north'",
    "SELECT area, COUNT(*) FROM patient WHERE salary > ALL (SELECT salary FROM patient WHERE age < 20) GROUP BY area":
        "SELECT area, COUNT(*) FROM patient WHERE salary > (SELECT MAX(salary) FROM patient WHERE age < 20)"
        " GROUP BY area",
    "SELECT disease FROM patient WHERE ssn = '000-00-0042' AND age > 3":
        "SELECT disease, COUNT(*) FROM patient WHERE age > 3 GROUP BY disease",
    "SELECT disease FROM patient p WHERE (p.ssn IN ('000-00-0042', '000-00-0043') AND '1' = '1')":
        "SELECT disease, COUNT(*) FROM patient AS p WHERE ('1' = '1') GROUP BY disease",
    "SELECT * FROM patient WHERE '000-00-0042' = ssn": "SELECT COUNT(*) FROM patient",
}  # fmt: skip


@pytest.fixture(scope="module")
def gate(written, tmp_path_factory):
    with sfumato.open(make_clinic(tmp_path_factory.mktemp("clinic"), written)) as made:
        yield made


@pytest.mark.parametrize("asked", CASES)
def test_the_nearest_statement_is_proposed_and_answered(gate, asked):
    refused = gate.explain(asked).refused
    assert refused is not None
    assert refused.hint == f"Try this instead: {CASES[asked]}."
    assert gate.explain(CASES[asked]).refused is None


def test_no_statement_about_one_person_is_proposed(gate):
    """Where the condition cannot be taken out, a count of all rows is."""
    refused = gate.explain("SELECT disease FROM patient WHERE ssn = '000-00-0042' OR age > 200").refused
    assert refused is not None
    assert refused.hint == "Try this instead: SELECT COUNT(*) FROM patient."


@pytest.mark.parametrize(
    ("asked", "word"),
    [
        ("SELECT MEDIAN(street) FROM patient", "Declare min and max"),
        (
            "SELECT AVG(s) FROM (SELECT patient_ssn, SUM(DISTINCT cost) AS s FROM visit GROUP BY patient_ssn) t",
            "DISTINCT",
        ),
        ("SELECT nothing FROM patient", "Columns: "),
    ],
)
def test_advice_that_says_more_is_kept(gate, asked, word):
    assert word in gate.explain(asked).refused.hint


@pytest.mark.parametrize("asked", CASES)
def test_what_is_proposed_does_not_depend_on_the_words_of_a_refusal(gate, asked, monkeypatch):
    """The same proposals where every refusal says nothing."""
    real = nearest_statement.mended

    def silent(tree, policy, refusal):
        def without_words(of):
            refused = refusal(of)
            if refused is not None:
                refused.message, refused.detail = "refused", None
            return refused

        return real(tree, policy, without_words)

    monkeypatch.setattr(query_binding, "mended", silent)
    refused = gate.explain(asked).refused
    assert refused is not None
    assert refused.hint == f"Try this instead: {CASES[asked]}."
