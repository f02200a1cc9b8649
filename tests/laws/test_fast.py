"""Less work, same numbers: fast plans, stored scans and prepared rows give, to the last unit, what the plain form gives."""

# ruff: noqa: E501  a question stands on one line

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sfumato.engines.duckdb import DuckDB, slices
from sfumato.engines.duckdb.fast_plans import Physical, fast, physical, plain_form
from sfumato.engines.duckdb.jobs import EngineStatement, JobWriter
from sfumato.engines.duckdb.key_sampling import SLICE
from sfumato.engines.duckdb.prepared_file import look
from sfumato.engines.duckdb.row_counts import people_of, sizes_of
from sfumato.errors import QueryError
from sfumato.gateway.released_tables import ReleasedSet, bare, is_bare, released_tables
from sfumato.owner.preparation import prepare
from sfumato.policy import Policy, load, with_schema
from sfumato.sql.query_binding import bind
from sfumato.sql.read.parser import parse
from sfumato.sql.release.plan import Plan, plan
from sfumato.sql.release.release_plan import GroupingSetPlan
from tests.compiled import ask, finish, knowledge, plain
from tests.laws.test_relations import POLICY, QUESTIONS, rows

BOUNDED = POLICY.replace("rows_per_unit = 200", "rows_per_unit = 3\ngroups_per_unit = 2\nl2_per_unit = 2")
MORE = [
    "SELECT COUNT(*) FROM person",
    "SELECT region, COUNT(*), SUM(age) FROM person GROUP BY region",
    "SELECT region, COUNT(DISTINCT id), AVG(age) FROM person WHERE age > 20 GROUP BY region",
    "SELECT COUNT(*), SUM(cost) FROM visit",
    "SELECT SUM(cost) FROM visit",
    "SELECT COUNT(DISTINCT who) FROM visit",
    "SELECT city, ok, COUNT(*), SUM(cost), VAR_POP(cost) FROM visit GROUP BY city, ok",
    "SELECT tag, COUNT(*), SUM(cost) FROM visit GROUP BY tag",
    "SELECT tag, COUNT(DISTINCT who) FROM visit GROUP BY tag",
    "SELECT tag, SUM(cost) FROM visit GROUP BY tag",
    "SELECT tag, ok, COUNT(*) FROM visit GROUP BY tag, ok",
    "SELECT region, COUNT(*) FROM person JOIN (SELECT who, MAX(cost) AS m FROM visit GROUP BY who) t ON id = who GROUP BY 1",
]


WHOLE = [
    "SELECT city, COUNT(*), AVG(cost) FROM visit GROUP BY city",
    "SELECT city, COUNT(*) FILTER (WHERE cost > 20) FROM visit GROUP BY city",
    "SELECT COUNT(*), COUNT(cost) FROM visit",
    "SELECT region, COUNT(*) FROM visit JOIN person ON who = id GROUP BY region",
    "SELECT region, COUNT(*) FROM person JOIN visit ON who = id GROUP BY region",
    "SELECT region, COUNT(*), VAR_POP(cost) FROM visit LEFT JOIN person ON who = id GROUP BY region",
    "SELECT city, COUNT(*) FROM visit JOIN person ON who = id WHERE age > 30 GROUP BY city",
    "SELECT COUNT(*), AVG(cost) FROM visit WHERE who <> 3",
    "SELECT c, COUNT(*) FROM (SELECT city AS c FROM visit) AS q GROUP BY c",
]
"""All rows of a person, or none: the stored number is hers."""
SOME = [
    "SELECT city, COUNT(*) FROM visit WHERE cost > 20 GROUP BY city",
    "SELECT city, COUNT(*) FROM visit JOIN person ON who = id WHERE cost > age GROUP BY city",
    "SELECT region, COUNT(*) FROM visit JOIN person ON who = id AND cost > 20 GROUP BY region",
    "SELECT city, COUNT(*) FROM (SELECT DISTINCT who, city FROM visit) AS q GROUP BY city",
    "SELECT ok, COUNT(*) FROM (SELECT who, ok FROM visit UNION ALL SELECT who, ok FROM visit) AS q GROUP BY ok",
    "SELECT a.city, COUNT(*) FROM visit AS a JOIN visit AS b ON a.who = b.who GROUP BY a.city",
]
"""Some rows of a person, or some more than once: her rows are counted."""

