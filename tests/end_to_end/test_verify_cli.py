"""`sfumato verify`, as a person runs it."""

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "tests" / "verify" / "programs"


@pytest.fixture
def run(call, tmp_path):
    return partial(call, "verify", at=tmp_path)


def test_a_proof_its_table_and_its_certificate(run, tmp_path):
    done = run(PROGRAMS / "p_gap.sfp", "--explain", "--certificate", "c.json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("PROVED for all sizes: Sparse satisfies the claim eps (adjacent all).")
    assert "is shifted by" in done.stdout
    assert "Where the runs agree" in done.stdout
    checked = run("--check", "c.json")
    assert (checked.returncode, checked.stderr) == (0, "")
    made = json.loads((tmp_path / "c.json").read_text())
    made["proofs"][0]["shifts"]["1"] = "2"
    (tmp_path / "c.json").write_text(json.dumps(made))
    broken = run("--check", "c.json")
    assert broken.returncode == 1
    assert "the certificate is not valid" in broken.stderr


def test_a_refutation_and_its_witness(run, tmp_path):
    done = run(PROGRAMS / "r_value.sfp", "--json", "--certificate", "w.json")
    assert done.returncode == 1
    document = json.loads(done.stdout)
    assert document.keys() >= {"verdict", "scope", "claim", "loss", "witness", "certificate"}
    assert (document["verdict"], document["claim"]) == ("REFUTED", "eps")
    assert float(document["loss"]["at_least"]) > float(document["witness"]["claim"])
    assert json.loads(run("--check", "w.json", "--json").stdout)["holds"] is True
    said = run(PROGRAMS / "r_value.sfp")
    assert said.stdout.startswith("REFUTED")
    assert "Neighbour  q = [1, 1, 1, 1, 1]" in said.stdout


def test_a_property_its_coupling_and_its_certificate(run, tmp_path):
    pad = "P(m : private {0,1}^n, n : public int) : public {0,1}^n requires n >= 1; property secrecy;"
    (tmp_path / "p.sfp").write_text(f"{pad}\nk :=$ Uniform({{0,1}}^n);\nreturn m xor k\n")
    done = run("p.sfp", "--explain", "--certificate", "c.json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("PROVED for all inputs with n >= 1: P has the property secrecy, by a coupling.")
    assert "k' = k xor m xor m'" in done.stdout
    assert "sum  1/8" in done.stdout
    checked = run("--check", "c.json")
    assert (checked.returncode, checked.stderr) == (0, "")
    made = (tmp_path / "c.json").read_text()
    (tmp_path / "c.json").write_text(made.replace("#noise xor m xor #two(m)", "#noise xor m", 1))
    assert run("--check", "c.json").returncode == 1
    (tmp_path / "p.sfp").write_text(f"{pad}\nk :=$ Uniform({{0,1}}^n);\nreturn m and k\n")
    done = run("p.sfp", "--json")
    assert done.returncode == 1
    document = json.loads(done.stdout)
    assert (document["verdict"], document["claim"], document["witness"]["chance"]) == ("REFUTED", "secrecy", "1")


def test_what_is_tight(run, tmp_path):
    done = run(PROGRAMS / "r_twoall.sfp", "--tight")
    assert done.returncode == 1
    assert "Tight: proved 2 * eps, refuted 1.98 * eps." in done.stdout


def test_undecided_exits_6(run, tmp_path):
    (tmp_path / "g.sfp").write_text(
        "F(c : private real) : public real requires eps <= 4 && delta > 0; adjacent one; claim (eps, delta);"
        "z :=$ Gauss(sqrt(2*ln(1.25/delta))/eps, 0); return c + z"  # a theorem for eps <= 1 only
    )
    done = run("g.sfp", "--json")
    assert done.returncode == 6
    assert json.loads(done.stdout)["verdict"] == "UNKNOWN"


def test_proved_for_short_lists_only_exits_6(run, tmp_path):
    """It loses size(q) * eps: nothing is wrong with short lists, and nobody looks at lists of 21."""
    (tmp_path / "h.sfp").write_text(
        "Hist(q : private real list) : public real list adjacent all; claim 20*eps; i := 0; r := [];"
        "while (i < size(q)) { z :=$ Laplace(1/eps, 0); r := r ++ [q[i] + z]; i := i + 1 } return r"
    )
    done = run("h.sfp", "--json")
    assert done.returncode == 6
    said = json.loads(done.stdout)
    assert (said["verdict"], said["scope"]) == ("PROVED", {"size": 20})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("F(c : private real) : public real adjacent one; claim eps; return c +", ["LINE 1", "expected an expression"]),
        (
            "F(d : private real list) : public real\nadjacent one; claim eps;\nreturn d[0]",
            ["LINE 3", "d = []", "index 0 is outside a list of length 0", "HINT"],
        ),
    ],
)
def test_a_text_with_a_mistake_exits_2_and_shows_the_place(run, tmp_path, text, words):
    (tmp_path / "f.sfp").write_text(text)
    done = run("f.sfp")
    assert (done.returncode, done.stdout) == (2, "")
    assert all(word in done.stderr for word in words)


