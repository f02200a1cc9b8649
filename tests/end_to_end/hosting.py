"""What the tests of all doors share: people who may come in, and a door in a thread of its own."""

import asyncio
import contextlib
import threading

import sfumato

PASSWORD = "correct horse"  # noqa: S105 - of a made-up clinic


def let_in(users, names):
    """Everybody has the same password; who is called owner or auditor is that."""
    for name in names:
        users.add(name, name if name in ("owner", "auditor") else "analyst", PASSWORD)


def dsn(host, port, user="ana", **more):
    """How clients of PostgreSQL write where to go."""
    words = {"host": host, "port": port, "user": user, "password": f"'{PASSWORD}'", "dbname": "clinic"}
    return " ".join(f"{name}={value}" for name, value in (words | more).items())


class Hosted:
    """A door on a free port, in a thread of its own."""

    def __init__(self, door):
        self._door, self._ready = door, threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self._thread.start()
        assert self._ready.wait(60)

    async def _run(self):
        self._stop, self._loop = asyncio.Event(), asyncio.get_running_loop()
        self.host, self.port = await self._door.start("127.0.0.1", 0)
        self._ready.set()
        await self._stop.wait()
        await self._door.stop()

    def run(self, function, *arguments):
        """Call a function in the door's own thread."""

        async def inside():
            return function(*arguments)

        return asyncio.run_coroutine_threadsafe(inside(), self._loop).result(60)

    def stop(self):
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(60)
        assert not self._thread.is_alive()


@contextlib.contextmanager
def hosting(policy, make):
    """What is made of a gateway for this policy, until it is no longer needed."""
    with sfumato.open(policy) as gate:
        served = make(gate)
        try:
            yield served
        finally:
            served.stop()
