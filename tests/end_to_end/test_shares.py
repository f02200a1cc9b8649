"""What one analyst may do at once, and how large it may be: each limit of docs/threats.md where it is used."""

import threading
import time
from functools import partialmethod
from types import SimpleNamespace

import httpx
import psycopg
import pytest
from tests.end_to_end import pg, web

from sfumato.engines.duckdb import engine as engine_module
from sfumato.engines.duckdb import fetching, loading
from sfumato.errors import QueryError
from sfumato.gateway import gateway as corridor
from sfumato.gateway import open_policy, planner
from sfumato.interrupts import CancelScope
from sfumato.policy import load
from sfumato.server.http import gateway_calls as http_desk
from sfumato.server.pgwire import catalog, catalog_process
from sfumato.server.pgwire import gateway_calls as pg_desk
from sfumato.server.pgwire.catalog import Catalog
from sfumato.server.pgwire.catalog_process import CatalogProcesses
from sfumato.server.pgwire.startup import WireLimits

MANY = 6
"""More than any share that is tried here."""


@pytest.fixture
def policy(written, tmp_path):
    return pg.make_clinic(tmp_path / "c", written, *pg.RICH)


@pytest.fixture
def gate(policy):
    with open_policy(policy) as made:
        yield made


class Meter:
    """A function that takes a while, and how often it was under way at once."""

    def __init__(self, function):
        self.function, self.now, self.most, self.calls = function, 0, 0, 0
        self._lock = threading.Lock()

    def __call__(self, *arguments, **options):
        with self._lock:
            self.calls += 1
            self.now += 1
            self.most = max(self.most, self.now)
        try:
            time.sleep(0.1)
            return self.function(*arguments, **options)
        finally:
            with self._lock:
                self.now -= 1


