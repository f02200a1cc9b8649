"""The room of judgement: where the cut runs, how much one person can matter, what noise follows and what it costs.

Comes in: a Question, the policy, and what the analyst wishes to spend. Goes out: a Plan: engine SQL, groups, bundles
with their scales, the event to be debited, and how noisy sums become the answer. Nothing here touches data: whether a
question is refused, and with which words, depends on the question and the policy alone.

Guarantee: neighbours' exact sums differ, over all groups and bundles, by at most the amounts that the scales pay for:
    the sum over bundles of (L1 distance of the bundle's sums) / (its scale) is at most epsilon.
Proof: rows_per_unit = 1: a person has one row that counts or is left out, so she moves a bundle by at most its length.
    Otherwise each of her n rows enters with weight floor(2^20 min(1, C/n)) / 2^20, so they move a bundle by at most
    n min(1, C/n) <= C times its length, over all groups. Persons are counted once in each of g groups with weight
    floor(2^20 min(1, C/g)) / 2^20, which adds up to at most min(C, groups). A lone SUM is clipped at `sum_per_unit` in
    L1. Nothing looks at other people's rows, and a person is her raw identifier, never cut or cast: merging two would
    let one change the other's weight. Under replace all this is doubled (semantics 1.2), but for a single sum that
    cannot be negative. A scale is (that amount) (number of bundles that one person can feed at once) / epsilon: rows.py
    bounds what one row feeds, and a person's weights add up to at most C.
Reference: Wilson and others, PoPETs 2020 (bounding by weights instead of sampling); Dwork, McSherry, Nissim, Smith, TCC
2006.
Checked by: laws::neighbours_differ_by_at_most_the_claim, laws::mutations_of_the_plan_are_caught
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sfumato.accounting import Event, Pure
from sfumato.errors import QueryError
from sfumato.policy import Policy, Table, UnitJoin
from sfumato.sql import public
from sfumato.sql.aggregates import AGGREGATES, mean
from sfumato.sql.aggregates.base import Bundle, Interval, Noisy
from sfumato.sql.bind import Question
from sfumato.sql.emit import expression, steps
from sfumato.sql.expressions import facts_of
from sfumato.sql.functions import common_grid
from sfumato.sql.rows import longest_row
from sfumato.sql.scan import enforced
from sfumato.sql.tree import DOUBLE, Aggregate, Call, Column, Node, Over, children, columns_of
from sfumato.words import Adjacency, identifier, show, whole

FINE = 1 << 20
"""Weights are whole numbers of 2^-20 (semantics 3.1b)."""
_MOST_ROWS = 1 << 40


@dataclass(frozen=True)
class Released:
    """A bundle as it is released: its scale in the unit of its values, and the unit of its noisy whole numbers."""

    bundle: Bundle
    sensitivity: Fraction
    scale: Fraction
    unit: Fraction


@dataclass(frozen=True)
class Source:
    """Where an aggregate's number comes from: which bundle, and by which of its formulas."""

    bundle: int
    formula: str


@dataclass(frozen=True)
class Plan:
    """Everything about a question that is known before any data is touched."""

    question: Question
    epsilon: Fraction
    share: Fraction
    contribution: int
    groups: list[tuple[Any, ...]]
    bundles: tuple[Released, ...]
    sources: tuple[tuple[Aggregate, Source], ...]
    sql: str | None
    event: Event | None
    digest: str
    notes: tuple[tuple[str | None, str], ...]


def plan(question: Question, policy: Policy, epsilon: Fraction, rows_per_unit: int | None = None) -> Plan:
    """How this question is answered for this epsilon; the analyst may lower the rows that count per person."""
    table = question.table
    contribution = _contribution(table, rows_per_unit)
    for _, key in question.keys:
        if key.facts.kind == DOUBLE:
            raise QueryError(
                "a key must be exact, but this is a double",
                position=key.position,
                hint="Write ROUND(x, 2), or FLOOR(x).",
            )
    groups = public.groups(table, [node for _, node in question.keys], question.where) if question.keys else [()]
    aggregates = _aggregates(question)
    bundles, sources = _bundles(aggregates)
    adjacency = policy.privacy.adjacency
    clip = _clip(table, bundles, aggregates, contribution)
    together = max(1, _together(bundles, question))
    every = together == len(bundles)
    released = tuple(
        Released(bundle, sensitivity, sensitivity * together / epsilon, _unit(bundle, table, clip))
        for bundle in bundles
        for sensitivity in [
            _sensitivity(bundle, contribution, len(groups), adjacency=adjacency, clip=clip, every=every)
        ]
    )
    sql = _sql(question, released, contribution, clip) if released else None
    digest = _digest(policy, sql, groups, released)
    notes = _notes(contribution, table, clip)
    event = Pure(epsilon) if released and groups else None  # no groups: nothing to release
    share = epsilon / together
    return Plan(question, epsilon, share, contribution, groups, released, tuple(sources), sql, event, digest, notes)


