"""The browser add-on for locations: its own tests under Node.js, and in a real Chromium with the add-on loaded."""

import contextlib
import http.server
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
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
INSIDE = b"<svg xmlns='http://www.w3.org/2000/svg'><title>inside</title></svg>"
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
        if self.path == "/slow":
            time.sleep(1)
        self.send_response(204 if self.path == "/nothing" else 200)
        self.send_header("Content-Type", "image/svg+xml" if self.path == "/svg" else "text/html")
        if self.path == "/sandbox":
            self.send_header("Content-Security-Policy", "sandbox allow-same-origin")
        self.end_headers()
        if self.path != "/nothing":
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self.wfile.write(PAGE if self.path == "/" else INSIDE)

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
def browser(*switches):
    """Chromium with the add-on loaded, a true position, and a person who lets every site know it."""
    with tempfile.TemporaryDirectory() as home, sync_playwright() as driver:
        (Path(home) / "Default").mkdir()
        allowed = {"profile": {"default_content_setting_values": {"geolocation": 1, "popups": 1}}}
        (Path(home) / "Default" / "Preferences").write_text(json.dumps(allowed), encoding="utf-8")
        context = driver.chromium.launch_persistent_context(
            home,
            executable_path=executable(),
            headless=False,
            ignore_default_args=["--disable-extensions"],
            args=[
                *switches,
                "--headless=new",
                "--no-sandbox",
                "--disable-dev-shm-usage",
                "--disable-gpu",
                "--remote-debugging-port=0",
                f"--disable-extensions-except={ADDON}",
                f"--load-extension={ADDON}",
            ],
            geolocation=TRUE,
        )
        try:
            context.set_default_timeout(20_000)
            if not context.service_workers:
                context.wait_for_event("serviceworker")
            port = (Path(home) / "DevToolsActivePort").read_text(encoding="utf-8").split()[0]
            context.whole_browser = driver.chromium.connect_over_cdp(f"http://127.0.0.1:{port}")
            tell_the_reader(context, context.whole_browser)
            yield context
        finally:
            context.close()


def tell_the_reader(context, connection):
    """Give the page in which the add-on reads positions the true one, as Playwright does for pages of its own."""
    words = {"url": "reader.html", "reasons": ["GEOLOCATION"], "justification": "a test"}
    context.service_workers[0].evaluate("(words) => chrome.offscreen.createDocument(words)", words)
    session = connection.new_browser_cdp_session()
    targets = session.send("Target.getTargets")["targetInfos"]
    reader = next(one["targetId"] for one in targets if one["url"].endswith("/reader.html"))
    attached = session.send("Target.attachToTarget", {"targetId": reader, "flatten": False})["sessionId"]
    order = {"id": 1, "method": "Emulation.setGeolocationOverride", "params": TRUE | {"altitude": 35, "speed": 2}}
    session.send("Target.sendMessageToTarget", {"sessionId": attached, "message": json.dumps(order)})


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
    settings(chrome, choice="medium", daily=3)
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
    said = re.findall(r"-?\d+\.\d+", heard)  # whole numbers: one report in 300 begins with the digits of the true one
    assert not {str(TRUE["latitude"]), str(TRUE["longitude"])} & set(said)
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


FIND = """([shadow, watch]) => {
  if (!("HTMLGeolocationElement" in window)) return false;
  const g = document.createElement("geolocation"), host = document.createElement("div");
  const place = shadow ? host.attachShadow({mode: "closed"}) : document.body;
  window.seen = [];
  host.id = "host";
  g.autolocate = true;
  g.watch = watch;
  const look = (e) => seen.push([e.isTrusted, g.position && g.position.coords.latitude, g.error && g.error.code,
    JSON.stringify(g.position), g.position && Object.values(JSON.parse(JSON.stringify(g.position.coords)))]);
  g.addEventListener("location", look);
  window.addEventListener("location", look, true);
  document.body.append(host);
  place.append(g);
  return true;
}"""


@pytest.mark.parametrize("watch", [False, True])
@pytest.mark.parametrize("shadow", [False, True])
def test_the_element_that_finds_positions_asks_the_addon(chrome, site, shadow, watch):
    """`<geolocation>` reads positions without navigator.geolocation, and without a call that could be replaced."""
    settings(chrome, choice="low")
    page = chrome.new_page()
    page.goto(site)
    if not page.evaluate(FIND, [shadow, watch]):
        pytest.skip("this browser has no such element")
    page.wait_for_timeout(1500)
    assert page.evaluate("seen") == [], "it must not look by itself"
    if shadow:  # the add-on does not see who was pressed: nothing is told
        page.click("#host", force=True, position={"x": 5, "y": 5})
        page.wait_for_timeout(500)
        assert page.evaluate("seen") == []
    else:
        page.click("geolocation")
        page.wait_for_function("seen.length > 0")
        seen = page.evaluate("seen")
        assert all(not trusted and 0 < abs(at - TRUE["latitude"]) < 1 for trusted, at, *_ in seen)
        assert str(TRUE["longitude"]) not in str(seen)
        settings(chrome, choice="deny")
        page.goto(site)
        page.evaluate(FIND, [False, watch])
        page.click("geolocation")
        page.wait_for_function("seen.length > 0")
        assert all(at is None and code == 1 for _, at, code, *_ in page.evaluate("seen"))
    page.close()


