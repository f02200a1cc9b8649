"""Every command: its help, its example, wrong command lines, and how errors and numbers are said."""

import re
import shlex
from contextlib import nullcontext
from decimal import Decimal
from fractions import Fraction

import pytest
import typer
from tests import pgserver
from tests.end_to_end import served
from tests.end_to_end.terminal import in_terminal

from sfumato import errors
from sfumato.attacks import ATTACKS
from sfumato.attacks.defences import DEFENCES
from sfumato.cli import app
from sfumato.gateway import rounding
from sfumato.server import answer_tables, terminal_output

ESCAPE = "\x1b"
DESIGN = ("sensitivity", "channel", "posterior", "utility", "optimal", "universal", "distance")
BY_DISEASE = "SELECT disease, COUNT(*) AS n FROM patient GROUP BY disease"


def commands(group=None, path=()):
    """Every command with its words."""
    for name, command in (group or typer.main.get_command(app)).commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        if not hasattr(command, "commands") or command.invoke_without_command:
            yield (*path, name), command


COMMANDS = dict(commands())


def test_version_is_one_line():
    done = served.command("--version")
    assert done.returncode == 0
    assert re.fullmatch(r"sfumato \d+\.\d+\.\d+\n", done.stdout)


def test_the_commands_are_those_of_the_contract():
    ledger = {("ledger", word) for word in ("show", "verify", "export", "backup", "move", "accept", "report")}
    ledger |= {("ledger", word) for word in ("freeze", "unfreeze", "thaw", "reopen")}
    owner = {("init",), ("check",), ("prepare",)}
    doubting = {("attack",), ("audit",), ("verify",)}
    doors = {("serve",), ("reload",), ("user", "add"), ("user", "list"), ("user", "remove"), ("user", "token")}
    asking = {("demo",), ("query",), ("explain",), ("budget",), ("budget", "split")}
    board = {("design", word) for word in DESIGN}
    places = {("geo", word) for word in ("obfuscate", "retrieve", "evaluate", "optimal", "attack", "place", "budget")}
    published = {("anonymize",), ("release-check",), ("hierarchy", "draft")}
    course = {("learn",)}
    local = {("local", word) for word in ("plan", "check", "encode", "decode", "collect")}
    assert set(COMMANDS) == asking | owner | ledger | doors | doubting | board | places | published | local | course


GROUPS = {(), *(words[:-1] for words in COMMANDS if len(words) > 1)}


@pytest.mark.parametrize("words", sorted(GROUPS), ids=" ".join)
def test_no_line_of_a_list_of_commands_is_cut(words, monkeypatch):
    """At 80 columns, as most terminals are."""
    monkeypatch.setenv("COLUMNS", "80")
    shown = served.command(*words, "--help").stdout
    assert "Commands:" in shown
    assert "..." not in shown.partition("Commands:")[2]
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands(shell):
    script = served.command("--show-completion", shell)
    assert script.returncode == 0
    assert "_SFUMATO_COMPLETE" in script.stdout


