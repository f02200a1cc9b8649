"""The browser add-on for locations in browsers that do, and do not, obey its setting."""

import json

import pytest
from tests.end_to_end import test_location_addon
from tests.end_to_end.test_location_addon import ONCE, TRUE, USE, WAYS, browser, settings, store

site = test_location_addon.site
BADGES = "return Promise.all((await chrome.tabs.query({})).map(({id}) => chrome.action.getBadgeText({tabId: id})))"


@pytest.mark.parametrize("obeys", [True, False])
def test_the_person_is_warned_where_the_browser_does_not_refuse(site, obeys):
    """Chromium has a second setting for positions, off by default, which add-ons cannot set: nothing is locked then."""
    with browser(f"--{'disable' if obeys else 'enable'}-features=ApproximateGeolocationPermission") as chrome:
        settings(chrome, choice="low")
        page = chrome.new_page()
        page.goto(site)
        assert ("latitude" in page.evaluate(ONCE)) == obeys
        assert ("!" in store(chrome, BADGES)) != obeys
        said = page.evaluate(USE % WAYS["a sandbox without scripts"])
        assert any(str(TRUE["latitude"]) in one for one in said) != obeys, "the README says what the browser does"


def test_a_private_window_gets_nothing(site):
    """No script of the add-on runs there unless somebody allows it, but the browser refuses there, too."""
    with browser() as chrome:
        settings(chrome, choice="real")
        session, heard = chrome.whole_browser.new_browser_cdp_session(), {}
        session.on("Target.receivedMessageFromTarget", lambda told: heard.update([_numbered(told)]))
        private = session.send("Target.createBrowserContext")["browserContextId"]
        target = session.send("Target.createTarget", {"url": site, "browserContextId": private})["targetId"]
        tab = session.send("Target.attachToTarget", {"targetId": target, "flatten": False})["sessionId"]
        state = "navigator.permissions.query({name: 'geolocation'}).then(({state}) => state)"
        all_said = f"Promise.all([{state}, ({ONCE})(), String(navigator.geolocation.getCurrentPosition)])"
        code = f"location.href === '{site}/' ? {all_said}.then(JSON.stringify) : ''"
        orders = {
            "Emulation.setGeolocationOverride": TRUE,
            "Runtime.evaluate": {"expression": code, "awaitPromise": True},
        }
        number = 0
        while "native code" not in heard.get(number, "") and number < 200:
            for method, words in orders.items():
                number += 1
                message = json.dumps({"id": number, "method": method, "params": words})
                session.send("Target.sendMessageToTarget", {"sessionId": tab, "message": message})
            chrome.pages[0].wait_for_timeout(100)
        said = json.loads(json.loads(heard[number])["result"]["result"]["value"])
        assert (said[0], said[1]["code"]) == ("denied", 1)
        assert "native code" in said[2], "the add-on runs in private windows: what it tells there is not tested"
        assert not any(str(TRUE["latitude"]) in said for said in heard.values())


def _numbered(told):
    said = json.loads(told["message"])
    return said.get("id"), json.dumps(said)
