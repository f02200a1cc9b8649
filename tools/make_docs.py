"""Write docs/mechanisms.md from the docstrings of the mechanisms: `make docs`.

The promise of a mechanism stands beside its code. This page is a copy for readers, and a test keeps it true.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Any

from sfumato.mechanisms import MECHANISMS

PAGE = Path(__file__).parents[1] / "docs" / "mechanisms.md"
LABELS = ("Guarantee", "Proof", "Reference", "Checked by")
_LABEL = re.compile(rf"^({'|'.join(LABELS)}): ", re.MULTILINE)


def read_promise(docstring: str) -> tuple[str, list[tuple[str, str]]]:
    """A docstring as the text before the promise, and the labelled parts of the promise in their order."""
    before, *rest = _LABEL.split(inspect.cleandoc(docstring))
    parts = [
        (label, " ".join(text.split("\n\n")[0].split())) for label, text in zip(rest[::2], rest[1::2], strict=True)
    ]
    return before.strip(), parts


def promise_of(mechanism: type[Any]) -> str:
    """The docstring that holds a mechanism's promise: its own, or that of the file it lives in."""
    own = mechanism.__doc__ or ""
    return own if "Guarantee:" in own else sys.modules[mechanism.__module__].__doc__ or ""


def section(name: str, mechanism: type[Any]) -> str:
    """One mechanism: how it is called, what it is, and its promise."""
    before, parts = read_promise(promise_of(mechanism))
    call = f"{name}({', '.join(inspect.signature(mechanism).parameters)})"
    promise = "\n".join(f"- **{label}:** {text}" for label, text in parts)
    return f"## {name}\n\n`{call}`, in `{mechanism.__module__}`\n\n{before}\n\n{promise}\n"


def make_page() -> str:
    """The whole page."""
    head = (
        "# Mechanisms\n\nMade by `make docs` from the docstrings in `src/sfumato/mechanisms`; edit those instead.\n"
        "A name such as `laws::example` is the test `test_example` in a file below `tests/laws`.\n"
    )
    return "\n".join([head, *(section(name, mechanism) for name, mechanism in MECHANISMS.items())])


if __name__ == "__main__":
    PAGE.write_text(make_page(), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(Path.cwd()) if PAGE.is_relative_to(Path.cwd()) else PAGE}")
