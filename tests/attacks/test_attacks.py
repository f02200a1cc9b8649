"""Every attack wins against what it was made for, and loses against the gateway."""

import csv
import json
import stat
import sys
from contextlib import ExitStack
from fractions import Fraction

import numpy as np
import pytest

import sfumato
from sfumato.attacks import ATTACKS, averaging, differencing, membership, reconstruction
from sfumato.attacks.base import Claim, Endpoint, Found, is_exact
from sfumato.attacks.decode import all_subsets, exhaustive, least_absolute, least_squares
from sfumato.attacks.defences import DEFENCES, TABLE, make, read_sheet
from sfumato.attacks.document import FILE, document
from sfumato.attacks.gate import policy_endpoint, table_endpoint
from sfumato.attacks.linking import Sparse, covers, link, normal
from sfumato.attacks.mondrian import generalize
from sfumato.attacks.page import page
from sfumato.attacks.report import referee
from sfumato.attacks.scene import set_scene
from sfumato.design.worlds import Minimum, all_worlds, posterior, posterior_of_minima
from sfumato.doors.cli import main
from sfumato.doors.cli.clinic import write_clinic
from sfumato.errors import InputError, QueryError
from tests.attacks.people import write_people
from tests.doors.pg import Served
from tests.doors.web import Web

QUASI = ("age", "weight", "sex", "zip")


@pytest.fixture
def arena(tmp_path):
    """arena(name of an attack, of a defence, people): the report."""
    with ExitStack() as stack:

        def attack(name, defence, count=60, *, traits=0):
            sheet = read_sheet(write_people(tmp_path / "people.csv", count, traits))
            knowledge, truth = set_scene(sheet.records(), TABLE, "state", None)
            if defence == "dp":
                endpoint = stack.enter_context(table_endpoint(sheet, knowledge.key, Fraction(1)))
            else:
                endpoint = make(defence, sheet, "state", QUASI)
            return referee(name, ATTACKS[name].run, endpoint, knowledge, truth, advice=ATTACKS[name].advice)

        yield attack


WINS = [
    ("differencing", "raw"),
    ("differencing", "suppress"),
    ("averaging", "raw"),
    ("averaging", "laplace"),
    ("averaging", "bounded"),
    ("reconstruction", "raw"),
    ("reconstruction", "suppress"),
    ("reconstruction", "round"),
    ("linking", "raw"),
    ("oracles", "raw"),
    ("oracles", "suppress"),
]


@pytest.mark.parametrize(("name", "defence"), WINS)
def test_an_attack_wins_against_what_it_was_made_for(arena, name, defence):
    report = arena(name, defence, 80)
    assert report.applicable
    assert report.succeeded, report.words
    assert report.interval[0] > report.base_rate
    assert report.worst
    assert report.certain == report.certain_right  # what is claimed with certainty is so


@pytest.mark.parametrize("name", [name for name in ATTACKS if name != "averaging"])
def test_an_attack_loses_against_the_gateway(arena, name):
    report = arena(name, "dp", 40, traits=8 if name == "membership" else 0)
    assert not report.succeeded, report.words
    assert report.total == 1
    assert report.spent <= 1
    assert report.certain == 0
    if report.claims:
        assert report.rate <= report.bound


def test_averaging_loses_against_the_gateway(arena, monkeypatch):
    """Repeats are the stored answer; other words for the same set are paid for."""
    monkeypatch.setattr(averaging, "PEOPLE", 6)
    report = arena("averaging", "dp", 20)
    assert not report.succeeded
    assert report.spent <= 1


def test_membership_finds_who_is_in_the_case_group(arena):
    """Many traits, each leaning a little: together they tell, from exact counts."""
    report = arena("membership", "raw", 200, traits=60)
    assert report.succeeded, report.words
    assert not arena("membership", "dp", 100, traits=20).succeeded


def test_time_tells_where_work_depends_on_one_row(tmp_path, monkeypatch):
    """With a clock that counts the letters that a question made: what a real one measures, without its noise."""
    sheet, knowledge, truth = scene_of(tmp_path, 60)
    raw, clock = make("raw", sheet, "state", QUASI), [0.0]

    def run(sql):
        fact = sql.partition("CASE WHEN ")[2].partition(" THEN ")[0]
        clock[0] += 1 + 400 * raw.run(knowledge.count(fact))[0][0]
        return [(len(truth),)]

    monkeypatch.setattr("sfumato.attacks.base.time.process_time", lambda: clock[0])
    endpoint = Endpoint("raw", run)
    report = referee("timing", ATTACKS["timing"].run, endpoint, knowledge, truth, advice="")
    assert report.right == report.claims == 60
    assert report.succeeded
    even = Endpoint("even", lambda _: [(1,)])  # nothing takes time: nothing is claimed
    assert not ATTACKS["timing"].run(even, knowledge).claims


