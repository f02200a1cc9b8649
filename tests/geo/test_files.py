"""Files of points: what is reported, what is kept, and that nothing of the true positions stays behind."""

import csv
import json
import random
import re
import struct
import sys
from collections import Counter
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato import csv_rows
from sfumato.errors import InputError
from sfumato.geo.earth import ground_distance
from sfumato.geo.files import (
    ColumnChoice,
    geojson,
    gpx,
    obfuscate_file,
    open_points,
    parquet,
    read_positions,
)
from sfumato.geo.mechanism import LocationMechanism

MADE = LocationMechanism.within("ln 4", 200, around=(48, 2))
N = 137
CHANCE = np.random.default_rng(4)
LAT, LON = 48 + CHANCE.normal(0, 0.02, N), 2 + CHANCE.normal(0, 0.02, N)
ALTITUDE = 98765.4321


def write_csv(path, delimiter=","):
    rows = [[i, f"{a:.9f}", f"{b:.9f}", ALTITUDE] for i, (a, b) in enumerate(zip(LAT, LON, strict=True))]
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter).writerows([["id", "Latitude", "lng", "altitude"], *rows])


def write_geojson(path, *, lines=False):
    features = [
        {
            "type": "Feature",
            "id": i,
            "bbox": [b, a, b, a],
            "properties": {"n": i, "altitude": ALTITUDE, "note": 'ä "}]'},
            "geometry": {"type": "Point", "coordinates": [round(b, 9), round(a, 9), ALTITUDE]},
        }
        for i, (a, b) in enumerate(zip(LAT, LON, strict=True))
    ]
    if lines:
        path.write_text("\n".join(json.dumps(f) for f in features), encoding="utf-8")
        return
    whole = {
        "type": "FeatureCollection",
        "bbox": [71.125, 77.125, 72.125, 78.125],
        "name": "secret",
        "features": features,
    }
    path.write_text(json.dumps(whole, ensure_ascii=False, indent=1), encoding="utf-8")


def write_gpx(path):
    points = "".join(
        f'<trkpt lat="{a:.9f}" lon="{b:.9f}"><ele>{ALTITUDE}</ele><time>2024-01-01T00:00:{i % 60:02d}Z</time>'
        f"<extensions><speed>3.5</speed></extensions></trkpt>"
        for i, (a, b) in enumerate(zip(LAT[1:], LON[1:], strict=True))
    )
    path.write_text(
        '<?xml version="1.0"?><gpx xmlns="http://www.topografix.com/GPX/1/1"><metadata><author>somebody</author>'
        '<bounds minlat="77.125" minlon="71.125" maxlat="78.125" maxlon="72.125"/></metadata>'
        f'<wpt lat="{LAT[0]:.9f}" lon="{LON[0]:.9f}"><name>home &amp; away</name></wpt>'
        f"<trk><name>ride</name><trkseg>{points}</trkseg></trk></gpx>",
        encoding="utf-8",
    )


def write_parquet(path):
    table = pa.table({"lat": LAT.round(9), "altitude": np.full(N, ALTITUDE), "lon": LON.round(9), "id": np.arange(N)})
    pq.write_table(table.replace_schema_metadata({"note": "77.125 to 78.125"}), path, row_group_size=50)


def write_geoparquet(path):
    table = pa.table({"id": np.arange(N), "geometry": pa.array(parquet._wkb(LAT.round(9), LON.round(9)), pa.binary())})
    column = {"encoding": "WKB", "geometry_types": ["Point"], "bbox": [71.125, 77.125, 72.125, 78.125]}
    geo = {"version": "1.0.0", "primary_column": "geometry", "columns": {"geometry": column}}
    pq.write_table(table.replace_schema_metadata({"geo": json.dumps(geo)}), path)


FORMATS = {
    "csv": (write_csv, ("id",)),
    "geojson": (write_geojson, ("n", "id", "note")),
    "gpx": (write_gpx, ("name",)),
    "parquet": (write_parquet, ("id",)),
    "geoparquet": (write_geoparquet, ("id",)),
}


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    """So that every file has several batches and every text several chunks."""
    for module in (csv_rows, geojson, gpx):
        monkeypatch.setattr(module, "_ROWS", 40)
    for module in (geojson, gpx):
        monkeypatch.setattr(module, "_CHUNK", 300)
    monkeypatch.setattr(parquet, "_ROWS", 40)