TOTALS = [
    "SELECT COUNT(*) FROM visit",
    "SELECT COUNT(cost), AVG(cost) FROM visit",
    "SELECT SUM(cost) FROM visit",
    "SELECT VAR_POP(cost), COUNT(*) FROM visit",
    "SELECT COUNT(DISTINCT who) FROM visit",
]
PARTLY = [
    "SELECT COUNT(*) FROM visit WHERE ok",
    "SELECT SUM(cost) FROM visit WHERE cost > 1",
    "SELECT SUM(cost) FROM (SELECT DISTINCT * FROM visit) AS q",
]


class Home:
    """The same rows three times: as they came, kept as their scans give them, and prepared by the owner."""

    def __init__(self, folder: Path, text: str = BOUNDED, world: dict[str, Any] | None = None) -> None:
        with duckdb.connect(str(folder / "world.duckdb")) as connection:
            for name, (columns, listed) in (world or rows()).items():
                connection.execute(f"CREATE TABLE {name} ({columns})")
                connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(listed[0]))})", listed)
        (folder / "sfumato.toml").write_text(text, encoding="utf-8")
        policy = load(folder / "sfumato.toml")
        prepare(folder / "sfumato.toml")
        found = look(policy, policy.version_at(datetime.now(UTC)))
        assert found is not None
        self.raw, self.kept, self.prepared = DuckDB(policy), DuckDB(policy), DuckDB(policy, prepared=found)
        self.policy: Policy = with_schema(policy, {t.name: self.raw.schema(t) for t in policy.tables.values()})
        for engine in (self.kept, self.prepared):
            engine.keep(self.policy, self.policy.tables)

    def planned(self, sql: str, engine: DuckDB, noise: str | None = None, most: int | None = None) -> Plan:
        tree, day = parse(sql), date(2024, 6, 1)
        asked = bind(tree, self.policy, day, engine, stored=engine.stored(), keeper=engine)
        policy = self.policy
        if noise is not None and policy.privacy.composition == "pure":
            policy = replace(policy, privacy=replace(policy.privacy, composition="best"))
        return plan(asked, policy, Fraction(1), most, noise=noise, rows=engine)


def run_on(engine: DuckDB, part: GroupingSetPlan) -> Physical:
    """The SQL that this engine runs for a part."""
    return physical(part.job, knowledge(engine))


def fast_on(engine: DuckDB, part: GroupingSetPlan) -> EngineStatement | None:
    """The statement of its sums, where it is not the plain form."""
    return fast(JobWriter.of(part.job), knowledge(engine))


def text_on(engine: DuckDB, part: GroupingSetPlan) -> str:
    """Its text, where there is one."""
    quick = fast_on(engine, part)
    return "" if quick is None else quick.text


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return Home(tmp_path_factory.mktemp("twice"))


@pytest.mark.parametrize("together", [None, 1, 2])
def test_a_fast_plan_keeps_the_bound_on_what_a_row_feeds(home: Home, together: int | None) -> None:
    """Also where the planner would be wrong: a row that feeds more numbers than are paid for feeds none."""
    sql = "SELECT COUNT(*), COUNT(*) FILTER (WHERE cost > 5), COUNT(*) FILTER (WHERE cost > 9) FROM visit"
    for engine in (home.kept, home.prepared):
        job = replace(home.planned(sql, engine).cuts[0].parts[0].job, together=together)
        fastest, plainest = (
            found(engine, form.sums, "salt") for form in (physical(job, knowledge(engine)), plain_form(job))
        )
        assert fastest == plainest


