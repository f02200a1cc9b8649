"""SQL over private data: noisy answers with exact noise distributions, exact costs and a budget that holds.

    gate = sfumato.open("sfumato.toml")
    gate = sfumato.protect(frame, unit="ssn", rows_per_unit=1, epsilon=4, bounds={"age": (0, 120)})
    answer = gate.sql("SELECT COUNT(*) FROM data WHERE age >= 65")

Importing this package imports nothing else: the gateway is imported when one of these is first used, and every other
package by its own name, for example `from sfumato.mechanisms import Geometric`. Those packages never import from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from sfumato.gateway import Gateway, protect

    def open(path: str | Path) -> Gateway:  # noqa: A001  people write sfumato.open, as they write gzip.open
        """The gateway of a policy file."""


__all__ = ["protect"]  # and `open`, which `from sfumato import *` must not put in the place of Python's own


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("sfumato")
    if name in ("open", "protect"):
        from sfumato import gateway

        return gateway.open_policy if name == "open" else gateway.protect
    raise AttributeError(f"module 'sfumato' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), "__version__", "open", "protect"})
