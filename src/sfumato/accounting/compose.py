"""What several releases cost together, and what one release costs several people.

Comes in: losses, or one (epsilon, delta) taken many times. Goes out: a loss, or (epsilon, delta) rounded up. A filter
needs sums alone; `advanced` and `optimal` are for a batch whose parameters are all fixed before its first answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from sfumato.accounting.events import add
from sfumato.errors import InputError
from sfumato.reals import Enclosure, Real, TooCoarse, as_real, bound_exp_neg, ceil_shift, exp, ln, round_up, sqrt
from sfumato.types import Loss, as_written, positive, probability, show, whole

FINE = Fraction(1, 10**40)
"""Computed deltas are rounded up to a multiple of this: 1e-15 would be coarse for a delta of 1e-12."""


def sequential(losses: Iterable[Loss]) -> Loss:
    """Several releases about the same people.

    Guarantee: the transcript costs the sum in each currency, also when each question is chosen after the last answer.
    Proof: log-ratios of conditional laws add; so do Renyi divergences when the bound on each step does not depend on
        the past; of the exceptional events, at least one happens with probability at most the sum.
    Reference: Dwork, McSherry, Nissim, Smith, TCC 2006; Bun, Steinke, TCC 2016.
    Checked by: laws::sequential_is_associative_and_monotone, laws::randomized_responses_add
    """
    return add(list(losses))


def parallel(losses: Iterable[Loss]) -> Loss:
    """Several releases about disjoint sets of *people*; disjoint rows are not enough, one person may have many.

    Guarantee: under add-remove, if each person is in the data of at most one release, and who is where is fixed by
        the person alone, all of them together cost the largest loss in each currency.
    Proof: neighbours differ in one person, hence in the input of one release; the laws of the others cancel.
    Reference: McSherry, SIGMOD 2009.
    Checked by: laws::parallel_is_the_least_upper_bound, unit::parallel_takes_the_largest
    """
    every = list(losses)
    return Loss(
        _largest([loss.epsilon for loss in every]),
        _largest([loss.rho for loss in every]),
        max((loss.delta for loss in every), default=Fraction(0)),
    )


def _largest(amounts: list[Fraction | None]) -> Fraction | None:
    return None if None in amounts else max((a for a in amounts if a is not None), default=Fraction(0))


def group(loss: Loss, people: int) -> Loss:
    """What a release that costs one person `loss` costs `people` of them together (semantics 5.5).

    Guarantee: k people: k epsilon, delta (e^(k epsilon) - 1) / (e^epsilon - 1) rounded up and at most 1, k² rho.
    Proof: walk from one data set to the other person by person. P_0 <= e^epsilon P_1 + delta, and so on, gives
        delta_k = e^epsilon delta_(k-1) + delta, a geometric sum, which is k delta at epsilon 0. For rho the triangle
        inequality of Renyi divergences gives k². With delta above 0 the rho beside it is that of the good part.
    Reference: Vadhan, The Complexity of Differential Privacy, 2017, lemma 2.2; Bun, Steinke, TCC 2016, proposition 1.9.
    Checked by: laws::group_formula, unit::three_people_at_epsilon_four, unit::group_of_a_gaussian
    """
    k = whole(people, "people", low=1)
    if k == 1:
        return loss
    if loss.epsilon is None and loss.delta > 0:
        raise InputError(
            "a group of people has no delta without an epsilon",
            detail=f"The release claims rho and delta {show(loss.delta)}, but no epsilon.",
            hint="Use a selection with an epsilon.",
        )
    return Loss(
        None if loss.epsilon is None else k * loss.epsilon,
        None if loss.rho is None else k * k * loss.rho,
        Fraction(0) if loss.epsilon is None else _group_delta(loss.epsilon, loss.delta, k),
    )


def _group_delta(epsilon: Fraction, delta: Fraction, k: int) -> Fraction:
    if delta * k >= 1 or delta == 0 or epsilon == 0:
        return min(Fraction(1), delta * k)
    if (k - 1) * epsilon >= -ln(delta):  # the last term alone is delta e^((k-1) epsilon) >= 1; saves a huge power
        return Fraction(1)
    return min(Fraction(1), round_up(delta * (exp(k * epsilon) - 1) / (exp(epsilon) - 1), FINE))


def advanced(epsilon: object, delta: object, count: int, slack: object) -> tuple[Fraction, Fraction]:
    """(epsilon, delta) of `count` releases that are (epsilon, delta)-private each, for a `slack` of delta.

    Guarantee: epsilon sqrt(2 k ln(1/slack)) + k epsilon (e^epsilon - 1), and k delta + slack; rounded up.
    Proof: the log-ratio of a step lies within ± epsilon and has mean at most epsilon (e^epsilon - 1); Azuma.
    Reference: Dwork, Rothblum, Vadhan, FOCS 2010; Dwork, Roth 2014, theorem 3.20.
    Checked by: unit::advanced_composition_of_the_table, laws::optimal_is_below_the_others
    """
    e, d, k = positive(epsilon, "epsilon"), _delta(delta), whole(count, "count", low=1)
    s = probability(slack, "slack")
    bound = e * sqrt(2 * k * -ln(s)) + k * e * (exp(e) - 1)
    return round_up(bound), k * d + s


def optimal(
    epsilon: object, delta: object, count: int, *, total_epsilon: object = None, total_delta: object = None
) -> tuple[Fraction, Fraction]:
    """(epsilon, delta) of `count` releases that are (epsilon, delta)-private each: give one total, get both.

    Guarantee: the smallest total delta for `total_epsilon`, or epsilon for `total_delta`, that holds for every
        mechanism; rounded up, to 1e-40 and 1e-15.
    Proof: an (epsilon, delta)-private pair of laws is a random function of randomized response that shows the truth
        outright with probability delta. So k of them are a random function of k such responses, with total delta
        1 - (1-delta)^k (1-d), d the hockey stick of k plain ones. With x = e^-epsilon, A_m = sum of C(k,i) x^i and
        B_m = sum of C(k,i) x^(k-i) over i <= m, it is d = max(0, max over m of (A_m - e^total B_m)) / (1+x)^k, for a
        sum of positive parts is the largest partial sum. Solve each m for e^total and take the largest.
    Reference: Kairouz, Oh, Viswanath, ICML 2015, theorem 3.3.
    Checked by: unit::optimal_composition_agrees_with_dp_accounting, unit::optimal_composition_of_the_table,
        laws::optimal_is_the_hockey_stick, laws::optimal_inverts_itself, laws::optimal_is_below_the_others
    """
    e, d, k = positive(epsilon, "epsilon"), _delta(delta), whole(count, "count", low=1)
    if (total_epsilon is None) == (total_delta is None):
        raise InputError("optimal composition needs either total_epsilon or total_delta")
    if total_epsilon is not None:
        wanted = as_written(total_epsilon, "total_epsilon")
        if wanted < 0:
            raise InputError(f"total_epsilon must be at least 0, but is {show(wanted)}")
        stick = Fraction(0) if wanted >= k * e else _stick(e, k, wanted)
        return wanted, min(Fraction(1), round_up(1 - as_real(1 - d) ** k * (1 - as_real(stick)), FINE))
    total = _delta(total_delta, "total_delta")
    good = (1 - d) ** k
    if good < 1 - total:
        raise InputError(
            f"total_delta must be at least what {k} releases cost in delta, but is {show(total)}",
            hint=f"Ask for {show(min(Fraction(1), k * d))} or more.",
        )
    if good == 1 - total:  # nothing remains for the hockey stick
        return k * e, total
    return min(k * e, round_up(ln(_largest_ratio(e, k, 1 - as_real(1 - total) / good)))), total


def _delta(value: object, what: str = "delta") -> Fraction:
    number = as_written(value, what)
    if not 0 <= number < 1:
        raise InputError(f"{what} must be at least 0 and below 1, but is {show(number)}")
    return number


def _partial_sums(epsilon: Fraction, k: int, bits: int) -> Iterator[tuple[Enclosure, Enclosure]]:
    """Enclosures of A_m and B_m for m = 0, 1, ... up to half of k, where the log-ratio k - 2m is still positive."""
    low, high = bound_exp_neg(epsilon, bits)
    powers: list[Enclosure] = [(1 << bits, 1 << bits)]
    for _ in range(k):
        a, b = powers[-1]
        powers.append((a * low >> bits, ceil_shift(b * high, bits)))
    choose, first, second = 1, (0, 0), (0, 0)
    for m in range(k // 2 + 1):
        (a, b), (c, d) = powers[m], powers[k - m]
        first = (first[0] + choose * a, first[1] + choose * b)
        second = (second[0] + choose * c, second[1] + choose * d)
        yield first, second
        choose = choose * (k - m) // (m + 1)


def _guarded(epsilon: Fraction, k: int, bits: int) -> int:
    """Bits that keep sums of C(k,i) < 2^k and reciprocals of x^k apart: e^(k epsilon) < 2^(3 k epsilon / 2 + 1)."""
    return bits + 2 * k + 3 * (3 * k * epsilon.numerator // (2 * epsilon.denominator) + 1) + 32


def _whole_mass(epsilon: Fraction, k: int) -> Real:
    return (1 + exp(-epsilon)) ** k


def _stick(epsilon: Fraction, k: int, wanted: Fraction) -> Fraction:
    """The hockey stick of k randomized responses at e^wanted, rounded up."""
    scale, mass = exp(wanted), _whole_mass(epsilon, k)

    def enclose(bits: int) -> Enclosure:
        fine = _guarded(epsilon, k, bits)
        (low, high), (small, large) = scale.enclose(fine), mass.enclose(fine)
        sums = list(_partial_sums(epsilon, k, fine))
        least = max(a[0] - ceil_shift(high * b[1], fine) for a, b in sums)
        most = max(a[1] - (low * b[0] >> fine) for a, b in sums)
        return (max(0, least) << bits) // large, -((-max(0, most) << bits) // small)

    return min(Fraction(1), round_up(Real(enclose), FINE))


def _largest_ratio(epsilon: Fraction, k: int, left: Real) -> Real:
    """max(1, max over m of (A_m - left (1+x)^k) / B_m)."""
    taken = left * _whole_mass(epsilon, k)

    def enclose(bits: int) -> Enclosure:
        fine = _guarded(epsilon, k, bits)
        low, high = taken.enclose(fine)
        ends = [(1 << bits, 1 << bits)]
        for a, b in _partial_sums(epsilon, k, fine):
            if b[0] <= 0:
                raise TooCoarse
            top, bottom = a[1] - low, a[0] - high
            ends.append(((max(0, bottom) << bits) // b[1], -((-max(0, top) << bits) // b[0])))
        return max(end[0] for end in ends), max(end[1] for end in ends)

    return Real(enclose)