def found(engine: DuckDB, statement: EngineStatement, salt: str) -> list[tuple[Any, ...]]:
    """Rows in an order of their own; where keys are hashed, under this hash key."""
    rows = ask(engine, statement, salt)
    return sorted(rows, key=lambda row: [(value is None, str(value)) for value in row])


def _nothing(row: tuple[Any, ...], keys: int) -> bool:
    return not any(row[keys:])


def same_numbers(home: Home, quicker: DuckDB, sql: str, noise: str | None = None, most: int | None = None) -> None:
    """Price, notes and groups are the same, and every whole number below the noise."""
    slow, quick = home.planned(sql, home.raw, noise, most), home.planned(sql, quicker, noise, most)
    assert [c.events for c in slow.cuts] == [c.events for c in quick.cuts]
    assert slow.notes == quick.notes
    stages = zip(slow.cuts[:1], quick.cuts[:1], strict=True)  # a later one reads what an earlier one released
    salt = home.prepared.salt()
    for one, two in ((one, two) for a, b in stages for one, two in zip(a.parts, b.parts, strict=True)):
        assert one.groups == two.groups
        _same_choices(home, quicker, one, two)
        first, second = plain(one.job), plain(two.job)
        if first.sums is None or second.sums is None:
            continue
        keys = len(one.kept)
        wanted = [row for row in found(home.raw, first.sums, salt) if not _nothing(row, keys)]
        kept = [row for row in found(quicker, second.sums, salt) if not _nothing(row, keys)]
        assert wanted == kept
        quick = fast_on(quicker, two)
        if quick is not None:
            width = keys + sum(len(r.bundle.parts) for r in two.bundles)
            less = [row[:width] for row in found(quicker, quick, salt)]
            assert [row for row in less if not _nothing(row, keys)] == wanted
            if two.chosen and first.people is not None:
                people = [row[:keys] + row[-1:] for row in found(quicker, quick, salt)]
                assert sorted(people, key=str) == sorted(found(home.raw, first.people, salt), key=str)


def _same_choices(home: Home, quicker: DuckDB, one: GroupingSetPlan, two: GroupingSetPlan) -> None:
    """What is not a sum: numbers of different values, and the weights at each place."""
    salt, forms = home.prepared.salt(), (plain(one.job), plain(two.job), run_on(quicker, two))
    for slow, kept, quick in zip(*(form.extras for form in forms), strict=True):
        wanted = found(home.raw, slow, salt)
        assert found(quicker, kept, salt) == wanted
        assert found(quicker, quick, salt) == wanted


ALL = [*QUESTIONS, *MORE, *WHOLE, *SOME, *TOTALS, *PARTLY]


@pytest.mark.parametrize("noise", [None, "gaussian"])
@pytest.mark.parametrize("sql", ALL, ids=range(len(ALL)))
def test_a_fast_plan_gives_the_same_numbers(sql: str, noise: str | None, home: Home) -> None:
    same_numbers(home, home.kept, sql, noise)


@pytest.mark.parametrize("sql", ALL, ids=range(len(ALL)))
def test_a_prepared_plan_gives_the_same_numbers(sql: str, home: Home) -> None:
    """And it has the same key for a stored answer."""
    for noise in (None, "gaussian") if sql not in QUESTIONS else (None,):
        same_numbers(home, home.prepared, sql, noise)
    assert home.planned(sql, home.kept).digest == home.planned(sql, home.prepared).digest


@pytest.mark.parametrize("sql", WHOLE, ids=range(len(WHOLE)))
def test_fewer_rows_than_declared_are_weighed_by_the_stored_number(sql: str, home: Home) -> None:
    for most in (1, 2, 3):
        same_numbers(home, home.prepared, sql, None, most)


def test_a_stored_number_is_used_only_where_it_is_the_number(home: Home) -> None:
    def uses(sql: str) -> bool:
        quick = text_on(home.prepared, home.planned(sql, home.prepared).cuts[0].parts[0])
        return any(stored in quick for stored in ("#weight ", sizes_of("visit"), people_of("visit")))

    assert [sql for sql in WHOLE if not uses(sql)] == [sql for sql in (*SOME, *PARTLY) if uses(sql)] == []


