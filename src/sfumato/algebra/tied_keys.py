"""Groups that public rows rule out: conditions that tie keys to each other, or to columns of public tables beside them.

Comes in: keys, and the conditions that hold of every row. Goes out: for sets of keys more columns of public tables, so
that conditions about keys and these columns can be asked. `r_name = 'ASIA'` leaves five nations of twenty-five.

Guarantee: no group that a row can have is left out.
Proof: a row that reaches the release fulfils all of the conditions; its columns of a public table are those of a row of
    that table, or NULL where an outer join found none, and both are among the combinations that are tried. Which groups
    there are is a function of the question, the policy and public rows, so privacy does not depend on it, but for
    the cells of a partition: a group that were left out wrongly would be a cell that is not charged.
Reference: semantics 3.6a.
Checked by: unit::public_joins_leave_out_groups
"""

from __future__ import annotations

from collections.abc import Callable

from sfumato.algebra.tree import Column, Node, columns_of

MOST_TRIED = 100_000
"""Combinations that are gone through to leave groups out; beyond them all groups stay."""


def tied(
    used: dict[str, Column],
    known: list[Node],
    home: Callable[[Column], int | None],
    count: Callable[[dict[str, Column]], int],
) -> dict[str, Column]:
    """The columns of keys, and those of public tables that conditions tie to them: not more than can be gone through.

    `home` numbers the public table of a column, and `count` says how many combinations columns have.
    """
    found = dict(used)
    waiting = [part for part in known if columns_of(part)]
    grown = True
    while grown:
        grown = False
        tables = {home(column) for column in found.values()} - {None}
        for part in list(waiting):
            columns = columns_of(part)
            touches = any(name in found or home(column) in tables for name, column in columns.items())
            public = all(name in found or home(column) is not None for name, column in columns.items())
            if not touches or not public:
                continue
            waiting.remove(part)
            more = found | columns
            if len(more) > len(found) and count(more) <= MOST_TRIED:
                found, grown = more, True
    return found


def clusters(parts: list[tuple[list[int], set[str]]], known: list[set[str]]) -> list[list[int]]:
    """Sets of keys that conditions tie to each other, each as the numbers of its keys: `parts` are keys and what they
    read, `known` what each condition reads.
    """
    joined = [(list(indices), set(reads)) for indices, reads in parts]
    for reads in known:
        met = [one for one in joined if one[1] & reads]
        if len(met) > 1 and reads <= set().union(*(one[1] for one in met)):
            joined = [one for one in joined if one not in met]
            joined.append(([i for one in met for i in one[0]], set().union(*(one[1] for one in met))))
    return [sorted(indices) for indices, _ in joined if len(indices) > 1]
