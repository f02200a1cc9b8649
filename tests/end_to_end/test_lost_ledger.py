"""A ledger that is gone or older than what was served: the owner is told, and nothing is served until she accepts it.

Also who may read what is written, and what a killed process leaves behind.
"""

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.end_to_end.disk import PATHS
from tests.end_to_end.served import command, running, write_small

import sfumato
from sfumato.errors import LedgerError
from sfumato.files import fresh_file, remove_leftovers, replace_file
from sfumato.ledger import Ledger, accept_loss, check_found, place_of_last_head, read_last_head

QUESTION = "SELECT COUNT(*) FROM visit WHERE age < {}"


@pytest.fixture
def policy(tmp_path):
    return write_small(tmp_path)


def spend(policy, *numbers):
    with sfumato.open(policy) as gate:
        for number in numbers:
            gate.sql(QUESTION.format(number))
        return gate.budget().spent.epsilon


def lose(policy, how):
    ledger = policy.with_name("clinic.ledger")
    if how == "removed":
        ledger.unlink()
    elif how == "emptied":
        os.truncate(ledger, 0)
    elif how == "another path":
        policy.write_text(policy.read_text().replace('id = "clinic"', 'id = "clinic"\nledger = "new.ledger"'))
    elif how == "an older copy":
        policy.with_name("backup").replace(ledger)
    else:  # another chain of as many entries
        with Ledger.open(policy.with_name("other"), data_id="clinic", composition="pure", epsilon=100) as other:
            for _ in range(9):
                other.thaw("owner")
        policy.with_name("other").replace(ledger)


@pytest.mark.parametrize("how", ["removed", "emptied", "another path", "an older copy", "another chain"])
def test_a_lost_ledger_is_not_replaced_without_a_word(policy, how, call):
    spend(policy, 1)
    with Ledger.visit(policy.with_name("clinic.ledger")) as ledger:
        ledger.backup(policy.with_name("backup"))
    assert spend(policy, 2, 3) == 3
    lose(policy, how)
    for _ in range(2):
        with pytest.raises(LedgerError, match=r"the ledger is (missing|older than the one that was served)") as refused:
            sfumato.open(policy)
        assert "sfumato ledger accept" in refused.value.hint
    for words in (["query", QUESTION.format(9)], ["budget"], ["ledger", "show"], ["ledger", "verify"]):
        done = call(*words, "-p", policy)
        broken = words[-1] == "verify" and how not in ("removed", "another path")
        assert done.returncode == (1 if broken else 5), (words, done.stderr)
        assert "sfumato ledger accept" in done.stderr
    done = call("ledger", "accept", "-p", policy)
    assert done.returncode == 0, done.stderr
    assert "are forgotten" in done.stderr
    assert spend(policy) < 3
    assert lost_entries(policy) == [8]
    spend(policy, 4)
    with sfumato.open(policy) as gate:
        gate._ledger.verify()
    assert call("ledger", "accept", "-p", policy).returncode == 2, "there is nothing to accept any more"


def lose_with_its_head(policy):
    """Remove the ledger and what the state directory remembers of its last entry."""
    lose(policy, "removed")
    place_of_last_head(policy.with_name(".sfumato"), "clinic").unlink()


def test_a_ledger_that_is_lost_with_its_last_head_is_missed(policy, call):
    spend(policy, 1)
    lose_with_its_head(policy)
    for words in (["query", QUESTION.format(9)], ["budget"]):
        done = call(*words, "-p", policy)
        assert done.returncode == 5, (words, done.stderr)
        assert "the ledger is missing" in done.stderr
        assert "sfumato ledger accept" in done.stderr
    assert not policy.with_name("clinic.ledger").exists()
    done = call("ledger", "accept", "-p", policy)
    assert done.returncode == 0, done.stderr
    assert "charges of the ledger that is gone are forgotten" in done.stderr
    done = call("query", QUESTION.format(9), "-p", policy)
    assert done.returncode == 0, done.stderr
    assert f"Created a new ledger: {policy.with_name('clinic.ledger')} (nothing has been charged yet)." in done.stderr
    lines = policy.with_name(".sfumato").joinpath("operator.log").read_text(encoding="utf-8")
    assert "created a new ledger:" in lines
    assert lost_entries(policy) == [0]
    assert call("ledger", "accept", "-p", policy).returncode == 2, "there is nothing to accept any more"


