"""Faults of one line each: the example that catches it, then module, old text and new text."""

# ruff: noqa: E501  a fault stands on one line
from __future__ import annotations

from typing import Any

BASE, BUNDLES, CUT, EMIT, PERSONS = (
    "aggregates.base",
    "bundles",
    "releases",
    "engines.duckdb.expressions",
    "engines.duckdb.per_unit",
)
DIFFERENT = "aggregates.distinct"
JOINS, PARTITION, PLAN, ROWS, SCAN, SELECT, WRITE = (
    "joins",
    "partition",
    "plan",
    "joint_sensitivity",
    "engines.duckdb.scans",
    "engines.duckdb.relations",
    "engines.duckdb.jobs",
)

_WEIGHT = "CASE WHEN {counted} <= {most} THEN {FINE} ELSE ({FINE}::HUGEINT * {most}) // {counted} END"
FAULTS: dict[str, tuple[Any, ...]] = {
    # one weight for each person
    "no weight": ("forty rows count as five", (WRITE, _WEIGHT, "{FINE}"),),
    "weight by the rows of the group": ("one weight over all groups", (WRITE, 'counted, most = "w._g" if bundle.person else "w._n"', 'counted, most = "w._g" if bundle.person else "p._n"'),),
    "weight rounded up": ("forty rows count as five", (WRITE, "* {most}) // {counted} END", "* {most}) // {counted} + 1 END"),),
    "weight by groups": ("forty rows count as five", (WRITE, "'COUNT(*) AS _n', *sums", "'COUNT(DISTINCT _u) AS _n', *sums"),),
    "rows of nobody kept": ("rows of nobody", (SELECT, 'for name in ["_u", *(identifier(prefix + name) for name in must)])', 'for name in ["1", *(identifier(prefix + name) for name in must)])'), (WRITE, "ON p._u = w._u", "ON p._u IS NOT DISTINCT FROM w._u")),
    "rows that must be known kept": ("columns that must be known", (SELECT, 'for name in ["_u", *(identifier(prefix + name) for name in must)])', 'for name in ["_u"])'),),
    "unit cut": ("units alike in the first six characters", (SELECT, "f'{unit} AS _u'", "f'SUBSTRING({unit}, 1, 6) AS _u'"),),
    "nobody left out": ("two rows where one is promised", (WRITE, 'only = " WHERE w._n = 1" if alone else ""', 'only = ""'),),
    "the fine unit forgotten": ("forty rows count as five", (CUT, "unit = grid if self.alone and clip is None else grid / FINE", "unit = grid"),),
    "empty sums are NULL": ("four filters, one price", (WRITE, 'f"COALESCE(CAST(SUM(', 'f"COALESCE(NULL, CAST(SUM('), (WRITE, "AS HUGEINT), 0) AS", "AS HUGEINT)) AS")),
    # domains
    "no clamp": ("above the bound",
        (SCAN, "LEAST(GREATEST({exact}, {low}), {high}) END", "{exact} END"),
        (SCAN, " WHEN {near} >= {last} THEN {high}", ""),
    ),
    "NaN kept": ("not a number", (SCAN, "WHEN {near} IS NULL OR isnan({near}) THEN NULL", "WHEN {near} IS NULL THEN NULL"),),
    "keys outside of the list": ("a text outside of the list", (SCAN, "CASE WHEN {value} IN ({listed}) THEN {value} END", "{value}"),),
    "doubles believed": ("doubles beyond their interval", (EMIT, "LEAST(GREATEST({number}, {low}), {high})", "{number}"),),
    # what is paid
    "replace as add-remove": ("another group", (CUT, "self.adjacency.sensitivity_l1(norm, entries=entries, nonnegative=bundle.nonnegative)", "Fraction(norm)"),),
    "every entry is single": ("another group", (CUT, "entries = 1 if single and cells == 1 and len(bundle.parts) == 1 else None", "entries = 1"),),
    "single, by the number of prices": ("from one filter into another, beside a median", (CUT, "single = self.together ==", "single = self.entries =="),),
    "single, though she may move": ("from one filter into another", (CUT, "entries = 1 if single and", "entries = 1 if"),),
    "nothing is negative": ("another sign", (BASE, "return self.whole or all(part.facts.low is not None and part.facts.low >= 0 for part in self.parts)", "return True"),),
    "clip without sizes": ("a sum of both signs", (WRITE, "SUM(ABS({parts[0][0]})) AS _s", "ABS(SUM({parts[0][0]})) AS _s"),),
    "clip of the net sum of a group": ("a sum of both signs", (WRITE, "({FINE}::HUGEINT * {most}) // w._s END", "({FINE}::HUGEINT * {most}) // ABS(p._p0_0) END"), (WRITE, "CASE WHEN w._s <= {most}", "CASE WHEN ABS(p._p0_0) <= {most}")),
    "clip rounded up": ("a clip between two steps", (WRITE, "most = int(self.clip / grid_of(bundle))", "most = -int(-self.clip // grid_of(bundle))"),),
    "clip not priced": ("a sum of both signs", (CUT, "norm = clip if clip is not None else self.bound * bundle.length", "norm = clip / 2 if clip is not None else self.bound * bundle.length"),),
    "the second aggregate is free": ("seven rows, weights are rounded down", (CUT, "return max(1, self.together + len(self.extras))", "return 1"), (CUT, "share = made[0].share * noisy", "share = made[0].share"),),
    "the range for the size": ("largest, not the range", ("aggregates.total", "aggregate.arg.facts.largest", "aggregate.arg.facts.high - aggregate.arg.facts.low"),),
    "half of a mean": ("seven rows, weights are rounded down", ("aggregates.mean", "for end in ends), width)", "for end in ends), width / 2)"),),
    "persons by rows": ("persons with many rows", (WRITE, 'counted, most = "w._g" if bundle.person', 'counted, most = "w._n" if bundle.person'),),
    "persons without weight": ("persons in many groups", (WRITE, 'counted, most = "w._g" if bundle.person', 'counted, most = "1" if bundle.person'),),
    "persons whole in any number of groups": ("persons in many groups", (CUT, "return not self.gaussian and cells <= self.bound", "return not self.gaussian"),),
    "persons are rows": ("persons in many groups", (WRITE, "'MAX' if b.person else 'SUM'", "'SUM'"),),
    "persons once in all groups": ("persons in many groups", (CUT, "norm = min(self.bound, Fraction(cells))", "norm = Fraction(1)"),),
    "persons by the longest row": ("persons behind two filters", (BUNDLES, "if not b.person or alone]", "]"),),
    # the longest row
    "no known text is tried": ("a text that is known", (ROWS, 'yield "".join(sorted(str(c) for c in constants)) + "?"', "yield None")),
    "no value beside a constant": ("between two constants", (ROWS, "tried |= {below - grid, below, below + grid}", "tried |= {below}"),),
    "no bound is tried": ("constants far outside, in CASE", (ROWS, "for end in (facts.low, facts.high) if end is not None", "for end in ()"),),
    "at most is below": ("on a constant", (ROWS, '"<=": left <= other', '"<=": left < other'),),
    "NULL is not tried": ("unknown, in CASE", (ROWS, "if facts.nullable:\n        yield None", "if False:\n        yield None"),),
    "what is not understood is false": ("a truth in several conditions", (ROWS, "product((True, False, None), repeat", "product((False, None), repeat"),),
    "what may be missing is there": ("who has no visit stays, or has a letter", (JOINS, "return replace(found, facts=replace(found.facts, nullable=True), unit=unit)", "return replace(found, unit=unit)"),),
    # joins
    "a join of anybody": ("rows of one person meet", (SELECT, 'conditions = ["l._u = r._u"] if relation.by_person else []', "conditions = []"),),
    "a join of numbers": ("units that leading zeros tell apart", (SELECT, '["l._u = r._u"]', '["TRY_CAST(l._u AS BIGINT) = TRY_CAST(r._u AS BIGINT)"]'),),
    "a join of shown units": ("units alike as far as they are shown", (SELECT, '["l._u = r._u"]', '["SUBSTRING(l._u, 1, 6) = SUBSTRING(r._u, 1, 6)"]'),),
    "the left unit in FULL": ("who is in one table only", (SELECT, '"COALESCE(l._u, r._u)"', '"l._u"'),),
    "one person of all in FULL": ("who is in one table only", (SELECT, '"COALESCE(l._u, r._u)"', "\"COALESCE(l._u, 'b')\""),),
    "a key for a person": ("a unit behind a key", (SELECT, 'return f"{owner}.{identifier(str(table.unit))}", source', 'return (f"t.{identifier(scan.table.unit.column)}" if scan.through else f"t.{identifier(str(table.unit))}"), source'),),
    "the key of the way for a person": ("two keys on the way", (SELECT, 'return f"{owner}.{identifier(str(table.unit))}", source', 'return (f"k0.{identifier(\'k\')}" if len(scan.through) > 1 else f"{owner}.{identifier(str(table.unit))}"), source'),),
    # persons who are somewhere
    "anybody exists": ("who has a visit", (SELECT, 'conditions = ["r._u = l._u"] if relation.by_person else []', "conditions = []"),),
    "nobody exists": ("who has none", (SELECT, 'conditions = ["r._u = l._u"] if relation.by_person else []', "conditions = []"),),
    "anybody's rows are taken out": ("in one table but not in the other", (SELECT, 'conditions = ["r._u = l._u"] if relation.by_person else []', "conditions = []"),),
    "each value once": ("each of her values once", (SELECT, "['_u', *by, *shown])} FROM ({below}) AS q GROUP BY {', '.join(['_u', *by])}", "['MIN(_u) AS _u', *by, *shown])} FROM ({below}) AS q GROUP BY {', '.join(by) or '()'}"),),
    # one person's own numbers
    "own numbers are not clamped": ("her own count", (PERSONS, 'return f"CAST({held} AS ', 'return f"CAST({number} AS '),),
    "own sums are not clamped": ("her own sum", (PERSONS, "sql = clamped(total, aggregate.facts)", "sql = total"),),
    "own counts are not clamped": ("her own different values", (PERSONS, "sql = clamped(f\"COUNT({'DISTINCT ' if name != 'count' else ''}{x}){where}\", aggregate.facts)", "sql = f\"COUNT({'DISTINCT ' if name != 'count' else ''}{x}){where}\""),),
    "windows are not clamped": ("her own running sum", (PERSONS, 'return clamped(f"CAST({call} AS HUGEINT)", over.facts)', 'return f"CAST({call} AS HUGEINT)"'),),
    "ranks are not clamped": ("her own rank", (PERSONS, 'return clamped(f"CAST({call} AS HUGEINT)", over.facts)', 'return f"CAST({call} AS HUGEINT)"'),),
    "windows over all persons": ("her own rank", (PERSONS, '["_u", *(expression(p) for p in over.partition)]', '["1", *(expression(p) for p in over.partition)]'),),
    "own groups by the shown unit": ("persons of one shown unit", (SELECT, 'groups = (["_u"] if private else []) + by', 'groups = (["SUBSTRING(_u, 1, 6)"] if private else []) + by'), (SELECT, 'return f"SELECT {_list(relation, shown)} FROM ({inner}) AS q{tail}"', "return f\"SELECT {_list(relation, shown, 'MIN(_u)')} FROM ({inner}) AS q{tail}\"")),
    # keys
    "no limit of keys": ("open keys", (WRITE, 'f" <= {self.limits.keys}), "', 'f" <= 1000), "'),),
    "the limit of keys in each key": ("open keys", (WRITE, "row_number() OVER (PARTITION BY _u ORDER BY", "row_number() OVER (PARTITION BY _u, {names[0]} ORDER BY"),),
    "rows are people": ("open keys of many rows", (WRITE, "COUNT(*) AS n FROM few", "COUNT(*) AS n FROM kept"),),
    "one key is paid for": ("open keys", (CUT, "self.terms.delta / self.open_sets, 1 if self.alone else self.keys_per_unit", "self.terms.delta / self.open_sets, 1"),),
    "keys are free": ("open keys", (CUT, "terms.epsilon - spent_on_keys[0]", "terms.epsilon"),),
    "keys are free under Gaussian noise": ("open keys and a norm", (CUT, "return self.terms.rho - self.for_keys[1]", "return self.terms.rho"),),
    "keys of each set are free": ("an open key and all of them", (CUT, "KeySelection(self.for_keys[0] / self.open_sets", "KeySelection(self.for_keys[0]"),),
    "delta for each set": ("an open key and all of them", (CUT, "self.terms.delta / self.open_sets", "self.terms.delta"),),
    "an open key cannot be left": ("another open key", (CUT, "entries = 1 if single and cells == 1", "entries = 1 if cells == 1"),),
    "persons under one key only": ("other open keys", (CUT, "return self.keys_per_unit * dense if every is None else every", "return dense if every is None else every"),),
    # what is not a sum
    "different values without limit": ("different values", (WRITE, 'f" <= {most}) SELECT', 'f" <= 1000) SELECT'),),
    "different values are one": ("different values", (CUT, "moved = self.adjacency.sensitivity_l1(kept * size, entries", "moved = self.adjacency.sensitivity_l1(size, entries"),),
    "a list that is too short": ("different values of a list", (DIFFERENT, "min(kept, listed_values * cells)", "min(kept, listed_values * cells - 1)"),),
    "one list for all groups": ("different values of a list by group", (DIFFERENT, "min(kept, listed_values * cells)", "min(kept, listed_values)"),),
    "nothing comes of the unknown": ("different values of a function", (DIFFERENT, "[size_of(column.facts) for column", "[size_of(replace(column.facts, nullable=False)) for column"),),
    "a norm of one group's values": ("a norm of different values of a list", (CUT, "length = self._in_one_group(aggregate, kept) * kept * size**2", "length = self._in_one_group(aggregate, kept) ** 2 * size**2"),),
    "places without weight": ("a most frequent value", (WRITE, 'weight = f"CASE WHEN w._n <= {most} THEN {FINE} ELSE ({FINE}::HUGEINT * {most}) // w._n END"', 'weight = f"{FINE}"'),),
    "a choice is free": ("a most frequent value", (CUT, "return [*events, *(law.event for law in laws)]", "return [*events, *(law.event for law in laws[1:])]"),),
    # cells
    "who has two rows is in a cell": ("who has two rows is in no cell", (SELECT, '{unit}) = 1" if relation.single', '{unit}) > 0" if relation.single'),),
    "others say who is in a cell": ("cells of both sides", (SELECT, "COUNT(*) OVER (PARTITION BY {unit})", "COUNT(*) OVER (PARTITION BY _u)"),),
    "one cell of a union": ("cells of two parts", (PARTITION, "isinstance(relation, UnionAll) or", "False and"),),
    "cells of the first stage": ("cells of two stages", (PARTITION, "    for release in releases:", "    for release in releases[:1]:"),),
    # sets, norms and stages
    "sets cost once": ("groups and their total", (CUT, "/ (self.entries * len(self.release.sets))", "/ self.entries"), (CUT, "made[0].share * noisy * len(self.release.sets)", "made[0].share * noisy"),),
    "sets cost once under Gaussian noise": ("a norm over sets", (CUT, "/ (self.entries * len(self.release.sets))", "/ self.entries"), (CUT, "made[0].share * noisy * len(self.release.sets)", "made[0].share * noisy"),),
    "a norm by rows": ("a norm over groups", (WRITE, 'squared, limit = "w._g" if bundle.person else "w._q"', 'squared, limit = "w._g" if bundle.person else "w._n"'),),
    "a norm by groups": ("a norm over groups", (WRITE, 'squared, limit = "w._g" if bundle.person else "w._q"', 'squared, limit = "w._g"'),),
    "a norm without its square": ("a norm over groups", (CUT, "squared = (self.bound * bundle.length) ** 2", "squared = self.bound * bundle.length"),),
    "a norm of persons without its square": ("a norm of persons", (CUT, "squared = min(self.bound**2, Fraction(cells))", "squared = min(self.bound, Fraction(cells))"),),
    "a root rounded down": ("a norm between two numbers", (WRITE, "CEIL(SQRT(CAST({squared} AS DOUBLE)) * {FINE} * 1.000000001)", "FLOOR(SQRT(CAST({squared} AS DOUBLE))) * {FINE}"),),
    "half a variance": ("a norm of two sums", (CUT, "moved / (2 * share), unit, GAUSSIAN", "moved / (4 * share), unit, GAUSSIAN"),),
    "replace as add-remove under Gaussian noise": ("a norm under replace", (CUT, "self.adjacency.sensitivity_l2_squared(squared, entries=entries, nonnegative=bundle.nonnegative)", "Fraction(squared)"),),
    # running totals
    "totals under replace as under add-remove": ("running totals with a norm under replace", (CUT, "moved = self.adjacency.sensitivity_l1(norm)\n", "moved = Fraction(norm)\n"),),
    "totals with a norm of rows": ("running totals with a norm", (CUT, "by_norm = self.gaussian and not any(r.running for r in released)", "by_norm = self.gaussian"),),
    "totals by the norm": ("running totals with a norm", (CUT, "norm = min(Fraction(self.most), Fraction(cells)) if r.bundle.person else self.most * r.bundle.length", "norm = Fraction(1)"),),
    "totals of persons as one": ("running totals of persons", (CUT, "norm = min(Fraction(self.most), Fraction(cells)) if r.bundle.person else self.most", "norm = Fraction(1) if r.bundle.person else self.most"),),
    "totals in whole values": ("running totals", (CUT, "Running(reading, r.sensitivity / r.unit, epsilon=share)", "Running(reading, r.sensitivity, epsilon=share)"),),
    "totals pay for all bundles": ("two running totals", (CUT, "Running(reading, r.sensitivity / r.unit, epsilon=share)", "Running(reading, r.sensitivity / r.unit, epsilon=share * self.entries)"),),
    "every stage pays all": ("above the mean", (PLAN, "each = epsilon / count if law == GEOMETRIC", "each = epsilon if law == GEOMETRIC"),),
    "the first stage is free": ("above the mean", (PLAN, "events = [event for part in cuts for event in part.events]", "events = [event for part in cuts[1:] for event in part.events]"),),
}  # fmt: skip
