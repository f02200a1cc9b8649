"""What several releases of the same people leave together: groups that one release alone does not show.

Comes in: for each person the classes of every release that cover her, and her sensitive value. Goes out: the groups of
people whom no release tells apart, where they are smaller than each release's own. Who is in one release and not in
another is told apart by that too: subtraction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

Mark = tuple[int, ...]


@dataclass(frozen=True)
class JointGroup:
    """People of the same classes in all releases, and their sensitive values."""

    size: int
    values: Counter[str]


def joint_groups(marks: Sequence[Mark], values: Sequence[str]) -> list[JointGroup]:
    """The groups that are smaller than those of every single release; a copy of a release adds none."""
    alone = [Counter(column) for column in zip(*marks, strict=True)]
    groups: dict[Mark, Counter[str]] = {}
    for mark, value in zip(marks, values, strict=True):
        if any(mark):
            groups.setdefault(mark, Counter())[value] += 1
    found = []
    for mark, counts in groups.items():
        least = min(one[mask] for one, mask in zip(alone, mark, strict=True) if mask)
        if counts.total() < least:
            found.append(JointGroup(counts.total(), counts))
    return found