def scene_of(tmp_path, count):
    sheet = read_sheet(write_people(tmp_path / "people.csv", count))
    return sheet, *set_scene(sheet.records(), TABLE, "state", None)


@pytest.mark.parametrize(
    "trick", [differencing.own_row, differencing.union, differencing.all_but_one, differencing.tracker]
)
def test_the_examples_of_illegitimate_use_find_a_person_in_the_raw_table(tmp_path, trick):
    sheet, knowledge, truth = scene_of(tmp_path, 60)
    endpoint = make("raw", sheet, "state", QUASI)
    assert [trick(endpoint, knowledge, i) for i in range(20)] == [float(bit) for bit in truth[:20]]


def test_background_knowledge_finds_a_person_whose_kind_agrees(tmp_path):
    """Five people share a code, and all five are ill (the fourth example)."""
    path = tmp_path / "five.csv"
    lines = ["id,zip,state", *(f"{i},75002,ill" for i in range(5)), *(f"{i},7500{i % 2},well" for i in range(5, 20))]
    path.write_text("\n".join(lines) + "\n")
    sheet = read_sheet(path)
    knowledge, _ = set_scene(sheet.records(), TABLE, "state", ["id", "zip"])
    knowledge = knowledge.__class__(**{**_fields(knowledge), "secret": "\"state\" = 'ill'", "key": None})
    endpoint = make("raw", sheet, "state", ("zip",))
    people = [p.__class__({"zip": p.known["zip"]}, p.where) for p in knowledge.people]
    knowledge = knowledge.__class__(**{**_fields(knowledge), "people": tuple(people)})
    assert differencing.background(endpoint, knowledge, 0) == 1.0
    assert differencing.background(endpoint, knowledge, 10) == 0.0


def _fields(record):
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


def test_the_tracker_recovers_everybody_from_a_database_that_suppresses(tmp_path):
    sheet, knowledge, truth = scene_of(tmp_path, 1000)
    endpoint = make("suppress", sheet, "state", QUASI)
    assert endpoint.number(knowledge.count(knowledge.people[0].where)) is None  # she alone is refused
    asked = len(endpoint.log)
    found = [differencing.tracker(endpoint, knowledge, i) for i in range(1000)]
    assert found == [float(bit) for bit in truth]
    assert len(endpoint.log) - asked == 1002


def test_averaging_is_right_to_one_half_after_ten_thousand(tmp_path):
    sheet, knowledge, truth = scene_of(tmp_path, 40)
    endpoint = make("laplace", sheet, "state", QUASI)
    answers = [endpoint.number(knowledge.count(knowledge.secret)) for _ in range(10_000)]
    assert abs(sum(answers) / 10_000 - sum(truth)) < 0.75  # five standard errors of noise with scale 10
    assert np.std(answers) > 10
    with table_endpoint(sheet, knowledge.key, Fraction(1)) as gate:
        gate.share(40)
        same = {gate.number(knowledge.count(knowledge.secret)) for _ in range(30)}
    assert len(same) == 1  # one noisy number for ever


def test_small_noise_does_not_protect_a_column(tmp_path):
    """300 people, 1200 questions: rounding to ten and sticky noise fall; a thousand people are in the slow test."""
    sheet, knowledge, truth = scene_of(tmp_path, 300)
    for defence, least in (("round", 0.95), ("sticky", 0.75)):
        report = referee(
            "reconstruction",
            reconstruction.run,
            make(defence, sheet, "state", QUASI),
            knowledge,
            truth,
            advice="",
        )
        assert report.rate > least
        assert report.succeeded
        assert [queries for queries, _ in report.curve] == sorted(queries for queries, _ in report.curve)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("defence", "least"), [("round", 0.99), ("sticky", 0.93), ("laplace", 0.80), ("overlap", 0.99)]
)
def test_a_thousand_people_and_four_thousand_questions(tmp_path, defence, least):
    sheet, knowledge, truth = scene_of(tmp_path, 1000)
    endpoint = make(defence, sheet, "state", QUASI)
    report = referee("reconstruction", reconstruction.run, endpoint, knowledge, truth, advice="")
    assert report.rate >= least


