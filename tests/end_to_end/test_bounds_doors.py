"""Bounds that are left to be found, as owners and analysts meet them: told, and never bought by looking."""

import json
import re
from types import SimpleNamespace

import psycopg
import pytest
from tests.end_to_end import pg
from tests.end_to_end.pg import change_policy
from tests.end_to_end.served import command

from sfumato.errors import EngineError
from sfumato.ledger import Ledger
from sfumato.server.process.worker_services import find_bounds

AUTO = 'rows_per_unit = "auto"\nsum_per_unit = { cost = "auto" } '
BY_CITY = "SELECT city, COUNT(*) AS n FROM visit GROUP BY city"


@pytest.fixture
def home(written, tmp_path):
    """The clinic whose policy leaves bounds to be found."""
    return pg.make_clinic(tmp_path, written, ("rows_per_unit = 20 ", AUTO)).parent


def debits(home):
    with Ledger.visit(home / "clinic.ledger") as book:
        return [(entry.analyst, entry.body["text"]) for entry in book.entries() if entry.kind == "debit"]


BOTH = [("owner", "bound rows_per_unit of visit"), ("owner", "bound sum_per_unit of visit.cost")]


def test_check_says_the_price_before_and_what_was_found(home, call):
    code, out, err = call("check", at=home)
    assert code == 0
    for bound in ('rows_per_unit of "visit"', 'sum_per_unit of "visit.cost"'):
        assert f'{bound} is "auto": estimating it costs epsilon 0.1, once per version' in err
        assert re.search(rf'{bound} for version "2024-11": [\d.]+; estimated for epsilon 0.1, charged now', out)
    assert debits(home) == BOTH
    code, out, err = call("check")
    assert (code, err) == (0, "")
    assert out.count("charged before") == 2
    document = json.loads(call("check", "--json")[1])
    assert [(b["column"], b["bought"], b["epsilon"]) for b in document["bounds"]] == [
        (None, False, "1/10"),
        ("cost", False, "1/10"),
    ]
    assert debits(home) == BOTH
    assert "bound rows_per_unit of visit" in call("ledger", "show")[1]
    assert call("ledger", "verify")[0] == 0


def test_check_of_a_budget_that_is_spent(home, call):
    change_policy(home, "epsilon = 4 ", "epsilon = 0.15 ")
    change_policy(home, "epsilon = 1 ", "epsilon = 0.15 ")
    change_policy(home, "epsilon = 1\n", "epsilon = 0.15\n")
    code, out, err = call("check", at=home)
    assert code == 4
    assert "the policy is valid" in out
    assert 'sum_per_unit of "visit.cost" is not known, and the budget does not allow estimating it' in err
    assert debits(home) == BOTH[:1]


def test_looking_buys_nothing(home, call):
    for words in (
        ("explain", BY_CITY),
        ("explain", BY_CITY, "--json"),
        ("budget",),
        ("explain", "SELECT x FROM visit"),
    ):
        call(*words, at=home)
    assert debits(home) == []
    code, out, _ = call("explain", BY_CITY)
    assert code == 0
    assert 'known once rows_per_unit of "visit" is found' in out
    assert "would cost: epsilon 0.1; epsilon 4 left" in out
    assert "epsilon 3.8 after" in out