def test_sums_of_whole_tables_are_at_hand(home: Home) -> None:
    """One row for each number of rows is read, or for each person where a lone sum is cut; with a condition, none."""
    parts = {sql: home.planned(sql, home.prepared).cuts[0].parts[0] for sql in (*TOTALS, *PARTLY)}
    quick = {sql: text_on(home.prepared, part) for sql, part in parts.items()}
    assert [sql for sql, text in quick.items() if people_of("visit") in text] == ["SELECT SUM(cost) FROM visit"]
    wanted = [sql for sql in TOTALS if sql != "SELECT SUM(cost) FROM visit"]
    assert [sql for sql, text in quick.items() if sizes_of("visit") in text] == wanted


def test_persons_are_told_apart_by_their_numbers(home: Home) -> None:
    """Also where they are found through foreign keys; and wherever one table has numbers, all of the release have."""
    cuts = [(sql, cut) for sql in ALL for cut in home.planned(sql, home.prepared).cuts[:1]]
    texts = [(sql, text_on(home.prepared, part)) for sql, cut in cuts for part in cut.parts]
    numbered = [(sql, text) for sql, text in texts if '"#number"' in text]
    assert len(numbered) > 40
    assert any("payment" in sql for sql, _ in numbered)
    assert [sql for sql, text in numbered if '"#person"' in text] == []


