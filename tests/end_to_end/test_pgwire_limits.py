"""What one client may take: each limit is felt, and by nobody else."""

import struct
import time

import psycopg
import pytest
from tests.end_to_end import pg

from sfumato.server.pgwire import server as server_module
from sfumato.server.pgwire.startup import WireLimits


@pytest.fixture
def open_door(written, tmp_path):
    """A server with limits of its own."""
    made = []

    def serve(**limits):
        made.append(pg.serving(pg.make_clinic(tmp_path / "c", written), limits=WireLimits(**limits), encrypted=False))
        return made[-1].__enter__()

    yield serve
    for context in made:
        context.__exit__(None, None, None)


def knock(served, count):
    return [pg.Raw(served, login=False) for _ in range(count)]


def named(served):
    """A client that has said a name, and proves nothing."""
    client = pg.Raw(served, login=False)
    client.send(pg.startup())
    assert client.message()[0] == "R"
    return client


def test_who_has_said_a_name_has_a_while_to_prove_it(open_door, monkeypatch):
    served = open_door(entering=3, startup=60)
    monkeypatch.setattr(server_module, "_POLITE", 0.2)
    slow = [named(served) for _ in range(3)]
    time.sleep(0.3)
    with pg.Raw(served) as client:
        assert client.greeting[-1] == ("Z", b"I")
        assert slow[0].message() is None, "the oldest of them"
    for raw in slow:
        raw.close()


def test_the_defaults_are_narrow():
    usual = WireLimits()
    assert usual.startup == 10
    assert usual.entering < usual.connections
    assert usual.message == 2**20


def test_whoever_only_knocks_does_not_keep_others_out(open_door, monkeypatch):
    """However many knock, and however often: half a message says no name."""
    monkeypatch.setattr(server_module, "_POLITE", 60)
    served = open_door(entering=3, connections=3, startup=60)
    silent = knock(served, 3)
    silent[1].send(pg.startup()[:-4])
    with pg.Raw(served) as client:
        assert client.greeting[-1] == ("Z", b"I"), "who has not said its name makes room"
        assert silent[0].message() is None, "the oldest of them"
        assert pg.kinds(client.ask(pg.query("SHOW TimeZone"))) == "TDCZ"
        more = knock(served, 3)
        assert pg.kinds(client.ask(pg.query("SHOW TimeZone"))) == "TDCZ", "who came in stays"
    for raw in (*silent, *more):
        raw.close()


def test_those_who_knock_at_the_same_moment_are_closed_too(open_door):
    served = open_door(entering=3, startup=60)
    many = served._hosted.run(knock, served, 8)  # meanwhile the server looks at none of them
    assert [raw.message() for raw in many[:5]] == [None] * 5
    for raw in many:
        raw.close()


def test_more_than_the_entrance_holds_are_refused_while_it_is_full(open_door, monkeypatch):
    monkeypatch.setattr(server_module, "_POLITE", 60)
    served = open_door(entering=2)
    first = [named(served) for _ in range(2)]
    (third,) = knock(served, 1)
    assert pg.fields_of(third.message()[1])["C"] == "53300"
    assert third.message() is None
    first[0].close()
    deadline = time.monotonic() + 60
    while len(served.server._entering) > 1 and time.monotonic() < deadline:
        time.sleep(0.01)
    with pg.Raw(served) as client:
        assert client.greeting[-1] == ("Z", b"I")
    for raw in (*first, third):
        raw.close()


def test_those_who_came_in_do_not_fill_the_entrance(open_door):
    served = open_door(entering=1, connections=5, per_user=5)
    inside = []
    for _ in range(5):
        inside.append(pg.Raw(served))
        assert inside[-1].greeting[-1] == ("Z", b"I")
    (late,) = knock(served, 1)
    assert pg.fields_of(late.message()[1])["C"] == "53300", "the house is full"
    inside.pop().close()
    deadline = time.monotonic() + 60
    while served.server._seats.total() > 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    with pg.Raw(served) as client:
        assert client.greeting[-1] == ("Z", b"I")
    for raw in (*inside, late):
        raw.close()


