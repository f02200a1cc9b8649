"""The browser add-on for locations: its own tests under Node.js, and in a real Chromium with the add-on loaded."""

import contextlib
import http.server
import json
import os
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import sync_playwright
from tests.end_to_end.browser import executable
from tools.make_location_vectors import FILE, vectors

from sfumato.geo.earth import ground_distance
from sfumato.geo.mechanism import LocationMechanism
from sfumato.geo.retrieval import quantile, spatial_tail

ADDON = Path(__file__).parents[2] / "clients" / "browser" / "location"
TRUE = {"latitude": 48.85837, "longitude": 2.294481, "accuracy": 7}
PAGE = b"<!doctype html><title>a page</title><iframe src='/frame'></iframe>"
ONCE = """() => new Promise((resolve) => navigator.geolocation.getCurrentPosition(
  (p) => resolve(JSON.parse(JSON.stringify(p)).coords), (e) => resolve({code: e.code, message: e.message})))"""
SPY = """() => {
  // what a curious page does: listen to everything, and wrap what arithmetic is made of
  window.heard = [];
  for (const name of ["cos", "sin", "sqrt", "hypot", "atan2", "abs", "round", "min", "max", "exp"]) {
    const real = Math[name];
    Math[name] = (...a) => { window.heard.push(...a.map(String)); return real(...a); };
  }
  const parse = JSON.parse, text = JSON.stringify, dispatch = EventTarget.prototype.dispatchEvent;
  JSON.parse = (...a) => { window.heard.push(String(a[0])); return parse(...a); };
  JSON.stringify = (...a) => { const out = text(...a); window.heard.push(String(out)); return out; };
  EventTarget.prototype.dispatchEvent = function (e) {
    window.heard.push(String(e.detail));
    return dispatch.call(this, e);
  };
  for (const name of ["sfumato-location-request", "sfumato-location-response", "message"])
    document.addEventListener(name, (e) => window.heard.push(String(e.detail ?? e.data)), true);
}"""


