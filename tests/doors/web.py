"""What the tests of the HTTP door share: a door in a thread, tokens, and clients."""

import asyncio
import contextlib
import threading
from datetime import timedelta
from pathlib import Path

import httpx
from tests.doors.pg import PASSWORD

import sfumato
from sfumato.doors.http import HttpDoor, Limits
from sfumato.doors.journal import Journal
from sfumato.doors.tokens import issue
from sfumato.doors.users import Users

COUNT = "SELECT COUNT(*) AS n FROM patient"


class Web:
    """A door in a thread of its own, with a token for everybody."""

    def __init__(self, gate, tls=None, names=("ana", "bob", "owner", "auditor"), users=None, **options):
        state = gate.policy.data.state
        self.gate, self.state = gate, Path(state)
        self.users = users or Users(state)
        for name in names:
            self.users.add(name, name if name in ("owner", "auditor") else "analyst", PASSWORD)
        self.tokens = {name: issue(self.users, name, timedelta(days=1))[1] for name in names}
        self.journal = Journal(state)
        self.door = HttpDoor(gate, self.users, self.journal, tls=tls, **options)
        self.scheme = "http" if tls is None else "https"
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self._thread.start()
        assert self._ready.wait(20)

    async def _run(self):
        self._stop, self.loop = asyncio.Event(), asyncio.get_running_loop()
        self.host, self.port = await self.door.start("127.0.0.1", 0)
        self._ready.set()
        await self._stop.wait()
        await self.door.stop()

    def run(self, function, *arguments):
        """Call a function in the door's own thread."""

        async def inside():
            return function(*arguments)

        return asyncio.run_coroutine_threadsafe(inside(), self.loop).result(20)

    @property
    def url(self):
        return f"{self.scheme}://{self.host}:{self.port}"

    def client(self, name=None, **options):
        headers = {"Authorization": f"Bearer {self.tokens[name]}"} if name else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=30, trust_env=False, **options)

    def stop(self):
        if self._thread.is_alive():
            self.loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(30)
        assert not self._thread.is_alive()
        self.journal.close()


@contextlib.contextmanager
def serving(policy, **options):
    with sfumato.open(policy) as gate:
        web = Web(gate, **options)
        try:
            yield web
        finally:
            web.stop()


def spent(web, analyst="ana"):
    return web.gate.budget(analyst).spent.epsilon


__all__ = ["COUNT", "PASSWORD", "Limits", "Web", "serving", "spent"]
