"""Two more playground pages: the best private report of a place on a grid, and an attack on one person.

Comes in: a few numbers. Goes out: a picture, rows of numbers, and the lines of Python that give the same. Both are
computed, the one by the design room and the other by the red team's own bound; no data set is needed.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from sfumato.attacks.promise import chance_to_read, most_right
from sfumato.design.channels import channel
from sfumato.design.optimum import Optimum, optimal
from sfumato.design.utilities import utility
from sfumato.pictures import curves, heat

Drawn = tuple[str, list[list[str]], str]
_NEAR = "1/100"
_STEPS = 2
"""Two values of one person's secret are so many neighbours apart: she is taken out, and put in with the other one."""


@lru_cache(maxsize=64)
def _best(side: int, epsilon: Fraction) -> tuple[Optimum, float]:
    """The best mechanism on a grid, and the mean distance after the exponential one and the best guess."""
    cells = [(x, y) for y in range(side) for x in range(side)]
    plain = channel("exponential", cells, epsilon=epsilon, metric="euclidean")
    best = optimal("uniform", "loss", epsilon, "euclidean", inputs=cells, tolerance=_NEAR)
    return best, -float(utility(plain, "uniform", "loss", metric="euclidean").gain)


def grid(side: Fraction, epsilon: Fraction, column: Fraction, row: Fraction) -> Drawn:
    """Where somebody in a cell is reported to be, by the best mechanism that protects neighbouring cells."""
    size, x, y = int(side), int(column) - 1, int(row) - 1
    best, other = _best(size, epsilon)
    law = [float(p) for p in best.channel.matrix[y * size + x]]
    names = [str(i + 1) for i in range(size)]
    picture = heat(
        [law[i * size : (i + 1) * size] for i in range(size)],
        names,
        names,
        title=f"Reports of somebody in column {x + 1}, row {y + 1}",
        axes=("row", "column"),
        marked=x,
        bare=True,
    )
    rows = [
        ["this cell is reported with probability", f"{law[y * size + x]:.4f}"],
        ["mean distance between report and truth, at best", f"{-float(best.utility):.4f} cells"],
        ["no private mechanism is below", f"{-float(best.bound):.4f} cells"],
        ["the exponential mechanism, then the best guess", f"{other:.4f} cells"],
    ]
    cells = f"[(x, y) for y in range({size}) for x in range({size})]"
    call = f"optimal('uniform', 'loss', Fraction({str(epsilon)!r}), 'euclidean', inputs={cells}, tolerance={_NEAR!r})"
    return picture, rows, f"from sfumato.design.optimum import optimal\n{call}.utility"


def attack(epsilon: Fraction, people: Fraction, guess: Fraction) -> Drawn:
    """Counting somebody with a secret and without it; a budget that is spent on more people tells less of each."""
    total, many, rate = float(epsilon), int(people), float(guess)
    counts = range(1, max(10, many) + 1)
    lines = [
        ("the bound", [(float(n), 100 * most_right(total / n, _STEPS, rate)) for n in counts]),
        ("the attack", [(float(n), 100 * chance_to_read(total / n, _STEPS, rate)) for n in counts]),
        ("a guess", [(float(n), 100 * rate) for n in counts]),
    ]
    picture = curves(
        lines, title="Reading a secret by counting", axis="people attacked", measure="right, in %", bare=True
    )
    each = total / many
    one = "one person" if many == 1 else f"each of {many} people"
    rows = [
        [f"epsilon that is left for {one}", f"{each:.4g}"],
        ["a guess is right", f"{100 * rate:.4g} %"],
        ["the attack is right", f"{100 * chance_to_read(each, _STEPS, rate):.2f} %"],
        ["no attack is right more often than", f"{100 * most_right(each, _STEPS, rate):.2f} %"],
    ]
    code = f"from sfumato.attacks.promise import chance_to_read\nchance_to_read({total!r} / {many}, {_STEPS}, {rate!r})"
    return picture, rows, code
