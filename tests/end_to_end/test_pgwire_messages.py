"""The bytes of the PostgreSQL interface: messages, types, COPY, words of SQL, parameters, SCRAM."""

import struct
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest
import sqlglot
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.end_to_end import pg

from sfumato.errors import SfumatoError
from sfumato.server import scram
from sfumato.server.pgwire import messages as m
from sfumato.server.pgwire.commands import CopyOut
from sfumato.server.pgwire.copy_formats import lines
from sfumato.server.pgwire.results import Field, Result
from sfumato.server.pgwire.types import KINDS, decode, encode, oid_of, split_array
from sfumato.sql.read.lexer import statements
from sfumato.sql.read.parameters import fill, literal, types

NAMES = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=20)
VALUES = st.lists(st.none() | st.binary(max_size=20), max_size=5)


def refused_with(function, *arguments):
    """The SQLSTATE of a refusal, or None; any other exception is a failure."""
    try:
        function(*arguments)
    except SfumatoError as error:
        return error.sqlstate
    return None


def read(data):
    ((kind, body),) = pg.split(data)
    return m.parse(kind, body)


@given(NAMES, NAMES, st.lists(st.integers(0, 2**32 - 1), max_size=5))
def test_parse_round_trip(name, sql, oids):
    assert read(pg.parse(sql, name, oids)) == m.Parse(name, sql, tuple(oids))
    assert read(pg.query(sql)) == m.SimpleQuery(sql)


@given(VALUES, NAMES, NAMES, st.lists(st.integers(0, 1), max_size=5), st.lists(st.integers(0, 1), max_size=5))
def test_bind_round_trip(values, portal, statement, formats, results):
    read_back = read(pg.bind(values, portal, statement, formats, results))
    assert read_back == m.Bind(portal, statement, tuple(formats), tuple(values), tuple(results))


@given(st.sampled_from("SP"), NAMES, st.integers(0, 2**31 - 1))
def test_the_small_messages_round_trip(kind, name, limit):
    assert read(pg.describe(kind, name)) == m.Describe(kind, name)
    assert read(pg.close(kind, name)) == m.Close(kind, name)
    assert read(pg.execute(name, limit)) == m.Execute(name, limit)
    assert read(pg.SYNC) == m.BareMessage("S")


@given(st.dictionaries(NAMES.filter(bool), NAMES, max_size=4), st.integers(0, 9))
def test_startup_round_trip(parameters, minor):
    body = pg.startup(version=(3 << 16) + minor)[4:]
    assert m.parse_startup(body).minor == minor
    raw = struct.pack("!I", 196608) + b"".join(pg.text(k) + pg.text(v) for k, v in parameters.items()) + b"\0"
    assert m.parse_startup(raw) == m.Startup(3, 0, parameters)


@settings(max_examples=500)
@given(st.sampled_from([*"QPBDECSHXFpdcf", "?", "z"]), st.binary(max_size=60))
def test_any_body_is_a_message_or_an_error_of_the_protocol(kind, body):
    assert refused_with(m.parse, kind, body) in (None, "08P01", "22021", "0A000")


@settings(max_examples=500)
@given(st.binary(min_size=0, max_size=60))
def test_any_start_is_a_start_or_an_error_of_the_protocol(body):
    assert refused_with(m.parse_startup, body) in (None, "08P01", "22021")


def test_an_error_has_all_its_fields():
    error = SfumatoError("no", detail="Why.", hint="Do.", position=7, sqlstate="42601")
    ((kind, body),) = pg.split(m.report(b"E", "ERROR", error))
    wanted = {"S": "ERROR", "V": "ERROR", "C": "42601", "M": "no", "D": "Why.", "H": "Do.", "P": "7"}
    assert (kind, pg.fields_of(body)) == ("E", wanted)


# values

NUMERIC = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**40), max_value=10**40, places=12)
DAYS = st.dates(date(1, 1, 1), date(9999, 12, 31))
MOMENTS = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31))  # noqa: DTZ001 - naive is UTC here


@pytest.mark.parametrize("form", [m.TEXT, m.BINARY])
@given(st.data())
def test_every_type_that_is_returned_can_be_read_back(form, data):
    texts = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"))
    kinds = {
        "bigint": st.integers(-(2**63), 2**63 - 1),
        "numeric": NUMERIC,
        "text": texts,
        "date": DAYS,
        "timestamp": MOMENTS,
        "boolean": st.booleans(),
        "integer": st.integers(-(2**31), 2**31 - 1),
        "smallint": st.integers(-(2**15), 2**15 - 1),
        "oid": st.integers(0, 2**32 - 1),
        "text[]": st.lists(st.none() | texts, max_size=4),
        "bigint[]": st.lists(st.none() | st.integers(-9, 9), max_size=4),
    }
    name = data.draw(st.sampled_from(sorted(kinds)))
    value = data.draw(kinds[name])
    assert decode(encode(value, oid_of(name), form), oid_of(name), form) == value


