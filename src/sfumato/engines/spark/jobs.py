"""Jobs as Spark's SQL: how its numbers are written, and how it is handed public rows and the hash key.

What leaves a statement is one row for each group; a task that is run again gives the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sfumato.algebra.aggregates import AGGREGATES
from sfumato.algebra.aggregates.base import Bundle, filtered_to_null
from sfumato.algebra.job import FINE, Job, grid_of
from sfumato.algebra.tree import BOOLEAN, DATE, TIMESTAMP, Aggregate, Node
from sfumato.engines.remote.engine import CompiledJob
from sfumato.engines.remote.job_writer import RemoteJobWriter
from sfumato.engines.remote.selects import PassedRows
from sfumato.engines.spark import doubles
from sfumato.engines.spark.dialect import writer
from sfumato.engines.spark.expressions import expression, steps
from sfumato.engines.spark.per_unit import SURELY
from sfumato.engines.spark.source import SparkTables
from sfumato.engines.spark.spelling import WIDE, absolute, literal, once, quotient, type_of, whole
from sfumato.engines.spark.times import micros

SALT = "`#salt`"
"""Stands for the hash key until a statement is run."""
_HELD = 1 << 62


@dataclass(frozen=True)
class SparkStatement:
    """SQL over views: the rows that it is `handed` have names of their own in it, as has the hash key.

    `kinds` are the types of the groups' columns, which come first; dates and moments leave as whole numbers.
    """

    text: str
    handed: tuple[PassedRows, ...]
    kinds: tuple[str, ...]


def compile_job(job: Job, tables: SparkTables) -> CompiledJob[SparkStatement]:
    """The statements of a job over these tables."""
    return _SparkJob(job, writer(tables)).compiled()


class _SparkJob(RemoteJobWriter[SparkStatement]):
    """Writes one statement of a job."""

    def statement(self, text: str, keys: Sequence[int], others: Sequence[str], *, salted: bool) -> SparkStatement:  # noqa: ARG002  the hash key stands in the text
        """The text, its groups first; times among them leave as whole numbers, and so do places of a choice."""
        kinds = [type_of(self.job.release.keys[i][1].facts) for i in keys]
        shown = [_leaving(f"_k{i}", kind) for i, kind in zip(keys, kinds, strict=True)]
        kinds += ["BIGINT"] if "_x" in others else []
        outer = f"SELECT {', '.join([*shown, *others])} FROM ({text}) AS leaving"
        return SparkStatement(outer, tuple(self.writer.handed), tuple(kinds))

    def part(self, part: Node, bundle: Bundle) -> str:
        """A BIGINT where that holds it; what is missing counts for nothing."""
        small = part.facts.bounded and part.facts.largest / grid_of(bundle) < _HELD
        return f"COALESCE({steps(part, grid_of(bundle), wide=not small)}, 0)"

    def own(self) -> list[str]:
        """Sums over rows, wide where 64 bits might not hold them, or the largest row where a person counts once."""
        return [
            f"{'MAX' if b.person else 'SUM'}({name if b.person else _summed(name, part, b)}) AS {name}"
            for name, part, b in self.parts
        ]

    def totals(self) -> list[str]:
        """Rows, groups, the square of the norm, the sum that is clipped."""
        totals = ["SUM(_n) AS _n", "COUNT(*) AS _g"]
        totals += [f"SUM({_squared('_n')}) AS _q"] if self.job.limits.gaussian else []
        totals += [f"SUM(CAST({absolute(self.parts[0][0])} AS {WIDE})) AS _s"] if self.job.clip is not None else []
        return totals

    def own_totals(self) -> str:
        """The same without sums."""
        names = [name for name, _, _ in self.parts]
        shown = ["_n", "1L AS _g", *names]
        shown += [f"{_squared('_n')} AS _q"] if self.job.limits.gaussian else []
        return ", ".join(shown + ([f"{absolute(names[0])} AS _s"] if self.job.clip is not None else []))

    def weighted(self, alias: str) -> list[str]:
        """Wide sums of products, which are narrow where a person's are surely small."""
        sums = []
        for name, part, bundle in self.parts:
            weight = self._weight(bundle).replace("w._", f"{alias}._")
            number = f"CAST(p.{name} AS {WIDE})"
            if weight != "1":  # of a person the product is at most this, whatever she has
                most = FINE * max(self.job.limits.bound, Fraction(1)) * _size(part, bundle) * 2
                small = self.job.clip is None and _size(part, bundle) < SURELY and most < _HELD
                number = f"CAST(p.{name} * {weight} AS {WIDE})" if small else f"{number} * {weight}"
            sums.append(f"COALESCE(SUM({number}), 0) AS {name}")
        return sums

    def _weight(self, bundle: Bundle) -> str:
        """The person's weight in units of 2^-20, toward zero, over `w`; 1 where each person has one row."""
        job = self.job
        if job.clip is not None:
            most = int(job.clip / grid_of(bundle))
            return f"CASE WHEN w._s <= {whole(most, wide=True)} THEN {FINE}L ELSE {_per('w._s', FINE * most)} END"
        if job.limits.alone or (bundle.person and job.limits.few):
            return "1"
        bound = job.limits.bound
        if not job.limits.gaussian:
            return _share("w._g" if bundle.person else "w._n", int(bound))
        squared, limit = "w._g" if bundle.person else "w._q", bound**2
        # the square root, upward: a double is off by less than one part in 2^50; wide, for a person may have many rows
        size = f"sqrt(CAST({squared} AS DOUBLE)) * CAST({FINE} AS DOUBLE) * CAST('1.000000001' AS DOUBLE)"
        root = doubles.whole_of(doubles.ceil(size))
        below = f"{squared} <= {whole(limit.numerator // limit.denominator, wide=True)}"
        top = whole(FINE * FINE * bound.numerator, wide=True)
        counted = f"GREATEST({root} * {whole(bound.denominator, wide=True)}, 1L)"
        share = f"CAST({quotient(top, counted, sure=False)} AS BIGINT)"
        return f"CASE WHEN {below} THEN {FINE}L ELSE {share} END"

    def choice_weight(self) -> str:
        """By the number of rows."""
        weight = "1" if self.job.limits.alone else _share("w._n", self.job.limits.most)
        return f"SUM(CAST({weight} AS {WIDE}))"

    def hashed(self, names: list[str]) -> str:
        """The hash key is put in when the statement is run."""
        texts = ", '\\u001F', ".join(f"COALESCE(concat('=', CAST({name} AS STRING)), '')" for name in ("_u", *names))
        return ", ".join([f"md5(concat({SALT}, {texts}))", *names])

    def place(self, aggregate: Aggregate) -> str:
        """Days from the first one on, whole seconds, steps of the grid, or the number of a listed value."""
        arg = aggregate.arg
        assert arg is not None
        facts, inner = arg.facts, expression(filtered_to_null(arg, aggregate.where))
        if facts.kind == DATE:
            return f"(CAST(unix_date({inner}) AS BIGINT) + 719163L)"
        if facts.kind == TIMESTAMP:  # whole seconds from the first day on; no moment is before it
            return f"(({micros(inner)} + 62135596800000000L) div 1000000L)"
        if aggregate.name != "mode" or (facts.kind != BOOLEAN and facts.values is None):
            return inner
        values = facts.values if facts.values is not None else (False, True)
        branches = " ".join(f"WHEN x = {literal(value, facts)} THEN {i}L" for i, value in enumerate(values))
        return once({"x": inner}, f"CASE {branches} END")

    def over_values(self, aggregate: Aggregate) -> str:
        """Sums have 38 digits."""
        adds = AGGREGATES[aggregate.name].adds_values
        return "COALESCE(SUM(DISTINCT CAST(_x AS DECIMAL(38, 0))), 0)" if adds else "COUNT(DISTINCT _x)"

    def counted(self, condition: str) -> str:
        """A truth as a number."""
        return f"CAST({condition} AS INT)"

    def same(self, one: str, other: str) -> str:
        """By an operator that joins can use."""
        return f"{one} <=> {other}"


