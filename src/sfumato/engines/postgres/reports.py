"""Reports over the units of one table, as PostgreSQL's SQL: histograms of what units have, and a column's elements.

Comes in: a Histogram or Elements. Goes out: one SELECT over the table's own scan. Their guarantees stand with those
records (`algebra/unit_histogram.py`, `algebra/column_elements.py`).
"""

from __future__ import annotations

from sfumato.algebra.column_elements import Elements
from sfumato.algebra.tree import BOOLEAN
from sfumato.algebra.unit_histogram import Histogram
from sfumato.engines.postgres.dialect import writer
from sfumato.engines.postgres.source import Tables
from sfumato.engines.postgres.spelling import identifier


def histogram_sql(of: Histogram, tables: Tables) -> str:
    """Buckets, and the number of units in each; a bucket without units is left out."""
    read = [] if of.column is None else [of.column.name]
    measure = "COUNT(*)"
    if of.column is not None:
        measure = f"COALESCE(SUM(abs({identifier(of.column.name)}::numeric)), 0)"
    arms = " ".join(f"WHEN m <= {1 << k} THEN {k}" for k in range(of.buckets - 1))
    persons = f"SELECT _u, {measure} AS m FROM ({writer(tables).select(of.scan, read)}) AS q GROUP BY _u"
    placed = f"SELECT CASE {arms} ELSE {of.buckets - 1} END AS b FROM ({persons}) AS p"
    return f"SELECT b, COUNT(*) FROM ({placed}) AS h GROUP BY b"


def elements_sql(of: Elements, tables: Tables) -> str:
    """Values in steps of their grid, and how often each occurs."""
    name = identifier(of.column.name)
    value = f"{name}::{'int' if of.column.facts.kind == BOOLEAN else 'numeric'}"
    inner = writer(tables).select(of.scan, [of.column.name])
    rows = f"SELECT {value} AS v, COUNT(*) OVER (PARTITION BY _u) AS n FROM ({inner}) AS q"
    return f"SELECT v, COUNT(*) FROM ({rows}) AS r WHERE n <= {of.most} AND v IS NOT NULL GROUP BY v"