WAYS = {
    "a sandbox without scripts": "f.sandbox = 'allow-same-origin'; document.body.append(f); use(f.contentWindow)",
    "a page without scripts": "f.src = '/sandbox'; f.onload = () => use(f.contentWindow); document.body.append(f)",
    "a page without content": "f.src = '/nothing'; document.body.append(f); setTimeout(() => use(f.contentWindow), 99)",
    "a frame that still waits": "f.src = '/slow'; document.body.append(f); use(f.contentWindow)",
    "a window that still waits": "const w = window.open('/slow'); use(w)",
    "an empty page with an anchor": "f.src = 'about:blank#x'; document.body.append(f); use(f.contentWindow)",
    "a script that gives nothing": "f.src = 'javascript:void 0'; document.body.append(f); use(f.contentWindow)",
    "a picture": "f.src = '/svg'; f.onload = () => use(f.contentWindow); document.body.append(f)",
}
USE = """() => new Promise((r) => {
  // functions of a window in which no script of the add-on has run, on positions that such a window was given
  const f = document.createElement('iframe'), said = [];
  const read = (w, kind, name, from) => Object.getOwnPropertyDescriptor(w[kind].prototype, name)?.get?.call(from);
  const heard = (w) => (p) => {
    for (const one of [w, window]) for (const name of ['latitude', 'longitude']) try {
      said.push(p.coords?.[name], JSON.stringify(p));
      said.push(read(one, 'GeolocationCoordinates', name, read(one, 'GeolocationPosition', 'coords', p)));
    } catch (e) { said.push(e.name); }
  };
  const use = (w) => {
    said.push(typeof w.navigator.geolocation.getCurrentPosition);
    for (const ask of [w.navigator.geolocation, w.Geolocation.prototype].map((g) => g.getCurrentPosition))
      for (const on of [w.navigator.geolocation, navigator.geolocation])
        try { ask.call(on, heard(w), (e) => said.push('refused ' + e.code)); } catch (e) { said.push(e.name); }
    setTimeout(() => r(said.map(String)), 1500);
  };
  %s
})"""


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("choice", ["low", "deny"])
def test_a_window_that_the_addon_does_not_reach_gets_nothing(chrome, site, name, choice):
    """Whatever window a page finds, the browser itself refuses: every function of it is tried on every position."""
    settings(chrome, choice=choice)
    page = chrome.new_page()
    page.goto(site)
    said = page.evaluate(USE % WAYS[name])
    assert "function" in said
    if choice == "deny":
        assert "refused 1" in said
    assert not any(str(TRUE[axis]) in one for axis in ("latitude", "longitude") for one in said)
    for one in chrome.pages[1:]:
        one.close()


def test_the_browser_refuses_where_the_addon_was_not_yet_there(chrome, site):
    """The lock is the browser's own: it is on the whole web, also for sites that a person had let know."""
    for address in (site, "https://example.org", "http://example.org:8080/a"):
        held = store(chrome, f"return chrome.contentSettings.location.get({{primaryUrl: '{address}'}})")
        assert held["setting"] == "block"


def test_a_site_is_asked_about_before_it_is_told_anything(chrome, site):
    """No choice: a window asks the person. What is chosen there holds; who closes it has refused."""
    settings(chrome)
    store(chrome, "await chrome.storage.session.clear()")
    page = chrome.new_page()
    page.goto(site)
    for choice in ("low", None):
        settings(chrome)
        store(chrome, "await chrome.storage.session.clear()")
        with chrome.expect_page() as asked:
            page.evaluate(f"() => {{ window.told = ({ONCE})(); }}")
        window = asked.value
        window.wait_for_selector("#asks:visible")
        assert "127.0.0.1" in window.text_content("#site")
        if choice:
            window.select_option("#choice", choice)
            window.click("#decide")
        else:
            window.close()
        told = page.evaluate("window.told")
        assert (0 < far(told) < 20_000) if choice else told["code"] == 1
    before = len(chrome.pages)
    assert page.evaluate(ONCE)["code"] == 1, "it does not ask again"
    assert len(chrome.pages) == before
    page.close()


