"""Random whole questions: WITH, one release or several, grouping sets, and what is done with what is released.

Much of what is made here is refused: `asking.case` asks until something is answered.
"""

# ruff: noqa: E501  a shape of a question stands on one line
from __future__ import annotations

import re

from tests.laws.relgen import Relations, Scope
from tests.laws.sqlgen import PAIRS


class Asker(Relations):
    """One random question over a world."""

    def groups(self, scope: Scope, shown: list[str]) -> str:
        """GROUP BY with plain keys or grouping sets; open keys now and then."""
        keys = []
        for i in range(self.r.choice([1, 1, 1, 2, 2, 3])):
            key = (
                self.r.choice(scope.columns["o"])
                if "o" in scope.columns and self.chance(0.25)
                else self.make(scope, "key", subs=self.chance(0.3))
            )
            if not re.fullmatch(r"-?[0-9.]+|\((-?[0-9.]+)\)|NULL|'.*'|\(NULL\)|TRUE|FALSE", key):
                keys.append(key)
                if self.chance(0.7):
                    shown.append(f"{key} AS k{i}")
        if not keys:
            return ""
        plain = ", ".join(keys)
        if self.chance(0.7):
            return f" GROUP BY {plain}"
        if self.chance(0.3):
            shown.append(f"GROUPING({keys[0]})")
        sets = ", ".join(f"({key})" for key in keys)
        return " GROUP BY " + self.r.choice(
            [
                f"ROLLUP({plain})",
                f"CUBE({plain})",
                f"GROUPING SETS ({sets}, ())",
                f"GROUPING SETS (({plain}), ({keys[0]}))",
                f"{keys[0]}, ROLLUP({plain})",
            ]
        )

    def release(self, depth: int) -> str:
        """One SELECT that releases."""
        r = self.r
        text, scope = self.from_(depth)
        if self.chance(0.06):
            keys = [
                self.make(scope, "key") if self.chance(0.7) else self.shown(scope, "o") for _ in range(r.choice([1, 2]))
            ]
            return f"SELECT DISTINCT {', '.join(f'{key} AS k{i}' for i, key in enumerate(keys))} FROM {text}{self.where(scope)}"
        together = self.chance(0.3)
        self.words.here = set(scope.columns)
        few = [
            "COUNT(*)",
            "SUM(i)",
            "AVG(i)",
            "COUNT(DISTINCT u)",
            "SUM(m)",
            "COUNT(s)",
            "COUNT(DISTINCT s)",
            "SUM(DISTINCT m)",
            "MAX(i)",
            "MEDIAN(m)",
            "VAR_POP(i)",
            "MODE() WITHIN GROUP (ORDER BY s)",
            *(f"{pair}(i, m)" for pair in r.sample(PAIRS, 4)),
        ]
        one = (lambda: r.choice(few)) if self.is_plain else self.words.aggregate
        made = self.words.family() if together else [one() for _ in range(r.choice([1, 1, 1, 2, 3]))]
        asked = [self.over(call, scope, subs=True) for call in made]
        shown = list(asked)
        group = self.groups(scope, shown) if self.chance(0.55) else ""
        if self.chance(0.15):
            shown.append(f"{r.choice(asked)} {r.choice('+-*/')} {r.choice(['2', *asked])}")
        if group and self.chance(0.4):
            order = f"ORDER BY {asked[0]} {r.choice(['', 'DESC', 'NULLS FIRST'])}"
            shown.append(
                r.choice(
                    [
                        f"{r.choice(['RANK', 'ROW_NUMBER', 'DENSE_RANK'])}() OVER ({order})",
                        f"{r.choice(['SUM', 'MIN', 'MAX', 'AVG', 'COUNT'])}({asked[0]}) OVER ()",
                        f"{r.choice(['LAG', 'LEAD', 'FIRST_VALUE', 'LAST_VALUE'])}({asked[0]}) OVER ({order})",
                        f"SUM({asked[0]}) OVER ({order} ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
                    ]
                )
            )
        self.above(asked, shown, group)
        result = f"SELECT {', '.join(shown)} FROM {text}"
        extra = self.make(scope, "atom") if together and self.chance(0.5) else ""
        where = self.where(scope, 0.5)
        if extra:
            where = f"{where} AND {extra}" if where else f" WHERE {extra}"
        result += where + group
        if self.chance(0.12):
            result += f" HAVING {asked[-1]} > {r.choice(['3', '-1', '0.5'])}"
        result += self.chosen(asked, group)
        if self.chance(0.15):
            result += f" ORDER BY {r.choice([asked[0], '1'])} {r.choice(['', 'DESC', 'ASC NULLS FIRST'])}"
        if self.chance(0.1):
            result += f" LIMIT {r.choice([1, 5])} OFFSET {r.choice([0, 2])}"
        return result

    def above(self, asked: list[str], shown: list[str], group: str) -> None:
        """More columns of what is released: none here, and no draws."""

    def chosen(self, asked: list[str], group: str) -> str:
        """A choice among groups by windows: none here, and no draws."""
        return ""

    def question(self) -> str:
        """A whole question: WITH, one release or several, and what is done with them."""
        heads = []
        for _ in range(self.r.choice([0, 0, 0, 1, 1, 2])):
            public = self.chance(0.3)
            name = f"c{self.alias()}"
            text, columns = self.released(1) if public else self.rows(1)
            heads.append(f"{name} AS ({text})")
            self.named[name] = (columns, public)
        depth, how = self.r.choice([0, 1, 1, 2]), self.r.random()
        text = self.release(depth) if how < 0.75 else self.simple()
        if how < 0.08:
            inner, columns = self.released(depth)
            alias, scope = self.alias(), Scope()
            scope.add(alias, columns)
            other = self.r.choice(
                [
                    "COUNT(*)",
                    f"SUM({alias}.j9)",
                    f"MAX({alias}.j9), MIN({alias}.j9), AVG({alias}.j9)",
                    f"MEDIAN({alias}.j9)",
                    f"STDDEV_SAMP({alias}.j9)",
                    f"COUNT(*) FILTER (WHERE {alias}.j9 > 1)",
                ]
            )
            test = self.make(scope, "truth", 1)
            if self.public and self.chance(0.5):
                key, of = columns[0][0], self.r.choice(self.public)
                test = self.r.choice(
                    [
                        f"{alias}.{key} IN (SELECT {self.table(of)[0][0]} FROM {of})",
                        f"EXISTS (SELECT 1 FROM {of} AS e WHERE e.{self.table(of)[0][0]} = {alias}.{key})",
                    ]
                )
            text = f"SELECT {other} FROM ({inner}) AS {alias} WHERE {test}"
        elif how < 0.14:
            one, two = (self.released(0) for _ in range(2))
            if len(one[1]) == len(two[1]) and [x for _, x in one[1]] == [x for _, x in two[1]]:
                text = (
                    f"{one[0]} {self.r.choice(['UNION', 'UNION ALL', 'EXCEPT', 'INTERSECT'])} {two[0]}"
                    if "LIMIT" not in one[0] + two[0]
                    else one[0]
                )
        elif how < 0.2:
            (one, names), (two, others) = (self.released(0) for _ in range(2))
            a, b = self.alias(), self.alias()
            text = f"SELECT {a}.{names[-1][0]}, {b}.{others[-1][0]}, {a}.{names[-1][0]} / {b}.{others[-1][0]} FROM ({one}) AS {a} {self.r.choice(['JOIN', 'LEFT JOIN', 'FULL JOIN'])} ({two}) AS {b} ON {a}.{names[0][0]} = {b}.{others[0][0]}"
        elif how < 0.24:
            text = f"SELECT ({self.first()}) AS z1, 1 + ({self.first()}) AS z2"
        return (f"WITH {', '.join(heads)} " if heads else "") + text

    def simple(self) -> str:
        """Something over persons' own numbers or windows, and little else."""
        alias, scope = self.alias(), Scope()
        inner, columns = self.r.choice([self.own, self.own, self.windows])(0)
        scope.add(alias, columns)
        made = [
            self.over(
                self.r.choice(
                    [
                        "COUNT(*)",
                        "SUM(i)",
                        "AVG(i)",
                        "AVG(m)",
                        "SUM(m)",
                        "COUNT(*) FILTER (WHERE i < 1)",
                        "COUNT(*) FILTER (WHERE f > 0.5)",
                        "COUNT(*) FILTER (WHERE b)",
                    ]
                ),
                scope,
            )
            for _ in range(self.r.choice([1, 2]))
        ]
        key = self.r.choice([letter for letter in "sbi" if letter in scope.columns] or [""]) if self.chance(0.3) else ""
        group = f" GROUP BY {scope.columns[key][0]}" if key else ""
        return f"SELECT {', '.join(made)} FROM ({inner}) AS {alias}{self.where(scope, 0.4)}{group}"

    def first(self) -> str:
        """A release of one number."""
        text, scope = self.from_(1, 1)
        call = self.over(self.r.choice(["COUNT(*)", "SUM(i)", "COUNT(DISTINCT u)", "AVG(i)"]), scope)
        return f"SELECT {call} FROM {text}{self.where(scope)}"
