"""The page of programs that other verifiers published says what ours says."""

import re

import pytest
from tools import make_published

from sfumato.verify import program

PAGE = (make_published.DOCS / "published.md").read_text(encoding="utf-8")
LINES = {line.split("]")[0].removeprefix("| ["): line for line in PAGE.splitlines() if line.startswith("| [")}


def test_every_published_program_is_on_its_page():
    assert list(LINES) == [path.stem for path in make_published.FILES]
    assert PAGE.startswith(make_published.HEAD)
    assert PAGE.endswith(make_published.FOOT)


@pytest.mark.parametrize("path", make_published.FILES, ids=lambda path: path.stem)
def test_a_published_program_has_the_verdict_of_its_page(path):
    verdict, seconds = re.search(r"\| (\w+) \| ([\d.]+) \|$", LINES[path.stem]).groups()
    assert program(path.read_text(encoding="utf-8")).verify().verdict == verdict
    assert LINES[path.stem] == make_published.row(path, verdict, float(seconds))
