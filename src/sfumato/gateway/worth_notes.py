"""What is said of numbers whose intervals say nothing, or are missing: one note for each column, at every interface.

Comes in: the columns of an answer, and what their numbers are worth. Goes out: notes, each with the rows that it is
about. They are computed from released numbers, as intervals are, and only where somebody looks at these.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from sfumato.gateway.shown_intervals import NumberWorth

if TYPE_CHECKING:
    from sfumato.gateway.answer import Answer

NO_VALUE = "NULL means that no value can be given"
UNKNOWN_WHY = "the noise is too large to rule out any possible value"
UNKNOWN_HELP = "use a larger epsilon, or larger groups"
BARE_WHY = "the noise decides which values it is computed from"
_FEW = 6
"""Stretches of rows that a note names."""


def all_notes(answer: Answer, worth: Sequence[Sequence[NumberWorth]]) -> list[tuple[str | None, str]]:
    """The notes of an answer, and those on what the numbers of its first rows are worth.

    A number that is unknown is said to be that, and not once more that it is NULL.
    """
    unknown = {
        name
        for column, name in enumerate(answer.columns)
        if any(told[column].unknown for told in worth)
        and all(told[column].unknown for row, told in zip(answer.rows, worth, strict=False) if row[column] is None)
    }
    kept = [note for note in answer.notes if note[0] not in unknown or not note[1].startswith(NO_VALUE)]
    return [*kept, *notes_on_worth(answer.columns, worth)]


def notes_on_worth(columns: Sequence[str], worth: Sequence[Sequence[NumberWorth]]) -> list[tuple[str | None, str]]:
    """Of each column, in which rows its numbers are unknown, and in which they have no interval although noisy.

    >>> notes_on_worth(["a"], [[NumberWorth()], [NumberWorth(bare=True)], [NumberWorth(bare=True)]])
    [('a', 'no interval (rows 2 to 3): the noise decides which values it is computed from')]
    """
    notes: list[tuple[str | None, str]] = []
    for column, name in enumerate(columns):
        unknown = [i for i, row in enumerate(worth) if row[column].unknown]
        bare = [i for i, row in enumerate(worth) if row[column].bare]
        if unknown:
            notes.append((name, f"unknown: {UNKNOWN_WHY}{_rows(unknown, len(worth))}; {UNKNOWN_HELP}"))
        if bare:
            notes.append((name, f"no interval{_rows(bare, len(worth))}: {BARE_WHY}"))
    return notes


def _rows(places: list[int], count: int) -> str:
    """Which rows a note is about; nothing where it is about all of them."""
    if len(places) == count:
        return ""
    runs = [[place for _, place in run] for _, run in groupby(enumerate(places), lambda pair: pair[1] - pair[0])]
    words = [f"{run[0] + 1}" if len(run) == 1 else f"{run[0] + 1} to {run[-1] + 1}" for run in runs]
    if len(words) > _FEW:
        return f" ({len(places):,} of {count:,} rows)"
    return f" (row{'' if len(places) == 1 else 's'} {', '.join(words)})"
