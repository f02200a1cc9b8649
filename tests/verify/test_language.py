"""Texts, Python functions and errors."""

import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.errors import InputError
from sfumato.verify import program
from sfumato.verify.parse import read_program, read_proof
from sfumato.verify.show import show, show_body
from sfumato.verify.tree import expressions, statements

FILES = sorted((Path(__file__).parent / "programs").glob("*.sfp"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_program_that_is_shown_reads_as_the_same(path):
    tree = read_program(path.read_text())
    header = path.read_text().partition(";\n  ")[0] + ";\n"
    again = read_program(header + "\n".join(show_body(tree.body)))
    assert again.body == tree.body
    for statement in statements(tree.body):
        for node in expressions(statement):
            assert read_proof(show(node)) == node


@pytest.mark.parametrize(
    "text", ["-(-x)", "--x".replace("--", "- -"), "a - (b - c)", "2 ^ -x", "!(!a)", "-x ^ 2", "(a < b) = c"]
)
def test_an_expression_that_is_shown_reads_as_the_same(text):
    assert read_proof(show(read_proof(text))) == read_proof(text)


HEAD = "F(x : private real) : public real adjacent one; claim eps; "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected the program's name, found 'the end of the text', line 1 column 1"),
        ("F(x : real) : public real", "expected 'private' or 'public', found 'real', line 1 column 7"),
        ("F(x : private real) : private real", "expected 'public'"),
        (HEAD + "return y", 'expected a known name, found "y", line 1 column 67'),
        (HEAD + "return f(x)", 'expected a known function, found "f"'),
        (HEAD + "return min(x)", "expected 2 arguments of min, found 1"),
        (HEAD + "x := 1", "expected a return on every path"),
        (HEAD + "if (x > 0) { return 1 }", "expected a return on every path"),
        (HEAD + "z :=$ Cauchy(1)", "expected a law"),
        (HEAD + "z :=$ Laplace(1)", "expected 2 arguments of Laplace, found 1"),
        (HEAD + "return x +", "expected an expression, found 'the end of the text'"),
        (HEAD + "return #place", "expected a word of the language, found '#'"),
        (HEAD + "while (x > 0) { x := 1", "expected a statement or '}'"),
        ("F(x : private real) : public real claim eps; return x", "expected an adjacency"),
        ("F(x : private real) : public real adjacent one; return x", "expected one of claim and property"),
        (HEAD + "claim 2*eps; return x", "expected one claim"),
        ("F(x : private real) : public real adjacent one; claim x; return x", 'expected a public name, "x" is private'),
        ("F(x : private {0,2}) : public real adjacent one; claim eps; return x", "expected {0,1} or a range"),
        ("F(x : private real, x : public real) : public real adjacent one; claim eps; return x", "expected a new name"),
        ("F(x : private real) : public real adjacent some; claim eps; return x", "expected one of one, all"),
    ],
)
def test_a_mistake_is_named_with_its_place(text, message):
    with pytest.raises(InputError) as raised:
        read_program(text)
    assert message in raised.value.message


def test_numbers_are_those_that_are_written():
    tree = read_program(HEAD + "return 0.1 + 1e-5 + 3")
    assert "1 / 10" in show(tree.body[0].value)


def test_layout_and_short_words_do_not_matter():
    first = read_program("F(x:priv real):pub real adjacent one;claim eps;z:=$Laplace(1/eps,0)return x+z")
    second = read_program(
        "F ( x : private real ) : public real -- a\n adjacent one ;\n claim eps ;"
        "z :=$ Laplace ( 1 / eps , 0 ) ; return x + z ;"
    )
    assert first == second


@program(adjacent="all", claim="eps", requires="N >= 1")
def sparse(q: "private real list", T: "public real", N: "public int") -> "public bool list":  # noqa: F722, N803  read as the language reads it
    """Sparse vector, as a Python function."""
    e = Laplace(2 / eps, 0)  # noqa: F821  a word of the language
    n = 0
    k = 0
    out = []
    while n < N and k < len(q):
        f = Laplace(4 * N / eps, 0)  # noqa: F821  a word of the language
        if q[k] + f >= T + e:
            out = out + [True]  # noqa: RUF005  lists are joined like this in the subset
            n += 1
        else:
            out = out + [False]  # noqa: RUF005  lists are joined like this in the subset
        k += 1
    return out


def test_a_python_function_is_the_same_program():
    text = """sparse(q : private real list, T : public real, N : public int) : public bool list
    adjacent all; claim eps; requires N >= 1;
    e :=$ Laplace(2/eps, 0); n := 0; k := 0; out := [];
    while (n < N && k < size(q)) { f :=$ Laplace(4*N/eps, 0);
      if (q[k] + f >= T + e) { out := out ++ [true]; n := n + 1 } else { out := out ++ [false] } k := k + 1 }
    return out"""
    assert sparse.tree == read_program(text)
    assert sparse.verify().verdict == "PROVED"


def test_what_is_not_in_the_subset_is_named_with_its_line():
    from sfumato.verify.pythonic import translated

    head = 'def f(x: "private real") -> "public real":\n'
    for line in ("    for i in x: pass", "    import os", "    return 1 + (x if x else 1)", "    x, y = 1, 2"):
        with pytest.raises(InputError, match=r"expected .* line 2 column"):
            translated(head + line, {})
    with pytest.raises(InputError, match="annotation"):
        translated("def f(x):\n    return x", {})


def test_reading_programs_loads_no_solver():
    code = (
        "import sys, sfumato.verify; print([name for name in ('z3', 'flint', 'numpy', 'cvc5') if name in sys.modules])"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip() == "[]"
    )


def test_without_the_solvers_it_says_which_line_installs_them(monkeypatch):
    monkeypatch.setattr("sfumato.verify.code.find_spec", lambda name: None)
    with pytest.raises(InputError, match="needs z3-solver and python-flint") as raised:
        sparse.verify()
    assert raised.value.hint == "pip install 'sfumato[verify]'"


def test_a_simulation_shows_every_kind_of_output():
    outputs = sparse.simulate(500, q=[0, 5, -5], T=0, N=2, eps=1)
    assert len(outputs) == 500
    assert {len(output) for output in outputs} == {2, 3}
    assert all(isinstance(item, bool) for output in outputs for item in output)
    with pytest.raises(InputError, match="needs a value of 'T'"):
        sparse.simulate(5, q=[0])


def test_an_explanation_names_every_draw_and_its_shift():
    from sfumato.verify.explain import explained, summary

    verdict = sparse.verify()
    text = "\n".join(summary(sparse.tree, verdict) + explained(sparse.tree, verdict))
    assert "PROVED for all sizes" in text
    assert "Δe - Δq[k] if q[k] + f >= T + e, else 0" in text
    assert "#" not in text
