"""to_char of numbers prints what PostgreSQL prints, in DuckDB, in PostgreSQL and in the reference interpreter."""

# ruff: noqa: E501  patterns and SQL stand on one line
from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import duckdb
import psycopg
import pytest

from sfumato.algebra.tree import DECIMAL, INTEGER, Column, Facts
from sfumato.engines.duckdb.expressions import expression
from sfumato.engines.postgres.expressions import expression as in_postgres
from sfumato.errors import QueryError
from sfumato.sql.bind.number_texts import number_text
from sfumato.sql.read.number_formats import number_format
from tests import pgserver
from tests.laws.test_time_and_text import value_of

WHOLE = [0, 1, -1, 5, 9, 10, -10, 12, 99, 100, 999, -999, 1000, 1234, -1234, 12345, 999999, 1000000, -7654321, 10**9]
CENTS = [*WHOLE, 4, -4, 49, 50, 51, -50, 95, 99, -99, 100, 149, 150, 995, -995, 9949, 9950, 99994, 99995, 105, 120]
COLUMNS = {
    "whole": (Facts(INTEGER, Fraction(-(10**7)), Fraction(10**9), Fraction(1)), WHOLE),
    "cents": (Facts(DECIMAL, Fraction(-(10**5)), Fraction(10**7), Fraction(1, 100)), CENTS),
    "quarters": (Facts(DECIMAL, Fraction(-10), Fraction(300), Fraction(1, 4)), [0, 1, -1, 2, 3, 4, 5, -6, 41, 1199]),
    "fine": (Facts(DECIMAL, Fraction(-2), Fraction(2), Fraction(1, 10**6)), [*WHOLE[:18], 4999, 5000, -5000, 995000]),
    "any": (Facts(INTEGER, None, None, Fraction(1)), [*WHOLE, 2**63 - 1, -(2**63), 10**18, 10**18 - 1]),
}
PATTERNS = [
    "9", "0", "999", "000", "990", "099", "9,999", "9,999,999", "9G999G999", "0,000", "9,099", "90,99", "9,,9", "9.9", "9.99", "0.99", "0.00", "99.09", "9,999.99", "990D00", "9.999999", "999999999999999999",
    "FM9", "FM999", "FM000", "FM9,999", "FM9,999,990", "FM9.99", "FM0.99", "FM9.90", "FM0.00", "FM990.0999", "fm999d0",
    "FM9,9.9", "99FM", "S999", "999S", "S9.99", "FMS999", "FM999S", "MI999", "999MI", "FMMI9.9", "FM9.9mi",
    "S9,990.0", "9,999.99S", "$999", "$ 9,999.99", "FM$9,999.99", "$FM999", "999%", "FM990.9%", "-999", "S$999",
    "MI$999", "999%S", "999S%", "999%MI", '"x "999', 'FM999" EUR"', '"MI"FM9,999"S"', "FM9,999 €", "[999]",
    "000,000", "FM000,999", "0,9", "9,0.9", "FM9,0.9", "0.000000000000", "FM9999999990.099999",
]  # fmt: skip


def shown_by_postgresql(link, values, pattern, whole):
    rows = link.execute(
        f"SELECT to_char(v::{'bigint' if whole else 'numeric'}, %s) FROM unnest(%s::numeric[]) WITH ORDINALITY AS t(v, n) ORDER BY n",
        (pattern, [str_of(value) for value in values]),
    ).fetchall()
    return [text for (text,) in rows]


def str_of(value):
    """A decimal as it is written."""
    scaled = value * 10**8
    return f"{scaled.numerator}e-8"


@pytest.fixture(scope="module")
def postgres():
    with pgserver.cluster() as cluster, psycopg.connect(cluster.address, autocommit=True) as link:
        yield link


def random_patterns(r, count):
    for _ in range(count):
        whole = (
            r.choice("90")
            + "".join(r.choice(["9", "9", "9", "0", ",", "G"]) for _ in range(r.randint(0, 7)))
            + r.choice("90")
        )
        after = r.choice(["", ".", "D"]) and r.choice([".", "D"]) + "".join(
            r.choice("990") for _ in range(r.randint(1, 4))
        )
        mark = r.choice(["", "", "S", "MI"])
        sides = [r.choice(["", "", "$", '"a b"', " "]) for _ in "12"]
        text = r.choice([mark + sides[0] + whole + after + sides[1], sides[0] + whole + after + mark + sides[1]])
        yield r.choice(["", "FM"]) + text


def test_numbers_are_printed_as_postgresql_prints_them(postgres) -> None:
    """Written and random patterns, beside numbers near every edge."""
    r, engine, counts = random.Random(11), duckdb.connect(), Counter[str]()
    written = [(name, pattern) for pattern in PATTERNS for name in r.sample([*COLUMNS], 2)]
    for name, pattern in [*written, *((r.choice([*COLUMNS]), p) for p in random_patterns(r, 120))]:
        facts, steps = COLUMNS[name]
        if number_format(pattern) is None:
            assert pattern not in PATTERNS, pattern
            counts["refused"] += 1
            continue
        made = number_text(Column("x", facts), pattern, 0)
        values = [step * facts.grid for step in steps]
        wanted = shown_by_postgresql(postgres, values, pattern, facts.kind == INTEGER)
        rows = ", ".join(f"({n}, {step}::HUGEINT)" for n, step in enumerate(steps))
        ours = engine.execute(f"SELECT {expression(made)} FROM (VALUES {rows}) AS t(n, x) ORDER BY n").fetchall()
        assert [text for (text,) in ours] == wanted, (name, pattern)
        kind = "bigint" if facts.low is not None else "numeric"
        rows = ", ".join(f"({n}, {step}::{kind})" for n, step in enumerate(steps))
        there = postgres.execute(f"SELECT {in_postgres(made)} FROM (VALUES {rows}) AS t(n, x) ORDER BY n").fetchall()
        assert [text for (text,) in there] == wanted, (name, pattern)
        assert [value_of(made, {"x": step}) for step in steps] == wanted, (name, pattern)
        assert made.facts.length is not None
        assert all(len(text) <= made.facts.length for text in wanted), (name, pattern)
        counts["texts"] += len(wanted)
    assert counts["texts"] > 4000, counts


@pytest.mark.parametrize(
    "pattern",
    ["", "x9", "9V9", "RN", "9.9EEEE", "L999", "PL999", "999PR", "999th", "SG9", "S9S", "S9MI", ".99", "99.", ",9", "9,.9",
     "9 9", "9.9,9", "9.9.9", '9"x"9', "9" * 19, "9." + "9" * 13, "FM", "$", '"9', "9\\"],
)  # fmt: skip
def test_other_patterns_are_refused(pattern: str) -> None:
    with pytest.raises(QueryError, match="is not supported for numbers") as refused:
        number_text(Column("x", COLUMNS["whole"][0]), pattern, 0)
    assert "FM" in (refused.value.hint or "")