def test_a_first_ledger_is_begun_with_a_word_and_a_second_opening_has_none(policy, call):
    assert call("check", "-p", policy).returncode == 0, "which writes admitted.json"
    assert "Created a new ledger:" in call("query", QUESTION.format(9), "-p", policy).stderr
    assert "new ledger" not in call("query", QUESTION.format(9), "-p", policy).stderr


CHARGED = '{"at": "2026-01-01", "event": "question", "cost": {"epsilon": "1/10", "rho": null, "delta": "0"}}\n'
FREE = '{"at": "2026-01-01", "event": "question", "cost": {"epsilon": "0", "rho": "0", "delta": "0"}}\n'
REFUSED = '{"at": "2026-01-01", "event": "refusal", "question": "SELECT \\"cost\\""}\n'


@pytest.mark.parametrize(
    ("name", "lines", "missed"),
    [
        ("audit.jsonl", REFUSED + FREE + CHARGED, True),
        ("audit.jsonl.1", CHARGED, True),
        ("audit.jsonl", REFUSED + FREE, False),
        ("audit.jsonl", '{"cost"\n{"cost": 3}\n["cost"]\n', False),
        ("admitted.json", CHARGED, False),
    ],
)
def test_an_audit_log_with_charges_shows_that_there_was_a_ledger(policy, name, lines, missed):
    """Policies that early versions served were not kept."""
    state = policy.with_name(".sfumato")
    state.mkdir()
    state.joinpath(name).write_text(lines, encoding="utf-8")
    if not missed:
        assert spend(policy) == 0
        return
    with pytest.raises(LedgerError, match="the ledger is missing") as refused:
        sfumato.open(policy)
    assert "audit.jsonl" in refused.value.detail
    accept_loss(place_of_last_head(state, "clinic"))
    assert spend(policy) == 0
    assert lost_entries(policy) == [0]


def test_the_charges_of_another_data_set_are_no_evidence(policy):
    spend(policy, 1)
    policy.with_name(".sfumato").joinpath("audit.jsonl").write_text(CHARGED, encoding="utf-8")
    other = policy.with_name("other.toml")
    other.write_text(policy.read_text().replace('id = "clinic"', 'id = "other"'))
    assert spend(other, 1) == 1


def test_a_ledger_that_another_process_begins_meanwhile_is_not_missed(tmp_path):
    """Its traces are there before one looks for them, and after one looked for the ledger."""
    head = place_of_last_head(tmp_path, "d")
    (tmp_path / "audit.jsonl").write_text(CHARGED, encoding="utf-8")
    with pytest.raises(LedgerError, match="the ledger is missing"):
        check_found(head, None, lambda: False)
    check_found(head, None, lambda: True)


def lost_entries(policy):
    with sfumato.open(policy) as gate:
        return [entry.body["lost"]["seq"] for entry in gate._ledger.entries() if "lost" in entry.body]


def test_a_lost_ledger_is_not_served(policy):
    spend(policy, 1)
    lose(policy, "removed")
    done = command("serve", "-p", policy, "--pg", "127.0.0.1:0", "--http", "127.0.0.1:0")
    assert done.returncode == 5, done.stderr
    assert "sfumato ledger accept" in done.stderr


def test_nothing_is_accepted_before_it_is_needed(policy, call):
    assert call("ledger", "accept", "-p", policy).returncode == 2
    spend(policy, 1)
    done = call("ledger", "accept", "-p", policy)
    assert done.returncode == 2
    assert "there is nothing to accept" in done.stderr


