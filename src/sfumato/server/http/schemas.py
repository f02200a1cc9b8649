"""Request and response documents of each page as JSON Schema: the tables that /openapi.json is made of."""

from __future__ import annotations

from typing import Any

from sfumato.gateway import AUTO, NOISES
from sfumato.learn import EXERCISES
from sfumato.server.http.playground import CHOICES, PAGES, WORDS
from sfumato.server.http.request_bodies import WRITTEN
from sfumato.server.http.response_bodies import ARROW, CSV, JSON, LINES, PARQUET
from sfumato.server.users import ROLES
from sfumato.types import Adjacency

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
_MAYBE: Schema = {"type": ["string", "null"]}


def _object(required: dict[str, Schema], optional: dict[str, Schema] | None = None, *, closed: bool = True) -> Schema:
    names = {**required, **(optional or {})}
    document: Schema = {"type": "object", "properties": names, "required": list(required)}
    return document | ({"additionalProperties": False} if closed else {})


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def of(name: str) -> Schema:
    """A schema by its name."""
    return {"$ref": f"#/components/schemas/{name}"}


def _amount(about: str, **limits: Any) -> Schema:
    """A number as it is written: 0.1 is 1/10, as a number or as text."""
    written = {"type": "string", "pattern": f"^({WRITTEN.pattern})$"}
    return {"description": about, "anyOf": [{"type": "number", **limits}, written, {"type": "null"}]}


_VALUE: Schema = {"type": ["string", "integer", "boolean", "null"]}
_NOTE: Schema = {"type": "array", "prefixItems": [_MAYBE, TEXT], "minItems": 2, "maxItems": 2}
_EXPECTED = _list(_object({"rows": WHOLE, "half_width": TEXT}))
_COLUMN = {"name": TEXT, "law": TEXT, "scale": _MAYBE, "half_width": _MAYBE, "expected": _EXPECTED, "note": TEXT}
_STANDING = {
    "analyst": _MAYBE,
    "total": of("Amounts"),
    "spent": of("Amounts"),
    "remaining": of("Amounts"),
    "queries": WHOLE,
    "query_epsilon": TEXT,
}
_CHAIN = {"seq": WHOLE, "time": TEXT, "kind": TEXT, "analyst": _MAYBE, "body": {"type": "object"}}

_TRUTH: Schema = {"type": "boolean"}
_TYPED: Schema = {"type": ["string", "boolean", "array", "null"], "items": TEXT}
_NUMBER: Schema = {"type": ["integer", "null"]}
_ERROR = {"sqlstate": TEXT, "message": TEXT, "detail": _MAYBE, "hint": _MAYBE, "position": _NUMBER}
_ROLE: Schema = {"enum": list(ROLES)}
_POINT = {"seq": WHOLE, "time": TEXT, "analyst": TEXT, "own": of("Amounts"), "everybody": of("Amounts")}
_USER = {"name": TEXT, "role": _ROLE, "share": _MAYBE}
_TOKEN = {"id": TEXT, "user": TEXT, "kind": TEXT, "role": _MAYBE, "ends": TEXT}
_BOUGHT = {
    "seq": WHOLE,
    **dict.fromkeys(("time", "sql", "epsilon", "version", "receipt"), TEXT),
    "cost": of("Amounts"),
    "end": {"enum": ["answer", "failed", "open"]},
}
_MADE = {
    **dict.fromkeys(("name", "when", "table"), TEXT),
    "quasi": _list(TEXT),
    "sensitive": _MAYBE,
    "k": WHOLE,
    "rows": WHOLE,
}
_RELEASE: tuple[dict[str, Schema], dict[str, Schema]] = (
    {"table": TEXT, "quasi": _list(TEXT)},
    dict.fromkeys(("sensitive", "l", "t", "suppress", "hierarchies"), _MAYBE)
    | {"keep": _list(TEXT), "diversity": {"enum": ["distinct", "entropy", "recursive", None]}}
    | {"method": {"enum": ["lattice", "mondrian", None]}},
)
_TASK = {"task": TEXT, "mechanism": TEXT, "reports": WHOLE, "waiting": WHOLE}
_ENDS: dict[str, Schema] = {name: {"type": "number"} for name in ("estimate", "low", "high")}
_NUMBERS = _list({"type": "number"})
_LAW = {
    **dict.fromkeys(("what", "svg"), TEXT),
    "several": _TRUTH,
    **dict.fromkeys(("assumed", "moves", "epsilon", "at_most"), _MAYBE),
    "outputs": _list(TEXT),
    **dict.fromkeys(("bob_out", "bob_in", "belief"), _NUMBERS),
}
_KEYS = _object({"groups_per_unit": WHOLE, "size": WHOLE, "unit": {"enum": ["count", "people"]}})
_LESS: dict[str, Schema] = {
    "rows_per_unit": WHOLE,
    "half_widths": _list(_MAYBE),
    "lost": _MAYBE,
    "keys": {"anyOf": [_KEYS, {"type": "null"}]},
}
_QUESTION: tuple[dict[str, Schema], dict[str, Schema]] = (
    {"sql": {"type": "string", "description": "The query, in PostgreSQL's dialect."}},
    {
        "epsilon": _amount("Epsilon to spend; default: query_epsilon of the policy.", exclusiveMinimum=0),
        "within": _amount("Spend as much epsilon as makes every number ± this.", exclusiveMinimum=0),
        "confidence": _amount("Confidence of the intervals (default 0.95).", exclusiveMinimum=0, exclusiveMaximum=1),
        "rows_per_unit": {
            "anyOf": [{"type": ["integer", "null"], "minimum": 1}, {"const": AUTO}],
            "description": 'A lower contribution bound; "auto" estimates one for a fifth of epsilon.',
        },
        "noise": {"enum": [*NOISES, None]},
    },
)

