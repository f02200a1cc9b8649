"""`sfumato init` where Spark reads the rows: names and types of paths and of a catalog, and no row."""

from __future__ import annotations

import random
import tomllib
from pathlib import Path
from typing import Any

import pytest

from sfumato.engines.spark.session import SparkServer
from sfumato.errors import PolicyError
from sfumato.owner.draft import draft, look, person_of
from tests.needed import needed
from tests.unit.test_spark import write

needed("pyspark")


def test_a_policy_is_drafted_from_paths_and_a_catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Types are Spark's; views are named and left out; no statement reads a row."""
    write(tmp_path)
    schema, server = f"lake{random.Random(str(tmp_path)).randrange(10**9)}", SparkServer("local[2]")
    cells, ran = SparkServer.cells, list[str]()
    server.cells(f"CREATE SCHEMA {schema}")
    try:
        server.cells(f"CREATE TABLE {schema}.visit USING parquet LOCATION '{tmp_path}/visit.parquet'")
        server.cells(f"CREATE VIEW {schema}.seen AS SELECT * FROM {schema}.visit")

        def watched(self: SparkServer, sql: str, *leashes: Any, **more: Any) -> Any:
            ran.append(sql)
            return cells(self, sql, *leashes, **more)

        monkeypatch.setattr(SparkServer, "cells", watched)
        source = look([f"table:{schema}.*", f"parquet:{tmp_path}/person.parquet", f"{tmp_path}/city.csv"], "local[2]")
        assert set(ran) == {"SET"}, "nothing but settings was asked for"
        policy = tomllib.loads(draft(source, person_of(source, "person.id"), tmp_path))
    finally:
        server.cells(f"DROP SCHEMA {schema} CASCADE")
        server.close()
    tables = {"visit": f"table:{schema}.visit", "person": "parquet:person.parquet", "city": "city.csv"}
    assert policy["source"] == {"engine": "spark", "master": "local[2]", "tables": tables}
    assert policy["tables"]["person"]["unit"] == "id"
    assert policy["tables"]["visit"]["columns"]["at"]["type"] == "timestamp"
    assert source.views == (f"{schema}.seen",)
    with pytest.raises(PolicyError, match="has no schema"):
        look(["table:nowhere.*"], "local[2]")
