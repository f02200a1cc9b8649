"""`sfumato init`: a policy to be completed, from names and types alone.

Comes in: paths, and the column that the owner says is the person. Goes out: the text of a policy: valid TOML in which
"?" stands wherever the owner has to decide, so that `sfumato check` and the gateway refuse it until she has. No row is
read: see `schema`.
"""

from __future__ import annotations

import glob
import json
import os
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from sfumato.engines.duckdb import text_files as texts
from sfumato.errors import InputError
from sfumato.owner import schema as _schema
from sfumato.owner.presets import identifier_of, propose
from sfumato.owner.schema import Schema, kind_of
from sfumato.owner.unit_columns import UnitPath, ways
from sfumato.policy import ROW
from sfumato.policy.sections import quote
from sfumato.types import without_password

_SERVERS = ("postgresql://", "postgres://")
_RESERVED = """
all analyse analyze and any array as asc both case cast check collate column constraint create current_date
default desc distinct do else end except false fetch for foreign from full grant group having in initially
inner intersect into is join leading left like limit natural not null offset on only or order outer primary
references returning right select session_user some table then to trailing true union unique user using when
where window with
"""
"""Words that an analyst would have to write in quotes."""


@dataclass(frozen=True, slots=True)
class DraftSource:
    """What was found: tables with their schemas; their paths, or that of a database; and what is left out: views, and
    tables that cannot be protected, with the reason.
    """

    tables: dict[str, Schema]
    files: dict[str, str] | str
    views: tuple[str, ...] = ()
    dsn: str | None = None
    master: str | None = None
    """Where Spark runs, if it reads the rows."""
    refused: Mapping[str, str] = field(default_factory=dict)


def look(data: Sequence[str], master: str | None = None) -> DraftSource:
    """The tables of these files, or of one database; or what Spark calls so, where it runs at a `master`."""
    if master is not None:
        return _look_with_spark(data, master)
    servers = [path for path in data if path.startswith(_SERVERS)]
    if servers and len(data) > 1:
        raise InputError("give files, or one database, not both", hint="A policy has one source.")
    if servers:
        seen = _schema.of_server(servers[0])
        if not seen.tables and seen.refused:
            raise next(iter(seen.refused.values()))
        if not seen.tables:
            raise InputError("the role sees no table in its schema", hint="Grant SELECT, or set its search_path.")
        bare = without_password(servers[0])  # the policy is no secret
        refused = {name: error.message for name, error in seen.refused.items()}
        return DraftSource(seen.tables, {}, seen.views, bare, refused=refused)
    databases = [path for path in data if _schema.is_kind(path, [_schema.DATABASE])]
    if databases and len(data) > 1:
        raise InputError("give files, or one .duckdb database, not both", hint="A policy has one source.")
    if databases:
        tables, views = _schema.of_database(databases[0])
        if not tables:
            raise InputError(f"database {quote(databases[0], 200)} holds no table")
        return DraftSource(tables, databases[0], tuple(views))
    found: dict[str, Schema] = {}
    files: dict[str, str] = {}
    for path in dict.fromkeys(data):
        _check_file(path)
        name = _table_name(path, found)
        found[name] = _schema.of_files([path])
        files[name] = path
    return DraftSource(found, files)


def _look_with_spark(data: Sequence[str], master: str) -> DraftSource:
    """Paths with or without their format, names of a catalog, or all tables of one of its schemas: table:SCHEMA.*"""
    listed, views = list[str](), list[str]()
    for written in dict.fromkeys(data):
        if not written.isprintable():
            raise InputError("a name cannot be written into a policy", detail=repr(written), hint="Rename it.")
        if written.startswith("table:") and written.endswith(".*"):
            tables, seen = _schema.of_catalog(master, written.removeprefix("table:").strip().removesuffix(".*"))
            listed += [f"table:{name}" for name in tables]
            views += seen
        else:
            listed.append(written)
    if not listed:
        raise InputError("the schema holds no table that can be protected", hint="Name tables, or paths of files.")
    files: dict[str, str] = {}
    for written in listed:
        word = written.removeprefix("table:").strip()
        last = word.rpartition(".")[2] if word != written else word.rstrip("/*").rpartition(":")[2]
        files[_table_name(last, files)] = written
    found, wrong = _schema.of_spark(master, files)
    if wrong:
        raise next(iter(wrong.values()))
    return DraftSource(found, files, tuple(views), master=master)


