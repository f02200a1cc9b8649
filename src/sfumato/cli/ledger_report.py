"""`sfumato ledger report --article N`: what the ledger and the policy can state where the law asks.

Comes in: a policy and its ledger. Goes out: a draft with what is recorded filled in, and what only people know left
open and marked. One record for each article of the General Data Protection Regulation in the table ARTICLES. It is a
draft for the controller, and no legal advice.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from sfumato.accounting import suspicion
from sfumato.cli.ledger import open_book
from sfumato.engines.duckdb.prepared_file import place_of
from sfumato.errors import InputError
from sfumato.gateway.rounding import many
from sfumato.ledger import ChainReport, Entry, has_ledger
from sfumato.policy import ROW, Policy, Table, UnitJoin
from sfumato.server.terminal_output import console, print_json
from sfumato.types import Loss, show, show_small

OPEN = "[to be filled in]"
"""What only people know."""
Sections = list[tuple[str, str]]


@dataclass(frozen=True)
class LedgerFacts:
    """What is recorded: the policy, every entry of the ledger, its verified head, and what was spent."""

    policy: Policy
    entries: tuple[Entry, ...]
    head: str
    spent: Loss

    @property
    def charges(self) -> Counter[str]:
        """How many charges each analyst caused."""
        return Counter(entry.analyst or "the owner" for entry in self.entries if "price" in entry.body)

    @property
    def period(self) -> str:
        """From the first entry to the last."""
        if not self.entries:
            return "nothing is recorded yet"
        return f"{self.entries[0].time[:19]} to {self.entries[-1].time[:19]} UTC"

    @property
    def recipients(self) -> str:
        """Who was charged for answers."""
        parts = (f"{name} ({many(count, 'charged query', 'charged queries')})" for name, count in self.charges.items())
        names = ", ".join(sorted(parts)) or "nobody yet"
        return f"{names}; stored answers are free, and only the audit.jsonl of a server records who got them"

    @property
    def cost(self) -> tuple[Fraction, Fraction]:
        """Epsilon and delta of all answers together: what was spent, or the total where that is less or unknown.

        The total is the largest that ever was in force: a policy may have lowered it since.
        """
        terms = [entry.body["now"] for entry in self.entries if entry.kind == "policy"]
        now = self.policy.privacy
        epsilon = max([now.epsilon, *(Fraction(term["epsilon"]) for term in terms)])
        if self.spent.epsilon is not None and self.spent.epsilon <= epsilon:
            return self.spent.epsilon, self.spent.delta
        return epsilon, max([now.delta, *(Fraction(term["delta"]) for term in terms)])

    @property
    def learnt(self) -> str:
        """What all answers so far permit somebody to learn about one person."""
        if not self.charges:
            return "nothing: no answer was given"
        epsilon, delta = self.cost
        words = suspicion(epsilon, self.policy.privacy.adjacency, delta=delta)
        return f"answers that cost at most epsilon {show(epsilon)} together: {words}"

    @property
    def people(self) -> list[Table]:
        """Tables that hold people's data."""
        return [table for table in self.policy.tables.values() if not table.public]

    @property
    def columns(self) -> str:
        """Tables of people with their columns."""
        return "; ".join(f"{table.name}: {', '.join(table.columns)}" for table in self.people) or "none"


@dataclass(frozen=True)
class Article:
    """Its number, what it is about, and the sections of a draft."""

    number: str
    title: str
    sections: Callable[[LedgerFacts], Sections]


def _security(facts: LedgerFacts) -> str:
    privacy = facts.policy.privacy
    return (
        f"every answer carries noise; the total is epsilon {show(privacy.epsilon)}, delta {show_small(privacy.delta)}; "
        f"at most epsilon {show(facts.cost[0])} is spent; every charge is "
        f"recorded in a hash chain before any row is read; head of the chain: {facts.head}"
    )


def _records(facts: LedgerFacts) -> Sections:
    return [
        ("controller and data protection officer", OPEN),
        ("purposes of the processing", OPEN),
        ("categories of data subjects and of personal data", facts.columns),
        ("recipients", facts.recipients),
        ("time limits for erasure", OPEN),
        ("security measures", _security(facts)),
        ("period of this record", facts.period),
    ]


def _breach(facts: LedgerFacts) -> Sections:
    return [
        ("nature of the breach", OPEN),
        ("categories of data", facts.columns),
        ("number of people concerned", f"{OPEN}; the ledger holds no rows and does not count people"),
        ("what left through the gateway", f"{many(facts.charges.total(), 'charged answer')}, {facts.period}"),
        ("to whom", facts.recipients),
        ("likely consequences of the answers alone", facts.learnt),
        ("what the answers do not cover", f"rows, files, backups and keys that were taken directly: {OPEN}"),
        ("measures taken", f"`sfumato ledger freeze` stops all answers; {OPEN}"),
        ("evidence", f"{many(len(facts.entries), 'ledger entry', 'ledger entries')}, verified; head {facts.head}"),
    ]


