"""What the protocol asks for, as calls of the gateway; answers become rows and notices.

Comes in: Work and who asks. Goes out: a Result, or one of the house's errors. It runs in a thread; only ANSWER spends.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from decimal import ROUND_UP, Decimal
from fractions import Fraction
from functools import partial, wraps
from typing import Any, TypeVar, cast

from rich.console import Console

from sfumato.engines.duckdb.fetching import CELL, size_of
from sfumato.errors import QueryError, SfumatoError
from sfumato.gateway import FREE, Answer, Gateway, NumberWorth, Preview, Query, width_of
from sfumato.gateway.rounding import width as rounded_width
from sfumato.interrupts import FINISHING, planning, who
from sfumato.recent import Recent
from sfumato.server.answer_tables import answer_lines, print_preview
from sfumato.server.audit_log import AuditLog
from sfumato.server.audited_query import ask, recall
from sfumato.server.pgwire.catalog import Catalog
from sfumato.server.pgwire.catalog_process import CatalogProcesses
from sfumato.server.pgwire.results import BUDGET_FIELDS, PLAN_FIELDS, Field, Result, WireTask, Work
from sfumato.server.pgwire.statement_kinds import KEPT, remembered
from sfumato.server.users import AUDITOR, OWNER, User, check_may_ask
from sfumato.sql.catalog.queries import configured
from sfumato.sql.catalog.session_values import SessionValues, session_values
from sfumato.sql.catalog.tableless import computes_alone
from sfumato.sql.read.lexer import without_schema
from sfumato.types import show

_Call = TypeVar("_Call", bound=Callable[..., Any])
_SMALLEST = Decimal("1e-15")
_MOST_CATALOG = 32_768
"""Characters of a catalog query: no tool writes more."""
_NEARLY = Fraction(102, 100)
"""Widths of one column that differ by less than this factor are written as one."""
_MANY = 200
"""Noisy numbers of an answer from which on their intervals are worked out only if somebody asks for them."""
_ROOM = 32 * 2**20
"""Bytes of results that are kept at most, of each kind."""


def _nested(call: _Call) -> _Call:
    """A text that is nested too deeply for whoever reads it is an error of its own, and ends no connection."""

    @wraps(call)
    def made(*given: Any) -> Any:
        try:
            return call(*given)
        except RecursionError:
            raise QueryError("the query is nested too deeply", sqlstate="54001") from None

    return cast(_Call, made)


class GatewayCalls:
    """The gateway, as the protocol sees it."""

    def __init__(self, gateway: Gateway, journal: AuditLog) -> None:
        self._gateway, self._journal = gateway, journal
        self._catalog, self._processes = Catalog(gateway.policy), CatalogProcesses(gateway.policy)
        self._bare = remembered(partial(without_schema, database=gateway.policy.data.id))
        self._alone = remembered(self._is_alone)
        alone = partial(computes_alone, policy=gateway.policy)
        self._parts = remembered(partial(session_values, known=self._catalog.names, alone=alone))
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

    @_nested
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

    @_nested
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
            parts = None if about is None else self._parts(work.sql)
        if about is not None:
            found = None if parts is None else self._computed(parts, work, user)
            return self._look_up(about, work, user) if found is None else found
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

    def _computed(self, parts: SessionValues, work: Work, user: User) -> Any:
        """A query without tables that calls functions of the catalog; None where the gateway cannot compute the rest.

        It is free, as every query without tables is, and like a look at the catalog no line in the audit log.
        """
        if work.task is WireTask.PREVIEW:
            return None
        with planning():
            about = self._catalog.question(parts.question)
        called = None if about is None else self._processes.run(about, user.name, work.settings)
        if called is None or called.fields is None or len(called.rows) != 1:
            return None
        left = parts.left(called.rows[0], tuple(field.type for field in called.fields))
        with planning():
            if left is None or not computes_alone(left, self._gateway.policy):
                return None
        answer = self._gateway.answer(work.options.query(left), user.asks_as)
        assert answer.cost == FREE
        places, row = parts.whole, called.rows[0]
        kinds = [(name, kind, False) for name, kind in zip(answer.columns, answer.types, strict=True)]
        fields = [
            Field(field.name, called.fields[places[i]].type) if i in places else field
            for i, field in enumerate(_beside(kinds, intervals=False))
        ]
        rows = [tuple(row[places[i]] if i in places else v for i, v in enumerate(values)) for values in answer.rows]
        size = sum(CELL * len(values) + sum(map(size_of, values)) for values in rows)
        result = Result(self._typed(tuple(fields), work.sql), rows, size=size)
        if not self._catalog.is_moving(work.sql):
            self._found.put((work.sql, user.name, work.settings), result, result.size)
        return result.fields if work.task is WireTask.LOOK else result

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
            first = replace(made.result, notices=[("NOTICE", _noticed(answer, made.worth, made.widths))])
            made = _Made(answer, first, made.worth, made.widths)
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
    beside = [Field(f"{columns[i][0]}_{_ENDS[end]}", columns[i][1]) for i, end in _ends(columns) if intervals]
    return (*(Field(name, kind) for name, kind, _ in columns), *beside)


_ENDS = ("low", "high")


def _ends(columns: list[tuple[str, str, bool]]) -> list[tuple[int, int]]:
    """Which ends of which columns stand beside them: those that the query does not show under the same name itself."""
    shown = {name for name, _, _ in columns}
    found = [(i, end) for i, (_, _, noisy) in enumerate(columns) if noisy for end in (0, 1)]
    return [(i, end) for i, end in found if f"{columns[i][0]}_{_ENDS[end]}" not in shown]


@dataclass(frozen=True, slots=True)
class _Made:
    """What was made of an answer: the result, what its numbers are worth, and the widths of its columns in words."""

    answer: Answer
    result: Result
    worth: list[list[NumberWorth]]
    widths: str | None


def _make(answer: Answer, intervals: bool) -> _Made:
    noisy = answer.noisy
    many = len(answer.rows) * sum(noisy) > _MANY and not intervals
    worth = answer.worth_of_doubtful() if many else answer.worth()
    columns = list(zip(answer.columns, answer.types, noisy, strict=True))
    fields, rows = _beside(columns, intervals), answer.known_rows(worth)
    if intervals:
        places = _ends(columns)
        rows = [
            (*row, *((cells[i].interval or (None, None))[end] for i, end in places))
            for row, cells in zip(rows, worth, strict=True)
        ]
    widths = _planned_widths(answer) if many else _widths(answer, worth)
    size = sum(CELL * len(row) + sum(map(size_of, row)) for row in rows)
    result = Result(fields, rows, notices=[("NOTICE", _noticed(answer, worth, widths))], size=size)
    return _Made(answer, result, worth, widths)


def _noticed(answer: Answer, worth: list[list[NumberWorth]], widths: str | None) -> SfumatoError:
    """± of each noisy column, the cost and what remains; in the detail notes and the receipt."""
    first, *rest = answer_lines(answer, worth)
    words = f"{widths}; {first}" if widths else first
    return QueryError(words, detail="\n".join(rest) or None, sqlstate="00000")


def _widths(answer: Answer, worth: list[list[NumberWorth]]) -> str | None:
    """± of each noisy column: where it differs from row to row, the least, the largest and the median; and how many
    numbers are unknown, or have no interval although noise is in them.
    """
    widths, others = [], []
    for i, (name, noisy) in enumerate(zip(answer.columns, answer.noisy, strict=True)):
        cells = [row[i] for row in worth] if noisy else []
        found = [_width(row[i], one.interval) for row, one in zip(answer.rows, cells, strict=False) if not one.unknown]
        known = sorted(Fraction(width) for width in found if width is not None)
        if known:
            widths.append(f"{name} ± {_range(known)}")
        others += [f"{name} unknown{_share(n, len(cells))}" for n in [sum(one.unknown for one in cells)] if n]
        others += [f"{name} without interval{_share(n, len(cells))}" for n in [sum(one.bare for one in cells)] if n]
    said = [f"{', '.join(widths)} at {show(answer.confidence * 100)} %"] if widths else []
    return "; ".join([*said, *others]) or None


def _range(widths: list[Fraction]) -> str:
    """Widths in words: all (nearly) the same, or from the least to the largest, with the median."""
    if widths[-1] <= widths[0] * _NEARLY:  # "599 to 600" says no more than "600"
        return rounded_width(widths[-1])
    low, middle, high = (rounded_width(width) for width in (widths[0], widths[len(widths) // 2], widths[-1]))
    return high if low == high else f"{low} to {high} (median {middle})" if len(widths) > 2 else f"{low} to {high}"


def _share(part: int, count: int) -> str:
    return "" if part == count else f" in {part:,} of {count:,} rows"


def _planned_widths(answer: Answer) -> str | None:
    """± of each column whose error does not depend on the answer: of a long answer nobody reads all intervals.

    Of the others, which may be unknown in some rows, how to get them.
    """
    if answer.plan is None:
        return None
    noisy = [(i, name) for i, (name, has) in enumerate(zip(answer.columns, answer.noisy, strict=True)) if has]
    known = [(name, width_of(answer.plan, i, answer.confidence)) for i, name in noisy]
    widths = [f"{name} ± {rounded_width(width)}" for name, width in known if width is not None]
    said = [f"{', '.join(widths)} at {show(answer.confidence * 100)} %"] if widths else []
    others = [name for name, width in known if width is None]
    said += (
        [f"± of {', '.join(others)} differs by row, and may be unknown: SET sfumato.intervals = on"] if others else []
    )
    return "; ".join(said) or None


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
