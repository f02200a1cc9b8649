"""The playground's page about utility: what an answer is worth, and what is believed after it. No data, no price.

Comes in: a few numbers and words of the page. Goes out: a heat map of the chosen mechanism with prior and posterior
beside it, and the expected gain of every mechanism. All of it is computed by the design room.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sfumato.design.channels import channel
from sfumato.design.posteriors import belief
from sfumato.design.utilities import Utility, utility
from sfumato.pictures import heat
from sfumato.words import show

MECHANISMS = ("truncated-geometric", "geometric", "randomized-response")
PRIORS = {"uniform": "uniform", "binomial": "binomial 1/2", "rare": "binomial 1/10"}
GAINS = ("identity", "distance")


def draw(
    *, n: Fraction, epsilon: Fraction, seen: Fraction, mechanism: str, prior: str, gain: str
) -> tuple[str, list[list[str]], str]:
    """The picture, rows of numbers, and the line of Python that gives the gain of the chosen mechanism."""
    inputs = range(int(n) + 1)
    made = {name: channel(name, inputs, epsilon=epsilon) for name in MECHANISMS}
    worth = {name: utility(one, PRIORS[prior], gain) for name, one in made.items()}
    one, z = made[mechanism], int(seen)
    saw = one.outputs[z]
    after = belief(PRIORS[prior], one, saw)
    picture = heat(
        [[float(p) for p in row] for row in one.matrix],
        inputs,
        [_short(output) for output in one.outputs],
        title=f"{mechanism.capitalize().replace('-', ' ')} as a channel",
        axes=("true number", "shown"),
        marked=z,
        beside=[
            ("before", [float(after.prior[x]) for x in inputs]),
            (f"after {_short(saw)}", [float(after.posterior[x]) for x in inputs]),
        ],
        bare=True,
    )
    code = (
        f"utility(channel({mechanism!r}, range({int(n) + 1}), epsilon=Fraction({str(epsilon)!r})), "
        f"{PRIORS[prior]!r}, {gain!r}).gain"
    )
    head = "from sfumato.design.channels import channel\nfrom sfumato.design.utilities import utility"
    return picture, _rows(worth, mechanism, saw), f"{head}\n{code}"


def _rows(worth: dict[str, Utility], mechanism: str, saw: Any) -> list[list[str]]:
    """What every mechanism is worth, and the best guess after what was seen."""
    rows = [[f"gain of {name.replace('-', ' ')}", f"{float(one.gain):.4f}"] for name, one in worth.items()]
    chosen = worth[mechanism]
    return [
        *rows,
        ["gain without any answer", f"{float(chosen.without):.4f}, by always saying {chosen.guess}"],
        [f"best guess after {_short(saw)}", str(chosen.remap[saw])],
    ]


def _short(output: Any) -> str:
    """An output as it stands below a column."""
    if isinstance(output, str):
        return output.replace("<=", "≤").replace(">=", "≥")
    return show(output) if isinstance(output, Fraction) else str(output)
