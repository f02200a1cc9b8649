"""The exercises: a question in words, and a function of the product that computes the answer.

Comes in: what somebody answered, as a number, a fraction, or `ln` of one. Goes out: whether it is right, to a part in a
thousand. No answer is typed in here: each is computed when it is asked for, by the code that the product runs on.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from sfumato import design
from sfumato.accounting import advanced, group, sequential
from sfumato.attacks.promise import chance_to_read, most_right
from sfumato.design.distance import skewed_distance
from sfumato.errors import InputError
from sfumato.local.estimates import share_variance
from sfumato.local.kary import Warner
from sfumato.mechanisms import Channel, Geometric
from sfumato.types import Loss

_CLOSE = 1e-3
"""How far, in parts of the answer, one may be off: what is written with three digits is right."""
_FORM = re.compile(
    r"\s*+(ln\s*+\(?\s*+)?(-?\d++(?:\.\d++)?(?:e-?\d++)?)(?:\s*+/\s*+(\d++(?:\.\d++)?))?\s*+\)?\s*+(%?)\s*+",
    re.IGNORECASE,
)
_COIN = (("3/4", "1/4"), ("1/4", "3/4"))


@dataclass(frozen=True)
class Exercise:
    """A name, a question, the function that answers it, and the command that shows it."""

    name: str
    question: str
    answer: Callable[[], float]
    shown_by: str


def _coin() -> Channel:
    """Randomized response with two coins: the truth with probability 3/4."""
    return Channel([list(row) for row in _COIN], ["ill", "well"], ["yes", "no"])


def _epsilon_of_coins() -> float:
    return float(_coin().epsilon() or 0)


def _belief_after_yes() -> float:
    return float(design.posterior({"ill": "1/10", "well": "9/10"}, _coin(), "yes")["ill"])


def _expected_estimate() -> float:
    """Of 2n'/n - 1/2, where n' of n people say yes and three in ten are ill."""
    ill, coins = Fraction(3, 10), Warner(2, 192, 8)
    yes = ill * coins.p + (1 - ill) * coins.q
    return float(2 * yes - Fraction(1, 2))


def _variance_of_estimate() -> float:
    return float(share_variance(Warner(2, 192, 8).worth, 0.3, 1000, "fixed"))


def _largest_step() -> float:
    return float(design.sensitivity("average", low=0, high=120, size=100))


def _sum_of_ages() -> float:
    return float(design.sensitivity("sum", low=0, high=120, size=100))


def _forty_questions() -> float:
    return float(sequential([Loss(Fraction(1, 10), None)] * 40).epsilon or 0)


def _three_people() -> float:
    return float(group(Loss(Fraction(1, 2), None), 3).epsilon or 0)


def _advanced() -> float:
    return float(advanced("0.1", 0, 100, "1e-6")[0])


def _geometric_is_exact() -> float:
    return float(Geometric(1, 1).mass(0))


def _vulnerability() -> float:
    return float(design.utility(design.channel("truncated-geometric", range(3), epsilon="ln 2")).gain)


def _statistical() -> float:
    ill, well = ({answer: Fraction(p) for answer, p in zip(("yes", "no"), row, strict=True)} for row in _COIN)
    return float(skewed_distance(ill, well).value)


def _promise() -> float:
    return most_right(1.0, 2, 0.5)


def _one_person() -> float:
    return chance_to_read(4.0, 2, 0.5)


_TABLE: Iterable[Exercise] = (
    Exercise(
        "coins",
        "Toss a coin. Heads: tell the truth. Tails: toss again, say yes for heads, no for tails. What is epsilon?",
        _epsilon_of_coins,
        'sfumato design channel --table "3/4,1/4;1/4,3/4"',
    ),
    Exercise(
        "belief",
        "One in ten is ill. With these two coins, somebody answers yes. How likely is it that this person is ill?",
        _belief_after_yes,
        'sfumato design posterior --table "3/4,1/4;1/4,3/4" --prior 1/10,9/10',
    ),
    Exercise(
        "estimator",
        "A thousand people toss these two coins, 300 of them are ill, and n' say yes. What is the expectation of "
        "2n'/1000 - 1/2?",
        _expected_estimate,
        'sfumato local plan --mechanism warner --domain 2 --users 1000 --epsilon "ln 3"',
    ),
    Exercise(
        "variance",
        "What is the variance of that estimator, if the same thousand people toss again and again?",
        _variance_of_estimate,
        'sfumato local plan --mechanism warner --domain 2 --users 1000 --epsilon "ln 3"',
    ),
    Exercise(
        "sum",
        "Ages lie between 0 and 120. By how much can one person change the sum of ages?",
        _sum_of_ages,
        "sfumato design sensitivity sum --low 0 --high 120 --size 100",
    ),
    Exercise(
        "average",
        "Ages lie between 0 and 120, and there are 100 records or more. How far does one record move the average?",
        _largest_step,
        "sfumato design sensitivity average --low 0 --high 120 --size 100",
    ),
    Exercise(
        "forty",
        "Forty queries are answered, each with epsilon 0.1. What do they cost together?",
        _forty_questions,
        "sfumato budget split",
    ),
    Exercise(
        "family",
        "An answer has epsilon 0.5 for one person. What is its epsilon for a family of three?",
        _three_people,
        "sfumato explain --group 3",
    ),
    Exercise(
        "advanced",
        "A hundred answers cost epsilon 0.1 each, and delta is 1e-6. Which epsilon does advanced composition give?",
        _advanced,
        "sfumato budget split",
    ),
    Exercise(
        "geometric",
        "A count gets two-sided geometric noise with epsilon 1. How likely is it that the answer is exact?",
        _geometric_is_exact,
        "sfumato design channel geometric --inputs 0..10 --epsilon 1",
    ),
    Exercise(
        "guess",
        "The truth is 0, 1 or 2, equally likely; the truncated geometric mechanism answers with epsilon ln 2. How "
        "often is the best guess right?",
        _vulnerability,
        'sfumato design utility truncated-geometric --inputs 0..2 --epsilon "ln 2"',
    ),
    Exercise(
        "distance",
        "With these two coins, what is the statistical distance between the answers of an ill and a healthy person?",
        _statistical,
        'sfumato design distance "no=3/4,yes=1/4" "no=1/4,yes=3/4"',
    ),
    Exercise(
        "promise",
        "A gateway promises epsilon 1 for adding or removing one person. Before any answer, your guess about somebody "
        "is right with probability 1/2. After the answers, what is the largest probability that it is right?",
        _promise,
        "sfumato attack differencing",
    ),
    Exercise(
        "one-person",
        "You spend all of epsilon 4 on two noisy counts of one person, with the secret and without it, and toss a coin "
        "where they contradict each other. How often are you right?",
        _one_person,
        "sfumato attack differencing",
    ),
)
EXERCISES: dict[str, Exercise] = {exercise.name: exercise for exercise in _TABLE}
"""Every exercise by name."""


def check(name: str, given: str) -> bool:
    """Whether an answer is right: a number, a fraction, a percentage, or `ln` of a number.

    >>> check("coins", "ln 3"), check("coins", "1.0986"), check("forty", "40/10"), check("forty", "3")
    (True, True, True, False)
    """
    if name not in EXERCISES:
        raise InputError(f'exercise "{name}" is not known', hint=f"One of: {', '.join(EXERCISES)}.")
    right = EXERCISES[name].answer()
    return abs(read_number(given) - right) <= _CLOSE * abs(right)


def read_number(text: str) -> float:
    """What somebody wrote as a number."""
    form = _FORM.fullmatch(text)
    if form is None or (form[3] is not None and float(form[3]) == 0):
        raise InputError(f'"{text}" is not a number', hint="Write 0.25, 1/4, 25 % or ln 3.")
    number = float(form[2]) / (float(form[3]) if form[3] else 1.0)
    if form[1]:
        if number <= 0:
            raise InputError(f'"{text}" is not a number', hint="A logarithm is of a number above 0.")
        number = math.log(number)
    return number / 100 if form[4] else number
