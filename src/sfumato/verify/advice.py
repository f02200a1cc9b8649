"""Verify: what to do about a verdict, in words for people who do not know how the kernel works.

Comes in: a condition that a proof leaves open, a witness, or an error about a program. Goes out: a sentence that says
what is wrong, and one that says what to do instead. Nothing here decides anything; no check of a certificate reads it.
"""

from __future__ import annotations

import math
import re

from sfumato.errors import SfumatoError
from sfumato.verify.lexer import place
from sfumato.verify.refuter.witness import Witness
from sfumato.verify.tree import Program, draws_of

_BY_LABEL = {
    "both runs take the same branch": (
        "two neighbouring inputs may take different branches there",
        "Branch on public or noisy values only, and draw noise for each private value that a branch compares.",
    ),
    "both runs go round as often": (
        "the loop may take another number of rounds on a neighbouring input",
        "Let the number of rounds depend on public values, on the size of the list, or on noisy values.",
    ),
    "no division by zero": ("the divisor may be 0", "Exclude that with `requires`, or test for it."),
    "the divisor is not zero": ("the divisor may be 0", "Exclude that with `requires`, or test for it."),
    "the index lies in the list": (
        "the index may lie outside of the list",
        "Test it against size(…), or exclude such inputs with `requires`.",
    ),
    "the claim is not negative": (
        "the claim may be negative for some parameters, and no program keeps within a negative claim",
        "Exclude these parameters with `requires`.",
    ),
}
_BY_KIND = {
    "cost": (
        "the noise that was drawn may not be enough for the claim",
        (
            "Use a larger scale, draw less often, or claim more: each draw costs how far its value can move, divided by"
            " its scale."
        ),
    ),
    "output": (
        "what is returned may differ between two neighbouring inputs by more than the noise hides",
        "Return noisy values only, and draw noise anew for each private value that is returned.",
    ),
    "path": _BY_LABEL["both runs take the same branch"],
    "safe": (
        "it may fail for some inputs",
        "Exclude such inputs with `requires`, or test for them.",
    ),
    "unit": ("the scale of the noise may not be positive", "Exclude that with `requires`."),
    "scale": (
        "the noise may have another scale, or other bounds, on a neighbouring input",
        "Let scale and bounds of the noise depend on public values only.",
    ),
    "tail": ("delta may be too small for what the noise lets through", "Claim a larger delta, or use more noise."),
    "curve": (
        "the noise may not be enough for this epsilon and delta",
        "Use a larger scale, or claim a larger epsilon or delta.",
    ),
    "sampling": ("the claim may be too small for a sample of this size", "Claim more, or take elements less often."),
    "support": (
        "the noise cannot make up for the difference, because it ends at a bound",
        "Use noise without bounds, or add delta to the claim.",
    ),
}
NO_COUPLING = (
    "no way was found to let the noise make up for the difference between two neighbouring inputs",
    (
        "See that every returned value and every branch on a private value has noise of its own, and that loops end"
        " after a number of rounds that is public, such as size(q)."
    ),
)

_ELSE = "a step of the proof could not be shown there", NO_COUPLING[1]
_ELSE = ("a step of the proof could not be shown there", NO_COUPLING[1])


def open_step(program: Program, kind: str, label: str, at: int) -> tuple[str, str]:
    """Where the closest proof stops and why, and what to do about it."""
    what, instead = _BY_LABEL.get(label) or _BY_KIND.get(kind) or _ELSE
    line, _ = place(program.source, at)
    words = program.source.split("\n")[line - 1].strip()
    return f"the closest proof fails at line {line} ({words}): {what}", instead


def why_refuted(program: Program, witness: Witness) -> str:
    """What makes the two chances differ, and what to do."""
    if not draws_of(program):
        return "No noise is drawn: the output shows the input. Add noise, for example z :=$ Laplace(1/eps, 0)."
    if witness.loss == "infinite":
        return (
            "This output is possible on one input and not on the other, whatever the noise: some private value is"
            " shown, or decides a branch, without noise of its own. Draw noise for each such value: one draw cannot"
            " protect two."
        )
    if len(program.claim) > 1:
        return "The noise is too small for this epsilon and delta: use a larger scale, or claim more."
    times = float(witness.loss) / float(witness.claim) if float(witness.claim) else math.inf
    if not math.isfinite(times):
        return "The claim is 0, and the output does depend on the input."
    factor = f"{times:.3g} times what is claimed" if times >= 1.005 else "more than what is claimed"
    return (
        f"On these inputs the loss is {factor}. Use a larger scale of the noise, draw noise anew wherever a private"
        " value is used, or claim more."
    )


_FAULTS = (
    (r"scale (\S+) is reached", r"the scale of the noise is \1, and must be positive"),
    (r"ratio (\S+) is reached", r"the ratio of the noise is \1, and must lie between 0 and 1"),
    (r"probability (\S+) is reached", r"the probability is \1, and must lie between 0 and 1"),
    (r"(index \S+ is outside a list of length \d+) is reached", r"\1"),
    (r"(lower end \S+) above (upper end \S+) is reached", r"the \1 is above the \2"),
    (r"weights that are negative or all zero is reached", "the weights are negative or all zero"),
    (r"expected a known name, found (\"\w+\")", r"\1 has no value here"),
    (r"expected one of claim and property", "the program claims nothing"),
)
_HINTS = (
    (
        r"known function, found \"(Laplace|Gauss|Exponential|Geometric|TruncGeometric|Bernoulli|Choice|Uniform)\"",
        r"Noise is drawn by a statement of its own, with `:=$`: z :=$ \1(…).",
    ),
    (
        r"one of claim and property",
        "Write after the parameters what is promised, for example: adjacent one;  claim eps;",
    ),
    (r"a known name, found \"epsilon\"", "The privacy parameter is called eps."),
    (r"a known name", "Assign it before this line, or add it to the parameters."),
    (r"found 'Normal'", "The normal distribution is called Gauss(deviation, mean)."),
    (r"a return on every path", "End the program, and each branch that returns, with return and a value."),
)


def plainer(error: SfumatoError) -> SfumatoError:
    """The same error about a program, in plain words and with a hint."""
    said, hint = error.message, error.hint
    for pattern, words in _HINTS:
        found = re.search(pattern, said)
        if found and not hint:
            hint = found.expand(words)
    for pattern, words in _FAULTS:
        said = re.sub(pattern, words, said)
    return type(error)(said, detail=error.detail, hint=hint, position=error.position, sqlstate=error.sqlstate)
