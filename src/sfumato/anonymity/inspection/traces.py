"""Columns that nobody declared, row numbers above all; and the records of faults and notes.

Comes in: the release, and the original table. Goes out: faults.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sfumato.anonymity.inspection.reading import PublishedTable

_CANONICAL = "--canonical FILE writes the same rows, sorted, as a CSV file that holds nothing else."
_TO_DO = {
    "k": "Generalise more, or suppress the rows of small classes.",
    "l": "Generalise more, or suppress the rows of these classes.",
    "t": "Generalise more, or suppress the rows of these classes.",
    "beta": "Generalise more, or suppress the rows of these classes.",
    "presence": "Generalise more, or suppress the rows of these classes.",
    "coverage": "Compare the label with the original rows; name its hierarchy with --hierarchies if it has one.",
    "label": "Give that label another name in the hierarchy, and make the release again.",
    "dummies": "Publish it only if this version of anonymize made it, or make it again without dummies.",
    "value": "Release sensitive values as the original table has them.",
    "index": "Remove the column.",
    "column": "Remove the column, or name it with --quasi or --keep.",
    "identifier": "Remove the column.",
    "kept": "Remove the column, or name it with --quasi and generalise it too.",
    "composition": "Do not publish this beside the earlier release; release fewer columns, or larger classes.",
    "earlier": "Find the earlier release, or do not publish this one.",
    "order": _CANONICAL,
    "format": _CANONICAL,
    "metadata": _CANONICAL,
}


@dataclass(frozen=True)
class ReleaseFault:
    """What is wrong with a release: of which kind, in which column and row (from 1) if there is one, and in words."""

    kind: str
    words: str
    column: str | None = None
    row: int | None = None

    @property
    def about(self) -> str:
        """Whether it tells something of people, or may be hidden in the bytes of the file."""
        return "file" if self.kind in ("format", "metadata") else "people"

    @property
    def hint(self) -> str:
        """What to do."""
        return _TO_DO[self.kind]

    def to_dict(self) -> dict[str, object]:
        """The fault as one document."""
        return {
            "kind": self.kind,
            "column": self.column,
            "row": self.row,
            "words": self.words,
            "about": self.about,
            "hint": self.hint,
        }


@dataclass(frozen=True)
class ReleaseNote(ReleaseFault):
    """What is not wrong, but cannot be excluded: the file has room for more than its rows, or dummies that tell."""

    @property
    def about(self) -> str:
        """The file, unless it is about dummies."""
        return "people" if self.kind == "dummies" else "file"


def find_columns(release: PublishedTable, raw: PublishedTable, known: Sequence[str]) -> Iterator[ReleaseFault]:
    """Columns that nobody declared: row numbers above all."""
    for name in release.columns:
        if name in known:
            continue
        values = [row[release.columns.index(name)] for row in release.rows]
        numbers = [int(v) for v in values if v.isdecimal()]
        alone = sum(1 for n in Counter(values).values() if n == 1)
        if len(numbers) == len(values) > 0 and alone == len(values):
            inside = all(0 <= number <= len(raw.rows) for number in numbers)
            what = "row numbers of the original table" if inside else "unique numbers"
            yield ReleaseFault("index", f"the column holds {what}: every row is unique", name, 1)
        elif name in raw.columns:
            yield ReleaseFault("column", "an original column is released that was not declared", name, None)
        else:
            yield ReleaseFault("column", f"the column was not declared; {alone} of its values occur once", name, None)
