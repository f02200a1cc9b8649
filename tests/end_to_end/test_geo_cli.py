"""`sfumato geo`: documents of the contract, files, traces and refusals."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest
from tests.end_to_end.terminal import in_terminal

from sfumato import geo
from sfumato.attacks import location
from sfumato.geo.earth import ground_distance

LEVEL = ("--level", "ln 4", "--radius", "200")
CHANCE = np.random.default_rng(9)
LAT, LON = 48 + CHANCE.normal(0, 0.01, 400), 2 + CHANCE.normal(0, 0.01, 400)


@pytest.fixture
def points(tmp_path):
    rows = [f"{i % 3},{a:.6f},{b:.6f},2024-01-01" for i, (a, b) in enumerate(zip(LAT, LON, strict=True))]
    (tmp_path / "points.csv").write_text("who,lat,lon,day\n" + "\n".join(rows) + "\n")
    return tmp_path


def read(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_file_is_obfuscated_and_what_was_dropped_is_said(points, call):
    done = call("geo", "obfuscate", "points.csv", "-o", "out.csv", *LEVEL, "--grid", "1", at=points)
    assert done.returncode == 0
    assert "dropped: who, day" in done.stdout
    assert "guessed" in done.stderr
    rows = read(points / "out.csv")
    assert list(rows[0]) == ["lat", "lon"]
    far = ground_distance(LAT, LON, *(np.array([float(row[k]) for row in rows]) for k in ("lat", "lon")))
    assert 280 < far.mean() < 420


def test_a_document_says_what_was_done(points, call):
    words = ("--around", "48,2", "--keep", "day", "--lat", "lat", "--lon", "lon", "--json")
    done = call("geo", "obfuscate", "points.csv", "-o", "out.csv", *LEVEL, *words, at=points)
    shown = json.loads(done.stdout)
    assert (shown["rows"], shown["kept"], shown["dropped"], shown["frame"]) == (400, ["day"], ["who"], "planar")
    assert shown["epsilon_per_metre"] < np.log(4) / 200
    assert "kept columns may reveal" in done.stderr


def test_a_trace_spends_a_budget_that_outlives_the_run(points, call):
    words = ("--person", "who", "--budget", "5 ln 4", "--ledger", "purse", "--around", "48,2")
    for _ in range(2):
        done = call("geo", "obfuscate", "points.csv", "-o", "out.csv", *LEVEL, *words, at=points)
        assert done.returncode == 0, done.stderr
        rows = read(points / "out.csv")
        places = {(row["who"], row["lat"], row["lon"]) for row in rows}
        assert {row["who"] for row in rows} == {"0", "1", "2"}
        assert len(places) <= 3 * 5
    assert len(places) == 3  # in the second run nothing but the last reports is left
    far = ("--level", "ln 4", "--radius", "300", *words)
    done = call("geo", "obfuscate", "points.csv", "-o", "o.csv", *far, at=points)
    assert "does not hold budgets of these settings" in done.stderr
    with (points / "points.csv").open("a") as file:
        file.write("7,95,2,2024-01-01\n")
    done = call("geo", "obfuscate", "points.csv", "-o", "o.csv", *LEVEL, *words[:4], "--ledger", "new", at=points)
    assert (done.returncode, "row 401" in done.stderr) == (2, True)
    assert not (points / "new").exists()
    shown = json.loads(call("geo", "budget", "purse", "--json", at=points).stdout)
    assert [one["person"] for one in shown["people"]] == ["0", "1", "2"]
    assert all(0 <= one["remaining"] < 1.25 * np.log(4) for one in shown["people"])
    assert "whole" in call("geo", "budget", "purse", at=points).stdout
    assert call("geo", "budget", "none", at=points).returncode != 0
    done = call("geo", "obfuscate", "points.csv", "-o", "o.csv", *LEVEL, "--budget", "0.1", at=points)
    assert done.returncode == 4


def test_a_trace_goes_on_outside_of_its_region(tmp_path, call):
    """A trace that ended at the border would tell where it went."""
    (tmp_path / "far.csv").write_text("who,lat,lon\nana,48.8584,2.2945\nana,43.3,5.4\n")
    words = ("far.csv", "-o", "out.csv", *LEVEL, "--around", "48.85,2.35", "--reach", "50000")
    done = call("geo", "obfuscate", *words, "--budget", "5 ln 4", "--person", "who", "--ledger", "purse", at=tmp_path)
    assert done.returncode == 0, done.stderr
    first, second = read(tmp_path / "out.csv")
    assert abs(float(first["lat"]) - 48.8584) < 0.1
    assert 48.3 < float(second["lat"]) < 48.5  # the edge of the region, in its direction
    alone = call("geo", "obfuscate", *words, at=tmp_path)  # without a budget every row is refused or reported as it is
    assert "row 2 is outside the region" in alone.stderr


def test_how_long_a_report_is_repeated_is_a_choice(points, call):
    """--threshold and --test are those of Python: a report is repeated within 900 km, and a test costs a hundredth."""
    words = ("--budget", "5 ln 4", "--person", "who", "--ledger", "purse", "--around", "48,2")
    more = ("--threshold", "900000", "--test", "1/100 ln 4")
    assert call("geo", "obfuscate", "points.csv", "-o", "o.csv", *LEVEL, *words, *more, at=points).returncode == 0
    assert len({(row["who"], row["lat"], row["lon"]) for row in read(points / "o.csv")}) == 3
    shown = json.loads(call("geo", "budget", "purse", "--json", at=points).stdout)
    rows = {"0": 134, "1": 133, "2": 133}
    for one in shown["people"]:
        assert one["spent"] == pytest.approx(np.log(4) * (1 + (rows[one["person"]] - 1) / 100))
    for wrong in (("--threshold", "-1"), ("--threshold", "far"), ("--test", "0")):
        done = call("geo", "obfuscate", "points.csv", "-o", "o.csv", *LEVEL, *words[:2], *wrong, at=points)
        assert done.returncode == 2, done.stderr
    done = call("geo", "obfuscate", "points.csv", "-o", "o.csv", *LEVEL, "--test", "1", at=points)
    assert "--test needs --budget" in done.stderr


def test_a_file_that_cannot_be_written_wastes_budget_and_reports_nothing(points, call):
    """The charges of a batch are in the ledger before its first report is written."""
    script = """
