"""What files hold beside the rows of a release, against a search for texts of the original in their bytes."""

import base64
import csv
import gzip
import io
import json
import random
import zlib

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.anonymity.inspection.beside import is_odd_order
from sfumato.anonymity.inspection.reading import read_published

STEPS = [
    "CREATE TABLE patient AS FROM secrets",
    "DROP TABLE patient",
    "CREATE TABLE rel AS SELECT * FROM shown",
    "CREATE TABLE rel AS SELECT name AS ill, n AS age FROM secrets",
    "INSERT INTO rel SELECT name, n FROM secrets",
    "DELETE FROM rel WHERE ill LIKE '%Verysecret%'",
    "UPDATE rel SET ill = 'flu' WHERE ill LIKE '%Verysecret%'",
    "CHECKPOINT",
    "INSERT INTO rel SELECT * FROM shown",
]


@pytest.mark.parametrize("seed", range(40))
def test_a_database_with_deleted_values_is_found(tmp_path, seed):
    """Random steps; whenever a name that no row shows can be read in the bytes of the file, something is said."""
    rng = random.Random(f"deleted {seed}")
    file = tmp_path / "r.duckdb"
    with duckdb.connect(str(file)) as engine:
        engine.execute("CREATE TEMP TABLE secrets AS SELECT 'Mr Verysecret' || i AS name, i AS n FROM range(400) t(i)")
        what = "CASE i % 3 WHEN 0 THEN 'flu' ELSE 'none' END AS ill, i % 5 AS age"
        engine.execute(f"CREATE TEMP TABLE shown AS SELECT {what} FROM range(300) t(i)")
        for _ in range(rng.randint(3, 10)):
            try:
                engine.execute(rng.choice(STEPS))
            except duckdb.Error:
                continue
        if not engine.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'rel'").fetchone():
            engine.execute("CREATE TABLE rel AS SELECT * FROM shown")
        hidden = not engine.execute("SELECT 1 FROM rel WHERE ill LIKE '%Verysecret%'").fetchone()
        alone = engine.execute("SELECT count(*) FROM duckdb_tables() WHERE database_name = 'r'").fetchone() == (1,)
    extras = read_published(f"{file}#rel").extras
    if hidden and file.read_bytes().count(b"Verysecret"):
        assert extras
    with duckdb.connect() as engine:  # a copy in a new file is clean
        engine.execute(f"ATTACH '{file}' AS old (READ_ONLY)")
        engine.execute(f"ATTACH '{tmp_path / 'new.duckdb'}' AS new")
        engine.execute("CREATE TABLE new.rel AS FROM old.rel")
    assert read_published(f"{tmp_path / 'new.duckdb'}#rel").extras == ()
    assert alone or any("another table" in one for one in extras)


def test_the_steps_reach_files_with_deleted_values(tmp_path):
    """The search would mean little if nothing was hidden: an update leaves what was there before."""
    file = tmp_path / "r.duckdb"
    with duckdb.connect(str(file)) as engine:
        engine.execute("CREATE TABLE rel AS SELECT 'Mr Verysecret' || i AS ill FROM range(400) t(i)")
        engine.execute("CHECKPOINT")
        engine.execute("UPDATE rel SET ill = 'flu'")
        engine.execute("CHECKPOINT")
    assert file.read_bytes().count(b"Verysecret")
    assert any("deleted values" in one for one in read_published(f"{file}#rel").extras)


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("CREATE VIEW rel AS SELECT 'flu' AS ill FROM (VALUES (23), (24)) t(age)", "a view"),
        ("CREATE TABLE rel AS SELECT 'flu' AS ill; CREATE SCHEMA \"row 1 is Alice\"", "another schema"),
        ("CREATE TABLE rel AS SELECT 'flu' AS ill; CREATE TYPE \"row 2 is Bob\" AS VARCHAR", "another name"),
        ("CREATE TABLE rel AS SELECT {'row 3 is Carol': 'flu'} AS ill", "names inside of a type"),
        ("CREATE TABLE rel AS SELECT union_value(m23 := 'flu') AS ill", "names inside of a type"),
    ],
)
def test_names_in_a_database_are_found(tmp_path, sql, said):
    with duckdb.connect(str(tmp_path / "r.duckdb")) as engine:
        engine.execute(sql)
    assert any(said in one for one in read_published(f"{tmp_path / 'r.duckdb'}#rel").extras)


