"""The examples run: every ```python block of README.md and docs/, page by page, and every >>> in a docstring."""

import doctest
import importlib
import re
import shlex
import sys
from pathlib import Path

import pytest

from sfumato.doors.cli import main

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


CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^```\w+\n# ([\w.]+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
TRANSCRIPTS = {page: CONSOLE.findall((ROOT / page).read_text(encoding="utf-8")) for page in PAGES}


def transcript(block):
    """The commands of a block, each with what it is said to print."""
    for part in block.split("$ ")[1:]:
        command, _, printed = part.partition("\n")
        yield command, printed


@pytest.mark.parametrize("page", [page for page, blocks in TRANSCRIPTS.items() if blocks])
def test_the_commands_of_a_page_print_what_it_says(page, tmp_path, monkeypatch, capsys):
    """Files that a page shows, by the name in their first line, are there; a failure prints to stderr."""
    monkeypatch.chdir(tmp_path)
    for name, content in FILE.findall((ROOT / page).read_text(encoding="utf-8")):
        (tmp_path / name).write_text(content, encoding="utf-8")
    for block in TRANSCRIPTS[page]:
        for command, printed in transcript(block):
            words = shlex.split(command)
            assert words[0] == "sfumato"
            monkeypatch.setattr(sys, "argv", words)
            with pytest.raises(SystemExit):
                main()
            out, err = capsys.readouterr()
            assert (out + err).rstrip() == printed.rstrip(), command


def test_the_lectures_have_their_commands():
    assert sum(len(list(transcript(block))) for block in TRANSCRIPTS["docs/lectures.md"]) > 30


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


def test_the_program_that_the_readme_releases_is_proved():
    from sfumato.verify import program

    text = (ROOT / "README.md").read_text(encoding="utf-8").partition("`total.sfp`:\n\n")[2].partition("\n\n")[0]
    right = program(text).verify()
    assert (right.verdict, right.scope) == ("PROVED", "all")
