"""Test vectors for every client: a task, a value, the random bytes, and the report that they give.

`python -m tests.local.vectors` writes them anew; a test holds the stored ones against the encoders.
"""

import hashlib
import json
from fractions import Fraction
from pathlib import Path

from sfumato.local import ENCODERS
from sfumato.local.rappor import Rappor
from sfumato.local.sketch import CountMeanSketch, PrefixExtending
from sfumato.local.tape import GivenTape
from sfumato.local.task import planned_task, read_task

FILE = Path(__file__).parents[2] / "clients" / "browser" / "local" / "vectors.json"
ODD = ('"quoted"', "🌹", "line\nbreak", "del\x7f", "back\\slash", "# no comment", "tab\t", "ünï]")
TEXTS = ["", "a", "cherry", "šípek 🌹", "x" * 300]


def tasks():
    """Every mechanism, small and large, with coarse and fine thresholds."""
    for name, kind in ENCODERS.items():
        if kind.takes == "values":
            for size, epsilon, bits in ((2, "ln 3", 8), (3, 1, 32), (300, Fraction(1, 2), 32), (70_000, 5, 48)):
                if name == "warner" and size != 2:
                    continue
                if size == 70_000 and name not in ("k-ary", "hadamard", "local-hashing", "dbitflip"):
                    continue
                yield planned_task("vector", kind.planned(size, epsilon, bits))
        elif kind.takes == "numbers":
            for epsilon in (Fraction(1, 2), 2):
                yield planned_task("vector", kind.planned(epsilon), low=Fraction(-3), high=Fraction(1, 3))
    yield planned_task("named", ENCODERS["k-ary"].planned(3, 1), values=("red", "grün", "other"), other="other")
    yield planned_task("odd", ENCODERS["subset"].planned(len(ODD), 1), values=ODD, question='Why "🌹"? # really')
    yield planned_task("vector", Rappor.planned(1, 4))
    yield planned_task("vector", Rappor.planned(2, filter=37, hashes=3, cohorts=1))
    yield planned_task("vector", CountMeanSketch.planned(2, hashes=300, columns=50, salt=7))
    yield planned_task("vector", PrefixExtending.planned(3))


def values_of(task):
    if task.encoder.takes == "strings":
        return TEXTS
    if task.encoder.takes == "numbers":
        return [-3, 0, 0.1, -1.2345678, 99]
    labels = task.labels
    return [*{labels[0], labels[-1], labels[len(labels) // 2]}, *(["unheard of"] if task.other else [])]


def octets(seed, count):
    blocks = (hashlib.sha256(f"{seed}/{i}".encode()).digest() for i in range(-(-count // 32)))
    return b"".join(blocks)[:count]


def report_of(task, value, tape, cohort, key):
    if task.memoised:
        copy = task.encoder.copy(value, cohort, key, task.identity)
        return task.encoder.report_kept(cohort, copy, GivenTape(tape))
    return task.encode([value], GivenTape(tape)).tobytes()


def make():
    vectors = []
    for number, task in enumerate(tasks()):
        text = task.to_toml()
        assert read_task(text) == task
        for turn, value in enumerate(sorted(values_of(task), key=str)):
            seed = f"{number}/{turn}"
            tape, key = octets(seed, 4000), octets(seed + "/key", 32)
            cohort = number % getattr(task.encoder, "cohorts", 1)
            report = report_of(task, value, tape, cohort, key)
            vectors.append(
                {"task": text, "value": value, "seed": seed, "cohort": cohort, "key": key.hex(), "report": report.hex()}
            )
    return vectors


if __name__ == "__main__":
    FILE.write_text(json.dumps(make(), indent=1, ensure_ascii=True) + "\n", encoding="utf-8")
