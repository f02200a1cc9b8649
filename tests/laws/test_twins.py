"""What is run for a query keeps its price: on small extreme tables and on their neighbours, by the plans of each."""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import product
from typing import Any

import pytest

from sfumato.engines.duckdb import fast_plans, key_sampling, slices
from tests.laws import twins
from tests.laws.mutants import planted
from tests.laws.neighbours import Broken
from tests.laws.shapes import ASKED, BY, MET, POSITIONS, PRIVATE, askings, meetings
from tests.laws.twins import Asked, Twins, row

FORMS = {
    "rows of weight one": (fast_plans, "_plain"),
    "sums at hand": (fast_plans, "_stored"),
    "persons of one group": (fast_plans, "_persons"),
    "rows counted and weighted": (fast_plans, "_by_rows"),
    "rows with stored weights": (fast_plans, "_counted"),
    "keys hashed": (key_sampling, "_hashed"),
    "keys by lot, all rows": (key_sampling, "_all_rows"),
    "keys by lot, some rows": (key_sampling, "_some_rows"),
}
"""Physical plans, and the functions that write them."""
PEOPLE: twins.People = {
    1: {
        "p": [row(1, s="a", o="x", i=4, m=2.0, f=float(twins.FAR))],
        "v": [row(1, s="a", o="x", i=4, m=2.0)] * 5 + [row(1, s="b", o="y", i=0, m=-1.0), row(1, o="q", i=None)],
    },
    2: {"p": [row(2, s="b", o="y", i=3, m=-1.0)], "v": [row(2, s="b", o="y", i=2, m=0.3)]},
    3: {
        "p": [row(3, s="a", o="z", i=4), row(3, s="b", o="w", i=4, m=2.0)],
        "v": [row(3, s="a", o="z", i=4, m=-1.0), row(3, s="a", o=None, i=9, m=9.0)],
    },
}
"""Somebody with many rows, somebody with one, and somebody with two where one is declared: without her p is as it
should be, and other physical plans are run."""
OTHERS: twins.People = {
    1: {"p": [row(1, s="b", o="y", i=0, m=-1.0)], "v": [row(1, s="b", o="z", i=0)] * 3},
    2: {"p": [row(2, s="a", o="x", i=4, m=2.0)], "v": [row(2, s="a", o="x", i=4, m=2.0)] * 9},
    3: {"p": [row(3, s="b", i=4)], "v": []},
}
OPEN = [{"g": 4, "n": "a"}, {"g": 4, "n": "a"}, {"g": 0, "n": "b"}, {"g": 2, "n": "a"}, {"g": None, "n": "x"}]


def world(adjacency: str = "add-remove", rows: int = 2, clipped: bool = True) -> Twins:
    return Twins(twins.policy(adjacency, rows, clipped), PEOPLE, OTHERS, OPEN)


