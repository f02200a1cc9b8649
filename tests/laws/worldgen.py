"""Random policies and random rows for them: private tables that share their persons, public ones beside them.

All of it is a function of one random generator. Rows are texts, as a careless file holds them, and become typed by the
physical type that a column happens to have: what does not fit is NULL there, and what fits may still be outside of every
declared domain.
"""

# ruff: noqa: E501  a table of kinds stands on long lines
from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sfumato.policy import from_dict
from tests.laws.worlds import Row, Tables, World

# columns: what the owner may declare, the types that files may have, and what may stand in them
_SPECIAL = [None, "", "NaN", "inf", "-inf", "abc", "1e400", "-1e300", "1e19", "99999999999999999999999999999999999999"]
_EXTREME = ["9223372036854775807", "-9223372036854775808", "-9223372036854775807", "4611686018427387904"]
_INTEGERS = [
    "0",
    "1",
    "2",
    "3",
    "5",
    "7",
    "-1",
    "-5",
    "-6",
    "10",
    "11",
    "999",
    "-999",
    " 7",
    "2.5",
    "-2.5",
    "3.7",
    "1e1",
]
_DECIMALS = [
    "0",
    "0.005",
    "-0.005",
    "0.015",
    "0.025",
    "1.99",
    "1.995",
    "2.001",
    "-0.99",
    "0.3",
    "49.99",
    "100.5",
    "-70",
]
_DAYS = [
    None, "2024-01-31", "2024-02-29", "2023-12-31", "2024-12-31", "2030-01-01", "1900-01-01", "infinity", "-infinity",
    "2024-02-30", "x", "0001-01-01", "9999-12-31", "5000000-01-01", "290309-12-23 (BC)", "5881580-07-10",
]  # fmt: skip
_MOMENTS = [f"{day} 23:59:59.999999" if day and day[:2] in ("20", "19") else day for day in _DAYS] + [
    "2024-03-01 00:30:00"
]
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
            {"type": "decimal", "min": -(10**36), "max": 10**36, "grid": 1},
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


@dataclass
class _Table:
    """One table as it is made: its section of the policy, physical types, and what may stand in its columns."""

    section: dict[str, Any]
    types: dict[str, str]
    pools: dict[str, list[str | None]] = field(default_factory=dict)

    def some(self, r: random.Random, *first: str | None) -> Row:
        return (*first, *(r.choice(pool) for pool in self.pools.values()))


def _columns(r: random.Random, table: _Table, letters: list[str], nulls: float = 0.15) -> None:
    for letter in dict.fromkeys(letters):
        declared, physical, pool = _KINDS[letter]
        table.section["columns"][letter] = {**r.choice(declared), **({"nulls": False} if r.random() < nulls else {})}
        table.types[letter], table.pools[letter] = r.choice(physical), pool


def world(r: random.Random) -> World:
    """The table t; often p with one row a person, v with several, w and x behind foreign keys, public ones y and z."""
    kind = r.choice(["text", "integer"])
    physical = r.choice(_UNITS[kind][0].split())
    tables = {
        "t": _private(
            r, kind, physical, r.choice([1, 1, 2, 5]), letters=["s", "b", "i", "m", *r.sample(sorted(_KINDS), 4)]
        )
    }
    if r.random() < 0.8:
        tables["v"] = _private(r, kind, physical, r.choice([2, 3]), letters=["s", "i", *r.sample(sorted(_KINDS), 2)])
    if r.random() < 0.7:
        tables["p"] = _private(r, kind, physical, 1, letters=["i", "o", *r.sample(sorted(_KINDS), 2)], key="k")
        if r.random() < 0.6:
            tables["w"] = _behind(r, "p", tables["p"].types["k"], r.choice([1, 2, 4]), letters=["s", "m", "o"], key="l")
            if r.random() < 0.4:
                tables["x"] = _behind(r, "w", tables["w"].types["l"], r.choice([1, 3]), letters=["i", "b"])
    if r.random() < 0.8:
        tables["y"] = _public(r, ["s", "i", "o"])
        tables["z"] = _public(r, r.sample(["i", "m", "d", "b", "o"], 2))
    for made in tables.values():
        _limits(r, made.section)
    privacy: dict[str, Any] = {"epsilon": 100, "adjacency": r.choice(["add-remove", "replace"])}
    if r.random() < 0.75:
        privacy |= {"delta": Fraction(1, 10**5), "query_delta": Fraction(1, 10**7)}
    if "p" in tables and r.random() < 0.6:
        privacy["partition"] = f"p.{r.choice([c for c in tables['p'].pools if c in 'isbmod'])}"
    document = {
        "source": {"engine": "duckdb", "files": dict.fromkeys(tables, ":memory:")},
        "data": {"id": "world"},
        "privacy": privacy,
        "tables": {name: _numbers(made.section) for name, made in tables.items()},
    }
    people = r.sample(_UNITS[kind][1], r.randint(3, 6))
    rows = _filled(r, tables, people, 0)
    others = {unit: [_filled(r, tables, [unit], 1, public=False)] for unit in people if unit is not None}
    return World(from_dict(document), {name: made.types for name, made in tables.items()}, rows, others)


