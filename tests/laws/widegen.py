"""A wider vocabulary for random questions: functions of time and text that tools write, and what stands above a release.

It is a vocabulary of its own, and makes its draws only where it is asked for, so that questions of `sqlgen` and
`questions` alone, and the faults that were found with them, stay as they are.
"""

# ruff: noqa: E501  an example stands on one line
from __future__ import annotations

import random

from tests.laws.questions import Asker
from tests.laws.relgen import Columns, Scope
from tests.laws.sqlgen import Words
from tests.laws.worlds import World

_MANY = [*range(-20, 90)]
"""More values than IN writes as comparisons."""
_FORMATS = ["YYYY-MM", "DD.MM.YYYY", "Mon YY", "HH24:MI", "FMMonth", "Q", "IYYY-IW", "Dy", "MS"]
_PATTERNS = ["a", "^a", "[ab]+", "b$", "ß", "(a|b)c", "[^a-c]"]


class WideWords(Words):
    """Random expressions as those of `Words`, and more kinds of them."""

    rate = 0.4

    def wider(self, depth: int) -> bool:
        return depth > 0 and self.r.random() < self.rate

    def whole(self, depth: int) -> str:
        return self.age_part(depth) if depth > 0 and self.r.random() < 0.08 else super().whole(depth)

    def age_part(self, depth: int) -> str:
        """Whole years, months or days of an age."""
        return f"EXTRACT({self.r.choice(['year', 'month', 'day'])} FROM {self.age(depth)})"

    def age(self, depth: int) -> str:
        return f"AGE({self.moment(depth)}, {self.moment(depth)})"

    def moment(self, depth: int) -> str:
        """A column of days or moments, more often than not."""
        return self.column("dt", "CURRENT_DATE") if self.r.random() < 0.6 else self.time(depth - 1)

    def stored_text(self, depth: int) -> str:
        """A column of texts, more often than not."""
        return self.column("so", "'a'") if self.r.random() < 0.6 else self.text(depth - 1)

    def between(self) -> str:
        """A difference of two moments: an interval."""
        moments = ["TIMESTAMP '2024-03-01 12:30'", "TIMESTAMP '2024-01-01'"]
        return f"({self.column('t', moments[0])} - {self.r.choice([moments[1], self.column('t', moments[1])])})"

    def text(self, depth: int) -> str:
        if not self.wider(depth):
            return super().text(depth)
        r = self.r
        a = lambda: self.stored_text(depth)  # noqa: E731  drawn anew at each use
        return self.pick(
            lambda: f"INITCAP({a()})",
            lambda: f"{r.choice(['LPAD', 'RPAD'])}({a()}, {r.choice([0, 1, 4])}{r.choice(['', ', $$xy$$', ', $$ß$$']).replace('$$', chr(39))})",
            lambda: f"CONCAT_WS('{r.choice(['', '-', ', '])}', {a()}, {self.pick(a, lambda: self.whole(0), lambda: self.day(0))}, {a()})",
            lambda: f"REGEXP_REPLACE({a()}, '{r.choice(_PATTERNS)}', '{r.choice(['', 'x', 'yz'])}'{r.choice(['', '', ', $g$', ', $i$', ', $gi$']).replace('$', chr(39))})",
            lambda: f"SUBSTRING({a()} FROM '{r.choice(_PATTERNS)}')",
            lambda: f"SPLIT_PART({a()}, '{r.choice(['a', 'b', ' ', 've'])}', {r.choice([1, 2, -1])})",
            lambda: f"TO_CHAR({self.moment(depth)}, '{r.choice(_FORMATS)}')",
            lambda: f"TO_CHAR({self.moment(depth)}, '{r.choice(_FORMATS)}')",
        )  # fmt: skip

    def day(self, depth: int) -> str:
        if not self.wider(depth):
            return super().day(depth)
        return self.pick(
            lambda: f"TO_DATE({self.text(depth - 1)}, '{self.r.choice(['YYYY-MM-DD', 'DD/MM/YYYY'])}')",
            lambda: (
                f"MAKE_DATE({self.pick('2024', lambda: self.whole(depth - 1))}, {self.whole(depth - 1)}, {self.pick('1', '31', lambda: self.whole(depth - 1))})"
            ),
        )

    def time(self, depth: int) -> str:
        if not self.wider(depth):
            return super().time(depth)
        return self.pick(
            lambda: f"TO_TIMESTAMP({self.text(depth - 1)}, '{self.r.choice(['YYYY-MM-DD', 'YYYY-MM-DD HH24:MI:SS'])}')",
            self.bin,
            self.bin,
        )

    def bin(self) -> str:
        """The beginning of a stride."""
        stride = self.r.choice(["7 days", "12 hours", "1 day 30 minutes", "400 days"])
        origin = self.r.choice(["TIMESTAMP '2024-01-01'", "'2001-01-01 07:30'", "DATE '2030-01-01'"])
        return f"DATE_BIN('{stride}', {self.moment(0)}, {origin})"

    def truth(self, depth: int) -> str:
        if not self.wider(depth):
            return super().truth(depth)
        r, no = self.r, self.r.choice(["", "NOT "])
        a = lambda: self.stored_text(depth)  # noqa: E731  drawn anew at each use
        return self.pick(
            lambda: f"{a()} {r.choice(['~*', '!~*'])} '{r.choice(['^A', 'b+', '[A-C]', 'ss'])}'",
            lambda: f"{a()} {no}SIMILAR TO '{r.choice(['(a|b)%', '_', '%ß%', '[ab]+'])}'",
            lambda: f"{self.age(depth)} {r.choice(['>', '<', '>='])} INTERVAL '{r.choice(['1 year', '40 days', '-2 mons'])}'",
            lambda: f"{self.between()} {r.choice(['>', '<', '<='])} INTERVAL '{r.choice(['1 day', '400 days 02:30:00'])}'",
            lambda: f"{self.pick(lambda: self.whole(depth - 1), lambda: self.number(depth - 1))} {no}{self.among_many()}",
            lambda: f"{self.day(depth)} {r.choice(['=', '>', '<='])} DATE '2024-02-29'",
            lambda: f"{self.time(depth)} {r.choice(['=', '>', '<='])} TIMESTAMP '2024-01-31 12:00'",
        )  # fmt: skip

    def among_many(self) -> str:
        """IN with a long list."""
        return f"IN ({', '.join(map(str, self.r.sample(_MANY, 105)))})"

    def atom(self) -> str:
        if self.r.random() >= 0.1:
            return super().atom()
        listed = ", ".join(f"'{text}'" for text in ("a", self.r.choice(["b", "A"]), *(f"w{n}" for n in range(100))))
        return self.pick(
            lambda: f"{self.column('ij', 'i')} {self.r.choice(['', 'NOT '])}{self.among_many()}",
            lambda: f"s {self.r.choice(['', 'NOT '])}IN ({listed})",
        )

    def key(self) -> str:
        if not self.wider(1):
            return super().key()
        r, day = self.r, self.column("d", "CURRENT_DATE")
        return self.pick(
            lambda: f"TO_CHAR({self.column('dt', 'CURRENT_DATE')}, '{r.choice(_FORMATS)}')",
            lambda: f"DATE_BIN('{r.choice(['7 days', '30 days', '400 days'])}', {day}, TIMESTAMP '2024-01-01')",
            lambda: f"EXTRACT(year FROM AGE(DATE '2025-01-01', {day}))",
            lambda: f"EXTRACT({r.choice(['month', 'day'])} FROM AGE({self.column('t', day)}, DATE '2024-02-29'))",
            lambda: f"SPLIT_PART(s, '{r.choice(['a', 'b', ' '])}', {r.choice([1, -1])})",
            lambda: f"{r.choice(['INITCAP(s)', 'LPAD(s, 2, $)', 'RPAD(s, 3)']).replace('$', chr(39) + '-' + chr(39))}",
            lambda: f"CONCAT_WS('/', s, {r.choice(['b', 'i', 's'])})",
            lambda: f"REGEXP_REPLACE(s, '{r.choice(_PATTERNS)}', 'x', 'g')",
            lambda: f"SUBSTRING(s FROM '{r.choice(_PATTERNS)}')",
            lambda: f"MAKE_DATE(2024, i, {r.choice([1, 31])})",
            lambda: "TO_DATE(CONCAT(s, '2024-02-0', i), 'YYYY-MM-DD')",
        )  # fmt: skip

    def aggregate(self) -> str:
        if self.r.random() >= 0.15:
            return super().aggregate()
        call = self.pick(
            lambda: f"{self.r.choice(['AVG', 'SUM'])}({self.between()})",
            lambda: f"{self.r.choice(['AVG', 'SUM', 'MIN', 'MAX'])}({self.age_part(1)})",
            lambda: f"COUNT(DISTINCT {self.text(1)})",
            lambda: f"{self.r.choice(['MIN', 'MAX', 'MEDIAN'])}({self.bin()})",
        )
        return f"{call} FILTER (WHERE {self.truth(1)})" if self.r.random() < 0.3 else call


