"""Random policies, random rows for them and random questions over everything that the parser admits.

All of it is a function of one whole number: a failure is reprinted by its seed. Rows are texts, as a careless file
holds them, and become typed by the physical type that a column happens to have: what does not fit is NULL there, and
what fits may still be outside of every declared domain.
"""

# ruff: noqa: E501  an example stands on one line
from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import Any

from sqlglot import exp

from sfumato.errors import QueryError
from sfumato.policy import Policy, from_dict
from sfumato.sql.bind import bind
from sfumato.sql.parse import ALLOWED, parse
from sfumato.sql.plan import Plan, plan
from sfumato.sql.tree import Aggregate, Call, Node, Over, children

TODAY = date(2024, 6, 1)
_EPSILON = Fraction(1)

NOT_ANSWERED = {exp.WindowSpec, exp.DateTrunc, exp.If}
"""Kinds that no answered question holds by itself: frames are refused, date_trunc is a TimestampTrunc in PostgreSQL's
dialect, and IF stands only inside CASE, where the walk below meets it as a branch."""

# columns: what the owner may declare, the types that files may have, and what may stand in them
_SPECIAL = [None, "", "NaN", "inf", "-inf", "abc", "1e400", "-1e300", "1e19", "99999999999999999999999999999999999999"]
_EXTREME = ["9223372036854775807", "-9223372036854775808", "-9223372036854775807", "4611686018427387904"]
_INTEGERS = ["0", "1", "2", "3", "5", "7", "-1", "-5", "-6", "10", "11", "999", "-999", " 7", "2.5", "-2.5", "3.7", "1e1"]
_DECIMALS = ["0", "0.005", "-0.005", "0.015", "0.025", "1.99", "1.995", "2.001", "-0.99", "0.3", "49.99", "100.5", "-70"]
_DAYS = [
    None, "2024-01-31", "2024-02-29", "2023-12-31", "2024-12-31", "2030-01-01", "1900-01-01", "infinity", "-infinity",
    "2024-02-30", "x", "0001-01-01", "9999-12-31", "5000000-01-01", "290309-12-23 (BC)", "5881580-07-10",
]  # fmt: skip
_MOMENTS = [f"{day} 23:59:59.999999" if day and day[:2] in ("20", "19") else day for day in _DAYS] + ["2024-03-01 00:30:00"]
_TRUTHS = [None, "true", "false", "t", "0", "1", "yes", "maybe"]
_TEXTS = [None, "a", "b", "A", " b", "a ", "", "c", "overlong", "abcd", "abce", "ß", "İ", "ŉn", "e\u0301", "%", "_", "\\", "it's", '"']  # fmt: skip
_LISTED = ["a", "b", "A", " b", ""]

