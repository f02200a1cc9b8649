"""What stands in a SELECT of Spark's."""

from __future__ import annotations

from sfumato.engines.remote.selects import SelectDialect, SelectWriter
from sfumato.engines.spark import per_unit
from sfumato.engines.spark.expressions import alike, expression, represented, truth
from sfumato.engines.spark.scans import enforced
from sfumato.engines.spark.source import SparkTables
from sfumato.engines.spark.spelling import identifier, literal, null, number, text, type_of


def _is_in(operand: str, value: str, rows: str) -> str:
    """IN over rows that are correlated: one EXISTS where it is found, one where it is unknown."""
    found = f"EXISTS (SELECT 1 {rows} AND {operand} = {value})"
    unknown = f"EXISTS (SELECT 1 {rows} AND ({operand} IS NULL OR {value} IS NULL))"
    return f"CASE WHEN {found} THEN TRUE WHEN {unknown} THEN NULL ELSE FALSE END"


SPARK = SelectDialect(
    name="Spark",
    identifier=identifier,
    type_of=type_of,
    null=null,
    text=text,
    literal=literal,
    number=number,
    expression=expression,
    truth=truth,
    alike=alike,
    represented=represented,
    enforced=enforced,
    is_in=_is_in,
    smallest=lambda column, _: f"MIN({column})",
    aggregate=per_unit.aggregate,
    window=per_unit.window,
    whole=lambda number, kind: f"CAST({number} AS {kind})",
    handed_hint="/*+ BROADCAST(h) */ ",
)
"""The driver sends the rows that a statement is handed to every worker once."""


def writer(tables: SparkTables) -> SelectWriter:
    """Writes SELECTs over the tables of a session."""
    return SelectWriter(SPARK, tables)
