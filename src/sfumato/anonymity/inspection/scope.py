"""What a check decided exactly, what it judged by rules of thumb, and what it did not look at.

Comes in: what was checked. Goes out: three lists of words, so that a pass says what it means.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from sfumato.anonymity.inspection.claims import Claims


@dataclass(frozen=True)
class CheckScope:
    """What was decided exactly, what was judged by rules of thumb, and what was not looked at."""

    exact: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, list[str]]:
        """The scope as one document."""
        return {"exact": list(self.exact), "rules_of_thumb": list(self.rules), "not_checked": list(self.left)}

    def __str__(self) -> str:
        parts = {"checked exactly": self.exact, "by heuristics": self.rules, "not checked": self.left}
        return "; ".join(f"{name}: {', '.join(words)}" for name, words in parts.items() if words)


def scope_of(
    kind: str, notes: Set[str], *, claims: Claims, sensitive: str | None, kept: bool, earlier: int, left: Sequence[str]
) -> CheckScope:
    """The scope of a check; `kind` is that of the place where the release is, `notes` are the kinds of its notes."""
    return CheckScope(
        tuple(_exact(kind, notes, claims, sensitive, earlier)),
        tuple(_rules(kind, notes, kept=kept)),
        ("releases that are not named here", "what is known of people beside the quasi-identifiers", *left),
    )


def _exact(kind: str, notes: Set[str], claims: Claims, sensitive: str | None, earlier: int) -> Iterator[str]:
    yield from ("the columns", "that labels cover the original rows", "k")
    yield from ("l", "t") if sensitive else ()
    yield from ("beta",) if claims.beta is not None else ()
    yield from ("presence",) if claims.presence is not None else ()
    yield from () if "order" in notes else ("the order of rows",)
    yield from ("the bytes of the file",) if kind in ("text", "parquet") and not notes - {"order"} else ()
    yield from ("the catalog of the database",) if kind == "duckdb" else ()
    if earlier:
        yield f"the groups that this and {earlier} earlier release{'s' * (earlier > 1)} leave together"


def _rules(kind: str, notes: Set[str], *, kept: bool) -> Iterator[str]:
    if "order" in notes:
        yield "whether the order of rows is left over from the original table"
    if notes - {"order"}:
        yield "the bytes of the file"
    if kept:
        yield "what kept columns tell of people"
    if kind == "duckdb":
        yield "bytes that deleted rows left in the database"
    if kind == "postgresql":
        yield "comments, defaults and conditions of the table"
