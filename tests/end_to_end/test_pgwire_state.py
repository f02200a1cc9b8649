"""The state machine of the PostgreSQL interface, alone: a fake gateway counts what is spent."""

import asyncio
import itertools
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.end_to_end import pg

from sfumato.errors import QueryError, SfumatoError
from sfumato.server.per_user_limits import Allowance
from sfumato.server.pgwire import messages as m
from sfumato.server.pgwire import server, session_objects, statement_kinds, types
from sfumato.server.pgwire.commands import Fetch
from sfumato.server.pgwire.portals import Portal
from sfumato.server.pgwire.protocol_state import WireSession
from sfumato.server.pgwire.results import Field, Result, WireTask, Work
from sfumato.server.pgwire.settings import Settings
from sfumato.sql.read import lexer

ASK = "SELECT n FROM t"
FIELDS = (Field("n", "bigint"),)


class Fake:
    """A session whose gateway counts. Answers differ each time, so that a second draw would show."""

    def __init__(self, rows=5):
        self.session = WireSession("ana", Settings("ana"), {"age": "bigint"})
        self.rows, self.work = rows, []

    @property
    def spent(self):
        return sum(work.task is WireTask.ANSWER for work in self.work)

    def do(self, work):
        self.work.append(work)
        if work.task is WireTask.COMPUTE:
            return work.compute()
        if "bad" in work.sql:
            raise QueryError("it is bad", position=work.sql.index("bad") + 1, sqlstate="42703")
        for function, takes in (("needs", "day"), ("secret", "sesame")):
            if function in work.sql and takes not in work.sql:
                raise QueryError(f"{function} does not take {work.sql.partition('(')[2]}", sqlstate="42883")
        if work.task is WireTask.LOOK:
            beside = (Field("n_low", "bigint"), Field("n_high", "bigint")) if work.options.intervals else ()
            return FIELDS + beside
        if work.task is WireTask.ANSWER:
            width = 3 if work.options.intervals else 1
            rows = [(100 * self.spent + i,) * width for i in range(self.rows)]
            notice = ("NOTICE", QueryError("cost something", sqlstate="00000"))
            return Result(FIELDS * width, rows, notices=[notice])
        return Result((Field("QUERY PLAN", "text"),), [("free",)], "EXPLAIN")

    def say(self, *data):
        """Frontend bytes in, backend messages out."""
        out = b""
        for kind, body in pg.split(b"".join(data)):
            try:
                steps = self.session.receive(m.parse(kind, body))
            except SfumatoError as error:
                steps = self.session.fail(error)
            out += self.drive(steps)
        return pg.split(out)

    def drive(self, steps):
        out = b""
        try:
            step = next(steps)
            while True:
                if isinstance(step, Work):
                    try:
                        done = self.do(step)
                    except SfumatoError as error:
                        step = steps.throw(error)
                    else:
                        step = steps.send(done)
                else:
                    out += step
                    step = next(steps)
        except StopIteration:
            return out


@pytest.fixture
def fake():
    made = Fake()
    made.drive(made.session.greet())
    return made


def rows(messages):
    return [int(pg.row_of(body)[0]) for kind, body in messages if kind == "D"]


def tags(messages):
    return [body.rstrip(b"\0").decode() for kind, body in messages if kind == "C"]


def errors(messages):
    return [pg.fields_of(body)["C"] for kind, body in messages if kind == "E"]


# spending


def test_describe_never_spends(fake):
    said = fake.say(pg.parse(ASK), pg.describe("S"), pg.bind(), pg.describe("P"), pg.close("P"), pg.SYNC)
    assert pg.kinds(said) == "1tT2T3Z"
    assert fake.spent == 0
    assert fake.say(pg.query(f"EXPLAIN {ASK}"))[-1][1] == b"I"
    fake.say(pg.query(f"BEGIN; DECLARE c CURSOR FOR {ASK}; COMMIT"))
    fake.say(pg.query(f"PREPARE p AS {ASK}"))
    assert fake.spent == 0


