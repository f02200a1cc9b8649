"""Verdicts: CPU seconds for each program of the tests, to their kernel check, and beside what others say of themselves.

CheckDP (CCS 2020) says "within 70 seconds" for size 5 and epsilon 1; ShadowDP (PLDI 2019) about 3 seconds with
alignments written by hand. Those are their words, on their machines: not measured here.
"""

import re
import time
from pathlib import Path

from sfumato.verify.checking import faults_of
from sfumato.verify.parse import read_program
from sfumato.verify.verdict import verify

PROGRAMS = sorted((Path(__file__).parents[1] / "tests" / "verify" / "programs").glob("*.sfp"))
PEERS = {"CheckDP, as stated": 70.0, "ShadowDP with annotations, as stated": 3.0}


def main():
    spent = {"PROVED": [], "REFUTED": [], "check": []}
    for path in PROGRAMS:
        text = path.read_text()
        expected = re.search(r"expect: (\w+)", text)[1]
        if expected == "ERROR":
            continue
        start = time.process_time()
        verdict = verify(read_program(text))
        took = time.process_time() - start
        assert verdict.verdict == expected, path.name
        spent[expected].append((took, path.stem))
        if expected == "PROVED":
            start = time.process_time()
            assert not faults_of(verdict.certificate)
            spent["check"].append((time.process_time() - start, path.stem))
    for kind, rows in spent.items():
        worst, name = max(rows)
        total = sum(took for took, _ in rows)
        print(f"{kind:8} {len(rows):3} programs, {total:6.1f} s in all, longest {worst:.2f} s ({name})")
    for name, seconds in PEERS.items():
        print(f"longest proof to {name}: 1/{seconds / max(spent['PROVED'])[0]:.0f}")


if __name__ == "__main__":
    main()