def test_a_shell_is_told_the_commands(monkeypatch):
    monkeypatch.setenv("_SFUMATO_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "sfumato ledger ")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert {"show", "verify", "freeze"} <= set(served.command().stdout.split())


@pytest.mark.parametrize("words", [("query",), ("init",), ("demo",), ("ledger", "backup")], ids=" ".join)
def test_arguments_are_named_as_other_tools_do(words):
    """SQL and DATA..., and not {SQL} and DATA <list[str]>."""
    shown = served.command(*words, "--help").stdout
    usage, rest = shown.splitlines()[0], shown.partition("Arguments:")[2].partition("Options:")[0]
    assert re.fullmatch(r"Usage: sfumato [a-z ]+ \[OPTIONS\] (\[[A-Z]+\]|[A-Z]+(\.\.\.)?)", usage)
    assert re.match(r"\s+[A-Z]+  \S", rest)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_help_has_an_example_and_it_works_on_the_demo(words, made, call, request):
    done = call(*words, "--help", at=made.parent)
    assert done.returncode == 0
    example = re.search(r"^ *Example: sfumato (.*)$", done.stdout, re.MULTILINE)
    arguments = shlex.split(example[1])
    assert tuple(arguments[: len(words)]) == words
    made.rename(made.parent / "sfumato-demo")
    if words[0] == "ledger":
        assert call("query", BY_DISEASE, "-p", "sfumato-demo/sfumato.toml", "--epsilon", "0.01").returncode == 0
    if words == ("release-check",):
        wanted = ("--quasi", "age,area", "--sensitive", "disease", "-k", "5", "-o", "release.csv")
        assert call("anonymize", "sfumato-demo/patient.parquet", *wanted).returncode == 0
    if words == ("ledger", "accept"):  # there is something to accept after the ledger is lost
        for lost in (made.parent / "sfumato-demo").glob("*.ledger*"):
            lost.unlink()
    if words in (("user", "remove"), ("user", "token")):
        assert call("user", "add", "ana", "-p", "sfumato-demo/sfumato.toml").returncode == 0
    if words == ("geo", "budget"):
        (made.parent / "points.csv").write_text("who,lat,lon\nana,48.85,2.35\n")
        level = ("--level", "ln 4", "--radius", "200", "--budget", "ln 16", "--person", "who")
        kept = ("-o", "reports.csv", "--ledger", "positions.ledger")
        assert call("geo", "obfuscate", "points.csv", *level, *kept).returncode == 0
    if words[0] == "local":  # the examples follow each other: a task, its reports, their estimate
        area = ("local", "plan", "--values", "north,east,south,west", "--task", "area.toml")
        assert call(*area).returncode == 0
    if words == ("local", "decode"):
        encode = ("local", "encode", "sfumato-demo/patient.parquet", "--column", "area")
        assert call(*encode, "--task", "area.toml", "-o", "reports.parquet").returncode == 0
    if words == ("ledger", "move"):  # the server of the example is nobody's: the tests' own stands in for it
        assert arguments[-1] == "postgresql://ledger@db.example/sfumato"
        arguments[-1] = pgserver.fresh(request.getfixturevalue("pg"))
    with served.running("sfumato-demo/sfumato.toml") if words == ("reload",) else nullcontext():
        assert call(*arguments).returncode == 0


def test_the_help_of_attack_names_every_attack_and_defence(call):
    said = " ".join(call("attack", "--help").stdout.split())
    assert not [name for name in (*ATTACKS, *DEFENCES) if not re.search(rf"\b{name}\b", said)]


@pytest.mark.parametrize(
    "arguments",
    [
        ["nothing"],
        ["demo", "--nothing"],
        ["demo", "a", "b"],
        ["query"],
        ["query", BY_DISEASE, "--noise", "cauchy"],
        ["query", BY_DISEASE, "--rows-per-unit", "many"],
        ["query", BY_DISEASE, "--epsilon", "a lot"],
        ["query", BY_DISEASE, "--epsilon", "0"],
        ["query", BY_DISEASE, "--epsilon", "1e-9"],
        ["query", BY_DISEASE, "--epsilon", "1", "--within", "10"],
        ["query", BY_DISEASE, "--within", "-1"],
        ["query", BY_DISEASE, "--confidence", "1"],
        ["query", BY_DISEASE, "--rows-per-unit", "2"],
        ["query", BY_DISEASE, "--rows-per-unit", "0"],
        ["query", BY_DISEASE, "--analyst", ""],
        ["query", BY_DISEASE, "--json", "--csv"],
        ["query", BY_DISEASE, "-p", "elsewhere.toml"],
        ["explain", BY_DISEASE, "--group", "0"],
        ["explain", BY_DISEASE, "--epsilon", "-1"],
        ["budget", "split", "0"],
        ["budget", "split", "x"],
        ["ledger"],
        ["ledger", "burn"],
    ],
    ids=" ".join,
)
def test_a_wrong_command_line_exits_2_and_keeps_stdout_clean(arguments, made, call):
    done = call(*arguments, at=made)
    assert done.returncode == 2, done.stderr
    assert done.stdout == "" or arguments == ["ledger"]
    assert done.stderr or arguments == ["ledger"]
    assert "Traceback" not in done.stderr


# how it speaks


EXITS = {
    errors.ClaimError: 1,
    errors.InputError: 2,
    errors.PolicyError: 2,
    errors.QueryError: 3,
    errors.BudgetError: 4,
    errors.EngineError: 5,
    errors.LedgerError: 5,
}


@pytest.mark.parametrize(("kind", "code"), EXITS.items(), ids=lambda value: getattr(value, "__name__", value))
def test_each_kind_of_error_has_its_exit_code(kind, code):
    assert terminal_output.exit_code(kind("no")) == code


def test_all_five_fields_are_printed():
    error = errors.QueryError("no", detail="D.", hint="H.", position=4, sqlstate="42703")
    assert terminal_output.error_text(error) == "ERROR 42703: no\nDETAIL: D.\nHINT: H.\nPOSITION: 4\n"


@pytest.mark.parametrize(
    ("sql", "position", "line", "caret"),
    [
        ("SELECT x", 8, "LINE 1: SELECT x", 15),
        ("SELECT\n\tx", 9, "LINE 2:  x", 9),
        ("SELECT\r\nx\r\n", 9, "LINE 2: x", 8),
        ("日本 x", 4, "LINE 1: 日本 x", 13),
        ("x", 99, "LINE 1: x", 9),
        ("a" * 500, 300, "LINE 1: …" + "a" * 100 + "…", 9 + 50),
    ],
)
def test_the_caret_stands_below_its_place(sql, position, line, caret):
    lines = terminal_output.error_text(errors.QueryError("no", position=position), sql).splitlines()
    assert lines[1:] == [line, " " * caret + "^"]


def test_no_escape_codes_without_a_terminal_nor_under_no_color(made, call):
    asked = ("query", BY_DISEASE, "-p", made / "sfumato.toml")
    assert ESCAPE not in call(*asked).stdout
    assert ESCAPE not in in_terminal(asked, NO_COLOR="1")[1]
    assert ESCAPE in in_terminal(asked, NO_COLOR="")[1]


def test_values_are_shown_with_the_decimals_that_their_interval_bears():
    d = Decimal
    assert answer_tables.shown(d("49.0863407472"), (d("47.820895649"), d("50.341322395"))) == ("49.1", "47.8 to 50.4")
    assert answer_tables.shown(d("1338292.61"), (d("739145.55"), d("1937439.67"))) == (
        "1,340,000",
        "730,000 to 1,940,000",
    )
    assert answer_tables.shown(d("0.00123"), (d("-0.00456"), d("0.00789"))) == ("0.0012", "-0.0046 to 0.0079")
    assert answer_tables.shown(None, (0, 5)) == ("NULL", "0 to 5")
    assert answer_tables.shown(None, None) == ("NULL", "")
    assert answer_tables.shown("a\x1b[31mb", None) == ("a [31mb", "")


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("0.1", "0.1"),
        ("1/3", "1/3"),
        ("291131423331097/1000000000000000", "about 0.291131"),
        ("1e-15", "1e-15"),
        ("0.00000049", "4.9e-7"),
        ("1e-20", "about 1.0e-20"),
    ],
)
def test_amounts_are_short_and_never_more_than_there_is(amount, text):
    assert rounding.amount(Fraction(amount)) == text
