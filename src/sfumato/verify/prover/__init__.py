"""Verify, the prover: it looks for alignments and invariants. Nothing here is trusted; the kernel checks what it
finds.
"""
