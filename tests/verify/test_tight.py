"""How much it really is: amounts that are proved and, a little below, refuted; and repairs that are proved."""

import re
from pathlib import Path

import pytest

from sfumato.verify import program
from sfumato.verify.amounts import Amounts
from sfumato.verify.parse import read_proof
from sfumato.verify.show import show
from sfumato.verify.tight import tightest

PROGRAMS = Path(__file__).parent / "programs"
SUMS = """
Sums(d : private [0,2] list) : public real list
adjacent one; claim eps;
  s := 0; r := []; i := 0;
  while (i < size(d)) { s := s + d[i]; z :=$ Laplace(1/eps, 0); r := r ++ [s + z]; i := i + 1 }
  return r
"""
SPARSE = """
Sparse(q : private real list, T : public real, K : public int) : public bool list
requires K >= 1; adjacent all; claim eps;
  t :=$ Laplace(3/eps, 0); n := 0; i := 0; r := [];
  while (n < K && i < size(q)) {
    z :=$ Laplace(5/(2*eps), 0);
    if (q[i] + z >= T + t) { r := r ++ [true]; n := n + 1 } else { r := r ++ [false] }
    i := i + 1 }
  return r
"""


@pytest.mark.parametrize(
    ("text", "proved", "refuted", "repair"),
    [
        (SUMS, "2 * size(d) * eps", "1.98 * (size(d) * eps)", "times 2 * size(d)"),
        (
            SPARSE, "(1 / 3 + 4 * K / 5) * eps", "0.99 * ((1 / 3 + 4 * K / 5) * eps)",
            "the scale of the noise in line 6, times 6 * K / 5",
        ),
        ((PROGRAMS / "r_twoall.sfp").read_text(), "2 * eps", "1.98 * eps", "times 2"),
        ((PROGRAMS / "p_mean.sfp").read_text(), "eps", "0.99 * eps", None),
    ],
)  # fmt: skip
def test_the_least_amount_is_found_in_the_words_of_the_program(text, proved, refuted, repair):
    code = program(text)
    found = tightest(code.tree, code.verify())
    assert (found.proved, found.refuted) == (proved, refuted)
    assert found.repair == repair or found.repair.endswith(repair)
    again = program(re.sub(r"claim [^;]*;", f"claim {proved};", text)).verify()
    assert again.verdict == "PROVED"


@pytest.mark.parametrize(("chance", "loss"), [("2/3", "ln(2)"), ("exp(eps)/(1+exp(eps))", "eps"), ("4/5", "ln(4)")])
def test_the_loss_of_a_program_that_can_be_listed_is_found_whatever_it_claims(chance, loss):
    text = "Coin(x : private {0,1}) : public {0,1} adjacent any; claim 5 + eps; b :=$ Bernoulli(P);"
    text = text.replace("P)", f"{chance})") + " if (b = 1) { return x } else { return 1 - x }"
    code = program(text)
    found = tightest(code.tree, code.verify())
    assert (found.proved, found.refuted) == (loss, f"0.99 * {loss}" if loss == "eps" else f"0.99 * ({loss})")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1/(4/eps) + 2*N/(4/3/eps)", "(1 / 4 + 3 * N / 2) * eps"),
        ("eps*size(q)/2", "size(q) * eps / 2"),
        ("2 - 2", "0"),
        ("-a + b*b - 1/c", "(-1 - a * c + b ^ 2 * c) / c"),
    ],
)
def test_amounts_are_put_together(text, shown):
    amounts = Amounts()
    assert show(amounts.show(amounts.read(read_proof(text)))) == shown


@pytest.mark.parametrize("text", ["max(a, b)", "1/(1 + w)", "a[0]", "exp(eps)"])
def test_what_is_no_sum_of_products_is_not_read(text):
    assert Amounts().read(read_proof(text)) is None
