"""Every input of `sfumato verify` ends in a verdict, or in exit code 2 and one sentence; never in a crash, which would
exit with 1 and so say REFUTED.
"""

import json
import random
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.verify.command import command
from tests.verify.mutants import mutants, near_mutants

TEXTS = [path.read_text() for path in sorted((Path(__file__).parent / "programs").glob("*.sfp"))]
REAL = "F(x : private real) : public real adjacent one; claim eps; "
WHOLE = "F(x : private {0..3}) : public int adjacent one; claim eps; "
VERDICTS = {0: "PROVED", 1: "REFUTED", 6: "UNKNOWN|PROVED for"}


def problem_of(code, out, err):
    """What is wrong with how a verification ended; None if nothing is."""
    if "Traceback" in err or "The verifier stopped" in err:
        return "a crash"
    if code == 2:
        return None if re.match(r"ERROR \w{5}: .+\n", err) and not out else "no sentence"
    if code not in VERDICTS:
        return f"exit {code}"
    return None if re.match(VERDICTS[code], out) and not err else "no verdict"


def verified(path, source):
    path.write_bytes(source if isinstance(source, bytes) else source.encode())
    code, out, err = command("verify", str(path))
    return code, problem_of(code, out, err), out + err


# ---- programs

NUMBER = "F(x : private real) : public real adjacent {}; claim eps; z :=$ Laplace(1/eps, 0); return x + z"
REAL_LISTS = "F(x : private real list list) : public real adjacent moves; claim eps; "
ODD = {
    "nobody is added to a number": (2, NUMBER.format("addremove")),
    "nothing moves in one number": (2, NUMBER.format("moves")),
    "lists move, not numbers": (2, REAL_LISTS + "return 1"),
    "two numbers move": (1, "F(x : private real, y : private real) : public real adjacent moves; claim eps; return x"),
    "one list of two grows": (
        1,
        "F(x : private real, d : private real list) : public real adjacent addremove; claim eps; return size(d)",
    ),
    "brackets": (2, REAL + "return " + "(" * 3000 + "x" + ")" * 3000),
    "signs": (2, REAL + "return " + "- " * 3000 + "x"),
    "negations": (2, REAL + "if (" + "!" * 3000 + "(x > 0)) { return 1 } return 2"),
    "branches": (2, REAL + "if (x > 0) {" * 2000 + "return 1" + "}" * 2000 + "return 0"),
    "a long sum": (2, REAL + "return " + "+".join(["x"] * 3000)),
    "tuples of tuples": (
        2,
        f"F(x : private {'(' * 3000}real{')' * 3000}) : public real adjacent one; claim 1; return 0",
    ),
    "lists of lists": (2, f"F(x : private real{' list' * 3000}) : public real adjacent one; claim 1; return 0"),
    "a NUL byte": (2, REAL + "return x\0"),
    "a NUL byte in a comment": (0, "-- \0\n" + REAL + "return 0"),
    "no text": (2, b"\xff\xfe\x00\x80"),
    "nothing": (2, ""),
    "a huge exponent": (2, REAL + "return 1e999999999"),
    "a tiny number": (2, REAL + "return 1e-99999"),
    "beyond all floats": (1, REAL + "return x + 1e400"),
    "a tower of exponentials": (6, REAL.replace("claim eps", "claim exp(exp(exp(exp(100))))") + "return 0"),
    "a tower of powers": (6, WHOLE + "return ((((9^64)^64)^64)^64)^64"),
    "squares of squares": (6, WHOLE + "i := 0; y := 2; while (i < 64) { y := y*y; i := i+1 } return y"),
    "lists that double": (6, WHOLE + "i := 0; y := [1]; while (i < 64) { y := y ++ y; i := i+1 } return size(y)"),
    "a huge group": (6, REAL.replace("one;", "1e300(one);") + "z :=$ Laplace(1/eps, 0); return x + z"),
    "many bits": (6, "F(x : private {0,1}^1e9) : public int property secrecy; return int(x)"),
    "a huge range": (6, WHOLE + "u :=$ Uniform(0..1e300); return (x + u) mod 4"),
    "a huge size": (
        2,
        "F(x : private {0,1} list) : public int requires size(x) = 1/2; adjacent one; claim 1; return 0",
    ),
    "truths and numbers": (2, REAL + "return true + 1"),
    "lists and numbers": (2, REAL + "return [1, 2] / 0.5"),
    "the size of a number": (2, REAL + "return size(0.5)"),
    "another kind on one path": (2, REAL + "if (x > 0) { y := [1] } else { y := 2 } return y * y"),
    "other digits": (2, REAL + "return ٣"),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_program_ends_in_a_verdict_or_a_sentence(name, tmp_path):
    code, source = ODD[name]
    found, problem, said = verified(tmp_path / "p.sfp", source)
    assert (found, problem) == (code, None), said


def ends_of(sources, path):
    """How often each exit code was met, and what went wrong."""
    seen, wrong = Counter(), []
    for source in sources:
        code, problem, said = verified(path, source)
        seen[code] += 1
        if problem:
            wrong.append((problem, said, source))
    sys.stdout.write(f"verify on mutated programs: {dict(seen)}\n")
    return seen, wrong


SMALL = [
    REAL + "z :=$ Laplace(1/eps, 0); return x + z",
    REAL + "z :=$ Exponential(1/eps); if (x > 0) { return z } else { return 0 }",
    WHOLE + "z :=$ Geometric(exp(-eps/3)); return x + z",
    WHOLE + "b :=$ Bernoulli(1/2); if (b = 1 && x >= 2) { return 1 } return 0",
    WHOLE + "u :=$ Uniform(0..3); return (x + u) mod 4",
    WHOLE + "c :=$ Choice([1, 2, 3, 4]); y := max(x, c); return min(y, 3) - 1",
    WHOLE + "u :=$ TruncGeometric(1/2, 0, 3, x); return u",
    WHOLE + "i := 0; s := 0; while (i < 2) { b :=$ Bernoulli(1/3); s := s + b; i := i + 1 } return s",
    "F(x : private {0,1}^2) : public {0,1}^2 property secrecy; k :=$ Uniform({0,1}^2); return x xor k",
    "F(x : private bool, y : public bool) : public bool property uniform; b :=$ Bernoulli(1/2); return x = (b = 1)",
    (
        "F(x : private real, n : public int) : public real requires n >= 1; adjacent one; claim (eps, delta);"
        " if (n > 2) { z :=$ Laplace(n/eps, x); return z } return n"
    ),
]


def test_mutated_programs_end_in_a_verdict_or_a_sentence(tmp_path):
    sources = [*mutants(SMALL, 100, seed=5), *near_mutants(SMALL, 16, seed=5)]
    seen, wrong = ends_of(sources, tmp_path / "p.sfp")
    assert wrong == []
    assert set(seen) >= {0, 1, 2}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_many_mutated_programs_end_in_a_verdict_or_a_sentence(seed, tmp_path):
    """Together 5,000 programs, a fifth of them with words that may stand where they stand."""
    odd = [source for code, source in ODD.values() if code != 2]
    sources = [*mutants(TEXTS + odd + SMALL, 400, seed=100 + seed), *near_mutants(SMALL, 100, seed=100 + seed)]
    seen, wrong = ends_of(sources, tmp_path / "p.sfp")
    assert wrong == []
    assert set(seen) >= {0, 1, 2, 6}


# ---- certificates


def changed(document, dice):
    """A document with one to three mistakes in it: values replaced by others of any type, left out, or wrapped; and now
    and then a key that other documents have.
    """
    made = json.loads(document)
    if dice.random() < 0.2:
        made[dice.choice(["scope", "scope", "kind", "listing", "claim", "witness"])] = dice.choice(
            [None, True, 7, [], {}, {"size": 1}, {"n": [1]}, "all", "coupling", "enumeration", "claim"]
        )
    for _ in range(dice.choice((1, 1, 2, 3))):
        place, parent = made, None
        while isinstance(place, dict | list) and place and (parent is None or dice.random() < 0.75):
            key = dice.choice(list(place) if isinstance(place, dict) else range(len(place)))
            parent, place = (place, key), place[key]
        if parent is None:
            return dice.choice([[], [made], 7, "PROVED", None, {"verdict": [made]}])
        where, key = parent
        match dice.choice(["other", "other", "drop", "text", "wrap"]):
            case "drop":
                del where[key]
            case "wrap":
                where[key] = [place]
            case "text":
                where[key] = dice.choice(["", "x", "((((", "#place", "1e999999", "\0", "1/0", "#if(1, 2)", "true + 1"])
            case _:
                where[key] = dice.choice(
                    [None, True, 0, -1, 0.5, 10**30, [], {}, [[]], {"": None}, "0", "all", "PROVED"]
                )
    return made


CERTIFIED = [
    SMALL[0],
    SMALL[2].replace("exp(-eps/3)", "exp(-eps)").replace("claim eps", "claim 3*eps"),
    SMALL[6].replace("claim eps", "claim ln 8"),
    REAL + "return x",
    (
        "Sum(d : private [0,1] list) : public real adjacent addremove; claim eps; i := 0; s := 0;"
        " while (i < size(d)) { s := s + d[i]; i := i + 1 } z :=$ Laplace(1/eps, 0); return s + z"
    ),
    (
        "Pad(m : private {0,1}^n, n : public int) : public {0,1}^n requires n >= 1; property secrecy;"
        " k :=$ Uniform({0,1}^n); return m xor k"
    ),
    "Leak(m : private {0,1}) : public {0,1} property secrecy; return m",
    "Coin(m : private {0..2}) : public {0..2} property uniform; k :=$ Uniform(0..2); return (m + k) mod 3",
    REAL.replace("claim eps", "claim zcdp(1/3)") + "z :=$ Gauss(1, 0); return x + z",
    (
        "Answer(x : private {0..1}) : public {0..1} adjacent any; claim zcdp(eps^2/2);"
        " b :=$ Bernoulli(exp(eps)/(1 + exp(eps))); if (b = 1) { return x } else { return 1 - x }"
    ),
]


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    path = tmp_path_factory.mktemp("certificates") / "p.sfp"
    found = []
    for source in CERTIFIED:
        path.write_text(source)
        command("verify", str(path), "--certificate", str(path.with_suffix(".json")))
        found.append(path.with_suffix(".json").read_text())
    return found


def checks_of(documents, count, seed, path):
    dice, seen, wrong = random.Random(seed), Counter(), []
    for _ in range(count):
        document = dice.choice(documents)
        made = changed(document, dice)
        path.write_text(json.dumps(made))
        code, out, err = command("verify", "--check", str(path))
        seen[code] += 1
        valid = out.startswith("The certificate is valid")
        fine = (code == 0) == valid and (code == 0 or re.match(r"ERROR \w{5}: ", err))
        if not fine or "Traceback" in err or "The verifier stopped" in err or code not in (0, 1, 2):
            wrong.append((code, out, err, json.dumps(made)[:2000]))
        elif code == 0 and any(
            made.get(key) != json.loads(document).get(key) for key in ("verdict", "program", "hash")
        ):
            wrong.append(("another program", json.dumps(made)[:2000]))
    sys.stdout.write(f"verify --check on mutated certificates: {dict(seen)}\n")
    return seen, wrong


def test_mutated_certificates_are_refused_in_one_sentence(documents, tmp_path):
    seen, wrong = checks_of(documents, 60, 7, tmp_path / "c.json")
    assert wrong == []
    assert set(seen) >= {1, 2}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_many_mutated_certificates_are_refused_in_one_sentence(documents, seed, tmp_path):
    """Together 5,000 certificates."""
    seen, wrong = checks_of(documents, 1250, 200 + seed, tmp_path / "c.json")
    assert wrong == []
    assert set(seen) >= {1, 2}


def places_of(part, *above):
    """Where a document holds a number as text."""
    if isinstance(part, dict | list):
        for key in part if isinstance(part, dict) else range(len(part)):
            yield from places_of(part[key], *above, key)
    elif isinstance(part, str) and re.fullmatch(r"-?[0-9]+(/[0-9]+)?", part):
        yield above


def test_a_number_that_no_memory_holds_is_refused_at_once(documents, tmp_path):
    """In the place of every number of every witness: inputs, orders, bounds, factors, outputs, chances."""
    tried = 0
    for document in documents:
        witness = json.loads(document).get("witness", {})
        kinds = {tuple("" if isinstance(key, int) else key for key in where): where for where in places_of(witness)}
        for where in kinds.values():
            made = json.loads(document)
            inside = made["witness"]
            for key in where[:-1]:
                inside = inside[key]
            inside[where[-1]] = "1e999999999"
            (tmp_path / "c.json").write_text(json.dumps(made))
            code, _, err = command("verify", "--check", str(tmp_path / "c.json"))
            assert code in (1, 2), where
            assert re.match(r"ERROR \w{5}: ", err), where
            tried += 1
    assert tried > 12


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "[]", "7", "null", "{", '{"verdict": ' * 500 + "1" + "}" * 500, "\0", '{"verdict": "PROVED"}'],
)
def test_what_is_no_certificate_is_an_error(text, tmp_path):
    path = tmp_path / "c.json"
    path.write_text(text)
    code, out, err = command("verify", "--check", str(path))
    assert code == 2
    assert re.match(r'ERROR 22023: ".*" is not a certificate\n', err)
    assert not out


def test_a_python_file_that_fails_is_an_error(tmp_path):
    path = tmp_path / "p.py"
    path.write_text("1/0")
    code, _, err = command("verify", f"{path}:f")
    assert code == 2
    assert "ZeroDivisionError" in err
