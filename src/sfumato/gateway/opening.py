"""Opening: a policy and its rows become a gateway.

Comes in: a policy file, or a frame with the owner's decisions. Goes out: a Gateway. It has two halves, so that a reload
can read new rows beside the gateway that serves: `read_rows` is slow and records nothing, `enter` is quick and opens
the ledger.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Literal

from sfumato.engines import Engine, connect
from sfumato.engines.prepared import Prepared, look
from sfumato.errors import InputError, PolicyError
from sfumato.gateway.corridor import Gateway
from sfumato.ledger import Ledger
from sfumato.policy import Policy, from_dict, load, with_bounds, with_schema, with_types
from sfumato.sql.bind import refused_views
from sfumato.sql.sources import stored_scans


def open_policy(path: str | Path) -> Gateway:
    """The gateway of a policy file."""
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
    elif Path(policy.data.ledger).exists():
        with Ledger.visit(policy.data.ledger, anchor=policy.data.anchor) as book:
            book.backup(copy)
    return enter(read_rows(policy), str(copy))


@dataclass(frozen=True, slots=True)
class Loaded:
    """A policy with its rows, read and checked; nothing is recorded yet, and nothing can be asked."""

    policy: Policy
    engine: Engine


def read_rows(policy: Policy, frames: dict[str, Any] | None = None) -> Loaded:
    """The slow half of opening: a reload does it beside the gateway that serves."""
    _check_file(policy.data.ledger)
    engine = connect(policy, frames, _prepared(policy), later=True)
    try:
        policy = with_schema(policy, {name: engine.schema(table) for name, table in policy.tables.items()})
        _check_views(policy, engine)
        engine.keep(stored_scans(policy, (name for name in policy.tables if name not in engine.views())))
    except BaseException:
        engine.close()
        raise
    return Loaded(policy, engine)


def enter(loaded: Loaded, ledger: str | None = None) -> Gateway:
    """The quick half: the ledger, in which a changed policy becomes an entry."""
    policy, engine = loaded.policy, loaded.engine
    try:
        book = _open_ledger(policy, ledger or policy.data.ledger, None if ledger else policy.data.anchor)
    except BaseException:
        engine.close()
        raise
    return Gateway(policy, book, engine)


def _check_file(ledger: str) -> None:
    if "://" in ledger:
        raise PolicyError("a ledger in PostgreSQL is not supported yet", hint="Name a file.")


def _open_ledger(policy: Policy, ledger: str, anchor: str | None) -> Ledger:
    _check_file(ledger)
    privacy = policy.privacy
    return Ledger.open(
        ledger,
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
        anchor=anchor,
    )


def _prepared(policy: Policy) -> Prepared | None:
    """The rows that the owner prepared, if they are what this policy would read now (semantics 1.4)."""
    found = look(policy, policy.version_at(datetime.now(UTC)))
    if found is None or stored_scans(with_types(policy, found.schemas), found.scans) != found.scans:
        return None
    return found


def _check_views(policy: Policy, engine: Engine) -> None:
    """A view that would be refused in a question is refused when the policy is opened."""
    for name, refused in refused_views(with_bounds(policy, {}), engine.views(), engine.run_public):
        message = f'"{name}" is a view that cannot be protected: {refused.message}'
        raise PolicyError(message, detail=refused.detail, hint=refused.hint)


def protect(
    frame: Any,
    unit: str,
    rows_per_unit: int | Literal["auto"],
    epsilon: Any,
    *,
    bounds: Mapping[str, tuple[Any, ...]] | None = None,
    values: Mapping[str, list[Any]] | None = None,
    name: str = "data",
    ledger: str | Path | None = None,
    delta: Any = 0,
    adjacency: str = "add-remove",
    composition: str | None = None,
) -> Gateway:
    """A gateway over a frame of pandas, Polars or Arrow; without `ledger` the budget lives as long as this process.

    `bounds` are (low, high) for whole numbers and dates, (low, high, grid) for decimals. With
    `rows_per_unit="auto"` the first question also pays for finding it.
    """
    columns: dict[str, Any] = {unit: {"type": "text", "max_length": 200}}
    for column, ends in (bounds or {}).items():
        columns[column] = _bounds(*ends)
    for column, listed in (values or {}).items():
        columns[column] = {"values": list(listed)}
    privacy: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "adjacency": adjacency}
    if composition is not None:
        privacy["composition"] = composition
    document = {
        "source": {"engine": "duckdb", "files": {name: ":memory:"}},
        "data": {"id": name},
        "privacy": privacy,
        "tables": {name: {"unit": unit, "rows_per_unit": rows_per_unit, "columns": columns}},
    }
    policy = from_dict(document)
    if ledger is None:
        notice = "sfumato: no ledger is named, so this budget lives as long as this process"
        print(notice, file=sys.stderr)  # noqa: T201  a budget that is forgotten must be said aloud
    return enter(read_rows(policy, {name: frame}), ":memory:" if ledger is None else str(ledger))


def _bounds(low: Any, high: Any, grid: Any = None) -> dict[str, Any]:
    """(low, high) of whole numbers or dates, or (low, high, grid) of decimals."""
    if isinstance(low, date):
        return {"type": "timestamp" if isinstance(low, datetime) else "date", "min": low, "max": high}
    whole = grid is None and all(isinstance(end, int) for end in (low, high))
    if grid is None and not whole:
        raise InputError("decimals need a grid", hint=f"Write ({low}, {high}, 0.01).")
    step = {} if grid is None else {"grid": grid}
    return {"type": "integer" if whole else "decimal", "min": low, "max": high, **step}