def test_execute_spends_once_and_a_continued_portal_never_draws_again(fake):
    said = fake.say(pg.parse(ASK), pg.bind(), pg.execute(limit=2), pg.execute(limit=2), pg.execute(limit=2), pg.SYNC)
    assert rows(said) == [100, 101, 102, 103, 104]
    assert pg.kinds(said) == "12NDDsDDsDCZ"
    assert tags(said) == ["SELECT 1"]
    assert fake.spent == 1


def test_a_finished_portal_gives_the_stored_rows_again(fake):
    said = fake.say(pg.parse(ASK), pg.bind(), pg.execute(), pg.execute(), pg.SYNC)
    assert rows(said) == [100, 101, 102, 103, 104] * 2
    assert fake.spent == 1


def test_a_limit_of_exactly_all_rows_is_suspended_then_empty(fake):
    said = fake.say(pg.parse(ASK), pg.bind(), pg.execute(limit=5), pg.execute(limit=5), pg.SYNC)
    assert pg.kinds(said) == "12NDDDDDsCZ"
    assert tags(said) == ["SELECT 0"]


def test_nothing_is_spent_unless_bind_has_succeeded(fake):
    wrong = pg.bind([b"1"], formats=(0,))
    said = fake.say(pg.parse(ASK), wrong, pg.execute(), pg.SYNC)
    assert errors(said) == ["08P01"]
    said = fake.say(pg.parse("SELECT n FROM t WHERE age > $1"), pg.bind([b"x"]), pg.execute(), pg.SYNC)
    assert errors(said) == ["22P02"]
    said = fake.say(pg.parse(ASK), pg.bind(results=(0, 1)), pg.execute(), pg.SYNC)
    assert errors(said) == ["08P01"]
    assert fake.spent == 0


def test_after_an_error_everything_up_to_sync_is_passed_over(fake):
    said = fake.say(pg.parse("SELECT 'x"), pg.parse(ASK), pg.bind(), pg.execute(), pg.SYNC, pg.parse(ASK), pg.SYNC)
    assert pg.kinds(said) == "EZ1Z"
    assert fake.spent == 0


def test_what_no_value_could_mend_is_refused_when_it_is_prepared(fake):
    said = fake.say(pg.parse("SELECT bad FROM t"), pg.describe("S"), pg.SYNC, pg.bind(), pg.SYNC)
    assert pg.kinds(said) == "EZEZ"
    assert errors(said) == ["42703", "26000"], "there is no such statement"
    said = fake.say(pg.parse("SELECT bad FROM t WHERE age > $1"), pg.SYNC)
    assert errors(said) == ["42703"]
    assert fake.spent == 0


def test_what_a_value_may_mend_is_not_refused_when_it_is_prepared(fake):
    said = fake.say(pg.parse("SELECT n FROM t WHERE needs($1) = 1"), pg.describe("S"), pg.SYNC)
    assert pg.kinds(said) == "1tTZ", "a unit of time is tried, too"
    said = fake.say(pg.parse("SELECT n FROM t WHERE secret($1) = 1"), pg.SYNC)
    assert pg.kinds(said) == "1Z", "the refusal is about the value"
    said = fake.say(pg.bind([b"sesame"]), pg.describe("P"), pg.SYNC)
    assert pg.kinds(said) == "2TZ"
    assert fake.spent == 0


def test_two_binds_are_two_questions_and_the_gateway_says_whether_the_second_is_free(fake):
    fake.say(pg.parse(ASK), pg.bind(), pg.execute(), pg.bind(), pg.execute(), pg.SYNC)
    assert fake.spent == 2


def test_rollback_gives_nothing_back_and_a_cursor_draws_once(fake):
    said = fake.say(pg.query(f"BEGIN; DECLARE c CURSOR FOR {ASK}; FETCH 2 FROM c; FETCH ALL IN c; ROLLBACK"))
    assert rows(said) == [100, 101, 102, 103, 104]
    assert tags(said) == ["BEGIN", "DECLARE CURSOR", "FETCH 2", "FETCH 3", "ROLLBACK"]
    assert fake.spent == 1


