"""Write docs/published.md from the programs in docs/published: `make docs`.

Verdicts and times are what this machine measured; a test keeps the verdicts true.
"""

from __future__ import annotations

import time
from pathlib import Path

from sfumato.verify import program

DOCS = Path(__file__).parents[1] / "docs"
FILES = sorted((DOCS / "published").glob("*.sfp"))
HEAD = """# Programs that other verifiers published

The programs on which CheckDP (CCS 2020), ShadowDP (PLDI 2019) and StatDP (CCS 2018) were evaluated, in our notation.
`sfumato verify` gets the program and the claim and nothing else: no alignment, invariant or list of inputs. PROVED
holds for all sizes, all N, all thresholds and every epsilon. REFUTED comes with two inputs, an event and certified
probabilities. *Seconds* are CPU seconds from the text to the verdict, on the machine that made this page, which had
other work at the time.

| program | verdict | seconds |
|---|---|---|
"""
FOOT = """
For comparison, as published by their authors on their machines, so orders of magnitude only:

- CheckDP states that it proves or refutes each of its programs "within 70 seconds". Its repository searches lists of
  size 5 with epsilon 1 and whole numbers.
- ShadowDP states "at most 3 seconds". It proves only, and the alignment of each draw is written by hand.
- StatDP tests programs by running them. It refutes with a p-value and proves nothing; a later study (DP-Sniper, 2021)
  measured 46 s to 7.6 hours for each mechanism.

None of these three was run for this page.

    sfumato verify docs/published/19-smart-sum.sfp --explain
    sfumato verify docs/published/11-adaptive-without-threshold.sfp
"""


def row(path: Path, verdict: str, seconds: float) -> str:
    """One program's line."""
    said = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("-- ")
    return f"| [{path.stem}](published/{path.name}): {said} | {verdict} | {seconds:.2f} |"


def measured(path: Path) -> tuple[str, float]:
    """The verdict on a program, and the CPU time that it took."""
    before = time.process_time()
    verdict = program(path.read_text(encoding="utf-8")).verify().verdict
    return verdict, time.process_time() - before


def main() -> None:
    """Write the page; one program first, so that no line has the time of imports."""
    measured(FILES[0])
    rows = [row(path, *measured(path)) for path in FILES]
    (DOCS / "published.md").write_text(HEAD + "\n".join(rows) + "\n" + FOOT, encoding="utf-8")


if __name__ == "__main__":
    main()
