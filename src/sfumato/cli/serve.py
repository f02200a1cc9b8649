"""`sfumato serve` and `sfumato reload`: the network interfaces, until SIGTERM or Ctrl-C.

Comes in: a policy and addresses. Goes out: one line for each door that is open, then `ready`; at the end connections
are drained, then the ledger is closed.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from pathlib import Path

from sfumato.errors import InputError
from sfumato.policy import load
from sfumato.server.pgwire.startup import WireLimits
from sfumato.server.process.control import tell_all, unpacked
from sfumato.server.process.serve_options import MOST_WORKERS, ServeOrder, Sockets, address, listen, read_text, shown
from sfumato.server.process.shutdown import leave
from sfumato.server.process.signals import ServeRun
from sfumato.server.terminal_output import console, print_json
from sfumato.server.users import Users

_NAMES = {"pg": "PostgreSQL", "http": "HTTP and console"}


def make_order(
    path: Path,
    pg: str,
    http: str,
    cert: Path | None,
    key: Path | None,
    *,
    plain: bool,
    per_user: int | None = None,
) -> ServeOrder:
    """The order of a command line."""
    if per_user is not None and not 1 <= per_user <= WireLimits().connections:
        raise InputError(f"--per-user must be 1 to {WireLimits().connections}, but is {per_user}")
    if (cert is None) != (key is None):
        raise InputError("give --cert and --key together")
    order = ServeOrder(
        str(path.absolute()),
        read_text(path),
        address(pg),
        address(http),
        None if cert is None else str(cert.absolute()),
        None if key is None else str(key.absolute()),
        plain,
        per_user=per_user,
    )
    if order.pg is None and order.http is None:
        raise InputError("no interface is left", hint="Give --pg or --http an address.")
    return order


def serve(order: ServeOrder, *, workers: int, check: bool) -> None:
    """Open the doors, and stay."""
    if not 1 <= workers <= MOST_WORKERS:
        raise InputError(f"--workers must be 1 to {MOST_WORKERS}, but is {workers}")
    policy = order.read()
    if not Users(policy.data.state).list():
        sys.stderr.write("nobody can log in yet: add a user with `sfumato user add NAME --role analyst`\n")
    sockets = listen(order)
    lines = [f"{_NAMES[name]}: {url}" for name, url in links(order, sockets, policy.data.id).items()]
    try:
        visit = (lambda: None) if check else None
        asyncio.run(ServeRun(order, sockets, workers, lambda: say([*lines, "ready"]), visit, leave).run())
    finally:
        sockets.close()


def links(order: ServeOrder, sockets: Sockets, data: str) -> dict[str, str]:
    """Where the doors are, by their names."""
    found = {}
    if sockets.pg:
        found["pg"] = f"postgresql://{shown(sockets.pg[0].getsockname())}/{data}"
    if sockets.http:
        scheme = "https" if order.encrypts_http else "http"
        found["http"] = f"{scheme}://{shown(sockets.http[0].getsockname())}"
    return found


def reachable(url: str) -> str:
    """A link that other machines can open, where a server listens on all addresses of this one."""
    for everywhere in ("//0.0.0.0:", "//[::]:"):
        if everywhere in url:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                try:
                    probe.connect(("192.0.2.1", 9))  # an address of nobody, for documentation; nothing is sent
                    return url.replace(everywhere, f"//{probe.getsockname()[0]}:")
                except OSError:
                    return url.replace(everywhere, f"//{socket.gethostname()}:")
    return url


def say(lines: list[str]) -> None:
    """What a person or a program waits for."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def reload(path: Path, *, as_json: bool) -> None:
    """Tell every server of this policy to read it anew; exit code 2 if the new one cannot be served."""
    heard = tell_all(_state(path), {"do": "reload"})
    failed = next((said["error"] for said in heard if "error" in said), None)
    if failed is not None:
        error = unpacked(failed)
        sys.stderr.write("The previous policy stays in force.\n")
        raise error
    if as_json:
        print_json({"servers": heard})
        return
    for said in heard:
        epsilon = said["epsilon"]
        was = "" if epsilon["before"] == epsilon["now"] else f"{epsilon['before']} → "
        console().print(
            f'reloaded: version "{said["version"]}", epsilon {was}{epsilon["now"]}, policy {said["policy"][:12]}'
        )
        for warning in said["warnings"]:
            console(stderr=True).print(f"warning: {warning}", soft_wrap=True)


def _state(path: Path) -> str:
    """Where the servers of a policy can be reached: also of one that was just broken by an edit."""
    from sfumato.errors import PolicyError

    try:
        return load(path).data.state
    except PolicyError:
        if not path.is_file():
            raise
        return _written_state(path)


def _written_state(path: Path) -> str:
    """The state directory as far as it can be read off a policy with a mistake; else the default beside it."""
    import tomllib

    try:
        state = tomllib.loads(path.read_text(encoding="utf-8-sig")).get("data", {}).get("state", ".sfumato")
    except (tomllib.TOMLDecodeError, ValueError, AttributeError):
        state = ".sfumato"
    return str(path.absolute().parent / str(state))
