"""Task files: what is read, what is refused with one clear error, who signed, and what a device may spend."""

import json
import os
import re
import threading
from datetime import date
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from sfumato.accounting.events import Pure
from sfumato.errors import BudgetError, ClaimError, InputError, SfumatoError
from sfumato.local import ENCODERS, read_task
from sfumato.local.kary import KAryResponse
from sfumato.local.numbers import DuchiBit, HybridNumber, Piecewise
from sfumato.local.plan import plans
from sfumato.local.rappor import Rappor
from sfumato.local.signing import check_signature, sign_task
from sfumato.local.sketch import CountMeanSketch
from sfumato.local.tape import SystemTape
from sfumato.local.task import charge, planned_task
from sfumato.reals import ln, round_up
from sfumato.sampling.bits import SystemBits, scripted
from tests.local import vectors

GOOD = planned_task("colours", KAryResponse.planned(3, 1), values=("red", "green", "blue")).to_toml()


def test_stored_vectors_are_what_the_encoders_give():
    assert json.loads(vectors.FILE.read_text(encoding="utf-8")) == vectors.make()


def test_every_mechanism_has_vectors():
    named = {json.loads(line) for task in vectors.tasks() for line in [json.dumps(task.mechanism)]}
    assert named == set(ENCODERS)


def test_a_task_is_read_as_it_was_written():
    task = read_task(GOOD)
    assert task.values == ("red", "green", "blue")
    assert task.encoder == KAryResponse.planned(3, 1)
    assert task.epsilon == task.lifetime == task.encoder.epsilon <= 1
    assert read_task(GOOD.replace("\nepsilon", "\n# a comment\nepsilon")) == task


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[parameters]", "[parameters", "not TOML"),
        ('epsilon = "0.99', 'epsilon = "0.98', "cost more"),
        ('epsilon = "', 'epsilon = "-', "above 0"),
        ('lifetime = "0.9', 'lifetime = "0.1', "does not pay"),
        ("truth = ", "truth = 9", "below 2"),
        ("truth = ", "truth = -", "from 0 to 2"),
        ("truth = ", "truth = true #", "whole number"),
        ("truth = ", 'truth = "1" #', "whole number"),
        ("truth = ", "untruth = ", "parameters of k-ary are"),
        ("bits = 32", "bits = 33", "bits must be"),
        ("bits = 32", "", "parameters of k-ary are"),
        ("size = 3", "size = 4", "cost more"),
        ("size = 3", "size = 1", "at least 2"),
        ('"k-ary"', '"kary"', "no mechanism"),
        ('"colours"', '"Colours/../x"', "name"),
        ('name = "colours"', "", 'has no value for "name"'),
        ('"red", "green"', '"red", "red"', "values must name"),
        ('["red"', '[1, "red"', "not TOML|list of texts"),
        ("minimum_batch = 100", "minimum_batch = 0", "at least 1"),
        ("minimum_batch = 100", "minimal_batch = 1", "unknown key"),
        ("minimum_batch = 100", 'expires = "tomorrow"', "a day like"),
        ("minimum_batch = 100", 'low = "1"', "numbers only"),
        ("minimum_batch = 100", 'other = "grey"', "one of the values"),
    ],
)
def test_a_task_with_a_mistake_is_refused_with_one_error(old, new, words):
    assert old in GOOD
    with pytest.raises(InputError, match=words):
        read_task(GOOD.replace(old, new, 1))


@pytest.mark.parametrize("day", ["20270131", "2027-W01-1", "2027-1-31", "2027-02-30", " 2027-01-31"])
def test_a_day_is_written_in_one_way(day):
    """A browser compares days as texts."""
    with pytest.raises(InputError, match="a day like"):
        read_task(GOOD.replace("minimum_batch = 100", f'expires = "{day}"'))
    assert read_task(GOOD.replace("minimum_batch = 100", 'expires = "2027-01-31"')).expires == date(2027, 1, 31)


@pytest.mark.parametrize(
    ("mechanism", "key", "value", "words"),
    [
        ("hybrid", "bits", 1 << 33, "bits must be"),
        ("hybrid", "bits", 1 << 47, "bits must be"),
        ("prefix", "buckets", 1, "2 to 65536 buckets"),
        ("prefix", "buckets", 0, "2 to 65536 buckets"),
        ("k-ary", "truth", "1" * 5000, "too long"),
    ],
)
def test_a_number_without_measure_is_refused_before_it_is_computed_with(mechanism, key, value, words):
    task = next(task for task in vectors.tasks() if task.mechanism == mechanism)
    head, _, numbers = task.to_toml().partition("[parameters]")
    changed = re.sub(rf"\n{key} = \d+", f"\n{key} = {value}", numbers)
    with pytest.raises(InputError, match=words):
        read_task(f"{head}[parameters]{changed}")


