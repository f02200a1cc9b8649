"""Where keys and values stand in TOML: examples of every kind of text, and a writer that knows what it wrote."""

import re
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.policy.positions import DEEPEST, scan


def spot(text, *path, value=True):
    spots = scan(text)
    return (spots.values if value else spots.keys)[path]


def test_positions_in_inline_tables_and_lists_of_several_lines():
    text = 'a = { b.c = [ # one ] here\n  1, [2, 3], # "x\n  { d = """]\n""" , e=4}\n], f = \'}\' }\n'
    text += "g = 2024-01-01 07:32:00 # h = 1\n"
    assert text[spot(text, "a", "b", "c", 1, 1)] == "3"
    assert text[spot(text, "a", "b", "c", 2, "e")] == "4"
    assert text[spot(text, "a", "b", "c", 2, "e", value=False)] == "e"
    assert text[spot(text, "a", "f", value=False)] == "f"
    assert text[spot(text, "g", value=False)] == "g"
    assert set(scan(text).keys) == {
        ("a",), ("a", "b"), ("a", "b", "c"), ("a", "b", "c", 2, "d"), ("a", "b", "c", 2, "e"), ("a", "f"), ("g",),
    }  # fmt: skip


def test_positions_of_headers_quoted_keys_and_lists_of_tables():
    text = "[a.\"b\\u0063.d\"]\n'x y'.z = 1\n[[l]]\nk = 1\n[[ l ]] # two\nk = 2\n[l.m]\nk = 3\n"
    assert text[spot(text, "a", "bc.d", "x y", "z")] == "1"
    assert text[spot(text, "a", "bc.d", value=False) :].startswith('"b\\u0063.d"')
    assert [text[spot(text, *path)] for path in (("l", 0, "k"), ("l", 1, "k"), ("l", 1, "m", "k"))] == ["1", "2", "3"]


def test_positions_below_the_deepest_list_go_on_after_it():
    deep = "[" * (DEEPEST + 9) + "'[', \"]\", #]\n 1" + "]" * (DEEPEST + 9)
    text = f"a = {deep}\nb = 2\n"
    assert text[spot(text, "b")] == "2"
    assert max(map(len, scan(text).values)) == DEEPEST + 1


def test_a_key_stands_where_it_is_first_named():
    text = "a.b = 1\na.c = 2\n[d.e]\n[d]\n"
    assert spot(text, "a", value=False) == 0
    assert spot(text, "d", value=False) == text.index("d")


@pytest.mark.parametrize(
    "quoted", ['"""a"""', '""""a"""""', "''''a'''''", '"""\\""" x = 1"""', '""', "''", '"\\\\"', '""""""']
)
def test_positions_after_texts_of_every_kind(quoted):
    text = f"a = [{quoted}, 1]\nb = 2"
    assert tomllib.loads(text)["b"] == 2
    assert text[spot(text, "a", 1)] == "1"
    assert text[spot(text, "b")] == "2"


class Writer:
    """Writes TOML in many styles and notes where it writes: an oracle that never reads."""

    def __init__(self, draw):
        self.draw, self.text, self.keys, self.values, self.content = draw, "", {}, {}, {}

    def put(self, *styles):
        self.text += self.draw(st.sampled_from(styles))

    def key(self, path):
        self.keys[path] = len(self.text)
        name = path[-1]
        self.put(f'"{name}"', f"'{name}'", *([name] if re.fullmatch(r"[\w-]+", name, re.ASCII) else []))

    def value(self, path, depth=2):
        self.values[path] = len(self.text)
        kind = self.draw(st.sampled_from(["atom", "atom", "list", "table"][: 4 if depth else 2]))
        if kind == "atom":
            self.put(
                "1", "-0.5", "true", "2024-01-01", '"a#]"', "'},'", '"""x\n[k]\n= 1"""', "'''\"'''", '"\\""', '"é‸"'
            )
        elif kind == "list":
            self.put("[", "[ ", "[\n", "[ # ]\n\t")
            for index in range(size := self.draw(st.integers(0, 3))):
                self.value((*path, index), depth - 1)
                self.put(*([", ", ",", "\n,\n", " , # x = [\n"] if index < size - 1 else ["", " ", "\n", ", #,\n"]))
            self.put("]")
        else:
            self.put("{", "{ ")
            for index in range(size := self.draw(st.integers(0, 3))):
                self.pair((*path, f"i{index}"), depth - 1)
                self.put(*([", ", ",", " , "] if index < size - 1 else ["", " "]))
            self.put("}")

    def pair(self, path, depth=2):
        self.key(path)
        if self.draw(st.booleans()):
            self.put(".", " . ")
            path = (*path, "d.t")
            self.key(path)
        self.put("=", " = ", "\t=")
        self.value(path, depth)

    def document(self):
        sections = [(), *((f"s{index}", "é") for index in range(self.draw(st.integers(0, 2))))]
        for section in sections:
            if section:
                self.put("[", "[ ", "# [no]\n[")
                self.key(section[:1])
                self.put(".", " . ")
                self.key(section)
                self.put("]\n", " ] # [x]\n")
            for index in range(self.draw(st.integers(0, 3))):
                self.put("", "\n", "  ", "# k = 1\n")
                self.pair((*section, f"k{index}"))
                self.put("\n", " # y = {\n")
        return self


@given(st.data())
def test_positions_are_exact(data):
    writer = Writer(data.draw).document()
    tomllib.loads(writer.text)  # the oracle writes TOML
    spots = scan(writer.text)
    assert spots.keys == writer.keys
    assert spots.values == writer.values
