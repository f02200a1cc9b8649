"""The browser client in a real Chromium: its vectors, its budget, and a survey from the page to the estimate."""

import base64
import json
import os
import re
import shutil
import threading
from fractions import Fraction
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.end_to_end.browser import Tab, chromium, expect, serving, write_odd
from tests.local import vectors
from tests.local.small import DRAWN, inputs

from sfumato.errors import InputError
from sfumato.local.collecting import Collection, install
from sfumato.local.kary import KAryResponse
from sfumato.local.numbers import HybridNumber
from sfumato.local.rappor import Rappor
from sfumato.local.signing import sign_task
from sfumato.local.task import planned_task, read_task

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients" / "browser" / "local" / "sfumato-local.js"
SHIPPED = ROOT / "src" / "sfumato" / "server" / "console" / "static" / "sfumato-local.js"
MODULE = "/static/sfumato-local.js"

RUN_VECTORS = """async ([path, vectors]) => {
  const local = await import(path);
  const hex = (bytes) => [...bytes].map((b) => b.toString(16).padStart(2, "0")).join("");
  const fromHex = (text) => Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16));
  const octets = async (seed, count) => {
    const bytes = new Uint8Array(count);
    for (let i = 0; i * 32 < count; i++) {
      const block = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${seed}/${i}`));
      bytes.set(new Uint8Array(block).subarray(0, count - i * 32), i * 32);
    }
    return bytes;
  };
  const made = [];
  for (const one of vectors) {
    const tape = new local.GivenTape(await octets(one.seed, 4000));
    const kept = { cohort: one.cohort, key: fromHex(one.key) };
    made.push(hex(await local.encode(local.parseTask(one.task), one.value, tape, kept)));
  }
  return made;
}"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with serving(write_odd(tmp_path_factory.mktemp("survey"))) as site:
        yield site


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture
def page(browser, served):
    context = browser.new_context()
    opened = context.new_page()
    opened.set_default_timeout(20_000)
    opened.goto(f"{served.url}/login")
    yield opened
    context.close()


def test_the_client_is_small_stands_alone_and_is_the_one_that_is_served():
    text = CLIENT.read_text(encoding="utf-8")
    assert len(text.encode()) < 15_000
    assert "import" not in text.replace("importKey", "").replace('"import', "")
    assert "Math.random" not in text
    assert SHIPPED.read_bytes() == CLIENT.read_bytes()


def test_the_browser_gives_the_vectors_byte_for_byte(page):
    stored = json.loads(vectors.FILE.read_text(encoding="utf-8"))
    made = page.evaluate(RUN_VECTORS, [MODULE, stored])
    assert made == [one["report"] for one in stored]


def test_the_browser_draws_anew_each_time_and_from_the_whole_law(page):
    task = planned_task("coins", KAryResponse.planned(3, 1)).to_toml()
    counts = page.evaluate(
        """async ([path, text]) => {
          const local = await import(path), task = local.parseTask(text), counts = [0, 0, 0];
          for (let i = 0; i < 3000; i++) counts[(await local.encode(task, "1"))[0]] += 1;
          return counts;
        }""",
        [MODULE, task],
    )
    law = KAryResponse.planned(3, 1).law(1)
    for value, count in enumerate(counts):
        chance = float(law[bytes([value])])
        assert abs(count - 3000 * chance) < 7 * (3000 * chance * (1 - chance)) ** 0.5


REFUSED = """async ([path, texts]) => {
  const local = await import(path);
  const said = (text) => { try { local.parseTask(text); return "taken"; } catch (error) { return error.message; } };
  return texts.map(said);
}"""


def test_the_browser_refuses_a_task_that_costs_more_than_it_states(page):
    good = planned_task("t", KAryResponse.planned(3, 1), values=("a", "b", "c")).to_toml()
    flip = planned_task("t", Rappor.planned(1, 4)).to_toml()
    unit = 1 << 32
    wrong = [
        good.replace('epsilon = "0.99', 'epsilon = "0.98'),
        good.replace("bits = 32", "bits = 36"),
        good.replace("size = 3", "size = 2"),
        good.replace("truth = ", "truth = 9"),
        good.replace('mechanism = "k-ary"', 'mechanism = "truth"'),
        good.replace("truth = ", "truth = -"),
        good.replace("truth = ", "untruth = "),
        flip.replace(f"flip = {Rappor.planned(1, 4).flip}", f"flip = {unit - 1}"),
        flip.replace("zero = ", f"zero = {unit}"),
        "nonsense",
    ]
    assert len({*wrong, good, flip}) == len(wrong) + 2
    said = page.evaluate(REFUSED, [MODULE, [good, flip, *wrong]])
    assert said[:2] == ["taken", "taken"]
    assert "taken" not in said[2:]


def edges(task):
    """The task with each parameter at and beyond its limits, with one too many and one too few, at a high epsilon."""
    text = re.sub(r'(epsilon|lifetime) = "[^"]*"', r'\1 = "100000"', task.to_toml())
    yield text + "extra = 5\n"
    yield text + "grid = 5\n" * ("\ngrid = " not in text)
    unit, body = 1 << task.encoder.bits, text.partition("[parameters]")[2]
    powers = [(1 << k) + d for k in (3, 7, 8, 10, 12, 16, 24, 31, 32, 33, 47) for d in (-1, 0, 1)]
    for key in re.findall(r"^(\w+) = ", body, re.MULTILINE):
        yield re.sub(rf"(\[parameters\][^$]*?)\n{key} = \d+", r"\1", text)
        for value in (0, 1, 2, 3, 4, 5, 6, 9, 40, 48, 256, 257, unit // 2, unit - 1, unit, unit + 1, *powers):
            if key != "bits" or value < 100:
                yield re.sub(rf"(\[parameters\][^$]*?\n{key} = )\d+", rf"\g<1>{value}", text)


def python_says(text):
    try:
        read_task(text)
    except InputError:
        return False
    return True


def test_the_browser_takes_the_parameters_that_python_takes_and_no_others(page):
    """Every parameter of every mechanism, at and beyond its limits; both readers must agree on each."""
    texts = list(dict.fromkeys(text for task in vectors.tasks() if task.values is None for text in edges(task)))
    said = page.evaluate(REFUSED, [MODULE, texts])
    wanted = [python_says(text) for text in texts]
    assert [text for text, one, two in zip(texts, said, wanted, strict=True) if (one == "taken") != two] == []
    assert 300 < sum(wanted) < len(texts) - 300


def test_the_browser_refuses_what_would_mislead_a_device(page):
    good = planned_task("t", KAryResponse.planned(3, 1), values=("a", "b", "c")).to_toml()
    mixed = HybridNumber(1 << 31, 1, 1 << 20, (1 << 31) + 9, 65536)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.local.numbers.check_tells", lambda p, q: None)
        unlike = planned_task("t", mixed, low=Fraction(0), high=Fraction(1)).to_toml()
    wrong = [
        good.replace('name = "t"', 'name = "__proto__"'),
        good.replace('name = "t"', 'name = "constructor"'),
        good.replace('name = "t"', 'name = ["t"]'),
        good.replace('mechanism = "k-ary"', 'mechanism = ["k-ary"]'),
        good.replace("[parameters]", 'expires = "20260101"\n[parameters]'),
        good.replace("[parameters]", 'expires = "2026-W01-1"\n[parameters]'),
        good.replace('lifetime = "', 'lifetime = "x'),
        good.replace('lifetime = "', 'lifetime = "1e999'),
        good.replace('"a", "b"', '"a", "a"'),
        good.replace("[parameters]", "[parameters]\nsize = 2"),
        good.replace("[parameters]", "[else]\n[parameters]"),
        re.sub('epsilon = "[^"]*"', 'epsilon = "0.001"', unlike),
    ]
    assert good not in wrong
    assert len(set(wrong)) == len(wrong)
    said = page.evaluate(REFUSED, [MODULE, [good, good.replace("[p", 'expires = "2100-01-01"\n[p'), *wrong]])
    assert said[:2] == ["taken", "taken"]
    assert [text for text, one in zip(wrong, said[2:], strict=True) if one == "taken"] == []


EACH = """async ([path, text]) => {
  const local = await import(path), task = local.parseTask(text);
  return Promise.all(task.values.map((value) => local.encode(task, value).then((report) => report.length)));
}"""


def test_a_device_reports_on_every_value_of_the_list(page):
    """A task whose owner wrote a number among the texts: silence would tell who has that value."""
    good = planned_task("t", KAryResponse.planned(3, 1), values=("a", "1", "c")).to_toml()
    for text in (good, good.replace('"1"', "1"), good.replace('"1"', "null")):
        assert page.evaluate(EACH, [MODULE, text]) == [1, 1, 1]


def test_the_browser_checks_signatures(page):
    key = ec.generate_private_key(ec.SECP256R1())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    text = planned_task("t", KAryResponse.planned(3, 1)).to_toml()
    signed = sign_task(text, private)
    check = """async ([path, texts, pem]) => {
      const { verifyTask } = await import(path);
      return Promise.all(texts.map((text) => verifyTask(text, pem)));
    }"""
    forged = signed.replace('lifetime = "', 'lifetime = "1')
    assert page.evaluate(check, [MODULE, [signed, text, forged], public.decode()]) == [True, False, False]


def test_a_device_spends_its_budget_and_no_more(page):
    task = planned_task("twice", KAryResponse.planned(3, 1), lifetime="2").to_toml()
    texts = planned_task("texts", Rappor.planned(1, 4)).to_toml()
    outcome = page.evaluate(
        """async ([path, once, texts]) => {
          const { Device, parseTask } = await import(path);
          const held = new Map(), storage = { getItem: (k) => held.get(k) ?? null, setItem: (k, v) => held.set(k, v) };
          const device = new Device(storage, { budget: 6.5 });
          const said = [];
          const attempt = async (task, value) => {
            try { await new Device(storage, { budget: 6.5 }).report(task, value); said.push("sent"); }
            catch (error) { said.push(error.message); }
          };
          const twice = parseTask(once), words = parseTask(texts);
          for (const value of ["0", "1", "9", "2"]) await attempt(twice, value);
          for (const value of ["a", "a", "b", "c"]) await attempt(words, value);
          return { said, spent: device.spent, state: held.get("sfumato-local") };
        }""",
        [MODULE, task, texts],
    )
    over, unknown = "this device has spent its budget", "the value is not one of the task's values"
    assert outcome["said"] == ["sent", "sent", unknown, over, "sent", "sent", "sent", "sent"]
    assert outcome["spent"] == pytest.approx(6, abs=1e-6)
    state = json.loads(outcome["state"])
    assert [one["cohort"] in range(16) for one in state["tasks"]["texts"]["kept"].values()] == [True]


def test_one_question_under_many_names_is_paid_from_one_budget(page):
    """Without a limit of its own, a device answered fifty tasks, and spent as much on each."""
    tasks = [planned_task(f"t{i}", KAryResponse.planned(3, 1)).to_toml() for i in range(50)]
    outcome = page.evaluate(
        """async ([path, texts]) => {
          const { Device, parseTask } = await import(path);
          const held = new Map(), storage = { getItem: (k) => held.get(k) ?? null, setItem: (k, v) => held.set(k, v) };
          const device = new Device(storage);
          let sent = 0;
          for (const text of texts) await device.report(parseTask(text), "0").then(() => { sent += 1; }, () => null);
          return { sent, spent: device.spent, budget: device.budget };
        }""",
        [MODULE, tasks],
    )
    assert outcome["sent"] == outcome["budget"] == 8
    assert outcome["spent"] == pytest.approx(8, abs=1e-6)


def test_a_device_tells_all_texts_by_one_permanent_copy(page):
    """Neither a changed report nor a missing one may show that a text has changed; other parameters cost again. The
    first ones, when they come back, have their copy still: a second one would be the same for the same text only.
    """
    first = planned_task("texts", Rappor.planned(4), lifetime="9").to_toml()  # the permanent copy itself is reported
    other = planned_task("texts", Rappor.planned(3), lifetime="9").to_toml()
    outcome = page.evaluate(
        """async ([path, one, two]) => {
          const { Device, parseTask } = await import(path);
          const held = new Map(), storage = { getItem: (k) => held.get(k) ?? null, setItem: (k, v) => held.set(k, v) };
          const device = new Device(storage), said = [];
          const texts = ["a", "a", "b", "", "x".repeat(2000), "\\ud800"];
          for (const text of texts) said.push((await device.report(parseTask(one), text)).report);
          const spent = [device.spent];
          said.push((await device.report(parseTask(two), "b")).report);
          spent.push(device.spent);
          for (const text of ["b", "c"]) said.push((await device.report(parseTask(one), text)).report);
          spent.push(device.spent);
          const own = JSON.parse(held.get("sfumato-local")).tasks.texts;
          return { said, spent, own, second: parseTask(two).identity };
        }""",
        [MODULE, first, other],
    )
    assert len({*outcome["said"][:6], *outcome["said"][7:]}) == 1
    assert len(outcome["said"]) == 9
    assert outcome["said"][6] != outcome["said"][0]
    assert outcome["spent"] == pytest.approx([4, 7, 7], abs=1e-6)
    assert outcome["own"]["spent"] == pytest.approx(7, abs=1e-6)
    bits = np.frombuffer(base64.b64decode(outcome["said"][6]), np.uint8)[2:]
    copy = base64.b64decode(outcome["own"]["kept"][outcome["second"]]["copy"])
    assert (np.packbits(np.frombuffer(copy, np.uint8), bitorder="little") == bits).all()


def test_reports_at_the_same_time_are_all_paid_for(page):
    """Without the browser's locks, which pages without https do not have: no charge is written over by another one."""
    task = planned_task("many", KAryResponse.planned(3, 1), lifetime="5").to_toml()
    texts = planned_task("texts", Rappor.planned(4), lifetime="4.5").to_toml()
    outcome = page.evaluate(
        """async ([path, once, texts]) => {
          const { Device, parseTask } = await import(path);
          Object.defineProperty(navigator, "locks", { value: undefined });
          const held = new Map(), storage = { getItem: (k) => held.get(k) ?? null, setItem: (k, v) => held.set(k, v) };
          const attempt = async (text, value) => {
            const device = new Device(storage, { budget: 20 });
            try { return (await device.report(parseTask(text), value)).report; } catch { return null; }
          };
          const counted = await Promise.all([..."0120120120"].map((value) => attempt(once, value)));
          const told = await Promise.all(["a", "b", "c"].map((value) => attempt(texts, value)));
          return { sent: counted.filter((one) => one).length, told, spent: new Device(storage).spent };
        }""",
        [MODULE, task, texts],
    )
    assert outcome["sent"] == 5
    assert len({one for one in outcome["told"] if one}) == 1
    assert outcome["spent"] == pytest.approx(9, abs=1e-6)


