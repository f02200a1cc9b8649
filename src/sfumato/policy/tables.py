"""Tables, and whose rows they hold: the unit of each, how much one person may count, and the declared columns.

Comes in: the section [tables] and the source, which decides where types may be left to a schema. Goes out: Tables whose
units lead to one kind of identifier.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date
from difflib import get_close_matches
from fractions import Fraction
from typing import Any, Literal

from sfumato.policy.columns import NUMBERS, TYPES, read_column, settle
from sfumato.policy.points import is_point, read_point
from sfumato.policy.positions import Marks
from sfumato.policy.records import AUTO, ROW, DataSource, PolicyColumn, Table, UnitJoin, groups_by_default
from sfumato.policy.sections import Section, quote
from sfumato.policy.unknown import MOST_STEPS, steps_of

Auto = Literal["auto"]
_OF_PEOPLE = ("unit", "rows_per_unit", "groups_per_unit", "l2_per_unit", "sum_per_unit")
_TYPED = (".parquet", ".pq", ":memory:")
"""Files whose schema gives types. Of a frame in memory (":memory:") the types are known as well."""


def read_tables(section: Section, source: DataSource) -> dict[str, Table]:
    """Every table; at least one."""
    tables = {name: _read_table(inner, source) for name, inner in section.sections()}
    if not tables:
        section.refuse(None, "the policy names no table", 'Add, for example, [tables.patient] with unit = "ssn".')
    return check_units(tables, section.marks)


def with_types(tables: dict[str, Table], types: Mapping[str, Mapping[str, str]]) -> dict[str, Table]:
    """The tables with the types of a schema where the owner left them open; what the owner wrote stays.

    The rules of a column that depend on its type are checked now, as they would have been with the type written down.
    """
    typed = {
        name: replace(table, columns={key: _typed(table, column, types) for key, column in table.columns.items()})
        for name, table in tables.items()
    }
    typed = check_units(typed, Marks())
    for table in typed.values():
        for key, most in table.sum_per_unit.items():
            section = Section({}, ("tables", table.name, "sum_per_unit"), Marks())
            _check_summed(section, key, table.columns, found=most == AUTO)
    return typed


def _typed(table: Table, column: PolicyColumn, types: Mapping[str, Mapping[str, str]]) -> PolicyColumn:
    kind = types.get(table.name, {}).get(column.name)
    if column.type is not None or kind is None:
        return column
    section = Section({}, ("tables", table.name, "columns", column.name), Marks())
    if kind not in TYPES:
        section.refuse(None, f"type of {section.label} must be one of {', '.join(TYPES)}, but is {quote(kind)}")
    return settle(replace(column, type=kind), section, public=table.public)


def _read_table(section: Section, source: DataSource) -> Table:
    section.only("public", *_OF_PEOPLE, "columns")
    for inner in (section, *(column for _, column in section.section("columns").sections())):
        _check_free(inner)
    name, public = str(section.path[-1]), section.flag("public", False)
    if isinstance(source.files, dict) and name not in source.files:
        word = "tables" if source.engine == "spark" else "files"
        hint = f"Add it to {word} in [source], for example {name} = {quote(name + '.parquet')}."
        section.refuse(None, f"table {quote(name)} has no file in [source]", hint)
    columns = {
        key: read_column(inner, type_required=not public and not _has_types(source, name), public=public)
        for key, inner in section.section("columns").sections()
        if not is_point(inner)
    }
    points = {k: read_point(inner, columns) for k, inner in section.section("columns").sections() if is_point(inner)}
    if public:
        for key in _OF_PEOPLE:
            if key in section:
                hint = f"Leave out {key}, or public = true: a public table holds nobody's rows."
                section.refuse(key, f"{section.label} is public and has {key}", hint)
        return Table(name, True, None, None, 1, Fraction(1), {}, columns, points)
    unit = _read_unit(section, columns)
    rows, groups, norm = _one_row(section) if unit == ROW else _read_counts(section)
    return Table(name, False, unit, rows, groups, norm, _read_sums(section, unit, columns), columns, points)


def _check_free(section: Section) -> None:
    """A column "#person" of the owner's would stand where the engine keeps whose row it is."""
    if is_reserved(str(section.path[-1])):
        hint = "Rename it in the source, or leave it out."
        section.refuse(None, f"the name in {section.label} begins with #, which is reserved", hint)


def is_reserved(name: str) -> bool:
    """Whether a name is one of those that the gateway uses for itself, beside the owner's."""
    return name.startswith("#")