def test_a_question_tells_what_it_bought_once(home, call):
    code, out, _ = call("query", BY_CITY, at=home)
    told = re.search(r'note: rows_per_unit of "visit" for version "2024-11": (\d+); estimated for epsilon 0.1\n', out)
    assert (code, bool(told)) == (0, True)
    assert debits(home) == [BOTH[0], ("owner", BY_CITY)]
    assert "estimated for epsilon" not in call("query", BY_CITY)[1]
    out = call("explain", BY_CITY, "--epsilon", "0.2")[1]
    most = int(told[1])
    shown = re.search(r"rows_per_unit for n: (\d+) → ± [\d,]+; (\d+) → ± [\d,]+; (\d+) → ± [\d,]+\n", out)
    assert [int(number) for number in shown.groups()] == [most, most // 2, most // 4]
    assert "approximate fraction of rows that would not count" in out


def test_explain_says_what_fewer_rows_give(made, call):
    out = call("explain", BY_CITY, at=made)[1]
    widths = {}
    for rows in (20, 10, 5):
        document = json.loads(call("explain", BY_CITY, "--rows-per-unit", rows, "--json")[1])
        widths[rows] = int(document["columns"][1]["half_width"])
    line = "; ".join(f"{rows} → ± {width:,}" for rows, width in widths.items())
    assert f"rows_per_unit for n: {line}\n" in out
    assert "a lower rows_per_unit reduces noise but down-weights people with more rows (possible bias)" in out
    assert "rows_per_unit" not in call("explain", "SELECT COUNT(*) FROM patient")[1]


def test_clients_look_for_nothing_and_the_first_question_buys(written, tmp_path):
    """Describe gives the columns before anything is known; EXPLAIN says what asking buys; Execute buys it."""
    policy = pg.make_clinic(tmp_path, written, ("rows_per_unit = 20 ", AUTO))
    with pg.serving(policy) as door, psycopg.connect(door.dsn(), autocommit=True) as connection:
        plan = "\n".join(line for (line,) in connection.execute(f"EXPLAIN {BY_CITY}"))
        assert (
            'rows_per_unit of "visit" is not known yet: running the query first estimates it, for epsilon 0.1' in plan
        )
        with pg.Raw(door) as raw:
            told = raw.ask(pg.parse(BY_CITY), pg.bind(), pg.describe(), pg.SYNC)
        (described,) = [body for kind, body in told if kind == "T"]
        assert described.startswith(b"\0\2city\0")
        assert b"n\0" in described
        assert debits(tmp_path) == []
        heard = []
        connection.add_notice_handler(lambda notice: heard.append(notice.message_detail))
        assert len(connection.execute(BY_CITY, prepare=True).fetchall()) == 4
        assert 'rows_per_unit of "visit" for version "2024-11": ' in heard[0]
        assert [text for _, text in debits(tmp_path)] == ["bound rows_per_unit of visit", BY_CITY]
        plan = "\n".join(line for (line,) in connection.execute(f"/* epsilon=0.2 */ EXPLAIN {BY_CITY}"))
        assert "rows_per_unit for n: " in plan


def test_a_bound_of_one_query_is_estimated_through_every_door(written, tmp_path, call):
    """One day of the clinic's visits: the command line, the wire (SET and a comment) and a stored answer agree."""
    home = pg.make_clinic(tmp_path, written).parent
    sql, words = (
        "SELECT COUNT(*) AS n FROM visit WHERE city = 'Lyon'",
        ("--epsilon", "0.5", "--rows-per-unit", "auto"),
    )
    code, out, _ = call("explain", sql, *words, at=home)
    assert (code, debits(home)) == (0, [])
    assert "rows_per_unit is estimated first, for epsilon 0.1" in out
    assert "would cost: epsilon 0.5" in out
    code, out, _ = call("query", sql, *words, "--json")
    document = json.loads(out)
    (note,) = [text for _, text in document["notes"] if text.startswith("rows_per_unit: ")]
    assert (code, document["cost"]["epsilon"]) == (0, "1/2")
    assert [text for _, text in debits(home)] == [f"/* rows per person */ {sql}", sql]
    assert call("ledger", "verify", "--plans")[0] == 0
    with pg.serving(home / "sfumato.toml") as door, psycopg.connect(door.dsn(), autocommit=True) as connection:
        heard = []
        connection.add_notice_handler(lambda notice: heard.append(notice.message_detail))
        connection.execute("SET sfumato.epsilon = 0.5; SET sfumato.rows_per_unit = 'auto'")
        assert connection.execute(sql).fetchall() == [tuple(document["rows"][0])]
        assert note in heard[0]
        connection.execute("RESET sfumato.rows_per_unit")
        written_so = connection.execute(f"/* epsilon=0.5 rows_per_unit=auto */ {sql}").fetchall()
        assert written_so == [tuple(document["rows"][0])]
    assert len(debits(home)) == 2


def test_serve_says_what_it_buys(home):
    def serve():
        done = command("serve", "--pg", "127.0.0.1:0", "--http", "none", "--check", cwd=home)
        return done.returncode, done.stdout, done.stderr

    code, out, err = serve()
    assert (code, out.splitlines()[-1]) == (0, "ready")
    assert err.count("charged now: ") == 2
    assert debits(home) == BOTH
    err = serve()[2]
    assert "charged now" not in err
    assert err.count("estimated for epsilon 0.1") == 2
    assert debits(home) == BOTH
    change_policy(home, "epsilon = 4 ", "epsilon = 0.2 ")
    change_policy(home, "epsilon = 1 ", "epsilon = 0.2 ")
    change_policy(home, "epsilon = 1\n", "epsilon = 0.2\n")
    change_policy(home, 'version = "2024-11"', 'version = "2024-12"')
    code, out, err = serve()
    assert (code, out.splitlines()[-1]) == (0, "ready")
    assert 'rows_per_unit of "visit" is not known, and the budget does not allow estimating it' in err


def test_a_bound_that_cannot_be_found_ends_no_reload(tmp_path, capsys):
    """By then the ledger has the new policy, so the gateway before could not answer any more."""

    class Broken:
        policy = SimpleNamespace(data=SimpleNamespace(state=tmp_path))

        def bounds(self):
            return ()

        def missing_bounds(self):
            return ("rows",)

        def find_bounds(self):
            raise EngineError("the engine failed")

    find_bounds(Broken(), 0)
    assert "the engine failed" in capsys.readouterr().err
