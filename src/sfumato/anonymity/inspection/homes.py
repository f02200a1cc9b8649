"""In which class every original row is: where classes overlap, as far as their sizes tell.

Comes in: for each original row the classes that cover it, and how many rows each class has. Goes out: one class for
each row. Suppressed rows that stand in a release as stars are a class that covers everybody; without this nobody would
be in one class alone, and no order of rows could be seen.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence

NOWHERE = -1
_MOST_EDGES = 2_000_000
"""Pairs of kinds of rows and classes up to which sizes are compared."""


def homes_of(masks: Sequence[int], sizes: Sequence[int]) -> list[int]:
    """The class of each original row, NOWHERE if there is none. `masks` has a bit for each class that covers the row.

    Guarantee: a class with as many rows as original rows that can be its own has all of them, and rows that one class
        covers alone are there. Others go to the class that covers the fewest: a guess, which depends on what rows say
        and not on how they stand, so that tests of their order stay valid.
    Proof: in every assignment of all released rows such a class needs everybody whom it covers, so that they are in no
        other class; without them the same holds of the rest.
    Reference: Hall 1935.
    Checked by: unit::homes_are_those_of_every_assignment, unit::stars_for_suppressed_rows_hide_no_order
    """
    known = Counter(masks)
    if sum(mask.bit_count() for mask in known) > _MOST_EDGES:
        found = {mask: mask.bit_length() - 1 if mask.bit_count() == 1 else NOWHERE for mask in known}
    else:
        found = _settled(known, sizes)
    return [found[mask] for mask in masks]


def _settled(known: Mapping[int, int], sizes: Sequence[int]) -> dict[int, int]:
    classes = {mask: list(places(mask)) for mask in known}
    covering: dict[int, list[int]] = {}
    for mask, inside in classes.items():
        for at in inside:
            covering.setdefault(at, []).append(mask)
    reach = {at: sum(known[mask] for mask in rows) for at, rows in covering.items()}
    fitting, found = dict(reach), dict[int, int]()
    waiting = deque(at for at, many in fitting.items() if many == sizes[at])
    while waiting:
        at = waiting.popleft()
        if fitting[at] != sizes[at]:
            continue  # fewer are left than it has rows: some stand for nobody
        new = [mask for mask in covering[at] if mask not in found]
        found |= dict.fromkeys(new, at)
        for mask, other in [(one, other) for one in new for other in classes[one] if other != at]:
            fitting[other] -= known[mask]
            if fitting[other] == sizes[other]:
                waiting.append(other)
    guessed = {mask: min(inside, key=lambda at: (reach[at], at), default=NOWHERE) for mask, inside in classes.items()}
    return guessed | found


def places(mask: int) -> Iterator[int]:
    """The bits of a mask that are set."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
