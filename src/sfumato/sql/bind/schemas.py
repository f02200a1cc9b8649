"""schema.table: the one schema that tables may be written with, and database.schema.table.

Comes in: the parser's tree and the policy. Goes out: the same tree without these names. Every other schema is refused
as one that does not exist, at every interface alike.
"""

from __future__ import annotations

from sqlglot import exp

from sfumato.errors import QueryError
from sfumato.policy import Policy
from sfumato.sql.read.parser import place

_DEFAULT = "public"


def without_schema(tree: exp.Query, policy: Policy) -> exp.Query:
    """The tree with bare names of tables; `public` is known beside the policy's own schema."""
    known = {_DEFAULT, policy.data.schema}
    for node in tree.find_all(exp.Table, exp.Column):
        schema, database = node.args.get("db"), node.args.get("catalog")
        if schema is None:
            continue
        if _folded(schema) not in known or (database is not None and _folded(database) != policy.data.id):
            name = ".".join(_folded(part) for part in (database, schema) if part is not None)
            raise QueryError(
                f'there is no table in schema "{name}"',
                position=place(node),
                sqlstate="42P01",
                hint=f"Tables are in schema {policy.data.schema}; you can omit the schema name.",
            )
        node.set("db", None)
        node.set("catalog", None)
    return tree


def _folded(node: exp.Expression) -> str:
    """As PostgreSQL folds names: without quotes to lower case."""
    quoted = isinstance(node, exp.Identifier) and bool(node.args.get("quoted"))
    return node.name if quoted else node.name.lower()
