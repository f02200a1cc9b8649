"""Programs as slides write them: words of their own, and bodies without braces that end where lines go back."""

import pytest

from sfumato.errors import InputError
from sfumato.verify.parse import read_program
from sfumato.verify.verdict import verify

HEAD = "requires size d >= 1; adjacent one; claim eps;\n"
MEAN = """Mean (d : private data) : public real
requires size d >= 1; adjacent one; claim eps;
i:=0;
s:=0;
while (i<size d)
  s:=s + d[i]
  i:=i+1;
z:=$ Laplace (1/(size d * eps),0)
z:= (s/i)+z
return z
"""


def test_the_mean_of_the_slides_is_read_and_proved():
    braces = MEAN.replace("private data", "private [0,1] list").replace("size d", "size(d)")
    braces = braces.replace("(i<size(d))", "(i<size(d)) {").replace("i:=i+1;", "i:=i+1; }")
    assert read_program(MEAN).body == read_program(braces).body
    assert read_program(MEAN).params == read_program(braces).params
    assert verify(read_program(MEAN)).verdict == "PROVED"
    assert verify(read_program(MEAN.replace("(s/i)+z", "s/i"))).verdict == "REFUTED"


LAYOUTS = {
    "one statement": ("if (i > 0)\n  i := 1\ni := 2\n", "if (i > 0) { i := 1 } i := 2"),
    "a statement in the line": ("if (i > 0) i := 1\ni := 2\n", "if (i > 0) { i := 1 } i := 2"),
    "two statements in the line of the word": ("if (i > 0) i := 1; i := 2\n", "if (i > 0) { i := 1 } i := 2"),
    "else of the outer one": (
        "if (i > 0)\n  if (i > 5)\n    i := 1\nelse\n  i := 2\n", "if (i > 0) { if (i > 5) { i := 1 } } else { i := 2 }"
    ),
    "else of the inner one": (
        "if (i > 0)\n  if (i > 5)\n    i := 1\n  else\n    i := 2\n",
        "if (i > 0) { if (i > 5) { i := 1 } else { i := 2 } }",
    ),
    "else after braces": (
        "if (i > 0)\n  if (i > 5) { i := 1 }\nelse\n  i := 2\n", "if (i > 0) { if (i > 5) { i := 1 } } else { i := 2 }"
    ),
    "else if": (
        "if (i > 0)\n  if (i > 5)\n    i := 1\n  else if (i > 3)\n    i := 2\n  else\n    i := 3\nelse\n  i := 4\n",
        "if (i > 0) { if (i > 5) { i := 1 } else { if (i > 3) { i := 2 } else { i := 3 } } } else { i := 4 }",
    ),
    "not further right": ("while (i > 9)\ni := 1\ni := 2\n", "while (i > 9) { i := 1 } i := 2"),
    "two statements": ("while (i > 9)\n  i := 1\n  j := 2\ni := 2\n", "while (i > 9) { i := 1; j := 2 } i := 2"),
    "else": (
        "if (i > 0)\n  i := 1\n  j := 1\nelse\n  i := 2\n  j := 2\nk := 3\n",
        "if (i > 0) { i := 1; j := 1 } else { i := 2; j := 2 } k := 3",
    ),
    "inside of each other": (
        "while (i > 9)\n  if (i > 20)\n    i := 1\n    j := 1\n  k := 2\nm := 3\n",
        "while (i > 9) { if (i > 20) { i := 1; j := 1 } k := 2 } m := 3",
    ),
    "inside of braces": (
        "if (i > 0) { while (i > 9)\n  i := 1\n  j := 1 }\n",
        "if (i > 0) { while (i > 9) { i := 1; j := 1 } }",
    ),
    "a tab": ("while (i > 9)\n\ti := 1\n\tj := 2\ni := 2\n", "while (i > 9) { i := 1; j := 2 } i := 2"),
}  # fmt: skip
UNCLEAR = {
    "two in a line of the body": "while (i > 9)\n  i := 1; j := 2\ni := 2\n",
    "a line between": "if (i > 0)\n    i := 1\n  j := 2\ni := 2\n",
    "a line beyond": "if (i > 0)\n  i := 1\n    j := 2\ni := 2\n",
    "a line to the right after one in the line": "if (i > 0) i := 1\n  i := 2\n",
    "else below neither": "if (i > 0)\n  if (i > 5)\n    i := 1\n   else\n    i := 2\n",
    "else below two": "if (i > 0) if (i > 5)\n  i := 1\nelse\n  i := 2\n",
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_body_without_braces_is_what_stands_to_the_right(name):
    slides, braces = (
        read_program(f"P(d : private data) : public int\n{HEAD}i := 0\n{text}\nreturn 0") for text in LAYOUTS[name]
    )
    assert slides.body == braces.body


@pytest.mark.parametrize("name", UNCLEAR)
def test_a_layout_with_two_readings_is_refused(name):
    """A reader and the parser would take it for two different programs."""
    with pytest.raises(InputError, match=r"(leaves open|lines up).* line \d+ column \d+"):
        read_program(f"P(d : private data) : public int\n{HEAD}i := 0\n{UNCLEAR[name]}\nreturn 0")


def test_words_of_slides_mean_what_they_say():
    tree = read_program(
        "P(d : private data) : public real\n" + HEAD + "size := 3; z :=$ Gaussian(2, size)\nreturn size + z"
    )
    assert tree.body[1].law == "Gauss"
    assert verify(
        read_program("P(size : private real) : public real adjacent one; claim eps; return size")
    ).verdict == ("REFUTED")


@pytest.mark.parametrize(
    ("kind", "value"),
    [("real", "[1]"), ("real", "true"), ("bool", "1"), ("bool", "[true]"), ("int list", "3"), ("(int, int)", "false")],
)
def test_an_output_of_another_kind_than_declared_is_an_error(kind, value):
    with pytest.raises(InputError, match=r"expected a .*, found a .*, line 1 column"):
        read_program(f"P(x : private real) : public {kind} adjacent one; claim eps; return {value}")
    read_program("P(x : private real) : public real list adjacent one; claim eps; return [1, true]")
