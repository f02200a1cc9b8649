"""How many durable debits a second, beside a bare append with fdatasync on the same disk in the same run.

python bench/bench_ledger.py [DIRECTORY]

The directory is where the ledger is written, by default one made below the current directory: a file system in memory
would measure nothing.
"""

import os
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

from sfumato.accounting import Pure
from sfumato.ledger import Ledger
from sfumato.ledger.charging import decide, make_request

ONE_BY_ONE = 400
THREADS = 64
EACH = 100
EARLIER = 10_000
LINE = b"x" * 500  # about the size of one entry of the chain
TENTH = Pure("0.1")


def raw_appends(directory, count):
    """Appends a second, each one on the disk before the next."""
    handle = os.open(directory / "raw", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    sync = getattr(os, "fdatasync", os.fsync)  # macOS has no fdatasync
    start = time.perf_counter()
    for _ in range(count):
        os.write(handle, LINE)
        sync(handle)
    seconds = time.perf_counter() - start
    os.close(handle)
    return count / seconds


def book(path):
    return Ledger.open(path, data_id="bench", composition="best", epsilon=10**6, delta="1e-6")


def debit(ledger, question):
    """One question that was not asked before."""
    ledger.debit("ana", TENTH, question=question, epsilon="0.1", version="1", text="SELECT COUNT(*) FROM visits")


def one_by_one(path):
    """Debits a second from one thread."""
    with book(path) as ledger:
        start = time.perf_counter()
        for number in range(ONE_BY_ONE):
            debit(ledger, f"one-{number}")
        return ONE_BY_ONE / (time.perf_counter() - start)


def together(path):
    """Debits a second from many threads that start at once."""
    with book(path) as ledger:
        ready = threading.Barrier(THREADS + 1)

        def work(thread):
            ready.wait()
            for number in range(EACH):
                debit(ledger, f"{thread}-{number}")

        threads = [threading.Thread(target=work, args=(thread,)) for thread in range(THREADS)]
        for thread in threads:
            thread.start()
        ready.wait()
        start = time.perf_counter()
        for thread in threads:
            thread.join()
        return THREADS * EACH / (time.perf_counter() - start)


def median_of(repeats, work):
    """Microseconds of a call with a number of its own."""
    times = []
    for number in range(repeats):
        start = time.perf_counter()
        work(number)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def decisions(earlier):
    """Microseconds of a debit without a disk after so many others: in all, and inside the transaction alone."""
    with book(":memory:") as ledger:
        for number in range(earlier):
            debit(ledger, f"earlier-{number}")
        whole = median_of(2000, lambda number: debit(ledger, f"now-{number}"))
        asked = {"question": "x", "epsilon": "0.1", "version": "1", "text": "SELECT 1", "key": None, "cells": None}
        request = make_request(ledger.terms, "ana", TENTH, **asked)
        alone = ledger._write(lambda at: median_of(2000, lambda _: decide(at, ledger._rules, request, "now")))
        return whole, alone


def verifying(path):
    """Entries a second that `verify` recomputes."""
    with Ledger.visit(path) as ledger:
        start = time.perf_counter()
        report = ledger.verify()
        return report.entries / (time.perf_counter() - start)


def main():
    """Print the table."""
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else Path.cwd()) as made:
        directory = Path(made)
        raw = statistics.median(raw_appends(directory, ONE_BY_ONE) for _ in range(3))
        single = one_by_one(directory / "single")
        group = together(directory / "group")
        raw_after = statistics.median(raw_appends(directory, ONE_BY_ONE) for _ in range(3))
        verified = verifying(directory / "group")
    print(f"append + fdatasync                 {raw:10.0f} /s   {raw_after:.0f} /s after the others")
    base = (raw + raw_after) / 2
    print(f"debits one by one                  {single:10.0f} /s   {single / base:.2f} of an append")
    print(f"debits from {THREADS} threads             {group:10.0f} /s   {group / base:.2f} of an append")
    for earlier in (0, EARLIER):
        whole, alone = decisions(earlier)
        note = f"without a disk; the decision alone {alone:.0f} us"
        print(f"a debit after {earlier:6} others       {whole:10.0f} us   {note}")
    print(f"verify                             {verified:10.0f} entries/s")


if __name__ == "__main__":
    main()
