"""The pages of the HTTP door: documents, numbers as written, kinds of replies, errors, the ledger, metrics, health."""

import csv
import io
import json
import sys
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.end_to_end import pg, web
from tests.end_to_end.web import COUNT

from sfumato.server.http.error_responses import HttpRefusal
from sfumato.server.http.request_bodies import parse
from sfumato.server.http.response_bodies import ANSWERS

FIELDS = {"sqlstate", "message", "detail", "hint", "position"}


@pytest.fixture(scope="module")
def door(written, tmp_path_factory):
    policy = pg.make_clinic(tmp_path_factory.mktemp("web"), written, *pg.RICH)
    with web.serving(policy) as served:
        yield served


@pytest.fixture
def ana(door):
    with door.client("ana") as client:
        yield client


def refused(response, status, sqlstate=None):
    assert response.status_code == status, response.text
    document = response.json()
    assert set(document) == FIELDS
    assert document["message"] == document["message"].strip().rstrip(".")
    assert sqlstate in (None, document["sqlstate"])
    return document


def test_the_document_is_the_one_of_all_doors(door, ana):
    sql = "SELECT area, COUNT(*) AS n, AVG(salary) AS pay, MIN(admitted) AS d FROM patient GROUP BY area"
    response = ana.post("/api/query", json={"sql": sql, "confidence": 0.9})
    assert response.status_code == 200, response.text
    again = door.gate.sql(sql, analyst="ana", confidence="0.9")
    document = response.json()
    assert document["cost"]["epsilon"] == "1/10"
    assert again.cost.epsilon == 0
    same = ("columns", "types", "rows", "intervals", "confidence", "notes", "receipt")
    assert {name: document[name] for name in same} == {name: again.to_dict()[name] for name in same}


@pytest.mark.parametrize(
    ("body", "epsilon"),
    [('{"sql": "%s", "epsilon": 0.1}', "1/10"), ('{"sql": "%s", "epsilon": "1/7"}', "142857142857143/1000000000000000"),
     ('{"sql": "%s", "epsilon": 0.30000000000000001}', "30000000000000001/100000000000000000"),
     ('{"sql": "%s", "epsilon": 3e-2}', "3/100")],
)  # fmt: skip
def test_a_number_is_the_decimal_that_was_written(ana, body, epsilon):
    """A price is rounded up to 1e-15; 0.30000000000000001 as a float would be 0.3, and cost a little less."""
    text = body % f"SELECT COUNT(*) FROM patient WHERE age <> {len(body)} AND area <> 'north'"
    response = ana.post("/api/query", content=text, headers={"Content-Type": "application/json"})
    assert response.status_code == 200, response.text
    if epsilon.startswith("30000000000000001"):
        epsilon = "300000000000001/1000000000000000"
    assert response.json()["cost"]["epsilon"] == epsilon


def test_json_is_read_without_floats():
    read = parse(b'{"a": 0.1, "b": 1e400, "c": 7, "d": [1.5]}')
    assert read == {"a": Decimal("0.1"), "b": Decimal("1e400"), "c": 7, "d": [Decimal("1.5")]}
    assert not any(isinstance(value, float) for value in read.values())


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"1", b'{"a": NaN}', b'{"a": -Infinity}', b'{"a": 1, "a": 2}', b"\xff", b"[" * 100_000,
     b'{"a":' * 50_000, b'{"a": ' + b"9" * 5000 + b"}", b'{"a": 1e99999999999999999999}'],
)  # fmt: skip
def test_what_is_no_json_is_a_bad_request(ana, body):
    with pytest.raises(HttpRefusal):
        parse(body)
    response = ana.post("/api/query", content=body, headers={"Content-Type": "application/json"})
    refused(response, 400)


@pytest.mark.parametrize(
    ("document", "status"),
    [
        *[({"sql": sql}, 400) for sql in (None, 1, "\ud800")],
        *[({"sql": COUNT, "epsilon": value}, 400) for value in (-1, 0, True, [], "much", 1e-9, "0/0", " 1", "1e9999")],
        *[({"sql": COUNT, "rows_per_unit": value}, 400) for value in (0, 1.5, True, "2")],
        *[({"sql": COUNT, "confidence": value}, 400) for value in (0, 1, "1", -0.5)],
        *[({"sql": COUNT, "noise": value}, 400) for value in ("white", 1, [])],
        ({}, 400),
        ({"sql": COUNT, "epsilom": 1}, 400),
        ({"sql": COUNT, "epsilon": 1, "within": 10}, 400),
        *[({"sql": sql}, 422) for sql in ("SELECT", "", "SELECT nothing FROM patient", "SELECT \0")],
        ({"sql": "SELECT ssn FROM patient"}, 403),
        *[({"sql": COUNT, "epsilon": value}, 402) for value in (2000, 10**300)],
    ],
)
def test_refusals_have_five_fields_a_status_and_cost_nothing(door, ana, document, status):
    before = web.spent(door)
    body = json.dumps(document)
    refused(ana.post("/api/query", content=body, headers={"Content-Type": "application/json"}), status)
    assert web.spent(door) == before


