"""The command line as a person runs it: streams, exit codes, words."""

import csv
import hashlib
import io
import json
import os
import re
import shlex
import sqlite3
import subprocess
import sys
import tomllib
from collections import Counter
from contextlib import nullcontext
from decimal import Decimal
from fractions import Fraction

import duckdb
import pytest
import typer
from tests.doors.served import running

import sfumato
from sfumato import errors
from sfumato.doors.cli import app, book, clinic, main, say, tables
from sfumato.errors import InputError

ESCAPE = "\x1b"
DESIGN = ("sensitivity", "channel", "posterior", "utility", "optimal", "universal", "distance")
BY_DISEASE = "SELECT disease, COUNT(*) AS n FROM patient GROUP BY disease"


class Done:
    """What a command left behind."""

    def __init__(self, returncode, stdout, stderr):
        self.returncode, self.stdout, self.stderr = returncode, stdout, stderr


def process(*arguments, cwd=None, **environment):
    """In a process of its own."""
    command = [sys.executable, "-c", "from sfumato.doors.cli import main; main()", *map(str, arguments)]
    return subprocess.run(
        command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, encoding="utf-8", check=False
    )


@pytest.fixture
def call(monkeypatch, capsys):
    """The console script in this process: the same function, without the second that Python takes to start."""

    def run(*arguments, at=None):
        if at is not None:
            monkeypatch.chdir(at)
        monkeypatch.setattr(sys, "argv", ["sfumato", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main()
        code = stopped.value.code or 0
        out, err = capsys.readouterr()
        return Done(code, out, err)

    return run


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """A clinic that is written once, and never asked."""
    directory = tmp_path_factory.mktemp("clinic")
    clinic.write_clinic(directory)
    return directory


@pytest.fixture
def made(written, tmp_path):
    """The clinic in a place of its own, without a ledger."""
    home = tmp_path / "clinic"
    home.mkdir()
    for name in clinic.FILES:
        (home / name).write_bytes((written / name).read_bytes())
    return home


def change_policy(home, old, new):
    policy = home / clinic.POLICY_FILE
    text = policy.read_text()
    assert text.count(old) == 1
    policy.write_text(text.replace(old, new))


# every command


def commands(group=None, path=()):
    """Every command with its words."""
    for name, command in (group or typer.main.get_command(app)).commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        if not hasattr(command, "commands") or command.invoke_without_command:
            yield (*path, name), command


COMMANDS = dict(commands())


def test_version_is_one_line():
    done = process("--version")
    assert done.returncode == 0
    assert re.fullmatch(r"sfumato \d+\.\d+\.\d+\n", done.stdout)


def test_the_commands_are_those_of_the_contract():
    ledger = {("ledger", word) for word in ("show", "verify", "export", "backup", "freeze", "thaw", "reopen")}
    owner = {("init",), ("check",), ("prepare",)}
    doubting = {("attack",), ("audit",), ("verify",)}
    doors = {("serve",), ("reload",), ("user", "add"), ("user", "list"), ("user", "remove"), ("user", "token")}
    asking = {("demo",), ("query",), ("explain",), ("budget",), ("budget", "split")}
    board = {("design", word) for word in DESIGN}
    assert set(COMMANDS) == asking | owner | ledger | doors | doubting | board


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_help_has_an_example_and_it_works_on_the_demo(words, made, call):
    done = call(*words, "--help", at=made.parent)
    assert done.returncode == 0
    example = re.search(r"^ *Example: sfumato (.*)$", done.stdout, re.MULTILINE)
    arguments = shlex.split(example[1])
    assert tuple(arguments[: len(words)]) == words
    made.rename(made.parent / "sfumato-demo")
    assert call("query", BY_DISEASE, "-p", "sfumato-demo/sfumato.toml", "--epsilon", "0.01").returncode == 0
    if words in (("user", "remove"), ("user", "token")):
        assert call("user", "add", "ana", "-p", "sfumato-demo/sfumato.toml").returncode == 0
    with running("sfumato-demo/sfumato.toml") if words == ("reload",) else nullcontext():
        assert call(*arguments).returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["nothing"],
        ["demo", "--nothing"],
        ["demo", "a", "b"],
        ["query"],
        ["query", BY_DISEASE, "--noise", "cauchy"],
        ["query", BY_DISEASE, "--rows-per-unit", "many"],
        ["query", BY_DISEASE, "--epsilon", "a lot"],
        ["query", BY_DISEASE, "--epsilon", "0"],
        ["query", BY_DISEASE, "--epsilon", "1e-9"],
        ["query", BY_DISEASE, "--epsilon", "1", "--within", "10"],
        ["query", BY_DISEASE, "--within", "-1"],
        ["query", BY_DISEASE, "--confidence", "1"],
        ["query", BY_DISEASE, "--rows-per-unit", "2"],
        ["query", BY_DISEASE, "--rows-per-unit", "0"],
        ["query", BY_DISEASE, "--analyst", ""],
        ["query", BY_DISEASE, "--json", "--csv"],
        ["query", BY_DISEASE, "-p", "elsewhere.toml"],
        ["explain", BY_DISEASE, "--group", "0"],
        ["explain", BY_DISEASE, "--epsilon", "-1"],
        ["budget", "split", "0"],
        ["budget", "split", "x"],
        ["ledger"],
        ["ledger", "burn"],
    ],
    ids=" ".join,
)
def test_a_wrong_command_line_exits_2_and_keeps_stdout_clean(arguments, made, call):
    done = call(*arguments, at=made)
    assert done.returncode == 2, done.stderr
    assert done.stdout == "" or arguments == ["ledger"]
    assert done.stderr or arguments == ["ledger"]
    assert "Traceback" not in done.stderr