@pytest.mark.parametrize("kind", FORMATS)
def test_every_row_has_a_report_nearby_and_nothing_true_stays(kind, tmp_path):
    make, keep = FORMATS[kind]
    source, target = tmp_path / f"in.{kind}", tmp_path / f"out.{kind}"
    make(source)
    done = obfuscate_file(source, target, MADE, ColumnChoice(keep=keep))
    assert done.rows == N
    assert set(done.columns.kept) == set(keep)
    lat, lon = read_positions(target)
    far = ground_distance(LAT, LON, lat, lon)
    assert 150 < far.mean() < 450
    assert far.min() > 0.3
    data = target.read_bytes() if "parquet" not in kind else str(pq.read_table(target).to_pylist()).encode()
    data += str(pq.read_schema(target).metadata).encode() if "parquet" in kind else b""
    assert b"98765.4" not in data
    assert b"7.125" not in data
    assert b"somebody" not in data
    assert b"secret" not in data
    for a, b in zip(LAT, LON, strict=True):
        assert f"{a:.9f}"[:-1].encode() not in data
        assert f"{b:.9f}"[:-1].encode() not in data


@pytest.mark.parametrize("kind", FORMATS)
def test_nothing_else_is_kept_without_a_choice_and_refusal_writes_nothing(kind, tmp_path):
    source, target = tmp_path / f"in.{kind}", tmp_path / f"out.{kind}"
    FORMATS[kind][0](source)
    done = obfuscate_file(source, target, MADE, ColumnChoice())
    assert done.columns.kept == ()
    assert done.columns.dropped
    target.unlink()
    with pytest.raises(InputError, match="holds more than positions"):
        obfuscate_file(source, target, MADE, ColumnChoice(refuse=True))
    with pytest.raises(InputError, match="no other column"):
        obfuscate_file(source, target, MADE, ColumnChoice(keep=("nothing",)))
    assert [path.name for path in tmp_path.iterdir()] == [source.name]