def test_a_lost_write_costs_another_copy_and_no_more(page):
    """A browser may lose what it wrote last, after the report was sent. The copy that is drawn then is independent of
    the lost one: two equal reports would tell for certain that the text is still the same.
    """
    texts = planned_task("texts", Rappor.planned(4, cohorts=1)).to_toml()  # the permanent copy itself is reported
    coin = planned_task("coin", KAryResponse.planned(2, 1)).to_toml()
    equal = page.evaluate(
        """async ([path, coin, texts]) => {
          const { Device, parseTask } = await import(path), equal = {};
          for (const next of ["a", "b"]) {
            equal[next] = 0;
            for (let i = 0; i < 20; i++) {
              let held = new Map();
              const device = new Device({ getItem: (k) => held.get(k) ?? null, setItem: (k, v) => held.set(k, v) });
              await device.report(parseTask(coin), "0");
              const before = new Map(held), first = await device.report(parseTask(texts), "a");
              held = before;
              equal[next] += first.report === (await device.report(parseTask(texts), next)).report;
            }
          }
          return equal;
        }""",
        [MODULE, coin, texts],
    )
    assert equal == {"a": 0, "b": 0}


@pytest.mark.parametrize("budget", ["NaN", '"four"', "{}", "null", "-1", "0.9"])
def test_a_budget_that_is_no_number_pays_for_nothing(page, budget):
    task = planned_task("coin", KAryResponse.planned(2, 1), lifetime="100").to_toml()
    said = page.evaluate(
        """async ([path, text]) => {
          const { Device, parseTask } = await import(path), held = new Map();
          const storage = { getItem: (k) => held.get(k) ?? null, setItem: (k, v) => held.set(k, v) };
          const device = new Device(storage, { budget: BUDGET });
          return device.report(parseTask(text), "0").then(() => "sent", (error) => error.message);
        }""".replace("BUDGET", budget),
        [MODULE, task],
    )
    assert said == "this device has spent its budget"


