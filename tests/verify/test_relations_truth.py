"""What is said of secrecy and uniformity is true: random programs, with their laws by another interpreter."""

import json
import random

import pytest

from sfumato.verify.checking import faults_of
from sfumato.verify.kernel.pair import CouplingCase, CouplingProof
from sfumato.verify.kernel.secrecy import is_shown
from sfumato.verify.kernel.single import Reader
from sfumato.verify.parse import read_program, read_proof
from sfumato.verify.relational.finding import find
from sfumato.verify.relational.search import search
from tests.verify.relations import Made


def programs(seeds, most=2):
    for seed in seeds:
        made = Made(random.Random(seed), "word" if seed % 2 else "residue")
        if made.draws() <= most:
            prop = "secrecy" if seed % 4 else "uniform"
            yield seed, made, prop, made.is_secret() if prop == "secrecy" else made.is_uniform()


def wrong(seeds, most=2):
    """Verdicts that are not true, certificates that do not hold; and how many of each kind were seen."""
    seen, found = {"PROVED": 0, "REFUTED": 0, "coupling": 0}, []
    for seed, made, prop, truth in programs(seeds, most):
        said, _ = find(read_program(made.text(prop)))
        if said is None or said.verdict != ("PROVED" if truth else "REFUTED"):
            found.append((seed, truth, said, made.text(prop)))
            continue
        seen[said.verdict] += 1
        seen["coupling"] += said.coupling is not None
        if faults_of(json.loads(json.dumps(said.certificate))):
            found.append((seed, "certificate"))
        if made.kind == "word" and not truth and search(read_program(made.text(prop, "n >= 1")), 6)[0] is not None:
            found.append((seed, "coupled", made.text(prop)))
    return seen, found


def test_what_is_said_of_random_programs_is_true():
    seen, found = wrong(range(20))
    assert found == []
    assert min(seen.values()) > 3


@pytest.mark.slow
def test_what_is_said_of_many_random_programs_is_true():
    seen, found = wrong(range(1000, 1600), most=3)
    assert found == []
    assert min(seen.values()) > 100


# ---- couplings that nobody would look for: whatever the kernel accepts is true

WORD_MAPS = [
    ("#noise", "#noise"),
    ("#noise xor m", "#noise xor m"),
    ("#noise xor m xor #two(m)", "#noise xor m xor #two(m)"),
    ("#noise + m - #two(m)", "#noise - m + #two(m)"),
    ("#noise - m + #two(m)", "#noise + m - #two(m)"),
    ("#noise and m", "#noise"),
    ("m xor #two(m)", "#noise"),
    ("#noise xor (m and #two(m))", "#noise xor (m and #two(m))"),
]
NUMBER_MAPS = [
    ("#noise", "#noise"),
    ("(#noise + m - #two(m)) mod 3", "(#noise - m + #two(m)) mod 3"),
    ("(#noise - m + #two(m)) mod 3", "(#noise + m - #two(m)) mod 3"),
    ("2 - #noise", "2 - #noise"),
    ("(2 * #noise) mod 3", "(2 * #noise) mod 3"),
    ("(m * #noise) mod 3", "(m * #noise) mod 3"),
    ("0", "#noise"),
    ("#noise + m - #two(m)", "#noise - m + #two(m)"),
]


class Short(Made):
    """One draw and one output."""

    def __init__(self, dice, kind):
        self.dice, self.kind = dice, kind
        law = "biased" if kind == "residue" and dice.random() < 0.4 else "fair"
        self.names, self.body, self.outputs = ["m", "k", "k", "p"], [("draw", "k", law)], []
        self.outputs = [self.expression(dice.choice([1, 1, 2]))]


def accepted_and_false(seeds):
    accepted, false = 0, []
    for seed in seeds:
        made = Short(random.Random(seed), "word" if seed % 2 else "residue")
        tree = read_program(made.text("secrecy", "n >= 1"))
        for there, back in WORD_MAPS if made.kind == "word" else NUMBER_MAPS:
            if is_shown(tree, CouplingProof((), (CouplingCase({(1, 1): (read_proof(there), read_proof(back))}),))):
                accepted += 1
                if not made.is_secret():
                    false.append((seed, made.text("secrecy"), there))
    return accepted, false


def test_whatever_coupling_the_kernel_accepts_is_true():
    accepted, false = accepted_and_false(range(8))
    assert accepted > 2
    assert false == []


@pytest.mark.slow
def test_whatever_coupling_the_kernel_accepts_is_true_of_many():
    accepted, false = accepted_and_false(range(100, 1000))
    assert accepted > 400
    assert false == []


# ---- the net has no holes: each condition is all that stops a false proof

ODDS = """Odds(m : private {0,1}) : public {0,1} property secrecy;
k :=$ Uniform(0..2); if (k = 0) { c := m } else { c := 1 - m } return c"""
FOLDED = "#if(m = #two(m), #noise, #if(#noise = 0, 1, 0))"
FALSE = {
    "output": ("P(m : private bool) : public bool property secrecy; return m", "#noise", "#noise"),
    "inverse": (ODDS, FOLDED, "#noise"),
    "mass": (
        "P(m : private {0,1}) : public {0,1} property secrecy; b :=$ Bernoulli(1/3); return m xor b",
        "#noise xor m xor #two(m)",
        "#noise xor m xor #two(m)",
    ),
    "support": (
        "P(m : private {0..6}) : public int property secrecy; k :=$ Uniform(0..6); return m + k",
        "#noise + m - #two(m)",
        "#noise - m + #two(m)",
    ),
    "path": (
        "P(s : private bool) : public int property secrecy; if (s) { return 0 } while (true) { skip } return 0",
        "#noise",
        "#noise",
    ),
}


@pytest.mark.parametrize("kind", FALSE)
def test_a_relational_kernel_with_a_fault_is_caught(kind, monkeypatch):
    text, there, back = FALSE[kind]
    loops = {1: ()} if kind == "path" else {}
    coupling = CouplingProof((), (CouplingCase({(1, 1): (read_proof(there), read_proof(back))}, frozenset(), loops),))
    assert not is_shown(read_program(text), coupling)
    require = Reader.require

    def forgetful(self, said, *rest, **more):
        if said != kind:
            require(self, said, *rest, **more)

    monkeypatch.setattr(Reader, "require", forgetful)
    assert is_shown(read_program(text), coupling)
