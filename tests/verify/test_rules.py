"""Rules of the kernel: branches apart, waiting, cases, weights, known rounds, answers inside of lists."""

import pytest

from sfumato.verify.kernel.check import covers, is_proved
from sfumato.verify.kernel.proof import Proof
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.parse import read_program, read_proof
from tests.verify.test_kernel import open_kinds

HEAD = "F(q : private int list, T : public int) : public int list adjacent one; claim eps; "


# ---- branches that two runs pass on different ways

APART = [
    "if (q[i] >= 5) { r := r ++ [q[i] + z] } else { r := r ++ [-1] }",
    "if (q[i] >= 5) { r := r ++ [q[i] + z] } else { r := r ++ [0 - q[i] - z] }",
    "if (q[i] >= 5) { if (i > 2) { r := r ++ [q[i] + z] } else { r := r ++ [0] } } else { r := r ++ [1] }",
    "if (q[i] >= 5) { r := [1] ++ r } else { r := r ++ [1] }",
    "if (q[i] >= 5) { r := [q[i] + z] } else { r := [7] }",
]


@pytest.mark.parametrize("inner", APART)
def test_lists_of_two_branches_are_not_one_list(inner):
    """On each branch both runs would append the same, but they need not be on the same branch."""
    text = HEAD + "i := 0; r := []; while (i < size(q)) { z :=$ Geometric(exp(-eps)); " + inner
    text += " i := i + 1 } return r"
    kept = ("#same(r)", "#shift(i) = 0", "i >= 0", "#spent1 <= 1", "!(i <= #place) || #spent1 = 0")
    parts = {"shifts": {1: "-#shift(q[i])"}, "units": {1: "eps"}, "ranks": {1: "size(q) - i"}}
    assert open_kinds(text, **parts, invariants={1: kept}) == {"step"}


def test_a_list_that_neither_branch_changes_stays_the_same():
    text = HEAD + "r := [T]; c := 0; if (size(q) > 0 && q[0] > 5) { c := 1 } else { c := 2 } "
    text += "z :=$ Geometric(exp(-eps)); return r ++ [c + z]"
    assert open_kinds(text, shifts={1: "-#shift(c)"}, units={1: "eps"}) == set()


# ---- waiting

SUM = """F(d : private [0,1] list) : public real adjacent addremove; claim eps;
i := 0; s := 0; while (i < size(d)) { s := s + d[i]; i := i + 1 } z :=$ Laplace(%s/eps, 0); return s + z"""
MORE = {
    "direction": "more",
    "shifts": {1: "-#shift(s)"},
    "ranks": {1: "size(d) - i"},
    "invariants": {
        1: (
            "i >= 0",
            "!(#two(i) <= #place) || #shift(i) = 0",
            "!(#two(i) > #place) || #shift(i) = 1",
            "!(#two(i) <= #place) || #shift(s) = 0",
            "!(#two(i) > #place) || #shift(s) = #two(d[#place])",
        )
    },
}


def test_a_run_that_waits_reads_the_same_again():
    waits = {"waits": {1: "#two(i) = #place"}}
    assert open_kinds(SUM % 1, **MORE, **waits) == set()
    assert open_kinds(SUM % "0.99", **MORE, **waits) == {"cost"}
    assert "step" in open_kinds(SUM % 1, **MORE)


def test_nobody_waits_for_ever():
    text = "F(x : private {0..9}) : public int adjacent one; claim 0; i := 0; while (i < x) { i := i + 1 } return 0"
    free = {"ranks": {1: "x - i"}, "invariants": {1: ("i >= 0",)}}
    assert open_kinds(text, **free) == set()
    assert open_kinds(text, **free, waits={1: "i < x"}) == set()  # one run after the other
    assert open_kinds(text, **free, waits={1: "1 = 1"}) == {"rank"}


# ---- cases

SCALED = """F(q : private real list, N : public int) : public real list adjacent one; claim eps;
i := 0; r := []; while (i < N && i < size(q)) { z :=$ Laplace(N/(N*eps), 0); r := r ++ [q[i] + z]; i := i + 1 }
return r"""


def test_cases_are_all_there_is():
    program = read_program(SCALED)
    first, other = read_proof("N >= 1"), read_proof("N >= 2")
    yes, no = Proof("both", case=first), Proof("both", case=read_proof("!(N >= 1)"))
    assert covers(program, (Proof("both"),))
    assert covers(program, (yes, no))
    for proofs in ((yes,), (no,), (yes, yes), (no, yes), (Proof("both", case=other), no), (yes, no, no), ()):
        assert not covers(program, proofs)


