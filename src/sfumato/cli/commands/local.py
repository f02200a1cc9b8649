"""`sfumato local …`: privacy before collection, from a plan to an estimate."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.commands.common import HERE, Json, PolicyFile, group, help_of

local = group(
    "local",
    "Local privacy: devices add the noise.\n\n"
    "The collector sees noisy reports only. Plan a task, encode values as devices would, and decode reports into "
    "estimates with intervals.",
)
TaskFile = Annotated[Path, typer.Option("--task", metavar="TASK", help="The task file.")]
Candidates = Annotated[
    Path | None, typer.Option("--candidates", metavar="FILE", help="Texts to look for, one per line.")
]


class Population(StrEnum):
    """Of whom an interval speaks."""

    FIXED = "fixed"
    SAMPLED = "sampled"


class Post(StrEnum):
    """What is done to shares after they were estimated."""

    NONE = "none"
    NONNEGATIVE = "nonnegative"
    SIMPLEX = "simplex"


class Correction(StrEnum):
    """How p-values of many candidates are adjusted."""

    HOLM = "holm"
    BH = "bh"


@local.command(
    "plan",
    help=help_of(
        "Choose a mechanism and write a task file.\n\n"
        "--domain or --values is for one value of a list, --range for a number, --strings for any text. "
        "The error is half of the 95 % interval of `decode`: for a value that one person in D has, for a rare text, or "
        "for answers that are spread evenly over the range. `detectable` is the smallest share that can be "
        "distinguished from zero in four of five surveys, among all values or texts together.",
        "sfumato local plan --values north,east,south,west --users 4000 --epsilon 1 --task area.toml",
    ),
)
def _plan(
    *,
    users: Annotated[str, typer.Option("--users", metavar="N", help="How many people report.")] = "1e6",
    epsilon: Annotated[str, typer.Option("--epsilon", metavar="E", help='Epsilon of one report: 1, or "ln 3".')] = "1",
    domain: Annotated[str | None, typer.Option("--domain", metavar="D", help="Number of possible values.")] = None,
    values: Annotated[str | None, typer.Option("--values", metavar="LIST", help="The possible values: a,b,c.")] = None,
    range_: Annotated[str | None, typer.Option("--range", metavar="LOW,HIGH", help="Numbers in this range.")] = None,
    strings: Annotated[bool, typer.Option("--strings", help="Any text.")] = False,
    mechanism: Annotated[str | None, typer.Option("--mechanism", metavar="NAME", help="Use this mechanism.")] = None,
    lifetime: Annotated[
        str | None,
        typer.Option("--lifetime", metavar="E", help="Lifetime budget of a device; for RAPPOR, for all reports."),
    ] = None,
    task: Annotated[Path | None, typer.Option("--task", metavar="FILE", help="Write the task file.")] = None,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="The task's name.")] = "survey",
    question: Annotated[
        str | None, typer.Option("--question", metavar="TEXT", help="The question to ask people.")
    ] = None,
    expires: Annotated[str | None, typer.Option("--expires", metavar="DAY", help="The last day, in UTC.")] = None,
    sign: Annotated[
        Path | None, typer.Option("--sign", metavar="KEY", help="Sign it: a private P-256 key (ECDSA), in PEM.")
    ] = None,
    prove: Annotated[bool, typer.Option("--prove", help="Prove its epsilon with the verifier.")] = False,
    program: Annotated[Path | None, typer.Option("--program", metavar="FILE", help="Write the program.")] = None,
    delta: Annotated[str, typer.Option("--delta", metavar="D", help="Delta of the epsilon after shuffling.")] = "1e-6",
    batch: Annotated[
        str, typer.Option("--batch", metavar="N", help="How many reports the collector shuffles together, at least.")
    ] = "100",
    candidates: Annotated[
        str | None,
        typer.Option("--candidates", metavar="N", help="How many texts you will look for (default: 1000)."),
    ] = None,
    filter_: Annotated[
        int | None, typer.Option("--filter", metavar="BITS", help="RAPPOR: bits of the Bloom filter (default: 64).")
    ] = None,
    hashes: Annotated[
        int | None, typer.Option("--hashes", metavar="N", help="RAPPOR: hash functions of the filter (default: 2).")
    ] = None,
    cohorts: Annotated[
        int | None, typer.Option("--cohorts", metavar="N", help="RAPPOR: number of cohorts (default: 16).")
    ] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw the errors in the terminal.")] = False,
    svg: Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Draw the errors over epsilon.")] = None,
    json: Json = False,
) -> None:
    from sfumato.cli.local_plan import PlanAsked, run_plan

    given = {"filter": filter_, "hashes": hashes, "cohorts": cohorts}
    bloom = {key: value for key, value in given.items() if value is not None}
    words = (domain, values, range_, strings, mechanism, lifetime, name, question, expires, delta)
    asked = PlanAsked(users, epsilon, *words, batch, candidates, bloom)
    run_plan(asked, task=task, sign=sign, prove=prove, program=program, plot=plot, svg=svg, as_json=json)


@local.command(
    "check",
    help=help_of(
        "Check a task file before you take part in it.\n\n"
        "The epsilon is recomputed from the thresholds that devices use. --prove lets the verifier prove it, and for "
        "RAPPOR also the epsilon of all reports of a device.",
        "sfumato local check area.toml --prove",
    ),
)
def _check(
    task: Annotated[Path, typer.Argument(metavar="TASK", help="The task file.")],
    *,
    key: Annotated[
        Path | None, typer.Option("--key", metavar="KEY", help="Accept only a task signed with this key.")
    ] = None,
    prove: Annotated[bool, typer.Option("--prove", help="Prove the epsilon with the verifier.")] = False,
    as_json: Json = False,
) -> None:
    from sfumato.cli.local_check import run_check

    run_check(task, key, prove=prove, as_json=as_json)


@local.command(
    "encode",
    help=help_of(
        "Encode a column of a file, one report per row.\n\n"
        "The reports are written as a Parquet file with one column, `report`, in the order of the rows.",
        "sfumato local encode sfumato-demo/patient.parquet --column area --task area.toml -o reports.parquet",
    ),
)
def _encode(
    source: Annotated[Path, typer.Argument(metavar="IN", help="Parquet or CSV.")],
    *,
    task: TaskFile,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="OUT", help="The reports, as Parquet.")],
    column: Annotated[
        str | None, typer.Option("--column", metavar="NAME", help="The column (default: the first).")
    ] = None,
    key: Annotated[
        Path | None, typer.Option("--key", metavar="KEY", help="Accept only tasks signed with this key.")
    ] = None,
) -> None:
    from sfumato.cli.local_files import run_encode

    run_encode(source, task, out, column=column, key=key)


@local.command(
    "decode",
    help=help_of(
        "Estimate shares or means from reports.\n\n"
        "REPORTS is a Parquet file with a column `report`, or a directory of a collector. A fixed population is the "
        "people who reported; a sampled one is the population that they were sampled from.",
        "sfumato local decode reports.parquet --task area.toml --population sampled",
    ),
)
def _decode(
    reports: Annotated[Path, typer.Argument(metavar="REPORTS", help="Parquet, or a collector's directory.")],
    *,
    task: TaskFile,
    population: Annotated[
        Population, typer.Option("--population", help="The population that the interval is about.")
    ] = Population.FIXED,
    confidence: Annotated[str, typer.Option("--confidence", metavar="C", help="Confidence of the intervals.")] = "0.95",
    post: Annotated[Post, typer.Option("--post", help="Make shares consistent.")] = Post.NONE,
    candidates: Candidates = None,
    correction: Annotated[
        Correction | None,
        typer.Option("--correction", help="RAPPOR: correction of p-values for many candidates (default: holm)."),
    ] = None,
    fake: Annotated[int, typer.Option("--fake", metavar="M", help="How far M fake reports could move estimates.")] = 0,
    delta: Annotated[
        str | None, typer.Option("--delta", metavar="D", help="Also show epsilon after shuffling, at this delta.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="OUT", help="A public table for a policy: CSV or Parquet.")
    ] = None,
    json: Json = False,
) -> None:
    from sfumato.cli.local_decode import DecodeAsked, run_decode

    method = None if correction is None else correction.value
    asked = DecodeAsked(population.value, confidence, post.value, candidates, method, fake, delta)
    run_decode(reports, task, asked, out=out, as_json=json)


@local.command(
    "collect",
    help=help_of(
        "Collect reports at /api/collect/NAME, or list tasks.",
        "sfumato local collect --task area.toml -p sfumato-demo/sfumato.toml",
    ),
)
def _collect(
    *,
    task: Annotated[
        Path | None, typer.Option("--task", metavar="TASK", help="The task file; without it, list tasks.")
    ] = None,
    policy: PolicyFile = HERE,
    json: Json = False,
) -> None:
    from sfumato.cli.local_decode import run_collect

    run_collect(task, policy, as_json=json)
