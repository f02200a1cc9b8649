"""Reports over the units of one table, as Spark's SQL: histograms of what units have, and a column's elements.

Comes in: a Histogram or Elements. Goes out: one statement over the table's own scan. Their guarantees stand with those
records (`algebra/unit_histogram.py`, `algebra/column_elements.py`).
"""

from __future__ import annotations

from sfumato.algebra.column_elements import Elements
from sfumato.algebra.tree import BOOLEAN
from sfumato.algebra.unit_histogram import Histogram
from sfumato.engines.spark.dialect import writer
from sfumato.engines.spark.jobs import SparkStatement
from sfumato.engines.spark.source import SparkTables
from sfumato.engines.spark.spelling import WIDE, absolute, identifier


def histogram_of(of: Histogram, tables: SparkTables) -> SparkStatement:
    """Buckets, and the number of units in each; a bucket without units is left out."""
    read = [] if of.column is None else [of.column.name]
    measure = "COUNT(*)"
    if of.column is not None:
        measure = f"COALESCE(SUM({absolute(f'CAST({identifier(of.column.name)} AS {WIDE})')}), 0)"
    arms = " ".join(f"WHEN m <= {1 << k} THEN {k}" for k in range(of.buckets - 1))
    persons = f"SELECT _u, {measure} AS m FROM ({writer(tables).select(of.scan, read)}) AS q GROUP BY _u"
    placed = f"SELECT CASE {arms} ELSE {of.buckets - 1} END AS b FROM ({persons}) AS p"
    return SparkStatement(f"SELECT b, COUNT(*) AS n FROM ({placed}) AS h GROUP BY b", (), ("BIGINT",))


def elements_of(of: Elements, tables: SparkTables) -> SparkStatement:
    """Values in steps of their grid, and how often each occurs."""
    name = identifier(of.column.name)
    value = f"CAST({name} AS {'INT' if of.column.facts.kind == BOOLEAN else WIDE})"
    inner = writer(tables).select(of.scan, [of.column.name])
    rows = f"SELECT {value} AS v, COUNT(*) OVER (PARTITION BY _u) AS n FROM ({inner}) AS q"
    text = f"SELECT v, COUNT(*) AS n FROM ({rows}) AS r WHERE n <= {of.most} AND v IS NOT NULL GROUP BY v"
    return SparkStatement(text, (), ())
