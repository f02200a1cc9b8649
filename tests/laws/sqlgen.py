"""Random expressions, keys and aggregates over the columns of a world, as text.

Columns are single letters that say what they hold: i and j whole numbers, m and n decimals, f doubles, d days, t moments,
b truths, s listed texts, o other texts, and u the person. What stands in FROM is the business of `relgen` and `questions`.
"""

# ruff: noqa: E501  an example stands on one line
from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

PAIRS = (
    "CORR", "COVAR_POP", "COVAR_SAMP", "REGR_COUNT", "REGR_AVGX", "REGR_AVGY", "REGR_SXY", "REGR_SXX", "REGR_SYY", "REGR_SLOPE",
    "REGR_INTERCEPT", "REGR_R2",
)  # fmt: skip


class Words:
    """Random expressions over the columns of a world, as text."""

    def __init__(self, r: random.Random, letters: Iterable[str], text_unit: bool) -> None:
        self.r, self.here, self.text_unit = r, set(letters) - {"u"}, text_unit

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
            lambda: f"MOD({a()}, {b()})",
            lambda: f"CAST({self.text(depth - 1)} AS {r.choice(['INT', 'BIGINT', 'SMALLINT'])})",
            lambda: f"WIDTH_BUCKET({self.number(depth - 1)}, {r.choice(['0, 10', '10, -5', '-0.5, 1e3'])}, {r.choice([1, 4, 100])})",
            lambda: f"STRPOS({self.text(depth - 1)}, {self.text(depth - 1)})",
            lambda: f"POSITION('a' IN {self.text(depth - 1)})",
            lambda: f"date_part('{r.choice(['month', 'year'])}', {self.time(depth - 1)})",
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
            lambda: f"{r.choice(['LN', 'LOG', 'LOG10', 'EXP', 'SQRT', 'CBRT', 'TRUNC'])}({a()})",
            lambda: f"LOG({r.choice([a(), '2', '0.5', '10'])}, {b()})",
            lambda: f"POWER({a()}, {r.choice([b(), '2', '3', '0.5', '-1'])})",
            lambda: f"({a()} ^ 2)",
            lambda: f"TRUNC({a()}, {r.choice([0, 1, 4])})",
            lambda: f"DIV({a()}, {b()})",
            lambda: f"({a()} % {b()})",
            lambda: (
                f"CAST({self.pick(a, lambda: self.text(depth - 1))} AS {r.choice(['NUMERIC', 'NUMERIC(3, 1)', 'DECIMAL(12)', 'REAL'])})"
            ),
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
            lambda: (
                f"CAST(LEAST(GREATEST({n()}, {ends[0]}), {ends[1]}) AS {self.r.choice(['INTEGER', 'NUMERIC(3, 1)', 'BIGINT'])})"
            ),
            lambda: (
                f"ROUND({self.r.choice(['LN', 'EXP', 'SQRT', 'CBRT', 'LOG'])}(LEAST(GREATEST({n()}, {ends[0]}), {ends[1]})), {self.r.choice([0, 2])})"
            ),
            lambda: f"TRUNC(POWER(LEAST(GREATEST({n()}, {ends[0]}), {ends[1]}), {self.r.choice([2, 3])}))",
            lambda: f"WIDTH_BUCKET({n()}, 0, {self.r.choice([5, '-0.5'])}, 3)",
            lambda: f"LENGTH({self.text(2)})",
            lambda: f"STRPOS({self.text(1)}, 'a')",
            lambda: self.whole(2),
            lambda: f"({self.whole(2)} % {self.r.choice([2, 5])})",
        )

    def text(self, depth: int) -> str:
        r = self.r
        if depth <= 0 or r.random() < 0.3:
            return self.pick(self.column("so", "'a'"), lambda: r.choice(["'a'", "'B'", "''", "'ß'", "NULL"]))
        a = lambda: self.text(depth - 1)  # noqa: E731  drawn anew at each use
        return self.pick(
            lambda: f"{r.choice(['LOWER', 'UPPER', 'TRIM', 'LTRIM', 'RTRIM', 'BTRIM', 'REVERSE'])}({a()})",
            lambda: f"TRIM({r.choice(['LEADING', 'TRAILING', 'BOTH'])} 'aß' FROM {a()})",
            lambda: f"{r.choice(['LEFT', 'RIGHT'])}({a()}, {r.choice([0, 1, 2, 9])})",
            lambda: f"REPLACE({a()}, {r.choice(['a', 'ß', ''])!r}, {r.choice(['', 'xy', 'b'])!r})",
            lambda: f"CONCAT({a()}, {self.pick(a, lambda: self.whole(0), lambda: self.truth(0))})",
            lambda: f"({a()} || {self.whole(depth - 1)})",
            lambda: (
                f"CAST({self.pick(lambda: self.whole(depth - 1), lambda: self.truth(depth - 1), lambda: self.day(depth - 1))} AS {r.choice(['TEXT', 'VARCHAR(2)'])})"
            ),
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
            lambda: f"CAST({self.pick(lambda: self.time(depth - 1), lambda: self.text(depth - 1))} AS DATE)",
            lambda: f"CASE WHEN {self.truth(depth - 1)} THEN {self.day(depth - 1)} END",
            lambda: f"{r.choice(['COALESCE', 'GREATEST', 'LEAST'])}({self.day(depth - 1)}, {self.day(depth - 1)})",
        )

    def time(self, depth: int) -> str:
        def moment() -> str:
            first = self.column("t", "TIMESTAMP '2024-01-01 10:00'")
            return self.pick(first, "TIMESTAMP '2024-03-01 12:30'", "now()", "LOCALTIMESTAMP")

        def span() -> str:
            return self.r.choice(
                ["'1 month'", "'7 days'", "'1 year -3 days'", "'90' MINUTE", "'9000 years'", "'-2 mons 5 hours'"]
            )

        if depth > 0 and self.r.random() < 0.3:
            return f"({self.time(depth - 1)} {self.r.choice('+-')} INTERVAL {span()})"
        return self.pick(lambda: self.day(depth), moment)

    def truth(self, depth: int) -> str:
        r = self.r
        if depth <= 0 or r.random() < 0.15:
            return self.pick(
                self.column("b", "TRUE"), lambda: r.choice(["TRUE", "FALSE", "NULL", "i IS NULL", "s = 'a'"])
            )
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
            lambda: f"{self.text(depth - 1)} {r.choice(['', 'NOT '])}ILIKE '{r.choice(['a%', 'SS', '_B', '%ß%'])}'",
            lambda: f"{self.text(depth - 1)} LIKE '{r.choice(['a!%', '!_%', '%!!'])}' ESCAPE '!'",
            lambda: f"{self.text(depth - 1)} {r.choice(['~', '!~'])} '{r.choice(['^a', 'b+$', '[a-z]{2}', '^(a|ß).?$'])}'",
            lambda: f"STARTS_WITH({self.text(depth - 1)}, {self.text(depth - 1)})",
            lambda: f"{self.text(depth - 1)} ^@ 'a'",
            lambda: f"{n()} IS {r.choice(['', 'NOT '])}DISTINCT FROM {n()}",
            lambda: f"{self.text(depth - 1)} IS {r.choice(['', 'NOT '])}DISTINCT FROM {self.text(depth - 1)}",
            lambda: f"{n()} {r.choice(['', 'NOT '])}BETWEEN SYMMETRIC {n()} AND {n()}",
            lambda: f"CAST({self.pick(lambda: self.text(depth - 1), lambda: self.whole(depth - 1))} AS BOOLEAN)",
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
            lambda: f"{self.r.choice(['SUM', 'SUM', 'AVG', 'VARIANCE'])}(DISTINCT {self.bounded()})",
            lambda: f"{self.r.choice(['COUNT(DISTINCT ', 'COUNT(DISTINCT ', 'APPROX_COUNT_DISTINCT('])}{anything()})",
            lambda: f"{self.r.choice(['VAR_POP', 'VARIANCE', 'STDDEV', 'STDDEV_POP'])}({self.bounded()})",
            *[lambda: f"{self.r.choice(PAIRS)}({self.bounded()}, {self.bounded()})"] * 2,
            lambda: f"{self.r.choice(['MIN', 'MAX', 'MEDIAN'])}({self.bounded()})",
            lambda: (
                f"PERCENTILE_{self.r.choice(['CONT', 'DISC'])}({self.r.choice(['0.9', '0', '0.25'])}) WITHIN GROUP (ORDER BY {self.bounded()})"
            ),
            lambda: f"MODE() WITHIN GROUP (ORDER BY {self.pick(self.bounded, 's', 'b')})",
            lambda: f"{self.r.choice(['BOOL_AND', 'BOOL_OR'])}({self.truth(1)})",
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
            lambda: f"WIDTH_BUCKET({r.choice('im')}, 0, 2, 4)",
            lambda: f"{r.choice(['LEFT', 'RIGHT'])}(s, 1)",
            lambda: f"({self.column('d', 'CURRENT_DATE')} + INTERVAL '1 month')",
            lambda: f"CAST({r.choice('ib')} AS TEXT)",
            lambda: (
                f"GEO_CELL({r.choice(['i', 'm', '48.85'])}, {r.choice(['i', 'm', '2.35'])}, {r.choice(['100000', '400000.5'])})"
            ),
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
