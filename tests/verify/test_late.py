"""Draws that are made later: the law of outputs stays, and what would change it is left alone."""

from fractions import Fraction

import pytest

from sfumato.verify.kernel import late as room
from sfumato.verify.kernel.late import late
from sfumato.verify.parse import read_program
from sfumato.verify.refuter.paths import Walker
from sfumato.verify.tree import Draw, statements

F = Fraction
HEAD = "P(d : private int list, n : public int) : public int list requires n >= 0; adjacent one; claim eps;\n"
FILLED = "i := 0; z := []; while (i < size(d)) { e :=$ Bernoulli(1/3); z := z ++ [e]; i := i + 1 } "
MOVED = {
    "after a sum": "z :=$ Bernoulli(1/4); i := 0; s := 0; "
    "while (i < size(d)) { s := s + d[i]; i := i + 1 } return [s + z]",
    "two draws": "z :=$ Bernoulli(1/4); w :=$ Uniform(0..2); s := n + 1; if (n > 1) { s := 0 } return [s + z, w, z]",
    "in a loop": "i := 0; r := []; while (i < 3) { z :=$ Bernoulli(1/5); i := i + 1; r := r ++ [i * z] } return r",
    "a list": FILLED + "i := 0; r := []; while (i < size(d)) { r := r ++ [d[i] + z[i]]; i := i + 1 } return r",
    "a list read twice in a round": FILLED
    + "j := 0; r := []; while (size(d) > j && n > 0) { r := r ++ [z[j], 2 * z[j]]; j := j + 1 } return r",
    "a list whose counter is read later": FILLED
    + "j := 0; r := [i]; while (j < size(d)) { if (d[j] > 0) { r := r ++ [z[j]] } j := j + 1 } return r",
    "a list read up to its size": FILLED
    + "j := 0; r := []; while (size(z) > j && n > 0) { r := r ++ [z[j]]; j := j + 1 } return r",
    "a list of as many elements as are counted": "i := 0; z := []; "
    "while (i < n - 1/2) { e :=$ Bernoulli(1/3); z := z ++ [e]; i := i + 1 } "
    "j := 0; r := []; while (j < size(z)) { r := r ++ [z[j]]; j := j + 1 } return r",
}
LEFT = {
    "its size is compared with something else": FILLED
    + "j := 0; k := n - 1; r := []; "
    + "while (j < size(z) && k < size(z)) { r := r ++ [z[j]]; j := j + 1 } return r",
    "read again in the next round": FILLED
    + "j := 0; r := []; while (j < size(d)) { r := r ++ [z[0]]; j := j + 1 } return r",
    "read after counting": FILLED
    + "j := 0; r := []; while (j < size(d)) { j := j + 1; if (j < size(d)) { r := r ++ [z[j]] } } return r",
    "returned as well": FILLED + "j := 0; r := []; while (j < size(d)) { r := r ++ [z[j]]; j := j + 1 } return r ++ z",
    "read by two loops": FILLED
    + "j := 0; r := []; while (j < size(d)) { r := r ++ [z[j]]; j := j + 1 } "
    + "j := 0; while (j < size(d)) { r := r ++ [z[j]]; j := j + 1 } return r",
    "a counter that waits": FILLED
    + "j := 0; k := 0; r := []; "
    + "while (j < size(d) && k < 4) { r := r ++ [z[j]]; if (k > 1) { j := j + 1 } k := k + 1 } return r",
    "a law that changes": "i := 0; z := []; while (i < size(d)) { e :=$ Uniform(0..i); z := z ++ [e]; i := i + 1 } "
    "i := 0; r := []; while (i < size(d)) { r := r ++ [z[i]]; i := i + 1 } return r",
}
INPUTS = [{"d": tuple(map(F, d)), "n": F(n), "eps": F(1), "delta": F(0)} for d in ((), (1,), (0, 2, 1)) for n in (0, 2)]


def law(tree, env):
    found = {}
    for way in Walker(tree, most=5000).ways(env):
        found[way.output] = found.get(way.output, F(0)) + way.weight
    return found


def same_law(tree):
    return all(law(tree, env) == law(late(tree), env) for env in INPUTS)


@pytest.mark.parametrize("name", [*MOVED, *LEFT])
def test_late_draws_keep_the_law_of_outputs(name):
    tree = read_program(HEAD + (MOVED | LEFT)[name])
    assert (late(tree).body != tree.body) == (name in MOVED)
    assert same_law(tree)
    assert late(late(tree)) == late(tree)
    numbers = [
        sorted(part.number for part in statements(one.body) if isinstance(part, Draw)) for one in (tree, late(tree))
    ]
    assert numbers[0] == numbers[1]


def test_a_rewriting_that_does_not_look_is_caught(monkeypatch):
    """Without the check that every round reads an element of its own, laws change."""

    def careless(loop, kept, counter, draw):
        inner = tuple(room._swapped(part, read_index, room.Var(draw.name)) for part in loop.body)
        return (draw, *inner)

    read_index = room.Index(room.Var("z"), room.Num(F(0)))
    monkeypatch.setattr(room, "_read_once", careless)
    assert not same_law(read_program(HEAD + LEFT["read again in the next round"]))


def test_a_draw_stays_before_what_returns_or_changes_its_law():
    kept = "z :=$ Bernoulli(1/2); if (n > 0) { return [1] } return [z]"
    assert late(read_program(HEAD + kept)).body == read_program(HEAD + kept).body
    kept = "m := 1; z :=$ Uniform(0..m); m := 5; return [z + m]"
    assert late(read_program(HEAD + kept)).body == read_program(HEAD + kept).body


ENDLESS = "while (n > 0) { u :=$ Bernoulli(1/2) } "


def test_a_draw_that_passes_a_loop_without_an_end_leaves_a_mark():
    """Where the loop never ends nothing else would ask whether the law's arguments are allowed."""
    tree = late(read_program(HEAD + "z :=$ Uniform(0..n); " + ENDLESS + "return [z]"))
    mark, _, draw, _ = tree.body
    assert mark.moved == draw
    assert late(tree) == tree


def test_a_draw_stays_before_the_mark_of_another_that_reads_it():
    tree = late(read_program(HEAD + "m := 5; m :=$ Uniform(0..2); z :=$ Uniform(0..m); " + ENDLESS + "return [z + m]"))
    kinds = [type(part).__name__ for part in tree.body]
    assert kinds == ["Assign", "Draw", "Skip", "While", "Draw", "Return"]