def test_a_look_does_not_use_up_what_was_accepted(policy, call):
    spend(policy, 1)
    with Ledger.visit(policy.with_name("clinic.ledger")) as ledger:
        ledger.backup(policy.with_name("backup"))
    spend(policy, 2)
    lose(policy, "an older copy")
    for word in ("accept", "freeze", "thaw"):
        assert call("ledger", word, "-p", policy).returncode == 0
    spend(policy, 3)
    assert lost_entries(policy) == [6]


def test_two_data_sets_share_a_state_directory(policy):
    spend(policy, 1)
    other = policy.with_name("other.toml")
    other.write_text(policy.read_text().replace('id = "clinic"', 'id = "other"'))
    assert spend(other, 1) == 1
    assert spend(policy, 2) == 2


def test_a_ledger_without_a_record_is_served_and_recorded(policy):
    """As ledgers were before there were records."""
    spend(policy, 1)
    place = place_of_last_head(policy.with_name(".sfumato"), "clinic")
    place.unlink()
    spend(policy)
    assert read_last_head(place).seq == 4


def test_the_record_follows_every_charge_and_survives_a_kill(tmp_path):
    code = """
import sys
from pathlib import Path
from sfumato.accounting import Pure
from sfumato.ledger import Ledger
folder = Path(sys.argv[1])
ledger = Ledger.open(folder / "l", data_id="d", composition="pure", epsilon=100, last_head=folder / "head",
                     anchor=folder / "anchor")
for number in range(10**6):
    paid = ledger.debit("ana", Pure("0.00001"), question=str(number), epsilon="0.00001", version="1", text="")
    print(paid.seq, flush=True)
"""
    for turn in range(6):
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)],
            env=os.environ | {"PYTHONPATH": PATHS},
            stdout=subprocess.PIPE,
            text=True,
        )
        told = [process.stdout.readline() for _ in range(3 + turn)]
        process.send_signal(signal.SIGKILL)
        told += process.communicate()[0].splitlines(keepends=True)
        last = max(int(line) for line in told if line.endswith("\n"))
        assert read_last_head(tmp_path / "head").seq >= last
        with Ledger.visit(tmp_path / "l", last_head=tmp_path / "head", anchor=tmp_path / "anchor") as ledger:
            ledger.verify()
        assert not list(tmp_path.glob("*.new")), "the next one removes what a killed process left"


@pytest.mark.parametrize("text", ["12\n", "x" * 93, "é", "0" * 18 + " " + "g" * 64 + "\n"])
def test_a_damaged_record_is_an_error(tmp_path, text):
    place = tmp_path / "head"
    place.write_text(text, encoding="utf-8")
    with pytest.raises(LedgerError, match="record of the last ledger entry"):
        Ledger.open(tmp_path / "l", data_id="d", composition="pure", epsilon=1, last_head=place)


def test_a_record_that_cannot_be_written_stops_serving(tmp_path):
    with pytest.raises(LedgerError, match="record of the last ledger entry cannot be written"):
        Ledger.open(tmp_path / "l", data_id="d", composition="pure", epsilon=1, last_head=Path("/proc/no/head"))


# who may read what


