"""`sfumato audit`: try to refute a claim about a function, a mechanism or the whole gateway.

Comes in: what to audit and the claim. Goes out: a verdict in one line, and what it rests on. Exit code 0 where nothing
was found, 1 where the claim is refuted.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from sfumato.audit import AuditVerdict, Subject, audit, of_function, of_mechanism
from sfumato.errors import InputError
from sfumato.server.terminal_output import console, print_json, progress
from sfumato.types import as_written, positive, show

MECHANISM, TASK = "mechanism:", "task:"


def run(
    what: str | None, target: Path | None, claim: str, adjacent: str | None, samples: int, *, as_json: bool
) -> None:
    """Audit, say it, and exit with 1 if the claim is false."""
    epsilon, delta = _claim(claim)
    if (what is None) == (target is None):
        raise InputError("name a function, a mechanism or a --target", hint="For example mechanism:Geometric.")
    if target is not None:
        from sfumato.attacks.canary import audit_gateway

        with progress() as say:
            say("auditing the gateway with planted people")
            verdict = audit_gateway(target, epsilon, delta)
    else:
        assert what is not None
        with progress() as say:
            say(f"auditing {what}")
            verdict = audit(_subject(what, epsilon, delta, adjacent), epsilon, delta, samples)
    if as_json:
        print_json(verdict.to_dict())
    else:
        _say(verdict)
    if verdict.refuted:
        sys.exit(1)


def _claim(text: str) -> tuple[Fraction, Fraction]:
    first, comma, second = text.partition(",")
    epsilon = positive(first, "the claimed epsilon")
    delta = as_written(second, "the claimed delta") if comma else Fraction(0)
    if not 0 <= delta < 1:
        raise InputError(f"the claimed delta must be at least 0 and below 1, but is {show(delta)}")
    return epsilon, delta


def _subject(what: str, epsilon: Fraction, delta: Fraction, adjacent: str | None) -> Subject:
    if what.startswith(MECHANISM):
        if adjacent is not None:
            raise InputError("a mechanism defines its own neighbours", hint="Leave --adjacent out.")
        return of_mechanism(what.removeprefix(MECHANISM), epsilon, delta)
    if what.startswith(TASK):
        from sfumato.cli.local_files import load_task
        from sfumato.local.audited import of_task

        if adjacent is not None:
            raise InputError("all inputs of a task are neighbours", hint="Leave --adjacent out.")
        return of_task(load_task(Path(what.removeprefix(TASK))))
    return of_function(_load(what), adjacent, what)


def _load(what: str) -> Callable[..., Any]:
    """MODULE:FUNCTION, the module by its name or by its file."""
    place, colon, name = what.rpartition(":")
    if not colon or not place or not name:
        raise InputError(f'"{what}" names no function', hint="Write MODULE:FUNCTION, mechanism:NAME or task:FILE.")
    try:
        module = _module(place)
    except ImportError as error:
        raise InputError(f'module "{place}" cannot be imported', detail=str(error)) from None
    found = getattr(module, name, None)
    if not callable(found):
        raise InputError(f'module "{place}" has no function "{name}"')
    return found  # type: ignore[no-any-return]


def _module(place: str) -> Any:
    if not place.endswith(".py"):
        sys.path.insert(0, str(Path.cwd()))
        return importlib.import_module(place)
    spec = importlib.util.spec_from_file_location(Path(place).stem, place)
    if spec is None or spec.loader is None or not Path(place).is_file():
        raise InputError(f'there is no file "{place}"')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _say(verdict: AuditVerdict) -> None:
    out = console()
    out.print(f"{verdict.name}: {verdict.words}")
    sure = f"{show(100 * verdict.confidence)} %"
    out.print(f"  lower bound at {sure}: epsilon {verdict.epsilon:.4f}, from {verdict.runs:,} runs")
    if verdict.sizes < verdict.epsilon:
        out.print(f"  ignoring how numbers are stored: epsilon {verdict.sizes:.4f}")
    if verdict.pair is not None:
        out.print(f"  neighbours: {verdict.pair[0]!r} and {verdict.pair[1]!r}")
    out.print(f"  event: {verdict.event}")
