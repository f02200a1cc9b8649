"""What stands in deploy/: its commands, one by one, as far as they can be run without a system to deploy to."""

import json
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from tests.end_to_end.hosting import PASSWORD
from tests.end_to_end.pg import make_clinic
from tests.end_to_end.served import COMMAND, Running, command

from sfumato.policy import load, parse

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNIT = (DEPLOY / "sfumato.service").read_text(encoding="utf-8")


def unit(name):
    """The values of a key of the unit."""
    return re.findall(rf"^{name}=(.*)$", UNIT, re.MULTILINE)


def placed(line, policy):
    """A command of the unit, on this machine: its program is ours, its policy a copy, its ports free ones."""
    words = shlex.split(line.replace("${SFUMATO_WORKERS}", "2").replace("${SFUMATO_PG}", "127.0.0.1:0"))
    words = [word.replace("${SFUMATO_HTTP}", "127.0.0.1:0") for word in words]
    assert words[0] == "/opt/sfumato/bin/sfumato"
    return [str(policy) if word == "/etc/sfumato/sfumato.toml" else word for word in words[1:]]


@pytest.fixture
def installed(tmp_path, written):
    """The policy of deploy/ with the demo's data, in a place of its own."""
    make_clinic(tmp_path / "data", written)
    text = (DEPLOY / "sfumato.toml").read_text(encoding="utf-8").replace("/var/lib/sfumato", str(tmp_path / "var"))
    (tmp_path / "var").mkdir(mode=0o700)
    (tmp_path / "sfumato.toml").write_text(text, encoding="utf-8")
    return tmp_path / "sfumato.toml"


def test_the_commands_of_the_unit_work_one_by_one(installed, call):
    (before,), (start,), (again,) = (unit(name) for name in ("ExecStartPre", "ExecStart", "ExecReload"))
    done = call(*placed(before, installed))
    assert done.returncode == 0, done.stderr
    added = command("user", "add", "ana", "--password-stdin", "-p", installed, input=f"{PASSWORD}\n")
    assert added.returncode == 0, added.stderr
    verb, *words = placed(start, installed)
    server = Running(installed, *words, verb=verb)
    try:
        with server.connect() as client:
            assert client.execute("SELECT COUNT(*) FROM patient").fetchone() is not None
        done = call(*placed(again, installed))
        assert done.returncode == 0, done.stderr
        assert len(server.workers()) == 2
    finally:
        assert server.stop()[0] == 0


def test_the_unit_is_one_that_systemd_understands(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    (tmp_path / "sfumato.service").write_text(UNIT.replace("/opt/sfumato/bin/sfumato", "/bin/true"), encoding="utf-8")
    words = ["systemd-analyze", "verify", str(tmp_path / "sfumato.service")]
    said = subprocess.run(words, capture_output=True, text=True, check=False)
    assert "sfumato.service" not in said.stderr
    assert said.returncode == 0, said.stderr


def test_the_unit_reads_its_addresses_from_the_example_of_settings():
    settings = dict(
        line.split("=", 1) for line in (DEPLOY / "sfumato.env").read_text().splitlines() if line[:1] not in ("#", "")
    )
    given = dict(line.split("=", 1) for line in unit("Environment"))
    assert set(settings) == set(given) == set(re.findall(r"\$\{(\w+)\}", UNIT))


def test_the_policy_is_one():
    policy = parse((DEPLOY / "sfumato.toml").read_text(encoding="utf-8"), "/etc/sfumato/sfumato.toml")
    assert policy.data.state == "/var/lib/sfumato/state"
    assert policy.privacy.timing == "padded"


def test_what_the_containerfile_copies_and_runs_is_there(tmp_path, written):
    """Nothing is built here: what can be looked at without a registry is."""
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    for line in re.findall(r"^COPY (.*)$", text, re.MULTILINE):
        *sources, _ = line.split()
        assert all((ROOT / source).exists() for source in sources), line
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert needed["readme"] in text
    version = re.search(r"^FROM .*python:(\d+)\.(\d+)-slim$", text, re.MULTILINE)
    least = re.search(r"(\d+)\.(\d+)", needed["requires-python"])
    assert tuple(map(int, version.groups())) >= tuple(map(int, least.groups()))
    words = json.loads(re.search(r"^CMD (\[.*\])$", text, re.MULTILINE)[1])
    make_clinic(tmp_path, written)
    ports = {"0.0.0.0:5439": "127.0.0.1:0", "0.0.0.0:8439": "127.0.0.1:0"}
    here = [ports.get(word, word.replace("/etc/sfumato", str(tmp_path))) for word in words[1:]]
    done = command(*here, "--check")
    assert done.returncode == 0, done.stderr
    exposed = re.search(r"^EXPOSE (.*)$", text, re.MULTILINE)[1].split()
    assert exposed == [word.rpartition(":")[2] for word in words if word in ports]


def test_the_lines_of_the_manual_name_files_that_exist(call):
    manual = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
    for name in set(re.findall(r"deploy/[\w.]+", manual)):
        assert (ROOT / name).exists(), name
    commands = re.findall(r"^    sfumato (.*?)(?: +#.*)?$", manual, re.MULTILINE)
    assert len(commands) > 4
    for line in commands:
        verb = shlex.split(line)[0]
        assert call(verb, "--help").returncode == 0, line


def test_a_service_that_may_write_to_its_own_directory_only(installed):
    """The unit gives it /var/lib/sfumato and nothing else: policy and data are on a file system that is read only."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("needs root and unshare")
    home = installed.parent
    may = subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none", home], capture_output=True, check=False)
    if may.returncode:  # asked apart: what the service itself is denied must fail the test
        pytest.skip("mounts are not allowed here")
    script = (
        f"mount --bind {home} {home} && mount -o remount,ro,bind {home} && "
        f"mount -t tmpfs none {home / 'var'} && cd / && exec {shlex.join(COMMAND)} serve -p {installed} "
        "--pg 127.0.0.1:0 --http 127.0.0.1:0 --check"
    )
    said = subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    assert said.stdout.endswith("ready\n")
    assert load(installed).data.id == "clinic"