# query


def test_an_answer_for_people(made, call):
    done = call("query", BY_DISEASE, at=made)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert re.match(r"disease +n  95 %", lines[0])
    assert [line.split()[0] for line in lines[1:7]] == [*clinic.DISEASES, "NULL"]
    ends = {match.end(1) for line in lines[1:7] if (match := re.search(r" ([\d,]+)  [\d,]+ to [\d,]+", line))}
    assert len(ends) == 1, "numbers are right-aligned"
    assert lines[7] == "cost epsilon 0.1; epsilon 3.9 remains (about 58 more like this)"
    assert lines[8].startswith("note: bias possible")
    assert re.fullmatch(r"receipt [0-9a-f]{32}", lines[9])


def test_the_same_question_again_is_free_and_the_same(made, call):
    first, again = (call("query", BY_DISEASE, at=made).stdout.splitlines() for _ in range(2))
    assert first[:7] == again[:7]
    assert again[7] == "cost nothing: asked before, the stored answer; epsilon 3.9 remains (about 58 more like this)"
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
    assert "cost epsilon 0.1" in done.stderr


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
    lines = done.stderr.splitlines()
    assert lines[0].startswith(f"ERROR {state}: ")
    if position is not None:
        at = lines.index(f"LINE 1: {sql}")
        assert lines[at + 1] == " " * (len("LINE 1: ") + position - 1) + "^"
        assert f"POSITION: {position}" in lines
    assert not (made / "clinic.ledger").exists() or debits(made) == 0


def debits(home):
    with sqlite3.connect(home / "clinic.ledger") as connection:
        return connection.execute("SELECT count(*) FROM entry WHERE kind = 'debit'").fetchone()[0]


def test_the_budget_that_is_spent_exits_4(made, call):
    done = call("query", BY_DISEASE, "--epsilon", "5", at=made)
    assert done.returncode == 4
    assert 'ERROR 53400: budget of "clinic" is spent' in done.stderr
    assert "HINT: Ask for epsilon 4 or less" in done.stderr
    assert call("explain", BY_DISEASE, "--epsilon", "5", at=made).returncode == 4


def test_an_engine_that_fails_exits_5_and_its_words_stay_in_the_log(made, call, monkeypatch):
    from sfumato.engines.duckdb import DuckDB

    def fail(self, *_):
        from sfumato.engines.base import failure

        raise failure(duckdb.Error("ssn 000-00-0042 is not a number"))

    monkeypatch.setattr(DuckDB, "run", fail)
    done = call("query", BY_DISEASE, at=made)
    assert done.returncode == 5
    assert done.stderr.startswith("ERROR 58000: ")
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
    assert len(done.stdout.splitlines()) == 1 + 1000 + 3
    whole = call("query", MANY, "--csv", at=made).stdout.splitlines()
    assert len(whole) > 1001


