"""The console: pages for people in a browser, built on the HTTP API that everybody else uses.

Comes in: who may come in. Goes out: an ASGI application for HttpServer's `console`. It serves files of this package and
nothing else: shells without data, which call the HTTP interface; nothing is built when it is installed, and no
other machine is asked. `static/vendor` holds what others wrote, with licence and hash.
"""

from sfumato.server.console.site import console

__all__ = ["console"]
