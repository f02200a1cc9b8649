"""The examples run: every ```python block of README.md and docs/, page by page, every notebook and every docstring."""

import doctest
import importlib
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tools.make_reference import POLICY_KEYS, REFERENCE
from tools.make_site import build
from tools.run_notebooks import cells_of, run

import sfumato
from sfumato.cli import main
from sfumato.cli.clinic import POLICY as CLINIC
from sfumato.cli.clinic import write_clinic
from sfumato.policy import parse
from sfumato.policy.sections import Section
from sfumato.server.users import Users

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
SAVED = re.compile(r"^Save this as `([\w.]+)`:\n\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
"""Files that have no comments, such as CSV: what is copied from the page must be the file."""
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
    text = (ROOT / page).read_text(encoding="utf-8")
    for name, content in (*FILE.findall(text), *SAVED.findall(text)):
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


LISTED = re.compile(r"^ {4}(sfumato .*)$", re.MULTILINE)
"""Commands in an indented block, with a comment behind them: what they print depends on noise, time or a password."""


@pytest.mark.parametrize("page", ["docs/data-protection.md", "docs/tutorials/owner.md"])
def test_the_commands_that_a_page_lists_run_in_its_order(page, tmp_path, monkeypatch, capsys):
    """A page either brings its files or is about the clinic of the demo, after an answer."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / page).read_text(encoding="utf-8")
    steps = [(match.start(), match.groups()) for pattern in (SAVED, FILE, LISTED) for match in pattern.finditer(text)]
    if not SAVED.search(text):
        write_clinic(tmp_path)
        with sfumato.open(tmp_path / "sfumato.toml") as gate:
            gate.sql("SELECT COUNT(*) FROM patient", epsilon="0.1", analyst="ana")
        Users(tmp_path / ".sfumato").add("ana", "analyst", "a password of hers")
    commands = 0
    for _, (first, *content) in sorted(steps):
        if content:
            (tmp_path / first).write_text(content[0], encoding="utf-8")
            continue
        words = shlex.split(first, comments=True)
        if words[1] == "serve":
            words += ["--check", "--pg", "127.0.0.1:0", "--http", "127.0.0.1:0"]
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as stopped:
            main()
        assert not stopped.value.code, (first, capsys.readouterr().err)
        commands += 1
    assert commands >= 8


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
    picture = tour.partition("## Inside `sql`, `algebra`, `intervals` and the engines")[2].partition("\n## ")[0]
    folders = [SOURCE / "sfumato" / name for name in ("sql", "algebra", "intervals", "engines")]
    paths = [path for folder in folders for path in folder.rglob("*.py") if path.parent.name != "aggregates"]
    files = [path.stem for path in paths if path.stem != "__init__"]
    assert len(files) > 70
    assert not [name for name in files if not re.search(rf"\b{name}\b", picture)]


def test_the_program_that_the_page_on_verifying_releases_is_proved():
    from sfumato.verify import program

    text = (ROOT / "docs/verify.md").read_text(encoding="utf-8").partition("`total.sfp`:\n\n")[2].partition("\n\n")[0]
    right = program(text).verify()
    assert (right.verdict, right.scope) == ("PROVED", "all")


# pages that are made from the code, the site, the notebooks


@pytest.mark.parametrize("name", REFERENCE)
def test_a_page_of_the_reference_is_up_to_date(name):
    page = (ROOT / "docs/reference" / f"{name}.md").read_text(encoding="utf-8")
    assert page == REFERENCE[name](), "`make docs` writes it anew"


def test_every_key_that_a_policy_takes_is_in_the_reference(monkeypatch):
    """The sections of a policy say which keys they take; the page names exactly these."""
    taken = {}

    def only(section, *allowed, homes=None):
        taken.setdefault(" ".join(map(str, section.path)), set()).update(allowed)

    monkeypatch.setattr(Section, "only", only)
    place = '[tables.visit.columns.place]\ntype = "point"\ngrid = 500\nlat = "a"\nlon = "b"\n'
    two = "[tables.visit.columns]\n" + "".join(f'{n} = {{ type = "decimal", min = 0, max = 9 }}\n' for n in "ab")
    parse(CLINIC.replace("[tables.visit.columns]\n", two) + place, ROOT / "sfumato.toml")
    names = {
        "source": "source",
        "data": "data",
        "privacy": "privacy",
        "analysts ana": "analysts.NAME",
        "tables patient": "tables.NAME",
        "tables patient columns age": "tables.NAME.columns.NAME",
        "tables visit columns place": "tables.NAME.columns.NAME (a place)",
    }
    assert {name: taken[path] for path, name in names.items()} == {k: set(v) for k, v in POLICY_KEYS.items()}


def test_the_site_is_built_and_its_links_lead_somewhere(tmp_path):
    assert build(tmp_path / "site") == []
    pages = sorted((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 60
    assert "<h2>Tutorials</h2>" in (tmp_path / "site/index.html").read_text(encoding="utf-8")
    for page in pages:
        for link in re.findall(r'href="([^"#:]+)(?:#[^"]*)?"', page.read_text(encoding="utf-8")):
            target = page.parent / link
            assert target.exists() or not target.resolve().is_relative_to(tmp_path) or target.suffix == "", (page, link)


def test_a_broken_link_is_noticed(tmp_path, monkeypatch):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text("# A\n[b](b.md) [c](index.md#a) [d](index.md#nowhere) [e](https://a.org)\n")
    monkeypatch.setattr("tools.make_site.ROOT", tmp_path)
    assert [fault.split(": ")[1] for fault in build(tmp_path / "site")] == ["b.md", "index.md#nowhere"]


def test_every_page_is_in_the_index():
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    pages = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    apart = ("decisions", "adult")
    assert not [
        page for page in pages if page.parts[0] not in apart and f"]({page})" not in index and page.name != "index.md"
    ]


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs_and_was_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = cells_of(path)
    before = [len(cell["outputs"]) for cell in cells if cell["cell_type"] == "code"]
    after = [len(cell["outputs"]) for cell in run(cells) if cell["cell_type"] == "code"]
    assert before == after
    assert sum(before) >= 6


def test_the_examples_pass_a_strict_type_check(tmp_path):
    """As a user's own files: README, docs and notebooks."""
    sources = {page: "\n".join(blocks) for page, blocks in PAGES.items() if blocks}
    for path in (ROOT / "examples").glob("*.ipynb"):
        cells = ["".join(cell["source"]) for cell in cells_of(path) if cell["cell_type"] == "code"]
        sources[path.stem] = "\n".join(cells)
    for page, source in sources.items():
        (tmp_path / f"{re.sub(r'[^a-z0-9]', '_', page.lower())}.py").write_text(source, encoding="utf-8")
    foreign = "pandas,pandas.*,polars,numpy,httpx,pyarrow,z3,z3.*,flint,scipy,scipy.*"
    config = tmp_path / "mypy.ini"
    config.write_text(
        f"[mypy]\nstrict = True\n[mypy-{foreign}]\nignore_missing_imports = True\nfollow_imports = silent\n"
    )
    words = ["-m", "mypy", "--config-file", str(config), "--cache-dir", str(ROOT / ".mypy_cache"), str(tmp_path)]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
