"""Verify, kernel: what the proof rule does not cover. Comes in, goes out: errors."""

from __future__ import annotations


class NoProofRule(Exception):
    """Something that the proof rule does not cover: there is no proof, and nothing else is said."""


class TooLarge(NoProofRule, ArithmeticError):
    """A polynomial with more terms, or of a higher degree, than is written out."""
