"""Branches of a private test that draw alike: one draw for both, and the law of outputs stays."""

from fractions import Fraction

import pytest

from sfumato.verify.kernel import branches as room
from sfumato.verify.kernel.branches import joined_branches
from sfumato.verify.kernel.late import late
from sfumato.verify.parse import read_program
from sfumato.verify.refuter.paths import Walker
from sfumato.verify.tree import Draw, If, statements
from sfumato.verify.verdict import verify

F = Fraction
HEAD = "P(c : private {0..3}, n : public int) : public real adjacent one; claim eps;\n"
JOINED = {
    "the same law": "if (c > 1) { z :=$ Bernoulli(1/3) } else { z :=$ Bernoulli(1/3) } return c + z",
    "other arguments": "if (c > 1) { z :=$ Bernoulli(1/3) } else { z :=$ Bernoulli(1/4) } return c + z",
    "computed arguments": "m := 9; if (c > 1) { m := 1; z :=$ Uniform(0..m) } "
    "else { m := c; z :=$ Uniform(0..m) } return z + m",
    "an argument that the branch changes": "m := 2; if (c > 1) { z :=$ Uniform(0..m); m := 7 } "
    "else { m := 1; z :=$ Uniform(0..m) } return 10 * m + z",
    "other names": "y := 5; if (c > 1) { z :=$ Bernoulli(1/3); y := 2 * z } else { y :=$ Bernoulli(1/2) } return y",
    "two draws": "if (c > 1) { a :=$ Bernoulli(1/3); b :=$ Uniform(0..1 + a); r := a + b } "
    "else { b :=$ Bernoulli(1/5); a :=$ Uniform(0..2 - b); r := 10 * a + b } return r",
    "returns": "if (c > 1) { z :=$ Bernoulli(1/3); return z } else { z :=$ Bernoulli(1/4); return 5 + z }",
    "a return before the rest": "if (c > 1) { z :=$ Bernoulli(1/3); return z } m := 3; "
    "y :=$ Bernoulli(1/4); return m + y",
    "the test changes in its branch": "if (c > 1) { c := 0; z :=$ Bernoulli(1/3); r := 1 + z } "
    "else { c := 9; z :=$ Bernoulli(1/4); r := 20 + z } return r + c",
    "in a loop": "i := 0; s := 0; while (i < 2) { if (c > i) { z :=$ Bernoulli(1/3) } "
    "else { z :=$ Bernoulli(1/5); s := s + 10 } s := s + z; i := i + 1 } return s",
    "a variable that private values have touched": "b := 0; if (c > 2) { b := 1 } "
    "if (b = 1) { z :=$ Bernoulli(1/3) } else { z :=$ Bernoulli(1/4) } return z",
}
LEFT = {
    "other laws": "if (c > 1) { z :=$ Bernoulli(1/3) } else { z :=$ Uniform(0..1) } return c + z",
    "no draw in one branch": "z := 0; if (c > 1) { z :=$ Bernoulli(1/3) } return c + z",
    "more draws in one branch": "if (c > 1) { z :=$ Bernoulli(1/3) } "
    "else { z :=$ Bernoulli(1/3); z :=$ Bernoulli(1/3) } return z",
    "a return in one branch": "if (c > 1) { z :=$ Bernoulli(1/3); return 7 } else { z :=$ Bernoulli(1/3) } return z",
    "a draw deeper": "if (c > 1) { if (n > 0) { z :=$ Bernoulli(1/3) } else { z := 1 } } "
    "else { z :=$ Bernoulli(1/3) } return z",
    "a public test": "if (n > 1) { z :=$ Bernoulli(1/3) } else { z :=$ Bernoulli(1/4) } return z",
    "weights": "if (c > 1) { z :=$ Choice([1, 2]) } else { z :=$ Choice([1, 3]) } return z",
}
INPUTS = [{"c": F(c), "n": F(n), "eps": F(1), "delta": F(0)} for c in range(4) for n in (0, 2)]


def law(tree, env):
    found = {}
    for way in Walker(tree, most=5000).ways(env):
        found[way.output] = found.get(way.output, F(0)) + way.weight
    return found


def same_law(tree):
    return all(law(tree, env) == law(joined_branches(tree), env) == law(late(tree), env) for env in INPUTS)


@pytest.mark.parametrize("name", [*JOINED, *LEFT])
def test_draws_of_branches_keep_the_law_of_outputs(name):
    tree = read_program(HEAD + (JOINED | LEFT)[name])
    made = joined_branches(tree)
    assert (made.body != tree.body) == (name in JOINED)
    assert same_law(tree)
    assert joined_branches(made) == made
    assert late(late(tree)) == late(tree)
    if name in JOINED:
        inside = [part for node in statements(made.body) if isinstance(node, If) for part in (*node.then, *node.other)]
        assert not any(isinstance(part, Draw) for part in inside)


@pytest.mark.parametrize("name", ["other arguments", "computed arguments", "two draws", "other names"])
def test_a_rewriting_that_exchanges_branches_is_caught(name, monkeypatch):
    plain = room._choice
    monkeypatch.setattr(room, "_choice", lambda test, blocks, at: plain(test, blocks[::-1], at))
    assert not same_law(read_program(HEAD + JOINED[name]))


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ("if (c > 0) { z :=$ Laplace(1/eps, 0) } else { z :=$ Laplace(1/eps, 0) } return c + z", "PROVED"),
        ("if (c > 0) { z :=$ Laplace(1/eps, c); y := z } else { y :=$ Laplace(1/eps, c) } return y", "PROVED"),
        ("if (c > 0) { z :=$ Laplace(1/eps, 0); return c + z } y :=$ Laplace(1/eps, 0); return c + y", "PROVED"),
        ("if (c > 0) { z :=$ Laplace(1/eps, 0) } else { z :=$ Laplace(2/eps, 0) } return c + z", "REFUTED"),
        ("if (c > 0) { z :=$ Laplace(1/eps, 0); r := c + z } else { z :=$ Laplace(1/eps, 0); r := 2*c + z } return r",
         "REFUTED"),
        ("if (c > 0) { z :=$ Laplace(1/eps, 0); return c + z } return c", "REFUTED"),
    ],
)  # fmt: skip
def test_programs_that_draw_in_private_branches_are_decided(body, verdict):
    text = "P(c : private real) : public real adjacent one; claim eps; " + body
    assert verify(read_program(text)).verdict == verdict
