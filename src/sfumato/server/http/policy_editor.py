"""The policy editor: the policy as text, its mistakes, what a change would change; and drafts of new policies.

Comes in: the policy that is served, and texts that an owner wrote in a browser. Goes out: documents, and files beside
the policy. Nothing here reads a row, and no path leads out of the policy's folder unless the policy that is served
names it already: whoever has an owner's password in a browser does not have her whole machine.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sfumato.errors import InputError, PolicyError
from sfumato.gateway import Gateway
from sfumato.gateway.rounding import many
from sfumato.owner import schema
from sfumato.owner.draft import draft, look, person_of
from sfumato.owner.form import change, form_of
from sfumato.owner.policy_mistakes import read_all
from sfumato.owner.source_checks import against
from sfumato.owner.unit_columns import candidates
from sfumato.owner.weakening import Weakening, other_changes, weakenings
from sfumato.policy import Policy, parse, units_of
from sfumato.policy.positions import Marks
from sfumato.policy.records import CATALOG, FORMATS

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,60}\.toml")
_MOST = 200


def shown(gate: Gateway) -> dict[str, Any]:
    """The text of the policy file, and a mark of it, which a change has to name."""
    text = _file(gate).read_text(encoding="utf-8-sig")
    return {"name": _file(gate).name, "text": text, "mark": _mark(text)}


def judged(gate: Gateway, text: str) -> dict[str, Any]:
    """All that is wrong with a text, and how it differs from the policy file."""
    old = _file(gate).read_text(encoding="utf-8-sig")
    policy, problems = _read(gate, text)
    lines = difflib.unified_diff(old.splitlines(), text.splitlines(), "now", "then", lineterm="", n=2)
    return {
        "problems": [_told(problem, text) for problem in problems],
        "diff": list(lines)[2:],
        "mark": _mark(old),
        "weaker": [] if policy is None else _said(weakenings(gate.policy, policy)),
        "also": [] if policy is None else _said(other_changes(gate.policy, policy)),
        "form": form_of(text, policy or _parsed(text, _file(gate))),
    }


def _said(changes: list[Weakening]) -> list[dict[str, str]]:
    return [{"what": one.what, "words": one.words} for one in changes]


def _parsed(text: str, place: Path) -> Policy | None:
    """The policy of a text that is one, also where its source lacks something: for the defaults of the form."""
    try:
        return parse(text, place)
    except PolicyError:
        return None


def changed(text: str, path: list[str], value: object) -> dict[str, Any]:
    """The text after a change of one field of the form."""
    return {"text": change(text, path, value)}


def apply(gate: Gateway, text: str, mark: str, confirmed: list[str]) -> dict[str, Any]:
    """Write the policy file; the one before it is kept beside it. What is served changes when it is reloaded.

    Guarantee: a text that weakens the promise, or lets one answer, analyst or person count for more, is written only
        if every one of these changes was confirmed in the words that name it, with its numbers.
    Proof: they are computed here, from the policy that is served and the text that is written, and looked up in what
        was confirmed; a page that shows less than that confirms less.
    Reference: docs/decisions/087-the-policy-as-a-form.md.
    Checked by: end_to_end::a_change_is_saved_only_if_its_own_words_were_confirmed
    """
    place = _file(gate)
    old = place.read_text(encoding="utf-8-sig")
    if _mark(old) != mark:
        raise InputError("the policy file was changed in the meantime", hint="Reload it, then change it.")
    policy = _check(gate, text)
    weaker = weakenings(gate.policy, policy)
    for one in (*weaker, *other_changes(gate.policy, policy)):
        if one.words not in confirmed:
            message = "this change weakens the guarantee" if one in weaker else "this change allows more"
            raise InputError(message, detail=one.words, hint="Confirm it to save it.")
    _write(place.with_name(f"{place.name}.before"), old)
    _write(place, text)
    return {"name": place.name, "mark": _mark(text)}


def sources(gate: Gateway) -> dict[str, list[str]]:
    """Files beside the policy that a policy could be about, and which of them are served already."""
    kinds = (*schema.ENDINGS, schema.DATABASE)
    names = sorted(path.name for path in _file(gate).parent.iterdir() if path.is_file())
    files = [name for name in names if schema.is_kind(name, kinds)][:_MOST]
    served = {Path(path).resolve() for path in _listed(gate.policy)}
    return {"files": files, "served": [name for name in files if (_file(gate).parent / name).resolve() in served]}


def people(gate: Gateway, names: list[str]) -> dict[str, Any]:
    """Which columns may be the person, the likeliest first, and all that there are; by names and types alone."""
    found = look(_paths(gate, names))
    tables = {table: list(one.columns) for table, one in found.tables.items()}
    return {"likely": [f"{table}.{column}" for table, column in candidates(found.tables)], "tables": tables}


def drafted(gate: Gateway, names: list[str], unit: str) -> dict[str, Any]:
    """A policy to be completed; each "?" in it is a decision, with what there is to say about it."""
    found = look(_paths(gate, names))
    text = draft(found, person_of(found, unit), _file(gate).parent)
    return {"text": text, "problems": [_told(problem, text) for problem in _read(gate, text)[1]]}


def write_new(gate: Gateway, name: str, text: str) -> dict[str, Any]:
    """A new policy file beside the one that is served; what already exists is never written over."""
    if not _NAME.fullmatch(name):
        raise InputError(
            "a policy file must have a name like my-data.toml", hint="Letters, digits, _ and - before .toml."
        )
    _check(gate, text)
    place = _file(gate).parent / name
    if place.exists() or place.is_symlink():
        raise InputError(f'"{name}" already exists', hint="Choose another name.")
    _write(place, text)
    return {"name": name, "mark": _mark(text)}


def _file(gate: Gateway) -> Path:
    if gate.policy.path is None:
        raise InputError("this policy is not in a file")
    return gate.policy.path


def _mark(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _paths(gate: Gateway, names: list[str]) -> list[str]:
    """Names of the list, as paths: nothing that is not beside the policy."""
    known = sources(gate)["files"]
    for name in names:
        if name not in known:
            raise InputError(f'there is no file "{name[:60]}" beside the policy')
    if not names:
        raise InputError("choose one file or more")
    return [str(_file(gate).parent / name) for name in names]


def _read(gate: Gateway, text: str) -> tuple[Policy | None, list[PolicyError]]:
    """The policy, or all that is wrong: with its text, with its paths, with the schema of its source."""
    place = _file(gate)
    policy, problems = read_all(text, place)
    if policy is None or problems:
        return None, problems
    marks = Marks(place.name, text.replace("\r\n", "\n"))
    outside = _outside(policy) - _outside(gate.policy)
    if outside:
        path = min(outside)
        hint = "Write it into the policy file by hand, on the server."
        error = marks.error(("source", "files"), "a path is outside the policy's folder", hint)
        error.detail = f"{error.detail}: {path}"
        return None, [error]
    problems = against(policy, marks) or list(_against_ledger(gate, policy, marks))
    return (None if problems else policy), problems


def _against_ledger(gate: Gateway, policy: Policy, marks: Marks) -> Iterator[PolicyError]:
    """What the ledger would refuse when the policy is opened: another unit or adjacency after charges."""
    if (policy.data.id, policy.data.ledger) != (gate.policy.data.id, gate.policy.data.ledger):
        return
    adjacency, units = policy.privacy.adjacency, units_of(policy.tables)
    for place, asked in (
        (("privacy", "adjacency"), (adjacency, units_of(gate.policy.tables))),
        (("tables",), (gate.policy.privacy.adjacency, units)),
    ):
        try:
            gate.ledger.check_successor(adjacency=asked[0], units=asked[1])
        except PolicyError as error:
            told = marks.error(place, error.message, error.hint)
            told.detail = error.detail
            yield told


def _outside(policy: Policy) -> set[str]:
    """Paths and addresses of a policy that do not lie in its folder."""
    assert policy.path is not None
    home = policy.path.parent.resolve()
    listed = _listed(policy)
    listed += [policy.data.ledger, policy.data.state, policy.data.anchor or "", policy.source.dsn or ""]
    return {path for path in listed if path and not _is_inside(home, path)}


def _is_inside(home: Path, path: str) -> bool:
    """Of a path of Spark what follows its format; where the tables of a catalog are, its policy does not say."""
    word, colon, rest = path.partition(":")
    if "://" in path or (colon and word == CATALOG):
        return False
    return (home / (rest.strip() if colon and word in FORMATS else path)).resolve().is_relative_to(home)


def _listed(policy: Policy) -> list[str]:
    """The paths of its source."""
    files = policy.source.files
    listed = [files] if isinstance(files, str) else []
    for paths in files.values() if isinstance(files, dict) else ():
        listed += [paths] if isinstance(paths, str) else list(paths)
    return listed


def _check(gate: Gateway, text: str) -> Policy:
    policy, problems = _read(gate, text)
    if policy is None:
        first, said = problems[0], many(len(problems), "mistake")
        raise InputError(f"the policy has {said}", detail=first.message, hint=first.hint)
    return policy


def _told(problem: PolicyError, text: str) -> dict[str, Any]:
    line = None if problem.position is None else text.replace("\r\n", "\n")[: problem.position - 1].count("\n") + 1
    return {"line": line, **problem.to_dict()}


def _write(place: Path, text: str) -> None:
    """The whole file or none of it."""
    new = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(place)
