"""The test that matters: what one person can move, on the engine's own SQL, is at most what the scales pay for.

Neighbours are made of raw rows: all rows of one identifier as it stands in the file are taken away, or become others.
"""

# ruff: noqa: E501  a fault stands on one line
from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato.errors import QueryError
from sfumato.sql.aggregates import AGGREGATES
from sfumato.sql.bind import bind
from sfumato.sql.functions import FUNCTIONS
from sfumato.sql.parse import ALLOWED, parse
from sfumato.sql.plan import plan
from tests.laws import neighbours, sqlgen
from tests.laws.directed import EXAMPLES, ORACLES, planned
from tests.laws.mutants import planted
from tests.laws.neighbours import Broken

SEEDS = st.integers(0, 2**40)


def check(seed: int) -> None:
    asked = sqlgen.case(seed)
    try:
        neighbours.check(asked.world, asked.plan, seed)
    except Broken as broken:
        raise Broken(f"{broken}\n  {asked!r}\n  {asked.world.types}\n  {asked.plan.sql}") from None


@settings(max_examples=100, deadline=None, database=None, derandomize=True)
@given(SEEDS)
def test_neighbours_differ_by_at_most_the_claim(seed: int) -> None:
    """For a random policy, random rows and a random question, on the emitted SQL, exactly, in Fractions:

    over bundles, (L1 distance over all groups) / scale is at most epsilon; every group is one of the plan's; nothing
    depends on the order of rows or on threads; the engine never raises; each person's vector is a function of her own
    rows: the sums are the sum over persons, and taking one away takes her own vector and nothing else.
    """
    check(seed)


@pytest.mark.slow
def test_neighbours_differ_by_at_most_the_claim_on_many_questions() -> None:
    """The same for half an hour of seeds, or as many as SFUMATO_SEEDS says."""
    for seed in range(int(os.environ.get("SFUMATO_SEEDS", "10000"))):
        check(seed)


OPEN: dict[str, str] = {}
"""Examples that show an open fault, with the reason; an example that holds again must leave this list."""


def marked(examples: dict[str, object]) -> list[object]:
    return [
        pytest.param(name, marks=pytest.mark.xfail(reason=OPEN[name], raises=Broken, strict=True))
        if name in OPEN
        else name
        for name in examples
    ]


@pytest.mark.parametrize("name", marked(EXAMPLES))
def test_the_claim_holds_where_each_rule_bites(name: str) -> None:
    EXAMPLES[name].check()


@pytest.mark.parametrize("name", marked(ORACLES))
def test_no_row_makes_the_engine_fail(name: str) -> None:
    """An error would be a bit without noise: the check fails if the engine raises. A refusal knows no rows, and is fine."""
    question = ORACLES[name]
    try:
        planned(question.text, question.made)
    except QueryError:
        return
    question.check()


def test_the_claim_is_tight() -> None:
    """Were the scales generous, the check above could not fail: most rules are met with equality, up to 2^-18."""
    close = [name for name in EXAMPLES if name not in OPEN and EXAMPLES[name].check() >= 1 - 2**-18]
    assert len(close) > len(EXAMPLES) // 2, close


# the generator
def test_the_generator_reaches_everything() -> None:
    """Every kind of node that the parser admits, every function, every aggregate, on questions that are answered."""
    wanted = (set(ALLOWED) - sqlgen.NOT_ANSWERED) | {("function", name) for name in FUNCTIONS}
    wanted |= {("aggregate", name) for name in AGGREGATES}
    wanted |= {("window", name) for name in ("row_number", "rank", "dense_rank", "sum", "avg", "min", "max", "count")}
    wanted |= {("extra", "cast", kind) for kind in ("integer", "double", "text", "date")}
    met: dict[object, int] = {}
    answered = refused = 0
    for seed in range(2000):
        asked = sqlgen.case(seed)
        answered, refused = answered + 1, refused + asked.refused
        for kind in sqlgen.reached(asked):
            met[kind] = met.get(kind, 0) + 1
        if seed >= 300 and wanted <= met.keys():
            break
    print(f"{answered} answered, {refused} refused")  # noqa: T201  for pytest -s
    for kind in sorted(met, key=lambda k: met[k]):
        print(f"{met[kind]:6} {getattr(kind, '__name__', kind)}")  # noqa: T201  the same
    assert wanted <= met.keys(), [getattr(kind, "__name__", kind) for kind in wanted - met.keys()]