_KINDS: dict[str, tuple[list[dict[str, Any]], list[str], list[str | None]]] = {
    "i": (
        [
            {"type": "integer", "min": -5, "max": 10},
            {"type": "integer", "min": 0, "max": 3},
            {"type": "integer", "min": -9, "max": -2},
            {"values": [3, 1, -6]},
        ],
        ["BIGINT", "SMALLINT", "HUGEINT", "DOUBLE", "DECIMAL(12, 2)", "VARCHAR"],
        [*_INTEGERS, *_INTEGERS, *_SPECIAL, *_EXTREME],
    ),
    "j": (
        [
            {"type": "integer"},
            {"type": "integer", "min": -(2**63), "max": 2**63 - 1},
            {"type": "integer", "min": -(2**62) + 1, "max": 2**62},
            {"type": "integer", "min": 0, "max": 10**15},
        ],
        ["BIGINT", "HUGEINT", "DOUBLE", "VARCHAR"],
        [*_INTEGERS, *_SPECIAL, *_EXTREME, *_EXTREME],
    ),
    "m": (
        [
            {"type": "decimal", "min": -1, "max": 2, "grid": "0.01"},
            {"type": "decimal", "min": 0, "max": 1, "grid": "0.05"},
            {"type": "decimal", "min": 0, "max": 100, "grid": 1},
            {"type": "decimal", "min": -50, "max": 50, "grid": 10},
            {"type": "decimal", "min": -1, "max": "0.5"},
        ],
        ["DECIMAL(18, 4)", "DOUBLE", "FLOAT", "BIGINT", "VARCHAR", "DECIMAL(38, 10)"],
        [*_DECIMALS, *_DECIMALS, *_SPECIAL],
    ),
    "n": (
        [
            {"type": "decimal"},
            {"type": "decimal", "min": 0, "max": 10**25, "grid": "0.01"},
            {"type": "decimal", "min": -(10**37), "max": 10**37, "grid": 1},
            {"type": "decimal", "min": 0, "max": 1, "grid": "1e-20"},
        ],
        ["DECIMAL(38, 4)", "DOUBLE", "VARCHAR", "HUGEINT"],
        [*_DECIMALS, *_SPECIAL, *_EXTREME, "1e24", "9999999999999999999999.99"],
    ),
    "f": (
        [{"type": "double", "min": -2, "max": 2, "grid": "0.5"}, {"type": "double"}, {"type": "double", "min": 0, "max": 9, "grid": "0.1"}],
        ["DOUBLE", "FLOAT", "VARCHAR", "DECIMAL(9, 3)"],
        [*_DECIMALS, *_SPECIAL, "1e308", "5e-324"],
    ),
    "d": (
        [{"type": "date", "min": date(2023, 11, 1), "max": date(2024, 12, 31)}, {"type": "date"}],
        ["DATE", "VARCHAR", "TIMESTAMP"],
        [*_DAYS, "2024-01-01", "2024-05-05", "2024-01-07"],
    ),
    "t": (
        [{"type": "timestamp"}, {"type": "timestamp"}],
        ["TIMESTAMP", "VARCHAR", "DATE"],
        list(_MOMENTS),
    ),
    "b": ([{"type": "boolean"}, {"values": [True]}], ["BOOLEAN", "VARCHAR", "INTEGER"], list(_TRUTHS)),
    "s": ([{"values": _LISTED}, {"values": ["A", "ß"]}], ["VARCHAR"], [*_TEXTS, *_LISTED, *_LISTED]),
    "o": ([{"type": "text", "max_length": 3}, {"type": "text", "max_length": 1}], ["VARCHAR"], list(_TEXTS)),
}  # fmt: skip
_UNITS = {
    "text": ("VARCHAR", ["1", "01", " 1", "1 ", "abcdefg", "abcdefh", "a", "A", "ß", "", None]),
    "integer": ("VARCHAR BIGINT", ["1", "01", " 1", "+1", "2", "3", "-4", "9223372036854775807", "5", "6", None]),
}


@dataclass(frozen=True)
class World:
    """A policy, the physical types of its columns, rows, and for each person other rows that she might have had."""

    policy: Policy
    types: dict[str, str]
    rows: list[tuple[str | None, ...]]
    others: dict[str | None, list[list[tuple[str | None, ...]]]] = field(default_factory=dict)


def world(r: random.Random) -> World:
    """One table t with the unit u."""
    kind = r.choice(["text", "integer"])
    columns: dict[str, dict[str, Any]] = {"u": {"type": kind} | ({"max_length": 6} if kind == "text" else {})}
    types = {"u": r.choice(_UNITS[kind][0].split())}
    pools: dict[str, list[str | None]] = {}
    for letter in ["s", "b", "i", "m", *r.sample(sorted(_KINDS), 4)]:
        declared, physical, pool = _KINDS[letter]
        if letter not in columns:
            columns[letter] = {**r.choice(declared), **({"nulls": False} if r.random() < 0.15 else {})}
            types[letter], pools[letter] = r.choice(physical), pool
    rows = r.choice([1, 1, 2, 5])
    table: dict[str, Any] = {"unit": "u", "rows_per_unit": rows, "columns": columns}
    if r.random() < 0.4:
        bounded = [c for c in columns if c in "imf" and "min" in columns[c] and columns[c]["max"] != "0.5"]
        table["sum_per_unit"] = {c: r.choice(["0.5", 3, 1000]) for c in bounded}
    document = {
        "source": {"engine": "duckdb", "files": {"t": ":memory:"}},
        "data": {"id": "world"},
        "privacy": {"epsilon": 100, "adjacency": r.choice(["add-remove", "replace"])},
        "tables": {"t": _numbers(table)},
    }

    def some(unit: str | None, count: int) -> list[tuple[str | None, ...]]:
        return [(unit, *(r.choice(pools[c]) for c in pools)) for _ in range(count)]

    people = r.sample(_UNITS[kind][1], r.randint(3, 6))
    data = [row for unit in people for row in some(unit, r.choice([1, 1, 2, 3, 5, 12]))]
    others = {unit: [some(unit, r.choice([1, 2, 9]))] for unit in people if unit is not None}
    return World(from_dict(document), types, data, others)


