"""Exercises with checked answers, and a demonstration that privacy prevents over-fitting.

Comes in: the name of an exercise and an answer. Goes out: whether it is right, by what the product computes itself. One
record for each exercise in the table EXERCISES; `holdout` is the demonstration.
"""

from sfumato.learn.exercises import EXERCISES, Exercise, check
from sfumato.learn.holdout import EPSILON, FEATURES, PEOPLE, study

__all__ = ["EPSILON", "EXERCISES", "FEATURES", "PEOPLE", "Exercise", "check", "study"]
