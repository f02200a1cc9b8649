"""LOWER and UPPER, the same on every server: by Unicode's simple mappings, not by the locale of a database.

Comes in: the text of an expression. Goes out: SQL. Keys of groups are computed beside the server, in the embedded
engine; a letter that the two map to different ones would lose a group. So its own mapping is written out, for texts
that are not ASCII alone.
"""

from __future__ import annotations

from functools import lru_cache

import duckdb

from sfumato.engines.duckdb.text_spelling import upper
from sfumato.engines.postgres.spelling import once
from sfumato.types import string

_LAST = 0x1FFFF


@lru_cache(2)
def mapping(function: str) -> tuple[str, str]:
    """The letters beyond ASCII that change, and what they change to, one for one."""
    surrogates = "i < 55296 OR i > 57343"
    letter = "chr(i::INTEGER)"
    mapped = upper(letter) if function == "upper" else f"{function}({letter})"
    sql = f"SELECT {letter}, {mapped} FROM range(128, {_LAST}) AS r(i) WHERE {surrogates}"
    with duckdb.connect(config={"threads": 1}) as connection:
        pairs = [(a, b) for a, b in connection.execute(sql).fetchall() if a != b]
    assert all(len(a) == len(b) == 1 for a, b in pairs)
    return "".join(a for a, _ in pairs), "".join(b for _, b in pairs)


def cased(function: str, x: str) -> str:
    """The text in small or in capital letters."""
    before, after = map(string, mapping(function))
    ascii_ = f'{function}(x COLLATE "C")'
    return once(
        {"x": x},
        f"CASE WHEN octet_length(x) = length(x) THEN {ascii_} ELSE translate({ascii_}, {before}, {after}) END",
    )