@pytest.mark.parametrize(
    ("value", "wire"),
    [
        ("0", "0000 0000 0000 0000"),
        ("1", "0001 0000 0000 0000 0001"),
        ("-12345.678", "0003 0001 4000 0003 0001 0929 1a7c"),
        ("0.00001", "0001 fffe 0000 0005 03e8"),
        ("10000", "0001 0001 0000 0000 0001"),
        ("0.10", "0001 ffff 0000 0002 03e8"),
    ],
)
def test_numeric_in_binary_is_postgresqls(value, wire):
    assert encode(Decimal(value), 1700, m.BINARY).hex() == wire.replace(" ", "")


def test_a_number_that_does_not_fit_is_refused_in_binary_alone():
    with pytest.raises(SfumatoError, match="too large"):
        encode(2**63, 20, m.BINARY)
    assert encode(2**63, 20, m.TEXT) == b"9223372036854775808"


OIDS = [*(kind.oid for kind in KINDS.values()), 1009, 1016, 99999]


@given(st.binary(max_size=40), st.sampled_from(OIDS), st.integers(0, 1))
def test_any_bytes_are_a_value_or_an_error(data, oid, form):
    assert refused_with(decode, data, oid, form) in (None, "22P02", "22P03", "22021", "08P01", "0A000")


@given(st.text(max_size=20))
def test_any_text_is_an_array_or_not(text):
    try:
        split_array("{" + text + "}")
    except (ValueError, IndexError):
        pass


# COPY


def test_copy_in_text_escapes_and_in_csv_quotes():
    result = Result((Field("a", "text"), Field("b", "bigint")), [("x\ty\\", 1), (None, 2), ('say "hi", \n', None)])
    statement = statements("SELECT 1")[0]
    text = b"".join(lines(result, CopyOut(statement)))
    assert text == b'x\\ty\\\\\t1\n\\N\t2\nsay "hi", \\n\t\\N\n'
    csv = b"".join(lines(result, CopyOut(statement, "csv", True, ",", "")))
    assert csv == b'a,b\nx\ty\\,1\n,2\n"say ""hi"", \n",\n'


def test_copy_in_binary_sends_its_header_with_the_first_row():
    result = Result((Field("b", "bigint"),), [(1,), (None,)])
    first, second, last = lines(result, CopyOut(statements("SELECT 1")[0], "binary"))
    assert first == b"PGCOPY\n\xff\r\n\0" + bytes(8) + b"\0\1\0\0\0\x08" + bytes(7) + b"\1"
    assert (second, last) == (b"\0\1\xff\xff\xff\xff", b"\xff\xff")


# words of SQL


def test_semicolons_divide_outside_of_strings_and_comments_only():
    text = "SELECT ';', $$;$$, \"a;b\", E'\\';' -- ;\n; /* ; /* ; */ */ SELECT $tag$;$tag$;;"
    first, second = statements(text)
    assert [token.kind for token in first.tokens] == ["word", *["string", "sign"] * 2, "quoted", "sign", "string"]
    assert second.comments == (" ; /* ; */ ",)
    assert text[second.offset :].startswith(" /* ;")


@pytest.mark.parametrize("text", ["SELECT 'a", 'SELECT "a', "SELECT $$a", "SELECT /* /* */", "SELECT E'\\'"])
def test_what_does_not_end_is_a_syntax_error_with_its_place(text):
    with pytest.raises(SfumatoError) as refused:
        statements(text)
    assert refused.value.sqlstate == "42601"
    assert refused.value.position


@given(st.text(max_size=60))
def test_any_text_is_divided_or_refused_and_nothing_is_lost(text):
    try:
        found = statements(text)
    except SfumatoError:
        return
    for one in found:
        assert text[one.offset : one.offset + len(one.text)] == one.text
        assert all(one.text[token.start : token.end] == token.text for token in one.tokens)


TEXTS = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=30)
ANY = st.none() | st.booleans() | st.integers() | NUMERIC | TEXTS | DAYS | MOMENTS


@given(ANY, ANY)
@example("'; DROP TABLE x; --", -1)
@example("\\", "' OR 1=1 --")
@example("$1", "/*")
@example("a' || 'b", "E'")
def test_a_value_stays_a_literal_whatever_it_holds(one, other):
    statement = statements("SELECT a FROM t WHERE b = $1 AND -c < -$2 -- $1\nAND d = '$2'")[0]
    filled = fill(statement, [one, other]).text
    tree = sqlglot.parse_one(filled, read="postgres")
    assert [column.name for column in tree.find_all(sqlglot.exp.Column)].__len__() == 4
    wanted = {value for value in (one, other) if isinstance(value, str)} | {"$2"}
    found = {node.this for node in tree.find_all(sqlglot.exp.Literal) if node.is_string}
    stamps = {text for text in found if text not in wanted}
    assert wanted <= found
    assert all(text[:4].isdigit() for text in stamps)


def test_lists_become_in():
    statement = statements("SELECT 1 WHERE a = ANY($1) AND b <> ALL ( $2::text[] )")[0]
    assert fill(statement, [[1, -2], ["x'y"]]).text.split() == (
        ["SELECT", "1", "WHERE", "a", "IN", "(1,", "(-2))", "AND", "b", "NOT", "IN", "('x''y')"]
    )
    empty = fill(statement, [[], []]).text
    assert "IN (NULL) IS TRUE" in empty
    assert "NOT IN (NULL) IS NOT FALSE" in empty
    with pytest.raises(SfumatoError, match="ANY"):
        fill(statements("SELECT $1")[0], [[1]])


