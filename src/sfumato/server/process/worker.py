"""A worker process: it serves, and does what its supervisor asks.

Comes in: listening sockets and a channel, inherited from the crew; by the channel the order and what follows. Goes out:
answers on the channel. It was started anew, not forked, so that it shares no key, no block of noise and no lock with
anybody. When the crew is gone, so is this process: the kernel sees to that on Linux; elsewhere the channel closes, and
it ends in order.
"""

from __future__ import annotations

import asyncio
import gc
import json
import signal
import socket
import sys
from typing import Any

from sfumato.errors import EngineError, SfumatoError
from sfumato.server.operator_log import warn
from sfumato.server.pgwire.messages import Cancel
from sfumato.server.process.control import packed
from sfumato.server.process.serve_options import ServeOrder, Sockets
from sfumato.server.process.shutdown import WORKER, end_with, end_within, leave, share_interpreter
from sfumato.server.process.worker_services import WorkerServices
from sfumato.server.terminal_output import exit_code


class Worker:
    """A station on a channel."""

    def __init__(self, sockets: Sockets) -> None:
        self._sockets = sockets
        self._ended = asyncio.Event()
        self._writer: asyncio.StreamWriter | None = None

    async def run(self, channel: socket.socket) -> int:
        """Until the crew says stop, or is gone."""
        reader, self._writer = await asyncio.open_unix_connection(sock=channel, limit=2**24)
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._ended.set)
        order = ServeOrder.from_text((await reader.readline()).decode())
        try:
            self._station = await asyncio.to_thread(WorkerServices, order, self._sockets, self._forward)
            await self._station.start()
        except SfumatoError as error:
            self._say({"say": "failed", "error": packed(error)})
            await self._writer.drain()
            return exit_code(error)
        self._say({"say": "ready"})
        listening = asyncio.ensure_future(self._listen(reader))
        await self._ended.wait()
        end_within(WORKER)
        listening.cancel()
        await self._station.stop()
        leave()  # doors, ledger and logs are closed; threads may still be busy
        return 0

    def _say(self, document: dict[str, Any]) -> None:
        assert self._writer is not None
        if not self._writer.is_closing():
            self._writer.write(json.dumps(document).encode() + b"\n")

    def _forward(self, asked: Cancel) -> None:
        self._say({"say": "cancel", "process": asked.process, "secret": asked.secret})

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        while line := await reader.readline():
            document = json.loads(line)
            if document["do"] == "cancel":
                self._station.cancel(Cancel(document["process"], document["secret"]))
            elif document["do"] == "stop":
                break
            else:
                self._say({"id": document["id"], **await self._do(document)})
        self._ended.set()

    async def _do(self, document: dict[str, Any]) -> dict[str, Any]:
        try:
            match document["do"]:
                case "prepare":
                    await self._station.prepare(document["text"])
                case "commit":
                    await self._station.commit()
                case "abort":
                    await self._station.abort()
        except SfumatoError as error:
            return {"error": packed(error)}
        except Exception as error:  # noqa: BLE001  the crew must hear of it, and this process serves on
            warn("a reload failed", kind=type(error).__name__)
            return {"error": packed(EngineError("the reload failed", hint="The operator's log has the cause."))}
        return {}


def main() -> None:
    """`python -m sfumato.server.process.worker CREW CHANNEL PG HTTP`: the crew's process, and numbers of open files."""
    crew, channel, pg, http = sys.argv[1:5]
    end_with(int(crew))
    share_interpreter()
    taken = [tuple(socket.socket(fileno=int(number)) for number in part.split(",") if number) for part in (pg, http)]

    async def serve() -> int:
        return await Worker(Sockets(*taken)).run(socket.socket(fileno=int(channel)))

    code = asyncio.run(serve())
    gc.unfreeze()  # else libraries find their objects alive at the end, and say so on stderr
    sys.exit(code)


if __name__ == "__main__":
    main()
