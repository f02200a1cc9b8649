"""Elements that are taken by a coin: the claim that a sample keeps, and no smaller one; and what is no sample."""

import copy
import json
from fractions import Fraction
from itertools import product

import pytest

from sfumato.verify.checking import faults_of
from sfumato.verify.kernel import sampling
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.parse import read_program, read_proof
from sfumato.verify.prover.sampled import search_sampled
from sfumato.verify.verdict import verify

F = Fraction
TEXT = """P(d : private {{0..{top}}} list) : public int adjacent {word}; claim {claim};
 i := 0; s := 0;
 while (i < size(d)) {{ b :=$ Bernoulli({p}); if (b = 1) {{ s := s + {step} }} i := i + 1 }}
 z :=$ Geometric(exp(-eps));
 return s + z
"""


def made(word="one", claim="ln(1 + (exp(eps) - 1)/3)", p="1/3", step="d[i]", top=1):
    return TEXT.format(word=word, claim=claim, p=p, step=step, top=top)


def law(d, chance, step, reach=9):
    """The chances of outputs near 0 at epsilon = ln 4, by adding up all samples."""
    found = {}
    for taken in product((0, 1), repeat=len(d)):
        weight = F(1)
        for coin in taken:
            weight *= chance if coin else 1 - chance
        total = sum(step(value) for coin, value in zip(taken, d, strict=True) if coin)
        for out in range(-reach, reach + 1):
            noise = F(3, 5) * F(1, 4) ** abs(out - total)
            found[out] = found.get(out, F(0)) + weight * noise
    return found


@pytest.mark.parametrize("word", ["one", "addremove"])
@pytest.mark.parametrize("chance", [F(1, 3), F(1, 2), F(0), F(1)])
def test_sampling_is_proved_down_to_its_loss(word, chance):
    """At epsilon = ln 4 the claim is ln(1 + 3p): no two neighbours lose more, and some lose as much."""
    text = made(word, f"ln(1 + {chance}*(exp(eps) - 1))", str(chance))
    found = verify(read_program(text))
    assert (found.verdict, found.scope) == ("PROVED", "all")
    assert faults_of(json.loads(json.dumps(found.certificate))) == []
    lists = [d for size in range(3) for d in product((0, 1), repeat=size)]
    worst = F(0)
    for d, other in product(lists, lists):
        near = len(d) == len(other) and sum(a != b for a, b in zip(d, other, strict=True)) <= 1
        more = len(d) == len(other) + 1 and any(d[:k] + d[k + 1 :] == other for k in range(len(d)))
        less = len(other) == len(d) + 1 and any(other[:k] + other[k + 1 :] == d for k in range(len(other)))
        if near if word == "one" else more or less:
            one, two = law(d, chance, int), law(other, chance, int)
            worst = max(worst, *(one[out] / two[out] for out in one))
    assert worst == 1 + 3 * chance


def proofs_of(text):
    claim, proofs = search_sampled(read_program(text), ())
    return claim, proofs


def test_a_smaller_claim_or_chance_is_not_proved():
    claim, proofs = proofs_of(made())
    assert sampling.is_sampled(read_program(made()), claim, proofs)
    assert not sampling.is_sampled(read_program(made(claim="0.999*ln(1 + (exp(eps) - 1)/3)")), claim, proofs)
    assert not sampling.is_sampled(read_program(made(p="1/2")), claim, proofs)
    assert not sampling.is_sampled(read_program(made(top=2)), claim, proofs)
    assert not sampling.is_sampled(read_program(made()), (read_proof("0-eps"),), proofs)
    assert not sampling.is_sampled(read_program(made()), (read_proof("eps/2"),), proofs)
    assert not sampling.is_sampled(read_program(made()), claim, proofs[:1])


FALSE = made(step="(d[i] + 100)")
"""Whether an element is there is seen from afar: then the coin hides nothing, and the loss is epsilon."""


def test_an_element_that_is_seen_from_afar_is_not_sampled(monkeypatch):
    one, two = law((1,), F(1, 3), lambda x: x + 100, 104), law((0,), F(1, 3), lambda x: x + 100, 104)
    assert max(one[out] / two[out] for out in one) > 2 + F(1, 2)  # claimed: 1 + 3/3
    assert verify(read_program(FALSE)).verdict != "PROVED"
    whole = sampling.inner_programs
    monkeypatch.setattr(sampling, "inner_programs", lambda *said: whole(*said)[:1])  # a fault: `one` alone
    monkeypatch.setattr("sfumato.verify.prover.sampled.inner_programs", sampling.inner_programs)
    claim, proofs = proofs_of(FALSE)
    assert sampling.is_sampled(read_program(FALSE), claim, proofs)  # so that this test finds that fault


SAMPLE = made()
OTHERS = {
    "the list is read later": ("return s + z", "if (size(d) > 0) { return s + z } return z"),
    "an element is read later": ("return s + z", "return s + z + d[0]"),
    "another element is read": ("s + d[i] }", "s + d[0] }"),
    "the counter is read": ("s + d[i] }", "s + i }"),
    "the counter is read later": ("return s + z", "return s + z + i"),
    "the coin is read later": ("return s + z", "b := 0; return s + z + b"),
    "without a coin too": ("i := i + 1 }", "s := s + d[i]; i := i + 1 }"),
    "the other side does something": ("i := i + 1 }", "else { s := s + 1 } i := i + 1 }"),
    "every other element": ("i := i + 1 }", "i := i + 2 }"),
    "not from the beginning": ("i := 0;", "i := 1;"),
    "the other side of the coin": ("(b = 1)", "(b = 0)"),
    "the counter is moved": ("{ s := s + d[i] }", "{ s := s + d[i]; i := i + 1 }"),
    "it returns at once": ("{ s := s + d[i] }", "{ return s + d[i] }"),
    "a chance of the data": ("Bernoulli(1/3)", "Bernoulli(1/(3 + size(d)))"),
    "a chance that changes": ("Bernoulli(1/3)", "Bernoulli(1/(3 + s))"),
    "a size that is required": ("adjacent one;", "requires size(d) >= 2; adjacent one;"),
    "a claim about the size": ("claim ln", "claim size(d)*ln"),
    "another adjacency": ("adjacent one", "adjacent all"),
    "groups": ("adjacent one", "adjacent 2(one)"),
    "a second secret": ("list)", "list, c : private int)"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_reads_more_than_its_sample_is_not_sampled(name):
    old, new = OTHERS[name]
    assert old in SAMPLE
    with pytest.raises(NoProofRule):
        sampling.taken_by_coin(read_program(SAMPLE.replace(old, new, 1)))


def test_changed_certificates_of_samples_are_refused():
    document = json.loads(json.dumps(verify(read_program(SAMPLE)).certificate))
    assert faults_of(document) == []

    def changed(change):
        found = copy.deepcopy(document)
        change(found)
        return faults_of(found)

    assert changed(lambda found: found["sampled"].update(claim=["eps/2"]))
    assert changed(lambda found: found["sampled"].update(approved=True))
    assert changed(lambda found: found["sampled"]["conditions"].pop())
    assert changed(lambda found: found["proofs"].pop())
    assert changed(lambda found: found["proofs"].append(found["proofs"][0]))
    assert changed(lambda found: found["proofs"].append({**found["proofs"][0], "direction": "elsewhere"}))
    assert changed(lambda found: found.update(approved=True))
    assert changed(lambda found: found.pop("sampled"))
    assert changed(lambda found: found.update(scope={"size": 3}))
