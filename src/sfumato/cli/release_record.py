"""The record of releases: a line for each, which `anonymize --record` writes and `release-check --record` reads.

Comes in: a release and the table that it was made from. Goes out: earlier releases of the same table with their roles,
hierarchies and promises, what the record says of the release that is checked, and in words which of them cannot be
compared. Files are known by their place and by a digest of what they hold: a copy of the table is the same table, and a
release that was written over is not the one that was made. Labels of a release mean what its own hierarchies say, which
are known in the same way. A line is written before its release appears.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sfumato.anonymity import AnonymizedRelease, AnonymizeRequest
from sfumato.anonymity.inspection import Claims, EarlierRelease, claims_of
from sfumato.anonymity.inspection.reading import locate, read_published
from sfumato.errors import InputError
from sfumato.files import appended_line
from sfumato.types import without_password

_SAME = ("out", "out_digest", "data_digest", "quasi", "sensitive", "keep", "hierarchies_digest", "promised")
"""What a release that was made twice has in common with itself."""


def place_of(address: str) -> str:
    """A file with its whole path, or an address without its password."""
    return without_password(address) if "://" in address else str(Path(address).resolve())


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


def hierarchies_digest(place: Path | None) -> str | None:
    """SHA-256 of all files that hierarchies may be read from: of a folder, or a TOML file and those that it names."""
    if place is None:
        return None
    found = [*place.glob("*_hierarchy_*.csv"), *place.glob("*.toml")] if place.is_dir() else [place]
    files = {file.name: file for file in found}
    for file in found:
        if file == place or file.suffix == ".toml":  # whatever a file that is named is called, it is read as TOML
            files |= {name: file.parent / name for name in _named_in(file)}
    digest = hashlib.sha256()
    for name in sorted(files):
        held = files[name].read_bytes() if files[name].is_file() else b""
        digest.update(f"{name}\0".encode() + hashlib.sha256(held).digest())
    return digest.hexdigest()


def _named_in(file: Path) -> list[str]:
    """The files that the sections of a TOML file name; of a file that is none, nothing was read."""
    try:
        sections = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except ValueError:
        return []
    return [str(one["file"]) for one in sections.values() if isinstance(one, dict) and "file" in one]


def claims_in(request: AnonymizeRequest, dummies: int) -> Claims:
    """What a request promises of its release, which has so many dummies."""
    return claims_of(
        request.k, request.l, request.t, diversity=request.diversity, c=request.c, distance=request.distance,
        dummies=dummies, beta=request.beta, presence=request.presence,
    )  # fmt: skip


@contextmanager
def note(file: Path, request: AnonymizeRequest, out: str, release: AnonymizedRelease, rows: str) -> Iterator[None]:
    """Add a line to the record of releases, for the block in which the release appears; its rows are at `rows`."""
    place = request.hierarchies if isinstance(request.hierarchies, Path) else None
    entry = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "out": place_of(out),
        "data": place_of(request.data),
        "quasi": list(request.quasi),
        "sensitive": request.sensitive,
        "keep": list(request.keep),
        "k": release.k,
        "rows": release.released,
        "promised": {**claims_in(request, release.dummies).to_dict(), "order": list(request.order)},
        "out_digest": digest_of(rows),
        "data_digest": digest_of(request.data),
        "hierarchies": None if place is None else str(place.resolve()),
        "hierarchies_digest": hierarchies_digest(place),
    }
    with ExitStack() as stack:
        try:
            stack.enter_context(appended_line(file, json.dumps(entry)))
        except OSError as error:
            words = f'"{file}" cannot be written'
            raise InputError(
                words, detail=f"{error.strerror}.", hint="No release was made.", sqlstate="58P01"
            ) from None
        yield


def read_record(file: Path) -> list[dict[str, Any]]:
    """The lines of a record; one error for whatever else the file is."""
    if file.exists() and not file.is_file():
        raise InputError(f'"{file}" is not a file', hint="A record of releases is a file.", sqlstate="58P01")
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError:
        raise InputError(f'"{file.name}" is not a record of releases', hint="It is not UTF-8 text.") from None
    except OSError:
        raise InputError(f'there is no file "{file}"', sqlstate="58P01") from None
    found = []
    for number, line in enumerate(lines, 1):
        if not line and number == len(lines):
            continue
        try:
            found.append(_entry(json.loads(line)))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, InputError):
            raise InputError(f'line {number} of "{file.name}" is not a record of a release') from None
    return found


def _entry(entry: dict[str, Any]) -> dict[str, Any]:
    """A line of a record, if its parts are of the right kinds."""
    for name in ("quasi", "keep"):
        if not isinstance(entry.get(name) or [], list):
            raise TypeError
    for name in ("sensitive", "hierarchies", "hierarchies_digest", "out_digest", "data_digest"):
        if not isinstance(entry.get(name), str | None):
            raise TypeError
    if "promised" in entry:
        promised_in(entry)
    return {**entry, "out": str(entry["out"]), "data": str(entry["data"])}


@dataclass(frozen=True)
class RecordedReleases:
    """What a record says: earlier releases of the same table, the release itself, and in words what cannot be compared.

    `hierarchies` are those of the release itself, where the check names none.
    """

    earlier: list[EarlierRelease]
    this: EarlierRelease | None = None
    hierarchies: Path | None = None
    lost: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class CheckedRelease:
    """A release as it is checked: where it is, its original table, roles, hierarchies and number of dummies."""

    release: str
    raw: str
    quasi: tuple[str, ...]
    sensitive: str | None
    hierarchies: Path | None = None
    dummies: int = 0

    def differences(self, entry: dict[str, Any]) -> Iterator[str]:
        """What the record says otherwise than the options of the check."""
        quasi, sensitive = _names(entry, "quasi"), entry.get("sensitive")
        if {*quasi} != {*self.quasi}:
            yield f"the quasi-identifiers {', '.join(quasi)}, not {', '.join(self.quasi)}"
        if sensitive != self.sensitive:
            yield f"{_column(sensitive)}, not {_column(self.sensitive)}"
        if not _is_whole(entry):
            yield "no hierarchies or promises: it was written by an earlier version (make the release again)"
            return
        if self.hierarchies is None and not _has_hierarchies(entry):
            yield "hierarchies that are not what they were"
        if self.hierarchies is not None and hierarchies_digest(self.hierarchies) != entry["hierarchies_digest"]:
            yield "other hierarchies than those that are named"
        if self.dummies > promised_in(entry)[0].dummies:
            yield f"{promised_in(entry)[0].dummies} dummies, not {self.dummies}"


def recorded(record: Path, checked: CheckedRelease, named: Sequence[str] = ()) -> RecordedReleases:
    """Earlier releases of the same table and those that are named, and what the record says of the release itself.

    What the record says of a release holds of a file with its bytes, wherever that is now.
    """
    every, digest = read_record(record), digest_of(checked.release)
    this = _own(every, checked, digest)
    hierarchies = checked.hierarchies
    if this is not None and hierarchies is None and this.get("hierarchies") is not None:
        hierarchies = Path(this["hierarchies"])
    told = None if this is None or not _is_whole(this) else _told(this, checked.release)
    found = RecordedReleases([], told, hierarchies)
    if this is not None:
        found.lost.extend(f"the record has this release with {words}" for words in checked.differences(this))
    others = [one for one in every if this is None or any(one.get(name) != this.get(name) for name in _SAME)]
    files = {digest_of(name): name for name in named}
    whole = {_key(one) for one in every if _is_whole(one)}
    for one in others:
        if not _is_whole(one) and _key(one) in whole:
            continue  # it was made again since an earlier version wrote this line
        file = files.get(one.get("out_digest", ""))
        if file is None and one.get("out_digest") == digest and not _is_there(one["out"]):
            file = checked.release  # it was moved, and is recorded in several ways
        words = _not_compared(one, checked, is_held=file is not None)
        if words is None:
            same = one["hierarchies_digest"] == hierarchies_digest(hierarchies)
            found.earlier.append(_told(one, file or one["out"], same=same))
        else:
            found.lost.append(words)
    noted = {one.file for one in found.earlier}
    alone = [told if told is not None and files.get(digest) == name else EarlierRelease(name) for name in named]
    others_named = [replace(one, file=name) for one, name in zip(alone, named, strict=True) if name not in noted]
    found.earlier[:] = dict.fromkeys([*others_named, *found.earlier])
    return found


def _own(every: list[dict[str, Any]], checked: CheckedRelease, digest: str) -> dict[str, Any] | None:
    """The line about the release that is checked: one with its bytes, best one that the options agree with."""
    here = place_of(checked.release)
    mine = [one for one in every if one.get("out_digest", digest if one["out"] == here else None) == digest]
    agreeing = [one for one in mine if not any(checked.differences(one))] or mine
    at = [one for one in agreeing if one["out"] == here] or agreeing
    return at[-1] if at else None


def _not_compared(one: dict[str, Any], checked: CheckedRelease, *, is_held: bool) -> str | None:
    """In words why a recorded release cannot be compared with the one that is checked; `is_held`: a file is named that
    holds it.
    """
    when = f"the release of {', '.join(_names(one, 'quasi'))} of {one.get('when', 'an unknown time')}"
    if not is_held and one["data"] != place_of(checked.raw) and one.get("data_digest") != digest_of(checked.raw):
        name, table = Path(one["out"]).name, Path(one["data"]).name
        words = f'"{name}" in the record is a release of another table, "{table}", of {one.get("when")}'
        return f"{words}: if some of its people are here, name its file with --earlier"
    if not is_held and not _is_there(one["out"]):
        raise InputError(
            f'there is no file "{one["out"]}"',
            detail="The record has it.",
            hint="Name a copy with --earlier. If it was never published, delete its line, or make it again.",
            sqlstate="58P01",
        )
    if not is_held and digest_of(one["out"]) != one.get("out_digest"):
        return f'{when} is not what "{Path(one["out"]).name}" holds now: name a file that holds it with --earlier'
    if not _has_hierarchies(one):
        return f"the hierarchies of {when} are not what they were, so that its labels cannot be read"
    if not _is_whole(one):
        return f"the record does not say what {when} promises: an earlier version wrote it (make the release again)"
    return None


def _told(one: dict[str, Any], file: str, *, same: bool = True) -> EarlierRelease:
    """A line of the record as a release; `same` says whether its hierarchies are those of the check."""
    claims, order = promised_in(one)
    place = None if one["hierarchies"] is None else Path(one["hierarchies"])
    return EarlierRelease(
        file, _names(one, "quasi"), one.get("sensitive"), same, place, claims, order, _names(one, "keep")
    )  # fmt: skip


def promised_in(entry: dict[str, Any]) -> tuple[Claims, tuple[str, ...]]:
    """What a line of the record says that its release promises, and the order of its sensitive values."""
    words = dict(entry["promised"])
    order = words.pop("order", None) or ()
    return claims_of(**words), tuple(map(str, order))


def _is_whole(one: dict[str, Any]) -> bool:
    """Whether a line says all that is compared; earlier versions wrote less."""
    return all(name in one for name in ("promised", "hierarchies", "hierarchies_digest"))


def _key(one: dict[str, Any]) -> str:
    """What lines about the same release have in common, whichever version wrote them."""
    return json.dumps([one.get(name) for name in ("out_digest", "data_digest", "quasi", "sensitive")])


def _names(entry: dict[str, Any], name: str) -> tuple[str, ...]:
    return tuple(map(str, entry.get(name) or ()))


def _column(sensitive: object) -> str:
    return "no sensitive column" if sensitive is None else f'the sensitive column "{sensitive}"'


def _is_there(address: str) -> bool:
    """Whether there is a file, also where `#` is part of its path; of a server nothing is asked."""
    if "://" in address or Path(address).is_file():
        return True
    return "#" in address and Path(locate(address).file).is_file()


def _has_hierarchies(one: dict[str, Any]) -> bool:
    """Whether the hierarchies that a release was made with are still what they were."""
    if "hierarchies" not in one:
        return False
    try:
        place = None if one["hierarchies"] is None else Path(one["hierarchies"])
        return hierarchies_digest(place) == one.get("hierarchies_digest")
    except (OSError, ValueError, TypeError):
        return False
