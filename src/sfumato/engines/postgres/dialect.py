"""What stands in a SELECT of PostgreSQL's."""

from __future__ import annotations

from sfumato.engines.postgres import per_unit
from sfumato.engines.postgres.expressions import alike, expression, represented, truth
from sfumato.engines.postgres.scans import enforced
from sfumato.engines.postgres.source import Tables
from sfumato.engines.postgres.spelling import identifier, literal, null, number, text, type_of
from sfumato.engines.remote.selects import SelectDialect, SelectWriter

POSTGRES = SelectDialect(
    name="PostgreSQL",
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
    is_in=lambda operand, value, rows: f"({operand} IN (SELECT {value} {rows}))",
    smallest=lambda column, kind: f"{'bool_and' if kind == 'boolean' else 'MIN'}({column})",
    aggregate=per_unit.aggregate,
    window=per_unit.window,
    whole=lambda number, kind: f"({number})::{kind}",
)


def writer(tables: Tables) -> SelectWriter:
    """Writes SELECTs over the tables of a server."""
    return SelectWriter(POSTGRES, tables)
