"""A file of rows that an owner uploads from the console for a new policy, streamed to the policy's folder.

Comes in: the bytes of a CSV or Parquet file, and the name that it has on the owner's machine. Goes out: the name that
it got here. It is written for its owner alone, below a name that is made here, and never over another file. Of its
content the names and types of columns are read, as for every file beside a policy; no row is read, and none is logged.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import secrets
import shutil
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from sfumato.errors import EngineError, InputError, PolicyError, QueryError
from sfumato.files import PRIVATE, sync_directory
from sfumato.owner import schema
from sfumato.server.http.authentication import AuthenticatedUser
from sfumato.server.http.error_responses import busy, turned
from sfumato.server.http.response_bodies import reply, wanted
from sfumato.server.http.server_state import HttpServerState

KINDS = (".csv", ".tsv", ".parquet")
BYTES = "application/octet-stream"
_PART = 2**20
_SPARE = 2**28
"""So many bytes of the disk are left free: the ledger needs some."""
_OLD = 86_400.0
_MOST_NAMES = 1000


async def upload(office: HttpServerState, request: Request, guest: AuthenticatedUser) -> Response:
    """A file beside the policy.

    Guarantee: nothing is written outside of the policy's folder, no file that exists is changed, nobody but the
        server's own user can read what is written, and of an upload that fails nothing is left.
    Proof: the name is made of letters, digits, _ and - that are taken from the given one. The file is written in a
        folder that is made for it with mode 0700, and gets its name by a link, which fails where there is a file.
    Reference: docs/threats.md, The console.
    Checked by: end_to_end::an_upload_is_a_private_file_beside_the_policy, end_to_end::a_hostile_name_leads_nowhere,
        end_to_end::of_an_upload_that_fails_nothing_is_left
    """
    wanted(request)
    if not guest.by_cookie:
        raise QueryError("files can only be uploaded in the console", sqlstate="42501", hint="Log in there.")
    home = _home(office.gate.policy.path)  # a look at the gateway would take the body for the end of the request
    name = safe_name(request.query_params.get("name", ""))
    _check_head(request, office.limits.upload)
    with _alone(home), _folder(home) as folder:
        file = folder / name
        size = await _receive(request, file, office)
        await asyncio.to_thread(_check_kind, file)
        placed = await asyncio.to_thread(_place, file, home)
    office.journal.write("data uploaded", user=guest.user.name, file=placed)
    return reply({"name": placed, "bytes": size})


def safe_name(given: str) -> str:
    """A name for a file, from the one that it had elsewhere.

    >>> safe_name("Visits (2024).CSV"), safe_name("../../etc/passwd.parquet"), safe_name("é.csv")
    ('Visits_2024.csv', 'etc_passwd.parquet', 'data.csv')
    """
    ending = next((kind for kind in KINDS if given.lower().endswith(kind)), None)
    if ending is None:
        raise InputError("only CSV and Parquet files can be uploaded", hint=f"Its name ends in {', '.join(KINDS)}.")
    stem = re.sub(r"[^A-Za-z0-9-]+", "_", given[: -len(ending)])[-60:].strip("_-")
    return f"{stem or 'data'}{ending}"


def _home(path: Path | None) -> Path:
    if path is None:
        raise InputError("this policy is not in a file")
    return path.parent


def _check_head(request: Request, most: int) -> None:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != BYTES:
        raise turned(415, f"the body must be {BYTES}")
    stated = request.headers.get("content-length", "0")
    if stated.isdecimal() and int(stated[:20]) > most:
        raise _too_large(most)


def _too_large(most: int) -> Exception:
    hint = "Copy a larger file into the policy's folder, on the server."
    return turned(413, f"a file may have at most {most:,} bytes", hint=hint, headers={"Connection": "close"})


async def _receive(request: Request, file: Path, office: HttpServerState) -> int:
    """The body, part by part, onto the disk; how many bytes it has."""
    limits, size = office.limits, 0
    handle = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE)
    with os.fdopen(handle, "wb", buffering=0) as stream:
        try:
            async with asyncio.timeout(limits.upload_seconds):
                async for part in _parts(request, limits.body_seconds):
                    size += len(part)
                    if size > limits.upload:
                        raise _too_large(limits.upload)
                    await asyncio.to_thread(_write, stream.fileno(), part, file.parent)
            await asyncio.to_thread(os.fsync, stream.fileno())
        except TimeoutError:
            raise turned(408, "the file did not arrive in time", headers={"Connection": "close"}) from None
        except ClientDisconnect:
            raise turned(400, "the client disconnected") from None
        except OSError as error:
            raise _full() if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else error from None
    return size


async def _parts(request: Request, seconds: float) -> AsyncIterator[bytes]:
    """The body in larger parts; who is silent for too long is not waited for."""
    kept, stream = bytearray(), request.stream()
    while True:
        try:
            kept += await asyncio.wait_for(anext(stream), seconds)
        except StopAsyncIteration:
            break
        if len(kept) >= _PART:
            yield bytes(kept)
            kept.clear()
    if kept:
        yield bytes(kept)


def _write(handle: int, part: bytes, folder: Path) -> None:
    if shutil.disk_usage(folder).free < _SPARE:
        raise _full()
    left = memoryview(part)
    while left:
        left = left[os.write(handle, left) :]


def _full() -> EngineError:
    return EngineError("the server's disk is too full for this file", sqlstate="53100")


def _check_kind(file: Path) -> None:
    """Whether it is what its name says, by its first line or its footer; the engine's own words are not passed on."""
    try:
        found = schema.of_files([str(file)])
    except PolicyError as error:
        kind = "Parquet" if schema.is_kind(file.name, schema.PARQUET) else "CSV"
        raise InputError(f"this is not a readable {kind} file", hint=error.hint) from None
    if not found.columns:
        raise InputError("this file has no columns")


def _place(file: Path, home: Path) -> str:
    """Give a file its name beside the policy, or the next one that is free."""
    stem, ending = file.name[: -len(file.suffix)], file.suffix
    for number in range(1, _MOST_NAMES):
        name = f"{stem}{ending}" if number == 1 else f"{stem}-{number}{ending}"
        try:
            os.link(file, home / name, follow_symlinks=False)
        except FileExistsError:
            continue
        sync_directory(home)
        return name
    raise InputError("too many files have this name", hint="Rename it.")


@contextmanager
def _folder(home: Path) -> Iterator[Path]:
    """A folder for one upload, which is gone with whatever is left in it; also those that a killed server left."""
    for left in home.glob(".upload-*"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _OLD:
                shutil.rmtree(left, ignore_errors=True)
    folder = home / f".upload-{secrets.token_hex(8)}"
    try:
        folder.mkdir(mode=0o700)
    except OSError:
        raise EngineError("the server cannot write into the policy's folder", sqlstate="58030") from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


_BUSY: set[Path] = set()


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """One upload at a time."""
    if home in _BUSY:
        error = QueryError("another file is being uploaded", sqlstate="53300", hint="Wait for it to finish.")
        raise busy(error, 5)
    _BUSY.add(home)
    try:
        yield
    finally:
        _BUSY.discard(home)
