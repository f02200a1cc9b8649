"""What a command for places names is used or refused: for each form of input and each option, the outcome differs from
that without the option, or one error names it. Noise is the same in both runs, so that all of the outcome is compared.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.fixed_noise import FixedBits

from sfumato.cli.commands.geo import geo
from sfumato.ledger import LedgerPurse
from sfumato.sampling.bits import scripted

LEVEL = ("--level", "ln 4", "--radius", "200")
BUDGET = ("--budget", "9 ln 4", "--ledger", "ledger")
ROWS = [("ana" if i % 2 else "bob", 48.85 + i / 500, 2.35) for i in range(8)]
FORMS = ["48.8584,2.2945", "in.csv", "in.geojson", "in.gpx", "in.parquet", "geo.parquet"]
OPTIONS = {
    "--lat": "lat", "--lon": "lon", "--grid": "0.5", "--around": "48.85,2.35", "--zone": "48.8584,2.2945,900",
    "--keep": "who", "--others": "refuse", "--budget": "2 ln 4", "--person": "who", "--ledger": "ledger",
    "--test": "1/100 ln 4", "--threshold": "900000", "--out": "out.csv", "--reach": "900", "--json": None,
}  # fmt: skip
ASSENT = {"--yes", "--level", "--radius", "--help"}
"""Answers to a question that may not be asked, and what every command names."""


@pytest.fixture
def home(tmp_path, monkeypatch):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("who,lat,lon\n" + "".join(f"{who},{lat},{lon}\n" for who, lat, lon in ROWS))
    features = [
        {"type": "Feature", "geometry": {"type": "Point", "coordinates": [lon, lat]}, "properties": {"who": who}}
        for who, lat, lon in ROWS
    ]
    Path("in.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    points = "".join(f'<wpt lat="{lat}" lon="{lon}"><name>{who}</name></wpt>' for who, lat, lon in ROWS)
    Path("in.gpx").write_text(f"<gpx>{points}</gpx>")
    who, lat, lon = zip(*ROWS, strict=True)
    pq.write_table(pa.table({"who": who, "lat": lat, "lon": lon}), "in.parquet")
    wkb = np.zeros(len(ROWS), np.dtype([("order", "u1"), ("kind", "<u4"), ("x", "<f8"), ("y", "<f8")]))
    wkb["order"], wkb["kind"], wkb["x"], wkb["y"] = 1, 1, lon, lat
    geometry = {"version": "1.1.0", "primary_column": "at", "columns": {"at": {"encoding": "WKB"}}}
    table = pa.table({"who": who, "at": [one.tobytes() for one in wkb]})
    pq.write_table(table.replace_schema_metadata({"geo": json.dumps(geometry)}), "geo.parquet")
    return tmp_path


def outcome(call, source, words):
    """Everything that a run leaves: its code, what it prints, what it wrote, what is spent."""
    for path in [*Path().glob("out.*"), *Path().glob("ledger*")]:
        path.unlink()
    with scripted(FixedBits("options")):
        done = call("geo", "obfuscate", source, *LEVEL, *words)
        if source == FORMS[0] and done.returncode == 0:  # a second report, far away: only then is there a test
            done = call("geo", "obfuscate", "48.9,2.2945", *LEVEL, *words)
    spent = {}
    if Path("ledger").exists():
        with LedgerPurse.visit(Path("ledger")) as purse:
            spent = purse.budget, {cell: one.spent for cell, one in purse.people().items()}
    written = {path.name: path.read_bytes() for path in Path().glob("out.*")}
    return done, (done.returncode, done.stdout, written, spent)


def plain(source):
    return () if "," in source else ("-o", f"out{Path(source).suffix}", "--yes")


def test_the_options_are_those_of_the_command():
    """An option that is added belongs into this table, or it may be passed over in silence."""
    import typer

    command = typer.main.get_command(geo).commands["obfuscate"]
    named = {option for one in command.params for option in one.opts if option.startswith("--")}
    assert named - ASSENT == set(OPTIONS)


AROUND = ("--around", "48.85,2.35")
SLOW = [
    pytest.param(source, beside, marks=pytest.mark.slow, id=f"{source}-{beside[0]}")
    for source in FORMS[2:]
    for beside in (BUDGET, AROUND)
]


@pytest.mark.parametrize(
    ("source", "beside"),
    [*((source, ()) for source in FORMS), *((s, b) for s in FORMS[:2] for b in (BUDGET, AROUND)), *SLOW],
)
def test_an_option_changes_what_is_done_or_is_refused(source, beside, home, call):
    base, without = outcome(call, source, (*plain(source), *beside))
    assert base.returncode == 0, base.stderr
    used, refused = set(), set()
    for option, value in OPTIONS.items():
        if option in beside or (option == "--out" and plain(source)):
            continue
        words = (option,) if value is None else (option, value)
        done, found = outcome(call, source, (*plain(source), *beside, *words))
        if done.returncode == 2:
            names = ("-o", option) if option == "--out" else (option, option.strip("-"), str(value), "more than")
            assert any(name in done.stderr for name in names), (option, done.stderr)
            assert done.stdout == ""
            refused.add(option)
            continue
        named = option in ("--lat", "--lon") and source in ("in.csv", "in.parquet")  # the columns are the same
        assert found != without or named, option
        used.add(option)
    assert {"--grid", "--zone", "--json"} - set(beside) <= used
    if beside == BUDGET:
        assert {"--test", "--threshold"} <= used
    if beside and beside != BUDGET:
        assert "--reach" in refused


@pytest.mark.parametrize("source", FORMS)
def test_a_ledger_that_is_named_is_spent_from(source, home, call):
    totals = []
    for _ in range(2):
        assert call("geo", "obfuscate", source, *LEVEL, *plain(source), *BUDGET).returncode == 0
        with LedgerPurse.visit(Path("ledger")) as purse:
            purse.verify()
            totals.append(sum(one.spent for one in purse.people().values()))
    assert 0 < totals[0] < totals[1]


def test_a_script_that_reports_where_it_is_gets_what_its_budget_pays_for(home, call):
    """Three runs under a budget of one report: one report, and then a refusal that prints nothing."""
    words = ("geo", "obfuscate", FORMS[0], *LEVEL, "--budget", "ln 4", "--ledger", "ledger")
    done = [call(*words) for _ in range(3)]
    assert [one.returncode for one in done] == [0, 4, 4]
    assert [one.stdout.count(",") for one in done] == [1, 0, 0]
    assert "budget" in done[1].stderr
    Path("one.csv").write_text("lat,lon\n48.8584,2.2945\n")  # the same person, in a file: the last report is held
    call("geo", "obfuscate", "one.csv", *LEVEL, *words[-4:], "-o", "out.csv", "--yes")
    assert Path("out.csv").read_text().splitlines()[1:] == [done[0].stdout.strip()]
    document = json.loads(call(*words[:-4], "--budget", "8 ln 4", "--ledger", "new", "--json").stdout)
    assert (document["kind"], round(document["spent"], 6)) == ("fresh", 1.386294)
    done = call(*words[:-2])
    assert (done.returncode, done.stdout) == (2, "")
    assert "--budget for one position needs --ledger" in done.stderr
    done = call("geo", "obfuscate", FORMS[0], *LEVEL, "--budget", "ln 2", "--ledger", "none")
    assert (done.returncode, done.stdout, Path("none").exists()) == (4, "", False)


def test_reports_of_one_position_add_up_to_the_budget_and_no_more(home, call):
    """Positions that are far from each other cost a test and a report each."""
    said = []
    for i in range(12):
        words = (f"{40 + 3 * (i % 2)},2", *LEVEL, "--budget", "4 ln 4", "--ledger", "ledger", "--json")
        done = call("geo", "obfuscate", *words)
        said += [json.loads(done.stdout)] if done.returncode == 0 else []
    shown = json.loads(call("geo", "budget", "ledger", "--json").stdout)
    assert len({(one["lat"], one["lon"]) for one in said}) <= 4
    assert shown["people"][0]["spent"] == pytest.approx(sum(one["spent"] for one in said))
    assert shown["people"][0]["spent"] <= shown["budget"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("95,0", *LEVEL), "the position is not valid"),
        (("48,2", *LEVEL, "--around", "10,10"), "the position is outside the region"),
        (("48,2", *LEVEL, "--zone", "91,0,10"), "the centre of a zone is not a valid position"),
        (("48,2", *LEVEL, "--around", "48,2", "--zone", "10,0,10"), "the centre of a zone is outside the region"),
        (("48,2", *LEVEL, "--reach", "10"), "--reach needs --around"),
        (("48,2", *LEVEL, "-o", "out.csv"), "-o is for a file of points, but IN is a position"),
        (("48,2", *LEVEL, "--keep", "a", "--person", "b"), "need"),
        (("48,2", *LEVEL, "--budget", "3 ln 4", "--person", "b", "--keep", "a"), "--keep and --person are for a file"),
        (("in.geojson", *LEVEL, "-o", "out.csv", "--lat", "who", "--lon", "who"), "--lat and --lon name a column"),
        (("in.csv", *LEVEL, "-o", "out.csv", "--keep", " , "), "--keep names no column"),
        (("in.csv", *LEVEL, "-o", "out.csv", "--budget", "ln 4", "--ledger", "out.csv"), "would write over"),
        (("in.csv", *LEVEL, "-o", "out.csv", "--budget", "ln 4", "--ledger", "in.csv"), "would write over"),
    ],
)
def test_what_is_wrong_is_said_in_the_words_of_the_command(words, said, home, call):
    Path("out.csv").write_text("")
    done = call("geo", "obfuscate", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_a_ledger_tells_settings_apart_however_close_they_are(home, call):
    """200 m and 200.0001 m are two units of a budget; and a budget that no float tells apart is named in full."""
    words = ("geo", "obfuscate", FORMS[0], "--level", "ln 4", "--ledger", "ledger")
    assert call(*words, "--radius", "200", "--budget", "9 ln 4").returncode == 0
    done = call(*words, "--radius", "200.0001", "--budget", "9 ln 4")
    assert done.returncode != 0
    assert "does not hold budgets of these settings" in done.stderr
    assert "Note" not in done.stderr  # nothing was raised
    done = call(*words, "--radius", "200", "--budget", "12.4766492500")
    assert "raised from 12.476649250079" in done.stderr or "lowered from 12.476649250079" in done.stderr


@pytest.mark.parametrize("missing", [None, "", " "])
def test_a_row_without_a_person_is_refused_before_anything_is_spent(missing, home, call):
    """It would have shared the budget of somebody named None."""
    people = ["ana", "None", missing]
    features = [
        {"type": "Feature", "geometry": {"type": "Point", "coordinates": [2, 48]}, "properties": {"who": who}}
        for who in people
    ]
    text = json.dumps({"type": "FeatureCollection", "features": features})
    Path("in.geojson").write_text(text)
    done = call("geo", "obfuscate", "in.geojson", *LEVEL, *BUDGET, "--person", "who", "-o", "out.geojson")
    assert (done.returncode, Path("ledger").exists()) == (2, False)
    assert "row 3 names no person" in done.stderr
