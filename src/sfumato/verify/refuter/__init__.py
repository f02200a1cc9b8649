"""Verify, the refuter: adjacent inputs and an event whose chances are further apart than claimed, computed with
certainty.
"""