@pytest.mark.slow
def test_a_thousand_people_behind_the_gateway_are_a_coin(tmp_path):
    sheet, knowledge, truth = scene_of(tmp_path, 1000)
    with table_endpoint(sheet, knowledge.key, Fraction(1)) as endpoint:
        report = referee("reconstruction", reconstruction.run, endpoint, knowledge, truth, advice="")
    assert report.interval[0] < report.base_rate + 0.03
    assert not report.succeeded


def test_all_subsets_within_alpha_give_all_but_four_alpha():
    rng = np.random.default_rng(7)
    subsets = all_subsets(8).astype(float)
    for alpha in (0.5, 1.0):
        for _ in range(6):
            column = rng.integers(0, 2, 8)
            answers = subsets @ column + rng.uniform(-alpha, alpha, len(subsets))
            found = exhaustive(answers, alpha)
            assert found is not None
            assert int((found != column.astype(bool)).sum()) <= 4 * alpha
    assert exhaustive(np.full(256, 100.0), 1.0) is None


def test_absolute_errors_survive_wrong_answers():
    """A tenth of the answers is garbage: the linear program does not care, least squares does."""
    rng = np.random.default_rng(3)
    column = rng.integers(0, 2, 48)
    subsets = rng.integers(0, 2, (480, 48)).astype(bool)
    answers = (subsets @ column).astype(float)
    answers[:48] = rng.uniform(0, 48, 48)
    assert ((least_absolute(subsets, answers) > 0.5) == column).all()
    assert not ((least_squares(subsets, answers) > 0.5) == column).all()
    assert ((reconstruction.decoded(subsets, answers) > 0.5) == column).all()  # chosen by itself


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("9/15/61", "1961-09-15"),
        ("09/15/1961", "15.09.1961"),
        ("02142", "2142"),
        ("2142.0", 2142),
        (" Female ", "female"),
        ("Sue  J. Carlson", "sue j. carlson"),
    ],
)
def test_spellings_of_one_value_are_the_same(one, other):
    assert normal(one)[-8:] == normal(other)[-8:] if "61" in str(one) else normal(one) == normal(other)


def test_rows_without_names_are_linked_with_a_list_that_has_names():
    """The tables of the course: one woman of the voters' list is in the hospital's data."""
    medical = [
        {"dob": "09/27/64", "sex": "female", "zip": "02139", "problem": "hypertension"},
        {"dob": "05/08/61", "sex": "male", "zip": "02138", "problem": "obesity"},
        {"dob": "09/15/61", "sex": "female", "zip": "02142", "problem": "shortness of breath"},
    ]
    voters = [
        {"name": "Sue J. Carlson", "zip": "2142", "dob": "9/15/61", "sex": "Female"},
        {"name": "Somebody Else", "zip": "2142", "dob": "9/15/63", "sex": "Female"},
    ]
    found = link(voters, medical, ["dob", "sex", "zip"])
    assert found == [[2], []]
    assert medical[found[0][0]]["problem"] == "shortness of breath"


def test_generalised_values_cover_what_they_stand_for():
    assert covers("*", "x")
    assert covers("20..29", 25)
    assert not covers("20..29", 30)
    assert covers("a|b", "B")
    assert covers("021**", "02139")
    assert not covers("021**", "03139")


def test_sparse_records_are_found_by_a_few_rare_items():
    """Three rare films with one wrong rating name a person; three that everybody saw do not."""
    records = [{f"film{j}": 1 + (i * j) % 5 for j in range(40) if (i * 7 + j * j) % 11 < 2} for i in range(200)]
    for record in records:
        record.update({f"hit{j}": 4 for j in range(3)})
    records[17].update({"rare1": 5, "rare2": 1, "rare3": 3})
    linker = Sparse(records)
    found, lead = linker.find({"rare1": 5, "rare2": 2, "rare3": 3, "hit1": 4})
    assert found == 17
    assert lead >= 1.5
    assert linker.find({"hit0": 4, "hit1": 4, "hit2": 4})[0] is None
    assert linker.find({"nobody has it": 1}) == (None, 0.0)


