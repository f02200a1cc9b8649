"""The playground page about utility: what an answer is worth, and posteriors after it. No data, no cost.

Comes in: a few numbers and words of the page. Goes out: a heat map of the chosen mechanism with prior and posterior
beside it, and the expected gain of every mechanism. All of it is computed by the design room.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sfumato.design.channels import channel
from sfumato.design.optimum import Optimum, optimal
from sfumato.design.posteriors import belief
from sfumato.design.priors import as_prior
from sfumato.design.utilities import Utility, utility
from sfumato.errors import InputError
from sfumato.mechanisms import Channel
from sfumato.pictures import heat
from sfumato.types import show

_BUILT = ("truncated-geometric", "geometric", "randomized-response")
MECHANISMS = (*_BUILT, "optimal")
PRIORS = {"uniform": "uniform", "binomial": "binomial 1/2", "rare": "binomial 1/10"}
GAINS = ("identity", "distance")
_NEAR = "1/100"
"""The bound is told beside what was found: so a search that ends early is no error here."""


def draw(
    *, n: Fraction, epsilon: Fraction, seen: Fraction, mechanism: str, prior: str, gain: str
) -> tuple[str, list[list[str]], str]:
    """The picture, rows of numbers, and the lines of Python that give the gain of the chosen mechanism."""
    inputs, before = range(int(n) + 1), PRIORS[prior]
    made = {name: channel(name, inputs, epsilon=epsilon) for name in _BUILT}
    best = optimal(before, gain, epsilon, "manhattan", inputs=inputs, tolerance=_NEAR)
    made["optimal"] = best.channel
    worth = {name: utility(one, before, gain) for name, one in made.items()}
    one = made[mechanism]
    saw = one.outputs[int(seen)]
    after = _believed(before, one, saw)
    picture = heat(
        [[float(p) for p in row] for row in one.matrix],
        inputs,
        [_short(output) for output in one.outputs],
        title=f"{mechanism.capitalize().replace('-', ' ')} as a channel",
        axes=("truth", "shown"),
        marked=int(seen),
        beside=[("before", [float(p) for p in as_prior(before, inputs)])]
        + ([] if after is None else [(f"after {_short(saw)}", after)]),
        bare=True,
    )
    rows = [*_gains(worth, best), *_guess(worth[mechanism], saw, after is not None)]
    return picture, rows, _code(mechanism, f"range({int(n) + 1})", epsilon, before, gain)


def _believed(prior: str, made: Channel, saw: Any) -> list[float] | None:
    """The posterior, or None where this is never shown."""
    try:
        return [float(p) for p in belief(prior, made, saw).posterior.values()]
    except InputError:
        return None


def _gains(worth: dict[str, Utility], best: Optimum) -> list[list[str]]:
    """What every mechanism is worth to somebody who guesses as well as can be."""
    rows = [[f"gain of {name.replace('-', ' ')}", f"{float(worth[name].gain):.4f}"] for name in _BUILT]
    most = f"{float(best.utility):.4f}; none above {float(best.bound):.4f}"
    return [*rows, ["gain of the best private one, by a linear program", most]]


def _guess(chosen: Utility, saw: Any, possible: bool) -> list[list[str]]:
    """What to say without an answer, and after this one."""
    best = str(chosen.remap[saw]) if possible else "it never occurs"
    return [
        ["gain without any answer", f"{float(chosen.without):.4f}, by always answering {chosen.guess}"],
        [f"best guess after {_short(saw)}", best],
    ]


def _code(mechanism: str, inputs: str, epsilon: Fraction, prior: str, gain: str) -> str:
    number = f"Fraction({str(epsilon)!r})"
    if mechanism == "optimal":
        call = f"optimal({prior!r}, {gain!r}, {number}, 'manhattan', inputs={inputs}, tolerance={_NEAR!r}).utility"
        return f"from sfumato.design.optimum import optimal\n{call}"
    call = f"utility(channel({mechanism!r}, {inputs}, epsilon={number}), {prior!r}, {gain!r}).gain"
    return f"from sfumato.design.channels import channel\nfrom sfumato.design.utilities import utility\n{call}"


def _short(output: Any) -> str:
    """An output as it stands below a column."""
    if isinstance(output, str):
        return output.replace("<=", "≤").replace(">=", "≥")
    return show(output) if isinstance(output, Fraction) else str(output)