import os, sys
from sfumato.cli import main
from sfumato.geo.traces import TraceMechanism
many = TraceMechanism.report_many
def killed(*words):
    many(*words)
    os.kill(os.getpid(), 9)  # between the commit and the output
TraceMechanism.report_many = killed
sys.argv = ["sfumato", *sys.argv[1:]]
main()
"""
    words = ("--budget", "5 ln 4", "--person", "who", "--ledger", "purse", "--around", "48,2", "--yes")
    command = [sys.executable, "-c", script, "geo", "obfuscate", "points.csv", "-o", "out.csv", *LEVEL, *words]
    assert subprocess.run(command, cwd=points, check=False).returncode == -9
    assert not (points / "out.csv").exists()
    assert all(path.stat().st_size <= len("lat,lon,who\r\n") for path in points.glob(".out.csv*"))
    shown = json.loads(call("geo", "budget", "purse", "--json", at=points).stdout)
    assert [one["person"] for one in shown["people"]] == ["0", "1", "2"]
    assert all(one["spent"] >= np.log(4) for one in shown["people"])


def test_a_budget_is_not_raised_or_lowered_without_a_word(points, call):
    words = ("--person", "who", "--ledger", "purse", "--around", "48,2")
    for budget, said in (
        ("5 ln 4", None),
        ("5 ln 4", None),
        ("9 ln 4", "raised from 6.93147"),
        ("2", "lowered from 12.4"),
    ):
        done = call("geo", "obfuscate", "points.csv", "-o", "o.csv", *LEVEL, *words, "--budget", budget, at=points)
        assert done.returncode == 0, done.stderr
        assert ("the budget of each person is" in done.stderr) is (said is not None)
        assert said is None or said in done.stderr
    shown = json.loads(call("geo", "budget", "purse", "--json", at=points).stdout)
    assert {one["remaining"] for one in shown["people"]} == {0}


def test_a_ledger_does_not_name_the_zones(points, call):
    """A zone is somebody's home. It changes neither what a unit of the budget means nor the grid, so it may change."""
    words = ("--person", "who", "--budget", "9 ln 4", "--ledger", "purse", "--around", "48,2")
    for zone in ("48.0123,2.0456,300", "48.0124,2.0456,200"):
        done = call("geo", "obfuscate", "points.csv", "-o", "o.csv", *LEVEL, *words, "--zone", zone, at=points)
        assert done.returncode == 0, done.stderr
        held = b"".join(file.read_bytes() for file in points.glob("purse*"))
        assert b"ln 4 within 200" in held
        assert not any(word in held for word in (b"48.0123", b"480123", b"120123", b"2.0456", b"Zone"))