def test_classes_of_a_release_have_k_rows_and_leak_where_they_agree(tmp_path):
    sheet, knowledge, truth = scene_of(tmp_path, 200)
    release = generalize(sheet.records(), QUASI, "state", 5)
    classes = {}
    for row in release:
        classes.setdefault(tuple(row[c] for c in QUASI), []).append(row["state"])
    assert len(release) == 200
    assert min(map(len, classes.values())) >= 5
    # a secret that depends on a known column: every class of the young is homogeneous
    rows = [{**row, "state": "ill" if row["age"] < 50 else "well"} for row in sheet.records()]
    endpoint = Endpoint(
        "kanon", lambda _: (_ for _ in ()).throw(QueryError("no")), release=generalize(rows, QUASI, "state", 5)
    )
    knowledge, truth = set_scene(rows, TABLE, "state", list(QUASI))
    report = referee("homogeneity", ATTACKS["homogeneity"].run, endpoint, knowledge, truth, advice="")
    assert report.succeeded
    assert report.certain > 50
    assert report.certain == report.certain_right


SIX = [("Alice", 30, 60), ("Bob", 30, 90), ("Carl", 40, 90), ("Don", 40, 100), ("Ellie", 50, 60), ("Frank", 50, 100)]
ILL = {"Don", "Frank"}


def test_two_harmless_answers_name_don():
    """The least age of the ill is 40, their least weight 100: each leaves two candidates, both leave Don."""
    half = Fraction(1, 2)
    age = Minimum(frozenset({0, 1}), frozenset({2, 3}))
    weight = Minimum(frozenset({0, 1, 2, 4}), frozenset({3, 5}))
    assert posterior_of_minima(6, half, [age])[3] == Fraction(2, 3)
    assert posterior_of_minima(6, half, [weight])[3] == Fraction(2, 3)
    both = posterior_of_minima(6, half, [age, weight])
    assert both == [0, 0, 0, 1, 0, half]


def test_minima_agree_with_all_worlds():
    """Inclusion and exclusion against the enumeration of all worlds, on many small cases."""
    rng = np.random.default_rng(11)
    for _ in range(40):
        each = Fraction(int(rng.integers(1, 10)), 10)
        columns = [rng.integers(0, 4, 7).tolist() for _ in range(3)]
        seen = []
        for values in columns:
            least = int(rng.integers(0, 4))
            seen.append(
                Minimum(
                    frozenset(i for i, v in enumerate(values) if v < least),
                    frozenset(i for i, v in enumerate(values) if v == least),
                )
            )

        def fits(world, seen=seen):
            has = {i for i, bit in enumerate(world) if bit}
            return Fraction(all(not has & m.below and has & m.there for m in seen))

        found = posterior_of_minima(7, each, seen)
        try:
            worlds = posterior(all_worlds(7, each), fits)
        except InputError:
            assert found is None
            continue
        assert found == [sum(p for world, p in worlds.items() if world[i]) for i in range(7)]


def test_intersection_names_don_in_the_raw_table_and_not_behind_the_gateway(tmp_path):
    path = tmp_path / "six.csv"
    path.write_text(
        "name,age,weight,state\n" + "".join(f"{n},{a},{w},{'ill' if n in ILL else 'well'}\n" for n, a, w in SIX)
    )
    sheet = read_sheet(path)
    knowledge, _ = set_scene(sheet.records(), TABLE, "state", None)
    knowledge = knowledge.__class__(**{**_fields(knowledge), "secret": "\"state\" = 'ill'", "secret_value": "ill"})
    found = ATTACKS["intersection"].run(make("raw", sheet, "state", ()), knowledge)
    sure = {SIX[claim.person][0]: claim.has for claim in found.claims if claim.certain}
    assert sure["Don"] is True
    assert all(sure[name] is (name in ILL) for name in sure)
    with table_endpoint(sheet, "name", Fraction(1)) as gate:
        behind = ATTACKS["intersection"].run(gate, knowledge)
    assert not any(claim.certain for claim in behind.claims)


@pytest.mark.parametrize("defence", ["raw", "suppress", "kanon"])
def test_nulls_quotes_and_key_words_are_attacked_too(call, tmp_path, defence):
    """Columns named as SQL's own words, quotes in names and values, secrets and known values that are missing."""
    lines = ['select,"say ""it""",group,order']
    lines += [
        f"""{i},"O'Brien ""{i % 7}""\",{"" if i % 3 else i},{"" if i % 5 == 0 else "yn"[i % 2]}""" for i in range(60)
    ]
    (tmp_path / "odd.csv").write_text("\n".join(lines) + "\n")
    for name in ("differencing", "linking", "oracles", "intersection"):
        code, out, err = call("attack", name, "--csv", "odd.csv", "--defence", defence, "--json")
        assert code in (0, 1), err
        report = json.loads(out)["reports"][0]
        assert report["certain"] == report["certain_right"]
        if name == "differencing" and defence != "kanon":
            assert report["outcome"] == "lost"


