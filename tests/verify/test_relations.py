"""Secrecy, noninterference, uniformity: verdicts that follow by hand, and what the kernel must refuse."""

import copy
import json
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from sfumato.errors import InputError
from sfumato.verify import program
from sfumato.verify.checking import faults_of
from sfumato.verify.explain import explained, summary
from sfumato.verify.kernel import forms
from sfumato.verify.kernel.pair import CouplingCase, CouplingProof, side_by_side
from sfumato.verify.kernel.second import second_solver
from sfumato.verify.kernel.secrecy import first_open, is_shown, pairs_of, write
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.parse import read_program, read_proof
from sfumato.verify.relational.exact import Laws
from sfumato.verify.relational.finding import find
from sfumato.verify.relational.lowbits import length_of, resized, shortened
from sfumato.verify.relational.table import joint_law, small_joint
from tests.verify.properties import ERRORS, PROVED, REFUTED, K, plain, words

HALF = Fraction(1, 2)


def again(document):
    return json.loads(json.dumps(document))


# ---- verdicts


LIKE_OTHERS = {
    "pad, any length", "other difference", "a literal besides", "padded by two groups", "the other two",
    "a coin by sums", "residues from 1", "a list of sums", "keys in a loop, nothing shown", "two pads of one message",
    "the sum first", "uniform sum of two", "a loop over public things", "the second share", "a coin and a turn",
}  # fmt: skip


def each(names):
    return [pytest.param(name, marks=[pytest.mark.slow] if name in LIKE_OTHERS else []) for name in names]


@pytest.mark.parametrize("name", each(PROVED))
def test_properties_are_decided_as_derived_by_hand(name):
    verdict = program(PROVED[name]).verify()
    assert (verdict.verdict, verdict.scope, verdict.exit_code) == ("PROVED", "all", 0)
    assert faults_of(again(verdict.certificate)) == []


@pytest.mark.parametrize("name", REFUTED)
def test_broken_properties_are_refuted_with_exact_chances(name):
    text, chances = REFUTED[name]
    verdict = program(text).verify()
    assert (verdict.verdict, verdict.exit_code) == ("REFUTED", 1)
    witness = verdict.to_dict()["witness"]
    assert {witness["chance"], witness["neighbour_chance"]} <= chances
    assert witness["chance"] != witness["neighbour_chance"]
    assert faults_of(again(verdict.certificate)) == []


@pytest.mark.parametrize("name", ERRORS)
def test_programs_that_fail_have_no_property(name):
    with pytest.raises(InputError, match=r"line \d+ column \d+|no input satisfies"):
        program(ERRORS[name]).verify()


@pytest.mark.parametrize("name", ["pad, key first", "residues of any p"])
def test_a_second_solver_agrees_about_couplings(name):
    assert faults_of(again(program(PROVED[name]).verify().certificate), second_solver()) == []


ODD = words(f"{K} x := int(k); y := int(m); if (x + y >= 0) {{ c := m xor k }} else {{ c := m }} return c")


def test_what_is_only_known_for_small_sizes_is_said_to_be():
    verdict = program(ODD).verify()
    assert (verdict.verdict, verdict.exit_code) == ("PROVED", 6)
    assert verdict.scope.keys() == {"n"}
    said = summary(verdict_program := program(ODD).tree, verdict)
    assert said[0].startswith(f"PROVED for n <= {verdict.scope['n']} only")
    assert verdict_program.property == "secrecy"
    assert faults_of(again(verdict.certificate)) == []
    wider = again(verdict.certificate)
    wider["scope"] = "all"
    assert faults_of(wider) == ["the distributions are not equal on all these inputs"]


def test_a_refutation_beyond_finite_laws_is_that_of_a_claim():
    text = plain("a : private real", "real", "z :=$ Laplace(1, 0); return a + z")
    verdict = program(text).verify()
    assert (verdict.verdict, verdict.claim) == ("REFUTED", "secrecy")
    assert faults_of(again(verdict.certificate)) == []
    other = again(verdict.certificate)
    other["program"] = other["program"].replace("a + z", "z + a")
    assert faults_of(other) == ["the claim is not that of the program"]


