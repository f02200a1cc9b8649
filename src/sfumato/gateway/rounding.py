"""Numbers as people read them: no more digits than the noise allows, the same at every interface.

Comes in: a value and its confidence interval. Goes out: text. Interval ends and half widths are rounded outward, so
that what is shown is never narrower than what was computed. Programs read the exact values instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_UP, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.gateway.amounts import Spent
from sfumato.types import show, show_small

if TYPE_CHECKING:
    from sfumato.gateway.preview import Preview

Interval = tuple[Any, Any] | None
UNKNOWN = "unknown"
"""Written instead of a number whose interval is the whole declared range: its digits would mean nothing."""

NO_ROWS = "(no rows)"
"""Written below the heads of a table without rows."""

_LOPSIDED = Decimal("1.05")
"""Where one side of an interval is longer than the other by more than this factor, both ends are written."""
DELTA = "delta (group selection)"
"""The head of budgets: the delta that choosing undeclared groups may use, not the one that composition is stated at."""


def shown(value: Any, interval: Interval) -> tuple[str, str]:
    """A value and its interval as text.

    >>> from decimal import Decimal
    >>> shown(Decimal("49.0863407472"), (Decimal("47.820895649"), Decimal("50.341322395")))
    ('49.1', '47.8 to 50.4')
    >>> shown(1355, (1324, 1386)), shown(None, None)
    (('1,355', '1,324 to 1,386'), ('NULL', ''))
    >>> shown(1483054, (1283338, 1682770))
    ('1,480,000', '1,280,000 to 1,690,000')
    """
    if interval is None:
        return plain(value), ""
    if isinstance(interval[0], date):
        return plain(value), f"{plain(interval[0])} to {plain(interval[1])}"
    low, high = (Decimal(end) for end in interval)
    places = _places(high - low)
    ends = f"{_rounded(low, places, ROUND_FLOOR)} to {_rounded(high, places, ROUND_CEILING)}"
    return ("NULL" if value is None else _rounded(Decimal(value), places, ROUND_HALF_EVEN)), ends


def around(value: Any, interval: Interval, *, unknown: bool = False) -> tuple[str, str]:
    """A value, and "±" with half of its interval where that is even on both sides; else its two ends in parentheses.

    >>> around(1355, (1324, 1386)), around(3, (0, 34)), around(120, (0, 120), unknown=True)
    (('1,355', '±31'), ('3', '(0 to 34)'), ('unknown', '(0 to 120)'))
    """
    number, ends = shown(value, interval)
    ends = f"({ends})" if ends else ""
    if unknown:
        return UNKNOWN, ends
    if interval is None or value is None or isinstance(value, date):
        return number, ends
    below, above = Decimal(value) - Decimal(interval[0]), Decimal(interval[1]) - Decimal(value)
    least, most = min(below, above), max(below, above)
    if least < 0 or most > least * _LOPSIDED:
        return number, ends
    return number, f"±{_rounded(most, _places(2 * most), ROUND_UP)}"


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
    """Decimals that say something beside an interval of this width: two digits of its half. Tens are -1, and so on."""
    if width <= 0:
        return 6
    return min(12, 1 - (width / 2).adjusted())


def _rounded(value: Decimal, places: int, rounding: str) -> str:
    """A number with thousands separators, and no decimals that it does not have."""
    has = max(0, -int(value.as_tuple().exponent))
    if places < 0:  # a multiple of a power of ten
        step = int(10**-places)
        count = Fraction(value) / step
        whole = math.floor(count) if rounding == ROUND_FLOOR else math.ceil(count)
        return f"{(round(count) if rounding == ROUND_HALF_EVEN else whole) * step:,}"
    return f"{value.quantize(Decimal(1).scaleb(-min(places, has)), rounding=rounding):,}"


def width(number: Fraction) -> str:
    """A half width or a scale to two digits, rounded up, with thousands separators; below 1,000 whole ones as they are.

    >>> [width(Fraction(x)) for x in ("599147", "149", "31/7", "1/2", "1/3000")]
    ['600,000', '149', '4.5', '0.5', '0.00034']
    """
    if number.denominator == 1 and number < 1000:
        return f"{int(number):,}"
    places = 1 - (Decimal(number.numerator) / Decimal(number.denominator)).adjusted()
    up = int(-(-number * Fraction(10) ** places // 1))
    if places <= 0:
        return f"{up * int(10**-places):,}"
    return f"{Decimal(up).scaleb(-places):f}".rstrip("0").rstrip(".")


def amount(number: Fraction) -> str:
    """An amount of budget: as written where that is short, else a decimal rounded down, and "about" before it.

    >>> amount(Fraction("0.1")), amount(Fraction("4.9e-7")), amount(Fraction("1e-8")), amount(Fraction(1, 3))
    ('0.1', '4.9e-7', '1e-8', '1/3')
    """
    text = show_small(number)
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
def budget_title(analyst: str | None) -> str:
    """Whose budget it is."""
    return "Total budget (all analysts)" if analyst is None else f"Budget of {analyst}"


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


def enough_for(count: int, each: Spent, left: Spent, *, default: bool = False) -> str:
    """How many queries of one cost a budget allows; where they are more than epsilon divided by it, why.

    Under zCDP queries with the same epsilon may differ in rho (a median costs less than a count), so the count holds
    for queries like the one that was asked; or, with `default`, for counts and sums at the policy's default epsilon.

    >>> each, left = (Spent(Fraction(x), None, Fraction(0)) for x in ("0.1", "3.9"))
    >>> enough_for(39, each, left), enough_for(39, each, left, default=True)
    ('enough for about 39 queries at epsilon 0.1', 'enough for about 39 queries at the default epsilon 0.1')
    >>> enough_for(58, each, left)
    'enough for about 58 queries like this one at epsilon 0.1, composed with zCDP'
    """
    by_zcdp = each.epsilon and left.epsilon and count * each.epsilon > left.epsilon
    price = ("the default " if default else "") + in_currency(each, in_rho=by_rho(left))
    alike = " like this one" if by_zcdp and not default else ""
    composed = ", composed with zCDP" if by_zcdp else ""
    return f"enough for about {many(count, 'query', 'queries')}{alike} at {price}{composed}"


def more_like_this(left: Spent, cost: Spent) -> str:
    """How many queries like this one the budget still allows; nothing of one that is free."""
    if left.queries is None or is_free(cost):
        return ""
    return f" ({enough_for(left.queries, cost, left) if left.queries else 'not enough for another query like this'})"


def cost_line(cost: Spent, left: Spent, *, stored: bool) -> str:
    """What an answer cost, and what is left."""
    said = f"cost: {charge(cost, left)}"
    if is_free(cost):
        said = "cost: free, the answer was stored" if stored else "cost: free"
    return f"{said}; {in_currency(left, in_rho=by_rho(left))} left{more_like_this(left, cost)}"


def note_lines(notes: Sequence[tuple[str | None, str]]) -> list[str]:
    """What to keep in mind, one line each."""
    return [f"note: {text}" if column is None else f"note on {column}: {text}" for column, text in notes]


# previews
def preview_cost_line(preview: Preview) -> str | None:
    """What a query would cost, or why it is free, and the budget before and after; None where no cost is known."""
    cost, before, after = preview.cost, preview.before, preview.after
    if cost is None or before is None or after is None:
        return None
    in_rho = cost.epsilon is None or by_rho(before)
    now, then = (in_currency(left, in_rho=in_rho) for left in (before, after))
    left = f"{now} left{more_like_this(before, cost)}"
    if is_free(cost):
        return f"cost: free ({'already answered' if preview.stored else 'does not depend on private data'}); {left}"
    return f"would cost: {charge(cost, before)}; {left}, {'–' if preview.refused is not None else then} after"


def fewer_lines(preview: Preview) -> list[str]:
    """For each column what fewer rows of a person would give, and for undeclared keys from which size on half of the
    groups are shown, where that is known without asking.
    """
    fewer = preview.fewer
    lines = []
    for i, column in enumerate(preview.columns):
        widths = [(one.rows_per_unit, one.half_widths[i]) for one in fewer]
        known = [f"{rows} → ± {width(half)}" for rows, half in widths if half is not None]
        if known:
            lines.append(f"rows_per_unit for {plain(column.name)}: {'; '.join(known)}")
    keys = [(one.rows_per_unit, one.keys) for one in fewer if one.keys is not None]
    if keys:
        shown = [f"{rows} → about {k.size:,}{' people' if k.unit == 'people' else ''}" for rows, k in keys]
        lines.append(f"smallest group with a 50 % chance of being shown, by rows_per_unit: {'; '.join(shown)}")
    if lines:
        lines.append("a lower rows_per_unit reduces noise but down-weights people with more rows (possible bias)")
    lost = [f"{one.rows_per_unit} → {float(100 * one.lost):.2g} %" for one in fewer if one.lost is not None]
    return [*lines, *([f"approximate fraction of rows that would not count: {'; '.join(lost)}"] if lost else [])]
