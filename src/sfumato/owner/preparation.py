"""`sfumato prepare`: a copy of the rows, clustered by person, with each person's number of rows.

Comes in: a policy file. Goes out: a file in the state directory that gateways read instead of the source: the same
answers with less work for each question (semantics 1.4). It is written under another name and takes its own when it is
whole and on the disk: who opens the policy finds the file before or the file after, and who has it open keeps what he
has.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from sfumato.engines.base import OPERATOR, Say
from sfumato.engines.duckdb import DuckDB
from sfumato.engines.duckdb.prepared_file import PreparedFile, place_of
from sfumato.engines.duckdb.prepared_tables import standing
from sfumato.engines.duckdb.relations import stored_scans
from sfumato.engines.duckdb.stamp import stamp
from sfumato.errors import EngineError, PolicyError
from sfumato.files import PRIVATE, fresh_file, make_private_directory
from sfumato.policy import Policy, load, with_bounds, with_schema
from sfumato.sql.query_binding import refused_views


@dataclass(frozen=True, slots=True)
class Written:
    """What was prepared: where, of which version, which tables, and how many bytes."""

    place: Path
    id: str
    version: str
    tables: tuple[str, ...]
    size: int


def prepare(path: Path, say: Say = lambda _: None, clock: Callable[[], datetime] | None = None) -> Written:
    """Read the source once, and write its protected rows as every question will read them.

    Guarantee: the file holds, for the digest, the version and the stamp in its record, the rows that a scan of the
        source gives; whoever sees its name sees it whole.
    Proof: the rows are those that the engine keeps for a gateway. The stamp is taken before the first row is read and
        compared after the last; the record is written last, the file is forced to the disk, and a rename is atomic.
    Reference: semantics 1.4; POSIX rename.
    Checked by: end_to_end::prepared_rows_give_the_same_sums,
        end_to_end::files_that_change_while_they_are_read_are_not_prepared
    """
    policy = load(path)
    if policy.source.engine != "duckdb":
        hints = {
            "postgres": "A server keeps its rows itself: give its tables indexes.",
            "spark": "Spark reads a lake as it is: fewer and larger files are read faster.",
        }
        raise PolicyError("only files and DuckDB databases are prepared", hint=hints[policy.source.engine])
    before = stamp(policy)
    if before is None:
        hint = "Copy the files to this machine first."
        raise PolicyError("changes of these files cannot be detected, so they are not prepared", hint=hint)
    version = policy.version_at((clock or (lambda: datetime.now(UTC)))())
    place = place_of(policy)
    make_private_directory(place.parent)
    with fresh_file(place) as new:
        say("loading the rows")
        tables = _fill(policy, version, before, new, say)
        if before != stamp(policy):
            raise PolicyError(
                "the files were changed while they were read", hint="Prepare again when they no longer change."
            )
        size = new.stat().st_size
        _switch(new, place)
    return Written(place, policy.data.id, version, tables, size)


def _fill(policy: Policy, version: str, source: str, new: Path, say: Say) -> tuple[str, ...]:
    engine = DuckDB(policy, into=new, later=True)
    try:
        new.chmod(PRIVATE)
        schemas = {name: engine.schema(table) for name, table in policy.tables.items()}
        typed = with_schema(policy, schemas)
        for name, refused in refused_views(with_bounds(typed, {}), engine.views(), engine):
            raise PolicyError(f'"{name}" is a view that cannot be protected: {refused.message}', hint=refused.hint)
        scans = stored_scans(typed, (name for name in typed.tables if name not in engine.views()))
        say("enforcing what is declared")
        engine.keep(typed, list(scans))
        private = tuple(name for name in scans if not typed.tables[name].public)
        say("clustering by person")
        salt = secrets.token_hex(16)
        made = standing(typed, private, salt, engine.tables.same)
        found = PreparedFile(
            new,
            {name: schemas[name] for name in private},
            {name: scans[name] for name in private},
            engine.known.unique,
            engine.tables.people(private),
            made.names,
            salt,
        )
        engine.tables.prepare(made.selects, found.record(policy, version, source))
        return private
    except duckdb.Error as error:
        OPERATOR.error("preparing failed: %s", error)
        hint = "Is there disk space for a second copy of the rows? The operator's log has the cause."
        raise EngineError("the rows could not be prepared", hint=hint) from None
    finally:
        engine.close()


def _switch(new: Path, place: Path) -> None:
    """The file under its name, on the disk."""
    _force(new)
    new.replace(place)
    _force(place.parent)


def _force(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
