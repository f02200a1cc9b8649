"""Claims about Rényi divergence: zcdp(rho) and renyi(alpha, e)."""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from time import process_time
from types import SimpleNamespace
from typing import Any

import pytest

from sfumato.errors import InputError
from sfumato.verify import program
from sfumato.verify.checking import faults_of
from sfumato.verify.explain import explained
from sfumato.verify.kernel import laws, renyi
from sfumato.verify.kernel.certificate import hash_of
from sfumato.verify.kernel.check import is_proved
from sfumato.verify.kernel.polynomial import number
from sfumato.verify.kernel.proof import Proof
from sfumato.verify.parse import read_program, read_proof
from sfumato.verify.prover.trial import divergence as looked
from tests.verify.renyi_fuzz import ORDERS, Part, contradictions, divergence

ONE = "R(c : private {kind}, a : public real) : public {kind}\nrequires {given};  adjacent one;  claim {claim};\n"
ONE += "  z :=$ {law};\n  return c + z"
CURVE = "ln((a*exp((a-1)*eps) + (a-1)*exp(-a*eps))/(2*a-1))/(a-1)"
STEP = "ln((exp((a-1)*eps) + exp(-a*eps))/(1 + exp(-eps)))/(a-1)"


def one(law: str, claim: str, given: str = "a > 1", kind: str = "real") -> str:
    """A program that shows one noisy number."""
    return ONE.format(law=law, claim=claim, given=given, kind=kind)


HOLD = [
    one("Gauss(1/eps, 0)", "zcdp(eps^2/2)"),
    one("Gauss(1/eps, 0)", "renyi(a, a*eps^2/2)"),
    one("Laplace(1/eps, 0)", "zcdp(eps^2/2)"),
    one("Laplace(1/eps, 0)", "zcdp(eps - 1 + exp(-eps))"),
    one("Laplace(1/eps, 0)", f"renyi(a, {CURVE})"),
    one("Laplace(1/eps, 0)", "renyi(2, 0.6192)", "eps = 1"),
    one("Geometric(exp(-eps))", "zcdp(eps*(exp(eps) - 1)/(exp(eps) + 1))", kind="int"),
    one("Geometric(exp(-eps))", f"renyi(a, {STEP})", kind="int"),
    (
        "Two(c : private real) : public real list adjacent one; claim zcdp(eps^2/2 + eps - 1 + exp(-eps));"
        " x :=$ Gauss(1/eps, 0); y :=$ Laplace(1/eps, 0); return [c + x, c + y]"
    ),
    (
        "Many(d : private real list, n : public int) : public real list requires size(d) = n && n >= 1; adjacent all;"
        " claim zcdp(n*eps^2/2); i := 0; r := [];"
        " while (i < size(d)) { z :=$ Gauss(1/eps, 0); r := r ++ [d[i] + z]; i := i + 1 } return r"
    ),
    (
        "Sum(d : private [0,1] list) : public real adjacent addremove; claim zcdp(eps^2/2); i := 0; s := 0;"
        " while (i < size(d)) { s := s + d[i]; i := i + 1 } z :=$ Gauss(1/eps, 0); return s + z"
    ),
]
BREAK = [
    one("Gauss(1/eps, 0)", "zcdp(0.495*eps^2)"),
    one("Gauss(1/eps, 0)", "renyi(2, 0.99*eps^2)"),
    one("Laplace(1/eps, 0)", "zcdp(0.366)", "eps = 1"),
    one("Laplace(1/eps, 0)", "renyi(2, 0.618)", "eps = 1"),
    one("Geometric(exp(-eps))", "zcdp(0.46)", "eps = 1", kind="int"),
    (
        "Two(c : private real) : public real list adjacent one; claim zcdp(0.99*eps^2);"
        " x :=$ Gauss(1/eps, 0); y :=$ Gauss(1/eps, 0); return [c + x, c + y]"
    ),
    one("Exponential(1/eps)", "zcdp(5)"),
    "None(c : private real) : public real adjacent one; claim zcdp(5); return c",
    "Often(c : private real) : public bool adjacent one; claim zcdp(eps^2/8); z :=$ Gauss(1/eps, 0); return c + z > 3",
]
PURE = [
    (
        "Coin(b : private {0..1}) : public {0..1} adjacent one; claim zcdp(eps*(exp(eps) - 1)/(exp(eps) + 1));"
        " x :=$ Bernoulli(exp(eps)/(1 + exp(eps))); if (x = 1) { return b } else { return 1 - b }"
    ),
    (
        "Coin(b : private {0..1}) : public {0..1} adjacent one; claim renyi(3, 3*eps^2/2);"
        " x :=$ Bernoulli(exp(eps)/(1 + exp(eps))); if (x = 1) { return b } else { return 1 - b }"
    ),
    (
        "Best(q : private real list) : public int requires size(q) >= 1; adjacent all; claim zcdp(eps^2/2);"
        " i := 0; best := 0; at := 0; while (i < size(q)) { e :=$ Laplace(2/eps, 0); v := q[i] + e;"
        " if (i = 0 || v > best) { best := v; at := i } i := i + 1 } return at"
    ),
]


