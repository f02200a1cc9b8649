"""The command line: `sfumato COMMAND`. One file per command group, imported when it is called.

People get plain English on stdout; programs ask for `--json` and get one document there. Errors go to stderr with
their five fields. Exit codes: 0 done, 1 a checked claim is false, 2 command line, files or policy, 3 SQL that is not
answered because of its text, 4 the budget does not allow it, 5 engine or ledger unavailable, 6 undecided.
"""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sfumato.doors.cli.drawing import design
from sfumato.doors.cli.say import stop
from sfumato.doors.cli.shape import Json
from sfumato.doors.cli.shape import group as _group
from sfumato.doors.cli.shape import help_of as _help
from sfumato.errors import InputError, SfumatoError

ABOUT = "SQL over private data: noisy answers with exact laws, exact prices and a budget that holds."
app = _group("sfumato", ABOUT, alone=False)
budget = _group(
    "budget",
    _help(
        "What may be spent, what was, and what is left.",
        "sfumato budget --analyst ana -p sfumato-demo/sfumato.toml",
    ),
    alone=True,
)
ledger = _group("ledger", "The record of all debits: look, verify, copy, stop and start.", alone=False)
app.add_typer(budget, name="budget")
app.add_typer(ledger, name="ledger")
user = _group("user", "Who may come in through the doors on ports.", alone=False)
app.add_typer(user, name="user")
app.add_typer(design, name="design")


class Noise(StrEnum):
    """The laws that may be asked for."""

    GEOMETRIC = "geometric"
    GAUSSIAN = "gaussian"


class Role(StrEnum):
    """What somebody may do."""

    ANALYST = "analyst"
    OWNER = "owner"
    AUDITOR = "auditor"


