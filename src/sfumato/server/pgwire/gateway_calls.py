"""What the protocol asks for, as calls of the gateway; answers become rows and notices.

Comes in: Work and who asks. Goes out: a Result, or one of the house's errors. It runs in a thread; only ANSWER spends.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from datetime import date
from decimal import ROUND_UP, Decimal
from fractions import Fraction
from functools import partial
from typing import Any

from rich.console import Console

from sfumato.engines.duckdb.fetching import CELL, size_of
from sfumato.errors import QueryError, SfumatoError
from sfumato.gateway import Answer, Gateway, Preview, Query
from sfumato.gateway.answer import width_of
from sfumato.gateway.rounding import width as rounded_width
from sfumato.interrupts import FINISHING, planning, who
from sfumato.recent import Recent
from sfumato.server.answer_tables import answer_lines, print_preview
from sfumato.server.audit_log import Journal
from sfumato.server.audited_query import ask, recall
from sfumato.server.pgwire.catalog import Catalog
from sfumato.server.pgwire.catalog_process import CatalogProcesses
from sfumato.server.pgwire.results import BUDGET_FIELDS, PLAN_FIELDS, Field, Result, WireTask, Work
from sfumato.server.pgwire.statement_kinds import KEPT, remembered
from sfumato.server.users import AUDITOR, OWNER, User, check_may_ask
from sfumato.sql.catalog.queries import configured
from sfumato.sql.catalog.tableless import computes_alone
from sfumato.sql.read.lexer import without_schema
from sfumato.types import show

_SMALLEST = Decimal("1e-15")
_MOST_CATALOG = 32_768
"""Characters of a catalog query: no tool writes more."""
_MANY = 200
"""Noisy numbers of an answer from which on their intervals are worked out only if somebody asks for them."""
_ROOM = 32 * 2**20
"""Bytes of results that are kept at most, of each kind."""


class Desk:
    """The gateway, as the protocol sees it."""

    def __init__(self, gateway: Gateway, journal: Journal) -> None:
        self._gateway, self._journal = gateway, journal
        self._catalog, self._processes = Catalog(gateway.policy), CatalogProcesses(gateway.policy)
        self._bare = remembered(partial(without_schema, database=gateway.policy.data.id))
        self._alone = remembered(self._is_alone)
        self._found: Recent[Result] = Recent(_ROOM)
        self._looked: Recent[tuple[Field, ...]] = Recent(_ROOM)
        self._made: Recent[_Made] = Recent(_ROOM)

    def close(self) -> None:
        """Let go of the catalog; the gateway is somebody else's."""
        self._processes.close()
        self._catalog.close()

    def stop(self) -> None:
        """End the catalog queries that run: the server shuts down."""
        self._processes.stop()

    def columns(self) -> dict[str, str]:
        """The types of column names that mean one thing in all tables, for parameters."""
        words = {"integer": "bigint", "decimal": "numeric", "double": "numeric"}
        found: dict[str, set[str]] = {}
        for table in self._gateway.policy.tables.values():
            for column in table.columns.values():
                kind = column.type or "text"
                found.setdefault(column.name.lower(), set()).add(words.get(kind, kind))
        return {name: kinds.pop() for name, kinds in found.items() if len(kinds) == 1}

    def recall(self, work: Work, user: User) -> Any:
        """What `do` would say, if that is at hand without work and without spending; else None."""
        if work.task in (WireTask.ANSWER, WireTask.LOOK):
            found = self._found.get((work.sql, user.name)) or self._found.get((work.sql, user.name, work.settings))
            if found is not None:
                return found if work.task is WireTask.ANSWER else found.fields
        if work.task is WireTask.LOOK and user.role != AUDITOR:
            return self._looked.get((work.sql, work.options))
        if work.task is not WireTask.ANSWER or self._made.get((work.sql, work.options)) is None:
            return None
        if len(work.sql) > KEPT:  # reading it again takes too long to be done between other clients' messages
            return None
        answer = recall(self._gateway, self._journal, user, work.options.query(self._bare(work.sql)))
        return None if answer is None else self._made_of(answer, work)

    def do(self, work: Work, user: User) -> Any:
        """What the protocol asks for; every error is one of the house's."""
        if work.task is WireTask.BUDGET:
            return self._budget(user)
        with planning():
            if work.compute is not None:
                return work.compute()
            short = len(work.sql) <= _MOST_CATALOG and not self._alone(work.sql)
            about = self._catalog.question(work.sql) if short else None
            bare = work.sql if about is not None else self._bare(work.sql)
        if about is not None:
            return self._look_up(about, work, user)
        query = work.options.query(bare)
        if work.task is WireTask.ANSWER:
            answer = ask(self._gateway, self._journal, user, query)
            with FINISHING.of(who()):
                return self._made_of(answer, work)
        check_may_ask(user)
        with planning():
            return self._preview(query, work, user)

    def _is_alone(self, text: str) -> bool:
        """Whether the gateway computes a query without tables.

        Its clock is the day, so that a clock is the catalog's, except in functions that the catalog does not know.
        """
        alone = computes_alone(text, self._gateway.policy)
        if not alone or not self._catalog.is_moving(text):
            return alone
        try:
            return self._catalog.question(text) is None
        except QueryError:
            return True

    def _preview(self, query: Query, work: Work, user: User) -> Any:
        preview = self._gateway.preview(query, user.asks_as)
        if preview.refused is not None and not preview.columns:
            raise preview.refused
        if work.task is WireTask.PREVIEW:
            return _plan(preview)
        fields = self._typed(_fields(preview, work.options.intervals), work.sql)
        self._looked.put((work.sql, work.options), fields)
        return fields

    def _look_up(self, about: str, work: Work, user: User) -> Any:
        """A question about the catalog: free, and not worth a line in the audit log."""
        if work.task is WireTask.PREVIEW:
            return Result(PLAN_FIELDS, [("reads the catalog alone: exact and free",)], "EXPLAIN")
        result = self._processes.run(about, user.name, work.settings)
        result.fields = None if result.fields is None else self._typed(result.fields, work.sql)
        if "set_config" in about.lower():
            result.sets = configured(work.sql)
        if not self._catalog.is_moving(about):
            more = (work.settings,) if self._catalog.reads_settings(about) else ()
            self._found.put((work.sql, user.name, *more), result, result.size)
        return result.fields if work.task is WireTask.LOOK else result

    def _typed(self, fields: tuple[Field, ...], text: str) -> tuple[Field, ...]:
        """The columns, with name, "char" and varchar where PostgreSQL has them: everything else calls them text."""
        low = text.lower() if len(text) <= _MOST_CATALOG else ""
        if not any(word in low for word in ("char", "name", "pg_", "information_schema", "array_agg")):
            return fields
        kinds = self._catalog.texts(text)[: len(fields)]
        found = zip(fields, (*kinds, *(None,) * (len(fields) - len(kinds))), strict=True)
        return tuple(
            Field(field.name, kind)
            if kind is not None
            and (field.type == "timestamp") == (kind == "timestamptz")
            and field.type in ("text", "text[]", "timestamp")
            else field
            for field, kind in found
        )

    def _made_of(self, answer: Answer, work: Work) -> Result:
        """An answer as rows and a notice; what was made of it before is used again."""
        key = (work.sql, work.options)
        made = self._made.get(key)
        if made is not None and made.answer.is_again(answer):
            if (made.answer.cost, made.answer.remaining) == (answer.cost, answer.remaining):
                return made.result
            first = replace(made.result, notices=[("NOTICE", _noticed(answer, made.widths))])
            made = _Made(answer, first, made.widths)
        else:
            made = _make(answer, work.options.intervals)
            if made.result.fields is not None:
                made.result.fields = self._typed(made.result.fields, work.sql)
        self._made.put(key, made, made.result.size)
        return made.result

    def _budget(self, user: User) -> Result:
        standing = self._gateway.budget(None if user.asks_as == OWNER or user.role == "auditor" else user.name)
        amounts = (("total", standing.total), ("spent", standing.spent), ("remaining", standing.remaining))
        rows = [
            (name, *(_decimal(value, up=name == "spent") for value in (loss.epsilon, loss.rho, loss.delta)))
            for name, loss in amounts
        ]
        return Result(BUDGET_FIELDS, rows, "SHOW")


