"""Verify, relational: properties of two runs. `decide` is the door; `exact` computes laws, `inputs` lists inputs,
`search` looks for couplings, `table` shows them. What is said is checked by the kernel, or by exact distributions.
"""
