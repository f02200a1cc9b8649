"""The tools that people have, unchanged, against the PostgreSQL interface: SQLAlchemy, pandas, ADBC, JDBC."""

import asyncio
import os
import shutil
import subprocess
from decimal import Decimal
from pathlib import Path

import adbc_driver_postgresql.dbapi as adbc
import pandas as pd
import pytest
import sqlalchemy
from sqlalchemy.ext.asyncio import create_async_engine
from tests.end_to_end import pg

from sfumato.cli import clinic

BY_DISEASE = "SELECT disease, COUNT(*) AS n, AVG(age) AS age, SUM(salary) AS pay FROM patient GROUP BY disease"
JARS = ("/usr/share/java/postgresql.jar", "/usr/share/java/postgresql-jdbc4.jar")


@pytest.fixture(scope="module")
def door(written, tmp_path_factory):
    policy = pg.make_clinic(tmp_path_factory.mktemp("door"), written, *pg.RICH)
    with pg.serving(policy, encrypted=False) as served:
        yield served


@pytest.fixture
def expected(door):
    return door.gate.sql(BY_DISEASE, analyst="ana").known_rows()


def url(door, driver):
    return sqlalchemy.URL.create(driver, "ana", pg.PASSWORD, door.host, door.port, "clinic")


@pytest.fixture(params=["postgresql+psycopg", "postgresql+psycopg2", "postgresql+pg8000"])
def engine(door, request):
    made = sqlalchemy.create_engine(url(door, request.param))
    yield made
    made.dispose()


def test_sqlalchemy_asks(door, engine, expected):
    with engine.connect() as connection:
        assert [tuple(row) for row in connection.execute(sqlalchemy.text(BY_DISEASE))] == expected
        asked = sqlalchemy.text("SELECT COUNT(*) FROM patient WHERE age > :age AND disease = :disease")
        assert connection.execute(asked, {"age": 30, "disease": "Cold"}).scalar_one() > 0
        with pytest.raises(sqlalchemy.exc.DBAPIError):
            connection.execute(sqlalchemy.text("SELECT ssn FROM patient"))
        connection.rollback()
        streamed = connection.execution_options(stream_results=True, max_row_buffer=2)
        assert [tuple(row) for row in streamed.execute(sqlalchemy.text(BY_DISEASE))] == expected


def test_sqlalchemy_reflects(door, engine):
    before = pg.debits(door)
    found = sqlalchemy.inspect(engine)
    assert found.default_schema_name == "public"
    assert sorted(found.get_table_names()) == ["patient", "region", "visit"]
    assert found.get_view_names() == []
    assert [column["name"] for column in found.get_columns("patient")] == list(clinic.PATIENT)
    about = {column["name"]: (str(column["type"]), column["comment"]) for column in found.get_columns("patient")}
    assert about["age"] == ("BIGINT", "0 to 120")
    assert about["admitted"][0] == "DATE"
    assert about["salary"][0] == "NUMERIC"
    assert found.get_pk_constraint("patient")["constrained_columns"] == []
    assert found.get_foreign_keys("visit") == []
    assert found.get_indexes("patient") == []
    assert found.get_unique_constraints("patient") == []
    assert found.get_check_constraints("patient") == []
    assert found.has_table("patient")
    assert not found.has_table("nothing")
    assert pg.debits(door) == before, "looking is free"


def test_sqlalchemy_asks_by_what_it_has_reflected(door, engine):
    tables = sqlalchemy.MetaData()
    patient = sqlalchemy.Table("patient", tables, autoload_with=engine)
    tables.reflect(bind=engine)
    assert sorted(tables.tables) == ["patient", "region", "visit"]
    count = sqlalchemy.func.count().label("n")
    asked = sqlalchemy.select(patient.c.disease, count).where(patient.c.age > 50).group_by(patient.c.disease)
    with engine.connect() as connection:
        rows = connection.execute(asked).all()
    assert [row.disease for row in rows] == [*clinic.DISEASES, None]
    assert all(isinstance(row.n, int) for row in rows)


def test_sqlalchemy_with_asyncpg(door, expected):
    async def ask():
        engine = create_async_engine(url(door, "postgresql+asyncpg"))
        async with engine.connect() as connection:
            found = await connection.execute(sqlalchemy.text(BY_DISEASE))
            assert [tuple(row) for row in found] == expected
            names = await connection.run_sync(lambda sync: sqlalchemy.inspect(sync).get_table_names())
            assert sorted(names) == ["patient", "region", "visit"]
            asked = sqlalchemy.text("SELECT COUNT(*) FROM patient WHERE age > :age")
            assert (await connection.execute(asked, {"age": 30})).scalar_one() > 0
        await engine.dispose()

    asyncio.run(ask())


