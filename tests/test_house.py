"""The house keeps its order: promises name tests that exist, rooms keep to their floor, everything has its place.

The floors themselves are checked by import-linter, in `make check`, which `make test` runs first.
"""

import ast
import importlib
import inspect
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
import typer
from tools.make_docs import LABELS, PAGE, make_page, promise_of, read_promise

from sfumato import errors
from sfumato.algebra.aggregates import AGGREGATES
from sfumato.cli import app
from sfumato.engines import ENGINES
from sfumato.mechanisms import MECHANISMS
from tests.needed import missing

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "sfumato"
MODULES = sorted(SOURCE.rglob("*.py"))
PAPERS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FOUNDATIONS = ("sampling", "accounting", "mechanisms")
BASE = [path for path in MODULES if path.relative_to(SOURCE).parts[0] in FOUNDATIONS]


def name_of(path):
    return str(path.relative_to(ROOT))


def promises():
    """Every docstring with a guarantee: where it stands, and its text."""
    for path in MODULES:
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)) if "Guarantee:" in source else ():
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node) or ""
                if "Guarantee:" in text:
                    yield pytest.param(text, id=f"{name_of(path)}:{getattr(node, 'name', 'module')}")


@cache
def test_names_of(room):
    """The names of all tests in files below tests/room."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests" / room).rglob("*.py"))
    return set(re.findall(r"^\s*def test_(\w+)\(", text, re.MULTILINE))


test_names_of.__test__ = False


@pytest.mark.parametrize("text", list(promises()))
def test_a_promise_has_its_four_parts_and_names_tests_that_exist(text):
    _, parts = read_promise(text)
    assert [label for label, _ in parts] == list(LABELS)
    assert all(content for _, content in parts)
    named = re.findall(r"(\w+)::(\w+)", dict(parts)["Checked by"])
    assert named, "a promise that nothing checks"
    missing = [f"{room}::{name}" for room, name in named if name not in test_names_of(room)]
    assert not missing


def test_there_are_promises():
    assert len(list(promises())) >= len(MECHANISMS) > 0


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_has_a_promise_and_a_section(name):
    assert "Guarantee:" in promise_of(MECHANISMS[name])
    assert f"\n## {name}\n" in PAGE.read_text(encoding="utf-8")


def test_no_mechanism_is_missing_from_the_table():
    """Whatever in the package has a price and a release is audited, documented and fuzzed, for it is in MECHANISMS."""
    package = importlib.import_module("sfumato.mechanisms")
    modules = [
        importlib.import_module(f"sfumato.mechanisms.{path.stem}") for path in (SOURCE / "mechanisms").glob("[a-z]*.py")
    ]
    classes = {
        kind
        for module in modules
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if kind.__module__ == module.__name__ and kind.__name__ != "Mechanism"
    }
    priced = {kind for kind in classes if hasattr(kind, "release") and hasattr(kind, "event")}
    assert len(priced) > 10
    assert priced == set(MECHANISMS.values())
    assert {kind.__name__ for kind in priced} <= set(package.__all__)
    assert all(callable(kind.loss) for kind in priced)


def test_the_page_of_mechanisms_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == make_page(), "`make docs` writes it anew"


def test_every_error_is_drawn_in_the_tree():
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, Exception)]
    assert len(kinds) > 5
    for kind in kinds:
        assert re.search(rf"^ *[│├└─ ]*{kind.__name__}\b", errors.__doc__, re.MULTILINE), kind.__name__


def test_every_command_and_option_is_named_in_the_papers():
    tour = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
    commands = typer.main.get_command(app).commands
    assert commands
    for name, command in commands.items():
        assert f"`sfumato {name}" in tour, name
        for below in getattr(command, "commands", {}):
            assert re.search(rf"`sfumato {name} [^`]*\b{below}\b", tour), f"{name} {below}"
        for option in command.params:
            words = [word for word in option.opts if word.startswith("--") and word != "--policy"]
            assert not words or words[0] in tour, f"{name} {words[0]}"


def test_every_make_word_is_in_the_tour():
    tour = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
    words = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[1].split()
    assert len(words) > 5
    assert not [word for word in words if f"`{word}`" not in tour]


def test_every_room_is_in_the_tour():
    tour = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
    rooms = [path.name for path in SOURCE.iterdir() if path.is_dir() and (path / "__init__.py").exists()]
    assert len(rooms) > 8
    assert not [room for room in rooms if f"\n      {room}/" not in tour]


def test_every_module_is_in_the_tour():
    tour = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8").partition("## Built, and not built")[0]
    words = set(re.findall(r"\w+", tour))
    modules = [path for path in MODULES if not path.stem.startswith("__")]
    assert len(modules) > 700
    assert not [name_of(path) for path in modules if path.stem not in words]


def test_every_package_is_in_the_picture_of_the_readme():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    picture = readme.partition("## The packages")[2].partition("\n## ")[0]
    words = set(re.findall(r"\w+", picture))
    packages = [path.parent.name for path in SOURCE.glob("*/__init__.py")]
    assert len(packages) > 20
    assert not [name for name in packages if name not in words]


@pytest.mark.parametrize("name", AGGREGATES)
def test_an_aggregate_is_named_where_people_read_what_they_may_ask(name):
    kind = AGGREGATES[name]
    assert f"| `{kind.usage}` | {kind.words} |" in (ROOT / "docs/reference/sql.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_is_named_in_the_readme(name):
    assert name in (ROOT / "README.md").read_text(encoding="utf-8").lower()


def test_every_rule_that_the_code_cites_is_in_the_promise():
    """`semantics 3.1` in a docstring is a rule of docs/promise.md."""
    rules = set(
        re.findall(r"^\*\*(\d+\.\d+)\*\*", (ROOT / "docs" / "promise.md").read_text(encoding="utf-8"), re.MULTILINE)
    )
    cited = {
        (rule, name_of(path))
        for path in MODULES
        for group in re.findall(r"semantics ((?:\d+\.\d+[a-z]?(?:, | and )?)+)", path.read_text(encoding="utf-8"))
        for rule in re.findall(r"\d+\.\d+", group)
    }
    assert cited
    assert not {(rule, path) for rule, path in cited if rule not in rules}


def test_every_idea_of_the_course_says_where_it_stands_and_names_tests_that_exist():
    lines = (ROOT / "docs" / "lectures.md").read_text(encoding="utf-8").splitlines()
    rows = [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines if re.match(r"\| \d+ \|", line)
    ]
    assert [int(row[0]) for row in rows] == list(range(1, 49))
    for number, _, state, module, _, checked in rows:
        if state == "not yet":
            assert module + checked == "", number
            continue
        rooms = re.findall(r"`([\w.]+)`", module)
        assert rooms, number
        for room in rooms:
            importlib.import_module(f"sfumato.{room.rpartition('.')[0] if room.split('.')[-1][0].isupper() else room}")
        named = re.findall(r"(\w+)::(\w+)", checked)
        assert named, number
        assert not [name for room, name in named if name not in test_names_of(room)], number


def test_exact_is_opened_by_mechanisms_only():
    may = {path for path in MODULES if path == SOURCE / "types.py" or "mechanisms" in path.relative_to(SOURCE).parts}
    assert len(may) > 1
    assert not [name_of(path) for path in MODULES if path not in may and "_sealed" in path.read_text(encoding="utf-8")]


def test_the_foundations_are_packages():
    assert {path.relative_to(SOURCE).parts[0] for path in BASE} == set(FOUNDATIONS)


@pytest.mark.parametrize("path", BASE, ids=name_of)
def test_the_foundations_need_numpy_cryptography_and_the_standard_library_only(path):
    allowed = set(sys.stdlib_module_names) | {"numpy", "cryptography", "sfumato"}
    assert {name.partition(".")[0] for name in imports(path)} <= allowed


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_room_uses_a_generator_that_can_be_predicted(path):
    names = set(imports(path))
    assert not {name for name in names if name == "random" or name.startswith(("random.", "numpy.random"))}
    assert not re.search(r"\b(np|numpy)\.random\b", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_number_that_carries_a_guarantee_is_guessed(path):
    """`limit_denominator` turns a float into a fraction nearby: neither what was written nor what was computed."""
    assert "limit_denominator" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_nothing_inside_imports_from_the_front_page(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    from_front = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "sfumato"]
    rooms = {child.stem for child in SOURCE.iterdir()}
    assert all(alias.name in rooms for node in from_front for alias in node.names)
    assert "import sfumato\n" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("module", ["sfumato", "sfumato.cli"])
def test_the_front_page_and_the_command_line_are_light(module):
    code = f"import {module}, sys, json; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout)
    assert module in loaded
    heavy = {"numpy", "cryptography", "duckdb", "sqlglot", "pandas", "pyarrow", "scipy", "sqlite3.dbapi2"}
    rooms = {f"sfumato.{room}" for room in ("gateway", "sql", "engines", "ledger", "policy", "mechanisms", "sampling")}
    assert not (heavy | rooms) & set(loaded)


def test_the_front_page_knows_two_words_and_its_version():
    import sfumato
    from sfumato import gateway

    assert (sfumato.open, sfumato.protect) == (gateway.open_policy, gateway.protect)
    assert {"open", "protect", "__version__"} <= set(dir(sfumato))
    assert sfumato.__version__ == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    with pytest.raises(AttributeError, match="nothing"):
        _ = sfumato.nothing


def test_every_exception_to_a_rule_of_style_has_its_reason():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    lint = text.partition("\nignore = [")[2].partition("[tool.ruff.lint.pydocstyle]")[0]
    codes = [line for line in lint.splitlines() if re.match(r'^\s+"[A-Z]+\d*"|^".*= \["', line)]
    assert len(codes) > 20
    assert not [line for line in codes if not re.search(r"# \w+", line)]
    files = [*MODULES, *(ROOT / "tests").rglob("*.py"), *(ROOT / "tools").rglob("*.py")]
    bare = re.compile(r"# noqa(?!: [A-Z]+\d+(?:, ?[A-Z]+\d+)*[ :-]+[a-z])(?!\()")
    assert not [name_of(path) for path in files if bare.search(path.read_text(encoding="utf-8"))]


def repository():
    """Every text file that belongs to the project, found without git, which a newcomer may not have."""
    apart = {".git", "__pycache__", "build", "dist", "sfumato-demo", ".hypothesis", "node_modules"}
    for path in ROOT.rglob("*"):
        parts = path.relative_to(ROOT).parts
        if any(p in apart or p.startswith(".venv") or p.endswith(("_cache", ".egg-info")) for p in parts):
            continue
        if path.is_file():
            yield path


def test_the_project_speaks_of_itself_only():
    """No path of a developer's machine, no address of a package index, no number of a ticket."""
    unspoken = [
        "/" + "work/",
        "../" + "shared",
        ".." + "/.library",
        "before" + "-stop",
        "/opt/" + "pypi",
        "/opt/" + "wheels",
    ]
    ticket = re.compile(r"\bissue" + r"s? #?\d+", re.IGNORECASE)
    files = list(repository())
    assert len(files) > 30
    for path in files:
        text = path.read_bytes().decode("utf-8", errors="ignore")
        assert not [word for word in unspoken if word in text], name_of(path)
        assert not ticket.search(text), name_of(path)


