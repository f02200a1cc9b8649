"""Build the documentation as a static site, and check every link: `make docs`, and a test.

Comes in: README.md, CHANGELOG.md, CONTRIBUTING.md, SECURITY.md and docs/. Goes out: HTML in build/site, one file for
each page, with the index of docs/index.md beside it. Pages stay readable as Markdown. A link to a page, a file or a
heading that is not there is an error.
"""

from __future__ import annotations

import html
import os
import re
import shutil
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "build" / "site"
_PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md")
_STYLE = """
:root{color-scheme:light dark;--line:#8884;--accent:#0f62a8}
@media(prefers-color-scheme:dark){:root{--accent:#6cb4f5}}
body{font:16px/1.55 system-ui,sans-serif;margin:0;display:grid;grid-template-columns:260px minmax(0,1fr)}
nav{border-right:1px solid var(--line);padding:16px;font-size:14px;height:100vh;overflow:auto;position:sticky;top:0;
  box-sizing:border-box}
nav h2{font-size:13px;margin:16px 0 4px}nav ul{list-style:none;margin:0;padding:0}nav li{margin:2px 0}
main{padding:24px 40px;max-width:880px}a{color:var(--accent)}
pre{overflow:auto;padding:12px;border:1px solid var(--line);border-radius:6px;font-size:14px}
code{font-family:ui-monospace,monospace;font-size:.92em}
table{border-collapse:collapse;display:block;overflow:auto}
td,th{border:1px solid var(--line);padding:4px 10px;text-align:left;vertical-align:top}img{max-width:100%}
@media(max-width:800px){body{display:block}nav{height:auto;position:static;border:0}main{padding:16px}}
"""
_LINK = re.compile(r'(?:href|src)="([^"]+)"')


def sources() -> Iterator[Path]:
    """Every page, by its path."""
    yield from (ROOT / name for name in _PAGES if (ROOT / name).exists())
    yield from sorted((ROOT / "docs").rglob("*.md"))


def slug(title: str) -> str:
    """The name of a heading in a link, as GitHub makes it."""
    plain = re.sub(r"<[^>]+>", "", title).lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def render(path: Path, navigation: str) -> tuple[str, set[str]]:
    """A page as HTML, and the names of its headings."""
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table")
    parsed = tokens.parse(path.read_text(encoding="utf-8"))
    names: set[str] = set()
    title = path.stem
    for place, token in enumerate(parsed):
        if token.type == "heading_open":
            text = parsed[place + 1].content
            base = name = slug(re.sub(r"[`*]", "", text))
            number = 0
            while name in names:
                number += 1
                name = f"{base}-{number}"
            names.add(name)
            token.attrSet("id", name)
            title = re.sub(r"[`*]", "", text) if token.tag == "h1" else title
    body = tokens.renderer.render(parsed, tokens.options, {}) + _beside(path)
    head = f"<title>{html.escape(title)} · sfumato</title><style>{_STYLE}</style>"
    meta = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    page = f'<!doctype html><html lang="en"><head>{meta}{head}</head>'
    return f"{page}<body><nav>{navigation}</nav><main>{body}</main></body></html>\n", names


def _beside(path: Path) -> str:
    """For the front page of the decisions: a list of them, which are many and have numbers."""
    if path.parent.name != "decisions" or path.name != "README.md":
        return ""
    pages = sorted(path.parent.glob("[0-9]*.md"))
    titles = [page.read_text(encoding="utf-8").split("\n", 1)[0].lstrip("# ") for page in pages]
    items = (f'<li><a href="{p.name}">{html.escape(t)}</a></li>' for p, t in zip(pages, titles, strict=True))
    return f"<ul>{''.join(items)}</ul>"


def place_of(path: Path) -> Path:
    """Where a source comes to stand below the site; the index of the docs is the site's own."""
    inside = path.relative_to(ROOT)
    parts = inside.parts[1:] if inside.parts[0] == "docs" else inside.parts
    is_page = str(inside) in _PAGES or (inside.parts[0] == "docs" and inside.suffix == ".md")
    return Path(*parts).with_suffix(".html") if is_page else Path(*parts)


