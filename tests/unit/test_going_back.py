"""No regular expression of ours goes back over a text again and again: Python holds the interpreter while it matches.

No limit on time is looked at meanwhile, and no other client is served. Every pattern of the program is found in its
source, and given texts that repeat what it repeats and end with what it does not match; its steps are counted, not its
time. What is not linear is listed here with the reason why it may stay so.
"""

import ast
import importlib
import re
import sys
from functools import cache
from pathlib import Path

import pytest
from sqlglot.dialects.dialect import Dialect
from sqlglot.expressions import builders, core

from sfumato.algebra.functions.times import PARSED
from sfumato.algebra.interval_values import LONGEST, read
from sfumato.errors import QueryError
from sfumato.sql.read import time_formats
from sfumato.sql.read.parser import parse
from tests.backtracking import growth

SOURCE = Path(__file__).parents[2] / "src" / "sfumato"
METHODS = ("fullmatch", "match", "search", "sub", "findall", "finditer", "split")
TWICE = 2.7
"""By how much work may grow when a text is doubled: linear work doubles, quadratic work is four times as much."""
SHORT, OWNER, INNER = (
    "the text has a length that is tested first",
    "the owner's own text",
    "our own words or an engine's",
)
UNSERVED = "only tests import the reference interpreter"
BOUNDED = {
    "algebra/interval_values.py: _PART findall": SHORT,
    "sql/read/moments.py: '[Tt ]+\\\\d{1,2}:.*$' sub": SHORT,
    "cli/design_problem.py: _RANGE fullmatch": OWNER,
    r"engines/reference_texts.py: '(\\\\.)|(\\[\\^?[^\\]]*\\])|\\$' sub": UNSERVED,
    "owner/schema.py: _NOT_A_NAME fullmatch": OWNER,
    "policy/__init__.py: '(?:[\\\\[{]\\\\s*){50}' search": OWNER,
    "policy/__init__.py: '[0-9_]{1000,}' search": OWNER,
    "policy/editing.py: '\\\\s*,\\\\s*$' sub": OWNER,
    "policy/tables.py: '\\\\s+and\\\\s+' split": OWNER,
}
"""Patterns whose work is not linear, and why they may stay: quadratic at most."""
UNKNOWN = {
    "anonymity/inspection/canonical.py": OWNER,
    "anonymity/inspection/meaning.py": OWNER,
    "cli/ledger_report.py": OWNER,
    "engines/duckdb/text_files.py": INNER,
    "engines/postgres/spelling.py": INNER,
    "engines/reference_texts.py": UNSERVED,
    "engines/spark/spelling.py": INNER,
    "ledger/postgres_schema.py": INNER,
    "server/pgwire/catalog.py": INNER,
    "verify/advice.py": INNER,
}
"""Modules with patterns that are known only while the program runs, and what these are matched with."""
BUILT = {
    "sql/read/time_formats.py: pattern": "".join(map(time_formats._pattern, ("%Y", "-", "%b", " ", "%d", "%p"))),
    "engines/reference_times.py: ''.join((f'({PARSED[p]})' if p in PARSED else re.escape(p) for p in parts))": "".join(
        f"({part})" for part in PARSED.values()
    ),
}
"""Patterns that are put together while the program runs: one of them."""


def kept(value):
    """The patterns of a value of a module."""
    if isinstance(value, re.Pattern):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, tuple | list) else ()
    return [pattern for part in parts for pattern in kept(part)]


def written_in(path, text, module):
    """Each call of `re` with a pattern: where, how it is used, and the pattern; None where it is not known yet."""
    tree = ast.parse(text)
    tops = [part for part in tree.body if isinstance(part, ast.Assign | ast.AnnAssign)]
    values = {id(node) for part in tops for node in ast.walk(part)}  # which are there when the module is
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
            continue
        if ast.unparse(node.func.value) != "re" or node.func.attr not in (*METHODS, "compile") or id(node) in values:
            continue
        words = [ast.unparse(word) for word in (*node.args[1:], *(keyword.value for keyword in node.keywords))]
        named = [word for word in words if re.fullmatch(r"re\.[A-Z]+( \| re\.[A-Z]+)*", word)]
        source = ast.unparse(node.args[0])
        try:
            value = eval(source, dict(vars(module)))  # noqa: S307  the program's own source
        except NameError:
            value = BUILT.get(f"{path}: {source}")
        flags = eval(" | ".join(named) or "0", {"re": re})  # noqa: S307  the same
        how = "fullmatch" if node.func.attr == "compile" else node.func.attr
        if value is None:
            yield path, how, None
        elif not isinstance(value, re.Pattern):  # else it is one of the module's own
            yield f"{path}: {source} {how}", how, re.compile(value, flags)