@pytest.mark.slow
def test_neither_proved_nor_refuted_is_unknown():
    text = plain("s : private int", "int", "x := s * s * s - s; return x mod 6", "noninterference")
    verdict = program(text).verify()  # it is 0 for every s, by a divisibility that nobody here looks for
    assert verdict.verdict in ("PROVED", "UNKNOWN")
    assert verdict.verdict == "PROVED" or verdict.certificate is None


TOLD = "if ({}) {{ return 1 }} return 0"
NOT_LISTED = {
    "a list inside": plain("d : private {0,1} list list", "int", TOLD.format("size(d[0]) = 5"), requires="size(d) = 1"),
    "a list in a tuple": plain("d : private ({0,1} list, bool)", "int", TOLD.format("size(d[0]) = 5")),
    "an epsilon": plain("s : private {0,1}", "int", TOLD.format("eps = 7/5 && s = 1")),
    "a public number": plain("s : private {0,1}, x : public int", "int", TOLD.format("x * x = 961 && s = 1")),
    "a real secret": plain("s : private [0,2]", "int", TOLD.format("s * s = 2")),
    "a long list": plain("d : private {0,1} list", "int", TOLD.format("size(d) * size(d) = 400")),
    "a requirement with rounding": plain("s : private {0..9}", "int", "return s", requires="exp(s) >= exp(9)"),
}


@pytest.mark.parametrize("name", NOT_LISTED)
def test_what_is_not_listed_is_not_proved(name):
    """Each leaks, or is known to be secret only by more than the listed inputs."""
    found, small = find(read_program(NOT_LISTED[name]))
    assert found is None or found.verdict == "REFUTED"
    assert small is None or small.scope != "all"


# ---- the kernel


def open_kinds(text, *, back=None, there="#noise", **case):
    """The kinds of the conditions that are not proved."""
    maps = {(1, 1): (read_proof(there), read_proof(back or there))}
    (pair,) = pairs_of(read_program(text), CouplingProof((), (CouplingCase(maps, **case),)))
    return {
        condition.kind
        for condition in pair.conditions
        if pair.world.follows(condition.assumed, condition.goal) is False
    }


PAD = words(f"{K} return m xor k")
ADD = words(f"{K} return m + k")


def test_the_pad_needs_its_coupling():
    assert open_kinds(PAD, there="#noise xor m xor #two(m)") == set()
    assert open_kinds(PAD) == {"output"}
    assert open_kinds(ADD, there="#noise + m - #two(m)", back="#noise - m + #two(m)") == set()
    assert open_kinds(ADD, there="#noise + m - #two(m)") == {"inverse"}
    assert "output" in open_kinds(ADD, there="#noise xor m xor #two(m)")


def test_a_map_that_is_no_bijection_proves_no_secrecy():
    """k and m of two runs: mapping every key to 0 makes outputs equal where m is 0, and is no bijection."""
    masked = words(f"{K} return m and k")
    assert "inverse" in open_kinds(masked, there="#noise and m")
    assert open_kinds(words(f"{K} return m"), there="#noise and m") == {"inverse", "output"}
    text = plain("m : private {0..6}", "int", "k :=$ Uniform(0..6); return m + k")
    assert open_kinds(text, there="#noise + m - #two(m)", back="#noise + #two(m) - m") == {"support"}
    assert "inverse" in open_kinds(text, there="0")


def test_a_map_is_undone_by_its_inverse_and_undoes_it():
    few = plain("m : private bool", "{0..5}", "k :=$ Uniform(0..3); return k", "uniform")
    assert open_kinds(few, there="#noise", back="min(#noise, 3)") == {"inverse"}
    many = plain("m : private bool", "{0..3}", "k :=$ Uniform(0..5); return min(k, 3)", "uniform")
    assert open_kinds(many, there="min(#noise, 3)", back="#noise") == {"inverse"}


def test_bits_are_told_apart_and_lengths_compared():
    parity = words("return m[0] xor m[1]", out="{0,1}", requires="n >= 2")
    assert not is_shown(read_program(parity), CouplingProof((), (CouplingCase(),)))
    short = plain("m : private {0,1}^2", "{0,1}^3", "k :=$ Uniform({0,1}^3); return m xor k")
    assert "safe" in open_kinds(short, there="#noise xor m xor #two(m)")