def test_random_damage_gives_errors_of_our_own_only():
    dice, read = np.random.default_rng(3), 0
    for task in vectors.tasks():
        text = task.to_toml()
        for _ in range(15):
            at, to = dice.integers(0, len(text)), dice.integers(0, len(text))
            damaged = text[:at] + chr(dice.integers(1, 300)) + text[to if dice.random() < 0.1 else at + 1 :]
            try:
                read_task(damaged)
                read += 1
            except SfumatoError:
                pass
    assert 0 < read < 600


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("epsilon", ["1e-12", "1e-9", "0.001", "ln 3", "ln(4/3)", "20", "1000"])
def test_planned_thresholds_never_cost_more_than_asked(name, epsilon):
    """At the edges there is a task that costs at most what was asked, or one clear error."""
    from sfumato.local.thresholds import Odds

    kind, refusals = ENCODERS[name], []
    for size in (2, 3, 1000) if epsilon != "1000" else (3,):
        if name == "warner" and size > 2:
            continue
        try:
            encoder = kind.planned(size, epsilon) if kind.takes == "values" else kind.planned(epsilon)
        except InputError as error:
            refusals.append((error.message, epsilon))
            continue
        assert 0 < encoder.epsilon <= Odds.of(epsilon).epsilon
    assert all("say nothing" in words and size in ("1e-12", "1e-9") for words, size in refusals)


@pytest.mark.parametrize("epsilon", [0, -1, "ln 1", "ln(1/2)", "nan", "1e999999", 1001, None, "x"])
def test_an_epsilon_that_is_none_is_refused(epsilon):
    with pytest.raises(InputError):
        KAryResponse.planned(3, epsilon)


@pytest.mark.parametrize("size", [0, 1, -3, Fraction(5, 2)])
def test_a_domain_has_at_least_two_values(size):
    for name, kind in ENCODERS.items():
        if kind.takes == "values":
            with pytest.raises(InputError):
                kind.planned(size, 1)
        assert name


def test_thresholds_at_the_ends_are_refused():
    for truth in (0, 1 << 32):
        for kind in (KAryResponse, ENCODERS["hadamard"]):
            with pytest.raises(InputError, match="below 2"):
                kind(3, truth)
        with pytest.raises(InputError, match="below 2"):
            DuchiBit(truth)
        with pytest.raises(InputError, match="below 2"):
            Rappor(8, 1, 1, truth, 1 << 32, 0)


def test_readings_are_exactly_unbiased_with_the_stated_spread():
    for encoder in (Piecewise(3, 150, 8, 8), DuchiBit(200, 5, 8), HybridNumber(100, 3, 150, 200, 8, 8)):
        for j in range(encoder.grid + 1):
            u, (c0, c1, c2) = Fraction(j, encoder.grid), encoder.spread
            read = {report: reading(encoder, report) for report in encoder.law(j)}
            mean = sum(chance * read[report] for report, chance in encoder.law(j).items())
            square = sum(chance * read[report] ** 2 for report, chance in encoder.law(j).items())
            assert mean == u
            assert square - mean**2 == c0 + c1 * u + c2 * u * u


def reading(encoder, report):
    if isinstance(encoder, HybridNumber):
        return encoder.parts[0 if report[0] else 1].at(int.from_bytes(report[1:], "little"))
    return encoder.parts[0].at(int.from_bytes(report, "little"))


def test_values_outside_of_the_task_are_refused_and_named_by_row():
    task = read_task(GOOD)
    with pytest.raises(InputError, match="row 12"):
        task.encode(["red", "green", "mauve"], first=10)
    other = planned_task("o", KAryResponse.planned(2, 1), values=("red", "other"), other="other")
    assert other.inputs(["mauve", "red", None]).tolist() == [1, 0, 1]
    numbers = planned_task("n", DuchiBit.planned(1), low=Fraction(0), high=Fraction(10))
    assert numbers.inputs([-5, 0, 5, 10, 11]).tolist() == [0, 0, 32768, 65536, 65536]
    with pytest.raises(InputError, match="not finite"):
        numbers.inputs([1, float("nan")])
    with pytest.raises(InputError, match="not a number"):
        numbers.inputs(["x"])
    texts = planned_task("t", Rappor.planned(1))
    with pytest.raises(InputError, match="Unicode"):
        texts.encode(["\ud800"])
    with pytest.raises(InputError, match="must be a text"):
        texts.encode([1])
    texts.encode(["x" * 100_000])  # a device that cannot report on long texts would tell them by its silence


def test_a_task_ends_on_its_last_day():
    task = planned_task("t", KAryResponse.planned(3, 1), expires=date(2020, 2, 2))
    task.check_open(date(2020, 2, 2))
    with pytest.raises(InputError, match="expired"):
        task.check_open(date(2020, 2, 3))
    with pytest.raises(InputError, match="expired"):
        task.encode(["1"])