def _leaving(name: str, kind: str) -> str:
    """A group's column as it leaves: a day or a moment as a whole number, which no time zone changes."""
    return {"DATE": f"unix_date({name}) AS {name}", "TIMESTAMP": f"unix_micros({name}) AS {name}"}.get(kind, name)


def _size(part: Node, bundle: Bundle) -> Fraction:
    """The most steps of a part; many where nothing is known of it."""
    return part.facts.largest / grid_of(bundle) if part.facts.bounded else Fraction(10**38)


def _summed(name: str, part: Node, bundle: Bundle) -> str:
    """What stands in the sum over the rows of a person."""
    return name if _size(part, bundle) < SURELY else f"CAST({name} AS {WIDE})"


def _squared(name: str) -> str:
    return f"CAST({name} AS {WIDE}) * CAST({name} AS {WIDE})"


def _share(counted: str, most: int) -> str:
    """The weight of somebody of whom so many are counted, if no more than `most` may count."""
    return f"CASE WHEN {counted} <= {whole(most)} THEN {FINE}L ELSE {_per(counted, FINE * most)} END"


def _per(counted: str, most: int) -> str:
    """A written number divided by a positive one, toward zero."""
    if abs(most) < _HELD and "_s" not in counted:
        return f"{whole(most)} div GREATEST({counted}, 1L)"
    return f"CAST({quotient(whole(most, wide=True), f'GREATEST({counted}, 1L)', sure=False)} AS BIGINT)"