def test_a_report_that_waits_is_sent_to_a_task_of_its_own_parameters_only(page):
    """Otherwise the collector of the new parameters refuses the old report for ever, and the device sends no other."""
    tasks = [planned_task("sizes", KAryResponse.planned(size, 1), lifetime="9").to_toml() for size in (2, 300)]
    posted = page.evaluate(
        """async ([path, old, changed]) => {
          const { Device, parseTask } = await import(path), held = new Map(), posted = [];
          globalThis.fetch = async (url, { body }) => {
            posted.push(atob(JSON.parse(body).reports[0].report).length);
            return { ok: true };
          };
          const device = new Device({ getItem: (k) => held.get(k) ?? null, setItem: (k, v) => held.set(k, v) });
          await device.report(parseTask(old), "0");
          await device.send(parseTask(changed), "7", "/anywhere");
          await device.report(parseTask(changed), "8");
          await device.send(parseTask(changed), "9", "/anywhere");
          return posted;
        }""",
        [MODULE, *tasks],
    )
    assert posted == [2, 2, 2]


def test_the_browser_draws_the_law_of_every_encoder(page):
    """Every tape of random bytes, as in Python: what comes out has the listed law, exactly."""
    cases = []
    for encoder, alphabets in DRAWN:
        words = {"low": Fraction(0), "high": Fraction(encoder.grid)} if encoder.takes == "numbers" else {}
        text = planned_task("law", encoder, **words).to_toml()
        drawn = alphabets[1 + encoder.filter :] if encoder.name == "rappor" else alphabets
        kept = {"cohort": 1, "copy": [1, 0]} if encoder.name == "rappor" else {}
        cases += [(encoder, value, [text, value, drawn, kept]) for value in inputs(encoder)]
    counts = page.evaluate(
        """async ([path, cases]) => {
          const { GivenTape, encode, parseTask } = await import(path), all = [];
          for (const [text, value, alphabets, kept] of cases) {
            const counts = {}, task = parseTask(text);
            const tapes = alphabets.reduce((rows, next) => rows.flatMap((r) => next.map((b) => [...r, b])), [[]]);
            for (const tape of tapes) {
              const t = new GivenTape(Uint8Array.from(tape));
              const report = [...(await encode(task, typeof value === "number" ? String(value) : value, t, kept))];
              const shown = t.at === tape.length ? report : "unread";
              counts[shown] = (counts[shown] ?? 0) + 1;
            }
            all.push(counts);
          }
          return all;
        }""",
        [MODULE, [case for _, _, case in cases]],
    )
    for (encoder, value, _), drawn in zip(cases, counts, strict=True):
        law = encoder.law(value) if encoder.name != "rappor" else told_by_copy(encoder)
        many = sum(drawn.values())
        found = {bytes(map(int, report.split(","))): Fraction(count, many) for report, count in drawn.items()}
        assert found == {report: chance for report, chance in law.items() if chance}, (encoder, value)


