"""One socket: bytes in, bytes out, TLS on request.

Comes in: what asyncio hands over. Goes out: whole messages, whose length is looked at before their body is waited for.
"""

from __future__ import annotations

import asyncio
import ssl
import struct
from typing import cast

from sfumato.errors import QueryError
from sfumato.server.pgwire.messages import broken

LONGEST_STARTUP = 10_000
"""PostgreSQL's own limit."""
KINDS = "QPBDECSHXFpdcf"
_HEAD = struct.Struct("!BI")
_HIGH = 1 << 16
_GRACE = 2.0
"""Seconds for the last bytes to leave."""


class ClientLeft(Exception):
    """The client has left."""


class Wire(asyncio.Protocol):
    """A buffer of our own, so that nothing which came before TLS can be taken for something that came inside of it."""

    def __init__(self) -> None:
        self._longest = LONGEST_STARTUP
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._came = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self.gone = asyncio.Event()
        self._closed = asyncio.Event()
        self._paused = False
        self.is_named = False
        """Whether the client has said who it claims to be."""

    # what asyncio calls
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A socket, or after start_tls the channel above it."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """More bytes; a client that sends more than a message holds waits."""
        self._buffer += data
        self._came.set()
        if len(self._buffer) > self._longest + _HIGH and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    def eof_received(self) -> bool:
        """The client sends no more."""
        self.gone.set()
        self._came.set()
        return False

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002  asyncio's signature
        """The socket is closed."""
        self.gone.set()
        self._came.set()
        self._writable.set()
        self._closed.set()

    def pause_writing(self) -> None:
        """The client does not read."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """It does again."""
        self._writable.set()

    # what the server calls
    def widen(self, longest: int) -> None:
        """From now on messages may be so long: whoever has not logged in yet says little."""
        self._longest = longest

    @property
    def waiting(self) -> int:
        """Bytes that came and were not read yet."""
        return len(self._buffer)

    @property
    def peer(self) -> str:
        """The client's address."""
        found = self._transport.get_extra_info("peername") if self._transport is not None else None
        return str(found[0]) if isinstance(found, tuple) else "local"

    async def read(self, size: int) -> bytes:
        """Exactly so many bytes."""
        while len(self._buffer) < size:
            await self._more()
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        if self._paused and self._transport is not None and len(self._buffer) <= _HIGH:
            self._paused = False
            self._transport.resume_reading()
        return data

    async def _more(self) -> None:
        if self.gone.is_set():
            raise ClientLeft
        self._came.clear()
        await self._came.wait()

    async def startup(self) -> bytes:
        """The body of the first message."""
        (length,) = struct.unpack("!I", await self.read(4))
        if not 8 <= length <= LONGEST_STARTUP:
            raise broken("invalid length of startup packet")
        return await self.read(length - 4)

    async def message(self, longest: int | None = None) -> tuple[str, bytes]:
        """Kind and body of a later one. Its head is judged as soon as it is there, whether or not a body follows."""
        most = longest or self._longest
        while len(self._buffer) < 5:
            await self._more()
        number, length = _HEAD.unpack_from(self._buffer)
        if chr(number) not in KINDS:
            raise broken(f"invalid frontend message type {number}")
        if length < 4:
            raise broken("invalid message length")
        if length > most:
            what = f"a message has at most {most} bytes, but this one has {length}"
            raise QueryError(what, sqlstate="54000")
        return chr(number), (await self.read(length + 1))[5:]

    async def write(self, data: bytes) -> None:
        """Send, as fast as the client reads."""
        if self.gone.is_set() or self._transport is None:
            raise ClientLeft
        self._transport.write(data)
        if len(data) >= _HIGH:
            await asyncio.sleep(0)  # a long answer lets others speak in between
        await self._writable.wait()

    async def secure(self, context: ssl.SSLContext) -> None:
        """Go on inside of TLS. Bytes that came before belong to nobody (CVE-2021-23214)."""
        if self._buffer:
            raise broken("received unencrypted data after SSL request")
        assert self._transport is not None
        loop = asyncio.get_running_loop()
        self._transport.write(b"S")
        secured = await loop.start_tls(self._transport, self, context, server_side=True)
        if secured is None:
            raise ClientLeft
        self._transport = secured

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    async def close(self) -> None:
        """Send what is left and close; a client that does not take it is cut off."""
        if self._transport is None:
            return
        self._transport.close()
        try:
            async with asyncio.timeout(_GRACE):
                await self._closed.wait()
        except TimeoutError:
            self._transport.abort()
            await asyncio.sleep(0)
