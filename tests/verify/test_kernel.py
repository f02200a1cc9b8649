"""The kernel refuses what is not a proof: each of its conditions is what stops a false one."""

import json
from pathlib import Path

import pytest

from sfumato.verify.kernel.certificate import faults_of, write
from sfumato.verify.kernel.check import conditions_of, is_open, is_proved
from sfumato.verify.kernel.proof import Proof
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.parse import read_program, read_proof
from sfumato.verify.prover.search import search

PROGRAMS = Path(__file__).parent / "programs"


def open_kinds(text, direction="both", pointwise=False, **parts):
    """The kinds of the conditions that are not proved."""
    read = {
        name: {
            key: tuple(read_proof(one) for one in said) if isinstance(said, tuple) else read_proof(said)
            for key, said in values.items()
        }
        for name, values in parts.items()
    }
    product = conditions_of(read_program(text), Proof(direction, pointwise, **read))
    return {condition.kind for condition in product.conditions if is_open(product, condition)}


WINDOW = """F(a : private [0,1]) : public bool
adjacent one; claim eps/10;
  z :=$ Laplace(100/eps, 0);
  if (z >= 0 && z < 1 + a) { r := true } else { r := false }
  return r"""


def test_a_map_that_is_not_one_to_one_proves_nothing():
    """The window of a = 1 is twice that of a = 0: the loss is near ln 2. Folding it onto the smaller costs next to
    nothing.
    """
    into = "#if(#noise >= 1 + a + #shift(a) && #noise < 1 + a, -1, 0)"
    out = f"#if(#noise >= 1 + a && #noise < 1 + a + #shift(a), 5, {into})"
    assert open_kinds(WINDOW, shifts={1: out}) == {"injective"}


def test_a_shift_that_moves_with_its_own_noise_is_not_covered():
    with pytest.raises(NoProofRule):
        open_kinds(WINDOW, shifts={1: "#noise"})
    with pytest.raises(NoProofRule):
        open_kinds(WINDOW, shifts={1: "#if(#shift(#noise) > 0, 1, 0)"})


LAPLACE = "F(a : private real) : public real adjacent one; claim {claim}; z :=$ Laplace({scale}, 0); return a + z"


def test_the_cost_is_that_of_the_shift():
    fine = {"shifts": {1: "-#shift(a)"}}
    assert open_kinds(LAPLACE.format(claim="eps", scale="1/eps"), **fine) == set()
    assert open_kinds(LAPLACE.format(claim="eps", scale="1/(2*eps)"), **fine) == {"cost"}
    assert open_kinds(LAPLACE.format(claim="99/100*eps", scale="1/eps"), **fine) == {"cost"}
    assert open_kinds(LAPLACE.format(claim="eps", scale="1/eps"), shifts={1: "0"}) == {"output"}


def test_scales_are_positive_and_equal_in_both_runs():
    assert "scale" in open_kinds(
        "F(a : private [1,2]) : public real adjacent one; claim eps; z :=$ Laplace(a/eps, 0); return z"
    )
    text = """F(a : private real, n : public int) : public real adjacent one; claim eps;
    z :=$ Laplace(n/eps, 0); return a + z"""
    assert "safe" in open_kinds(text, shifts={1: "-#shift(a)"})


def test_a_noise_that_is_never_negative_stays_so():
    text = "F(a : private real) : public real adjacent one; claim 2*eps; z :=$ Exponential(1/eps); return a + z"
    assert open_kinds(text, shifts={1: "-#shift(a)"}) == {"support"}


def test_draws_stand_where_both_runs_are():
    text = """F(a : private real) : public real adjacent one; claim eps;
    z := 0; if (a > 0) { z :=$ Laplace(1/eps, 0) } return 0"""
    assert open_kinds(text) == {"path"}


def test_a_return_leaves_nothing_behind():
    text = "F(a : private real) : public int adjacent one; claim eps; if (a > 0) { return 1 } return 0"
    assert "path" in open_kinds(text)


