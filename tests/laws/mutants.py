"""The planner and the compilers, loaded afresh with a fault planted in their source."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import sfumato
from tests.compiled import Rows
from tests.laws.asking import TODAY

_HOME = Path(sfumato.__file__).parent
Fault = tuple[str, str, str]
"""A module of the algebra, of intervals or of sql by its own name, or one of engines by its name below sfumato; old
text, new text."""
_PACKAGES = ("algebra", "intervals", "sql", "engines")
_LOADED = tuple(f"sfumato.{name}" for name in _PACKAGES)


@cache
def _full(module: str) -> str:
    if module.startswith("engines."):
        return f"sfumato.{module}"
    named = f"{module.replace('.', '/')}.py"
    (found,) = (path for package in ("algebra", "intervals", "sql") for path in (_HOME / package).rglob(named))
    return ".".join(("sfumato", *found.relative_to(_HOME).with_suffix("").parts))


class _Loader(importlib.machinery.SourceFileLoader):
    """Source with its faults, never a cached compilation."""

    faults: Sequence[Fault] = ()

    def get_code(self, fullname: str) -> Any:
        text = Path(self.path).read_text(encoding="utf-8")
        for module, old, new in self.faults:
            if fullname == _full(module):
                assert old in text, f"{module} has changed, so this fault cannot be planted: {old}"
                text = text.replace(old, new)
        return compile(text, self.path, "exec")


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = faults

    def find_spec(self, fullname: str, path: Any = None, target: ModuleType | None = None) -> Any:
        if not fullname.startswith(_LOADED):
            return None
        place = _HOME.joinpath(*fullname.split(".")[1:])
        package = place.is_dir()
        loader = _Loader(fullname, str(place / "__init__.py" if package else place.with_suffix(".py")))
        loader.faults = self.faults
        return importlib.machinery.ModuleSpec(fullname, loader, origin=loader.path, is_package=package)


@contextmanager
def planted(*faults: Fault) -> Iterator[Any]:
    """A function that plans with these faults; afterwards everything is as before."""
    before = {name: module for name, module in sys.modules.items() if name.startswith(_LOADED)}
    old, finder = {name: sfumato.__dict__.get(name) for name in _PACKAGES}, _Finder(faults)
    for name in before:
        del sys.modules[name]
    sys.meta_path.insert(0, finder)
    try:
        parser, question, plan = (importlib.import_module(_full(name)) for name in ("parser", "query_binding", "plan"))
        for module, _, _ in faults:
            importlib.import_module(_full(module))

        def planned(text: str, made: Any, epsilon: Any = 1, rows: int | None = None, **more: Any) -> Any:
            public = Rows(more.pop("run"), more.get("keeper"))
            keeper = public if more.pop("keeper", None) is not None else None
            stored = more.pop("stored", frozenset())
            asked = question.bind(parser.parse(text), made, TODAY, public, stored=stored, keeper=keeper)
            return plan.plan(asked, made, Fraction(epsilon), rows, rows=public, **more)

        yield planned
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.startswith(_LOADED)]:
            del sys.modules[name]
        sys.modules.update(before)
        for name, package in old.items():
            if package is not None:
                setattr(sfumato, name, package)
