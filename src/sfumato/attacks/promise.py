"""What a promise permits: how often an attacker may be right who keeps within it, and how many people she should try.

Comes in: a total epsilon, how many steps lie between two secrets, how often a guess is right. Goes out: the bound that
no attack exceeds, what the plainest attack reaches, and sentences for people. Nothing here is measured.
"""

from __future__ import annotations

import math
from functools import lru_cache

from sfumato.audit import bound_below

SURE = 0.001
"""An attack did better than a guess if so small a chance is left that it did not."""
NEARLY = 0.95
"""A promise that lets one person be read so often permits nearly everything."""
SMALLER = "a smaller epsilon"
"""What helps against an attack that learns no more than the guarantee permits."""
_MUCH = 0.2
"""And one that lets this part of what a guess gets wrong be put right permits much."""
_MOST = 64
"""People among whom a budget is divided, at most."""
_LIKELY, _TRIED, _FEW = 0.95, 96, 24
"""How surely an attack that works is to be seen to work; people on whom it is tried, at most; and on whom one that
hardly works is."""
_MARGIN = 0.05
"""What everybody else's rows may tell beyond the commoner value, as far as an attacker expects."""


def most_right(epsilon: float, between: int, rate: float) -> float:
    """The most that an epsilon allows: odds grow by at most e^epsilon for each step between two secrets.

    Guarantee: whoever is right with probability at most `rate` before, is right with at most this about any one person
        after answers that are epsilon-private together.
    Proof: two values of one person's secret are `between` steps of the relation of neighbours apart, so the answers are
        at most e^(between epsilon) times as likely under one as under the other; posterior odds are prior odds times
        that, whatever else is known, and whichever claims are made.
    Reference: Dwork and Roth, The Algorithmic Foundations of Differential Privacy, 2014, sections 1 and 2.3.
    Checked by: attacks::no_attack_on_one_bit_exceeds_what_a_promise_permits
    """
    odds = math.exp(min(700.0, epsilon * between)) * rate / max(1e-12, 1 - rate)
    return odds / (1 + odds)


def chance_to_read(epsilon: float, between: int, rate: float) -> float:
    """How often the plainest attack is right about one person on whom it spends epsilon.

    She is counted with the secret and without it, each count with geometric noise: each is a coin that shows her secret
    with probability 1/(1 + e^-epsilon) (under replace both counts move, and one is asked). Where both say the same it
    is believed, and else, or where the guess is surer still, the guess.
    """
    coin = 1 / (1 + math.exp(-epsilon))
    if between == 1:
        return max(rate, coin)
    return max(rate, coin**2 + 2 * coin * (1 - coin) * rate)


@lru_cache(maxsize=256)
def crowd(epsilon: float, between: int, rate: float) -> int:
    """Among how many people an attacker divides a budget to show that she beats a guess: the likeliest to succeed."""
    guess = min(0.99, rate + _MARGIN)
    return max(range(4, _MOST + 1), key=lambda many: (_power(epsilon / many, many, between, guess), -many))


@lru_cache(maxsize=256)
def repeats(epsilon: float, between: int, rate: float) -> int:
    """On how many people an attack that spends epsilon on each must be tried to show that it beats a guess."""
    guess = min(0.99, rate + _MARGIN)
    enough = (many for many in range(8, _TRIED + 1, 4) if _power(epsilon, many, between, guess) >= _LIKELY)
    return next(enough, _FEW)


def _power(epsilon: float, people: int, between: int, guess: float) -> float:
    """The chance that enough of the people about whom something is claimed are right to exclude luck, about."""
    coin = 1 / (1 + math.exp(-epsilon))
    speaking = 1.0 if between == 1 else coin**2 + (1 - coin) ** 2
    right = coin if between == 1 else coin**2 / speaking
    claims = max(1, round(people * speaking))
    least = next((n for n in range(claims + 1) if bound_below(n, claims, SURE) > guess), None)
    if least is None:
        return 0.0
    return sum(math.comb(claims, n) * right**n * (1 - right) ** (claims - n) for n in range(least, claims + 1))


def promise_in_words(epsilon: float, between: int, rate: float) -> str:
    """What an epsilon permits an attacker who spends all of it, for people who are to judge whether it is enough."""
    one, ten = (chance_to_read(epsilon / many, between, rate) for many in (1, 10))
    much = "nearly everything" if one >= NEARLY else "much" if one - rate >= _MUCH * (1 - rate) else "little"
    bound = f"e^({'' if between == 1 else f'{between} × '}{epsilon:g})"
    most = chance(most_right(epsilon, between, rate))
    return (
        f"epsilon {epsilon:g} permits {much} about one person: an attacker who spends all of it on that person is "
        f"right with probability {chance(one)} (a guess: {percent(rate)}), and with {chance(ten)} if it is divided "
        f"among ten people; no attack is right with probability above {most}, because the odds of a guess grow by at "
        f"most {bound}"
    )


def percent(rate: float) -> str:
    """A rate for people; what is not everything is not called everything.

    >>> percent(0.51), percent(0.99996), percent(1.0)
    ('51.0 %', 'over 99.99 %', '100.0 %')
    """
    if 0.9995 <= rate < 1:
        return f"{100 * rate:.2f} %" if rate < 0.9999 else "over 99.99 %"
    return f"{100 * rate:.1f} %"


def chance(probability: float) -> str:
    """The probability of a success for people. No finite epsilon makes one certain: 1.0 is a rounded number.

    >>> chance(0.51), chance(1.0)
    ('51.0 %', 'over 99.99 %')
    """
    return percent(min(probability, math.nextafter(1.0, 0.0)))