@pytest.mark.parametrize("body", [b"x", b"\0\0\0\0"])
def test_a_sync_with_a_body_is_told_and_ends_what_was_wrong(open_door, body):
    """As PostgreSQL does: the error, then ready; a client that waits for that is not left waiting."""
    with pg.Raw(open_door()) as client:
        said = client.ask(pg.framed("S", body))
        assert pg.kinds(said) == "EZ"
        assert pg.fields_of(said[0][1])["C"] == "08P01"
        assert pg.kinds(client.ask(pg.query("SHOW TimeZone"))) == "TDCZ"


def test_a_message_has_a_largest_size(open_door):
    served = open_door(message=1000)
    with pg.Raw(served) as client:
        fits = b" " * (1000 - 4 - len(b"SHOW TimeZone\0")) + b"SHOW TimeZone\0"
        assert pg.kinds(client.ask(b"Q" + struct.pack("!I", 1000) + fits)) == "TDCZ"
        client.send(b"Q" + struct.pack("!I", 1001))
        said = client.until("E")
        assert pg.fields_of(said[-1][1])["C"] == "54000", "judged by its head: the body need not come"
        assert client.message() is None


def test_the_words_of_a_log_in_are_short(open_door):
    served = open_door()
    with pg.Raw(served, login=False) as client:
        client.send(pg.startup())
        assert client.message()[0] == "R"
        client.send(b"p" + struct.pack("!I", 10_001))
        assert pg.fields_of(client.until("E")[-1][1])["C"] == "54000"
        assert client.message() is None


def test_whole_numbers_beyond_64_bits_have_no_binary_form_and_the_hint_is_right(open_door):
    served = open_door()
    wide = "COUNT(*) * 10000000000 * 1000000000000"
    with psycopg.connect(served.dsn(), autocommit=True) as connection:
        (shown,) = connection.execute(f"SELECT {wide} FROM patient").fetchone()
        assert shown > 2**63
        spent = pg.debits(served)
        with pytest.raises(psycopg.errors.NumericValueOutOfRange) as refused:
            connection.execute(f"SELECT {wide} FROM patient", binary=True)
        assert refused.value.diag.message_hint == "Ask again, which is free, for text; or for CAST(… AS numeric)."
        (numeric,) = connection.execute(f"SELECT CAST({wide} AS numeric) FROM patient", binary=True).fetchone()
        assert numeric == shown
        copied = connection.cursor().copy(f"COPY (SELECT {wide} FROM patient) TO STDOUT (FORMAT binary)")
        with pytest.raises(psycopg.errors.NumericValueOutOfRange), copied as copy:
            list(copy)
        assert connection.execute("SHOW TimeZone").fetchone() == ("UTC",)
    assert pg.debits(served) == spent, "asking again was free, in each form"


def test_an_unknown_format_is_refused_before_anything_is_paid(open_door):
    served = open_door()
    with pg.Raw(served) as client:
        sql = "SELECT COUNT(*) FROM patient"
        said = client.ask(pg.parse(sql), pg.bind(results=(7,)), pg.execute(), pg.SYNC)
        assert pg.kinds(said) == "1EZ"
        assert pg.fields_of(said[1][1])["C"] == "22023"
        said = client.ask(pg.parse(f"{sql} WHERE age > $1"), pg.bind([b"1"], formats=(2,)), pg.execute(), pg.SYNC)
        assert pg.kinds(said) == "1EZ"
    assert pg.debits(served) == 0


DEEP = {
    "casts": "SELECT 1" + "::int" * 380,
    "a long name": "SELECT " + "a." * 500 + "b",
    "comparisons": "SELECT 1" + "<1" * 900,
    "IS NULL": "SELECT 1 " + "IS NULL " * 300,
    "WITH": "with a as (" * 90 + "select 1" + ") select 1" * 90,
}


def test_texts_that_are_nested_too_deeply_end_no_connection(open_door, caplog):
    """Nor do they fill the operator's log: each of them is one error of one statement, also when it is explained."""
    served = open_door()
    with psycopg.connect(served.dsn(), autocommit=True) as client:
        said = []
        for text in DEEP.values():
            for statement in (text, f"EXPLAIN {text}"):
                try:
                    client.execute(statement)
                except psycopg.Error as error:
                    said.append(error.sqlstate)
        assert {*said} <= {"54001", "0A000", "42703", "42P01", "42601", "42883", "42804"}
        assert "54001" in said
        assert client.execute("SELECT 1").fetchone() == (1,)
    assert "a connection failed" not in caplog.text