def test_more_than_a_thousand_rows_go_through_a_pager_in_a_terminal(made):
    shown = in_terminal("query", MANY, "-p", made / "sfumato.toml", PAGER="wc -l", NO_COLOR="1")
    assert re.search(r"^\s*[2-9]\d{3}\s*$", shown, re.MULTILINE), shown[-300:]


def test_no_table_is_cut_at_the_edge(made, call):
    names = [f"a_name_that_is_rather_long_{i}" for i in range(8)]
    sql = f"SELECT {', '.join(f'COUNT(*) AS {name}' for name in names)} FROM patient"
    assert all(name in call("query", sql, at=made).stdout for name in names)
    shown = in_terminal("query", sql, "-p", made / "sfumato.toml", COLUMNS="40", NO_COLOR="1")
    assert all(name in shown.replace("\r\n", "") for name in names)
    assert "…" not in shown


def test_bytes_that_are_no_text_are_only_strange(made):
    done = process("query", "SELECT COUNT(*) AS x\udcff FROM patient", "--json", cwd=made)
    assert "Traceback" not in done.stderr
    assert done.returncode in {0, 3}


# explain


def test_explain_is_free_and_says_what_it_will_be(made, call):
    done = call("explain", "SELECT city, SUM(cost) FROM visit GROUP BY city", "--group", "3", at=made)
    assert done.returncode == 0, done.stderr
    assert re.search(r"sum +geometric +200,000 +599,1\d\d  one person changes it by at most 20000", done.stdout)
    assert "would cost epsilon 0.1: epsilon 4 before (about 59 more like this), epsilon 3.9 after" in done.stdout
    assert "3 people together: epsilon 0.3, rho 0.045" in done.stdout
    assert debits(made) == 0


def test_explain_json_is_the_preview_and_the_group(made, call):
    document = json.loads(call("explain", BY_DISEASE, "--group", "2", "--json", at=made).stdout)
    with sfumato.open(made / "sfumato.toml") as gate:
        assert document.pop("group") == {"people": 2, "epsilon": "1/5", "rho": "1/50", "delta": "0"}
        assert document == gate.explain(BY_DISEASE).to_dict()


@pytest.mark.parametrize("confidence", ["0.5", "0.95", "0.999"])
def test_explain_is_as_sure_as_was_asked(confidence, made, call):
    words = ("explain", BY_DISEASE, "--confidence", confidence)
    document = json.loads(call(*words, "--json", at=made).stdout)
    with sfumato.open(made / "sfumato.toml") as gate:
        width = gate.explain(BY_DISEASE).columns[1].half_width(confidence)
    assert document["confidence"] == confidence
    assert Fraction(document["columns"][1]["half_width"]) == width
    assert re.search(rf"± at {say.show(Fraction(confidence) * 100)} %", call(*words).stdout)
    assert re.search(rf"^n +geometric +10 +{width} ", call(*words).stdout, re.MULTILINE)


def test_the_noise_may_be_gaussian_and_explain_says_what_that_closes(made, call):
    asked = ("SELECT city, COUNT(*) AS n FROM visit GROUP BY city", "--noise", "gaussian")
    warning = "note: Gaussian noise has no epsilon of its own"
    first = call("explain", *asked, at=made)
    assert first.returncode == 0, first.stderr
    assert re.search(
        r"^n +gaussian +200 +392  one person changes all groups .* at most 20$", first.stdout, re.MULTILINE
    )
    assert re.search(r"would cost rho 0\.005: rho about 0\.296\d+ before .*, rho about 0\.291\d+ after", first.stdout)
    assert warning in first.stdout
    assert warning not in call("explain", asked[0]).stdout
    preview = json.loads(call("explain", *asked, "--json").stdout)
    assert (preview["cost"]["epsilon"], preview["after"]["epsilon"]) == (None, "0")
    done = call("query", *asked)
    assert done.returncode == 0, done.stderr
    assert re.search(r"cost rho 0\.005; rho about 0\.291\d+ remains \(about 58 more like this\)", done.stdout)
    assert json.loads(call("budget", "--json").stdout)["remaining"]["epsilon"] == "0"
    again = call("explain", *asked, "--epsilon", "0.2")
    assert warning not in again.stdout, "the door is shut already"
    assert "would cost rho 0.02: rho" in again.stdout
    assert re.search(r"cost rho 0\.005; rho about 0\.28", call("query", BY_DISEASE).stdout), "only rho is counted now"


