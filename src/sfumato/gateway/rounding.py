"""Numbers as people read them: no more digits than the noise allows, the same at every interface.

Comes in: a value and its confidence interval. Goes out: text. Interval ends and half widths are rounded outward, so
that what is shown is never narrower than what was computed. Programs read the exact values instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_UP, Decimal
from fractions import Fraction
from typing import Any

from sfumato.gateway.spent import Spent
from sfumato.words import show

Interval = tuple[Any, Any] | None
_LOPSIDED = Decimal("1.05")
"""Where one side of an interval is longer than the other by more than this factor, both ends are written."""


def shown(value: Any, interval: Interval) -> tuple[str, str]:
    """A value and its interval as text.

    >>> from decimal import Decimal
    >>> shown(Decimal("49.0863407472"), (Decimal("47.820895649"), Decimal("50.341322395")))
    ('49.1', '47.8 to 50.4')
    >>> shown(1355, (1324, 1386)), shown(None, None)
    (('1,355', '1,324 to 1,386'), ('NULL', ''))
    """
    if interval is None:
        return plain(value), ""
    if isinstance(interval[0], date):
        return plain(value), f"{plain(interval[0])} to {plain(interval[1])}"
    low, high = (Decimal(end) for end in interval)
    places = _places(high - low)
    ends = f"{_rounded(low, places, ROUND_FLOOR)} to {_rounded(high, places, ROUND_CEILING)}"
    return ("NULL" if value is None else _rounded(Decimal(value), places, ROUND_HALF_EVEN)), ends


def around(value: Any, interval: Interval) -> tuple[str, str]:
    """A value, and "±" with half of its interval where that is even on both sides; else its two ends.

    >>> around(1355, (1324, 1386)), around(3, (0, 34))
    (('1,355', '±31'), ('3', '0 to 34'))
    """
    number, ends = shown(value, interval)
    if interval is None or value is None or isinstance(value, date):
        return number, ends
    below, above = Decimal(value) - Decimal(interval[0]), Decimal(interval[1]) - Decimal(value)
    least, most = min(below, above), max(below, above)
    if least < 0 or most > least * _LOPSIDED:
        return number, ends
    return number, f"±{_rounded(most, _places(2 * most), ROUND_UP)}"


CANNOT_TELL = "cannot tell: noise rules out nothing that was declared; use a larger epsilon, or larger groups"


def told_of(value: Any, interval: Interval, nothing: bool) -> tuple[str, str]:
    """The same; *cannot tell* in place of a number whose interval is all that was declared.

    >>> told_of(3, (0, 120), True)
    ('cannot tell', '0 to 120')
    """
    return ("cannot tell", shown(value, interval)[1]) if nothing else around(value, interval)


def plain(value: Any) -> str:
    """A key or a derived value, as PostgreSQL's own terminal shows it."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return f"{value:f}"
    return "".join(c if c.isprintable() else " " for c in str(value))


def _places(width: Decimal) -> int:
    """Decimals that say something beside an interval of this width: two digits of its half."""
    if width <= 0:
        return 6
    return max(0, min(12, 1 - (width / 2).adjusted()))


def _rounded(value: Decimal, places: int, rounding: str) -> str:
    """A number with thousands separators, and no decimals that it does not have."""
    has = max(0, -int(value.as_tuple().exponent))
    return f"{value.quantize(Decimal(1).scaleb(-min(places, has)), rounding=rounding):,}"


def width(number: Fraction) -> str:
    """A half width or a scale to three digits, rounded up, with thousands separators."""
    if number.denominator == 1 and number < 10**15:
        return f"{int(number):,}"
    digits = 2 - (Decimal(number.numerator) / Decimal(number.denominator)).adjusted()
    places = max(0, digits)
    up = -(-number * 10**places // 1)
    return f"{Decimal(int(up)).scaleb(-places):,}"


def amount(number: Fraction) -> str:
    """An amount of budget: as written where that is short, else a decimal rounded down, and "about" before it."""
    text = show(number)
    if len(text) <= 12:
        return text
    for digits in (6, 9, 12, 15):
        cut = number * 10**digits // 1 / Fraction(10**digits)
        if cut:
            return f"about {show(cut)}"
    return f"about {float(number):.1e}"


def many(number: int, what: str, plural: str | None = None) -> str:
    """A count with its noun.

    >>> many(1, "row"), many(1200, "row"), many(2, "query", "queries")
    ('1 row', '1,200 rows', '2 queries')
    """
    return f"{number:,} {what if number == 1 else plural or what + 's'}"


# what was spent, and what is left
def in_currency(amounts: Spent, *, in_rho: bool = False) -> str:
    """Epsilon, or rho where it is asked for or no epsilon is counted."""
    if amounts.rho is not None and (in_rho or amounts.epsilon is None):
        return f"rho {amount(amounts.rho)}"
    return "no budget" if amounts.epsilon is None else f"epsilon {amount(amounts.epsilon)}"


def by_rho(left: Spent) -> bool:
    """Whether the budget is counted in rho alone: its epsilon is used up or not counted, and rho is left."""
    return not left.epsilon and bool(left.rho)


def is_free(cost: Spent) -> bool:
    """Whether nothing was charged."""
    return cost.epsilon == 0 and cost.rho == 0


def charge(cost: Spent, left: Spent) -> str:
    """What is charged, in the currency that is left, with the delta of partition selection."""
    return in_currency(cost, in_rho=by_rho(left)) + (f" and delta {amount(cost.delta)}" if cost.delta else "")


def more_like_this(left: Spent) -> str:
    """How many queries like this one the budget still allows."""
    return "" if left.queries is None else f" (about {left.queries:,} more like this)"


def cost_line(cost: Spent, left: Spent, *, stored: bool) -> str:
    """What an answer cost, and what is left."""
    said = f"cost: {charge(cost, left)}"
    if is_free(cost):
        said = "cost: free, the answer was stored" if stored else "cost: free"
    return f"{said}; {in_currency(left, in_rho=by_rho(left))} left{more_like_this(left)}"


def note_lines(notes: Sequence[tuple[str | None, str]]) -> list[str]:
    """What to keep in mind, one line each."""
    return [f"note: {text}" if column is None else f"note on {column}: {text}" for column, text in notes]
