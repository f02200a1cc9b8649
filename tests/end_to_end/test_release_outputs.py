"""Outputs of `anonymize`, `release-check` and `attack` never replace what is read; claims and orders by definition."""

import csv
import itertools
import random
import signal
import subprocess
import sys
from collections import Counter
from fractions import Fraction

import pytest

from sfumato.anonymity import AnonymizeRequest, anonymize, check_release
from sfumato.anonymity.inspection import claims_of
from sfumato.errors import InputError


def write(path, head, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([head, *rows])
    return path


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A table with a population, hierarchies in a folder, an earlier release."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random("outputs")
    rows = [(str(rng.randint(20, 29)), rng.choice("mf"), rng.choice(["ill", "well"])) for _ in range(60)]
    write(tmp_path / "raw.csv", ("age", "sex", "v"), rows)
    write(tmp_path / "people.csv", ("age", "sex", "v"), rows * 2)
    (tmp_path / "h").mkdir()
    lines = "".join(f"{a},{a // 5 * 5},*\n" for a in range(20, 30))
    (tmp_path / "h" / "raw_hierarchy_age.csv").write_text(lines)
    (tmp_path / "link.csv").symlink_to(tmp_path / "raw.csv")
    (tmp_path / "hard.csv").hardlink_to(tmp_path / "raw.csv")
    write(tmp_path / "shown.csv", ("age", "sex", "v"), sorted(("*", "*", v) for _, _, v in rows))
    return tmp_path


ASKED = ("--quasi", "age,sex", "--sensitive", "v", "-k", "2", "--hierarchies", "h", "--suppress", "0.5")
POPULATION = ("--presence", "0,1", "--population", "people.csv")
ATTACKED = ("--csv", "raw.csv", "--secret", "v=ill", "--release", "shown.csv", "--report")


@pytest.mark.parametrize(
    "words",
    [
        ("anonymize", "raw.csv", *ASKED, "-o", "raw.csv"),
        ("anonymize", "raw.csv", *ASKED, "-o", "link.csv"),
        ("anonymize", "raw.csv", *ASKED, *POPULATION, "-o", "people.csv"),
        ("anonymize", "raw.csv", *ASKED, "-o", "h/raw_hierarchy_age.csv"),
        ("anonymize", "raw.csv", *ASKED, "--dry-run", "--svg", "raw.csv"),
        ("anonymize", "raw.csv", *ASKED, "--dry-run", "--svg", "./h/../raw.csv"),
        ("anonymize", "raw.csv", *ASKED, "-o", "out.csv", "--record", "raw.csv"),
        ("anonymize", "raw.csv", *ASKED, "-o", "out.csv", "--record", "out.csv"),
        ("anonymize", "raw.csv", *ASKED, "-o", "out.csv", "--record", "shown.csv"),
        ("attack", "linking", *ATTACKED, "raw.csv"),
        ("attack", "linking", *ATTACKED, "link.csv"),
        ("attack", "linking", *ATTACKED, "hard.csv"),
        ("attack", "linking", *ATTACKED, "shown.csv"),
    ],
)
def test_nothing_that_is_read_is_written_over(files, call, words):
    before = {file: file.read_bytes() for file in files.rglob("*") if file.is_file()}
    code, out, err = call(*words)
    assert (code, out) == (2, "")
    assert "Traceback" not in err
    assert {file: file.read_bytes() for file in files.rglob("*") if file.is_file()} == before


def ordered_distance(values, whole, order):
    """The least work by definition, of values that occur: the mean over cuts of what is carried across."""
    names = [name for name in order if whole[name]]
    work = Fraction(0)
    for i in range(1, len(names)):
        below = [sum(one[name] for name in names[:i]) for one in (values, whole)]
        work += abs(Fraction(below[0], values.total()) - Fraction(below[1], whole.total()))
    return work / (len(names) - 1)


@pytest.mark.parametrize("seed", range(8))
def test_names_that_nobody_has_do_not_change_the_ordered_distance(tmp_path, seed):
    rng = random.Random(f"order {seed}")
    rows = sorted((rng.choice("ab"), rng.choice("lmh")) for _ in range(40))
    raw = write(tmp_path / "raw.csv", ("q", "v"), rows)
    padded = [*(f"x{i}" for i in range(rng.randint(0, 30))), "l", "y", "m", "h", *(f"z{i}" for i in range(20))]
    whole = Counter(v for _, v in rows)
    wanted = max(ordered_distance(Counter(v for q, v in rows if q == a), whole, "lmh") for a in "ab")
    for order in (("l", "m", "h"), padded):
        assert check_release(raw, raw, ("q",), "v", order=order).t["ordered"] == wanted
        close = anonymize(AnonymizeRequest(str(raw), ("q",), "v", k=1, t="1", distance="ordered", order=tuple(order)))
        assert close.t == pytest.approx(float(wanted))


@pytest.mark.parametrize("seed", range(20))
def test_beta_and_presence_are_checked_by_definition(tmp_path, seed):
    rng = random.Random(f"beta {seed}")
    rows = sorted((rng.choice("abc"), rng.choice(["flu", "none", "gout"])) for _ in range(rng.randint(9, 30)))
    others = [(rng.choice("abcd" if seed % 2 else "abc"), "flu") for _ in range(rng.randint(0, 30))]
    raw = write(tmp_path / "raw.csv", ("q", "v"), rows)
    people = write(tmp_path / "people.csv", ("q", "v"), rows + others)
    beta = Fraction(rng.randint(1, 6), 4)
    low, high = Fraction(rng.choice([0, 1, 5]), 10), Fraction(rng.randint(5, 10), 10)
    whole, world = Counter(v for _, v in rows), Counter(q for q, _ in rows + others)
    classes = {q: Counter(v for p, v in rows if p == q) for q in {q for q, _ in rows}}
    alike = all(
        Fraction(one[v], one.total()) <= (1 + beta) * Fraction(whole[v], len(rows))
        for one, v in itertools.product(classes.values(), whole)
    )
    present = all(low <= Fraction(one.total(), world[q]) <= high for q, one in classes.items())
    present = present and (low == 0 or set(world) <= set(classes))
    claims = claims_of(k=1, beta=str(float(beta)), presence=(str(float(low)), str(float(high))))
    report = check_release(raw, raw, ("q",), "v", claims=claims, population=people)
    kinds = {fault.kind for fault in report.faults}
    assert ("beta" not in kinds, "presence" not in kinds) == (alike, present)
    with pytest.raises(InputError, match="larger table"):
        check_release(raw, raw, ("q",), "v", claims=claims)


def test_days_in_two_spellings_and_names_with_line_breaks(tmp_path):
    rows = [("2020-01-02", "a"), ("20200103", "b"), ("2020-01-05", "a"), ("2020-02-05", "b"), ("20200206", "a")]
    raw = write(tmp_path / "raw.csv", ("d", "v"), rows)
    where = tmp_path / "h.toml"
    where.write_text('[d]\nkind = "dates"\nlow = 2019-01-01\nhigh = 2021-12-31\nlevels = ["month", "year"]\n')
    out = tmp_path / "out.csv"
    anonymize(AnonymizeRequest(str(raw), ("d",), "v", k=2, hierarchies=where), str(out))
    assert check_release(out, raw, ("d",), "v", hierarchies=where, claims=claims_of(k=2)).faults == ()
    broken = write(tmp_path / "broken.csv", ("a\nb", "v"), rows)
    with pytest.raises(InputError, match="line break"):
        anonymize(AnonymizeRequest(str(broken), ("v",), k=1))


def test_ctrl_c_while_the_command_line_is_loaded_shows_no_traceback():
    for raised, shown in (("KeyboardInterrupt", False), ("ValueError", True)):
        code = f"import sfumato.cli; raise {raised}"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert ("Traceback" in done.stderr) is shown
        assert (done.returncode == -signal.SIGINT) is not shown


def test_ctrl_c_while_the_engine_runs_shows_no_traceback():
    """The engine raises an error of its own then, from any command; another one is shown."""
    for words, shown in (("Query interrupted", False), ("anything else", True)):
        code = f"import sfumato.cli as cli\ndef run(**_): raise RuntimeError({words!r})\ncli.app = run\ncli.main()"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert ("Traceback" in done.stderr) is shown
        assert (done.returncode == 130) is not shown


def test_a_database_that_was_interrupted_is_removed(tmp_path, monkeypatch):
    raw = write(tmp_path / "raw.csv", ("a", "v"), [("1", "x"), ("1", "y")])

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("sfumato.anonymity.writing.qualified", interrupted)
    with pytest.raises(KeyboardInterrupt):
        anonymize(AnonymizeRequest(str(raw), ("a",), "v", k=2), f"{tmp_path / 'new.duckdb'}#r")
    assert not (tmp_path / "new.duckdb").exists()
