"""Defences to attack: the classical ones, small and honest, over one table; and the gateway.

Comes in: rows, and the name of a defence. Goes out: an Endpoint. The classical ones answer one aggregate over one
condition, as statistical databases of their time did. Noise that an attacker must not predict comes from `sampling`.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import duckdb

from sfumato.anonymity import generalize
from sfumato.attacks.base import Endpoint, Rows
from sfumato.attacks.sheet import TABLE, Sheet
from sfumato.errors import EngineError, InputError, QueryError
from sfumato.sampling import sample_laplace, sample_uniform
from sfumato.types import identifier

SMALLEST = 20
"""Query sets below this size, and complements below it, are refused by `suppress`."""
OVERLAP = 10
"""Rows that two questions may share under `overlap`."""
STEP = 10
ALPHA = 10
SIGMA = 8
K = 5
PER_QUERY = Fraction(1, 10)
WRONG = 10
"""One answer in so many of `onebit` is wrong."""
_FORM = re.compile(
    r'SELECT (COUNT\(\*\)|(?:SUM|AVG|MIN|MAX)\((?:\w+|"(?:[^"]|"")+")\)) FROM "?\w+"?(?: WHERE (.+))?',
    re.IGNORECASE | re.DOTALL,
)
_COMPARED = re.compile(r"SELECT COUNT\(\*\) > (-?\d+) FROM (.+)", re.IGNORECASE | re.DOTALL)
_QUOTED = re.compile(r"""'[^']*'|"[^"]*\"""")
_NESTED = re.compile(r"\b(SELECT|UNION|EXCEPT|INTERSECT|ATTACH|COPY|PRAGMA|SET)\b|;", re.IGNORECASE)


class _Versions:
    """A table of which rows leave: its first version is the owner's, later ones are a copy."""

    def __init__(self, sheet: Sheet) -> None:
        self.engine, self.columns, self.rows, self.version = sheet.engine, sheet.columns, sheet.rows, 0

    def records(self) -> list[dict[str, Any]]:
        return Sheet(self.engine, self.columns, self.rows).records()

    def leave(self, where: str) -> None:
        """Remove the rows that fulfil a condition."""
        if not self.version:
            copy, name = self.engine.cursor(), f"versions_{secrets.token_hex(4)}"
            copy.execute(f"ATTACH ':memory:' AS {name}")
            copy.execute(f"CREATE TABLE {name}.{identifier(TABLE)} AS SELECT * FROM {identifier(TABLE)}")
            copy.execute(f"USE {name}")
            self.engine = copy
        self.version += 1
        self.engine.execute(f"DELETE FROM {identifier(TABLE)} WHERE {where}")
        left = self.engine.execute(f"SELECT COUNT(*) FROM {identifier(TABLE)}").fetchone()
        self.rows = int(left[0]) if left else 0


def _raw(sheet: _Versions) -> Callable[[str], Rows]:
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


def _statistics(sheet: _Versions) -> Callable[[str], _Exact]:
    """The front of a statistical database: one aggregate over one condition, and nothing nested."""
    known: dict[tuple[int, str], _Exact] = {}

    def exact(sql: str) -> _Exact:
        if (sheet.version, sql) not in known:
            form = _FORM.fullmatch(sql.strip())
            where = (form[2] or "TRUE") if form else ""
            if form is None or _NESTED.search(_QUOTED.sub("''", where)):
                raise QueryError("only one aggregate over one condition is answered")
            try:
                text = f"SELECT {form[1]}, COUNT(*) FROM {identifier(TABLE)} WHERE {where}"
                row = sheet.engine.execute(text).fetchone()
            except duckdb.Error:
                raise QueryError("the query cannot be answered") from None
            assert row is not None
            known[sheet.version, sql] = _Exact(None if row[0] is None else float(row[0]), int(row[1]), where)
        return known[sheet.version, sql]

    return exact


def _over(sheet: _Versions, rule: Callable[[_Exact], float | None]) -> Callable[[str], Rows]:
    exact = _statistics(sheet)
    return lambda sql: [(rule(exact(sql)),)]


def _suppress(sheet: _Versions) -> Callable[[str], Rows]:
    def rule(found: _Exact) -> float | None:
        if not SMALLEST <= found.size <= sheet.rows - SMALLEST and found.size != sheet.rows:
            raise QueryError("the query set is too small or too large")
        return found.value

    return _over(sheet, rule)


def _overlap(sheet: _Versions) -> Callable[[str], Rows]:
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


def _constant(sheet: _Versions) -> Callable[[str], Rows]:
    """The first lecture's unsafe mechanism: the same number on every answer, drawn once and kept secret."""
    more = int(sample_uniform(2 * ALPHA)) - ALPHA
    kept = more if more < 0 else more + 1
    return _over(sheet, lambda found: None if found.value is None else found.value + kept)


def _sticky(sheet: _Versions) -> Callable[[str], Rows]:
    """Noise that the condition itself decides: asked again in the same words it is the same."""
    salt = secrets.token_bytes(16)

    def rule(found: _Exact) -> float | None:
        words = " ".join(found.where.split()).casefold()
        digest = hashlib.blake2b(words.encode(), key=salt, digest_size=8).digest()
        uniform = (int.from_bytes(digest, "big") + 0.5) / 2**64
        return None if found.value is None else round(found.value + NormalDist(0, SIGMA).inv_cdf(uniform))

    return _over(sheet, rule)


def _nothing(_: str) -> Rows:
    raise QueryError("no queries are answered: a table is published instead")


def _one_bit(sheet: _Versions) -> Callable[[str], Rows]:
    """Whether a count is above a number, and no count; the answer is wrong now and then."""
    exact = _statistics(sheet)

    def run(sql: str) -> Rows:
        form = _COMPARED.fullmatch(sql.strip())
        if form is None:
            raise QueryError("only whether a count is above a number is answered")
        found = exact(f"SELECT COUNT(*) FROM {form[2]}").value or 0.0
        lie = int(sample_uniform(WRONG)) == 0
        return [((found > int(form[1])) is not lie,)]

    return run


def make(name: str, given: Sheet, secret: str, known: tuple[str, ...]) -> Endpoint:
    """The endpoint of a classical defence."""
    sheet = _Versions(given)
    if name == "raw":
        return Endpoint(name, _raw(sheet), leave=sheet.leave)
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
        "onebit": _one_bit(sheet),
    }
    if name not in runs:
        raise InputError(f'defence "{name}" is not known', hint=f"Use some of: {', '.join(DEFENCES)}.")
    return Endpoint(name, runs[name], leave=sheet.leave)


DEFENCES = {
    "raw": "no defence: the plain table",
    "suppress": f"counts of fewer than {SMALLEST} people, or of nearly everybody, are refused",
    "overlap": f"queries that share more than {OVERLAP} people with an earlier one are refused",
    "round": f"answers are rounded to multiples of {STEP}",
    "constant": f"one secret number, at most {ALPHA} either way, is added to every answer",
    "bounded": f"noise of at most {ALPHA} either way",
    "sticky": f"normal noise of standard deviation {SIGMA}, the same for the same condition",
    "kanon": f"no queries: a {K}-anonymous table is published",
    "laplace": f"Laplace noise of epsilon {float(PER_QUERY):g} on each answer, without a ledger",
    "onebit": f"no counts: whether one is above a number, and one answer in {WRONG} is wrong",
    "dp": "sfumato: noise, and a ledger that never goes beyond its total",
}
"""What `--defence` takes, in words; `dp` is the gateway."""
