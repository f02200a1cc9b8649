"""Fake reports: no estimate moves further than its bound says, and some move as far."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sfumato.errors import InputError
from sfumato.local import ENCODERS
from sfumato.local.decoding import ReportTally
from sfumato.local.estimates import POST, consistent
from sfumato.local.means import estimate_mean
from sfumato.local.numbers import DuchiBit
from sfumato.local.poisoning import (
    bound_mean_poisoning,
    bound_poisoning,
    bound_post_poisoning,
    bound_rappor_poisoning,
)
from sfumato.local.rappor import Rappor
from sfumato.local.sketch import CountMeanSketch, PrefixExtending
from sfumato.local.strings import design, estimate_rappor_tally, solution
from sfumato.local.tape import SystemTape, pack_integers
from sfumato.local.task import planned_task
from sfumato.local.unary import UnaryEncoding
from tests.local.small import DRAWN, inputs

TAPE = SystemTape()
FREQUENCIES = [name for name, kind in ENCODERS.items() if kind.takes == "values" and name != "warner"]
NUMBERS = [name for name, kind in ENCODERS.items() if kind.takes == "numbers"]


@pytest.mark.parametrize("name", [*FREQUENCIES, "warner"])
def test_poisoning_moves_an_estimate_as_far_as_stated_and_no_further(name):
    """All fakes send the report that supports a value most, or least, of all reports there are."""
    size, n, fake = 2 if name == "warner" else 3, 400, 40
    encoder = ENCODERS[name].planned(size, 1) if name != "local-hashing" else ENCODERS[name](3, 2, 3 << 30, 3)
    worth = encoder.worth
    everything = np.array([list(report) for report in encoder.law(0)], np.uint8)
    pulls = np.array([encoder.shares(encoder.tally(one[None, :]))[0] for one in everything])
    assert pulls.max() == pytest.approx(float(worth.high))
    assert pulls.min() == pytest.approx(float(worth.low))
    low, high = bound_poisoning(worth, n, fake)
    base = encoder.tally(encoder.encode(np.arange(n - fake) % size, TAPE))
    for pull in (pulls.argmax(), pulls.argmin()):
        moved = encoder.shares(base + encoder.tally(np.repeat(everything[pull][None, :], fake, axis=0)))[0]
        shift = moved - encoder.shares(base)[0] * (n - fake) / n  # beside honest people who count as 0
        assert low + fake / n - 1e-9 <= shift <= high + 1e-9
        assert min(abs(shift - high), abs(shift - low - fake / n)) < 1e-9
    with pytest.raises(InputError, match="fake"):
        bound_poisoning(worth, 10, 11)


def pulls_of(encoder, law, value):
    """What each report of a law contributes to the share of a value, with its probability."""
    rows = np.array([list(report) for report in law], np.uint8)
    if isinstance(encoder, PrefixExtending):
        keep = rows[:, 0] == encoder.letters - 1  # a share is estimated from reports on the full length
        code = int(encoder.codes([value])[0])
        counts = [
            encoder.supports(one[None], encoder.letters - 1, np.array([code >> 8]))[0, code & 255] for one in rows
        ]
        chances = np.array([float(chance) for chance in law.values()])[keep] * encoder.letters
        return (np.array(counts)[keep] - float(encoder.q)) / float(encoder.p - encoder.q), chances
    if isinstance(encoder, CountMeanSketch):
        counts = np.array([encoder.supports(encoder.tally(one[None]), [value])[1] for one in rows])
        pulls = (counts - float(encoder.q)) / float(encoder.p - encoder.q)
    else:
        pulls = np.array([encoder.shares(encoder.tally(one[None]))[value] for one in rows])
    return pulls, np.array([float(chance) for chance in law.values()])


COUNTED = [encoder for encoder, _ in DRAWN if encoder.takes == "values"]
APART = CountMeanSketch.planned(1, hashes=1, columns=2, salt=0)


@pytest.mark.parametrize(
    "encoder", [*COUNTED, APART, CountMeanSketch(2, 2, 192, 3, 5, 8), PrefixExtending(1, 2, 192, 2, 8)]
)
def test_bounds_of_poisoning_are_exact(encoder):
    """All n reports are fake. Every honest person has any value, and every fake report is any that there is."""
    values, extremes = inputs(encoder), []
    for value in values:
        laws = [pulls_of(encoder, encoder.law(other), value) for other in values]
        honest = [float(pulls @ chances) for pulls, chances in laws]
        fake = laws[0][0]
        extremes.append((fake.min() - max(honest), fake.max() - min(honest)))
    down, up = bound_poisoning(encoder.worth, 100, 100)
    assert down - 1e-9 <= min(low for low, _ in extremes)
    assert max(high for _, high in extremes) <= up + 1e-9
    if isinstance(encoder, CountMeanSketch) and encoder.hashes > 1:
        return  # only texts that meet never, or always, reach it
    assert (min(low for low, _ in extremes), max(high for _, high in extremes)) == pytest.approx((down, up))


def test_a_text_that_never_meets_another_takes_from_its_share():
    """One hash function, two columns: stated was 4.083, and honest reports that are replaced move it by 5.083."""
    assert bound_poisoning(APART.worth, 1, 1)[1] == pytest.approx(5.083, abs=1e-3)


@pytest.mark.parametrize("post", POST)
@pytest.mark.parametrize("encoder", COUNTED, ids=lambda encoder: f"{encoder.name}-{encoder.size}")
def test_fakes_move_no_printed_share_further_than_stated(encoder, post):
    """Every sequence of honest values and of reports, with one or two fakes of every kind, in expectation."""
    laws = [encoder.law(value) for value in range(encoder.size)]
    kinds = list(laws[0])
    rows = np.array([list(report) for report in kinds], np.uint8)
    chances = np.array([[float(law[kind]) for kind in kinds] for law in laws])
    pulls = np.array([encoder.shares(encoder.tally(one[None])) for one in rows])
    wide = float(encoder.worth.high - encoder.worth.low)
    for n, fake in ((1, 1), (2, 1), (2, 2)) if len(kinds) < 16 else ((1, 1), (2, 1)):
        shown = {t: consistent(pulls[list(t)].mean(axis=0), post) for t in product(range(len(kinds)), repeat=n)}
        down, up = bound_post_poisoning(encoder, n, fake, post)
        for values in product(range(encoder.size), repeat=n):
            weights = [chances[v] for v in values]
            fair = sum(np.prod([w[i] for w, i in zip(weights, t, strict=True)]) * s for t, s in shown.items())
            for fakes in product(range(len(kinds)), repeat=fake):
                rest = product(range(len(kinds)), repeat=n - fake)
                after = sum(
                    np.prod([w[i] for w, i in zip(weights, t, strict=False)]) * shown[(*t, *fakes)] for t in rest
                )
                assert down - 1e-9 <= (after - fair).min()
                assert (after - fair).max() <= up + 1e-9
        if post == "simplex":  # and whatever is drawn
            for t, s in shown.items():
                for fakes in product(range(len(kinds)), repeat=fake):
                    moved = np.abs(shown[(*t[: n - fake], *fakes)] - s).max()
                    assert moved <= min(1, (1 - 1 / encoder.size) * 2 * wide * fake / n) + 1e-9


@pytest.mark.parametrize("size", [3, 10, 100])
def test_shares_that_add_up_to_1_move_further_than_raw_ones(size):
    """Without noise, as with very many reports: fakes that support one value and no other, in place of the others, push
    it by their own weight and by what the others lose. The raw bound, which was stated, is less; of what is stated now
    more than half is reached.
    """
    dice, n, fake = np.random.default_rng(size), 10**8, 10**6
    encoder = UnaryEncoding.planned(size, 1)
    low, high = float(encoder.worth.low), float(encoder.worth.high)
    down, up = bound_post_poisoning(encoder, n, fake, "simplex")
    raw = bound_poisoning(encoder.worth, n, fake)[1]
    assert bound_post_poisoning(encoder, n, fake, "nonnegative") == bound_poisoning(encoder.worth, n, fake)
    furthest = 0.0
    for trial in range(300):
        true = dice.dirichlet(np.full(size, (0.1, 1, 10, 1000)[trial % 4]))
        fakes = np.where(dice.random(size) < (0.02, 0.5)[trial % 2], high, low)
        fakes[0] = (high, low)[trial % 3 == 2]
        whom = np.eye(size)[int(dice.integers(size))]
        whom = whom if true @ whom > fake / n else true
        moved = consistent(true + fake / n * (fakes - whom), "simplex") - consistent(true, "simplex")
        assert down <= moved.min()
        assert moved.max() <= up
        furthest = max(furthest, moved.max())
    assert raw < furthest
    assert furthest > up / 2


def test_a_decoder_states_the_bound_of_its_post_processing():
    task = planned_task("t", UnaryEncoding.planned(5, 1))
    tally = ReportTally(task)
    tally.add(task.encode([str(i % 5) for i in range(1000)]))
    bounds = {post: tally.moved_by(50, post) for post in POST}
    assert bounds["none"] == tally.moved_by(50) == bounds["nonnegative"]
    assert bounds["simplex"][1] > bounds["none"][1]


@pytest.mark.parametrize("name", NUMBERS)
def test_fake_reports_move_a_mean_as_far_as_stated_and_no_further(name):
    encoder, n, fake = ENCODERS[name].planned(1), 200, 20
    down, up = bound_mean_poisoning(encoder, n, fake)
    honest = encoder.tally(encoder.encode(np.zeros(n - fake, np.int64), TAPE))
    extremes = []
    for kind in (0, 1) if name == "hybrid" else (0,):
        for part in encoder.parts[kind : kind + 1]:
            for report in (0, part.last):
                cells = np.zeros(3 * len(encoder.parts), np.int64)
                cells[3 * kind : 3 * kind + 3] = fake, fake * report, fake * report**2
                before = estimate_mean(encoder, honest)[0] * (n - fake) / n
                extremes.append(estimate_mean(encoder, honest + cells)[0] - before)
    assert max(extremes) == pytest.approx(up)
    assert min(extremes) == pytest.approx(down + fake / n)


def test_a_mean_moves_in_units_of_its_range():
    task = planned_task("t", DuchiBit.planned(1), low=Fraction(-10), high=Fraction(30))
    tally = ReportTally(task)
    tally.add(task.encode([0.0] * 100))
    down, up = bound_mean_poisoning(task.encoder, 100, 5)
    assert tally.moved_by(5) == pytest.approx((40 * down, 40 * up))


def test_fakes_of_one_length_move_a_heavy_hitter():
    """A share of a text is one of the reports on its full length: all fakes can be such reports."""
    encoder = PrefixExtending.planned(4, letters=3)
    honest, fake = encoder.encode(["cat", "dot"] * 3000, TAPE), 500
    group = encoder.letters - 1
    forged = encoder.encode(["dog"] * 200_000, TAPE)
    prefix = encoder.codes(["dog"]) >> 8
    own = [
        one for one in forged[forged[:, 0] == group][: 4 * fake] if encoder.supports(one[None], group, prefix)[0, 103]
    ]
    assert len(own) >= fake
    tally = ReportTally(planned_task("t", encoder))
    tally.add(honest)
    tally.add(np.array(own[:fake]))
    moved = {row.value: row.estimate for row in tally.estimates()}["dog"]
    down, up = tally.moved_by(fake)
    assert 0.9 * up < moved < 1.1 * up  # nobody has it; the noise of honest reports is left
    assert down < 0
    with pytest.raises(InputError, match="can be fake"):
        tally.moved_by(10**6)


def test_fakes_move_rappor_no_further_than_stated():
    """Of one cohort, with all bits for the first candidate and against the others, in place of honest reports."""
    encoder, names = Rappor.planned(4, filter=32, cohorts=4), [f"page-{i}" for i in range(6)]
    honest, fake = encoder.encode(["page-1"] * 4000, TAPE), 100
    cohorts = honest[:, 0] + 256 * honest[:, 1].astype(np.int64)
    before = [row.estimate for row in estimate_rappor_tally(encoder, encoder.tally(honest), names)]
    furthest = 0.0
    for cohort in range(4):
        for pattern in (encoder.filters("page-0")[cohort], ~encoder.filters("page-0")[cohort]):
            attacked = honest.copy()
            report = np.concatenate([pack_integers(np.array([cohort]), 2)[0], np.packbits(pattern, bitorder="little")])
            attacked[np.flatnonzero(cohorts == cohort)[:fake]] = report
            after = [row.estimate for row in estimate_rappor_tally(encoder, encoder.tally(attacked), names)]
            furthest = max(furthest, np.abs(np.subtract(after, before)).max())
    bound = bound_rappor_poisoning(encoder, encoder.tally(honest), names, fake)
    assert bound / 4 < furthest <= bound
    tally = ReportTally(planned_task("t", encoder), names)
    tally.add(honest)
    assert tally.moved_by(fake) == pytest.approx((-bound, bound))
    screened = ReportTally(planned_task("t", encoder), [f"page-{i}" for i in range(500)])
    screened.add(honest)
    with pytest.raises(InputError, match="so many candidates"):
        screened.moved_by(1)


def test_fakes_of_other_cohorts_move_rappor_no_further():
    """Fakes leave one cohort for another, with all bits for or against a text. Expectations, computed: the shares
    before are the true ones, and after it they are at most the bound of the attacked tally away, and sometimes
    nearly so far.
    """
    dice, furthest = np.random.default_rng(8), 0.0
    for run in range(60):
        cohorts, epsilon = int(dice.integers(2, 5)), int(dice.choice([2, 6, 20]))
        encoder, names = Rappor.planned(epsilon, filter=16, cohorts=cohorts), [f"{run}/{i}" for i in range(3)]
        shares, matrix = dice.dirichlet(np.ones(3) / 3), design(encoder, names)
        p, q = float(encoder.p), float(encoder.q)
        rates = q + (p - q) * (matrix[:, :-1] @ shares).reshape(cohorts, 16)
        counts, source, target = dice.integers(9, 60, cohorts), *dice.permutation(cohorts)[:2]
        fake = int(dice.integers(1, counts[source]))
        honest = counts.copy()
        honest[source] -= fake
        after = honest.copy()
        after[target] += fake
        weights = solution(encoder, tallied(after, rates), matrix)
        for sign in (1, -1):
            told = rates.copy()
            pattern = sign * weights[0].reshape(cohorts, 16)[target] > 0
            told[target] = (honest[target] * rates[target] + fake * pattern) / after[target]
            moved = np.abs((weights @ ((told - q) / (p - q)).ravel())[:-1] - shares).max()
            part = moved / bound_rappor_poisoning(encoder, tallied(after, told), names, fake)
            furthest = max(furthest, part)
    assert 0.8 < furthest <= 1


def tallied(counts, rates):
    """A tally of so many reports in each cohort, in which bits are set at these rates."""
    return np.concatenate([counts[:, None], counts[:, None] * rates], axis=1).ravel()
