"""The command: before and after as a table, a page and a document; policies and servers."""

import json
import stat

from sfumato.attacks.document import FILE, document
from sfumato.attacks.gate import policy_endpoint
from sfumato.attacks.page import page
from sfumato.cli.clinic import write_clinic
from tests.attacks.people import scene_of, write_people


def test_the_report_is_one_page_without_links(arena, tmp_path):
    reports = [arena("reconstruction", "raw", 40), arena("reconstruction", "dp", 20), arena("homogeneity", "raw", 20)]
    _, knowledge, _ = scene_of(tmp_path, 20)
    found = document(reports, "people <script>", knowledge)
    assert json.loads(json.dumps(found)) == found
    text = page(found)
    assert text.startswith("<!doctype html>")
    assert "<script>" not in text
    assert "broken<br>40 of 40 right (100 %)" in text
    assert "Epsilon 1 permits" in text or "epsilon 1 permits" in text
    assert "<svg" in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "–" in text  # not applicable
    assert found["defences"][0]["sentence"].startswith("broken by 1 of 1 attack; reconstruction recovered 40 of 40")
    assert found["defences"][1]["broken"] == 0
    assert "a guess: " in text  # every curve with the line of a guess
    for name in ("raw", "dp"):
        assert f"Queries to {name}: 12 of " in text


def test_the_command_says_before_and_after(call, tmp_path):
    write_people(tmp_path / "people.csv", 40)
    code, out, err = call(
        "attack",
        "differencing",
        "--csv",
        "people.csv",
        "--defence",
        "raw,dp",
        "--secret",
        "state",
        "--report",
        "r.html",
    )
    assert code == 0, err  # the gateway keeps its promise; that raw is broken is no surprise
    assert "broken: 40 of 40" in out
    assert "Epsilon 1 permits much about one person" in out
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")
    code, out, _ = call("attack", "differencing", "--csv", "people.csv", "--defence", "raw", "--json")
    assert code == 1  # the only defence that was named is lost
    document = json.loads(out)["reports"][0]
    assert document["recovered"] == 40
    assert document["base_rate"] < 0.8
    assert call("attack", "nothing", "--csv", "people.csv")[0] == 2
    assert call("attack", "all")[0] == 2
    assert call("attack", "all", "--csv", "people.csv", "--defence", "wishes")[0] == 2
    assert call("attack", "all", "--csv", "nowhere.csv")[0] == 2


def test_an_attack_on_a_policy_spends_a_copy_of_its_ledger(tmp_path):
    write_clinic(tmp_path)
    policy = tmp_path / "sfumato.toml"
    with policy_endpoint(policy, spend=True) as endpoint:
        endpoint.share(100)
        first = endpoint.ask("SELECT COUNT(*) FROM patient WHERE age > 30")
        spent = endpoint.spent()
        assert spent > 0
    before = (tmp_path / "clinic.ledger").read_bytes()
    with policy_endpoint(policy, spend=False) as fork:
        assert fork.spent() == spent  # the fork knows what was spent
        fork.share(10)
        fork.ask("SELECT COUNT(*) FROM patient WHERE age > 40")
        assert fork.spent() > spent
        assert fork.ask("SELECT COUNT(*) FROM patient WHERE age > 30")  # stored answers come along
    assert first
    assert (tmp_path / "clinic.ledger").read_bytes() == before
    with policy_endpoint(policy, spend=False) as fork:
        assert fork.spent() == spent


def test_the_newest_report_on_a_policy_is_kept_for_the_auditor(call, tmp_path):
    """As the page has it, in the state folder, for nobody else's eyes; answers are not in it."""
    write_clinic(tmp_path)
    words = ("--target", "sfumato.toml", "--secret", "disease", "--report", "r.html")
    code, out, err = call("attack", "oracles", *words, "--json")
    assert code == 0, err
    place = tmp_path / ".sfumato" / FILE
    kept = json.loads(place.read_text())
    assert kept == json.loads(out)
    assert page(kept) == (tmp_path / "r.html").read_text()
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert kept["ledger"] == "copy"
    assert kept["secret"]["column"] == "disease"
    assert set(kept["reports"][0]["transcript"][0]) == {"sql", "refused"}
    assert call("attack", "linking", *words)[0] == 0
    assert [report["attack"] for report in json.loads(place.read_text())["reports"]] == ["linking"]
    assert {path.name for path in place.parent.iterdir() if path.name.startswith(FILE)} == {FILE}
    write_people(tmp_path / "people.csv", 20)
    assert call("attack", "linking", "--csv", "people.csv", "--defence", "raw")[0] == 1
    assert [report["attack"] for report in json.loads(place.read_text())["reports"]] == [
        "linking"
    ]  # no policy: not kept
