"""What an epsilon does to a suspicion about one person, in one sentence: the same wherever an epsilon is explained.

Comes in: an epsilon, the adjacency, and a delta. Goes out: words with percentages that are rounded up.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.accounting.compose import group
from sfumato.reals import exp, round_up
from sfumato.types import UNIT, Adjacency, Loss, show, show_small

_MOST = Fraction(50)
"""Beyond this epsilon a suspicion becomes a certainty, to all digits that are shown."""


def percent_at_most(epsilon: Fraction) -> str:
    """What a suspicion of one half can become, in per cent, rounded up; with more digits where one would give 100.

    >>> percent_at_most(Fraction(1, 10)), percent_at_most(Fraction(7))
    ('52.5', '99.91')
    """
    if epsilon > _MOST:
        return "100"
    exact = 100 / (1 + exp(-epsilon))
    rounded = (round_up(exact, Fraction(1, 10**digits)) for digits in range(1, 7))
    return show(next((value for value in rounded if value < 100), Fraction(100)))


def suspicion(
    epsilon: Fraction, adjacency: Adjacency, *, delta: Fraction = Fraction(0), instead_of: Fraction | None = None
) -> str:
    """What a suspicion of 50 % can become after answers that cost epsilon, instead of after those of another epsilon.

    Guarantee: whoever knows everybody else's rows and holds one of two statements about one person for as likely as
        the other holds it for at most so likely after answers that are epsilon-private together.
    Proof: by Bayes' rule the odds are multiplied by a ratio of two probabilities of the answers. Being in the data or
        not is one step of add-remove, and so is one row or another of replace: e^epsilon. Under add-remove two
        different sets of rows are two steps apart, by way of the data without this person: e^(2 epsilon), and delta
        of the second step is multiplied by e^epsilon of the first (`group`).
    Reference: Kasiviswanathan, Smith, Journal of Privacy and Confidentiality 6, 2014.
    Checked by: unit::a_suspicion_about_values_moves_by_two_steps, unit::a_suspicion_stays_within_its_sentence,
        unit::delta_of_values_is_that_of_two_steps

    >>> suspicion(Fraction(1, 10), Adjacency.ADD_REMOVE)
    'a 50 % suspicion that somebody is in the data becomes at most 52.5 %, one about their values at most 55 %'
    >>> suspicion(Fraction(1, 10), Adjacency.REPLACE)
    "a 50 % suspicion about somebody's values becomes at most 52.5 %"
    """

    def at_most(steps: int) -> str:
        before = "" if instead_of in (None, epsilon) else f" instead of {percent_at_most(steps * instead_of)} %"
        return f"at most {percent_at_most(steps * epsilon)} %{before}"

    words = (
        f"a 50 % suspicion about somebody's values becomes {at_most(1)}"
        if adjacency is Adjacency.REPLACE
        else f"a 50 % suspicion that somebody is in the data becomes {at_most(1)}, one about their values {at_most(2)}"
    )
    if not delta:
        return words
    if adjacency is Adjacency.REPLACE:
        return f"{words} (up to delta {show_small(delta)})"
    both = group(Loss(epsilon, None, delta), 2).delta
    return f"{words} (up to delta {show_small(delta)}, for values {show_small(_two_digits(both))})"


def _two_digits(value: Fraction) -> Fraction:
    """A probability, rounded up."""
    step = Fraction(1, 10)
    while step * 10 > value and step > UNIT:
        step /= 10
    return min(Fraction(1), round_up(value, step))
