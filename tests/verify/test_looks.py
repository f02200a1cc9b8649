"""Private numbers that are only looked at, and rounds that collect: what is listed of them, and what is not."""

from dataclasses import replace

import pytest

from sfumato.verify.finite import paper
from sfumato.verify.finite.observed import observed
from sfumato.verify.finite.rounds import decide_rounds
from sfumato.verify.parse import read_program, read_proof

# ---- what is seen of private numbers

COIN = "D(x : private {kind}) : public int adjacent one; claim ln 3; b :=$ Bernoulli(1/4); {body}"
SEEN = [
    ("int", "y := x mod 2; if (b = 1) { y := 1 - y } return y"),
    ("int", "if (x > 5) { y := 1 } else { y := 0 } if (b = 1) { y := 1 - y } return y"),
    ("real", "if (b = 1) { if (x <= 1/2) { return 1 } return 0 } if (x > 1/2) { return 1 } return 0"),
    ("[0,10]", "if (abs(x - 5) < 2) { y := 1 } else { y := 0 } if (b = 1) { y := 1 - y } return y"),
]
MORE = [
    ("int", "return x + b"),
    ("int", "if (x > b) { return 1 } return 0"),
    ("int", "x := x + 1; if (x > 2) { return b } return 1 - b"),
    ("real", "y := x mod 2; return 0"),
    ("int", "y := x mod b; return 0"),
]


@pytest.mark.parametrize(("kind", "body"), SEEN)
def test_what_is_seen_of_numbers_is_listed(kind, body):
    program = read_program(COIN.format(kind=kind, body=body))
    assert paper.listed(program, "seen").holds
    tighter = replace(program, claim=(read_proof("ln 2.99"),))
    assert paper.listed(tighter, "seen") is None


@pytest.mark.parametrize(("kind", "body"), MORE)
def test_more_than_truths_is_not_listed(kind, body):
    assert observed(read_program(COIN.format(kind=kind, body=body))) is None


# ---- what looks collect

ROUND = """D(d : private {{0,1}} list, k : public int) : public int list adjacent one; claim {claim};
{start}; s := 0; r := []; while ({test}) {{ b :=$ Bernoulli(1/4); {look} }} return r ++ [s]"""
FLIP = "if (b = 1) { r := r ++ [1 - d[i]] } else { r := r ++ [d[i]] }"
COLLECTED = [
    ("i := 0", "i < size(d)", FLIP + " i := i + 1"),
    ("i := 0", "size(d) > i && size(r) < k", FLIP + " i := i + 1"),
    ("i := size(d) - 1", "i >= 0", FLIP + " i := i - 1"),
    ("i := size(d)", "i > 0", "i := i - 1; " + FLIP),
    ("i := 1", "i <= size(d)", "if (b = 1) { s := s + 1 - d[i - 1] } else { s := s + d[i - 1] } i := i + 1"),
    ("i := 0", "i < size(d)", "if (b = 1) { s := 1 - d[i] + s } else { s := s + d[i] } r := r ++ [7]; i := i + 2"),
]
REMEMBERED = [
    ("i := 0", "i < size(d)", "if (b = 1) { s := 1 - d[i] + s } else { s := s + d[i]; r := r ++ [7] } i := i + 1"),
    ("i := 0", "i < size(d)", "if (s > 1) { r := r ++ [d[i]] } else { s := s + b } i := i + 1"),
    ("i := 0", "i < size(d)", "if (b = 1) { s := s * 2 + d[i] } else { s := s + d[i] } i := i + 1"),
    ("i := 0", "i < size(d)", FLIP + " s := s + d[i] - d[0]; i := i + 1"),
    ("i := 1", "i < size(d)", "if (b = 1) { s := s + d[i] } else { s := s + d[i - 1] } i := i + 1"),
    ("i := 0", "i < size(d)", "if (b = 1) { s := s + d[i] } i := i + b"),
    ("i := 0", "i < size(d)", "if (b = 1) { s := s + d[i] } i := 0"),
    ("i := 0", "i < size(d)", "r := r ++ [d[i] xor b]; i := i + 1; if (i < size(d)) { s := s + d[i] }"),
]


@pytest.mark.parametrize("parts", COLLECTED)
def test_what_a_look_adds_is_found_by_it(parts):
    start, test, look = parts
    text = ROUND.format(claim="ln 3", start=start, test=test, look=look)
    assert decide_rounds(read_program(text)).holds
    assert decide_rounds(read_program(text.replace("ln 3", "ln 2.99"))) is None


@pytest.mark.parametrize("parts", REMEMBERED)
def test_a_look_that_reads_what_it_collected_is_none(parts):
    start, test, look = parts
    assert decide_rounds(read_program(ROUND.format(claim="ln 3", start=start, test=test, look=look))) is None