def written(source: str) -> tuple[str, Any]:
    """A verdict, and its certificate as a file holds it."""
    found = program(source).verify()
    return found.verdict, json.loads(json.dumps(found.certificate))


@pytest.mark.parametrize("source", HOLD)
def test_renyi_claims_are_proved_down_to_the_curve(source: str) -> None:
    verdict, document = written(source)
    assert verdict == "PROVED"
    assert faults_of(document) == []


@pytest.mark.parametrize("source", BREAK)
def test_renyi_claims_below_the_curve_are_refuted(source: str) -> None:
    verdict, document = written(source)
    assert verdict == "REFUTED"
    assert faults_of(document) == []


@pytest.mark.parametrize("source", PURE)
def test_a_pure_claim_proves_renyi_claims(source: str) -> None:
    verdict, document = written(source)
    assert (verdict, document["kind"]) == ("PROVED", "pure")
    assert faults_of(document) == []


def test_what_is_proved_of_renyi_is_true() -> None:
    accepted, false = contradictions(1, 250)
    assert accepted >= 40
    assert false == []


def _less(product: Any, *rest: Any) -> Any:
    return TRUE_CURVE(product, *rest) * number(Fraction(19, 20))


TRUE_CURVE = renyi._curve
FAULTS = {
    "squares count a third": (renyi, "HALF", number(Fraction(1, 3))),
    "a curve is too low": (renyi, "_curve", _less),
    "a unit is not held": (laws, "meets_unit", lambda *_: None),
    "curves cost nothing": (renyi, "named_curve", lambda *_: number(0)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_in_the_rule_are_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, name, other = FAULTS[fault]
    monkeypatch.setattr(where, name, other)
    assert any(contradictions(seed, 150)[1] for seed in range(2, 8))


def test_curves_agree_with_integration() -> None:
    for law, by in (("Gauss", "2"), ("Laplace", "3/2"), ("Geometric", "1/2")):
        part = Part(law, Fraction(1), Fraction(by))
        moved = float(part.by) if law == "Geometric" else 1 / float(part.by)
        for order in ORDERS:
            assert divergence(part, order) == pytest.approx(looked(law, moved, float(order)), rel=1e-9)
        least = max(divergence(part, order) / float(order) for order in ORDERS)
        assert least <= looked(law, moved) <= least * 1.002


GEOMETRIC = one("Geometric(exp(-1))", "zcdp(0.925)", kind="int")
SHIFT = read_proof("-#shift(c)")


@pytest.mark.parametrize(
    ("source", "proof"),
    [
        (one("Laplace(1, 0)", "zcdp(0.4)"), {"shifts": {1: read_proof("#if(#noise > 0, -#shift(c), -#shift(c))")}}),
        (one("Laplace(1, 0)", "zcdp(0.4)"), {"units": {1: read_proof("1/2")}, "curved": frozenset({1})}),
        (one("Gauss(1, 0)", "zcdp(0.4)"), {"units": {1: read_proof("1")}, "curved": frozenset({1})}),
        (one("Laplace(1, 0)", "1"), {"units": {1: read_proof("1")}, "curved": frozenset({1})}),
        (one("Gauss(1, 0)", "(1, 0.2)"), {"curved": frozenset({1})}),
        (one("Gauss(1, 0)", "zcdp(9)"), {"gauss": (read_proof("0"), read_proof("1"))}),
        (one("Gauss(1, 0)", "renyi(a, 9*a)", "a >= 1"), {}),
        (one("Gauss(1, 0)", "zcdp(9)"), {"pointwise": True}),
        (one("Exponential(1)", "zcdp(9)"), {}),
        (
            GEOMETRIC.replace("c + z", "2*c + z"),
            {"shifts": {1: read_proof("-2*#shift(c)")}, "units": {1: read_proof("1")}, "curved": frozenset({1})},
        ),
        (one("Gauss(1, 0)", "zcdp(9)").replace("adjacent one", "adjacent 2(one)"), {}),
        (
            (
                "E(c : private real) : public real adjacent one; claim zcdp(9); z :=$ Gauss(1, 0);"
                " while (true) { skip } return c + z"
            ),
            {},
        ),
    ],
)
def test_what_the_rule_does_not_cover_is_refused(source: str, proof: dict[str, Any]) -> None:
    assert not is_proved(read_program(source), (Proof("both", **({"shifts": {1: SHIFT}} | proof)),))


def test_a_forged_pure_claim_is_refused() -> None:
    _, document = written(PURE[0])
    forged = []
    for entry, value in (
        ("pure", "eps / 2"),
        ("pure", "2 * eps"),
        ("conditions", []),
        ("scope", {"size": 2}),
        ("program", document["program"].replace("zcdp(eps", "zcdp(0.9*eps")),
    ):
        other = copy.deepcopy(document)
        other[entry] = value
        forged.append(other)
    inner = copy.deepcopy(document)
    inner["claim"] = written(PURE[0].replace("zcdp(eps*(exp(eps) - 1)/(exp(eps) + 1))", "2*eps"))[1]
    nested = copy.deepcopy(document)
    nested["claim"] = document
    more = {**document, "note": "true"}
    for other in (*forged, inner, nested, more):
        other["hash"] = hash_of(other["program"])
        assert faults_of(other)


def test_a_changed_renyi_witness_is_rejected() -> None:
    _, document = written(one("Laplace(1/eps, 0)", "renyi(2, 0.6)", "eps = 1"))
    witness = document["witness"]
    cuts = witness["cells"][0]["cuts"]
    for path, value in (
        (("order",), "3"),
        (("order",), "1/2"),
        (("divergence",), "9"),
        (("neighbour", "c"), "7"),
        (("neighbour", "eps"), "2"),
        (("cells",), []),
        (("cells",), witness["cells"] * 2),
        (("cells", 0, "cuts", 0, "bounds"), [*cuts[0]["bounds"], cuts[0]["bounds"][0]]),
        (("cells", 0, "cuts", 0, "bounds"), cuts[0]["bounds"][:1]),
        (("cells", 0, "note"), "x"),
    ):
        other = copy.deepcopy(document)
        place: Any = other["witness"]
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
        assert faults_of(other)


def test_a_witness_with_too_many_sets_of_outputs_is_refused() -> None:
    """A thousand bounds of each of two outputs are a million sets in a short document."""
    source = "R(c : private real) : public (real, real) adjacent one; claim zcdp(1/3);"
    _, document = written(source + " x :=$ Gauss(1, 0); y :=$ Gauss(1, 0); return (c + x, c + y)")
    bounds = [str(bound) for bound in range(-500, 500)]
    document["witness"]["cells"][0]["cuts"] = [{"factors": {place: "1"}, "bounds": bounds} for place in "01"]
    begun = process_time()
    assert faults_of(document) == ["there are more sets of outputs than a check goes through"]
    assert process_time() - begun < 10


def test_a_table_says_how_noise_is_charged() -> None:
    source = one("Laplace(1/eps, 0)", "zcdp({})").format
    for claim, words in (("eps^2/2", ")^2, a square"), ("eps - 1 + exp(-eps)", ", charged by its curve")):
        code = program(source(claim))
        assert any(line.endswith(words) for line in explained(code.tree, code.verify()))


def test_sets_of_outputs_that_overlap_are_refused() -> None:
    source = "Coin(b : private {0..1}) : public {0..1} adjacent one; claim zcdp(0.1);"
    _, document = written(source + " x :=$ Bernoulli(3/4); if (x = 1) { return b } else { return 1 - b }")
    document["witness"]["cells"] = [*document["witness"]["cells"], document["witness"]["cells"][0]]
    assert faults_of(document)


@pytest.mark.parametrize(
    "claim", ["zcdp()", "zcdp(1, 2)", "renyi(2)", "renyi(0.5, 1)", "renyi(1, 1)", "zcdp(c)", "zcdp(true)"]
)
def test_claims_that_say_nothing_are_errors(claim: str) -> None:
    with pytest.raises(InputError):
        read_program(one("Gauss(1, 0)", claim))


def test_a_claim_is_no_property() -> None:
    """A certificate of a coupling is about a property: a claim below 0 has none."""
    text = "K(c : private int) : public int {}; x :=$ Uniform(0..1); return x"
    _, document = written(text.format("property secrecy"))
    assert document["kind"] == "coupling"
    claimed = text.format("adjacent any; claim -1")
    forged = {**document, "program": claimed, "property": None}
    forged["hash"] = hash_of(claimed)
    assert faults_of(forged)


def test_no_release_is_charged_by_a_renyi_claim() -> None:
    from sfumato.gateway import programs

    source = (
        "R(c : private int) : public int adjacent one; claim zcdp(eps^2/2); z :=$ Geometric(exp(-eps)); return c + z"
    )
    _, document = written(source)
    with pytest.raises(InputError):
        programs.order(document, "t.c", 1, {}, policy=SimpleNamespace(), engine=SimpleNamespace())  # type: ignore[arg-type]
