"""Verify, finite laws: what is trusted about programs whose draws can be listed. It computes the chance of every output
as an exact expression, and compares the chances of neighbours.

Nothing here searches: `decide.py` is the door, `law.py` what a program does, `field.py` and `signs.py` the arithmetic.
"""
