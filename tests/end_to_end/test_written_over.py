"""No command writes over what it reads: each path that a command reads is given to each of its options that write,
under its own name, through a symbolic link and under a second name of the same file.
"""

import json
import os
from pathlib import Path

import pytest
import typer

from sfumato.cli import app
from sfumato.cli.local_files import report_writer
from sfumato.local.kary import KAryResponse
from sfumato.local.task import planned_task
from sfumato.policy import load

WRITERS = {
    ("geo", "obfuscate"): [
        (("in.csv", "--level", "1", "--radius", "9", "--budget", "9", "-o", "o.csv"), {"-o", "--ledger"}, {"in.csv"}),
        (("in.csv", "--level", "1", "--radius", "9", "--budget", "9", "--ledger", "purse"), {"-o"}, {"purse"}),
    ],
    ("geo", "evaluate"): [(("--grid", "2x2", "--side", "1", "--prior", "prior.csv"), {"--svg"}, {"prior.csv"})],
    ("local", "plan"): [
        (("--values", "a,b", "--task", "new.toml", "--sign", "key.pem"), {"--task", "--program", "--svg"}, {"key.pem"}),
        (("--values", "a,b", "--task", "t.toml"), {"--program", "--svg"}, {"t.toml"}),
        (("--values", "a,b", "--program", "t.toml"), {"--svg"}, {"t.toml"}),
    ],
    ("local", "encode"): [(("a.csv", "--task", "t.toml", "--key", "key.pem"), {"-o"}, {"a.csv", "t.toml", "key.pem"})],
    ("local", "decode"): [
        (("r.parquet", "--task", "t.toml", "--candidates", "a.csv"), {"-o"}, {"r.parquet", "t.toml", "a.csv"}),
        (("held", "--task", "t.toml"), {"-o"}, {"held/batch-00000000", "held/task.toml"}),
    ],
    ("design", "channel"): [(("p.toml",), {"--svg"}, {"p.toml"})],
    ("design", "posterior"): [(("p.toml",), {"--svg"}, {"p.toml"})],
    ("design", "utility"): [(("p.toml",), {"--svg"}, {"p.toml"})],
    ("design", "optimal"): [(("p.toml",), {"--svg"}, {"p.toml"})],
    ("verify",): [(("p.sfp",), {"--certificate"}, {"p.sfp"})],
    ("hierarchy", "draft"): [(("in.csv",), {"-o"}, {"in.csv"})],
    ("release-check",): [
        (("in.csv", "--raw", "p.toml", "--quasi", "x", "--earlier", "a.csv"), {"--canonical"}, {"in.csv", "a.csv"}),
    ],
    ("init",): [(("in.csv",), {"-o"}, {"in.csv"})],
}  # fmt: skip
ELSEWHERE = {
    ("anonymize",): "test_release_outputs",
    ("attack",): "test_release_outputs",
    ("learn",): "reads no file",
    ("demo",): "reads no file, and refuses a folder that it has not made",
    ("ledger", "export"): "below",
    ("ledger", "backup"): "below",
    ("geo", "place"): "its file is read and written on purpose",
}
WRITES = {"--out", "-o", "--svg", "--report", "--canonical", "--certificate", "--program", "--ledger"}
"""Options that write a file, and the words by which an argument that is written can be told."""


def commands(command=None, words=()):
    command = command or typer.main.get_command(app)
    for name, below in (getattr(command, "commands", None) or {}).items():
        yield from commands(below, (*words, name))
    if not getattr(command, "commands", None):
        yield words, command


def test_every_command_that_writes_a_file_is_in_the_table():
    """A command that is added belongs into it, with what it reads."""
    writing = set()
    for words, command in commands():
        options = {name for one in command.params for name in one.opts}
        helps = [getattr(one, "help", None) or "" for one in command.params]
        if options & WRITES or any(text.startswith(("Write ", "Where to ", "Where places")) for text in helps):
            writing.add(words)
    assert writing == set(WRITERS) | set(ELSEWHERE)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("who,lat,lon\na,1,2\na,1,2\n")
    Path("a.csv").write_text("value\na\nb\n")
    Path("prior.csv").write_text("1,1,1,1\n")
    Path("key.pem").write_text("a key")
    Path("purse").write_text("")
    Path("p.toml").write_text('mechanism = "geometric"\ninputs = [0, 1, 2]\nepsilon = 1\nprior = "uniform"\n')
    Path("p.sfp").write_text("a program")
    Path("sfumato.toml").write_text("a policy")
    task = planned_task("t", KAryResponse.planned(2, 2), values=("a", "b"))
    Path("t.toml").write_text(task.to_toml())
    with report_writer(Path("r.parquet"), task) as write:
        write(task.encode(["a", "b"]))
    Path("held").mkdir()
    Path("held/task.toml").write_bytes(Path("t.toml").read_bytes())
    Path("held/batch-00000000").write_bytes(b"\0" * 10)
    return tmp_path


CASES = [
    pytest.param((words, given, option, path), id=f"{' '.join(words)} {option} {path}")
    for words, runs in WRITERS.items()
    for given, options, paths in runs
    for option in sorted(options)
    for path in sorted(paths)
]


@pytest.mark.parametrize("case", CASES)
def test_what_is_read_is_not_written_over(case, home, call):
    words, given, option, path = case
    Path("link").symlink_to(path)
    os.link(path, "hard")
    before = {str(file): file.read_bytes() for file in Path().iterdir() if file.is_file()}
    for name in (path, "link", "hard"):
        at = given.index(option) if option in given else None  # a path that is given already, replaced
        kept = given if at is None else (*given[:at], *given[at + 2 :])
        done = call(*words, *kept, option, name)
        assert done.returncode == 2, (name, done)
        assert done.stdout == ""
        assert "would write" in done.stderr or "already exists" in done.stderr or "a collector" in done.stderr, done
        after = {one: Path(one).read_bytes() for one in before}
        assert after == before, name


def test_what_a_collector_holds_is_not_written_into(home, call):
    """A new file among its batches would be a batch."""
    done = call("local", "decode", "held", "--task", "t.toml", "-o", "held/batch-00000001")
    assert (done.returncode, Path("held/batch-00000001").exists()) == (2, False)


@pytest.mark.parametrize("word", ["export", "backup"])
def test_a_copy_of_a_ledger_does_not_take_its_place(word, made, call):
    assert call("query", "SELECT count(*) AS n FROM patient", "--epsilon", "0.1", at=made).returncode == 0
    policy = load(made / "sfumato.toml")
    ledger = Path(policy.data.ledger)
    (made / "link").symlink_to(ledger)
    os.link(ledger, made / "hard")
    for name in (str(ledger), "link", "hard", "sfumato.toml"):
        done = call("ledger", word, name, at=made)
        assert (done.returncode, "would write over" in done.stderr) == (2, True), done
    (made / "hard").unlink()
    assert call("ledger", "verify", at=made).returncode == 0


def test_what_is_written_elsewhere_is_written(home, call):
    assert call("local", "decode", "r.parquet", "--task", "t.toml", "-o", "new.csv").returncode == 0
    assert Path("new.csv").read_text().startswith("value,estimate")
    assert json.loads(call("local", "check", "t.toml", "--json").stdout)["mechanism"]