def test_a_device_pays_for_reports_or_for_texts():
    once = planned_task("t", KAryResponse.planned(3, 1), lifetime="2.5")
    assert once.allowed == 2
    charge(once, 1)
    with pytest.raises(BudgetError, match="spent"):
        charge(once, 2)
    texts = planned_task("t", Rappor.planned(1, 4), lifetime=9)
    assert texts.allowed == 1  # a second permanent copy would tell when a text has changed
    charge(texts, 0)
    with pytest.raises(BudgetError, match="spent"):
        charge(texts, 1)
    assert texts.event == Pure(texts.encoder.permanent)
    assert texts.event.epsilon * texts.allowed <= texts.lifetime


def test_a_task_is_signed_and_checked():
    key, other = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public, foreign = (
        one.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        for one in (key, other)
    )
    signed = sign_task(GOOD, private)
    check_signature(signed, public)
    assert read_task(signed) == read_task(GOOD)
    check_signature(sign_task(signed, private), public)
    for text, pem in (
        (GOOD, public),
        (signed, foreign),
        (signed + "\n", public),
        (signed.replace("red", "rad"), public),
    ):
        with pytest.raises(ClaimError, match="sign"):
            check_signature(text, pem)
    with pytest.raises(ClaimError, match="is not valid"):
        check_signature('signature = "AAAA"\n' + GOOD, public)


def test_identity_is_the_parameters_and_not_the_words_around_them():
    """A new question or day does not draw permanent copies anew; other parameters or another name do."""
    task = planned_task("t", Rappor.planned(1, 4))
    worded = planned_task("t", Rappor.planned(1, 4), question="Why?", expires=date(2030, 1, 1), lifetime=50)
    assert task.identity == worded.identity
    assert len({task.identity, planned_task("u", Rappor.planned(1, 4)).identity}) == 2
    assert task.identity != planned_task("t", Rappor.planned(1, 5)).identity


def test_plans_choose_what_theory_says():
    assert plans("values", 10**6, 1, size=2)[0].encoder.name == "warner"
    assert plans("values", 10**6, 3, size=10)[0].encoder.name == "k-ary"
    assert plans("values", 10**6, 1, size=1000)[0].encoder.name == "local-hashing"
    small, large = (plans("values", n, 1, size=100)[0] for n in (10**4, 10**6))
    assert small.error == pytest.approx(10 * large.error, rel=0.02)
    assert plans("values", 10**4, 1, size=100, only="subset")[0].encoder.name == "subset"
    with pytest.raises(InputError, match="no mechanism"):
        plans("values", 100, 1, only="nothing")
    with pytest.raises(InputError, match="for numbers"):
        plans("values", 100, 1, only="duchi")


def test_threads_and_forks_do_not_repeat_reports():
    """Reports of a forked child and of other threads differ from the parent's: they share no bytes."""
    with scripted(SystemBits()):  # the noise of production
        reports_of_threads_and_forks()


def reports_of_threads_and_forks():
    encoder = ENCODERS["local-hashing"].planned(1000, 1)
    values = np.zeros(50, np.int64)
    seen = [encoder.encode(values, SystemTape()).tobytes()]
    threads = [
        threading.Thread(target=lambda: seen.append(encoder.encode(values, SystemTape()).tobytes())) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    reading_end, writing_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing_end, encoder.encode(values, SystemTape()).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    seen += [os.read(reading_end, 1 << 16), encoder.encode(values, SystemTape()).tobytes()]
    os.close(reading_end)
    os.close(writing_end)
    assert len({row[i : i + 9] for row in seen for i in range(0, len(row), 9)}) == 50 * len(seen)


@pytest.mark.parametrize("bits", [8, 16, 24, 32, 40, 48])
@pytest.mark.parametrize("name", ENCODERS)
def test_a_plan_costs_no_more_than_was_asked(name, bits):
    """Also for domains that thresholds of few bits are too coarse for: those are refused."""
    kind, planned = ENCODERS[name], 0
    sizes = (2, 3, 1000, 1 << 20, 1 << 24) if kind.takes == "values" else (None,)
    for size, epsilon in product(sizes, ("0.0001", "0.01", "0.5", "ln 3", "1", "2.5", "8", "20", "100")):
        if size is not None and size > 3 and name == "warner":
            continue
        given = () if size is None else (size,)
        try:
            encoder = kind.planned(*given, epsilon, bits=bits)
        except InputError:
            continue
        planned += 1
        asked = ln(Fraction(3)) if epsilon == "ln 3" else Fraction(epsilon)
        assert encoder.epsilon <= round_up(asked), (size, epsilon)
    assert planned >= 3


def test_each_planned_sketch_has_a_salt_of_its_own():
    """The same pairs of texts met in every survey."""
    salts = {plans("strings", 1000, 1, only="count-mean-sketch")[0].encoder.salt for _ in range(5)}
    assert len(salts) == 5
    assert CountMeanSketch.planned(1, salt=7).salt == 7