def test_slices_add_up_to_the_whole(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Persons taken in slices, as large tables are, give the numbers of all at once."""
    sliced = [
        (quick, len(part.kept))
        for sql in ALL
        for cut in home.planned(sql, home.kept).cuts[:1]
        for part in cut.parts
        if (quick := fast_on(home.kept, part)) is not None and quick.sliced
    ]
    assert len(sliced) > 5
    engine, salt = home.kept, home.kept.salt()
    whole = [sorted(ask(engine, quick, salt, keys), key=str) for quick, keys in sliced]
    assert all(whole)
    monkeypatch.setattr(slices, "_LARGE", 0)
    assert [sorted(ask(engine, quick, salt, keys), key=str) for quick, keys in sliced] == whole


@pytest.mark.parametrize("word", [SLICE, "$salt"])
def test_a_question_cannot_ask_for_slices(word: str, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """The words of slices as a name or a literal of a question: persons are counted once all the same."""
    monkeypatch.setattr(slices, "_LARGE", 0)
    name, text = word.replace('"', '""'), word.replace("'", "''")
    for sql in (
        f"""SELECT "{name}", COUNT(*) FROM (SELECT tag AS "{name}" FROM visit) AS q GROUP BY 1""",
        f"""SELECT COUNT(*) FROM (SELECT cost AS "{name}" FROM visit) AS q WHERE "{name}" > 0""",
        f"SELECT COUNT(*) FROM visit WHERE tag <> '{text}'",
        f"""SELECT "{name}", COUNT(*) FROM (SELECT CASE WHEN tag = '{text}' THEN 'a' ELSE 'b' END AS "{name}" FROM visit) AS q GROUP BY 1""",
    ):
        same_numbers_run(home, sql)


def same_numbers_run(home: Home, sql: str) -> None:
    """What the engine gives for a fast form is what it gives for the plain one."""
    salt = home.kept.salt()
    for part in home.planned(sql, home.kept).cuts[0].parts:
        keys = len(part.kept)
        slow = [row for row in found(home.kept, plain(part.job).sums, salt) if not _nothing(row, keys)]
        quick = sorted(ask(home.kept, run_on(home.kept, part).sums, salt, keys), key=str)
        width = keys + sum(len(r.bundle.parts) for r in part.bundles)
        assert sorted((row[:width] for row in quick if not _nothing(row[:width], keys)), key=str) == sorted(
            slow, key=str
        )


def test_fast_plans_are_used(home: Home) -> None:
    quick = [fast_on(home.kept, home.planned(sql, home.kept, None).cuts[0].parts[0]) for sql in MORE]
    assert sum(sql is not None for sql in quick) >= 10
    assert home.kept.known.unique == home.prepared.known.unique == {"person"}


def test_rows_are_copied_only_where_they_are_made(home: Home) -> None:
    """A copy of all rows costs memory; finding a person's one row twice does not."""

    def copies(sql: str) -> bool:
        quick = text_on(home.kept, home.planned(sql, home.kept).cuts[0].parts[0])
        assert quick
        return "NOT MATERIALIZED" not in quick

    found = [sql for sql in (*WHOLE, *SOME) if "GROUP BY" in sql and copies(sql)]
    assert found == [sql for sql in SOME if "DISTINCT" in sql or "UNION" in sql or "AS b" in sql]


def test_prepared_rows_lie_together(home: Home) -> None:
    """Each person once, in one piece, and her number of rows beside each."""
    runs = """SELECT COUNT(*), COUNT(DISTINCT "#person"), SUM(n), SUM(m), bool_and(n = m) FROM (
        SELECT "#person", COUNT(*) AS n, ANY_VALUE("#rows") AS m FROM (
            SELECT "#person", "#rows", SUM(new) OVER (ORDER BY r ROWS UNBOUNDED PRECEDING) AS run FROM (
                SELECT *, CAST("#person" IS DISTINCT FROM LAG("#person") OVER (ORDER BY r) AS INTEGER) AS new
                FROM (SELECT *, rowid AS r FROM "#prepared".visit))) GROUP BY "#person", run)"""
    pieces, persons, rows, stored, alike = home.prepared._private.execute(runs).fetchall()[0]
    assert pieces == persons > 5
    assert rows == stored > persons
    assert alike


BARE = [
    *(sql for sql in ALL if "ORDER" not in sql),
    "SELECT day, COUNT(*) FROM visit WHERE day BETWEEN DATE '2024-01-01' AND DATE '2024-01-05' GROUP BY day",
    "SELECT ok, cost > 20, COUNT(*), AVG(cost), MIN(cost), MEDIAN(cost) FROM visit GROUP BY ok, cost > 20",
    "SELECT date_trunc('month', day), SUM(cost), STDDEV_POP(cost) FROM visit GROUP BY 1",
    "SELECT city, ok, COUNT(*), BOOL_OR(ok) FROM visit GROUP BY ROLLUP (city, ok)",
]


def test_a_bare_answer_is_what_the_last_select_gives(home: Home) -> None:
    """Where nothing is computed above the cut, the released table is the answer: values, order and types."""
    met = 0
    for sql in BARE:
        try:
            asked = home.planned(sql, home.kept)
        except QueryError:
            continue  # columns of another world
        if not is_bare(asked.question):
            continue
        made = tuple(tuple(_numbers(part) for part in cut.parts) for cut in asked.cuts)
        released = released_tables(asked.cuts, made)
        columns, wanted = (
            bare(asked.question, released[-1]),
            finish(asked.question.post_processing, released, home.kept.run_public),
        )
        rows = list(zip(*columns, strict=True))
        assert rows == wanted, sql
        assert [[type(value) for value in row] for row in rows] == [[type(value) for value in row] for row in wanted]
        met += len(rows) > 1
    assert met > 20


def _numbers(part: GroupingSetPlan) -> ReleasedSet:
    """Whole numbers of both signs in every cell; open keys that are texts."""
    keys = tuple((f"k{i}",) * len(part.chosen) for i in range(3)) if part.chosen else ()
    count = len(part.groups) * (3 if part.chosen else 1)
    cells = []
    for released in part.bundles:
        width = max(1, len(released.bundle.parts), 0 if released.extra is None else len(released.extra.choices))
        low = released.extra.low if released.extra is not None and released.extra.law is not None else None
        cells.append(
            tuple(
                tuple(
                    (low if j == 0 else 0) if low is not None else (i * 7 + j) * 5_000_003 - 40_000_000
                    for j in range(width)
                )
                for i in range(count)
            )
        )
    return ReleasedSet(keys, tuple(cells))