def test_everything_that_is_written_is_for_the_owner_alone(tmp_path, monkeypatch):
    """Under a wide umask, in a state directory that was open to everybody."""
    before = os.umask(0o000)
    try:
        policy = write_small(
            tmp_path, changes=[('version = "one"', 'version = "one"\nanchor = "far/head"\nledger = "link"')]
        )
        (tmp_path / "far").mkdir()
        (tmp_path / ".sfumato").mkdir(mode=0o755)
        (tmp_path / "link").symlink_to(tmp_path / "far" / "clinic.ledger")
        mine = {path for path in tmp_path.rglob("*") if path.is_file()}
        for words in (["check"], ["prepare"], ["user", "add", "eve", "--role", "owner", "--password-stdin"]):
            done = command(*words, "-p", policy, input="correct horse\n")
            assert done.returncode == 0, done.stderr
        with running(policy) as server, server.client() as client:
            assert client.post("/api/query", json={"sql": "SELECT COUNT(*) FROM visit"}).status_code == 200
            made = _modes(tmp_path, mine)
        assert command("ledger", "backup", tmp_path / "copy", "-p", policy).returncode == 0
        assert command("ledger", "export", tmp_path / "lines", "-p", policy).returncode == 0
        made |= _modes(tmp_path, mine)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / ".sfumato").stat().st_mode) == 0o700
    names = {path.name for path in made}
    wanted = {"clinic.ledger", "clinic.ledger-wal", "clinic.ledger-shm", "head", "copy", "lines", "users.json"}
    assert names >= wanted | {"prepared.duckdb", "admitted.json", "operator.log", "audit.jsonl", "users.lock"}, names
    assert {path.name: oct(mode) for path, mode in made.items() if mode & 0o077} == {}
    assert (tmp_path / "link").is_symlink()


def _modes(folder, mine):
    return {
        path: stat.S_IMODE(path.stat().st_mode)
        for path in folder.rglob("*")
        if path not in mine and not path.is_symlink() and path.name != "far"
    }


def test_a_ledger_that_others_may_read_is_told(policy, caplog):
    spend(policy, 1)
    policy.with_name("clinic.ledger").chmod(0o644)
    with sfumato.open(policy):
        pass
    assert "other users can read the ledger (mode 644)" in caplog.text


# what is left behind


def test_what_a_killed_process_left_is_removed_and_what_is_written_is_not(tmp_path):
    place = tmp_path / "a[b]*.file"
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left = [f".{dead.pid}.new", f".{dead.pid}.7.new", f".{dead.pid}.7.new.wal", f".{os.getpid()}.99.new"]
    kept = [f".{os.getppid()}.3.new", ".new", ".x.new", f".{dead.pid}.newer"]
    for end in (*left, *kept):
        Path(f"{place}{end}").write_text("half")
    (tmp_path / f"axb.file.{dead.pid}.new").write_text("another file's")
    with fresh_file(place) as fresh:
        fresh.write_text("being written")
        remove_leftovers(place)
        assert fresh.exists()
        assert not [end for end in left if Path(f"{place}{end}").exists()]
    assert not fresh.exists()
    assert all(Path(f"{place}{end}").exists() for end in kept)
    old = Path(f"{place}{kept[0]}")
    os.utime(old, (time.time() - 10**6,) * 2)
    replace_file(place, b"whole")
    assert place.read_bytes() == b"whole"
    assert not old.exists(), "no process writes a file for days"
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert (tmp_path / f"axb.file.{dead.pid}.new").exists()


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there/file")
    replace_file(tmp_path / "link", b"1")
    replace_file(tmp_path / "link", b"2")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "file").read_bytes() == b"2"


def test_a_circle_of_links_is_an_error(policy):
    (policy.with_name("clinic.ledger")).symlink_to("clinic.ledger")
    with pytest.raises(LedgerError, match="cannot be read or written"):
        sfumato.open(policy)


def test_a_failed_replacement_leaves_nothing(tmp_path):
    (tmp_path / "file").mkdir()
    with pytest.raises(OSError, match="directory"):
        replace_file(tmp_path / "file", b"1")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    with pytest.raises(FileNotFoundError):
        replace_file(tmp_path / "no" / "file", b"1")


def test_a_database_without_tables_is_no_ledger(policy):
    """It stands in the place of one that is gone: that this is not missed would be a new budget."""
    spend(policy, 1)
    lose_with_its_head(policy)
    with sqlite3.connect(policy.with_name("clinic.ledger")) as empty:
        empty.execute("VACUUM")
    assert policy.with_name("clinic.ledger").stat().st_size > 0
    with pytest.raises(LedgerError, match="the ledger is missing"):
        sfumato.open(policy)
