"""Programs and certificates that an attack on the verifier found: proved and false, refuted and private, or endless.
Every verdict here was derived by hand; see docs/decisions/042.
"""

import json

import pytest

from sfumato.errors import InputError
from sfumato.verify.checking import faults_of
from sfumato.verify.finite.decide import decide
from sfumato.verify.kernel import certificate
from sfumato.verify.kernel.check import conditions_of, first_open, is_proved
from sfumato.verify.kernel.pair import CouplingCase, CouplingProof
from sfumato.verify.kernel.proof import Proof
from sfumato.verify.kernel.scope import within
from sfumato.verify.kernel.secrecy import is_shown
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.parse import read_program, read_proof
from sfumato.verify.relational.documents import as_claim, claim_certificate
from sfumato.verify.relational.finding import find
from sfumato.verify.relational.inputs import ProgramInputs
from sfumato.verify.verdict import verify
from tests.verify.command import command
from tests.verify.kernel_programs import LAWS

# ---- rounds: the list says where to look, so one bit moves both looks

LOOKS = (
    "P(d : private {{0,1}} list) : public {{0,1}} list requires size(d) = 4; adjacent one; claim ln 3;"
    "i := 0; o := []; while (i < 2) {{ y :=$ Bernoulli(1/4 + d[{index}]/2); o := o ++ [y]; i := i + 1 }} return o"
)
READING = ["i + min(int(d), 2)", "min(int(d), 2) + i", "min(int(d), size(d) - 2) + i", "3 - (2 - min(int(d), 2)) - i"]


@pytest.mark.parametrize("index", READING)
def test_an_index_that_reads_the_list_is_not_taken_for_rounds(index):
    assert verify(read_program(LOOKS.format(index=index))).verdict != "PROVED"


@pytest.mark.parametrize("index", ["i", "1 + i", "size(d) - 1 - i", "i + size(d) - 2"])
def test_an_index_of_counter_and_size_is_taken_for_rounds(index):
    found = verify(read_program(LOOKS.format(index=index)))
    assert found.verdict == "PROVED"
    assert found.certificate["listing"]["of"] == "rounds"


# ---- enumeration: types that depend on eps or delta have other values for another eps or delta

TYPES = {
    "range": ("x : private {0..%s}", "x > 8"),
    "interval": ("x : private {0..1}, b : public {0..%s}", "b > 8 && x = 1"),
    "list": ("x : private {0..%s} list", "size(x) = 1 && x[0] > 8"),
    "tuple": ("x : private ({0..%s}, bool)", "x[0] > 8"),
}
ENDS = {"eps": "8*eps", "delta": "8 + 20*delta", "both": "8*eps + 8*delta"}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("kind", TYPES)
def test_types_that_depend_on_parameters_are_not_listed_for_one_of_them(kind, end):
    """With eps = 1 and delta = 0 nothing exceeds 8; with others something does, and is shown."""
    params, test = TYPES[kind]
    head = f"P({params % ENDS[end]}) : public bool property secrecy; "
    required = "requires size(x) <= 1; " if kind == "list" else ""
    text = f"{head}{required}if ({test}) {{ return true }} return false"
    assert verify(read_program(text)).verdict != "PROVED"


def test_an_output_type_that_depends_on_eps_is_not_listed_for_one_eps():
    text = "P(x : private bool) : public {0..3*eps} property uniform; y :=$ Uniform(0..3); return y"
    assert verify(read_program(text)).verdict != "PROVED"


# ---- late draws: moving a draw into a loop that never runs must not lose what its arguments have to be

ARGUMENTS = {
    "Laplace": "w*w, 0",
    "Gauss": "w*w, 0",
    "Exponential": "w*w",
    "Geometric": "w*w/(1 + w*w)",
    "TruncGeometric": "w*w/(1 + w*w), 0, 3",
    "Bernoulli": "1 - w",
    "Choice": "[w*w, w*w]",
    "Uniform": "0..k",
}
"""Arguments that are not allowed for some c, or for some k."""
FILLED = (
    "P(c : private real, k : public int, n : public int) : public real requires n >= 1; {more} adjacent one; claim 0;"
    "z := []; i := 0; while (i < n) {{ e :=$ {law}({args}); z := z ++ [e]; i := i + 1 }}"
    "j := 0; x := 0; while (j < n && j < 0) {{ x := z[j]; j := j + 1 }} return 0"
)
COUNTED = Proof(
    "both",
    invariants={2: tuple(map(read_proof, ("j >= 0", "#shift(j) = 0", "#spent1 = 0")))},
    ranks={1: read_proof("n - i"), 2: read_proof("n - j")},
)


def filled(law, args, more=""):
    return read_program(FILLED.format(law=law, args=args.replace("w", "(c*c*c - 3*c - 12345)"), more=more))


def test_every_law_is_moved():
    assert set(ARGUMENTS) == set(LAWS)