@cache
def patterns():
    """Every pattern of the program with each way in which it is used, and the modules of those that are not known."""
    found, unknown = {}, set()
    for path in sorted(SOURCE.rglob("*.py")):
        text, place = path.read_text(encoding="utf-8"), path.relative_to(SOURCE).as_posix()
        if not re.search(r"^\s*(import re|from re import .*)$", text, re.MULTILINE):
            continue
        module = importlib.import_module(f"sfumato/{place}"[:-3].removesuffix("/__init__").replace("/", "."))
        for name, value in vars(module).items():
            if not kept(value) or not re.search(rf"^{name}\b.*=", text, re.MULTILINE):
                continue
            used = set(re.findall(rf"\b{name}\.({'|'.join(METHODS)})\(", text)) or {"fullmatch", "match"}
            for number, pattern in enumerate(kept(value)):
                for how in used:
                    found[f"{place}: {name}{f'[{number}]' if number else ''} {how}"] = how, pattern
        for key, how, pattern in written_in(place, text, module):
            if pattern is None:
                unknown.add(key)
            else:
                found[key] = how, pattern
    return found, unknown


def test_every_pattern_is_found():
    found, unknown = patterns()
    rooms = sorted({key.split("/")[0] for key in found if "/" in key})
    sys.stdout.write(f"{len(found)} patterns in {', '.join(rooms)}; known later: {', '.join(sorted(unknown))}\n")
    assert len(found) > 120
    assert {"sql", "algebra", "server", "gateway", "policy", "engines", "local"} <= set(rooms)
    assert unknown == set(UNKNOWN), "what is it matched with?"
    assert set(BOUNDED) <= set(found)


@pytest.mark.parametrize("room", sorted({path.relative_to(SOURCE).parts[0] for path in SOURCE.rglob("*.py")}))
def test_no_pattern_goes_back_again_and_again(room):
    """Linear work, or quadratic work over a text that is short, or the owner's."""
    slow, tried = {}, {}
    for key, (how, pattern) in patterns()[0].items():
        if not key.startswith((f"{room}/", f"{room}:")):
            continue
        way = how if how in ("fullmatch", "match") else "search"
        if (pattern, way) not in tried:
            tried[pattern, way] = growth(pattern, way)
        times, text = tried[pattern, way]
        if times > (2 * TWICE if key in BOUNDED else TWICE):
            slow[key] = f"{times:.1f} times the work for {text!r}"
    assert not slow


@pytest.mark.parametrize(
    "pattern",
    [
        r" *(?:([+-]? *[0-9]{1,9}) *([A-Za-z]+)(?: +([+-]? *[0-9]{1,9}) *([A-Za-z]+))*) *",
        "(?:YYYY|YY|MM|[^A-Za-z])*",
        r"\s*\d+\s*\s*",
        "(a|aa)+",
        "(a+)+b",
        "a.*b.*c",
    ],
)
def test_a_pattern_that_goes_back_is_seen(pattern):
    assert growth(re.compile(pattern), "fullmatch")[0] > TWICE


@pytest.mark.parametrize("pattern", [r" *+(?:\d++ *+)*+", "(?>YYYY|YY)*+", "[^a]*a[^b]*", "(?:[^']|'')*+'", "abc|abd"])
def test_a_pattern_that_does_not_go_back_is_not_accused(pattern):
    assert growth(re.compile(pattern), "fullmatch")[0] <= TWICE


LONG_INTERVALS = ["   ".join(["1 d"] * 60) + " !", "1" + " " * 5_000 + "!", "1 d" + " " * 5_000]


@pytest.mark.parametrize("text", LONG_INTERVALS)
def test_a_long_text_is_no_interval(monkeypatch, text):
    """Neither our pattern nor those of the parser read it: what they would do with it, they do to everybody."""
    assert len(text) > LONGEST
    assert read(text) is None

    class Unread:
        def __getattr__(self, name):
            pytest.fail(f"the parser's own pattern was asked for a {name}")

    monkeypatch.setattr("sfumato.algebra.interval_values._WRITTEN", Unread())
    for name in ("INTERVAL_STRING_RE", "INTERVAL_DAY_TIME_RE"):
        assert hasattr(builders, name)
        monkeypatch.setattr(f"sqlglot.exp.{name}", Unread())
    assert read(text) is None
    with pytest.raises(QueryError) as refused:
        parse(f"SELECT INTERVAL '{text}'")
    assert refused.value.sqlstate == "22007"


def test_the_other_patterns_of_the_parser_are_linear():
    """Those that PostgreSQL's dialect asks: names, and nothing in texts after a type."""
    assert growth(core.SAFE_IDENTIFIER_RE, "match")[0] <= TWICE
    assert not Dialect.get_or_raise("postgres").parser_class.ZONE_AWARE_TIMESTAMP_CONSTRUCTOR