def test_exactness_is_noticed(tmp_path):
    sheet, knowledge, _ = scene_of(tmp_path, 120)
    assert is_exact(make("raw", sheet, "state", QUASI), knowledge)
    for defence in ("round", "sticky", "laplace"):
        assert not is_exact(make(defence, sheet, "state", QUASI), knowledge)
    rounded = Endpoint("round", lambda sql: [(100 if " OR " in sql else 0 if " AND " in sql else 50,)])
    assert not is_exact(rounded, knowledge)  # they add up, by luck, and are all multiples of fifty


def test_the_classical_front_answers_aggregates_only(tmp_path):
    sheet, _, _ = scene_of(tmp_path, 60)
    endpoint = make("round", sheet, "state", QUASI)
    for sql in (
        "SELECT * FROM data",
        "SELECT COUNT(*) FROM data WHERE id IN (SELECT 1003)",
        "SELECT COUNT(*) FROM data; DROP TABLE data",
    ):
        with pytest.raises(QueryError):
            endpoint.ask(sql)
    assert endpoint.ask('SELECT AVG("age") FROM data')
    assert [asked.rows is None for asked in endpoint.log] == [True, True, True, False]
    with pytest.raises(InputError, match="not known"):
        make("nothing", sheet, "state", QUASI)


def test_people_without_a_key_are_described(tmp_path):
    """A table without identifiers, as census extracts are: what is known of a person names her."""
    path = tmp_path / "people.csv"
    write_people(path, 120)
    lines = [line.partition(",")[2] for line in path.read_text().splitlines()]
    path.write_text("\n".join(lines) + "\n")
    sheet = read_sheet(path)
    knowledge, truth = set_scene(sheet.records(), TABLE, None, None)
    assert knowledge.key is None
    assert "state" in knowledge.secret
    report = referee("differencing", differencing.run, make("raw", sheet, "state", QUASI), knowledge, truth, advice="")
    assert report.succeeded
    assert len(knowledge.people) > 100