def told_by_copy(encoder):
    """Reports of cohort 1 where the permanent copy has its first bit set."""
    one, zero = Fraction(encoder.one, 256), Fraction(encoder.zero, 256)
    sets = [(a, b) for a in (0, 1) for b in (0, 1)]
    return {bytes([1, 0, a + 2 * b]): (one if a else 1 - one) * (zero if b else 1 - zero) for a, b in sets}


@pytest.fixture
def another_site(tmp_path):
    """A server of its own, with an empty page and the client."""
    (tmp_path / "index.html").write_text("<h1>Another site</h1>")
    shutil.copy(CLIENT, tmp_path / "client.js")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=tmp_path))
    threading.Thread(target=server.serve_forever).start()
    yield f"http://localhost:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_page_of_another_site_reports(browser, served, another_site):
    """After a preflight of the browser's own; and it cannot read the estimate."""
    install(served.state, planned_task("elsewhere", KAryResponse.planned(3, 1), minimum_batch=1).to_toml())
    context = browser.new_context()
    opened = context.new_page()
    opened.goto(another_site)
    outcome = opened.evaluate(
        """async (url) => {
          const { Device, parseTask } = await import(`${location.origin}/client.js`);
          const task = parseTask(await (await fetch(`${url}/task`)).text()), device = new Device(localStorage);
          const sent = await device.send(task, "1", url);
          const again = await device.send(task, "1", url).catch((error) => error.message);
          const headers = { "Content-Type": "application/json" };
          const told = (await (await fetch(url, { method: "POST", body: "{}", headers })).json()).message;
          return { sent, again, told, estimate: await fetch(`${url}/estimate`).then(() => "read", () => "blocked") };
        }""",
        f"{served.url}/api/collect/elsewhere",
    )
    context.close()
    held = Collection(served.state / "collect" / "elsewhere")
    assert [row for batch in held.batches(1) for row in batch] == [base64.b64decode(outcome["sent"]["report"])]
    assert outcome["again"] == "this device has spent its budget"
    assert "reports must be a list" in outcome["told"]
    assert outcome["estimate"] == "blocked"


