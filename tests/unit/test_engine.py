"""The embedded engine: every kind of file gives one answer; public tables live apart; failures say one sentence."""

from __future__ import annotations

import logging
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sfumato.engines import ENGINES, connect
from sfumato.engines.duckdb.jobs import EngineStatement
from sfumato.errors import EngineError, PolicyError
from sfumato.gateway import open_policy, protect
from sfumato.policy import from_dict
from sfumato.policy.reading import ENGINES as NAMED

ROWS = [("a", 30, 1.25, "x"), ("a", 40, 2.5, "y"), ("b", None, 0.5, "z"), (None, 50, 1.0, "x"), ("c", 150, 99.0, None)]


def write(folder: Path, ending: str) -> str:
    """The same five rows in a file of this kind."""
    database = duckdb.connect()
    database.execute("CREATE TABLE t (u VARCHAR, age INTEGER, cost DOUBLE, k VARCHAR)")
    database.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", ROWS)
    if ending == "duckdb":
        database.execute(f"ATTACH '{folder / 'd.duckdb'}' AS d")
        database.execute("CREATE TABLE d.t AS SELECT * FROM t")
        database.execute("CREATE VIEW d.v AS SELECT * FROM d.t LIMIT 1")
        database.execute("DETACH d")
        return f"files = '{folder / 'd.duckdb'}'"
    if ending == "glob":
        for i in range(2):
            database.execute(
                f"COPY (SELECT * FROM t WHERE (age IS NULL OR age < 45) = ({i} = 0)) TO '{folder}/part{i}.csv' (HEADER)"
            )
        return "files = { t = 'part*.csv' }"
    form = {"parquet": "FORMAT parquet", "csv": "HEADER", "jsonl": "FORMAT json"}[ending]
    database.execute(f"COPY t TO '{folder}/t.{ending}' ({form})")
    return f"files = {{ t = 't.{ending}' }}"


def policy(source: str, table: str = "t") -> str:
    return f"""
[source]
engine = "duckdb"
{source}
[data]
id = "d"
[privacy]
epsilon = 1e12
query_epsilon = 1e9
[tables.{table}]
unit = "u"
rows_per_unit = 2
[tables.{table}.columns]
u = {{ type = "text", max_length = 9 }}
age = {{ type = "integer", min = 0, max = 120 }}
cost = {{ type = "decimal", min = 0, max = 10, grid = 0.01 }}
k = {{ values = ["x", "y"] }}
"""


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl", "glob", "duckdb"])
def test_every_kind_of_file_gives_the_same_answer(ending: str, tmp_path: Path) -> None:
    """Domains are enforced in the scan: 150 counts as 120, 99 as 10, z and NULL are one group, nobody's row is gone."""
    (tmp_path / "sfumato.toml").write_text(policy(write(tmp_path, ending)), encoding="utf-8")
    with open_policy(tmp_path / "sfumato.toml") as gate:
        answer = gate.sql("SELECT k, COUNT(*), COUNT(age), SUM(age), SUM(cost) FROM t GROUP BY k")
        assert [tuple(str(v) for v in row) for row in answer.rows] == [
            ("x", "1", "1", "30", "1.25"),
            ("y", "1", "1", "40", "2.5"),
            ("None", "2", "1", "120", "10.5"),
        ]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames(make: Any) -> None:
    columns = {name: [row[i] for row in ROWS] for i, name in enumerate(("u", "age", "cost", "k"))}
    with protect(
        make(columns), "u", 2, 10**12, bounds={"age": (0, 120, 1), "cost": (0, 10, 0.01)}, values={"k": ["x", "y"]}
    ) as gate:
        assert gate.sql("SELECT SUM(age), SUM(cost) FROM data", epsilon=10**9).rows[0][0] == 190
        assert gate.sql("SELECT COUNT(DISTINCT u) FROM data", epsilon=10**9).rows == [(3,)]


