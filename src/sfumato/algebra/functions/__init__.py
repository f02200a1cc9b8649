"""The scalar functions that may stand below a release: each one record, total, bounded in cost and size."""

from sfumato.algebra.functions.calls import bounded_work, call
from sfumato.algebra.functions.logic import union
from sfumato.algebra.functions.record import ScalarFunction
from sfumato.algebra.functions.rules import Mismatch, common_grid
from sfumato.algebra.functions.table import FUNCTIONS, add_parts, add_spellings

__all__ = [
    "FUNCTIONS",
    "Mismatch",
    "ScalarFunction",
    "add_parts",
    "add_spellings",
    "bounded_work",
    "call",
    "common_grid",
    "union",
]