def _erasure(facts: LedgerFacts) -> Sections:
    naming = _entries_with_units(facts)
    which = f": {'entry' if len(naming) == 1 else 'entries'} {', '.join(map(str, naming))}" if naming else ""
    mentions = many(len(naming), "recorded query mentions", "recorded queries mention")
    prepared = place_of(facts.policy)
    return [
        (
            "rows to erase",
            f"the person's rows in the source: {OPEN}; then a new data version, `sfumato check` and `sfumato reload`",
        ),
        (
            "copies of rows",
            f"{prepared} holds them: run `sfumato prepare` again, or delete it; backups of the source: {OPEN}"
            if prepared.exists()
            else f"no rows were prepared; backups of the source: {OPEN}",
        ),
        (
            "what stays",
            f"the ledger ({many(len(facts.entries), 'entry', 'entries')}): queries, costs and noisy answers, no rows",
        ),
        ("what the answers permit", facts.learnt),
        (
            "queries that may name a person",
            f"{mentions} a column that identifies people{which}; refused and free queries are in audit.jsonl only",
        ),
        ("request, identity, date", OPEN),
    ]


def _entries_with_units(facts: LedgerFacts) -> list[int]:
    """Recorded queries with the name of a column that identifies people: they may name somebody."""
    names = {name.casefold() for table in facts.people for name in _unit_columns(table)}
    pattern = "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names)
    texts = ((entry.seq, str(entry.body.get("text") or "").casefold()) for entry in facts.entries)
    return [seq for seq, text in texts if names and re.search(pattern, text)]


def _unit_columns(table: Table) -> list[str]:
    if isinstance(table.unit, UnitJoin):
        return [table.unit.column, *(own for own, _ in table.unit.more)]
    return [] if table.unit is None or table.unit == ROW else [table.unit]


def _access(facts: LedgerFacts) -> Sections:
    return [
        ("whether data are processed", OPEN),
        ("categories of personal data", facts.columns),
        ("recipients", facts.recipients),
        ("what they may have learnt about one person", facts.learnt),
        ("copy of the rows", f"{OPEN}: from the source; the gateway returns no rows"),
    ]


def _portability(facts: LedgerFacts) -> Sections:
    return [
        ("rows", f"{OPEN}: from the source, as CSV"),
        ("what was learnt", "`sfumato ledger export FILE` writes every query and its cost as JSON lines"),
        ("entries", f"{len(facts.entries):,}, {facts.period}"),
    ]


def _impact(facts: LedgerFacts) -> Sections:
    privacy = facts.policy.privacy
    epsilon, delta = map(max, (privacy.epsilon, privacy.delta), facts.cost)  # the total may be lowered since
    units = ", ".join(f"{table.name}: {_unit_words(table)}" for table in facts.people)
    public = ", ".join(table.name for table in facts.policy.tables.values() if table.public)
    return [
        ("purposes and legal basis", OPEN),
        ("description", f"analysts get noisy aggregates of {facts.columns}; no rows"),
        ("necessity and proportionality", OPEN),
        (
            "risk when the whole budget is spent",
            f"epsilon {show(epsilon)}: {suspicion(epsilon, privacy.adjacency, delta=delta)}",
        ),
        ("risk so far", facts.learnt),
        ("measures", _security(facts)),
        ("what identifies a person, as the owner declares", units or "nothing"),
        ("tables declared to hold nobody's data", public or "none"),
        ("remaining risks", f"what docs/threats.md lists as not defended against: {OPEN}"),
    ]


def _unit_words(table: Table) -> str:
    return "each row" if table.unit == ROW else " and ".join(_unit_columns(table))


_TABLE: Iterable[Article] = (
    Article("15", "access by the data subject", _access),
    Article("17", "erasure", _erasure),
    Article("20", "portability", _portability),
    Article("30", "records of processing activities", _records),
    Article("33", "notification of a breach to the authority", _breach),
    Article("35", "data protection impact assessment", _impact),
)
ARTICLES: dict[str, Article] = {article.number: article for article in _TABLE}
"""Every article by its number."""


def report(path: Path, article: str, *, as_json: bool) -> None:
    """The draft, as text or as a document."""
    if article not in ARTICLES:
        raise InputError(f'there is no draft for article "{article}"', hint=f"One of: {', '.join(ARTICLES)}.")
    draft, facts = ARTICLES[article], _facts(path)
    sections = draft.sections(facts)
    if as_json:
        print_json(_document(draft, facts, sections))
        return
    out = console()
    out.print(f"Article {draft.number}: {draft.title}. Draft for {facts.policy.data.id}.", highlight=False)
    for head, text in sections:
        out.print(f"{head}: {text}", soft_wrap=True, highlight=False, markup=False)


def _facts(path: Path) -> LedgerFacts:
    """Only what is verified: a ledger that was changed is an error. Before the first query there is none."""
    with open_book(path) as (policy, ledger):
        checked: ChainReport = ledger.verify()
        if not has_ledger(policy.data.ledger):
            return LedgerFacts(policy, (), "none yet", checked.spent)
        return LedgerFacts(policy, tuple(ledger.entries()), checked.hash, checked.spent)


def _document(article: Article, facts: LedgerFacts, sections: Sections) -> dict[str, Any]:
    return {
        "article": article.number,
        "title": article.title,
        "data": facts.policy.data.id,
        "head": facts.head,
        "entries": len(facts.entries),
        "spent": show(facts.cost[0]),
        "sections": [{"head": head, "text": text, "open": OPEN in text} for head, text in sections],
    }
