"""Anonymised releases: k-anonymity, l-diversity, t-closeness and others, the best generalisation, and a check of it.

Comes in: a table, its quasi-identifiers and sensitive column. Goes out: a Release with its loss and the gap to the best
one. `inspection` checks releases and shares no code with the rest. What such a release does not protect is shown by the
attacks: it gives no bound on what somebody can learn, as differential privacy does.
"""

from __future__ import annotations

from sfumato.anonymity.hierarchies import Hierarchy, dates, from_rows, intervals, keep_or_star, prefixes
from sfumato.anonymity.hierarchy_files import read_hierarchies
from sfumato.anonymity.inspection import Claims, ReleaseFault, ReleaseReport, check_release
from sfumato.anonymity.metrics import Measures
from sfumato.anonymity.models import MODELS
from sfumato.anonymity.mondrian import generalize
from sfumato.anonymity.population import estimate_population_uniques, population_uniques
from sfumato.anonymity.releases import AnonymizedRelease, AnonymizeRequest, anonymize, by_dimension, compare

__all__ = [
    "MODELS",
    "AnonymizeRequest",
    "AnonymizedRelease",
    "Claims",
    "Hierarchy",
    "Measures",
    "ReleaseFault",
    "ReleaseReport",
    "anonymize",
    "by_dimension",
    "check_release",
    "compare",
    "dates",
    "estimate_population_uniques",
    "from_rows",
    "generalize",
    "intervals",
    "keep_or_star",
    "population_uniques",
    "prefixes",
    "read_hierarchies",
]
