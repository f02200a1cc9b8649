"""Certificates hold nothing that no check reads: an entry that nobody checks could say anything."""

import copy
import json
import subprocess
import sys

import pytest

from sfumato.cli.verify import check
from sfumato.errors import InputError
from sfumato.verify.checking import faults_of
from sfumato.verify.parse import read_program
from sfumato.verify.verdict import verify

HEAD = "P(c : private real) : public real adjacent one; claim eps;"
TEXTS = {
    "PROVED": HEAD + "z :=$ Laplace(1/eps, 0); return c + z",
    "loop": "P(d : private [0,1] list) : public real adjacent one; claim eps; i := 0; s := 0;"
    "while (i < size(d)) { s := s + d[i]; i := i + 1 } z :=$ Laplace(1/eps, 0); return s + z",
    "REFUTED": HEAD + "z :=$ Laplace(1/(2*eps), 0); return c + z",
    "listing": "P(c : private {0..1}) : public int adjacent one; claim ln 3;"
    "b :=$ Bernoulli(1/4); if (b = 1) { return 1 - c } return c",
    "coupling": "P(m : private {0,1}^n, n : public int) : public {0,1}^n requires n >= 1; property secrecy;"
    "key :=$ Uniform({0,1}^n); return m xor key",
    "difference": "P(m : private {0..3}) : public int property secrecy; return m",
    "enumeration": "P(m : private {0..2}) : public int property secrecy;"
    "u :=$ Uniform(0..1); while (u = m - 1) { u :=$ Uniform(0..1) } return 0 * u",
    "claim": "P(m : private real) : public real property secrecy; z :=$ Laplace(1, 0); return m + z",
}


@pytest.fixture(scope="module")
def documents():
    found = {name: verify(read_program(text)).certificate for name, text in TEXTS.items()}
    return {name: json.loads(json.dumps(document)) for name, document in found.items()}


def objects(node, path=()):
    """All objects inside of a document, by the way that leads to them."""
    if isinstance(node, dict):
        yield path
    for key, part in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from objects(part, (*path, key))


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("value", [True, 1.0, "1", None, [1]])
def test_the_format_is_a_whole_number(documents, name, value):
    """In Python true and 1.0 are equal to 1; in other readers of a certificate they are not."""
    (fault,) = faults_of({**documents[name], "format": value})
    assert fault == "it is not a certificate: expected a whole number as its format"
    assert faults_of({key: part for key, part in documents[name].items() if key != "format"}) == [fault]


@pytest.mark.parametrize("name", TEXTS)
def test_an_entry_that_no_check_reads_is_refused(documents, name):
    document = documents[name]
    assert faults_of(document) == []
    kind = document.get("kind") or ("listing" if "listing" in document else document["verdict"])
    assert kind == ("PROVED" if name == "loop" else name)
    for path in objects(document):
        for key in ("approved", "claim"):
            changed = copy.deepcopy(document)
            there = changed
            for step in path:
                there = there[step]
            if key in there:
                continue
            there[key] = "all"
            assert faults_of(changed), (path, key)


@pytest.mark.parametrize(("part", "key", "value"), [("shifts", "7", "0"), ("invariants", "9", []), ("ranks", "9", "0")])
def test_draws_and_loops_that_there_are_not_are_refused(documents, part, key, value):
    changed = copy.deepcopy(documents["loop"])
    changed["proofs"][0][part][key] = value
    assert faults_of(changed) == ["a proof has entries that no check reads"]


def test_a_key_that_stands_twice_is_refused(documents, tmp_path):
    text = json.dumps(documents["PROVED"])
    path = tmp_path / "twice.json"
    path.write_text('{"claim": "eps/100", ' + text[1:-1] + ', "claim": "eps"}')
    with pytest.raises(InputError, match="certificate"):
        check(path, as_json=True)


def test_a_proof_is_checked_without_anything_that_searches():
    """What `--check` imports for a proof by alignment: the language and the kernel."""
    code = "import sys, sfumato.verify.checking; print(*sorted(m for m in sys.modules if m.startswith('sfumato.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    apart = {"prover", "refuter", "finite", "relational", "verdict", "cases", "pythonic", "run", "simulate"}
    parts = {name.split(".")[2] for name in done.stdout.split() if name.startswith("sfumato.verify.")}
    assert "kernel" in parts
    assert not parts & apart
