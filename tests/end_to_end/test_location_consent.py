"""Whose choice a frame has, what decides in the window that asks, and what pages make the add-on do."""

import json

import pytest
from tests.end_to_end import test_location_addon
from tests.end_to_end.test_location_addon import ONCE, TRUE, far, settings, store

site, chrome = test_location_addon.site, test_location_addon.chrome
TELL = "(p) => top.postMessage(p.coords.latitude, '*'), (e) => top.postMessage(e.code, '*')"
ASK = f"<script>navigator.geolocation.getCurrentPosition({TELL})</script>"
INNER = """(() => {
  const f = document.createElement("iframe");
  f.allow = "geolocation *";
  f.sandbox = "allow-scripts";
  f.srcdoc = TEXT;
  document.body.append(f);
})()"""
OUTER = """([src, text]) => new Promise((r) => {
  window.onmessage = (e) => r(e.data);
  const f = document.createElement("iframe");
  f.allow = "geolocation *";
  f.sandbox = "allow-scripts";
  if (src) f.src = src; else f.srcdoc = text;
  document.body.append(f);
})"""
WRITES = f"<body><script>{INNER.replace('TEXT', json.dumps(ASK))}".replace("</", r"<\/") + "</script>"
KEYS = [["t"], ["Tab", "t"], ["Tab", "End"], ["Tab", "t", "Tab", "Enter"], ["Tab", "ArrowDown", "Tab", "Space"]]


@pytest.fixture
def page(chrome, site):
    settings(chrome)
    store(chrome, "await chrome.storage.session.clear()")
    page = chrome.new_page()
    page.goto(site)
    yield page
    for one in chrome.pages[1:]:
        one.close()


def asked(chrome, page, code):
    """The window that opens when a page runs code."""
    with chrome.expect_page() as opened:
        page.evaluate(f"() => {{ {code} }}")
    opened.value.wait_for_selector("#decide:visible")
    return opened.value


@pytest.mark.parametrize("whose", ["another site", "the page itself"])
def test_a_sandbox_in_a_sandbox_does_not_get_the_choice_of_a_farther_page(chrome, site, page, whose):
    """A site in a sandbox has no origin for the frames that it makes: they took the choice of the page around both."""
    settings(chrome, choice="deny", sites={"127.0.0.1": "real", "localhost": "deny"})
    assert page.evaluate(ONCE)["latitude"] == TRUE["latitude"]
    other = f"{site.replace('127.0.0.1', 'localhost')}/written"
    page.route(other, lambda route: route.fulfill(body=WRITES, content_type="text/html"))
    assert page.evaluate(OUTER, [other if whose == "another site" else None, WRITES]) == 1


@pytest.mark.parametrize("keys", KEYS, ids=" ".join)
def test_keys_that_were_meant_for_the_page_decide_nothing(chrome, page, keys):
    """A page asks while somebody types: the window comes to the front and gets the keys."""
    window = asked(chrome, page, f"window.told = ({ONCE})()")
    for _ in range(12 // len(keys)):  # for longer than the window waits
        for key in keys:
            window.keyboard.press(key)
            window.wait_for_timeout(120)
    assert window.is_disabled("#decide"), "it waits for an end of the typing"
    assert "127.0.0.1" not in store(chrome, "return (await chrome.storage.local.get('settings')).settings.sites ?? {}")
    window.select_option("#choice", "low")
    window.wait_for_timeout(300)
    assert not window.is_closed(), "a menu that is moved does not decide"
    window.click("#decide")
    assert 0 < far(page.evaluate("window.told")) < 20_000


def test_a_window_that_comes_to_the_front_again_waits_again(chrome, page):
    window = asked(chrome, page, f"window.told = ({ONCE})()")
    window.wait_for_selector("#controls:enabled")
    window.evaluate("window.dispatchEvent(new Event('focus'))")
    assert window.is_disabled("#decide")
    window.wait_for_selector("#controls:enabled")


def test_the_window_shows_the_end_of_a_long_name(chrome, site, page):
    """Whose a name is stands at its end: maps.example.aaaa….else is not maps.example."""
    page.goto(site.replace("127.0.0.1", ".".join(["maps", "example", "a" * 60, "b" * 60, "c" * 60, "localhost"])))
    window = asked(chrome, page, f"window.told = ({ONCE})()")
    window.set_viewport_size({"width": 440, "height": 320})
    name = window.locator("#site").bounding_box()
    assert window.text_content("#site").endswith(".localhost")
    assert name["x"] + name["width"] <= 440
    assert name["y"] + name["height"] <= 320


def test_who_closes_the_window_has_refused_all_frames_of_the_page(chrome, site, page):
    """Names below a name cost nothing: a page could open a window for each, again and again."""
    put = """const f = document.createElement('iframe'); f.allow = 'geolocation'; f.src = '%s';
      f.onload = () => window.ready = true; document.body.append(f);"""
    first, second = (site.replace("127.0.0.1", f"{name}.localhost") + "/frame" for name in ("a", "b"))
    page.evaluate(f"() => {{ {put % first} }}")
    page.wait_for_function("window.ready")
    frame = page.frame(url=first)
    asked(chrome, frame, f"window.told = ({ONCE})()").close()
    assert frame.evaluate("window.told")["code"] == 1
    before = len(chrome.pages)
    page.evaluate(f"() => {{ window.ready = false; {put % second} }}")
    page.wait_for_function("window.ready")
    soon = f"Promise.race([({ONCE})(), new Promise((r) => setTimeout(r, 3000, {{code: 'asks'}}))])"
    assert page.frame(url=second).evaluate(soon)["code"] == 1
    assert len(chrome.pages) == before


def test_a_page_does_not_make_the_addon_look(chrome, page):
    """The position is read once a minute, with the add-on's own words: a page's haste tells it nothing."""
    settings(chrome, choice="medium")
    count = """globalThis.looks = [], globalThis.send ??= chrome.runtime.sendMessage.bind(chrome.runtime);
      chrome.runtime.sendMessage = (m) => { looks.push(m.options); return send(m); }"""
    store(chrome, count)
    hasty = ONCE.replace("message: e.message})", "message: e.message}), {timeout: 1e-6, maximumAge: 1e9}")
    seen = [page.evaluate(code) for code in (hasty, ONCE, hasty, ONCE)]
    assert len({(one["latitude"], one["longitude"]) for one in seen}) == 1
    assert store(chrome, "return looks") == [{"timeout": 30_000}]
    store(chrome, "chrome.runtime.sendMessage = send")


def test_scripts_in_pages_cannot_read_the_store(chrome, page):
    """Settings, places and budgets are for the add-on's own pages: not even its script beside the page has them."""
    session, worlds = chrome.new_cdp_session(page), []
    session.on("Runtime.executionContextCreated", lambda event: worlds.append(event["context"]))
    session.send("Runtime.enable")
    identity = chrome.service_workers[0].url.split("/")[2]
    world = next(one["id"] for one in worlds if identity in one["origin"])
    code = "chrome.storage.local.get().then(() => 'read', (e) => e.message)"
    words = {"expression": code, "contextId": world, "awaitPromise": True, "returnByValue": True}
    assert "not allowed" in session.send("Runtime.evaluate", words)["result"]["value"]
