"""Who may come in: the users' file, its modes, its command, and the audit log."""

import json
import stat
import threading

import pytest

from sfumato.cli.serve import address
from sfumato.errors import InputError, QueryError
from sfumato.server import scram
from sfumato.server.audit_log import AuditLog
from sfumato.server.users import Users, check_may_ask

PASSWORD = "correct horse"  # noqa: S105 - of nobody


def test_a_user_is_kept_without_a_password(tmp_path):
    users = Users(tmp_path / "state")
    users.add("ana", "analyst", PASSWORD)
    file = tmp_path / "state" / "users.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert PASSWORD not in file.read_text()
    user, genuine = Users(tmp_path / "state").find("ana")
    assert genuine
    assert user.role == "analyst"
    known = user.verifier
    assert scram.verifier(PASSWORD, known.salt, known.iterations) == known
    assert [path.name for path in file.parent.iterdir() if path.suffix == ".new"] == []


def test_a_file_that_changes_is_read_again(tmp_path):
    serving, elsewhere = Users(tmp_path), Users(tmp_path)
    serving.prepare()
    assert not serving.find("ana")[1]
    elsewhere.add("ana", "analyst", PASSWORD)
    assert serving.find("ana")[1]
    elsewhere.remove("ana")
    assert not serving.find("ana")[1]


def test_a_stranger_looks_the_same_before_and_after_a_restart(tmp_path):
    Users(tmp_path).prepare()
    salts = {Users(tmp_path).find("zoe")[0].verifier.salt for _ in range(3)}
    assert len(salts) == 1


def test_many_at_once_lose_nobody(tmp_path):
    names = [f"u{i}" for i in range(8)]
    threads = [threading.Thread(target=Users(tmp_path).add, args=(name, "analyst", PASSWORD)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [user.name for user in Users(tmp_path).list()] == names


@pytest.mark.parametrize(
    ("name", "role", "password"),
    [
        ("", "analyst", PASSWORD),
        ("a\nb", "analyst", PASSWORD),
        (" ana", "analyst", PASSWORD),
        ("x" * 64, "analyst", PASSWORD),
        ("ana", "king", PASSWORD),
        ("ana", "analyst", "short"),
        ("owner", "analyst", PASSWORD),
    ],
)
def test_what_is_no_user(tmp_path, name, role, password):
    with pytest.raises(InputError):
        Users(tmp_path).add(name, role, password)
    assert Users(tmp_path).list() == []


def test_a_file_that_others_may_read_is_refused(tmp_path):
    Users(tmp_path).add("ana", "analyst", PASSWORD)
    (tmp_path / "users.json").chmod(0o644)
    with pytest.raises(InputError, match="owner only"):
        Users(tmp_path).find("ana")


def test_roles(tmp_path):
    users = Users(tmp_path)
    assert users.add("ana", "analyst", PASSWORD).asks_as == "ana"
    assert users.add("boss", "owner", PASSWORD).asks_as == "owner"
    with pytest.raises(QueryError):
        check_may_ask(users.add("eye", "auditor", PASSWORD))
    with pytest.raises(InputError, match="no user"):
        users.remove("nobody")


def test_the_journal_is_lines_of_json_for_its_owner(tmp_path):
    journal = AuditLog(tmp_path / "state")
    threads = [threading.Thread(target=journal.write, args=("question",), kwargs={"user": f"u{i}"}) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    journal.close()
    file = tmp_path / "state" / "audit.jsonl"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert {line["user"] for line in lines} == {f"u{i}" for i in range(8)}
    assert all(line["event"] == "question" and line["at"].endswith("+00:00") for line in lines)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("127.0.0.1:5439", ("127.0.0.1", 5439)), (":0", ("127.0.0.1", 0)), ("[::1]:5439", ("::1", 5439))],
)
def test_addresses(text, wanted):
    assert address(text) == wanted


@pytest.mark.parametrize("text", ["localhost", "host:port", "host:99999", ""])
def test_what_is_no_address(text):
    with pytest.raises(InputError, match="address"):
        address(text)