@pytest.mark.parametrize("law", LAWS)
def test_a_moved_draw_is_still_asked_for_its_arguments(law):
    """The program fails where c^3 - 3c = 12345 (or k < 0), and returns 0 elsewhere: a failure tells c."""
    condition = first_open(conditions_of(filled(law, ARGUMENTS[law]), COUNTED))
    assert condition is not None
    assert condition.label == f"{law} is given what it allows"


@pytest.mark.parametrize(
    ("law", "args"),
    [
        ("Laplace", "1/eps, 0"),
        ("Gauss", "k*k + 1, c"),
        ("Exponential", "2/eps"),
        ("Geometric", "1/2"),
        ("TruncGeometric", "1/2, 0, 3"),
        ("Bernoulli", "1/4"),
        ("Choice", "[0, k*k, 1]"),
        ("Uniform", "0..k*k"),
    ],
)
def test_a_moved_draw_with_allowed_arguments_is_covered(law, args):
    assert is_proved(filled(law, args), (COUNTED,))


# ---- kinds: a parameter that is assigned anew holds what it was assigned

SHADOWED = {
    "a list": ("d : public int list", "d := [1/2];"),
    "bits": ("d : public {0,1}^3", "d := [1/2];"),
    "a tuple": ("d : public (int, bool)", "d := (1/2, true);"),
}
LOOPS = {"a quiet loop": ("", 1), "a loop that draws": ("u :=$ Bernoulli(1/2);", 2)}


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("kind", SHADOWED)
def test_elements_of_an_assigned_parameter_are_not_taken_for_whole_numbers(kind, loop):
    """x is 1/2 after the loop, so c is returned as it is. As a whole number x would not lie between 0 and 1."""
    (param, assigned), (draw, last) = SHADOWED[kind], LOOPS[loop]
    tree = read_program(
        f"P(c : private real, {param}, n : public int) : public real requires n >= 1; adjacent one; claim eps;"
        f"{assigned} x := 0; i := 0; while (i < n) {{ {draw} x := d[0]; i := i + 1 }}"
        "if (x > 0 && x < 1) { return c } z :=$ Laplace(1/eps, 0); return c + z"
    )
    same = [read_proof("#shift(i) = 0"), read_proof("#shift(x) = 0"), *([read_proof("#spent1 = 0")] if draw else [])]
    proof = Proof(
        "both",
        shifts={last: read_proof("-#shift(c)")},
        invariants={1: tuple(same)},
        ranks={1: read_proof("n - i")},
    )
    assert not is_proved(tree, (proof,))
    assert verify(tree).verdict != "PROVED"


def test_a_truth_is_no_index():
    with pytest.raises(InputError, match="expected a number"):
        verify(
            read_program(
                "P(b : private bool) : public int adjacent one; claim 0;x := 0; if (b) { x := b } return [5, 5][x]"
            )
        )


# ---- certificates

SHORT = "P(d : private real list) : public bool property secrecy; if (size(d) > 1) { return true } return false"


def test_a_proof_for_short_lists_is_no_proof_of_a_property():
    """For lists of at most one element the claim holds; the wrapped certificate would say it of all lists."""
    claim = read_program(as_claim(SHORT))
    assert is_proved(within(claim, 1), (Proof("both"),))
    inner = certificate.write(claim, (Proof("both"),), 1)
    assert faults_of(inner) == []
    assert faults_of(claim_certificate(read_program(SHORT), inner)) != []


LEAKS = {
    "listed": "P(m : private {0,1}) : public {0,1} property secrecy; return m",
    "not listed": (
        "P(m : private real, b : public real) : public real property secrecy; if (m > 10000) { return m } return 0"
    ),
    "for large n": (
        "P(m : private bool, n : public int) : public bool property secrecy; requires n >= 0;"
        "if (n > 100) { return m } return false"
    ),
}
SCOPES = ["all", {}, {"n": 3}, {"n": 11.5}, {"size(m)": 1}, [], None, 7, "n", True]


@pytest.mark.parametrize("name", LEAKS)
def test_no_scope_makes_an_enumeration_of_a_leak_hold(name):
    """An empty scope was once taken for the scope of an enumeration that showed nothing."""
    source = LEAKS[name]
    for scope in ("all", {}):
        document = {
            "format": 1,
            "verdict": "PROVED",
            "kind": "enumeration",
            "property": "secrecy",
            "program": source,
            "hash": certificate.hash_of(source),
            "scope": scope,
        }
        assert faults_of(document) != []


CERTIFIED = {
    "coupling": "P(m : private {0..2}) : public {0..2} property uniform; k :=$ Uniform(0..2); return (m + k) mod 3",
    "witness": "P(x : private real) : public real adjacent one; claim eps; return x",
    "difference": LEAKS["listed"],
    "listing": "P(x : private {0..1}) : public {0..1} adjacent one; claim ln 3; y :=$ Bernoulli(1/4 + x/2); return y",
    "alignment": "P(x : private real) : public real adjacent one; claim eps; z :=$ Laplace(1/eps, 0); return x + z",
}


