"""One question at a door on a port: who may ask, and the line of the audit log for what became of it.

Comes in: the gateway, somebody who came in, SQL and options. Goes out: an Answer; or one of the house's errors, which
is written down as a refusal. It runs in a thread of the door.
"""

from __future__ import annotations

from typing import Any

from sfumato.doors.journal import Journal
from sfumato.doors.users import User, check_may_ask
from sfumato.errors import SfumatoError
from sfumato.gateway import Answer, Gateway


def ask(gateway: Gateway, journal: Journal, user: User, sql: str, **options: Any) -> Answer:
    """Ask, and pay, as the analyst that the ledger knows this user by."""
    try:
        check_may_ask(user)
        answer = gateway.sql(sql, analyst=user.asks_as, **options)
    except SfumatoError as error:
        said = {"user": user.name, "analyst": user.asks_as, "question": sql}
        journal.write("refusal", **said, sqlstate=error.sqlstate, message=error.message)
        raise
    return _told(journal, user, sql, answer)


def recall(gateway: Gateway, journal: Journal, user: User, sql: str, **options: Any) -> Answer | None:
    """The same where the answer is at hand: nothing is waited for, nothing is paid; None where there is work to do."""
    check_may_ask(user)
    answer = gateway.recall(sql, analyst=user.asks_as, **options)
    return None if answer is None else _told(journal, user, sql, answer)


def _told(journal: Journal, user: User, sql: str, answer: Answer) -> Answer:
    said = {"user": user.name, "analyst": user.asks_as, "question": sql}
    journal.write("question", **said, cost=answer.cost.to_dict(), receipt=answer.receipt)
    return answer
