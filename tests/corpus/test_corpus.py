"""The SQL that people and tools write, held against plain DuckDB with a huge epsilon: right, refused, or wrong."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

import sfumato
from tests.corpus import tables
from tests.corpus.judging import OURS, PRIVATE, RIGHT, WRONG, cases, judge

MOST_REFUSED = 10
"""Statements of the corpus that we refuse though privacy would allow an answer."""


def test_the_statements_of_people_and_tools() -> None:
    """No answer is wrong, nothing private is answered, and few statements are refused without need."""
    counts, told = Counter[tuple[str, str]](), []
    with tempfile.TemporaryDirectory() as place, tables.plain() as plain:
        policy = tables.write(plain, Path(place))
        with sfumato.open(policy) as gateway:
            for case in cases():
                verdict, why = judge(case, gateway, plain)
                counts[case.corpus, verdict] += 1
                if verdict in (OURS, WRONG):
                    told.append((verdict, f"{case.corpus} {case.number}: {why}"))
    for (corpus, verdict), count in sorted(counts.items()):
        sys.stdout.write(f"{corpus:10} {verdict:22} {count}\n")
    sys.stdout.write("".join(f"{verdict}: {line}\n" for verdict, line in told))
    total = Counter[str]()
    for (_, verdict), count in counts.items():
        total[verdict] += count
    assert total[WRONG] == 0, told
    assert total[OURS] <= MOST_REFUSED, told
    assert total[RIGHT] >= 405
    assert total[PRIVATE] >= 10
