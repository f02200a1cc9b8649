"""The parser of PostgreSQL's dialect, with a bound on its work.

Comes in: text and its tokens. Goes out: trees, or a QueryError. The parser goes back and tries again where a word may
mean several things, and where these nest, each level doubles the work: without a bound a line of 160 characters takes
hours.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from sqlglot import TokenType, exp
from sqlglot.dialects.dialect import Dialect

from sfumato.algebra.interval_values import LONGEST
from sfumato.errors import QueryError
from sfumato.interrupts import step

_AT_LEAST, _EACH = 10_000, 10
"""Moves from token to token that any statement may take, and those that each token adds. Without going back it takes
one for each token; 1,355 statements of tests and tools take at most 2.4."""
_BRACKETS = 100
"""Square brackets of a statement: for each the parser walks over everything to the left of it."""
_DIALECT = Dialect.get_or_raise("postgres")


def _as_written(name: str, args: list[Any]) -> exp.Expression:
    return exp.Anonymous(this=name, expressions=args)


class BoundedParser(_DIALECT.parser_class):  # type: ignore[misc,name-defined]
    """A parser that stops when it has moved too often, or when nobody waits for it any more."""

    __slots__ = ("_left", "_most", "_typed")
    FUNCTIONS = {  # noqa: RUF012  the parser's own table, with these three as they are written: formats stay PostgreSQL's
        **_DIALECT.parser_class.FUNCTIONS,
        **{name: partial(_as_written, name.lower()) for name in ("TO_CHAR", "TO_DATE", "TO_TIMESTAMP")},
    }

    def _parse_date_part(self) -> Any:
        """date_part is EXTRACT, under its own name."""
        found = super()._parse_date_part()
        found.meta["called"] = "date_part"
        return found

    def parse(self, raw_tokens: list[Any], sql: str = "") -> list[exp.Expression | None]:
        """The trees of all statements."""
        self._left = self._most = _AT_LEAST + _EACH * len(raw_tokens)
        self._typed = -1
        return super().parse(raw_tokens, sql)  # type: ignore[no-any-return]

    def _parse_types(self, *args: Any, **named: Any) -> Any:
        """A type; after it a literal of this type may stand."""
        found = super()._parse_types(*args, **named)
        self._typed = self._index if isinstance(found, exp.DataType) else -1
        return found

    def _parse_column_ops(self, this: Any) -> Any:
        """What follows a value; a literal after its type has it first: date '2024-01-31'::text is a text."""
        if isinstance(this, exp.Literal) and this.is_string and self._index == self._typed + 1:
            return this
        return super()._parse_column_ops(this)

    def _parse_type(self, *args: Any, **named: Any) -> Any:
        """A value; what follows a literal with its type is of both."""
        found = super()._parse_type(*args, **named)
        typed = isinstance(found, exp.Cast) and isinstance(found.this, exp.Literal) and self._index == self._typed + 1
        return super()._parse_column_ops(found) if typed else found

    def _parse_interval_span(self, this: Any, parse_function_unit: bool = True) -> Any:
        """The words of an interval; where a clock is among them, whole: the parser would drop it after '1 day'.

        The parser's own patterns for them go back over blanks again and again: a long text is not given to them.
        """
        if isinstance(this, exp.Literal) and len(this.name) > LONGEST:
            raise QueryError(
                f"an interval may have at most {LONGEST} characters, but this one has {len(this.name)}",
                sqlstate="22007",
            )
        clock = isinstance(this, exp.Literal) and this.is_string and ":" in this.name
        if clock and not (self._curr and self._curr.text.upper() in self.dialect.VALID_INTERVAL_UNITS):
            return self.expression(exp.Interval(this=this))
        return super()._parse_interval_span(this, parse_function_unit=parse_function_unit)

    def _parse_join(self, *args: Any, **named: Any) -> Any:
        """A join; the parser takes one that does not say which rows meet for all pairs, as if it were a comma."""
        first = self._curr
        found = super()._parse_join(*args, **named)
        if found is None or first.token_type is TokenType.COMMA or isinstance(found.this, exp.Lateral):
            return found
        if not any(found.args.get(part) for part in ("on", "using", "method")) and found.args.get("kind") != "CROSS":
            raise QueryError(
                "JOIN needs ON or USING",
                position=first.start + 1,
                sqlstate="42601",
                hint="Add a join condition, or write CROSS JOIN for all pairs.",
            )
        return found

    def _advance(self, times: int = 1) -> None:
        """Move to another token, forward or back: whatever the parser does, it does this.

        Guarantee: parsing n tokens takes at most 10 n + 10,000 moves.
        Proof: each move takes one of those that are left.
        Reference: docs/threats.md, Availability.
        Checked by: unit::parsing_does_not_double_with_each_level
        """
        self._left -= 1
        if self._left < 0:
            raise QueryError("the query is nested too deeply", sqlstate="54001", hint="Split it into several queries.")
        step()
        super()._advance(times)


def trees(text: str, tokens: list[Any] | None = None) -> list[exp.Expression]:
    """The statements of a text."""
    found = _DIALECT.tokenize(text) if tokens is None else tokens
    opening = [token for token in found if token.token_type is TokenType.L_BRACKET]
    if len(opening) > _BRACKETS:
        raise QueryError(
            f"a query may have at most {_BRACKETS} square brackets, but this one has {len(opening)}",
            position=opening[_BRACKETS].start + 1,
            sqlstate="54001",
        )
    return [tree for tree in BoundedParser(dialect=_DIALECT).parse(found, text) if tree is not None]
