"""The examples run: every ```python block of README.md and docs/, page by page, and every >>> in a docstring."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = {
    str(path.relative_to(ROOT)): BLOCK.findall(path.read_text(encoding="utf-8"))
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
}


def test_the_readme_has_an_example():
    assert PAGES["README.md"]


@pytest.mark.parametrize("page", [page for page, blocks in PAGES.items() if blocks])
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__docs__"}
    for number, block in enumerate(PAGES[page], 1):
        exec(compile(block, f"{page} block {number}", "exec"), names)


SOURCE = ROOT / "src"
MODULES = [
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(SOURCE.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_in_docstrings_are_true(module):
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted > 0
    assert result.failed == 0


LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")


@pytest.mark.parametrize("page", PAGES)
def test_links_between_pages_lead_somewhere(page):
    path = ROOT / page
    broken = [link for link in LINK.findall(path.read_text(encoding="utf-8")) if not (path.parent / link).exists()]
    assert not broken


def test_every_file_of_the_walk_is_in_the_picture_of_the_tour():
    tour = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
    picture = tour.partition("## Inside bind and plan")[2].partition("\n## ")[0]
    files = [path.stem for path in (SOURCE / "sfumato" / "sql").glob("*.py") if path.stem != "__init__"]
    assert len(files) > 20
    assert not [name for name in files if not re.search(rf"\b{name}\b", picture)]
