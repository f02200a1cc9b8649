"""Names in a catalog query that stand for each other do not multiply the columns that are typed."""

import tracemalloc

import pytest

from sfumato.sql.catalog.text_types import text_types
from sfumato.sql.catalog.translation import CATALOG

RELATIONS = {(CATALOG, "pg_class"): [("relname", "name"), ("oid", "oid")]}
LINKS = {
    "two sources": "SELECT * FROM q{0} AS a, q{0} AS b",
    "a star twice": "SELECT a.*, a.* FROM q{0} AS a",
}


@pytest.mark.parametrize("form", LINKS)
@pytest.mark.parametrize("last", ["SELECT 1", "SELECT * FROM q20"])
def test_names_that_double_columns_are_given_up(form, last):
    """Unbounded, twenty links are two million columns."""
    links = ", ".join(f"q{i + 1} AS ({LINKS[form].format(i)})" for i in range(20))
    tracemalloc.start()
    try:
        text_types(f"WITH q0 AS (SELECT * FROM pg_class), {links} {last}", RELATIONS)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 20_000_000


def test_a_few_doublings_are_typed():
    text = "WITH q AS (SELECT * FROM pg_class AS a, pg_class AS b) SELECT * FROM q"
    assert len(text_types(text, RELATIONS)) == 4