def test_masses_are_equal():
    coin = plain("m : private {0,1}", "{0,1}", "b :=$ Bernoulli(1/3); return m xor b")
    assert open_kinds(coin, there="#noise xor m xor #two(m)") == {"mass"}
    fair = coin.replace("1/3", "1/2")
    assert open_kinds(fair, there="#noise xor m xor #two(m)") == set()
    noise = plain("a : private real", "real", "z :=$ Laplace(1, 0); return a + z")
    assert open_kinds(noise, there="#noise + a - #two(a)", back="#noise - a + #two(a)") == {"mass"}
    weights = plain("s : private {1..2}", "int", "k :=$ Choice([1, s]); return k")
    assert open_kinds(weights) == {"mass"}


def test_supports_of_both_runs_are_as_large():
    text = plain("s : private {0..3}", "int", "k :=$ Uniform(0..s); return 0")
    assert "support" in open_kinds(text)
    assert open_kinds(plain("s : private int", "int", "k :=$ Uniform(s..s+9); return k - s"),
                      there="#noise - s + #two(s)", back="#noise + s - #two(s)") == set()  # fmt: skip


def test_a_map_sees_only_what_was_before():
    text = words("k :=$ Uniform({0,1}^n); j :=$ Uniform({0,1}^n); return m xor k xor j")
    with pytest.raises(NoProofRule):
        open_kinds(text, there="#noise xor j")
    with pytest.raises(NoProofRule):
        open_kinds(text, there="#noise xor #draw2")
    with pytest.raises(NoProofRule):
        open_kinds(text, there="#noise xor #two(#noise)")


def test_runs_that_stop_at_different_places_prove_nothing():
    text = plain(
        "s : private bool", "int", "if (s) { return 0 } k :=$ Bernoulli(1/2); while (k = 1) { k := 1 } return 0"
    )
    case = CouplingCase({}, frozenset(), {1: (read_proof("#same(k)"),)})
    (pair,) = pairs_of(read_program(text), CouplingProof((), (case,)))
    assert first_open(pair).kind == "path"


def test_a_list_whose_elements_cannot_be_proves_nothing_of_other_inputs():
    """With W = 0 there is no element from 1 to W: that says nothing about lists that are empty."""
    body = "if (size(d) > 0) { x := d[0] } if (W >= 1) { return 0 } return s"
    text = plain("d : private {1..W} list, s : private int, W : public int", "int", body, "noninterference")
    (pair,) = pairs_of(read_program(text), CouplingProof((), (CouplingCase(),)))
    assert first_open(pair).kind == "output"


@pytest.mark.parametrize("body", ["if (x >= 0) { k :=$ Uniform(0..x); return 0 } return s",
                                  "if (x < 0) { return s } k :=$ Uniform(0..x); return 0"])  # fmt: skip
def test_a_support_on_one_way_says_nothing_of_others(body):
    """Where x is negative nothing is drawn, and the secret is shown."""
    text = plain("s : private int, x : public int", "int", body, "noninterference")
    assert not is_shown(read_program(text), CouplingProof((), (CouplingCase(),)))


def test_remainders_by_another_modulus_stay():
    text = plain("m : private {0..2}", "int", "k :=$ Uniform(0..2); return ((k mod 2) + m) mod 3")
    there, back = "(#noise + m - #two(m)) mod 3", "(#noise - m + #two(m)) mod 3"
    assert open_kinds(text, there=there, back=back) == {"output"}
    assert open_kinds(text.replace("k mod 2", "k mod 3"), there=there, back=back) == set()
    parity = plain("m : private int", "int", "return ((m mod 2) + 2 * m) mod 3", "noninterference")  # 0, 0, 1, …
    assert not is_shown(read_program(parity), CouplingProof((), (CouplingCase(),)))