def test_the_order_of_a_dictionary_is_that_of_the_rows_or_of_the_values(tmp_path):
    rng = random.Random("dictionary")
    values = [str(number) for number in rng.sample(range(1000, 9999), 60)]
    rows = rng.choices(values, k=400) + values
    odd = rng.sample(values, 60)
    for order, wrong in (
        (odd, True),
        (sorted(values), False),
        (list(dict.fromkeys(rows)), False),
        (list(dict.fromkeys(rows))[::-1], False),
    ):
        frame = pd.DataFrame({"v": pd.Categorical(rows, categories=order)})
        frame.to_parquet(tmp_path / "r.parquet", index=False)
        (tmp_path / "r.duckdb").unlink(missing_ok=True)
        with duckdb.connect(str(tmp_path / "r.duckdb")) as engine:
            engine.execute(f"CREATE TYPE kind AS ENUM ({', '.join(repr(one) for one in order)})")
            engine.execute("CREATE TABLE rel (v kind)")
            engine.executemany("INSERT INTO rel VALUES (?)", [[one] for one in rows])
        for file in ("r.parquet", "r.duckdb#rel"):
            found = [one for one in read_published(tmp_path / file).extras if "order of" in one]
            assert bool(found) is wrong, (file, order[:3])
    assert not is_odd_order(["low", "middle", "high"], ["high", "low", "middle"])  # few labels say little


def parquet(tmp_path, **metadata):
    table = pa.table({"age": ["1", "2"] * 20, "ill": ["flu", "none"] * 20})
    schema = pa.schema([("age", pa.string()), ("ill", pa.string())], metadata=metadata.pop("hidden", None))
    about = dict(metadata)
    if schema.metadata:
        about["ARROW:schema"] = base64.b64encode(schema.serialize().to_pybytes()).decode()
    with pq.ParquetWriter(tmp_path / "r.parquet", table.schema, store_schema=not about) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(about)
    return read_published(tmp_path / "r.parquet").extras


def test_metadata_of_parquet_files_is_read(tmp_path):
    assert parquet(tmp_path) == ()
    assert parquet(tmp_path, hidden={"secret": "row 1 is Alice"}) == ("metadata in the schema of Arrow",)
    assert "an unreadable schema of Arrow" in parquet(tmp_path, **{"ARROW:schema": "row 1 is Alice"})
    column = {"name": "age", "field_name": "age", "pandas_type": "unicode", "numpy_type": "object", "metadata": None}
    told = {"index_columns": [], "column_indexes": [], "columns": [column], "pandas_version": "2.2.0"}
    told |= {"creator": {"library": "pyarrow", "version": "20.0.0"}}
    assert parquet(tmp_path, pandas=json.dumps(told)) == ()
    for wrong in (
        {"columns": [column | {"name": "row 1 is Alice"}]},
        {"columns": [column | {"metadata": {"exact": [1, 2]}}]},
        {"columns": [column | {"metadata": {"encoding": [1, 2]}}]},
        {"creator": {"library": "row 2 is Bob", "version": "1"}},
        {"creator": {"library": "pyarrow", "version": "row 2 is Bob"}},
        {"partition_columns": ["row 2 is Bob"]},
    ):
        assert parquet(tmp_path, pandas=json.dumps(told | wrong)) == ("metadata of pandas",), wrong
    parquet(tmp_path)
    content = (tmp_path / "r.parquet").read_bytes()
    writer = pq.ParquetFile(tmp_path / "r.parquet").metadata.created_by.encode()
    (tmp_path / "r.parquet").write_bytes(content.replace(writer, b"row 1 is Alice, row 2 is Bob ..."[: len(writer)]))
    assert read_published(tmp_path / "r.parquet").extras == ("the name of a writer that is not known",)


CELLS = ["flu", "none", "a,b", "", "12", "7.5", "null", "x y", 'q"r', "-3", "2020-01-02"]


