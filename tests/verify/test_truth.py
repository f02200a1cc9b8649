"""What is proved is true: random programs over whole numbers, with their true losses by enumeration (discrete.py)."""

import random
from fractions import Fraction

import pytest

from sfumato.verify.kernel import laws
from sfumato.verify.kernel.check import conditions_of, first_open, is_proved
from sfumato.verify.kernel.evaluate import Evaluator
from sfumato.verify.kernel.proof import Proof
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.parse import read_program, read_proof
from sfumato.verify.prover.search import search
from sfumato.verify.tree import Draw, statements
from tests.verify.discrete import Maker, breaks, draws_of, text_of


def programs(seeds, most=2, make=Maker.program):
    for seed in seeds:
        made = make(Maker(random.Random(seed)))
        if 0 < draws_of(made[0]) <= most:
            yield seed, made


def proved_and_false(seeds, most=2):
    proved, false = 0, []
    for seed, made in programs(seeds, most):
        tree = read_program(text_of(made))
        proofs = search(tree).proofs
        if proofs is not None and is_proved(tree, proofs):
            proved += 1
            if breaks(made):
                false.append((seed, text_of(made), breaks(made)))
    return proved, false


def test_proved_implies_true_by_enumeration():
    proved, false = proved_and_false(range(100))
    assert proved > 10
    assert false == []


@pytest.mark.slow
def test_proved_implies_true_by_enumeration_of_many():
    proved, false = proved_and_false(range(1000, 3000), most=3)
    assert proved > 400
    assert false == []


# ---- alignments that nobody would look for: whatever the kernel accepts is true


def leaf(dice):
    name = dice.choice(["a", "b", "a + b", "a - b", "a + a"])
    number = str(dice.choice([0, 1, 2, -1, -2]))
    return dice.choice([number, f"#shift({name})", f"-#shift({name})", f"-#shift({name})", f"1 - #shift({name})"])


def shift(dice, pointwise):
    if dice.random() < 0.4:
        return leaf(dice)
    left = dice.choice(["#noise", "#noise", "a", "b", *["#answer"] * pointwise])
    right = dice.choice(["a", "b", "0", "1", "a + #shift(a)", *["#answer"] * pointwise])
    return f"#if({left} {dice.choice(['<', '<=', '=', '>='])} {right}, {leaf(dice)}, {leaf(dice)})"


def accepted_and_false(seeds, tries, make=Maker.program):
    accepted, false = 0, []
    for seed, made in programs(seeds, 2, make):
        text = text_of(made)
        if "while" in text:
            continue
        tree, dice, truth = read_program(text), random.Random(seed), None
        numbers = [statement.number for statement in statements(tree.body) if isinstance(statement, Draw)]
        for _ in range(tries):
            pointwise = len(made[1]) == 1 and dice.random() < 0.5
            proof = Proof("both", pointwise, {number: read_proof(shift(dice, pointwise)) for number in numbers})
            try:
                fine = first_open(conditions_of(tree, proof)) is None
            except NoProofRule:
                continue
            if fine:
                accepted += 1
                truth = truth or (breaks(made),)
                if truth[0]:
                    false.append((seed, text, proof, truth[0]))
    return accepted, false


@pytest.mark.parametrize("make", [Maker.program, Maker.mechanism])
def test_whatever_alignment_the_kernel_accepts_is_true(make):
    accepted, false = accepted_and_false(range(40), tries=8, make=make)
    assert accepted > 6
    assert false == []


@pytest.mark.slow
def test_whatever_alignment_the_kernel_accepts_is_true_of_many():
    accepted, false = accepted_and_false(range(5000, 8000), tries=30)
    assert accepted > 1000
    assert false == []


# ---- the net has no holes: a kernel with a fault is caught


FAULTS = {"outputs are not compared": "output", "costs are not compared": "cost"}


@pytest.mark.parametrize(
    "fault", [pytest.param("outputs are not compared", marks=pytest.mark.slow), "costs are not compared"]
)
def test_a_kernel_with_a_fault_is_caught(fault, monkeypatch):
    require = Evaluator.require

    def forgetful(self, kind, label, **rest):
        if FAULTS[fault] != kind:
            require(self, kind, label, **rest)

    monkeypatch.setattr(Evaluator, "require", forgetful)
    assert accepted_and_false(range(24), tries=20, make=Maker.mechanism)[1]


def test_a_kernel_that_charges_half_is_caught(monkeypatch):
    spend = laws._geometric

    def cheap(product, draw, state):
        before = state.spent[draw.number]
        spend(product, draw, state)
        half = (state.spent[draw.number] - before) * laws.number(Fraction(1, 2))
        state.spent[draw.number] = before + half

    monkeypatch.setattr(laws, "_geometric", cheap)
    assert accepted_and_false(range(24), tries=20, make=Maker.mechanism)[1]
