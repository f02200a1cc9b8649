"""`sfumato local`: a plan, a task file, reports and estimates, as a person types them."""

import contextlib
import io
import json
import os
import random
import re
import sys

import duckdb
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from sfumato.cli import main
from sfumato.cli.clinic import write_clinic
from sfumato.local import read_task
from sfumato.local.collecting import Collection, install
from sfumato.local.kary import KAryResponse
from sfumato.local.shuffling import bound_shuffled
from sfumato.local.task import planned_task

COLOURS = ["red", "green", "blue"]


def run(*words, home=None):
    """Exit code, stdout and stderr of one command, in this process."""
    out, err, kept = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["sfumato", "local", *map(str, words)]
    try:
        with contextlib.chdir(home or "."), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
        code = 0
    except SystemExit as ended:
        code = ended.code or 0
    finally:
        sys.argv = kept
    return code, out.getvalue(), err.getvalue()


def local(*words, home=None, code=0):
    found, out, err = run(*words, home=home)
    assert found == code, err
    return out if code == 0 else err


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Six thousand answers, and a task for them."""
    place = tmp_path_factory.mktemp("local")
    dice = random.Random(4)
    people = dice.choices(COLOURS, [6, 3, 1], k=6000)
    (place / "answers.csv").write_text("id,colour\n" + "".join(f"{i},{c}\n" for i, c in enumerate(people)))
    local("plan", "--values", ",".join(COLOURS), "--users", 6000, "--epsilon", "ln 3", "--task", "t.toml", home=place)
    local("encode", "answers.csv", "--task", "t.toml", "--column", "colour", "-o", "reports.parquet", home=place)
    return place


def test_a_plan_has_its_document():
    plan = json.loads(local("plan", "--domain", 1000, "--users", "1e6", "--epsilon", 1, "--json"))
    assert {"mechanism", "epsilon", "error_95", "detectable", "bytes", "alternatives"} <= set(plan)
    assert plan["epsilon"] <= 1
    assert 0 < plan["error_95"] < plan["detectable"] < 0.02
    everything = [plan, *plan["alternatives"]]
    assert len({one["mechanism"] for one in everything}) == len(everything) == 7
    assert plan["error_95"] <= 1.05 * min(one["error_95"] for one in everything)


def test_a_task_file_is_checked_and_proved(tmp_path):
    """One report of each, and of RAPPOR all reports of a device; a task that states too little is refused."""
    local("plan", "--values", "a,b,c", "--epsilon", "1", "--task", "k.toml", home=tmp_path)
    words = ("plan", "--strings", "--mechanism", "rappor", "--epsilon", "1", "--lifetime", "2", "--task", "r.toml")
    local(*words, home=tmp_path)
    shown = local("check", "r.toml", "--prove", home=tmp_path)
    assert "verifier: one report: PROVED" in shown
    assert "verifier: all reports of a device: PROVED" in shown
    document = json.loads(local("check", "k.toml", "--prove", "--json", home=tmp_path))
    assert (document["mechanism"], document["reports"], document["permanent"]) == ("k-ary", 1, None)
    assert document["epsilon"] == document["epsilon_of_thresholds"]
    assert {what: proof["verdict"] for what, proof in document["proofs"].items()} == {"one report": "PROVED"}
    text = (tmp_path / "k.toml").read_text()
    (tmp_path / "k.toml").write_text(re.sub("(?m)^epsilon = .*$", 'epsilon = "1/2"', text))
    assert "its thresholds cost more" in local("check", "k.toml", home=tmp_path, code=2)


def test_a_plan_is_proved_drawn_and_written(tmp_path):
    said = local(
        *("plan", "--strings", "--mechanism", "rappor", "--epsilon", 1, "--lifetime", 4, "--users", 10**5),
        *("--prove", "--plot", "--svg", "p.svg", "--task", "t.toml", "--program", "p.sfp", "--name", "pages"),
        home=tmp_path,
    )
    assert "PROVED" in said
    assert "█" in said
    task = read_task((tmp_path / "t.toml").read_text())
    assert task.encoder.epsilon <= 1
    assert task.encoder.permanent <= task.lifetime <= 4
    assert (tmp_path / "p.svg").read_text().startswith("<svg")
    assert "claim ln(" in (tmp_path / "p.sfp").read_text()


def test_values_go_from_a_file_to_estimates(home):
    rows = json.loads(local("decode", "reports.parquet", "--task", "t.toml", "--json", home=home))
    assert [set(row) for row in rows] == [{"value", "estimate", "low", "high"}] * 3
    assert [row["value"] for row in rows] == COLOURS
    for row, share in zip(rows, (0.6, 0.3, 0.1), strict=True):
        assert row["low"] < row["estimate"] < row["high"]
        assert abs(row["estimate"] - share) < 3 * (row["high"] - row["low"])
    wide = json.loads(
        local("decode", "reports.parquet", "--task", "t.toml", "--population", "sampled", "--json", home=home)
    )
    assert all(w["high"] - w["low"] > r["high"] - r["low"] for w, r in zip(wide, rows, strict=True))
    said = local("decode", "reports.parquet", "--task", "t.toml", "--fake", 60, "--delta", "1e-6", home=home)
    assert "6,000 reports" in said
    assert "fake" in said
    assert "shuffled" in said


def test_a_collector_shuffles_within_batches_and_the_smallest_one_counts(tmp_path):
    """Batches of 300 and 100 reports: each person is hidden among those of one batch, not among all."""
    task = planned_task("t", KAryResponse.planned(2, 1), minimum_batch=100)
    (tmp_path / "t.toml").write_text(task.to_toml())
    install(tmp_path, task.to_toml())
    held = Collection(tmp_path / "collect" / "t")
    for many in (300, 100):
        held.commit([(os.urandom(16), report.tobytes()) for report in task.encode(["0"] * many)])
    assert (held.stored, held.smallest) == (400, 100)
    said = local("decode", "collect/t", "--task", "t.toml", "--delta", "1e-6", home=tmp_path)
    assert f"cost epsilon {bound_shuffled(task.epsilon, 100, '1e-6'):.3g} at" in said
    assert f"{bound_shuffled(task.epsilon, 400, '1e-6'):.3g}" not in said
    assert "the smallest of which holds 100 reports" in said
    said = local("decode", "collect/t", "--task", "t.toml", "--delta", "1e-6", "--fake", 30, home=tmp_path)
    assert f"cost epsilon {bound_shuffled(task.epsilon, 70, '1e-6'):.3g} at" in said  # fake reports hide nobody
    assert "the smallest of which holds 70 honest reports" in said


@pytest.mark.parametrize(("written", "shown"), [("0.999", "99.9 %"), ("19/20", "95 %"), ("0.5", "50 %")])
def test_a_confidence_is_shown_as_it_was_asked(home, written, shown):
    said = local("decode", "reports.parquet", "--task", "t.toml", "--confidence", written, home=home)
    assert f"; {shown} intervals" in said


def test_a_plan_states_the_epsilon_of_the_batches_that_the_collector_shuffles(tmp_path):
    words = ("plan", "--domain", 2, "--users", 5000, "--epsilon", 1, "--task", "t.toml")
    for batch in (100, 1000):
        plan = json.loads(local(*words, "--batch", batch, "--json", home=tmp_path))
        task = read_task((tmp_path / "t.toml").read_text())
        assert task.minimum_batch == plan["minimum_batch"] == batch
        assert plan["shuffled"]["epsilon"] == bound_shuffled(task.epsilon, batch, "1e-6")
        assert plan["shuffled"]["all_at_once"] == bound_shuffled(task.epsilon, 5000, "1e-6")
    said = local(*words, home=tmp_path)
    assert f"in batches of 100: epsilon {bound_shuffled(task.epsilon, 100, '1e-6'):.3g} at delta 1e-6" in said
    assert f"all at once: epsilon {bound_shuffled(task.epsilon, 5000, '1e-6'):.3g}" in said


def test_a_plan_for_texts_says_for_how_many_candidates(tmp_path):
    words = ("plan", "--strings", "--users", 60_000, "--mechanism", "rappor")
    assert "60,000 reports and 1,000 candidates: ±" in local(*words)
    many, few = (json.loads(local(*words, "--candidates", c, "--json")) for c in (1000, 20))
    assert (many["candidates"], few["candidates"]) == (1000, 20)
    assert few["detectable"] < many["detectable"]
    local(*words, "--filter", 128, "--hashes", 3, "--cohorts", 8, "--task", "t.toml", home=tmp_path)
    encoder = read_task((tmp_path / "t.toml").read_text()).encoder
    assert (encoder.filter, encoder.hashes, encoder.cohorts) == (128, 3, 8)
    assert "--cohorts is for RAPPOR" in local("plan", "--domain", 3, "--cohorts", 8, code=2)
    assert "--filter is for RAPPOR" in local("plan", "--strings", "--filter", 8, code=2)
    assert "--candidates is for --strings" in local("plan", "--domain", 3, "--candidates", 8, code=2)


def test_no_shuffled_epsilon_is_stated_where_a_person_may_send_several_reports(tmp_path):
    words = ("plan", "--domain", 2, "--users", 5000, "--epsilon", 1)
    one, many = (json.loads(local(*words, *extra, "--json")) for extra in ((), ("--lifetime", 10)))
    assert 0 < one["shuffled"]["epsilon"] < 1
    assert many["reports"] >= 10
    assert many["shuffled"] is None
    texts = local("plan", "--strings", "--mechanism", "rappor", "--users", 9, "--epsilon", 1, "--json")
    assert json.loads(texts)["shuffled"] is None
    assert "not bounded" in local(*words, "--lifetime", 10, "--task", "t.toml", home=tmp_path)
    (tmp_path / "a.csv").write_text("x\n" + "1\n" * 500)
    local("encode", "a.csv", "--task", "t.toml", "--column", "x", "-o", "r.parquet", home=tmp_path)
    said = local("decode", "r.parquet", "--task", "t.toml", "--delta", "1e-6", home=tmp_path)
    assert "not bounded" in said
    assert "at delta" not in said


def test_a_decoded_survey_is_a_public_table(home):
    local("decode", "reports.parquet", "--task", "t.toml", "--post", "simplex", "-o", "survey.csv", home=home)
    (home / "people.csv").write_text("id,age\n1,20\n2,30\n")
    (home / "sfumato.toml").write_text(
        '[source]\nengine = "duckdb"\nfiles = { people = "people.csv", survey = "survey.csv" }\n'
        '[data]\nid = "d"\n[privacy]\nepsilon = 1\n[tables.people]\nunit = "id"\nrows_per_unit = 1\n'
        '[tables.people.columns]\nid = { type = "integer" }\nage = { type = "integer", min = 0, max = 120 }\n'
        '[tables.survey]\npublic = true\n[tables.survey.columns]\nvalue = { type = "text", max_length = 40 }\n'
        + "".join(f'{name} = {{ type = "decimal" }}\n' for name in ("estimate", "low", "high"))
    )
    import sfumato

    with sfumato.open(home / "sfumato.toml") as gate:
        answer = gate.sql("SELECT value, estimate FROM survey ORDER BY estimate DESC")
    assert [row[0] for row in answer.rows] == COLOURS
    assert sum(float(row[1]) for row in answer.rows) == pytest.approx(1)


def test_numbers_and_texts_are_decoded(tmp_path):
    duckdb.sql("SELECT (i % 11)::DOUBLE AS x, 'page-' || (i % 3) AS page FROM range(20000) r(i)").write_parquet(
        str(tmp_path / "in.parquet")
    )
    local("plan", "--range", "0,10", "--users", 20000, "--epsilon", 2, "--task", "n.toml", home=tmp_path)
    local("encode", "in.parquet", "--task", "n.toml", "-o", "n.parquet", home=tmp_path)
    (mean,) = json.loads(local("decode", "n.parquet", "--task", "n.toml", "--json", home=tmp_path))
    assert abs(mean["estimate"] - 5) < 2 * (mean["high"] - mean["low"]) < 1
    words = ("plan", "--strings", "--mechanism", "rappor", "--epsilon", 4, "--task", "s.toml")
    local(*words, home=tmp_path)
    local("encode", "in.parquet", "--task", "s.toml", "--column", "page", "-o", "s.parquet", home=tmp_path)
    (tmp_path / "c.txt").write_text(
        "page-0\npage-1\npage-2\nnever\n", encoding="utf-8-sig"
    )  # with a mark, as some write
    asked = ("decode", "s.parquet", "--task", "s.toml", "--candidates", "c.txt", "--json")
    rows = json.loads(local(*asked, home=tmp_path))
    assert [row["p_value"] < 0.01 for row in rows] == [True, True, True, False]


def test_a_plan_says_what_a_device_sends(tmp_path):
    rappor = ("plan", "--strings", "--mechanism", "rappor", "--epsilon", 1)
    assert "one-time RAPPOR" in local(*rappor)
    assert "permanent and instantaneous RAPPOR" in local(*rappor, "--lifetime", 4)
    assert json.loads(local("plan", "--domain", 4, "--json"))["variant"] is None
    prefix = ("plan", "--strings", "--mechanism", "prefix", "--epsilon", 6, "--task", "p.toml")
    assert "cut to their first 6 bytes" in local(*prefix, home=tmp_path)
    duckdb.sql("SELECT 'page-number-' || (i % 2) AS page FROM range(2000) r(i)").write_parquet(
        str(tmp_path / "in.parquet")
    )
    local("encode", "in.parquet", "--task", "p.toml", "-o", "p.parquet", home=tmp_path)
    assert "cut to their first 6 bytes" in local("decode", "p.parquet", "--task", "p.toml", home=tmp_path)


def test_mistakes_give_one_error_and_leave_nothing_behind(home):
    def refused(*words, code=2):
        said = local(*words, home=home, code=code)
        assert said.startswith("ERROR"), said
        assert "Traceback" not in said
        return said

    assert "one of --domain" in refused("plan", "--users", 10)
    assert "one of --domain" in refused("plan", "--domain", 3, "--strings")
    assert "users" in refused("plan", "--domain", 3, "--users", 0)
    assert "no such file" in refused("decode", "nothing.parquet", "--task", "t.toml")
    assert "no such file" in refused("decode", "reports.parquet", "--task", "nothing.toml")
    assert "cannot read" in refused("decode", "answers.csv", "--task", "t.toml")
    assert "candidates" in refused_decode(home, refused)
    (home / "bad.csv").write_text("colour\nred\nmauve\n")
    assert "row 2" in refused("encode", "bad.csv", "--task", "t.toml", "-o", "bad.parquet")
    (home / "empty.csv").write_text("colour\n")
    assert "no rows" in refused("encode", "empty.csv", "--task", "t.toml", "-o", "bad.parquet")
    (home / "gap.csv").write_text("n,colour\n1,red\n2,\n")
    gap = ("encode", "gap.csv", "--task", "t.toml", "--column", "colour", "-o", "bad.parquet")
    assert "row 2 has no value" in refused(*gap)
    assert not (home / "bad.parquet").exists()
    assert not list(home.glob("sfumato-*"))


def test_options_and_files_that_do_not_fit_are_refused(home):
    """Each would otherwise end in a traceback, or be passed over in silence."""
    (home / "no.pem").write_text("no key")
    (home / "n.csv").write_text("x\n" + "1\n" * 50)
    local("plan", "--range", "0,1", "--task", "number.toml", home=home)
    local("encode", "n.csv", "--task", "number.toml", "-o", "number.parquet", home=home)
    for words, said in (
        (("plan", "--domain", 3, "--task", "x.toml", "--sign", "no.pem"), "not an unencrypted PEM key"),
        (("plan", "--domain", 3, "--sign", "no.pem"), "--task FILE"),
        (("plan", "--values", "a,,b"), "is empty"),
        (
            ("encode", "n.csv", "--task", "number.toml", "-o", "x.parquet", "--key", "no.pem"),
            "not an unencrypted PEM key",
        ),
        (("encode", "n.csv", "--task", "number.toml", "-o", "no/such/x.parquet"), "no/such/x.parquet"),
        (("decode", "reports.parquet", "--task", "t.toml", "-o", "no/such/x.csv"), "cannot write"),
        (("decode", "reports.parquet", "--task", "t.toml", "--candidates", "n.csv"), "--candidates is for"),
        (("decode", "number.parquet", "--task", "number.toml", "--post", "simplex"), "declared list"),
        (("decode", "reports.parquet", "--task", "t.toml", "--fake", 7000), "can be fake"),
    ):
        err = local(*words, home=home, code=2)
        assert err.startswith("ERROR"), err
        assert said in err
    assert not (home / "x.toml").exists()
    assert not (home / "x.parquet").exists()


def test_reports_are_decoded_by_the_task_that_they_were_encoded_with(home):
    """Other thresholds, or the values in another order, would give wrong shares without a word."""
    words = ("--users", 6000, "--task", "other.toml")
    for values, epsilon in (("red,green,blue", 1), ("green,red,blue", "ln 3")):
        local("plan", "--values", values, "--epsilon", epsilon, *words, home=home)
        err = local("decode", "reports.parquet", "--task", "other.toml", home=home, code=2)
        assert "belong to another task" in err
    renamed = (home / "t.toml").read_text().replace('name = "survey"', 'name = "again"')
    (home / "renamed.toml").write_text(renamed)
    local("decode", "reports.parquet", "--task", "renamed.toml", home=home)


def test_reports_of_a_collector_are_decoded_by_its_task(tmp_path):
    task, other = (planned_task("t", KAryResponse.planned(2, e), minimum_batch=10) for e in (1, 2))
    (tmp_path / "other.toml").write_text(other.to_toml())
    install(tmp_path, task.to_toml())
    Collection(tmp_path / "collect" / "t").commit([(os.urandom(16), r.tobytes()) for r in task.encode(["0"] * 10)])
    err = local("decode", "collect/t", "--task", "other.toml", home=tmp_path, code=2)
    assert "belong to another task" in err


def test_remarks_stand_beside_a_json_document(home):
    asked = ("decode", "reports.parquet", "--task", "t.toml", "--fake", 60, "--delta", "1e-6", "--json")
    _, out, err = run(*asked, home=home)
    assert len(json.loads(out)) == 3
    assert "60 fake reports" in err
    assert "at delta 1e-6" in err


def test_the_error_of_a_mean_is_in_the_units_of_its_range():
    narrow, wide = (json.loads(local("plan", "--range", ends, "--epsilon", 1, "--json")) for ends in ("0,1", "-50,50"))
    assert wide["error_95"] == pytest.approx(100 * narrow["error_95"])
    assert wide["detectable"] == pytest.approx(100 * narrow["detectable"])
    assert "shift of the mean" in local("plan", "--range", "0,1", "--epsilon", 1)


def refused_decode(home, refused):
    local("plan", "--strings", "--mechanism", "rappor", "--task", "texts.toml", home=home)
    local("encode", "answers.csv", "--task", "texts.toml", "--column", "colour", "-o", "texts.parquet", home=home)
    return refused("decode", "texts.parquet", "--task", "texts.toml")


def test_malformed_reports_are_counted_and_left_out(home):
    with duckdb.connect() as engine:
        engine.execute(f"CREATE TABLE r AS SELECT * FROM '{home / 'reports.parquet'}'")
        engine.execute("INSERT INTO r VALUES ('\\x09'::BLOB), ('ab'::BLOB), (NULL)")
        engine.execute(f"COPY r TO '{home / 'spoiled.parquet'}'")
    _, out, err = run("decode", "spoiled.parquet", "--task", "t.toml", "--json", home=home)
    assert "malformed reports left out: 3" in err
    clean = local("decode", "reports.parquet", "--task", "t.toml", "--json", home=home)
    assert json.loads(out) == json.loads(clean)


def test_a_signed_task_is_needed_where_a_key_is_given(home):
    key = ec.generate_private_key(ec.SECP256R1())
    encoding, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    (home / "own.pem").write_bytes(key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, plain))
    public = key.public_key().public_bytes(encoding, serialization.PublicFormat.SubjectPublicKeyInfo)
    (home / "pub.pem").write_bytes(public)
    words = ("plan", "--values", ",".join(COLOURS), "--epsilon", "1", "--task", "signed.toml", "--sign", "own.pem")
    local(*words, home=home)
    encode = ("encode", "answers.csv", "--column", "colour", "-o", "s.parquet", "--key", "pub.pem", "--task")
    local(*encode, "signed.toml", home=home)
    assert "not signed" in local(*encode, "t.toml", home=home, code=1)


def test_tasks_are_handed_to_a_server_and_listed(tmp_path):
    write_clinic(tmp_path, fresh=True)
    local("plan", "--domain", 4, "--epsilon", 1, "--task", "t.toml", "--name", "four", home=tmp_path)
    local("collect", "--task", "t.toml", home=tmp_path)
    listed = json.loads(local("collect", "--json", home=tmp_path))
    assert listed == {"tasks": [{"task": "four", "mechanism": "k-ary", "reports": 0, "waiting": 0}]}
    assert "no reports" in local("decode", ".sfumato/collect/four", "--task", "t.toml", home=tmp_path, code=2)


@pytest.mark.parametrize(("mechanism", "why"), [("count-mean-sketch", "no p-values"), ("prefix", "always uses Holm's")])
def test_a_correction_that_is_not_used_is_refused(home, mechanism, why):
    local("plan", "--strings", "--mechanism", mechanism, "--task", "words.toml", home=home)
    for method in ("bh", "holm"):
        said = local("decode", "none.parquet", "--task", "words.toml", "--correction", method, home=home, code=2)
        assert "--correction is for rappor" in said
        assert why in said
    said = local("decode", "reports.parquet", "--task", "t.toml", "--correction", "bh", home=home, code=2)
    assert "which has no p-values" in said