def test_kept_values_stay_with_their_rows(tmp_path):
    for kind in ("csv", "parquet", "geojson"):
        FORMATS[kind][0](tmp_path / f"in.{kind}")
        obfuscate_file(tmp_path / f"in.{kind}", tmp_path / f"out.{kind}", MADE, ColumnChoice(keep=FORMATS[kind][1]))
    with (tmp_path / "out.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["Latitude", "lng", "id"]
    assert [int(row["id"]) for row in rows] == list(range(N))
    assert all(re.fullmatch(r"-?\d+\.\d{7}", row[name]) for row in rows for name in ("Latitude", "lng"))
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.column_names == ["lat", "lon", "id"]
    assert table["id"].to_pylist() == list(range(N))
    features = json.loads((tmp_path / "out.geojson").read_text(encoding="utf-8"))["features"]
    assert [f["id"] for f in features] == [f["properties"]["n"] for f in features] == list(range(N))
    assert features[0]["properties"] == {"n": 0, "note": 'ä "}]'}
    assert all(len(f["geometry"]["coordinates"]) == 2 and "bbox" not in f for f in features)


def test_the_structure_of_a_track_stays(tmp_path):
    write_gpx(tmp_path / "in.gpx")
    obfuscate_file(tmp_path / "in.gpx", tmp_path / "out.gpx", MADE, ColumnChoice(keep=("time", "name")))
    text = (tmp_path / "out.gpx").read_text(encoding="utf-8")
    assert text.count("<trkpt") == N - 1
    assert text.count("<trkseg>") == text.count("</trkseg>") == 1
    assert "home &amp; away" in text
    assert "ride" not in text
    assert text.count("<time>") == N - 1
    assert "<ele>" not in text
    assert "speed" not in text


def test_formats_can_be_changed_without_other_columns(tmp_path):
    write_csv(tmp_path / "in.csv")
    for kind in FORMATS:
        if kind != "geoparquet":
            obfuscate_file(tmp_path / "in.csv", tmp_path / f"to.{kind}", MADE, ColumnChoice())
            assert len(read_positions(tmp_path / f"to.{kind}")[0]) == N
    with pytest.raises(InputError, match="cannot be kept in gpx"):
        obfuscate_file(tmp_path / "in.csv", tmp_path / "to.gpx", MADE, ColumnChoice(keep=("id",)))


def test_kept_columns_go_from_one_format_to_another(tmp_path):
    """Cells of a CSV file stay texts, as 007 must; typed values get the text or JSON value that they have."""
    (tmp_path / "a.csv").write_text('lat,lon,code,word\n48,2,007,"x, y"\n48.1,2.1,,z\n')
    keep = ColumnChoice(keep=("code", "word"))
    obfuscate_file(tmp_path / "a.csv", tmp_path / "b.geojson", MADE, keep)
    features = json.loads((tmp_path / "b.geojson").read_text())["features"]
    assert [f["properties"] for f in features] == [{"code": "007", "word": "x, y"}, {"code": "", "word": "z"}]
    obfuscate_file(tmp_path / "a.csv", tmp_path / "b.parquet", MADE, keep)
    table = pq.read_table(tmp_path / "b.parquet")
    assert table.column_names == ["lat", "lon", "code", "word"]
    assert table["code"].to_pylist() == ["007", ""]
    days = pa.array([date(2024, 2, 3), None])
    pq.write_table(pa.table({"lat": [48.0, 48.1], "lon": [2.0, 2.1], "day": days, "n": [1, 2], "ok": [True, False]}),
                   tmp_path / "c.parquet")  # fmt: skip
    obfuscate_file(tmp_path / "c.parquet", tmp_path / "c.csv", MADE, ColumnChoice(keep_all=True))
    lines = (tmp_path / "c.csv").read_text().splitlines()
    assert lines[0] == "lat,lon,day,n,ok"
    assert [line.split(",")[2:] for line in lines[1:]] == [["2024-02-03", "1", "true"], ["", "2", "false"]]
    obfuscate_file(tmp_path / "c.parquet", tmp_path / "c.geojson", MADE, ColumnChoice(keep_all=True))
    features = json.loads((tmp_path / "c.geojson").read_text())["features"]
    assert features[1]["properties"] == {"day": None, "n": 2, "ok": False}
    obfuscate_file(tmp_path / "c.geojson", tmp_path / "d.csv", MADE, ColumnChoice(keep=("n", "day")))
    lines = (tmp_path / "d.csv").read_text().splitlines()
    assert lines[0] == "lat,lon,day,n"
    assert [line.split(",")[2:] for line in lines[1:]] == [["2024-02-03", "1"], ["", "2"]]
    times = '<wpt lat="48" lon="2"><ele>35</ele></wpt><trk><trkseg><trkpt lat="48.1" lon="2.1"><time>12:00</time>'
    (tmp_path / "t.gpx").write_text(f"<gpx>{times}<ele>7.50</ele></trkpt></trkseg></trk></gpx>")
    keep = ColumnChoice(keep=("ele", "time"))
    for kind in ("csv", "geojson", "parquet"):
        obfuscate_file(tmp_path / "t.gpx", tmp_path / f"t.{kind}", MADE, keep)
        assert len(read_positions(tmp_path / f"t.{kind}")[0]) == 2
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert [line.split(",")[2:] for line in lines] == [["ele", "time"], ["35", ""], ["7.50", "12:00"]]
    features = json.loads((tmp_path / "t.geojson").read_text())["features"]
    assert [f["properties"] for f in features] == [{"ele": "35", "time": None}, {"ele": "7.50", "time": "12:00"}]
    table = pq.read_table(tmp_path / "t.parquet")
    assert (table["ele"].to_pylist(), table["time"].to_pylist()) == (["35", "7.50"], [None, "12:00"])
    (tmp_path / "u.gpx").write_text("<gpx><trk><trkseg></trkseg></trk></gpx>")
    obfuscate_file(tmp_path / "u.gpx", tmp_path / "u.parquet", MADE, ColumnChoice(keep_all=True))
    with pytest.raises(InputError, match="cannot be kept in parquet"):
        obfuscate_file(tmp_path / "c.geojson", tmp_path / "d.parquet", MADE, ColumnChoice(keep=("n",)))
    with pytest.raises(InputError, match="more than positions"):
        obfuscate_file(tmp_path / "a.csv", tmp_path / "e.geojson", MADE, ColumnChoice(refuse=True))


def test_names_that_leave_doubt_are_taken_only_for_somebody_to_confirm(tmp_path):
    file = tmp_path / "a.csv"
    for lat, lon in (("Y", "X"), ("y", "x"), ("gps_lat", "gps_lng"), ("start_lat", "start_lng")):
        file.write_text(f"{lon},{lat},id\n2,48,1\n")
        with pytest.raises(InputError, match="which column") as refused:
            open_points(file, ColumnChoice())
        assert f"--lat {lat} --lon {lon}" in refused.value.hint
        columns, _, _ = open_points(file, ColumnChoice(guess=True))
        assert (columns.lat, columns.lon, columns.guessed) == (lat, lon, True)
    file.write_text("x,y,lat,lon\n2,48,1,1\n")
    columns, _, _ = open_points(file, ColumnChoice(guess=True))
    assert (columns.lat, columns.lon) == ("lat", "lon")


def test_columns_are_guessed_only_where_there_is_no_doubt(tmp_path):
    file = tmp_path / "a.csv"
    write_csv(file, ";")
    assert obfuscate_file(file, tmp_path / "b.csv", MADE, ColumnChoice()).columns.guessed
    assert (tmp_path / "b.csv").read_text().startswith("Latitude;lng\n")
    file.write_text("X;Y;fid\n2.0;48.0;1\n")
    with pytest.raises(InputError, match="which column is the latitude"):
        read_positions(file)
    assert read_positions(file, ColumnChoice(lat="Y", lon="X"))[0].tolist() == [48.0]
    file.write_text("lat,latitude,lon\n1,2,3\n")
    with pytest.raises(InputError, match="latitude"):
        read_positions(file)
    for wrong in (ColumnChoice(lat="q", lon="lon"), ColumnChoice(lat="lon", lon="lon")):
        with pytest.raises(InputError):
            read_positions(file, wrong)


def test_owners_are_told_what_may_still_tell(tmp_path):
    write_csv(tmp_path / "a.csv")
    remarks = obfuscate_file(
        tmp_path / "a.csv", tmp_path / "b.csv", MADE, ColumnChoice(keep=("altitude", "id"))
    ).remarks
    assert remarks == ("kept columns may reveal where or when somebody was: altitude",)
    rows = "".join(f"{48 + i / 1000},2.{i % 7}\n" for i in range(120))
    (tmp_path / "a.csv").write_text("lat,lon\n" + rows)
    remarks = obfuscate_file(tmp_path / "a.csv", tmp_path / "b.csv", MADE, ColumnChoice()).remarks
    assert len(remarks) == 1
    assert remarks[0].startswith("the rows are sorted by latitude:")


POINT = '{"type": "Feature", "properties": {}, "geometry": {"type": "Point", "coordinates": [2, 48]}}'
BAD = {
    "empty.csv": ("", "is empty"),
    "short.csv": ("lat,lon\n1,2\n3\n", "row 2 has 1 field"),
    "word.csv": ("lat,lon\n1,2\n3,x\n", "row 2 has no position"),
    "nan.csv": ("lat,lon\n" + "48,2\n" * 60 + "nan,2\n", "row 61 has no position"),
    "far.csv": ("lat,lon\n" + "48,2\n" * 60 + "48,92\n", "row 61 is outside"),
    "twice.csv": ("lat,lon,a,a\n1,2,3,4\n", "two columns"),
    "a.geojson": ("[1, 2]", "not GeoJSON"),
    "b.geojson": ('{"type": "FeatureCollection", "features": [{"type": "Feat', "not GeoJSON"),
    **{
        f"{i}.geojson": ('{"type": "FeatureCollection", "features": [' + POINT + rest, words)
        for i, (rest, words) in enumerate(
            [
                ("", "ends before its list of features does"),
                (",", "ends before its list of features does"),
                ("]", "ends before its list of features does"),
                (f", {POINT}], ", "not GeoJSON"),
                ('], "name": "x"', "ends before its list of features does"),
                ('], "features": []}', "not GeoJSON"),
                ("]}" + POINT, "not GeoJSON"),
            ]
        )
    },
    "c.geojson": (
        '{"type": "Feature", "properties": null, "geometry": {"type": "LineString", "coordinates": [[1, 2], [3, 4]]}}',
        "LineString",
    ),
    "d.geojson": ('{"type": "Feature", "properties": {}, "geometry": null}', "not a Point"),
    **{
        f"kind{i}.geojson": (POINT.replace(old, new), words)
        for i, (old, new, words) in enumerate(
            [
                ("[2, 48]", '"12"', "feature 1 has no position"),
                ("[2, 48]", "[true, false]", "feature 1 has no position"),
                ("[2, 48]", '["2", "48"]', "feature 1 has no position"),
                ("[2, 48]", "[2]", "feature 1 has no position"),
                ("[2, 48]", '{"0": 2, "1": 48}', "feature 1 has no position"),
                ("[2, 48]", f"[1{'0' * 400}, 48]", "feature 1 has no position"),
                ("[2, 48]", f"[{'9' * 5000}, 48]", "not GeoJSON"),
                ("[2, 48]", "[" * 100_000, "not GeoJSON"),
                ('{"type": "Point", "coordinates": [2, 48]}', '"Point"', "geometry of feature 1 is not an object"),
                ('{"type": "Point", "coordinates": [2, 48]}', "[1, 2]", "geometry of feature 1 is not an object"),
                ('"properties": {}', '"properties": [1]', "properties of feature 1 is not an object"),
                ('"properties": {}', '"properties": "x"', "properties of feature 1 is not an object"),
                ('"properties": {}', '"properties": {"a": "\\ud800"}', "holds half of a letter"),
                ('"properties": {}', '"properties": {"\\uDfff": 1}', "holds half of a letter"),
            ]
        )
    },
    "e.gpx": ("<?xml version='1.0' encoding='foo'?><gpx/>", "not XML"),
    "f.gpx": ("<gpx><wpt lat='4_8' lon='2'></wpt></gpx>", "point 1 has no position"),
    "under.csv": ("lat,lon\n4_8,2\n", "row 1 has no position"),
    "a.gpx": ("<html></html>", "not a GPX file"),
    "b.gpx": ("<gpx><wpt lat='1' lon='2'>", "not XML"),
    "c.gpx": ("<!DOCTYPE gpx [<!ENTITY a 'b'>]><gpx></gpx>", "document type"),
    "d.gpx": ("<gpx><wpt lat='1'></wpt></gpx>", "point 1 has no position"),
    "a.parquet": ("PAR1", "not a Parquet file"),
    "a.txt": ("lat,lon\n", "no known format"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_get_one_error_and_leave_nothing(name, tmp_path):
    text, words = BAD[name]
    source = tmp_path / name
    source.write_text(text)
    target = tmp_path / ("out.csv" if name.endswith(("csv", "txt")) else f"out{source.suffix}")
    with pytest.raises(InputError, match=words):
        obfuscate_file(source, target, MADE, ColumnChoice())
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_file_is_never_replaced_by_its_own_result(tmp_path):
    write_csv(tmp_path / "a.csv")
    with pytest.raises(InputError, match="would replace"):
        obfuscate_file(tmp_path / "a.csv", tmp_path / "a.csv", MADE, ColumnChoice())
    with pytest.raises(InputError, match="no such file"):
        obfuscate_file(tmp_path / "x.csv", tmp_path / "b.csv", MADE, ColumnChoice())


def test_geometries_that_are_not_points_in_degrees_are_refused(tmp_path):
    def write(**column):
        geo = {"version": "1.0.0", "primary_column": "g", "columns": {"g": {"encoding": "WKB"} | column}}
        data = bytes([1, 2, 0, 0, 0]) + bytes(40)
        pq.write_table(
            pa.table({"g": [data]}).replace_schema_metadata({"geo": json.dumps(geo)}), tmp_path / "a.parquet"
        )

    for column, words in [
        ({}, "row 1 is not a point"),
        ({"crs": {"id": {"authority": "EPSG", "code": 3857}}}, "not in degrees"),
        ({"encoding": "point"}, "encoded as point"),
    ]:
        write(**column)
        with pytest.raises(InputError, match=words):
            obfuscate_file(tmp_path / "a.parquet", tmp_path / "b.parquet", MADE, ColumnChoice())


def test_features_on_lines_are_read(tmp_path):
    write_geojson(tmp_path / "a.json", lines=True)
    assert np.abs(read_positions(tmp_path / "a.json")[0] - LAT).max() < 1e-6


def test_members_may_follow_the_features(tmp_path):
    text = (
        '{"type": "FeatureCollection", "features": [' + POINT + ", \n" + POINT + '] , "name": "]}", "bbox": [1, 2]}\n'
    )
    (tmp_path / "a.geojson").write_text(text)
    assert read_positions(tmp_path / "a.geojson")[0].tolist() == [48, 48]


def test_names_in_quotes_may_hold_delimiters_and_line_breaks(tmp_path):
    (tmp_path / "a.csv").write_text('"height, in m, above, sea\n(,)";lat;lon\n1;48;2\n')
    assert [values.tolist() for values in read_positions(tmp_path / "a.csv")[:2]] == [[48], [2]]


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.csv", b"lat,lon\n1,2\n\xff,3\n", "not UTF-8"),
        ("a.csv", b"lat,lon\n1," + b"9" * 200_000 + b"\n", "damaged|no valid position|no position"),
        ("a.geojson", b'{"type": "FeatureCollection", "features": [\xff]}', "not UTF-8"),
        ("a.parquet", b"PAR1 nothing of the kind PAR1", "."),
    ],
)
def test_a_damaged_file_is_one_error(name, content, why, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=why):
        read_positions(tmp_path / name)


def test_random_damage_is_refused_or_read(tmp_path):
    """Bytes changed at random in a file of each format: a result, or one error; nothing else."""
    chance, met = random.Random(4), Counter()
    write_csv(tmp_path / "a.csv")
    for name in ("a.geojson", "a.gpx", "a.parquet"):
        obfuscate_file(tmp_path / "a.csv", tmp_path / name, MADE, ColumnChoice())
    for _ in range(240):
        suffix = chance.choice(["csv", "geojson", "gpx", "parquet"])
        data = bytearray((tmp_path / f"a.{suffix}").read_bytes())
        for _ in range(chance.choice([1, 3, 9])):
            place = chance.randrange(len(data))
            data[place : place + chance.choice([1, 1, 30])] = bytes([chance.randrange(256)])
        (tmp_path / f"b.{suffix}").write_bytes(bytes(data))
        try:
            read_positions(tmp_path / f"b.{suffix}")
            met["read"] += 1
        except InputError:
            met["refused"] += 1
    sys.stdout.write(f"{dict(met)}\n")
    assert min(met["read"], met["refused"]) > 5


@pytest.mark.parametrize(
    "geo",
    [
        "{",
        "[]",
        "{}",
        '{"primary_column": "q", "columns": {"q": {"encoding": "WKB"}}}',
        '{"primary_column": "q", "columns": []}',
    ],
)
def test_strange_geometry_metadata_is_one_error(geo, tmp_path):
    table = pa.table({"lat": [48.0], "lon": [2.0]}).replace_schema_metadata({"geo": geo})
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(InputError, match="metadata"):
        read_positions(tmp_path / "a.parquet")
    assert read_positions(tmp_path / "a.parquet", ColumnChoice("lat", "lon"))[0].tolist() == [48]


def test_points_with_a_system_of_their_own_are_refused(tmp_path):
    """A dialect of WKB writes a number before the coordinates; reading on would take it for a coordinate."""
    geo = {"primary_column": "g", "columns": {"g": {"encoding": "WKB"}}}
    point = struct.pack("<BIIdd", 1, 1 | 0x20000000, 4326, 2.0, 48.0)
    table = pa.table({"g": pa.array([point], pa.binary())}).replace_schema_metadata({"geo": json.dumps(geo)})
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(InputError, match="not a point"):
        read_positions(tmp_path / "a.parquet")


GEOMETRY = '{"type": "Point", "coordinates": [2, 48, 7], "secret": 2}'
FEATURE = f'{{"type": "Feature", "secret": 1, "geometry": {GEOMETRY}, "properties": {{}}}}'
TRACK = '<trkseg><trkpt lat="48" lon="2" a="secret"></trkpt><extensions><b>secret</b></extensions></trkseg>'
PLAIN = '{"type": "Feature", "geometry": {"type": "Point", "coordinates": [2, 48]}, "properties": {}}'
TWICE = '<trkpt lat="48" lon="2"><name>secret</name><name x="secret">n<b>secret</b></name></trkpt>'
BESIDE = {
    "geojson": (
        f'{{"type": "FeatureCollection", "bbox": [2, 48, 2, 48], "features": [{FEATURE}], "secret": 3}}',
        ['"bbox" of the collection', '"secret" of a feature', '"secret" of a geometry', "altitude"],
    ),
    "late.geojson": (  # long after the names of columns were found
        f'{{"type": "FeatureCollection", "features": [{",".join([PLAIN] * 1500)}, {FEATURE}], "secret": 3}}',
        ['"secret" of the collection', '"secret" of a feature', '"secret" of a geometry', "altitude"],
    ),
    "comments.gpx": (
        (
            f'<?xml version="1.0"?><!-- secret --><gpx creator="a" secret="b"><?run secret?>secret<trk a="secret">'
            f'<trkseg b="secret"><trkpt lat="48" lon="2">secret</trkpt>{TWICE}</trkseg></trk></gpx>'
        ),
        [
            *("comments", "processing instructions", 'attribute "secret" of gpx', "text of gpx", "text of trkpt"),
            *('attribute "a" of trk', 'attribute "b" of trkseg', "another name of trkpt", "b of name"),
            'attribute "x" of name',
        ],
    ),
    "gpx": (
        f"<gpx><metadata><author>secret</author></metadata><trk><name>secret</name>{TRACK}</trk></gpx>",
        ["metadata", "name of trk", 'attribute "a"', "extensions of trkseg"],
    ),
}


@pytest.mark.parametrize("kind", BESIDE)
def test_what_a_file_holds_beside_its_points_is_said_or_refused(tmp_path, kind):
    """Each thing alone as well: whatever is not a position is listed, refused on request, and never in the result."""
    text, wanted = BESIDE[kind]
    source, target = tmp_path / f"in.{kind}", tmp_path / f"out.{kind}"
    source.write_text(text)
    done = obfuscate_file(source, target, MADE, ColumnChoice(keep_all=True))
    listed = ", ".join(done.columns.dropped)
    assert all(word in listed for word in wanted)
    assert "secret" not in target.read_text()
    target.unlink()
    with pytest.raises(InputError, match="holds more than positions"):
        obfuscate_file(source, target, MADE, ColumnChoice(keep_all=True, refuse=True))
    assert not target.exists()


def test_members_after_the_features_are_refused_too(tmp_path):
    """They are read last, when much is written already: still nothing is left behind."""
    point = '{"type": "Feature", "geometry": {"type": "Point", "coordinates": [2, 48]}, "properties": {}}'
    many = ",".join([point] * 500)
    for tail in (', "secret": 1', ""):
        source, target = tmp_path / "in.geojson", tmp_path / "out.geojson"
        source.write_text(f'{{"type": "FeatureCollection", "features": [{many}]{tail}}}')
        if tail:
            with pytest.raises(InputError, match='member "secret" of the collection'):
                obfuscate_file(source, target, MADE, ColumnChoice(refuse=True))
            assert list(tmp_path.iterdir()) == [source]
        else:
            assert obfuscate_file(source, target, MADE, ColumnChoice(refuse=True)).rows == 500


def test_a_point_inside_of_a_point_is_refused(tmp_path):
    """Its name would be taken for that of the point around it."""
    inner = '<wpt lat="48.1" lon="2.1"><name>in</name></wpt>'
    text = f'<gpx><wpt lat="48" lon="2"><name>out</name><extensions>{inner}</extensions></wpt></gpx>'
    (tmp_path / "in.gpx").write_text(text)
    with pytest.raises(InputError, match="point inside"):
        obfuscate_file(tmp_path / "in.gpx", tmp_path / "out.gpx", MADE, ColumnChoice(keep=("name",)))


def test_parquet_holds_no_value_that_no_row_has(tmp_path):
    """Metadata is listed, or refused; a dictionary of a kept column is written anew."""
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 1, None], pa.int32()), pa.array(["a", "b", "SECRET"]))
    inside = pa.StructArray.from_arrays([codes], ["code"])
    fields = [pa.field("lat", pa.float64()), pa.field("lon", pa.float64())]
    who = pa.field("who", codes.type, metadata={b"note": b"SECRET"})
    schema = pa.schema([*fields, who], metadata={b"owner": b"SECRET"})
    table = pa.table([pa.array([48.0] * 3), pa.array([2.0] * 3), codes], schema=schema)
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(table, source)
    assert b"SECRET" in source.read_bytes()
    done = obfuscate_file(source, target, MADE, ColumnChoice(keep=("who",)))
    assert b"SECRET" not in target.read_bytes()
    assert pq.read_table(target)["who"].to_pylist() == ["a", "b", None]
    assert done.columns.dropped == ('metadata "owner"', 'metadata of the column "who"')
    with pytest.raises(InputError, match='metadata "owner"'):
        obfuscate_file(source, target, MADE, ColumnChoice(keep=("who",), refuse=True))
    nested = pa.table({"lat": [48.0] * 3, "lon": [2.0] * 3, "deep": inside})
    pq.write_table(nested, source)
    if "dictionary<" in str(pq.read_schema(source).field("deep").type):
        with pytest.raises(InputError, match="dictionary inside"):
            obfuscate_file(source, target, MADE, ColumnChoice(keep=("deep",)))


