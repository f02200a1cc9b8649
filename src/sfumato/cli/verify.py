"""`sfumato verify`: prove or refute the claim of a program; check a certificate.

Comes in: a `.sfp` file, or FILE.py:FUNCTION; or a certificate. Goes out: a verdict. Exit codes: 0 proved (or the
certificate holds), 1 refuted (or it does not), 2 not a program, 6 undecided.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from sfumato.cli.opened_gateway import opened_gateway
from sfumato.cli.outputs import check_apart
from sfumato.errors import ClaimError, InputError, SfumatoError
from sfumato.server.terminal_output import console, print_json, progress, stop
from sfumato.types import show
from sfumato.verify.code import Code, program, require_solvers


def verify(name: str, *, explain: bool, tight: bool, target: Path | None, as_json: bool) -> None:
    """Verify one program."""
    require_solvers()
    check_apart(target, "--certificate", [name, name.rpartition(":")[0] or None])
    code = _load(name)
    from sfumato.verify.explain import explained, summary
    from sfumato.verify.tight import tightest

    with _decided(name, code.source):
        with progress() as say:
            say(f"verifying {name}")
            verdict = code.verify()
        bounds = tightest(code.tree, verdict) if tight else None
    if target is not None and verdict.certificate is not None:
        target.write_text(json.dumps(verdict.certificate, indent=1) + "\n", encoding="utf-8")
    if as_json:
        print_json(verdict.to_dict() | ({"tight": bounds.to_dict()} if bounds else {}))
    else:
        out = console()
        for line in summary(code.tree, verdict) + (explained(code.tree, verdict) if explain else []):
            out.print(line, soft_wrap=True)
        if bounds is not None:
            out.print(bounds.say(), soft_wrap=True)
        if target is not None and verdict.certificate is not None:
            out.print(f"Certificate written to {target}.", soft_wrap=True)
    sys.exit(verdict.exit_code)


def check(path: Path, *, as_json: bool) -> None:
    """Check a certificate from the ground up."""
    require_solvers()
    from sfumato.verify.checking import MALFORMED, faults_of
    from sfumato.verify.kernel.second import second_solver

    try:
        document = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise _no_certificate(path, "it is not JSON that can be read") from error
    kind = document.get("verdict") if isinstance(document, dict) else None
    if kind not in ("PROVED", "REFUTED"):
        raise _no_certificate(path, "expected a document with a verdict")
    exact = kind == "REFUTED" or document.get("kind") == "enumeration" or "listing" in document
    second = None if exact else second_solver()
    with _decided(str(path)):
        faults = faults_of(document, second)
    broken = next((fault for fault in faults if fault.startswith(MALFORMED)), None)
    if broken is not None:
        raise _no_certificate(path, broken)
    if as_json:
        print_json({"holds": not faults, "verdict": kind, "faults": faults, "second_solver": second is not None})
        sys.exit(1 if faults else 0)
    if faults:
        raise ClaimError("the certificate is not valid", detail="; ".join(faults))
    by = "exact chances" if exact else "z3 and cvc5" if second else "z3"
    scope = document.get("scope", "all")
    sizes = "" if scope == "all" else f" for {', '.join(f'{name} <= {most}' for name, most in scope.items())} only"
    console().print(f"The certificate is valid: {kind}{sizes}, checked again by {by}.", soft_wrap=True)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON without a key that stands in it twice: readers would not agree on what it says."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice in one object")
    return found


def release(name: str, column: str, epsilon: str | None, given: list[str], *, policy: Path, as_json: bool) -> None:
    """Verify a program, and run it on a private column if it is proved."""
    require_solvers()
    code = _load(name)
    public = dict(_parameter(text) for text in given)
    with _decided(name, code.source):
        verdict = code.verify()
    if verdict.exit_code or verdict.certificate is None:
        raise ClaimError(
            f"{code.tree.name} is not proved, so it cannot be released",
            hint="Run sfumato verify without --release for details.",
        )
    with opened_gateway(policy) as gate:
        outcome = gate.release(verdict.certificate, column, epsilon, public=public)
    if as_json:
        print_json(outcome.to_dict())
        return
    out, spent = console(), outcome.cost.epsilon
    out.print(f"{code.tree.name}({column}) = {outcome.words}", soft_wrap=True, highlight=False)
    price = "nothing: it was released before" if not spent else f"epsilon {show(spent)}"
    out.print(f"cost {price}; receipt {outcome.receipt}", soft_wrap=True, highlight=False)


@contextmanager
def _decided(name: str, source: str | None = None) -> Iterator[None]:
    """Whatever goes wrong inside becomes one sentence and exit code 2: exit code 1 means that a claim is false."""
    try:
        yield
    except SfumatoError as error:
        from sfumato.verify.advice import plainer

        stop(plainer(error), source)
    except Exception as error:
        why = "is too large to be verified" if isinstance(error, RecursionError | MemoryError) else "cannot be verified"
        raise InputError(
            f'"{name}" {why}', detail=f"The verifier stopped with {type(error).__name__}.", hint="Nothing was decided."
        ) from error


def _no_certificate(path: Path, why: str) -> InputError:
    hint = "Write one with sfumato verify --certificate."
    return InputError(f'"{path}" is not a certificate', detail=f"{why[0].upper()}{why[1:]}.", hint=hint)


def _parameter(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f'"{text}" sets nothing', hint="Write --set NAME=VALUE.")
    return name.strip(), value.strip()


def _load(name: str) -> Code:
    """A program from FILE.sfp, or FILE.py:FUNCTION."""
    path, colon, function = name.rpartition(":")
    if colon and path.endswith(".py"):
        return _from_module(Path(path), function)
    try:
        source = Path(name).read_text(encoding="utf-8")
    except ValueError as error:
        raise InputError(f'"{name}" is not a text file', hint="A program is a text in UTF-8.") from error
    with _decided(name, source):
        return program(source)


def _from_module(path: Path, function: str) -> Code:
    if not path.exists():
        raise InputError(f'cannot use file "{path}": no such file', sqlstate="58P01")
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise InputError(f'"{path}" is not a Python file')
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except SfumatoError:
        raise
    except Exception as error:
        detail = f"{type(error).__name__}: {error}"
        raise InputError(f'"{path}" cannot be imported', detail=detail) from error
    found = getattr(module, function, None)
    if not isinstance(found, Code):
        raise InputError(f'"{function}" is not a program', hint="Decorate it with sfumato.verify.program.")
    return found
