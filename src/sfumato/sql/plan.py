"""The third room: what an answer will cost and how it is made, before any data is touched.

Comes in: a Question. Goes out: a Plan: its cuts in the order in which they run, the Event that is debited, and the
digest that makes two questions the same one. A question with several releases divides its epsilon equally among them:
the whole price is fixed before the first (semantics 2.3).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from fractions import Fraction

from sfumato.accounting import Event
from sfumato.accounting.events import Together
from sfumato.errors import QueryError
from sfumato.policy import Policy, Unknown
from sfumato.sql.bind import Question
from sfumato.sql.bundles import as_json, bundles_of
from sfumato.sql.cut import GAUSSIAN, GEOMETRIC, Cut, Part, Released, Terms, cut
from sfumato.sql.fast import Known
from sfumato.sql.keys import Run, check_groups, is_open
from sfumato.sql.partition import cells_of
from sfumato.sql.public import top
from sfumato.sql.relations import Release
from sfumato.sql.running import read_as_totals, totals_in, wholes_in


@dataclass(frozen=True)
class Plan:
    """Everything about a question that is known before any data is touched."""

    question: Question
    epsilon: Fraction
    noise: str
    cuts: tuple[Cut, ...]
    sql: str
    event: Event | None
    cells: tuple[str, ...] | None
    digest: str
    notes: tuple[tuple[str | None, str], ...]
    missing: tuple[Unknown, ...] = ()
    """Bounds that are to be found first: this plan was made with stand-ins for them, and is not to be run."""

    def cut_of(self, release: Release) -> Cut:
        """The cut of a release."""
        return next(part for part in self.cuts if part.release is release)


def plan(
    question: Question,
    policy: Policy,
    epsilon: Fraction,
    rows_per_unit: int | None = None,
    *,
    noise: str | None = None,
    run: Run,
    known: Known | None = None,
) -> Plan:
    """How this question is answered for this epsilon; the analyst may lower the rows that count per person.

    What is `known` of the tables may make the work less; nothing else changes.
    """
    law = noise_of(policy, noise)
    if law == GAUSSIAN and policy.privacy.composition == "pure":
        raise QueryError(
            "Gaussian noise has no epsilon of its own, and this policy counts in epsilon",
            hint='Ask with noise = "geometric".',
        )
    releases = question.releases
    count = max(1, sum(pays(release) for release in releases))
    each = epsilon / count if law == GEOMETRIC else _equal_rho(epsilon, count)
    terms = Terms(each, law, policy.privacy.query_delta / count, rows_per_unit)
    totals, wholes = totals_in(question.relation), wholes_in(question.relation)
    read = (*question.computed, *(item.node for item in question.order))
    orders = read_as_totals(question.relation, read, totals)
    made: list[Cut] = []
    for release in releases:
        above = (*totals.get(release, ()), *wholes.get(release, ()))
        made.append(cut(release, policy, terms, run, known, totals=above, orders=orders))
        check_groups(sum(len(part.groups) for one in made for part in one.parts))
    cuts = tuple(made)
    events = [event for part in cuts for event in part.events]
    event: Event | None = None
    if events:
        event = events[0] if len(events) == 1 else Together(tuple(events))
    notes = tuple(dict.fromkeys(note for part in cuts for note in part.notes))
    cells = cells_of(releases, policy, run)
    return Plan(question, epsilon, law, cuts, top(question), event, cells, _digest(policy, law, cuts), notes)


def noise_of(policy: Policy, noise: str | None) -> str:
    """The noise that was asked for, or the policy's own."""
    return noise or (GAUSSIAN if policy.privacy.composition == "zcdp" else GEOMETRIC)


def pays(release: Release) -> bool:
    """Whether a release spends anything: a list of keys by itself is a constant of the schema."""
    opened = any(is_open(node, release.below) for _, node in release.keys)
    return opened or any(source.bundle >= 0 for _, _, source in bundles_of(release).sources)


def _equal_rho(epsilon: Fraction, count: int) -> Fraction:
    """The epsilon whose rho, count times, is at most that of the whole: rounded down, to twelve digits."""
    if count == 1:
        return epsilon
    scaled = 10**12
    low, high = 0, scaled
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if count * middle * middle <= scaled * scaled else (low, middle)
    return epsilon * low / scaled


def _digest(policy: Policy, noise: str, cuts: tuple[Cut, ...]) -> str:
    """What makes two questions the same one: the private part with its bounds, not the text (semantics 5.4).

    A later stage reads what an earlier one released under its name: the constants of a stage are in the answer itself.
    """
    sources = [[name, source.bundle, source.formula] for cut in cuts for name, _, source in cut.sources]
    parts = [
        _list(
            as_json([part.kept, part.chosen, part.sql, part.people]),
            part.words,
            as_json([[str(r.sensitivity), str(r.unit), _extra(r), *_running(part, r)] for r in part.bundles]),
            as_json([str(part.share / _whole(cut)), None if part.selection is None else str(part.selection.delta)]),
        )
        for cut in cuts
        for part in cut.parts
    ]
    document = _list(as_json(policy.digest), as_json(noise), as_json(sources), _list(*parts))
    return hashlib.sha256(document.encode()).hexdigest()


def _list(*texts: str) -> str:
    """A list of JSON, as the library writes it: the groups of a question are written once (see `listed`)."""
    return f"[{', '.join(texts)}]"


def _extra(released: Released) -> list[str] | None:
    """What is not a sum: which aggregate, of what, among which candidates."""
    extra = released.extra
    if extra is None:
        return None
    return [extra.aggregate.name, extra.aggregate.extra, extra.sql, str(extra.low), str(extra.high)]


def _running(part: Part, released: Released) -> list[list[str]]:
    """That noise is on running totals, and on which sums of groups: another answer than noise on every group."""
    if released.running is None:
        return []
    return [released.running.text([len(track) for track in released.running.reading.tracks(part.groups)])]


def _whole(cut: Cut) -> Fraction:
    return cut.terms.rho if cut.terms.noise == GAUSSIAN else cut.terms.epsilon
