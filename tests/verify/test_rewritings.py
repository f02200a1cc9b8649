"""Coins that are counted, single returns and new names behind loops: the law of outputs stays, and what would change
it is left alone. All runs are followed toss by toss; nothing of the verifier's laws is used.
"""

import json
import random
from fractions import Fraction

import pytest

from sfumato.verify.checking import faults_of
from sfumato.verify.kernel.coins import counted_coins
from sfumato.verify.kernel.returns import OUTPUT, one_return
from sfumato.verify.parse import read_program
from sfumato.verify.prover import fresh
from sfumato.verify.prover.fresh import fresh_names
from sfumato.verify.run import AtDraw, RunFault, Runner
from sfumato.verify.tree import changed, draws_of
from sfumato.verify.verdict import verify

F = Fraction
HEAD = "P(c : private int) : public int list adjacent one; claim eps;\n"
DEEP = 9


def outcomes(stop):
    """What a draw may be, with chances; steps up to DEEP."""
    first = F(stop.args[0])
    match stop.draw.law:
        case "Bernoulli":
            return [(F(1), first), (F(0), 1 - first)]
        case "Steps":
            return [(F(k), (1 - first) * first**k) for k in range(DEEP + 1)]
        case "Uniform":
            return [(F(k), 1 / (F(stop.args[1]) - first + 1)) for k in range(int(first), int(stop.args[1]) + 1)]
    raise AssertionError(stop.draw.law)


def law(tree, env):
    """The chances of outputs over all ways with at most DEEP draws in a row, by running again for each way."""
    found, waiting = {}, [((), F(1))]
    while waiting:
        chosen, weight = waiting.pop()
        running, used = Runner(tree, exact=True).run(dict(env), 100), 0
        try:
            stop = next(running)
            while True:
                if not isinstance(stop, AtDraw):
                    stop = running.send(None)
                elif used < len(chosen):
                    stop, used = running.send(chosen[used]), used + 1
                else:
                    if len(chosen) <= DEEP:
                        waiting += [((*chosen, value), weight * chance) for value, chance in outcomes(stop) if chance]
                    break
        except StopIteration as end:
            found[end.value] = found.get(end.value, F(0)) + weight
    return found


def inputs(*values):
    return [{"c": F(value), "eps": F(1), "delta": F(0)} for value in values]