@pytest.mark.parametrize("cut", [1, 7, 10, 1000])
def test_row_groups_of_parquet_are_not_copied(tmp_path, monkeypatch, cut):
    """A file that is cut by person or by place would tell who belongs together; and rows stay beside what is kept."""
    monkeypatch.setattr(parquet, "_ROWS", 10)
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    names = [f"n{i}" for i in range(47)]
    table = pa.table({"lat": [46 + 0.04 * i for i in range(47)], "lon": [2.0] * 47, "who": names})
    pq.write_table(table.set_column(2, "who", table["who"].dictionary_encode()), source, row_group_size=cut)
    obfuscate_file(source, target, MADE, ColumnChoice(keep=("who",)))
    shape = pq.read_metadata(target)
    assert [shape.row_group(i).num_rows for i in range(shape.num_row_groups)] == [10, 10, 10, 10, 7]
    made = pq.read_table(target)
    assert made["who"].to_pylist() == names
    assert np.abs(made["lat"].to_numpy() - table["lat"].to_numpy()).max() < 0.03


def test_a_member_that_is_there_twice_is_refused(tmp_path):
    """Readers see the last one: what the first one holds would be dropped without a word."""
    twice = PLAIN.replace('"properties": {}', '"properties": {"a": 1}, "properties": {}')
    (tmp_path / "in.geojson").write_text(f'{{"type": "FeatureCollection", "features": [{twice}]}}')
    with pytest.raises(InputError, match="holds a member twice"):
        obfuscate_file(tmp_path / "in.geojson", tmp_path / "out.geojson", MADE, ColumnChoice())


