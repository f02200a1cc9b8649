"""One side of the comparison, in the environment of its own: it is asked each question that it offers, some times.

    python -P run.py NAME FOLDER RUNS SECONDS

Comes in: `NAME.py` beside this file, and a folder with visits.csv, users.csv and what is public (facts.json). Goes out:
one JSON line a question: the milliseconds of CPU of each run, and each answer, a number or one for each group. A
question ends after SECONDS, with the runs that it has.
"""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

TICK = os.sysconf("SC_CLK_TCK")
KINDS = {"user_id": int, "age": int, "cost": float, "zipcode": int}


@dataclass(frozen=True)
class Data:
    """The same rows for everyone, and what everyone is told in advance; epsilon, delta and the bound of rows."""

    folder: Path
    cities: list[str]
    diseases: list[str]
    regions: list[str]
    rows: int
    epsilon: float
    delta: float
    bound: int

    def table(self, name: str) -> list[tuple[Any, ...]]:
        """The rows of a table, in the order of its file, with their types."""
        with (self.folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            lines = csv.reader(file)
            kinds = [KINDS.get(column, str) for column in next(lines)]
            return [tuple(kind(cell) for kind, cell in zip(kinds, line, strict=True)) for line in lines]

    def by_hand(self) -> Any:
        """The visits for peers that know no persons."""
        return load("by_hand").Rows(self)


def load(name: str) -> ModuleType:
    """The file of a peer; its name is often that of the package that it imports, so it goes by another one."""
    spec = importlib.util.spec_from_file_location(f"peer_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def below() -> float:
    """Seconds of CPU of all processes that live below this one: a virtual machine and its workers."""
    children: dict[int, list[tuple[int, float]]] = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = place.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue  # it has ended
        # of a child that has ended its parent keeps the time (the last two)
        times = sum(int(word) for word in words[11:15])
        children.setdefault(int(words[1]), []).append((int(place.parent.name), times / TICK))
    ended = os.times()
    found, open_ = ended.children_user + ended.children_system, [os.getpid()]
    while open_:
        for child, seconds in children.get(open_.pop(), []):
            found += seconds
            open_.append(child)
    return found


def plainly(answer: Any) -> Any:
    """Numbers as floats, groups by the text of their key."""
    if isinstance(answer, dict):
        return {"|".join(key) if isinstance(key, tuple) else str(key): float(n) for key, n in answer.items()}
    return float(answer)


def main() -> None:
    name, folder, runs, seconds = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    warnings.filterwarnings("ignore")
    peer = load(name)
    far = below if getattr(peer, "BELOW", False) else float  # looking takes time itself
    data = Data(folder=folder, **json.loads((folder / "facts.json").read_text(encoding="utf-8")))
    for key, ask in peer.offers(data).items():
        cpu: list[float] = []
        answers: list[Any] = []
        error = None
        end = time.monotonic() + seconds
        try:
            ask()  # the first one is not counted: imports, caches
            while len(answers) < runs and (not answers or time.monotonic() < end):
                before, start = far(), time.process_time()
                answer = ask()
                cpu.append(1000 * (time.process_time() - start + far() - before))
                answers.append(plainly(answer))
        except BaseException as raised:  # noqa: BLE001  a peer may panic: what it says is what is told of it
            error = f"{type(raised).__name__}: {' '.join(str(raised).split())}"[:160]
        print(json.dumps({"question": key, "cpu": cpu, "answers": answers, "error": error}), flush=True)
    sys.stdout.flush()
    os._exit(0)  # a virtual machine below may take its time to end


if __name__ == "__main__":
    main()
