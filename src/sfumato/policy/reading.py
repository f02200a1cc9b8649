"""From a document to a Policy: source, data, privacy and analysts; then what ties the sections to each other.

Comes in: the document as nested dicts, with Marks that know where each key stands. Goes out: a Policy, or one
PolicyError. The defaults are written here and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from sfumato.accounting import COMPOSITIONS
from sfumato.policy.positions import Marks
from sfumato.policy.records import CATALOG, FORMATS, Data, DataSource, Policy, Privacy, Share, Table, digest_of
from sfumato.policy.sections import Section, quote
from sfumato.policy.tables import read_tables
from sfumato.types import Adjacency, show

ENGINES = ("duckdb", "postgres", "spark")
_MASTER = re.compile(
    r"local(\[[0-9*]+(,[0-9]+)?\])?|spark://\S+|yarn|k8s://\S+|local-cluster\[[0-9, ]+\]|connect: *sc://\S+"
)
DEFAULT_MIN_EPSILON = Fraction(1, 10**6)
_SOURCE = ("engine", "files", "dsn", "master")
_DATA = ("id", "version", "ledger", "anchor", "state", "schema")
_HOMES = {
    **dict.fromkeys(_SOURCE, "source"),
    **dict.fromkeys(_DATA, "data"),
    **dict.fromkeys(Privacy.__dataclass_fields__, "privacy"),
}
"""The section that a key belongs in."""
QUERIES, SELECTIONS = 40, 50
"""Without other words one question spends this part of epsilon, and this part of delta_selection."""


def read(document: Mapping[str, Any], path: Path | None, marks: Marks) -> Policy:
    """The policy of a document."""
    top = Section(document, (), marks)
    top.only("source", "data", "privacy", "analysts", "tables", homes=_HOMES)
    source = _read_source(top.section("source", required=True), path)
    data = _read_data(top.section("data", required=True), path)
    section = top.section("privacy", required=True)
    privacy = _read_privacy(section)
    analysts = _read_analysts(top.section("analysts"), privacy)
    tables = read_tables(top.section("tables"), source)
    _check_partition(section, privacy, tables)
    return Policy(path, source, data, privacy, analysts, tables, digest_of(data, privacy, tables))


def _read_source(section: Section, path: Path | None) -> DataSource:
    section.only(*_SOURCE, "tables", homes=_HOMES)
    section.needs("engine", 'Write engine = "duckdb".')
    engine = section.choice("engine", ENGINES, "")
    if engine == "spark":
        return _read_spark(section, path)
    for key in ("master", "tables"):
        if key in section:
            section.refuse(key, f'{section.label} has {key}, but engine "{engine}" has none', 'Did you mean "spark"?')
    dsn = section.text("dsn", None)
    if dsn is not None and "files" in section:
        section.refuse("dsn", f"{section.label} has both files and dsn", "Keep the one where the rows are.")
    if dsn is None and "files" not in section:
        hint = 'Add, for example, files = { patient = "patient.parquet" }.'
        section.refuse(None, f"{section.label} has neither files nor dsn", hint)
    if engine == "duckdb" and dsn is not None:
        section.refuse("dsn", f'{section.label} has a dsn, but engine "duckdb" reads files', 'Did you mean "postgres"?')
    if engine == "postgres" and dsn is None:
        section.refuse("files", f'{section.label} has files, but engine "postgres" reads a dsn', "Write a dsn instead.")
    return DataSource(engine, None if dsn else _read_files(section, path), dsn)


def _read_spark(section: Section, path: Path | None) -> DataSource:
    """Where Spark runs, and what it calls the tables: paths, with or without their format, or names of a catalog."""
    for key in ("files", "dsn"):
        if key in section:
            hint = 'Write tables = { patient = "patient.parquet" }, and master.'
            section.refuse(key, f'{section.label} has {key}, but engine "spark" reads tables', hint)
    section.needs("tables", 'Add, for example, tables = { patient = "patient.parquet" }.')
    master = section.text("master", "local[*]")
    if not _MASTER.fullmatch(master):
        hint = 'Write "local[2]", "spark://HOST:7077" or "connect: sc://HOST:15002".'
        section.refuse_value("master", f"must say where Spark runs, but is {quote(master)}", hint)
    inner = section.section("tables")
    inner.check_names()
    return DataSource("spark", {name: _read_table_of_spark(inner, name, path) for name in inner.content}, master)


def _read_table_of_spark(section: Section, name: str, path: Path | None) -> str | tuple[str, ...]:
    given = section.content[name]
    listed = list(given) if isinstance(given, list | tuple) else [section.text(name, "")]
    if not listed:
        section.refuse_value(name, "must name at least one path")
    found = []
    for index, written in enumerate(listed):
        if not isinstance(written, str) or not written or "\0" in written:
            section.refuse_value(name, "must be a list of paths", index=index)
        word, colon, rest = written.partition(":")
        if colon and word == CATALOG:
            found.append(f"{CATALOG}:{rest.strip()}")
        elif colon and word in FORMATS:
            found.append(f"{word}:{_place(rest.strip(), path)}")
        else:
            found.append(_place(written, path))
    return found[0] if not isinstance(given, list | tuple) else tuple(found)


def _read_files(section: Section, path: Path | None) -> dict[str, str | tuple[str, ...]] | str:
    """A path, or several, for each table; or one database that holds them all."""
    if isinstance(section.content["files"], str):
        database = section.text("files", "")
        if not database.lower().endswith(".duckdb"):
            hint = 'Other files are named by table: files = { patient = "patient.parquet" }.'
            section.refuse_value("files", f"must be a .duckdb database, but is {quote(database)}", hint)
        return _place(database, path)
    inner = section.section("files")
    inner.check_names()
    return {name: _read_file(inner, name, path) for name in inner.content}


def _read_file(section: Section, name: str, path: Path | None) -> str | tuple[str, ...]:
    given = section.content[name]
    if isinstance(given, list | tuple):
        if not given:
            section.refuse_value(name, "must name at least one file")
        for index, file in enumerate(given):
            if not isinstance(file, str) or not file or "\0" in file:
                section.refuse_value(name, "must be a list of paths", index=index)
        return tuple(_place(file, path) for file in given)
    file = section.text(name, "")
    if file.lower().endswith(".duckdb"):
        hint = f"A database holds all tables: write files = {quote(file)}."
        section.refuse_value(name, "must be a file of rows, but is a database", hint)
    return _place(file, path)


def _place(written: str, path: Path | None) -> str:
    """A path from the folder of the policy; addresses and ":memory:" stay as they are, as does all without a folder."""
    if path is None or "://" in written or written == ":memory:":
        return written
    return str(path.parent / written)


def _read_data(section: Section, path: Path | None) -> Data:
    section.only(*_DATA, homes=_HOMES)
    section.needs("id", 'Name the data set, for example id = "clinic": the budget belongs to this name.')
    name = section.text("id", "")
    if any(sign in name for sign in "/\\"):
        hint = "It is also the name of the ledger's file."
        section.refuse_value("id", f"must have no / and no \\, but is {quote(name)}", hint)
    version = section.text("version", "1", 'Write it in quotes, for example version = "2024-11".')
    ledger, anchor = section.text("ledger", f"{name}.ledger"), section.text("anchor", None)
    anchor = None if anchor is None else _place(anchor, path)
    state, schema = _place(section.text("state", ".sfumato"), path), section.text("schema", "public")
    return Data(name, version, _place(ledger, path), anchor, state, schema)


def _read_privacy(section: Section) -> Privacy:
    section.only(*Privacy.__dataclass_fields__, homes=_HOMES)
    section.needs("epsilon", "Write the total privacy budget of all analysts, for example epsilon = 4.")
    epsilon = section.positive("epsilon", Fraction(1))
    least = section.positive("min_epsilon", DEFAULT_MIN_EPSILON)
    if epsilon < least:
        section.refuse_value("epsilon", f"must be at least min_epsilon {show(least)}, but is {show(epsilon)}")
    delta, selection, query_delta = _read_deltas(section)
    return Privacy(
        epsilon=epsilon,
        delta=delta,
        delta_selection=selection,
        adjacency=Adjacency(section.choice("adjacency", [word.value for word in Adjacency], "add-remove")),
        composition=_read_composition(section, delta, selection),
        query_epsilon=_read_query_epsilon(section, epsilon, least),
        query_delta=query_delta,
        min_epsilon=least,
        timing=section.choice("timing", ("plain", "padded"), "plain"),
        failures=section.whole("failures", 3),
        partition=_read_partition(section),
    )


def _read_deltas(section: Section) -> tuple[Fraction, Fraction, Fraction]:
    """Delta; what of it selections may spend in all, by default half; and what one question spends on selection."""
    delta = section.number("delta", Fraction(0))
    if not 0 <= delta < 1:
        section.refuse_value("delta", f"must be at least 0 and below 1, but is {show(delta)}")
    selection = _within(section, "delta_selection", delta / 2, "delta", delta)
    return delta, selection, _within(section, "query_delta", selection / SELECTIONS, "delta_selection", selection)


def _within(section: Section, key: str, default: Fraction, above: str, most: Fraction) -> Fraction:
    number = section.number(key, default)
    if not 0 <= number <= most:
        section.refuse_value(key, f"must be between 0 and {above} {show(most)}, but is {show(number)}")
    return number


def _read_composition(section: Section, delta: Fraction, selection: Fraction) -> str:
    composition = section.choice("composition", COMPOSITIONS, "best" if delta > 0 else "pure")
    if composition == "zcdp" and selection == delta:
        hint = 'Set delta, for example 1e-6, or composition = "pure".'
        section.refuse_value("composition", 'is "zcdp" and needs a delta above delta_selection', hint)
    return composition


def _read_query_epsilon(section: Section, epsilon: Fraction, least: Fraction) -> Fraction:
    number = section.positive("query_epsilon", epsilon / QUERIES)
    if number > epsilon:
        section.refuse_value("query_epsilon", f"must be at most epsilon {show(epsilon)}, but is {show(number)}")
    if number < least:
        key, hint = "query_epsilon", f"Write at least {show(least)}, or a smaller min_epsilon."
        if key in section:
            section.refuse_value(key, f"must be at least min_epsilon {show(least)}, but is {show(number)}", hint)
        rule = f"leaves query_epsilon {show(number)} by default, below min_epsilon {show(least)}"
        section.refuse_value("epsilon", rule, "Write query_epsilon, or a smaller min_epsilon.")
    return number


def _read_partition(section: Section) -> tuple[str, str] | None:
    """Two names around the last dot."""
    written = section.text("partition", None)
    if written is None:
        return None
    table, dot, column = written.rpartition(".")
    if not dot or not table or not column:
        section.refuse_value("partition", f"must be table.column, but is {quote(written)}")
    return table, column


def _check_partition(section: Section, privacy: Privacy, tables: dict[str, Table]) -> None:
    """Cells are cells of people only where each person has one row, and so lies in one cell (semantics 5.3)."""
    if privacy.partition is None:
        return
    name, column = privacy.partition
    table = tables.get(name)
    if table is None or column not in table.columns:
        rule = f"names {quote(f'{name}.{column}')}, which is not a listed column"
        section.refuse_value("partition", rule, 'Write table.column, for example "patient.area".')
    if table.public:
        section.refuse_value("partition", f"names table {quote(name)}, which is public", "Name a table about people.")
    if table.rows_per_unit != 1:
        rule = f"names table {quote(name)}, where rows_per_unit is {table.rows_per_unit}"
        section.refuse_value("partition", rule, "A person is in exactly one cell only if each person has one row.")


def _read_analysts(section: Section, privacy: Privacy) -> dict[str, Share]:
    return {name: _read_share(inner, name, privacy) for name, inner in section.sections()}


def _read_share(section: Section, name: str, privacy: Privacy) -> Share:
    section.only("epsilon", "settings")
    if name.casefold() == "owner":
        section.refuse(None, "the owner has no share", "Leave the section out: the owner may use what is left.")
    section.needs("epsilon", "Write a share, or leave the section out: then the analyst may use what is left.")
    share = section.positive("epsilon", Fraction(1))
    if share > privacy.epsilon:
        rule = f"must be at most epsilon {show(privacy.epsilon)} of [privacy], but is {show(share)}"
        section.refuse_value("epsilon", rule, "A share is part of the total.")
    if share < privacy.min_epsilon:
        least = show(privacy.min_epsilon)
        section.refuse_value("epsilon", f"must be at least min_epsilon {least}, but is {show(share)}")
    return Share(name, share, _read_settings(section.section("settings")))


def _read_settings(section: Section) -> tuple[tuple[str, str], ...]:
    """What connections of PostgreSQL clients start with, for tools that cannot SET."""
    section.only("intervals", "confidence", "noise")
    given = {
        "intervals": section.choice("intervals", ("on", "off"), None),
        "noise": section.choice("noise", ("geometric", "gaussian", "auto"), None),
    }
    sure = section.number("confidence", None)
    if sure is not None and not 0 < sure < 1:
        section.refuse_value("confidence", "must be between 0 and 1", "Write 0.95.")
    given["confidence"] = None if sure is None else show(sure)
    return tuple((f"sfumato.{key}", value) for key, value in given.items() if value is not None)
