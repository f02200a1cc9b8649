"""Defences to attack: the classical ones, small and honest, over one table; and the gateway.

Comes in: rows, and the name of a defence. Goes out: an Endpoint. The classical ones answer one aggregate over one
condition, as statistical databases of their time did. Noise that an attacker must not predict comes from `chance`.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

import duckdb

from sfumato.anonymity import generalize
from sfumato.attacks.base import Endpoint, Rows
from sfumato.attacks.sheet import TABLE, Sheet
from sfumato.chance import sample_laplace, sample_uniform
from sfumato.errors import EngineError, InputError, QueryError
from sfumato.words import identifier

SMALLEST = 20
"""Query sets below this size, and complements below it, are refused by `suppress`."""
OVERLAP = 10
"""Rows that two questions may share under `overlap`."""
STEP = 10
ALPHA = 10
SIGMA = 8
K = 5
PER_QUERY = Fraction(1, 10)
_FORM = re.compile(
    r'SELECT (COUNT\(\*\)|(?:SUM|AVG|MIN|MAX)\((?:\w+|"(?:[^"]|"")+")\)) FROM "?\w+"?(?: WHERE (.+))?',
    re.IGNORECASE | re.DOTALL,
)
_QUOTED = re.compile(r"""'[^']*'|"[^"]*\"""")
_NESTED = re.compile(r"\b(SELECT|UNION|EXCEPT|INTERSECT|ATTACH|COPY|PRAGMA|SET)\b|;", re.IGNORECASE)


def _raw(sheet: Sheet) -> Callable[[str], Rows]:
    """The plain engine: anything that is asked."""

    def run(sql: str) -> Rows:
        try:
            return [tuple(row) for row in sheet.engine.execute(sql).fetchall()]
        except duckdb.Error as error:
            raise EngineError(str(error).split("\n")[0]) from None

    return run


@dataclass(frozen=True)
class _Exact:
    """One aggregate, the size of its query set, and the condition."""

    value: float | None
    size: int
    where: str


def _statistics(sheet: Sheet) -> Callable[[str], _Exact]:
    """The front of a statistical database: one aggregate over one condition, and nothing nested."""
    known: dict[str, _Exact] = {}

    def exact(sql: str) -> _Exact:
        if sql not in known:
            form = _FORM.fullmatch(sql.strip())
            where = (form[2] or "TRUE") if form else ""
            if form is None or _NESTED.search(_QUOTED.sub("''", where)):
                raise QueryError("only one aggregate over one condition is answered")
            try:
                text = f"SELECT {form[1]}, COUNT(*) FROM {identifier(TABLE)} WHERE {where}"
                row = sheet.engine.execute(text).fetchone()
            except duckdb.Error:
                raise QueryError("the question cannot be answered") from None
            assert row is not None
            known[sql] = _Exact(None if row[0] is None else float(row[0]), int(row[1]), where)
        return known[sql]

    return exact


def _over(sheet: Sheet, rule: Callable[[_Exact], float | None]) -> Callable[[str], Rows]:
    exact = _statistics(sheet)
    return lambda sql: [(rule(exact(sql)),)]


def _suppress(sheet: Sheet) -> Callable[[str], Rows]:
    def rule(found: _Exact) -> float | None:
        if not SMALLEST <= found.size <= sheet.rows - SMALLEST and found.size != sheet.rows:
            raise QueryError("the query set is too small or too large")
        return found.value

    return _over(sheet, rule)


def _overlap(sheet: Sheet) -> Callable[[str], Rows]:
    exact = _statistics(sheet)
    answered: dict[str, frozenset[int]] = {}

    def run(sql: str) -> Rows:
        found = exact(sql)
        rows = sheet.engine.execute(f"SELECT rowid FROM {identifier(TABLE)} WHERE {found.where}").fetchall()
        covered = frozenset(int(row[0]) for row in rows)
        if found.size < SMALLEST or any(
            len(covered & other) > OVERLAP for text, other in answered.items() if text != found.where
        ):
            raise QueryError("the query set overlaps too much with an earlier one, or is too small")
        answered[found.where] = covered
        return [(found.value,)]

    return run


def _round(found: _Exact) -> float | None:
    return None if found.value is None else STEP * round(found.value / STEP)


def _bounded(found: _Exact) -> float | None:
    return None if found.value is None else found.value + int(sample_uniform(2 * ALPHA + 1)) - ALPHA


def _laplace(found: _Exact) -> float | None:
    return None if found.value is None else found.value + int(sample_laplace(1 / PER_QUERY))


def _constant(sheet: Sheet) -> Callable[[str], Rows]:
    """The first lecture's unsafe mechanism: the same number on every answer, drawn once and kept secret."""
    more = int(sample_uniform(2 * ALPHA)) - ALPHA
    kept = more if more < 0 else more + 1
    return _over(sheet, lambda found: None if found.value is None else found.value + kept)


def _sticky(sheet: Sheet) -> Callable[[str], Rows]:
    """Noise that the condition itself decides: asked again in the same words it is the same."""
    salt = secrets.token_bytes(16)

    def rule(found: _Exact) -> float | None:
        words = " ".join(found.where.split()).casefold()
        digest = hashlib.blake2b(words.encode(), key=salt, digest_size=8).digest()
        uniform = (int.from_bytes(digest, "big") + 0.5) / 2**64
        return None if found.value is None else round(found.value + NormalDist(0, SIGMA).inv_cdf(uniform))

    return _over(sheet, rule)


def _nothing(_: str) -> Rows:
    raise QueryError("no questions are answered: a table is published instead")


def make(name: str, sheet: Sheet, secret: str, known: tuple[str, ...]) -> Endpoint:
    """The endpoint of a classical defence."""
    if name == "raw":
        return Endpoint(name, _raw(sheet))
    if name == "kanon":
        quasi = [column for column in known if column != secret]
        return Endpoint(name, _nothing, release=generalize(sheet.records(), quasi, secret, K))
    runs: dict[str, Callable[[str], Rows]] = {
        "suppress": _suppress(sheet),
        "overlap": _overlap(sheet),
        "round": _over(sheet, _round),
        "constant": _constant(sheet),
        "bounded": _over(sheet, _bounded),
        "sticky": _sticky(sheet),
        "laplace": _over(sheet, _laplace),
    }
    if name not in runs:
        raise InputError(f'defence "{name}" is not known', hint=f"Use some of: {', '.join(DEFENCES)}.")
    return Endpoint(name, runs[name])


DEFENCES = {
    "raw": "no defence: the plain table",
    "suppress": f"counts of fewer than {SMALLEST} people, or of nearly everybody, are refused",
    "overlap": f"questions that share more than {OVERLAP} people with an earlier one are refused",
    "round": f"answers are rounded to multiples of {STEP}",
    "constant": f"one secret number, at most {ALPHA} either way, is added to every answer",
    "bounded": f"noise of at most {ALPHA} either way",
    "sticky": f"normal noise of standard deviation {SIGMA}, the same for the same condition",
    "kanon": f"no questions: a {K}-anonymous table is published",
    "laplace": f"Laplace noise of epsilon {float(PER_QUERY):g} on each answer, without a ledger",
    "dp": "sfumato: noise, and a ledger that never goes beyond its total",
}
"""What `--defence` takes, in words; `dp` is the gateway."""