def _numbers(value: Any) -> Any:
    """Decimals as people write them."""
    from decimal import Decimal

    if isinstance(value, dict):
        return {k: v if k in ("type", "unit") else _numbers(v) for k, v in value.items()}
    if isinstance(value, str):
        try:
            return Decimal(value)
        except ArithmeticError:
            return value
    return value


# questions
class Words:
    """Random expressions over the columns of a world, as text."""

    def __init__(self, r: random.Random, policy: Policy) -> None:
        self.r = r
        self.table = policy.tables["t"]
        self.here = set(self.table.columns) - {"u"}
        self.text_unit = self.table.columns["u"].type == "text"

    def pick(self, *choices: Any) -> str:
        choice = self.r.choice([c for c in choices if c is not None])
        return choice() if callable(choice) else str(choice)

    def column(self, letters: str, other: str) -> str:
        there = [c for c in letters if c in self.here]
        return self.r.choice(there) if there else other

    def whole(self, depth: int) -> str:
        """An expression whose type is integer."""
        r = self.r
        if depth <= 0 or r.random() < 0.2:
            return self.pick(self.column("ij", "1"), lambda: str(r.choice([0, 1, 2, 3, 7, 10, 100, 1000])))
        a, b = (lambda: self.whole(depth - 1)), (lambda: self.whole(depth - 1))
        return self.pick(
            lambda: f"({a()} {r.choice(['+', '-', '*', '/', '%'])} {b()})",
            lambda: f"(-{a()})",
            lambda: f"ABS({a()})",
            lambda: f"SIGN({self.number(depth - 1)})",
            lambda: f"CAST({self.pick(lambda: self.number(depth - 1), lambda: self.truth(depth - 1))} AS {r.choice(['INT', 'BIGINT'])})",
            lambda: f"EXTRACT({r.choice(['year', 'month', 'day', 'quarter', 'dow', 'isodow', 'doy', 'week', 'hour', 'minute'])} FROM {self.time(depth - 1)})",
            lambda: f"LENGTH({self.text(depth - 1)})",
            lambda: f"({self.day(depth - 1)} - {self.day(depth - 1)})",
            lambda: f"CASE WHEN {self.truth(depth - 1)} THEN {a()} {r.choice(['', f'ELSE {b()}'])} END",
            lambda: f"LEAST(GREATEST({a()}, {r.choice([0, -3, 1])}), {r.choice([4, 20])})",
        )  # fmt: skip

    def number(self, depth: int) -> str:
        """An expression whose type is some number."""
        r = self.r
        if depth <= 0 or r.random() < 0.2:
            return self.pick(
                self.column("imjnf", "2"), self.column("mnf", "1.5"),
                lambda: r.choice(["0", "0.5", "1e17", "0.1", "3", "0.000000000000001", "1e29", "NULL", "10", "0.05"]),
            )  # fmt: skip
        a, b = (lambda: self.number(depth - 1)), (lambda: self.number(depth - 1))
        return self.pick(
            lambda: self.whole(depth),
            lambda: f"({a()} {r.choice('+-*/')} {b()})",
            lambda: f"({a()} {r.choice('+-*/')} {b()})",
            lambda: f"(-{a()})",
            lambda: f"{r.choice(['ABS', 'FLOOR', 'CEIL', 'ROUND'])}({a()})",
            lambda: f"ROUND({a()}, {r.choice([0, 1, 2, 6])})",
            lambda: f"CAST({a()} AS DOUBLE PRECISION)",
            lambda: f"{r.choice(['COALESCE', 'NULLIF', 'GREATEST', 'LEAST'])}({a()}, {b()})",
            lambda: f"CASE {self.whole(0)} WHEN {self.whole(0)} THEN {a()} WHEN 2 THEN {b()} ELSE 0 END",
            lambda: f"CASE WHEN {self.truth(depth - 1)} THEN {a()} ELSE {b()} END",
        )

    def bounded(self) -> str:
        """A number that SUM and AVG take, often."""
        n = lambda: self.number(2)  # noqa: E731  drawn anew at each use
        ends = self.r.choice([(0, 5), (-3, 2), (-1, "0.5"), (1, 1)])
        return self.pick(
            self.column("im", "1"),
            self.column("imf", "1"),
            n,
            lambda: f"LEAST(GREATEST({n()}, {ends[0]}), {ends[1]})",
            lambda: f"ROUND(LEAST(GREATEST({n()}, {ends[0]}), {ends[1]}), {self.r.choice([0, 1, 3])})",
            lambda: f"{self.r.choice(['FLOOR', 'CEIL'])}(LEAST(GREATEST({n()}, {ends[0]}), {ends[1]}))",
            lambda: f"CAST(LEAST(GREATEST({n()}, {ends[0]}), {ends[1]}) AS INTEGER)",
            lambda: self.whole(2),
            lambda: f"({self.whole(2)} % {self.r.choice([2, 5])})",
        )

    def text(self, depth: int) -> str:
        r = self.r
        if depth <= 0 or r.random() < 0.3:
            return self.pick(self.column("so", "'a'"), lambda: r.choice(["'a'", "'B'", "''", "'ß'", "NULL"]))
        a = lambda: self.text(depth - 1)  # noqa: E731  drawn anew at each use
        return self.pick(
            lambda: f"{r.choice(['LOWER', 'UPPER', 'TRIM'])}({a()})",
            lambda: f"SUBSTRING({a()} FROM {r.choice([0, 1, 2, 9])} FOR {r.choice([0, 1, 2])})",
            lambda: f"SUBSTRING({a()}, {r.choice([0, 1, 2])})",
            lambda: f"({a()} || {a()})",
            lambda: f"CASE WHEN {self.truth(depth - 1)} THEN {a()} ELSE {a()} END",
            lambda: f"COALESCE({a()}, {a()})",
            lambda: f"NULLIF({a()}, {a()})",
            lambda: f"CAST({a()} AS TEXT)",
            lambda: f"CAST({a()} AS VARCHAR(2))",
        )

    def day(self, depth: int) -> str:
        r = self.r
        if depth <= 0 or r.random() < 0.3:
            written = r.choice(["DATE '2024-03-01'", "CURRENT_DATE", "CAST('2024-01-31' AS DATE)"])
            return self.pick(self.column("d", "DATE '2024-02-02'"), written)
        return self.pick(
            lambda: f"({self.day(depth - 1)} {r.choice('+-')} {self.whole(depth - 1)})",
            lambda: f"date_trunc('{r.choice(['year', 'quarter', 'month', 'week', 'day'])}', {self.time(depth - 1)})",
            lambda: f"CAST({self.time(depth - 1)} AS DATE)",
            lambda: f"CASE WHEN {self.truth(depth - 1)} THEN {self.day(depth - 1)} END",
            lambda: f"{r.choice(['COALESCE', 'GREATEST', 'LEAST'])}({self.day(depth - 1)}, {self.day(depth - 1)})",
        )

    def time(self, depth: int) -> str:
        moment = lambda: self.pick(self.column("t", "TIMESTAMP '2024-01-01 10:00'"), "TIMESTAMP '2024-03-01 12:30'")  # noqa: E731  drawn anew at each use
        return self.pick(lambda: self.day(depth), moment)

    def truth(self, depth: int) -> str:
        r = self.r
        if depth <= 0 or r.random() < 0.15:
            return self.pick(self.column("b", "TRUE"), lambda: r.choice(["TRUE", "FALSE", "NULL", "i IS NULL", "s = 'a'"]))
        n, compare = (lambda: self.number(depth - 1)), r.choice(["=", "<>", "<", "<=", ">", ">=", "!="])
        unit = (lambda: f"u {compare} '1'") if self.text_unit else (lambda: f"u {compare} 1")
        return self.pick(
            lambda: f"{n()} {compare} {n()}",
            lambda: f"{n()} {compare} {n()}",
            lambda: f"{self.number(0)} {compare} '2.5'",
            lambda: f"{self.text(depth - 1)} {compare} {self.text(depth - 1)}",
            lambda: f"{self.time(depth - 1)} {compare} {self.time(depth - 1)}",
            lambda: f"{self.day(depth - 1)} {compare} '2024-02-29'",
            lambda: f"{n()} {r.choice(['', 'NOT '])}BETWEEN {n()} AND {n()}",
            lambda: f"{n()} {r.choice(['', 'NOT '])}IN ({n()}, {n()}, {r.choice(['0', 'NULL'])})",
            lambda: f"{self.text(depth - 1)} IN ('a', 'B', 'ß')",
            lambda: f"{self.pick(n, lambda: self.text(depth - 1), lambda: self.day(depth - 1))} IS {r.choice(['', 'NOT '])}NULL",
            lambda: f"({self.truth(depth - 1)}) IS {r.choice(['', 'NOT '])}{r.choice(['TRUE', 'FALSE'])}",
            lambda: f"({self.truth(depth - 1)} {r.choice(['AND', 'OR'])} {self.truth(depth - 1)})",
            lambda: f"(NOT {self.truth(depth - 1)})",
            lambda: f"{self.text(depth - 1)} {r.choice(['', 'NOT '])}LIKE '{r.choice(['a%', '%', '_', 'a_b', '%ß%', chr(92) + '%'])}'",
            unit, unit,
            lambda: f"1 / {n()} > 0",
        )  # fmt: skip

    def aggregate(self) -> str:
        anything = lambda: self.pick(lambda: self.number(1), lambda: self.text(1), lambda: self.day(1), "u")  # noqa: E731  drawn anew at each use
        call = self.pick(
            "COUNT(*)",
            "COUNT(DISTINCT u)",
            lambda: f"COUNT({anything()})",
            lambda: f"SUM({self.bounded()})",
            lambda: f"SUM({self.bounded()})",
            lambda: f"AVG({self.bounded()})",
        )
        return f"{call} FILTER (WHERE {self.truth(2)})" if self.r.random() < 0.3 else call

    def atom(self) -> str:
        """A bare column compared with a constant: what the longest row understands, and what looks like it."""
        r, compare = self.r, self.r.choice(["=", "<>", "<", "<=", ">", ">="])
        n = r.choice(["0", "1", "3", "-5", "-6", "10", "0.5", "2", "0.05", "50", "1000"])
        return self.pick(
            lambda: f"{self.column('imj', 'i')} {compare} {n}",
            lambda: f"{self.column('imn', 'm')} {compare} {n}",
            lambda: f"{n} {compare} {self.column('im', 'i')}",
            lambda: f"s {r.choice(['=', '<>'])} '{r.choice(['a', 'b', 'A', 'q', ' b'])}'",
            lambda: f"s IN ('a', '{r.choice(['b', 'A', ''])}')",
            lambda: f"{self.column('o', 's')} = '{r.choice(['a', 'abc', 'ove', 'overlong', 'e'])}'",
            lambda: f"{r.choice('sbim')} IS {r.choice(['', 'NOT '])}NULL",
            lambda: r.choice(["b", "NOT b", "b = TRUE", "b IS FALSE"]),
            lambda: f"i {r.choice(['', 'NOT '])}BETWEEN {r.choice([0, 1])} AND {r.choice([2, 3])}",
            lambda: f"{self.column('d', 'CURRENT_DATE')} {compare} DATE '2024-{r.choice(['01-31', '02-29', '12-31'])}'",
            lambda: f"i % 2 = {r.choice([0, 1])}",
            lambda: f"({self.atom()} {r.choice(['AND', 'OR'])} {self.atom()})",
            lambda: f"NOT ({self.atom()})",
        )

    def family(self) -> list[str]:
        """Aggregates whose conditions may or may not exclude each other."""
        r = self.r
        arg = self.column("im", "i")
        return [
            self.pick(
                lambda: f"COUNT(*) FILTER (WHERE {self.atom()})",
                lambda: f"COUNT(*) FILTER (WHERE {self.atom()})",
                lambda: f"SUM(CASE WHEN {self.atom()} THEN {arg} ELSE 0 END)",
                lambda: f"SUM({arg}) FILTER (WHERE {self.atom()})",
                lambda: f"AVG({arg}) FILTER (WHERE {self.atom()})",
                lambda: f"COUNT(DISTINCT u) FILTER (WHERE {self.atom()})",
                lambda: f"COUNT(CASE WHEN {self.atom()} THEN 1 END)",
                lambda: f"COUNT({self.column('osbd', 's')})",
            )
            for _ in range(r.choice([2, 3, 4]))
        ]

    def key(self) -> str:
        """An expression over listed columns, often."""
        r = self.r
        return self.pick(
            lambda: r.choice("sbim"),
            lambda: r.choice("sbim"),
            lambda: self.column("d", "s"),
            lambda: f"date_trunc('{r.choice(['month', 'week', 'year'])}', {self.column('d', 'CURRENT_DATE')})",
            lambda: f"EXTRACT({r.choice(['month', 'dow', 'year'])} FROM {self.column('d', 'CURRENT_DATE')})",
            lambda: f"UPPER({self.column('s', 's')})",
            lambda: f"(i {r.choice('/%')} {r.choice([2, 3, 0])})",
            lambda: f"CASE WHEN {self.truth(1)} THEN 'x' WHEN i > 2 THEN s ELSE 'z' END",
            lambda: f"({self.truth(1)})",
            lambda: f"ROUND(m, {r.choice([0, 1])})",
            lambda: f"(i + {r.choice(['i', 'm', '0.5'])})",
            lambda: f"({self.number(1)})",
        )

    def question(self) -> str:
        """A whole SELECT."""
        r = self.r
        keys = [self.key() for _ in range(r.choice([0, 0, 1, 1, 2]))]
        together = r.random() < 0.35
        asked = self.family() if together else [self.aggregate() for _ in range(r.choice([1, 1, 1, 2, 3]))]
        shown = list(asked)
        if r.random() < 0.2:
            shown.append(f"{r.choice(asked)} {r.choice('+-*/')} {self.pick('2', lambda: r.choice(asked))}")
        if keys and r.random() < 0.25:
            order = f"ORDER BY {asked[0]} {r.choice(['', 'DESC', 'NULLS FIRST'])}"
            shown.append(
                self.pick(
                    f"{r.choice(['RANK', 'ROW_NUMBER', 'DENSE_RANK'])}() OVER ({order})",
                    f"{r.choice(['SUM', 'MIN', 'MAX', 'AVG', 'COUNT'])}({asked[0]}) OVER (PARTITION BY {keys[0]})",
                )
            )
        group = []
        for i, key in enumerate(keys):
            how = r.choice(["expression", "ordinal", "alias", "hidden"])
            if how == "hidden":
                group.append(key)
            else:
                shown.append(f"{key} AS k{i}")
                group.append({"expression": key, "ordinal": str(len(shown)), "alias": f"k{i}"}[how])
        alias = r.choice(["t", "t AS x", 't AS "X"'])
        text = f"SELECT {'DISTINCT ' if r.random() < 0.1 else ''}{', '.join(shown)} FROM {alias}"
        if r.random() < 0.6:
            text += f" WHERE {self.atom() if together else self.truth(3)}"
        if group:
            text += f" GROUP BY {', '.join(group)}"
        if r.random() < 0.15:
            text += f" HAVING {asked[-1]} > {r.choice(['3', '-1', '0.5'])}"
        if r.random() < 0.2:
            text += f" ORDER BY {r.choice([asked[0], '1'])} {r.choice(['', 'DESC', 'ASC NULLS FIRST'])}"
        if r.random() < 0.15:
            text += f" LIMIT {r.choice([1, 5])} OFFSET {r.choice([0, 2])}"
        return text


