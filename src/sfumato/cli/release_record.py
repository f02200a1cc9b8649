"""The record of releases: a line for each, which `anonymize --record` writes and `release-check --record` reads.

Comes in: a release and the table that it was made from. Goes out: earlier releases of the same table with their
quasi-identifiers, and in words which of them cannot be compared. Files are known by their place and by a digest of
what they hold: a copy of the table is the same table, and a release that was written over is not the one that was made.
"""

from __future__ import annotations

import hashlib
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sfumato.anonymity import AnonymizedRelease, AnonymizeRequest
from sfumato.anonymity.inspection import EarlierRelease
from sfumato.anonymity.inspection.reading import read_published
from sfumato.errors import InputError

_PASSWORD = re.compile(r"(?<=://)([^/@:]*):[^/@]*@")


def place_of(address: str) -> str:
    """A file with its whole path, or an address without its password."""
    return without_password(address) if "://" in address else str(Path(address).resolve())


def without_password(address: str) -> str:
    """An address as it may be shown."""
    return _PASSWORD.sub(r"\1@", address)


def digest_of(address: str) -> str:
    """SHA-256 of a file; of a table in a database, of its columns and rows."""
    file = Path(address)
    if "://" not in address and file.is_file():
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    table = read_published(address)
    digest = hashlib.sha256(repr(table.columns).encode())
    for row in sorted(table.rows):
        digest.update(repr(row).encode())
    return digest.hexdigest()


def note(file: Path, request: AnonymizeRequest, out: str, release: AnonymizedRelease) -> None:
    """Add a line to the record of releases."""
    entry = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "out": place_of(out),
        "data": place_of(request.data),
        "quasi": list(request.quasi),
        "sensitive": request.sensitive,
        "k": release.k,
        "rows": release.released,
        "out_digest": digest_of(out),
        "data_digest": digest_of(request.data),
    }
    with file.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(entry) + "\n")


def read_record(file: Path) -> list[dict[str, Any]]:
    """The lines of a record; one error for whatever else the file is."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise InputError(f'"{file.name}" is not a record of releases', hint="It is not UTF-8 text.") from None
    except OSError:
        raise InputError(f'there is no file "{file}"', sqlstate="58P01") from None
    found = []
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
            found.append({**entry, "out": str(entry["out"]), "data": str(entry["data"])})
        except (ValueError, KeyError, TypeError):
            raise InputError(f'line {number} of "{file.name}" is not a record of a release') from None
    return found


def recorded(record: Path, release: str, raw: str) -> tuple[list[EarlierRelease], list[str]]:
    """Earlier releases of the same table, and in words those that cannot be compared."""
    same = [(place_of(raw), ""), ("", digest_of(raw))]
    mine = [one for one in read_record(record) if (one["data"], "") in same or ("", one.get("data_digest")) in same]
    here, digest = place_of(release), digest_of(release)
    at = [one for one in mine if one["out"] == here]
    this = next((one for one in reversed(at) if one.get("out_digest", digest) == digest), None)
    found: dict[tuple[str, tuple[str, ...]], EarlierRelease] = {}
    lost = []
    for one in mine:
        if one is this or (one["out"] == here and one.get("out_digest") == digest):
            continue
        quasi = tuple(map(str, one.get("quasi") or ()))
        when = f"the release of {', '.join(quasi)} of {one.get('when', 'an unknown time')}"
        if one["out"] == here:
            lost.append(f'{when} was written over by "{Path(release).name}", and cannot be compared')
            continue
        if "://" not in one["out"] and not Path(one["out"].partition("#")[0]).is_file():
            raise InputError(f'there is no file "{one["out"]}"', detail="The record has it.", sqlstate="58P01")
        if one.get("out_digest", "") not in ("", digest_of(one["out"])):
            lost.append(f'{when} is not what "{Path(one["out"]).name}" holds now, and cannot be compared')
            quasi = ()
        found[one["out"], quasi] = EarlierRelease(one["out"], quasi)
    return list(found.values()), lost
