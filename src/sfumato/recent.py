"""A cache of the last things that were used, bounded by the bytes that they hold.

Comes in: keys and values. Goes out: the same values, as long as there is room. What an entry holds is counted here and
not by who keeps it: texts, lists, records and what they refer to, and the key itself.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import is_dataclass
from fractions import Fraction
from functools import partial
from sys import getsizeof
from types import CellType, FunctionType, MethodType
from typing import Any, Generic, TypeVar

V = TypeVar("V")
SHARE = 4
"""One entry may take at most one part in so many of all the room."""
_SHARED = "sfumato.policy"
"""Records of the policy are the same ones in every entry."""


class Recent(Generic[V]):
    """The last things that were used, by key, as many as hold at most `most` bytes together. Any number of threads.

    Guarantee: what is kept holds at most `most` bytes, as `bytes_held` counts them when it is put in; no entry holds
        more than a quarter of that.
    Proof: the sum of the weights is kept with the entries, under one lock; what weighs too much is not put in.
    Reference: docs/threats.md, Availability.
    Checked by: unit::caches_are_bounded_in_bytes, unit::what_an_entry_holds_is_what_it_weighs
    """

    def __init__(self, most: int) -> None:
        self._most, self._weight, self._lock = most, 0, threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[V, int]] = OrderedDict()

    @property
    def held(self) -> int:
        """The bytes that are kept."""
        return self._weight

    def get(self, key: Hashable) -> V | None:
        """What is kept under a key."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, value: V, more: int = 0) -> None:
        """Keep it, and let go of what was not used for longest; what would push out a quarter of all is not kept.

        `more` are bytes that it will hold later.
        """
        share = self._most // SHARE
        weight = more + bytes_held((key, value), share) if more <= share else more
        with self._lock:
            self._weight -= self._kept.pop(key, (None, 0))[1]
            if weight > share:
                return
            self._kept[key] = (value, weight)
            self._weight += weight
            while self._weight > self._most:
                self._weight -= self._kept.popitem(last=False)[1][1]


def bytes_held(thing: Any, most: int) -> int:
    """Roughly how many bytes a thing keeps in memory, everything once; more than `most` is not counted to its end.

    Engines, sockets and whatever else is neither a value, a record nor a function are somebody else's.
    """
    waiting: list[Any] = [thing]
    seen: set[int] = set()
    size = 0
    while waiting and size <= most:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        size += getsizeof(one)
        kind = type(one)
        look = _LOOKS[kind] if kind in _LOOKS else _look_of(kind)
        if look is not None:
            waiting.extend(look(one))
    return size


def _look_of(kind: type) -> Callable[[Any], Iterable[Any]] | None:
    """What is behind a thing of another type; a record of this package has fields."""
    if issubclass(kind, tuple):  # with names
        look: Callable[[Any], Iterable[Any]] | None = iter
    elif issubclass(kind, Exception):
        look = _of_error
    elif not is_dataclass(kind) or kind.__module__.startswith(_SHARED):
        look = None
    else:
        look = _of_fields if kind.__dictoffset__ else partial(_of_slots, tuple(kind.__dataclass_fields__))
    _LOOKS[kind] = look
    return look


def _of_error(one: Exception) -> Iterable[Any]:
    return (*one.args, vars(one))


def _of_fields(one: Any) -> Iterable[Any]:
    """The values of the fields; their names are those of the class."""
    return (one.__dict__,)


def _of_slots(names: tuple[str, ...], one: Any) -> Iterable[Any]:
    return [getattr(one, name, None) for name in names]


def _of_dict(one: dict[Any, Any]) -> Iterable[Any]:
    return (*one, *one.values())


def _of_function(one: FunctionType) -> Iterable[Any]:
    return one.__closure__ or ()


def _of_cell(one: CellType) -> Iterable[Any]:
    try:
        return (one.cell_contents,)
    except ValueError:  # not filled yet
        return ()


_LOOKS: dict[type, Callable[[Any], Iterable[Any]] | None] = {
    **dict.fromkeys((str, bytes, int, float, bool, type(None), type)),
    **dict.fromkeys((tuple, list, set, frozenset), iter),
    dict: _of_dict,
    Fraction: lambda one: (one.numerator, one.denominator),
    FunctionType: _of_function,
    CellType: _of_cell,
    MethodType: lambda one: (one.__self__,),
    partial: lambda one: (one.func, one.args, one.keywords),
}
"""What is behind a thing, by its type; a record where it is not listed."""
