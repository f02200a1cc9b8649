"""Parts of an hour and of a minute, and steps of an epoch, as tools write them.

Superset's five minutes are date_trunc('hour', t) + INTERVAL '5 minutes' * FLOOR(EXTRACT(MINUTE FROM t) / 5). Comes in:
a sum of the parser's tree. Goes out: the same moment by date_bin, or None where the sum is another one. An hour has 60
minutes and a minute 60 seconds, so where the number divides 60 both begin their parts at the same moments. Others write
to_timestamp(FLOOR(EXTRACT(EPOCH FROM t) / 300) * 300), which is date_bin from 1970 on.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from sfumato.sql.read.growth import copied

_PART = {"HOUR": "MINUTE", "MINUTE": "SECOND"}
_WHOLE = 60


def part_of_clock(node: Any) -> Any:
    """date_bin for a truncated time and whole parts of what was cut off."""
    for start, step in ((node.this, node.expression), (node.expression, node.this)):
        if not isinstance(start, exp.TimestampTrunc | exp.DateTrunc) or not isinstance(step, exp.Mul):
            continue
        part = _PART.get(_unit(start.args.get("unit")))
        for span, count in ((step.this, step.expression), (step.expression, step.this)):
            size = _size(span, part)
            if size and _whole_parts(_bare(count), part, size, start.this):
                moment = exp.cast(exp.Literal.string("1970-01-01 00:00:00"), "timestamp")
                return exp.DateBin(this=copied(span), expression=copied(start.this), unit=moment)
    return None


def epoch_step(moment: Any) -> Any:
    """date_bin for what to_timestamp is given, if that is an epoch in whole steps; the moment itself for an epoch."""
    found = _bare(moment)
    if isinstance(found, exp.Extract) and _unit(found.this) == "EPOCH":
        return exp.cast(copied(found.expression), "timestamp", copy=False)
    if not isinstance(found, exp.Mul):
        return None
    for whole, number in ((found.this, found.expression), (found.expression, found.this)):
        count, size = _bare(whole), _bare(number)
        written = size.name if isinstance(size, exp.Literal) and not size.is_string else ""
        if not (written.isdecimal() and int(written[:10]) > 0 and len(written) < 10):
            continue
        inner = _bare(count.this) if isinstance(count, exp.Floor) else None
        taken = _bare(inner.this) if isinstance(inner, exp.Div) else None
        if not isinstance(taken, exp.Extract) or not _whole_parts(count, "EPOCH", int(written), taken.expression):
            continue
        span = exp.Interval(this=exp.Literal.string(f"{written} seconds"))
        start = exp.cast(exp.Literal.string("1970-01-01 00:00:00"), "timestamp")
        return exp.DateBin(this=span, expression=copied(taken.expression), unit=start)
    return None


def _size(node: Any, part: str | None) -> int | None:
    """How many parts an interval has: a number that divides an hour or a minute."""
    if not isinstance(node, exp.Interval) or part is None or _unit(node.args.get("unit")) != part:
        return None
    written = node.this.name if isinstance(node.this, exp.Literal) else ""
    number = int(written) if written.isdecimal() and len(written) < 3 else 0
    return number if number and _WHOLE % number == 0 else None


def _whole_parts(node: Any, part: str | None, size: int, moment: Any) -> bool:
    """FLOOR(EXTRACT(part FROM moment) / size)."""
    divided = _bare(node.this) if isinstance(node, exp.Floor) else None
    if not isinstance(divided, exp.Div):
        return False
    taken, by = _bare(divided.this), _bare(divided.expression)
    return (
        isinstance(taken, exp.Extract)
        and _unit(taken.this) == part
        and taken.expression == moment
        and isinstance(by, exp.Literal)
        and by.name == str(size)
    )


def _bare(node: Any) -> Any:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _unit(node: Any) -> str:
    """A unit of time in the singular."""
    return "" if node is None else node.name.upper().removesuffix("S")