def test_the_area_of_retrieval_is_a_document_and_can_be_tried(points, call):
    done = call("geo", "retrieve", "--interest", "300", *LEVEL, "--confidence", "0.95", "--json")
    assert json.loads(done.stdout)["radius"] == pytest.approx(984.395, abs=1e-3)
    words = ("--around", "48,2", "--places", "points.csv", "--users", "points.csv", "--most", "50")
    done = call("geo", "retrieve", "--interest", "300", *LEVEL, *words, "--json", at=points)
    trial = json.loads(done.stdout)["trial"]
    assert trial["queries"] == 50
    assert trial["recall"] > 0.8
    assert "recall" in call("geo", "retrieve", "--interest", "300", *LEVEL, *words, at=points).stdout


def test_a_comparison_is_a_document_and_a_picture(points, call):
    (points / "prior.csv").write_text("4,1,1\n1,1,1\n1,1,9\n")
    done = call("geo", "evaluate", "--grid", "3x3", "--prior", "prior.csv", "--svg", "a.svg", "--json", at=points)
    shown = json.loads(done.stdout)
    assert {"mechanism", "loss", "adversary_error", "bayes_error", "epsilon"} <= set(shown["rows"][0])
    assert {row["prior"] for row in shown["rows"]} == {"uniform", "given"}
    drawn = (points / "a.svg").read_text()
    assert drawn.startswith("<svg")
    for row in shown["rows"]:  # each by its whole name, with both errors
        assert f">{row['mechanism']}" in drawn
        assert f">{row['adversary_error']:.3f}<" in drawn
        assert f">{row['bayes_error']:.3f}<" in drawn
    counted = call("geo", "evaluate", "--grid", "3x3", "--prior", "points.csv", at=points)
    assert "given" in counted.stdout
    assert "certified" in counted.stdout


