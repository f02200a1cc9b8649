"""Run the notebooks of examples/ in place, and write what they print and show: `make docs`.

Jupyter is not needed: a cell is run as Python runs it, and its last expression is shown as a notebook shows it. Noise
is drawn anew at each run, so outputs differ; a test runs the cells and does not compare them.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

HOME = Path(__file__).parents[1] / "examples"


def cells_of(path: Path) -> list[dict[str, Any]]:
    """The cells of a notebook."""
    return list(json.loads(path.read_text(encoding="utf-8"))["cells"])


def run(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cells with their outputs."""
    names: dict[str, Any] = {"__name__": "__notebook__"}
    done, number = [], 0
    for cell in cells:
        if cell["cell_type"] != "code":
            done.append(cell)
            continue
        number += 1
        outputs = _outputs("".join(cell["source"]), names, number)
        done.append({**cell, "execution_count": number, "outputs": outputs})
    return done


def _outputs(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        exec(compile(tree, f"cell {number}", "exec"), names)  # noqa: S102  that is what a notebook is
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)  # noqa: S307  the same
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        outputs.append({"output_type": "stream", "name": "stdout", "text": text})
    if value is not None:
        shown: dict[str, Any] = {"text/plain": repr(value).splitlines(keepends=True)}
        for kind, method in (("text/html", "_repr_html_"), ("image/svg+xml", "_repr_svg_")):
            if (rich := getattr(value, method, None)) is not None and (text := rich()) is not None:
                shown[kind] = str(text).splitlines(keepends=True)
        result = {"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": shown}
        outputs.append(result)
    return outputs


def write(path: Path) -> None:
    """Run one notebook in an empty directory, and write it."""
    document = json.loads(path.read_text(encoding="utf-8"))
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            document["cells"] = run(document["cells"])
        finally:
            os.chdir(here)
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"ran examples/{path.name}")


if __name__ == "__main__":
    for notebook in sorted(HOME.glob("*.ipynb")):
        write(notebook)
    sys.exit(0)
