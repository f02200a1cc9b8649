"""What to write instead: statements that are answered, made of the tables that the question named.

Comes in: relations of a refused question. Goes out: a hint with SQL that runs under the same policy.
"""

from __future__ import annotations

from sqlglot import exp

from sfumato.algebra.relations import Relation, scans_in
from sfumato.errors import GeneralHint
from sfumato.policy import ROW, Table
from sfumato.sql.bind.nearest_statement import is_about_one
from sfumato.types import identifier

_LONGEST = 400


def answered(sql: str) -> GeneralHint:
    """A hint that is a whole statement."""
    return GeneralHint(f"Try this instead: {sql}.")


def may_be_nearer(hint: str | None) -> bool:
    """Whether a hint is a statement, or says nothing of this question: then one that keeps more of it is better."""
    return hint is None or isinstance(hint, GeneralHint)


def _name(name: str) -> str:
    return name if name.isidentifier() and name == name.lower() else identifier(name)


def _person_table(relation: Relation) -> Table | None:
    """A private table below that holds its own unit in a column."""
    for scan in scans_in(relation, through=True):
        if not scan.table.public and isinstance(scan.table.unit, str) and scan.table.unit != ROW:
            return scan.table
    return None


def aggregate_it(tree: exp.Query, relation: Relation) -> str:
    """The question inside a count: it would show rows, so it may be counted."""
    text = tree.sql(dialect="postgres")
    units = {unit for scan in scans_in(relation, through=True) if isinstance(unit := scan.table.unit, str)}
    cut = any(tree.args.get(part) for part in ("limit", "offset", "order"))
    if len(text) <= _LONGEST and not cut and not is_about_one(tree, units):
        return answered(f"SELECT COUNT(*) FROM ({text}) AS t")
    return count_of(relation)


def count_of(relation: Relation) -> str:
    """A count of the table's rows."""
    for scan in scans_in(relation, through=True):
        return answered(f"SELECT COUNT(*) FROM {_name(scan.table.name)}")
    return "Ask for aggregates, for example COUNT(*)."


def join_persons(left: Relation, right: Relation) -> str:
    """The join of two tables on the person."""
    a, b = _person_table(left), _person_table(right)
    if a is None or b is None:
        return "Join on the privacy unit."
    return answered(
        f"SELECT COUNT(*) FROM {_name(a.name)} AS a JOIN {_name(b.name)} AS b"
        f" ON a.{_name(str(a.unit))} = b.{_name(str(b.unit))}"
    )


def persons_among(outer: Relation, inner: Relation) -> str:
    """Persons of one table who are in another."""
    a, b = _person_table(outer), _person_table(inner)
    if a is None or b is None:
        return "Aggregate the private table first, then compare with the released numbers."
    return answered(
        f"SELECT COUNT(*) FROM {_name(a.name)} WHERE {_name(str(a.unit))}"
        f" IN (SELECT {_name(str(b.unit))} FROM {_name(b.name)})"
    )


def per_person(relation: Relation) -> str:
    """One row for each person, then an aggregate of these."""
    table = _person_table(relation)
    if table is None:
        return "GROUP BY the privacy unit, or leave it out."
    unit = _name(str(table.unit))
    return answered(f"SELECT AVG(n) FROM (SELECT {unit}, COUNT(*) AS n FROM {_name(table.name)} GROUP BY {unit}) AS t")


def window_per_person(relation: Relation) -> str:
    """A window over each person's own rows."""
    table = _person_table(relation)
    if table is None:
        return "PARTITION BY the privacy unit, or aggregate first: windows work on released numbers."
    unit = _name(str(table.unit))
    order = _name(next((name for name in table.columns if name != table.unit), str(table.unit)))
    return answered(
        f"SELECT COUNT(*) FROM (SELECT {unit}, RANK() OVER (PARTITION BY {unit} ORDER BY {order}) AS r"
        f" FROM {_name(table.name)}) AS t WHERE r = 1"
    )


def each_person_once(relation: Relation) -> str:
    """Persons, each once."""
    table = _person_table(relation)
    if table is None:
        return "Aggregate first; LIMIT works on released rows."
    unit = _name(str(table.unit))
    return answered(f"SELECT COUNT(*) FROM (SELECT DISTINCT {unit} FROM {_name(table.name)}) AS t")


def count_persons(relation: Relation) -> str:
    """How many persons there are."""
    table = _person_table(relation)
    if table is None:
        return "Count persons."
    return answered(f"SELECT COUNT(DISTINCT {_name(str(table.unit))}) FROM {_name(table.name)}")


def private_first(private: Relation, public: Relation, condition: str) -> str:
    """The join with the private table as the preserved side."""
    a = next((scan.table.name for scan in scans_in(private) if not scan.table.public), None)
    b = next((scan.table.name for scan in scans_in(public)), None)
    if a is None or b is None or not condition:
        return GeneralHint("Make the private table the preserved side: private LEFT JOIN public.")
    return answered(f"SELECT COUNT(*) FROM {_name(a)} LEFT JOIN {_name(b)} {condition}")