def build(target: Path = TARGET) -> list[str]:
    """Write the site; what is returned are broken links."""
    if target.exists():
        shutil.rmtree(target)
    pages = list(sources())
    index = ROOT / "docs" / "index.md"
    menu = _menu(index)
    headings: dict[Path, set[str]] = {}
    written: dict[Path, str] = {}
    for path in pages:
        text, headings[path] = render(path, "")
        written[path] = text
    broken = []
    for path in pages:
        for link in _LINK.findall(written[path]):
            fault = _fault(path, html.unescape(link), headings)
            if fault:
                broken.append(f"{path.relative_to(ROOT)}: {link}: {fault}")
    for path in pages:
        here = place_of(path)
        up = os.path.relpath(Path(), here.parent)
        navigation = "".join(f"<h2>{head}</h2><ul>{_items(items, up)}</ul>" for head, items in menu)
        text = written[path].replace(
            "<nav></nav>", f'<nav><a href="{up}/index.html"><b>sfumato</b></a>{navigation}</nav>'
        )
        place = target / here
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(_LINK.sub(partial(_moved, path), text), encoding="utf-8")
    for path in pages:
        for link in _LINK.findall(written[path]):
            _copy(path, html.unescape(link), target)
    return broken


def _menu(index: Path) -> list[tuple[str, list[tuple[str, str]]]]:
    """The kinds of pages and their links, from the index."""
    menu: list[tuple[str, list[tuple[str, str]]]] = []
    for line in index.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            menu.append((line[3:], []))
        elif menu and (found := re.match(r"- \[([^\]]+)\]\(([^)]+)\)", line)):
            menu[-1][1].append((found[1], found[2]))
    return menu


def _items(items: list[tuple[str, str]], up: str) -> str:
    index = ROOT / "docs" / "index.md"
    made = []
    for name, link in items:
        target = (index.parent / link).resolve()
        href = f"{up}/{place_of(target)}" if target.is_relative_to(ROOT) else link
        made.append(f'<li><a href="{href}">{html.escape(name)}</a></li>')
    return "".join(made)


def _is_outside(link: str) -> bool:
    return bool(re.match(r"[a-z]+:|//", link))


def _fault(path: Path, link: str, headings: dict[Path, set[str]]) -> str | None:
    """What is wrong with a link."""
    if _is_outside(link):
        return None
    place, _, name = link.partition("#")
    target = path if not place else (path.parent / place).resolve()
    if not target.exists():
        return "there is no such file"
    if target.is_dir() or not name:
        return None
    return None if name in headings.get(target, {name}) else "there is no such heading"


def _moved(path: Path, found: re.Match[str]) -> str:
    """A link to a page as a link to its HTML; to what is no page of the site, as a link to a copy of the file."""
    link = html.unescape(found[1])
    place, mark, name = link.partition("#")
    if _is_outside(link) or not place or place.endswith(".html"):
        return found[0]
    target = (path.parent / place).resolve()
    if not target.is_relative_to(ROOT) or target.is_dir():
        return found[0]
    there = os.path.relpath(place_of(target), place_of(path).parent)
    return found[0].replace(found[1], html.escape(f"{there}{mark}{name}"))


def _copy(path: Path, link: str, target: Path) -> None:
    """A picture or a file that a page links to."""
    place = link.partition("#")[0]
    if _is_outside(link) or not place:
        return
    source = (path.parent / place).resolve()
    if source.is_file() and source.is_relative_to(ROOT) and place_of(source).suffix != ".html":
        there = target / place_of(source)
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, there)


if __name__ == "__main__":
    faults = build()
    print("\n".join(faults) if faults else f"wrote {TARGET.relative_to(ROOT)}/index.html")
    sys.exit(1 if faults else 0)