@pytest.mark.parametrize("kind", CERTIFIED)
def test_a_scope_that_a_certificate_does_not_have_is_refused(kind, tmp_path):
    """The command prints the scope: one of another type ended it with a traceback and exit code 1."""
    document = verify(read_program(CERTIFIED[kind])).certificate
    assert faults_of(document) == []
    path = tmp_path / "c.json"
    for scope in SCOPES[1:]:
        path.write_text(json.dumps({**document, "scope": scope}))
        code, out, err = command("verify", "--check", str(path))
        assert code in (1, 2)
        assert err.startswith("ERROR ")
        assert not out


def test_a_witness_brings_no_variables_along():
    """For n = 12345 the program reads x before it has a value; a witness must not supply one."""
    source = (
        "P(c : private bool, n : public int) : public int adjacent one; claim eps;if (n != 12345) { x := 0 } return x"
    )
    inputs = {"eps": "1", "delta": "0", "n": "12345"}
    document = {
        "format": 1,
        "verdict": "REFUTED",
        "program": source,
        "hash": certificate.hash_of(source),
        "witness": {
            "input": {**inputs, "c": False, "x": "1"},
            "neighbour": {**inputs, "c": True, "x": "2"},
            "event": {"words": "output = 1", "outputs": ["1"]},
            "chance": "1.00000000000",
            "neighbour_chance": "0",
            "loss": "infinite",
            "claim": "1.00000000000",
        },
    }
    assert faults_of(document) == ["these inputs and this event do not refute the claim"]


# ---- admission


def test_an_input_that_only_rounding_admits_refutes_nothing():
    """sqrt(2)^2 is 2, not more, so x is true: there is one private input, and secrecy holds. Floats say more."""
    text = (
        "P(x : private bool, n : public int) : public bool property secrecy;"
        "requires n = 2; requires sqrt(n)*sqrt(n) > n || x; return x"
    )
    tree = read_program(text)
    found, small = find(tree)
    assert not any(finding is not None and finding.verdict == "REFUTED" for finding in (found, small))
    assert verify(tree).verdict != "REFUTED"


@pytest.mark.parametrize("most", [10**5, 10**12])
def test_lists_that_may_be_very_long_are_not_listed_one_by_one(most):
    tree = read_program(
        f"P(d : private {{0,1}} list) : public bool property secrecy; requires size(d) <= {most}; return true"
    )
    found = ProgramInputs(tree).values(tree.params[0], {}, 1)
    assert not found.all
    assert len(found.items) <= ProgramInputs(tree).most


def test_a_moved_draw_of_bit_lists_is_not_covered():
    with pytest.raises(NoProofRule):
        conditions_of(filled("Uniform", "{0,1}^k"), COUNTED)


# ---- numbers that are too large to be written out: once without an end, or out of memory

POWER = "(((((x^8)^8)^8)^8)^8)^8"
LARGE = {
    "many terms": "P(x : private real, n : public int) : public real adjacent one; claim eps;"
    "y := ((x + n + eps + 1)^8)^8; z :=$ Laplace(1/eps, 0); return x + z",
    "a high power": "P(x : private real) : public real adjacent one; claim eps;"
    f"y := {POWER}; z :=$ Laplace(1/eps, 0); if (y > 3) {{ return x + z }} return x + z",
}


@pytest.mark.parametrize("name", LARGE)
def test_a_polynomial_that_is_too_large_is_not_covered(name):
    with pytest.raises(NoProofRule):
        conditions_of(read_program(LARGE[name]), Proof("both", shifts={1: read_proof("-#shift(x)")}))


def test_a_law_with_too_many_terms_is_not_listed():
    text = (
        "P(x : private {0..3}, p : public real, q : public real, r : public real) : public int adjacent one; claim 0;"
    )
    assert decide(read_program(text + "y := (((p + q + r + 1)^8)^8)^8; return 0")) is None


def test_a_product_of_very_many_factors_is_not_followed():
    tree = read_program(f"P(x : private int) : public bool property secrecy; y := {POWER}; return y > 3")
    assert not is_shown(tree, CouplingProof((), (CouplingCase(),)))


# ---- draws that are moved over loops that never end

_SPENT = (read_proof("#spent1 = 0"), read_proof("#spent2 = 0"))


@pytest.mark.parametrize("test", ["true", "n > 0"])
@pytest.mark.parametrize(
    "law", ["Laplace(abs(c - 12345), 0)", "Geometric(abs(c - 12345)/(1 + abs(c)^2))", "Bernoulli(c)"]
)
def test_a_draw_before_a_loop_without_end_is_asked_for_its_arguments(law, test):
    """The program fails for some c and goes on for ever for all others: a failure is seen."""
    text = f"""P(c : private real, n : public int) : public real
requires n > 0; adjacent one; claim eps;
  z :=$ {law};
  while ({test}) {{ u :=$ Bernoulli(1/2) }}
  return z
"""
    tree = read_program(text)
    proof = Proof("both", invariants={1: _SPENT})
    assert not is_proved(tree, (proof,))
    allowed = read_program(text.replace(law, "Bernoulli(1/3)"))
    assert is_proved(allowed, (proof,))
