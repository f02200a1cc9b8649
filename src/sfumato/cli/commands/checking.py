"""`sfumato verify`, `audit` and `attack`: check claims instead of believing them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.commands.common import HERE, Json, PolicyFile, group, help_of
from sfumato.errors import InputError

commands = group()


@commands.command(
    "verify",
    help=help_of(
        "Prove or refute the privacy claim of a program.\n\n"
        "PROGRAM is a .sfp file, or FILE.py:FUNCTION, a function decorated with sfumato.verify.program. Exit code "
        "0: proved, 1: refuted, 6: undecided. --check FILE checks a certificate instead. With --release the owner "
        "runs a proved program exactly on a private column, charged by its claim.",
        "sfumato verify sfumato-demo/noisy_count.sfp --explain",
    ),
)
def _verify(
    program: Annotated[str | None, typer.Argument(metavar="PROGRAM", help="What to verify.")] = None,
    *,
    explain: Annotated[bool, typer.Option("--explain", help="Show the proof as a table.")] = False,
    tight: Annotated[bool, typer.Option("--tight", help="Look for the smallest epsilon that holds.")] = False,
    certificate: Annotated[
        Path | None, typer.Option("--certificate", metavar="FILE", help="Write the proof or counterexample to a file.")
    ] = None,
    check: Annotated[Path | None, typer.Option("--check", metavar="FILE", help="Check a certificate.")] = None,
    release: Annotated[
        str | None, typer.Option("--release", metavar="TABLE.COLUMN", help="If proved, run it on this column; charged.")
    ] = None,
    epsilon: Annotated[str | None, typer.Option("--epsilon", metavar="E", help="Epsilon of the release.")] = None,
    given: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A public parameter of the release.")
    ] = None,
    policy: PolicyFile = HERE,
    json: Json = False,
) -> None:
    if (program is None) == (check is None):
        raise InputError("give a program, or --check with a certificate")
    if (release is None) != (epsilon is None) or (release is not None and check is not None):
        raise InputError("a release needs a program, --release and --epsilon")
    from sfumato.cli import verify

    if check is not None:
        verify.check(check, as_json=json)
    elif program is not None and release is not None:
        verify.release(program, release, epsilon, given or [], policy=policy, as_json=json)
    elif program is not None:
        verify.verify(program, explain=explain, tight=tight, target=certificate, as_json=json)


@commands.command(
    "audit",
    help=help_of(
        "Test a privacy claim by running it many times.\n\n"
        "WHAT is MODULE:FUNCTION (a module's name, or a .py file), mechanism:NAME or task:FILE (of local privacy); "
        "or --target audits a whole gateway with planted people, on a ledger of its own. Exit code 1 if the claim is "
        "refuted; if not, no violation was found, which proves nothing.",
        "sfumato audit mechanism:Geometric --claim 1 --samples 20000",
    ),
)
def _audit(
    what: Annotated[
        str | None, typer.Argument(metavar="WHAT", help="MODULE:FUNCTION, mechanism:NAME or task:FILE.")
    ] = None,
    *,
    claim: Annotated[str, typer.Option("--claim", metavar="E[,D]", help="The claimed epsilon and, optionally, delta.")],
    target: Annotated[Path | None, typer.Option("--target", metavar="POLICY", help="Audit this gateway.")] = None,
    adjacent: Annotated[
        str | None,
        typer.Option("--adjacent", metavar="WORD", help="Adjacency: number, one, all, inc, dec, addremove or any."),
    ] = None,
    samples: Annotated[
        int,
        typer.Option("--samples", metavar="N", help="Runs on each of two neighbours; more if they look suspicious."),
    ] = 100_000,
    json: Json = False,
) -> None:
    from sfumato.cli.audit import run

    run(what, target, claim, adjacent, samples, as_json=json)


@commands.command(
    "attack",
    help=help_of(
        "Attack a table, a policy or a server.\n\n"
        "NAME is differencing, averaging, reconstruction, linking, homogeneity, intersection, membership, timing, "
        "oracles, versions, likelihood, auxiliary, one-bit, query-search, singling-out, or all. --csv is attacked "
        "behind each --defence: raw, suppress, overlap, round, constant, bounded, sticky, kanon, laplace, onebit, dp "
        "(the gateway, total epsilon 1). Each result is broken, allowed (the guarantee permits it) or held. A --target "
        "is a policy, attacked on copies of its ledger, or the address of a server. With --release, NAME is linking, "
        "homogeneity, skewness, intersection (of two releases) or minimality, against a published table. Exit code 1 "
        "if an attack broke the target, dp, a release, or the only defence named.",
        "sfumato attack differencing --target sfumato-demo/sfumato.toml --secret disease",
    ),
)
def _attack(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Which attack, or all.")],
    *,
    target: Annotated[
        str | None,
        typer.Option("--target", metavar="POLICY", help="Attack this gateway; or http://…, or postgresql://…."),
    ] = None,
    csv: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Attack this table.")] = None,
    defence: Annotated[
        str, typer.Option("--defence", metavar="LIST", help="The defences to attack.")
    ] = "raw,suppress,dp",
    secret: Annotated[
        str | None, typer.Option("--secret", metavar="COLUMN[=VALUE]", help="The secret (default: last column).")
    ] = None,
    known: Annotated[str | None, typer.Option("--known", metavar="A,B", help="What the attacker knows.")] = None,
    given: Annotated[Path | None, typer.Option("--with", metavar="FILE", help="Records that the attacker has.")] = None,
    spend: Annotated[bool, typer.Option("--spend", help="Charge the target's own ledger.")] = False,
    report: Annotated[Path | None, typer.Option("--report", metavar="FILE", help="Write an HTML page.")] = None,
    sparse: Annotated[bool, typer.Option("--sparse", help="Linking: identify a record by a few items.")] = False,
    tables: Annotated[
        Path | None, typer.Option("--tables", metavar="FILE", help="Reconstruction: from published tables.")
    ] = None,
    release: Annotated[
        list[str] | None, typer.Option("--release", metavar="OUT", help="Attack this release of --csv.")
    ] = None,
    hierarchies: Annotated[
        Path | None, typer.Option("--hierarchies", metavar="DIR", help="Hierarchies of the release.")
    ] = None,
    graph: Annotated[bool, typer.Option("--graph", help="Linking: identify people in an unlabelled network.")] = False,
    json: Json = False,
) -> None:
    from sfumato.cli.attack import AttackCommand, run

    words = (name, target, csv, defence, secret, known, given, spend, report, sparse, tables)
    run(AttackCommand(*words, tuple(release or ()), hierarchies, graph), as_json=json)
