"""Composite keys: which columns are parts of one, and whether equalities name all parts of one key of two rows.

A tag is `part:["table", ["a", "b"], "a"]@number`: the key, which part of it a column is, and of which rows: the number
of the scan, and of each further use of a WITH query. Parts of two rows are no key: s.ticket = r.ticket AND
t.item = r.item, with two rows s and t, say nothing of whose row r is.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable

from sfumato.algebra.tree import PART


def part_tag(table: str, keys: list[str], key: str, number: int) -> str:
    """The tag of a column that is, or equals, one column of a composite key of a table."""
    return f"{PART}:{json.dumps([table, keys, key])}@{number}"


def of_another_row(tag: str, number: int) -> str:
    """The tag of the same column where the same rows are read once more; columns of two rows stay those of two."""
    return f"{tag}.{number}" if tag.startswith(PART) else tag


def is_part(one: str, other: str) -> bool:
    """Whether two columns are the same part of one key."""
    return one.startswith(PART) and one.rpartition("@")[0] == other.rpartition("@")[0]


def names_a_row(equated: Iterable[tuple[str, str]]) -> bool:
    """Whether pairs of equal parts, each of two sides, name all parts of one key, of one row on each side."""
    found: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for left, right in equated:
        table, keys, key = json.loads(left.removeprefix(f"{PART}:").rpartition("@")[0])
        rows = left.rpartition("@")[2], right.rpartition("@")[2]
        found[json.dumps([table, keys]), *rows].add(key)
    return any(set(json.loads(which)[1]) == parts for (which, _, _), parts in found.items())