def test_a_case_is_public():
    proof = Proof("both", shifts={1: read_proof("-#shift(a)")}, case=read_proof("a >= 1"))
    text = "F(a : private real) : public real adjacent one; claim eps; z :=$ Laplace(1/eps, 0); return a + z"
    with pytest.raises(NoProofRule, match="case"):
        open_kinds_of(text, proof)


def open_kinds_of(text, proof):
    from sfumato.verify.kernel.check import conditions_of, is_open

    product = conditions_of(read_program(text), proof)
    return {condition.kind for condition in product.conditions if is_open(product, condition)}


# ---- weights of any number

CHOICE = """F(u : private real list) : public int requires size(u) >= 1; adjacent all; claim %s;
w := []; i := 0; while (i < size(u)) { w := w ++ [exp(eps*u[i]/2)]; i := i + 1 } k :=$ Choice(w); return k"""
BUILT = {
    "units": {1: "eps"},
    "ranks": {1: "size(u) - i"},
    "invariants": {1: ("#shift(i) = 0", "#shift(size(w)) = 0", "i <= size(w)", "i >= 0")},
}


def test_a_choice_costs_how_far_weights_move():
    wide = {"weights": {"w": ("-1/2*eps", "1/2*eps")}}
    assert open_kinds(CHOICE % "eps", **BUILT, **wide) == set()
    assert open_kinds(CHOICE % "0.99*eps", **BUILT, **wide) == {"cost"}
    narrow = {"weights": {"w": ("-1/3*eps", "1/2*eps")}}
    assert open_kinds(CHOICE % "eps", **BUILT, **narrow) == {"cost"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("w := w ++ [exp(eps*u[i]/2)]", "w := [exp(eps*u[i]/2)] ++ w"),
        ("w := w ++ [exp(eps*u[i]/2)]", "if (u[i] > 0) { w := w ++ [exp(eps*u[i]/2)] }"),
        ("k :=$", "w := w ++ w; k :=$"),
    ],
)
def test_weights_stand_side_by_side(old, new):
    text = (CHOICE % "eps").replace(old, new)
    with pytest.raises(NoProofRule):
        open_kinds(text, **BUILT, weights={"w": ("-1/2*eps", "1/2*eps")})


# ---- loops with a known number of rounds

FIXED = """F(q : private real list) : public real list requires size(q) = 3; adjacent one; claim eps;
z := []; i := 0; while (i < %s) { e :=$ Laplace(1/eps, 0); z := z ++ [e]; i := i + 1 }
return [q[0] + z[0], q[1] + z[1], q[2] + z[%d]]"""


def test_a_loop_with_known_rounds_is_gone_through():
    proof = Proof("both", shifts={1: read_proof("-#shift(q[i])")}, unrolled=frozenset({1}))
    assert is_proved(read_program(FIXED % (3, 2)), (proof,))
    assert is_proved(read_program(FIXED % ("size(q)", 2)), (proof,))
    assert open_kinds_of(FIXED % (3, 1), proof) == {"output"}
    with pytest.raises(NoProofRule, match="rounds"):
        open_kinds_of((FIXED % ("size(q)", 2)).replace("size(q) = 3", "size(q) >= 3"), proof)


# ---- answers inside of lists

TWO = """F(a : private real, b : private real) : public real list adjacent all; claim %s;
x :=$ Laplace(2/eps, 0); y :=$ Laplace(2/eps, 0); k := 0; v := a; if (b + y > a + x) { k := 1; v := b }
z :=$ Laplace(1/eps, 0); return [k, v + %s]"""


def test_the_rest_of_a_list_is_the_same_too():
    shifts = {1: "#if(0 = #answer, 1 - #shift(a), 0)", 2: "#if(1 = #answer, 1 - #shift(b), 0)", 3: "-#shift(v)"}
    assert open_kinds(TWO % ("2*eps", "z"), pointwise=True, shifts=shifts) == set()
    assert open_kinds(TWO % ("1.9*eps", "z"), pointwise=True, shifts=shifts) == {"cost"}
    assert open_kinds(TWO % ("2*eps", "2*z"), pointwise=True, shifts=shifts) == {"output"}


def test_the_number_of_bits_is_theirs():
    text = """F(d : private {0,1}^3 list) : public real requires size(d) = 1; adjacent one; claim 7*eps;
    z :=$ Laplace(1/eps, 0); return int(d[0]) - 4*d[0][0] - %d*d[0][1] - d[0][2] + z"""
    assert open_kinds(text % 2, shifts={1: "0"}) == set()
    assert open_kinds(text % 1, shifts={1: "0"}) == {"output"}