def test_a_frame_that_its_page_does_not_let_ask_is_refused(chrome, site):
    """The browser refuses positions to frames of other sites unless their page allows them; so does the add-on."""
    settings(chrome, choice="low")
    page = chrome.new_page()
    page.goto(site)
    other = site.replace("127.0.0.1", "localhost")
    for allow, granted in (("", False), ("geolocation", True)):
        page.evaluate(
            "([src, allow]) => new Promise((r) => { const f = document.createElement('iframe'); f.allow = allow;"
            " f.onload = r; f.src = src; document.body.append(f); })",
            [f"{other}/frame?{granted}", allow],
        )
        told = page.frame(url=f"{other}/frame?{granted}").evaluate(ONCE)
        assert ("latitude" in told) == granted, told
    page.close()


def test_where_the_browser_does_not_refuse_the_addon_tells_nothing(chrome, site):
    """A rule that is stronger than the add-on's: it cannot protect there, so it does not pretend to."""
    settings(chrome, choice="low")
    page = chrome.new_page()
    page.goto(site)
    assert "latitude" in page.evaluate(ONCE)
    chrome.grant_permissions(["geolocation"], origin=site)
    try:
        assert page.evaluate(ONCE)["code"] == 1
    finally:
        chrome.clear_permissions()
    assert "latitude" in page.evaluate(ONCE)
    page.close()


def test_a_page_without_a_secure_connection_is_refused(chrome, site):
    settings(chrome, choice="real")
    page = chrome.new_page()
    page.route("http://plain.example/", lambda route: route.fulfill(body=PAGE.decode(), content_type="text/html"))
    page.goto("http://plain.example/")
    assert not page.evaluate("isSecureContext")
    assert page.evaluate(ONCE)["code"] == 1
    page.close()


def test_a_page_may_ask_whether_it_may_ask(chrome, site):
    """Sites look at the permission first: "denied" would make them give up before the add-on is asked."""
    page = chrome.new_page()
    page.goto(site)
    query = "(name) => navigator.permissions.query({name}).then((s) => [s.state, s instanceof PermissionStatus])"
    assert page.evaluate(query, "geolocation") == ["prompt", True]
    assert page.evaluate(query, "notifications")[1] is True
    page.close()


def test_a_page_that_asks_all_the_time_does_not_spend_the_budget(chrome, site):
    settings(chrome, choice="medium", daily=3)
    page = chrome.new_page()
    page.goto(site)
    seen = [page.evaluate(ONCE) for _ in range(30)]
    assert len({(c["latitude"], c["longitude"]) for c in seen}) == 1
    held = store(chrome, "return (await chrome.storage.local.get('trace:medium'))['trace:medium']")
    assert held["spent"] == 4
    page.close()


def test_a_person_sees_that_the_budget_of_the_day_is_spent(chrome, site):
    """Sites get the last report until the day is over; the button, its window and the settings say so."""
    badge = "return chrome.action.getBadgeText({})"
    settings(chrome, choice="medium")
    page = chrome.new_page()
    page.goto(site)
    first = page.evaluate(ONCE)
    assert store(chrome, badge) == ""
    look = "const k = 'trace:medium', h = (await chrome.storage.local.get(k))[k]; "
    spend = look + "{} await chrome.storage.local.set({{[k]: h}})"
    store(chrome, spend.format("h.spent = 80; h.at = 0;"))
    again = page.evaluate(ONCE)
    assert (again["latitude"], again["longitude"]) == (first["latitude"], first["longitude"])
    wait_until(lambda: store(chrome, badge) == "old")
    own = chrome.new_page()
    own.goto(chrome.service_workers[0].url.replace("background.js", "popup.html"))
    wait_until(lambda: "wherever you are, until" in own.inner_text("#budget"))
    own.goto(chrome.service_workers[0].url.replace("background.js", "options.html"))
    wait_until(lambda: "20 of 20 spent today: sites get" in own.inner_text("#spent"))
    store(chrome, spend.format("h.seen -= 24 * 3600 * 1000;"))  # the next day
    page.evaluate(ONCE)
    wait_until(lambda: store(chrome, badge) == "")
    assert store(chrome, "return (await chrome.storage.local.get('trace:medium'))['trace:medium'].spent") in (1, 5)
    own.close()
    page.close()


def wait_until(right):
    for _ in range(400):
        if right():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen in twenty seconds")


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
    chosen = "return (await chrome.storage.local.get('settings')).settings.choice"
    wait_until(lambda: store(chrome, chosen) == "place:home")
    site_page = chrome.new_page()
    site_page.goto(site)
    assert site_page.evaluate(ONCE)["latitude"] == shown["places"]["home"]["lat"]
    assert not troubles
    for one in (page, popup, site_page):
        one.close()