@pytest.mark.parametrize("seed", range(30))
def test_quotes_that_a_writer_puts_pass_and_those_that_mark_rows_do_not(tmp_path, seed):
    rng = random.Random(f"quotes {seed}")
    rows = [[rng.choice(CELLS), rng.choice(["flu", "none", "gout"])] for _ in range(40)]
    file = tmp_path / "r.csv"
    for way in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC):
        stream = io.StringIO()
        cells = [[float(a) if a in ("12", "7.5", "-3") else a, b] for a, b in rows]
        csv.writer(stream, quoting=way).writerows([("age", "ill"), *cells])
        file.write_text(stream.getvalue(), newline="")
        assert read_published(file).extras == (), way
    pd.DataFrame(rows, columns=["age", "ill"]).to_csv(file, index=False)
    assert read_published(file).extras == ()
    one = rng.choice(["flu", "none"])
    marked = [(rng.choice(["1", "2"]), f'"{b[:2]}"{b[2:]}' if b == one else b) for _, b in rows]
    whole = [(a, f'"{b}"' if b.strip('"') == one else b) for a, b in rows_of(rng)]
    for lines in (marked, whole):
        file.write_text("age,ill\n" + "".join(f"{a},{b}\n" for a, b in lines))
        assert read_published(file).extras != ()


def rows_of(rng):
    """Rows in which each condition occurs: quotes around one of them tell it from the others."""
    return [(rng.choice(["1", "2"]), ill) for ill in ("flu", "none", "gout", "flu", "none")]


def packed(text, flags=0, more=b""):
    """A gzip file with a header of its own."""
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    body = packer.compress(text) + packer.flush()
    tail = zlib.crc32(text).to_bytes(4, "little") + len(text).to_bytes(4, "little")
    return b"\x1f\x8b\x08" + bytes([flags]) + b"\0" * 4 + b"\0\xff" + more + body + tail


def test_headers_and_members_of_compressed_texts_are_found(tmp_path):
    lines = ["age,ill\n", *(f"{i % 3},flu\n" for i in range(60))]
    text = "".join(lines).encode()
    for raw, odd in (
        (gzip.compress(text), False),
        (packed(text), False),
        (packed(text, 8, b"release.csv\0"), False),
        (packed(text, 16, b"row 5 is Ann\0"), True),
        (packed(text, 4, b"\x07\0row Ann"), True),
        (b"".join(packed("".join(lines[i : i + 7]).encode()) for i in range(0, 61, 7)), True),
    ):
        (tmp_path / "r.csv.gz").write_bytes(raw)
        found = read_published(tmp_path / "r.csv.gz")
        assert bool(found.extras) is odd
        assert len(found.rows) == 60


WRITERS = {
    "arrow": pq.write_table,
    "arrow, page index": lambda table, file: pq.write_table(table, file, write_page_index=True),
    "arrow, plain": lambda table, file: pq.write_table(table, file, use_dictionary=False, compression="zstd"),
    "arrow, pages": lambda table, file: pq.write_table(table, file, data_page_size=64, data_page_version="2.0"),
    "duckdb": lambda table, file: duckdb.from_arrow(table).write_parquet(str(file)),
    "polars": lambda table, file: pytest.importorskip("polars").from_arrow(table).write_parquet(file),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_bytes_of_parquet_files_that_nobody_reads_are_found(tmp_path, writer):
    """Bytes between any two parts of the file, and a page that readers pass over; readers read all of them."""
    file = tmp_path / "r.parquet"
    WRITERS[writer](pa.table({"age": [f"{i % 7}0s" for i in range(90)], "ill": ["flu", "hiv"] * 45}), file)
    assert read_published(file).extras == ()
    raw = file.read_bytes()
    start = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    file.write_bytes(raw[:start] + b"row 5 is Ann" + raw[start:])
    found = read_published(file)
    assert found.extras == ("bytes that belong to no column",)
    assert len(found.rows) == 90


def test_bytes_behind_a_database_are_found(tmp_path):
    file = tmp_path / "r.duckdb"
    with duckdb.connect(str(file)) as engine:
        engine.execute("CREATE TABLE rel AS SELECT i % 3 AS age, 'flu' AS ill FROM range(90) t(i)")
    assert read_published(f"{file}#rel").extras == ()
    file.write_bytes(file.read_bytes() + b"row 5 is Ann")
    assert read_published(f"{file}#rel").extras
