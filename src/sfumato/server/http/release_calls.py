"""Anonymised releases from the console: the loss for the owner's tables, a release in the state folder, its check.

Comes in: the policy that is served, and columns that an owner picked. Goes out: documents, and a file of the policy's
state folder that can be downloaded. Tables are those of the policy, and hierarchies name no file: no path comes from a
browser. A release is no query: it spends nothing, and no budget bounds what it gives away.
"""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sfumato.errors import InputError, QueryError
from sfumato.files import appended_line, make_private_directory
from sfumato.gateway import Gateway
from sfumato.interrupts import check_wanted
from sfumato.policy import Policy, Table

KS = (1, 2, 5, 10, 20, 50, 100)
WORDS = ("table", "quasi", "sensitive", "keep", "l", "diversity", "t", "suppress", "method", "hierarchies")
_SECONDS = 10.0
"""So long one search goes on; then the best release so far is shown with its gap."""
_MOST_CHECKED = 300_000
"""Rows up to which a release is checked here; the command line checks larger ones."""
_MOST_PAIRS = 4_000_000_000
"""Classes times rows up to which it is checked here: a set of classes is kept for combinations of original values."""
_ONE = threading.Lock()


def tables(gate: Gateway) -> dict[str, Any]:
    """Private tables that can be released, their declared columns, hierarchies drafted from them; earlier releases."""
    found = [_about(gate.policy, table) for table in gate.policy.tables.values() if not table.public]
    return {"tables": [one for one in found if one is not None], "made": _made(gate)}


def compare(gate: Gateway, words: dict[str, Any]) -> dict[str, Any]:
    """Loss and risk for each k, as a table and a picture."""
    from sfumato.anonymity import compare as compare_ks
    from sfumato.pictures import curves

    with _alone():
        found = list(compare_ks(_request(gate, words), KS, _told))
    lines = [
        ("information loss", [(float(k), float(one.loss)) for k, one in found]),
        ("prosecutor's risk", [(float(k), float(one.measures.prosecutor)) for k, one in found]),
        ("marketer's risk", [(float(k), float(one.measures.marketer)) for k, one in found]),
        ("unique rows", [(float(k), float(one.measures.uniques)) for k, one in found]),
    ]
    svg = (
        curves(lines, title="Loss and risk by k", axis="k", measure="loss, risk, part of rows", bare=True)
        if len(found) > 1
        else None
    )
    return {"releases": [{**one.to_dict(), "k": k, "reached": one.k} for k, one in found], "picture": svg}


def make(gate: Gateway, words: dict[str, Any], k: int) -> dict[str, Any]:
    """Write a release into the state folder and check it, also together with earlier ones of the same table."""
    from dataclasses import replace

    from sfumato.anonymity import anonymize

    folder = _folder(gate)
    make_private_directory(folder)
    with _alone():  # two releases at once are one after the other: each is checked with the one before
        every = _recorded(gate)
        earlier = [one for one in every if one["table"] == words.get("table")]
        elsewhere = sorted({one["table"] for one in every if one not in earlier})
        there = [one for one in earlier if (folder / one["name"]).is_file() and "promised" in one]
        gone = [one["name"] for one in earlier if one not in there]
        request = replace(_request(gate, words), k=k)
        now = datetime.now(UTC)
        name = f"{now:%Y%m%d-%H%M%S-%f}.csv"
        try:
            release = anonymize(request, str(folder / name), _told)
            (folder / name).chmod(0o600)
            is_small = release.measures.classes * release.rows <= _MOST_PAIRS
            checked = _check(words, request, folder, name, there) if is_small else None
            if checked is not None and gone:
                checked["faults"] += map(_not_compared, gone)
                checked["passed"] = False
            if checked is not None and elsewhere:
                checked["scope"]["not_checked"].append(_of_other_tables(elsewhere))
                checked["passed"] = False
            entry = {
                "name": name,
                "when": now.isoformat(timespec="seconds"),
                "table": words["table"],
                "quasi": list(request.quasi),
                "sensitive": request.sensitive,
                "k": release.k,
                "rows": release.released,
                "keep": list(request.keep),
                "promised": _claims(request).to_dict(),
                "hierarchies": str(words.get("hierarchies") or ""),
            }
            with appended_line(folder / "releases.jsonl", json.dumps(entry)):
                pass
        except BaseException:  # what was not checked and recorded is not kept
            (folder / name).unlink(missing_ok=True)
            raise
    return {"made": entry, "release": release.to_dict(), "check": checked}


def file_of(gate: Gateway, name: str) -> Path:
    """A release that was made here, by its name."""
    if name not in [one["name"] for one in _made(gate)]:
        raise InputError("there is no release with this name")
    return _folder(gate) / name


def _folder(gate: Gateway) -> Path:
    return Path(gate.policy.data.state) / "releases"


def _made(gate: Gateway) -> list[dict[str, Any]]:
    """Releases that were made here and are still there, oldest first."""
    return [one for one in _recorded(gate) if (_folder(gate) / one["name"]).is_file()]


def _recorded(gate: Gateway) -> list[dict[str, Any]]:
    """Every release that was made here, oldest first, also those whose files were deleted."""
    try:
        lines = (_folder(gate) / "releases.jsonl").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in lines]


