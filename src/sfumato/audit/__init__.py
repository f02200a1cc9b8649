"""Audit: a lower bound on the privacy loss of a black box, from runs of it, with a stated error.

Comes in: a Python function, the name of a mechanism, or guesses about planted people. Goes out: a Verdict, "refuted"
or "consistent", never more. `bounds` are the exact intervals, `outputs`, `views` and `profile` look at what came
out, `events` choose, `neighbours` and `subjects` say what is run, `run` certifies, `canary` is the audit by one run.
"""

from sfumato.audit.bounds import bound_above, bound_below
from sfumato.audit.canary import verdict_of_guesses
from sfumato.audit.outputs import OutputTable, encode
from sfumato.audit.run import AuditVerdict, audit
from sfumato.audit.subjects import Subject, of_function, of_mechanism

__all__ = [
    "AuditVerdict",
    "OutputTable",
    "Subject",
    "audit",
    "bound_above",
    "bound_below",
    "encode",
    "of_function",
    "of_mechanism",
    "verdict_of_guesses",
]