class Quiet(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(PAGE if self.path == "/" else b"<!doctype html><title>inside</title>")

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def site():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


@contextlib.contextmanager
def browser():
    """Chromium with the add-on loaded, a true position, and the permission that a person would give."""
    path = executable()
    with tempfile.TemporaryDirectory() as home, sync_playwright() as driver:
        context = driver.chromium.launch_persistent_context(
            home,
            executable_path=path,
            headless=False,
            ignore_default_args=["--disable-extensions"],
            args=[
                "--headless=new",
                "--no-sandbox",
                "--disable-dev-shm-usage",
                "--disable-gpu",
                f"--disable-extensions-except={ADDON}",
                f"--load-extension={ADDON}",
            ],
            geolocation=TRUE,
            permissions=["geolocation"],
        )
        try:
            context.set_default_timeout(20_000)
            if not context.service_workers:
                context.wait_for_event("serviceworker")
            yield context
        finally:
            context.close()


@pytest.fixture(scope="module")
def chrome():
    with browser() as context:
        yield context


def store(chrome, code):
    """Run code in the add-on's service worker."""
    return chrome.service_workers[0].evaluate(f"async () => {{ {code} }}")


def settings(chrome, **words):
    store(
        chrome, f"await chrome.storage.local.clear(); await chrome.storage.local.set({{settings: {json.dumps(words)}}})"
    )


def far(coords):
    return float(
        ground_distance(
            *(np.array(v) for v in (TRUE["latitude"], TRUE["longitude"], coords["latitude"], coords["longitude"]))
        )
    )


def test_vectors_are_up_to_date():
    assert json.loads(FILE.read_text(encoding="utf-8")) == json.loads(json.dumps(vectors()))


def test_the_addons_own_tests_pass():
    node = shutil.which("node")
    if node is None:
        if os.environ.get("CI") == "true":
            pytest.fail("there is no Node.js")
        pytest.skip("there is no Node.js")
    done = subprocess.run([node, "tests/run.mjs"], cwd=ADDON, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok ") >= 9


def test_a_page_gets_a_report_with_every_field_covered(chrome, site):
    settings(chrome, choice="medium")
    page = chrome.new_page()
    page.goto(site)
    coords = page.evaluate(ONCE)
    made = LocationMechanism.within("ln 4", 500)
    assert 0 < far(coords) < 40 / float(made.inner.epsilon)
    accuracy = quantile(spatial_tail, 0.95) / float(made.inner.epsilon) + 2 * float(made.frame.step)
    assert coords["accuracy"] == pytest.approx(accuracy, rel=0.01)
    assert [coords[name] for name in ("altitude", "altitudeAccuracy", "heading", "speed")] == [None] * 4
    kind = "(p) => p instanceof GeolocationPosition && p.coords instanceof GeolocationCoordinates"
    assert page.evaluate(f"new Promise((r) => navigator.geolocation.getCurrentPosition((p) => r(({kind})(p))))")
    point = made.frame.to_grid(np.array([coords["latitude"]]), np.array([coords["longitude"]]))
    assert point.shape == (1, 3)
    page.close()


def test_reports_are_grid_points_that_the_worker_remembers(chrome, site):
    """What the page sees is the grid point in the store, and Python maps it to the same degrees."""
    settings(chrome, choice="low")
    page = chrome.new_page()
    page.goto(site)
    coords = page.evaluate(ONCE)
    held = store(chrome, "return (await chrome.storage.local.get('trace:low'))['trace:low']")
    made = LocationMechanism.within("ln 4", 200)
    lat, lon = made.frame.from_grid(np.array([[int(c) for c in held["last"]]]))
    assert coords["latitude"] == pytest.approx(lat[0], abs=1.01e-7)
    assert coords["longitude"] == pytest.approx(lon[0], abs=1.6e-7)
    assert held["spent"] == 4
    page.close()


def test_all_sites_and_frames_share_one_trace(chrome, site):
    settings(chrome, choice="medium", budget=3)
    page = chrome.new_page()
    page.goto(site)
    frame = page.frame(url=f"{site}/frame")
    other = chrome.new_page()
    other.goto(site.replace("127.0.0.1", "localhost"))
    seen = [place.evaluate(ONCE) for _ in range(8) for place in (page, frame, other)]
    assert len({(c["latitude"], c["longitude"]) for c in seen}) <= 3
    held = store(chrome, "return (await chrome.storage.local.get('trace:medium'))['trace:medium']")
    assert held["spent"] <= 12
    page.close()
    other.close()


def test_watching_reports_and_can_be_ended(chrome, site):
    settings(chrome, choice="medium")
    page = chrome.new_page()
    page.goto(site)
    coords = page.evaluate(
        """() => new Promise((resolve) => {
          const id = navigator.geolocation.watchPosition((p) => {
            navigator.geolocation.clearWatch(id);
            resolve({...JSON.parse(JSON.stringify(p)).coords, id});
          });
        })"""
    )
    assert isinstance(coords["id"], int)
    assert coords["latitude"] != TRUE["latitude"]
    assert coords["altitude"] is None
    page.close()


def test_a_curious_page_never_hears_the_true_position(chrome, site):
    settings(chrome, choice="low")
    page = chrome.new_page()
    page.goto(site)
    page.evaluate(SPY)
    for _ in range(3):
        page.evaluate(ONCE)
    heard = " ".join(page.evaluate("window.heard"))
    assert "sfumato" in heard or "latitude" in heard
    assert str(TRUE["latitude"]) not in heard
    assert str(TRUE["longitude"]) not in heard
    assert page.evaluate("typeof chrome === 'undefined' || !chrome.storage")
    page.close()


FRAMES = {
    "a frame made just now": "(f) => document.body.append(f) ?? f.contentWindow",
    "by its number": "(f) => { document.body.append(f); return window[window.length - 1]; }",
    "from markup": "(f) => { const d = document.createElement('div'); document.body.append(d);"
    " d.innerHTML = '<iframe></iframe>'; return d.firstChild.contentWindow; }",
    "a new window": "() => window.open('about:blank')",
}
CALL = "(p) => parent.got(p.coords.latitude), (e) => parent.got(e.code)"
SOURCES = {
    "srcdoc": f"f.srcdoc = '<script>navigator.geolocation.getCurrentPosition({CALL})<' + '/script>'",
    "blob": "f.src = URL.createObjectURL(new Blob(['<script>navigator.geolocation.getCurrentPosition("
    f"{CALL})<' + '/script>'], {{type: 'text/html'}}))",
    "javascript": f"f.src = `javascript:'<script>navigator.geolocation.getCurrentPosition({CALL})<' + '/script>'`",
}


@pytest.mark.parametrize("name", [*FRAMES, "a borrowed function", *SOURCES])
@pytest.mark.parametrize("choice", ["low", "deny"])
def test_no_frame_has_an_untouched_geolocation(chrome, site, name, choice):
    settings(chrome, choice="real" if choice == "deny" else "low", sites={"127.0.0.1": choice})
    page = chrome.new_page()
    page.goto(site)
    make = "const f = document.createElement('iframe'); window.got = r;"
    ask = "getCurrentPosition((p) => r(p.coords.latitude), (e) => r(e.code));"
    if name in FRAMES:
        code = f"{make} ({FRAMES[name]})(f).navigator.geolocation.{ask}"
    elif name in SOURCES:
        code = f"{make} {SOURCES[name]}; document.body.append(f);"
    else:
        asked = ask.replace("getCurrentPosition(", "getCurrentPosition.call(navigator.geolocation, ")
        code = f"{make} document.body.append(f); f.contentWindow.Geolocation.prototype.{asked}"
    got = page.evaluate(f"() => new Promise((r) => {{ {code} }})")
    assert got != TRUE["latitude"]
    assert (got == 1) if choice == "deny" else abs(got - TRUE["latitude"]) < 1
    page.close()


SANDBOXES = {
    "srcdoc": "f.srcdoc = text",
    "blob": "f.src = URL.createObjectURL(new Blob([text], {type: 'text/html'}))",
    "in a sandbox": "f.srcdoc = `<iframe sandbox='allow-scripts' allow='geolocation *' srcdoc=\"${text}\"></iframe>`",
}


@pytest.mark.parametrize("name", SANDBOXES)
@pytest.mark.parametrize("choice", ["low", "deny"])
def test_a_frame_without_an_origin_gets_what_the_page_around_it_gets(chrome, site, name, choice):
    """A sandbox has no address of its own: the choice for its page holds, not the one for all other sites."""
    settings(chrome, choice="real", sites={"127.0.0.1": choice})
    page = chrome.new_page()
    page.goto(site)
    got = page.evaluate(
        f"""() => new Promise((r) => {{
          window.onmessage = (e) => r(e.data);
          const f = document.createElement('iframe');
          const call = `(p) => top.postMessage(p.coords.latitude, '*'), (e) => top.postMessage(e.code, '*')`;
          const text = `<script>navigator.geolocation.getCurrentPosition(${{call}})<` + '/script>';
          f.allow = 'geolocation *';
          f.sandbox = 'allow-scripts';
          {SANDBOXES[name]};
          document.body.append(f);
        }})"""
    )
    assert got != TRUE["latitude"]
    assert (got == 1) if choice == "deny" else abs(got - TRUE["latitude"]) < 1
    page.close()


FIND = """([shadow, watch]) => new Promise((resolve) => {
  if (!("HTMLGeolocationElement" in window)) return resolve(null);
  const g = document.createElement("geolocation"), host = document.createElement("div");
  const place = shadow ? host.attachShadow({mode: "closed"}) : document.body;
  const seen = [];
  g.autolocate = true;
  g.watch = watch;
  const look = (e) => seen.push([e.isTrusted, g.position && g.position.coords.latitude, g.error && g.error.code,
    JSON.stringify(g.position), g.position && Object.values(JSON.parse(JSON.stringify(g.position.coords)))]);
  g.addEventListener("location", look);
  window.addEventListener("location", look, true);
  document.body.append(host);
  place.append(g);
  setTimeout(() => { g.remove(); resolve(seen); }, 2500);
})"""


@pytest.mark.parametrize("watch", [False, True])
@pytest.mark.parametrize("shadow", [False, True])
def test_the_element_that_finds_positions_asks_the_addon(chrome, site, shadow, watch):
    """`<geolocation>` reads positions without navigator.geolocation, and without a call that could be replaced."""
    settings(chrome, choice="low")
    page = chrome.new_page()
    page.goto(site)
    seen = page.evaluate(FIND, [shadow, watch])
    if seen is None:
        pytest.skip("this browser has no such element")
    assert str(TRUE["latitude"]) not in str(seen)
    assert str(TRUE["longitude"]) not in str(seen)
    if shadow:  # an event inside of it cannot be held back, but it has nothing to say
        assert all(row[1] is None for row in seen)
    else:
        assert seen
        assert all(not trusted and 0 < abs(at - TRUE["latitude"]) < 1 for trusted, at, *_ in seen)
    settings(chrome, choice="deny")
    page.goto(site)
    refused = page.evaluate(FIND, [False, watch])
    assert refused
    assert all(at is None and code == 1 for _, at, code, *_ in refused)
    page.close()


def test_no_part_of_the_browser_that_knows_positions_is_new(chrome, site):
    """A browser that learns another way to find positions must be looked at before the add-on covers it."""
    page = chrome.new_page()
    page.goto(site)
    names = page.evaluate("Object.getOwnPropertyNames(window).filter((n) => /geoloc/i.test(n)).sort()")
    known = {
        *("Geolocation", "GeolocationCoordinates", "GeolocationPosition", "GeolocationPositionError"),
        "HTMLGeolocationElement",
    }
    assert set(names) <= known
    tell = "Object.getOwnPropertyNames(window[k].prototype).filter((n) => n !== 'constructor').sort()"
    held = page.evaluate(f"['Geolocation', 'GeolocationPosition', 'GeolocationCoordinates'].map((k) => {tell})")
    assert held == [
        ["clearWatch", "getCurrentPosition", "watchPosition"],
        ["coords", "timestamp", "toJSON"],
        ["accuracy", "altitude", "altitudeAccuracy", "heading", "latitude", "longitude", "speed", "toJSON"],
    ]
    page.close()


def test_a_page_that_asks_all_the_time_does_not_spend_the_budget(chrome, site):
    settings(chrome, choice="medium", budget=3)
    page = chrome.new_page()
    page.goto(site)
    seen = [page.evaluate(ONCE) for _ in range(30)]
    assert len({(c["latitude"], c["longitude"]) for c in seen}) == 1
    held = store(chrome, "return (await chrome.storage.local.get('trace:medium'))['trace:medium']")
    assert held["spent"] == 4
    page.close()


def test_choices_are_those_of_the_site(chrome, site):
    page = chrome.new_page()
    page.goto(site)
    settings(chrome, choice="medium", sites={"127.0.0.1": "real"})
    assert page.evaluate(ONCE)["latitude"] == TRUE["latitude"]
    settings(chrome, choice="real", sites={"127.0.0.1": "deny"})
    assert page.evaluate(ONCE)["code"] == 1
    settings(chrome, choice="place:museum", places={"museum": {"lat": 41.9, "lon": 12.5}})
    assert page.evaluate(ONCE)["latitude"] == 41.9
    settings(chrome, choice="place:gone")  # nothing about the true position was meant to be told
    assert page.evaluate(ONCE)["code"] == 1
    page.close()


def test_a_person_sets_levels_and_saves_places(chrome, site):
    """The pages of the add-on itself, clicked."""
    settings(chrome, choice="medium")
    identity = chrome.service_workers[0].url.split("/")[2]
    page = chrome.new_page()
    troubles = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.goto(f"chrome-extension://{identity}/options.html")
    page.select_option("#choice", "high")
    page.fill("input[name=name]", "home")
    page.fill("input[name=lat]", "48.1")
    page.fill("input[name=lon]", "2.1")
    page.select_option("select[name=level]", "low")
    page.click("text=Save place")
    page.wait_for_selector("#places td")
    shown = store(chrome, "return (await chrome.storage.local.get('settings')).settings")
    assert shown["choice"] == "high"
    assert shown["places"]["home"] != {"lat": 48.1, "lon": 2.1}
    assert abs(shown["places"]["home"]["lat"] - 48.1) < 0.1
    popup = chrome.new_page()
    popup.on("pageerror", lambda error: troubles.append(str(error)))
    popup.goto(f"chrome-extension://{identity}/popup.html")
    popup.select_option("#choice", "place:home")
    popup.wait_for_function("async () => (await chrome.storage.local.get('settings')).settings.choice === 'place:home'")
    site_page = chrome.new_page()
    site_page.goto(site)
    assert site_page.evaluate(ONCE)["latitude"] == shown["places"]["home"]["lat"]
    assert not troubles
    for one in (page, popup, site_page):
        one.close()
