"""`sfumato check`: the policy against its source, the rows once against the policy, and the record of the admission.

Comes in: a policy file. Goes out: a Report for the owner alone: all mistakes with their lines, or what held of the rows
and what did not. What does not hold is a warning, for it is enforced anyway.

That a data version was admitted, when, and in which tables nobody has two rows is written to `admitted.json` in the
state directory, which the owner alone reads. A later plan may be faster for it, and nothing else (semantics 1.4).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sfumato.engines import Engine, connect
from sfumato.engines.base import Measured, Say
from sfumato.engines.duckdb.stamp import stamp
from sfumato.errors import EngineError, LedgerError, PolicyError, QueryError, SfumatoError
from sfumato.files import make_private_directory, replace_file
from sfumato.ledger import Ledger, has_ledger
from sfumato.owner.data_warnings import Warned, unit_warnings, warnings_of
from sfumato.owner.policy_mistakes import read_all
from sfumato.owner.source_checks import against
from sfumato.policy import Policy, UnitJoin, load, units_of, with_bounds, with_schema, with_types
from sfumato.policy.positions import Marks
from sfumato.policy.sections import quote
from sfumato.sql.query_binding import refused_views

FILE = "admitted.json"
_FORMAT = 1
_MOST_VERSIONS = 100


@dataclass(frozen=True, slots=True)
class AdmissionReport:
    """What the owner is told. With a problem the policy cannot be served, and nothing was admitted."""

    path: Path
    text: str
    problems: tuple[PolicyError, ...]
    id: str | None = None
    version: str | None = None
    digest: str | None = None
    tables: Mapping[str, Measured] | None = None
    views: tuple[str, ...] = ()
    warnings: tuple[Warned, ...] = ()
    admitted: Path | None = None


@dataclass(frozen=True, slots=True)
class AdmittedFact:
    """What is known of a table of an admitted version: nobody has two rows there."""

    unique_unit: bool


def check(path: Path, say: Say = lambda _: None, clock: Callable[[], datetime] | None = None) -> AdmissionReport:
    """Read the policy, look at its source, read the rows once, and admit the data version."""
    place = Path(path).absolute()
    text = _text(place)
    policy, mistakes = read_all(text, place)
    if policy is None:
        return AdmissionReport(place, text, tuple(mistakes))
    marks = Marks(place.name, text.replace("\r\n", "\n"))
    mistakes = against(policy, marks)
    if mistakes:
        return _refused(policy, text, mistakes)
    say("loading the rows")
    before = stamp(policy)
    try:
        engine = connect(policy)
    except (PolicyError, EngineError) as error:
        return _refused(policy, text, [_placed(error, policy, marks)])
    try:
        typed = with_types(policy, {name: engine.schema(table) for name, table in policy.tables.items()})
        mistakes = _views(typed, engine, marks)
        found = {} if mistakes else engine.measure(typed, say)
        views = tuple(engine.views())
        mistakes = mistakes or _kept(typed, engine, marks) or _unlike(typed, marks)
        if mistakes:
            return _refused(policy, text, mistakes)
    finally:
        engine.close()
    if before != stamp(policy):
        message = "the files were changed while they were read"
        return _refused(
            policy, text, [marks.error(("source", "files"), message, "Check again when they no longer change.")]
        )
    now = (clock or (lambda: datetime.now(UTC)))()
    version = policy.version_at(now)
    kept = _record(typed, version, now, found, written=policy.digest, stamp=before)
    rows = [w for name, table in typed.tables.items() for w in warnings_of(table, found.get(name), marks)]
    warnings = (*unit_warnings(typed, marks), *rows)
    return AdmissionReport(place, text, (), policy.data.id, version, typed.digest, found, views, warnings, kept)


def _text(place: Path) -> str:
    """The text of the policy; a file that cannot be read, or is no text, is told by the policy's own room."""
    try:
        return place.read_bytes().decode("utf-8-sig")
    except (OSError, ValueError):
        load(place)
        raise


def _refused(policy: Policy, text: str, mistakes: list[PolicyError]) -> AdmissionReport:
    return AdmissionReport(policy.path or Path(), text, tuple(mistakes), policy.data.id)