def test_invariants_are_entered_and_kept():
    text = PROVED["a list of pads"]
    maps = {(1, 1): (read_proof("#noise xor d[i] xor #two(d[i])"),) * 2}
    good = ("#same(i)", "#same(r)", "i >= 0", "i <= N")

    def kinds(*said):
        case = CouplingCase(maps, frozenset(), {1: tuple(read_proof(one) for one in said)})
        (pair,) = pairs_of(read_program(text), CouplingProof((), (case,)))
        return {c.kind for c in pair.conditions if not pair.world.follows(c.assumed, c.goal)}

    assert kinds(*good) == set()
    assert kinds(*good, "i >= 1") == {"entry"}
    assert kinds(*good, "i <= 0") == {"step"}
    assert "output" in kinds("#same(i)", "i >= 0", "i <= N")
    assert "safe" in kinds("#same(i)", "#same(r)")
    assert "path" in kinds("#same(r)", "i >= 0", "i <= N")


def test_only_independent_draws_change_places():
    def turned(body):
        draws = side_by_side(read_program(plain("m : private bool", "int", body)).body)
        return "".join(draw.name for draw in draws)

    assert turned("x := 1; k :=$ Uniform(0..x); j :=$ Uniform(0..x); y := 2; i :=$ Uniform(0..1); return k") == "kj"
    assert turned("k :=$ Uniform(0..3); j :=$ Uniform(0..k); return j") == "k"
    assert turned("j := 3; k :=$ Uniform(0..j); j :=$ Uniform(0..1); return j") == "k"
    assert turned("k :=$ Uniform(0..3); k :=$ Uniform(0..2); return k") == "k"
    tree = read_program(PROVED["uniform pair, the later draw first"])
    coupling = program(tree.source).verify().finding.coupling
    assert coupling.cases[0].turned == (1, 0)
    assert not is_shown(tree, CouplingProof((), (replace(coupling.cases[0], turned=()),)))
    assert not is_shown(tree, CouplingProof((), (replace(coupling.cases[0], turned=(1, 1)),)))


def test_every_case_of_a_coupling_is_needed():
    tree = read_program(PROVED["a branch after the draw"])
    verdict = program(PROVED["a branch after the draw"]).verify()
    coupling = verdict.finding.coupling
    assert len(coupling.cases) == 4
    assert is_shown(tree, coupling)
    for number in range(4):
        cases = list(coupling.cases)
        cases[number] = cases[(number + 1) % 4]
        assert not is_shown(tree, CouplingProof(coupling.tests, tuple(cases)))
    assert not is_shown(tree, CouplingProof(coupling.tests[:1], coupling.cases[:2]))
    assert not is_shown(tree, CouplingProof(coupling.tests, coupling.cases[:3]))


# ---- certificates


def changes(document):
    """The certificate with one thing changed."""
    for key, value in (
        ("hash", "0" * 64),
        ("program", document["program"].replace("xor", "and")),
        ("property", "uniform"),
        ("verdict", "REFUTED"),
        ("format", 99),
        ("cases", []),
    ):
        yield key, {**copy.deepcopy(document), key: value}
    for key, value in (("map", "#noise"), ("inverse", "#noise xor m"), ("draws", [1, 2]), ("map", "#noise xor m")):
        changed = copy.deepcopy(document)
        changed["cases"][0]["couplings"][0][key] = value
        yield key, changed
    changed = copy.deepcopy(document)
    changed["cases"][0]["conditions"] = changed["cases"][0]["conditions"][1:]
    yield "conditions", changed
    changed = copy.deepcopy(document)
    changed["cases"][0]["conditions"][0]["smt2"] = "(check-sat)"
    yield "smt2", changed


def test_a_changed_coupling_is_rejected():
    document = again(program(PAD).verify().certificate)
    assert faults_of(document) == []
    for key, changed in changes(document):
        assert faults_of(changed), key
    renewed = copy.deepcopy(document)  # a false coupling with the conditions that belong to it
    renewed["program"] = document["program"].replace("xor", "and")
    from sfumato.verify.kernel.certificate import hash_of

    renewed["hash"] = hash_of(renewed["program"])
    tree = read_program(renewed["program"])
    maps = (read_proof("#noise xor m xor #two(m)"),) * 2
    assert any(
        fault.startswith("not proved")
        for fault in faults_of(write(tree, CouplingProof((), (CouplingCase({(1, 1): maps}),))))
    )


