"""Failed log-ins of the last minute, by name and address: after too many, the next attempt waits, at every interface.

Comes in: who tries, and from where. Goes out: nothing, or an error that says how long to wait. An address may fail ten
times as often as one name from it: a few people may share it. A neighbourhood of IPv6 (/64) is one address.
"""

from __future__ import annotations

import math
import threading
import time
from collections import defaultdict, deque
from ipaddress import IPv6Address, ip_address

from sfumato.errors import QueryError

MOST = 10
"""Failures of one name from one address in a minute."""
_WINDOW = 60.0


class LoginThrottle:
    """Any number of threads may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._at: defaultdict[tuple[str, str], deque[float]] = defaultdict(deque)

    def wait(self, user: str, peer: str, most: int = MOST) -> int:
        """Seconds until this name may try again from this address; 0 is now."""
        now, near = time.monotonic(), _address(peer)
        with self._lock:
            for key in [key for key, times in self._at.items() if times[-1] <= now - _WINDOW]:
                del self._at[key]
            free = now
            for key, allowed in (((user, near), most), (("", near), 10 * most)):
                recent = [t for t in self._at.get(key, ()) if t > now - _WINDOW]
                if len(recent) >= allowed:
                    free = max(free, recent[-allowed] + _WINDOW)
        return math.ceil(free - now)

    def check(self, user: str, peer: str, most: int = MOST) -> None:
        """Too many: wait."""
        seconds = self.wait(user, peer, most)
        if seconds:
            raise too_many(seconds)

    def add(self, user: str, peer: str) -> None:
        """One more."""
        with self._lock:
            for key in ((user, _address(peer)), ("", _address(peer))):
                times = self._at[key]
                times.append(time.monotonic())
                while len(times) > 100 * MOST:
                    times.popleft()


def too_many(seconds: int) -> QueryError:
    """What somebody hears who has failed too often."""
    return QueryError("too many failed logins", sqlstate="28000", hint=f"Try again in {seconds} seconds.")


def _address(peer: str) -> str:
    try:
        found = ip_address(peer.split("%", maxsplit=1)[0])
    except ValueError:
        return peer
    if isinstance(found, IPv6Address) and found.ipv4_mapped is None:
        return str(IPv6Address(int(found) >> 64 << 64))
    return str(getattr(found, "ipv4_mapped", None) or found)
