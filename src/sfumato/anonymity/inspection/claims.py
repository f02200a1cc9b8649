"""What a release claims to satisfy, from what a person wrote.

Comes in: k, l, t, beta, presence as texts or numbers. Goes out: Claims in exact numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sfumato.anonymity.inspection.exact import is_entropy_diverse, recursive_of
from sfumato.errors import InputError
from sfumato.types import as_written, positive, show, whole


@dataclass(frozen=True)
class Claims:
    """What a release claims to satisfy; None where nothing is claimed."""

    k: int | None = None
    l: Fraction | None = None  # noqa: E741  the letter of the literature
    diversity: str = "distinct"
    c: Fraction = Fraction(3)
    t: Fraction | None = None
    distance: str = "equal"
    dummies: int = 0
    beta: Fraction | None = None
    presence: tuple[Fraction, Fraction] | None = None

    def to_dict(self) -> dict[str, object]:
        """The claims as one document, from which `claims_of` makes them again."""
        numbers = {"l": self.l, "c": self.c, "t": self.t, "beta": self.beta}
        return {
            "k": self.k,
            **{name: None if number is None else str(number) for name, number in numbers.items()},
            "diversity": self.diversity,
            "distance": self.distance,
            "dummies": self.dummies,
            "presence": None if self.presence is None else [str(part) for part in self.presence],
        }


def is_diverse(values: Counter[str], claims: Claims, l: Fraction) -> bool:  # noqa: E741  the letter of the literature
    """Whether the values of a class are as diverse as is claimed."""
    if claims.diversity == "entropy":
        return is_entropy_diverse(values, l)
    if claims.diversity == "recursive":
        ratio = recursive_of([values], whole(l, "l"))
        return ratio is not None and ratio < claims.c
    return len(values) >= l


def claims_of(
    k: object = None,
    l: object = None,  # noqa: E741  the letter of the literature
    t: object = None,
    *,
    diversity: str = "distinct",
    c: object = 3,
    distance: str = "equal",
    dummies: int = 0,
    beta: object = None,
    presence: Sequence[object] | None = None,
) -> Claims:
    """Claims from what a person wrote."""
    if diversity not in ("distinct", "entropy", "recursive"):
        raise InputError(f'unknown diversity "{diversity}"', hint="Use distinct, entropy or recursive.")
    if distance not in ("equal", "ordered", "hierarchical"):
        raise InputError(f'unknown distance "{distance}"', hint="Use equal, ordered or hierarchical.")
    if t is not None and not 0 <= as_written(t, "t") <= 1:
        raise InputError(f"t must be between 0 and 1, but is {show(as_written(t, 't'))}")
    if l is not None and as_written(l, "l") < 1:
        raise InputError(f"l must be at least 1, but is {show(as_written(l, 'l'))}")
    if dummies < 0:
        raise InputError(f"dummies must be at least 0, but is {dummies}")
    return Claims(
        None if k is None else whole(k, "k", 1),
        None if l is None else as_written(l, "l"),
        diversity,
        as_written(c, "c"),
        None if t is None else as_written(t, "t"),
        distance,
        dummies,
        None if beta is None else positive(beta, "beta"),
        None if presence is None else _between(presence),
    )


def _between(presence: Sequence[object]) -> tuple[Fraction, Fraction]:
    if len(presence) != 2:
        raise InputError("presence takes two numbers", hint="For example --presence 0,0.5.")
    low, high = (as_written(one, "delta") for one in presence)
    if not 0 <= low <= high <= 1 or high == 0:
        raise InputError("delta-presence needs two numbers 0 <= low <= high <= 1, the second one above 0")
    return low, high