COUNTED = {
    "tossed before": "n := c; b :=$ Bernoulli(1/3); while (b = 1) { n := n + 1; b :=$ Bernoulli(1/3) } return [n, b]",
    "swapped": "b :=$ Bernoulli(1/3); n := 0; while (b = 1) { b :=$ Bernoulli(1/3); n := n + 1 } return [n + c, b]",
    "by zeros": "n := 0; b :=$ Bernoulli(1/3); while (b = 0) { n := n + 1; b :=$ Bernoulli(1/3) } return [n, b]",
    "tossed inside": "n := 0; b := 1; while (b = 1) { b :=$ Bernoulli(1/4); if (b = 1) { n := n + 1 } } return [n, b]",
    "inside by zeros": "b := 0; n := 7; while (b = 0) { b :=$ Bernoulli(1/4);"
    " if (b = 0) { n := n + 1 } } return [n, b]",
    "added": "n := 0; b := 1; while (b = 1) { b :=$ Bernoulli(1/4); n := n + b } return [n, b]",
    "every toss": "n := 0; b := 1; while (b = 1) { b :=$ Bernoulli(1/4); n := n + 1 } return [n, b]",
    "every toss, counted first": "n := 0; b := 1; while (b = 1) { n := n + 1; b :=$ Bernoulli(1/4) } return [n, b]",
    "a flag": "n := 0; g := true; while (g) { b :=$ Bernoulli(1/4); if (b = 1) { n := n + 1 } else { g := false } }"
    " return [n, b, g]",
    "a flag that is raised": "n := 0; g := false; while (!g) { b :=$ Bernoulli(1/4);"
    " if (b = 0) { n := n + 1 } else { g := true } } return [n, b, g]",
    "a flag by numbers": "g := 1; n := c; while (g = 1) { b :=$ Bernoulli(1/4); if (b = 1) { g := 0 }"
    " else { n := n + 1 } } return [n, b, g]",
    "a chance of the input": "n := 0; b :=$ Bernoulli(1/(2 + c)); while (b = 1) { n := n + 1;"
    " b :=$ Bernoulli(1/(2 + c)) } return [n, c]",
    "inside of a branch": "n := 0; if (c > 0) { b :=$ Bernoulli(1/3); while (b = 1) { n := n + 1;"
    " b :=$ Bernoulli(1/3) } } return [n]",
}
LEFT = {
    "another coin first": "n := 0; b :=$ Bernoulli(1/2); while (b = 1) { n := n + 1; b :=$ Bernoulli(1/3) } return [n]",
    "a chance that counts": "n := 1; b :=$ Bernoulli(1/(n + 1)); while (b = 1) { n := n + 1;"
    " b :=$ Bernoulli(1/(n + 1)) } return [n]",
    "a chance that changed": "m := 2; b :=$ Bernoulli(1/m); m := 3; while (b = 1) { n := 0; b :=$ Bernoulli(1/m) }"
    " return [m]",
    "read in between": "b :=$ Bernoulli(1/2); n := b; while (b = 1) { n := n + 1; b :=$ Bernoulli(1/2) } return [n]",
    "two at once": "n := 0; b :=$ Bernoulli(1/2); while (b = 1) { n := n + 2; b :=$ Bernoulli(1/2) } return [n]",
    "a flag that stays up": "n := 0; g := 1; k := 0; while (g = 1) { b :=$ Bernoulli(1/2);"
    " if (b = 1) { n := n + 1 } else { g := 1 } k := k + 1; if (k > 3) { g := 0 } } return [n]",
    "a flag that is down at first": "n := 0; g := 0; while (g = 1) { b :=$ Bernoulli(1/2);"
    " if (b = 1) { n := n + 1 } else { g := 0 } } return [n]",
    "the coin is the counter": "n :=$ Bernoulli(1/2); while (n = 1) { n := n + 1; n :=$ Bernoulli(1/2) } return [n]",
    "down at first": "n := 0; b := 0; while (b = 1) { b :=$ Bernoulli(1/2); n := n + 1 } return [n]",
    "counted before the toss": "n := 0; b := 1; while (b = 1) { n := n + b; b :=$ Bernoulli(1/2) } return [n]",
    "the flag is the coin": "n := 0; b := 1; while (b = 1) { b :=$ Bernoulli(1/2); if (b = 1) { n := n + 1 }"
    " else { b := 0 } } return [n]",
}


@pytest.mark.parametrize("name", COUNTED)
def test_counted_coins_keep_the_law_of_outputs(name):
    tree = read_program(HEAD + COUNTED[name])
    found = counted_coins(tree)
    assert [draw.law for draw in draws_of(found)] == ["Steps"]
    for env in inputs(0, 1, 3):
        first, second = law(tree, env), law(found, env)
        shared = first.keys() & second.keys()
        assert len(shared) > DEEP - 3 or env["c"] == 0
        assert shared
        assert all(first[key] == second[key] for key in shared)


@pytest.mark.parametrize("name", LEFT)
def test_other_loops_of_coins_are_left_alone(name):
    tree = read_program(HEAD + LEFT[name])
    assert counted_coins(tree) == tree


ENDS = {
    "two tests": "u :=$ Uniform(0..3); if (c = 0) { return [0] } if (c + u > 2) { return [c + u] } return [0]",
    "a late draw": "if (c = 0) { return [0] } u :=$ Uniform(0..3); v :=$ Uniform(0..1);"
    " if (c + u > 2) { return [c + u, v] } return [0]",
    "something between": "u :=$ Uniform(0..3); x := 1; if (u > 1) { x := 2; if (c > 1) { return [x] } x := x + u }"
    " else { x := 5 } y := x + c; if (y = 3) { return [y] } else { y := 0 } return [x, y]",
    "all branches": "u :=$ Uniform(0..3); if (u > c) { return [1] } else { if (u = c) { return [2] } return [u] }",
    "after the return": "u :=$ Uniform(0..3); if (u > c) { return [1]; u := 3; return [7] } return [u]",
}
KEPT = {
    "a loop": "if (c = 0) { return [0] } i := 0; while (i < c) { i := i + 1 } return [i]",
    "a draw inside": "if (c = 0) { u :=$ Uniform(0..1); return [u] } return [0]",
    "a law that changes": "x := 1; if (c = 0) { return [0] } x := 2; u :=$ Uniform(0..x); return [u]",
    "a name that is read before": "u := 5; if (c = 0) { return [u] } u :=$ Uniform(0..1); return [u]",
    "no test": "u :=$ Uniform(0..1); return [u + c]",
}