def _check_file(path: str) -> None:
    if not path.isprintable():  # nor are bytes that are no text
        raise InputError("the name of a file cannot be written into a policy", detail=repr(path), hint="Rename it.")
    if Path(path).is_dir():
        raise InputError(f"{quote(path, 200)} is a directory", hint=f"Name its files, for example '{path}/*.parquet'.")
    if not _schema.is_kind(path, _schema.ENDINGS):
        hint = "Use .parquet, .csv, .tsv, .jsonl, or one .duckdb database."
        raise InputError(f"cannot tell the type of {quote(path, 200)} is", hint=hint)
    if not texts.found(path):
        raise InputError(f"there is no file {quote(path, 200)}", sqlstate="58P01")


def _table_name(path: str, taken: Mapping[str, object]) -> str:
    """A name that can be written without quotes, from that of the file; numbered where it is taken.

    >>> _table_name("data/Patients 2024-*.csv", {}), _table_name("order.csv", {})
    ('patients_2024', 'order_table')
    >>> _table_name("A.csv", {"a": Schema({})})
    'a_2'
    """
    stem = unicodedata.normalize("NFKD", Path(path).name.split(".", maxsplit=1)[0]).lower()
    stem = "".join(sign for sign in stem if not unicodedata.combining(sign))  # é as e
    name = re.sub(r"[^a-z0-9]+", "_", stem).strip("_") or "data"
    name = f"t_{name}" if name[0].isdigit() else name
    name = f"{name}_table" if name in _RESERVED.split() else name
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


def person_of(source: DraftSource, written: str) -> tuple[str, str]:
    """The table and the column that `--unit` names: TABLE.COLUMN, a COLUMN that one table has, or `row`.

    Names are compared without case where that finds one column, as a file `People.csv` becomes the table `people`.
    """
    columns = [(table, column) for table, schema in source.tables.items() for column in schema.columns]
    for at in (i for i, sign in enumerate(written) if sign == "."):
        table, column = written[:at], written[at + 1 :]
        if table in source.tables and column in source.tables[table].columns:
            return table, column
    table = written.removesuffix(".row") if written != "row" else next(iter(source.tables))
    if written.endswith("row") and table in source.tables and (written != "row" or len(source.tables) == 1):
        return table, ROW
    folded = written.casefold()
    meant = [one for one in columns if folded in (f"{one[0]}.{one[1]}".casefold(), one[1].casefold())]
    if len(meant) == 1:
        return meant[0]
    if meant:
        several = ", ".join(f"{table}.{column}" for table, column in meant)
        raise InputError(f"several tables have a column {quote(written)}", hint=f"Pass --unit with one of {several}.")
    raise InputError(
        f"there is no column {quote(written)}",
        detail=f"The columns are {_listed([f'{table}.{column}' for table, column in columns])}.",
        hint=f"Pass --unit {_near(written, columns) or 'TABLE.COLUMN, or --unit row'}.",
    )


def _near(written: str, columns: list[tuple[str, str]]) -> str | None:
    """The column that was probably meant: names of columns are compared alone, because tables look alike anyway."""
    near = get_close_matches(written.rpartition(".")[2], [column for _, column in columns], 1, 0.6)
    return next((f"{table}.{column}" for table, column in columns if column in near), None)


def _listed(names: list[str], most: int = 12) -> str:
    return ", ".join(names) if len(names) <= most else f"{', '.join(names[:most])} and {len(names) - most} more"


def draft(source: DraftSource, person: tuple[str, str], folder: Path) -> str:
    """The text of the policy; paths are written as seen from its folder."""
    found = {person[0]: UnitPath(ROW)} if person[1] == ROW else ways(source.tables, person)
    parts = [_HEAD, _source(source, folder), _data(source, folder), _PRIVACY]
    parts += [_table(name, schema, found, source.tables) for name, schema in source.tables.items()]
    if source.views:
        names = ", ".join(quote(name) for name in source.views)
        parts.append(f"# Views that were left out: {names}.\n# Name them like tables, if they contain the unit.\n")
    if source.refused:
        parts.append("".join(f"# Left out: {_comment(reason)}.\n" for reason in source.refused.values()))
    return "\n".join(parts)


