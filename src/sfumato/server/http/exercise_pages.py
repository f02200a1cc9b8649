"""The exercises of `sfumato learn` for the console: questions, and whether an answer is right.

Comes in: the name of an exercise and what somebody wrote. Goes out: whether it is right, by the code of the command; or
the answer, for who wants to see it. Nothing of it is about data, and nothing is spent.
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from sfumato.errors import InputError
from sfumato.interrupts import planning
from sfumato.learn import EXERCISES, check
from sfumato.server.http.authentication import AuthenticatedUser
from sfumato.server.http.request_bodies import check_names, read_body, text_of
from sfumato.server.http.response_bodies import reply, wanted
from sfumato.server.http.server_state import HttpServerState

_LONGEST = 100


async def exercises(_: HttpServerState, request: Request, __: AuthenticatedUser) -> Response:
    """All questions."""
    wanted(request)
    return reply({"exercises": [{"name": one.name, "question": one.question} for one in EXERCISES.values()]})


async def answer(office: HttpServerState, request: Request, _: AuthenticatedUser) -> Response:
    """Whether an answer is right; without one, the answer and the command that shows it."""
    wanted(request)
    document = await read_body(office, request)
    check_names(document, ("name", "answer"))
    name = text_of(document, "name")
    given = None if document.get("answer") is None else text_of(document, "answer")
    if name not in EXERCISES:
        raise InputError("there is no exercise with this name")
    if given is not None and len(given) > _LONGEST:
        raise InputError("this is not a number", hint="Write 0.25, 1/4, 25 % or ln 3.")

    def work(_: Any) -> dict[str, Any]:
        with planning():
            return checked(name, given)

    return reply(await office.look(work))


def checked(name: str, given: str | None) -> dict[str, Any]:
    """What somebody hears: the answer itself only if it was right, or asked for."""
    one = EXERCISES[name]
    right = None if given is None else check(name, given)
    told = right is not False
    return {
        "name": name,
        "right": right,
        "answer": f"{one.answer():.6g}" if told else None,
        "shown_by": one.shown_by if told else None,
    }