def test_null_is_as_good_as_nothing(ana):
    options = {"epsilon": None, "within": None, "confidence": None, "rows_per_unit": None, "noise": None}
    assert ana.post("/api/query", json={"sql": COUNT, **options}).status_code == 200


def test_within_and_rows_per_unit_count(door, ana):
    options = {"within": 60, "rows_per_unit": 5, "noise": "geometric"}
    sql = "SELECT COUNT(*) FROM visit"
    wanted = door.gate.explain(sql, **options).cost.epsilon
    assert wanted < door.gate.explain(sql, within=60).cost.epsilon
    document = ana.post("/api/query", json={"sql": sql, **options}).json()
    assert document["cost"]["epsilon"] == str(wanted)
    low, high = document["intervals"][0][0]
    assert high - low <= 122  # ends are rounded outward


def test_rows_per_unit_may_be_estimated(door, ana):
    sql = "SELECT COUNT(*) FROM visit WHERE cost > 190"
    asked = {"sql": sql, "epsilon": "0.1", "rows_per_unit": "auto"}
    assert ana.post("/api/explain", json=asked).json()["cost"]["epsilon"] == "1/10"
    document = ana.post("/api/query", json=asked).json()
    assert document["cost"]["epsilon"] == "1/10"
    assert any(text.startswith("rows_per_unit: ") for _, text in document["notes"])
    assert ana.post("/api/query", json=asked).json()["cost"]["epsilon"] == "0"


def test_explain_never_spends(door, ana):
    before = [entry.seq for entry in door.gate.ledger.entries()]
    sql = "SELECT COUNT(*) FROM patient WHERE age = 77"
    document = ana.post("/api/explain", json={"sql": sql, "epsilon": 0.1}).json()
    assert document == json.loads(json.dumps(door.gate.explain(sql, analyst="ana", epsilon="0.1").to_dict()))
    assert (document["refused"], document["cost"]["epsilon"]) == (None, "1/10")
    shown = ana.post("/api/explain", json={"sql": "SELECT ssn FROM patient"})
    assert shown.status_code == 200
    assert shown.json()["refused"]["sqlstate"] == "42501"
    assert [entry.seq for entry in door.gate.ledger.entries()] == before


def test_a_retry_with_its_key_gets_the_stored_answer(door, ana):
    body = {"sql": "SELECT COUNT(*) FROM patient WHERE age = 41", "epsilon": 0.2}
    key = {"Idempotency-Key": "retry-1"}
    first, second = (ana.post("/api/query", json=body, headers=key).json() for _ in range(2))
    assert first["cost"]["epsilon"] == "1/5"
    assert second["cost"]["epsilon"] == "0"
    assert (first["rows"], first["receipt"]) == (second["rows"], second["receipt"])
    other = {"sql": "SELECT COUNT(*) FROM patient WHERE age = 42", "epsilon": 0.2}
    before = web.spent(door)
    assert "idempotency key" in refused(ana.post("/api/query", json=other, headers=key), 400)["message"]
    refused(ana.post("/api/query", json=other, headers={"Idempotency-Key": "x" * 300}), 400)
    assert web.spent(door) == before


def test_csv_arrow_and_parquet(ana):
    body = {"sql": "SELECT area, COUNT(*) AS n, AVG(salary) AS pay, MIN(admitted) AS d FROM patient GROUP BY area"}
    document = ana.post("/api/query", json=body).json()
    replies = {kind: ana.post("/api/query", json=body, headers={"Accept": kind}) for kind in ANSWERS}
    for kind, response in replies.items():
        assert response.status_code == 200
        assert response.headers["content-type"].partition(";")[0] == kind
        if kind != "application/json":
            assert response.headers["sfumato-receipt"] == document["receipt"]
            assert json.loads(response.headers["sfumato-cost"])["epsilon"] == "0"
            assert json.loads(response.headers["sfumato-notes"]) == document["notes"]
    rows = list(csv.reader(io.StringIO(replies["text/csv"].text)))
    assert rows[0] == ["area", "n", "n_low", "n_high", "pay", "pay_low", "pay_high", "d", "d_low", "d_high"]
    wanted = [["" if value is None else str(value) for value in row] for row in document["rows"]]
    assert [[row[0], row[1], row[4], row[7]] for row in rows[1:]] == wanted
    stream = pa.ipc.open_stream(replies["application/vnd.apache.arrow.stream"].content).read_all()
    file = pq.read_table(io.BytesIO(replies["application/vnd.apache.parquet"].content))
    for table in (stream, file):
        assert table.column_names == document["columns"]
        assert [str(v) for v in table["n"].to_pylist()] == [row[1] for row in wanted]
        about = json.loads(table.schema.metadata[b"sfumato"])
        assert about["intervals"] == document["intervals"]
        assert "rows" not in about


