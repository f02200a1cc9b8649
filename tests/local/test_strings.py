"""RAPPOR, heavy hitters and shuffling: what is named, how often wrongly, and what is accounted."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import comb, exp, log, prod

import numpy as np
import pytest

from sfumato.errors import InputError
from sfumato.local import strings
from sfumato.local.binomials import binomial_tails
from sfumato.local.decoys import draw_decoys
from sfumato.local.rappor import Rappor, memo_label
from sfumato.local.shuffling import bound_shuffled, closed_form, shuffled_delta
from sfumato.local.significance import adjusted
from sfumato.local.sketch import PrefixExtending
from sfumato.local.strings import discover, estimate_rappor
from sfumato.local.tape import GivenTape, SystemTape
from sfumato.reals import ln, round_down

TAPE = SystemTape()


def crowd(n, shares, dice):
    texts = [f"page-{i}" for i in range(len(shares))]
    return texts, [texts[i] for i in dice.choice(len(shares), n, p=shares)]


@pytest.mark.parametrize("permanent", [None, 8])
def test_rappor_names_few_that_nobody_has(permanent):
    """8 runs, 60 candidates of which 5 are present: absent ones are named in at most a few runs; large ones always."""
    names_few(permanent, runs=8, most=3)  # one in twenty is expected; four or more of eight have a chance below 1e-3


@pytest.mark.slow
def test_rappor_names_few_that_nobody_has_in_many_runs():
    names_few(8, runs=200, most=22)  # ten are expected, and 23 have a chance below 1e-3


def names_few(permanent, runs, most):
    dice = np.random.default_rng(5)
    encoder = Rappor.planned(4, permanent, filter=32, cohorts=8)
    shares = np.array([0.4, 0.3, 0.2, 0.07, 0.03])
    wrong, missed = 0, 0
    for _ in range(runs):
        texts, values = crowd(20_000, shares, dice)
        candidates = texts + [f"absent-{i}" for i in range(55)]
        rows = estimate_rappor(encoder, encoder.encode(values, TAPE), candidates)
        named = {row.value for row in rows if row.p_value < 0.05}
        wrong += bool(named - set(texts))
        missed += not set(texts[:3]) <= named
    assert wrong <= most
    assert missed == 0


@pytest.mark.parametrize("correction", ["holm", "bh"])
@pytest.mark.parametrize(("bits", "cohorts"), [(128, 1), (32, 8)])
def test_rappor_names_few_where_frequent_texts_are_not_listed(bits, cohorts, correction):
    """Unlisted texts share bits with absent candidates, in every report anew: by the normal law one was named in four
    of five surveys. The texts of each run are new, for hash functions are public.
    """
    dice, encoder = np.random.default_rng(9), Rappor.planned(4, filter=bits, cohorts=cohorts)
    wrong, share, found, runs = 0, 0.0, 0, 40
    for run in range(runs):
        texts = [f"{run}/text-{i}" for i in range(6)]
        values = [texts[i] for i in dice.choice(6, 2000, p=[0.3, 0.1, 0.2, 0.2, 0.1, 0.1])]
        candidates = texts[:2] + [f"{run}/absent-{i}" for i in range(40)]
        rows = estimate_rappor(encoder, encoder.encode(values, TAPE), candidates, correction=correction)
        named = {row.value for row in rows if row.p_value < 0.05}
        wrong, found = wrong + bool(named - set(texts)), found + (texts[0] in named)
        share += len(named - set(texts)) / max(1, len(named)) / runs
    if correction == "holm":
        assert wrong <= 8  # two are expected, and nine have a chance below 1e-3
    assert share <= 0.15  # 0.05 at most is expected
    assert found >= runs // 4


def test_candidates_that_cannot_be_told_apart_are_not_named():
    """Two texts with the same bits."""
    encoder = Rappor.planned(6, filter=16, hashes=1, cohorts=1)
    same = next(f"t{i}" for i in range(99) if (encoder.filters(f"t{i}") == encoder.filters("a")).all())
    rows = estimate_rappor(encoder, encoder.encode(["a"] * 5000, TAPE), ["a", same])
    assert [(row.low, row.high, row.p_value) for row in rows] == [(0, 1, 1)] * 2


@pytest.mark.parametrize(("cohorts", "n", "absent"), [(1, 100, 1), (4, 12, 1), (4, 150, 40)])
def test_ranks_among_decoys_are_uniform(cohorts, n, absent):
    """An absent candidate beside frequent texts that are not listed, few reports, and one among many that are screened:
    its p-value is at most t as often as t says, and not much more rarely.
    """
    encoder, found, runs = Rappor.planned(8, filter=16, cohorts=cohorts), [], 300
    for run in range(runs):
        values = [f"{run}/text-{i % 3 == 0}" for i in range(n)]
        candidates = [f"{run}/absent-{i}" for i in range(absent)]
        rows = estimate_rappor(encoder, encoder.encode(values, TAPE), candidates)
        found.append(min(row.p_value for row in rows))
    for level in (0.05, 0.1, 0.2):
        named, deviation = sum(p <= level for p in found), (runs * level * (1 - level)) ** 0.5
        part = strings.tested_at_once(encoder, absent) / absent  # Holm counts those that were left out, too
        assert runs * level * part / 4 < named < runs * level + 4 * deviation


@pytest.mark.parametrize("absent", [10, 60])
def test_decoding_again_names_the_same(absent):
    """In any order of the reports. With random texts that were drawn anew each time, the best of twenty decodings named
    an absent candidate far too often.
    """
    encoder, dice = Rappor.planned(6, filter=16, cohorts=4), np.random.default_rng(4)
    candidates = ["a", *(f"absent-{i}" for i in range(absent))]
    reports = encoder.encode(["a", "b", "c"] * 100, TAPE)
    first = estimate_rappor(encoder, reports, candidates, correction="bh")
    for _ in range(3):
        assert estimate_rappor(encoder, dice.permutation(reports), candidates, correction="bh") == first


def test_every_report_counts():
    """Also one that is alone in its cohort: those were left out, and with them what fakes could move by leaving one."""
    encoder = Rappor.planned(12, filter=32, cohorts=64)
    reports = encoder.encode(["a"] * 2000, TAPE)
    alone = reports[np.unique(reports[:, 0], return_index=True)[1]]
    assert len(alone) == 64
    row, other = estimate_rappor(encoder, alone, ["a", "b"])
    assert row.p_value < 0.05 < other.p_value
    assert 0.5 < row.low <= row.high < 1.5


@pytest.mark.parametrize(("cohorts", "n"), [(1, 1), (1, 2), (64, 1), (64, 2), (64, 5)])
def test_the_fewest_reports_have_intervals(cohorts, n):
    """Of 95 %, which hold the share, and absent texts are named as rarely as they should be."""
    encoder, missed, wrong, runs = Rappor.planned(6, filter=32, cohorts=cohorts), 0, 0, 80
    for run in range(runs):
        texts = [f"{run}/{i}" for i in range(6)]
        rows = estimate_rappor(encoder, encoder.encode(texts[:1] * n, TAPE), texts)
        assert all(row.low <= row.high for row in rows)
        missed += sum(not row.low <= (row.value == texts[0]) <= row.high for row in rows)
        wrong += any(row.p_value < 0.05 for row in rows[1:])
    assert missed < 0.1 * 6 * runs
    assert wrong <= 12  # four are expected, and thirteen have a chance below 1e-3


@pytest.mark.parametrize("hashes", [1, 2, 3])
def test_decoys_set_bits_as_texts_do(hashes):
    """As many bits in a cohort as a text sets, equally often at each place; all combinations are listed."""
    encoder = Rappor(4, hashes, 2, 64, 256, 0, 8)
    rows = np.concatenate(list(draw_decoys(encoder, 20_000, TAPE)))
    sets = Counter(frozenset(row[row < 8].tolist()) for row in rows)
    one = Counter(frozenset(places) for places in product(range(4), repeat=hashes))
    for (a, x), (b, y) in product(one.items(), repeat=2):
        chance = x * y / 16**hashes
        found = sets[a | {4 + place for place in b}]
        assert abs(found - 20_000 * chance) < 6 * (20_000 * chance) ** 0.5 + 1


@pytest.mark.parametrize("population", ["fixed", "sampled"])
def test_rappor_intervals_cover(population):
    dice = np.random.default_rng(11)
    encoder = Rappor.planned(6, filter=32, cohorts=8)
    shares = np.array([0.5, 0.25, 0.15, 0.1])
    texts, fixed = crowd(4000, shares, dice)
    held = []
    for _ in range(60):
        values = fixed if population == "fixed" else crowd(4000, shares, dice)[1]
        true = [fixed.count(text) / 4000 for text in texts] if population == "fixed" else shares
        rows = estimate_rappor(encoder, encoder.encode(values, TAPE), [*texts, "absent"], population=population)
        held += [row.low <= f <= row.high for row, f in zip(rows, [*true, 0], strict=True)]
    assert 0.89 < np.mean(held) <= 0.995


def test_many_candidates_are_screened_by_half_of_the_cohorts():
    dice = np.random.default_rng(1)
    encoder = Rappor.planned(6, filter=16, cohorts=8)
    texts, values = crowd(20_000, np.array([0.6, 0.4]), dice)
    rows = estimate_rappor(encoder, encoder.encode(values, TAPE), texts + [f"absent-{i}" for i in range(500)])
    assert len(rows) == 16
    assert {row.value for row in rows if row.p_value < 0.01} == set(texts)
    with pytest.raises(InputError, match="candidates"):
        estimate_rappor(encoder, encoder.encode(values[:10], TAPE), ["a", "a"])


def test_intervals_of_a_frequent_text_cover_where_candidates_are_screened(monkeypatch):
    """Candidates that share bits with it look likely and are fitted; the many others share fewer with it than random
    texts do. Without a column of their own they lowered its estimate by 0.014 here, and 27 of 40 intervals covered it;
    of all candidates together 95 % were covered, for nearly all of them are rare.
    """
    monkeypatch.setattr(strings, "decoy_tests", lambda _, fitted, *__: np.ones(len(fitted[0])))  # slow, not needed
    dice, encoder = np.random.default_rng(5), Rappor.planned(8, filter=32, hashes=1, cohorts=16)
    n, share, held, off = 20_000, 0.2, 0, []
    for run in range(20):
        listed = [f"{run}/{i}" for i in range(200)]
        shares = [share, *[(1 - share) / 199] * 199]
        values = np.array(listed)[dice.choice(len(listed), n, p=shares)].tolist()
        row = next(r for r in estimate_rappor(encoder, encoder.encode(values, TAPE), listed) if r.value == listed[0])
        held += row.low <= values.count(listed[0]) / n <= row.high
        off.append(row.estimate - share)
    assert held >= 15  # 19 or more on average
    assert abs(np.mean(off)) < 0.006  # 0.001, with a deviation of 0.0013


ONE, FEW, NONE = (0.4, 1), (0.4, 4), (0.0, 0)


@pytest.mark.parametrize("unlisted", [ONE, FEW, NONE])
@pytest.mark.parametrize("population", ["fixed", "sampled"])
def test_intervals_cover_where_candidates_are_screened_and_a_frequent_text_is_not_listed(
    monkeypatch, unlisted, population
):
    screened_cover(monkeypatch, Rappor.planned(8, filter=32, cohorts=16), (20_000, 300, unlisted), population, 20)


@pytest.mark.slow
@pytest.mark.parametrize("unlisted", [ONE, FEW, NONE])
def test_intervals_cover_in_large_surveys_with_a_frequent_text_that_is_not_listed(monkeypatch, unlisted):
    screened_cover(monkeypatch, Rappor.planned(4), (100_000, 1000, unlisted), "sampled", 40)


def screened_cover(monkeypatch, encoder, survey, population, runs):
    """Of the frequent text that is listed, and of all that are selected. What selected them knew their bits: those that
    share bits with a frequent unlisted text took what it leaves, and of the frequent text's intervals 5 of 12 covered.
    """
    monkeypatch.setattr(strings, "decoy_tests", lambda _, fitted, *__: np.ones(len(fitted[0])))  # slow, not needed
    n, listed, unlisted = survey
    dice, frequent, covered = np.random.default_rng(n), 0, []
    for run in range(runs):
        texts = [f"{run}/{i}" for i in range(listed)]
        people = [*texts, *(f"{run}/unlisted {i}" for i in range(unlisted[1]))]
        rest = (0.7 - unlisted[0]) / (listed - 1)
        shares = [0.3, *[rest] * (listed - 1), *[unlisted[0] / max(1, unlisted[1])] * unlisted[1]]
        values = np.array(people)[dice.choice(len(people), n, p=shares)].tolist()
        true = Counter(values)
        rows = estimate_rappor(encoder, encoder.encode(values, TAPE), texts, population=population)
        held = {row.value: row.low <= true[row.value] / n <= row.high for row in rows}
        frequent += held[texts[0]]
        covered += held.values()
    assert frequent >= runs - 2 - runs // 10  # 19 of 20 are expected, and three of 20 fail with a chance below 0.08
    assert np.mean(covered) > 0.93


@pytest.mark.parametrize("screened", [False, True])
def test_who_is_absent_is_selected_by_bits_that_do_not_test(screened):
    """In the cohorts that test, selected candidates that nobody has share as many bits with a frequent text that is not
    listed as random texts do; in those that select, more.
    """
    encoder, tests, common = Rappor.planned(8, filter=32, cohorts=8), strings.testing_cohorts, []
    for run in range(30):
        own = encoder.filters(f"{run}/own")
        rows = estimate_rappor(encoder, encoder.encode([f"{run}/own"] * 500, TAPE), [f"{run}/{i}" for i in range(300)])
        common += [(encoder.filters(row.value) & own)[tests(encoder) ^ screened].sum() for row in rows]
    chance = 4 * 32 * (1 - (1 - 1 / 32) ** 2) ** 2
    deviation = np.std(common) / 30**0.5  # of one text's bits in each survey
    assert (np.mean(common) > chance + 0.3) == screened
    assert screened or abs(np.mean(common) - chance) < 4 * deviation


def test_one_cohort_tells_no_more_candidates_apart_than_it_tests():
    encoder = Rappor.planned(8, filter=32, cohorts=1)
    reports = encoder.encode(["0"] * 100, TAPE)
    assert len(estimate_rappor(encoder, reports, [str(i) for i in range(15)])) == 15
    with pytest.raises(InputError, match="one cohort"):
        estimate_rappor(encoder, reports, [str(i) for i in range(16)])


def test_all_reports_in_cohorts_that_select_leave_nothing_to_test():
    encoder = Rappor.planned(8, filter=16, cohorts=2)
    reports = encoder.encode(["0"] * 50, TAPE)
    rows = estimate_rappor(encoder, reports[reports[:, 0] == 1], [str(i) for i in range(40)])
    assert {(row.low, row.high, row.p_value) for row in rows} == {(0, 1, 1)}


def test_the_order_of_the_rows_does_not_decide_who_is_counted():
    """Every second row has one of two texts: both are named, each with half of all people."""
    encoder = Rappor.planned(6, filter=16, cohorts=4)
    reports = encoder.encode(["a", "b"] * 10_000, TAPE)
    rows = estimate_rappor(encoder, reports, ["a", "b", *(f"absent-{i}" for i in range(500))])
    shares = {row.value: row.estimate for row in rows}
    assert abs(shares["a"] - 0.5) < 0.15
    assert abs(shares["b"] - 0.5) < 0.15


def test_a_permanent_copy_is_drawn_once():
    """Reports of one text share a permanent copy, which task, cohort, text and key determine, each of them."""
    encoder = Rappor(64, 2, 4, 1 << 30, 1 << 32, 0)  # the permanent copy itself
    quiet = GivenTape(bytes(1 << 12))

    def report(text="a", cohort=1, key=b"k" * 16, task=b"t"):
        return encoder.report_kept(cohort, encoder.copy(text, cohort, key, task), quiet)

    assert report() == report()
    assert len({report(), report("b"), report(cohort=2), report(key=b"l" * 16), report(task=b"u")}) == 5
    assert memo_label(b"t", 1, "ab") != memo_label(b"t", 1, "a") != memo_label(b"ta", 1, "")
    with pytest.raises(InputError, match="key"):
        report(key=b"short")
    with pytest.raises(InputError, match="cohort"):
        report(cohort=4)


def test_averaging_reports_of_one_device_shows_the_permanent_copy_and_no_more():
    """A thousand reports converge to the permanent bits, of which a stated part is wrong for ever."""
    encoder = Rappor.planned(2, 4, filter=64)
    drawn = encoder.copy("x", 0, b"k" * 16, b"t")
    kept = np.unpackbits(
        np.array([list(encoder.report_kept(0, drawn, TAPE)[2:]) for _ in range(1500)], np.uint8),
        axis=1,
        bitorder="little",
    ).mean(axis=0)
    middle = (encoder.one + encoder.zero) / 2 / 2**32
    permanent = kept > middle
    assert (permanent == drawn[0]).all()
    assert (permanent != encoder.filters("x")[0]).any()


@pytest.mark.parametrize(("one", "zero"), [(250, 6), (256, 0)])
def test_all_reports_of_a_device_cost_its_permanent_copy(one, zero):
    """Every sequence of texts, by listing all copies and reports; a copy for each text would cost more than it says."""
    encoder = Rappor(2, 1, 1, 64, one, zero, 8)
    copies, again = Rappor(2, 1, 1, 64, 256, 0, 8), Rappor(2, 1, 1, 1, one, zero, 8)
    texts = next((a, b) for a in "ab" for b in "cdefgh" if (encoder.filters(a) != encoder.filters(b)).any())
    told = {copy: _given(again, copy) for copy in copies.law("a")}

    def law(sequence, keeps):
        """Of all reports: from one copy, or from a copy for each text."""
        drawn = sequence[:1] if keeps else sorted(set(sequence))
        each = Counter()
        for chosen in product(told, repeat=len(drawn)):
            held = dict(zip(drawn, chosen, strict=True))
            chance = prod((copies.law(text)[copy] for text, copy in held.items()), start=Fraction(1))
            sources = [told[held[sequence[0] if keeps else text]] for text in sequence]
            for reports in product(told, repeat=len(sequence)):
                each[reports] += chance * prod((s[r] for s, r in zip(sources, reports, strict=True)), start=Fraction(1))
        return each

    def within(keeps):
        laws = [law(sequence, keeps) for sequence in product(texts, repeat=3)]
        bound = ((1 - encoder.f_half) / encoder.f_half) ** (2 * encoder.hashes)
        assert encoder.permanent >= round_down(ln(bound))
        allowed = 1 if keeps else 2  # texts that were paid for
        return all(a[r] <= bound**allowed * b[r] for a, b in product(laws, repeat=2) for r in a)

    assert within(keeps=True)
    assert not within(keeps=False)


def _given(encoder, copy):
    """The law of a report for a permanent copy: each bit on its own."""
    unit = 1 << encoder.bits
    bits = [copy[2] >> i & 1 for i in range(encoder.filter)]
    each = {}
    for report in product((0, 1), repeat=encoder.filter):
        chance = Fraction(1)
        for bit, shown in zip(bits, report, strict=True):
            rate = Fraction(encoder.one if bit else encoder.zero, unit)
            chance *= rate if shown else 1 - rate
        each[copy[:2] + bytes([sum(b << i for i, b in enumerate(report))])] = chance
    return each


@pytest.mark.parametrize(("epsilon", "n"), [(1, 3000), (5, 300), (8, 300), (10, 3000)])
def test_heavy_hitters_name_few_that_nobody_has(epsilon, n):
    """Where few reports are wrong, one of them is no evidence: at level 5 % four of ten runs have a chance of 1e-3."""
    dice, encoder = np.random.default_rng(3), PrefixExtending.planned(epsilon, letters=3)
    wrong = 0
    for _ in range(10):
        rare = ["".join(map(chr, letters)) for letters in dice.integers(33, 126, (n // 2, 3))]
        texts = ["abc"] * (n - len(rare)) + rare
        found = {one.value for one in discover(encoder, encoder.encode(texts, TAPE))}
        assert "abc" in found or n < 1000
        wrong += not found <= set(texts)
    assert wrong <= 3


def test_binomial_tails_are_exact_enough():
    """Against fractions, from the likeliest count to those that never come."""
    n, p = 60, Fraction(1, 149)
    chances = [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    exact = [float(sum(chances[k:])) for k in range(n + 1)]
    assert binomial_tails(np.arange(n + 1), n, float(p)) == pytest.approx(exact, rel=1e-9)


def test_frequent_texts_are_found_letter_by_letter():
    dice = np.random.default_rng(2)
    encoder = PrefixExtending.planned(4, letters=3)
    texts = ["cat", "cow", "dog"] + [f"{i:03d}" for i in range(200)]
    shares = np.array([0.3, 0.2, 0.1, *[0.4 / 200] * 200])
    values = [texts[i] for i in dice.choice(len(texts), 30_000, p=shares)]
    rows = discover(encoder, encoder.encode(values, TAPE), population="sampled")
    named = {row.value: row for row in rows}
    assert {"cat", "cow", "dog"} <= set(named)
    assert set(named) <= set(texts)
    for text, f in zip(texts[:3], shares[:3], strict=True):  # twice as wide as at 95 %: hardly ever by chance
        middle, half = (named[text].high + named[text].low) / 2, (named[text].high - named[text].low) / 2
        assert abs(f - middle) <= 2 * half


def test_texts_that_are_cut_inside_of_a_letter_have_names_of_their_own():
    encoder = PrefixExtending.planned(8, letters=2)
    rows = discover(encoder, encoder.encode(["aé", "ał", "b"] * 1000, TAPE))
    assert {row.value for row in rows} == {"a\\xc3", "a\\xc5", "b"}


def test_corrections_are_those_of_the_books():
    p = np.array([0.01, 0.04, 0.03, 0.005])
    assert adjusted(p, "holm").tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert adjusted(p, "bh").tolist() == pytest.approx([0.02, 0.04, 0.04, 0.02])
    with pytest.raises(InputError, match="holm or bh"):
        adjusted(p, "none")


def exact_delta(e0, n, epsilon):
    """The same divergence by listing every pair of counts, in fractions of e^e0 as floats."""
    rate, keep = exp(-e0), 1 / (1 + exp(-e0))
    p, q = {}, {}
    for c in range(n):
        weight = comb(n - 1, c) * rate**c * (1 - rate) ** (n - 1 - c)
        for a, d in product(range(c + 1), (0, 1)):
            chance = weight * comb(c, a) / 2**c
            for law, own in ((p, keep), (q, 1 - keep)):
                key = (a + d, c - a + 1 - d)
                law[key] = law.get(key, 0.0) + chance * (own if d else 1 - own)
    return sum(max(0.0, p[key] - exp(epsilon) * q[key]) for key in p)


@pytest.mark.parametrize("n", [1, 2, 5, 30])
@pytest.mark.parametrize("e0", [0.3, 1.0, 3.0])
def test_shuffling_of_few_is_exact(n, e0):
    for epsilon in (0.0, 0.1, 0.5 * e0):
        exact = exact_delta(e0, n, epsilon)
        assert exact <= shuffled_delta(e0, n, epsilon) <= exact * 1.00001 + 1e-12


@pytest.mark.parametrize("n", [1_000, 1_000_000])
@pytest.mark.parametrize("e0", [0.5, 1.0, 4.0])
def test_shuffling_is_within_the_published_bound(n, e0):
    found = bound_shuffled(Fraction(e0), n, 1e-6)
    assert 0 < found <= closed_form(e0, n, 1e-6) <= e0
    assert shuffled_delta(e0, n, found) <= 1e-6


@pytest.mark.parametrize(
    ("n", "e0", "delta", "published"),
    [(10**5, 4, 1e-6, 0.169770), (10**4, 1, 1e-6, 0.053005), (1000, 0.5, 1e-6, 0.070523), (500, 1, 1e-5, 0.225351)],
)
def test_shuffling_is_what_the_authors_program_computes(n, e0, delta, published):
    """The cut-off form of the authors' numerical analysis, summed over every number of clones with SciPy's binomials;
    the first row is their example. Never below it, and less than 1 % above.
    """
    assert published <= bound_shuffled(Fraction(e0), n, delta) + 1e-6 <= 1.01 * published


def test_shuffling_never_harms_and_helps_with_many():
    assert bound_shuffled(1, 1, 1e-9) <= 1
    assert bound_shuffled(1, 10**6, 1e-6) < 0.02
    assert closed_form(10, 1000, 1e-6) == 10
    assert bound_shuffled(log(3), 10**4, 1e-6) < bound_shuffled(log(3), 10**3, 1e-6)
