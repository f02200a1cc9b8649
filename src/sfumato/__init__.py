"""Differential privacy with exact noise and exact accounting.

Importing this package imports nothing else: each room is imported by its own name, for example

    from sfumato.mechanisms import Geometric

The rooms inside never import from here.
"""

from __future__ import annotations


def __getattr__(name: str) -> str:
    if name == "__version__":
        from importlib.metadata import version

        return version("sfumato")
    raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
