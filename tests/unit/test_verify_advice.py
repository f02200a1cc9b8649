"""What people are told about a program that is not proved: what is wrong, in which line, and what to do instead."""

from __future__ import annotations

import re

import pytest

from sfumato.errors import InputError
from sfumato.verify import advice, program
from sfumato.verify.explain import summary

pytest.importorskip("z3")
HEAD = "F(c : private real, d : private real) : public real\nadjacent all;  claim eps;\n"
SUM = """F(q : private real list) : public real
adjacent one;  claim eps;
  s := 0;  i := 0;
  while (i < size(q)) { s := s + q[i];  i := i + 1 }
"""
KERNEL = re.compile(r"coupling|runs?\b|both|condition|#|pointwise|support|bijection")
"""Words of the proof and not of the program."""


def said(text):
    code = program(text)
    return " ".join(summary(code.tree, code.verify()))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (SUM + "  return s\n", "No noise is drawn: the output shows the input. Add noise"),
        (SUM + "  z :=$ Laplace(1/(4*eps), 0);\n  return s + z\n", "the loss is 4 times what is claimed"),
        (
            HEAD + "  z :=$ Laplace(1/eps, 0);\n  if (c > 0) { r := 1 } else { r := z }\n  return r\n",
            "decides a branch",
        ),
        (HEAD + "  z :=$ Laplace(1/eps, 0);\n  if (c > d + z) { r := 1 } else { r := 0 }\n  return r\n", "2 times"),
        (
            (
                "F(c : private real) : public real\nadjacent one;  claim 0.99*eps;\n"
                "  z :=$ Laplace(1/eps, 0);\n  return c + z\n"
            ),
            "the loss is 1.01 times what is claimed",
        ),
    ],
)
def test_a_refuted_program_says_what_to_do(text, words):
    told = said(text)
    assert told.startswith("REFUTED")
    assert words in told
    assert not KERNEL.search(told.partition("claimed 1")[2])


def test_a_program_that_is_not_decided_says_what_to_do_at_which_line():
    told = said("""Walk(c : private real) : public real
adjacent one;  claim eps;
  z :=$ Laplace(1/eps, 0);  n := 0;
  while (c + z > n) { z :=$ Laplace(1/eps, 0);  n := n + 1 }
  return n
""")
    assert told.startswith("UNKNOWN")
    assert "every branch on a private value has noise of its own" in told
    assert not KERNEL.search(told)


@pytest.mark.parametrize("kind", sorted(advice._BY_KIND))
def test_every_open_step_of_a_proof_has_words_for_people(kind):
    code = program(SUM + "  z :=$ Laplace(1/eps, 0);\n  return s + z\n")
    what, instead = advice.open_step(code.tree, kind, "what the kernel calls it", code.tree.source.index("return"))
    assert what.startswith("the closest proof fails at line 6 (return s + z): ")
    assert instead.endswith(".")
    assert not KERNEL.search(f"{what} {instead}")


@pytest.mark.parametrize(
    ("body", "words", "hint"),
    [
        ("  z := Laplace(1/eps, 0);\n  return c + z\n", 'found "Laplace"', "Noise is drawn by a statement of its own"),
        ("  z :=$ Laplace(1/epsilon, 0);\n  return c + z\n", '"epsilon" has no value here', "is called eps"),
        ("  z :=$ Normal(1/eps, 0);\n  return c + z\n", "expected a law", "called Gauss"),
        ("  z :=$ Laplace(1/eps, 0);\n  y := c + z\n", "expected a return on every path", "with return and a value"),
        (
            "  z :=$ Laplace(1 - 2, 0);\n  return c + z\n",
            "the scale of the noise is -1, and must be positive",
            "requires",
        ),
    ],
)
def test_a_mistake_in_the_text_has_a_hint(body, words, hint):
    with pytest.raises(InputError) as caught:
        program(HEAD + body).verify()
    plain = advice.plainer(caught.value)
    assert words in plain.message
    assert "line" in plain.message
    assert hint in plain.hint
    assert plain.position == caught.value.position
