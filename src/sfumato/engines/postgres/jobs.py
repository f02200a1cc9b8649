"""Jobs as PostgreSQL's SQL: how its numbers are written, and how it is handed public rows and the hash key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.algebra.aggregates import AGGREGATES
from sfumato.algebra.aggregates.base import Bundle, filtered_to_null
from sfumato.algebra.job import FINE, Job, grid_of
from sfumato.algebra.tree import BOOLEAN, DATE, TIMESTAMP, Aggregate, Node
from sfumato.engines.postgres.dialect import writer
from sfumato.engines.postgres.expressions import expression, steps
from sfumato.engines.postgres.moments import micros
from sfumato.engines.postgres.source import Tables
from sfumato.engines.postgres.spelling import identifier, literal, type_of
from sfumato.engines.remote.engine import CompiledJob
from sfumato.engines.remote.job_writer import RemoteJobWriter
from sfumato.engines.remote.selects import PassedRows


@dataclass(frozen=True)
class Statement:
    """SQL with parameters: first the hash key where it is `salted`, then an array for each column of `handed` rows."""

    text: str
    salted: bool
    handed: tuple[PassedRows, ...]
    patterns: tuple[str, ...]


def compile_job(job: Job, tables: Tables, one_row: frozenset[str] = frozenset()) -> CompiledJob[Statement]:
    """The statements of a job over these tables; in those of `one_row` nobody has two rows."""
    return _PostgresJob(job, writer(tables), one_row).compiled()


class _PostgresJob(RemoteJobWriter[Statement]):
    """Writes one statement of a job."""

    materialized = "MATERIALIZED "

    def statement(self, text: str, keys: Sequence[int], others: Sequence[str], *, salted: bool) -> Statement:  # noqa: ARG002  columns leave as they are
        """The text with the rows that it is handed, before everything else."""
        named, place = [], 2 if salted else 1
        for handed in self.writer.handed:
            arrays, names = [], []
            for name in handed.columns:
                arrays.append(f"${place}::{type_of(handed.relation.columns[name].facts)}[]")
                names.append(identifier(name))
                place += 1
            rows = f"unnest({', '.join(arrays)}) AS h({', '.join(names)})"
            if not names:
                rows, place = f"generate_series(1, ${place}::int) AS h(_)", place + 1
            shown = ", ".join(_collated(name, handed) for name in handed.columns) or "_"
            named.append(f"{identifier(handed.name)} AS (SELECT {shown} FROM {rows})")
        head = f"WITH {', '.join(named)}, " if named else "WITH "
        text = text.replace("WITH ", head, 1)
        return Statement(text, salted, tuple(self.writer.handed), tuple(dict.fromkeys(self.writer.patterns)))

    def part(self, part: Node, bundle: Bundle) -> str:
        """A bigint where that holds it."""
        small = part.facts.bounded and part.facts.largest / grid_of(bundle) < 1 << 62
        return steps(part, grid_of(bundle), wide=not small)

    def own(self) -> list[str]:
        """Sums over rows, or the largest row where a person counts once."""
        return [f"{'MAX' if bundle.person else 'SUM'}({name}) AS {name}" for name, _, bundle in self.parts]

    def totals(self) -> list[str]:
        """Rows, groups, the square of the norm, the sum that is clipped."""
        totals = ["SUM(_n) AS _n", "COUNT(*) AS _g"]
        totals += ["SUM(_n::numeric * _n) AS _q"] if self.job.limits.gaussian else []
        return totals + ([f"SUM(abs({self.parts[0][0]})) AS _s"] if self.job.clip is not None else [])

    def own_totals(self) -> str:
        """The same without sums."""
        shown = ["_n", "1 AS _g"]
        shown += ["_n::numeric * _n AS _q"] if self.job.limits.gaussian else []
        shown += [f"(abs({self.parts[0][0]})) AS _s"] if self.job.clip is not None else []
        return ", ".join([*shown, *(name for name, _, _ in self.parts)])

    def weighted(self, alias: str) -> list[str]:
        """Numerics, which have no end."""
        sums = []
        for name, _, bundle in self.parts:
            weight = self._weight(bundle).replace("w._", f"{alias}._")
            number = f"p.{name}" if weight == "1" else f"p.{name}::numeric * {weight}"
            sums.append(f"COALESCE(SUM({number}), 0) AS {name}")
        return sums

    def _weight(self, bundle: Bundle) -> str:
        """The person's weight in units of 2^-20, toward zero, over `w`; 1 where each person has one row."""
        job = self.job
        if job.clip is not None:
            return _share("w._s", int(job.clip / grid_of(bundle)))
        if job.limits.alone or (bundle.person and job.limits.few):
            return "1"
        bound = job.limits.bound
        if not job.limits.gaussian:
            return _share("w._g" if bundle.person else "w._n", int(bound))
        squared, limit = "w._g" if bundle.person else "w._q", bound**2
        # the square root, upward: a double is off by less than one part in 2^50
        root = f"ceil(sqrt({squared}::float8) * {FINE} * 1.000000001::float8)::numeric"
        return (
            f"CASE WHEN {squared}::numeric * {limit.denominator} <= {limit.numerator} THEN {FINE}"
            f" ELSE div({FINE * FINE * bound.numerator}::numeric, {root} * {bound.denominator}) END"
        )

    def choice_weight(self) -> str:
        """By the number of rows."""
        return f"SUM({'1' if self.job.limits.alone else _share('w._n', self.job.limits.most)})"

    def hashed(self, names: list[str]) -> str:
        """The hash key is the first parameter."""
        text = " || chr(31) || ".join(f"COALESCE('=' || {name}::text, '')" for name in ("_u", *names))
        return ", ".join([f'md5($1::text || {text}) COLLATE "C"', *names])

    def place(self, aggregate: Aggregate) -> str:
        """Days from the first one on, whole seconds, steps of the grid, or the number of a listed value."""
        arg = aggregate.arg
        assert arg is not None
        facts, inner = arg.facts, expression(filtered_to_null(arg, aggregate.where))
        if facts.kind == DATE:
            return f"({inner} - '0001-01-01'::date)::bigint + 1"
        if facts.kind == TIMESTAMP:  # whole seconds from the first day on; no moment is before it
            return f"(({micros(inner)} + 62135596800000000) / 1000000)"
        if aggregate.name != "mode" or (facts.kind != BOOLEAN and facts.values is None):
            return inner
        values = facts.values if facts.values is not None else (False, True)
        branches = " ".join(f"WHEN {literal(value, facts)} THEN {i}" for i, value in enumerate(values))
        return f"(CASE {inner} {branches} END)::bigint"

    def over_values(self, aggregate: Aggregate) -> str:
        """Sums are numerics."""
        adds = AGGREGATES[aggregate.name].adds_values
        return "COALESCE(SUM(DISTINCT CAST(_x AS numeric)), 0)" if adds else "COUNT(DISTINCT _x)"

    def counted(self, condition: str) -> str:
        """A truth as a number."""
        return f"{condition}::int"

    def same(self, one: str, other: str) -> str:
        """As the standard says it."""
        return f"{one} IS NOT DISTINCT FROM {other}"


def _share(counted: str, most: int) -> str:
    """The weight of somebody of whom so many are counted, if no more than `most` may count."""
    return f"CASE WHEN {counted} <= {most} THEN {FINE} ELSE div({FINE * most}::numeric, {counted}) END"


def _collated(name: str, handed: PassedRows) -> str:
    quoted = identifier(name)
    is_text = type_of(handed.relation.columns[name].facts) == "text"
    return f'{quoted} COLLATE "C" AS {quoted}' if is_text else quoted
