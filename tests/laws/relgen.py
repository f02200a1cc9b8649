"""Random relations of all kinds: joins, sub-queries, set operations, persons' own aggregates and windows, releases.

All of it is text. Expressions come from `sqlgen` with single letters for columns; `over` puts what stands in FROM in
their place.
"""

# ruff: noqa: E501  a shape of a question stands on one line
from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from typing import Any

from tests.laws.sqlgen import Words
from tests.laws.worlds import World

_TOKEN = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|[A-Za-z_0-9.$]+")
_LETTERS = set("bdfijmnostu")
_WITHOUT = {
    "b": "TRUE", "d": "DATE '2024-02-02'", "f": "0.5", "i": "1", "j": "2", "m": "1.5", "n": "0.1", "o": "'a'", "s": "'a'",
    "t": "TIMESTAMP '2024-01-01 10:00'",
}  # fmt: skip
_PLAIN = {"bounded": "im", "number": "imjnf", "whole": "ij", "text": "so", "day": "d", "key": "ssbio"}
"""What a plain question takes for an expression: one of these columns."""
Columns = list[tuple[str, str]]
"""Names of columns, and the letter that says what each holds."""


@dataclass
class Scope:
    """What expressions may speak of: qualified columns by letter, and qualified units."""

    columns: dict[str, list[str]] = field(default_factory=dict)
    units: list[str] = field(default_factory=list)
    where: list[str] = field(default_factory=list)

    def add(self, alias: str, columns: Columns) -> None:
        for name, letter in columns:
            if letter == "u":
                self.units.append(f"{alias}.{name}")
            else:
                self.columns.setdefault(letter, []).append(f"{alias}.{name}")


