"""Two spellings of one query are one query, which is paid once; and queries with one digest are one query."""

import json
import random
import sqlite3
from collections import Counter, defaultdict
from contextlib import closing
from decimal import Decimal
from itertools import product
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import sfumato
from sfumato.errors import QueryError
from sfumato.gateway.query import Query
from sfumato.policy import load
from sfumato.sql.release import digest as digests
from sfumato.sql.release import normal_form
from tests.end_to_end import pg
from tests.end_to_end.test_golden_sql import TODAY, planned
from tests.laws import shapes, twins
from tests.laws.spellings import MORE, OTHER, SAME

RICH = [
    ("epsilon = 4  ", "epsilon = 1e12  "),
    ('composition = "best" ', 'composition = "pure" '),
    ("query_epsilon = 0.1 ", "query_epsilon = 1e9 "),
    ("delta = 1e-6 ", "delta = 0 "),
    ("query_delta = 1e-8", "query_delta = 0"),
    ("[analysts.ana]\nepsilon = 1 ", "[analysts.ana]\nepsilon = 1e12 "),
]
"""So much that noise is all but never there: what is stored is the exact number, rounded to its unit."""


@pytest.fixture(scope="module")
def clinics(written, tmp_path_factory):
    """Two clinics with the same rows and ledgers of their own."""
    homes = [tmp_path_factory.mktemp(f"clinic{i}") for i in range(2)]
    one, other = (sfumato.open(pg.make_clinic(home / "c", written, *RICH)) for home in homes)
    with closing(one), closing(other):
        yield one, other


@pytest.mark.parametrize("number", range(len(SAME)))
def test_spellings_of_one_query_cost_once(clinics, number):
    """The second spelling is answered from what the first one stored, and is told its own columns."""
    first, second = SAME[number]
    assert planned(first).digest == planned(second).digest
    gate, fresh = clinics
    gate.sql(first)
    again, alone = gate.sql(second), fresh.sql(second)
    assert again.cost.epsilon == 0
    assert again.columns == alone.columns
    assert [[_close(v) for v in row] for row in again.rows] == [[_close(v) for v in row] for row in alone.rows]


def _close(value):
    return round(float(value), 4) if isinstance(value, int | float | Decimal) else value


def test_there_are_sixty_pairs():
    assert len(set(SAME)) >= 60


@pytest.mark.parametrize(("first", "second"), OTHER)
def test_other_queries_have_other_digests(first, second):
    assert planned(first).digest != planned(second).digest


@pytest.mark.parametrize(("more", "less"), MORE)
def test_a_word_more_is_read_or_refused(more, less):
    """A parser may hold a word in a part of its tree that nobody reads; then two queries would have one answer."""
    expected = planned(less).digest
    try:
        found = planned(more).digest
    except QueryError:
        return
    assert found != expected


# ---- one digest, one function

COLUMNS = {
    "w": ('{ type = "integer", min = 0, max = 1073741824 }', pa.int64()),
    "a": ('{ type = "integer", min = -2, max = 3 }', pa.int64()),
    "b": ('{ type = "integer", min = -2, max = 3 }', pa.int64()),
    "m": ('{ type = "decimal", min = -1, max = 2, grid = 0.25 }', pa.float64()),
    "f": ('{ type = "double" }', pa.float64()),
    "s": ('{ values = ["x", "y"] }', pa.string()),
    "q": ('{ type = "boolean" }', pa.bool_()),
    "d": ('{ type = "date", min = 2024-01-01, max = 2024-01-09 }', pa.string()),
}
POLICY = (
    '[source]\nengine = "duckdb"\nfiles = { t = "t.parquet" }\n[data]\nid = "d"\n[privacy]\nepsilon = 10\n'
    '[tables.t]\nunit = "u"\nrows_per_unit = 1\n[tables.t.columns]\nu = { type = "integer" }\n'
    + "\n".join(f"{name} = {declared}" for name, (declared, _) in COLUMNS.items())
)
POOLS = {
    "a": [-9, -2, -1, 0, 1, 2, 3, 9, None],
    "b": [-2, 0, 1, 3, None],
    "m": [-1.0, -0.25, 0.0, 0.3, 0.5, 1.0, 2.0, 7.0, None],
    "f": [0.1, 0.30000000000000004, -1.5, float("nan"), float("inf"), None],
    "s": ["x", "y", "z", None],
    "q": [True, False, None],
    "d": ["2024-01-01", "2024-01-04", "2024-01-05", "2023-01-01", "no date", None],
}