@pytest.mark.parametrize(("composition", "law"), [("pure", "geometric"), ("zcdp", "gaussian"), ("best", "geometric")])
def test_noise_follows_the_policy_where_none_is_named(composition, law, made, call):
    change_policy(made, 'composition = "best"', f'composition = "{composition}"')
    done = call("explain", BY_DISEASE, "--json", at=made)
    assert json.loads(done.stdout)["columns"][1]["law"] == law
    refused = call("explain", BY_DISEASE, "--noise", "gaussian")
    assert refused.returncode == (3 if composition == "pure" else 0)


def test_open_keys_cost_delta_and_it_is_said(made, call):
    asked = "SELECT note, COUNT(*) AS n FROM visit GROUP BY note"
    assert "would cost epsilon 0.1 and delta 0.00000001: epsilon 4 before" in call("explain", asked, at=made).stdout
    assert "cost epsilon 0.1 and delta 0.00000001; epsilon 3.9 remains" in call("query", asked).stdout


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


# budget


def test_the_budget_before_the_first_question_makes_no_ledger(made, call):
    done = call("budget", at=made)
    assert re.search(r"^remaining +4 ", done.stdout, re.MULTILINE)
    assert not (made / "clinic.ledger").exists()


def test_the_budget_of_an_analyst_and_of_everybody(made, call):
    call("query", BY_DISEASE, "--analyst", "ana", "--epsilon", "0.25", at=made)
    hers = json.loads(call("budget", "--analyst", "ana", "--json", at=made).stdout)
    assert [hers[part]["epsilon"] for part in ("total", "spent", "remaining")] == ["1", "1/4", "3/4"]
    assert hers["queries"] == 7
    all_of_it = json.loads(call("budget", "--json", at=made).stdout)
    assert [all_of_it[part]["epsilon"] for part in ("total", "spent", "remaining")] == ["4", "1/4", "15/4"]
    assert 'ana on "clinic"' in call("budget", "--analyst", "ana", at=made).stdout


def test_a_policy_that_was_changed_is_told(made, call):
    call("query", BY_DISEASE, at=made)
    assert call("budget", at=made).stderr == ""
    change_policy(made, "epsilon = 4 ", "epsilon = 8 ")
    assert "takes effect with the next" in call("budget", at=made).stderr


