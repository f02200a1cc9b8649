"""The law of every encoder, from its integer thresholds: what it costs, and that its reports have it."""

import random
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sfumato.errors import InputError
from sfumato.local import ENCODERS
from sfumato.local.hashing import Buckets, hashed
from sfumato.local.kary import Warner
from sfumato.local.rappor import Rappor
from sfumato.local.tape import GivenTape, sample_coins, sample_uniform_bytes
from sfumato.reals import exp, ln, round_up
from tests.local.small import DRAWN, AllTapes, as_input, inputs, random_encoder


def worst_ratio(encoder):
    """The largest ratio of the probabilities of one report for two inputs, by listing all."""
    laws = [encoder.law(value) for value in inputs(encoder)]
    assert all(sum(law.values()) == 1 for law in laws)
    worst = Fraction(1)
    for report in {report for law in laws for report in law}:
        chances = [law.get(report, Fraction(0)) for law in laws]
        if max(chances):
            assert min(chances), "a report is impossible for one input only"
            worst = max(worst, max(chances) / min(chances))
    return worst


@pytest.mark.parametrize("name", ENCODERS)
def test_epsilon_is_the_worst_ratio_of_the_law(name):
    """Never below it; and equal to it, but where no two inputs use all bits that the bound allows for."""
    dice, tried, reached = random.Random(name), 0, 0
    while tried < 25:
        encoder = random_encoder(name, dice)
        if encoder is None:
            continue
        tried += 1
        worst = worst_ratio(encoder)
        assert exp(encoder.epsilon) >= worst if worst != 1 else encoder.epsilon >= 0
        reached += encoder.epsilon - round_up(ln(worst) if worst != 1 else Fraction(0)) <= Fraction(2, 10**15)
    assert reached >= {"rappor": 4, "count-mean-sketch": 4, "prefix": 4, "hybrid": 4}.get(name, 25)


@pytest.mark.parametrize("case", DRAWN, ids=lambda case: f"{case[0]}")
def test_encoders_draw_their_law(case):
    encoder, alphabets = case
    for value in inputs(encoder):
        tape = AllTapes(alphabets)
        many = len(tape.rows)
        reports = encoder.encode(as_input(encoder, value, many), tape)
        assert reports.shape == (many, encoder.width)
        assert reports.dtype == np.uint8
        assert tape.used_up
        assert encoder.valid(reports).all()
        drawn = {report: Fraction(count, many) for report, count in Counter(map(bytes, reports)).items()}
        assert drawn == {report: chance for report, chance in encoder.law(value).items() if chance}


def test_every_encoder_is_drawn():
    assert {encoder.name for encoder, _ in DRAWN} == set(ENCODERS)


@pytest.mark.parametrize("threshold", [0, 1, 255, 256, 257, 0x1234, 0x12FF, 0xFFFF, 0x10000])
def test_coins_have_the_exact_law(threshold):
    """Every pair of bytes: each coin reads two at most."""
    heads = 0
    for first in range(256):
        tape = GivenTape(bytes([first, *[0] * 10]))
        sample_coins(tape, 1, threshold, 16)
        if tape._at <= 1:
            heads += 256 * int(sample_coins(GivenTape(bytes([first])), 1, threshold, 16)[0])
        else:
            heads += sum(int(sample_coins(GivenTape(bytes([first, b])), 1, threshold, 16)[0]) for b in range(256))
    assert heads == threshold


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 100, 128, 255, 256])
def test_uniform_integers_have_the_exact_law(size):
    """One byte is enough for each of these; what is not below the size is drawn again."""
    width = (size - 1).bit_length()
    counts = Counter()
    for octet in range(256):
        drawn = int(sample_uniform_bytes(GivenTape(bytes([octet, 0])), 1, size)[0])
        if octet & ((1 << width) - 1) < size:
            counts[drawn] += 1
        else:
            assert drawn == 0  # the second byte
    assert set(counts.values()) == {256 >> width}
    assert len(counts) == size


def test_wide_uniform_integers_read_little_endian_words():
    assert sample_uniform_bytes(GivenTape(b"\x34\x92"), 1, 1 << 13)[0] == 0x1234
    assert sample_uniform_bytes(GivenTape(b"\x78\x56\x34\x92"), 1, 1 << 29)[0] == 0x12345678
    assert sample_uniform_bytes(GivenTape(b"\xff\xff\xff\xff\1\0\0\0"), 1, (1 << 31) - 1)[0] == 1


@pytest.mark.parametrize(("prime", "count"), [(2, 2), (5, 2), (7, 3), (11, 4), (13, 13)])
def test_collisions_are_exactly_as_stated(prime, count):
    cut = Buckets(prime, count)
    pairs = [(a, b) for a in range(prime) for b in range(prime)]
    for x, y in product(range(prime), repeat=2):
        if x != y:
            meet = sum(len(set(cut.of(hashed(a, b, np.array([x, y]), prime)).tolist())) == 1 for a, b in pairs)
            assert Fraction(meet, prime**2) == cut.collision
    with pytest.raises(InputError, match="prime"):
        Buckets(9, 2)


def test_three_quarters_cost_ln_3():
    coin = Warner.planned(2, "ln 3")
    assert coin.p == Fraction(3, 4)
    assert coin.epsilon == round_up(ln(3))
    assert worst_ratio(coin) == 3


def test_rappor_costs_what_its_bits_can_tell():
    """The paper's f = 1/2, p = 1/2, q = 3/4 and two hash functions: 4.394 in a lifetime, 1.074 a report."""
    unit = 1 << 32
    paper = Rappor(128, 2, 8, unit // 4, 3 * unit // 4, unit // 2)
    assert (paper.q, paper.p) == (Fraction(9, 16), Fraction(11, 16))
    assert paper.permanent == round_up(ln(Fraction(81)))
    assert paper.epsilon == round_up(ln(Fraction(77, 45) ** 2))  # (11/16 · 7/16)/(9/16 · 5/16), once a hash function
