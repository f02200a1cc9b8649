"""/openapi.json: what this door is, in OpenAPI 3.1, from the table of its pages.

Comes in: the table. Goes out: one document. It is true: tests let schemathesis make requests from it and compare.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from sfumato.doors.http.reading import NOISES, WRITTEN
from sfumato.doors.http.writing import ANSWERS, ARROW, CSV, JSON, LINES, PARQUET

if TYPE_CHECKING:
    from sfumato.doors.http.entry import Entry

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
_WHOLE: Schema = {"type": "integer"}
_MAYBE: Schema = {"type": ["string", "null"]}


def _object(required: dict[str, Schema], optional: dict[str, Schema] | None = None, *, closed: bool = True) -> Schema:
    names = {**required, **(optional or {})}
    document: Schema = {"type": "object", "properties": names, "required": list(required)}
    return document | ({"additionalProperties": False} if closed else {})


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def _of(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _amount(about: str, **limits: Any) -> Schema:
    """A number as it is written: 0.1 is 1/10, as a number or as text."""
    written = {"type": "string", "pattern": f"^({WRITTEN.pattern})$"}
    return {"description": about, "anyOf": [{"type": "number", **limits}, written, {"type": "null"}]}


_VALUE: Schema = {"type": ["string", "integer", "boolean", "null"]}
_NOTE: Schema = {"type": "array", "prefixItems": [_MAYBE, TEXT], "minItems": 2, "maxItems": 2}
_COLUMN = {"name": TEXT, "law": TEXT, "scale": _MAYBE, "half_width": _MAYBE, "note": TEXT}
_STANDING = {
    "analyst": _MAYBE,
    "total": _of("Amounts"),
    "spent": _of("Amounts"),
    "remaining": _of("Amounts"),
    "queries": _WHOLE,
}
_CHAIN = {"seq": _WHOLE, "time": TEXT, "kind": TEXT, "analyst": _MAYBE, "body": {"type": "object"}}

_BOUGHT = {
    "seq": _WHOLE,
    **dict.fromkeys(("time", "sql", "epsilon", "version", "receipt"), TEXT),
    "cost": _of("Amounts"),
    "end": {"enum": ["answer", "failed", "open"]},
}
_NUMBERS = _list({"type": "number"})
_LAW = {
    **dict.fromkeys(("column", "law", "moves", "svg"), TEXT),
    **dict.fromkeys(("epsilon", "at_most"), _MAYBE),
    "outputs": _list(TEXT),
    **dict.fromkeys(("bob_out", "bob_in", "belief"), _NUMBERS),
}
_QUESTION: tuple[dict[str, Schema], dict[str, Schema]] = (
    {"sql": {"type": "string", "description": "The question, in PostgreSQL's dialect."}},
    {
        "epsilon": _amount("What to spend; the policy says, if nothing is given.", exclusiveMinimum=0),
        "within": _amount("Spend what makes every number ± this, instead of epsilon.", exclusiveMinimum=0),
        "confidence": _amount("How sure the intervals are (0.95).", exclusiveMinimum=0, exclusiveMaximum=1),
        "rows_per_unit": {"type": ["integer", "null"], "minimum": 1, "description": "Let fewer rows count."},
        "noise": {"enum": [*NOISES, None]},
    },
)

SCHEMAS: dict[str, Schema] = {
    "Question": _object(*_QUESTION),
    "Amounts": _object({"epsilon": _MAYBE, "rho": _MAYBE, "delta": _MAYBE}, {"queries": _WHOLE}),
    "Answer": _object(
        {
            "columns": _list(TEXT),
            "types": _list(TEXT),
            "rows": _list(_list(_VALUE)),
            "intervals": _list(_list({"anyOf": [_list(_VALUE), {"type": "null"}]})),
            "confidence": TEXT,
            "cost": _of("Amounts"),
            "remaining": _of("Amounts"),
            "notes": _list(_NOTE),
            "receipt": _MAYBE,
        }
    ),
    "Preview": _object(
        {
            "refused": {"anyOf": [_of("Error"), {"type": "null"}]},
            **{name: {"anyOf": [_of("Amounts"), {"type": "null"}]} for name in ("cost", "before", "after")},
            "columns": _list(_object(_COLUMN)),
            "confidence": TEXT,
            "notes": _list(_NOTE),
        }
    ),
    "Error": _object(
        {"sqlstate": TEXT, "message": TEXT, "detail": _MAYBE, "hint": _MAYBE, "position": {"type": ["integer", "null"]}}
    ),
    "Standing": _object(_STANDING),
    "Budget": _object(_STANDING, {"analysts": _list(_of("Standing"))}),
    "Schema": _object(
        {"data": TEXT, "version": TEXT, "privacy": {"type": "object"}, "tables": _list({"type": "object"})}
    ),
    "Entry": _object(_CHAIN | {"previous": TEXT, "hash": TEXT}),
    "Ledger": _object({"entries": _list(_of("Entry")), "next": {"type": ["integer", "null"]}}),
    "Report": _object(
        dict.fromkeys(("entries", "debits", "answers", "failures", "seq"), _WHOLE)
        | {"hash": TEXT, "spent": _of("Amounts")}
    ),
    "History": _object({"questions": _list(_object(_BOUGHT)), "next": {"type": ["integer", "null"]}}),
    "ColumnQuestion": _object(
        _QUESTION[0], _QUESTION[1] | {"column": {"type": "integer", "minimum": 0, "description": "Which, from 0 on."}}
    ),
    "Law": _object(_LAW),
    "Odds": _object({"epsilon": TEXT, "before": TEXT, "at_most": TEXT}),
    "Me": _object({"name": TEXT, "role": TEXT, "ends": TEXT}, {"csrf": TEXT}),
    "Login": _object({"name": TEXT, "password": TEXT}),
    "Health": _object({"status": TEXT}),
}

_BYTES: Schema = {"type": "string", "contentMediaType": "application/octet-stream"}
_BODY = {"/api/query": "Question", "/api/explain": "Question", "/api/law": "ColumnQuestion", "/login": "Login"}
_GIVES: dict[str, dict[str, Schema]] = {
    "/api/query": {JSON: _of("Answer"), CSV: TEXT, ARROW: _BYTES, PARQUET: _BYTES},
    "/api/explain": {JSON: _of("Preview")},
    "/api/budget": {JSON: _of("Budget")},
    "/api/schema": {JSON: _of("Schema")},
    "/api/ledger": {JSON: _of("Ledger"), LINES: TEXT},
    "/api/ledger/verify": {JSON: _of("Report")},
    "/api/history": {JSON: _of("History")},
    "/api/law": {JSON: _of("Law")},
    "/api/odds": {JSON: _of("Odds")},
    "/api/me": {JSON: _of("Me")},
    "/metrics": {"text/plain": TEXT},
    "/login": {JSON: _of("Me")},
    "/healthz": {JSON: _of("Health")},
    "/openapi.json": {JSON: {"type": "object"}},
}
_PARAMETERS: dict[str, list[tuple[str, str, Schema, str]]] = {
    "/api/query": [
        ("Idempotency-Key", "header", {"type": "string", "minLength": 1, "maxLength": 255}, "Makes a retry safe."),
    ],
    "/api/budget": [
        ("analyst", "query", {"type": "string", "minLength": 1}, "Whose; owners and auditors see everybody's.")
    ],
    "/api/history": [
        ("before", "query", {"type": "integer", "minimum": 1, "maximum": 10**18 - 1}, "Entries before this number."),
        ("limit", "query", {"type": "integer", "minimum": 1, "maximum": 1000}, "At most so many of them."),
    ],
    "/api/odds": [
        ("epsilon", "query", {"type": "string", "pattern": f"^({WRITTEN.pattern})$"}, "As it is written."),
    ],
    "/api/ledger": [
        ("after", "query", {"type": "integer", "minimum": 0, "maximum": 10**18 - 1}, "Entries after this number."),
        ("limit", "query", {"type": "integer", "minimum": 1, "maximum": 1000}, "At most so many of them."),
    ],
}
_SAYS = {
    200: "done", 204: "done", 400: "the request cannot be read", 401: "who asks is not known",
    402: "the budget does not allow it", 403: "not allowed", 406: "none of the accepted types",
    408: "the body was too slow", 413: "the body is too long", 415: "the body is not JSON",
    421: "not a name of this door", 422: "the question is refused", 429: "too much at once",
    500: "the server failed", 503: "engine or ledger out of reach",
}  # fmt: skip


def paper(title: str, entries: Iterable[Entry]) -> Schema:
    """The whole document."""
    paths: dict[str, Schema] = {}
    for entry in entries:
        paths.setdefault(entry.path, {})[entry.method.lower()] = _operation(entry)
    return {
        "openapi": "3.1.0",
        "info": {"title": f"sfumato: {title}", "version": "1", "description": "Noisy answers with exact laws."},
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(entry: Entry) -> Schema:
    statuses = [204 if entry.path == "/logout" else 200, *_refusals(entry)]
    document: Schema = {
        "operationId": entry.path.strip("/").replace("/", "_").replace(".", "_"),
        "summary": entry.about,
        "responses": {str(status): _response(entry, status) for status in statuses},
    }
    if entry.roles:
        document["description"] = f"For {', '.join(entry.roles)}."
        document["security"] = [{"token": []}]
    if entry.path in _PARAMETERS:
        document["parameters"] = [
            {"name": name, "in": where, "schema": schema, "description": about}
            for name, where, schema, about in _PARAMETERS[entry.path]
        ]
    if entry.path in _BODY:
        document["requestBody"] = {"required": True, "content": {JSON: {"schema": _of(_BODY[entry.path])}}}
    return document


def _refusals(entry: Entry) -> list[int]:
    """The statuses that a page may have beside the good one."""
    found = {400, 403, 421, 500}
    if entry.roles:
        found |= {401, 429}
    if entry.path in _BODY:
        found |= {408, 413, 415}
    if entry.path not in ("/healthz", "/openapi.json", "/metrics", "/login", "/logout"):
        found.add(406)
    if entry.path == "/login":
        found |= {401, 429}
    if entry.path in ("/api/query", "/api/law"):
        found |= {402, 422}
    if entry.path not in ("/api/me", "/openapi.json", "/login", "/logout"):
        found.add(503)
    return sorted(found)


def _response(entry: Entry, status: int) -> Schema:
    document: Schema = {"description": _SAYS[status]}
    if status == 204:
        return document
    if status == 200:
        content = _GIVES[entry.path]
        assert entry.path != "/api/query" or tuple(content) == ANSWERS
    elif status == 503 and entry.path == "/healthz":
        content = {JSON: _of("Health")}
    else:
        content = {JSON: _of("Error")}
    if status == 429:
        document["headers"] = {"Retry-After": {"schema": _WHOLE, "description": "Seconds."}}
    return document | {"content": {kind: {"schema": schema} for kind, schema in content.items()}}