def number(r, depth):
    """A random number, with the numbers that its parts have."""
    if depth == 0 or r.random() < 0.3:
        return r.choice(["a", "b", "a", "m", "0", "1", "2", "-1", "0.5", "NULLIF(a, 0)"])
    one, other = number(r, depth - 1), number(r, depth - 1)
    return r.choice([
        f"({one} + {other})", f"({other} + {one})", f"({one} - {other})", f"({one} * {other})", f"(-{one})",
        f"GREATEST({one}, {other})", f"LEAST({one}, {other})", f"COALESCE({one}, {other})", f"ABS({one})",
        f"CASE WHEN {one} < {other} THEN {one} ELSE {other} END",
    ])  # fmt: skip


def condition(r, depth):
    """A random condition over few columns and constants, so that many mean the same."""
    if depth == 0 or r.random() < 0.15:
        op = r.choice(["<", "<=", ">", ">=", "=", "<>"])
        return r.choice([
            f"{number(r, 1)} {op} {number(r, 1)}", f"a {op} {r.choice(['0', '1', '2', '0.5', '1 + 1'])}",
            f"{r.choice(['0', '1', '2'])} {op} a", f"m {op} {r.choice(['0', '0.25', '0.3', '0.5'])}", "a IS NULL", "q",
            "s = 'x'", f"s IN ({r.choice(['x', 'y'])!r}, 'y')", f"f {op} {r.choice(['0.3', '0.30', '0.1 + 0.2'])}",
            f"d {op} DATE '2024-01-0{r.randint(4, 5)}'", "q = TRUE", "q <> TRUE", "a IS DISTINCT FROM b",
            f"a BETWEEN {r.randint(-1, 1)} AND 1", f"a NOT IN (1, {r.randint(0, 2)})", "1 = 1", "1 > 2",
        ])  # fmt: skip
    one, other = condition(r, depth - 1), condition(r, depth - 1)
    return r.choice([f"({one} AND {other})", f"({one} OR {other})", f"NOT ({one})", f"({other} AND {one})", f"({one})"])


def written_at_length(r, depth):
    """A random condition of few parts, spelled with more words than it takes."""
    if depth == 0 or r.random() < 0.15:
        op, end = r.choice(["<", "<=", ">", ">=", "=", "<>"]), r.randint(-2, 3)
        return r.choice([
            f"a {op} {end}", f"{r.choice(['2', '-2', '-1'])} * a {op} {end}", f"1 - a {op} {end}", f"a - 1 {op} {end}",
            f"m - 0.25 {op} {r.choice(['0', '0.25', '0.3'])}", f"m {op} 0.25", f"-2 * m {op} {r.choice(['0', '-0.5'])}",
            f"s LIKE '{r.choice(['x', 'x%', '_'])}'", f"s = '{r.choice(['x', 'x%', '_'])}'", "a IS NULL",
            r.choice(["q", "NOT q", "NOT COALESCE(q, FALSE)"]),
        ])  # fmt: skip
    one, other = written_at_length(r, depth - 1), written_at_length(r, depth - 1)
    return r.choice([
        f"({one} AND {other})", f"({one} OR {other})", f"NOT ({one})", f"({one})", f"COALESCE({one}, FALSE)",
        f"({one}) IS TRUE", f"CASE WHEN {one} THEN TRUE ELSE FALSE END", f"CASE WHEN {one} THEN FALSE ELSE TRUE END",
        f"(a < {r.randint(0, 2)} AND a < {r.randint(0, 2)})", f"(m > {r.randint(-1, 1)} OR m > {r.randint(-1, 1)})",
    ])  # fmt: skip


