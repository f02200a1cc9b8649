"""`sfumato ledger report --article N`: what the ledger and the policy can state where the law asks.

Comes in: a policy and its ledger. Goes out: a draft with what is recorded filled in, and what only people know left
open and marked. One record for each article of the General Data Protection Regulation in the table ARTICLES. It is a
draft for the controller, and no legal advice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from sfumato.attacks.promise import promise_in_words
from sfumato.cli.ledger import visit
from sfumato.errors import InputError
from sfumato.ledger import Entry
from sfumato.policy import Policy, load
from sfumato.server.terminal_output import console, print_json
from sfumato.types import show

OPEN = "[to be filled in]"
"""What only people know."""
Sections = list[tuple[str, str]]


@dataclass(frozen=True)
class LedgerFacts:
    """What is recorded: the policy, every entry, whether the chain holds, and what was spent."""

    policy: Policy
    entries: tuple[Entry, ...]
    head: str
    spent: Fraction

    @property
    def asked(self) -> Counter[str]:
        """How many charges each analyst caused."""
        return Counter(entry.analyst or "the owner" for entry in self.entries if "price" in entry.body)

    @property
    def period(self) -> str:
        """From the first entry to the last."""
        if not self.entries:
            return "nothing is recorded yet"
        return f"{self.entries[0].time[:19]} to {self.entries[-1].time[:19]} UTC"

    @property
    def promise(self) -> str:
        """What all answers so far permit somebody to learn about one person."""
        if not self.spent:
            return "no answer was given: nothing was learnt through the gateway"
        between = 1 if self.policy.privacy.adjacency.value == "replace" else 2
        return promise_in_words(float(self.spent), between, 0.5)

    @property
    def columns(self) -> str:
        """Tables of people with their columns."""
        tables = [table for table in self.policy.tables.values() if not table.public]
        return "; ".join(f"{table.name}: {', '.join(table.columns)}" for table in tables) or "none"


@dataclass(frozen=True)
class Article:
    """Its number, what it is about, and the sections of a draft."""

    number: str
    title: str
    sections: Callable[[LedgerFacts], Sections]


def _who_asked(facts: LedgerFacts) -> str:
    parts = (
        f"{name} ({count:,} {'query' if count == 1 else 'queries'})" for name, count in sorted(facts.asked.items())
    )
    return ", ".join(parts) or "nobody yet"


def _security(facts: LedgerFacts) -> str:
    privacy = facts.policy.privacy
    return (
        f"every answer carries noise; the total is epsilon {show(privacy.epsilon)}, delta {show(privacy.delta)}, of "
        f"which at most epsilon {show(facts.spent)} is spent; each charge is an entry of a chain of hashes, whose head "
        f"is {facts.head}"
    )


def _records(facts: LedgerFacts) -> Sections:
    return [
        ("controller and data protection officer", OPEN),
        ("purposes of the processing", OPEN),
        ("categories of data subjects and of personal data", facts.columns),
        ("recipients", _who_asked(facts)),
        ("time limits for erasure", OPEN),
        ("security measures", _security(facts)),
        ("period of this record", facts.period),
    ]


def _breach(facts: LedgerFacts) -> Sections:
    return [
        ("nature of the breach", OPEN),
        ("categories of data", facts.columns),
        ("number of people concerned", f"{OPEN}; the ledger holds no rows and counts nobody"),
        ("what left through the gateway", f"{sum(facts.asked.values()):,} charged answers, {facts.period}"),
        ("to whom", _who_asked(facts)),
        ("likely consequences of the answers alone", facts.promise),
        ("what the answers do not cover", f"rows, files, backups and keys that were taken directly: {OPEN}"),
        ("measures taken", f"`sfumato ledger freeze` stops all answers; {OPEN}"),
        ("evidence", f"the chain of {len(facts.entries):,} entries holds; its head is {facts.head}"),
    ]


def _erasure(facts: LedgerFacts) -> Sections:
    return [
        ("what is erased", "the person's rows, in the source; then name another data version in the policy"),
        (
            "what is not touched",
            f"the record of {len(facts.entries):,} entries: queries, prices and noisy answers, and no rows",
        ),
        ("answers that were given", f"stay as they are: {facts.promise}"),
        (
            "queries that name people",
            f"{_naming(facts):,} recorded texts compare a unit's key with a value: look at them",
        ),
        ("request, identity, date", OPEN),
    ]


def _naming(facts: LedgerFacts) -> int:
    """Recorded queries in which a unit's column stands: they may name somebody."""
    units = {str(table.unit).casefold() for table in facts.policy.tables.values() if isinstance(table.unit, str)}
    texts = [str(entry.body.get("text") or "").casefold() for entry in facts.entries]
    return sum(any(unit in text for unit in units) for text in texts)


def _access(facts: LedgerFacts) -> Sections:
    return [
        ("whether data are processed", OPEN),
        ("categories of personal data", facts.columns),
        ("recipients", _who_asked(facts)),
        ("what they may have learnt about one person", facts.promise),
        ("copy of the rows", f"{OPEN}: from the source, which the gateway does not hand out"),
    ]


def _portability(facts: LedgerFacts) -> Sections:
    return [
        ("rows", f"{OPEN}: from the source, as CSV"),
        ("what was learnt", "`sfumato ledger export FILE` writes every charge and answer's price as JSON lines"),
        ("entries", f"{len(facts.entries):,}, {facts.period}"),
    ]


_TABLE: Iterable[Article] = (
    Article("15", "access by the data subject", _access),
    Article("17", "erasure", _erasure),
    Article("20", "portability", _portability),
    Article("30", "records of processing activities", _records),
    Article("33", "notification of a breach to the authority", _breach),
)
ARTICLES: dict[str, Article] = {article.number: article for article in _TABLE}
"""Every article by its number."""


def report(path: Path, article: str, *, as_json: bool) -> None:
    """The draft, as text or as a document."""
    if article not in ARTICLES:
        raise InputError(f'there is no draft for article "{article}"', hint=f"One of: {', '.join(ARTICLES)}.")
    found, facts = ARTICLES[article], _facts(path)
    sections = found.sections(facts)
    if as_json:
        print_json(_document(found, facts, sections))
        return
    out = console()
    out.print(f"Article {found.number}: {found.title}. Draft for {facts.policy.data.id}.", highlight=False)
    for head, text in sections:
        out.print(f"{head}: {text}", soft_wrap=True, highlight=False, markup=False)


def _facts(path: Path) -> LedgerFacts:
    """Only what is verified: a chain that does not hold is told before anything is reported."""
    with visit(path) as ledger:
        checked = ledger.verify()
        policy, entries = load(path), tuple(ledger.entries())
        spent = checked.spent.epsilon
        if spent is None:  # in another currency: what is promised in all is a bound
            spent = policy.privacy.epsilon if checked.debits else Fraction(0)
        return LedgerFacts(policy, entries, checked.hash, spent)


def _document(article: Article, facts: LedgerFacts, sections: Sections) -> dict[str, Any]:
    return {
        "article": article.number,
        "title": article.title,
        "data": facts.policy.data.id,
        "head": facts.head,
        "entries": len(facts.entries),
        "spent": show(facts.spent),
        "sections": [{"head": head, "text": text, "open": OPEN in text} for head, text in sections],
    }
