"""`sfumato query` and `sfumato explain` as a person runs them: streams, exit codes, words."""

import csv
import io
import json
import re
import sqlite3
from fractions import Fraction

import duckdb
import pytest
from tests.end_to_end.pg import change_policy
from tests.end_to_end.served import command
from tests.end_to_end.terminal import in_terminal

import sfumato
from sfumato.cli import clinic
from sfumato.types import show

BY_DISEASE = "SELECT disease, COUNT(*) AS n FROM patient GROUP BY disease"

# query


def test_an_answer_for_people(made, call):
    done = call("query", BY_DISEASE, at=made)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "Created a new ledger: clinic.ledger (nothing has been charged yet).\n"
    lines = done.stdout.splitlines()
    assert re.match(r"disease +n  95 %", lines[0])
    assert [line.split()[0] for line in lines[1:7]] == [*clinic.DISEASES, "NULL"]
    ends = {match.end(1) for line in lines[1:7] if (match := re.search(r" ([\d,]+)  [\d,]+ to [\d,]+", line))}
    assert len(ends) == 1, "numbers are right-aligned"
    enough = "enough for about 58 queries like this one at epsilon 0.1, composed with zCDP"
    assert lines[7] == f"cost: epsilon 0.1; epsilon 3.9 left ({enough})"
    assert lines[8].startswith("note: possible bias")
    assert re.fullmatch(r"receipt [0-9a-f]{32}", lines[-1])


def test_the_same_question_again_is_free_and_the_same(made, call):
    first, again = (call("query", BY_DISEASE, at=made).stdout.splitlines() for _ in range(2))
    assert first[:7] == again[:7]
    assert again[7] == "cost: free, the answer was stored; epsilon 3.9 left"
    assert first[-1] == again[-1]


def test_json_is_the_document_of_python(made, call):
    done = call("query", BY_DISEASE, "--json", "--epsilon", "0.25", "--analyst", "ana", at=made)
    document = json.loads(done.stdout)
    with sfumato.open(made / "sfumato.toml") as gate:
        answer = gate.sql(BY_DISEASE, epsilon=0.25, analyst="ana").to_dict()
    assert document["cost"]["epsilon"] == "1/4"
    assert answer["cost"]["epsilon"] == "0"
    assert document | {"cost": 0} == answer | {"cost": 0}
    assert document["remaining"]["epsilon"] == "3/4"


def test_csv_has_every_row_and_the_ends_of_intervals(made, call):
    done = call("query", BY_DISEASE, "--csv", at=made)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert list(rows[0]) == ["disease", "n", "n_low", "n_high"]
    assert [row["disease"] for row in rows] == [*clinic.DISEASES, ""]
    assert all(int(row["n_low"]) <= int(row["n"]) <= int(row["n_high"]) for row in rows)
    assert "cost: epsilon 0.1" in done.stderr


def test_within_chooses_the_epsilon(made, call):
    document = json.loads(call("query", "SELECT COUNT(*) FROM patient", "--within", "60", "--json", at=made).stdout)
    ((low, high),) = document["intervals"][0]
    assert 100 < high - low <= 120
    assert 0 < Fraction(document["cost"]["epsilon"]) < Fraction(1, 10)


def test_confidence_widens(made, call):
    narrow, wide = (
        json.loads(call("query", "SELECT COUNT(*) FROM patient", "--confidence", c, "--json", at=made).stdout)
        for c in ("0.5", "0.999")
    )
    widths = [high - low for ((low, high),) in (narrow["intervals"][0], wide["intervals"][0])]
    assert widths[0] < widths[1]
    assert wide["confidence"] == "0.999"


def test_fewer_rows_of_a_person_make_less_noise(made, call):
    previews = [
        json.loads(call("explain", "SELECT COUNT(*) FROM visit", *words, "--json", at=made).stdout)
        for words in ([], ["--rows-per-unit", "5"])
    ]
    assert [Fraction(preview["columns"][0]["scale"]) for preview in previews] == [200, 50]


MISTAKES = {
    "SELECT wage FROM patient": (3, "42703", 8),
    "SELECT COUNT(*) FROM doctor": (3, "42P01", 22),
    "SELECT COUNT(*) FROM patient WHERE": (3, "42601", None),
    "SELECT * FROM patient": (3, "42501", 8),
    "SELECT age, COUNT(*) FROM patient": (3, "42803", 8),
    "SELECT MIN(street) FROM patient": (3, "0A000", 8),
    "": (3, "42601", None),
    "DROP TABLE patient": (3, "0A000", None),
}