def at_once(work, names):
    """The same work for each of these analysts, in threads, and what went wrong."""
    wrong = []

    def run(number, name):
        try:
            with CancelScope(name).held():
                work(number)
        except Exception as error:  # noqa: BLE001  it is shown by the test
            wrong.append(error)

    threads = [threading.Thread(target=run, args=item) for item in enumerate(names)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert wrong == []


ONE, ALL = ["ana"] * MANY, [f"analyst {i}" for i in range(MANY)]


@pytest.mark.parametrize(("names", "most"), [(ONE, 1), (ALL, 4)], ids=["one", "all"])
def test_planning_is_shared(gate, names, most, monkeypatch):
    meter = Meter(planner.plan)
    monkeypatch.setattr(planner, "plan", meter)
    at_once(lambda i: gate.explain(f"SELECT COUNT(*) FROM patient WHERE age > {i}"), names)
    assert meter.calls >= MANY
    assert meter.most <= most


def test_making_results_is_shared(gate, monkeypatch):
    meter = Meter(corridor.build)
    monkeypatch.setattr(corridor, "build", meter)
    at_once(lambda i: gate.sql(f"SELECT COUNT(*) FROM patient WHERE age > {i}", epsilon="0.01"), ONE)
    assert meter.calls == MANY
    assert meter.most == 1


def test_runs_over_private_rows_are_shared(gate, monkeypatch):
    meter = Meter(corridor.draw)
    monkeypatch.setattr(corridor, "draw", meter)
    at_once(lambda i: gate.sql(f"SELECT COUNT(*) FROM patient WHERE age > {i}", epsilon="0.01"), ONE)
    assert meter.calls == MANY
    assert meter.most <= 2


@pytest.mark.parametrize("names", [ONE, ALL], ids=["one", "all"])
def test_free_runs_are_shared(gate, names, monkeypatch):
    """Half of the slots for one analyst, and one processor for each run."""
    engine, meter = gate._engine, Meter(engine_module.fetch_bounded)
    monkeypatch.setattr(engine_module, "fetch_bounded", meter)
    at_once(lambda i: engine.run_public(f"SELECT {i} FROM region"), names)
    assert meter.calls == MANY
    total = engine_module._FREE
    assert meter.most <= (total // 2 if names is ONE else total)
    assert engine._public.execute("SELECT current_setting('threads')").fetchone() == (1,)


def test_free_runs_have_little_memory(policy, monkeypatch):
    """Beside the public tables; what does not fit is on the disk, which is little as well."""
    sql = "SELECT COUNT(*) FROM (SELECT DISTINCT range, CAST(range AS VARCHAR) FROM range(1000000))"
    heard = []
    for memory, disk in ((32, 1), (32, 1024), (1024, 1)):
        monkeypatch.setattr(loading, "_FREE_MEMORY", memory << 20)
        monkeypatch.setattr(loading, "_FREE_DISK", disk << 20)
        with open_policy(policy) as gate, CancelScope("ana").held():
            try:
                heard += gate._engine.run_public(sql)
            except QueryError as error:
                heard.append(error.sqlstate)
    assert heard == ["53200", (10**6,), (10**6,)]


def test_a_result_has_a_largest_size(gate, monkeypatch):
    """For a client of a server; counted while it is fetched."""
    monkeypatch.setattr(fetching.fetch_bounded, "__defaults__", (1000, None, fetching.CELL))
    sql = "SELECT a.name FROM region a CROSS JOIN region b CROSS JOIN region c"
    with CancelScope("ana").held(), pytest.raises(QueryError, match="larger than") as refused:
        gate.sql(sql)
    assert refused.value.sqlstate == "54000"
    assert len(gate.sql(sql).rows) == 64, "Python has no limit"


def test_catalog_results_have_a_largest_size(policy, monkeypatch):
    found = Catalog(load(policy))
    sql = found.question("SELECT a FROM generate_series(1, 500) AS t(a)")
    assert len(found.run(sql, "ana", ()).rows) == 500
    for name, most in (("MOST_ROWS", 100), ("MOST_BYTES", 1000)):
        with monkeypatch.context() as patched:
            patched.setattr(catalog, name, most)
            with pytest.raises(QueryError, match="larger than"):
                found.run(sql, "ana", ())
    found.close()


@pytest.mark.parametrize(("names", "most"), [(ONE, 1), (ALL, 4)], ids=["one", "all"])
def test_catalog_processes_are_shared(policy, names, most, monkeypatch):
    meter = Meter(lambda *_: QueryError("no"))
    child = SimpleNamespace(begin=lambda: None, ask=meter, kill=lambda: None, bury=lambda: None)
    monkeypatch.setattr(catalog_process, "_Child", lambda _: child)
    processes = CatalogProcesses(load(policy))

    def ask(_):
        with pytest.raises(QueryError):
            processes.run("SELECT 1", "ana", ())

    at_once(ask, names)
    assert meter.calls == MANY
    assert meter.most <= most


def test_a_catalog_query_has_a_largest_size(policy):
    with pg.serving(policy, encrypted=False) as served, psycopg.connect(served.dsn(), autocommit=True) as client:
        sql = "SELECT COUNT(*) FROM pg_class /*{}*/"
        room = pg_desk._MOST_CATALOG - len(sql) + 2
        assert client.execute(sql.format("x" * room)).fetchone()[0] > 0
        with pytest.raises(psycopg.errors.UndefinedTable):
            client.execute(sql.format("x" * (room + 1)))


def test_one_user_has_a_part_of_the_wires_threads(policy, monkeypatch):
    meter = Meter(pg_desk.GatewayCalls.do)
    monkeypatch.setattr(pg_desk.GatewayCalls, "do", partialmethod(meter))
    with pg.serving(policy, limits=WireLimits(working=2), encrypted=False) as served:

        def ask(number):
            with psycopg.connect(served.dsn(), autocommit=True) as client:
                client.execute(f"EXPLAIN SELECT COUNT(*) FROM patient WHERE age > {number}")

        at_once(ask, ONE)
    assert meter.calls >= MANY
    assert meter.most <= 2


@pytest.mark.parametrize(("path", "function"), [("/api/explain", "preview"), ("/api/budget", "budget")])
def test_one_user_has_a_part_of_the_threads_for_http(policy, path, function, monkeypatch):
    meter = Meter(getattr(http_desk, function))
    monkeypatch.setattr(http_desk, function, meter)
    with web.serving(policy, limits=web.HttpLimits(working=2, looking=1)) as served:

        def ask(number):
            with served.client("ana") as client:
                body = {"sql": f"SELECT COUNT(*) FROM patient WHERE age > {number}"}
                said = client.post(path, json=body) if path == "/api/explain" else client.get(path)
                assert said.status_code == httpx.codes.OK

        at_once(ask, ONE)
    assert meter.calls == MANY
    assert meter.most <= (2 if path == "/api/explain" else 1)


def test_the_words_of_a_log_in_over_http_are_short(policy):
    """Who has not logged in sends little; who has may send a long question."""
    with web.serving(policy) as served, served.client("ana") as client:
        most = web.HttpLimits().words
        said = client.post("/login", json={"name": "ana", "password": "x" * most})
        assert (said.status_code, said.json()["message"]) == (413, f"a body may have at most {most} bytes")
        body = {"sql": f"SELECT COUNT(*) FROM patient /*{'x' * most}*/"}
        assert client.post("/api/explain", json=body).status_code == httpx.codes.OK


def test_a_catalog_query_has_its_time(policy, monkeypatch):
    """Also one that takes no memory: its process is killed."""
    killed = threading.Event()

    def ask(*_):
        assert killed.wait(20), "nobody ended it"
        raise EOFError

    child = SimpleNamespace(begin=lambda: None, ask=ask, kill=killed.set, bury=lambda: None)
    monkeypatch.setattr(catalog_process, "_Child", lambda _: child)
    monkeypatch.setattr(catalog_process, "SECONDS", 0.2)
    with CancelScope("ana").held(), pytest.raises(QueryError, match="a free query") as refused:
        CatalogProcesses(load(policy)).run("SELECT 1", "ana", ())
    assert refused.value.sqlstate == "57014"


def test_the_start_of_a_catalog_process_is_no_time_of_the_query(policy, monkeypatch):
    """On a busy machine a process takes long to start; the query that it was started for is answered all the same."""
    killed, answer = threading.Event(), catalog_process.Result((), [], "SELECT 0")

    def ask(*_):
        if killed.is_set():
            raise EOFError
        return answer

    child = SimpleNamespace(begin=lambda: killed.wait(1.5), ask=ask, kill=killed.set, bury=lambda: None)
    monkeypatch.setattr(catalog_process, "_Child", lambda _: child)
    monkeypatch.setattr(catalog_process, "SECONDS", 1.0)
    with CancelScope("ana").held():
        assert CatalogProcesses(load(policy)).run("SELECT 1", "ana", ()) is answer
