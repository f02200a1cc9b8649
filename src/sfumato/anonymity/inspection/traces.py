"""What a file gives away beside its labels: row numbers, other columns, odd spellings, metadata.

Comes in: the release, and the original table. Goes out: faults.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from sfumato.anonymity.inspection.coverage import Key
from sfumato.anonymity.inspection.reading import PublishedTable


@dataclass(frozen=True)
class ReleaseFault:
    """What is wrong with a release: of which kind, in which column and row (from 1) if there is one, and in words."""

    kind: str
    words: str
    column: str | None = None
    row: int | None = None

    def to_dict(self) -> dict[str, object]:
        """The fault as one document."""
        return {"kind": self.kind, "column": self.column, "row": self.row, "words": self.words}


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


def find_formats(release: PublishedTable, raw: PublishedTable, columns: Key, k: int) -> Iterator[ReleaseFault]:
    """Spellings of one value of which one is rare: it marks its rows, and counts as a value of its own.

    Spellings that the original table has are values of its own: codes 01 and 1.
    """
    for name in columns:
        place = release.columns.index(name)
        counts = Counter(row[place] for row in release.rows)
        original = {*raw.cells(name)}
        forms: dict[str, list[str]] = {}
        for text in counts:
            forms.setdefault(_plain(text), []).append(text)
        for spellings in forms.values():
            if original.issuperset(spellings):
                continue
            rare = min(spellings, key=lambda text: counts[text])
            if len(spellings) > 1 and counts[rare] < max(k, 2):
                row = next(i for i, row in enumerate(release.rows, 1) if row[place] == rare)
                yield ReleaseFault("format", f"{counts[rare]} rows spell a value differently", name, row)


def _plain(text: str) -> str:
    """One spelling for numbers and words that differ in zeros, capitals and blanks alone."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return " ".join(text.casefold().split())
    return str(number.normalize()) if number.is_finite() else text.casefold()


def find_extras(release: PublishedTable) -> Iterator[ReleaseFault]:
    """What the file holds beside the rows."""
    for extra in release.extras:
        yield ReleaseFault("metadata", f"the file also holds {extra}")