FACES = {
    "accounting": set(),
    "sampling": set(),
    "ledger": set(),
    "audit": set(),
    "learn": set(),
    "mechanisms": {"metrics"},
    "gateway": {"opening", "rederive", "rounding"},
    "intervals": {
        "cell_intervals", "column_intervals", "fine_columns", "fine_numbers", "no_interval", "prefix_sums",
        "provenance", "row_provenance",
    },
    "sql": {
        "catalog.queries", "catalog.session_values", "catalog.tableless", "catalog.text_types", "catalog.translation",
        "query_binding", "read.lexer", "read.moments", "read.parameters", "read.parser", "read.zones",
        "release.bundles", "release.claims", "release.digest", "release.normal_form", "release.plan", "release.ranks",
        "release.release_plan", "release.releases", "unit_sizes",
    },
}  # fmt: skip
"""The packages that others enter through their face, and the modules that are entered beside it."""


def test_packages_are_entered_through_their_faces():
    """A module inside of a package may be moved or renamed without a look at other packages."""
    entered = {package: set() for package in FACES}
    for path in MODULES:
        own = path.relative_to(SOURCE).parts[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sfumato."):
                _, package, *inside = node.module.split(".")
                for alias in node.names:
                    names = inside + [alias.name] * (SOURCE.joinpath(package, *inside, f"{alias.name}.py").exists())
                    if package in FACES and package != own and names:
                        entered[package].add(".".join(names))
    assert entered == FACES


def test_the_docstring_of_a_package_names_modules_that_exist():
    """A module that was renamed is renamed there, too; words that are no modules are allowed by name."""
    other = {"sfumato", "release", "loss", "sample_", "program", "lifting", "console"}
    wrong = {}
    for path in SOURCE.rglob("__init__.py"):
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        names = {*re.findall(r"`([a-z_]+)`", text), *re.findall(r"^    (\w+)\s{2,}", text, re.MULTILINE)}
        wrong[name_of(path)] = names - {child.stem for child in path.parent.iterdir()} - other
    assert {path: names for path, names in wrong.items() if names} == {}


def test_a_class_name_exists_once():
    """Two public classes of one name are two meanings of a word: a reader cannot tell which one is meant."""
    places = defaultdict(list)
    for path in MODULES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(SOURCE)))
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}
    assert len(places) > 400


