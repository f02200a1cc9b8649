"""Write docs/zoo.md and docs/zoo.svg from the programs in docs/zoo: `make docs`.

Every number on that page is what the verifier proved or refuted; a test keeps the page true.
"""

from __future__ import annotations

import re
from pathlib import Path

from sfumato.pictures import curves
from sfumato.verify import program
from sfumato.verify.parse import read_proof
from sfumato.verify.run import Runner
from sfumato.verify.tight import TightBounds, tightest

DOCS = Path(__file__).parents[1] / "docs"
FILES = sorted((DOCS / "zoo").glob("*.sfp"))
SIZES = range(1, 21)
HEAD = """# The sparse-vector zoo

Many queries, few alarms, one charge: the sparse vector technique answers "is it above the threshold?" for a stream of
queries and pays only for the positive answers. It was published wrong more often than any other mechanism (Lyu, Su,
Li, PVLDB 2017), and each mistake looks harmless. Here are nine variants, all with the claim `eps`, and the verdicts of
`sfumato verify --tight`: no constant on this page was typed. A proof holds for all sizes, all N, all thresholds and
every epsilon; a refutation comes with two inputs and an event.

| program | claim `eps` | proved | refuted | smallest repair |
|---|---|---|---|---|
"""
FOOT = """
![Loss against the number of queries](zoo.svg)

The picture shows the proved amounts for N = 1 and epsilon 1. A rising line means that enough queries reveal
everything; the fifth program is not shown, because its loss is infinite from two queries on.

    sfumato verify docs/zoo/3-shows-the-number.sfp --tight
    sfumato verify docs/zoo/7-free-gap.sfp --explain
"""


def row(path: Path, verdict: str, bounds: TightBounds) -> str:
    """One program's line."""
    said = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("-- ")
    amounts = [f"`{text}`" if text else "nothing" for text in (bounds.proved, bounds.refuted)]
    return f"| [{path.stem}](zoo/{path.name}): {said} | {verdict} | {' | '.join(amounts)} | {bounds.repair or ''} |"


def found(path: Path) -> tuple[str, TightBounds]:
    """What the verifier says of a program."""
    code = program(path.read_text(encoding="utf-8"))
    verdict = code.verify()
    bounds = tightest(code.tree, verdict)
    assert bounds is not None
    return verdict.verdict, bounds


def picture(page: str) -> str:
    """The amounts that the page says are proved, for N = 1 and epsilon 1; what is the same is drawn once."""
    runner = Runner(program(FILES[0].read_text(encoding="utf-8")).tree, exact=False)
    lines: dict[tuple[float, ...], list[str]] = {}
    for name, amount in re.findall(r"^\| \[(\d)[^|]*\| \w+ \| `([^`]*)`", page, re.MULTILINE):
        node = runner.code(read_proof(amount))
        values = [float(node({"eps": 1.0, "N": 1.0, "q": (0.0,) * size})) for size in SIZES]
        lines.setdefault(tuple(values), []).append(name)
    drawn = [
        (f"program {', '.join(names)}", list(zip(map(float, SIZES), values, strict=True)))
        for values, names in lines.items()
    ]
    return curves(drawn, title="What they cost", axis="queries", measure="epsilon spent, of 1 claimed")


def main() -> None:
    """Write both."""
    rows = [row(path, *found(path)) for path in FILES]
    page = HEAD + "\n".join(rows) + "\n" + FOOT
    (DOCS / "zoo.md").write_text(page, encoding="utf-8")
    (DOCS / "zoo.svg").write_text(picture(page), encoding="utf-8")


if __name__ == "__main__":
    main()