def test_a_property_that_comes_late_is_dropped_or_kept_like_any_other(tmp_path):
    source, target = tmp_path / "in.geojson", tmp_path / "out.geojson"
    late = PLAIN.replace("{}", '{"speed": 7}')
    source.write_text(f'{{"type": "FeatureCollection", "features": [{",".join([PLAIN] * 1500)}, {late}]}}')
    assert obfuscate_file(source, target, MADE, ColumnChoice()).columns.dropped == ("speed",)
    assert "speed" not in target.read_text()
    kept = obfuscate_file(source, target, MADE, ColumnChoice(keep_all=True))
    assert kept.columns.kept == ("speed",)
    assert "speed" in kept.remarks[0]


@pytest.mark.parametrize(("kind", "more"), [(1001, 1), (2001, 1), (3001, 2), (0x80000001, 1), (0xC0000001, 2)])
def test_altitudes_and_boxes_of_geoparquet_are_said_or_refused(tmp_path, kind, more):
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    column = {"encoding": "WKB", "bbox": [2, 48, 2, 48]}
    point = struct.pack(f"<BIdd{more}d", 1, kind, 2.0, 48.0, *[123.0] * more)
    plain = struct.pack("<BIdd", 1, 1, 2.0, 48.0)
    for wkb, box, listed in [(point, {}, ["altitude"]), (plain, column, ["bounding box"]), (plain, {}, [])]:
        geo = {"primary_column": "g", "columns": {"g": {"encoding": "WKB"} | box}}
        table = pa.table({"g": pa.array([plain, wkb], pa.binary())}).replace_schema_metadata({"geo": json.dumps(geo)})
        pq.write_table(table, source)
        assert list(obfuscate_file(source, target, MADE, ColumnChoice()).columns.dropped) == listed
        if listed:
            with pytest.raises(InputError, match=listed[0]):
                obfuscate_file(source, target, MADE, ColumnChoice(refuse=True))
    for wrong in (plain + b"more", point[:-1]):
        table = pa.table({"g": pa.array([wrong], pa.binary())}).replace_schema_metadata({"geo": json.dumps(geo)})
        pq.write_table(table, source)
        with pytest.raises(InputError, match="not a point"):
            obfuscate_file(source, target, MADE, ColumnChoice())
    table = pa.table({"g": [1.5]}).replace_schema_metadata({"geo": json.dumps(geo)})
    pq.write_table(table, source)
    with pytest.raises(InputError, match="not WKB"):
        obfuscate_file(source, target, MADE, ColumnChoice())


