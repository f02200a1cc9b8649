"""Operators of bits: the same numbers in DuckDB, in PostgreSQL and in the reference, within what is claimed."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import duckdb
import psycopg
import pytest

from sfumato.algebra.functions import call
from sfumato.algebra.tree import INTEGER, Column, Facts
from sfumato.engines.duckdb.expressions import expression
from sfumato.engines.postgres.expressions import expression as in_postgres
from sfumato.errors import QueryError
from sfumato.sql.query_binding import bind
from sfumato.sql.read.parser import parse
from tests import pgserver, tableless
from tests.laws.asking import TODAY
from tests.laws.directed import policy
from tests.laws.test_time_and_text import value_of

OPERATORS = {"&": int.__and__, "|": int.__or__, "#": int.__xor__}
EDGES = [*(sign * (1 << bits) + more for bits in (0, 1, 5, 31, 32, 62) for sign in (1, -1) for more in (-1, 0, 1))]
EDGES += [2**63 - 1, -(2**63), 2**63 - 2, 0x5555555555555555, -0x5555555555555556]


def whole(name, low, high):
    ends = (None, None) if low is None else (Fraction(low), Fraction(high))
    return Column(name, Facts(INTEGER, *ends, Fraction(1), nullable=False))


@pytest.mark.parametrize("sign", OPERATORS)
def test_no_bits_lie_outside_of_what_is_claimed(sign: str) -> None:
    """Every pair of ranges of small numbers, and every pair of numbers in them; one end at least is met often."""
    ends, met = [(low, high) for low in range(-6, 7) for high in range(low, 7)], 0
    for a, b in product(ends, ends):
        facts = call(sign, (whole("a", *a), whole("b", *b))).facts
        found = [OPERATORS[sign](x, y) for x in range(a[0], a[1] + 1) for y in range(b[0], b[1] + 1)]
        assert facts.low <= min(found), (a, b)
        assert max(found) <= facts.high, (a, b)
        met += facts.low == min(found) or facts.high == max(found)
    assert met > len(ends) ** 2 // 2


@pytest.fixture(scope="module")
def postgres():
    with pgserver.cluster() as cluster, psycopg.connect(cluster.address, autocommit=True) as link:
        yield link


@pytest.mark.parametrize("sign", OPERATORS)
@pytest.mark.parametrize("bounds", [(-(2**63), 2**63 - 1), (None, None)])
def test_engines_and_the_reference_agree_with_postgresql(sign: str, bounds, postgres) -> None:
    pairs = [*zip(EDGES, random.Random(3).sample(EDGES, len(EDGES)), strict=True), (2**63 - 1, -(2**63))]
    made = call(sign, (whole("a", *bounds), whole("b", *bounds)))
    wanted = [OPERATORS[sign](*pair) for pair in pairs]
    rows = ", ".join(f"({n}, {a}::{{0}}, {b}::{{0}})" for n, (a, b) in enumerate(pairs))
    for engine, sql in ((duckdb, expression(made)), (postgres, in_postgres(made))):
        kind = "HUGEINT" if engine is duckdb else "numeric"
        query = f"SELECT {sql} FROM (VALUES {rows.format(kind)}) AS t(n, a, b) ORDER BY n"
        assert [int(value) for (value,) in engine.execute(query).fetchall()] == wanted
    assert [value_of(made, {"a": a, "b": b}) for a, b in pairs] == wanted


def test_numbers_that_64_bits_do_not_hold_are_null(postgres) -> None:
    made = call("|", (whole("a", None, None), whole("b", 0, 1)))
    for engine, sql, kind in ((duckdb, expression(made), "HUGEINT"), (postgres, in_postgres(made), "numeric")):
        (row,) = engine.execute(f"SELECT {sql} FROM (SELECT {2**63}::{kind} AS a, 1::bigint AS b) AS t").fetchall()
        assert row == (None,)
    assert value_of(made, {"a": 2**63, "b": 1}) is None
    assert made.facts.nullable


COLUMNS = {
    "i": {"type": "integer", "min": -100, "max": 100},
    "big": {"type": "integer", "min": 0, "max": 2**40},
    "d": {"type": "decimal", "min": 0, "max": 9, "grid": 1},
    "s": {"values": ["x", "y"]},
}
REFUSED = {
    "i << 32": "depends on the type",
    "i >> 32": "depends on the type",
    "i << 25": "depends on the type",
    "big << 30": "depends on the type",
    "CAST(i AS bigint) << 57": "depends on the type",
    "i << i": "a literal count",
    "i << 63": "a literal count",
    "d & 1": "integer type",
    "EXTRACT(year FROM DATE '2024-01-01') & 1": "integer type",
    "s | 1": "integer type",
    "~i + 1": "needs brackets",
    "1 + ~i * 2": "needs brackets",
    "~d": "integer type",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_may_mean_something_else_is_refused(text: str) -> None:
    with pytest.raises(QueryError, match=REFUSED[text]):
        bind(parse(f"SELECT SUM({text}) FROM t"), policy(COLUMNS, 9), TODAY, tableless.tableless())