class Relations:
    """Random relations over a world: what stands in FROM, and sub-queries in expressions."""

    kind_of_words: type[Words] = Words

    def __init__(self, r: random.Random, world: World) -> None:
        self.r, self.policy = r, world.policy
        unit = next(t for t in self.policy.tables.values() if isinstance(t.unit, str))
        self.text_unit = unit.columns[str(unit.unit)].type == "text"
        self.words = self.kind_of_words(r, "", self.text_unit)
        self.private = [name for name, table in self.policy.tables.items() if not table.public]
        self.public = [name for name, table in self.policy.tables.items() if table.public]
        self.count, self.is_plain = 0, r.random() < 0.6
        self.named: dict[str, tuple[Columns, bool]] = {}

    # small words
    def alias(self) -> str:
        self.count += 1
        return f"a{self.count}"

    def chance(self, p: float) -> bool:
        return self.r.random() < p

    def over(self, text: str, scope: Scope, subs: bool = False) -> str:
        """The text with columns of the scope for its letters; now and then a sub-query for a number."""

        def put(match: re.Match[str]) -> str:
            letter = match[0]
            if letter not in _LETTERS:
                return letter
            if letter == "u":
                return self.r.choice(scope.units) if scope.units else ("'1'" if self.text_unit else "1")
            if subs and letter in "im" and self.chance(0.03):
                return self.value(scope)
            there = scope.columns.get(letter)
            return self.r.choice(there) if there else _WITHOUT[letter]

        return _TOKEN.sub(put, text)

    def make(self, scope: Scope, what: str, *args: Any, subs: bool = False) -> str:
        """An expression of `sqlgen` over a scope; in a plain question a column, or a column compared with a constant."""
        self.words.here = set(scope.columns)
        if self.is_plain and what in _PLAIN:
            there = [letter for letter in _PLAIN[what] if letter in scope.columns]
            if there:
                return self.r.choice(scope.columns[self.r.choice(there)])
        if self.is_plain and what == "truth":
            what, args = "atom", ()
        return self.over(getattr(self.words, what)(*args), scope, subs)

    # what stands in FROM
    def table(self, name: str) -> Columns:
        return [(c, c if c in _LETTERS else "k") for c in self.policy.tables[name].columns]

    def source(self, depth: int, public: bool = False) -> tuple[str, str, Columns]:
        """An item of FROM, its alias and its columns."""
        alias = self.alias()
        known = [name for name, (_, open_to_all) in self.named.items() if open_to_all == public]
        if known and self.chance(0.4):
            name = self.r.choice(known)
            return f"{name} AS {alias}", alias, self.named[name][0]
        if depth > 0 and self.chance(0.45):
            text, columns = (
                self.released(depth - 1)
                if public and (not self.public or self.chance(0.6))
                else self.open_rows(depth - 1)
                if public
                else self.rows(depth - 1)
            )
            return f"({text}) AS {alias}", alias, columns
        if public and not self.public:
            text, columns = self.released(0)
            return f"({text}) AS {alias}", alias, columns
        name = self.r.choice(self.public if public else self.private)
        if self.chance(0.05):
            columns = [(f"c{i}", letter) for i, (_, letter) in enumerate(self.table(name))]
            return f"{name} AS {alias}({', '.join(n for n, _ in columns)})", alias, columns
        return f"{name} AS {alias}", alias, self.table(name)

    def from_(self, depth: int, most: int = 3) -> tuple[str, Scope]:
        """FROM with its joins."""
        scope = Scope()
        if self.public and self.chance(0.08):  # public first
            first, alias, columns = self.source(depth, public=True)
            scope.add(alias, columns)
            text = first
            joined, other, more = self.source(depth)
            kind = self.r.choice(["JOIN", "RIGHT JOIN", "CROSS JOIN", ","])
            on = "" if kind in ("CROSS JOIN", ",") else f" ON {self.tie(scope, other, more)}"
            scope.add(other, more)
            text += f", {joined}" if kind == "," else f" {kind} {joined}{on}"
        else:
            text, alias, columns = self.source(depth)
            scope.add(alias, columns)
        for _ in range(self.r.choice([0, 0, 0, 0, 1, 1, 1, 2, 3][: 5 + 2 * most])):
            text = self.joined(text, scope, depth)
        return text, scope

    def joined(self, text: str, scope: Scope, depth: int) -> str:
        public = self.chance(0.35)
        item, alias, columns = self.source(max(0, depth - 1), public)
        units = [f"{alias}.{name}" for name, letter in columns if letter == "u"]
        keys = [name for name, letter in columns if letter == "k"]
        kinds = (
            ["JOIN", "JOIN", "INNER JOIN", "LEFT JOIN", "LEFT OUTER JOIN", "CROSS JOIN", ","]
            if public
            else ["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "FULL OUTER JOIN", ","]
        )
        kind = self.r.choice(kinds)
        tie = self.tie(scope, alias, columns)
        if not public and not self.chance(0.04):
            bare = [unit for unit in scope.units if "." in unit] or scope.units
            if units and bare:
                person = f"{self.r.choice(bare)} = {self.r.choice(units)}"
            elif keys:
                person = f"{self.r.choice([c for c in scope.columns.get('k', []) if c.endswith('.' + keys[0])] or bare or ['1'])} = {alias}.{keys[0]}"
            else:
                person = tie
            if self.chance(0.3) and kind != "," and units and bare:
                names = [c.split(".")[-1] for some in scope.columns.values() for c in some]
                shared = [name for name, letter in columns if letter in "sibo" and names.count(name) == 1]
                using = ["u"] + ([self.r.choice(shared)] if shared and self.chance(0.3) else [])
                if self.chance(0.2):
                    result = f"{text} NATURAL {kind} {item}"
                else:
                    result = f"{text} {kind} {item} USING ({', '.join(using)})"
                scope.add(alias, columns)
                scope.units.append("u")
                return result
            tie = person if self.chance(0.6) else f"{person} AND {tie}"
        scope.add(alias, columns)
        if kind == ",":
            scope.where.append(tie)
            return f"{text}, {item}"
        return f"{text} {kind} {item}" + ("" if kind == "CROSS JOIN" else f" ON {tie}")

    def tie(self, scope: Scope, alias: str, columns: Columns) -> str:
        """A condition between what is there and a new table."""
        there = [(f"{alias}.{name}", letter) for name, letter in columns if letter in scope.columns]
        if there and self.chance(0.8):
            mine, letter = self.r.choice(there)
            return f"{self.r.choice(scope.columns[letter])} {self.r.choice(['=', '=', '=', '<', '>=', '<>'])} {mine}"
        both = Scope({k: list(v) for k, v in scope.columns.items()}, list(scope.units))
        both.add(alias, columns)
        return f"({self.make(both, 'truth', 1)})"

    # sub-queries in expressions
    def value(self, scope: Scope) -> str:
        """A sub-query that stands for a number."""
        inner, text = Scope(), ""
        text, alias, columns = self.source(0)
        inner.add(alias, columns)
        call = self.over(
            self.r.choice(
                [
                    "COUNT(*)",
                    "COUNT(i)",
                    "SUM(i)",
                    "MAX(i)",
                    "MIN(i)",
                    "AVG(i)",
                    "COUNT(DISTINCT s)",
                    "MEDIAN(i)",
                    "VAR_POP(i)",
                ]
            ),
            inner,
        )
        how = self.r.random()
        if how < 0.5 and inner.units and scope.units:
            more = (
                f" AND {inner.columns['s'][0]} = {self.r.choice(scope.columns['s'])}"
                if self.chance(0.3) and "s" in inner.columns and "s" in scope.columns
                else ""
            )
            return f"(SELECT {call} FROM {text} WHERE {inner.units[0]} = {self.r.choice(scope.units)}{more})"
        shared = [letter for letter in "sbo" if letter in inner.columns and letter in scope.columns]
        call = self.over(self.r.choice(["COUNT(*)", "SUM(i)", "AVG(i)", "COUNT(DISTINCT u)"]), inner)
        if how < 0.7 and shared:
            letter = self.r.choice(shared)
            return (
                f"(SELECT {call} FROM {text} WHERE {inner.columns[letter][0]} = {self.r.choice(scope.columns[letter])})"
            )
        if how < 0.8 and self.public:
            name = self.alias()
            table = self.r.choice(self.public)
            return f"(SELECT {self.r.choice(['COUNT(*)', 'MAX(' + name + '.' + self.table(table)[0][0] + ')'])} FROM {table} AS {name})"
        return f"(SELECT {call} FROM {text})"

    def belongs(self, scope: Scope) -> str:
        """IN, EXISTS, and their denials."""
        no = self.r.choice(["", "NOT "])
        inner = Scope()
        public = bool(self.public) and self.chance(0.3)
        text, alias, columns = self.source(1 if self.chance(0.2) else 0, public)
        inner.add(alias, columns)
        shared = [letter for letter in "sboimd" if letter in inner.columns and letter in scope.columns]
        if public and shared:
            letter = self.r.choice(shared)
            mine, theirs = self.r.choice(scope.columns[letter]), inner.columns[letter][0]
            if self.chance(0.5):
                where = f" WHERE {self.make(inner, 'truth', 1)}" if self.chance(0.4) else ""
                compared = f"{mine} {self.quantifier()}" if letter != "b" and self.chance(0.3) else f"{mine} {no}IN"
                return f"{compared} (SELECT {theirs} FROM {text}{where})"
            return f"{no}EXISTS (SELECT 1 FROM {text} WHERE {mine} {self.r.choice(['=', '<', '>'])} {theirs})"
        if not inner.units or not scope.units:
            return self.make(scope, "truth", 1)
        mine, where = self.r.choice(scope.units), self.make(inner, "truth", 1)
        if self.chance(0.45):
            return f"{mine} {no}IN (SELECT {inner.units[0]} FROM {text}{f' WHERE {where}' if self.chance(0.6) else ''})"
        more = (
            f" AND {inner.columns[shared[0]][0]} {self.r.choice(['=', '<', '<>'])} {self.r.choice(scope.columns[shared[0]])}"
            if shared and self.chance(0.5)
            else ""
        )
        if self.chance(0.3) and any(letter != "b" for letter in shared):
            return self.own_values(scope, inner, [letter for letter in shared if letter != "b"], text, mine)
        more += f" AND {where}" if self.chance(0.3) else ""
        return f"{no}EXISTS (SELECT {self.r.choice(['1', '*', inner.units[0]])} FROM {text} WHERE {inner.units[0]} = {mine}{more})"

    def own_values(self, scope: Scope, inner: Scope, letters: list[str], text: str, mine: str) -> str:
        """A value compared with all of the same person's, with any, or with both of a pair."""
        letter, no = self.r.choice(letters), self.r.choice(["", "NOT "])
        left, right, unit = self.r.choice(scope.columns[letter]), inner.columns[letter][0], inner.units[0]
        if self.chance(0.35):
            return f"({mine}, {left}) IN (SELECT {unit}, {right} FROM {text})"
        more = f" AND {self.make(inner, 'truth', 1)}" if self.chance(0.3) else ""
        return f"{no}{left} {self.quantifier()} (SELECT {right} FROM {text} WHERE {unit} = {mine}{more})"

    def quantifier(self) -> str:
        """A comparison with all rows of a sub-query, or with any."""
        return f"{self.r.choice(['=', '<>', '<', '<=', '>', '>='])} {self.r.choice(['ALL', 'ANY'])}"

    def condition(self, scope: Scope, depth: int = 2) -> str:
        test = (
            self.belongs(scope)
            if self.chance(0.5 if self.is_plain else 0.3)
            else self.make(scope, "truth", depth, subs=True)
        )
        if self.chance(0.15):
            test = f"({test}) {self.r.choice(['AND', 'AND', 'OR'])} ({self.belongs(scope)})"
        return test

    def where(self, scope: Scope, chance: float = 0.5) -> str:
        parts = list(scope.where) + ([f"({self.condition(scope)})"] if self.chance(chance) else [])
        return f" WHERE {' AND '.join(parts)}" if parts else ""

    # relations of persons
    def rows(self, depth: int) -> tuple[str, Columns]:
        """A query whose rows belong to persons."""
        build = self.r.choice([self.plain, self.plain, self.once, *[self.own] * 4, *[self.windows] * 3, self.sets])
        return build(max(0, depth))

    def plain(self, depth: int, names: Columns | None = None) -> tuple[str, Columns]:
        text, scope = self.from_(depth, 1)
        if names is None and self.chance(0.15):
            star = [(c.split(".")[-1], letter) for letter, some in scope.columns.items() for c in some]
            star += [(c.split(".")[-1], "u") for c in scope.units]
            if len({name for name, _ in star}) == len(star):
                return f"SELECT * FROM {text}{self.where(scope)}", star
        unit = self.r.choice(scope.units) if scope.units else "1"
        columns: Columns = names or [
            ("u", "u"),
            *((f"{letter}{i}", letter) for i, letter in enumerate(self.r.sample("ismbdo", self.r.randint(1, 3)))),
        ]
        shown = [f"{unit if letter == 'u' else self.shown(scope, letter)} AS {name}" for name, letter in columns]
        return f"SELECT {', '.join(shown)} FROM {text}{self.where(scope)}", columns

    def shown(self, scope: Scope, letter: str) -> str:
        """An expression of a kind, often a column."""
        if letter in scope.columns and self.chance(0.6):
            return self.r.choice(scope.columns[letter])
        how = {
            "i": ("whole", 1),
            "m": ("bounded",),
            "s": ("text", 1),
            "o": ("text", 1),
            "b": ("truth", 1),
            "d": ("day", 1),
        }.get(letter, ("number", 1))
        return self.make(scope, *how, subs=True)

    def once(self, depth: int) -> tuple[str, Columns]:
        text, columns = self.plain(depth)
        return text.replace("SELECT ", "SELECT DISTINCT ", 1), columns

    def own_aggregate(self, scope: Scope, i: int) -> tuple[str, str, str]:
        """An aggregate of one person's rows: its text, a name, and its letter."""
        x = self.r.choice("ismbdot")
        n = lambda: self.make(scope, "bounded")  # noqa: E731  drawn anew at each use
        number = (lambda: self.r.choice(scope.columns["i"])) if "i" in scope.columns and self.chance(0.6) else n
        call, letter = self.r.choice(
            [
                ("COUNT(*)", "i"), (lambda: f"COUNT({self.shown(scope, x)})", "i"), (lambda: f"COUNT(DISTINCT {self.shown(scope, x)})", "i"),
                (lambda: f"SUM({n()})", "m"), (lambda: f"SUM({number()})", "m"), (lambda: f"AVG({number()})", "m"), (lambda: f"AVG({n()})", "m"),
                (lambda: f"{self.r.choice(['MIN', 'MAX'])}({self.shown(scope, x)})", x), (lambda: f"{self.r.choice(['MIN', 'MAX'])}({self.shown(scope, x)})", x),
                (lambda: f"{self.r.choice(['BOOL_AND', 'BOOL_OR', 'EVERY'])}({self.make(scope, 'truth', 1)})", "b"),
                (lambda: f"{self.r.choice(['VAR_POP', 'VAR_SAMP', 'STDDEV_POP', 'STDDEV_SAMP', 'VARIANCE', 'STDDEV'])}({number()})", "f"),
                (lambda: f"MEDIAN({number()})", "f"),
                (lambda: f"PERCENTILE_CONT({self.r.choice(['0.5', '0.9', '0'])}) WITHIN GROUP (ORDER BY {number()})", "f"),
                (lambda: f"PERCENTILE_DISC({self.r.choice(['0.5', '0.25', '1'])}) WITHIN GROUP (ORDER BY {self.shown(scope, x)})", x),
            ]
        )  # fmt: skip
        text = call if isinstance(call, str) else call()
        if self.chance(0.15):
            text += f" FILTER (WHERE {self.make(scope, 'truth', 1)})"
        return text, f"{letter}{i}", letter

    def own(self, depth: int) -> tuple[str, Columns]:
        """Grouped by the person, and perhaps by more."""
        text, scope = self.from_(depth, 1)
        unit = self.r.choice(scope.units) if scope.units else "1"
        made = [self.own_aggregate(scope, i) for i in range(self.r.choice([1, 1, 2]))]
        columns: Columns = [("u", "u"), *((name, letter) for _, name, letter in made)]
        shown, group = [f"{unit} AS u", *(f"{call} AS {name}" for call, name, _ in made)], unit
        if self.chance(0.35):
            letter = self.r.choice("sibdo")
            key = self.shown(scope, letter)
            shown.append(f"{key} AS {letter}9")
            columns.append((f"{letter}9", letter))
            group = self.r.choice(
                [
                    f"{unit}, {key}",
                    f"{unit}, {letter}9",
                    f"{unit}, ROLLUP({key})",
                    f"GROUPING SETS (({unit}), ({unit}, {key}))",
                    f"{unit}, CUBE({key})",
                ]
            )
            if "(" in group.replace(key, "") and self.chance(0.4):
                shown.append(f"GROUPING({key}) AS i8")
                columns.append(("i8", "i"))
        if self.chance(0.15):
            shown.append(f"RANK() OVER (PARTITION BY {unit} ORDER BY {made[0][0]}) AS i7")
            columns.append(("i7", "i"))
        having = ""
        if self.chance(0.25):
            call = made[0][0] if made[0][2] in "imf" else "COUNT(*)"
            having = f" HAVING {call} {self.r.choice(['>', '<', '=', '<='])} {self.r.choice(['1', '2', '0.5', '-1'])}"
        return f"SELECT {', '.join(shown)} FROM {text}{self.where(scope)} GROUP BY {group}{having}", columns

    def windows(self, depth: int) -> tuple[str, Columns]:
        """Windows over one person's rows: tie-free ones over anything, the others where all columns are sorted by."""
        if self.chance(0.4):
            alias = self.alias()
            inner, columns = self.once(depth) if self.chance(0.6) else self.own(depth)
            scope = Scope()
            scope.add(alias, columns)
            rest = [f"{alias}.{name}" for name, letter in columns if letter != "u"]
            sorted_by = ", ".join(f"{c} {self.r.choice(['', 'DESC', 'NULLS FIRST'])}" for c in rest)
            order = f"PARTITION BY {scope.units[0] if scope.units else '1'} ORDER BY {sorted_by}"
            name, letter = self.r.choice([(n, x) for n, x in columns if x != "u"] or [("u", "u")])
            call, kind = self.r.choice(
                [
                    ("ROW_NUMBER()", "i"),
                    (f"LAG({alias}.{name})", letter),
                    (f"LEAD({alias}.{name}, 2)", letter),
                    (f"FIRST_VALUE({alias}.{name})", letter),
                    (f"LAST_VALUE({alias}.{name})", letter),
                    ("COUNT(*)", "i"),
                ]
            )
            frame = (
                self.r.choice(
                    [
                        "",
                        "",
                        " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW",
                        " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
                    ]
                )
                if "LAG" not in call and "LEAD" not in call and "ROW_N" not in call
                else ""
            )
            shown = [f"{scope.units[0] if scope.units else '1'} AS u", f"{call} OVER ({order}{frame}) AS {kind}6"]
            return f"SELECT {', '.join(shown)} FROM ({inner}) AS {alias}", [("u", "u"), (f"{kind}6", kind)]
        text, scope = self.from_(depth, 1)
        unit = self.r.choice(scope.units) if scope.units else "1"
        n = self.make(scope, "bounded")
        x = self.r.choice("isbmd")
        call, letter = self.r.choice(
            [
                ("RANK()", "i"),
                ("DENSE_RANK()", "i"),
                ("COUNT(*)", "i"),
                (f"COUNT({n})", "i"),
                (f"SUM({n})", "m"),
                (f"AVG({n})", "m"),
                (f"MIN({self.shown(scope, x)})", x),
                (f"MAX({self.shown(scope, x)})", x),
            ]
        )
        by = (
            f" ORDER BY {self.shown(scope, self.r.choice('ismd'))}{self.r.choice(['', ' DESC'])}"
            if "RANK" in call or self.chance(0.4)
            else ""
        )
        frame = (
            self.r.choice(
                [
                    "",
                    " GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW",
                    " RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
                ]
            )
            if by and "RANK" not in call and self.chance(0.4)
            else ""
        )
        more = f", {self.shown(scope, 's')}" if self.chance(0.3) else ""
        shown = [
            f"{unit} AS u",
            f"{call} OVER (PARTITION BY {unit}{more}{by}{frame}) AS {letter}6",
            f"{self.shown(scope, 's')} AS s5",
        ]
        return f"SELECT {', '.join(shown)} FROM {text}{self.where(scope)}", [
            ("u", "u"),
            (f"{letter}6", letter),
            ("s5", "s"),
        ]

    def sets(self, depth: int) -> tuple[str, Columns]:
        columns: Columns = [
            ("u", "u"),
            *((f"{letter}{i}", letter) for i, letter in enumerate(self.r.sample("isb", self.r.randint(0, 2)))),
        ]
        word = self.r.choice(["UNION", "UNION ALL", "UNION ALL", "EXCEPT", "INTERSECT"])
        left, right = (self.plain(max(0, depth - 1), columns)[0] for _ in range(2))
        return f"{left} {word} {right}", columns

    # public relations
    def open_rows(self, depth: int) -> tuple[str, Columns]:
        """Rows of public tables."""
        if not self.public:
            return self.released(depth)
        name, alias = self.r.choice(self.public), self.alias()
        columns, scope = self.table(name), Scope()
        scope.add(alias, columns)
        shown = ", ".join(f"{alias}.{c} AS {c}" for c, _ in columns)
        where = f" WHERE {self.make(scope, 'truth', 1)}" if self.chance(0.4) else ""
        how = self.r.random()
        if how < 0.3:
            first, letter = columns[0]
            return (
                f"SELECT {alias}.{first} AS {first}, COUNT(*) AS i9 FROM {name} AS {alias}{where} GROUP BY {alias}.{first}",
                [(first, letter), ("i9", "i")],
            )
        if how < 0.4:
            return (
                f"SELECT {shown} FROM {name} AS {alias}{where} {self.r.choice(['UNION', 'UNION ALL', 'EXCEPT', 'INTERSECT', 'EXCEPT ALL'])} SELECT {shown} FROM {name} AS {alias}",
                columns,
            )
        if how < 0.5:
            return f"SELECT {shown} FROM {name} AS {alias}{where} ORDER BY 1 LIMIT 3", columns
        if how < 0.6:
            return (
                f"SELECT {shown}, ROW_NUMBER() OVER (ORDER BY {alias}.{columns[0][0]}) AS i9 FROM {name} AS {alias}{where}",
                [*columns, ("i9", "i")],
            )
        return f"SELECT {'DISTINCT ' if self.chance(0.5) else ''}{shown} FROM {name} AS {alias}{where}", columns

    def released(self, depth: int) -> tuple[str, Columns]:
        """A release as a table, for what comes after it."""
        text, scope = self.from_(min(depth, 1), 1)
        letter = self.r.choice("ssbo")
        key = self.shown(scope, letter)
        columns: Columns = [(f"{letter}9", letter), ("j9", "j")]
        call = self.over(self.r.choice(["COUNT(*)", "SUM(i)", "COUNT(DISTINCT u)", "AVG(i)"]), scope)
        if self.chance(0.2):
            return f"SELECT {call} AS j9 FROM {text}{self.where(scope, 0.3)}", [("j9", "j")]
        having = f" HAVING {call} > 1" if self.chance(0.2) else ""
        tail = " ORDER BY 2 DESC LIMIT 2" if self.chance(0.15) else ""
        return (
            f"SELECT {key} AS {letter}9, {call} AS j9 FROM {text}{self.where(scope, 0.3)} GROUP BY 1{having}{tail}",
            columns,
        )
