"""Response bodies: JSON, CSV, an Arrow stream or Parquet, as the request's Accept header prefers.

Comes in: an Answer or a document. Goes out: bytes with their type. What cannot be written is said before anything is
paid. Where there is no place for cost, remainder and receipt in the body, they stand in headers.
"""

from __future__ import annotations

import io
import json
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from sfumato.errors import InputError
from sfumato.gateway import Answer, all_notes
from sfumato.server.answer_tables import write_csv
from sfumato.server.http.error_responses import turned

JSON, LINES = "application/json", "application/x-ndjson"
CSV = "text/csv"
ARROW, PARQUET = "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet"
ANSWERS = (JSON, CSV, ARROW, PARQUET)
_STEP = 1 << 18
"""Bytes that are handed to the socket at once."""
_LONGEST = 8000
"""Characters of notes that still go into a header."""


def wanted(request: Request, offered: tuple[str, ...] = (JSON,)) -> str:
    """The kind that the request likes best; the first one that is offered, if it does not say."""
    given = request.headers.get("accept", "*/*")
    liked = [_preference(part) for part in given.split(",") if part.strip()]
    best = max(offered, key=lambda kind: (_quality(kind, liked), -offered.index(kind)))
    if _quality(best, liked) <= 0:
        raise turned(406, "none of the accepted types is available", hint=f"There are {', '.join(offered)}.")
    if best in (ARROW, PARQUET) and find_spec("pyarrow") is None:
        raise InputError("pyarrow is not installed", hint="pip install 'sfumato[arrow]' where the gateway runs.")
    return best


def _preference(part: str) -> tuple[str, float]:
    """A type or a range of them, and how much it is liked."""
    name, *rest = (word.strip().lower() for word in part.split(";"))
    for word in rest:
        key, _, value = word.partition("=")
        if key.strip() == "q":
            try:
                return name, min(1.0, max(0.0, float(value)))
            except ValueError:
                return name, 0.0
    return name, 1.0


def _quality(kind: str, liked: list[tuple[str, float]]) -> float:
    """By the narrowest range that holds it (RFC 9110, 12.5.1)."""
    ranges = dict(liked)
    for name in (kind, f"{kind.partition('/')[0]}/*", "*/*"):
        if name in ranges:
            return ranges[name]
    return 0.0


def to_json(document: Any) -> bytes:
    """In ASCII, as all doors write it."""
    return json.dumps(document, separators=(",", ":")).encode("ascii")


class Bulk(Response):
    """A response that is sent as fast as its client reads: until then, it is here that its bytes are held."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002  the signature of ASGI
        """Send it, part by part."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        for at in range(0, len(self.body) - _STEP, _STEP):
            part = bytes(self.body[at : at + _STEP])
            await send({"type": "http.response.body", "body": part, "more_body": True})
        last = max(0, (len(self.body) - 1) // _STEP * _STEP)
        await send({"type": "http.response.body", "body": bytes(self.body[last:])})


def reply(document: Any) -> Response:
    """A document."""
    return Bulk(to_json(document), media_type=JSON)


def write(answer: Answer, kind: str) -> Response:
    """An answer in the wanted kind."""
    if kind == JSON:
        return reply(answer.to_dict())
    if kind == CSV:
        out = io.StringIO()
        write_csv(answer, out)
        return Bulk(out.getvalue(), headers=_beside(answer), media_type=CSV)
    document = answer.to_dict()
    about = {"sfumato": to_json({name: value for name, value in document.items() if name != "rows"})}
    table = answer.to_arrow(exact=True)
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), **about})
    sink = io.BytesIO()
    if kind == PARQUET:
        import_module("pyarrow.parquet").write_table(table, sink)
    else:
        with import_module("pyarrow.ipc").new_stream(sink, table.schema) as stream:
            stream.write_table(table)
    return Bulk(sink.getvalue(), headers=_beside(answer), media_type=kind)


def _beside(answer: Answer) -> dict[str, str]:
    """What a table has no place for."""
    headers = {
        "Sfumato-Cost": json.dumps(answer.cost.to_dict()),
        "Sfumato-Remaining": json.dumps(answer.remaining.to_dict()),
    }
    if answer.receipt is not None:
        headers["Sfumato-Receipt"] = answer.receipt
    notes = json.dumps([list(note) for note in all_notes(answer, answer.worth())])
    return headers | ({"Sfumato-Notes": notes} if len(notes) <= _LONGEST else {})