@pytest.mark.parametrize(("composition", "count"), [("pure", 7), ("zcdp", 7), ("best", 7), ("best", 90)])
def test_split_is_exact(composition, count, made, call):
    """So many questions of that epsilon fit, one unit more does not."""
    from sfumato.accounting import Filter, Pure, price

    change_policy(made, 'composition = "best"', f'composition = "{composition}"')
    document = json.loads(call("budget", "split", count, "--json", at=made).stdout)
    each = Fraction(document["epsilon"])
    total = Filter(composition, 4, "1e-6")
    assert total.remaining_count(price(Pure(each))) >= count
    assert total.remaining_count(price(Pure(each + Fraction(1, 10**15)))) < count
    if composition == "pure":
        assert each == Fraction(4 * 10**15 // 7, 10**15)
    assert f"--epsilon {say.show(each)}" in call("budget", "split", count, at=made).stdout


def test_split_counts_what_was_spent_and_options_stand_on_either_side(made, call):
    before = json.loads(call("budget", "split", "2", "--json", at=made).stdout)["epsilon"]
    call("query", BY_DISEASE, at=made)
    after = json.loads(call("budget", "split", "2", "--json", at=made).stdout)["epsilon"]
    assert (Fraction(before), Fraction(after)) == (2, Fraction(39, 20))
    policy = made / "sfumato.toml"
    one = call("budget", "-p", policy, "--analyst", "ana", "--json", "split", "2", at=made.parent)
    other = call("budget", "split", "2", "-p", policy, "--analyst", "ana", "--json", at=made.parent)
    assert one.stdout == other.stdout
    assert json.loads(one.stdout)["epsilon"] == "1/2"


def test_split_into_too_many_exits_4(made, call):
    assert call("budget", "split", 10**15, at=made).returncode == 4


# ledger


def test_the_ledger_is_shown_verified_exported_and_copied(made, call):
    call("query", BY_DISEASE, at=made)
    shown = call("ledger", "show", at=made).stdout
    assert BY_DISEASE in shown
    assert re.search(r"3 .*debit +owner +0\.1", shown)
    entries = json.loads(call("ledger", "show", "--json", at=made).stdout)["entries"]
    assert [entry["kind"] for entry in entries] == ["opened", "policy", "debit", "answer"]
    verified = json.loads(call("ledger", "verify", "--json", at=made).stdout)
    assert (verified["debits"], verified["spent"]["epsilon"], verified["hash"]) == (1, "1/10", entries[-1]["hash"])
    assert "The ledger holds: 4 entries" in call("ledger", "verify", at=made).stdout
    assert call("ledger", "export", "out.jsonl", at=made).returncode == 0
    assert [json.loads(line)["hash"] for line in (made / "out.jsonl").read_text().splitlines()] == [
        entry["hash"] for entry in entries
    ]
    assert call("ledger", "backup", "copy.ledger", at=made).returncode == 0
    change_policy(made, 'ledger = "clinic.ledger"', 'ledger = "copy.ledger"')
    assert json.loads(call("ledger", "verify", "--json", at=made).stdout) == verified


def test_freeze_and_thaw(made, call):
    call("query", BY_DISEASE, at=made)
    assert call("ledger", "freeze", at=made).returncode == 0
    done = call("query", "SELECT COUNT(*) FROM visit", at=made)
    assert done.returncode == 4
    assert "is frozen" in done.stderr
    assert call("ledger", "thaw", at=made).returncode == 0
    assert call("query", "SELECT COUNT(*) FROM visit", at=made).returncode == 0


def test_reopen_opens_what_failures_have_closed(made, call, monkeypatch):
    from sfumato.engines.base import failure
    from sfumato.engines.duckdb import DuckDB

    def fail(self, *_):
        raise failure(duckdb.Error("no"))

    with monkeypatch.context() as broken:
        broken.setattr(DuckDB, "run", fail)
        for age in range(3):
            assert call("query", f"SELECT COUNT(*) FROM patient WHERE age = {age}", at=made).returncode == 5
    assert "is closed" in call("query", BY_DISEASE, at=made).stderr
    assert call("ledger", "reopen", at=made).returncode == 0
    assert call("query", BY_DISEASE, at=made).returncode == 0


def edit(home, sql):
    with sqlite3.connect(home / "clinic.ledger") as connection:
        connection.execute(sql)
    connection.close()


def test_a_ledger_that_was_edited_exits_1(made, call):
    call("query", BY_DISEASE, at=made)
    assert call("ledger", "verify", at=made).returncode == 0
    with sqlite3.connect(made / "clinic.ledger") as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("""UPDATE entry SET body = replace(body, '"epsilon":"1/10"', '"epsilon":"1/99"')""")
    connection.close()
    done = call("ledger", "verify", at=made)
    assert done.returncode == 1
    assert done.stderr.startswith("ERROR 58030: ")


def test_a_file_that_is_no_ledger_exits_1_and_one_that_is_not_there_5(made, call):
    assert call("ledger", "verify", at=made).returncode == 5
    (made / "clinic.ledger").write_bytes(b"not a database, but longer than its header " * 200)
    assert call("ledger", "verify", at=made).returncode == 1


def test_a_ledger_that_is_busy_is_not_called_broken():
    busy = sqlite3.OperationalError("database is locked")
    busy.sqlite_errorcode = sqlite3.SQLITE_BUSY
    corrupt = sqlite3.DatabaseError("malformed")
    corrupt.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    causes = {busy: False, corrupt: True, OSError("no"): False, None: True}
    for cause, broken in causes.items():
        error = errors.LedgerError("no")
        error.__cause__ = cause
        assert book.is_broken(error) is broken


# how it speaks


EXITS = {
    errors.ClaimError: 1,
    errors.InputError: 2,
    errors.PolicyError: 2,
    errors.QueryError: 3,
    errors.BudgetError: 4,
    errors.EngineError: 5,
    errors.LedgerError: 5,
}


@pytest.mark.parametrize(("kind", "code"), EXITS.items(), ids=lambda value: getattr(value, "__name__", value))
def test_each_kind_of_error_has_its_exit_code(kind, code):
    assert say.exit_code(kind("no")) == code


def test_all_five_fields_are_printed():
    error = errors.QueryError("no", detail="D.", hint="H.", position=4, sqlstate="42703")
    assert say.error_text(error) == "ERROR 42703: no\nDETAIL: D.\nHINT: H.\nPOSITION: 4\n"


@pytest.mark.parametrize(
    ("sql", "position", "line", "caret"),
    [
        ("SELECT x", 8, "LINE 1: SELECT x", 15),
        ("SELECT\n\tx", 9, "LINE 2:  x", 9),
        ("SELECT\r\nx\r\n", 9, "LINE 2: x", 8),
        ("日本 x", 4, "LINE 1: 日本 x", 13),
        ("x", 99, "LINE 1: x", 9),
        ("a" * 500, 300, "LINE 1: …" + "a" * 100 + "…", 9 + 50),
    ],
)
def test_the_caret_stands_below_its_place(sql, position, line, caret):
    lines = say.error_text(errors.QueryError("no", position=position), sql).splitlines()
    assert lines[1:3] == [line, " " * caret + "^"]


def test_no_escape_codes_without_a_terminal_nor_under_no_color(made, call):
    policy = made / "sfumato.toml"
    assert ESCAPE not in call("query", BY_DISEASE, "-p", policy).stdout
    assert ESCAPE not in in_terminal("query", BY_DISEASE, "-p", policy, NO_COLOR="1")
    assert ESCAPE in in_terminal("query", BY_DISEASE, "-p", policy, NO_COLOR="")


def in_terminal(*words, **environment):
    """The output where stdout is a terminal."""
    import pty

    parent, child = pty.openpty()
    command = [sys.executable, "-c", "from sfumato.doors.cli import main; main()", *map(str, words)]
    settings = os.environ | {"TERM": "xterm-256color"} | environment
    process = subprocess.Popen(command, stdin=child, stdout=child, stderr=child, env=settings)
    os.close(child)
    chunks = []
    try:
        while chunk := os.read(parent, 65536):
            chunks.append(chunk)
    except OSError:  # Linux says so when the last writer has gone
        pass
    os.close(parent)
    assert process.wait() == 0
    return b"".join(chunks).decode()


def test_values_are_shown_with_the_decimals_that_their_interval_bears():
    d = Decimal
    assert tables.shown(d("49.0863407472"), (d("47.820895649"), d("50.341322395"))) == ("49.1", "47.8 to 50.4")
    assert tables.shown(d("1338292.61"), (d("739145.55"), d("1937439.67"))) == ("1,338,293", "739,145 to 1,937,440")
    assert tables.shown(d("0.00123"), (d("-0.00456"), d("0.00789"))) == ("0.0012", "-0.0046 to 0.0079")
    assert tables.shown(None, (0, 5)) == ("NULL", "0 to 5")
    assert tables.shown(None, None) == ("NULL", "")
    assert tables.shown("a\x1b[31mb", None) == ("a [31mb", "")


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("0.1", "0.1"),
        ("1/3", "1/3"),
        ("291131423331097/1000000000000000", "about 0.291131"),
        ("1e-15", "about 0.000000000000001"),
    ],
)
def test_amounts_are_short_and_never_more_than_there_is(amount, text):
    assert say.amount(Fraction(amount)) == text