def _not_compared(name: str) -> dict[str, Any]:
    """An earlier release that is gone, or whose labels cannot be read: what both show together was not looked at."""
    from sfumato.anonymity.inspection import ReleaseFault

    words = f"the earlier release {name} or its hierarchies are missing, so the two were not checked together"
    return ReleaseFault("earlier", words).to_dict()


def _of_other_tables(names: list[str]) -> str:
    """Who is in two tables is in releases of both, and nobody can tell from their rows."""
    listed = ", ".join(f'"{name}"' for name in names)
    return f"releases of {listed} that were made here, which may be of the same people"


def _about(policy: Policy, table: Table) -> dict[str, Any] | None:
    from sfumato.anonymity.draft import DeclaredColumn, draft_hierarchies

    if _address(policy, table.name) is None:
        return None
    declared = {
        name: DeclaredColumn(one.type or "text", one.low, one.high, tuple(map(str, one.values or ())))
        for name, one in table.columns.items()
    }
    columns = [{"name": name, "type": one.type, "unit": name == table.unit} for name, one in declared.items()]
    draft = draft_hierarchies(declared, decided=True)
    return {"name": table.name, "columns": columns, "hierarchies": draft, "one_row": table.rows_per_unit == 1}


def _address(policy: Policy, table: str) -> str | None:
    """Where the rows of a table are, as `anonymize` takes it; None where they are in several files."""
    files, dsn = policy.source.files, policy.source.dsn
    if policy.source.engine == "spark":
        return None
    if isinstance(files, str):
        return f"{files}#{table}"
    if isinstance(files, dict) and table in files:
        listed = files[table]
        paths = [listed] if isinstance(listed, str) else list(listed)
        return paths[0] if len(paths) == 1 and Path(paths[0]).is_file() else None
    return f"{dsn}#{table}" if dsn is not None and dsn.startswith(("postgresql://", "postgres://")) else None


def _request(gate: Gateway, words: dict[str, Any]) -> Any:
    from sfumato.anonymity import AnonymizeRequest
    from sfumato.anonymity.hierarchy_files import parse_hierarchies

    table = gate.policy.tables.get(str(words.get("table")))
    address = None if table is None or table.public else _address(gate.policy, table.name)
    if table is None or address is None:
        raise InputError("choose a table that can be released")
    quasi, keep = (_names(words, name, table) for name in ("quasi", "keep"))
    sensitive = words.get("sensitive") or None
    if sensitive is not None and sensitive not in table.columns:
        raise InputError("the sensitive column is not one of the table's")
    known = [*quasi, *([sensitive] if isinstance(sensitive, str) else [])]
    given = {name: words[name] for name in ("l", "t", "suppress", "diversity", "method") if words.get(name)}
    hierarchies = parse_hierarchies(str(words.get("hierarchies") or ""), known)
    return AnonymizeRequest(
        address, quasi, sensitive, keep=keep, hierarchies=hierarchies, seconds=_SECONDS, k=1, **given
    )  # fmt: skip


def _names(words: dict[str, Any], name: str, table: Table) -> tuple[str, ...]:
    found = words.get(name) or []
    if not isinstance(found, list) or not all(isinstance(one, str) and one in table.columns for one in found):
        raise InputError(f"{name} must be a list of columns of the table")
    return tuple(found)


def _check(
    words: dict[str, Any], request: Any, folder: Path, name: str, made: list[dict[str, Any]]
) -> dict[str, Any] | None:
    """What the independent check says; None where the table is too large for it here."""
    from sfumato.anonymity import check_release
    from sfumato.anonymity.inspection import EarlierRelease, claims_of

    file = folder / name
    with file.open("rb") as stream:
        if sum(1 for _ in stream) > _MOST_CHECKED:
            return None
    with tempfile.TemporaryDirectory(prefix="sfumato-") as place:
        listed = Path(place) / "hierarchies.toml"
        listed.write_text(str(words.get("hierarchies") or ""), encoding="utf-8")
        earlier = []
        for number, one in enumerate(made):
            own = Path(place) / f"hierarchies-{number}.toml"
            own.write_text(one["hierarchies"], encoding="utf-8")
            same, claims = one["hierarchies"] == str(words.get("hierarchies") or ""), claims_of(**one["promised"])
            earlier.append(
                EarlierRelease(
                    folder / one["name"],
                    tuple(one["quasi"]),
                    one["sensitive"],
                    same,
                    own,
                    claims,
                    keep=tuple(one["keep"]),
                )
            )
        report = check_release(
            file, request.data, request.quasi, request.sensitive,
            keep=request.keep, hierarchies=listed, earlier=earlier, claims=_claims(request),
        )  # fmt: skip
    return report.to_dict()


def _claims(request: Any) -> Any:
    """What a release promises that was made here."""
    from sfumato.anonymity.inspection import claims_of

    return claims_of(request.k, request.l, request.t, diversity=request.diversity)


def _told(*_: Any) -> None:
    """Now and then during a search: end it if its client has left."""
    check_wanted()


@contextmanager
def _alone() -> Iterator[None]:
    """One search at a time: each may hold a table in memory."""
    if not _ONE.acquire(blocking=False):
        raise QueryError("another release is being computed", sqlstate="53300", hint="Wait for it to finish.")
    try:
        yield
    finally:
        _ONE.release()
