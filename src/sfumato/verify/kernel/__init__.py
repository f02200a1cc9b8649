"""Verify, the kernel: what is trusted. It turns a program, an alignment and invariants into conditions, and asks a
solver.

Nothing here searches, and nothing here imports what does: `check.py` is the door, `product.py` the proof rule,
`inputs.py` what adjacent means, `terms.py` and `polynomial.py` the arithmetic.
"""