def _has_types(source: DataSource, table: str) -> bool:
    """Whether a schema may give the types of this table's columns."""
    if not isinstance(source.files, dict):
        return True
    files = source.files[table]
    if source.engine == "spark":  # all formats but one have types
        return not any("csv" in file.lower() for file in ([files] if isinstance(files, str) else files))
    return all(file.lower().endswith(_TYPED) for file in ([files] if isinstance(files, str) else files))


def _read_unit(section: Section, columns: Mapping[str, PolicyColumn]) -> str | UnitJoin:
    """Whose row it is: a column, "row" where each row is a person, or a way to the table that knows."""
    hint = 'Name the column that identifies a person, "row" if each row is a person, or public = true.'
    section.needs("unit", hint)
    if isinstance(section.content["unit"], str):
        unit = section.text("unit", "")
        if unit == "row" and "row" in columns:
            hint = 'Rename the column "row" in the source, or leave it out of the columns.'
            section.refuse_value("unit", 'is "row", which is also a column: it could mean either', hint)
        return ROW if unit == "row" else unit
    if not isinstance(section.content["unit"], Mapping):
        section.refuse_kind("unit", "the name of a column, or { join = …, on = … }")
    inner = section.section("unit")
    inner.only("join", "on")
    for key in ("join", "on"):
        inner.needs(key, 'Write unit = { join = "patient", on = "patient_id = id" }.')
    first, *more = sorted(_read_pairs(inner))
    return UnitJoin(inner.text("join", ""), *first, tuple(more))


def _read_pairs(inner: Section) -> list[tuple[str, str]]:
    """The equalities of a key: one, or several with AND between them."""
    text, pairs = inner.text("on", ""), list[tuple[str, str]]()
    for part in re.split(r"\s+and\s+", text, flags=re.IGNORECASE) if text.count("=") > 1 else [text]:
        names = [name.strip() for name in part.split("=")]
        if len(names) != 2 or not all(names):
            hint = 'Write, for example, on = "patient_id = id", or on = "ticket = ticket AND item = item".'
            inner.refuse_value("on", "must be two names around =", hint)
        pairs.append((names[0], names[1]))
    for which in zip(*pairs, strict=True):
        if len(set(which)) < len(which):
            inner.refuse_value("on", "names a column twice", "Write each column of the key once.")
    return pairs


def _one_row(section: Section) -> tuple[int, int, Fraction]:
    """Where each row is a person, a person has one row, and no other number can be written."""
    for key in ("rows_per_unit", "groups_per_unit", "l2_per_unit"):
        if key in section and section.content[key] != 1:
            rule = f'must be 1 where unit = "row", but is {quote(section.content[key])}'
            section.refuse_value(key, rule, f"Leave {key} out, or name the column that identifies a person.")
    return 1, 1, Fraction(1)


def _read_counts(section: Section) -> tuple[int | Auto, int | Auto | None, Fraction | Auto]:
    """How much one person may count: rows, groups, and the norm for Gaussian noise."""
    hint = "Write the maximum number of rows per person; rows of people with more are down-weighted."
    section.needs("rows_per_unit", hint)
    if section.content["rows_per_unit"] == AUTO:
        waiting: Auto = AUTO  # until the bound is found there is nothing that the other two could be taken from
        return AUTO, section.whole("groups_per_unit", waiting), section.positive("l2_per_unit", waiting)
    if isinstance(section.content["rows_per_unit"], str):
        section.refuse_kind("rows_per_unit", 'a whole number or "auto"', hint)
    rows = section.whole("rows_per_unit", 1, hint)
    groups = section.whole("groups_per_unit", groups_by_default(rows))
    if groups is not None and groups > rows:  # a row lies in one group, so more groups than rows would only cost
        hint = f"{rows} rows are in at most {rows} groups: more would only add noise."
        section.refuse_value("groups_per_unit", f"must be at most rows_per_unit {rows}, but is {groups}", hint)
    return rows, groups, section.positive("l2_per_unit", Fraction(rows))


