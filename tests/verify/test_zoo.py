"""The page of the sparse-vector zoo says what the verifier says."""

import re

import pytest
from tools import make_zoo

from sfumato.verify import program

PAGE = (make_zoo.DOCS / "zoo.md").read_text(encoding="utf-8")
LINES = {line.split("]")[0].removeprefix("| ["): line for line in PAGE.splitlines() if line.startswith("| [")}


def test_every_program_of_the_zoo_is_on_its_page_and_the_picture_is_drawn_from_it():
    assert list(LINES) == [path.stem for path in make_zoo.FILES]
    assert (make_zoo.DOCS / "zoo.svg").read_text(encoding="utf-8") == make_zoo.picture(PAGE)


@pytest.mark.parametrize("path", make_zoo.FILES[2:7:2], ids=lambda path: path.stem)
def test_what_the_page_says_is_proved_is_proved(path):
    text = path.read_text(encoding="utf-8")
    verdict, proved = re.search(r"\| (\w+) \| `?([^`|]*)`? \|", LINES[path.stem]).groups()
    assert program(text).verify().verdict == verdict
    if proved != "nothing":
        assert program(text.replace("claim eps;", f"claim {proved};")).verify().verdict == "PROVED"


@pytest.mark.slow
@pytest.mark.parametrize("path", make_zoo.FILES, ids=lambda path: path.stem)
def test_the_page_is_what_the_verifier_says(path):
    assert make_zoo.row(path, *make_zoo.found(path)) == LINES[path.stem]