def test_places_are_found_again():
    statement = statements("SELECT $1, $2, here")[0]
    filled = fill(statement, ["a long text", 7])
    assert filled.place(filled.text.index("here") + 1) == statement.text.index("here") + 1
    assert filled.place(filled.text.index("long") + 1) == statement.text.index("$1") + 1


COLUMNS = {"age": "bigint", "salary": "numeric", "disease": "text", "admitted": "date", "seen": "timestamp"}


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        ("age > $1", ["bigint"]),
        ("$1 <= p.age", ["bigint"]),
        ('"age" = $1', ["bigint"]),
        ("salary BETWEEN $1 AND $2", ["numeric", "numeric"]),
        ("disease IN ($1, $2) AND age = $3", ["text", "text", "bigint"]),
        ("disease = ANY($1)", ["text[]"]),
        ("age <> ALL ($1)", ["bigint[]"]),
        ("admitted >= $1", ["date"]),
        ("admitted + $1 > seen", ["bigint"]),
        ("x = $1::int4", ["int4"]),
        ("x = CAST($1 AS date)", ["date"]),
        ("x = any($1::oid[])", ["oid[]"]),
        ("lower(disease) LIKE $1", ["text"]),
        ("age * 2 > $1", ["bigint"]),
        ("x = $1", ["text"]),
    ],
)
def test_types_of_parameters_come_from_their_places(where, wanted):
    statement = statements(f"SELECT count(*) FROM patient p WHERE {where}")[0]
    assert list(types(statement, COLUMNS).values()) == wanted


def test_a_limit_is_a_whole_number():
    assert types(statements("SELECT a FROM t LIMIT $2 OFFSET $1")[0], {}) == {1: "bigint", 2: "bigint"}


def test_literals_have_no_sign_that_could_start_a_comment():
    assert literal(-5) == "(-5)"
    assert literal(Decimal("-0.5")) == "(-0.5)"
    assert literal(Decimal("12345678901234567890123456789012345.5")) == "12345678901234567890123456789012345.5"


# SCRAM


def exchange(password, known, genuine=True, binding=None):
    server = scram.ScramExchange(known, genuine=genuine, binding=binding)
    bare = "n=,r=nonce"
    words = server.first(scram.PLAIN, b"n,," + bare.encode()).decode()
    parts = dict(part.split("=", 1) for part in words.split(","))
    mine = scram.verifier(password, scram.base64.b64decode(parts["s"]), int(parts["i"]))
    salted = scram.hashlib.pbkdf2_hmac("sha256", password.encode(), mine.salt, mine.iterations)
    key = scram.hmac.digest(salted, b"Client Key", "sha256")
    without = f"c=biws,r={parts['r']}"
    signature = scram.hmac.digest(mine.stored_key, f"{bare},{words},{without}".encode(), "sha256")
    proof = scram.base64.b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True))).decode()
    return server.final(f"{without},p={proof}".encode())


def test_scram_admits_the_password_and_nothing_else():
    known = scram.verifier("pencil")
    assert exchange("pencil", known).startswith(b"v=")
    assert exchange("pen", known) is None
    assert exchange("pencil", known, genuine=False) is None
    assert scram.Verifier.from_text(known.to_text()) == known


def test_a_stranger_always_gets_the_same_salt():
    one, again, other = (scram.mock(name, b"key").salt for name in ("zoe", "zoe", "zac"))
    assert one == again != other
    assert len(one) == len(scram.verifier("x").salt)


def test_the_verifier_is_the_one_of_rfc_7677():
    salt = scram.base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    known = scram.verifier("pencil", salt, 4096)
    signed = (
        "n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        "s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    )
    server = scram.hmac.digest(known.server_key, signed.encode(), "sha256")
    assert scram.base64.b64encode(server) == b"6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_any_words_of_a_client_are_an_error_or_no_proof(first, last):
    server = scram.ScramExchange(scram.mock("x", b"k"), genuine=False)
    assert refused_with(server.first, scram.PLAIN, first) in (None, "08P01", "0A000")
    assert refused_with(lambda: server.final(last) is None or 1 / 0) in (None, "08P01")


def test_passwords_are_prepared_as_rfc_4013_says():
    salt = b"s" * 16
    assert scram.verifier("I\u00adX", salt, 1) == scram.verifier("IX", salt, 1)
    assert scram.verifier("\u2168", salt, 1) == scram.verifier("IX", salt, 1)
    assert scram.verifier("a\u00a0b", salt, 1) == scram.verifier("a b", salt, 1)
    assert scram.verifier("a\x07b", salt, 1) != scram.verifier("ab", salt, 1)


def test_microseconds_survive():
    moment = datetime(2020, 2, 29, 23, 59, 59) + timedelta(microseconds=120)  # noqa: DTZ001 - naive is UTC here
    assert encode(moment, 1114, m.TEXT) == b"2020-02-29 23:59:59.00012"