def _contribution(table: Table, asked: int | None) -> int:
    if table.public or table.unit is None:
        raise AssertionError("public tables are asked by plain.py")
    if isinstance(table.unit, UnitJoin):
        raise QueryError("a person behind a foreign key is not supported yet")
    if not isinstance(table.rows_per_unit, int):
        raise QueryError('rows_per_unit = "auto" is not supported yet', hint="Declare a number in the policy.")
    if asked is None:
        return table.rows_per_unit
    lowered = whole(asked, "rows_per_unit", 1)
    if lowered > table.rows_per_unit:
        raise QueryError(f"rows_per_unit may only be lowered: the policy says {table.rows_per_unit}", sqlstate="22023")
    return lowered


def _aggregates(question: Question) -> list[Aggregate]:
    """The different aggregates of the question, in the order in which they are met."""
    found: list[Aggregate] = []

    def walk(node: Node) -> None:
        if isinstance(node, Aggregate):
            if node not in found:
                found.append(node)
            return
        for child in children(node):
            walk(child)

    for _, node in question.items:
        walk(node)
    for other in ([question.having] if question.having is not None else []) + [s.node for s in question.order]:
        walk(other)
    return found


def _bundles(aggregates: list[Aggregate]) -> tuple[list[Bundle], list[tuple[Aggregate, Source]]]:
    """Bundles, each once, and from which each aggregate comes; AVG, SUM and COUNT of one x share the two ends."""
    bundles: list[Bundle] = []
    sources: list[tuple[Aggregate, Source]] = []
    for aggregate in aggregates:
        beside = {other.name for other in aggregates if other.arg == aggregate.arg and other.where == aggregate.where}
        bundle, formula = AGGREGATES[aggregate.name].bundle(aggregate), aggregate.name
        if bundle.length == 0:  # a constant of the schema: nothing to release (semantics 1.2)
            sources.append((aggregate, Source(-1, "zero")))
            continue
        if (
            aggregate.arg is not None
            and ("avg" in beside or beside >= {"sum", "count"})
            and aggregate.name != "count_persons"
        ):
            facts = aggregate.arg.facts
            if facts.exact and facts.bounded and facts.low != facts.high:
                bundle, formula = mean.bundle(aggregate), f"{aggregate.name} of ends"
            elif aggregate.name == "avg":
                bundle, formula = AGGREGATES["count"].bundle(aggregate), "constant"
        if bundle not in bundles:
            bundles.append(bundle)
        sources.append((aggregate, Source(bundles.index(bundle), formula)))
    return bundles, sources


def _clip(table: Table, bundles: list[Bundle], aggregates: list[Aggregate], contribution: int) -> Fraction | None:
    """A release that is one SUM and nothing else clips the person's vector of group sums instead (semantics 3.1f)."""
    if len(bundles) != 1 or len(aggregates) != 1 or aggregates[0].name != "sum":
        return None
    arg = aggregates[0].arg
    default = contribution * bundles[0].length
    declared = table.sum_per_unit.get(arg.name, default) if isinstance(arg, Column) else default
    return None if table.rows_per_unit == 1 and declared >= default else min(declared, default)


def _together(bundles: list[Bundle], question: Question) -> int:
    """How many bundles one person can feed at once: by the longest row (semantics 3.2); counts of persons add up.

    Where a person has one row, what she feeds is what her row feeds. Otherwise each of her rows, weighted, feeds at
    most so many, and her weights add up to C; but her rows may feed different counts of persons, each in full.
    """
    by_row = [b for b in bundles if not b.person or question.table.rows_per_unit == 1]
    return longest_row(by_row, question.where, question.table) + len(bundles) - len(by_row)