def imported_by(module):
    """The modules of the package that a module imports, at its head or inside of functions, and so on from there."""
    places = {".".join(path.relative_to(SOURCE.parent).with_suffix("").parts): path for path in MODULES}
    places = {name.removesuffix(".__init__"): path for name, path in places.items()}
    reached, left = set(), [module]
    while left:
        name = left.pop()
        if name in reached or name not in places:
            continue
        reached.add(name)
        for node in ast.walk(ast.parse(places[name].read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                left += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                left += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return {name: len(places[name].read_text(encoding="utf-8").splitlines()) for name in reached}


CHECKED = {"kernel.certificate": 6_050, "kernel.sampling": 6_270, "kernel.secrecy": 7_820, "checking": 14_430}
"""Lines of verify that are trusted when a certificate is checked: a proof of a claim, of a claim about a sample, of
secrecy, and any certificate at all. These numbers only ever go down.
"""
SEARCHES = re.compile(
    r"sfumato\.verify\.(prover\b|verdict|tight|undecided|simulate|explain|audited"
    r"|refuter\.(bound|boxes|discrete|inputs|lettered|marks|normal|points|renyi|search|small|twin)"
    r"|relational\.(finding|search|solve|table))"
)


@pytest.mark.parametrize(("module", "most"), CHECKED.items())
def test_what_checks_a_certificate_only_shrinks_and_imports_no_search(module, most):
    found = {name: lines for name, lines in imported_by(f"sfumato.verify.{module}").items() if ".verify" in name}
    assert not [name for name in found if SEARCHES.match(name)]
    assert most - 100 <= sum(found.values()) <= most, "the bound follows what is measured, and is never raised"


def test_every_script_of_the_console_and_the_clients_can_be_read():
    """One wrong quote leaves a page without its script."""
    node = shutil.which("node")
    if node is None:
        missing("node is not installed")
    scripts = [*(SOURCE / "server" / "console" / "static").rglob("*.js"), *(ROOT / "clients").rglob("*.js")]
    assert len(scripts) > 20
    wrong = {}
    for script in scripts:
        read = [node, "--check", "--input-type=module"]
        done = subprocess.run(read, input=script.read_bytes(), capture_output=True, check=False)
        if done.returncode:
            wrong[name_of(script)] = done.stderr.decode()[:300]
    assert wrong == {}