def test_a_cursor_with_hold_outlives_its_transaction_and_others_do_not(fake):
    fake.say(pg.query(f"BEGIN; DECLARE h CURSOR WITH HOLD FOR {ASK}; DECLARE c CURSOR FOR {ASK}; COMMIT"))
    assert rows(fake.say(pg.query("FETCH 1 FROM h"))) == [100]
    assert rows(fake.say(pg.query("MOVE 1 IN h; FETCH 2 h; FETCH BACKWARD 2 FROM h; FETCH LAST FROM h"))) == [
        102, 103, 102, 101, 104,
    ]  # fmt: skip
    assert errors(fake.say(pg.query("FETCH 1 FROM c"))) == ["34000"]
    assert fake.say(pg.query("CLOSE h"))[0][0] == "C"
    assert fake.spent == 1


def test_tableau_declares_and_fetches_in_one_message(fake):
    said = fake.say(pg.query(f'BEGIN;declare "SQL_CUR1" cursor with hold for {ASK};fetch 10000 in "SQL_CUR1"'))
    assert tags(said) == ["BEGIN", "DECLARE CURSOR", "FETCH 5"]
    assert said[-1] == ("Z", b"T")


def test_prepare_and_execute_in_sql(fake):
    fake.say(pg.query("PREPARE p (int, text) AS SELECT n FROM t WHERE age > $1 AND x = $2"))
    fake.say(pg.query("EXECUTE p (-5, 'it''s')"))
    assert fake.work[-1].sql == "SELECT n FROM t WHERE age >  (-5)  AND x =  'it''s' "
    assert errors(fake.say(pg.query("EXECUTE p (1)"))) == ["42601"]
    assert errors(fake.say(pg.query("EXECUTE p (age, 'x')"))) == ["0A000"]
    assert tags(fake.say(pg.query("DEALLOCATE p"))) == ["DEALLOCATE"]
    assert errors(fake.say(pg.query("EXECUTE p (1, 'x')"))) == ["26000"]


def test_copy_is_one_question_in_both_protocols(fake):
    said = fake.say(pg.query(f"COPY ({ASK}) TO STDOUT"))
    assert pg.kinds(said) == "NHdddddcCZ"
    assert tags(said) == ["COPY 5"]
    copy = f'COPY ({ASK}) TO STDOUT (FORMAT "binary")'
    said = fake.say(pg.parse(copy), pg.bind(), pg.describe(), pg.execute(), pg.SYNC)
    assert pg.kinds(said) == "12nNHddddddcCZ"
    assert fake.spent == 2
    assert errors(fake.say(pg.query("COPY t FROM STDIN"))) == ["0A000"]
    assert errors(fake.say(pg.query(f"COPY ({ASK}) TO '/tmp/x'"))) == ["42501"]


# several statements, positions


def test_several_statements_in_one_message(fake):
    said = fake.say(pg.query(f"SET application_name = 'a;b'; {ASK} -- ;\n; /* ; */ SHOW application_name;"))
    assert tags(said) == ["SET", "SELECT 5", "SHOW"]
    assert pg.kinds(said).count("Z") == 1


def test_an_error_ends_the_message_and_takes_its_settings_back(fake):
    said = fake.say(pg.query(f"SET application_name = 'x'; SELECT bad; {ASK}"))
    assert errors(said) == ["42703"]
    assert fake.spent == 1  # the bad one, which the gateway refused
    assert fake.session.settings.get("application_name") == ""


def test_a_position_is_that_in_the_whole_text(fake):
    text = f"{ASK}; SELECT 1, bad FROM t"
    (error,) = [body for kind, body in fake.say(pg.query(text)) if kind == "E"]
    assert pg.fields_of(error)["P"] == str(text.index("bad") + 1)
    text = "SELECT n FROM t WHERE x = $1 AND bad"
    said = fake.say(pg.parse(text), pg.bind([b"a value that is long"]), pg.execute(), pg.SYNC)
    (error,) = [body for kind, body in said if kind == "E"]
    assert pg.fields_of(error)["P"] == str(text.index("bad") + 1)


def test_a_message_without_statements(fake):
    assert pg.kinds(fake.say(pg.query(" ; -- nothing\n"))) == "IZ"
    assert pg.kinds(fake.say(pg.parse(""), pg.bind(), pg.describe(), pg.execute(), pg.SYNC)) == "12nIZ"


# transactions


