"""The report as data: what the page shows, for programs and for the console, which draws it itself.

Comes in: reports, and what the attacker knew. Goes out: one JSON document, also kept as `redteam.json` in the state
folder of a policy that was attacked: the newest alone, for the owner and the auditors (mode 600). It holds no answer
and no person's secret; but its questions name people as the attacker knows them, and its numbers about the rows, such
as the base rate, are exact: it is not for publication.

The shape, format 2. Rates are between 0 and 1, amounts of epsilon are decimal text or null:

    format      2
    made        when, UTC, ISO 8601
    target      the policy, server or file, as it was named
    ledger      "copy" (nothing was spent), "own" (with --spend), or null: no policy was attacked
    secret      {column, value}: the fact that was attacked
    known       [column, …]: what the attacker knew of each person
    people      how many people were attacked
    base_rate   how often a guess is right that asks nothing
    attacks     [{name, what, advice}, …] in order: in one line what it does, and the cheapest defence
    defences    [{name, what, broken, allowed, tried, sentence, promise}, …] in order: of the attacks that could be
                tried and were answered, how many broke it, and how many it permits; what its promise permits in words,
                or null
    reports     [report, …], one for each attack and defence:
        attack, defence     names from above
        outcome             "broken" (beyond what is promised, or proved where nothing is), "allowed" (better than a
                            guess, and the promise permits it), "held" (no better than a guess, as far as can be
                            told), "nothing" (no claim was made; where `refused` is `queries` nothing was shown) or
                            "not applicable"
        short, words        the outcome in a few words, and in one line; reason: why nothing was claimed, or how
        claims, right       people of whom a secret was claimed, and how many of those claims are right
        recovered           people whose secrets must have been known for that, the others being guessed
        rate, base_rate, interval       right / claims, what a guess has, [low, high] at 95 %
        trend               how often the secret is guessed right from everybody else's rows: no loss of hers
        certain, certain_right          claims made with certainty, and how many of them are right
        bound               the rate that the promised epsilon allows, or null where nothing is promised
        queries, refused, spent, total, seconds {asking, thinking}
        promise             what the endpoint's promise permits, in words, or null
        curve               [[questions, part of the claims so far that are right], …]
        worst               up to three questions that did the damage, as SQL
        transcript          [{sql, refused}, …]: the first and the last questions; the refusal as text, or null
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sfumato.attacks import ATTACKS
from sfumato.attacks.base import Knowledge
from sfumato.attacks.defences import DEFENCES
from sfumato.attacks.releases import RELEASE_ATTACKS
from sfumato.attacks.report import AttackReport
from sfumato.owner.admission import write_whole

FILE = "redteam.json"
FORMAT = 2
_PROMISED = "a gateway that promises never to exceed its epsilon"
_PLAIN = "a server that promises nothing"
_PUBLISHED = "a published table, which answers no queries"


def document(
    reports: Sequence[AttackReport],
    what: str,
    knowledge: Knowledge,
    ledger: str | None = None,
    *,
    published: bool = False,
) -> dict[str, Any]:
    """Everything that the page says, as plain values."""
    attacks = dict.fromkeys(report.attack for report in reports)
    defences = dict.fromkeys(report.defence for report in reports)
    return {
        "format": FORMAT,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "target": what,
        "published": published,
        "ledger": ledger,
        "secret": {"column": knowledge.fact.column, "value": knowledge.fact.words},
        "known": list(knowledge.people[0].known),
        "people": len(knowledge.people),
        "base_rate": reports[0].base_rate if reports else 0.5,
        "attacks": [_attack(name, published=published) for name in attacks],
        "defences": [
            _defence(name, [r for r in reports if r.defence == name], published=published) for name in defences
        ],
        "reports": [report.to_dict() for report in reports],
    }


def keep(found: dict[str, Any], state: str) -> Path:
    """The newest report on a policy, in its state folder."""
    place = Path(state) / FILE
    write_whole(place, json.dumps(found, indent=1) + "\n")
    return place


def _attack(name: str, *, published: bool) -> dict[str, str]:
    attack = RELEASE_ATTACKS[name] if published else ATTACKS.get(name) or RELEASE_ATTACKS[name]
    return {"name": name, "what": attack.what, "advice": attack.advice}


def _attacks(count: int) -> str:
    return f"{count} attack{'' if count == 1 else 's'}"


def _defence(name: str, reports: Sequence[AttackReport], *, published: bool) -> dict[str, Any]:
    tried = [report for report in reports if report.applicable and not report.unanswered]
    refused = sum(report.unanswered for report in reports)
    broken = [report for report in tried if report.outcome == "broken"]
    allowed = [report for report in tried if report.outcome == "allowed"]
    promise = next((report.promise for report in reports if report.promise), None)
    promises = any(report.total is not None for report in reports)
    if broken:
        sentence = f"broken by {len(broken)} of {_attacks(len(tried))}"
        most = max(broken, key=lambda report: report.recovered)
        sentence += f"; {most.attack} recovered {most.recovered} of {most.people} people's secrets"
    elif allowed:
        best = max(allowed, key=lambda report: report.rate)
        learn = f"{len(allowed)} of them learned" if len(tried) > 1 else "it learned"
        sentence = f"not broken by {_attacks(len(tried))}, but {learn} what the guarantee permits: "
        sentence += f"{best.attack} was right in {best.right} of {best.claims} claims"
    else:
        sentence = f"held against {len(tried)} of {_attacks(len(tried))}" if tried else "nothing was shown"
    if refused:
        sentence += f"; every query of {'one attack' if refused == 1 else f'{refused} attacks'} was refused"
    return {
        "name": name,
        "what": _PUBLISHED if published else DEFENCES.get(name, _PROMISED if promises else _PLAIN),
        "tried": len(tried),
        "broken": len(broken),
        "allowed": len(allowed),
        "sentence": sentence,
        "promise": promise,
    }