# the clinic


DIGESTS = {
    "visit.csv": "e24d2dc6569ab4dbd040778d569098c0e1eb75f75304444418e1688bcbf1d2d0",
    "region.csv": "192a14206c944b450958eb8b5db249d934009e61c9e92ef388d23a2ef39cf46a",
}


@pytest.mark.parametrize("name", DIGESTS)
def test_the_clinic_is_the_same_on_every_machine(written, name):
    assert hashlib.sha256((written / name).read_bytes()).hexdigest() == DIGESTS[name]


def patients(home):
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT * FROM read_parquet('{home / 'patient.parquet'}')")
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def test_the_parquet_file_holds_the_rows_that_were_made(written):
    for row, made in zip(patients(written), clinic.make_patients(), strict=True):
        assert list(row) == list(clinic.PATIENT)
        salary = "" if row["salary"] is None else int(row["salary"])
        assert tuple((row | {"salary": salary}).values()) == made


def test_the_clinic_is_kept_between_runs_and_fresh_starts_over(made):
    original = (made / "visit.csv").read_bytes()
    (made / "visit.csv").write_text("changed")
    (made / "clinic.ledger").write_text("spent")
    assert not clinic.write_clinic(made)
    assert (made / "visit.csv").read_text() == "changed"
    assert clinic.write_clinic(made, fresh=True)
    assert (made / "visit.csv").read_bytes() == original
    assert not (made / "clinic.ledger").exists()