def test_a_survey_goes_from_the_page_to_the_estimate(browser, served, tmp_path):
    """Four visitors with browsers of their own; what arrives is what was sent, and the console shows the estimate."""
    words = {"values": ("red", "green", "blue"), "question": "Which colour?", "minimum_batch": 3}
    task = planned_task("colours", KAryResponse.planned(3, 3), **words)
    install(served.state, task.to_toml())
    sent, troubles = [], []
    for visitor in range(4):
        context = browser.new_context()
        opened = context.new_page()
        opened.set_default_timeout(20_000)
        opened.on("console", lambda said: said.type == "error" and troubles.append(said.text))
        opened.on("pageerror", lambda error: troubles.append(str(error)))
        opened.goto(f"{served.url}/survey/colours")
        expect(opened.locator("#question")).to_have_text("Which colour?")
        opened.get_by_label("red" if visitor % 3 else "blue").check()
        opened.get_by_role("button", name="Send a noisy report").click()
        expect(opened.locator("#sent pre")).to_be_visible()
        sent.append(opened.locator("#sent pre").inner_text())
        if visitor == 0:
            expect(opened.locator("#budget")).to_contain_text("at most epsilon 8; so far it has spent 3.00")
            opened.screenshot(path=tmp_path / "survey.png")
            opened.reload()
            opened.get_by_label("green").check()
            opened.get_by_role("button", name="Send a noisy report").click()
            expect(opened.locator("#wrong")).to_have_text("this device has spent its budget")
        context.close()
    assert troubles == []
    held = Collection(served.state / "collect" / "colours")
    assert (held.stored, held.waiting) == (3, 1)
    arrived = sorted(int.from_bytes(row, "little") for batch in held.batches(1) for row in batch)
    assert arrived == sorted({"AA==": 0, "AQ==": 1, "Ag==": 2}[text] for text in sent[:3])
    ana = Tab(browser, served, "ana", start="/surveys")
    expect(ana.page.get_by_role("heading", name="Which colour?")).to_be_visible()
    expect(ana.page.get_by_text("3 reports")).to_be_visible()
    assert ana.page.locator("section.panel", has_text="Which colour?").locator("tbody tr").count() == 3
    ana.page.select_option("#population", "sampled")
    colours = ana.page.get_by_role("region", name="colours", exact=True)
    expect(colours.get_by_text("the population that they were sampled from.")).to_be_visible()
    assert ana.troubles == []
    ana.page.screenshot(path=tmp_path / "surveys.png")
    if keep := os.environ.get("KEEP_PICTURES"):
        for picture in tmp_path.glob("*.png"):
            shutil.copy(picture, keep)
    ana.close()