def test_pandas_reads_sql(door, engine, expected):
    frame = pd.read_sql(BY_DISEASE, engine)
    assert list(frame.columns) == ["disease", "n", "age", "pay"]
    assert frame["n"].tolist() == [row[1] for row in expected]
    assert frame["n"].dtype == "int64"
    narrow = pd.read_sql(
        sqlalchemy.text("SELECT COUNT(*) AS n FROM patient WHERE age > :age"), engine, params={"age": 30}
    )
    assert narrow["n"][0] > 0
    parts = list(pd.read_sql(BY_DISEASE, engine, chunksize=2))
    assert [len(part) for part in parts] == [2, 2, 2]


def test_adbc(door, expected):
    words = f"postgresql://ana:{pg.PASSWORD.replace(' ', '%20')}@{door.host}:{door.port}/clinic"
    before = pg.debits(door)
    with adbc.connect(words) as connection:
        with connection.cursor() as cursor:
            cursor.execute(BY_DISEASE)
            table = cursor.fetch_arrow_table()
            assert table.column_names == ["disease", "n", "age", "pay"]
            assert table["disease"].to_pylist() == [row[0] for row in expected]
            assert table["n"].to_pylist() == [row[1] for row in expected]
            assert [Decimal(value) for value in table["pay"].to_pylist()] == [row[3] for row in expected]
            assert [str(table.schema.field(name).type) for name in ("disease", "n")] == ["string", "int64"]
            cursor.execute("SELECT COUNT(*) FROM patient WHERE age > $1", (40,))
            assert cursor.fetchone()[0] > 0
        objects = connection.adbc_get_objects(depth="columns", db_schema_filter="public").read_all().to_pylist()
        tables = objects[0]["catalog_db_schemas"][0]["db_schema_tables"]
        assert sorted(table["table_name"] for table in tables) == ["patient", "region", "visit"]
        schema = connection.adbc_get_table_schema("patient")
        assert schema.names == list(clinic.PATIENT)
    assert pg.debits(door) - before == Decimal("0.1"), "one new question, however often it was looked at"


def jdbc():
    """What runs a Java file with the driver: or the reason why there is none."""
    jar = next((path for path in JARS if Path(path).exists()), None)
    java = shutil.which("java")
    if java is None or jar is None or shutil.which("javac") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("java, javac or pgjdbc is not installed; on CI nothing is skipped")
        pytest.skip("no JDBC (apt-get install default-jdk-headless libpostgresql-jdbc-java)")
    return [java, "-cp", jar, str(Path(__file__).with_name("Client.java"))]


def test_jdbc(door):
    before = pg.debits(door)
    where = f"jdbc:postgresql://{door.host}:{door.port}/clinic"
    done = subprocess.run([*jdbc(), where, pg.PASSWORD], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    said = dict(line.split("=", 1) for line in done.stdout.splitlines())
    by_disease = "SELECT disease, COUNT(*) AS n, AVG(age) AS age FROM patient GROUP BY disease"
    known = door.gate.sql(by_disease, analyst="ana").known_rows()
    assert said == {
        "product": "PostgreSQL 15",
        "schemas": "[information_schema, pg_catalog, public]",
        "tables": "[patient, region, visit]",
        "columns": f"[{', '.join(clinic.PATIENT)}]",
        "types": said["types"],
        "remarks": "[0 to 120]",
        "keys": "[]",
        "imported": "[]",
        "indexes": "[]",
        "privileges": said["privileges"],
        "info": "true",
        "functions": "0",
        "catalogs": "[clinic]",
        "table types": "true",
        "prepared": "1",
        "parameters": "int4",
        "fetched": f"[{', '.join(':'.join('null' if v is None else str(v) for v in row) for row in known)}]",
        "dated": "true",
        "notice": "true",
        "refused": "42501",
        "copied": "6",
    }
    assert said["types"].startswith("[text, int8, text, numeric, int8, date")
    assert pg.debits(door) - before == Decimal("0.1") * 3 + Decimal("0.5") * 2, "three questions, and two at 0.5"