def test_pointwise_proofs_are_about_outputs_that_can_be_listed():
    with pytest.raises(NoProofRule, match="whole"):
        open_kinds(LAPLACE.format(claim="eps", scale="1/eps"), pointwise=True)


def test_a_loop_must_end_or_be_paid_for():
    text = """F(a : private real) : public real adjacent one; claim eps;
    z :=$ Laplace(1/eps, 0); x := a + z;
    while (x < 0) { x :=$ Laplace(1/eps, 0) } return x"""
    shifts = {1: "-#shift(a)"}
    free = {"invariants": {1: ("#shift(x) = 0", "#spent2 = 0")}}
    assert open_kinds(text, shifts=shifts, **free) == set()
    assert open_kinds(text, shifts=shifts, invariants={1: ("#shift(x) = 0",)}) == {"cost"}
    assert open_kinds(text, shifts={**shifts, 2: "1"}, **free) != set()
    ranked = {**free, "ranks": {1: "0 - x"}}
    assert open_kinds(text, shifts=shifts, **ranked) == {"rank"}


def test_a_pure_loop_must_end_in_both_runs():
    text = """F(a : private [0,1]) : public int adjacent one; claim eps;
    i := 0; while (i < 1 - a) { i := i } return 0"""
    assert open_kinds(text) == {"path"}  # without a rank both go round together, and one of them does not go round
    assert open_kinds(text, ranks={1: "1 - i"}) == {"rank"}


def test_an_invariant_that_is_not_one_is_found_out():
    text = """F(d : private [0,1] list) : public real adjacent one; claim eps;
    i := 0; s := 0; while (i < size(d)) { s := s + d[i]; i := i + 1 }
    z :=$ Laplace(1/eps, 0); return s + z"""
    proof = {"shifts": {1: "-#shift(s)"}, "ranks": {1: "size(d) - i"}}
    good = ("#shift(i) = 0", "i >= 0", "i > #place || #shift(s) = 0", "#shift(s) <= 1", "#shift(s) >= -1")
    assert open_kinds(text, **proof, invariants={1: good}) == set()
    assert open_kinds(text, **proof, invariants={1: (*good, "#shift(s) = 0")}) == {"step"}
    assert open_kinds(text, **proof, invariants={1: (*good, "i >= 1")}) == {"entry"}
    assert open_kinds(text, **proof, invariants={1: good[:2]}) == {"cost"}


def test_one_element_changes_among_all_private_ones():
    text = """F(a : private real, b : private real) : public (real, real) adjacent {}; claim eps;
    u :=$ Laplace(1/eps, a); v :=$ Laplace(1/eps, b); return (u, v)"""
    assert open_kinds(text.format("one")) == set()
    assert open_kinds(text.format("all")) == {"cost"}
    assert open_kinds(text.format("2(one)")) == {"cost"}


def test_numbers_in_a_tuple_move_without_bound():
    """The language bounds how far a number changes; a tuple changes to any other."""
    text = """F(x : private (real, real)) : public real adjacent one; claim 2*eps;
    z :=$ Laplace(1/eps, 0); return x[0] + z"""
    assert open_kinds(text, shifts={1: "-#shift(x[0])"}) == {"cost"}
    ends = text.replace("(real, real)", "([0,1], [0,1])")
    assert open_kinds(ends, shifts={1: "-#shift(x[0])"}) == set()


def test_a_list_whose_elements_cannot_be_is_empty_and_nothing_follows():
    """With W < 0 only the empty list is admitted, and the scale is negative: that is not excused by a contradiction."""
    text = """F(d : private [0,W] list, W : public real) : public real requires W != 0; adjacent one; claim eps;
    i := 0; s := 0; while (i < size(d)) { s := s + d[i]; i := i + 1 }
    z :=$ Laplace(W/eps, 0); return s + z"""
    good = (
        "#shift(i) = 0",
        "i >= 0",
        "i > #place || #shift(s) = 0",
        "W < 0 || #shift(s) <= W",
        "W < 0 || #shift(s) >= -W",
    )
    kinds = open_kinds(text, shifts={1: "-#shift(s)"}, ranks={1: "size(d) - i"}, invariants={1: good})
    assert "safe" in kinds