def test_a_failed_transaction_hears_nothing_but_its_end(fake):
    assert fake.say(pg.query("BEGIN"))[-1] == ("Z", b"T")
    assert fake.say(pg.query("SELECT bad"))[-1] == ("Z", b"E")
    spent = fake.spent
    assert errors(fake.say(pg.query(ASK))) == ["25P02"]
    assert errors(fake.say(pg.parse(ASK), pg.SYNC)) == ["25P02"]
    assert errors(fake.say(pg.query("SHOW TimeZone"))) == ["25P02"]
    said = fake.say(pg.query("COMMIT"))
    assert tags(said) == ["ROLLBACK"]
    assert said[-1] == ("Z", b"I")
    assert fake.spent == spent


def test_a_savepoint_mends_a_failed_transaction(fake):
    fake.say(pg.query("BEGIN; SAVEPOINT s; SET sfumato.epsilon = 0.5"))
    fake.say(pg.query("SELECT bad"))
    assert fake.say(pg.query("ROLLBACK TO SAVEPOINT s"))[-1] == ("Z", b"T")
    assert fake.session.settings.get("sfumato.epsilon") == ""
    assert tags(fake.say(pg.query("RELEASE SAVEPOINT s; COMMIT"))) == ["RELEASE", "COMMIT"]
    assert errors(fake.say(pg.query("SAVEPOINT s"))) == ["25P01"]
    fake.say(pg.query("BEGIN"))
    assert errors(fake.say(pg.query("ROLLBACK TO nowhere"))) == ["3B001"]


def test_settings_follow_transactions_and_the_client_is_told(fake):
    said = fake.say(pg.query("BEGIN; SET application_name = 'x'"))
    assert ("S", b"application_name\0x\0") in said
    assert ("S", b"application_name\0\0") in fake.say(pg.query("ROLLBACK"))
    fake.say(pg.query("BEGIN; SET LOCAL application_name = 'y'"))
    assert ("S", b"application_name\0\0") in fake.say(pg.query("COMMIT"))
    fake.say(pg.query("SET application_name TO z"))
    assert ("S", b"application_name\0\0") in fake.say(pg.query("RESET ALL"))


