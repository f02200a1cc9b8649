"""What leaves the console: lines to copy, each pasted and run against `sfumato serve`; files, each read again."""

import os
import shutil
import subprocess
from datetime import timedelta
from types import SimpleNamespace

import pyarrow.ipc
import pyarrow.parquet
import pytest
from tests.end_to_end.browser import PASSWORD, Tab, chromium, expect
from tests.end_to_end.served import running, write_small

from sfumato.server.tokens import issue
from sfumato.server.users import Users

SQL = """SELECT city, COUNT(*) AS "the n, 100 %" -- it's a "comment" :x
FROM visit
WHERE city NOT LIKE '%zz%' AND city <> 'it''s $HOME `x` :y \\ %s' -- ${z}
GROUP BY city"""
"""Whatever a shell, Python, a URL, a driver or SQLAlchemy could take for its own."""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running(write_small(tmp_path_factory.mktemp("small")), users=("ana",)) as made:
        yield made


@pytest.fixture(scope="module")
def asked(server):
    """The page after one question, and its rows."""
    url = server.url()
    with chromium() as browser:
        tab = Tab(browser, SimpleNamespace(url=url.rstrip("/"), users=Users(server.state)), "ana")
        tab.ready()
        tab.write(SQL)
        tab.ask()
        with server.connect() as door:
            rows = door.execute(f"/* epsilon=1 */ {SQL}").fetchall()
        assert [row[0] for row in rows] == ["Paris", "Lyon"]
        yield tab, rows
        assert not tab.troubles


def spent(server):
    with server.client() as client:
        return client.get("/api/budget").json()["spent"]["epsilon"]


def copied(tab, kind):
    tab.page.click(f"#result .foot button >> text='{kind}'")
    expect(tab.page.locator("dialog h2")).to_have_text(f"As {kind}")
    text = tab.page.locator("dialog pre").inner_text()
    tab.page.keyboard.press("Escape")
    return text


@pytest.mark.parametrize("kind", ["psql", "curl"])
def test_a_copied_line_runs_in_a_shell_and_gives_the_answer_that_was_paid_for(server, asked, kind):
    if shutil.which(kind) is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"there is no {kind}: apt-get install it")
    tab, rows = asked
    before = spent(server)
    text = copied(tab, kind)
    token = issue(Users(server.state), "ana", timedelta(days=1))[1]
    env = os.environ | {"PGPASSWORD": PASSWORD, "TOKEN": token, "PSQLRC": "/nowhere", "PAGER": "cat"}
    done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=False, env=env, timeout=60)
    assert done.returncode == 0, (text, done.stderr)
    for city, number in rows:
        assert city in done.stdout
        assert str(number) in done.stdout
    assert spent(server) == before


@pytest.mark.parametrize("kind", ["pandas", "SQLAlchemy"])
def test_copied_python_runs_and_gives_the_answer_that_was_paid_for(server, asked, kind, monkeypatch):
    tab, rows = asked
    before = spent(server)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    scope = {}
    exec(copied(tab, kind), scope)
    found = scope["rows"] if kind == "SQLAlchemy" else scope["frame"].itertuples(index=False)
    assert [tuple(row) for row in found] == rows
    scope["engine"].dispose()
    assert spent(server) == before


@pytest.mark.parametrize("kind", ["CSV", "Parquet", "Arrow"])
def test_an_exported_file_is_the_answer_that_was_paid_for(server, asked, kind):
    tab, rows = asked
    before = spent(server)
    with tab.page.expect_download() as caught:
        tab.page.click(f"#result .foot button >> text='{kind}'")
    path = caught.value.path()
    if kind == "CSV":
        lines = path.read_text(encoding="utf-8").splitlines()
        assert lines[0].startswith('city,"the n, 100 %"')
        assert [line.split(",")[:2] for line in lines[1:]] == [[city, str(number)] for city, number in rows]
    else:
        table = pyarrow.parquet.read_table(path) if kind == "Parquet" else pyarrow.ipc.open_stream(path).read_all()
        assert list(zip(*(table.column(i).to_pylist() for i in (0, 1)), strict=True)) == rows
    assert spent(server) == before
