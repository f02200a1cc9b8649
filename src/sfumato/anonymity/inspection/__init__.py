"""An independent check of published tables: it shares no code with the search, and believes no label.

Comes in: a release and its original table. Goes out: k, l, t and risks in exact numbers, and faults.
"""

from __future__ import annotations

from sfumato.anonymity.inspection.check import ReleaseReport, check_release
from sfumato.anonymity.inspection.claims import Claims, claims_of
from sfumato.anonymity.inspection.together import EarlierRelease
from sfumato.anonymity.inspection.traces import ReleaseFault, ReleaseNote

__all__ = ["Claims", "EarlierRelease", "ReleaseFault", "ReleaseNote", "ReleaseReport", "check_release", "claims_of"]