@pytest.mark.parametrize("command", ["query", "explain"])
@pytest.mark.parametrize("sql", MISTAKES)
def test_sql_that_is_not_answered_exits_3_with_five_fields_and_a_caret(sql, command, made, call):
    code, state, position = MISTAKES[sql]
    done = call(command, sql, at=made)
    assert done.returncode == code
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if not line.startswith("Created a new ledger: ")]
    assert lines[0].startswith(f"ERROR {state}: ")
    if position is not None:
        at = lines.index(f"LINE 1: {sql}")
        assert lines[at + 1] == " " * (len("LINE 1: ") + position - 1) + "^"
        assert not any(line.startswith("POSITION") for line in lines)  # the caret says it
    assert not (made / "clinic.ledger").exists() or debits(made) == 0


def debits(home):
    with sqlite3.connect(home / "clinic.ledger") as connection:
        return connection.execute("SELECT count(*) FROM entry WHERE kind = 'debit'").fetchone()[0]


def test_the_budget_that_is_spent_exits_4(made, call):
    done = call("query", BY_DISEASE, "--epsilon", "5", at=made)
    assert done.returncode == 4
    assert 'ERROR 53400: budget of "clinic" does not allow this query' in done.stderr
    assert "HINT: Use epsilon 4 or less" in done.stderr
    assert call("explain", BY_DISEASE, "--epsilon", "5", at=made).returncode == 4


def test_an_engine_that_fails_exits_5_and_its_words_stay_in_the_log(made, call, monkeypatch):
    from sfumato.engines.duckdb import DuckDB

    def fail(self, *_):
        from sfumato.engines.base import failure

        raise failure(duckdb.Error("ssn 000-00-0042 is not a number"))

    monkeypatch.setattr(DuckDB, "run", fail)
    done = call("query", BY_DISEASE, at=made)
    assert done.returncode == 5
    assert done.stderr.splitlines()[1].startswith("ERROR 58000: "), "after the line about a new ledger"
    assert "000-00-0042" not in done.stdout + done.stderr
    log = made / ".sfumato" / "operator.log"
    assert "000-00-0042" in log.read_text()
    assert log.stat().st_mode & 0o077 == log.parent.stat().st_mode & 0o077 == 0


def test_a_ledger_of_another_data_set_exits_5(made, call):
    assert call("query", BY_DISEASE, at=made).returncode == 0
    change_policy(made, 'id = "clinic"', 'id = "hospital"')
    assert call("query", BY_DISEASE, at=made).returncode == 5


def test_a_policy_with_a_mistake_exits_2_and_names_the_line(made, call):
    change_policy(made, "rows_per_unit = 1\n", "rows_per_unit = 0\n")
    done = call("query", BY_DISEASE, at=made)
    assert done.returncode == 2
    assert re.search(r"DETAIL: sfumato.toml, line \d+", done.stderr)


def test_a_missing_file_of_data_exits_2(made, call):
    (made / "visit.csv").unlink()
    assert call("query", BY_DISEASE, at=made).returncode == 2


MANY = (
    "SELECT zipcode, admitted - DATE '2015-01-01' AS day, COUNT(*) FROM patient "
    "WHERE admitted < '2015-01-03' GROUP BY 1, 2"
)


def test_more_than_a_thousand_rows_are_cut_and_said(made, call):
    done = call("query", MANY, at=made)
    assert done.returncode == 0, done.stderr
    assert "1,000 of " in done.stderr
    assert "--csv" in done.stderr
    assert len(done.stdout.splitlines()) == 1 + 1000 + 4  # with a note: some counts are shown as 0
    whole = call("query", MANY, "--csv", at=made).stdout.splitlines()
    assert len(whole) > 1001


def test_more_than_a_thousand_rows_go_through_a_pager_in_a_terminal(made):
    code, shown = in_terminal(("query", MANY), made, PAGER="wc -l", NO_COLOR="1")
    assert code == 0, shown
    assert re.search(r"^\s*[2-9]\d{3}\s*$", shown, re.MULTILINE), shown[-300:]


