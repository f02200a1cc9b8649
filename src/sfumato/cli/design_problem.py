"""Design problems: from options on the command line, or from a TOML file; options win.

Comes in: words. Goes out: a dict of exact values under the names that the functions of sfumato.design have. In a file,
numbers are the decimals that are written; what is not known is an error that names it.
"""

from __future__ import annotations

import operator
import re
import tomllib
from collections.abc import Callable
from fractions import Fraction
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from sfumato.design.metrics import grid
from sfumato.design.ranges import ladder, tidy
from sfumato.errors import InputError
from sfumato.types import as_written

Problem = dict[str, Any]
_RANGE = re.compile(r"\s*(-?[\d./]+)\s*\.\.\s*(-?[\d./]+)\s*(?:by\s+([\d./]+)\s*)?")
_LARGEST = 10_000
"""Points of a grid."""
_GRID = re.compile(r"\s*grid\s+(\d+)\s*x\s*(\d+)\s*")
_BOUND = re.compile(r"\s*(<=|>=|<|>|=)\s*(.+)")
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?(/\d+)?")
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}
KEYS = frozenset(
    (
        *("query", "low", "high", "min_size", "size", "max_size", "adjacency", "metrics", "values", "step"),
        *("percentile", "where", "mechanism", "table", "inputs", "outputs", "epsilon", "sensitivity", "metric"),
        *("prior", "gain", "guesses", "seen", "at", "row", "people", "each", "having", "answers", "compare", "refines"),
        *("first", "second", "beside", "then"),
    )
)
POINTS = ("inputs", "outputs", "values", "seen", "at", "guesses")


def gather(what: str | None, options: Problem, main: str) -> Problem:
    """The problem of a command: `what` is a TOML file, or the word that `main` names."""
    given = {key: value for key, value in options.items() if value is not None}
    if what is not None and what.endswith(".toml"):
        return read(Path(what)) | _parsed(given)
    if what is None:
        return _parsed(given)
    if what.startswith("-"):
        raise InputError(f"{main} is missing")
    return _parsed({main: what, **given})


def read(path: Path) -> Problem:
    """A problem file."""
    try:
        with path.open("rb") as file:
            document = tomllib.load(file, parse_float=str)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f'"{path.name}" is not TOML', detail=str(error)) from error
    return _parsed(document, path.name)


def _parsed(document: Problem, where: str = "the command line") -> Problem:
    strange = [key for key in document if key not in KEYS]
    if strange:
        raise InputError(
            f'"{strange[0]}" is no word of a problem, in {where}', hint=f"The words are: {', '.join(sorted(KEYS))}."
        )
    return {key: _value(key, value) for key, value in document.items()}


def _value(key: str, value: Any) -> Any:
    word = isinstance(value, str) and ";" not in value
    if key in ("table", "then") or (key in ("metric", "gain") and not word):
        return matrix(value)
    if key == "answers":
        return [_parsed(answer, "[[answers]]") for answer in value]
    if key == "metrics" and isinstance(value, list):
        return tuple(one if isinstance(one, str) else matrix(one) for one in value)
    readers: dict[str, Callable[[Any], Any]] = {"prior": prior, "where": condition} | dict.fromkeys(POINTS, points)
    return readers[key](value) if key in readers else value


def points(value: Any) -> list[Any]:
    """0..10, 0..1 by 0.1, grid 3x3, a list of numbers and labels, or of tuples (1,2);(3,4)."""
    if isinstance(value, list):
        return [point(v) for v in value]
    text = str(value)
    if found := _RANGE.fullmatch(text):
        return ladder(found[1], found[2], found[3] or 1)
    if found := _GRID.fullmatch(text):
        if int(found[1]) * int(found[2]) > _LARGEST:
            raise InputError(f"a grid has at most {_LARGEST} points, but this one has {found[1]} times {found[2]}")
        return [(tidy(x), tidy(y)) for x, y in grid(int(found[1]), int(found[2]))]
    if ";" in text or text.strip().startswith("("):
        return [point(f"({one.strip(' ()')})") for one in text.split(";")]
    return [point(part) for part in text.split(",")]


def point(value: Any) -> Any:
    """One input or output: an exact number where it is one, (1,2) as a tuple of such, else a label."""
    if isinstance(value, list):
        return tuple(point(v) for v in value)
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text.startswith("(") and text.endswith(")"):
        return tuple(point(part) for part in text[1:-1].split(","))
    return tidy(as_written(text)) if _NUMBER.fullmatch(text) else text


def matrix(value: Any) -> list[list[Fraction]]:
    """Rows of numbers: a list of lists, or 1/2,1/2;1/4,3/4."""
    rows = value if isinstance(value, list) else [row.split(",") for row in str(value).split(";")]
    if not all(isinstance(row, list) for row in rows):
        raise InputError("a matrix is written as rows of numbers", hint="For example 1/2,1/2;1/4,3/4.")
    return [[as_written(entry, "entry of a matrix") for entry in row] for row in rows]


def prior(value: Any) -> Any:
    """A word, a probability for each input, or a table of them."""
    if isinstance(value, dict):
        return {point(x): as_written(p, "probability") for x, p in value.items()}
    if isinstance(value, list):
        return [as_written(p, "probability") for p in value]
    text = str(value)
    return [as_written(p, "probability") for p in text.split(",")] if "," in text else text.strip()


def condition(text: Any) -> Callable[[Any], bool]:
    """>10, <=3, =1: the property of a count."""
    found = _BOUND.fullmatch(str(text))
    if found is None:
        raise InputError(f'"{text}" is no property', hint="Write a comparison, for example >10.")
    compare, bound = _COMPARE[found[1]], point(found[2])
    return lambda value: compare(value, bound)


def function(name: str) -> Callable[[Any], Any] | None:
    """FILE.py:FUNCTION as a function of a database; None for any other word."""
    path, colon, inside = name.rpartition(":")
    if not (colon and path.endswith(".py")):
        return None
    if not Path(path).exists():
        raise InputError(f'cannot use file "{path}": no such file', sqlstate="58P01")
    spec = spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None:
        raise InputError(f'"{path}" is not a Python file')
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    found = getattr(module, inside, None)
    if not callable(found):
        raise InputError(f'"{inside}" is no function of {path}')
    return found  # type: ignore[no-any-return]  # what a person wrote is called as it is