_HEAD = """\
# Drafted by `sfumato init` from the names and types of columns. No row was read.
#
# Each "?" is a decision that only you can make. No query is answered until you have made all of them; `sfumato check`
# lists those that are left. "check" marks a guess from a name. What you write here is public: take bounds and lists
# from domain knowledge, never from the rows. They are enforced: a number outside its bounds counts as the
# bound, a text that is not in its list as NULL.
"""

_PRIVACY = """\
[privacy]
# The total privacy budget of all analysts: no conclusion about a person becomes more than e^epsilon times as likely
# as without their rows. 1 is careful, 4 is generous. When it is spent, only stored answers are left.
epsilon = "?"
# delta = 1e-6  # lets analysts group by columns whose values are not listed; groups with few people are suppressed
"""


def _source(source: DraftSource, folder: Path) -> str:
    if source.dsn is not None:
        note = "# Use a read-only role. Its password belongs in ~/.pgpass or PGPASSWORD, not here.\n"
        return f'[source]\nengine = "postgres"\n{note}dsn = {_text(source.dsn)}\n'
    if source.master is not None:
        assert isinstance(source.files, dict)
        rows = [f"{_key(name)} = {_text(_for_spark(path, folder))}" for name, path in source.files.items()]
        head = f'[source]\nengine = "spark"\nmaster = {_text(source.master)}\n'
        return "\n".join([head, "[source.tables]", *rows, ""])
    head = '[source]\nengine = "duckdb"\n'
    if isinstance(source.files, str):
        return f"{head}files = {_text(_seen_from(source.files, folder))}\n"
    rows = [f"{_key(name)} = {_text(_seen_from(path, folder))}" for name, path in source.files.items()]
    return "\n".join([head, "[source.files]", *rows, ""])


def _seen_from(path: str, folder: Path) -> str:
    """A path as the policy has it; signs that mean a pattern are escaped where they belong to the name of a file."""
    seen = os.path.relpath(path, folder)
    return glob.escape(seen) if Path(path).is_file() and not path.lower().endswith(_schema.DATABASE) else seen


def _for_spark(written: str, folder: Path) -> str:
    """A table as the policy names it: paths of this machine as seen from its folder."""
    word, colon, rest = written.partition(":")
    if "://" in written or word == "table":
        return written
    path = rest.strip() if colon else written
    return f"{word + ':' if colon else ''}{os.path.relpath(path, folder)}"


def _data(source: DraftSource, folder: Path) -> str:
    if source.dsn is not None:
        name = re.sub(r"[^0-9A-Za-z_-]+", "-", source.dsn.split("?")[0].rpartition("/")[2]).strip("-") or "data"
        return f"""\
[data]
id = {_text(name)}  # check: the budget belongs to this name, also when the rows change
version = "live"  # stored answers are valid until rows change; new rows refill no budget
"""
    stem = Path(source.files).stem if isinstance(source.files, str) else folder.absolute().name
    name = re.sub(r"[^0-9A-Za-z_-]+", "-", stem).strip("-") or "data"
    return f"""\
[data]
id = {_text(name)}  # check: the budget belongs to this name, also when the rows are refreshed
version = "1"  # name a new one whenever the rows change: it is never derived from the data
"""


def _table(name: str, schema: Schema, found: Mapping[str, UnitPath], tables: Mapping[str, Schema]) -> str:
    way = found.get(name)
    lines = [f"[tables.{_key(name)}]", *_unit(way), *_rows(schema, way), f"[tables.{_key(name)}.columns]"]
    leads = {step.key for step in found.values() if step.table == name}
    if way is not None:
        leads.add(way.column)
    width = max((len(_key(column)) for column in schema.columns), default=0)
    for column, declared in schema.columns.items():
        lines.append(_line(_key(column).ljust(width), column, declared, schema, is_person=column in leads))
    if way is not None and way.column != ROW and (other := _differs(name, way, found, tables)):
        lines.insert(1, f"# check: the source keeps {other} in another type; identifiers are compared as they are.")
    return "\n".join(lines) + "\n"