def respelled(r, text):
    """The same query, or one that looks like it: a law that only sees equal ones would prove nothing."""
    swaps = [("<=", ">"), ("<", ">="), (" AND ", " OR "), ("NOT ", ""), ("a", "b"), ("+", "-"), ("GREATEST", "LEAST"),
             ("0.3", "0.25"), ("< ", "<= "), ("'x'", "'y'"), ("0.5", "1"), (">", "<")]  # fmt: skip
    old, new = r.choice(swaps)
    return text.replace(old, new, 1)


def held(policy_text, rows, seeds, condition=condition):
    """How many conditions of these seeds have one digest and differ in spelling; each means the same."""
    schema = pa.schema([("u", pa.int64()), *((name, kind) for name, (_, kind) in COLUMNS.items())])
    frame = {"t": pa.Table.from_pylist(rows, schema)}
    found, seen = defaultdict(dict), Counter()
    with closing(twins.Here(policy_text, frame)) as here:
        for seed in seeds:
            r = random.Random(seed)
            first = condition(r, r.randrange(3))
            for text in (first, respelled(r, first), f"NOT NOT ({first})", f"({condition(r, 1)}) AND ({first})"):
                try:
                    asked = here.planned(f"SELECT SUM(w) FROM t WHERE {text}", None)
                except QueryError:
                    seen["refused"] += 1
                    continue
                seen["planned"] += 1
                found[asked.digest].setdefault(text, asked)
        for plans in found.values():
            meant = {text: here.vector(asked.cuts[0]) for text, asked in plans.items() if len(plans) > 1}
            assert len({tuple(sorted(vector.items())) for vector in meant.values()}) < 2, meant
    seen["alike"] = sum(len(plans) - 1 for plans in found.values())
    return seen


def hostile_rows(seed, count=30):
    """Each row has a weight of its own, so that a sum tells which rows were counted."""
    r = random.Random(seed)
    return [{"u": i, "w": 1 << i, **{name: r.choice(pool) for name, pool in POOLS.items()}} for i in range(count)]


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_one_key_means_one_answer(seed):
    count = 200 if seed == 0 else 6000
    seen = held(POLICY, hostile_rows(seed), range(seed * 10_000, seed * 10_000 + count))
    assert seen["planned"] > 3 * count, seen
    assert seen["alike"] > count // 2, seen


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_one_key_means_one_answer_however_long_it_is_written(seed):
    count = 200 if seed == 0 else 6000
    seen = held(POLICY, hostile_rows(seed), range(seed * 10_000, seed * 10_000 + count), written_at_length)
    assert seen["planned"] > 3 * count, seen
    assert seen["alike"] > count // 2, seen


