"""The bits of production, where all other tests have fixed ones; and exact masses summed in 400 bits."""

from collections.abc import Iterator

import mpmath
import pytest


@pytest.fixture(autouse=True)
def four_hundred_bits() -> Iterator[None]:
    with mpmath.workprec(400):
        yield


@pytest.fixture(autouse=True)
def fixed_noise() -> None:
    """Takes the place of the fixture of all tests: here the source itself is tested. Alarms are as rare as 1e-9."""
