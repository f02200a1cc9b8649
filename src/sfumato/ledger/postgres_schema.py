"""The inside of a ledger in PostgreSQL: the same tables as in a file, and the walls that the server itself keeps.

Columns, checks and triggers are those of `schema`, in PostgreSQL's words; sums are the same text of sixty digits, in C
order, so that no number is ever rounded. `head` is one row: whoever writes locks it first, and it says which server
the ledger was last served by. Nothing here forbids what an owner of the tables may do; the chain and `verify` do.
"""

from __future__ import annotations

import re

from sfumato.errors import LedgerError
from sfumato.ledger.chain import KINDS
from sfumato.ledger.protocol import StoreConnection
from sfumato.ledger.schema import DIGITS

TABLES = ("entry", "sums", "answer", "key", "cells", "spending")
"""What a ledger holds beside its head, in an order in which it can be copied."""

_UNITS = f"text COLLATE \"C\" NOT NULL CHECK({{}} ~ '^[0-9]{{{{{DIGITS}}}}}$')"
_AMOUNTS = ", ".join(f"{name} {_UNITS.format(name)}" for name in ("epsilon", "rho", "delta"))
_SUMS = "NEW.epsilon < OLD.epsilon OR NEW.rho < OLD.rho OR NEW.delta < OLD.delta"
_KINDS = ", ".join(f"'{kind}'" for kind in KINDS)
_T = 'text COLLATE "C"'


def _wall(table: str, when: str, name: str, words: str, condition: str = "") -> str:
    each = "STATEMENT" if when == "TRUNCATE" else "ROW"
    only = f" WHEN ({condition})" if condition else ""
    return (
        f"CREATE TRIGGER {table}_{name} BEFORE {when} ON {{s}}.{table} FOR EACH {each}{only}"
        f" EXECUTE FUNCTION {{s}}.refuse('{words}')"
    )


_STATEMENTS = (
    f"""CREATE TABLE {{s}}.head(one boolean PRIMARY KEY CHECK(one), format integer NOT NULL, place {_T} NOT NULL,
    server {_T} NOT NULL, changes bigint NOT NULL) WITH (fillfactor = 20)""",
    f"""CREATE TABLE {{s}}.entry(seq bigint PRIMARY KEY, time {_T} NOT NULL,
    kind {_T} NOT NULL CHECK(kind IN ({_KINDS})), analyst {_T}, body {_T} NOT NULL, previous {_T} NOT NULL,
    hash {_T} NOT NULL)""",
    "CREATE INDEX entry_rare ON {s}.entry(kind, seq) WHERE kind NOT IN ('debit', 'answer')",
    "CREATE INDEX entry_own ON {s}.entry(analyst, seq) WHERE kind = 'debit'",
    f"""CREATE TABLE {{s}}.sums(analyst {_T} PRIMARY KEY, {_AMOUNTS},
    epsilon_shut integer NOT NULL CHECK(epsilon_shut IN (0, 1)), rho_shut integer NOT NULL CHECK(rho_shut IN (0, 1)),
    debits bigint NOT NULL CHECK(debits >= 0), epsilon_limit {_T}, rho_limit {_T}, delta_limit {_T})""",
    f"""CREATE TABLE {{s}}.answer(receipt {_T} PRIMARY KEY, question {_T} NOT NULL, version {_T} NOT NULL,
    epsilon {_T} NOT NULL, body bytea NOT NULL, debit bigint NOT NULL, seq bigint NOT NULL,
    UNIQUE(question, version, epsilon))""",
    f"""CREATE TABLE {{s}}.key(analyst {_T} NOT NULL, key {_T} NOT NULL, question {_T} NOT NULL, epsilon {_T} NOT NULL,
    debit bigint NOT NULL, PRIMARY KEY(analyst, key))""",
    f"""CREATE TABLE {{s}}.cells(analyst {_T} NOT NULL, scope {_T} NOT NULL, cell {_T} NOT NULL, {_AMOUNTS},
    PRIMARY KEY(analyst, scope, cell))""",
    "CREATE INDEX cells_epsilon ON {s}.cells(analyst, scope, epsilon)",
    "CREATE INDEX cells_rho ON {s}.cells(analyst, scope, rho)",
    "CREATE INDEX cells_delta ON {s}.cells(analyst, scope, delta)",
    f"""CREATE TABLE {{s}}.spending(debit bigint PRIMARY KEY, seq bigint NOT NULL, question {_T} NOT NULL,
    own {_T} NOT NULL, everybody {_T} NOT NULL)""",
    "CREATE INDEX spending_asked ON {s}.spending(question, seq)",
    """CREATE FUNCTION {s}.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION '%', TG_ARGV[0]; END $$""",
    """CREATE FUNCTION {s}.follow() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE last bigint := 0; sealed text := repeat('0', 64);
    BEGIN
        SELECT seq, hash INTO last, sealed FROM {s}.entry ORDER BY seq DESC LIMIT 1;
        IF NEW.seq <> coalesce(last, 0) + 1 OR NEW.previous <> coalesce(sealed, repeat('0', 64)) THEN
            RAISE EXCEPTION 'an entry follows the last one';
        END IF;
        RETURN NEW;
    END $$""",
    "CREATE TRIGGER entry_follows BEFORE INSERT ON {s}.entry FOR EACH ROW EXECUTE FUNCTION {s}.follow()",
    _wall("entry", "UPDATE", "stays", "an entry is never changed"),
    _wall("entry", "DELETE", "remains", "an entry is never removed"),
    _wall(
        "sums",
        "UPDATE OF epsilon, rho, delta, epsilon_shut, rho_shut, debits",
        "within_limits",
        "sums stay within their limits",
        "NEW.delta_limit IS NOT NULL AND NOT (NEW.delta <= NEW.delta_limit AND ("
        "NEW.epsilon_limit IS NOT NULL AND NEW.epsilon_shut = 0 AND NEW.epsilon <= NEW.epsilon_limit"
        " OR NEW.rho_limit IS NOT NULL AND NEW.rho_shut = 0 AND NEW.rho <= NEW.rho_limit))",
    ),
    _wall(
        "sums",
        "UPDATE OF analyst, epsilon, rho, delta, epsilon_shut, rho_shut, debits",
        "grow",
        "nothing is refunded",
        f"{_SUMS} OR NEW.analyst <> OLD.analyst OR NEW.epsilon_shut < OLD.epsilon_shut"
        " OR NEW.rho_shut < OLD.rho_shut OR NEW.debits <> OLD.debits + 1",
    ),
    _wall("sums", "DELETE", "remain", "sums are never removed"),
    _wall("answer", "UPDATE", "stays", "an answer is never changed"),
    _wall("answer", "DELETE", "remains", "an answer is never removed"),
    _wall(
        "cells",
        "UPDATE",
        "grow",
        "nothing is refunded",
        f"{_SUMS} OR NEW.analyst <> OLD.analyst OR NEW.scope <> OLD.scope OR NEW.cell <> OLD.cell",
    ),
    _wall("cells", "DELETE", "remain", "sums are never removed"),
    _wall("spending", "UPDATE", "stays", "what was spent is never changed"),
    _wall("spending", "DELETE", "remains", "what was spent is never removed"),
    _wall("head", "UPDATE", "grows", "the head grows", "NEW.changes <> OLD.changes + 1 OR NEW.place <> OLD.place"),
    _wall("head", "DELETE", "remains", "the head is never removed"),
    *(_wall(table, "TRUNCATE", "is_kept", "a ledger is never emptied") for table in ("head", *TABLES)),
)