def words_of(field):
    """All that is written into a column's type, however deep."""
    inner = [field.type.field(i) for i in range(field.type.num_fields)]
    return f"{field.type} {field.metadata} " + " ".join(map(words_of, inner))


def test_types_of_kept_columns_hold_no_words_of_their_own(tmp_path):
    """Metadata of fields inside of a kept column, and names of types, are written into the schema of a file."""
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    child = pa.field("c", pa.int64(), metadata={b"note": b"SECRET"})
    own = pa.opaque(pa.int64(), "SECRET", "SECRET")
    kinds = [pa.struct([child]), pa.list_(child), pa.large_list(pa.field("d", pa.struct([child]))), own]
    values = [[{"c": 1}], [[1]], [[{"c": 1}]], None]
    for kind, value in zip(kinds, values, strict=True):
        array = pa.ExtensionArray.from_storage(own, pa.array([1])) if value is None else pa.array(value, kind)
        schema = pa.schema([("lat", pa.float64()), ("lon", pa.float64()), pa.field("s", kind)])
        pq.write_table(pa.table([pa.array([48.0]), pa.array([2.0]), array], schema=schema), source)
        assert "SECRET" in words_of(pq.read_schema(source).field("s"))
        done = obfuscate_file(source, target, MADE, ColumnChoice(keep=("s",)))
        assert done.columns.dropped == ('metadata of the column "s"',)
        assert "SECRET" not in words_of(pq.read_schema(target).field("s"))
        assert pq.read_table(target)["s"].to_pylist() == (value or [1])