@contextmanager
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Which physical plans are written meanwhile; persons are taken in slices wherever they may be."""
    found: Counter[str] = Counter()
    with monkeypatch.context() as patch:
        patch.setattr(slices, "_LARGE", 0)
        patch.setattr(
            "sfumato.owner.preparation.secrets.token_hex", lambda n: "5a" * n
        )  # one hash key for all neighbours
        for form, (room, name) in FORMS.items():
            patch.setattr(room, name, partial(_counted, found, form, getattr(room, name)))
        yield found


def _counted(found: Counter[str], form: str, write: Any, *args: Any) -> Any:
    text = write(*args)
    found[form] += text is not None
    return text


def matrix(title: str, rows: Iterable[str], columns: Iterable[str], found: Counter[Any]) -> None:
    """Print how many queries each cell has seen."""
    wide = list(columns)
    lines = [f"{title}: {len(wide)} columns: {', '.join(wide)}"]
    lines += [f"{name:>26}" + "".join(f"{found[name, column]:>4}" for column in wide) for name in rows]
    sys.stdout.write("\n" + "\n".join(lines) + "\n")


ONE_ROW = {"total", "one row", "constant", "release, total", "release, limited"}
UNTIED = {"join on a number", "join on an order", "left join", "left join of all", "cross join", "public first"}
UNTIED |= {"below distinct", "below a window"}
FREE = {"constant", "empty sets, limited", "release, total", "release, two empty sets"}
REFUSED = (
    {(kind, "value of a row") for kind in MET if kind not in ONE_ROW}
    | {(kind, position) for kind in ("release, open", "release, grouped again") for position in UNTIED}
    | {(kind, "value about the row") for kind in FREE}
)
"""A sub-query for a value must have one row; how many open keys there will be is not known, so they are joined by their
keys; and a value about the row around it is tied to it by a key of a table."""


def run(asked: list[Asked], tables: Twins, found: Counter[Any], **how: Any) -> list[Any]:
    """The parts of their prices that these queries show; the cells of those that are answered are counted."""
    shown = []
    for query, part in twins.check(tables, asked, **how):
        found.update(query.of)
        shown.append(part)
    return shown


def met(queries: list[Asked], monkeypatch: pytest.MonkeyPatch, **how: Any) -> None:
    """Every cell of these queries but those that are refused is met, and some query spends all of its price."""
    cells: Counter[Any] = Counter()
    wanted = {query.of[0] for query in queries} - REFUSED
    with seen(monkeypatch) as forms:
        shown = run(queries, world(), cells, steps=(1, 3), **how)
        # what a query asks may be free where it stands: such a cell is asked something else
        missed = [query for query in meetings(99) if query.of[0] in wanted and not cells[query.of[0]]]
        shown += run(missed, world(), cells, steps=(1, 3), **how) if missed else []
    matrix("public and released relations that rows of persons meet", MET, POSITIONS, cells)
    sys.stdout.write(f"{dict(forms)}\n")
    assert {cell for cell in product(MET, POSITIONS) if cells[cell]} == wanted
    assert max(shown) == 1


def test_relations_keep_their_price_in_their_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample: every 23rd query of all kinds of relations in all positions."""
    met(list(meetings())[::23], monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(int(os.environ.get("SFUMATO_SEEDS", "2"))))
