"""Questions about the catalog: PostgreSQL's SQL over synthetic relations becomes SQL of the engine that holds them.

Comes in: text, and the names of the catalog's relations and functions. Goes out: whether it reads the catalog alone,
and if so, the same question for an engine that holds public metadata only. Nothing is recognised by its text.
"""

from __future__ import annotations

from sqlglot import errors as sqlglot_errors
from sqlglot import exp

from sfumato.errors import GeneralHint, QueryError
from sfumato.sql.bind.column_titles import called, titled
from sfumato.sql.catalog.translation import CATALOG, ROW_FUNCTIONS, SAME, CatalogNames, ctes, rewritten
from sfumato.sql.read.bounded_parser import trees
from sfumato.sql.read.lexer import SqlToken, statements
from sfumato.sql.read.spelling import FAULTS, note_calls

_WRITES = (exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Create, exp.Drop, exp.Alter, exp.Command, exp.Copy)
_TABLE_FUNCTIONS = ("generate_series", "unnest", "pg_get_keywords", "string_to_array", "aclexplode", *ROW_FUNCTIONS)


def translate(text: str, known: CatalogNames) -> str | None:
    """The question for the catalog's engine; None where it is not about the catalog, or not about it alone."""
    try:
        text = _prepared(text)
        found = trees(text)
    except (sqlglot_errors.SqlglotError, *FAULTS, RecursionError):
        return None
    if len(found) != 1 or not isinstance(found[0], exp.Query) or not _is_catalog(found[0], known):
        return None
    tree = found[0]
    for name in tree.find_all(exp.Identifier):
        if not name.quoted:
            name.set("this", str(name.this).lower())
    note_calls(tree, text)
    titled(tree)
    return rewritten(tree, known).sql(dialect="duckdb", comments=False)


def configured(text: str) -> list[tuple[str, str, bool]]:
    """What `set_config(name, value, is_local)` in a question sets: only literals can say it."""
    found = []
    for tree in trees(_prepared(text)):
        for call in tree.find_all(exp.Anonymous):
            if call.name.lower() == "set_config":
                name, value, local = [*call.expressions, None, None, None][:3]
                literals = all(isinstance(part, exp.Literal) and part.is_string for part in (name, value))
                if not (literals and isinstance(local, exp.Boolean) and name is not None and value is not None):
                    raise QueryError("set_config takes literals here", sqlstate="0A000", hint="Write SET name = value.")
                found.append((str(name.this), str(value.this), bool(local.this)))
    return found


def _prepared(text: str) -> str:
    """What the parser does not know: OPERATOR(pg_catalog.~), words of the language as names, lists of types."""
    (statement,) = statements(text)
    words, tokens, cuts = statement.words, statement.tokens, list[tuple[int, int, str]]()
    for i, word in enumerate(words):
        start = tokens[i].start
        if word == "operator" and words[i + 1 : i + 4] == ("(", "pg_catalog", ".") and ")" in words[i:]:
            close = words.index(")", i)
            cuts.append((start, tokens[close].end, "".join(words[i + 4 : close])))
        elif word == "pg_catalog" and words[i + 1 : i + 2] == (".",) and words[i + 3 : i + 4] == ("(",):
            cuts.append((start, tokens[i + 1].end, ""))  # a function: with its schema the parser knows none by its name
        elif word == "as" and words[i + 1 : i + 2] and words[i + 1] in _RESERVED and words[i + 2 : i + 3] != ("(",):
            cuts.append((start, tokens[i + 1].end, f'AS "{words[i + 1]}"'))
        elif word == "::" and words[i + 1 : i + 4] == ("regtype", "[", "]"):
            cuts.append((start, tokens[i + 3].end, ""))
        elif words[i - 1 : i + 1] == ("]", "::") and words[i + 2 : i + 4] == ("[", "]") and words[i + 1] in _NUMBERED:
            cuts.append((tokens[i + 1].start, tokens[i + 1].end, "bigint"))  # ARRAY[…] of a type that it does not know
        elif word == "any" and words[i + 1 : i + 3] == ("(", "("):
            cuts += _cast_inside(words, tokens, i + 2)
    for start, end, made in sorted(cuts, reverse=True):
        text = text[:start] + made + text[end:]
    return text


def _cast_inside(words: tuple[str, ...], tokens: tuple[SqlToken, ...], opened: int) -> list[tuple[int, int, str]]:
    """`ANY((SELECT …)::oid[])` with the cast written out: the parser takes the inner bracket for that of ANY."""
    depth = 0
    for i in range(opened, len(words)):
        depth += (words[i] == "(") - (words[i] == ")")
        if depth == 0:
            after = words[i + 1 : i + 5]
            if len(after) == 4 and (after[0], *after[2:]) == ("::", "[", "]"):
                start, kind = tokens[opened].start, "bigint" if after[1].startswith(("oid", "reg")) else after[1]
                return [(start, start, "CAST("), (tokens[i + 1].start, tokens[i + 4].end, f" AS {kind}[])")]
            break
    return []


_NUMBERED = ("oid", "regclass", "xid", "regproc")
_RESERVED = ("select", "insert", "update", "delete", "table", "order", "group", "from", "where", "user", "default")


def _is_catalog(tree: exp.Query, known: CatalogNames) -> bool:
    """Whether every relation is the catalog's; a question without relations is, if it only computes."""
    if any(isinstance(node, _WRITES) for node in tree.walk()) or tree.find(exp.Into, exp.Lock):
        return False
    named = ctes(tree)
    for table in tree.find_all(exp.Table):
        name, schema = table.name.lower(), table.db.lower()
        if isinstance(table.this, exp.Func):
            if called(table.this) not in _TABLE_FUNCTIONS:
                return False
        elif not schema and name in named:
            continue
        elif name not in known.relations.get(schema or CATALOG, ()):
            return False
    return all(_may_call(node, known) for node in tree.find_all(exp.Anonymous))


def _may_call(node: exp.Anonymous, known: CatalogNames) -> bool:
    """A function that is not PostgreSQL's would be the engine's own: nobody may call those."""
    name = node.name.lower()
    rows = name in ROW_FUNCTIONS and isinstance(node.parent, exp.Table)
    if name in known.functions or name in SAME or name == "all" or rows:
        return True
    raise QueryError(
        f"function {name} is not supported yet", sqlstate="42883", hint=GeneralHint("Write the query without it.")
    )