@pytest.mark.parametrize(
    ("sql", "tag"),
    [
        ("START TRANSACTION ISOLATION LEVEL SERIALIZABLE READ ONLY", "BEGIN"),
        ("END", "COMMIT"),
        ("ABORT", "ROLLBACK"),
        ("COMMIT AND CHAIN", "COMMIT"),
        ("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", "SET"),
        ("SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "SET"),
        ("SET TIME ZONE 'UTC'", "SET"),
        ("SET NAMES 'UTF8'", "SET"),
        ("SET search_path TO public, pg_catalog", "SET"),
        ("SET extra_float_digits = 3", "SET"),
        ("SET my.own = 'thing'", "SET"),
        ("DISCARD ALL", "DISCARD ALL"),
        ("DEALLOCATE ALL", "DEALLOCATE ALL"),
        ("CLOSE ALL", "CLOSE CURSOR ALL"),
        ("UNLISTEN *", "UNLISTEN"),
        ("RESET sfumato.epsilon", "RESET"),
        (f"SET statement_timeout = '{'9' * 5000}d'", "SET"),
        ("SET statement_timeout = '²'", "SET"),
    ],
)
def test_commands_as_clients_send_them(fake, sql, tag):
    assert tags(fake.say(pg.query(sql))) == [tag]
    assert fake.spent == 0
    assert pg.kinds(fake.say(pg.query(ASK)))[-1] == "Z", "the next query is heard"


@pytest.mark.parametrize(
    ("sql", "state"),
    [
        ("SET nothing_known = 1", "42704"),
        ("SET sfumato.epsilom = 1", "42704"),
        ("SET sfumato.epsilon = 'a lot'", "22023"),
        ("SET sfumato.epsilon = -1", "22023"),
        ("SET sfumato.confidence = 2", "22023"),
        ("SET sfumato.noise = cauchy", "22023"),
        ("SET sfumato.intervals = perhaps", "22023"),
        ("SET client_encoding = latin1", "22023"),
        ("SET standard_conforming_strings = off", "22023"),
        ("SET server_version = 9", "55P02"),
        ("SET ROLE owner", "42501"),
        ("SHOW nothing", "42704"),
        ("SET", "42601"),
        ("FETCH", "42601"),
        (f"FETCH {'9' * 5000} FROM c", "42601"),
        (f"PREPARE p AS SELECT ${'9' * 5000}", "42P02"),
        ("EXPLAIN ANALYZE SELECT 1", "0A000"),
    ],
)
def test_commands_that_are_refused(fake, sql, state):
    assert errors(fake.say(pg.query(sql))) == [state]


# options


def test_settings_and_comments_become_options(fake):
    fake.say(pg.query("SET sfumato.epsilon = 0.5; SET sfumato.confidence TO 0.9; SET sfumato.noise = 'gaussian'"))
    fake.say(pg.query("SET sfumato.rows_per_unit = 3"))
    fake.say(pg.query(ASK))
    options = fake.work[-1].options
    assert (options.epsilon, options.confidence, options.noise, options.rows_per_unit) == ("0.5", "0.9", "gaussian", 3)
    fake.say(pg.query(f"/* epsilon=0.25 */ {ASK}"))
    assert fake.work[-1].options.epsilon == "0.25"
    fake.say(pg.query(f"-- within=10, confidence=0.99\n{ASK}"))
    options = fake.work[-1].options
    assert (options.epsilon, options.within, options.confidence) == (None, "10", "0.99")
    fake.say(pg.query(f"SET sfumato.within = 4; {ASK}"))
    assert (fake.work[-1].options.epsilon, fake.work[-1].options.within) == (None, "4")
    fake.say(pg.parse(f"/* epsilon=0.125 */ {ASK}"), pg.bind(), pg.execute(), pg.SYNC)
    assert fake.work[-1].options.epsilon == "0.125"
    assert errors(fake.say(pg.query(f"/* epsilon=much */ {ASK}"))) == ["22023"]


def test_intervals_change_what_describe_says(fake):
    fake.say(pg.parse(ASK, "p"), pg.describe("S", "p"), pg.SYNC)
    fake.say(pg.query("SET sfumato.intervals = on"))
    said = fake.say(pg.bind(statement="p"), pg.SYNC)
    assert errors(said) == ["0A000"]
    said = fake.say(pg.parse(ASK), pg.describe("S"), pg.bind(), pg.execute(), pg.SYNC)
    assert [body[:2] for kind, body in said if kind == "T"] == [b"\0\3"]
    assert len(pg.row_of(next(body for kind, body in said if kind == "D"))) == 3


def test_notices_can_be_silenced(fake):
    assert "N" in pg.kinds(fake.say(pg.query(ASK)))
    fake.say(pg.query("SET client_min_messages = warning"))
    assert "N" not in pg.kinds(fake.say(pg.query(ASK)))
    assert "N" in pg.kinds(fake.say(pg.query("COMMIT"))), "a warning is still told"


def test_names_are_taken_once_and_must_exist(fake):
    assert errors(fake.say(pg.parse(ASK, "p"), pg.parse(ASK, "p"), pg.SYNC)) == ["42P05"]
    assert errors(fake.say(pg.bind(statement="q"), pg.SYNC)) == ["26000"]
    assert errors(fake.say(pg.execute("x"), pg.SYNC)) == ["34000"]
    twice = pg.bind(portal="c", statement="p") * 2
    assert errors(fake.say(twice, pg.SYNC)) == ["42P03"]
    assert errors(fake.say(pg.parse(f"{ASK}; {ASK}"), pg.SYNC)) == ["42601"]
    assert errors(fake.say(pg.close("S", "p"), pg.bind(statement="p"), pg.SYNC)) == ["26000"]


def test_portals_end_at_sync_outside_of_a_transaction(fake):
    fake.say(pg.parse(ASK), pg.bind(portal="c"), pg.SYNC)
    assert errors(fake.say(pg.execute("c"), pg.SYNC)) == ["34000"]
    fake.say(pg.query("BEGIN"))
    fake.say(pg.parse(ASK), pg.bind(portal="c"), pg.SYNC)
    assert rows(fake.say(pg.execute("c", 1), pg.SYNC)) == [100]
    assert rows(fake.say(pg.execute("c", 1), pg.SYNC)) == [101]
    fake.say(pg.query("COMMIT"))
    assert errors(fake.say(pg.execute("c"), pg.SYNC)) == ["34000"]


def test_the_types_of_parameters_are_told(fake):
    said = fake.say(pg.parse("SELECT n FROM t WHERE age > $1 AND x = $2", types=(0, 1043)), pg.describe("S"), pg.SYNC)
    assert dict(said)["t"] == b"\0\2\0\0\0\x14\0\0\4\x13"


WORDS = [
    *("SET", "RESET", "SHOW", "BEGIN", "COMMIT", "ROLLBACK", "TO", "SAVEPOINT", "RELEASE", "PREPARE", "EXECUTE", "AS"),
    *("DECLARE", "CURSOR", "FOR", "FETCH", "MOVE", "CLOSE", "ALL", "DISCARD", "DEALLOCATE", "EXPLAIN", "COPY", "("),
    *(")", ",", "=", "::", "-", "FROM", "IN", "STDOUT", "WITH", "CSV", "HEADER", "DELIMITER", "NULL", "QUOTE"),
    *("FORMAT", "x", "1", "'y'", '"z"', "$1", "$2", "SELECT", "LOCAL", "SESSION", "TIME", "ZONE", "NAMES", "ROLE"),
    *("TRANSACTION", ".", ";", "CAST", "any", "int", "[", "]", "LISTEN", "UNLISTEN", "BACKWARD", "ABSOLUTE"),
    *("9" * 5000, "$" + "9" * 5000, "²", "statement_timeout"),
]


@settings(max_examples=1000)
@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9))
def test_any_words_are_a_command_or_an_error(words):
    fake = Fake()
    said = fake.say(pg.query(" ".join(words)), pg.parse(" ".join(words)), pg.describe("S"), pg.bind([b"1"]), pg.SYNC)
    assert pg.kinds(said)[-1] == "Z"


