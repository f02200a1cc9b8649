"""The audit accuses what is wrong and does not accuse what is right; its bounds are the exact ones, from outside."""

import json
import math
import re
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from sfumato.attacks.canary import audit_gateway
from sfumato.audit import Subject, audit, of_function, of_mechanism
from sfumato.audit import run as running
from sfumato.audit.bounds import bound_above, bound_below, epsilon_from_guesses, guessing_p_value
from sfumato.audit.outputs import encode, show_row
from sfumato.audit.run import MISS
from sfumato.cli import main
from sfumato.cli.clinic import write_clinic
from sfumato.errors import InputError
from sfumato.mechanisms import MECHANISMS, Geometric
from tests.attacks import wrong

CLAIMS = {
    "Gaussian": (Fraction(1), Fraction(1, 100)),
    "KeySelection": (Fraction(1), Fraction(1, 100)),
    "GaussianKeySelection": (Fraction(1), Fraction(1, 100)),
    "ThresholdedCounts": (Fraction(1), Fraction(1, 100)),
}


@pytest.mark.parametrize("n", [1, 2, 17, 1000, 1_000_000])
def test_bounds_are_outside_of_the_exact_ones(n):
    """Against SciPy's quantiles of the beta law: on the safe side, and hardly further."""
    for k in sorted({0, 1, n // 1000, n // 50, n // 2, n - 1, n}):
        for miss in (0.025, 1e-3, 1e-6):
            low, high = bound_below(k, n, miss), bound_above(k, n, miss)
            true_low = 0.0 if k == 0 else stats.beta.ppf(miss, k, n - k + 1)
            true_high = 1.0 if k == n else stats.beta.ppf(1 - miss, k + 1, n - k)
            assert low <= true_low * (1 + 1e-9) <= low * (1 + 1e-5) + 1e-12
            assert high * (1 + 1e-5) + 1e-12 >= true_high * (1 - 1e-9)
            assert high >= true_high * (1 - 1e-9)
            assert high <= true_high * (1 + 1e-5) + 1e-12


def test_bounds_cover():
    """For every count of a small experiment, and so for every probability: the exact chance to miss is within."""
    n, miss = 60, 0.01
    lows = [bound_below(k, n, miss) for k in range(n + 1)]
    highs = [bound_above(k, n, miss) for k in range(n + 1)]
    for p in np.linspace(0.001, 0.999, 97):
        mass = stats.binom.pmf(np.arange(n + 1), n, p)
        assert sum(m for m, low in zip(mass, lows, strict=True) if low > p) <= miss
        assert sum(m for m, high in zip(mass, highs, strict=True) if high < p) <= miss


def test_the_canary_audit_is_the_binomial():
    for guesses, right, epsilon in ((1000, 760, 1.0), (100, 90, 1.5), (1000, 999, 4.0)):
        exact = stats.binom.sf(right - 1, guesses, 1 / (1 + math.exp(-epsilon)))
        found = guessing_p_value(guesses, right, epsilon)
        assert exact <= found <= exact * (1 + 1e-6)
        assert guessing_p_value(guesses, right, epsilon, delta=1e-5, planted=1000) > found
    assert guessing_p_value(1000, 500, 1.0) == 1
    assert epsilon_from_guesses(1000, 500, 1e-3) == 0
    assert 0.7 < epsilon_from_guesses(1000, 731, 1e-3) < 1.0


def test_outputs_of_any_shape_have_rows():
    given = [None, True, 3, [1, None, "a"], {"b": 2, "a": [1.5]}, (), float("nan"), 10**400]
    rows = encode(given)
    assert len(rows) == len(given)
    assert [show_row(rows, i) for i in range(4)] == ["[None]", "[True]", "[3]", "[1, None, text]"]
    shapes = {tuple(row) for row in rows.symbols.tolist()}
    assert len(shapes) == len(given)


@pytest.mark.parametrize("name", MECHANISMS)
def test_an_honest_mechanism_is_not_accused(name):
    epsilon, delta = CLAIMS.get(name, (Fraction(1), Fraction(0)))
    verdict = audit(of_mechanism(name, epsilon, delta), epsilon, delta, 20_000)
    assert not verdict.refuted
    assert verdict.words.startswith("no violation found at the claimed epsilon 1")


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_an_honest_mechanism_is_not_accused_in_many_runs(name):
    """200 audits, each of which may accuse with probability 1/1000: five false ones have a chance of 3 in a million."""
    epsilon, delta = CLAIMS.get(name, (Fraction(1), Fraction(0)))
    subject = of_mechanism(name, epsilon, delta)
    accused = sum(audit(subject, epsilon, delta, 10_000).refuted for _ in range(200))
    assert accused < 5


@pytest.mark.parametrize("name", ["Geometric", "Laplace", "NoisyMax", "RandomizedResponse"])
def test_a_mechanism_at_twice_its_claim_is_refuted(name):
    """What is sold for 0.4 spends 1: the audit must be able to say so of the product's own mechanisms."""
    delta = CLAIMS.get(name, (0, Fraction(0)))[1]
    subject = of_mechanism(name, Fraction(1), delta)
    verdict = audit(subject, Fraction(2, 5), delta, 8000)
    assert verdict.refuted
    assert verdict.epsilon < 1


def test_gaussian_noise_is_not_purely_private():
    verdict = audit(of_mechanism("Gaussian", Fraction(1), Fraction(0)), Fraction(1), Fraction(0), 100_000)
    assert verdict.refuted


WRONG = {
    "Laplace at 0.9": (wrong.laplace(0.9), "number", 1),
    "Laplace at half": (wrong.laplace(0.5), "number", 1),
    "value of the maximum": (wrong.noisy_max_value(2), "all", 1),
    "value of the maximum, one-sided noise": (wrong.noisy_max_exponential(2), "all", 1),
    **{name: (run, "all", claim) for name, (run, claim) in wrong.SPARSE.items()},
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_mechanism_is_refuted(name):
    function, adjacent, claim = WRONG[name]
    verdict = audit(of_function(function, adjacent), Fraction(claim), samples=100_000)
    assert verdict.refuted, verdict
    assert verdict.words.startswith("refuted: epsilon >= ")
    assert claim < float(verdict.words.split()[3]) <= verdict.epsilon  # rounded down, and still above the claim
    assert verdict.words.endswith(" at 99.9 %")


def test_what_lies_above_the_claim_is_run_on():
    """The hardest one of the ordinary pairs: 100,000 runs show it above the claim, and more of the same refute it."""
    verdict = audit(of_function(wrong.sparse(2, 4, out="value"), "all"), Fraction(1), samples=100_000)
    assert verdict.refuted
    assert verdict.event.startswith("where the first number stands")
    assert verdict.runs > 400_000


def test_a_leak_that_is_rare_is_found_on_a_pair_that_is_named():
    """The adaptive one with a value in its first branch: zeros, then a number so small that the threshold was low."""
    function = wrong.adaptive(eps=3, threshold=-64, out="value")
    function.pairs = [([-64.5] * 9 + [-47.5], [-63.5] * 9 + [-48.5])]
    assert audit(of_function(function), Fraction(3), samples=200_000).refuted
    right = wrong.adaptive(eps=3, threshold=-64)
    right.pairs = function.pairs
    assert not audit(of_function(right), Fraction(3), samples=50_000).refuted


@pytest.mark.parametrize(
    "right",
    [
        (wrong.laplace(1), "number"),
        (wrong.noisy_max_index(2), "all"),
        (wrong.sparse(2, 4), "all"),
        (wrong.sparse(2, 4, out="gap"), "all"),
        (wrong.adaptive(), "all"),
    ],
)
def test_the_right_form_of_a_wrong_mechanism_is_not_accused(right):
    function, adjacent = right
    assert not audit(of_function(function, adjacent), Fraction(1), samples=10_000).refuted


def test_doubles_betray_what_noise_was_added_to():
    """Laplace noise of the right scale, in plain floats: the last bits tell 0 from 1 (Mironov 2012)."""

    rng = wrong.fresh()

    def float_laplace(x, size):
        return x + rng.laplace(0, 1, size)

    verdict = audit(of_function(float_laplace, "number"), Fraction(1), samples=20_000)
    assert verdict.refuted
    assert "lowest bit" in verdict.event
    assert verdict.sizes < 1


PEER = """
import sys
import numpy as np
from diffprivlib.mechanisms import Laplace
law = Laplace(epsilon=1.0, sensitivity=1.0)
np.save(sys.argv[1], np.array([[law.randomise(float(x)) for _ in range(80_000)] for x in (0, 1)]))
"""


@pytest.mark.slow
def test_a_peer_is_caught_by_its_doubles(tmp_path):
    """diffprivlib's Laplace, in an environment of its own: the noise is right, its last bits are not."""
    python = tmp_path / "peer" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "peer"], check=True)
    install = [python, "-m", "pip", "install", "--quiet", "diffprivlib==0.6.6", "scikit-learn<1.6"]
    if subprocess.run(install, check=False, capture_output=True).returncode:
        pytest.skip("diffprivlib cannot be installed here")
    subprocess.run([python, "-c", PEER, tmp_path / "runs.npy"], check=True)
    left = {side: list(np.load(tmp_path / "runs.npy")[side]) for side in (0, 1)}

    def sample(given, count):
        drawn, left[given] = left[given][:count], left[given][count:]
        return encode(np.array(drawn))

    verdict = audit(Subject("diffprivlib", sample, ((0, 1),)), Fraction(1), samples=40_000)
    assert verdict.refuted
    assert "lowest bit" in verdict.event
    assert verdict.sizes < 1


def test_lists_of_any_kind_from_one_call_at_a_time():
    """A refusal that depends on the data, an exception, a list that is longer by one: all are seen."""
    rng = wrong.fresh()

    def raises(rows):
        if sum(rows) == 3:
            raise ZeroDivisionError
        return 0

    def longer(rows):
        return [None] * (len(rows) + int(rng.random() < 0.5))

    assert audit(of_function(raises, "one"), Fraction(1), samples=400).refuted is False  # no pair sums to 3
    assert audit(of_function(longer, "addremove"), Fraction(1), samples=2000).refuted
    assert audit(of_function(lambda rows: None if sum(rows) == 1 else False, "one"), Fraction(1), samples=400).refuted


def test_delta_is_bounded_at_the_claimed_epsilon():
    """Laplace noise that is right but for one run in 20, which tells the truth: (1, 0.05) private, not (1, 0.01)."""

    honest, rng = wrong.laplace(1), np.random.default_rng(5)

    def leaky(x, size):
        told = np.where(rng.random(size) < 0.05, 1000.0 * (1 + x), honest(x, size))
        return wrong.on_grid(told)

    refuted = audit(of_function(leaky, "number"), Fraction(1), Fraction(1, 100), 40_000)
    assert refuted.refuted
    assert 0.01 < refuted.delta < 0.06
    assert " at epsilon 1, at 99.9 %" in refuted.words
    assert not audit(of_function(leaky, "number"), Fraction(1), Fraction(6, 100), 40_000).refuted


@pytest.mark.parametrize(
    ("made", "named"),
    [
        (wrong.laplace(0.99), "the value is (above (0.9|1.0)|below (-?0.0))"),
        (wrong.redrawn(1, 3), "the value is (above (3|1[23])|below (-[12]|[78]))"),
        (wrong.redrawn(1, 6), "the value is (above (5|6|1[567])|below (-[456]|[4567]))"),
    ],
)
def test_the_event_that_betrays_is_named(made, named):
    """A scale that is 1 % too small by a half-line from the centre, noise that is drawn anew by its tail."""
    found = audit(of_function(made, "number"), Fraction(1))
    assert found.refuted
    assert re.match(named, found.event), found.event


def test_a_sparse_vector_that_shows_values_is_refuted_within_a_million_runs():
    """BadGapSVT at epsilon 1: it needs more than four queries, and most events of it are rare."""
    found = audit(of_function(wrong.sparse(2, 4, out="value"), "all"), Fraction(1))
    assert found.refuted
    assert found.runs <= 1_000_000


def test_the_coin_that_chooses_sides_is_fair_to_the_innocent():
    """Whatever the event, at its claim a mechanism is accused no more often than stated: the bound is Clopper–Pearson's
    of which side the event came from."""
    rng, false = np.random.default_rng(3), 0
    for _ in range(4000):
        part = bound_below(int(rng.binomial(60, np.e / (1 + np.e))), 60, 0.01)
        false += np.log(part / (1 - part)) > 1
    assert false <= 4000 * 0.01 + 3 * np.sqrt(40)


def test_an_event_is_not_certified_on_what_it_was_chosen_from(monkeypatch):
    """A subject that repeats itself within an audit would be caught if the same runs were used twice."""
    monkeypatch.setattr(running, "_ODD", dict.fromkeys(running._ODD, 99.0))  # nobody runs on by chance
    seen, rng = [], wrong.fresh()

    def sample(given, count):
        seen.append(count)
        return encode(rng.integers(0, 1 << 40, count))  # pure noise: every output is seen once

    verdict = audit(Subject("noise", sample, ((0, 1),)), Fraction(1, 100), samples=4000)
    assert not verdict.refuted
    assert verdict.epsilon < 0.01
    assert sum(seen) == verdict.runs
    assert seen[:2] == [4000, 4000]  # training of both sides; what certifies is drawn after it, sides by a coin
    within = [part for part, _, _ in running._LOOKS if part <= 1]
    assert len(seen) == 2 + 2 * len(within)  # one pair: no search; nothing odd: no more than was asked for


def test_the_error_of_all_looks_is_within_the_stated_one(monkeypatch):
    """Every interval that an audit uses, both sides, all events and looks: their errors add up to 1/1000 at most."""
    used = []

    def watched(honest):
        def bound(successes, trials, miss):
            used.append(miss)
            return honest(successes, trials, miss)

        return bound

    for name in ("bound_below", "bound_above"):
        monkeypatch.setattr(running, name, watched(getattr(running, name)))
    monkeypatch.setattr(running, "_ODD", {})  # nobody stops early, and nobody is left behind
    monkeypatch.setattr(running, "_LOOKS", tuple((part, share, 99) for part, share, _ in running._LOOKS))
    audit(of_function(wrong.noisy_max_index(2), "all"), Fraction(1), samples=400)
    assert len(used) == 3 * len(running._EVENTS) * len(running._LOOKS)
    assert float(MISS) * (1 - 1e-9) <= sum(used) <= float(MISS) * (1 + 1e-9)
    assert Fraction(1, 1000) == MISS


def clinic(folder, epsilon):
    write_clinic(folder)
    policy = folder / "sfumato.toml"
    policy.write_text(policy.read_text().replace("\nepsilon = 4 ", f"\nepsilon = {epsilon} "))
    return policy


def test_the_gateway_survives_its_canaries(tmp_path):
    policy = clinic(tmp_path, 1)
    before = {path.name for path in tmp_path.iterdir()}
    verdict = audit_gateway(policy, Fraction(1), Fraction(0))
    assert not verdict.refuted
    assert verdict.epsilon > 0.5  # a thousand persons do tell something: the audit is awake
    assert audit_gateway(policy, Fraction(1, 2), Fraction(0)).refuted  # it spends 1
    assert {path.name for path in tmp_path.iterdir()} - before <= {".sfumato"}  # nothing was spent


SHELVES = """[source]
engine = "duckdb"
files = {{ lent = "lent.csv" }}
[data]
id = "shelves"
[privacy]
epsilon = 1
adjacency = "{adjacency}"
[tables.lent]
unit = "reader"
rows_per_unit = {rows}
[tables.lent.columns]
reader = {{ type = "integer", min = -100000, max = 100000 }}
shelf = {{ type = "integer", min = 0, max = 1199 }}
"""
OTHERS = [("add-remove", 3), ("replace", 1), ("replace", 2)]


def shelves(folder, adjacency, rows):
    lines = [f"{reader},{(7 * reader + i) % 1200}" for reader in range(300) for i in range(rows)]
    (folder / "lent.csv").write_text("\n".join(["reader,shelf", *lines]) + "\n")
    policy = folder / "sfumato.toml"
    policy.write_text(SHELVES.format(adjacency=adjacency, rows=rows))
    return policy


@pytest.mark.parametrize(("adjacency", "rows"), OTHERS)
def test_canaries_have_as_many_rows_as_a_person_may(tmp_path, monkeypatch, adjacency, rows):
    """Also where a person is replaced, not added: two cells and a coin. It spends 1: a claim of 2 stands, also at the
    fringe of chance, and falls if the noise is a sixth."""
    policy = shelves(tmp_path, adjacency, rows)
    verdict = audit_gateway(policy, Fraction(2), Fraction(0))
    assert not verdict.refuted
    assert verdict.epsilon > 0  # the audit is awake
    too_little_noise(monkeypatch, 6)
    assert audit_gateway(policy, Fraction(2), Fraction(0)).refuted


def test_who_cannot_be_planted_is_said(tmp_path):
    policy = shelves(tmp_path, "replace", 1)
    policy.write_text(policy.read_text().replace(", max = 1199 }", ", max = 0 }"))
    with pytest.raises(InputError, match="nobody can be planted"):
        audit_gateway(policy, Fraction(1), Fraction(0))


def too_little_noise(monkeypatch, times):
    honest = Geometric.release
    monkeypatch.setattr(
        Geometric, "release", lambda self, value: honest(Geometric(self.sensitivity_l1, times * self.epsilon), value)
    )


def test_half_of_the_noise_is_found_by_canaries(tmp_path, monkeypatch):
    """A gateway that draws its noise for twice the epsilon."""
    too_little_noise(monkeypatch, 2)
    assert audit_gateway(clinic(tmp_path, 1), Fraction(1), Fraction(0)).refuted


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """The console script in this process."""

    def run(*words):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["sfumato", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main()
        return (stopped.value.code or 0, *capsys.readouterr())

    return run


def test_the_command_says_refuted_or_consistent_and_exits_so(tmp_path, call):
    (tmp_path / "mech_of_test.py").write_text(
        "import numpy as np\nrng = np.random.default_rng(1)\n"
        "def half(x, size):\n    return np.round(64 * (x + rng.laplace(0, 0.5, size)))\n"
    )
    code, out, _ = call("audit", "mech_of_test:half", "--claim", "1", "--samples", "20000")
    assert code == 1
    assert "mech_of_test:half: refuted: epsilon >= 1." in out
    code, out, _ = call("audit", "mech_of_test.py:half", "--claim", "2.5", "--samples", "20000", "--json")
    assert code == 0
    assert json.loads(out)["verdict"] == "consistent"
    assert "verified" not in out
    code, _, err = call("audit", "mechanism:Nothing", "--claim", "1")
    assert code == 2
    assert 'mechanism "Nothing" is not known' in err
    for words in (("--claim", "1"), ("mech_of_test:none", "--claim", "1"), ("mech_of_test:half", "--claim", "0")):
        assert call("audit", *words)[0] == 2


def test_a_function_may_name_its_own_neighbours():
    """A leak that no usual pair shows: it takes the very number that the function fears."""

    def shy(x, size):
        return np.full(size, x == 1234.5)

    assert not audit(of_function(shy, "number"), Fraction(1), samples=400).refuted
    shy.pairs = [(1234.5, 1235.5)]
    assert audit(of_function(shy), Fraction(1), samples=400).refuted


def test_what_cannot_be_audited_says_why():
    with pytest.raises(InputError, match="adjacency"):
        of_function(lambda x: x, "sideways")
    with pytest.raises(InputError, match="needs a delta"):
        of_mechanism("KeySelection", Fraction(1), Fraction(0))
    with pytest.raises(InputError, match="raises for every input"):
        of_function(lambda rows: rows["no"], "one")
