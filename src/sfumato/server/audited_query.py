"""One query at a network interface: who may ask it, and the line of the audit log for its outcome.

Comes in: the gateway, somebody who came in, SQL and options. Goes out: an Answer; or one of the house's errors, which
is written down as a refusal. It runs in a thread of the door.
"""

from __future__ import annotations

from sfumato.errors import SfumatoError
from sfumato.gateway import FREE, Answer, Gateway, Query
from sfumato.server.audit_log import AuditLog
from sfumato.server.users import User, check_may_ask

LONGEST = 500
"""Characters of a refused query, or of a free one, that the audit log keeps."""


def ask(gateway: Gateway, journal: AuditLog, user: User, query: Query, key: str | None = None) -> Answer:
    """Ask, and pay, as the analyst that the ledger knows this user by."""
    try:
        check_may_ask(user)
        answer = gateway.answer(query, user.asks_as, key)
    except SfumatoError as error:
        said = {"user": user.name, "analyst": user.asks_as, **_cut(query.sql)}
        journal.write("refusal", **said, sqlstate=error.sqlstate, message=error.message[:LONGEST])
        raise
    return _told(journal, user, query.sql, answer)


def recall(gateway: Gateway, journal: AuditLog, user: User, query: Query) -> Answer | None:
    """The same where the answer is at hand: nothing is waited for, nothing is paid; None where there is work to do."""
    check_may_ask(user)
    answer = gateway.recall(query, user.asks_as)
    return None if answer is None else _told(journal, user, query.sql, answer)


def _cut(sql: str) -> dict[str, object]:
    """The text of a query that nobody paid for, and how long it was: a refused one must not fill the disk."""
    if len(sql) <= LONGEST:
        return {"question": sql}
    return {"question": sql[:LONGEST], "characters": len(sql)}


def _told(journal: AuditLog, user: User, sql: str, answer: Answer) -> Answer:
    text = {"question": sql} if answer.cost != FREE else _cut(sql)
    said = {"user": user.name, "analyst": user.asks_as, **text}
    journal.write("question", **said, cost=answer.cost.to_dict(), receipt=answer.receipt)
    return answer
