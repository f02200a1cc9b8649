"""Rows that the owner prepared: a DuckDB file in the state directory, read in place instead of loading the source.

Comes in: a policy. Goes out: what the file holds, or None. It holds every protected table as its scan gives it (domains
enforced, persons attached), clustered by person, and what `prepared_tables` stores beside it. It chooses the physical
plan and nothing else (semantics 1.4): it is used only for the policy, the data version and the very files that it was
made from; for anything else the source is read as if it were not there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from sfumato.engines.base import OPERATOR
from sfumato.engines.duckdb.stamp import stamp
from sfumato.policy import Policy
from sfumato.types import identifier, string

FILE = "prepared.duckdb"
HOME = identifier("#prepared")
"""The name under which the file is attached, and that of the table in it which holds its record."""
_FORMAT = 3
"""What prepared files hold. Those of format 2 may hold the rows of a person many times: see decision 089."""


@dataclass(frozen=True)
class PreparedFile:
    """A file of prepared rows: the source's types, the scan that each table was stored by, where nobody has two rows,
    how many persons there are, the names of what else is stored, and the hash key by which open keys have their order.
    """

    place: Path
    schemas: dict[str, dict[str, str]]
    scans: dict[str, str]
    unique: frozenset[str]
    people: int
    names: dict[str, tuple[str, ...]]
    salt: str = field(repr=False)

    def record(self, policy: Policy, version: str, source: str) -> str:
        """What the file says of itself."""
        tables = {"schemas": self.schemas, "scans": self.scans, "unique": sorted(self.unique), "names": self.names}
        return json.dumps({**_identity(policy, version, source), **tables, "people": self.people, "salt": self.salt})


def place_of(policy: Policy) -> Path:
    """Where the prepared rows of a policy lie."""
    return Path(policy.data.state) / FILE


def look(policy: Policy, version: str) -> PreparedFile | None:
    """The prepared rows of this policy, this data version and these files as they are now; None where there are none.

    Guarantee: what is returned was written from the files that the policy names in the state in which they are, under a
        policy that means the same. The caller still compares the scans with her own.
    Proof: the record is compared with the digest of the policy, the version and the stamp of the files; it was written
        after the last row, and the file took its name when it was whole (`owner.preparation`).
    Reference: semantics 1.4.
    Checked by: end_to_end::prepared_rows_of_changed_files_are_not_used,
        end_to_end::prepared_rows_of_another_policy_are_not_used
    """
    place = place_of(policy)
    if policy.path is None or not place.is_file():
        return None
    try:
        found = _read(place)
        wanted = _identity(policy, version, stamp(policy))
        if wanted["source"] is not None and {key: found.get(key) for key in wanted} == wanted:
            names = {name: tuple(listed) for name, listed in found["names"].items()}
            unique, people = frozenset(found["unique"]), int(found["people"])
            return PreparedFile(place, found["schemas"], found["scans"], unique, people, names, found["salt"])
    except (duckdb.Error, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        OPERATOR.warning("prepared rows cannot be read: %s", error)
        return None
    OPERATOR.warning("prepared rows are of another policy, version or state of the files: the source is read instead")
    return None


def _identity(policy: Policy, version: str, source: str | None) -> dict[str, Any]:
    return {
        "format": _FORMAT,
        "engine": duckdb.__version__,
        "digest": policy.digest,
        "version": version,
        "source": source,
    }


def _read(place: Path) -> dict[str, Any]:
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"ATTACH {string(str(place))} AS {HOME} (READ_ONLY)")
        rows = connection.execute(f"SELECT record FROM {HOME}.{HOME}").fetchall()
    return dict(json.loads(rows[0][0]))
