"""Homogeneity and skewness: what a published table says about a person without saying which row is hers.

Everybody in her class has the same secret: then hers is known. Or far more of them than of all people: then the odds
have moved (Machanavajjhala and others, ICDE 2006; Li, Li, Venkatasubramanian, ICDE 2007).
"""

from __future__ import annotations

from sfumato.attacks.base import AttackResult, Claim, Endpoint, Knowledge, not_applicable
from sfumato.attacks.linking import link


def run(endpoint: Endpoint, knowledge: Knowledge) -> AttackResult:
    """Find each person's class, and look at its secrets."""
    rows = endpoint.release
    if rows is None:
        return not_applicable("nothing is published here")
    columns = [c for c in knowledge.people[0].known if c != knowledge.key and rows and c in rows[0]]
    claims = []
    for i, matches in enumerate(link([one.known for one in knowledge.people], rows, columns)):
        having = sum(knowledge.fact.holds(rows[row][knowledge.fact.column]) for row in matches)
        if matches:
            share = having / len(matches)
            claims.append(Claim(i, share > 0.5, certain=having in (0, len(matches))))
    return AttackResult(tuple(claims), reason="classes whose secrets agree, or lean")
