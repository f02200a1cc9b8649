"""What follows from releases, against enumeration: every assignment of rows, every world, a simple attacker."""

import csv
import itertools
import random
from collections import Counter

import pytest

from sfumato.attacks.base import Endpoint, SecretFact
from sfumato.attacks.joint import values_left_together
from sfumato.attacks.matching import forced
from sfumato.attacks.releases import RELEASE_ATTACKS, ReleaseView, view
from sfumato.attacks.report import referee
from sfumato.attacks.scene import set_release_scene
from sfumato.attacks.small_worlds import values_in_some_world
from sfumato.cli.attack_release import releases


def write(path, head, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([head, *rows])
    return path


def assignments(people, sizes):
    """Every way to give each row to a person who fits it: for each person a class, or None."""
    for chosen in itertools.product(*((None, *one) for one in people)):
        if all(chosen.count(at) == size for at, size in enumerate(sizes)):
            yield chosen


def random_release(rng, people):
    """Overlapping classes, and for each person the ones that cover her: the rows are those of an assignment."""
    many = rng.randint(1, 3)
    cover = [tuple(at for at in range(many) if rng.random() < 0.6) for _ in range(people)]
    held = [rng.choice(one) if one and rng.random() < 0.85 else None for one in cover]
    return cover, held, [held.count(at) for at in range(many)]


@pytest.mark.parametrize("part", range(4))
def test_what_is_forced_is_what_all_assignments_share(part):
    rng = random.Random(f"forced {part}")
    told = 0
    for _ in range(60):
        people, _, sizes = random_release(rng, rng.randint(2, 6))
        if rng.random() < 0.3:
            sizes = [max(0, size + rng.choice([0, 0, 1])) for size in sizes]  # rows that fit nobody, perhaps
        worlds = list(assignments(people, sizes))
        found = forced(Counter(people), sizes)
        for i, mine in enumerate(people):
            if not mine or not worlds:
                assert not worlds or mine not in found.sure
                continue
            possible = {world[i] for world in worlds}
            assert {*found.left[mine]} == possible - {None}
            assert (mine in found.sure) is (None not in possible)
            told += None not in possible and len(possible) == 1
    assert told > 20


def worlds_of(people, shown, values):
    """Every combination of values of people with which the rows of each release are some people's."""
    for world in itertools.product(values, repeat=people):
        if all(any(_fits(world, way, classes) for way in ways) for ways, classes in shown):
            yield world


def _fits(world, way, classes):
    found = [Counter() for _ in classes]
    for value, at in zip(world, way, strict=True):
        if at is not None:
            found[at][value] += 1
    return found == list(classes)


@pytest.mark.parametrize("part", range(4))
def test_what_releases_leave_together_is_left_in_some_world(part):
    """Nothing is excluded that a world has; and much of what no world has is excluded."""
    rng = random.Random(f"worlds {part}")
    fact, excluded, missed = SecretFact("v", "a"), 0, 0
    for _ in range(25):
        people, truth, views, shown = rng.randint(3, 5), [], [], []
        truth = [rng.choice("abc") for _ in range(people)]
        for _ in range(rng.randint(2, 3)):
            cover, held, sizes = random_release(rng, people)
            classes = [Counter(truth[i] for i in range(people) if held[i] == at) for at in range(len(sizes))]
            views.append(ReleaseView("r", tuple(classes), tuple(cover), tuple(cover)))
            shown.append((list(assignments(cover, sizes)), classes))
        left = values_left_together(views, fact)
        worlds = list(worlds_of(people, shown, "abc"))
        assert tuple(truth) in worlds
        for i in range(people):
            cell = tuple(one.candidates[i] for one in views)
            possible = {world[i] for world in worlds}
            assert possible <= left.get(cell, set("abc"))
            excluded += 3 - len(left.get(cell, "abc"))
            missed += len(left.get(cell, "abc")) - len(possible)
    assert excluded > 2 * missed


@pytest.mark.parametrize("part", range(4))
def test_small_releases_together_leave_exactly_what_some_world_has(part):
    """Up to five people in up to three releases: no value more, and none fewer, than all worlds have."""
    rng = random.Random(f"exactly {part}")
    decided = certain = 0
    for _ in range(60):
        people = rng.randint(2, 5)
        truth, covers, classes, shown = [rng.choice("abc") for _ in range(people)], [], [], []
        for _ in range(rng.randint(2, 3)):
            cover, held, sizes = random_release(rng, people)
            covers.append(cover)
            classes.append([Counter(truth[i] for i in range(people) if held[i] == at) for at in range(len(sizes))])
            shown.append((list(assignments(cover, sizes)), classes[-1]))
        cells = list(zip(*covers, strict=True))
        found = values_in_some_world(Counter(cells), classes)
        worlds = list(worlds_of(people, shown, "abc"))
        for i, cell in enumerate(cells):
            possible = {world[i] for world in worlds}
            if cell in found:
                assert (found[cell] or set("abc")) == possible
                decided, certain = decided + 1, certain + (len(possible) == 1)
    assert decided > 190
    assert certain > 50


def test_what_has_too_many_ways_is_left_open():
    """Rows of forty people with many values and overlapping classes: the search ends, and nothing is claimed."""
    cell = ((0, 1), (0, 1), (0, 1))
    classes = [[Counter({f"v{i}": 2 for i in range(10)}) for _ in range(2)] for _ in range(3)]
    assert values_in_some_world({cell: 40}, classes) == {}
    assert values_in_some_world({cell: 41}, classes) == {}
    assert values_in_some_world({((0,), (0,)): 1}, [[Counter("a")], [Counter("b")]]) == {}  # no world fits


def test_differences_of_releases_give_away_who_is_in_one_alone():
    """Two releases by different columns, and one person whom the second leaves out."""
    first = ReleaseView("1", (Counter("aabb"), Counter("aab")), ((0,),) * 4 + ((1,),) * 3, ((0,),) * 4 + ((1,),) * 3)
    crowd = ((0,), (1,), (0,), (1,), (0,), (1,), ())
    second = ReleaseView("2", (Counter("aab"), Counter("aab")), crowd, crowd)  # together one b fewer than the first
    assert values_left_together([first, second], SecretFact("v", "a"))[(1,), ()] == {"b"}


def rows_that_fit_one_person(rows, published):
    """The simple attacker: a released row whose labels, stars aside, are those of one person alone."""
    found = set()
    for *labels, _ in published:
        fits = [i for i, row in enumerate(rows) if all(b in ("*", a) for a, b in zip(row, labels, strict=False))]
        if len(fits) == 1:
            found.add(fits[0])
    return found


@pytest.mark.parametrize("seed", range(12))
def test_whom_a_row_fits_alone_is_linked_whatever_else_is_released(tmp_path, seed):
    """Some rows are stars; a release of stars alone is added before it or after it."""
    rng = random.Random(f"stars {seed}")
    rows = [(rng.choice("abcdefgh"), str(rng.randint(1, 9)), rng.choice(["ill", "well"])) for _ in range(40)]
    stars = {i for i in range(40) if rng.random() < rng.choice([0.05, 0.2])}
    published = sorted(("*", "*", row[2]) if i in stars else row for i, row in enumerate(rows))
    raw = write(tmp_path / "raw.csv", ("q", "r", "v"), rows)
    shown = write(tmp_path / "shown.csv", ("q", "r", "v"), published)
    safe = write(tmp_path / "safe.csv", ("q", "r", "v"), sorted(("*", "*", v) for _, _, v in rows))
    wanted = len(rows_that_fit_one_person(rows, published))
    assert wanted > 5
    for files in ([shown], [safe, shown], [shown, safe]):
        words = {"secret": "v=ill", "known": ["q", "r"], "hierarchies": None}
        (report,), _ = releases("linking", raw, [str(file) for file in files], **words)
        assert report.certain == report.certain_right >= wanted
        assert report.outcome == "broken"


def test_everybody_of_a_large_table_is_attacked(tmp_path):
    """Two thousand people, of whom a release shows six as they are."""
    rng = random.Random("large")
    rows = [(str(rng.randint(0, 94)), rng.choice("mf"), rng.choice(["ill", "well"])) for _ in range(2000)]
    rows += [(str(95 + i), "m", "ill" if i % 2 else "well") for i in range(6)]
    rng.shuffle(rows)
    raw = write(tmp_path / "raw.csv", ("age", "sex", "v"), rows)
    shown = sorted(row if int(row[0]) > 94 else ("0..94", "*", row[2]) for row in rows)
    release = write(tmp_path / "r.csv", ("age", "sex", "v"), shown)
    words = {"secret": "v=ill", "known": ["age", "sex"], "hierarchies": None}
    (report,), knowledge = releases("linking", raw, [str(release)], **words)
    assert len(knowledge.people) == 2006
    assert (report.certain, report.certain_right, report.outcome) == (6, 6, "broken")


def test_a_release_that_never_looked_at_secrets_is_not_broken_by_minimality(tmp_path):
    """Fixed tens of years, secrets are fair coins: what a rule would have refused says nothing of anybody."""
    claims = 0
    for seed in range(60):
        rng = random.Random(f"coins {seed}")
        rows = [{"age": age, "zip": rng.randint(0, 99), "v": rng.choice("yn")} for age in range(20, 60)]
        rows += [{"age": 60 + i, "zip": rng.randint(0, 99), "v": "yn"[i % 2]} for i in range(3)]
        published = sorted((f"{r['age'] // 10}0..{r['age'] // 10}9", "*", r["v"]) for r in rows)
        file = write(tmp_path / "r.csv", ("age", "zip", "v"), published)
        knowledge, truth = set_release_scene(rows, "data", "v=y", ["age", "zip"])
        seen = [view(file, knowledge, None, everybody=rows)]
        report = referee(
            "minimality", lambda _, what, seen=seen: RELEASE_ATTACKS["minimality"].run(seen, what),
            Endpoint("r", lambda _: []), knowledge, truth, advice="",
        )  # fmt: skip
        claims += report.claims
        assert report.certain == 0
        assert report.outcome in ("held", "nothing", "not applicable"), seed
    assert claims > 0
