"""`sfumato local plan`: weigh the mechanisms, say what to expect, write the task, prove its epsilon."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

from sfumato import pictures
from sfumato.cli.design_common import grid_of, tell
from sfumato.cli.outputs import check_apart
from sfumato.design.plot import bars
from sfumato.errors import InputError
from sfumato.local.plan import CANDIDATES, LocalPlan, plans, weigh
from sfumato.local.programs import program_text
from sfumato.local.rappor import Rappor
from sfumato.local.shuffling import bound_shuffled
from sfumato.local.signing import sign_task
from sfumato.local.sketch import CountMeanSketch, PrefixExtending
from sfumato.local.task import LocalTask, planned_task
from sfumato.server.terminal_output import print_json
from sfumato.types import as_written, show, whole

_LEVELS = [Fraction(i, 4) for i in range(1, 17)]


_MOST = 10**15


def _many(written: str, what: str) -> int:
    """A number of people or reports."""
    number = whole(written, what, 1)
    if number > _MOST:
        raise InputError(f"{what} must be at most 1e15")
    return number


@dataclass(frozen=True, slots=True)
class PlanAsked:
    """The options of the command, as they were typed."""

    users: str
    epsilon: str
    domain: str | None
    values: str | None
    range: str | None
    strings: bool
    mechanism: str | None
    lifetime: str | None
    name: str
    question: str | None
    expires: str | None
    delta: str
    batch: str
    candidates: str | None
    bloom: dict[str, int]
    """Those of `filter`, `hashes` and `cohorts` that were given."""

    @property
    def people(self) -> int:
        """How many report."""
        return _many(self.users, "users")

    @property
    def batch_size(self) -> int:
        """How many reports the collector shuffles together, at least."""
        return _many(self.batch, "batch")

    @property
    def texts(self) -> int:
        """How many texts are looked for."""
        if self.candidates is None:
            return CANDIDATES
        if self.takes != "strings":
            raise InputError("--candidates is for --strings")
        return _many(self.candidates, "candidates")

    @property
    def takes(self) -> str:
        """What is reported on."""
        given = [self.domain or self.values, self.range, self.strings or None]
        if sum(one is not None for one in given) != 1 or (self.domain and self.values):
            raise InputError(
                "what do devices report on?", hint="Give one of --domain, --values, --range and --strings."
            )
        return "values" if given[0] else "numbers" if given[1] else "strings"

    @property
    def named(self) -> tuple[str, ...] | None:
        """The values, if they were named."""
        if self.values is None:
            return None
        named = tuple(value.strip() for value in self.values.split(","))
        if "" in named:
            raise InputError("a value in --values is empty", hint="Write them as a,b,c; a task file can name others.")
        return named

    @property
    def size(self) -> int:
        """How many values there are."""
        if self.named is not None:
            return len(self.named)
        return 2 if self.domain is None else whole(self.domain, "domain", 2)

    def domain_words(self) -> dict[str, Any]:
        """Values or ends, for the task file."""
        if self.range is None:
            return {} if self.named is None else {"values": self.named}
        low, comma, high = self.range.partition(",")
        if not comma:
            raise InputError("a range is written LOW,HIGH")
        return {"low": as_written(low, "low"), "high": as_written(high, "high")}


def run_plan(
    asked: PlanAsked,
    *,
    task: Path | None,
    sign: Path | None,
    prove: bool,
    program: Path | None,
    plot: bool,
    svg: Path | None,
    as_json: bool,
) -> None:
    """The command."""
    if sign is not None and task is None:
        raise InputError("--sign signs the task file", hint="Give --task FILE as well.")
    for option, out, apart in (("--task", task, []), ("--program", program, [task]), ("--svg", svg, [task, program])):
        check_apart(out, option, [sign, *apart])
    best, *others = _weighed(asked, asked.epsilon)
    made = _task(asked, best)
    best, *others = (_in_units(plan, made) for plan in (best, *others))
    if task is not None:
        text = made.to_toml()
        task.write_text(text if sign is None else sign_task(text, sign.read_bytes()), encoding="utf-8")
        sys.stderr.write(f"Wrote {task}\n")
    source = program_text(best.encoder)
    if program is not None:
        program.write_text(source, encoding="utf-8")
    verdict = _proved(source) if prove else None
    document = _document(asked, best, others, made) | ({} if verdict is None else {"proof": verdict.to_dict()})
    if as_json:
        print_json(document)
    else:
        _show(asked, document, verdict)
    if plot:
        every = [best, *others]
        tell(["", *bars([plan.encoder.name for plan in every], [plan.error for plan in every])])
    if svg is not None:
        svg.write_text(_picture(asked), encoding="utf-8")
    if verdict is not None and verdict.exit_code:
        sys.exit(verdict.exit_code)


def _weighed(asked: PlanAsked, epsilon: object, only: str | None = None) -> list[LocalPlan]:
    takes, name, texts = asked.takes, only or asked.mechanism, asked.texts
    if asked.bloom and (name != "rappor" or takes != "strings"):
        raise InputError(
            f"--{next(iter(asked.bloom))} is for RAPPOR", hint="Give --strings and --mechanism rappor as well."
        )
    if name == "rappor" and takes == "strings" and asked.bloom:
        return [weigh(Rappor.planned(epsilon, asked.lifetime, **asked.bloom), asked.people, texts)]
    words: dict[str, Any] = {"size": asked.size, "only": name, "candidates": texts, "lifetime": asked.lifetime}
    return plans(takes, asked.people, epsilon, **words)


def _task(asked: PlanAsked, best: LocalPlan) -> LocalTask:
    try:
        day = None if asked.expires is None else date.fromisoformat(asked.expires)
    except ValueError:
        raise InputError("--expires must be a day like 2027-01-31") from None
    memoised = isinstance(best.encoder, Rappor)
    lifetime = None if memoised else asked.lifetime
    words: dict[str, Any] = {"question": asked.question, "expires": day, "lifetime": lifetime, **asked.domain_words()}
    return planned_task(asked.name, best.encoder, minimum_batch=asked.batch_size, **words)


def _in_units(plan: LocalPlan, made: LocalTask) -> LocalPlan:
    """Errors of a mean in the units of its range, as `decode` shows them."""
    if made.low is None or made.high is None:
        return plan
    width = float(made.high - made.low)
    return replace(plan, error=width * plan.error, detectable=width * plan.detectable)


def _document(asked: PlanAsked, best: LocalPlan, others: list[LocalPlan], made: LocalTask) -> dict[str, Any]:
    return {
        **best.to_dict(),
        "lifetime": float(made.lifetime),
        "reports": made.allowed,
        "variant": _variant(best.encoder),
        "candidates": asked.texts if _looks_up(best.encoder) else None,
        "minimum_batch": made.minimum_batch,
        "shuffled": _shuffled(asked, made) if made.single else None,
        "alternatives": [plan.to_dict() for plan in others],
    }


def _shuffled(asked: PlanAsked, made: LocalTask) -> dict[str, float]:
    """What shuffling adds. The collector shuffles each batch by itself; `epsilon` is what the smallest batch gives."""
    batch = min(made.minimum_batch, asked.people)
    together = bound_shuffled(made.epsilon, asked.people, asked.delta)
    each = together if batch == asked.people else bound_shuffled(made.epsilon, batch, asked.delta)
    return {"epsilon": each, "all_at_once": together, "delta": float(as_written(asked.delta, "delta"))}


def _looks_up(encoder: Any) -> bool:
    """Whether the decoder looks for candidates that are listed."""
    return isinstance(encoder, Rappor | CountMeanSketch)


def _variant(encoder: Any) -> str | None:
    """What a device reports each time, for mechanisms of which there are two kinds or that cut texts."""
    if isinstance(encoder, PrefixExtending):
        return f"texts are cut to their first {encoder.letters} bytes"
    if not isinstance(encoder, Rappor):
        return None
    if encoder.one_time:
        return (
            "one-time RAPPOR: a device sends its permanent copy itself (--lifetime E adds fresh noise to each report)"
        )
    return (
        f"permanent and instantaneous RAPPOR: each report is a fresh noisy copy of the permanent one; all reports of a "
        f"device cost epsilon {float(encoder.permanent):.6g}"
    )


def _proved(source: str) -> Any:
    from sfumato.verify.code import program, require_solvers

    require_solvers()
    return program(source).verify()


def _show(asked: PlanAsked, document: dict[str, Any], verdict: Any) -> None:
    error, seen = _number(document["error_95"]), _number(document["detectable"])
    shuffled = document["shuffled"]
    many = "byte" if document["bytes"] == 1 else "bytes"
    tell([f"{document['mechanism']}: epsilon {document['epsilon']:.6g} and {document['bytes']} {many} a report"])
    if document["variant"] is not None:
        tell([document["variant"]])
    what = "shift of the mean" if asked.takes == "numbers" else "share"
    listed = document["candidates"]
    reports = f"{asked.people:,} reports" + ("" if listed is None else f" and {listed:,} candidates")
    tell([f"with {reports}: ±{error} at 95 % {_whose(asked, document)}; the smallest detectable {what} is {seen}"])
    if shuffled is None:
        tell(["one person may send several reports: the effect of shuffling is not bounded"])
    else:
        batch = min(document["minimum_batch"], asked.people)
        each, together = (_number(shuffled[key]) for key in ("epsilon", "all_at_once"))
        tell([f"shuffled by the collector in batches of {batch:,}: epsilon {each} at delta {asked.delta}"])
        tell([f"shuffled all at once: epsilon {together}"] if batch < asked.people else [])
    if document["alternatives"]:
        rows = [document, *document["alternatives"]]
        tell([""])
        heads = ("mechanism", "epsilon", "± at 95 %", "seen from", "bytes")
        grid_of(heads, [_row(row) for row in rows])
    if verdict is not None:
        tell(["", f"verifier: {verdict.verdict}, claim {verdict.claim}"])


def _whose(asked: PlanAsked, document: dict[str, Any]) -> str:
    """What the error is stated for: where reports are mostly true, a larger share has a wider interval."""
    if asked.takes == "numbers":
        return "if answers are spread evenly"
    share = document["error_share"]
    return "for a rare text" if share is None else f"for a share of {_number(share)}"


def _row(row: dict[str, Any]) -> list[str]:
    numbers = [f"{row['epsilon']:.6g}", _number(row["error_95"]), _number(row["detectable"])]
    return [row["mechanism"], *numbers, str(row["bytes"])]


def _number(value: float) -> str:
    return f"{value:.3g}"


def _picture(asked: PlanAsked) -> str:
    """The errors of up to five mechanisms over epsilon."""
    names = [plan.encoder.name for plan in _weighed(asked, asked.epsilon)][:5]
    lines = [(name, [(float(e), _weighed(asked, e, name)[0].error) for e in _LEVELS]) for name in names]
    title = f"Expected error with {show(asked.people)} reports"
    return pictures.curves(lines, title=title, axis="epsilon of one report", measure="± at 95 %")
