"""`sfumato demo --check`: is what the demo shows true, and does every interface give the same answer?

Comes in: the demo's document, and where its doors are. Goes out: nothing, or a ClaimError that names what is not true.
"""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from fractions import Fraction
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen
from xml.etree import ElementTree as ET

from sfumato.errors import ClaimError
from sfumato.server.pgwire.simple_client import SimpleClient

_SAME = ("columns", "types", "rows", "intervals", "receipt")


def check_document(document: dict[str, Any]) -> None:
    """Raise unless the document is whole: answers inside their intervals, the same again for nothing, one refusal."""
    *answers, refused = document["answers"]
    total, left = (Fraction(document["guide"][part]["epsilon"]) for part in ("total", "remaining"))
    given = [entry["answer"] for entry in answers if entry["answer"] is not None]
    facts = {
        "every query is answered": len(given) == len(answers),
        "every number is inside its interval": all(_is_inside(answer) for answer in given),
        "spent and remaining epsilon add up to the budget": total - left
        == sum(Fraction(entry["epsilon"]) for entry in answers[:-1]),
        "repeating a query is free": given[-1]["cost"]["epsilon"] == "0",
        "repeating a query returns the same answer": given[-1]["rows"] == given[0]["rows"],
        "a query about one person is refused, with a hint": bool((refused["refused"] or {}).get("hint")),
        "the picture is an SVG document": _root(document["picture"]) == "{http://www.w3.org/2000/svg}svg",
    }
    for fact, holds in facts.items():
        if not holds:
            raise ClaimError(f"the demo is broken: not true that {fact}")


def _is_inside(answer: dict[str, Any]) -> bool:
    return len(answer["rows"]) == len(answer["intervals"]) and all(
        interval is None or Fraction(interval[0]) <= Fraction(value) <= Fraction(interval[1])
        for row, intervals in zip(answer["rows"], answer["intervals"], strict=True)
        for value, interval in zip(row, intervals, strict=True)
        if value is not None
    )


def _root(picture: str) -> str:
    return ET.parse(picture).getroot().tag  # noqa: S314 - this very process wrote it


def check_doors(document: dict[str, Any]) -> None:
    """Every door gives the answer that Python gave, for nothing: one question, one stored answer."""
    first = document["answers"][0]
    doors = {"the command line": _by_command, "the PostgreSQL interface": _by_wire, "the HTTP interface": _by_http}
    for name, is_same in doors.items():
        if not is_same(document, first):
            raise ClaimError(f"the demo is broken: {name} returns another answer than Python")
    with urlopen(document["console"], timeout=60) as reply:  # noqa: S310  an address that this demo made
        if "sfumato=" not in (reply.headers["Set-Cookie"] or ""):
            raise ClaimError("the demo is broken: the link to the console does not log in")


def _by_command(document: dict[str, Any], first: dict[str, Any]) -> bool:
    from sfumato.cli import app

    heard = io.StringIO()
    words = ["query", first["sql"], "-p", document["policy"], "--analyst", document["user"]]
    with redirect_stdout(heard):
        app([*words, "--epsilon", first["epsilon"], "--json"], standalone_mode=False)
    return _is_same(json.loads(heard.getvalue()), first["answer"])


def _is_same(answer: dict[str, Any], first: dict[str, Any]) -> bool:
    return [answer[name] for name in _SAME] == [first[name] for name in _SAME] and answer["cost"]["epsilon"] == "0"


def _by_wire(document: dict[str, Any], first: dict[str, Any]) -> bool:
    where = urlsplit(document["pg"])
    host, port, data = str(where.hostname), int(where.port or 0), where.path.removeprefix("/")
    with SimpleClient(host, port, document["user"], document["password"], data) as caller:
        before = caller.ask("SHOW sfumato.budget")
        caller.ask(f"SET sfumato.epsilon = '{first['epsilon']}'")
        rows = caller.ask(first["sql"])
        spent = caller.ask("SHOW sfumato.budget") != before
    expected = [tuple(None if value is None else str(value) for value in row) for row in first["answer"]["rows"]]
    return rows == expected and not spent


def _by_http(document: dict[str, Any], first: dict[str, Any]) -> bool:
    asked = json.dumps({"sql": first["sql"], "epsilon": first["epsilon"]}).encode()
    headers = {"Authorization": f"Bearer {document['token']}", "Content-Type": "application/json"}
    request = Request(f"{document['http']}/api/query", asked, headers)  # noqa: S310  an address that this demo made
    with urlopen(request, timeout=60) as reply:  # noqa: S310  the same
        return _is_same(json.load(reply), first["answer"])
