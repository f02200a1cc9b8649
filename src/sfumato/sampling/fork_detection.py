"""Detects forks: `epoch()` returns a token that is replaced in every child process.

Comes in: nothing. Goes out: an object that stays the same until this process is a forked copy of another one. Whoever
keeps random bits or noise keeps the token with them, and drops both when the token has changed.

Guarantee: after a fork, parent and child hold different tokens, however the fork was made.
Proof: three signs, each of which alone replaces the token. Python's own forks run the hook. Where the kernel knows
MADV_WIPEONFORK (Linux 4.14 and later), every copy of the address space finds the marked page filled with zeros, also
where C code forks below Python and where the child has the parent's process number in a new pid namespace. Elsewhere
(macOS, BSD, Windows) the process number is compared: there a fork below Python into a namespace that repeats the number
would go unnoticed. A copy of a whole virtual machine shows no sign at all.
Reference: madvise(2), MADV_WIPEONFORK; the fork trap is documented by tmlt.core's rng module.
Checked by: sampling::fork_does_not_repeat, sampling::fork_below_python_does_not_repeat,
sampling::fork_with_the_same_process_number_does_not_repeat, sampling::epoch_is_kept_until_a_fork
"""

from __future__ import annotations

import mmap
import os

_WIPE_ON_FORK = 18
"""MADV_WIPEONFORK, which Python's mmap does not name."""


def _marked_page() -> mmap.mmap | None:
    """A private page that every child finds zeroed, with a mark in it; None where the system has no such thing."""
    try:
        page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        page.madvise(_WIPE_ON_FORK)
    except (AttributeError, OSError, ValueError):
        return None
    page[0] = 1
    return page


class _Epoch:
    """The token of this process."""

    def __init__(self) -> None:
        self.page = _marked_page()
        self.renew()

    def renew(self) -> None:
        if self.page is not None:
            self.page[0] = 1
        self.process = os.getpid()
        self.token = object()

    def current(self) -> object:
        if (self.page is not None and not self.page[0]) or os.getpid() != self.process:
            self.renew()
        return self.token


_epoch = _Epoch()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_epoch.renew)


def epoch() -> object:
    """A token that is the same object until this process is forked; what was drawn in another epoch is not used."""
    return _epoch.current()


def sees_every_fork() -> bool:
    """Whether the kernel marks forked memory, so that no fork goes unnoticed."""
    return _epoch.page is not None