SCHEMAS: dict[str, Schema] = {
    "Question": _object(*_QUESTION),
    "Amounts": _object({"epsilon": _MAYBE, "rho": _MAYBE, "delta": _MAYBE}, {"queries": WHOLE}),
    "Answer": _object(
        {
            "columns": _list(TEXT),
            "types": _list(TEXT),
            "rows": _list(_list(_VALUE)),
            "intervals": _list(_list({"anyOf": [_list(_VALUE), {"type": "null"}]})),
            "unknown": _list(_list(WHOLE)),
            "confidence": TEXT,
            "cost": of("Amounts"),
            "remaining": of("Amounts"),
            "notes": _list(_NOTE),
            "receipt": _MAYBE,
        }
    ),
    "Preview": _object(
        {
            "refused": {"anyOf": [of("Error"), {"type": "null"}]},
            **{name: {"anyOf": [of("Amounts"), {"type": "null"}]} for name in ("cost", "before", "after")},
            "columns": _list(_object(_COLUMN)),
            "rows_per_unit": _list(_object(_LESS)),
            "bounds": _list(_object({"table": TEXT, "column": _MAYBE})),
            "confidence": TEXT,
            "notes": _list(_NOTE),
        }
    ),
    "Error": _object(_ERROR),
    "Standing": _object(_STANDING),
    "Budget": _object(_STANDING, {"analysts": _list(of("Standing"))}),
    "Schema": _object(
        {"data": TEXT, "version": TEXT, "privacy": {"type": "object"}, "tables": _list({"type": "object"})}
    ),
    "Entry": _object(_CHAIN | {"previous": TEXT, "hash": TEXT}),
    "Ledger": _object({"entries": _list(of("Entry")), "next": {"type": ["integer", "null"]}}),
    "Report": _object(
        dict.fromkeys(("entries", "debits", "answers", "failures", "seq"), WHOLE)
        | {"hash": TEXT, "spent": of("Amounts")}
    ),
    "History": _object({"questions": _list(_object(_BOUGHT)), "next": {"type": ["integer", "null"]}}),
    "ColumnQuestion": _object(
        _QUESTION[0], _QUESTION[1] | {"column": {"type": "integer", "minimum": 0, "description": "Which, from 0 on."}}
    ),
    "Law": _object(
        {"column": TEXT, "law": TEXT, "why": _MAYBE, "epsilon": _MAYBE, "at_most": _MAYBE}
        | {"pictures": _list(_object(_LAW))}
    ),
    "Odds": _object({"epsilon": TEXT, "before": TEXT, "at_most": TEXT, "words": TEXT}),
    "Spending": _object(
        {"frozen": _TRUTH, "debits": WHOLE, "entries": WHOLE, "head": TEXT, "total": of("Amounts"), "partition": _TRUTH}
        | {"points": _list(_object(_POINT))}
    ),
    "RedTeam": _object(
        {
            "command": TEXT,
            "report": {"type": ["object", "null"]},
            "pictures": {"type": "object", "additionalProperties": _list(TEXT)},
        }
    ),
    "Freeze": _object({"frozen": _TRUTH}),
    "People": _object({"users": _list(_object(_USER)), "tokens": _list(_object(_TOKEN))}),
    "Person": _object({"name": TEXT, "role": _ROLE}, {"password": _MAYBE}),
    "Named": _object({"name": TEXT}),
    "TokenWanted": _object({"name": TEXT}, {"days": {"type": "integer", "minimum": 1}}),
    "TokenMade": _object(dict.fromkeys(("id", "user", "ends", "token"), TEXT)),
    "TokenNamed": _object({"name": TEXT, "id": TEXT}),
    "TokenEnded": _object({"id": TEXT}),
    "Policy": _object(dict.fromkeys(("name", "text", "mark"), TEXT)),
    "PolicyText": _object({"text": TEXT}),
    "PolicyChange": _object({"text": TEXT, "mark": TEXT}, {"confirm": _list(TEXT)}),
    "PolicyEdit": _object(
        {"text": TEXT, "path": _list(TEXT), "value": {"type": ["string", "boolean", "array", "null"]}}
    ),
    "PolicyNew": _object({"name": TEXT, "text": TEXT}),
    "PolicyWritten": _object({"name": TEXT, "mark": TEXT}),
    "Weakening": _object({"what": TEXT, "words": TEXT}),
    "PolicyJudged": _object(
        {"problems": _list(of("Mistake")), "diff": _list(TEXT), "mark": TEXT}
        | {"weaker": _list(of("Weakening")), "also": _list(of("Weakening"))}
        | {"form": {"anyOf": [_list(of("FormGroup")), {"type": "null"}]}}
    ),
    "FormGroup": _object({"path": _list(TEXT), "fields": _list(of("FormField"))}),
    "FormField": _object(
        {"key": TEXT, "kind": {"enum": ["number", "bound", "text", "choice", "flag", "list"]}, "about": TEXT}
        | {"options": _list(TEXT), "value": _TYPED, "default": _MAYBE}
    ),
    "Mistake": _object(_ERROR | {"line": _NUMBER}),
    "Nothing": _object({}),
    "Reloaded": _object({"servers": WHOLE, "warnings": _list(TEXT)}),
    "Sources": _object({"files": _list(TEXT), "served": _list(TEXT), "most": WHOLE}),
    "Uploaded": _object({"name": TEXT, "bytes": WHOLE}),
    "DraftWanted": _object({"files": _list(TEXT)}, {"unit": _MAYBE}),
    "Draft": _object(
        {"text": _MAYBE, "problems": _list(of("Mistake"))},
        {"likely": _list(TEXT), "tables": {"type": "object", "additionalProperties": _list(TEXT)}},
    ),
    "Play": _object(
        {
            "page": TEXT,
            "numbers": {"type": "object", "additionalProperties": TEXT},
            "limits": {"type": "object", "additionalProperties": _list(TEXT)},
            "chosen": {"type": "object", "additionalProperties": TEXT},
            "choices": {"type": "object", "additionalProperties": _list(TEXT)},
            "svg": TEXT,
            "rows": _list(_list(TEXT)),
            "code": TEXT,
        }
    ),
    "Exercises": _object({"exercises": _list(_object({"name": TEXT, "question": TEXT}))}),
    "ExerciseAnswer": _object({"name": {"enum": list(EXERCISES)}}, {"answer": _MAYBE}),
    "ExerciseChecked": _object(
        {"name": TEXT, "right": {"type": ["boolean", "null"]}, "answer": _MAYBE, "shown_by": _MAYBE}
    ),
    "Reports": _object(
        {"reports": {"minItems": 1, "maxItems": 10_000, **_list(_object({"id": TEXT, "report": TEXT}))}}
    ),
    "Collected": _object({"accepted": WHOLE, "repeated": WHOLE}),
    "Tasks": _object({"tasks": _list(_object(_TASK))}),
    "SurveyEstimate": _object(
        _TASK
        | {"question": _MAYBE, "epsilon": {"type": "number"}, "minimum_batch": WHOLE, "population": TEXT}
        | {"candidates": _MAYBE}
        | {"estimates": _list(_object({"value": TEXT, **_ENDS}, {"p_value": {"type": "number"}}))}
    ),
    "Releases": _object(
        {
            "tables": _list(
                _object(
                    {"name": TEXT, "columns": _list(_object({"name": TEXT, "type": TEXT, "unit": _TRUTH}))}
                    | {"hierarchies": TEXT, "one_row": _TRUTH}
                )
            ),
            "made": _list(_object(_MADE)),
        }
    ),
    "ReleaseWanted": _object(*_RELEASE),
    "ReleaseChosen": _object(_RELEASE[0] | {"k": {"type": "integer", "minimum": 1}}, _RELEASE[1]),
    "ReleasesCompared": _object({"releases": _list({"type": "object"}), "picture": _MAYBE}),
    "ReleaseMade": _object(
        {"made": _object(_MADE), "release": {"type": "object"}, "check": {"type": ["object", "null"]}}
    ),
    "Me": _object({"name": TEXT, "role": TEXT, "ends": TEXT}, {"csrf": TEXT, "data": TEXT}),
    "Login": _object({"name": TEXT, "password": TEXT}),
    "ClassKey": _object({"key": TEXT}),
    "Seat": _object({"name": TEXT, "role": TEXT, "ends": TEXT, "csrf": TEXT, "data": TEXT, "password": TEXT}),
    "Health": _object({"status": TEXT}),
}

