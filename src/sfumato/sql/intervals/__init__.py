"""Intervals: what a released number is made of, and the confidence interval of what is computed from it."""