SCRIPT = [
    pg.parse(ASK), pg.parse(ASK, "p"), pg.bind(), pg.bind(statement="p", portal="c"), pg.describe("S"), pg.describe(),
    pg.execute(), pg.execute("c", 2), pg.execute("c", 1), pg.close("P", "c"), pg.close("S", "p"), pg.SYNC, pg.FLUSH,
    pg.query(ASK), pg.query("BEGIN"), pg.query("COMMIT"), pg.query("ROLLBACK"), pg.query("SELECT bad"),
    pg.parse("SELECT bad"),
    pg.query("SAVEPOINT s"), pg.query("ROLLBACK TO s"), pg.query("SET sfumato.intervals = on"), pg.query("SHOW all"),
    pg.query("DECLARE c CURSOR FOR SELECT n"), pg.query("FETCH 1 c"), pg.framed("c"), pg.framed("d", b"x"),
]  # fmt: skip


@settings(max_examples=300)
@given(st.lists(st.sampled_from(SCRIPT), max_size=25))
def test_any_order_of_messages_spends_at_most_once_a_portal_or_query(script):
    fake = Fake()
    fake.drive(fake.session.greet())
    said = fake.say(*script)
    may = sum(one[:1] in (b"Q", b"B") for one in script)
    assert fake.spent <= may
    assert pg.kinds(said).count("Z") == sum(one[:1] in (b"Q", b"S") for one in script)
    executes = sum(one[:1] in (b"E", b"Q") for one in script)
    assert fake.spent <= executes
    assert len(errors(said)) <= len(script)


# what one message may take


class Measured(Fake):
    """A session that notes how many characters are read between the messages of other clients, not in a thread."""

    def __init__(self, monkeypatch):
        super().__init__()
        self.in_thread, self.longest = False, 0
        for module, name, size in (
            (lexer, "_scan", len),
            (types, "split_array", len),
            (statement_kinds, "command", lambda statement: len(statement.text)),
            (session_objects, "types", lambda statement, _: len(statement.text)),
            (session_objects, "fill", lambda statement, *_: len(statement.text)),
        ):
            monkeypatch.setattr(module, name, self.counted(getattr(module, name), size))

    def counted(self, function, size):
        def call(*arguments):
            if not self.in_thread:
                self.longest = max(self.longest, size(*arguments))
            return function(*arguments)

        return call

    def do(self, work):
        self.in_thread = work.task is WireTask.COMPUTE
        try:
            return super().do(work)
        finally:
            self.in_thread = False


