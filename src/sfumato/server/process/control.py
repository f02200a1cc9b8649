"""The socket in the state directory by which `sfumato reload` talks to a running server.

Comes in: one line of JSON on a Unix socket that the owner alone may open. Goes out: one line. Each server has its own,
named by its process, so that all servers of a policy are reached; one that is left over from a crash is removed.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sfumato import errors
from sfumato.errors import EngineError, SfumatoError
from sfumato.files import make_private_directory

_OPERATOR = logging.getLogger("sfumato.operator")
Handle = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
_LONGEST = 100
"""Bytes of a socket's name that every system takes."""


@contextmanager
def _reached(path: Path) -> Iterator[str]:
    """A name of the socket that is short enough, whatever the directory is called."""
    if len(os.fsencode(path)) <= _LONGEST or not Path("/proc/self/fd").is_dir():
        yield str(path)
        return
    handle = os.open(path.parent, os.O_RDONLY)
    try:
        yield f"/proc/self/fd/{handle}/{path.name}"
    finally:
        os.close(handle)


class Control:
    """The server's end."""

    def __init__(self, state: str | Path, handle: Handle) -> None:
        self._path = Path(state) / f"control-{os.getpid()}.sock"
        self._handle = handle
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen, for the owner alone."""
        make_private_directory(self._path.parent)
        self._path.unlink(missing_ok=True)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)
        try:
            with _reached(self._path) as name:
                listening.bind(name)
        finally:
            os.umask(before)
        self._server = await asyncio.start_unix_server(self._answer, sock=listening)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            document = json.loads(await reader.readline())
            try:
                said = await self._handle(document)
            except SfumatoError as error:
                said = {"error": packed(error)}
            except Exception:  # noqa: BLE001  who asks must hear that it failed; the operator reads why
                _OPERATOR.exception("a request from the owner failed")
                said = {"error": packed(EngineError("the server failed", hint="See the operator's log."))}
            writer.write(json.dumps(said).encode() + b"\n")
            await writer.drain()
        except (ConnectionError, ValueError):
            pass  # who asked has left, or did not ask in our language
        finally:
            writer.close()

    async def stop(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.close()
            self._path.unlink(missing_ok=True)


def tell_all(state: str | Path, document: dict[str, Any]) -> list[dict[str, Any]]:
    """Tell every server of a state directory, and hear what each says."""
    heard = []
    for path in sorted(Path(state).glob("control-*.sock")):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            try:
                with _reached(path) as name:
                    line.connect(name)
            except (ConnectionRefusedError, FileNotFoundError):
                path.unlink(missing_ok=True)  # its server has crashed
                continue
            line.sendall(json.dumps(document).encode() + b"\n")
            with line.makefile("rb") as file:
                said = file.readline()
        if said:
            heard.append(json.loads(said))
    if not heard:
        raise EngineError(
            "nothing serves this policy",
            sqlstate="57P03",
            hint="`sfumato serve` starts a server with the policy as it is.",
        )
    return heard


def is_served(state: str | Path) -> bool:
    """Whether some server runs on a state directory."""
    for path in Path(state).glob("control-*.sock"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line, suppress(OSError), _reached(path) as name:
            line.connect(name)
            return True
    return False


def packed(error: SfumatoError) -> dict[str, Any]:
    """An error for another process."""
    return {"kind": type(error).__name__, **error.to_dict()}


def unpacked(document: dict[str, Any]) -> SfumatoError:
    """The same error there."""
    kind = getattr(errors, document["kind"], SfumatoError)
    names = ("detail", "hint", "position", "sqlstate")
    made: SfumatoError = kind(document["message"], **{name: document[name] for name in names})
    return made