@pytest.mark.parametrize(
    ("accept", "kind"),
    [("*/*", "application/json"), ("text/*", "text/csv"), ("text/csv;q=0.5, application/json;q=0.4", "text/csv"),
     ("text/csv;q=0.1, */*;q=0.5", "application/json"), ("image/png, */*;q=0.1", "application/json"),
     ("application/json;q=0, */*", "text/csv")],
)  # fmt: skip
def test_the_kind_that_is_liked_best(ana, accept, kind):
    response = ana.post("/api/query", json={"sql": COUNT}, headers={"Accept": accept})
    assert response.headers["content-type"].partition(";")[0] == kind


def test_what_cannot_be_written_is_said_before_it_is_paid(door, ana, monkeypatch):
    body = {"sql": "SELECT COUNT(*) FROM patient WHERE age = 43"}
    before = web.spent(door)
    refused(ana.post("/api/query", json=body, headers={"Accept": "image/png"}), 406)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setattr("sfumato.server.http.response_bodies.find_spec", lambda name: None)
    for kind in ANSWERS[2:]:
        error = refused(ana.post("/api/query", json=body, headers={"Accept": kind}), 400)
        assert "sfumato[arrow]" in error["hint"]
    assert web.spent(door) == before


def test_pages_that_are_not_there(ana):
    refused(ana.get("/nothing"), 404)
    refused(ana.get("/api/query/"), 404)
    assert refused(ana.get("/api/query"), 405)["hint"] == "Use POST."
    assert ana.get("/api/query").headers["allow"] == "POST"
    refused(ana.post("/api/query", content="sql=1", headers={"Content-Type": "text/plain"}), 415)
    refused(ana.post("/api/query", json={"sql": "x" * 2**20}), 413)


def test_the_schema_is_what_was_declared_and_nothing_else(door, ana):
    response = ana.get("/api/schema")
    tables = {table["name"]: table for table in response.json()["tables"]}
    age = next(column for column in tables["patient"]["columns"] if column["name"] == "age")
    assert (age["type"], age["min"], age["max"]) == ("integer", 0, 120)
    assert tables["patient"]["unit"] == "ssn"
    assert tables["region"]["public"] is True
    for word in (str(door.state), "parquet", ".csv", "ledger", "duckdb"):
        assert word not in response.text


def test_the_ledger_page_by_page(door):
    with door.client("auditor") as client:
        every = [entry.seq for entry in door.gate.ledger.entries()]
        assert len(every) > 5
        found, after = [], 0
        while after is not None:
            page = client.get("/api/ledger", params={"after": after, "limit": 3}).json()
            found, after = found + [entry["seq"] for entry in page["entries"]], page["next"]
        assert found == every
        lines = client.get("/api/ledger?limit=1000", headers={"Accept": "application/x-ndjson"})
        assert [json.loads(line)["seq"] for line in lines.text.splitlines()] == every
        for wrong in (
            "limit=0",
            "limit=1001",
            "after=-1",
            "after=x",
            "limit=²",
            "limt=3",
            "limit=1&limit=2",
            "after=" + "9" * 30,
        ):
            refused(client.get(f"/api/ledger?{wrong}"), 400)
        report = client.get("/api/ledger/verify").json()
        assert report["entries"] == len(every)


def test_metrics_have_counts_and_budgets_and_no_time(door):
    with door.client("owner") as client:
        text = client.get("/metrics").text
    spent = float(web.spent(door))
    assert f'sfumato_budget_spent{{analyst="ana",currency="epsilon"}} {spent!r}' in text
    assert 'sfumato_http_requests_total{page="/metrics"}' in text
    assert "58000" not in text
    assert not any(word in text for word in ("second", "duration", "latency", "bytes"))
    for line in text.splitlines():
        assert line.startswith("# TYPE ") or float(line.rpartition(" ")[2]) >= 0


def test_health_tells_a_dead_ledger_and_nothing_else(written, tmp_path):
    policy = pg.make_clinic(tmp_path / "c", written)
    with web.serving(policy) as served, served.client("ana") as client, served.client() as stranger:
        assert stranger.get("/healthz").json() == {"status": "live"}
        served.gate.ledger.close()
        response = stranger.get("/healthz")
        assert response.status_code == 503
        assert str(tmp_path) not in response.text
        refused(client.post("/api/query", json={"sql": COUNT}), 503, "58030")
        refused(client.get("/api/budget"), 503, "58030")


def test_a_failing_engine_is_one_sentence_and_not_counted(written, tmp_path, monkeypatch):
    policy = pg.make_clinic(tmp_path / "c", written)
    with web.serving(policy) as served, served.client("ana") as client, served.client("owner") as owner:
        monkeypatch.setattr(served.gate._engine, "run", lambda *_: 1 / 0)
        error = refused(client.post("/api/query", json={"sql": COUNT}), 503, "58000")
        assert "zero" not in json.dumps(error)
        assert "58000" not in owner.get("/metrics").text
        assert web.spent(served) > 0


def test_what_nobody_expected_is_masked(door, ana, monkeypatch, caplog):
    def broken(*_, **__):
        raise RuntimeError("4001 people")

    monkeypatch.setattr(door.gate, "preview", broken)
    error = refused(ana.post("/api/explain", json={"sql": COUNT}), 500, "XX000")
    assert "4001" not in json.dumps(error)