LONG = ",".join(["1"] * 3_000)


@pytest.mark.parametrize(
    "data",
    [
        (pg.query(f"SELECT {LONG}"),),
        (pg.parse(f"SELECT {LONG}"), pg.SYNC),
        (pg.query(f"PREPARE p AS SELECT {LONG}"),),
        (pg.query("BEGIN"), pg.query(f"DECLARE c CURSOR FOR SELECT {LONG}")),
        (pg.query("PREPARE p(int[]) AS SELECT n FROM t WHERE age = ANY($1)"), pg.query(f"EXECUTE p('{{{LONG}}}')")),
        (pg.parse("SELECT n FROM t WHERE age = ANY($1)", types=(1016,)), pg.bind([f"{{{LONG},x}}".encode()]), pg.SYNC),
        (pg.query(f"PREPARE p AS SELECT {','.join(['$1'] * 300)}"), pg.query("EXECUTE p(1)")),
    ],
    ids=["simple", "parse", "prepare", "declare", "execute", "bind", "fill"],
)
def test_nothing_long_is_read_between_the_messages_of_others(monkeypatch, data):
    measured = Measured(monkeypatch)
    measured.say(*data)
    assert measured.longest <= statement_kinds.SHORT
    assert any(work.task is WireTask.COMPUTE for work in measured.work)