@dataclass(frozen=True)
class Case:
    """A question that is answered, in its world."""

    seed: int
    world: World
    text: str
    plan: Plan
    refused: int

    def __repr__(self) -> str:
        return f"<seed {self.seed}: {self.text}>"


def case(seed: int, tries: int = 60, most_groups: int = 2000) -> Case:
    """The first question of this seed that is answered. Refusals are QueryErrors and nothing else."""
    r = random.Random(seed)
    here = world(r)
    for refused in range(tries):
        words = Words(r, here.policy)
        text = words.question()
        lowered = r.choice([None, None, None, 1])
        try:
            asked = plan(bind(parse(text), here.policy, TODAY), here.policy, r.choice([_EPSILON, _EPSILON / 3]), lowered)
        except QueryError:
            continue
        if asked.sql is not None and len(asked.groups) <= most_groups:
            return Case(seed, here, text, asked, refused)
    return case(seed + 1_000_003, tries)


def reached(asked: Case) -> set[Any]:
    """The kinds of nodes of the parser, the functions, the aggregates and the windows of a question."""
    found: set[Any] = {type(node) for node in parse(asked.text).walk()} & set(ALLOWED)
    question = asked.plan.question
    nodes: list[Node] = [node for _, node in (*question.items, *question.keys)]
    nodes += [n for n in (question.where, question.having) if n is not None] + [s.node for s in question.order]
    while nodes:
        node = nodes.pop()
        nodes += children(node)
        if isinstance(node, Call):
            found.add(("function", node.name))
            if node.extra and node.name in ("extract", "date_trunc", "cast"):
                found.add(("extra", node.name, node.extra))
        elif isinstance(node, Aggregate):
            found.add(("aggregate", node.name))
        elif isinstance(node, Over):
            found.add(("window", node.name))
    return found
