"""`sfumato prepare`: questions over prepared rows beside the plain query, over the same file and over rows in memory.

    python bench/bench_prepared.py [--rows 1000000] [--runs 3] [--folder DIR]

At 10,000,000 rows it takes four minutes and 3 GB. COUNT(*) of a whole table is a number that the plain engine keeps.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from suite import QUESTIONS, cpu, engine_part, make, opened, plain_of, policy_of

from sfumato.engines.duckdb import DuckDB
from sfumato.engines.duckdb.prepared_file import PreparedFile
from sfumato.engines.duckdb.prepared_tables import standing
from sfumato.engines.duckdb.relations import stored_scans

CONDITIONS = ("age > 20", "day < DATE '2024-07-01'", "disease = 'Cold'")
"""Numbers that most rows pass and that half of them pass, in order of nothing; and a text that few rows have."""


def filtered() -> dict[str, str]:
    """Each question about visits, of some of its rows."""
    found = {}
    for key, sql in QUESTIONS.items():
        for number, condition in enumerate(CONDITIONS):
            if key.startswith("q") and "WHERE" not in sql:
                place = min(i for i in (sql.find(" GROUP BY"), len(sql)) if i >= 0)
                found[f"{key}/{'abc'[number]}"] = f"{sql[:place]} WHERE {condition}{sql[place:]}"
    return found


def prepared(folder: Path) -> tuple[PreparedFile, float]:
    """The file as the command writes it, on one thread, and the CPU seconds of its last step."""
    policy, place = policy_of(folder), folder / "prepared.duckdb"
    place.unlink(missing_ok=True)
    engine = DuckDB(policy, threads=1, into=place, later=True)
    scans, tables = stored_scans(policy, policy.tables), list(policy.tables)
    schemas = {name: engine.schema(policy.tables[name]) for name in tables}
    engine.keep(policy, tables)
    start = time.process_time()
    made = standing(policy, tables, "salt", engine.tables.same)
    engine.tables.prepare(made.selects, "{}")
    spent = time.process_time() - start
    found = PreparedFile(place, schemas, scans, engine.known.unique, engine.tables.people(tables), made.names, "salt")
    engine.close()
    return found, spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where the data are, or are made and kept")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = chosen.folder or Path(name)
        if not (folder / "visits.parquet").exists():
            make(folder, chosen.rows)
        found, spent = prepared(folder)
        print(f"{chosen.rows:,} rows; prepared in {spent:.1f} s of CPU, {found.place.stat().st_size / 1e6:,.0f} MB")
        plain = plain_of(folder)
        engine = DuckDB(policy_of(folder), threads=1, prepared=found)
        with opened(folder, engine) as gate:
            heads = ("plain", "in file", "ours", "/plain", "/in file")
            print(f"{'':6}" + "".join(f"{head:>10}" for head in heads))
            for key, sql in (QUESTIONS | filtered()).items():
                first = cpu(lambda sql=sql: plain.execute(sql).fetchall(), chosen.runs)
                file = cpu(lambda sql=sql: engine._private.execute(sql).fetchall(), chosen.runs)
                ours = cpu(engine_part(gate, sql), chosen.runs)
                row = f"{first:10.1f}{file:10.1f}{ours:10.1f}{ours / first:10.2f}{ours / file:10.2f}"
                print(f"{key:6}{row}", flush=True)


if __name__ == "__main__":
    main()