def _sensitivity(
    bundle: Bundle, contribution: int, groups: int, *, adjacency: Adjacency, clip: Fraction | None, every: bool
) -> Fraction:
    """What one person can move a bundle by, in L1 over all groups.

    Under replace, a single sum that cannot be negative moves by its norm only; but where bundles share a price because
    no row feeds two, she may leave one and enter another, so that holds only where `every` bundle is paid for.
    """
    if bundle.person:
        norm = Fraction(min(contribution, groups))
    else:
        norm = clip if clip is not None else contribution * bundle.length
    entries = 1 if every and groups == 1 and len(bundle.parts) == 1 else None
    return adjacency.sensitivity_l1(norm, entries=entries, nonnegative=bundle.nonnegative)


def _unit(bundle: Bundle, table: Table, clip: Fraction | None) -> Fraction:
    """The unit of the whole numbers that the engine adds up: the grid, or 2^-20 of it where rows are weighted."""
    grid = _grid(bundle)
    unit = grid if table.rows_per_unit == 1 and clip is None else grid / FINE
    if bundle.length / unit * _MOST_ROWS >= 1 << 126:
        raise QueryError(
            "the sums of this question might not fit into 127 bits",
            position=bundle.parts[0].position,
            hint="Declare narrower bounds or a coarser grid.",
        )
    return unit


def _grid(bundle: Bundle) -> Fraction:
    return common_grid(*(part.facts.grid for part in bundle.parts)) or Fraction(1)


# the engine's SQL
def _sql(question: Question, released: tuple[Released, ...], contribution: int, clip: Fraction | None) -> str:
    """Scan with domains enforced, filter, sums per person and group, the person's weight, sums per group."""
    table, bundles = question.table, [r.bundle for r in released]
    alone = table.rows_per_unit == 1
    parts = [(f"_p{i}_{j}", part, bundle) for i, bundle in enumerate(bundles) for j, part in enumerate(bundle.parts)]
    read: dict[str, Column] = {}
    for node in [*(p for _, p, _ in parts), *(k for _, k in question.keys)] + (
        [question.where] if question.where else []
    ):
        read |= columns_of(node)
    unit = str(table.unit)
    kept_rows = [f"{identifier(name)} IS NOT NULL" for name, column in table.columns.items() if not column.nulls]
    must = {name: None for name, column in table.columns.items() if not column.nulls}
    columns = [
        f"{enforced(table.columns[name], identifier(name), facts_of(table.columns[name]))} AS {identifier(name)}"
        for name in {**read, **must}
    ]
    for name in read | must:
        if name.lower() in ("_u", "_n", "_g", "_s") or name.lower().startswith(("_k", "_p")):
            raise QueryError(f'column "{name}" has a name that is needed for the work', hint="Rename it in the source.")
    keys = [identifier(name) for name, _ in question.keys]
    scan = f"SELECT {', '.join([f'{identifier(unit)} AS _u', *columns])} FROM {identifier(table.name)}"
    shown = [f"{expression(node)} AS {identifier(name)}" for name, node in question.keys]
    values = [f"{steps(part, _grid(bundle))} AS {identifier(name)}" for name, part, bundle in parts]
    conditions = ["_u IS NOT NULL", *kept_rows] + ([expression(question.where)] if question.where is not None else [])
    kept = f"SELECT {', '.join(['_u', *shown, *values])} FROM scan WHERE {' AND '.join(conditions)}"
    sums = [f"{'MAX' if b.person else 'SUM'}({identifier(name)}) AS {identifier(name)}" for name, _, b in parts]
    per_person = (
        f"SELECT {', '.join(['_u', *keys, 'COUNT(*) AS _n', *sums])} FROM kept GROUP BY {', '.join(['_u', *keys])}"
    )
    totals = ["SUM(_n) AS _n", "COUNT(*) AS _g"] + (
        [f"SUM(ABS({identifier(parts[0][0])})) AS _s"] if clip is not None else []
    )
    weight = f"SELECT _u, {', '.join(totals)} FROM person GROUP BY _u"
    weighted = [
        f"COALESCE(CAST(SUM(CAST(p.{identifier(name)} AS HUGEINT) * {_weight(b, contribution, clip, alone)}) "
        f"AS HUGEINT), 0) AS {identifier(name)}"
        for name, _, b in parts
    ]
    only = " WHERE w._n = 1" if alone else ""
    grouped = ", ".join(f"p.{key}" for key in keys)
    tail = f" GROUP BY {grouped}" if keys else ""
    head = ", ".join([*(f"p.{key} AS {key}" for key in keys), *weighted])
    return (
        f"WITH scan AS ({scan}), kept AS ({kept}), person AS ({per_person}), weight AS ({weight}) "
        f"SELECT {head} FROM person AS p JOIN weight AS w ON p._u = w._u{only}{tail}"
    )