def test_no_table_is_cut_at_the_edge(made, call):
    names = [f"a_name_that_is_rather_long_{i}" for i in range(8)]
    sql = f"SELECT {', '.join(f'COUNT(*) AS {name}' for name in names)} FROM patient"
    assert all(name in call("query", sql, at=made).stdout for name in names)
    code, shown = in_terminal(("query", sql), made, COLUMNS="40", NO_COLOR="1")
    assert code == 0, shown
    assert all(name in shown.replace("\r\n", "") for name in names)
    assert "…" not in shown


def test_bytes_that_are_no_text_are_only_strange(made):
    done = command("query", "SELECT COUNT(*) AS x\udcff FROM patient", "--json", cwd=made)
    assert "Traceback" not in done.stderr
    assert done.returncode in {0, 3}


def test_a_name_without_a_share_is_noticed(made, call):
    """A misspelt name is charged to the total; whoever wrote it should know."""
    done = call("query", BY_DISEASE, "--analyst", "anna", at=made)
    assert done.returncode == 0
    assert "note: the policy has no [analysts.anna]: this analyst can spend what is left of the total" in done.stderr
    assert "the policy has no" not in call("query", BY_DISEASE, "--analyst", "ana", at=made).stderr
    assert "[analysts.anna]" in call("budget", "--analyst", "anna", at=made).stderr


def test_no_line_of_a_table_ends_in_blanks(made, call):
    """A narrow terminal would wrap them into empty lines."""
    done = call("query", BY_DISEASE, at=made)
    lines = done.stdout.splitlines() + call("ledger", "show", at=made).stdout.splitlines()
    assert len(lines) > 10
    assert [line for line in lines if line != line.rstrip()] == []


def test_a_confidence_in_percent_gets_a_hint(made, call):
    assert "HINT: Write 0.95." in call("query", BY_DISEASE, "--confidence", "95", at=made).stderr


# explain


def test_explain_is_free_and_says_what_it_will_be(made, call):
    done = call("explain", "SELECT city, SUM(cost) FROM visit GROUP BY city", "--group", "3", at=made)
    assert done.returncode == 0, done.stderr
    assert re.search(r"sum +geometric +200,000 +600,000  one person changes it by at most 20,000", done.stdout)
    enough = "enough for about 59 queries like this one at epsilon 0.1, composed with zCDP"
    assert f"would cost: epsilon 0.1; epsilon 4 left ({enough}), epsilon 3.9 after" in done.stdout
    assert "3 people together: epsilon 0.3, rho 0.045" in done.stdout
    assert debits(made) == 0


def test_explain_json_is_the_preview_and_the_group(made, call):
    document = json.loads(call("explain", BY_DISEASE, "--group", "2", "--json", at=made).stdout)
    with sfumato.open(made / "sfumato.toml") as gate:
        assert document.pop("group") == {"people": 2, "epsilon": "1/5", "rho": "1/50", "delta": "0"}
        assert document == gate.explain(BY_DISEASE).to_dict()


def test_explain_says_why(made, call):
    done = call("explain", "SELECT COUNT(*) FROM visit", "--why", at=made)
    why = "COUNT(*): rows of one person are down-weighted to at most 20; a row adds at most 1; therefore one person"
    assert f"{why} changes it by at most 20 over all groups together" in done.stdout, done.stdout + done.stderr
    document = json.loads(call("explain", "SELECT COUNT(*) FROM visit", "--why", "--json", at=made).stdout)
    (reason,) = document["why"]
    assert reason["name"] == "COUNT(*)"
    assert reason["derived"] == reason["claimed"] == "20"
    assert debits(made) == 0


@pytest.mark.parametrize("confidence", ["0.5", "0.95", "0.999"])
def test_explain_is_as_sure_as_was_asked(confidence, made, call):
    words = ("explain", BY_DISEASE, "--confidence", confidence)
    document = json.loads(call(*words, "--json", at=made).stdout)
    with sfumato.open(made / "sfumato.toml") as gate:
        width = gate.explain(BY_DISEASE).columns[1].half_width(confidence)
    assert document["confidence"] == confidence
    assert Fraction(document["columns"][1]["half_width"]) == width
    assert re.search(rf"± at {show(Fraction(confidence) * 100)} %", call(*words).stdout)
    assert re.search(rf"^n +geometric +10 +{width} ", call(*words).stdout, re.MULTILINE)


