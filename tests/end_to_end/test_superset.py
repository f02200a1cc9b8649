"""Superset, unmodified, in an environment of its own: it reads the tables of a served gateway and draws its charts."""

import json
import subprocess
import sys
import venv
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from tests.corpus import tables
from tests.end_to_end.hosting import PASSWORD
from tests.end_to_end.served import running
from tests.needed import missing

HERE = Path(__file__).parent
HOME = HERE.parents[1] / ".venv" / "superset"
PINNED = ("apache-superset==6.1.0", "flask-caching==2.3.1", "cachetools==8.0.0", "psycopg2-binary==2.9.13")
"""Superset 6.1 does not work with later versions of the cache, and imports one that it does not name."""


def superset():
    """Its Python; installed once, which takes two minutes."""
    done = HOME / "stamp"
    if not done.exists() or done.read_text(encoding="utf-8") != " ".join(PINNED):
        venv.create(HOME, with_pip=True, clear=True)
        words = [HOME / "bin" / "python", "-m", "pip", "install", "--quiet", *PINNED]
        made = subprocess.run(words, capture_output=True, text=True, check=False, timeout=900)
        if made.returncode:
            missing(f"Superset cannot be installed: {made.stderr.strip().splitlines()[-1:]}")
        done.write_text(" ".join(PINNED), encoding="utf-8")
    return HOME / "bin" / "python"


@pytest.mark.slow
def test_superset_draws_its_charts(tmp_path):
    """Every chart is answered, the second time for nothing; a series limit shows its series, error bars have ends."""
    python = superset()
    with tables.plain() as plain:
        policy = tables.write(plain, tmp_path)
    with running(policy) as server:
        host, port = server.link("postgresql")
        address = f"postgresql+psycopg2://ana:{quote(PASSWORD)}@{host}:{port}/corpus"
        spent = []
        for _ in range(2):
            words = [python, HERE / "superset_charts.py", address]
            ran = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300, cwd=tmp_path)
            assert ran.returncode == 0, ran.stderr[-2000:]
            told = json.loads(ran.stdout.strip().splitlines()[-1])
            with psycopg.connect(server.dsn(dbname="corpus"), autocommit=True) as client:
                spent.append(client.execute("SHOW sfumato.budget").fetchall())
    assert set(told["columns"]) == {column.split()[0] for column in tables.SCHEMA["visit"].split(", ")}
    charts = {chart["name"]: chart for chart in told["charts"]}
    assert [chart["name"] for chart in told["charts"] if chart["error"] or not chart["rows"]] == []
    assert charts["series limit"]["rows"] <= 2 * 6
    assert charts["error bars"]["columns"] == ["kind", "visits", "low", "high"]
    assert charts["time series by P1M"]["rows"] == 6
    assert spent[0] == spent[1]
    sys.stdout.write(f"{len(charts)} charts\n")
