"""The SQL of one job: rows with the person, limited to some keys of hers, sums, her weight, sums again.

Comes in: a job, and how an engine writes numbers. Goes out: statements with one weight per person for everything
(semantics 3.1), in whole numbers of 2^-20; nothing looks at other people's rows, at the order of rows or at chance, so
that what is run again gives the same. `engines/reference.py` says what a job means.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic

from sfumato.algebra.aggregates import AGGREGATES
from sfumato.algebra.aggregates.base import CHOICE, Bundle, filtered_to_null
from sfumato.algebra.job import Job
from sfumato.algebra.relations import Filter, Projection, Relation, Scan
from sfumato.algebra.tree import Aggregate, Node, columns_of
from sfumato.engines.remote.engine import CompiledJob, StatementT, is_one_pass
from sfumato.engines.remote.selects import SelectWriter


class RemoteJobWriter(ABC, Generic[StatementT]):
    """Writes one statement of a job; an engine adds how it writes numbers."""

    materialized = ""
    """What keeps an engine from computing rows twice that are read twice."""

    def __init__(self, job: Job, writer: SelectWriter, one_row: frozenset[str] = frozenset()) -> None:
        """`one_row`: the tables in which the engine has checked, in these rows, that every person has one at most."""
        self.job, self.writer, self.one_row = job, writer, one_row
        alone = job.limits.alone and job.clip is None and (not job.chosen or job.limits.keys > 0)
        self.single = alone and is_single(job.release.below, one_row)
        self.keys = [f"_k{i}" for i in job.kept]
        self.parts = [
            (f"_p{i}_{j}", part, bundle) for i, bundle in enumerate(job.bundles) for j, part in enumerate(bundle.parts)
        ]

    # what an engine adds
    @abstractmethod
    def statement(self, text: str, keys: Sequence[int], others: Sequence[str], *, salted: bool) -> StatementT:
        """The text of a SELECT with these keys of the release and these other columns."""

    @abstractmethod
    def part(self, part: Node, bundle: Bundle) -> str:
        """A part in steps of the grid of its bundle."""

    @abstractmethod
    def own(self) -> list[str]:
        """What a person has in a group."""

    @abstractmethod
    def totals(self) -> list[str]:
        """What a weight is made of, over a person's groups."""

    @abstractmethod
    def own_totals(self) -> str:
        """The same with the parts, where a person has one group."""

    @abstractmethod
    def weighted(self, alias: str) -> list[str]:
        """Sums over all persons of what each has under her weight, which is made of columns of `alias`."""

    @abstractmethod
    def choice_weight(self) -> str:
        """The sum of the weights of rows in a choice."""

    @abstractmethod
    def hashed(self, names: list[str]) -> str:
        """The order in which keys of a person are kept: by a keyed hash of her and them."""

    @abstractmethod
    def place(self, aggregate: Aggregate) -> str:
        """A row's place among the candidates of a choice, NULL where it does not take part."""

    @abstractmethod
    def over_values(self, aggregate: Aggregate) -> str:
        """The number of the different values that people keep, or their sum: nothing adds up to nothing."""

    @abstractmethod
    def counted(self, condition: str) -> str:
        """1 where a condition holds, else 0."""

    @abstractmethod
    def same(self, one: str, other: str) -> str:
        """Whether two values are the same, NULL as well."""

    # rows
    def every_row(self, bundles: bool = True, more: str = "", reads: tuple[Node, ...] = ()) -> str:
        """The rows that reach the release: person, keys, parts of the bundles."""
        job, parts = self.job, self.parts if bundles else []
        nodes = [job.release.keys[i][1] for i in job.kept]
        looked = [*nodes, *(part for _, part, _ in parts), *reads]
        read = {name for node in looked for name in columns_of(node)}
        shown = [f"{self.writer.read(node)} AS _k{i}" for i, node in zip(job.kept, nodes, strict=True)]
        for name, part, bundle in parts:
            self.writer.read(part)
            shown.append(f"{self.part(part, bundle)} AS {name}")
        shown += [more] if more else []
        rows = f"SELECT {', '.join(['_u', *shown])} FROM ({self.writer.select(job.release.below, read)}) AS q"
        return self._fed_together(rows) if job.together is not None and bundles and job.bundles else rows

    def _fed_together(self, rows: str) -> str:
        """The rows; the parts of those that feed more bundles than the price rests on are zero."""
        shared = [bundle for bundle in self.job.bundles if self.job.limits.alone or not bundle.person]
        names = [[name for name, _, of in self.parts if of is bundle] for bundle in shared]
        feeds = [" OR ".join(f"{name} <> 0" for name in of) for of in names]
        fed = " + ".join(self.counted(f"COALESCE({condition}, FALSE)") for condition in feeds)
        held = {name for of in names for name in of}
        parts = [
            f"CASE WHEN _fed <= {self.job.together} THEN {name} ELSE 0 END AS {name}" if name in held else name
            for name, _, _ in self.parts
        ]
        shown = ", ".join(["_u", *self.keys, *parts])
        return f"SELECT {shown} FROM (SELECT *, {fed or '0'} AS _fed FROM ({rows}) AS f) AS f"

    def kept(self, rows: str) -> str:
        """WITH … kept: the rows that count; with open keys, those of at most K keys of a person, by a keyed hash."""
        job = self.job
        if not job.chosen or self.single:
            return f"WITH kept AS ({rows})"
        names = [f"_k{i}" for i in job.chosen]
        base, alone = "all_rows", ""
        if job.limits.alone:  # who has several rows where one is declared is left out before her keys are looked at
            base = "single"
            alone = (
                ", single AS (SELECT * FROM (SELECT *, COUNT(*) OVER (PARTITION BY _u) AS _rows FROM all_rows) AS a"
                " WHERE _rows = 1)"
            )
        same = " AND ".join(["a._u = b._u", *(self.same(f"a.{name}", f"b.{name}") for name in names)])
        listed = ", ".join(["_u", *names])
        place = f"row_number() OVER (PARTITION BY _u ORDER BY {self.hashed(names)}) AS _place"
        return (
            f"WITH all_rows AS {self.materialized}({rows}){alone}, pairs AS (SELECT {listed} FROM {base}"
            f" GROUP BY {listed}), few AS (SELECT * FROM (SELECT *, {place} FROM pairs) AS p"
            f" WHERE _place <= {job.limits.keys}), kept AS (SELECT a.* FROM {base} AS a JOIN few AS b ON {same})"
        )

    # statements
    def people(self) -> StatementT:
        """The number of different persons under each open key."""
        names, rows = ", ".join(f"_k{i}" for i in self.job.chosen), "kept" if self.single else "few"
        text = f"{self.kept(self.every_row())} SELECT {names}, COUNT(*) AS n FROM {rows} GROUP BY {names}"
        return self.statement(text, self.job.chosen, ["n"], salted=not self.single)

    def sums(self) -> StatementT:
        """Sums per person and group, the person's weight, sums per group."""
        job, names = self.job, [name for name, _, _ in self.parts]
        if self.single:
            return self._of_rows()
        if is_one_pass(job):
            return self.statement(self._of_pairs(), job.kept, [*names, "_people"], salted=True)
        head = self.kept(self.every_row())
        person = f"SELECT {', '.join(['_u', *self.keys, 'COUNT(*) AS _n', *self.own()])} FROM kept"
        person += f" GROUP BY {', '.join(['_u', *self.keys])}"
        if not self.keys:  # one group a person: her own numbers are the totals
            joined, alias = f"(SELECT {self.own_totals()} FROM person) AS p", "p"
        else:
            totals = f"SELECT _u, {', '.join(self.totals())} FROM person GROUP BY _u"
            joined, alias = f"person AS p JOIN ({totals}) AS w ON p._u = w._u", "w"
        only = f" WHERE {alias}._n = 1" if job.limits.alone else ""
        by = f" GROUP BY {', '.join(f'p.{name}' for name in self.keys)}" if self.keys else ""
        shown = ", ".join([*(f"p.{name} AS {name}" for name in self.keys), *self.weighted(alias)])
        text = f"{head}, person AS ({person}) SELECT {shown} FROM {joined}{only}{by}"
        return self.statement(text, job.kept, names, salted=bool(job.chosen))

    def _of_rows(self) -> StatementT:
        """Where every person has one row at most, of weight 1, that row is what they add, and rows are people.

        Guarantee: the same numbers as the other form on these rows, if the engine has checked that nobody has two.
        Proof: each group of a person is one row, whose sum and largest part are the row's; its weight is 1, nobody is
            left out, and one key of a person is all of them.
        Reference: semantics 3.1d.
        Checked by: laws::one_row_a_person_gives_the_same_numbers
        """
        people = ["COUNT(*) AS _people"] if is_one_pass(self.job) else []
        shown = ", ".join([*(f"p.{name} AS {name}" for name in self.keys), *self.weighted("p"), *people])
        by = f" GROUP BY {', '.join(f'p.{name}' for name in self.keys)}" if self.keys else ""
        text = f"{self.kept(self.every_row())} SELECT {shown} FROM kept AS p{by}"
        others = [*(name for name, _, _ in self.parts), *(["_people"] if people else [])]
        return self.statement(text, self.job.kept, others, salted=False)

    def _of_pairs(self) -> str:
        """Where all keys are open a person's groups are her keys: some of them are kept, with what was summed in each.

        The last number is that of the people under each key.
        """
        job, keys = self.job, ", ".join(self.keys)
        person = f"SELECT {', '.join(['_u', keys, 'COUNT(*) AS _n', *self.own()])} FROM all_rows GROUP BY _u, {keys}"
        if job.limits.alone:  # who has several rows where one is declared is left out before her keys are looked at
            person = f"SELECT * FROM (SELECT *, SUM(_n) OVER (PARTITION BY _u) AS _rows FROM ({person}) AS p) AS p"
            person += " WHERE _rows = 1"
        ranked = f"SELECT *, row_number() OVER (PARTITION BY _u ORDER BY {self.hashed(self.keys)}) AS _place"
        shown = ", ".join([*(f"p.{n} AS {n}" for n in self.keys), *self.weighted("w"), "COUNT(*) AS _people"])
        return (
            f"WITH all_rows AS ({self.every_row()}), person AS ({person}), few AS (SELECT * FROM ({ranked} FROM person)"
            f" AS p WHERE _place <= {job.limits.keys}), weight AS (SELECT _u, {', '.join(self.totals())} FROM few"
            f" GROUP BY _u) SELECT {shown} FROM few AS p JOIN weight AS w ON p._u = w._u"
            f" GROUP BY {', '.join(f'p.{name}' for name in self.keys)}"
        )

    def _others(self, aggregate: Aggregate, place: str) -> str:
        """The rows with the place or value that an aggregate looks at, and each person's number of rows."""
        head = self.kept(self.every_row(bundles=False, more=f"{place} AS _x", reads=(aggregate,)))
        return f"{head}, person AS (SELECT _u, COUNT(*) AS _n FROM kept GROUP BY _u)"

    def not_summed(self, aggregate: Aggregate) -> StatementT:
        """What is not a sum."""
        return self._places(aggregate) if AGGREGATES[aggregate.name].measure == CHOICE else self._different(aggregate)

    def _places(self, aggregate: Aggregate) -> StatementT:
        """Keys, places and the weight of the rows there, for a choice; weights as for sums (semantics 3.1)."""
        assert aggregate.arg is not None
        self.writer.read(filtered_to_null(aggregate.arg, aggregate.where))
        head = self._others(aggregate, self.place(aggregate))
        only = " AND w._n = 1" if self.job.limits.alone else ""
        rows = f"kept AS k JOIN person AS w ON k._u = w._u WHERE k._x IS NOT NULL{only}"
        if self.single:
            rows = "kept AS k WHERE k._x IS NOT NULL"
        keys = "".join(f"k.{name}, " for name in self.keys)
        text = f"{head} SELECT {keys}k._x AS _x, {self.choice_weight()} AS _w FROM {rows} GROUP BY {keys}k._x"
        return self.statement(text, self.job.kept, ["_x", "_w"], salted=bool(self.job.chosen) and not self.single)

    def _different(self, aggregate: Aggregate) -> StatementT:
        """Keys and the number of different values, of each person at most K by a keyed hash (semantics 3.5)."""
        assert aggregate.arg is not None
        job = self.job
        head = self._others(aggregate, self.writer.read(filtered_to_null(aggregate.arg, aggregate.where)))
        only = " JOIN person AS w ON k._u = w._u AND w._n = 1" if job.limits.alone else ""
        shown = ", ".join(f"k.{name}" for name in ["_u", *self.keys, "_x"])
        by = "".join(f"{name}, " for name in self.keys)
        most = dict(zip(job.extras, job.different_values, strict=False)).get(aggregate, job.limits.keys)
        tail = f" GROUP BY {', '.join(self.keys)}" if self.keys else ""
        text = (
            f"{head}, values_of AS (SELECT {shown} FROM kept AS k{only} WHERE k._x IS NOT NULL GROUP BY {shown}), "
            f"chosen AS (SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY _u ORDER BY"
            f" {self.hashed([*self.keys, '_x'])}) AS _place FROM values_of) AS v WHERE _place <= {most})"
            f" SELECT {by}{self.over_values(aggregate)} AS n FROM chosen{tail}"
        )
        return self.statement(text, job.kept, ["n"], salted=True)

    def compiled(self) -> CompiledJob[StatementT]:
        """The statements of the job, each with rows of its own that it is handed."""
        job = self.job
        return CompiledJob(
            self._fresh().sums() if job.bundles else None,
            self._fresh().people() if job.chosen and not is_one_pass(job) else None,
            tuple(self._fresh().not_summed(aggregate) for aggregate in job.extras),
        )

    def _fresh(self) -> RemoteJobWriter[StatementT]:
        return type(self)(self.job, SelectWriter(self.writer.dialect, self.writer.tables), self.one_row)


def is_single(relation: Relation, one_row: frozenset[str]) -> bool:
    """Whether every person has one row at most in a relation over tables in which that holds."""
    if isinstance(relation, Scan):
        return relation.private and not relation.through and relation.table.name in one_row
    return isinstance(relation, Filter | Projection) and is_single(relation.below, one_row)
