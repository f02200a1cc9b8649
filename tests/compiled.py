"""What DuckDB's compiler makes of jobs, for tests that look inside.

Modules are imported when they are needed, so that tests which load them afresh, with a fault planted, see the fault.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def module(name: str) -> Any:
    """A module of DuckDB's package, as it is loaded now."""
    return import_module(f"sfumato.engines.duckdb.{name}")


def plain(job: Any) -> Any:
    """The plain form of a job: its statements."""
    return module("fast_plans").plain_form(job)


def compiled(asked: Any) -> Any:
    """A plan whose jobs the engine can write, as the gateway sees to while it plans."""
    for cut in asked.cuts:
        for part in cut.parts:
            plain(part.job)
    return asked


def unclamped(cut: Any, part: Any) -> Any:
    """The plain form of a grouping set without the clamps of `clamps`: what the planner's claims rest on alone."""
    made = import_module("sfumato.sql.release.bundles").bundles_of(cut.release)
    job = part.job
    writer = module("jobs").JobWriter(
        cut.release, job.limits, part.kept, part.chosen, made.bundles, job.clip, made.extras
    )
    sums, people = writer.sums() if made.bundles else None, writer.people() if part.chosen else None
    return module("fast_plans").Physical(sums, people, tuple(writer.not_summed(one) for one in made.extras))


def physical(job: Any, known: Any) -> Any:
    """The physical plan of a job by what is known of rows."""
    return module("fast_plans").physical(job, known)


def knowledge(engine: Any, sizes: dict[int, int] | None = None) -> Any:
    """What an engine has looked at in its rows."""
    return module("row_counts").TableKnowledge(
        engine.known.unique, engine.known.counted, engine.known.look, sizes or {}
    )


def temporary(table: Any) -> Any:
    """A finished table with all its columns, as an engine creates it."""
    return module("finishing").temporary(table, set(table.kinds))


def ask(engine: Any, statement: Any, salt: str, keys: int = 0, tables: Any = ()) -> list[tuple[Any, ...]]:
    """The rows of a statement over private tables, in the clear."""
    made = [temporary(table) for table in tables]
    return [(*group, *row._sealed) for group, row in engine._paid(statement, made, salt, keys)]


class Rows:
    """Public rows as planning asks for them, by SQL that `run` runs; kept ones by the store of an engine, if any."""

    def __init__(self, run: Any, engine: Any = None) -> None:
        self._run, self._engine = run, engine
        self._rows = module("planning").PlanningRows(run)

    def images(self, keys: Any) -> Any:
        return self._rows.images(keys)

    def count_values(self, table: Any) -> Any:
        return self._rows.count_values(table)

    def most_alike(self, relation: Any, nodes: Any) -> Any:
        look = self._run if self._engine is None else self._engine._look
        return int(look(module("planning").most_alike(relation, nodes))[0][0])

    def rows(self, relation: Any, nodes: Any, most: Any) -> Any:
        return self._rows.rows(relation, nodes, most)

    def fix(self, relation: Any) -> Any:
        text = module("relations").select(relation, relation.columns)
        return self._engine._fixed.fix(text, self._engine._computed)


def finish(last: Any, released: Any, run: Any) -> list[tuple[Any, ...]]:
    """The rows above the releases, where `run` runs a statement beside temporary tables."""
    last = module("finishing").finish(last)
    return run(last.text, module("finishing").temporaries(released, last.reads))


def fixed_tables(cut: Any, released: Any, run: Any) -> dict[int, Any]:
    """Public rows made of earlier releases, each computed once, as an engine makes them."""
    relations, tables = import_module("sfumato.algebra.relations"), import_module("sfumato.algebra.finished_tables")
    found = {}
    for fixed in relations.fixed_in(cut.release.below):
        if fixed.kept is not None or not relations.releases_in(fixed.below):
            continue
        names = sorted(fixed.columns)
        with module("relations").reading() as reads:
            text = module("relations").select(fixed.below, names)
        rows = run(text, module("finishing").temporaries(released, reads))
        columns = {
            name: (fixed.columns[name].facts.kind, lambda i=i, rows=rows: [row[i] for row in rows])
            for i, name in enumerate(names)
        }
        columns = columns or {"_": ("integer", lambda rows=rows: [1 for _ in rows])}
        found[fixed.number] = tables.FinishedTable(relations.fixed_name(fixed), columns)
    return found


def number_of_rows(table: Any) -> int:
    """How many rows a finished table has."""
    return len(table.values(next(iter(table.kinds))))