def _private(
    r: random.Random, kind: str, physical: str, rows: int, *, letters: list[str], key: str | None = None
) -> _Table:
    unit = {"type": kind} | (
        {"max_length": r.choice([6, 1, 200])}
        if kind == "text"
        else r.choice([{}, {}, {"min": 0, "max": 9}, {"min": -4, "max": 2**40}])
    )
    made = _Table({"unit": "u", "rows_per_unit": rows, "columns": {"u": unit}}, {"u": physical})
    if key is not None:
        made.section["columns"][key], made.types[key] = {"type": "integer"}, r.choice(["BIGINT", "VARCHAR"])
    _columns(r, made, letters)
    return made


def _behind(
    r: random.Random, target: str, physical: str, rows: int, *, letters: list[str], key: str | None = None
) -> _Table:
    """A table whose unit is behind a foreign key, which has the name of the key."""
    name = "k" if target == "p" else "l"
    section = {
        "unit": {"join": target, "on": f"{name} = {name}"},
        "rows_per_unit": rows,
        "columns": {name: {"type": "integer"}},
    }
    made = _Table(section, {name: physical})
    if key is not None:
        section["columns"][key], made.types[key] = {"type": "integer"}, r.choice(["BIGINT", "VARCHAR"])
    _columns(r, made, letters)
    return made


def _public(r: random.Random, letters: list[str]) -> _Table:
    made = _Table({"public": True, "columns": {}}, {})
    _columns(r, made, letters, 0)
    for letter in letters:
        made.section["columns"][letter] = {
            "s": {"type": "text"}, "o": {"type": "text"}, "i": {"type": "integer"}, "m": {"type": "decimal", "min": -1, "max": 2, "grid": "0.01"},
            "d": {"type": "date"}, "b": {"type": "boolean"},
        }[letter] | ({"max_length": 9} if letter in "so" else {})  # fmt: skip
        made.types[letter] = {
            "s": "VARCHAR",
            "o": "VARCHAR",
            "i": "BIGINT",
            "m": "DECIMAL(9, 2)",
            "d": "DATE",
            "b": "BOOLEAN",
        }[letter]
    return made


def _limits(r: random.Random, section: dict[str, Any]) -> None:
    """What the owner may say about one person beyond rows."""
    if section.get("public"):
        return
    columns, rows = section["columns"], section["rows_per_unit"]
    if r.random() < 0.4:
        bounded = [c for c in columns if c in "imf" and "min" in columns[c] and columns[c]["max"] != "0.5"]
        section["sum_per_unit"] = {c: r.choice(["0.5", 3, 1000]) for c in bounded}
    if rows > 1 and r.random() < 0.4:
        section["groups_per_unit"] = r.randint(1, rows)
    if rows > 1 and r.random() < 0.4:
        section["l2_per_unit"] = r.choice(["1.5", 1, 2, "0.7", 9])


def _filled(
    r: random.Random, tables: dict[str, _Table], people: list[str | None], start: int, public: bool = True
) -> Tables:
    """Rows of these people; keys are all different, also from those of another `start`."""
    rows: Tables = {name: [] for name in tables}
    number = 1_000_000 * start * (1 + r.randrange(10**6))
    keys: dict[str, list[str]] = {"k": [], "l": []}
    for name, made in tables.items():
        columns = list(made.section["columns"])
        if made.section.get("public"):
            rows[name] = [made.some(r) for _ in range(r.choice([0, 1, 4, 9]))] if public else []
            rows[name] += r.sample(rows[name], min(2, len(rows[name])))
            continue
        behind = isinstance(made.section["unit"], dict)
        owners: list[str | None] = list(people)
        if behind:
            owners = [*keys[columns[0]], *(["77", None] if public else [])]
        for owner in owners:
            if r.random() < 0.2 and len(owners) > 1:  # she is in other tables only
                continue
            for _ in range(r.choice([1, 1, 2] if name in "pwx" else [1, 1, 2, 3, 5, 12])):
                first = [owner]
                if len(columns) > 1 and columns[1] in ("k", "l"):
                    number += 1
                    first.append(str(number) if r.random() < 0.9 else None)
                    if first[-1] is not None:
                        keys[columns[1]].append(first[-1])
                rows[name].append(made.some(r, *first))
    return rows


def _numbers(value: Any) -> Any:
    """Decimals as people write them."""
    if isinstance(value, dict):
        return {k: v if k in ("type", "unit") else _numbers(v) for k, v in value.items()}
    if isinstance(value, str):
        try:
            return Decimal(value)
        except ArithmeticError:
            return value
    return value
