"""What the HTTP pages do, as calls of the gateway. Everything here is synchronous and runs in a thread.

Comes in: a gateway, who asks, what is asked. Goes out: documents. Only `answer` spends. Nothing here tells more than
the policy's own words, the ledger and released answers; the counts of /metrics depend on no row.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from datetime import date
from fractions import Fraction
from itertools import islice
from typing import Any

from starlette.responses import Response

from sfumato.accounting import Pure, price
from sfumato.errors import InputError, QueryError
from sfumato.gateway import Gateway, Query, Spent
from sfumato.interrupts import FINISHING, planning, who
from sfumato.policy import ROW, PolicyColumn, Table
from sfumato.server.audited_query import ask
from sfumato.server.http.authentication import AuthenticatedUser, still_in
from sfumato.server.http.response_bodies import to_json, write
from sfumato.server.http.server_state import HttpServerState
from sfumato.server.users import ANALYST, OWNER, User
from sfumato.types import Loss


def answer(
    gate: Gateway, office: HttpServerState, guest: AuthenticatedUser, query: Query, *, key: str | None, kind: str
) -> Response:
    """Ask and pay; the token is looked at before the debit and before the reply.

    An answer that is withheld was paid for and is stored: whoever may ask for it gets it for nothing.
    """
    still_in(guest, office.users)
    found = ask(gate, office.journal, guest.user, query, key)
    try:
        still_in(guest, office.users)
    except Exception:
        office.journal.write("withheld", user=guest.user.name, receipt=found.receipt)
        raise
    with FINISHING.of(who()):
        return write(found, kind)


def preview(gate: Gateway, guest: AuthenticatedUser, query: Query) -> bytes:
    """What asking would cost and give: free."""
    with planning():
        return to_json(gate.preview(query, guest.user.asks_as).to_dict())


def budget(gate: Gateway, user: User, named: str | None) -> dict[str, Any]:
    """Where somebody stands; owners and auditors see everybody together, and each analyst who has a share."""
    if named == "":
        raise InputError("analyst must be a name")
    if user.role == ANALYST:
        if named not in (None, user.name):
            raise QueryError("analysts can see only their own budget", sqlstate="42501")
        return _standing(gate, user.name)
    if named is not None and named != OWNER:
        return _standing(gate, named)
    return _standing(gate, None) | {"analysts": [_standing(gate, name) for name in sorted(gate.policy.analysts)]}


def _standing(gate: Gateway, analyst: str | None) -> dict[str, Any]:
    standing = gate.budget(analyst)
    parts = {"total": standing.total, "spent": standing.spent, "remaining": standing.remaining}
    each = price(Pure(gate.policy.privacy.query_epsilon))
    return {
        "analyst": analyst,
        **{name: Spent.of(loss).to_dict() for name, loss in parts.items()},
        "queries": gate.ledger.remaining_count(analyst, each),
        "query_epsilon": str(gate.policy.privacy.query_epsilon),
    }


def schema(gate: Gateway) -> dict[str, Any]:
    """What the owner has declared, which is public (semantics 1.3); nothing of where the data are."""
    policy = gate.policy
    privacy = {f.name: _plain(getattr(policy.privacy, f.name)) for f in fields(policy.privacy)}
    tables = [_table(table) for table in policy.tables.values()]
    return {"data": policy.data.id, "version": policy.data.version, "privacy": privacy, "tables": tables}


def _table(table: Table) -> dict[str, Any]:
    columns = [_column(column) for column in table.columns.values()]
    columns += [{"name": point.name, "type": "point"} | _plain(point) for point in table.points.values()]
    if table.public:
        return {"name": table.name, "public": True, "columns": columns}
    limits = ("unit", "rows_per_unit", "groups_per_unit", "l2_per_unit", "sum_per_unit")
    return {
        "name": table.name,
        "public": False,
        **{name: _plain(getattr(table, name)) for name in limits},
        **({"unit": "row"} if table.unit == ROW else {}),
        "columns": columns,
    }


def _column(column: PolicyColumn) -> dict[str, Any]:
    names = {"name": "name", "type": "type", "low": "min", "high": "max", "grid": "grid", "values": "values"}
    names |= {"max_length": "max_length", "nulls": "nulls"}
    return {said: _plain(getattr(column, name)) for name, said in names.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction | date):
        return str(value)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    return getattr(value, "value", value)


def entries(gate: Gateway, after: int, limit: int) -> list[dict[str, Any]]:
    """A page of the chain."""
    names = ("seq", "time", "kind", "analyst", "body", "previous", "hash")
    return [{name: getattr(e, name) for name in names} for e in islice(gate.ledger.entries(after), limit)]


def history(gate: Gateway, user: User, before: int, limit: int) -> dict[str, Any]:
    """What somebody has paid for, from her own entries of the chain."""
    bought = gate.ledger.history(user.asks_as, before=before, limit=limit)
    found = [
        {
            "seq": one.debit.seq,
            "time": one.debit.time,
            "sql": one.debit.body["text"],
            "epsilon": one.debit.body["epsilon"],
            "version": one.debit.body["version"],
            "cost": {name: one.debit.body["price"][name] for name in ("epsilon", "rho", "delta")},
            "receipt": one.debit.body["receipt"],
            "end": one.end,
        }
        for one in bought
    ]
    return {"questions": found, "next": found[-1]["seq"] if len(found) == limit else None}


def verify(gate: Gateway) -> dict[str, Any]:
    """The whole chain, recomputed; a chain that does not hold is an error that names the entry."""
    report = gate.ledger.verify()
    names = ("entries", "debits", "answers", "failures", "seq", "hash")
    return {name: getattr(report, name) for name in names} | {"spent": Spent.of(report.spent).to_dict()}


def alive(gate: Gateway) -> None:
    """One look at the ledger: it raises if there is none to be trusted."""
    gate.budget()


def metrics(gate: Gateway, office: HttpServerState) -> str:
    """Counts of requests and of refusals that no row has caused, and budgets; in Prometheus' words.

    No durations, no failures of the engine: both depend on rows (semantics 6.2).
    """
    lines = ["# TYPE sfumato_http_requests_total counter"]
    lines += [f'sfumato_http_requests_total{{page="{p}"}} {n}' for p, n in sorted(office.requests.items())]
    lines.append("# TYPE sfumato_http_refusals_total counter")
    lines += [f'sfumato_http_refusals_total{{sqlstate="{s}"}} {n}' for s, n in sorted(office.refusals.items())]
    for name in ("total", "spent", "remaining"):
        lines.append(f"# TYPE sfumato_budget_{name} gauge")
        for analyst in (None, *sorted(gate.policy.analysts)):
            lines += _amounts(name, analyst, getattr(gate.budget(analyst), name))
    return "\n".join(lines) + "\n"


def _amounts(name: str, analyst: str | None, loss: Loss) -> list[str]:
    who = (analyst or "").replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    known = {"epsilon": loss.epsilon, "rho": loss.rho, "delta": loss.delta}
    return [
        f'sfumato_budget_{name}{{analyst="{who}",currency="{currency}"}} {float(value)!r}'
        for currency, value in known.items()
        if value is not None
    ]