def test_the_noise_may_be_gaussian_and_explain_says_what_that_closes(made, call):
    asked = ("SELECT city, COUNT(*) AS n FROM visit GROUP BY city", "--noise", "gaussian")
    warning = "note: Gaussian noise has no pure epsilon"
    first = call("explain", *asked, at=made)
    assert first.returncode == 0, first.stderr
    assert re.search(
        r"^n +gaussian +200 +392  one person changes all groups .* at most 20$", first.stdout, re.MULTILINE
    )
    assert re.search(r"would cost: rho 0\.005; rho about 0\.296\d+ left .*, rho about 0\.291\d+ after", first.stdout)
    assert warning in first.stdout
    assert warning not in call("explain", asked[0]).stdout
    preview = json.loads(call("explain", *asked, "--json").stdout)
    assert (preview["cost"]["epsilon"], preview["after"]["epsilon"]) == (None, "0")
    done = call("query", *asked)
    assert done.returncode == 0, done.stderr
    left = r"rho about 0\.291\d+ left \(enough for about 58 queries at rho 0\.005\)"
    assert re.search(rf"cost: rho 0\.005; {left}", done.stdout)
    assert json.loads(call("budget", "--json").stdout)["remaining"]["epsilon"] == "0"
    again = call("explain", *asked, "--epsilon", "0.2")
    assert warning not in again.stdout, "the door is shut already"
    assert "would cost: rho 0.02; rho" in again.stdout
    assert re.search(r"cost: rho 0\.005; rho about 0\.28", call("query", BY_DISEASE).stdout), "only rho is counted now"


@pytest.mark.parametrize(("composition", "law"), [("pure", "geometric"), ("zcdp", "gaussian"), ("best", "geometric")])
def test_noise_follows_the_policy_where_none_is_named(composition, law, made, call):
    change_policy(made, 'composition = "best"', f'composition = "{composition}"')
    done = call("explain", BY_DISEASE, "--json", at=made)
    assert json.loads(done.stdout)["columns"][1]["law"] == law
    refused = call("explain", BY_DISEASE, "--noise", "gaussian")
    assert refused.returncode == (3 if composition == "pure" else 0)


def test_open_keys_cost_delta_and_it_is_said(made, call):
    asked = "SELECT note, COUNT(*) AS n FROM visit GROUP BY note"
    assert "would cost: epsilon 0.1 and delta 1e-8; epsilon 4 left" in call("explain", asked, at=made).stdout
    assert "cost: epsilon 0.1 and delta 1e-8; epsilon 3.9 left" in call("query", asked).stdout


NOISY = {
    "SELECT 'all' AS k, COUNT(*) AS n FROM patient UNION ALL SELECT area, COUNT(*) FROM patient GROUP BY area": "n",
    "WITH t AS (SELECT area, COUNT(*) AS n FROM patient GROUP BY area) "
    "SELECT a.area AS k, b.n FROM t AS a JOIN t AS b ON a.area = b.area": "n",
    "SELECT area AS k, RANK() OVER (ORDER BY COUNT(*)) AS r FROM patient GROUP BY area": "r",
    "SELECT name AS k, 1000.0 * n / inhabitants AS share FROM region "
    "JOIN (SELECT area, COUNT(*) AS n FROM patient GROUP BY area) AS t USING (area)": "share",
    "SELECT n > 10 AS many, COUNT(*) AS areas, 1 AS k FROM "
    "(SELECT area, COUNT(*) AS n FROM patient GROUP BY area) AS t GROUP BY n > 10": "many areas",
}


@pytest.mark.parametrize("sql", NOISY)
def test_what_was_made_of_noisy_numbers_is_never_called_exact(sql, made, call):
    document = json.loads(call("explain", sql, "--json", at=made).stdout)
    assert document["refused"] is None
    laws = {column["name"]: column["law"] for column in document["columns"]}
    assert laws == {name: "derived" if name in NOISY[sql].split() else "exact" for name in laws}


def test_explain_json_of_a_refusal_is_still_one_document(made, call):
    done = call("explain", "SELECT * FROM patient", "--json", at=made)
    assert done.returncode == 3
    assert json.loads(done.stdout)["refused"]["sqlstate"] == "42501"
    assert "ERROR 42501" in done.stderr
