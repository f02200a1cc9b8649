"""/openapi.json: the HTTP interface in OpenAPI 3.1, generated from the table of pages.

Comes in: the table. Goes out: one document. It is true: tests let schemathesis make requests from it and compare.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sfumato.server.http.response_bodies import ANSWERS, JSON
from sfumato.server.http.schemas import BODY, BYTES, GIVES, PARAMETERS, SCHEMAS, SENDS_BYTES, WHOLE, Schema, of

if TYPE_CHECKING:
    from sfumato.server.http.page_entry import Route

_SAYS = {
    200: "done", 204: "done", 400: "the request is malformed", 401: "not authenticated",
    402: "the budget does not allow it", 403: "not allowed", 406: "none of the accepted types",
    408: "the body took too long", 413: "the body is too long", 415: "the body is of another type",
    421: "not a name of this server", 422: "the query is refused", 429: "too many requests",
    500: "the server failed", 503: "engine or ledger unavailable",
}  # fmt: skip


def paper(title: str, entries: Iterable[Route]) -> Schema:
    """The whole document."""
    paths: dict[str, Schema] = {}
    for entry in entries:
        paths.setdefault(entry.path, {})[entry.method.lower()] = _operation(entry)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"sfumato: {title}",
            "version": "1",
            "description": "Noisy answers with exact noise distributions.",
        },
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(entry: Route) -> Schema:
    statuses = [204 if entry.path == "/logout" else 200, *_refusals(entry)]
    document: Schema = {
        "operationId": entry.path.strip("/").replace("/", "_").replace(".", "_").replace("{task}", "task"),
        "summary": entry.about,
        "responses": {str(status): _response(entry, status) for status in statuses},
    }
    if entry.roles:
        document["description"] = f"For {', '.join(entry.roles)}."
        document["security"] = [{"token": []}]
    if entry.path in PARAMETERS:
        document["parameters"] = [
            {"name": name, "in": where, "schema": schema, "description": about, "required": where == "path"}
            for name, where, schema, about in PARAMETERS[entry.path]
        ]
    if entry.path in BODY:
        document["requestBody"] = {"required": True, "content": {JSON: {"schema": of(BODY[entry.path])}}}
    if entry.path in SENDS_BYTES:
        document["requestBody"] = {"required": True, "content": {"application/octet-stream": {"schema": BYTES}}}
    return document


def _refusals(entry: Route) -> list[int]:
    """The statuses that a page may have beside the good one."""
    found = {400, 403, 421, 500}
    if entry.roles:
        found |= {401, 429}
    if entry.path in BODY or entry.path in SENDS_BYTES:
        found |= {408, 413, 415}
    if entry.path not in ("/healthz", "/openapi.json", "/metrics", "/login", "/api/class", "/logout"):
        found.add(406)
    if entry.path in ("/login", "/api/class"):
        found |= {401, 429}
    if "{task}" in entry.path:
        found.add(422)
    if entry.path in ("/api/query", "/api/law"):
        found |= {402, 422}
    if entry.path.startswith("/api/policy/") or entry.path == "/api/redteam":
        found.add(422)
    if entry.path not in ("/api/me", "/openapi.json"):
        found.add(503)
    return sorted(found)


def _response(entry: Route, status: int) -> Schema:
    document: Schema = {"description": _SAYS[status]}
    if status == 204:
        return document
    if status == 200:
        content = GIVES[entry.path]
        assert entry.path != "/api/query" or tuple(content) == ANSWERS
    elif status == 503 and entry.path == "/healthz":
        content = {JSON: of("Health")}
    else:
        content = {JSON: of("Error")}
    if status == 429:
        document["headers"] = {"Retry-After": {"schema": WHOLE, "description": "Seconds."}}
    return document | {"content": {kind: {"schema": schema} for kind, schema in content.items()}}
