"""The browser client in a real Chromium: its vectors, its budget, and a survey from the page to the estimate."""

import base64
import json
import os
import re
import shutil
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.end_to_end.browser import Tab, chromium, expect, serving, write_odd
from tests.local import vectors

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
    assert state["tasks"]["texts"]["cohort"] in range(16)


def test_a_device_tells_all_texts_by_one_permanent_copy(page):
    """Neither a changed report nor a missing one may show that a text has changed; other parameters cost again."""
    first = planned_task("texts", Rappor.planned(4), lifetime="9").to_toml()  # the permanent copy itself is reported
    other = planned_task("texts", Rappor.planned(3), lifetime="9").to_toml()
    outcome = page.evaluate(
        """async ([path, one, two]) => {
          const { Device, parseTask } = await import(path);
          const held = new Map(), storage = { getItem: (k) => held.get(k) ?? null, setItem: (k, v) => held.set(k, v) };
          const device = new Device(storage), said = [];
          for (const text of ["a", "a", "b", "", "a"]) said.push((await device.report(parseTask(one), text)).report);
          const spent = [device.spent];
          said.push((await device.report(parseTask(two), "b")).report);
          spent.push(device.spent);
          return { said, spent, own: JSON.parse(held.get("sfumato-local")).tasks.texts };
        }""",
        [MODULE, first, other],
    )
    assert len(set(outcome["said"][:5])) == 1
    assert outcome["said"][5] != outcome["said"][0]
    assert outcome["spent"] == pytest.approx([4, 7], abs=1e-6)
    assert outcome["own"]["spent"] == pytest.approx(7, abs=1e-6)
    bits = np.frombuffer(base64.b64decode(outcome["said"][5]), np.uint8)[2:]
    assert (
        np.packbits(np.frombuffer(base64.b64decode(outcome["own"]["copy"]), np.uint8), bitorder="little") == bits
    ).all()


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
    assert ana.page.locator("section.panel tbody tr").count() == 3
    ana.page.select_option("#population", "sampled")
    expect(ana.page.get_by_text("the population that they were sampled from.")).to_be_visible()
    assert ana.troubles == []
    ana.page.screenshot(path=tmp_path / "surveys.png")
    if keep := os.environ.get("KEEP_PICTURES"):
        for picture in tmp_path.glob("*.png"):
            shutil.copy(picture, keep)
    ana.close()