BYTES: Schema = {"type": "string", "contentMediaType": "application/octet-stream"}
BODY = {
    "/api/query": "Question",
    "/api/explain": "Question",
    "/api/law": "ColumnQuestion",
    "/api/freeze": "Freeze",
    "/api/people/add": "Person",
    "/api/people/remove": "Named",
    "/api/people/token": "TokenWanted",
    "/api/people/revoke": "TokenNamed",
    "/api/policy/check": "PolicyText",
    "/api/policy/edit": "PolicyEdit",
    "/api/policy/apply": "PolicyChange",
    "/api/policy/reload": "Nothing",
    "/api/policy/draft": "DraftWanted",
    "/api/policy/write": "PolicyNew",
    "/api/learn/answer": "ExerciseAnswer",
    "/api/release/compare": "ReleaseWanted",
    "/api/release/make": "ReleaseChosen",
    "/login": "Login",
    "/api/class": "ClassKey",
    "/api/collect/{task}": "Reports",
}
"""What is sent, by path."""
SENDS_BYTES = ("/api/policy/upload",)
"""What is sent as it is, and is no document."""
GIVES: dict[str, dict[str, Schema]] = {
    "/api/query": {JSON: of("Answer"), CSV: TEXT, ARROW: BYTES, PARQUET: BYTES},
    "/api/explain": {JSON: of("Preview")},
    "/api/budget": {JSON: of("Budget")},
    "/api/schema": {JSON: of("Schema")},
    "/api/ledger": {JSON: of("Ledger"), LINES: TEXT},
    "/api/ledger/verify": {JSON: of("Report")},
    "/api/history": {JSON: of("History")},
    "/api/law": {JSON: of("Law")},
    "/api/odds": {JSON: of("Odds")},
    "/api/spending": {JSON: of("Spending")},
    "/api/redteam": {JSON: of("RedTeam")},
    "/api/freeze": {JSON: of("Freeze")},
    "/api/people": {JSON: of("People")},
    "/api/people/add": {JSON: of("Person")},
    "/api/people/remove": {JSON: of("Named")},
    "/api/people/token": {JSON: of("TokenMade")},
    "/api/people/revoke": {JSON: of("TokenEnded")},
    "/api/policy": {JSON: of("Policy")},
    "/api/policy/check": {JSON: of("PolicyJudged")},
    "/api/policy/edit": {JSON: of("PolicyText")},
    "/api/policy/apply": {JSON: of("PolicyWritten")},
    "/api/policy/reload": {JSON: of("Reloaded")},
    "/api/policy/sources": {JSON: of("Sources")},
    "/api/policy/upload": {JSON: of("Uploaded")},
    "/api/policy/draft": {JSON: of("Draft")},
    "/api/policy/write": {JSON: of("PolicyWritten")},
    "/api/release": {JSON: of("Releases")},
    "/api/release/compare": {JSON: of("ReleasesCompared")},
    "/api/release/make": {JSON: of("ReleaseMade")},
    "/api/release/file": {CSV: TEXT},
    "/api/play": {JSON: of("Play")},
    "/api/learn": {JSON: of("Exercises")},
    "/api/learn/answer": {JSON: of("ExerciseChecked")},
    "/api/collect": {JSON: of("Tasks")},
    "/api/collect/{task}": {JSON: of("Collected")},
    "/api/collect/{task}/task": {"application/toml": TEXT},
    "/api/collect/{task}/estimate": {JSON: of("SurveyEstimate")},
    "/api/me": {JSON: of("Me")},
    "/metrics": {"text/plain": TEXT},
    "/login": {JSON: of("Me")},
    "/api/class": {JSON: of("Seat")},
    "/healthz": {JSON: of("Health")},
    "/openapi.json": {JSON: {"type": "object"}},
}
_NAMED = ("task", "path", {"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,63}$"}, "The task's name.")
PARAMETERS: dict[str, list[tuple[str, str, Schema, str]]] = {
    "/api/collect/{task}": [_NAMED],
    "/api/collect/{task}/task": [_NAMED],
    "/api/collect/{task}/estimate": [
        _NAMED,
        ("population", "query", {"enum": ["fixed", "sampled"]}, "Which population the intervals are about."),
    ],
    "/api/policy/upload": [("name", "query", TEXT, "What the file is called; it ends in .csv, .tsv or .parquet.")],
    "/api/release/file": [("name", "query", TEXT, "Which release.")],
    "/api/query": [
        ("Idempotency-Key", "header", {"type": "string", "minLength": 1, "maxLength": 255}, "Makes a retry safe."),
    ],
    "/api/budget": [
        (
            "analyst",
            "query",
            {"type": "string", "minLength": 1},
            "Whose budget; owners and auditors can see all budgets.",
        )
    ],
    "/api/history": [
        ("before", "query", {"type": "integer", "minimum": 1, "maximum": 10**18 - 1}, "Entries before this number."),
        ("limit", "query", {"type": "integer", "minimum": 1, "maximum": 1000}, "At most this many of them."),
    ],
    "/api/play": [
        ("page", "query", {"enum": list(PAGES)}, "Which."),
        *(
            (word, "query", {"type": "string", "pattern": f"^({WRITTEN.pattern})$"}, "As it is written.")
            for word in WORDS
        ),
        *((word, "query", {"enum": list(words)}, "One of these.") for word, words in CHOICES.items()),
    ],
    "/api/odds": [
        ("epsilon", "query", {"type": "string", "pattern": f"^({WRITTEN.pattern})$"}, "As it is written."),
        ("adjacency", "query", {"enum": [word.value for word in Adjacency]}, "Default: the policy's."),
    ],
    "/api/ledger": [
        ("after", "query", {"type": "integer", "minimum": 0, "maximum": 10**18 - 1}, "Entries after this number."),
        ("limit", "query", {"type": "integer", "minimum": 1, "maximum": 1000}, "At most this many of them."),
    ],
}
