"""Attacks on published tables: what k, l and t stop, and what they do not."""

import csv
import itertools
import json
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest

from sfumato.anonymity import AnonymizeRequest, anonymize
from sfumato.attacks.base import Knowledge, Person, SecretFact
from sfumato.attacks.graph import attack_graph, sample_graph
from sfumato.attacks.minimality import posterior_of_minimality
from sfumato.attacks.releases import RELEASE_ATTACKS, view
from sfumato.cli.attack_release import releases
from sfumato.errors import InputError


def write(path, head, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([head, *rows])
    return path


def knowledge_of(people, fact, rate=0.5):
    return Knowledge("data", fact, tuple(Person(one, "") for one in people), None, rate)


def claims(name, files, knowledge):
    found = RELEASE_ATTACKS[name].run([view(file, knowledge, None) for file in files], knowledge)
    return {claim.person: (claim.has, claim.certain) for claim in found.claims}, found


PEOPLE = [{"zip": f"130{i:02}", "age": 20 + i} for i in range(12)]


def test_a_row_that_fits_one_person_alone_is_theirs(tmp_path):
    rows = [("13000", "20", "flu"), ("1300*", "23..26", "cold"), ("1300*", "23..26", "flu"), ("130**", "27..31", "flu")]
    release = write(tmp_path / "r.csv", ("zip", "age", "ill"), rows)
    found, _ = claims("linking", [release], knowledge_of(PEOPLE, SecretFact("ill", "flu")))
    assert found == {0: (True, True)}  # the last row fits five people, of whom four are not in the table


def test_homogeneous_and_skewed_classes_are_read(tmp_path):
    young = [("130**", "20..25", "flu")] * 6
    old = [("130**", "26..31", "flu")] * 1 + [("130**", "26..31", "cold")] * 5
    release = write(tmp_path / "r.csv", ("zip", "age", "ill"), [*young, *old])
    knowledge = knowledge_of(PEOPLE, SecretFact("ill", "flu"), 7 / 12)
    found, _ = claims("homogeneity", [release], knowledge)
    assert found == dict.fromkeys(range(6), (True, True))
    found, report = claims("skewness", [release], knowledge)
    assert found == {**dict.fromkeys(range(6), (True, True)), **dict.fromkeys(range(6, 12), (False, False))}
    assert "up to 7.0" in report.reason  # odds of 7 to 5 became 1 to 5


def test_two_diverse_releases_give_a_value_away_together(tmp_path):
    """Ganta and others 2008: each class has three values, and two classes share one."""
    people = [("a", "x"), ("a", "y"), ("a", "y"), ("b", "x"), ("b", "x"), ("b", "y")]
    ill = ["flu", "cold", "none", "gout", "ache", "flu"]
    one = write(tmp_path / "one.csv", ("p", "ill"), sorted((p, i) for (p, _), i in zip(people, ill, strict=True)))
    two = write(tmp_path / "two.csv", ("q", "ill"), sorted((q, i) for (_, q), i in zip(people, ill, strict=True)))
    knowledge = knowledge_of([{"p": p, "q": q} for p, q in people], SecretFact("ill", "flu"))
    assert claims("homogeneity", [one], knowledge)[0] == claims("homogeneity", [two], knowledge)[0] == {}
    found, _ = claims("intersection", [one, two], knowledge)
    assert found == {i: (value == "flu", True) for i, value in enumerate(ill)}
    assert not claims("intersection", [one], knowledge)[1].applicable


def test_a_class_that_was_not_cut_gives_its_people_away():
    """Wong and others 2007: two young and four old people, two of the six ill, no class may have more than half ill.

    If they were not released apart, it is because both of the young are ill: nothing else breaks the rule.
    """
    people = [{"age": 20}] * 2 + [{"age": 60}] * 4
    assert posterior_of_minimality(people, 2, 2, Fraction(1, 2)) == [1, 1, 0, 0, 0, 0]
    assert posterior_of_minimality(people, 2, 4, Fraction(1, 2)) is None  # k alone forbids the cut: it says nothing
    # with the rule of two values: nobody ill among the young, among the old, or all of the young ill
    worlds = [w for w in itertools.combinations(range(6), 2) if len({0, 1} & set(w)) in (0, 2)]
    wanted = [Fraction(sum(i in w for w in worlds), len(worlds)) for i in range(6)]
    assert posterior_of_minimality(people, 2, 2, None) == wanted


def test_minimality_is_used_on_a_release(tmp_path):
    rows = [("20..60", "hiv")] * 2 + [("20..60", "none")] * 4 + [("70..80", "hiv"), ("70..80", "none")]
    release = write(tmp_path / "r.csv", ("age", "ill"), rows)
    ages = [20, 20, 60, 60, 60, 60, 70, 80]
    found, _ = claims(
        "minimality", [release], knowledge_of([{"age": age} for age in ages], SecretFact("ill", "hiv"), 3 / 8)
    )
    assert found == {0: (True, False), 1: (True, False)}  # that a rule refused the cut is an assumption


@pytest.fixture
def released(tmp_path):
    """Three hundred people whose secret depends on their age, and three releases."""
    rng = random.Random(3)
    rows = [(str(i), str(rng.randint(20, 69)), rng.choice("mf")) for i in range(300)]
    rows = [(*row, "ill" if rng.random() < (0.9 if int(row[1]) < 30 else 0.1) else "well") for row in rows]
    raw = write(tmp_path / "raw.csv", ("id", "age", "sex", "state"), rows)
    (tmp_path / "h.toml").write_text('[age]\nkind = "intervals"\nlow = 20\nhigh = 69\nwidths = [10]\n')
    common = {"data": str(raw), "quasi": ("age", "sex"), "sensitive": "state", "hierarchies": tmp_path / "h.toml"}
    anonymize(AnonymizeRequest(**common, k=5), str(tmp_path / "k.csv"))
    anonymize(AnonymizeRequest(**common, k=5, l=2), str(tmp_path / "l.csv"))
    anonymize(AnonymizeRequest(**common, k=5, t="0.1"), str(tmp_path / "t.csv"))
    return tmp_path


def outcome(call, name, release):
    words = ("--csv", "raw.csv", "--secret", "state=ill", "--known", "id,age,sex", "--json")
    code, out, err = call("attack", name, *words, "--release", release)
    assert code in (0, 1), err
    report = json.loads(out)["reports"][0]
    assert code == report["succeeded"]
    assert report["certain"] == report["certain_right"]
    return report


def test_the_command_attacks_releases(released, call):
    assert outcome(call, "linking", "raw.csv")["certain"] > 20
    assert not outcome(call, "linking", "k.csv")["claims"]
    assert outcome(call, "skewness", "k.csv")["succeeded"]
    assert not outcome(call, "skewness", "t.csv")["succeeded"]
    assert not outcome(call, "homogeneity", "l.csv")["claims"]


def test_what_cannot_be_attacked_is_one_error(released, call):
    for words, said in (
        (("timing", "--csv", "raw.csv", "--release", "k.csv"), "not an attack on a release"),
        (("linking", "--csv", "raw.csv", "--release", "none.csv"), "there is no file"),
        (("linking", "--target", "x.toml", "--release", "k.csv"), "needs the original table"),
        (("linking", "--csv", "raw.csv", "--release", "k.csv", "--known", "id"), "no column that is known"),
        (("averaging", "--graph"), "--graph is for linking"),
        (("linking", "--graph", "--csv", "raw.csv"), "not a list of edges"),
    ):
        code, out, err = call("attack", *words)
        assert (code, out) == (2, ""), words
        assert said in err
        assert "Traceback" not in err


def test_a_network_without_names_is_named_by_its_shape(call):
    """A few people known in both copies are enough; where the copies share too little, nobody is found."""
    edges = sample_graph(200, 8)
    clear = attack_graph(edges, 0.9, 8)
    assert clear.succeeded
    assert clear.found > 0.9
    assert clear.wrong < 0.1
    noisy = attack_graph(edges, 0.3, 8)
    assert not noisy.succeeded
    assert noisy.found < 0.2
    assert attack_graph(edges, 0.9, 0).named == 0  # without anybody to start from


def test_the_network_of_a_file_is_attacked(call, tmp_path):
    write(tmp_path / "edges.csv", ("0", "1"), sample_graph(120, 8)[1:])
    code, out, _ = call("attack", "linking", "--graph", "--csv", "edges.csv", "--json")
    found = json.loads(out)
    assert code == 1
    assert found["right"] > 80


@pytest.mark.parametrize(
    "form", ["%Y-%m-%d", "%d/%m/%Y", "%m-%d-%Y", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S.000", "%H:%M:%S"]
)
def test_a_release_of_identifiable_rows_is_linked_however_its_cells_are_spelt(tmp_path, form):
    """The release is the table itself: every cell is the same text in both, whatever its kind."""
    rng = random.Random(3)
    moments = [datetime(2020, 1, 1, 10, tzinfo=UTC) + timedelta(days=i, minutes=i) for i in range(60)]
    rows = [(one.strftime(form), rng.choice(["true", "false"]), rng.choice(["flu", "none"])) for one in moments]
    raw = write(tmp_path / "raw.csv", ("day", "member", "ill"), rows)
    release = write(tmp_path / "release.csv", ("day", "member", "ill"), sorted(rows))
    (report,), _ = releases("linking", raw, [str(release)], **of("ill=flu"))
    assert (report.claims, report.right) == (60, 60)


def of(secret):
    return {"secret": secret, "known": None, "hierarchies": None}


def test_secrets_are_read_as_the_file_spells_them(tmp_path):
    for one, other in (("02/01/2020", "13/01/2020"), ("true", "false"), ("1.50", "0.25"), ("2", "")):
        rows = [(str(i), one if i < 30 else other) for i in range(60)]
        raw = write(tmp_path / "raw.csv", ("age", "v"), rows)
        published = [("0..29" if i < 30 else "30..59", secret) for i, (_, secret) in enumerate(rows)]
        release = write(tmp_path / "release.csv", ("age", "v"), published)
        (report,), _ = releases("homogeneity", raw, [str(release)], **of("v"))
        assert (report.claims, report.right) == (60, 60), one
    assert not SecretFact("v", 2).holds("")  # a text that is not a number


def test_nothing_is_certain_where_others_fit_the_row_too(tmp_path):
    """One released row of a class that three people fit, two of whom are alike: it need not be the third's."""
    rows, published = [], []
    for group in range(20):
        low = 100 * group
        rows += [(str(low + 1), "flu"), (str(low + 1), "flu"), (str(low + 2), "none")]
        published.append((f"{low}..{low + 9}", "flu"))
    raw, release = write(tmp_path / "raw.csv", ("age", "v"), rows), tmp_path / "release.csv"
    write(release, ("age", "v"), published)
    reports, knowledge = releases("all", raw, [str(release)], **of("v=none"))
    assert len(knowledge.people) == 60
    assert [report.certain for report in reports] == [0] * len(reports)
    alone = view(release, knowledge, None)
    assert not any(alone.has_rows_for_all(i) for i in range(60))
    assert not view(release, replace(knowledge, others=(), only="age < 2000"), None).has_rows_for_all(0)


RESPELT = {
    "upper": str.upper, "star": lambda _: "*", "blank": lambda one: f" {one} ",
    "comma": lambda one: one.replace(".", ","),
    "point": lambda one: one.replace(",", "."), "zeros": lambda one: f"{one}.0", "more zeros": lambda one: f"0{one}",
    "german": lambda one: ".".join(reversed(one.split("-"))), "american": lambda one: "/".join(one.split("-")),
    "set": lambda one: f"{one}|other", "yes": lambda one: {"true": "yes", "false": "no"}.get(one, one), "as is": str,
    "short": lambda one: one[:1], "bits": lambda one: {"true": "1", "false": "0"}.get(one, one), "none": lambda _: "",
}  # fmt: skip
SECRETS = [
    ("hiv", "flu", "none"), ("1.0", "2.5", "3.0"), ("1", "2", "3"), ("2020-01-02", "2020-02-01", "2021-03-03"),
    ("true", "false"), ("", "flu", "hiv"), ("2020-01-02 10:00:00", "2020-01-02 11:30:00"), ("1,0", "2,5"),
]  # fmt: skip


def attacked(raw, release, secret):
    """The reports of all attacks, or why there are none."""
    try:
        return releases("all", raw, [str(release)], **of(secret))[0], ""
    except InputError as error:
        return [], error.message


@pytest.mark.parametrize("secrets", SECRETS, ids=lambda one: one[0] or "empty")
def test_no_certain_claim_is_wrong_however_the_secret_is_spelt(secrets, tmp_path):
    """The secret column respelt or generalised: whatever is not read as the original value is one error."""
    rows = [(str(i), secrets[i % len(secrets)]) for i in range(24)]
    raw = write(tmp_path / "raw.csv", ("age", "v"), rows)
    seen = {"read": 0, "refused": 0}
    for form, respell in RESPELT.items():
        for some in (secrets, secrets[:1]):  # all values, or one of them
            shown = {value: respell(value) if value in some else value for value in secrets}
            release = write(tmp_path / "release.csv", ("age", "v"), [(age, shown[value]) for age, value in rows])
            for secret in (f"v={secrets[0]}" if secrets[0] else "v=flu", "v"):
                reports, refusal = attacked(raw, release, secret)
                if refusal:
                    assert any(f'"{text}"' in refusal for text in shown.values()) or "nobody has" in refusal, form
                    seen["refused"] += "nobody has" not in refusal
                    continue
                assert all(one.certain == one.certain_right for one in reports), (form, secret)
                linking = next(one for one in reports if one.attack == "linking")
                assert linking.certain == len(rows) or (form, secrets[0]) == ("none", ""), (form, secret)
                seen["read"] += 1
    assert min(seen.values()) >= 4, seen


def test_a_library_that_knows_no_values_claims_nothing_of_labels(tmp_path):
    people = [{"age": i} for i in range(4)]
    for value, text in (("hiv", "HIV"), ("hiv", "*"), ("hiv", "hiv|flu"), (1.5, "1,5"), (True, "yes")):
        release = write(tmp_path / "r.csv", ("age", "v"), [(str(i), text) for i in range(4)])
        with pytest.raises(InputError, match="nobody's value"):
            view(release, knowledge_of(people, SecretFact("v", value)), None)