def test_a_changed_difference_is_rejected():
    document = again(program(REFUTED["and"][0]).verify().certificate)
    assert faults_of(document) == []
    for path, value in (
        (("chance",), "1/2"),
        (("neighbour_chance",), "1"),
        (("input", "m"), ["1"]),
        (("input", "n"), "2"),
        (("input", "m"), ["0", "0"]),
        (("input", "m"), ["2"]),
        (("neighbour", "n"), "2"),
        (("event", "output"), ["1"]),
        (("bits",), 1),
        (("bits",), 2),
    ):
        changed = copy.deepcopy(document)
        place = changed["witness"]
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        if path != ("bits",) or value == 2:  # the last bit of one bit is that bit
            assert faults_of(changed), path
    assert faults_of({**document, "hash": "0" * 64})
    assert faults_of({**document, "program": document["program"].replace("and", "xor")})
    assert faults_of({"kind": "difference"})
    assert faults_of({"kind": "coupling", "format": 1})
    assert faults_of({"kind": "claim"})


def test_inputs_with_other_public_parts_are_no_witness():
    document = again(program(REFUTED["a secret added"][0]).verify().certificate)
    document["witness"] |= {
        "input": {"eps": "1", "delta": "0", "s": "0", "x": "0"},
        "neighbour": {"eps": "1", "delta": "0", "s": "0", "x": "1"},
        "event": {"output": "0"},
        "neighbour_event": {"output": "0"},
        "chance": "1",
        "neighbour_chance": "0",
    }
    assert faults_of(document) == ["these probabilities do not differ"]


def test_what_a_requirement_excludes_is_no_witness():
    document = again(program(REFUTED["and"][0]).verify().certificate)
    from sfumato.verify.kernel.certificate import hash_of

    document["program"] = document["program"].replace("n >= 1", "n >= 2")
    document["hash"] = hash_of(document["program"])
    assert faults_of(document) == ["these probabilities do not differ"]


# ---- pieces


def value_of(node, env, bits):
    match node:
        case str():
            return env[node]
        case (op, left, right):
            a, b = value_of(left, env, bits), value_of(right, env, bits)
            found = {"xor": a ^ b, "and": a & b, "or": a | b, "+": a + b, "-": a - b}[op]
            return found % 2**bits


def form_of(node):
    if isinstance(node, str):
        return forms.unknown(node)
    op, left, right = node
    if op in ("+", "-"):
        return forms.plus(form_of(left), form_of(right), 1 if op == "+" else -1)
    return forms.BITWISE[op](form_of(left), form_of(right))


def test_equal_forms_are_equal_lists_of_every_length():
    import random

    dice = random.Random(5)

    def make(depth):
        if depth == 0:
            return dice.choice("abc")
        return (dice.choice(["xor", "xor", "+", "-", "and", "or"]), make(depth - 1), make(dice.randrange(depth)))

    seen = {}
    for _ in range(1500):
        node = make(dice.choice([1, 2, 2, 3]))
        form = form_of(node)
        values = tuple(
            value_of(node, dict(zip("abc", env, strict=True)), bits)
            for bits in (1, 2)
            for env in product(range(2**bits), repeat=3)
        )
        assert seen.setdefault(form, values) == values
        solved = forms.isolate(form, "a", forms.unknown("z"))
        if solved is not None and "a" not in forms.atoms(solved):
            assert forms.replaced(form, "a", solved) == forms.unknown("z")
    assert len(seen) < 1200


def test_laws_are_those_of_an_enumeration_by_hand():
    text = plain("m : private {0..2}", "int", "k :=$ Uniform(0..2); b :=$ Bernoulli(1/4); c :=$ Choice([1, 0, 3]);"
                 " if (b = 1) { return m + k } return k * c")  # fmt: skip
    law = Laws(read_program(text), 1000).of({"m": Fraction(1), "eps": Fraction(1), "delta": Fraction(0)})
    third, quarter, rest = Fraction(1, 3), Fraction(1, 4), Fraction(3, 4)
    assert law == {
        Fraction(1): third * quarter,
        Fraction(2): third * quarter + third * rest * rest,
        Fraction(3): third * quarter,
        Fraction(0): third * rest + 2 * third * rest * quarter,
        Fraction(4): third * rest * rest,
    }
    assert sum(law.values()) == 1
    truncated = plain("m : private {0..2}", "int", "k :=$ TruncGeometric(1/2, 0, 2, m); return k")
    law = Laws(read_program(truncated), 100).of({"m": Fraction(0), "eps": HALF, "delta": Fraction(0)})
    assert law == {Fraction(0): Fraction(2, 3), Fraction(1): Fraction(1, 6), Fraction(2): Fraction(1, 6)}


