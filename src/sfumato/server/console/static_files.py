"""Static files of the console, read once at start, with their types and hashes.

Comes in: the package's own files. Goes out: bytes with an ETag, compressed where the browser takes that; pages made of
one frame and a body. Nothing outside of the package can be asked for: only names that were found here are known.
"""

from __future__ import annotations

import gzip
import hashlib
import html
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from string import Template

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from sfumato.pictures import STYLE

TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".json": "application/json",
}


@dataclass(frozen=True, slots=True)
class File:
    """A file as it is sent."""

    plain: bytes
    packed: bytes
    kind: str
    tag: str


@dataclass(frozen=True, slots=True)
class StaticFiles:
    """Static files by name, and the texts of pages."""

    files: dict[str, File]
    frame: Template
    bodies: dict[str, str]

    @classmethod
    def load(cls) -> StaticFiles:
        """All that there is."""
        home = files("sfumato.server.console")
        found = {name: _sent(name, data) for name, data in _walk(home / "static", "")}
        found["pictures.css"] = _sent("pictures.css", STYLE.encode())
        bodies = {name.removesuffix(".html"): data.decode() for name, data in _walk(home / "pages", "")}
        return cls(found, Template(bodies.pop("frame")), bodies)

    def page(self, name: str, title: str, role: str, pg: str) -> str:
        """A page: the frame around a body. Whatever is put in is escaped."""
        words = {"title": title, "name": name, "role": role, "pg": pg}
        return self.frame.substitute({key: html.escape(value) for key, value in words.items()}, body=self.bodies[name])

    def response(self, request: Request) -> Response:
        """A file, or that the browser has it already."""
        file = self.files.get(request.path_params["name"])
        if file is None:
            raise HTTPException(404)
        headers = {"ETag": file.tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
        if request.headers.get("if-none-match") == file.tag:
            return Response(status_code=304, headers=headers)
        packs = "gzip" in request.headers.get("accept-encoding", "")
        body = file.packed if packs else file.plain
        return Response(body, headers=headers | ({"Content-Encoding": "gzip"} if packs else {}), media_type=file.kind)


def _walk(place: Traversable, above: str) -> list[tuple[str, bytes]]:
    found = []
    for child in sorted(place.iterdir(), key=lambda one: one.name):
        if child.is_dir():
            found += _walk(child, f"{above}{child.name}/")
        else:
            found.append((above + child.name, child.read_bytes()))
    return found


def _sent(name: str, data: bytes) -> File:
    kind = TYPES.get(name[name.rfind(".") :], "application/octet-stream")
    return File(data, gzip.compress(data, 9, mtime=0), kind, f'"{hashlib.sha256(data).hexdigest()[:32]}"')
