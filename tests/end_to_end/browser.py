"""What the tests of the console share: a real Chromium, a door with the console, and data with awkward names."""

import contextlib
import os
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright
from tests.end_to_end import web
from tests.end_to_end.hosting import PASSWORD, hosting

from sfumato.server.audit_log import AuditLog
from sfumato.server.console import console
from sfumato.server.tokens import link
from sfumato.server.users import Users

expect.set_options(timeout=30_000)  # a shared machine may take long; nothing waits longer than it must

SCRIPT = "<script>window.hacked = 1</script>"
IMAGE = '<img src=x onerror="window.hacked = 1">'
RIGHT_TO_LEFT = "שלום \u202e עולם"
LONG = "a_very_long_name_of_a_column_that_nobody_would_type_by_hand_but_a_machine_has_made"
COLOURS = ["red", SCRIPT, IMAGE, RIGHT_TO_LEFT, "x" * 60]
POLICY = """
[source]
engine = "duckdb"
files = {{ people = "people.csv" }}
[data]
id = "odd"
[privacy]
epsilon = 40
query_epsilon = 0.5
[analysts.ana]
epsilon = 20
[analysts.bob]
epsilon = 1
[tables.people]
unit = "id"
rows_per_unit = 1
[tables.people.columns]
id = {{ type = "integer" }}
colour = {{ values = {colours} }}
code = {{ type = "integer", min = 0, max = 4999 }}
day = {{ type = "date", min = 2024-01-01, max = 2024-12-31 }}
{long} = {{ type = "integer", min = 0, max = 9 }}
"""


def write_odd(home):
    """A table whose values are markup, run from right to left, or are missing."""
    home.mkdir(parents=True, exist_ok=True)
    lines = [f"id,colour,code,day,{LONG}"]
    for i in range(600):
        quoted = COLOURS[i % 5].replace('"', '""')
        colour = "" if i % 7 == 0 else f'"{quoted}"'
        lines.append(f"{i},{colour},{i * 7 % 5000},2024-{1 + i % 12:02d}-01,{i % 10}")
    (home / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    listed = "[" + ", ".join("'''" + colour + "'''" for colour in COLOURS) + "]"
    policy = home / "sfumato.toml"
    policy.write_text(POLICY.format(colours=listed, long=LONG), encoding="utf-8")
    return policy


def serving(policy, **options):
    """A door with its console, and a person for every role."""

    def make(gate):
        users = Users(gate.policy.data.state)
        site = console(users, AuditLog(gate.policy.data.state))
        return web.Web(gate, users=users, console=site, **options)

    return hosting(policy, make)


def executable():
    """Debian's Chromium, or the one that Playwright brought along; without one tests are skipped, but not in CI."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    with sync_playwright() as driver:
        own = driver.chromium.executable_path
    if Path(own).exists():
        return own
    if os.environ.get("CI") == "true":
        pytest.fail("there is no Chromium: apt-get install chromium")
    pytest.skip("there is no Chromium: apt-get install chromium, or playwright install chromium")


@contextlib.contextmanager
def chromium():
    path = executable()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        )
        try:
            yield browser
        finally:
            browser.close()


class Tab:
    """A page of somebody who is in: by a link, or by the session that one gives. Complaints of the browser are kept."""

    def __init__(self, browser, served, name, *, width=1280, dark=False, start=None):
        self.served, self.name = served, name
        scheme = "dark" if dark else "light"
        size = {"width": width, "height": 860}
        self.context = browser.new_context(
            viewport=size, color_scheme=scheme, accept_downloads=True, reduced_motion="reduce"
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(10_000)
        self.troubles = []
        self.page.on("console", lambda said: said.type == "error" and self.troubles.append(said.text))
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("dialog", lambda dialog: self.troubles.append(dialog.message))
        if start is None:
            self.page.goto(f"{served.url}/?link={link(served.users, name)[1]}")
            self.page.wait_for_url(lambda url: "link=" not in url)
        else:  # another page than the first one, which need not be loaded for it
            with served.client() as client:
                client.get("/", params={"link": link(served.users, name)[1]})
                self.context.add_cookies(
                    [{"name": n, "value": v, "url": served.url} for n, v in client.cookies.items()]
                )
            self.go(start)

    def go(self, path):
        self.page.goto(self.served.url + path)

    def write(self, sql):
        """Replace what stands in the editor, as a person would."""
        self.page.locator(".cm-content").click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.press(
            "Delete"
        )  # typed over, Chromium keeps the old text's looks, and its own policy complains
        self.page.keyboard.insert_text(sql)

    def ready(self):
        expect(self.page.locator("#ask")).to_be_enabled()

    def ask(self):
        self.ready()
        self.page.click("#ask")
        self.page.wait_for_selector("#result tbody tr")

    def spent(self):
        return self.served.gate.budget(self.name).spent.epsilon

    def close(self):
        self.context.close()


__all__ = ["LONG", "PASSWORD", "RIGHT_TO_LEFT", "SCRIPT", "Tab", "chromium", "expect", "serving", "write_odd"]