def test_a_python_function_is_verified(run, tmp_path):
    (tmp_path / "m.py").write_text(
        "from sfumato.verify import program\n"
        '@program(adjacent="one", claim="eps")\n'
        'def noisy(x: "private real") -> "public real":\n'
        "    z = Laplace(1 / eps, 0)\n"
        "    return x + z\n"
    )
    assert run("m.py:noisy").returncode == 0
    for wrong in ("m.py:other", "n.py:noisy", "nothing.sfp"):
        assert run(wrong).returncode == 2
    assert run().returncode == 2
    (tmp_path / "no.json").write_text("[]")
    assert run("--check", "no.json").returncode == 2


def test_without_the_extra_it_says_which_line_installs_it(tmp_path):
    code = (
        "import importlib.util as u; found = u.find_spec;"
        "u.find_spec = lambda name, *rest: None if name in ('z3', 'flint') else found(name, *rest);"
        "from sfumato.cli import main; main()"
    )
    command = [sys.executable, "-c", code, "verify", str(PROGRAMS / "p_two.sfp")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'sfumato[verify]'" in done.stderr


def test_the_owner_releases_what_is_proved(run, tmp_path):
    (tmp_path / "count.sfp").write_text(
        "Count(d : private {0..120} list, T : public int) : public bool adjacent addremove; claim eps;"
        "z :=$ Geometric(exp(-eps)); if (size(d) + z >= T) { return true } else { return false }"
    )
    (tmp_path / "t.csv").write_text("u,age\n" + "".join(f"p{i},{i}\n" for i in range(50)))
    (tmp_path / "sfumato.toml").write_text(
        '[source]\nengine = "duckdb"\nfiles = { t = "t.csv" }\n[data]\nid = "d"\n[privacy]\nepsilon = 100\n[tables.t]\n'
        'unit = "u"\nrows_per_unit = 1\n[tables.t.columns]\nu = { type = "text", max_length = 9 }\n'
        'age = { type = "integer", min = 0, max = 120 }\n'
    )
    asked = ("count.sfp", "--release", "t.age", "--epsilon", "40", "--set", "T=45")  # noise of 5: a chance of e^-200
    done = run(*asked)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Count(t.age) = true\ncost epsilon 40; receipt ")
    again = json.loads(run(*asked, "--json").stdout)
    assert (again["value"], again["cost"]["epsilon"], again["remaining"]["epsilon"]) == (True, "0", "60")
    for wrong, code in ((("T",), 2), (("T=45", "--epsilon", "70"), 4)):
        assert run(*asked[:5], "--set", *wrong).returncode == code
    (tmp_path / "wrong.sfp").write_text((tmp_path / "count.sfp").read_text().replace("exp(-eps)", "exp(-2*eps)"))
    assert run("wrong.sfp", *asked[1:]).returncode == 1