def _decimal(value: Fraction | None, *, up: bool) -> Decimal | None:
    """An amount of budget, never better than it is."""
    if value is None:
        return None
    scaled = value / Fraction(_SMALLEST)
    whole = -(-scaled // 1) if up else scaled // 1
    return (Decimal(int(whole)) * _SMALLEST).normalize() + 0


def _fields(preview: Preview, intervals: bool) -> tuple[Field, ...]:
    return _beside([(c.name, c.type, c.noisy) for c in preview.columns], intervals)


def _beside(columns: list[tuple[str, str, bool]], intervals: bool) -> tuple[Field, ...]:
    """The columns; then, if it is asked for, the ends of the interval of each noisy one.

    They stand at the end of the row: tools name columns by their place.
    """
    ends = [(name, kind) for name, kind, noisy in columns if noisy and intervals]
    beside = [Field(f"{name}_{end}", kind) for name, kind in ends for end in ("low", "high")]
    return (*(Field(name, kind) for name, kind, _ in columns), *beside)


@dataclass(frozen=True, slots=True)
class _Made:
    """What was made of an answer: the result, and the widths of its columns in words."""

    answer: Answer
    result: Result
    widths: str | None


def _make(answer: Answer, intervals: bool) -> _Made:
    noisy = answer.noisy
    many = len(answer.rows) * sum(noisy) > _MANY and not intervals
    ends: list[list[tuple[Any, Any] | None]] = [] if many else answer.intervals()
    fields = _beside(list(zip(answer.columns, answer.types, noisy, strict=True)), intervals)
    rows = answer.rows
    if intervals:
        rows = [
            (*row, *(end for pair, has in zip(around, noisy, strict=True) if has for end in pair or (None, None)))
            for row, around in zip(answer.rows, ends, strict=True)
        ]
    widths = _planned_widths(answer) if many else _widths(answer, ends)
    size = sum(CELL * len(row) + sum(map(size_of, row)) for row in rows)
    return _Made(answer, Result(fields, rows, notices=[("NOTICE", _noticed(answer, widths))], size=size), widths)


def _noticed(answer: Answer, widths: str | None) -> SfumatoError:
    """± of each noisy column, the cost and what remains; in the detail notes and the receipt."""
    first, *rest = answer_lines(answer)
    words = f"{widths}; {first}" if widths else first
    return QueryError(words, detail="\n".join(rest) or None, sqlstate="00000")


def _widths(answer: Answer, ends: list[list[tuple[Any, Any] | None]]) -> str | None:
    """± of each noisy column."""
    widths = []
    for i, (name, noisy) in enumerate(zip(answer.columns, answer.noisy, strict=True)):
        found = [_width(row[i], around[i]) for row, around in zip(answer.rows, ends, strict=True)] if noisy else []
        known = [width for width in found if width is not None]
        if known:
            widths.append(f"{name} ± {rounded_width(Fraction(max(known)))}")
    return f"{', '.join(widths)} at {show(answer.confidence * 100)} %" if widths else None


def _planned_widths(answer: Answer) -> str | None:
    """± of each column whose error does not depend on the answer: of a long answer nobody reads all intervals."""
    if answer.plan is None:
        return None
    known = [
        (name, width_of(answer.plan, i, answer.confidence)) if noisy else (name, None)
        for i, (name, noisy) in enumerate(zip(answer.columns, answer.noisy, strict=True))
    ]
    widths = [f"{name} ± {rounded_width(width)}" for name, width in known if width is not None]
    return f"{', '.join(widths)} at {show(answer.confidence * 100)} %" if widths else None


def _width(value: Any, ends: tuple[Any, Any] | None) -> Decimal | None:
    """How far an end of the interval is from the number, to three digits, rounded up."""
    if ends is None or value is None or isinstance(value, date):  # a width of days and moments is read off their ends
        return None
    width = max(Decimal(ends[1]) - Decimal(value), Decimal(value) - Decimal(ends[0]))
    places = max(int(width.as_tuple().exponent), width.adjusted() - 2 if width else 0)
    return width.quantize(Decimal(1).scaleb(min(0, places)), rounding=ROUND_UP)


def _plan(preview: Preview) -> Result:
    """The preview as lines of text."""
    written = io.StringIO()
    print_preview(preview, Console(file=written, width=100_000, color_system=None, highlight=False, markup=False))
    lines = [line.rstrip() for line in written.getvalue().splitlines()]
    if preview.refused is not None:
        lines.append(f"would be refused: {preview.refused.message}")
    return Result(PLAN_FIELDS, [(line,) for line in lines], "EXPLAIN")
