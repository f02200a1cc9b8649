"""A ledger below its rules: what somebody can read and write who may write the file, or the tables of the server."""

import sqlite3
from contextlib import closing, contextmanager

from sfumato.ledger.opening import is_address
from tests import pgserver

TABLES = ("entry", "sums", "answer", "key", "cells", "spending")
WALL = (sqlite3.IntegrityError,)
"""What a wall raises: the errors of psycopg are added where it is used."""


class Server:
    """A connection of psycopg that takes SQLite's words."""

    def __init__(self, made):
        self.made = made

    def execute(self, sql, values=()):
        said = sql.replace("%", "%%").replace("x'00'", r"'\x00'").replace("INSERT OR REPLACE", "INSERT")
        return self.made.execute(said.replace("?", "%s"), values)


@contextmanager
def raw(path):
    """A connection to the tables of a ledger."""
    if is_address(path):
        with pgserver.link(path) as made:
            yield Server(made)
    else:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            yield connection


def dump(path):
    """Everything that a ledger holds."""
    if not is_address(path):
        with closing(sqlite3.connect(path)) as connection:
            return list(connection.iterdump())
    with raw(path) as connection:
        return [sorted(connection.execute(f"SELECT * FROM {table}").fetchall(), key=repr) for table in TABLES]


def tamper(path, *statements):
    """What somebody who may write the file can do: take down the walls, write, put them up again."""
    with raw(path) as connection:
        if is_address(path):
            down = [f"ALTER TABLE {table} DISABLE TRIGGER USER" for table in TABLES]
            up = [f"ALTER TABLE {table} ENABLE TRIGGER USER" for table in TABLES]
        else:
            walls = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
            down, up = [f"DROP TRIGGER {name}" for name, _ in walls], [wall for _, wall in walls]
        for statement in (*down, *statements, *up):
            connection.execute(*((statement,) if isinstance(statement, str) else statement))


def walls():
    """The errors that walls raise, of either store."""
    import psycopg

    return (*WALL, psycopg.errors.RaiseException, psycopg.errors.IntegrityError)
