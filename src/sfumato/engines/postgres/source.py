"""The owner's tables as the server's catalog describes them: names, types, and what the server enforces.

Comes in: rows of the catalog. Goes out: frozen records. A fact is taken only where the server keeps it true for every
committed row: an index that is unique, valid, ready, immediate, without a condition, on bare columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sfumato.algebra.tree import BOOLEAN, DATE, DECIMAL, DOUBLE, INTEGER, TEXT, TIMESTAMP
from sfumato.types import identifier as quoted

WHOLE, NUMERIC, FLOAT, TRUTH, DAY, MOMENT, ZONED, TEXTUAL, OTHER = (
    *("whole", "numeric", "float", "truth", "day", "moment", "zoned", "textual", "other"),
)
"""Families of types, by how a scan reads them."""
_FAMILIES = {
    **dict.fromkeys(("int2", "int4", "int8"), WHOLE),
    "numeric": NUMERIC,
    **dict.fromkeys(("float4", "float8"), FLOAT),
    "bool": TRUTH,
    "date": DAY,
    "timestamp": MOMENT,
    "timestamptz": ZONED,
    **dict.fromkeys(("text", "varchar", "bpchar", "name", "citext"), TEXTUAL),
}
_ALIKE_BY_BYTES = frozenset(
    ("uuid", "bytea", "oid", "xid8", "char", "bit", "varbit", "inet", "cidr", "macaddr", "macaddr8", "pg_lsn", "money")
)
"""Types without a family of which two values are equal where they are the same, and in no other case."""
_WORDS = {
    WHOLE: INTEGER,
    NUMERIC: DECIMAL,
    FLOAT: DOUBLE,
    TRUTH: BOOLEAN,
    DAY: DATE,
    MOMENT: TIMESTAMP,
    ZONED: TIMESTAMP,
}


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column: its type below all domains, and what is known of it."""

    name: str
    type: str
    enum: tuple[str, ...] | None = None
    not_null: bool = False
    """Whether the table itself keeps it from being NULL: a domain does not in all cases."""
    digits: int | None = None
    """Digits after the point of a numeric that has so many."""

    @property
    def family(self) -> str:
        """How a scan reads it."""
        return TEXTUAL if self.enum is not None else _FAMILIES.get(self.type, OTHER)

    @property
    def can_name_persons(self) -> bool:
        """Whether two values are equal only where they name the same person.

        An array of texts compares them by their collation, which may take two people for one; so does what is made of
        texts, and two intervals or boxes are equal that are not the same. So are 0 and -0 of a float, and all NaN. A
        numeric keeps the digits that were written, 1.0 beside 1.00, unless its type says how many it has.
        """
        if self.family == NUMERIC:
            return self.digits is not None
        return self.family not in (FLOAT, OTHER) or self.type in _ALIKE_BY_BYTES

    @property
    def word(self) -> str:
        """Its type in the policy's words."""
        return _WORDS.get(self.family, TEXT)

    @property
    def declared(self) -> str:
        """Its type in the words of other sources."""
        words = {WHOLE: "BIGINT", NUMERIC: f"DECIMAL({38},{self.digits})" if self.digits is not None else "DECIMAL"}
        words |= {FLOAT: "DOUBLE", TRUTH: "BOOLEAN", DAY: "DATE", MOMENT: "TIMESTAMP", ZONED: "TIMESTAMP"}
        return words.get(self.family, "BLOB" if self.type == "bytea" else "VARCHAR")

    def raw(self, alias: str) -> str:
        """The bare value, texts by their bytes: no collation makes two different ones equal."""
        bare = f"{alias}.{quoted(self.name)}"
        if self.enum is not None:  # by its own output: whoever made an enumeration may make a cast to text that fails
            return f'(CASE WHEN {bare} IS NOT NULL THEN concat({bare}) END COLLATE "C")'
        return f'({bare}::text COLLATE "C")' if self.family == TEXTUAL else bare


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A column whose values are those of a column of another table, as the server enforces."""

    column: str
    table: str
    key: str


@dataclass(frozen=True, slots=True)
class ServerTable:
    """A table: where it is, its columns, those that are unique together, and its keys to other tables."""

    name: str
    schema: str
    columns: Mapping[str, SourceColumn]
    unique: frozenset[frozenset[str]] = frozenset()
    foreign: tuple[ForeignKey, ...] = ()
    view: str | None = None
    comment: str | None = field(default=None)
    only: bool = False
    """Whether nothing inherits from it: what does so later is not read, for no index of the table covers it."""

    @property
    def place(self) -> str:
        """The table with its schema, quoted: no search path decides which one it is."""
        return f"{'ONLY ' if self.only else ''}{self.full}"

    @property
    def full(self) -> str:
        """The name with the schema."""
        return f"{quoted(self.schema)}.{quoted(self.name)}"


Tables = Mapping[str, ServerTable]
