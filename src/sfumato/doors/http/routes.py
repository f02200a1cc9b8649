"""All pages of this door in one table: path, method, who may, what it does. /openapi.json is made from it as well."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from sfumato.doors.http import owning, pages
from sfumato.doors.http.entry import Entry
from sfumato.doors.http.gatehouse import log_in, log_out
from sfumato.doors.http.office import Office
from sfumato.doors.http.play import CHOICES, WORDS
from sfumato.doors.http.writing import reply
from sfumato.doors.users import ANALYST, AUDITOR, OWNER


async def _paper(office: Office, _: Request) -> Response:
    from sfumato.doors.http.paper import paper

    return reply(paper(office.gate.policy.data.id, ROUTES))


ASKS, READS, OWNS, ALL = (ANALYST, OWNER), (OWNER, AUDITOR), (OWNER,), (ANALYST, OWNER, AUDITOR)
ROUTES = (
    Entry("/api/query", "POST", ASKS, "Ask, and pay. Asked again, the stored answer is free.", pages.query),
    Entry("/api/explain", "POST", ASKS, "What asking would cost and give: free.", pages.explain),
    Entry("/api/budget", "GET", ALL, "What may be spent, what was, what is left.", pages.budget, ("analyst",)),
    Entry("/api/schema", "GET", ALL, "What the owner has declared: tables, columns, bounds, prices.", pages.schema),
    Entry(
        "/api/ledger",
        "GET",
        READS,
        "Every debit, answer and change of policy, page by page.",
        pages.ledger,
        ("after", "limit"),
    ),
    Entry(
        "/api/history", "GET", ASKS, "What one has paid for oneself, newest first.", pages.history, ("before", "limit")
    ),
    Entry("/api/law", "POST", ASKS, "The exact law of a column, with one person in and out: free.", pages.law),
    Entry("/api/odds", "GET", ALL, "What an epsilon makes of a suspicion, at most.", pages.odds, ("epsilon",)),
    Entry(
        "/api/play", "GET", ALL, "A page of the playground: no data, no price.", pages.play, ("page", *WORDS, *CHOICES)
    ),
    Entry("/api/ledger/verify", "GET", READS, "Recompute the whole chain.", pages.verify),
    Entry("/api/me", "GET", ALL, "Who asks.", pages.me),
    Entry("/metrics", "GET", (OWNER,), "Counts and budgets for Prometheus; no row has a part in them.", pages.metrics),
    Entry("/api/redteam", "GET", READS, "The newest report of the red team, if there is one.", pages.redteam),
    Entry("/api/spending", "GET", READS, "What was spent when and by whom, from the chain.", owning.spending),
    Entry("/api/freeze", "POST", OWNS, "Stop all answers, or answer again.", owning.freeze),
    Entry("/api/people", "GET", OWNS, "Who may come in, and which tokens there are.", owning.people),
    Entry("/api/people/add", "POST", OWNS, "Let somebody in; by a session.", owning.add_person),
    Entry("/api/people/remove", "POST", OWNS, "Let somebody in no more; by a session.", owning.remove_person),
    Entry("/api/people/token", "POST", OWNS, "A token for programs, shown once; by a session.", owning.add_token),
    Entry("/api/people/revoke", "POST", OWNS, "End a token; by a session.", owning.end_token),
    Entry("/api/policy", "GET", OWNS, "The text of the policy file.", owning.policy),
    Entry("/api/policy/check", "POST", OWNS, "What is wrong with a text, and its diff.", owning.check_policy),
    Entry("/api/policy/apply", "POST", OWNS, "Write the policy file; by a session.", owning.apply_policy),
    Entry("/api/policy/reload", "POST", OWNS, "Serve the policy as it is written; by a session.", owning.reload_policy),
    Entry("/api/policy/sources", "GET", OWNS, "Files beside the policy.", owning.sources),
    Entry("/api/policy/draft", "POST", OWNS, "A new policy, drafted from names and types.", owning.draft),
    Entry("/api/policy/write", "POST", OWNS, "Write a new policy file; by a session.", owning.write_policy),
    Entry("/login", "POST", (), "Name and password; a cookie comes back.", log_in),
    Entry("/logout", "POST", ALL, "End the session of the cookie.", log_out),
    Entry("/healthz", "GET", (), "Whether this door serves.", pages.health),
    Entry("/openapi.json", "GET", (), "This description.", _paper),
)