def test_the_report_is_one_page_without_links(arena, tmp_path):
    reports = [arena("reconstruction", "raw", 40), arena("reconstruction", "dp", 20), arena("homogeneity", "raw", 20)]
    _, knowledge, _ = scene_of(tmp_path, 20)
    found = document(reports, "people <script>", knowledge)
    assert json.loads(json.dumps(found)) == found
    text = page(found)
    assert text.startswith("<!doctype html>")
    assert "<script>" not in text
    assert "LOST<br>40 of 40 (100 %)" in text
    assert "the promise allows" in text
    assert "<svg" in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "–" in text  # not applicable
    assert found["defences"][0]["sentence"].startswith("lost to 1 of 1 attacks; reconstruction recovered 40 of 40")
    assert found["defences"][1]["lost"] == 0
    for name in ("raw", "dp"):
        assert f"What was asked of {name}: 12 of " in text


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    def run(*words):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["sfumato", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main()
        return (stopped.value.code or 0, *capsys.readouterr())

    return run


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
    assert code == 0, err  # the gateway held; that raw is lost is no surprise
    assert "LOST: 40 of 40" in out
    assert "held" in out
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


def test_a_list_with_names_says_who_is_attacked(call, tmp_path):
    write_people(tmp_path / "people.csv", 60)
    rows = (tmp_path / "people.csv").read_text().splitlines()
    listed = [
        "name,age,weight,sex,zip",
        *(f"N{i},{','.join(line.split(',')[1:5])}" for i, line in enumerate(rows[1:31])),
    ]
    (tmp_path / "voters.csv").write_text("\n".join(listed) + "\n")
    code, out, err = call(
        "attack",
        "linking",
        "--csv",
        "people.csv",
        "--defence",
        "raw",
        "--secret",
        "state",
        "--with",
        "voters.csv",
        "--json",
    )
    assert code == 1, err
    report = json.loads(out)["reports"][0]
    assert 20 <= report["people"] <= 30
    assert report["certain"] == report["certain_right"] == report["recovered"]


def test_a_few_items_name_a_record(call, tmp_path):
    """Six of the films that somebody saw, with their stars; a list of one's own, with a film that she did not see."""
    rng = np.random.default_rng(3)
    seen = [{int(film) for film in rng.pareto(0.6, 25) * 2 if film < 400} for _ in range(150)]
    lines = ["person,film,stars", *(f"u{p},film {f},{(p * f) % 5 + 1}" for p, films in enumerate(seen) for f in films)]
    (tmp_path / "long.csv").write_text("\n".join(lines) + "\n")
    code, out, err = call(
        "attack", "linking", "--sparse", "--csv", "long.csv", "--defence", "raw,suppress,dp", "--json"
    )
    assert code == 0, err
    reports = {report["defence"]: report for report in json.loads(out)["reports"]}
    assert reports["raw"]["outcome"] == "lost"
    assert reports["raw"]["recovered"] > 0.7 * reports["raw"]["people"] > 80
    assert reports["raw"]["base_rate"] == 1 / len({line.split(",")[0] for line in lines[1:]})
    assert reports["suppress"]["outcome"] == reports["dp"]["outcome"] == "nothing"
    listed = ["person,film,stars", "u3,film 9999,1", *(line for line in lines if line.startswith("u3,"))]
    (tmp_path / "mine.csv").write_text("\n".join(listed) + "\n")
    words = ("attack", "linking", "--sparse", "--csv", "long.csv", "--with", "mine.csv", "--defence", "raw", "--json")
    report = json.loads(call(*words)[1])["reports"][0]
    assert report["recovered"] == report["people"] == 1  # one film that she did not see does no harm
    (tmp_path / "wide.csv").write_text("person,a,b,c\n1,,3,1\n2,4,,\n1,2,2,\n")
    assert "two rows" in call("attack", "linking", "--sparse", "--csv", "wide.csv")[2]
    assert call("attack", "averaging", "--sparse", "--csv", "long.csv")[0] == 2


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


def test_a_proof_about_one_person_is_a_loss_where_nothing_is_promised(tmp_path):
    """One certain claim, right: too few to be beyond chance, and yet she is shown. A wrong one proves nothing."""
    _, knowledge, truth = scene_of(tmp_path, 20)

    def lost(endpoint, *claims):
        return referee("linking", lambda *_: Found(claims), endpoint, knowledge, truth, advice="").succeeded

    raw, promise = Endpoint("raw", lambda _: []), Endpoint("dp", lambda _: [], Fraction(1))
    assert lost(raw, Claim(0, truth[0], certain=True))
    assert not lost(raw, Claim(0, truth[0]))
    assert not lost(raw, Claim(0, truth[0], certain=True), Claim(1, not truth[1], certain=True))
    assert not lost(promise, Claim(0, truth[0], certain=True))


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


def test_a_server_is_asked_as_an_analyst_asks_it(tmp_path, call, monkeypatch):
    """Over HTTP and over PostgreSQL's protocol: the same questions, the same refusals, the same budget."""
    write_clinic(tmp_path)
    with sfumato.open(tmp_path / "sfumato.toml") as gate:
        rows = read_sheet(tmp_path / "patient.parquet").records()[:60]
        with (tmp_path / "patient.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, ["ssn", "age", "disease"], extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
        words = ("attack", "differencing", "--csv", "patient.csv", "--secret", "disease", "--json", "--target")
        web = Web(gate, names=("bob",))
        try:
            assert call(*words, web.url)[0] == 2  # no --spend: nothing is asked
            assert gate.budget().spent.epsilon == 0
            monkeypatch.setenv("SFUMATO_TOKEN", web.tokens["bob"])
            code, out, err = call(*words, web.url, "--spend")
        finally:
            web.stop()
        assert code == 0, err
        report = json.loads(out)["reports"][0]
        assert report["claims"] == 60
        assert report["total"] == "4"
        assert 0 < gate.budget().spent.epsilon <= 4
        served = Served(gate, encrypted=False, users=("ana",))
        try:
            code, out, err = call(*words, f"postgresql://ana:correct%20horse@127.0.0.1:{served.port}/clinic", "--spend")
        finally:
            served.stop()
        assert code == 0, err
        assert json.loads(out)["reports"][0]["total"] == "1"  # ana's share
        assert json.loads(out)["reports"][0]["claims"] > 0


def test_every_attack_and_every_defence_is_in_its_table():
    assert set(DEFENCES) == {"raw", "suppress", "overlap", "round", "bounded", "sticky", "kanon", "laplace", "dp"}
    assert all(attack.advice and attack.run.__doc__ for attack in ATTACKS.values())
    assert membership.run is ATTACKS["membership"].run