# Everything that makes a wall, as the server itself writes it: columns, checks and keys, indexes, triggers, functions.
_INSIDE = """
SELECT 'column', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull::text, l.collname::text
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_collation l ON l.oid = a.attcollation WHERE c.relnamespace = ? AND c.relkind = 'r'
UNION ALL SELECT 'table', c.relname, c.relrowsecurity::text, c.relhasrules::text, '', ''
FROM pg_class c WHERE c.relnamespace = ? AND c.relkind = 'r'
UNION ALL SELECT 'check', c.relname, k.conname, pg_get_constraintdef(k.oid), k.convalidated::text, ''
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid WHERE c.relnamespace = ?
UNION ALL SELECT 'index', c.relname, i.relname, pg_get_indexdef(i.oid), x.indisvalid::text, ''
FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class c ON c.oid = x.indrelid WHERE c.relnamespace = ?
UNION ALL SELECT 'trigger', c.relname, t.tgname, pg_get_triggerdef(t.oid), t.tgenabled::text, ''
FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE c.relnamespace = ? AND NOT t.tgisinternal
UNION ALL SELECT 'function', p.proname, p.prosrc, '', '', '' FROM pg_proc p WHERE p.pronamespace = ?
"""


def statements(name: str) -> list[str]:
    """The statements that make the tables in a schema whose name is quoted."""
    return [text.replace("{{", "{").replace("}}", "}").replace("{s}", name) for text in _STATEMENTS]


def read_inside(connection: StoreConnection, space: int) -> set[tuple[str, ...]]:
    """What stands in a schema, by its number, without its name."""
    ((name,),) = connection.execute("SELECT nspname FROM pg_namespace WHERE oid = ?", (space,)).fetchall()
    own = re.compile(rf'(?<![\w"])(?:{re.escape(name)}|"{re.escape(name)}"|pg_temp)\.')
    rows = connection.execute(_INSIDE, (space,) * 6).fetchall()
    return {tuple(own.sub("", part or "") for part in row) for row in rows}


def check_inside(found: set[tuple[str, ...]], wanted: set[tuple[str, ...]]) -> None:
    """The tables and walls are those that this version makes: one that was taken down is an error."""
    changed = sorted(found.symmetric_difference(wanted))
    if changed:
        kind, table, name = changed[0][:3]
        detail = f"See {kind} {table}{f'.{name}' if kind != 'function' else ''}."
        raise LedgerError("the tables of the ledger were changed", detail=detail)
