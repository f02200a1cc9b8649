"""Mechanisms that the owner proved: a program with a certificate, released on a private column.

Comes in: a certificate, a column, the program's public parameters. Goes out: the program's output, after the debit that
the claim in the certificate names. The owner's alone: no door hands this to an analyst.

Guarantee: releasing costs at most what is debited, under the policy's own adjacency.
Proof: the kernel checks the certificate anew, so the program keeps its claim for lists of which one has one element
    more, at any place. A person has at most C elements (sql.elements), so with her and without her there is a chain of
    at most C such lists; replaced, of at most 2C. The order of the elements is drawn uniformly: orders of two lists
    that differ by one element can be coupled so that the ordered lists do too, and the program's law on a list in
    random order is the mean over orders. Whatever else the program takes is public; `requires` does not speak of the
    list, so every list on the way is admitted. The output has the law of the program exactly (verify.release), the
    debit is durable before a row is read, and the output is stored before it is told.
Reference: semantics 1.2, 5.2, 5.4; Dwork, Roth, 2014, theorem 2.2 (groups).
Checked by: unit::a_proved_program_is_paid_before_it_reads, unit::a_program_costs_its_claim_for_every_row,
    unit::what_is_not_proved_is_not_released, verify::elements_come_in_any_order
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from sfumato.accounting import Pure
from sfumato.algebra.column_elements import Elements, elements
from sfumato.engines import Engine
from sfumato.engines.base import failure
from sfumato.errors import ClaimError, EngineError, InputError, QueryError
from sfumato.gateway.answer import Spent
from sfumato.gateway.query import OWNER
from sfumato.gateway.timing import Grid
from sfumato.ledger import Ledger, Receipt, Stored
from sfumato.policy import Policy, Table
from sfumato.reals import round_up
from sfumato.types import Adjacency, as_written, positive, show
from sfumato.verify.parse import read_program
from sfumato.verify.release import price_of, refused, released
from sfumato.verify.run import NotRun, Runner
from sfumato.verify.tree import Expr, Param, Program, Type, names


@dataclass(frozen=True)
class Outcome:
    """What a program returned; numbers as fractions, lists as tuples. `cost` is 0 if it had been released before."""

    program: str
    value: Any
    cost: Spent
    remaining: Spent
    receipt: str

    @property
    def words(self) -> str:
        """The value as the language writes it."""
        return _said(self.value)

    def to_dict(self) -> dict[str, Any]:
        """One document, for programs."""
        return {
            "program": self.program,
            "value": _plain(self.value),
            "cost": self.cost.to_dict(),
            "remaining": self.remaining.to_dict(),
            "receipt": self.receipt,
        }


@dataclass(frozen=True)
class ProgramOrder:
    """A program, ready for a column: nothing private was looked at."""

    program: Program
    private: str
    env: dict[str, Any]
    of: Elements
    event: Pure
    digest: str
    text: str


def order(
    certificate: Mapping[str, Any],
    target: str,
    epsilon: Any,
    public: Mapping[str, Any],
    *,
    policy: Policy,
    engine: Engine,
) -> ProgramOrder:
    """Check everything that can be checked before it is paid for."""
    program = _proved(certificate)
    table, column = _column(policy, engine, target)
    private, env = _parameters(program, epsilon, public)
    assert isinstance(table.rows_per_unit, int)
    of = elements(table, policy, column, stored=table.name in engine.stored())
    _check_type(program, private.type, of, env)
    replaced = policy.privacy.adjacency is Adjacency.REPLACE
    steps = table.rows_per_unit * (2 if replaced else 1)
    claim = round_up(price_of(program.claim[0], program, env))
    if claim <= 0 or claim < policy.privacy.min_epsilon:
        least = f"a release costs at least {show(policy.privacy.min_epsilon)}"
        raise InputError(f"the claim of {program.name} is {show(claim)} here, and {least} under this policy")
    said = {name: str(value) for name, value in sorted(env.items())}
    unprepared = engine.first_text(elements(table, policy, column, stored=False))
    document = ["program", certificate["hash"], target, unprepared, said, policy.digest]
    digest = hashlib.sha256(json.dumps(document, ensure_ascii=False).encode()).hexdigest()
    text = f"program {program.name} on {target}" + "".join(f", {name} = {value}" for name, value in said.items())
    return ProgramOrder(program, private.name, env, of, Pure(claim * steps), digest, text)


def release(
    ordered: ProgramOrder, ledger: Ledger, engine: Engine, version: str, grid: Grid
) -> tuple[Any, Receipt | Stored, str]:
    """Pay, read, run, store: the output, what the ledger said to the debit, and the receipt."""
    epsilon, arrived = ordered.event.epsilon, grid.now()
    paid = ledger.debit(
        OWNER, ordered.event, question=ordered.digest, epsilon=epsilon, version=version, text=ordered.text
    )
    padded = partial(grid.hidden, arrived)
    stored = paid if isinstance(paid, Stored) else ledger.store(paid, _drawn(ordered, ledger, engine, paid, padded))
    return _typed(json.loads(stored.answer)["value"]), paid, stored.receipt.id


def _drawn(
    ordered: ProgramOrder,
    ledger: Ledger,
    engine: Engine,
    receipt: Receipt,
    padded: Callable[[], AbstractContextManager[None]],
) -> bytes:
    try:
        with padded():
            counted = [row for _, row in engine.elements(ordered.of)]
            value = released(ordered.program, ordered.env, ordered.private, counted, ordered.of.step)
    except Exception as error:  # noqa: BLE001  one sentence for every cause (semantics 6.2)
        ledger.fail(receipt)
        raise error if isinstance(error, EngineError) else failure(error) from None
    return json.dumps({"format": 1, "value": _plain(value)}, separators=(",", ":")).encode()


# ---- what can be said before a row is read


def _proved(certificate: Mapping[str, Any]) -> Program:
    """The program of a certificate that the kernel accepts now."""
    from sfumato.verify.code import require_solvers

    require_solvers()
    from sfumato.verify.checking import faults_of

    if certificate.get("verdict") != "PROVED" or certificate.get("scope") != "all":
        raise ClaimError(
            "only a program that is proved for all sizes can be released",
            hint="Create its certificate with sfumato verify.",
        )
    faults = faults_of(dict(certificate))
    if faults:
        raise ClaimError("the certificate is not valid", detail="; ".join(faults))
    program = read_program(certificate["program"])
    if program.adjacent != "addremove":
        raise InputError(
            f"{program.name} is proved for lists that are adjacent by `{program.adjacent}`",
            detail="A person who is absent contributes no element.",
            hint="Prove it with `adjacent addremove`.",
        )
    if len(program.claim) != 1 or program.uses:
        raise InputError("only a program with a claim in epsilon alone and without `uses` can be released")
    problem = refused(program)
    if problem is not None:
        raise problem
    return program


def _column(policy: Policy, engine: Engine, target: str) -> tuple[Table, str]:
    name, dot, column = target.partition(".")
    table = policy.tables.get(name)
    if not dot or table is None or column not in table.columns:
        raise QueryError(f'"{target}" is not a column of this policy', hint="Write TABLE.COLUMN.", sqlstate="42703")
    if table.public or name in engine.views() or not isinstance(table.rows_per_unit, int):
        raise InputError(
            f'"{name}" is not a private table with a numeric bound on the rows per person',
            hint="Public tables need no noise; views and estimated bounds are not supported here yet.",
        )
    return table, column


def _parameters(program: Program, epsilon: Any, public: Mapping[str, Any]) -> tuple[Param, dict[str, Any]]:
    """The private parameter, and values for all others."""
    secret = [param for param in program.params if param.private]
    if len(secret) != 1 or secret[0].type.kind != "list":
        raise InputError(f"{program.name} must have one private parameter, a list")
    private = secret[0]
    open_names = [param.name for param in program.params if not param.private]
    if set(public) != set(open_names):
        wanted = ", ".join(open_names) or "none"
        raise InputError(
            f"the public parameters of {program.name} are: {wanted}", detail=f"Given: {', '.join(public)}."
        )
    env: dict[str, Any] = {name: as_written(value, name) for name, value in public.items()}
    env |= {"eps": positive(epsilon, "epsilon"), "delta": Fraction(0)}
    for node in (*program.requires, *program.claim):
        if private.name in names(node):
            raise InputError(
                f"`requires` and `claim` of {program.name} refer to the private list {private.name}",
                detail="Its length is private, and so is whether it meets a requirement.",
                hint="Prove the program without them.",
            )
    for param in program.params:
        if not param.private:
            _check_public(program, param, env)
    runner = Runner(program)
    for node in program.requires:
        if not _computed(runner, node, env):
            raise InputError(f"what {program.name} requires does not hold for these parameters")
    return private, env


def _check_public(program: Program, param: Param, env: dict[str, Any]) -> None:
    """A public parameter lies in its type."""
    value, kind = env[param.name], param.type
    if kind.kind in ("int", "range") and value.denominator != 1:
        raise InputError(f"{param.name} must be a whole number, but is {show(value)}")
    if kind.kind in ("interval", "range"):
        low, high = _ends(program, kind, env)
        if not low <= value <= high:
            raise InputError(f"{param.name} must lie between {show(low)} and {show(high)}, but is {show(value)}")
    elif kind.kind not in ("int", "real"):
        raise InputError(f"{param.name} must be a number for a release")


def _check_type(program: Program, kind: Type, of: Elements, env: dict[str, Any]) -> None:
    """Every value that the column can hold is an element that the program admits."""
    element = kind.items[0]
    if element.kind not in ("real", "int", "interval", "range"):
        raise InputError(f"{program.name} must take a list of numbers")
    if element.kind in ("int", "range") and not of.whole:
        raise InputError(f"{program.name} takes whole numbers, and the column's grid is {show(of.step)}")
    if element.kind in ("interval", "range"):
        low, high = _ends(program, element, env)
        if of.low is None or of.high is None or of.low < low or of.high > high:
            ends = "no bounds" if of.low is None or of.high is None else f"bounds {show(of.low)} to {show(of.high)}"
            raise InputError(
                f"{program.name} takes numbers from {show(low)} to {show(high)}, and the column has {ends}",
                hint="Prove the program for the bounds that the policy declares.",
            )


def _ends(program: Program, kind: Type, env: dict[str, Any]) -> tuple[Fraction, Fraction]:
    runner = Runner(program)
    low, high = (_computed(runner, node, env) for node in kind.args)
    return low, high


def _computed(runner: Runner, node: Expr, env: dict[str, Any]) -> Any:
    try:
        return runner.code(node)(env)
    except NotRun:
        raise InputError("a released program must not use exp, ln or sqrt in its types and `requires`") from None


def _plain(value: Any) -> Any:
    """An output for JSON: truths stay truths, numbers become text, tuples lists."""
    if isinstance(value, bool):
        return value
    return [_plain(item) for item in value] if isinstance(value, tuple | list) else str(value)


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"[{', '.join(map(_said, value))}]" if isinstance(value, tuple) else show(value)


def _typed(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_typed(item) for item in value)
    return value if isinstance(value, bool) else Fraction(value)
