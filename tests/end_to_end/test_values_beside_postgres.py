"""Families of written values and of functions of them, answered as PostgreSQL answers them, or refused.

Each family is swept: types times casts, units times intervals, words of a format one after the other. What the gateway
answers must be PostgreSQL's value; what it cannot answer so it refuses with an error, and never with another value.
"""

import random
from datetime import UTC, time
from itertools import product

import psycopg
import pytest
from tests.corpus.judging import difference
from tests.end_to_end.test_beside_postgres import ask, gateway, postgres
from tests.needed import missing

__all__ = ["gateway", "postgres"]
TYPED = (
    "date '0001-07-14'", "date '2024-03-29'", "timestamp '2024-03-29 12:00:01.5'", "timestamp '1969-12-31 23:59:59'",
    "interval '14 months -3 days 01:00'", "text '2024-03-29'", "varchar '2024-03-29 10:00'", "boolean 't'",
    "integer '7'", "numeric '1.5'", "bigint '-12'",
)  # fmt: skip
CASTS = (
    "text",
    "varchar",
    "varchar(3)",
    "date",
    "timestamp",
    "text::varchar(4)",
    "timestamp::date",
    "int",
    "date::text",
)
SPANS = (
    "1 month", "-2 days +03:00", "13 months", "-13 years", "100 days", "1300 years", "-1 year 2 months", "00:00:00.5",
    "-01:02:03", "1 year -1 day", "999 years 11 months", "250 years 7 days 25:00:00", "-5 months", "0 days",
)  # fmt: skip
UNITS = ("millennium", "century", "decade", "year", "quarter", "month", "day", "hour", "minute", "second")
MOMENTS = (
    "timestamp '2024-02-29 12:30:15.123456'", "timestamp '1969-07-20 00:00:59'", "date '2023-01-01'",
    "timestamp '2001-12-31 23:59:59.9'",
)  # fmt: skip


def answered(link, statement):
    """The rows, or the error."""
    try:
        return ask(link, statement)[1], None
    except psycopg.Error as error:
        return None, error


def both(statement, postgres, gateway, strict):
    """None where both answer alike or the gateway refuses; else what is different. Whether both answered stands first.

    An error of PostgreSQL's, where the gateway answers, counts as a difference where it is `strict`.
    """
    ours, refused = answered(gateway, statement)
    if refused is not None:
        failed = refused.diag.sqlstate in (None, "XX000", "22000")
        return False, f"{statement}: {refused}" if failed else None
    wanted, error = answered(postgres, statement)
    if error is not None:
        return False, f"{statement}: {ours} where PostgreSQL says {error}" if strict else None
    return True, None if (why := difference(ours, wanted)) is None else f"{statement}: {why}"


def swept(statements, postgres, gateway, least, *, strict=False):
    """Every statement; at least so many are answered by both."""
    found = [both(statement, postgres, gateway, strict) for statement in statements]
    assert [why for _, why in found if why is not None] == []
    assert sum(one for one, _ in found) >= least


def test_a_literal_has_its_type_before_it_is_cast(postgres, gateway):
    swept([f"SELECT {value}::{kind}" for value, kind in product(TYPED, CASTS)], postgres, gateway, 60)


