"""Every encoder is proved at its epsilon, and refuted just below, by a program that is generated for it."""

import random
from fractions import Fraction

import pytest

from sfumato.local import ENCODERS
from sfumato.local.plan import plans
from sfumato.local.programs import program_text
from sfumato.local.rappor import Rappor
from sfumato.verify import program
from tests.local.small import DRAWN, random_encoder, same_salt

PLANNED = [
    same_salt(plan.encoder)
    for takes, size in (("values", 2), ("values", 1000), ("numbers", 2), ("strings", 2))
    for plan in plans(takes, 10**6, 1, size=size)
] + [Rappor.planned(1, 4), Rappor.planned(1, 4, hashes=4)]


@pytest.mark.parametrize("encoder", PLANNED, ids=str)
def test_a_task_is_proved_at_its_epsilon_and_refuted_below(encoder):
    text = program_text(encoder)
    assert program(text).verify().verdict == "PROVED"
    less = program_text(encoder, encoder.ratio * Fraction(999, 1000))
    assert program(less).verify().verdict == "REFUTED"


def test_every_encoder_is_proved():
    assert {encoder.name for encoder in PLANNED} == set(ENCODERS)


@pytest.mark.parametrize("name", ENCODERS)
def test_programs_of_arbitrary_thresholds_are_proved(name):
    dice = random.Random(name)
    tried = [encoder for _ in range(12) if (encoder := random_encoder(name, dice)) is not None][:1]
    assert tried
    for encoder in tried:
        assert program(program_text(encoder)).verify().verdict == "PROVED", encoder


def test_a_program_has_the_law_of_its_encoder():
    """For two values nothing is brought together: the program's outputs have the chances of the reports."""
    warner = next(encoder for encoder, _ in DRAWN if encoder.name == "warner")
    drawn = program(program_text(warner)).simulate(4000, x=1)
    assert abs(sum(drawn) / 4000 - float(warner.law(1)[b"\1"])) < 5 * (0.25 * 0.75 / 4000) ** 0.5
