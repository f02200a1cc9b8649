"""What a serving process sets up with the system and the interpreter: shutdown in time, open files, thread switching.

Comes in: a signal to stop. Goes out: an exit, by itself if everything ends in time, and forced otherwise: whatever was
paid for is on the disk before any row is read, so that nothing can be lost by it.
"""

from __future__ import annotations

import ctypes
import gc
import logging
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from sfumato.server.operator_log import warn

WORKER, CREW, LAST = 7.0, 7.5, 8.5
"""Seconds after the first signal at which a worker ends itself whatever runs, at which its crew kills it, and at which
the crew ends: ten are promised, and a busy machine is late."""
_FILES = 65_536
_TURN = 0.001
"""Seconds that a thread has the interpreter while others wait."""
_PDEATHSIG = 1
"""PR_SET_PDEATHSIG: a signal for this process when its parent dies."""


def end_within(seconds: float, code: int = 0, first: Callable[[], None] = lambda: None) -> None:
    """End this process after so many seconds, if it has not ended by itself; `first` is done before.

    Guarantee: the process is gone `seconds` after the call, also where its event loop, the interpreter's own end or an
        engine does not come to an end; but not where nothing lets this thread run: then its crew ends it.
    Proof: a thread of its own ends it, which waits for nothing but the clock and one line of a log.
    Reference: docs/threats.md, Availability.
    Checked by: end_to_end::a_server_ends_within_ten_seconds_whatever_runs, unit::a_process_ends_when_its_time_is_over
    """

    def end() -> None:
        try:
            first()
            warn("stopped while queries were still running; what was charged stays charged")
            sys.stdout.flush()
        finally:
            os._exit(code)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()


def leave(code: int = 0) -> None:
    """End this process now, once everything that matters is closed and its last line is written.

    Taking the interpreter apart takes long on a busy machine: it waits for threads that nobody needs any more, and
    frees what the system takes back anyway. Nothing is registered to be done at the end but that.
    """
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # nobody reads it, or it is closed
            stream.flush()
    os._exit(code)


def end_with(parent: int) -> None:
    """End this process when its parent is gone, at once and whatever runs, where the system can do that (Linux).

    Elsewhere the parent's end of a pipe or socket closes, which this process has to notice by itself.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was gone before that
        os._exit(1)


def share_interpreter() -> None:
    """Let threads that answer wait less for those that plan.

    The interpreter stands still while it looks for unused objects; those that were imported are used for good, and it
    need not look at them. Who waits for the interpreter asks for it five times as often as usual.
    """
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(_TURN)


def raise_files() -> None:
    """Let this process open as many files as the system allows: each connection is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