def _weight(bundle: Bundle, contribution: int, clip: Fraction | None, alone: bool) -> str:
    """The person's weight in units of 2^-20, toward zero; 1 where each person has one row."""
    if clip is not None:
        most = int(clip / _grid(bundle))
        return f"CASE WHEN w._s <= {most} THEN {FINE} ELSE ({FINE}::HUGEINT * {most}) // w._s END"
    if alone:
        return "1"
    counted = "w._g" if bundle.person else "w._n"
    return f"CASE WHEN {counted} <= {contribution} THEN {FINE} ELSE ({FINE}::HUGEINT * {contribution}) // {counted} END"


def _digest(policy: Policy, sql: str | None, groups: list[tuple[Any, ...]], released: tuple[Released, ...]) -> str:
    """What makes two questions the same one: the private part with its bounds, not the text (semantics 5.4)."""
    scales = [[str(r.sensitivity), str(r.unit)] for r in released]
    document = json.dumps([policy.digest, sql, [list(map(str, g)) for g in groups], scales], ensure_ascii=False)
    return hashlib.sha256(document.encode()).hexdigest()


def _notes(contribution: int, table: Table, clip: Fraction | None) -> tuple[tuple[str | None, str], ...]:
    """Printed whenever the policy allows bounding to bite, not when it did (semantics 4.4)."""
    if table.rows_per_unit == 1:
        return ((None, f"bias possible: who has more than one row in {table.name} is left out"),)
    if clip is not None:
        return ((None, f"bias possible: what one person adds is clipped at {show(clip)}"),)
    return ((None, f"bias possible: who has more than {contribution} rows counts as {contribution}"),)


# from noisy whole numbers to values
def noisy_of(released: Released, cells: tuple[int, ...]) -> Noisy:
    """Released whole numbers as values."""
    return Noisy(tuple(cell * released.unit for cell in cells), released.scale, released.unit)


def value_of(aggregate: Aggregate, source: Source, noisy: Noisy) -> Fraction | None:
    """An aggregate's number from its bundle."""
    if source.formula == "zero":
        return Fraction(0)
    if source.formula == "constant":
        assert aggregate.arg is not None
        return aggregate.arg.facts.low if noisy.values[0] > 0 else None
    if source.formula == "sum of ends":
        return mean.sum_of(aggregate, noisy)
    if source.formula == "count of ends":
        return mean.count_of(aggregate, noisy)
    return AGGREGATES[aggregate.name].finish(aggregate, noisy)


def spread_of(aggregate: Aggregate, source: Source, noisy: Noisy, confidence: Fraction) -> Interval:
    """An aggregate's interval from its bundle's law."""
    if source.formula in ("constant", "zero"):
        return None
    if source.formula == "sum of ends":
        return mean.spread_of_sum(aggregate, noisy, confidence)
    if source.formula == "count of ends":
        return mean.spread_of_count(aggregate, noisy, confidence)
    return AGGREGATES[aggregate.name].spread(aggregate, noisy, confidence)


def above(node: Node, names: dict[Aggregate, str]) -> Node:
    """The node over released columns: each aggregate replaced by the column that holds it."""
    if isinstance(node, Aggregate):
        return Column(names[node], node.facts, node.position)
    if isinstance(node, Call):
        return Call(node.name, tuple(above(arg, names) for arg in node.args), node.facts, node.extra, node.position)
    if isinstance(node, Over):
        return replace(
            node,
            args=tuple(above(arg, names) for arg in node.args),
            partition=tuple(above(arg, names) for arg in node.partition),
            order=tuple(replace(s, node=above(s.node, names)) for s in node.order),
        )
    return node
