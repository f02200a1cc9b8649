"""A cache of the last things that were used, bounded by what they weigh."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

V = TypeVar("V")


class Recent(Generic[V]):
    """The last things that were used, by key, as many as weigh at most `most`. Any number of threads."""

    def __init__(self, most: int) -> None:
        self._most, self._weight, self._lock = most, 0, threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[V, int]] = OrderedDict()

    def get(self, key: Hashable) -> V | None:
        """What is kept under a key."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, value: V, weight: int = 1) -> None:
        """Keep it, and let go of what was not used for longest; what would push out a quarter of all is not kept."""
        with self._lock:
            self._weight -= self._kept.pop(key, (None, 0))[1]
            if 4 * weight > self._most:
                return
            self._kept[key] = (value, weight)
            self._weight += weight
            while self._weight > self._most:
                self._weight -= self._kept.popitem(last=False)[1][1]


def weight(sql: str, values: int) -> int:
    """What a question and what was made of it weigh, in values."""
    return 100 + len(sql) // 50 + values