Sql = Annotated[str, typer.Argument(metavar="SQL", help="The question, in PostgreSQL's dialect.")]
PolicyFile = Annotated[Path, typer.Option("-p", "--policy", metavar="POLICY", help="The policy file.")]
Analyst = Annotated[str, typer.Option("--analyst", metavar="NAME", help="Who asks; a share is hers to spend.")]
Whose = Annotated[str | None, typer.Option("--analyst", metavar="NAME", help="Whose budget (default: everybody's).")]
Epsilon = Annotated[str | None, typer.Option("--epsilon", metavar="E", help="What to spend (default: query_epsilon).")]
Within = Annotated[str | None, typer.Option("--within", metavar="W", help="Spend what makes every number ± W.")]
Confidence = Annotated[str, typer.Option("--confidence", metavar="C", help="How sure the intervals are.")]
Rows = Annotated[int | None, typer.Option("--rows-per-unit", metavar="C", help="Let fewer rows of a person count.")]
Law = Annotated[
    Noise | None, typer.Option("--noise", help="The law of the noise (default: geometric, or gaussian under zcdp).")
]
HERE = Path("sfumato.toml")


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"sfumato {version('sfumato')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """SQL over private data: noisy answers with exact laws, exact prices and a budget that holds."""


@app.command(
    "demo",
    help=_help(
        "Ask a made-up clinic four questions, in SQL; then open its doors, until Ctrl-C.\n\n"
        "Shows noisy answers, how far off they may be, what each of them costs and what is left of the "
        "budget; then one question again, which is free, and one that is refused. The doors stay open on ports of this "
        "machine, with lines to copy. DIR is kept between runs; passwords are new at each start.",
        "sfumato demo --fresh --check",
    ),
)
def _demo(
    directory: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Where the sample clinic is kept (default ./sfumato-demo).")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over: files, ledger and budget.")] = False,
    json: Json = False,
    check: Annotated[
        bool,
        typer.Option("--check", help="Ask through every door, and stop; without DIR in a temporary one."),
    ] = False,
) -> None:
    from sfumato.doors.cli.demo import run

    run(directory, fresh=fresh, as_json=json, check=check)


@app.command(
    "init",
    help=_help(
        "Draft a policy from the names and types of columns; no row is read.\n\n"
        "DATA are .parquet, .csv, .tsv or .jsonl files, patterns of them in quotes, or one .duckdb database. "
        'What only you can decide is marked "?" in the draft; a file that is there already is not written over.',
        "sfumato init sfumato-demo/patient.parquet sfumato-demo/visit.csv --unit patient.ssn -o draft.toml",
    ),
)
def _init(
    data: Annotated[list[str], typer.Argument(metavar="DATA...", help="Where the rows are.")],
    unit: Annotated[
        str | None,
        typer.Option("--unit", metavar="TABLE.COLUMN", help="Who the person is (default: asks on a terminal)."),
    ] = None,
    output: Annotated[Path, typer.Option("-o", metavar="FILE", help="Where to write.")] = HERE,
) -> None:
    from sfumato.doors.cli.owner import run_init

    run_init(data, unit, output)


@app.command(
    "check",
    help=_help(
        "Check a policy against its data, and admit the data version.\n\n"
        "Names every mistake with its line; reads the rows once and tells you, and nobody else, how far they keep to "
        "what is declared. Exit code 2 if the policy cannot be served.",
        "sfumato check -p sfumato-demo/sfumato.toml",
    ),
)
def _check(policy: PolicyFile = HERE, json: Json = False) -> None:
    from sfumato.doors.cli.owner import run_check

    run_check(policy, as_json=json)


@app.command(
    "prepare",
    help=_help(
        "Store the rows clustered by person, so that each question takes less work.\n\n"
        "Answers stay the same. What is stored is used for this policy, data version and state of the files alone: "
        "prepare again when one of them has changed.",
        "sfumato prepare -p sfumato-demo/sfumato.toml",
    ),
)
def _prepare(policy: PolicyFile = HERE, json: Json = False) -> None:
    from sfumato.doors.cli.owner import run_prepare

    run_prepare(policy, as_json=json)


@app.command(
    "query",
    help=_help(
        "Ask a question, and pay for it. Asked again, it is free: the stored answer comes back.",
        'sfumato query "SELECT disease, COUNT(*) FROM patient GROUP BY disease" -p sfumato-demo/sfumato.toml',
    ),
)
def _query(
    sql: Sql,
    *,
    policy: PolicyFile = HERE,
    analyst: Analyst = "owner",
    epsilon: Epsilon = None,
    within: Within = None,
    confidence: Confidence = "0.95",
    rows_per_unit: Rows = None,
    noise: Law = None,
    json: Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="All rows as CSV on stdout, with the ends of intervals.")] = False,
) -> None:
    if json and csv:
        raise InputError("give --json or --csv, not both")
    from sfumato.doors.cli.ask import Asked, query

    asked = Asked(sql, policy, analyst, epsilon, within, confidence, rows_per_unit, noise and noise.value)
    query(asked, as_json=json, as_csv=csv)


@app.command(
    "explain",
    help=_help(
        "What a question would cost and how far off its answer may be: free, and no row is read.",
        'sfumato explain "SELECT SUM(cost) FROM visit" --group 3 -p sfumato-demo/sfumato.toml',
    ),
)
def _explain(
    sql: Sql,
    *,
    policy: PolicyFile = HERE,
    analyst: Analyst = "owner",
    epsilon: Epsilon = None,
    within: Within = None,
    confidence: Confidence = "0.95",
    rows_per_unit: Rows = None,
    noise: Law = None,
    group: Annotated[
        int | None, typer.Option("--group", metavar="K", help="Also what it costs K people together.")
    ] = None,
    json: Json = False,
) -> None:
    from sfumato.doors.cli.ask import Asked, explain

    asked = Asked(sql, policy, analyst, epsilon, within, confidence, rows_per_unit, noise and noise.value)
    explain(asked, people=group, as_json=json)


@budget.callback()
def _budget(context: typer.Context, policy: PolicyFile = HERE, analyst: Whose = None, json: Json = False) -> None:
    context.obj = (policy, analyst, json)
    if context.invoked_subcommand is None:
        from sfumato.doors.cli.money import show_budget

        show_budget(policy, analyst, as_json=json)


@budget.command(
    "split",
    help=_help(
        "The largest equal epsilon for N more questions, under the policy's composition: exact.",
        "sfumato budget split 40 -p sfumato-demo/sfumato.toml",
    ),
)
def _split(
    context: typer.Context,
    questions: Annotated[int, typer.Argument(metavar="N", help="How many questions.")],
    policy: Annotated[Path | None, typer.Option("-p", "--policy", metavar="POLICY", help="The policy file.")] = None,
    analyst: Whose = None,
    json: Json = False,
) -> None:
    from sfumato.doors.cli.money import split

    above: tuple[Path, str | None, bool] = context.obj
    split(policy or above[0], analyst or above[1], questions, as_json=json or above[2])


@ledger.command(
    "show",
    help=_help(
        "Every entry of the chain: debits, answers, failures, changes of policy.",
        "sfumato ledger show -p sfumato-demo/sfumato.toml",
    ),
)
def _ledger_show(
    policy: PolicyFile = HERE,
    json: Json = False,
    follow: Annotated[bool, typer.Option("--follow", help="Then go on with what is written, until Ctrl-C.")] = False,
) -> None:
    from sfumato.doors.cli.book import follow_entries, show_entries

    if follow:
        follow_entries(policy, as_json=json)
    else:
        show_entries(policy, as_json=json)


@ledger.command(
    "verify",
    help=_help(
        "Recompute the whole chain; exit code 1 if anything was edited, removed or moved.",
        "sfumato ledger verify -p sfumato-demo/sfumato.toml",
    ),
)
def _ledger_verify(policy: PolicyFile = HERE, json: Json = False) -> None:
    from sfumato.doors.cli.book import verify

    verify(policy, as_json=json)


Target = Annotated[Path, typer.Argument(metavar="FILE", help="Where to write.")]


@ledger.command(
    "export",
    help=_help(
        "The chain as JSON lines, for an auditor. It holds the text of every question.",
        "sfumato ledger export clinic.jsonl -p sfumato-demo/sfumato.toml",
    ),
)
def _ledger_export(file: Target, policy: PolicyFile = HERE) -> None:
    from sfumato.doors.cli.book import export

    export(policy, file)


@ledger.command(
    "backup",
    help=_help(
        "A whole copy, also while questions are answered. Never copy the ledger's file by itself.",
        "sfumato ledger backup clinic.backup -p sfumato-demo/sfumato.toml",
    ),
)
def _ledger_backup(file: Target, policy: PolicyFile = HERE) -> None:
    from sfumato.doors.cli.book import backup

    backup(policy, file)


@ledger.command(
    "freeze",
    help=_help(
        "Answer no question from now on, in any process.",
        "sfumato ledger freeze -p sfumato-demo/sfumato.toml",
    ),
)
def _ledger_freeze(policy: PolicyFile = HERE) -> None:
    from sfumato.doors.cli.book import change

    change(policy, "freeze")


@ledger.command(
    "thaw",
    help=_help(
        "Answer questions again.",
        "sfumato ledger thaw -p sfumato-demo/sfumato.toml",
    ),
)
def _ledger_thaw(policy: PolicyFile = HERE) -> None:
    from sfumato.doors.cli.book import change

    change(policy, "thaw")


@ledger.command(
    "reopen",
    help=_help(
        "The owner has looked at the failures: data versions that they closed are open again.",
        "sfumato ledger reopen -p sfumato-demo/sfumato.toml",
    ),
)
def _ledger_reopen(policy: PolicyFile = HERE) -> None:
    from sfumato.doors.cli.book import change

    change(policy, "reopen")


@app.command(
    "serve",
    help=_help(
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


@app.command(
    "reload",
    help=_help(
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
    help=_help(
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
    "list", help=_help("Everybody who may come in, and the tokens.", "sfumato user list -p sfumato-demo/sfumato.toml")
)
def _user_list(policy: PolicyFile = HERE, json: Json = False) -> None:
    from sfumato.doors.cli.people import show

    show(policy, as_json=json)


@user.command(
    "remove",
    help=_help(
        "Let somebody in no more. What was spent stays in the ledger.",
        "sfumato user remove ana -p sfumato-demo/sfumato.toml",
    ),
)
def _user_remove(name: Name, policy: PolicyFile = HERE) -> None:
    from sfumato.doors.cli.people import remove

    remove(policy, name)


@app.command(
    "verify",
    help=_help(
        "Prove the privacy claim of a small program, or refute it with two inputs and an event.\n\n"
        "PROGRAM is a .sfp file, or FILE.py:FUNCTION with a function that sfumato.verify.program decorates. Exit code "
        "0 proved, 1 refuted, 6 undecided. --check FILE checks a certificate from the ground up instead. The owner may "
        "release what is proved, run exactly on a private column, for what the claim says.",
        "sfumato verify sfumato-demo/noisy_count.sfp --explain",
    ),
)
def _verify(
    program: Annotated[str | None, typer.Argument(metavar="PROGRAM", help="What to verify.")] = None,
    *,
    explain: Annotated[bool, typer.Option("--explain", help="Show the proof as a table.")] = False,
    tight: Annotated[bool, typer.Option("--tight", help="Look for the least multiple that holds.")] = False,
    certificate: Annotated[
        Path | None, typer.Option("--certificate", metavar="FILE", help="Write what shows the verdict.")
    ] = None,
    check: Annotated[Path | None, typer.Option("--check", metavar="FILE", help="Check a certificate.")] = None,
    release: Annotated[
        str | None, typer.Option("--release", metavar="TABLE.COLUMN", help="If it is proved, run it on this: spends.")
    ] = None,
    epsilon: Annotated[str | None, typer.Option("--epsilon", metavar="E", help="eps of the release.")] = None,
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
    from sfumato.doors.cli import prove

    if check is not None:
        prove.check(check, as_json=json)
    elif program is not None and release is not None:
        prove.release(program, release, epsilon, given or [], policy=policy, as_json=json)
    elif program is not None:
        prove.verify(program, explain=explain, tight=tight, target=certificate, as_json=json)


@user.command(
    "token",
    help=_help(
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


@app.command(
    "audit",
    help=_help(
        "Look for a proof that a claim about privacy is false, by running what it is about many times.\n\n"
        "WHAT is MODULE:FUNCTION (a module's name, or a .py file), or mechanism:NAME; or --target audits a whole "
        "gateway with planted persons, on a ledger of its own. Exit code 1 if the claim is refuted; otherwise nothing "
        "is proved.",
        "sfumato audit mechanism:Geometric --claim 1 --samples 20000",
    ),
)
def _audit(
    what: Annotated[str | None, typer.Argument(metavar="WHAT", help="MODULE:FUNCTION or mechanism:NAME.")] = None,
    *,
    claim: Annotated[str, typer.Option("--claim", metavar="E[,D]", help="The epsilon, and delta, that is claimed.")],
    target: Annotated[Path | None, typer.Option("--target", metavar="POLICY", help="Audit this gateway.")] = None,
    adjacent: Annotated[
        str | None,
        typer.Option("--adjacent", metavar="WORD", help="number, one, all, inc, dec, addremove or any."),
    ] = None,
    samples: Annotated[
        int, typer.Option("--samples", metavar="N", help="Runs of each side that certify; more where they look odd.")
    ] = 100_000,
    json: Json = False,
) -> None:
    from sfumato.doors.cli.audit import run

    run(what, target, claim, adjacent, samples, as_json=json)


@app.command(
    "attack",
    help=_help(
        "Run the red team: would the data have been safe? Before and after, with numbers.\n\n"
        "NAME is one attack or `all`. --csv is attacked behind each --defence: raw, suppress, overlap, round, "
        "constant, bounded, sticky, kanon, laplace, dp (the gateway, total epsilon 1). "
        "A --target is attacked on a copy of its ledger. Exit code 1 if an attack succeeded against the target, dp, "
        "or the only defence named.",
        "sfumato attack differencing --target sfumato-demo/sfumato.toml --secret disease",
    ),
)
def _attack(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Which attack, or all.")],
    *,
    target: Annotated[str | None, typer.Option("--target", metavar="POLICY", help="Attack this gateway.")] = None,
    csv: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Attack this table.")] = None,
    defence: Annotated[str, typer.Option("--defence", metavar="LIST", help="Behind these.")] = "raw,suppress,dp",
    secret: Annotated[str | None, typer.Option("--secret", metavar="COLUMN[=VALUE]", help="Default: the last.")] = None,
    known: Annotated[str | None, typer.Option("--known", metavar="A,B", help="What the attacker knows.")] = None,
    given: Annotated[Path | None, typer.Option("--with", metavar="FILE", help="The attacker's own list.")] = None,
    spend: Annotated[bool, typer.Option("--spend", help="Write to the target's own ledger.")] = False,
    report: Annotated[Path | None, typer.Option("--report", metavar="FILE", help="Write an HTML page.")] = None,
    sparse: Annotated[bool, typer.Option("--sparse", help="Linking: a few items name a record.")] = False,
    tables: Annotated[
        Path | None, typer.Option("--tables", metavar="FILE", help="Reconstruction: people from published tables.")
    ] = None,
    json: Json = False,
) -> None:
    from sfumato.doors.cli.attack import Wanted, run

    run(Wanted(name, target, csv, defence, secret, known, given, spend, report, sparse, tables), as_json=json)


def main() -> None:
    """The console script: every error becomes five fields on stderr and an exit code."""
    try:
        app()
    except SfumatoError as error:
        stop(error)
    except BrokenPipeError:  # the reader of our output left, for example `head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        where = f' "{error.filename}"' if error.filename else ""
        stop(InputError(f"cannot use file{where}: {reason}", sqlstate="58P01"))
