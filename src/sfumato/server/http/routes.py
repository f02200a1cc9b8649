"""All pages in one table: path, method, roles, handler. /openapi.json is generated from it as well."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from sfumato.server.http import class_pages, collect, exercise_pages, owner_pages, pages, release_pages, uploads
from sfumato.server.http.authentication import log_in, log_out
from sfumato.server.http.page_entry import Route
from sfumato.server.http.playground import CHOICES, WORDS
from sfumato.server.http.response_bodies import reply
from sfumato.server.http.server_state import HttpServerState
from sfumato.server.users import ANALYST, AUDITOR, OWNER


async def _paper(office: HttpServerState, _: Request) -> Response:
    from sfumato.server.http.openapi import paper

    return reply(paper(office.gate.policy.data.id, ROUTES))


ASKS, READS, OWNS, ALL = (ANALYST, OWNER), (OWNER, AUDITOR), (OWNER,), (ANALYST, OWNER, AUDITOR)
ROUTES = (  # the busiest first: they are tried in this order
    Route(
        "/api/collect/{task}",
        "POST",
        (),
        "Store noisy reports; each id counts once.",
        collect.collect,
        cross_origin=True,
    ),
    Route("/api/query", "POST", ASKS, "Run a query. Repeating it is free and returns the stored answer.", pages.query),
    Route("/api/explain", "POST", ASKS, "Cost and expected error of a query; free.", pages.explain),
    Route("/api/budget", "GET", ALL, "Budget: total, spent and remaining.", pages.budget, ("analyst",)),
    Route("/api/schema", "GET", ALL, "Tables, columns, bounds and default costs of the policy.", pages.schema),
    Route(
        "/api/ledger",
        "GET",
        READS,
        "Every charge, answer and policy change, page by page.",
        pages.ledger,
        ("after", "limit"),
    ),
    Route("/api/history", "GET", ASKS, "Your own queries, newest first.", pages.history, ("before", "limit")),
    Route(
        "/api/law", "POST", ASKS, "Exact noise distribution of a column with one person in and out; free.", pages.law
    ),
    Route("/api/odds", "GET", ALL, "How far an epsilon can move a suspicion.", pages.odds, ("epsilon", "adjacency")),
    Route(
        "/api/play",
        "GET",
        ALL,
        "A playground page: uses no data and no budget.",
        pages.play,
        ("page", *WORDS, *CHOICES),
    ),
    Route("/api/learn", "GET", ALL, "The exercises of `sfumato learn`.", exercise_pages.exercises),
    Route("/api/learn/answer", "POST", ALL, "Whether an answer to an exercise is right.", exercise_pages.answer),
    Route("/api/ledger/verify", "GET", READS, "Recompute the whole hash chain.", pages.verify),
    Route("/api/me", "GET", ALL, "The current user.", pages.me),
    Route("/metrics", "GET", (OWNER,), "Counters and budgets for Prometheus; independent of the rows.", pages.metrics),
    Route("/api/redteam", "GET", READS, "The newest attack report, if there is one.", pages.redteam),
    Route("/api/spending", "GET", READS, "Spending over time by analyst.", owner_pages.spending),
    Route("/api/freeze", "POST", OWNS, "Freeze or unfreeze all answers.", owner_pages.freeze),
    Route("/api/people", "GET", OWNS, "Users and tokens.", owner_pages.people),
    Route("/api/people/add", "POST", OWNS, "Add or replace a user; needs a session.", owner_pages.add_person),
    Route("/api/people/remove", "POST", OWNS, "Remove a user; needs a session.", owner_pages.remove_person),
    Route("/api/people/token", "POST", OWNS, "Create a token, shown once; needs a session.", owner_pages.add_token),
    Route("/api/people/revoke", "POST", OWNS, "Revoke a token; needs a session.", owner_pages.end_token),
    Route("/api/policy", "GET", OWNS, "The text of the policy file.", owner_pages.policy),
    Route(
        "/api/policy/check",
        "POST",
        OWNS,
        "Problems in a policy text, its diff, and what it weakens.",
        owner_pages.check_policy,
    ),
    Route("/api/policy/edit", "POST", OWNS, "The policy text after changing one field.", owner_pages.edit_policy),
    Route("/api/policy/apply", "POST", OWNS, "Write the policy file; needs a session.", owner_pages.apply_policy),
    Route("/api/policy/reload", "POST", OWNS, "Reload the policy; needs a session.", owner_pages.reload_policy),
    Route("/api/policy/sources", "GET", OWNS, "Data files in the policy's folder.", owner_pages.sources),
    Route(
        "/api/policy/upload",
        "POST",
        OWNS,
        "Upload CSV or Parquet; needs a session.",
        uploads.upload,
        ("name",),
    ),
    Route("/api/policy/draft", "POST", OWNS, "Draft a policy from column names and types.", owner_pages.draft),
    Route("/api/policy/write", "POST", OWNS, "Write a new policy file; needs a session.", owner_pages.write_policy),
    Route("/api/release", "GET", OWNS, "Tables that can be released, and past releases.", release_pages.releases),
    Route("/api/release/compare", "POST", OWNS, "Loss and risk of a release for each k.", release_pages.compare),
    Route("/api/release/make", "POST", OWNS, "Make and check a release; needs a session.", release_pages.make),
    Route("/api/release/file", "GET", OWNS, "Download a release; needs a session.", release_pages.download, ("name",)),
    Route("/api/collect", "GET", ALL, "Tasks that collect reports.", collect.surveys),
    Route("/api/collect/{task}/task", "GET", (), "The task file, for devices.", collect.task_file, cross_origin=True),
    Route(
        "/api/collect/{task}/estimate",
        "GET",
        ALL,
        "Estimates with intervals from the reports so far.",
        collect.survey,
        ("population",),
    ),
    Route("/login", "POST", (), "Log in with name and password; sets a cookie.", log_in),
    Route("/api/class", "POST", (), "Join a class by the key of its link; sets a cookie.", class_pages.join),
    Route("/logout", "POST", ALL, "End the session.", log_out),
    Route("/healthz", "GET", (), "Whether the server is healthy.", pages.health),
    Route("/openapi.json", "GET", (), "This description.", _paper),
)
