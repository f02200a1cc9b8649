"""`sfumato serve`, `reload` and `user`: the network interfaces and their users."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.commands.common import HERE, Json, PolicyFile, group, help_of

commands = group()
user = group("user", "Add, list and remove users and tokens.")


class Role(StrEnum):
    """What somebody may do."""

    ANALYST = "analyst"
    OWNER = "owner"
    AUDITOR = "auditor"


@commands.command(
    "serve",
    help=help_of(
        "Serve PostgreSQL clients, HTTP and the console.\n\n"
        "Runs until Ctrl-C or SIGTERM. Connections use TLS, with a self-signed certificate unless you give one; "
        "without TLS only this machine can connect. Workers share one ledger. SIGHUP or `sfumato reload` reloads.",
        "sfumato serve --pg 127.0.0.1:0 --http 127.0.0.1:0 --check -p sfumato-demo/sfumato.toml",
    ),
)
def _serve(
    *,
    policy: PolicyFile = HERE,
    pg: Annotated[
        str, typer.Option("--pg", metavar="HOST:PORT", help="PostgreSQL address, or none.")
    ] = "127.0.0.1:5439",
    http: Annotated[str, typer.Option("--http", metavar="HOST:PORT", help="HTTP address, or none.")] = "127.0.0.1:8439",
    workers: Annotated[int, typer.Option("--workers", metavar="N", help="Number of worker processes.")] = 1,
    per_user: Annotated[
        int | None,
        typer.Option("--per-user", metavar="N", help="Maximum PostgreSQL connections per user and worker (100)."),
    ] = None,
    cert: Annotated[Path | None, typer.Option("--cert", metavar="F", help="TLS certificate (PEM).")] = None,
    key: Annotated[Path | None, typer.Option("--key", metavar="F", help="TLS key (PEM).")] = None,
    plain: Annotated[bool, typer.Option("--plain", help="Allow other machines without TLS.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Start, stop and exit.")] = False,
) -> None:
    from sfumato.cli.serve import make_order, serve

    serve(make_order(policy, pg, http, cert, key, plain=plain, per_user=per_user), workers=workers, check=check)


@commands.command(
    "reload",
    help=help_of(
        "Make running servers reload policy and data.\n\n"
        "Queries continue in the meantime. If the new policy cannot be served, the old one stays in force and the exit "
        "code is 2.",
        "sfumato reload -p sfumato-demo/sfumato.toml",
    ),
)
def _reload(policy: PolicyFile = HERE, json: Json = False) -> None:
    from sfumato.cli.serve import reload

    reload(policy, as_json=json)


Name = Annotated[str, typer.Argument(metavar="NAME", help="User name.")]


@user.command(
    "add",
    help=help_of(
        "Add a user, or change role and password. Asks for a password; without a terminal it generates one and shows "
        "it once.",
        "sfumato user add ana --role analyst -p sfumato-demo/sfumato.toml",
    ),
)
def _user_add(
    name: Name,
    *,
    role: Annotated[Role, typer.Option("--role", help="Role of the user.")] = Role.ANALYST,
    policy: PolicyFile = HERE,
    password_stdin: Annotated[bool, typer.Option("--password-stdin", help="Read the password from stdin.")] = False,
) -> None:
    from sfumato.cli.users import add

    add(policy, name, role.value, from_stdin=password_stdin)


@user.command("list", help=help_of("List users and tokens.", "sfumato user list -p sfumato-demo/sfumato.toml"))
def _user_list(policy: PolicyFile = HERE, json: Json = False) -> None:
    from sfumato.cli.users import show

    show(policy, as_json=json)


@user.command(
    "remove",
    help=help_of(
        "Remove a user. Spending stays in the ledger.",
        "sfumato user remove ana -p sfumato-demo/sfumato.toml",
    ),
)
def _user_remove(name: Name, policy: PolicyFile = HERE) -> None:
    from sfumato.cli.users import remove

    remove(policy, name)


@user.command(
    "token",
    help=help_of(
        "Create or revoke an HTTP token. It is shown once; revoking takes effect at once.",
        "sfumato user token ana --days 7 -p sfumato-demo/sfumato.toml",
    ),
)
def _user_token(
    name: Name,
    *,
    days: Annotated[int, typer.Option("--days", metavar="N", help="Days until it expires.")] = 90,
    role: Annotated[Role | None, typer.Option("--role", help="The user's role, or auditor.")] = None,
    revoke: Annotated[str | None, typer.Option("--revoke", metavar="ID", help="Revoke this token, or `all`.")] = None,
    policy: PolicyFile = HERE,
    json: Json = False,
) -> None:
    from sfumato.cli.users import end_tokens, make_token

    if revoke is not None:
        end_tokens(policy, name, revoke)
        return
    make_token(policy, name, days, role and role.value, as_json=json)