@pytest.mark.parametrize("shown", [
    "({})::text", "json_agg({})", "json_build_array({0}, {0})", "json_build_object('a', {})", "concat('a', {})",
    "'a' || {}", "format('%s', {})", "array_agg({})::text", "to_json({})",
    "json_agg(age(timestamp '2000-02-29' + {}, '2000-02-29'))",
])  # fmt: skip
def test_intervals_are_printed_in_their_three_numbers(shown, postgres, gateway):
    swept([f"SELECT {shown.format(f'''interval '{span}' ''')}" for span in SPANS], postgres, gateway, len(SPANS) // 2)


@pytest.mark.parametrize("unit", UNITS)
def test_parts_of_intervals_and_of_times(unit, postgres, gateway):
    spans = [f"interval '{span}'" for span in SPANS]
    times = [*MOMENTS, "date '2000-12-31'", "date '2001-01-01'", "date '0001-01-01'", "date '1999-06-01'"]
    ages = ["age(date '2000-01-01', date '2013-06-01')", "age(date '2024-05-01', date '1899-06-01')"]
    statements = [f"SELECT extract({unit} FROM {value})" for value in (*spans, *times, *ages)]
    statements += [f"SELECT date_trunc('{unit}', {value})::text" for value in (*spans, *ages)]
    statements += [f"SELECT date_trunc('{unit}', {value})::date" for value in times]
    statements += [f"SELECT extract({unit} FROM {value}) / 4.0 > 1" for value in spans]
    least = len(statements) - 2 if unit in UNITS[:4] else 2 * len(spans) + len(times)
    swept(statements, postgres, gateway, least)


def test_truths_are_letters_where_an_answer_shows_them(postgres, gateway):
    truths = ("true", "1 = 2", "NULL::boolean", "true::text", "'x' LIKE 'x%'")
    forms = (
        "concat('a', {}, 7)", "concat_ws(',', 'a', {}, 7)", "format('%s-%s', {}, 1)", "'a' || ({})", "({})::text",
        "json_build_array({})", "array_agg({})::text", "string_agg(({})::text, ',')", "concat({})",
    )  # fmt: skip
    statements = [f"SELECT {form.format(truth)}" for form, truth in product(forms, truths)]
    statements += ["SELECT kind, concat(kind, n > 100) FROM (SELECT kind, count(*) AS n FROM visit WHERE kind IS NOT NULL GROUP BY 1) t"]  # fmt: skip  # noqa: E501  a statement stands on one line
    swept(statements, postgres, gateway, 40)


WORDS = (
    "YYYY", "YYY", "YY", "Y", "Y,YYY", "IYYY", "IYY", "IY", "I", "MM", "DD", "DDD", "IDDD", "D", "ID", "IW", "WW", "W",
    "Q", "CC", "J", "HH24", "HH12", "HH", "MI", "SS", "SSSS", "SSSSS", "MS", "US", "FF3", "AM", "pm", "Mon", "MONTH",
    "Day", "dy", "RM", "TM", "TH", "th", "FM", "T", "S", "-", " ", ":", '"T"', "ssss", "iddd",
)  # fmt: skip


def test_to_char_reads_a_pattern_as_postgres_does_or_refuses_it(postgres, gateway):
    """Words one after the other: PostgreSQL takes the longest that fits, SSSS before SS and IDDD before ID."""
    r = random.Random(163)
    patterns = [*WORDS, *("".join(r.choices(WORDS, k=r.choice([2, 3, 4]))) for _ in range(250))]
    swept([f"SELECT to_char({r.choice(MOMENTS)}, '{pattern}')" for pattern in patterns], postgres, gateway, 60)


READ = ("YYYY", "YY", "MM", "Mon", "Month", "DD", "DDD", "HH24", "HH12", "HH", "MI", "SS", "SSSS", "MS", "US", "AM",
        "T", "TH", "FM", '"T"', "IYYY", "yyyy", "mm", "dd")  # fmt: skip


def test_to_timestamp_reads_what_to_char_writes_or_refuses_it(postgres, gateway):
    """The text is what PostgreSQL writes with the same format."""
    r = random.Random(1)
    formats = [
        "YYYY-MM-DDTHH24:MI:SS",
        'YYYY-MM-DD"T"HH24:MI:SS',
        "HH24:MI",
        "YYYYMMDDHH24MISS",
        "DD Mon YYYY HH12:MI AM",
    ]
    signs = ("-", " ", ":", "", "/")
    formats += ["".join(word + r.choice(signs) for word in r.sample(READ, r.choice([2, 3, 4]))) for _ in range(250)]
    formats += [
        f"YYYY{a}{b}{c}" for a, b, c in product(("-", "", " "), ("MM", "Mon", "DDD"), ("", "-DD", " HH24", " MI"))
    ]
    statements = []
    for form, moment in product(formats, MOMENTS[:2]):
        text = postgres.execute(f"SELECT to_char({moment}, '{form}')").fetchone()[0]
        statements.append(f"SELECT to_timestamp('{text}', '{form}')::timestamp")
    swept(statements, postgres, gateway, 90, strict=True)


def test_years_of_two_digits_and_seconds_since_1970(postgres, gateway):
    statements = [f"SELECT to_date('{year:02}-1-31', 'YY-MM-DD')" for year in range(100)]
    r = random.Random(2)
    seconds = [f"{r.randrange(-(10**9), 10**10)}.{r.randrange(10**7):07}" for _ in range(100)]
    swept([*statements, *(f"SELECT to_timestamp({s})::timestamp" for s in seconds)], postgres, gateway, 200)


NAMED = "(SELECT {key} AS k, count(*) AS n FROM visit {where} GROUP BY 1) t"


def test_names_of_json_are_never_null(postgres, gateway):
    """Whatever groups there are: it is refused before it is charged, or it is JSON."""
    keys = ("kind", "extract(year from day)", "COALESCE(kind, 'none')", "to_char(day, 'YYYY')", "day >= '2024-01-01'")
    within = ("", "WHERE kind IS NOT NULL", "WHERE kind IN ('test', 'surgery') AND day IS NOT NULL")
    outer = ("", "WHERE k IS NOT NULL", "WHERE k IS NOT NULL AND n > 100", "WHERE k IS NOT NULL OR n > 100")
    calls = ("json_object_agg(k, n)", "jsonb_object_agg(k, n)", "json_object_agg(k, n) FILTER (WHERE k IS NOT NULL)",
             "json_agg(json_build_object(k, n) ORDER BY k)")  # fmt: skip
    checked = 0
    for call, key, where, more in product(calls, keys, within, outer):
        statement = f"SELECT {call} FROM {NAMED.format(key=key, where=where)} {more}"
        found, refused = answered(gateway, statement)
        if refused is not None:
            states, sure = refused.diag.sqlstate, "WHERE k IS NOT NULL" in call + more and " OR " not in more
            assert (states, sure) == ("22004", False), (statement, refused)
            continue
        checked += 1
        wanted = ask(postgres, statement)[1]
        found, wanted = (_members(rows[0][0]) for rows in (found, wanted))
        assert {name: n for name, n in found.items() if n} == wanted, statement  # public keys show groups of nobody
    assert checked > 100


def _members(value):
    """The members of an object, or of a list of them."""
    if value is None or isinstance(value, dict):
        return value or {}
    return {name: n for one in value for name, n in one.items()}


def test_aggregates_of_nothing_but_null(postgres, gateway):
    kinds = ("int", "text", "date", "timestamp", "boolean", "numeric")
    forms = ("array_agg(NULL::{})", "json_agg(NULL::{})", "json_object_agg('a', NULL::{})", "jsonb_agg(NULL::{})",
             "string_agg(NULL::{}::text, ',')", "max(NULL::{})", "count(NULL::{})")  # fmt: skip
    swept([f"SELECT {form.format(kind)}" for form, kind in product(forms, kinds)], postgres, gateway, 36)
    always = "CASE WHEN inhabitants > 1 THEN NULL END::int"  # is NULL whatever the column is
    swept([f"SELECT array_agg({always}), json_agg({always}) FROM area_info"], postgres, gateway, 1)
    empty = "(SELECT max({}) AS d FROM visit WHERE kind = 'nix') t"
    columns = ("day", "started_at", "note", "cost", "ended_at - started_at")
    swept([f"SELECT json_agg(d) FROM {empty.format(column)}" for column in columns], postgres, gateway, 3)


@pytest.mark.parametrize("binary", [False, True])
def test_parameters_of_times(binary, postgres, gateway):
    """A time of day is one; with a zone it is refused in words."""
    for statement in (
        "SELECT %s",
        "SELECT %s::time",
        "SELECT %s::text",
        "SELECT count(*) FROM visit WHERE started_at::time >= %s",
    ):
        for value in (time(3, 4), time(23, 59, 59), time(0, 0)):
            answers = []
            for link in (postgres, gateway):
                with link.cursor(binary=binary) as cursor:
                    answers.append(cursor.execute(statement, [value]).fetchall())
            assert answers[0] == answers[1], (statement, value)
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="type with number 1266"):
        gateway.execute("SELECT %s", [time(3, 4, tzinfo=UTC)])


def test_letters_change_their_case_as_in_the_locale_c_utf_8(postgres, gateway):
    """Every letter of the first two planes, with others around it, in capital and in small letters."""
    known = postgres.execute("SELECT 1 FROM pg_collation WHERE collname = 'C.utf8'").fetchone()
    if known is None:
        missing("this server has no locale C.UTF-8")
    letters = [
        chr(i) for i in range(128, 0x1FFFF) if chr(i).isalpha() and chr(i).upper() + chr(i).lower() != 2 * chr(i)
    ]
    assert len(letters) > 2000
    for start in range(0, len(letters), 400):
        text = "a".join(letters[start : start + 400])
        for function in ("upper", "lower"):
            wanted = postgres.execute(f"SELECT {function}('{text}' COLLATE \"C.utf8\")").fetchone()
            assert gateway.execute(f"SELECT {function}('{text}')").fetchone() == wanted