@pytest.mark.parametrize("name", ENDS)
def test_one_return_keeps_the_law_of_outputs(name):
    tree = read_program(HEAD + ENDS[name])
    found = one_return(tree)
    assert OUTPUT in changed(found.body)
    assert one_return(found) == found
    for env in inputs(-1, 0, 1, 2, 3):
        assert law(tree, env) == law(found, env)


@pytest.mark.parametrize("name", KEPT)
def test_other_ends_are_left_alone(name):
    tree = read_program(HEAD + KEPT[name])
    assert one_return(tree) == tree


def some_names(dice):
    """A program of a few loops over few names, so that they share most of them; what they are is returned."""

    def expression():
        return dice.choice(("x", "y", "z", "x + 1", "y + z", "c", "0", "1", "z - x"))

    def lines(depth):
        made = []
        for _ in range(dice.randint(1, 3)):
            name = dice.choice("xyz")
            kind = dice.random()
            if kind < 0.55:
                made.append(f"{name} := {expression()};")
            elif kind < 0.7:
                made.append(f"{name} :=$ Bernoulli(1/3);")
            elif kind < 0.85 or depth:
                made.append(f"if ({expression()} > {expression()}) {{ {lines(1)} }}")
            else:
                made.append(f"k := 0; while (k < {dice.randint(0, 2)}) {{ {lines(1)} k := k + 1 }}")
        return " ".join(made)

    loops = [f"k := 0; while (k < {dice.randint(0, 2)}) {{ {lines(1)} k := k + 1 }}" for _ in range(3)]
    between = [lines(0) if dice.random() < 0.5 else "" for _ in range(3)]
    body = " ".join(part for pair in zip(loops, between, strict=True) for part in pair)
    returned = dice.choice(("[x, y, z]", "[x]", "[y, z]", "[k]"))
    return read_program(HEAD + f"x := c; y := 0; z := 1; {body} return {returned}")


def kept_of(trees):
    """How many programs have new names, and how many of them have other outputs, or read what was never assigned."""
    pairs = [(old, new) for old, new in ((tree, fresh_names(tree)[0]) for tree in trees) if old != new]
    return len(pairs), sum(not is_kept(old, new, env) for old, new in pairs for env in inputs(0, 2))


def is_kept(old, new, env):
    try:
        return law(old, env) == law(new, env)
    except RunFault:
        return False


def drawing_little(count, seed):
    trees = []
    while len(trees) < count:
        tree = some_names(random.Random(seed))
        seed += 1
        if len(draws_of(tree)) <= 3:
            trees.append(tree)
    return trees


def test_new_names_keep_outputs():
    renamed, wrong = kept_of(drawing_little(250, 1))
    assert renamed > 150
    assert wrong == 0


@pytest.mark.parametrize("name", ["_is_dead", "_is_local"])
def test_new_names_where_a_value_is_read_are_found_out(name, monkeypatch):
    monkeypatch.setattr(fresh, name, lambda *_: True)
    assert kept_of(drawing_little(250, 1))[1] > 0


def test_loops_that_share_names_are_proved():
    """Two noisy maxima with one counter; the proof is told in the program's own names."""
    loop = "i := 0; best := 0; {0} := 0; while (i < size(q)) {{ z :=$ Laplace(2/eps, 0); "
    loop += "if (i = 0 || q[i] + z > best) {{ best := q[i] + z; {0} := i }} i := i + 1 }} "
    head = "P(q : private real list) : public int list adjacent all; requires size(q) >= 1; claim 2*eps; "
    found = verify(read_program(head + loop.format("a") + loop.format("b") + "return [a, b]"))
    assert (found.verdict, found.scope) == ("PROVED", "all")
    assert faults_of(json.loads(json.dumps(found.certificate))) == []
    assert all("_2" not in json.dumps(proof["invariants"]) for proof in found.certificate["proofs"])