def test_a_file_that_is_called_geoparquet_is_one(tmp_path):
    """From whatever format, also with kept columns; it is read again as points."""
    (tmp_path / "a.csv").write_text("lat,lon\n48,2\n49,3\n")
    pq.write_table(pa.table({"lat": [48.0, 49.0], "lon": [2.0, 3.0], "who": ["a", "b"]}), tmp_path / "a.parquet")
    for source, keep in (("a.csv", ()), ("a.parquet", ("who",))):
        target = tmp_path / "out.geoparquet"
        obfuscate_file(tmp_path / source, target, MADE, ColumnChoice(keep=keep))
        assert set(pq.read_schema(target).names) == {"geometry", *keep}
        assert b"geo" in pq.read_schema(target).metadata
        lat, lon = read_positions(target)
        assert np.abs(lat - [48, 49]).max() < 0.5
        assert np.abs(lon - [2, 3]).max() < 0.5
    named = pa.table({"lat": [48.0], "lon": [2.0], "geometry": ["a"]})
    pq.write_table(named, tmp_path / "b.parquet")
    with pytest.raises(InputError, match="named as the positions"):
        obfuscate_file(tmp_path / "b.parquet", tmp_path / "b.geoparquet", MADE, ColumnChoice(keep=("geometry",)))
