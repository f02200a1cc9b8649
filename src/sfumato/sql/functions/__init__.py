"""The scalar functions that may stand below a release: each one record, total, bounded in cost and size."""

from sfumato.sql.functions.calls import bounded_work, call
from sfumato.sql.functions.logic import union
from sfumato.sql.functions.record import ScalarFunction
from sfumato.sql.functions.rules import Mismatch, common_grid
from sfumato.sql.functions.table import FUNCTIONS, add_parts, add_spellings

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