def test_an_optimum_is_a_document_with_a_certificate(points, call):
    shown = json.loads(call("geo", "optimal", "--grid", "3x3", "--epsilon", "ln 2", "--json").stdout)
    assert set(shown) >= {"loss", "bound", "certificate"}
    assert 0 <= shown["loss"] - shown["bound"] < 1e-6
    (points / "prior.csv").write_text("1,1,1,1,1,1,1,1,92\n")
    less = call("geo", "optimal", "--grid", "3x3", "--epsilon", "ln 2", "--prior", "prior.csv", "--json", at=points)
    assert json.loads(less.stdout)["loss"] < shown["loss"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["obfuscate", "points.csv", *LEVEL],
        ["obfuscate", "points.csv", "-o", "points.csv", *LEVEL],
        ["obfuscate", "nothing.csv", "-o", "o.csv", *LEVEL],
        ["obfuscate", "points.csv", "-o", "o.csv", *LEVEL, "--others", "burn"],
        ["obfuscate", "points.csv", "-o", "o.csv", *LEVEL, "--others", "refuse"],
        ["obfuscate", "points.csv", "-o", "o.csv", *LEVEL, "--person", "who"],
        ["obfuscate", "points.csv", "-o", "o.csv", *LEVEL, "--around", "Paris"],
        ["obfuscate", "points.csv", "-o", "o.csv", *LEVEL, "--around", "10,10"],
        ["obfuscate", "points.csv", "-o", "o.csv", *LEVEL, "--zone", "48,2"],
        ["obfuscate", "points.csv", "-o", "o.csv", "--level", "0", "--radius", "200"],
        ["obfuscate", "points.csv", "-o", "o.csv", "--level", "1", "--radius", "-3"],
        ["obfuscate", "points.csv", "-o", "o.csv", *LEVEL, "--grid", "1e-12"],
        ["obfuscate", "95,0", *LEVEL],
        ["retrieve", "--interest", "300", *LEVEL, "--confidence", "1"],
        ["retrieve", "--interest", "300", *LEVEL, "--places", "points.csv"],
        ["evaluate", "--grid", "nine"],
        ["evaluate", "--grid", "3x3", "--side", "7"],
        ["evaluate", "--grid", "3x3", "--prior", "nothing.csv"],
        ["optimal", "--grid", "3x3", "--epsilon", "0"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_done_exits_2_and_writes_nothing(arguments, points, call):
    done = call("geo", *arguments, at=points)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert [path.name for path in points.iterdir()] == ["points.csv"]


def test_a_position_is_answered_by_a_position(call):
    done = call("geo", "obfuscate", "48.8584,2.2945", *LEVEL)
    lat, lon = map(float, done.stdout.split(","))
    assert 0 < ground_distance(np.array(lat), np.array(lon), np.array(48.8584), np.array(2.2945)) < 10_000


def test_guessed_columns_are_confirmed_on_a_terminal(points):
    command = f"geo obfuscate {points / 'points.csv'} -o {points / 'out.csv'} --level 1 --radius 200".split()
    code, shown = in_terminal(command, typed="n\n")
    assert code == 2
    assert "right?" in shown
    assert not (points / "out.csv").exists()


def test_a_doubtful_guess_is_refused_where_nobody_confirms_it(points, call):
    (points / "xy.csv").write_text("X,Y\n2.0,48.0\n2.1,48.1\n")
    words = ("geo", "obfuscate", "xy.csv", "-o", "o.csv", *LEVEL)
    refused = call(*words, at=points)
    assert refused.returncode == 2
    assert "--lat Y --lon X" in refused.stderr
    assert not (points / "o.csv").exists()
    assert 'Latitude is "Y"' in call(*words, "--yes", at=points).stderr
    assert call(*words, "--lat", "Y", "--lon", "X", at=points).returncode == 0
    trial = ("geo", "retrieve", "--interest", "300", *LEVEL, "--places", "xy.csv", "--users", "xy.csv")
    assert call(*trial, at=points).returncode == 2
    assert "recall" in call(*trial, "--lat", "Y", "--lon", "X", at=points).stdout


def test_the_front_of_the_package_names_what_exists():
    for name in geo.__all__:
        assert getattr(geo, name) is not None
    assert "within" in dir(geo)
    with pytest.raises(AttributeError, match="nothing"):
        _ = geo.nothing


def test_a_place_is_saved_once_and_reported_again(tmp_path, call):
    """Noise is drawn when a place is saved: the same report each time, and the true place is in no file."""
    first = call("geo", "place", "home", "48.0012345,2.0054321", *LEVEL, "--file", "p.json", at=tmp_path)
    assert first.returncode == 0, first.stderr
    assert call("geo", "place", "home", "--file", "p.json", at=tmp_path).stdout == first.stdout
    assert "48.0012345" not in (tmp_path / "p.json").read_text()
    call("geo", "place", "museum", "48.86,2.33", "--file", "p.json", at=tmp_path)
    listed = json.loads(call("geo", "place", "--file", "p.json", "--json", at=tmp_path).stdout)["places"]
    assert [place["name"] for place in listed] == ["home", "museum"]
    assert (listed[1]["lat"], listed[1]["lon"]) == (48.86, 2.33)
    assert call("geo", "place", "museum", "--remove", "--file", "p.json", at=tmp_path).returncode == 0
    for wrong in (
        ("museum",),
        ("home", "1,2"),
        ("x", "99,2"),
        ("x", "1,2", "--level", "1"),
        ("home", *LEVEL),
        ("--remove",),
    ):
        done = call("geo", "place", *wrong, "--file", "p.json", at=tmp_path)
        assert (done.returncode, done.stderr.count("ERROR")) == (2, 1), wrong


def test_the_radius_that_holds_for_the_mechanism_is_said_first(call):
    """Reports of the worldwide grid are farther away: the lecture's radius would miss its confidence."""
    lines = call("geo", "retrieve", "--interest", "300", *LEVEL).stdout.splitlines()
    assert "1085.2 m" in lines[0]
    assert any("984.4 m" in line for line in lines[1:])


def test_columns_named_x_and_y_are_proposed(tmp_path, call):
    (tmp_path / "p.csv").write_text("X;Y;id\n116.39;39.89;1\n116.31;39.91;2\n")
    done = call("geo", "obfuscate", "p.csv", "-o", "o.csv", *LEVEL, at=tmp_path)
    assert done.returncode == 2
    assert "--lat Y --lon X" in done.stderr


def test_a_directory_that_is_not_there_is_named_as_it_was_written(points, call):
    done = call("geo", "obfuscate", "points.csv", "-o", "nowhere/out.csv", *LEVEL, at=points)
    assert done.returncode == 2
    assert 'cannot use file "nowhere/out.csv": no such directory' in done.stderr


def test_the_attack_names_rounded_noise_and_not_ours(points, call):
    """Against itself exit 0; against the output of a tool that rounds its radius, exit 1."""
    done = call("geo", "attack", *LEVEL, "--trials", "60", "--json")
    rounded, ours = json.loads(done.stdout)["targets"]
    assert done.returncode == 0
    assert rounded["identified"] > 50
    assert ours["identified"] < 10
    bad = location.rounded_inverse(np.log(4) / 200)
    lines = [
        f"{a!r},{b!r}" for a, b in (bad(float(f"{x:.6f}"), float(f"{y:.6f}")) for x, y in zip(LAT, LON, strict=True))
    ]
    (points / "bad.csv").write_text("lat,lon\n" + "\n".join(lines) + "\n")
    words = ("--users", "points.csv", "--trials", "40")
    done = call("geo", "attack", *LEVEL, "--reports", "bad.csv", *words, at=points)
    assert done.returncode == 1, done.stderr
    call("geo", "obfuscate", "points.csv", "-o", "good.csv", *LEVEL, at=points)
    assert call("geo", "attack", *LEVEL, "--reports", "good.csv", *words, at=points).returncode == 0
    assert call("geo", "attack", *LEVEL, "--reports", "good.csv", at=points).returncode == 2


@pytest.mark.parametrize("at", ["-33.8568,151.2153", "-33.8568,-70.6", "-0.5,-0.25", "40.7,-74"])
def test_positions_in_the_south_and_west_are_not_options(tmp_path, call, at):
    """As an argument, and as the value of an option."""
    lat, lon = map(float, at.split(","))
    done = call("geo", "obfuscate", at, *LEVEL, "--around", at, "--zone", f"{at},50", "--json", at=tmp_path)
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert ground_distance(lat, lon, shown["lat"], shown["lon"]) < 5000
    done = call("geo", "obfuscate", *LEVEL, at, at=tmp_path)
    assert done.returncode == 0, done.stderr
    done = call("geo", "place", "home", at, "--json", at=tmp_path)
    assert json.loads(done.stdout) == {"name": "home", "lat": lat, "lon": lon}
    done = call("geo", "retrieve", "--interest", "300", *LEVEL, "--around", at, at=tmp_path)
    assert done.returncode == 0, done.stderr


def test_what_only_begins_like_a_position_is_still_refused(tmp_path, call):
    for words in (("-3",), ("-x,5",), ("-33.8,151.2", "--leve", "1")):
        done = call("geo", "obfuscate", *words, *LEVEL, at=tmp_path)
        assert done.returncode == 2
        assert "No such option" in done.stderr