BLIND = words(
    "k :=$ Uniform({0,1}^n); i := 0; c := m; while (i < t) { c := (c + k) and o; i := i + 1 } return (c, k - o)",
    params="m : private {0,1}^n, o : private {0,1}^n, t : public {0..2}",
    out="({0,1}^n, {0,1}^n)",
)


def test_last_bits_are_a_program_of_their_own():
    tree = read_program(BLIND)
    assert length_of(tree) is not None
    for m, o, t in ((5, 3, 1), (2, 7, 2), (6, 1, 0)):
        env = {"m": bits_of(m, 3), "o": bits_of(o, 3), "t": Fraction(t), "n": Fraction(3), "eps": HALF, "delta": HALF}
        whole = Laws(tree, 1000).of(env)
        for bits in (1, 2):
            cut = Laws(shortened(tree, bits), 1000).of(resized(tree, env, bits))
            found = {}
            for (c, d), chance in whole.items():
                key = (c[3 - bits :], d[3 - bits :])
                found[key] = found.get(key, 0) + chance
            assert found == cut


def bits_of(number, size):
    return tuple(Fraction(int(bit)) for bit in f"{number:0{size}b}")


@pytest.mark.parametrize(
    "body",
    ["if (m = k) { c := m } else { c := k } return c", "return m xor [1, 0]", "return m ++ k", "c := int(m); return k",
     "if (n > 1) { c := m } else { c := k } return c", "return [m[0], k[0]]", "c := size(m); return k"],
)  # fmt: skip
def test_whoever_looks_inside_of_bit_lists_is_not_cut(body):
    assert length_of(read_program(words(f"{K} {body}"))) is None


# ---- for people


def test_a_coupling_is_shown_with_its_marginals():
    tree, verdict = read_program(PAD), program(PAD).verify()
    joint = small_joint(tree, verdict.finding.coupling)
    assert set(joint.marginal(0).values()) == {Fraction(1, len(joint.masses))}
    assert joint.marginal(0) == joint.marginal(1)
    assert all(one == two for one, two in joint.outputs.values())
    assert joint.one["m"] != joint.two["m"]
    lines = explained(tree, verdict)
    assert "    k' = k xor m xor m'" in lines
    assert "    and back: k = k' xor m xor m'" in lines
    assert any(line.split()[-1:] == ["sum"] for line in lines)
    assert lines[-1].endswith("pairs with mass give equal outputs.")


def test_a_coupling_that_is_none_is_seen_in_its_table():
    tree = read_program(PAD)
    wrong = CouplingProof((), (CouplingCase({(1, 1): (read_proof("#noise and m"),) * 2}),))
    env = {"n": Fraction(1), "eps": HALF, "delta": Fraction(0)}
    joint = joint_law(tree, wrong, {**env, "m": (Fraction(0),)}, {**env, "m": (Fraction(1),)})
    assert joint.marginal(1) == {((Fraction(0),),): 1}
    assert any(one != two for one, two in joint.outputs.values())


def test_a_difference_is_said_in_words():
    text, _ = REFUTED["and, 64 bits"]
    said = summary(read_program(text), program(text).verify())
    assert said[0].startswith("REFUTED")
    assert said[3:] == ["  Event      the last 1 of the bits in output = [0]", "  Chances    1 and 1/2"]
    uniform, _ = REFUTED["uniform sum of dice"]
    assert summary(read_program(uniform), program(uniform).verify())[2:] == [
        "  Events     output = 7 and output = 2",
        "  Chances    1/6 and 1/36",
    ]


def test_the_same_property_gives_the_same_document_every_time():
    first, second = (program(PROVED["an additive share"]).verify().to_dict() for _ in range(2))
    assert first == second