def _read_sums(section: Section, unit: str | UnitJoin, columns: dict[str, PolicyColumn]) -> dict[str, Fraction | Auto]:
    """The clip of a lone SUM, for columns that can be summed; one "auto" is for all of them."""
    written = section.content.get("sum_per_unit")
    if written == AUTO:
        every: dict[str, Fraction | Auto] = {key: AUTO for key, c in columns.items() if key != unit and _is_summed(c)}
        if not every:
            hint = "Leave it out, or give a column of numbers its min and max."
            section.refuse_value("sum_per_unit", 'is "auto", but no column can be summed', hint)
        return every
    if isinstance(written, str):
        hint = 'Write, for example, sum_per_unit = { cost = "auto" }.'
        section.refuse_kind("sum_per_unit", 'a table or "auto"', hint)
    inner = section.section("sum_per_unit")
    sums: dict[str, Fraction | Auto] = {}
    for key, value in inner.content.items():
        _check_summed(inner, key, columns, found=value == AUTO)
        if isinstance(value, str) and value != AUTO:
            inner.refuse_kind(key, 'a number or "auto"', "Write a number without quotes.")
        sums[key] = AUTO if value == AUTO else inner.positive(key, Fraction(1))
    return sums


def _is_summed(column: PolicyColumn) -> bool:
    """Whether a column holds numbers with bounds; a type that is left to the schema is told by its bounds."""
    if column.low is None and column.values is None:
        return False
    numbers = column.type in NUMBERS or (column.type is None and not isinstance(column.low, date))
    return numbers and (steps_of(column) or 0) < MOST_STEPS


def _check_summed(section: Section, key: str, columns: dict[str, PolicyColumn], *, found: bool) -> None:
    if key not in columns:
        section.refuse(key, f"{section.label} names {quote(key)}, which is not a listed column", _near(key, columns))
    column = columns[key]
    if column.type is not None and column.type not in NUMBERS:
        section.refuse(key, f"column {quote(key)} in {section.label} is {column.type} and cannot be summed")
    if column.low is None and column.values is None:
        hint = "Add min and max to the column: a sum needs bounds."
        section.refuse(key, f"column {quote(key)} in {section.label} has no bounds", hint)
    if found and (steps := steps_of(column)) is not None and steps >= MOST_STEPS:
        message = f"sum_per_unit of {quote(key)} cannot be estimated: its bounds are 2^62 steps of its grid or more"
        section.refuse(key, message, "Write a number, a coarser grid, or narrower bounds.")


def _near(name: str, names: Iterable[str]) -> str:
    near = get_close_matches(name, list(names), 1)
    return (
        f"Did you mean {quote(near[0])}?"
        if near
        else "List it in the policy: columns that are not listed cannot be used."
    )


def check_units(tables: dict[str, Table], marks: Marks) -> dict[str, Table]:
    """The tables, each unit of which leads to a listed column, with one domain for all columns of identifiers."""
    kinds: dict[str, str] = {}  # type of a unit: the section that had it first
    for name, table in tables.items():
        section = Section({}, ("tables", name), marks)
        if table.unit == ROW:
            _check_alone(section, tables)
        elif isinstance(table.unit, UnitJoin):
            _check_join(Section({}, (*section.path, "unit"), marks), table, table.unit, tables)
        elif table.unit is not None:
            if table.unit not in table.columns:
                rule = f"names {quote(table.unit)}, which is not a listed column"
                section.refuse_value("unit", rule, _near(table.unit, table.columns))
            _check_kind(section, table.columns[table.unit].type, kinds)
    return _with_one_domain(tables, marks)


def _with_one_domain(tables: dict[str, Table], marks: Marks) -> dict[str, Table]:
    """The tables with the values that all unit columns may have as the domain of each of them.

    Guarantee: a person has the same identifier in every table, whatever the rows hold.
    Proof: what a scan makes of an identifier depends on the stored one and on the column's domain alone, and all unit
        columns have one domain. Types that are still open are settled by `with_types`, which comes here again.
    Reference: semantics 1.1, 1.4; docs/decisions/158-one-domain-of-identifiers.md.
    Checked by: unit::identifiers_have_one_domain_in_all_tables, laws::how_rows_lie_changes_no_number,
        unit::a_plan_in_which_a_person_may_have_two_identifiers_is_refused
    """
    owners = [table for table in tables.values() if isinstance(table.unit, str) and table.unit != ROW]
    columns = [table.columns[str(table.unit)] for table in owners]
    if len({column.domain for column in columns}) < 2 or any(column.type is None for column in columns):
        return tables
    section = Section({}, ("tables", owners[-1].name), marks)
    others = ", ".join(f"{table.name}.{table.unit}" for table in owners)
    grids = {column.grid for column in columns if column.grid is not None}
    if len(grids) > 1:
        section.refuse_value("unit", "has another grid than other unit columns", f"Write one grid for {others}.")
    shared = _shared_domain(columns, grids.pop() if grids else None)
    if shared is None:
        rule = "has no value in common with other unit columns, which identify the same people"
        section.refuse_value("unit", rule, f"Declare alike: {others}.")
    settled = dict(tables)
    for table, column in zip(owners, columns, strict=True):
        own = replace(shared, name=column.name, nulls=column.nulls)
        settled[table.name] = replace(table, columns={**table.columns, column.name: own})
    return settled