def test_a_quotient_of_one_branch_is_not_taken_for_one_of_both():
    """Where i is 0 nothing was divided: clearing the divisor would make every inequality true."""
    text = """Part(a : private real, i : public int) : public real requires i >= 0; adjacent one; claim eps;
    if (i != 0) { m := a / i } else { m := 5*a } z :=$ Laplace(1/eps, 0); return m + z"""
    try:
        assert open_kinds(text, shifts={1: "-#shift(m)"})
    except NoProofRule:
        return  # also an answer


def test_a_contradiction_in_what_is_required_is_no_proof():
    text = LAPLACE.format(claim="eps", scale="1/(2*eps)").replace("adjacent", "requires eps < 1 && eps > 2; adjacent")
    assert not is_proved(read_program(text), (Proof("both", shifts={1: read_proof("-#shift(a)")}),))


def test_both_directions_are_asked_for():
    tree = read_program((PROGRAMS / "p_addrem.sfp").read_text())
    proofs = search(tree).proofs
    assert is_proved(tree, proofs)
    assert not is_proved(tree, proofs[:1])
    assert not is_proved(tree, (proofs[0], proofs[0]))


# ---- certificates


@pytest.fixture(scope="module")
def document():
    tree = read_program((PROGRAMS / "p_gap.sfp").read_text())
    return json.dumps(write(tree, search(tree).proofs))


def changed(document, change):
    made = json.loads(document)
    change(made)
    return faults_of(made)


def test_a_certificate_holds_as_it_is(document):
    assert changed(document, lambda made: None) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda made: made.update(hash="0" * 64),
        lambda made: made.update(program=made["program"].replace("4*N", "3*N")),
        lambda made: made["proofs"][0]["shifts"].update({"1": "2"}),
        lambda made: made["proofs"][0]["shifts"].update({"1": "-1"}),
        lambda made: made["proofs"][0]["shifts"].pop("2"),
        lambda made: made["proofs"][0]["invariants"]["1"].pop(),
        lambda made: made["proofs"][0]["invariants"]["1"].append("#spent2 <= n"),
        lambda made: made["proofs"][0]["invariants"]["1"].append("i = 0 ||"),
        lambda made: made["proofs"][0]["units"].update({"2": "eps"}),
        lambda made: made["proofs"][0]["ranks"].update({"1": "k"}),
        lambda made: made["proofs"][0].update(conditions=[]),
        lambda made: made["proofs"][0]["conditions"][3].update(smt2="(assert false)"),
        lambda made: made["proofs"][0].update(direction="up"),
        lambda made: made.update(proofs=[]),
        lambda made: made.update(format=2),
        lambda made: made.pop("program"),
        lambda made: made.update(program=7),
    ],
)
def test_a_changed_certificate_is_rejected(document, change):
    assert changed(document, change)


def test_a_program_with_its_hash_changed_too_is_still_rejected(document):
    from sfumato.verify.kernel.certificate import hash_of

    def change(made):
        made["program"] = made["program"].replace("4*N", "3*N")
        made["hash"] = hash_of(made["program"])

    assert changed(document, change)


def test_the_kernel_alone_is_loaded_to_check(document, tmp_path):
    import subprocess
    import sys

    path = tmp_path / "c.json"
    path.write_text(document)
    code = (
        "import json, sys; from sfumato.verify.kernel.certificate import faults_of;"
        f"assert faults_of(json.load(open({str(path)!r}))) == [];"
        "print(any('prover' in name or 'refuter' in name or name == 'numpy' for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False"