def test_a_clinic_that_lost_a_file_is_written_again_and_keeps_its_ledger(made):
    (made / "region.csv").unlink()
    (made / "clinic.ledger").write_text("spent")
    assert clinic.write_clinic(made)
    assert (made / "region.csv").exists()
    assert (made / "clinic.ledger").read_text() == "spent"


def test_a_directory_with_other_files_is_left_alone(tmp_path, call):
    (tmp_path / "visit.csv").write_text("mine\n")
    done = call("demo", tmp_path, "--fresh")
    assert done.returncode == 2
    assert done.stderr.startswith('ERROR 22023: directory "')
    assert "\nDETAIL: Found visit.csv" in done.stderr
    assert "\nHINT: " in done.stderr
    assert (tmp_path / "visit.csv").read_text() == "mine\n"
    with pytest.raises(InputError):
        clinic.write_clinic(tmp_path)


def test_a_directory_that_cannot_be_made_exits_2_with_five_fields(tmp_path, call):
    (tmp_path / "file").write_text("")
    done = call("demo", tmp_path / "file" / "below")
    assert done.returncode == 2
    assert done.stderr.startswith("ERROR 58P01: cannot use file")
    assert "Traceback" not in done.stderr


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_policy_is_that_of_the_contract():
    from tests.rooms.policy_sample import EXAMPLE

    assert tomllib.loads(clinic.POLICY) == tomllib.loads(EXAMPLE)


def test_the_tables_keep_what_the_policy_declares(written):
    policy = tomllib.loads((written / "sfumato.toml").read_text(), parse_float=Decimal)
    data = {"patient": patients(written), "visit": rows(written / "visit.csv")}
    for table, found in data.items():
        declared = policy["tables"][table]["columns"]
        assert list(found[0]) == list(declared)
        for column, rule in declared.items():
            kind = rule.get("type", "values")
            values = [str(row[column]) for row in found if row[column] not in {"", None}]
            assert len(values) > len(found) // 2
            if kind in {"integer", "decimal"}:
                assert rule["min"] <= min(map(Decimal, values))
                assert max(map(Decimal, values)) <= rule["max"]
                assert all(Decimal(value) % Decimal(rule.get("grid", 1)) == 0 for value in values)
            elif kind == "date":
                assert rule["min"].isoformat() <= min(values)
                assert max(values) <= rule["max"].isoformat()
            elif kind == "text":
                assert max(map(len, values)) <= rule["max_length"]
            else:
                assert set(values) == set(rule["values"])


def test_people_have_one_row_visits_belong_to_people_and_some_have_more_than_twenty(written):
    people = [row["ssn"] for row in patients(written)]
    assert len(people) == len(set(people)) == clinic.PEOPLE
    assert all(ssn.startswith("000-") for ssn in people)
    visits = Counter(row["patient_ssn"] for row in rows(written / "visit.csv"))
    assert set(visits) <= set(people)
    assert 20 < sum(count > 20 for count in visits.values()) < 400