def test_options_of_copy_are_read_in_one_walk():
    """A list that counts its slices: one for each word, none of them long."""
    words = " ".join(["header"] * 2000)
    reads = []
    tokens = lexer.statements(f"COPY (SELECT 1) TO STDOUT {words}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statement_kinds, "_value", lambda token: reads.append(token) or token.text)
        assert statement_kinds.command(tokens[0]).header
    assert len(reads) <= 2 * len(tokens[0].tokens)


def stepped(size, at, direction, count):
    """The rows that a cursor passes, one step at a time, and where it stands then."""
    passed, steps = [], size + 1 if count is None else count
    if direction in ("forward", "backward"):
        way = (1 if steps > 0 else -1) * (1 if direction == "forward" else -1)
        for _ in range(abs(steps)):
            at = min(max(at + way, 0), size + 1)
            passed += [at - 1] if 1 <= at <= size else []
        if steps == 0:
            passed = [at - 1] if 1 <= at <= size else []
        return passed, at
    goal = {"absolute": count if count >= 0 else size + 1 + count, "relative": at + count}[direction]
    at = min(max(goal, 0), size + 1)
    return [at - 1] if 1 <= at <= size else [], at


@pytest.mark.parametrize("size", range(4))
def test_a_cursor_passes_the_rows_that_steps_would(size):
    for at in range(size + 2):
        for direction in ("forward", "backward", "absolute", "relative"):
            counts = (*range(-5, 6), *((None,) if direction in ("forward", "backward") else ()))
            for count in counts:
                cursor = Portal(None, result=Result(FIELDS, [(i,) for i in range(size)]), at=at)
                passed = cursor.move(Fetch("c", count, direction, False))
                expected, stands = stepped(size, at, direction, count)
                assert [row[0] for row in cursor.rows(passed)] == list(passed) == expected, (at, direction, count)
                assert cursor.at == stands


def test_moving_a_cursor_touches_no_row(fake):
    class Untouched(list):
        def __getitem__(self, at):
            raise AssertionError("a row was read")

    fake.say(pg.query("BEGIN"), pg.query(f"DECLARE c CURSOR FOR {ASK}"), pg.query("MOVE 0 IN c"))
    cursor = fake.session._shelf.portals["c"]
    cursor.result.rows = Untouched(cursor.result.rows)
    assert tags(fake.say(pg.query("MOVE FORWARD ALL IN c; MOVE BACKWARD ALL IN c"))) == ["MOVE 5", "MOVE 5"]


def test_what_a_session_keeps_is_counted():
    """Cursors by their tokens, fetched rows, savepoints: more than the allowance is refused, and given back later."""
    long = "DECLARE {} CURSOR WITH HOLD FOR SELECT " + ",".join(["1"] * 900)
    for first, one, others, last in (
        ("BEGIN", long, 3, "ROLLBACK"),
        (f"SET a.b = '{'x' * 60_000}'; BEGIN", "SAVEPOINT {}", 3, "ROLLBACK"),
    ):
        fake = Fake()
        fake.session = WireSession("ana", Settings("ana"), {}, Allowance(700_000))
        fake.say(pg.query(first))
        said = [errors(fake.say(pg.query(one.format(f"c{i}")))) for i in range(others)]
        assert said[0] == [], one[:9]
        assert said[-1] in (["53200"], ["25P02"]), one[:9]
        assert ["53200"] in said
        fake.say(pg.query(last))
    fake = Fake(rows=1000)
    allowance = Allowance(20_000)
    fake.session = WireSession("ana", Settings("ana"), {}, allowance)
    fake.say(pg.query("BEGIN"), pg.query(f"DECLARE c CURSOR FOR {ASK}"), pg.parse("FETCH ALL FROM c", "f"), pg.SYNC)
    heard = []
    for i in range(3):
        heard += errors(fake.say(pg.bind(statement="f", portal=f"p{i}"), pg.execute(f"p{i}", 1), pg.SYNC))
        fake.say(pg.query("MOVE BACKWARD ALL IN c"))
    assert heard[:1] == ["53200"]
    assert allowance.used >= 8000


def test_the_settings_of_a_session_are_bounded_together(fake):
    said = [errors(fake.say(pg.query(f"SET a.b{i} = '{'x' * 9000}'"))) for i in range(12)]
    assert said.count(["54000"]) == 1
    assert errors(fake.say(pg.query(f"SET a.b0 = '{'y' * 9000}'"))) == [], "one that is replaced counts once"


def test_rows_are_kept_as_messages_in_one_form(fake):
    answer = Result(FIELDS * 3, [(1, 2, 3)] * 10)
    fake.do = lambda work: answer if work.task is WireTask.ANSWER else FIELDS * 3
    for form in range(8):
        formats = [form >> i & 1 for i in range(3)]
        assert pg.kinds(fake.say(pg.parse(ASK), pg.bind(results=formats), pg.execute(), pg.SYNC)).count("D") == 10
    assert len(answer.sent) == 1


def test_columns_of_other_types_than_were_told_are_refused(fake):
    """The owner has reloaded other files: a driver would read these bytes as what it was told."""
    fake.say(pg.parse(ASK, "p"), pg.describe("S", "p"), pg.SYNC)
    assert rows(fake.say(pg.bind(statement="p"), pg.execute(), pg.SYNC)) == [100, 101, 102, 103, 104]
    changed = (Field("n", "numeric"),)
    fake.do = lambda work: changed if work.task is WireTask.LOOK else Result(changed, [(1,)])
    assert errors(fake.say(pg.bind(statement="p"), pg.execute(), pg.SYNC)) == ["0A000"]
    assert errors(fake.say(pg.describe("S", "p"), pg.bind(statement="p"), pg.execute(), pg.SYNC)) == []


def test_one_client_lets_others_speak(monkeypatch):
    """By the time that it took, in messages of many statements and between messages; the clock here moves by calls."""
    moments = itertools.count()
    monkeypatch.setattr(server, "monotonic", lambda: next(moments) / 1000)
    statements, messages = 1000, 200

    class Line:
        """Messages that have all arrived, and that are passed over."""

        waiting, sent = 1, 0

        async def message(self):
            self.sent += 1
            return ("X", b"") if self.sent > messages else ("H", b"")

    class Still(WireSession):
        def receive(self, message):
            return iter(())

    async def main(work):
        turns = 0

        async def other():
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        waiting = asyncio.ensure_future(other())
        await work
        waiting.cancel()
        return turns

    stub = SimpleNamespace(number=0, stopping=False)
    connection = server.Connection(stub, Line())
    per_turn = 1000 * server._TURN + 2
    assert asyncio.run(main(connection._drive(b"" for _ in range(statements)))) >= statements / per_turn
    connection = server.Connection(stub, Line())
    talking = connection._talk(Still("ana", Settings("ana"), {}))
    assert asyncio.run(main(talking)) >= messages / per_turn
