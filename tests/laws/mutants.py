"""The rooms of sql, loaded afresh with a fault planted in their source."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import sfumato
from tests.laws.asking import TODAY

_HOME = Path(sfumato.__file__).parent
Fault = tuple[str, str, str]
"""Module below sfumato.sql, old text, new text."""


class _Loader(importlib.machinery.SourceFileLoader):
    """Source with its faults, never a cached compilation."""

    faults: Sequence[Fault] = ()

    def get_code(self, fullname: str) -> Any:
        text = Path(self.path).read_text(encoding="utf-8")
        for module, old, new in self.faults:
            if fullname == f"sfumato.sql.{module}":
                assert old in text, f"{module} has changed, so this fault cannot be planted: {old}"
                text = text.replace(old, new)
        return compile(text, self.path, "exec")


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = faults

    def find_spec(self, fullname: str, path: Any = None, target: ModuleType | None = None) -> Any:
        if not fullname.startswith("sfumato.sql"):
            return None
        place = _HOME.joinpath(*fullname.split(".")[1:])
        package = place.is_dir()
        loader = _Loader(fullname, str(place / "__init__.py" if package else place.with_suffix(".py")))
        loader.faults = self.faults
        return importlib.machinery.ModuleSpec(fullname, loader, origin=loader.path, is_package=package)


@contextmanager
def planted(*faults: Fault) -> Iterator[Any]:
    """A function that plans with these faults; afterwards everything is as before."""
    before = {name: module for name, module in sys.modules.items() if name.startswith("sfumato.sql")}
    old, finder = sfumato.__dict__.get("sql"), _Finder(faults)
    for name in before:
        del sys.modules[name]
    sys.meta_path.insert(0, finder)
    try:
        parse, bind, plan = (importlib.import_module(f"sfumato.sql.{room}") for room in ("parse", "bind", "plan"))
        for module, _, _ in faults:
            importlib.import_module(f"sfumato.sql.{module}")

        def planned(text: str, made: Any, epsilon: Any = 1, rows: int | None = None, **more: Any) -> Any:
            stored = more.pop("stored", frozenset())
            question = bind.bind(parse.parse(text), made, TODAY, more["run"], stored=stored)
            return plan.plan(question, made, Fraction(epsilon), rows, **more)

        yield planned
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.startswith("sfumato.sql")]:
            del sys.modules[name]
        sys.modules.update(before)
        if old is not None:
            sfumato.sql = old  # type: ignore[attr-defined]
