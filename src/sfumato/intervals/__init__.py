"""Intervals: what a released number is made of, and the confidence interval of what is computed from it."""

from sfumato.intervals import interval_arithmetic  # it adds to each function what it makes of intervals

__all__ = ["interval_arithmetic"]