@settings(max_examples=60, deadline=None, database=None)
@given(SEEDS)
@example(3)
def test_planning_is_a_function_of_question_and_policy(seed: int) -> None:
    """Acceptance, refusal, its words, notes, scales, digest and event: twice the same, with no data in reach."""
    asked = sqlgen.case(seed)
    again = plan(bind(parse(asked.text), asked.world.policy, sqlgen.TODAY), asked.world.policy, asked.plan.epsilon)
    if again.contribution == asked.plan.contribution:
        assert again == asked.plan


# faults: the example that catches each, then module, old text and new text
BASE, EMIT, PLAN, ROWS, SCAN = "aggregates.base", "emit", "plan", "rows", "scan"
FAULTS: dict[str, tuple[Any, ...]] = {
    "no weight": ("forty rows count as five", (PLAN, "CASE WHEN {counted} <= {contribution} THEN {FINE} ELSE ({FINE}::HUGEINT * {contribution}) // {counted} END", "{FINE}"),),
    "weight by the rows of the group": ("one weight over all groups", (PLAN, 'if bundle.person else "w._n"', 'if bundle.person else "p._n"'),),
    "weight rounded up": ("forty rows count as five", (PLAN, "* {contribution}) // {counted} END", "* {contribution}) // {counted} + 1 END"),),
    "weight by groups": ("forty rows count as five", (PLAN, "'COUNT(*) AS _n'", "'COUNT(DISTINCT _u) AS _n'"),),
    "conditions after the weight": ("a condition first",
        (PLAN, "'COUNT(*) AS _n'", "'MAX(_all) AS _n'"),
        (PLAN, "f\"SELECT {', '.join(['_u', *shown", "f\"SELECT {', '.join(['_u, _all', *shown"),
        (PLAN, "f'{identifier(unit)} AS _u'", "f'{identifier(unit)} AS _u, COUNT(*) OVER (PARTITION BY {identifier(unit)}) AS _all'"),
    ),
    "conditions before the domain": ("a key beyond the domain",
        (PLAN, "f'{identifier(unit)} AS _u', *columns])} FROM {identifier(table.name)}\"", "f'{identifier(unit)} AS _u', *columns])} FROM {identifier(table.name)} WHERE {'TRUE' if question.where is None else expression(question.where)}\""),
        (PLAN, "([expression(question.where)] if question.where is not None else [])", "[]"),
    ),
    "no clamp": ("above the bound",
        (SCAN, "LEAST(GREATEST({exact}, {low}), {high}) END", "{exact} END"),
        (SCAN, "WHEN {near} >= {float(facts.high)!r} THEN {high} ", ""),
    ),
    "NaN kept": ("not a number", (SCAN, "WHEN {near} IS NULL OR isnan({near}) THEN NULL", "WHEN {near} IS NULL THEN NULL"),),
    "rows of nobody kept": ("rows of nobody", (PLAN, '"_u IS NOT NULL", *kept_rows', '"TRUE", *kept_rows'), (PLAN, "ON p._u = w._u", "ON p._u IS NOT DISTINCT FROM w._u")),
    "unit cut": ("units alike in the first six characters", (PLAN, "f'{identifier(unit)} AS _u'", "f'SUBSTRING({identifier(unit)}, 1, 6) AS _u'"),),
    "replace as add-remove": ("another group", (PLAN, "adjacency.sensitivity_l1(norm, entries=entries, nonnegative=bundle.nonnegative)", "Fraction(norm)"),),
    "every entry is single": ("another group", (PLAN, "entries = 1 if every and groups == 1 and len(bundle.parts) == 1 else None", "entries = 1"),),
    "nothing is negative": ("another sign", (BASE, "return all(part.facts.low is not None and part.facts.low >= 0 for part in self.parts)", "return True"),),
    "clip without sizes": ("a sum of both signs", (PLAN, "SUM(ABS({identifier(parts[0][0])})) AS _s", "ABS(SUM({identifier(parts[0][0])})) AS _s"),),
    "clip of the net sum of a group": ("a sum of both signs", (PLAN, "({FINE}::HUGEINT * {most}) // w._s END", "({FINE}::HUGEINT * {most}) // ABS(p._p0_0) END"), (PLAN, "CASE WHEN w._s <= {most}", "CASE WHEN ABS(p._p0_0) <= {most}")),
    "clip rounded up": ("a clip between two steps", (PLAN, "most = int(clip / _grid(bundle))", "most = -int(-clip // _grid(bundle))"),),
    "clip not priced": ("a sum of both signs", (PLAN, "norm = clip if clip is not None else contribution * bundle.length", "norm = clip / 2 if clip is not None else contribution * bundle.length"),),
    "the second aggregate is free": ("seven rows, weights are rounded down", (PLAN, "together = max(1, _together(bundles, question))", "together = 1"),),
    "the range for the size": ("largest, not the range", ("aggregates.total", "aggregate.arg.facts.largest", "aggregate.arg.facts.high - aggregate.arg.facts.low"),),
    "half of a mean": ("seven rows, weights are rounded down", ("aggregates.mean", "for end in ends), width)", "for end in ends), width / 2)"),),
    "persons by rows": ("persons with many rows", (PLAN, 'counted = "w._g" if bundle.person', 'counted = "w._n" if bundle.person'),),
    "persons without weight": ("persons in many groups", (PLAN, 'counted = "w._g" if bundle.person', 'counted = "1" if bundle.person'),),
    "persons are rows": ("persons in many groups", (PLAN, "'MAX' if b.person else 'SUM'", "'SUM'"),),
    "persons once in all groups": ("persons in many groups", (PLAN, "norm = Fraction(min(contribution, groups))", "norm = Fraction(1)"),),
    "keys outside of the list": ("a text outside of the list", (SCAN, "CASE WHEN {value} IN ({listed}) THEN {value} END", "{value}"),),
    "nobody left out": ("two rows where one is promised", (PLAN, 'only = " WHERE w._n = 1" if alone else ""', 'only = ""'),),
    "the fine unit forgotten": ("forty rows count as five", (PLAN, "unit = grid if table.rows_per_unit == 1 and clip is None else grid / FINE", "unit = grid"),),
    "doubles believed": ("doubles beyond their interval", (EMIT, "LEAST(GREATEST({number}, {low}), {high})", "{number}"),),
    "empty sums are NULL": ("four filters, one price", (PLAN, 'f"COALESCE(CAST(SUM(', 'f"COALESCE(NULL, CAST(SUM('), (PLAN, "AS HUGEINT), 0) AS", "AS HUGEINT)) AS")),
    "single, though she may move": ("from one filter into another", (PLAN, "entries = 1 if every and", "entries = 1 if"),),
    "persons by the longest row": ("persons behind two filters", (PLAN, "if not b.person or question.table.rows_per_unit == 1]", "]"),),
    "no known text is tried": ("a text that is known", (ROWS, 'yield "".join(sorted(str(c) for c in constants)) + "?"', "yield None")),
    "no value beside a constant": ("between two constants", (ROWS, "tried |= {below - grid, below, below + grid}", "tried |= {below}"),),
    "no bound is tried": ("constants far outside", (ROWS, "for end in (facts.low, facts.high) if end is not None", "for end in ()"),),
    "at most is below": ("on a constant", (ROWS, '"<=": left <= other', '"<=": left < other'),),
    "NULL is not tried": ("unknown", (ROWS, "if facts.nullable:\n        yield None", "if False:\n        yield None"),),
    "what is not understood is false": ("a truth that is known", (ROWS, "product((True, False, None), repeat", "product((False, None), repeat"),),
    "rows that must be known kept": ("columns that must be known", (PLAN, '"_u IS NOT NULL", *kept_rows', '"_u IS NOT NULL"'),),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_mutations_of_the_plan_are_caught(fault: str) -> None:
    """Each fault, planted in the source, breaks the claim on the example that is named; and not by failing to run."""
    name, *faults = FAULTS[fault]
    with planted(*faults) as faulty, pytest.raises(Broken) as broken:
        EXAMPLES[name].check(faulty)
    assert "the engine raised" not in str(broken.value)


def test_the_planter_plants_nothing_by_itself() -> None:
    """The same examples hold where nothing is planted."""
    with planted() as afresh:
        for name, question in EXAMPLES.items():
            if name not in OPEN:
                question.check(afresh)
