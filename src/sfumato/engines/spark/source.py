"""The owner's tables as Spark describes them: under which name a session reads them, and the types of their columns.

Comes in: schemas of data frames. Goes out: frozen records. Nothing is taken for unique: neither files nor the tables of
a lake keep a key unique by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sfumato.algebra.tree import BOOLEAN, DATE, DECIMAL, DOUBLE, INTEGER, TEXT, TIMESTAMP
from sfumato.engines.spark.spelling import quoted

WHOLE, NUMERIC, FLOAT, TRUTH, DAY, MOMENT, TEXTUAL, OTHER = (
    *("whole", "numeric", "float", "truth", "day", "moment", "textual", "other"),
)
"""Families of types, by how a scan reads them."""
_FAMILIES = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), WHOLE),
    **dict.fromkeys(("float", "double"), FLOAT),
    "boolean": TRUTH,
    "date": DAY,
    **dict.fromkeys(("timestamp", "timestamp_ntz"), MOMENT),
    "string": TEXTUAL,
}
_WORDS = {
    WHOLE: INTEGER,
    NUMERIC: DECIMAL,
    FLOAT: DOUBLE,
    TRUTH: BOOLEAN,
    DAY: DATE,
    MOMENT: TIMESTAMP,
}


@dataclass(frozen=True, slots=True)
class SparkColumn:
    """A column and its type, in Spark's words."""

    name: str
    type: str

    @property
    def family(self) -> str:
        """How a scan reads it."""
        if self.type.startswith("decimal("):
            return NUMERIC
        text = self.type.startswith(("varchar(", "char(", "string collate "))
        return TEXTUAL if text else _FAMILIES.get(self.type, OTHER)

    @property
    def can_name_persons(self) -> bool:
        """Whether two values are equal only where they are the same.

        Arrays and records compare by collations; 0 and -0 of a float are equal, and so are all NaN.
        """
        return self.family not in (FLOAT, OTHER) or self.type == "binary"

    @property
    def word(self) -> str:
        """Its type in the policy's words."""
        return _WORDS.get(self.family, TEXT)

    @property
    def digits(self) -> tuple[int, int]:
        """Of a decimal, how many digits it has, and how many of them after the point."""
        precision, scale = self.type.removeprefix("decimal(").removesuffix(")").split(",")
        return int(precision), int(scale)

    @property
    def declared(self) -> str:
        """Its type in the words of other sources."""
        words = {WHOLE: "BIGINT", NUMERIC: self.type.upper(), FLOAT: "DOUBLE", TRUTH: "BOOLEAN", DAY: "DATE"}
        words |= {MOMENT: "TIMESTAMP"}
        return words.get(self.family, "BLOB" if self.type == "binary" else "VARCHAR")

    def raw(self, alias: str) -> str:
        """The bare value, texts by their bytes: no collation makes two different ones equal.

        A CHAR is the text without the blanks that fill it. Spark fills it up wherever it is compared with a longer one,
        so that two of different lengths would be one person in a join and two in a group.
        """
        bare = f"{alias}.{quoted(self.name)}"
        if self.type.startswith("char("):
            return f"rtrim(CAST({bare} AS STRING))"
        return f"CAST({bare} AS STRING)" if self.family == TEXTUAL and self.type != "string" else bare


@dataclass(frozen=True, slots=True)
class SparkTable:
    """A table: the view under which the session reads it, and its columns."""

    name: str
    view: str
    columns: Mapping[str, SparkColumn]
    files: tuple[str, ...] = ()
    """The files that it was read from, where they are on this machine."""
    empty: bool = False
    """Whether it stands for itself without its rows."""

    @property
    def place(self) -> str:
        """What stands in FROM."""
        return f"(SELECT * FROM `{self.view}` WHERE FALSE)" if self.empty else f"`{self.view}`"


SparkTables = Mapping[str, SparkTable]