def _unit(way: UnitPath | None) -> list[str]:
    if way is None:
        return [
            "# No column name here looks like an identifier. Write the column that identifies a person, or a join:",
            '#   unit = { join = "other_table", on = "column_here = column_there" }',
            "# If no row is about a person, write public = true instead of unit, rows_per_unit and columns.",
            'unit = "?"',
        ]
    if way.column == ROW:
        return ['unit = "row"  # each row is one person; nobody has a second row here']
    if way.table is None:
        return [f"unit = {_text(way.column)}  # whose row it is"]
    on = _text(f"{way.column} = {way.key}")
    return [f"unit = {{ join = {_text(way.table)}, on = {on} }}  # check: that table identifies the person"]


def _rows(schema: Schema, way: UnitPath | None) -> list[str]:
    if way is not None and way.column == ROW:
        return []
    if way is not None and way.table is None and way.column in schema.unique:
        return ["rows_per_unit = 1  # the database declares that nobody has two rows here"]
    return [
        "# The maximum number of rows per person: 1 in a list of people. Rows of people with more are down-weighted",
        "# (or left out, if it is 1). Twice as many rows mean twice the noise.",
        'rows_per_unit = "?"',
    ]


_NEVER_MADE_NULL = ("integer", "text", "date", "timestamp", "boolean")
"""Types whose values stay values when a domain is enforced; NaN, which a number may be, becomes NULL."""
_TOO_LONG = ("UBIGINT", "HUGEINT", "UHUGEINT")


def _is_filled(column: str, declared: str, schema: Schema) -> bool:
    """Whether no row of the source can be NULL there under the drafted domain: `nulls = false` leaves out no row.

    Of a text only where its list is drafted: an owner who adds a list later would leave out all rows beyond it.
    """
    kind = kind_of(declared)
    kept = kind in _NEVER_MADE_NULL and declared.upper() not in _TOO_LONG
    return column in schema.filled and kept and (kind != "text" or column in schema.lists)


def _line(key: str, column: str, declared: str, schema: Schema, *, is_person: bool) -> str:
    kind = kind_of(declared) if schema.typed else None
    if not column or "\0" in column:
        return "# A column was left out: a name must not be empty or contain NUL."
    if schema.typed and kind is None:
        return f"# {_comment(key)} left out: no query can read the type {_comment(declared)}"
    digits = re.fullmatch(r"DECIMAL\(\d+,\s*(\d+)\)", declared)
    note = ""
    if is_person:
        text = identifier_of(column, kind)
    elif column in schema.lists:
        text = f"{{ values = [{', '.join(map(_text, schema.lists[column]))}] }}"
    else:
        text, note = propose(column, kind, int(digits[1]) if digits else None)
    if _is_filled(column, declared, schema) and not is_person:
        text = f"{text.removesuffix(' }')}, nulls = false }}"
    comment = "; ".join(part for part in ("" if schema.typed and not _is_guess(text) else "check", note) if part)
    return f"{key} = {text}" + (f"  # {comment}" if comment else "")


def _is_guess(declared: str) -> bool:
    """Whether it says more than the source does: bounds, a list, a length."""
    return any(f"{word} =" in declared for word in ("min", "values", "max_length"))


def _differs(name: str, way: UnitPath, found: Mapping[str, UnitPath], tables: Mapping[str, Schema]) -> str | None:
    """The identifier that this table's is compared with, where the source keeps the two in different types."""
    other = way.table or next(table for table, step in found.items() if step.table is None)
    column = way.key or found[other].column
    mine, theirs = tables[name].columns[way.column], tables[other].columns[column]
    if mine == theirs or {kind_of(mine), kind_of(theirs)} == {"integer"}:
        return None
    return _comment(f"{other}.{column}")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(value: str) -> str:
    """A text in TOML: JSON's own escapes, and one sign that JSON lets stand."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _comment(value: str) -> str:
    """A name in a comment: on one line, without signs that TOML forbids there."""
    return "".join(sign if sign.isprintable() else " " for sign in value)
