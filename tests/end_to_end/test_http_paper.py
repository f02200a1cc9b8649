"""/openapi.json is true: schemathesis makes requests from it, good and bad, and holds the replies against it."""

import json

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis.config import ChecksConfig, PositiveDataAcceptanceConfig, ProjectConfig, ProjectsConfig
from schemathesis.config import SchemathesisConfig as Config
from tests.end_to_end import pg, web

from sfumato.server.http.openapi import paper
from sfumato.server.http.routes import ROUTES

FREE = {"/login", "/api/class", "/healthz", "/openapi.json"}


@pytest.fixture(scope="module")
def door(written, tmp_path_factory):
    policy = pg.make_clinic(tmp_path_factory.mktemp("web"), written, *pg.RICH)
    with web.serving(policy, limits=web.HttpLimits(failures=10**6)) as served:
        yield served


def operations(door):
    """Every page, with what a schema cannot say: which SQL is answered, and which amounts a policy allows."""
    refused = ["2xx", "400", "401", "402", "403", "422"]
    checks = ChecksConfig(positive_data_acceptance=PositiveDataAcceptanceConfig(expected_statuses=refused))
    config = Config(projects=ProjectsConfig(default=ProjectConfig(checks=checks)))
    schema = schemathesis.openapi.from_url(f"{door.url}/openapi.json", config=config)
    return [found.ok() for found in schema.get_all_operations()]


def probe(door, examples):
    found = operations(door)
    assert {operation.path for operation in found} == {entry.path for entry in ROUTES} - {"/openapi.json"}
    for operation in found:
        if operation.path == "/logout":  # by cookie: tests of people go there
            continue
        name = "auditor" if "ledger" in operation.path else "owner"
        headers = {} if operation.path in FREE else {"Authorization": f"Bearer {door.tokens[name]}"}

        modes = [schemathesis.GenerationMode.POSITIVE]
        if operation.body or operation.query:
            modes.append(schemathesis.GenerationMode.NEGATIVE)
        for mode in modes:
            hold(operation.as_strategy(generation_mode=mode), headers, examples)


def hold(cases, headers, examples):
    @seed(20240501)
    @settings(max_examples=examples, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(case=cases)
    def check(case):
        spoilt = [where for where, part in case.meta.components.items() if part.mode.is_negative]
        shown = {} if any(where.value == "header" for where in spoilt) else headers  # it may be the token's
        case.call_and_validate(headers=shown)

    check()


def test_schemathesis_finds_nothing(door):
    probe(door, 12)


@pytest.mark.slow
def test_schemathesis_finds_nothing_for_long(door):
    probe(door, 400)


def test_the_paper_names_every_page_its_roles_and_its_errors(door):
    with door.client() as client:
        document = client.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    for entry in ROUTES:
        said = document["paths"][entry.path][entry.method.lower()]
        assert bool(said.get("security")) == bool(entry.roles)
        assert {"401", "403"} <= set(said["responses"]) or not entry.roles
    assert document == json.loads(json.dumps(paper("clinic", ROUTES)))
