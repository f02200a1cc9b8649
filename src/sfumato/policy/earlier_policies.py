"""A policy of earlier, read back from the canonical JSON that its digest is the hash of.

Comes in: that text, and the policy of now, which says where the rows are. Goes out: the policy of then; or a
PolicyError where it does not have the digest of its text, so that what was read wrongly is never used.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from hashlib import sha256
from typing import Any, Literal

from sfumato.errors import PolicyError
from sfumato.policy.records import Bound, DeclaredPoint, Policy, PolicyColumn, Table, UnitJoin, digest_of
from sfumato.types import Adjacency

_MOMENTS: dict[str, type[date]] = {"date": date, "timestamp": datetime}


def read_earlier(document: str, now: Policy) -> Policy:
    """The policy that a canonical text says, with the source, the budgets and the files of the policy of now."""
    try:
        read = json.loads(document)
        meant = read["privacy"]
        partition = None if meant["partition"] is None else (str(meant["partition"][0]), str(meant["partition"][1]))
        privacy = replace(now.privacy, adjacency=Adjacency(meant["adjacency"]), partition=partition)
        data = replace(now.data, id=str(read["id"]))
        tables = {str(name): _table(parts) for name, parts in read["tables"].items()}
        digest = digest_of(data, privacy, tables)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise PolicyError("the text of an earlier policy cannot be read") from error
    if digest != sha256(document.encode()).hexdigest():
        raise PolicyError("the text of an earlier policy is not what this version would write")
    return replace(now, data=data, privacy=privacy, tables=tables, digest=digest)


def _table(parts: Mapping[str, Any]) -> Table:
    read = {
        "unit": _unit(parts["unit"]),
        "l2_per_unit": _number(parts["l2_per_unit"]),
        "sum_per_unit": {name: _number(bound) for name, bound in parts["sum_per_unit"].items()},
        "columns": {name: _column(column) for name, column in parts["columns"].items()},
        "points": {
            name: DeclaredPoint(**{**point, "grid": Fraction(point["grid"])})
            for name, point in parts.get("points", {}).items()
        },
    }
    return Table(**{**parts, **read})


def _unit(unit: Any) -> str | UnitJoin | None:
    if not isinstance(unit, dict):
        return None if unit is None else str(unit)
    return UnitJoin(**{**unit, "more": tuple((str(a), str(b)) for a, b in unit.get("more", ()))})


def _column(parts: Mapping[str, Any]) -> PolicyColumn:
    kind = parts["type"]
    read = {
        "low": _bound(parts["low"], kind),
        "high": _bound(parts["high"], kind),
        "grid": None if parts["grid"] is None else Fraction(parts["grid"]),
        "values": None if parts["values"] is None else tuple(parts["values"]),
    }
    return PolicyColumn(**{**parts, **read})


def _bound(written: Any, kind: str | None) -> Bound | None:
    if written is None or isinstance(written, int):
        return written
    moment = _MOMENTS.get(kind or "")
    return Fraction(written) if moment is None else moment.fromisoformat(written)


def _number(written: Any) -> Fraction | Literal["auto"]:
    return "auto" if written == "auto" else Fraction(written)
