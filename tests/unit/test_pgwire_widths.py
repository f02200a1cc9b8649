"""How the notice of an answer over the wire puts the widths of a column into words."""

from fractions import Fraction

import pytest

from sfumato.server.pgwire.gateway_calls import _range


@pytest.mark.parametrize(
    ("widths", "words"),
    [
        (["599", "600", "600"], "600"),
        (["30"], "30"),
        (["10", "20"], "10 to 20"),
        (["10", "12", "40"], "10 to 40 (median 12)"),
    ],
)
def test_widths_that_hardly_differ_are_one_number(widths, words):
    assert _range([Fraction(width) for width in widths]) == words