FAULTS = {
    "NOT of < is >": lambda m: m.setitem(normal_form._NEGATED, "<", ">"),
    "< and <= are turned to one": lambda m: m.setitem(normal_form._TURNED, ">=", "<"),
    "a constant moves the wrong way": lambda m: m.setattr(normal_form.math, "floor", lambda x: -(-x // 1)),
    "a difference is a sum": lambda m: m.setattr(
        normal_form.Keys, "_sum", _patched(normal_form.Keys._sum, lambda term: term.name == "-", "+")
    ),
    "greatest is least": lambda m: m.setattr(
        normal_form.Keys, "_call", _patched(normal_form.Keys._call, lambda term: term.name == "least", "greatest")
    ),
    "x <> TRUE is x": lambda m: m.setattr(
        normal_form, "_truth", lambda _, a, b: (a, False) if isinstance(b.value, bool) else None
    ),
}


LONG_FAULTS = {
    "c IS TRUE is c below NOT": lambda m: m.setattr(normal_form.Keys, "_negation", _careless),
    "c IS TRUE is c everywhere": lambda m: m.setattr(
        normal_form.Keys, "_call", _skipping(normal_form.Keys._call, "coalesce")
    ),
    "the weakest bound decides an AND": lambda m: m.setattr(
        normal_form.Keys, "_deciding", _turned(normal_form.Keys._deciding)
    ),
    "a negative multiple turns nothing": lambda m: m.setattr(
        normal_form.Keys, "_solved", _unturned(normal_form.Keys._solved)
    ),
    "every pattern is a text": lambda m: m.setattr(normal_form, "_is_text_alone", lambda _: True),
}
"""Found by conditions that are written at length."""


def _careless(keys, term):
    """As if a negation were a filter."""
    inner = normal_form.held(term, {})
    return (
        keys._condition(inner, negated=True) if inner.name in normal_form._LOGIC else normal_form._not(keys.of(inner))
    )


def _skipping(right, name):
    return lambda self, term: self.of(term.args[0]) if term.name == name else right(self, term)


def _turned(right):
    return lambda self, kind, parts: right(self, {"and": "or", "or": "and"}[kind], parts)


def _unturned(right):
    def wrong(self, sides, ends):
        found, numbers = right(self, sides, ends)
        same = [end is None for end in ends] == [end is None for end in numbers]
        return (found, numbers) if same else (found[::-1], numbers[::-1])

    return wrong


def _patched(right, where, name):
    from dataclasses import replace

    return lambda self, term: right(self, replace(term, name=name) if where(term) else term)


@pytest.mark.parametrize(
    "fault", [name if i < 2 else pytest.param(name, marks=pytest.mark.slow) for i, name in enumerate(FAULTS)]
)
def test_a_wrong_rule_is_found(fault, monkeypatch):
    FAULTS[fault](monkeypatch)
    with pytest.raises(AssertionError):
        held(POLICY, hostile_rows(0), range(300 if fault in list(FAULTS)[:2] else 2400))


@pytest.mark.parametrize("fault", LONG_FAULTS)
def test_a_wrong_rule_about_long_spellings_is_found(fault, monkeypatch):
    LONG_FAULTS[fault](monkeypatch)
    with pytest.raises(AssertionError):
        held(POLICY, hostile_rows(0), range(200), written_at_length)


@pytest.mark.parametrize("part", [0, *(pytest.param(i, marks=pytest.mark.slow) for i in range(1, 6))])
def test_shapes_with_one_digest_are_one_query(part):
    """Every kind of relation in every position: where two have one digest, they have the same exact numbers."""
    queries = [*shapes.meetings(), *shapes.askings()][part::6]
    with closing(twins.Here(*_world(0))) as here:
        found = defaultdict(set)
        for query in queries:
            try:
                asked = here.planned(query.text, query.noise)
            except QueryError:
                continue
            if asked.event is not None:
                found[asked.digest].add(query.text)
    assert len(found) > 50
    several = [texts for texts in found.values() if len(texts) > 1]
    for seed in range(3):
        with closing(twins.Here(*_world(seed))) as here:
            for texts in several:
                plans = [here.planned(text, None) for text in sorted(texts)]
                if all(len(plan.cuts) == 1 for plan in plans):
                    assert len({tuple(sorted(here.vector(p.cuts[0]).items(), key=str)) for p in plans}) == 1, texts


def _world(seed):
    world = twins.twins(random.Random(seed))
    return world.policy, world.frames(world.people)


# ---- the first digests

OLD = Path(__file__).parent / "ledger_of_first_digests.sql"
"""What the last version without a normal form wrote for these queries, in this order, at epsilon 1."""
OLD_POLICY = """
[source]
engine = "duckdb"
files = { visit = "visit.csv" }
[data]
id = "old"
version = "one"
[privacy]
epsilon = 100
delta = 1e-6
composition = "pure"
query_epsilon = 1
query_delta = 1e-8
[tables.visit]
unit = "person"
rows_per_unit = 3
groups_per_unit = 2
[tables.visit.columns]
person = { type = "text", max_length = 9 }
age = { type = "integer", min = 0, max = 100 }
city = { values = ["Paris", "Lyon"] }
ward = { values = ["a", "b", "c"] }
note = { type = "text", max_length = 9 }
"""
RANKED = "SELECT MEDIAN(age), COUNT(DISTINCT note) FROM visit"
"""Its answer has no interval of the median, and another law: it is paid anew."""
THRESHOLDED = "SELECT note, COUNT(*) FROM visit GROUP BY note"
"""Its answer was drawn by another law: half of epsilon chose the keys. One noise does both now, so it is paid anew."""
OLD_QUERIES = [
    "SELECT COUNT(*) FROM visit WHERE age > 40",
    "SELECT city, ward, COUNT(*), SUM(age) FROM visit GROUP BY city, ward",
    "SELECT ward, city, AVG(age), COUNT(*) FROM visit WHERE age > 10 AND city = 'Lyon' GROUP BY ward, city",
    RANKED,
    THRESHOLDED,
    "SELECT city, COUNT(*) FROM visit WHERE age > (SELECT AVG(age) FROM visit) GROUP BY city",
]


def write_old(home):
    rows = "".join(
        f"p{i},{(i * 37) % 101},{['Paris', 'Lyon'][i % 2]},{'abc'[i % 3]},{'xy'[i % 5 == 0]}\n" for i in range(400)
    )
    (home / "visit.csv").write_text(f"person,age,city,ward,note\n{rows}", encoding="utf-8")
    (home / "sfumato.toml").write_text(OLD_POLICY, encoding="utf-8")
    return home / "sfumato.toml"


@pytest.fixture
def old(tmp_path):
    """A gateway over a ledger that an earlier version wrote, and the answers that it holds."""
    policy = write_old(tmp_path)
    ledger = load(policy).data.ledger
    with closing(sqlite3.connect(ledger)) as file:
        file.executescript(OLD.read_text(encoding="utf-8"))
        answers = [body for (body,) in file.execute("SELECT body FROM answer ORDER BY seq")]
    with closing(sfumato.open(policy)) as gate:
        yield gate, answers


def test_answers_of_earlier_versions_are_found(old):
    """In their own order of numbers, which a layout would turn."""
    gate, answers = old
    assert len(answers) == len(OLD_QUERIES)
    for query in OLD_QUERIES:
        if query in (RANKED, THRESHOLDED):
            assert gate.explain(query).cost.epsilon == 1
            continue
        assert gate.explain(query).cost.epsilon == 0
        assert gate.sql(query).cost.epsilon == 0
    rows = gate.sql(OLD_QUERIES[1]).rows
    assert [row[:2] for row in rows] == list(product(("Paris", "Lyon", None), ("a", "b", "c", None)))
    counts = json.loads(answers[1])["cuts"][0][0]["cells"][0]
    assert [row[2] for row in rows] == [max(0, round(steps / 2**20)) for (steps,) in counts]
    assert planned_layout(gate, OLD_QUERIES[1])[0][0].bundles == (1, 0)


def planned_layout(gate, query):
    return gate._planner.fresh(Query(query, 1), TODAY).layout


def test_a_better_answer_than_one_of_an_earlier_version_costs_in_full(old):
    """It does not say which rows it was drawn for."""
    gate, _ = old
    better = gate.sql(OLD_QUERIES[0], 3)
    assert better.cost.epsilon == 3
    assert gate.sql(OLD_QUERIES[0], 3).cost.epsilon == 0


def test_another_spelling_than_was_stored_is_a_new_query_once(old):
    gate, _ = old
    assert gate.sql("SELECT COUNT(*) FROM visit WHERE 40 < age").cost.epsilon == 1
    assert gate.sql("SELECT COUNT(*) FROM visit WHERE NOT age <= 40").cost.epsilon == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT DISTINCT id, x FROM data", "SELECT DISTINCT id, id + 0 AS w, x FROM data"),
        ("SELECT id, x FROM data GROUP BY id, x", "SELECT id, x FROM data GROUP BY id, id + 0, x"),
    ],
)
def test_an_expression_of_the_identifier_is_a_key_and_the_identifier_is_none(one, other):
    """Groups are by the hidden person: her identifier is the least of hers, and what is computed from it is a key."""
    frame = pd.DataFrame({"id": [1, 1, 2], "x": [3, 4, 3]})
    with sfumato.protect(frame, unit="id", rows_per_unit=2, epsilon=9, bounds={"id": (0, 9), "x": (0, 9)}) as gate:
        assert gate.sql(f"SELECT COUNT(*) FROM ({one}) AS t", epsilon=1).cost.epsilon == 1
        assert gate.sql(f"SELECT COUNT(*) FROM ({one}) AS q", epsilon=1).cost.epsilon == 0
        assert gate.sql(f"SELECT COUNT(*) FROM ({other}) AS t", epsilon=1).cost.epsilon == 1


def test_a_number_of_the_normal_form_is_its_version():
    assert planned("SELECT COUNT(*) FROM visit").digest.startswith(digests.PREFIX)
