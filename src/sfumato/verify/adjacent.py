"""Verify: whether two given inputs are adjacent. Comes in: inputs with exact numbers. Goes out: yes or no.

The definition of the language, read literally; the refuter's last check before it says that a claim is false.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from sfumato.verify.run import Env
from sfumato.verify.tree import Expr, FunctionCall, Program, Type, Var, changed, expressions, parts, statements, walk

Bound = Callable[[Expr, Env], Fraction]


def are_adjacent(program: Program, one: Env, two: Env, bound: Bound | None, steps: int | None = None) -> bool:
    """Whether public parts are equal and private ones related as the program's adjacency says, in either direction.

    `bound` evaluates the sensitivities of functions; `steps` stands for the k of `k(one)`.
    """
    private = [param for param in program.params if param.private]
    public = {"eps", "delta"} | {param.name for param in program.params if not param.private}
    if any(one.get(name) != two.get(name) for name in public):
        return False
    if program.uses and (bound is None or not _functions_fit(program, one, two, bound)):
        return False
    if program.adjacent == "any" or program.adjacent is None:
        return True
    if program.adjacent == "addremove":
        return _resized(private, one, two)
    changes = []
    for param in private:
        changes += _changes(param.type, one[param.name], two[param.name])
    if None in changes:
        return False
    return _related(program, [change for change in changes if change is not None], steps or program.group)


def _changes(kind: Type, one: Any, two: Any) -> list[tuple[Type, Any, Any] | None]:
    """Elements that differ; a None if lengths do."""
    if kind.kind != "list":
        return [(kind, one, two)] if one != two else []
    if len(one) != len(two):
        return [None]
    return [(kind.items[0], a, b) for a, b in zip(one, two, strict=True) if a != b]


def _related(program: Program, changes: list[tuple[Type, Any, Any]], group: int) -> bool:
    steps = [_steps(kind, a, b) for kind, a, b in changes]
    word = program.adjacent
    if word == "one":
        free = not any(
            _reads_private(program, node) for node in program.requires
        )  # so that every step between is admitted
        return sum(steps) <= group and (group == 1 or free)
    if word == "moves":
        moved = sorted(b - a for _, a, b in changes if isinstance(a, Fraction) and isinstance(b, Fraction))
        return len(changes) == 2 and moved == [-1, 1]
    if any(step > 1 for step in steps):
        return False
    if word == "all":
        return True
    numbers = all(isinstance(a, Fraction | bool) for _, a, _ in changes)
    return numbers and (all(b >= a for _, a, b in changes) or all(b <= a for _, a, b in changes))


def _steps(kind: Type, one: Any, two: Any) -> int:
    """How many changes lead from one value to another: of real and int at most 1 at a time."""
    if kind.kind in ("real", "int"):
        return -int(-abs(two - one) // 1)
    return 1


def _resized(private: list[Any], one: Env, two: Env) -> bool:
    different = [param for param in private if one[param.name] != two[param.name]]
    if not different:
        return False
    if len(different) > 1 or different[0].type.kind != "list":
        return False
    shorter, longer = sorted((one[different[0].name], two[different[0].name]), key=len)
    if len(longer) != len(shorter) + 1:
        return False
    return any((*longer[:place], *longer[place + 1 :]) == shorter for place in range(len(longer)))


def _functions_fit(program: Program, one: Env, two: Env, bound: Bound) -> bool:
    """A function of `uses` may differ only if an input does, and by no more than its sensitivity."""
    for use in program.uses:
        name = f"{use.name}()"
        if name not in one or name not in two:
            return False
        gap = abs(one[name] - two[name])
        if gap > bound(use.sensitivity, one):
            return False
        given = _given(program, use.name)
        if given is None or (gap and all(one[name] == two[name] for name in given)):
            return False
    return True


def _given(program: Program, function: str) -> set[str] | None:
    """The parameters that a function of `uses` is given; None unless all its calls are given the same, as they came."""
    calls = {
        part.args
        for statement in statements(program.body)
        for node in expressions(statement)
        for part in walk(node)
        if isinstance(part, FunctionCall) and part.name == function
    }
    if len(calls) != 1:
        return None
    (args,) = calls
    found = {arg.name for arg in args if isinstance(arg, Var)}
    return None if len(found) < len(args) or found & changed(program.body) else found


def _reads_private(program: Program, node: Expr) -> bool:
    """Whether a requirement reads more of the private inputs than their sizes."""
    if isinstance(node, FunctionCall) and node.name == "size":
        return False
    if isinstance(node, Var):
        return any(param.private and param.name == node.name for param in program.params)
    return any(_reads_private(program, part) for part in parts(node))