def _shared_domain(columns: list[PolicyColumn], grid: Fraction | None) -> PolicyColumn | None:
    """A column with the values that all of these may have; None where there are none."""
    low = max((c.low for c in columns if c.low is not None), default=None)
    high = min((c.high for c in columns if c.high is not None), default=None)
    longest = min((c.max_length for c in columns if c.max_length is not None), default=None)
    lists = [c.values for c in columns if c.values is not None]
    shared = replace(columns[0], low=low, high=high, grid=grid, max_length=longest, values=None)
    if not lists:
        return shared if low is None or low <= high else None  # type: ignore[operator]
    listed: Any = tuple(
        value for value in lists[0] if all(value in other for other in lists[1:]) and _is_in(value, shared)
    )
    return replace(shared, low=None, high=None, values=listed) if listed else None


def _is_in(value: Any, column: PolicyColumn) -> bool:
    """Whether a listed value is one that bounds and length leave as it is."""
    if isinstance(value, str):
        return column.max_length is None or len(value) <= column.max_length
    return column.low is None or column.low <= value <= column.high


def _check_alone(section: Section, tables: dict[str, Table]) -> None:
    """A row that is a person has no name that another table could hold.

    Guarantee: where the rows of one table are the people, no other table of the policy is about people.
    Proof: the test below. So no relation carries people of two tables, and a unit is a row of this one table: what a
        person changes in a query over it is what one row changes.
    Reference: semantics 1.1; docs/decisions/071-each-row-a-person.md.
    Checked by: unit::where_rows_are_people_no_other_table_is_private, unit::nothing_leads_to_a_row
    """
    others = [name for name, table in tables.items() if not table.public and name != section.path[-1]]
    if others:
        rule = f'is "row", but table {quote(others[0])} also has a privacy unit'
        hint = "Name a column that identifies a person in both tables, or write a policy of its own for each."
        section.refuse_value("unit", rule, hint)


def _check_kind(section: Section, kind: str | None, kinds: dict[str, str]) -> None:
    if kind in {"double", "boolean"}:
        section.refuse_value("unit", f"is {kind}, which cannot identify people", "Name a column of identifiers.")
    if kind is not None:
        kinds.setdefault(kind, section.label)
    first, where = next(iter(kinds.items()), (kind, ""))
    if kind is not None and kind != first:
        hint = "All units are identifiers of one type: they are compared without a cast."
        section.refuse_value("unit", f"is {kind}, but the unit of {where} is {first}", hint)


def _check_join(section: Section, table: Table, unit: UnitJoin, tables: dict[str, Table]) -> None:
    """The way from a table to the one that knows whose row it is."""
    target = tables.get(unit.table)
    if target is None:
        rule = f"names {quote(unit.table)}, which is not a table of the policy"
        section.refuse_value("join", rule, _near(unit.table, [name for name in tables if name != table.name]))
    if target.public:
        rule = f"names {quote(unit.table)}, which is public and has no privacy unit"
        section.refuse_value("join", rule, "Name a table with a unit.")
    for here, there in unit.pairs:
        for column, owner in ((here, table), (there, target)):
            if column not in owner.columns:
                turned = here in target.columns and there in table.columns
                hint = f"Write {quote(f'{there} = {here}')}." if turned else _near(column, owner.columns)
                rule = f"names {quote(column)}, which is not a listed column of table {quote(owner.name)}"
                section.refuse_value("on", rule, hint)
        mine, theirs = table.columns[here].type, target.columns[there].type
        if mine and theirs and mine != theirs:
            rule = f"joins {mine} {quote(here)} to {theirs} {quote(there)}"
            section.refuse_value("on", rule, "Both must have one type: they are compared without a cast.")
    seen: set[str] = set()
    while target is not None and isinstance(target.unit, UnitJoin) and target.name not in seen:
        seen.add(target.name)
        target = tables.get(target.unit.table)
    if table.name in seen:  # a table that only leads to the circle is not the one to mend
        section.refuse_value("join", "is circular and never reaches a unit", "Give one of the tables a unit column.")
