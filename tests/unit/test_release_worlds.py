"""Sequences of releases with roles, hierarchies and promises that change, against every world that fits all of them."""

import csv
import random
import sys
from collections import Counter
from types import SimpleNamespace

from sfumato.anonymity import AnonymizeRequest, check_release
from sfumato.anonymity.inspection import claims_of
from sfumato.cli.release_record import CheckedRelease, note, recorded

HEAD = ("A", "B", "D", "S", "T")
TREES = {"one": {"1": "n", "2": "n", "3": "m", "4": "m"}, "two": {"1": "n", "2": "m", "3": "n", "4": "m"}}
SEEDS = 700


def write(path, head, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, lineterminator="\n").writerows([head, *sorted(rows)])
    return path


def hierarchies(folder):
    for name, tree in TREES.items():
        (folder / name).mkdir()
        lines = "".join(f"{value};{label};*\n" for value, label in tree.items())
        (folder / name / "x_hierarchy_A.csv").write_text(lines)


FAMILIES = {
    "trees": ("112233441", {"A": ["quasi"], "B": [""], "D": [""], "S": ["sensitive", ""], "T": [""]}, [1]),
    "kept": ("11112222", {"A": ["quasi", ""], "B": ["keep", "quasi", ""], "D": [""], "S": [""], "T": [""]}, [0, 2]),
    "secrets": ("11112222", {"A": ["quasi"], "B": [""], "D": [""], "S": ["sensitive", ""], "T": ["sensitive"]}, [0]),
}
"""Sequences in which one thing alone changes: people by the first column, roles, and levels of labels."""


def random_release(rng, people, roles_before, family):
    """Roles, labels and rows of a release whose classes hold what it promises; None if there is no such class."""
    roles = {
        "A": rng.choice(["quasi", "quasi", "quasi", "keep", ""]),
        "B": rng.choice(["quasi", "quasi", "keep", ""]),
        "D": rng.choice(["quasi", "keep", "", ""]),
        "S": rng.choice(["sensitive", "sensitive", "sensitive", "keep", "quasi", ""]),
        "T": rng.choice(["sensitive", "", "", ""]),
    }
    levels = [0, 1, 1, 2]
    if family in FAMILIES:
        roles, levels = (
            {name: rng.choice(some) for name, some in FAMILIES[family][1].items()},
            FAMILIES[family][2],
        )
    elif roles_before is not None and rng.random() < 0.5:
        roles = dict(roles_before)
    if roles["S"] == roles["T"] == "sensitive":
        roles["T"] = ""
    tree, level = rng.choice(list(TREES)), {name: rng.choice(levels) for name in HEAD}
    quasi = tuple(name for name in HEAD if roles[name] == "quasi")
    sensitive = next((name for name in "ST" if roles[name] == "sensitive"), None)
    k, l = rng.choice([2, 2, 3]), rng.choice([None, 2]) if sensitive else None  # noqa: E741  as it is called
    if not quasi:
        return None

    def cell(person, name):
        steps = (person[name], TREES[tree].get(person[name], person[name]), "*")
        return steps[level[name]] if name in quasi else person[name]

    head = tuple(name for name in HEAD if roles[name])
    marks = [tuple(cell(person, name) for name in quasi) for person in people]
    classes = {}
    for mark, person in zip(marks, people, strict=True):
        classes.setdefault(mark, []).append(person[sensitive] if sensitive else "")
    good = {mark for mark, values in classes.items() if len(values) >= k and len({*values}) >= (l or 1)}
    here = [i for i, mark in enumerate(marks) if mark in good]
    rows = {i: tuple(cell(people[i], name) for name in head) for i in here}
    return SimpleNamespace(
        roles=roles, tree=tree, quasi=quasi, sensitive=sensitive, k=k, l=l, head=head, rows=rows,
        keep=tuple(name for name in head if roles[name] == "keep"), is_recorded=True,
    ) if here else None  # fmt: skip


def fits(people, releases, known, fixed):
    """Whether a world fits: everybody has the unknown cells of somebody, each once, and every release is as it is."""
    left = [Counter(one.rows.values()) for one in releases]
    order = [*fixed, *(i for i in range(len(people)) if i not in fixed)]

    def shown(one, i, j):
        return tuple(mine if name in known else theirs for name, mine, theirs in zip(
            one.head, one.rows[i], (people[j][name] for name in one.head), strict=True))  # fmt: skip

    def place(at, free):
        if at == len(order):
            return True
        i = order[at]
        for j in [fixed[i]] if i in fixed else sorted(free):
            if j not in free:
                continue
            taken = [(rest, shown(one, i, j)) for one, rest in zip(releases, left, strict=True) if i in one.rows]
            if all(rest[row] > 0 for rest, row in taken):
                for rest, row in taken:
                    rest[row] -= 1
                done = place(at + 1, free - {j})
                for rest, row in taken:
                    rest[row] += 1
                if done:
                    return True
        return False

    return place(0, frozenset(range(len(people))))


