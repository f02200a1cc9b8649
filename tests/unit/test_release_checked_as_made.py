"""What `anonymize` makes with odd hierarchies, dummies and distances, the check reads as it was made."""

import csv
import json
import random
from collections import Counter
from datetime import date, timedelta

import pytest

from sfumato.anonymity import AnonymizeRequest, anonymize, check_release
from sfumato.anonymity.hierarchies import from_rows
from sfumato.anonymity.hierarchy_files import read_hierarchies
from sfumato.anonymity.inspection import EarlierRelease, claims_of
from sfumato.anonymity.inspection.trees import read_trees
from sfumato.anonymity.lattice import NoRelease
from sfumato.errors import InputError

NAMES = ["0..1", "0..2", "2..4", "1..3", "4..5", "3..5", "1|2", "0..5", "low", "2..3|4..5", "low|4..5"]


def write(path, head, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, lineterminator="\n").writerows([head, *rows])
    return path


def test_local_recoding_writes_no_label_that_the_hierarchy_has_for_other_values(tmp_path):
    """Numbers whose hierarchy has labels like ranges and sets: each label of the release covers whom it was made of."""
    seen = Counter()
    for seed in range(150):
        rng = random.Random(f"collisions {seed}")
        values = [str(i) for i in range(6)]
        groups = sorted(rng.choices(range(3), k=6))
        names = rng.sample(NAMES, 3)
        tree = [[value, names[group], "*"] for value, group in zip(values, groups, strict=True)]
        (tmp_path / "h.toml").write_text(f"[n]\nkind = 'rows'\nrows = {json.dumps(tree)}\n")
        people = [(rng.choice(values), rng.choice("12"), f"s{i}") for i in range(12)]  # everybody is known by s
        raw, out = write(tmp_path / "raw.csv", ("n", "zip", "s"), people), tmp_path / f"{seed}.csv"
        k = rng.choice([2, 3, 4])
        anonymize(
            AnonymizeRequest(str(raw), ("n", "zip"), "s", k=k, hierarchies=tmp_path / "h.toml", method="mondrian"),
            str(out),
        )
        report = check_release(out, raw, ("n", "zip"), "s", hierarchies=tmp_path / "h.toml", claims=claims_of(k))
        assert report.passed, (seed, report.faults)
        with out.open(newline="", encoding="utf-8") as stream:
            labels = {row["n"] for row in csv.DictReader(stream)}
        seen["range"] += any(".." in label and label not in names for label in labels)
        seen["listed"] += bool(labels & {*names})
        spans = {f"{low}..{high}" for low in values for high in values if low < high}
        seen["avoided"] += bool(spans & {*names}) and any("|" in label or label == "*" for label in labels)
    assert min(seen.values()) > 15, seen