def _placed(error: SfumatoError, policy: Policy, marks: Marks) -> PolicyError:
    """What the engine noticed when it loaded the rows, at the line that it is about."""
    place: tuple[str, ...] = ("source", "files" if policy.source.dsn is None else "dsn")
    if policy.source.engine == "spark":
        place = ("source", "tables")
    for name, table in policy.tables.items():
        if isinstance(table.unit, UnitJoin) and f'"{table.unit.place}"' in error.message:
            place = ("tables", name, "unit")
    said = marks.error(place, error.message, error.hint, value=True)
    said.detail = f"{said.detail}: {error.detail}" if error.detail else said.detail
    return said


def _views(policy: Policy, engine: Engine, marks: Marks) -> list[PolicyError]:
    """Views that would be refused in a question (semantics 1.1)."""
    schemas = {name: engine.schema(table) for name, table in policy.tables.items()}
    settled = with_bounds(with_schema(policy, schemas), {})  # how much one person may count does not matter here
    return [
        marks.error(
            ("tables", name), f"{quote(name)} is a view that cannot be protected: {refused.message}", refused.hint
        )
        for name, refused in refused_views(settled, engine.views(), engine)
    ]


def _kept(policy: Policy, engine: Engine, marks: Marks) -> list[PolicyError]:
    """What would stop a gateway from reading these tables: they are kept once as their scans give them, as it does."""
    schemas = {name: engine.schema(table) for name, table in policy.tables.items()}
    settled = with_bounds(with_schema(policy, schemas), {})
    mistakes: list[PolicyError] = []
    names = [name for name in settled.tables if name not in engine.views()]
    for name in names:
        try:
            engine.check_scan(settled, name)
        except QueryError as error:
            message = f"table {quote(name)} cannot be served: {error.message}"
            mistakes.append(marks.error(("tables", name), message, error.hint))
    try:
        engine.keep(settled, [] if mistakes else names)
    except PolicyError as error:
        mistakes.append(marks.error(("tables",), f"the tables cannot be served: {error.detail}", error.hint))
    return mistakes


def _unlike(policy: Policy, marks: Marks) -> list[PolicyError]:
    """A change of adjacency or units that the policy's ledger refuses; what else is wrong with it a gateway says."""
    try:
        if not has_ledger(policy.data.ledger):
            return []
        with Ledger.visit(policy.data.ledger) as ledger:
            ledger.check_successor(adjacency=policy.privacy.adjacency, units=units_of(policy.tables))
    except PolicyError as error:
        said = marks.error(("tables",), error.message, error.hint)
        said.detail = f"{said.detail}: {error.detail}" if said.detail else error.detail
        return [said]
    except LedgerError:
        return []
    return []


# the record


def facts(policy: Policy, version: str) -> dict[str, AdmittedFact] | None:
    """What is known of each table of an admitted version; None if it was not admitted under this policy.

    None also if the files are no longer those that were admitted, and if the record cannot be read: a fact is only ever
    used to answer faster. Ask after the engine has loaded the rows, so that none can come in between.
    """
    if policy.path is None:
        return None
    try:
        kept = json.loads((Path(policy.data.state) / FILE).read_bytes())
        found = kept["versions"][version][policy.digest]
        if kept["format"] != _FORMAT or found["source"] != stamp(policy) or found["source"] is None:
            return None
        return {str(name): AdmittedFact(table["unique_unit"] is True) for name, table in found["tables"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _record(
    policy: Policy, version: str, now: datetime, found: Mapping[str, Measured], *, written: str, stamp: str | None
) -> Path:
    """Write the admission down: no count, and under both digests, before and after the schema gave its types."""
    place = Path(policy.data.state) / FILE
    tables = {name: {"unique_unit": one.unique_unit} for name, one in found.items() if not policy.tables[name].public}
    entry = {"when": now.astimezone(UTC).isoformat(timespec="seconds"), "source": stamp, "tables": tables}
    versions: dict[str, Any] = {}
    try:
        kept = json.loads(place.read_bytes())
        versions = dict(kept["versions"]) if kept["format"] == _FORMAT else {}
    except (OSError, ValueError, KeyError, TypeError):
        pass  # none yet, or one that says nothing
    versions.pop(version, None)
    versions[version] = {policy.digest: entry, written: entry}
    latest = dict(list(versions.items())[-_MOST_VERSIONS:])
    write_whole(place, json.dumps({"format": _FORMAT, "versions": latest}, indent=1) + "\n")
    return place


def write_whole(place: Path, text: str) -> None:
    """The whole file or none of it, for the owner's eyes."""
    make_private_directory(place.parent)
    replace_file(place, text.encode("ascii"))