def test_every_relation_keeps_its_price_in_every_position(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Public and released relations of all kinds, wherever rows of either table meet them: no cell is empty."""
    queries = list(meetings(seed))
    assert {query.of[0] for query in queries} == set(product(MET, POSITIONS))
    met(queries, monkeypatch, prepared=bool(seed % 2))


def asked_of(monkeypatch: pytest.MonkeyPatch, every: int) -> None:
    """Private relations, aggregates and groupings; with prepared rows and without, under either adjacency."""
    cells: Counter[Any] = Counter()
    lists = [list(askings(seed))[::every] for seed in range(3)]
    with seen(monkeypatch) as forms:
        shown = run(lists[0], world(), cells, steps=(1, 3))
        shown += run(lists[1], world(), cells, prepared=True, steps=(1, 3))
        shown += run(lists[2][::2], world("replace", 1), cells)
    matrix("what is asked of private relations", PRIVATE, [*ASKED, *BY], cells)
    sys.stdout.write(f"{dict(forms)}\n")
    wanted = {query.of[0] for query in lists[0]}
    assert {cell for cell in wanted if not cells[cell]} == set()
    assert every > 1 or [form for form in FORMS if not forms[form]] == []
    assert max(shown) == 1


def test_what_is_asked_of_a_relation_keeps_its_price(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample: every eleventh query."""
    asked_of(monkeypatch, 11)


@pytest.mark.slow
def test_everything_that_is_asked_of_a_relation_keeps_its_price(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every aggregate and every grouping of every private relation: no cell is empty, and no physical plan unused."""
    assert {query.of[0] for query in askings()} == set(product(PRIVATE, [*ASKED, *BY]))
    asked_of(monkeypatch, 1)


@pytest.mark.slow
def test_what_is_run_keeps_its_price_on_many_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random tables, and queries of every shape over them: two hundred worlds, or as many as SFUMATO_SEEDS says."""
    everything = [*meetings(7), *askings(7)]
    cells: Counter[Any] = Counter()
    with seen(monkeypatch):
        for seed in range(int(os.environ.get("SFUMATO_SEEDS", "200"))):
            r = random.Random(seed)
            run(r.sample(everything, 40), twins.twins(r), cells, prepared=r.random() < 0.3)
    assert len(cells) > 800


ALONE = Twins(
    twins.policy("replace", 2),
    {1: {"p": [row(1, s="a", f=float(twins.FAR))], "v": []}},
    {1: {"p": [row(1, s="b", i=4)], "v": []}},
    [{"g": twins.FAR, "n": "a"}, {"g": twins.FAR + 1, "n": "b"}],
)
"""One person with one row in p, who meets two public rows that are one double; and who might have had another."""
APART = "SELECT COUNT(*) FILTER (WHERE p.s = 'a'), COUNT(*) FILTER (WHERE p.s = 'b'), MEDIAN(p.i) FROM p"
SETS = "(SELECT 1 AS a GROUP BY GROUPING SETS ((), ()) LIMIT 2) AS r"
CONCLUDED = (
    ("relations", "None if any(sets) else max(1, len(sets))", "None if keys else 1"),
    ("sources", "rows=kept.rows", "rows=shape.rows"),
    ("joins", "counted = not releases_in(right)", "counted = False"),
    ("engines.duckdb.row_counts", "and _meets_one(relation, known)", "and relation.person_rows == 1"),
)
"""How many rows a grouped relation has was concluded, and believed by the plan that is run."""
EITHER = "p JOIN (SELECT u FROM p UNION SELECT u FROM v) AS t ON p.u = t.u"
FAULTS: dict[str, tuple[Any, ...]] = {
    "filters that share a price are paid for alone": (
        APART, ("releases", "single = self.together ==", "single = self.entries =="),
    ),
    "a double meets what it equals once": (
        "SELECT COUNT(*) FROM p JOIN y ON p.f = y.g",
        ("equalities", 'call("cast", (mine,), DOUBLE) if lossy else mine', "mine"),
        ("engines.duckdb.row_counts", "if mine.facts.kind != DOUBLE", ""),
    ),
    "grouping sets are one row": (f"SELECT COUNT(*) FROM p CROSS JOIN {SETS}", *CONCLUDED),
    "and in open keys": (f"SELECT o, COUNT(*) FROM p CROSS JOIN {SETS} GROUP BY o", *CONCLUDED),
    "and in a median": (f"SELECT MEDIAN(i) FROM p CROSS JOIN {SETS}", *CONCLUDED),
    "and over a release": (
        "SELECT COUNT(*) FROM p LEFT JOIN (SELECT COUNT(*) AS c FROM p GROUP BY GROUPING SETS ((), ())) AS r ON TRUE",
        ("relations", "rows = None if None in sizes else len(sets) *", "rows = None if None in sizes else"),
        ("engines.duckdb.row_counts", "return known.sizes.get(right.number, 2) <= 1", "return join.person_rows == 1"),
    ),
    "a clip is forgotten": (
        "SELECT SUM(i) FROM p",
        ("engines.duckdb.fast_plans", "writer.limits.alone and writer.clip is None and", "writer.limits.alone and"),
    ),
    "rows are weighed by what the policy says": (
        "SELECT COUNT(*) FROM p",
        ("engines.duckdb.row_counts", "relation.table.name in known.unique", "relation.table.rows_per_unit == 1"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_what_is_run_are_caught(fault: str) -> None:
    """Each fault breaks the price on the query that is named; without it the query keeps it."""
    text, *faults = FAULTS[fault]

    def checked(*how: Any) -> list[Any]:
        return [found for tables in (ALONE, world()) for found in twins.check(tables, [Asked(text)], *how)]

    assert checked()
    with planted(*faults) as faulty, pytest.raises(Broken, match=r"a neighbour shows|people under|another function"):
        checked(faulty)