def distances(tmp_path, section, secrets, rng):
    people = [(str(i // 4), rng.choice(secrets)) for i in range(16)]
    raw, out, place = write(tmp_path / "raw.csv", ("q", "s"), people), tmp_path / "out.csv", tmp_path / "h.toml"
    place.write_text(f"[s]\n{section}\n")
    out.unlink(missing_ok=True)
    request = AnonymizeRequest(
        str(raw), ("q",), "s", k=2, t=rng.choice(["0.3", "0.5", "0.7"]), distance="hierarchical", hierarchies=place
    )
    try:
        made = anonymize(request, str(out))
    except NoRelease:
        return None
    report = check_release(
        out, raw, ("q",), "s", hierarchies=place, claims=claims_of(2, t=request.t, distance="hierarchical")
    )
    assert report.passed, report.faults
    return made.t, report.t["hierarchical"]


DAYS = [(date(1999, 12, 20) + timedelta(days=97 * i)).isoformat() for i in range(12)]


@pytest.mark.parametrize(
    ("section", "secrets"),
    [
        ("kind = 'intervals'\nlow = -5\nhigh = 96\nwidths = [3, 12, 60]", ["-5", "-3", "0", "7", "8.0", "44", "96"]),
        ("kind = 'prefix'\nlength = 4\nstars = [1, 3]", ["ab01", "ab02", "ab10", "ac10", "b010", "b011"]),
        ("kind = 'dates'\nlow = 1999-01-01\nhigh = 2010-12-31\nlevels = ['month', 'quarter', 'year', 'decade']", DAYS),
        ("kind = 'dates'\nlow = 1999-01-01\nhigh = 2010-12-31\nlevels = ['year', 'century']", DAYS),
    ],
    ids=["intervals", "prefix", "dates", "centuries"],
)
def test_the_hierarchical_distance_of_declared_kinds_is_that_of_the_release(section, secrets, tmp_path):
    rng, seen = random.Random(section), set()
    for _ in range(25):
        found = distances(tmp_path, section, secrets, rng)
        if found is not None:
            made, checked = found
            assert made == pytest.approx(float(checked), abs=1e-12)
            seen.add(checked)
    assert len(seen) > 5


def test_two_hierarchies_of_one_column_are_refused_by_both(tmp_path):
    rows = "[code]\nkind = 'rows'\nrows = [['1', 'a', '*'], ['2', 'b', '*']]\n"
    (tmp_path / "a.toml").write_text("[code]\nkind = 'star'\n")
    (tmp_path / "b.toml").write_text(rows)
    for name in ("c.toml", "x_hierarchy_code.csv", "y_hierarchy_code.csv"):
        for read in (read_hierarchies, lambda place, columns: read_trees(place, tuple(columns))):
            with pytest.raises(InputError, match='two hierarchies of "code"'):
                read(tmp_path, ["code"])
            assert read(tmp_path, ["other"])
        if name.endswith("toml"):
            (tmp_path / "b.toml").unlink()
            (tmp_path / name).write_text(rows)
        else:
            for old in tmp_path.glob("*.toml"):
                old.unlink()
            (tmp_path / "x_hierarchy_code.csv").write_text("1;a;*\n2;b;*\n")
            (tmp_path / "y_hierarchy_code.csv").write_text("1;a;*\n2;b;*\n")


def test_dummies_count_for_the_risk_of_the_journalist_as_in_the_release(tmp_path):
    seen = Counter()
    for seed in range(60):
        rng = random.Random(f"dummies {seed}")
        people = [(rng.choice("1223334"), rng.choice("abc")) for _ in range(20)]
        raw, out = write(tmp_path / "raw.csv", ("q", "s"), people), tmp_path / f"{seed}.csv"
        request = AnonymizeRequest(
            str(raw), ("q",), "s", k=4, suppress="0.5", dummies="0.4", hierarchies={"q": from_rows("q", TREE)}
        )
        try:
            made = anonymize(request, str(out))
        except NoRelease:
            continue
        claims = claims_of(4, dummies=made.dummies)
        report = check_release(out, raw, ("q",), "s", claims=claims)
        assert report.faultless, (seed, report.faults)
        assert report.dummies <= made.dummies
        if made.dummies == report.dummies:
            assert report.journalist == made.measures.journalist, seed
        seen[made.dummies > 0, made.dummies == report.dummies] += 1
    assert seen[True, True] > 10, seen


TREE = [["1", "*"], ["2", "*"], ["3", "*"], ["4", "*"]]


@pytest.mark.parametrize("promise", [{"t": "0.1"}, {"beta": "0.2"}], ids=["t", "beta"])
@pytest.mark.parametrize("place", [0, 1])
def test_what_a_copy_promised_holds_of_the_table_of_today(promise, place, tmp_path):
    """The same rows under two names and two promises: each of them is held against a table that has grown."""
    rows = [(zip_, s) for zip_ in "12" for s in "ab"]
    release = write(tmp_path / "first.csv", ("zip", "s"), rows)
    copy = write(tmp_path / "second.csv", ("zip", "s"), rows)
    claims = [claims_of(2), claims_of(2, **promise)]
    raw = tmp_path / "raw.csv"
    for extra, holds in (([], True), ([("3", "a")] * 6, False), ([("3", "a"), ("3", "b")] * 3, True)):
        write(raw, ("zip", "s"), rows + extra)
        earlier = EarlierRelease(copy, ("zip",), "s", claims=claims[1 - place])
        report = check_release(release, raw, ("zip",), "s", claims=claims[place], earlier=[earlier])
        assert report.passed is holds, (extra, report.faults)
        assert bool(report.faults) is not holds


def test_the_journalist_of_the_check_is_that_of_the_release_with_and_without_a_population(tmp_path):
    """The population is the table and others; or it lacks some of the table, as a register that is out of date."""
    seen = Counter()
    for seed in range(60):
        rng = random.Random(f"population {seed}")
        people = [(rng.choice("1223334"), rng.choice("abc")) for _ in range(20)]
        world = [q for q, _ in people[seed % 3 :]] + rng.choices("1234", k=rng.choice((0, 5, 60)))
        raw = write(tmp_path / "raw.csv", ("q", "s"), people)
        everybody = write(tmp_path / "world.csv", ("q",), [(q,) for q in world])
        for population in (None, str(everybody)):
            out = tmp_path / f"{seed}{population is None}.csv"
            request = AnonymizeRequest(
                str(raw),
                ("q",),
                "s",
                k=3,
                suppress="0.5",
                hierarchies={"q": from_rows("q", TREE)},
                population=population,
            )
            made = anonymize(request, str(out))
            report = check_release(out, raw, ("q",), "s", claims=claims_of(3), population=population)
            assert report.faultless, (seed, report.faults)
            assert report.journalist == made.measures.journalist, (seed, population)
            seen[population is None, report.journalist == report.prosecutor] += 1
    assert seen[True, True] > 10, seen
    assert seen[False, False] > 10, seen
