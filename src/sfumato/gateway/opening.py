"""Opening: a policy and its rows become a gateway.

Comes in: a policy file, or a policy with frames. Goes out: a Gateway. It has two halves, so that a reload
can read new rows beside the gateway that serves: `read_rows` is slow and records nothing, `enter` is quick and opens
the ledger.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sfumato.engines import Engine, connect
from sfumato.engines.duckdb.stamp import stamp
from sfumato.errors import PolicyError, QueryError
from sfumato.gateway.gateway import Gateway
from sfumato.gateway.rederive import Again, Rederived
from sfumato.gateway.tracebacks import short_tracebacks
from sfumato.ledger import (
    Ledger,
    has_ledger,
    is_address,
    keep_policy,
    place_of_last_head,
    read_kept_policy,
)
from sfumato.policy import (
    Policy,
    document_of,
    load,
    read_earlier,
    units_of,
    with_bounds,
    with_public_numbers,
    with_schema,
    with_types,
)
from sfumato.sql.query_binding import refused_views


@short_tracebacks
def open_policy(path: str | Path) -> Gateway:
    """Open the gateway of a policy file. Use it in a `with` statement, or call `close`."""
    return enter(read_rows(load(path)))


def fork_policy(path: str | Path, folder: Path, files: Mapping[str, str] | None = None) -> Gateway:
    """The gateway of a policy on a copy of its ledger, which lies in `folder`: what is spent there is spent nowhere.

    `files` puts other files in the place of some tables'; it then is another data set: its ledger begins empty, and
    rows that were prepared are not its rows.
    """
    policy = load(path)
    copy = folder / "fork.ledger"
    if files is not None:
        named = policy.source.files if isinstance(policy.source.files, dict) else {}
        source = replace(policy.source, files={**named, **files})
        policy = replace(policy, source=source, data=replace(policy.data, state=str(folder / "state")))
    elif has_ledger(policy.data.ledger):
        with Ledger.visit(policy.data.ledger, anchor=policy.data.anchor) as book:
            book.fork(copy)
    return enter(read_rows(policy), str(copy))


@dataclass(frozen=True, slots=True)
class Loaded:
    """A policy with its rows, read and checked; nothing is recorded yet, and nothing can be asked."""

    policy: Policy
    engine: Engine
    rows: str
    """Which rows they are: the same name is given to the same rows only."""
    document: str
    """The text that the digest of the policy is the hash of: without what was read off public rows."""


def read_rows(policy: Policy, frames: dict[str, Any] | None = None) -> Loaded:
    """The slow half of opening: a reload does it beside the gateway that serves."""
    _check_place(policy.data.ledger)
    before = None if frames else stamp(policy)
    engine = connect(policy, frames, prepared=True, later=True)
    try:
        types = {name: engine.schema(table) for name, table in policy.tables.items()}
        document = document_of(policy.data, policy.privacy, with_types(policy, types).tables)
        policy = with_schema(policy, types)
        public = [t for t in policy.tables.values() if t.public and t.name not in engine.views()]
        policy = with_public_numbers(policy, {table.name: engine.public_numbers(table) for table in public})
        _check_views(policy, engine)
        engine.keep(policy, [name for name in policy.tables if name not in engine.views()])
    except QueryError as error:
        engine.close()
        raise PolicyError(f"a table cannot be served: {error.message}", detail=error.detail, hint=error.hint) from None
    except BaseException:
        engine.close()
        raise
    same = before is not None and before == stamp(policy)  # else somebody wrote while rows were read
    rows = before if same and before is not None else secrets.token_hex(32)
    return Loaded(policy, engine, rows, document)


def enter(loaded: Loaded, ledger: str | None = None) -> Gateway:
    """The quick half: the ledger, in which a changed policy becomes an entry."""
    policy, engine = loaded.policy, loaded.engine
    try:
        book = _open_ledger(policy, loaded.document, ledger)
    except BaseException:
        engine.close()
        raise
    return Gateway(policy, book, engine, loaded.rows)


def rederive(policy: Policy, ledger: Ledger) -> Rederived:
    """The plans of a ledger, derived anew from a policy, its kept predecessors and their public tables.

    Nothing is recorded.
    """
    with ExitStack() as engines:

        def under(policy: Policy) -> Gateway:
            loaded = read_rows(policy)
            engines.enter_context(closing(loaded.engine))
            return Gateway(loaded.policy, ledger, loaded.engine, loaded.rows)

        def earlier(digest: str) -> Again | None:
            document = read_kept_policy(policy.data.state, digest)
            return None if document is None else under(read_earlier(document, policy)).plan_again

        return under(policy).rederive(earlier)


def _check_place(ledger: str) -> None:
    if "://" in ledger and not is_address(ledger):
        raise PolicyError("the ledger is neither a file nor in PostgreSQL", hint="Name a file, or postgresql://….")


def _open_ledger(policy: Policy, document: str, instead: str | None) -> Ledger:
    """The policy's ledger, or another one in its place that nothing outside knows of."""
    _check_place(instead or policy.data.ledger)
    privacy = policy.privacy
    remembered = instead is None and policy.path is not None
    ledger = Ledger.open(
        instead or policy.data.ledger,
        data_id=policy.data.id,
        composition=privacy.composition,
        epsilon=privacy.epsilon,
        delta=privacy.delta,
        delta_selection=privacy.delta_selection,
        shares={name: share.epsilon for name, share in policy.analysts.items()},
        policy_digest=policy.digest,
        failures=privacy.failures,
        adjacency=privacy.adjacency,
        partition=None if privacy.partition is None else ".".join(privacy.partition),
        units=units_of(policy.tables),
        anchor=None if instead else policy.data.anchor,
        last_head=place_of_last_head(policy.data.state, policy.data.id) if remembered else None,
    )
    if remembered:
        try:
            keep_policy(policy.data.state, policy.digest, document)
        except BaseException:
            ledger.close()
            raise
    return ledger


def _check_views(policy: Policy, engine: Engine) -> None:
    """A view that would be refused in a question is refused when the policy is opened."""
    for name, refused in refused_views(with_bounds(policy, {}), engine.views(), engine):
        message = f'"{name}" is a view that cannot be protected: {refused.message}'
        raise PolicyError(message, detail=refused.detail, hint=refused.hint)
