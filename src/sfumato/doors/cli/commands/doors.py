"""`sfumato serve`, `reload` and `user`: the doors on ports, and who may come in."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sfumato.doors.cli.commands.shape import HERE, Json, PolicyFile, group, help_of

commands = group()
user = group("user", "Who may come in through the doors on ports.")


class Role(StrEnum):
    """What somebody may do."""

    ANALYST = "analyst"
    OWNER = "owner"
    AUDITOR = "auditor"


@commands.command(
    "serve",
    help=help_of(
        "Open the doors for PostgreSQL clients and for HTTP, until Ctrl-C or SIGTERM.\n\n"
        "Connections use TLS, with a certificate that signs itself unless one is given; without TLS only this machine "
        "comes in. Several workers share one ledger; SIGHUP or `sfumato reload` reads policy and data anew.",
        "sfumato serve --pg 127.0.0.1:0 --http 127.0.0.1:0 --check -p sfumato-demo/sfumato.toml",
    ),
)
def _serve(
    *,
    policy: PolicyFile = HERE,
    pg: Annotated[
        str, typer.Option("--pg", metavar="HOST:PORT", help="Where PostgreSQL clients come in, or none.")
    ] = "127.0.0.1:5439",
    http: Annotated[
        str, typer.Option("--http", metavar="HOST:PORT", help="Where HTTP comes in, or none.")
    ] = "127.0.0.1:8439",
    workers: Annotated[int, typer.Option("--workers", metavar="N", help="Processes that answer.")] = 1,
    cert: Annotated[Path | None, typer.Option("--cert", metavar="F", help="A certificate, in PEM.")] = None,
    key: Annotated[Path | None, typer.Option("--key", metavar="F", help="Its key, in PEM.")] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Let other machines in without TLS, too.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Open the doors, close them, and stop.")] = False,
) -> None:
    from sfumato.doors.cli.serve import make_order, serve

    serve(make_order(policy, pg, http, cert, key, plain=plain), workers=workers, check=check)


@commands.command(
    "reload",
    help=help_of(
        "Let running servers read policy and data anew; questions go on meanwhile.\n\n"
        "A policy that cannot be served changes nothing: the old one is served on, and exit code 2 says why.",
        "sfumato reload -p sfumato-demo/sfumato.toml",
    ),
)
def _reload(policy: PolicyFile = HERE, json: Json = False) -> None:
    from sfumato.doors.cli.serve import reload

    reload(policy, as_json=json)


Name = Annotated[str, typer.Argument(metavar="NAME", help="Who.")]


@user.command(
    "add",
    help=help_of(
        "Let somebody in, or give a new role and password. Without a terminal a password is made up and shown once.",
        "sfumato user add ana --role analyst -p sfumato-demo/sfumato.toml",
    ),
)
def _user_add(
    name: Name,
    *,
    role: Annotated[Role, typer.Option("--role", help="What somebody may do.")] = Role.ANALYST,
    policy: PolicyFile = HERE,
    password_stdin: Annotated[bool, typer.Option("--password-stdin", help="Read the password from stdin.")] = False,
) -> None:
    from sfumato.doors.cli.people import add

    add(policy, name, role.value, from_stdin=password_stdin)


@user.command(
    "list", help=help_of("Everybody who may come in, and the tokens.", "sfumato user list -p sfumato-demo/sfumato.toml")
)
def _user_list(policy: PolicyFile = HERE, json: Json = False) -> None:
    from sfumato.doors.cli.people import show

    show(policy, as_json=json)


@user.command(
    "remove",
    help=help_of(
        "Let somebody in no more. What was spent stays in the ledger.",
        "sfumato user remove ana -p sfumato-demo/sfumato.toml",
    ),
)
def _user_remove(name: Name, policy: PolicyFile = HERE) -> None:
    from sfumato.doors.cli.people import remove

    remove(policy, name)


@user.command(
    "token",
    help=help_of(
        "Make a token for programs that ask over HTTP; it is shown once. Or revoke one: that holds at once.",
        "sfumato user token ana --days 7 -p sfumato-demo/sfumato.toml",
    ),
)
def _user_token(
    name: Name,
    *,
    days: Annotated[int, typer.Option("--days", metavar="N", help="How long it lasts.")] = 90,
    role: Annotated[Role | None, typer.Option("--role", help="Hers, or auditor for one of an owner's.")] = None,
    revoke: Annotated[str | None, typer.Option("--revoke", metavar="ID", help="End this token, or `all`.")] = None,
    policy: PolicyFile = HERE,
    json: Json = False,
) -> None:
    from sfumato.doors.cli.people import end_tokens, make_token

    if revoke is not None:
        end_tokens(policy, name, revoke)
        return
    make_token(policy, name, days, role and role.value, as_json=json)