VIEWS = {
    "its rows": ("SELECT u, age, cost, k FROM t WHERE age > 35", None, 2),
    "a join on the person": ("SELECT a.u, b.age, a.cost, a.k FROM t a JOIN t b ON a.u = b.u", None, 6),
    "one row of each person": ("SELECT u, MAX(age) AS age, MAX(cost) AS cost, MAX(k) AS k FROM t GROUP BY u", None, 3),
    "the first rows": ("SELECT u, age, cost, k FROM t LIMIT 2", "LIMIT over rows of individual people", 0),
    "other people's rows": ("SELECT a.u, b.age, a.cost, a.k FROM t a JOIN t b ON a.k = b.k", "different people", 0),
    "a window over others": ("SELECT u, RANK() OVER (ORDER BY age) AS age, cost, k FROM t", "rows of other people", 0),
    "another person's name": ("SELECT k AS u, age, cost, k FROM t", "does not return the privacy unit", 0),
    "a quotient": ("SELECT u, age / 2 AS age, cost, k FROM t", "divides", 0),
    "an aggregate": ("SELECT k AS u, COUNT(*) AS age, 1 AS cost, k FROM t GROUP BY k", "aggregates people", 0),
    "a table that is not named": ("SELECT u, age, cost, k FROM hidden", "there is no table", 0),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_inlined_and_judged(name: str, tmp_path: Path) -> None:
    query, refused, count = VIEWS[name]
    files = write(tmp_path, "duckdb")
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute("CREATE TABLE hidden AS SELECT * FROM t")
        connection.execute(f"CREATE OR REPLACE VIEW v AS {query}")
    text = policy(files) + "[tables.v]" + policy(files, "v").split("[tables.v]", 1)[1]
    (tmp_path / "sfumato.toml").write_text(text, encoding="utf-8")
    if refused is not None:
        with pytest.raises(PolicyError, match=refused):
            open_policy(tmp_path / "sfumato.toml")
        return
    with open_policy(tmp_path / "sfumato.toml") as gate:
        assert gate.sql("SELECT COUNT(*) FROM v").rows == [(count,)]


def test_a_view_has_the_names_that_it_was_given(tmp_path: Path) -> None:
    files = write(tmp_path, "duckdb")
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute("CREATE OR REPLACE VIEW v(u, age, cost, k) AS SELECT u, cost, age, k FROM t")
    text = policy(files) + "[tables.v]" + policy(files, "v").split("[tables.v]", 1)[1]
    (tmp_path / "sfumato.toml").write_text(text, encoding="utf-8")
    with open_policy(tmp_path / "sfumato.toml") as gate:
        assert gate.sql("SELECT SUM(cost) FROM v").rows == [(190,)]


def test_a_public_view_over_persons_is_refused(tmp_path: Path) -> None:
    files = write(tmp_path, "duckdb")
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute("CREATE VIEW open_view AS SELECT u, age FROM t")
    (tmp_path / "sfumato.toml").write_text(policy(files) + "[tables.open_view]\npublic = true\n", encoding="utf-8")
    with pytest.raises(PolicyError, match="is not public"):
        open_policy(tmp_path / "sfumato.toml")


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("u,age,cost\na,1,2\n", encoding="utf-8")
    (tmp_path / "sfumato.toml").write_text(policy("files = { t = 't.csv' }"), encoding="utf-8")
    with pytest.raises(PolicyError, match='has no column "k"'):
        open_policy(tmp_path / "sfumato.toml")


def both(tmp_path: Path) -> Any:
    (tmp_path / "r.csv").write_text("area,people\nnorth,10\nsouth,20\n", encoding="utf-8")
    write(tmp_path, "csv")
    text = policy("files = { t = 't.csv', r = 'r.csv' }") + "[tables.r]\npublic = true\n"
    (tmp_path / "sfumato.toml").write_text(text, encoding="utf-8")
    return open_policy(tmp_path / "sfumato.toml")


def test_public_tables_are_exact_and_free(tmp_path: Path) -> None:
    with both(tmp_path) as gate:
        answer = gate.sql("SELECT area, SUM(people) AS p FROM r GROUP BY area ORDER BY p DESC")
        assert answer.rows == [("south", 20), ("north", 10)]
        assert answer.cost.epsilon == 0
        assert gate.sql("SELECT * FROM r WHERE people > 10").rows == [("south", 20)]
        assert gate.budget().spent.epsilon == 0
        assert gate.explain("SELECT COUNT(*) FROM r").columns[0].law == "exact"


def test_the_engine_of_public_tables_never_held_a_private_row(tmp_path: Path) -> None:
    with both(tmp_path) as gate:
        engine = gate._engine
        assert engine.run_public("SELECT table_name FROM duckdb_tables()") == [("r",)]
        with pytest.raises(EngineError):
            engine.run_public("SELECT * FROM t")


def test_nothing_outside_can_be_reached(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a\n1\n", encoding="utf-8")
    with both(tmp_path) as gate:
        for run in (gate._engine.run_public, lambda sql: gate._engine._paid(EngineStatement(sql), [], "", 0)):
            for sql in (
                f"SELECT * FROM '{tmp_path}/secret.csv'",
                "SET enable_external_access = true",
                "ATTACH 'x.db' AS x",
            ):
                with pytest.raises(EngineError):
                    run(sql)


def test_a_failure_says_one_sentence(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The engine's words go to the operator's log and nowhere else; the debit stands; three close the data version."""
    with both(tmp_path) as gate, caplog.at_level(logging.ERROR, "sfumato.operator"):
        gate._engine._private.execute("DROP TABLE t")
        texts = set()
        for i in range(3):
            with pytest.raises(EngineError) as caught:
                gate.sql(f"SELECT COUNT(*) FROM t WHERE age <> {i}", epsilon=1)
            texts.add(str(caught.value))
        assert len(texts) == 1
        assert "Catalog" not in texts.pop()
        assert "Catalog" in caplog.text
        assert gate.budget().spent.epsilon == 3
        with pytest.raises(Exception, match="closed"):
            gate.sql("SELECT COUNT(*) FROM t", epsilon=1)
        assert gate.budget().spent.epsilon == 3


def test_engines_that_are_not_built_say_so() -> None:
    """Every engine that a policy may name is there; another one is told so."""
    assert set(NAMED) == set(ENGINES)
    document = {
        "source": {"engine": "postgres", "dsn": "postgresql://host"},
        "data": {"id": "d"},
        "privacy": {"epsilon": 1},
        "tables": {"t": {"unit": "u", "rows_per_unit": 1, "columns": {"u": {"type": "text", "max_length": 3}}}},
    }
    policy = from_dict(document)
    with pytest.raises(PolicyError, match="not supported yet"):
        connect(replace(policy, source=replace(policy.source, engine="abacus")))


def test_rows_never_spill_into_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB's own habit is a folder .tmp wherever the process was started, open to everybody."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    ask = "SELECT current_setting('temp_directory')"
    with both(tmp_path) as gate:
        for connection in (gate._engine._private, gate._engine._public):
            assert Path(connection.execute(ask).fetchone()[0]).parent == tmp_path / ".sfumato"
        assert (tmp_path / ".sfumato").stat().st_mode & 0o777 == 0o700
    with protect(pd.DataFrame({"u": ["a"]}), "u", 1, 1) as gate:
        assert gate._engine._private.execute(ask).fetchone() == ("",)
    assert list(elsewhere.iterdir()) == []


def test_no_two_databases_spill_into_one_folder(tmp_path: Path) -> None:
    """Workers share a state directory, and so does an engine with its successor: their files would be overwritten."""
    ask = "SELECT current_setting('temp_directory')"
    with both(tmp_path) as one, open_policy(tmp_path / "sfumato.toml") as two:
        engines = [one._engine, two._engine]
        folders = {c.execute(ask).fetchone()[0] for e in engines for c in (e._private, e._public)}
        assert len(folders) == 4
        left = tmp_path / ".sfumato" / "spill-4"  # as a process that was killed leaves it
        left.mkdir()
        (left / "rows.tmp").write_bytes(b"rows of people")
        with open_policy(tmp_path / "sfumato.toml") as three:
            assert three._engine._private.execute(ask).fetchone()[0] == str(left)
            assert not left.exists()
    with open_policy(tmp_path / "sfumato.toml") as again:
        assert again._engine._private.execute(ask).fetchone()[0] in folders


MALFORMED = ["odd;1;2;x", "odd,1,2,x,more"]
ODD = ["#odd,1,2,x", "o|d|d,1,2,x", '"o,""d"" d",1,2,x', "odd,,,", "'odd',1,2,x", "o\td\td,1,2,x", "odd,1e9,nan,x"]


def with_row(folder: Path, odd: str | None, at: int) -> Path:
    """A policy over five persons' rows, and an odd one at this place."""
    rows = [f"p{i},{20 + i},{i},{'xy'[i % 2]}" for i in range(5)]
    folder.mkdir()
    (folder / "t.csv").write_text("\n".join(["u,age,cost,k", *rows[:at], *([odd] if odd else []), *rows[at:], ""]))
    (folder / "sfumato.toml").write_text(policy("files = { t = 't.csv' }"), encoding="utf-8")
    return folder / "sfumato.toml"


@pytest.mark.parametrize("odd", [None, *ODD])
def test_no_row_decides_how_others_are_read(odd, tmp_path):
    """Neighbouring files: whatever the row of one person looks like, all other rows are read as without it."""
    for at in (0, 2, 5):
        with open_policy(with_row(tmp_path / str(at), odd, at)) as gate:
            assert gate.sql("SELECT COUNT(*), SUM(age) FROM t WHERE u LIKE 'p_'").rows == [(5, 110)]


@pytest.mark.parametrize("odd", MALFORMED)
def test_a_file_with_a_malformed_row_is_not_read_at_all(odd, tmp_path):
    for at in (0, 2, 5):
        with pytest.raises(PolicyError, match="the source cannot be read"):
            open_policy(with_row(tmp_path / str(at), odd, at))


@pytest.mark.parametrize(("ending", "sign"), [("csv", ","), ("csv", ";"), ("csv", "|"), ("txt", "\t"), ("tsv", "\t")])
def test_the_sign_between_fields_is_that_of_the_first_line(ending, sign, tmp_path):
    rows = [["u", "age", "co st", "k"], ["a", "30", "1.25", "x"], ["b", "40", "2.5", "y"]]
    text = "\ufeff" + "".join(sign.join(f'"{cell}"' for cell in row) + "\r\n" for row in rows)
    (tmp_path / f"t.{ending}").write_text(text, encoding="utf-8")
    words = policy(f"files = {{ t = 't.{ending}' }}").replace("cost =", '"co st" =')
    (tmp_path / "sfumato.toml").write_text(words, encoding="utf-8")
    with open_policy(tmp_path / "sfumato.toml") as gate:
        assert gate.sql('SELECT COUNT(*), SUM("co st") FROM t').rows == [(2, Decimal("3.75"))]


def test_files_of_one_table_may_have_their_columns_in_another_order(tmp_path):
    (tmp_path / "a1.csv").write_text("u,age,cost,k\na,30,1,x\n", encoding="utf-8")
    (tmp_path / "a2.csv").write_text("k;cost;age;u\ny;2;50;b\n", encoding="utf-8")
    (tmp_path / "sfumato.toml").write_text(policy("files = { t = 'a*.csv' }"), encoding="utf-8")
    with open_policy(tmp_path / "sfumato.toml") as gate:
        assert gate.sql("SELECT SUM(age), SUM(cost) FROM t WHERE k IS NOT NULL").rows == [(80, Decimal("3.00"))]