class WideAsker(Asker):
    """One random question over a world, with the wider vocabulary."""

    kind_of_words = WideWords

    def __init__(self, r: random.Random, world: World) -> None:
        super().__init__(r, world)
        self.is_plain = self.is_plain and self.chance(0.5)

    def source(self, depth: int, public: bool = False) -> tuple[str, str, Columns]:
        """Among what is public, written series."""
        if not public or not self.chance(0.3):
            return super().source(depth, public)
        alias = self.alias()
        ends, letter = self.r.choice(
            [
                ("0, 3", "i"), ("-5, 10, 5", "i"), ("3, 1, -1", "i"), ("2, 1", "i"),
                ("DATE '2024-01-01', DATE '2024-03-01', INTERVAL '1 month'", "t"),
            ]
        )  # fmt: skip
        return f"GENERATE_SERIES({ends}) AS {alias}({letter}0)", alias, [(f"{letter}0", letter)]

    def own_aggregate(self, scope: Scope, i: int) -> tuple[str, str, str]:
        if not self.chance(0.1):
            return super().own_aggregate(scope, i)
        self.words.here = set(scope.columns)
        assert isinstance(self.words, WideWords)
        between = self.over(self.words.between(), scope)
        return f"EXTRACT(epoch FROM {self.r.choice(['AVG', 'SUM'])}({between}))", f"m{i}", "m"

    def release(self, depth: int) -> str:
        return self.listed(depth) if self.chance(0.15) else super().release(depth)

    def listed(self, depth: int) -> str:
        """Lists of what is released, or of public rows beside it."""
        inner, columns = self.released(depth)
        alias, scope = self.alias(), Scope()
        scope.add(alias, columns)
        first = f"{alias}.{columns[0][0]}"
        order = f"ORDER BY {self.r.choice([first, alias + '.j9'])}{self.r.choice(['', ' DESC'])}"
        calls = self.r.sample(
            [
                f"STRING_AGG({first}, ', ')",
                f"STRING_AGG({alias}.j9, '-' {order})",
                f"STRING_AGG(DISTINCT {first}, ';')",
                f"ARRAY_AGG({first})",
                f"ARRAY_AGG({alias}.j9 {order})",
                f"ARRAY_AGG({alias}.j9) FILTER (WHERE {alias}.j9 > 1)",
            ],
            2,
        )
        where = f" WHERE {self.make(scope, 'truth', 1)}" if self.chance(0.3) else ""
        return f"SELECT {', '.join(calls)} FROM ({inner}) AS {alias}{where}"

    def above(self, asked: list[str], shown: list[str], group: str) -> None:
        """Ends of intervals, and windows that place a group among the others."""
        one = self.r.choice(asked)
        if self.chance(0.25):
            shown.append(f"{self.r.choice(['SFUMATO_LOW', 'SFUMATO_HIGH', 'SFUMATO_ERROR'])}({one})")
        if group and self.chance(0.5):
            call = self.r.choice(
                [f"NTILE({self.r.choice([1, 2, 5])})", f"NTH_VALUE({one}, 2)", "PERCENT_RANK()", "CUME_DIST()"]
            )
            shown.append(f"{call} OVER (ORDER BY {asked[0]}{self.r.choice(['', ' DESC'])})")

    def chosen(self, asked: list[str], group: str) -> str:
        """QUALIFY, in groups."""
        if not group or not self.chance(0.25):
            return ""
        window = self.r.choice(["RANK()", "ROW_NUMBER()", "NTILE(3)"])
        return f" QUALIFY {window} OVER (ORDER BY {asked[-1]} DESC) <= {self.r.choice([1, 2])}"