def check_truth(people, releases, known):
    """Whoever knows these columns and who is in which release finds k people like everybody, and l values.

    Promises are those of the record, and that of the last release.
    """
    promising = [one for one in releases if one.is_recorded or one is releases[-1]]
    marks = [
        tuple([cell for name, cell in zip(one.head, one.rows[i], strict=True) if name in known] if i in one.rows else ()
              for one in releases)
        for i in range(len(people))
    ]  # fmt: skip
    assert not known & {one.sensitive for one in promising if one.l is not None}
    for i in {i for one in releases for i in one.rows}:
        assert marks.count(marks[i]) >= max(one.k for one in promising), (i, marks[i])
        rows = [j for j in range(len(people)) if fits(people, releases, known, {i: j})]
        assert {j for j, mark in enumerate(marks) if mark == marks[i]} <= {*rows}, (i, rows)
        for one in promising:
            if one.l is not None:
                assert len({people[j][one.sensitive] for j in rows}) >= one.l, (i, rows, one.sensitive)


def random_people(rng, family):
    kinds = [(rng.choice("1234"), rng.choice("xy")) for _ in range(rng.choice([1, 2, 2, 3, 4]))]
    many = rng.choice([4, 5, 6, 7, 8, 8, 8])
    if family in FAMILIES:
        kinds, many = [(a, rng.choice("xxy")) for a in FAMILIES[family][0][:8]], 8
    return [
        dict(
            zip(
                HEAD,
                (
                    *kinds[i % len(kinds)],
                    rng.choice(rng.choice(["d", "de", "dde"])),
                    rng.choice("stu"),
                    rng.choice("vw"),
                ),
                strict=True,
            )
        )
        for i in range(many)
    ]


def known_columns(releases):
    """By definition: what any release calls a quasi-identifier, and all of one of which no record has the bytes."""
    last, protected = releases[-1], {one.sensitive for one in releases if one.is_recorded} | {releases[-1].sensitive}
    bytes_of = [(one.head, sorted(one.rows.values())) for one in releases if one.is_recorded]
    known = {name for one in releases if one.is_recorded or one is last for name in one.quasi}
    alone = [one for one in releases[:-1] if (one.head, sorted(one.rows.values())) not in bytes_of]
    return known | {name for one in alone for name in one.head if name not in protected}


def report_of(folder, people, releases):
    """What the check says of the last release, beside those that are recorded or named."""
    raw = write(folder / "raw.csv", HEAD, [tuple(person.values()) for person in people])
    record, named = folder / "record.jsonl", []
    record.write_text("")
    for number, one in enumerate(releases):
        one.file = str(write(folder / f"{number}.csv", one.head, one.rows.values()))
        request = AnonymizeRequest(
            str(raw), one.quasi, one.sensitive, k=one.k, l=one.l, keep=one.keep, hierarchies=folder / one.tree
        )
        if one.is_recorded:
            with note(record, request, one.file, SimpleNamespace(k=one.k, released=len(one.rows), dummies=0), one.file):
                pass
        elif one is not releases[-1]:
            named.append(one.file)
    last = releases[-1]
    checked = CheckedRelease(last.file, str(raw), last.quasi, last.sensitive, folder / last.tree)
    said = recorded(record, checked, named)
    claims = claims_of(last.k, last.l)
    report = check_release(
        last.file, raw, last.quasi, last.sensitive, keep=last.keep, hierarchies=said.hierarchies, earlier=said.earlier,
        claims=claims, recorded=said.this,
    )  # fmt: skip
    return report.passed and not said.lost


def test_whatever_passes_leaves_k_rows_and_l_values_in_every_world(tmp_path):
    """Two to four releases, with roles, hierarchies, kept columns and promises that change from one to the next."""
    hierarchies(tmp_path)
    counts = Counter()
    for seed in range(SEEDS):
        rng = random.Random(f"sequence {seed}")
        family = rng.choice(["any", "any", *FAMILIES])
        people, releases = random_people(rng, family), []
        for _ in range(rng.randint(2, 4)):
            one = random_release(rng, people, releases[-1].roles if releases else None, family)
            releases += [] if one is None else [one]
        if len(releases) < 2:
            continue
        for one in releases[:-1]:
            one.is_recorded = one.tree != releases[-1].tree or rng.random() < 0.8
        releases[-1].is_recorded = rng.random() < 0.8
        traits = {
            "roles": len({repr(one.roles) for one in releases}) > 1,
            "hierarchies": len({one.tree for one in releases}) > 1,
            "kept": any(one.keep for one in releases),
            "two sensitive columns": len({one.sensitive for one in releases} - {None}) > 1,
            "l": any(one.l for one in releases),
            "named": not all(one.is_recorded for one in releases[:-1]),
            "three or more": len(releases) > 2,
        }
        passed = report_of(tmp_path, people, releases)
        counts["all"] += 1
        counts.update(name for name, has in traits.items() if has)
        if passed:
            counts["passed"] += 1
            counts.update(f"passed: {name}" for name, has in traits.items() if has)
            check_truth(people, releases, known_columns(releases))
    sys.stdout.write(f"{dict(sorted(counts.items()))}\n")
    assert counts["passed"] >= 60
    for name in traits:
        assert counts[f"passed: {name}"] >= 3, counts
