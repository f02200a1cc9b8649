"""What a test needs and may not find: it is skipped with the reason, or fails where everything must be there."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any


def missing(reason: str) -> None:
    """A skip that says why; with CI=true, a failure."""
    import pytest  # measurements use this file without it

    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason, allow_module_level=True)


def needed(name: str) -> Any:
    """A module that is not installed everywhere."""
    try:
        return import_module(name)
    except ImportError:
        return missing(f"there is no {name}: make test installs it")
