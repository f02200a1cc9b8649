"""Verify: lists in Python functions. Comes in: a function's tree. Goes out: which names are lists; or a refusal.

In the language a list is a value: `b := a` copies it. In Python `b = a` gives the same list a second name, and a change
through one name is seen through the other. A function is read only where the two mean the same.

Guarantee: where nothing is refused, no list that is changed in place has a second name while it can be changed.
Proof: lists come into being as parameters, literals and sums. A second name for one that exists needs an assignment or
    a branch of one, a place in a literal, an element of a list of lists, or a loop's variable. If the function changes
    any list in place, a second name for anything that may be a list is refused, and a list that is changed may only
    be assigned literals and sums, which are new lists; so may no loop's variable be changed, nor the list that a loop
    goes through. Without a change in place sharing cannot be seen.
Reference: The Python Language Reference, 3.1 and 7.2.1.
Checked by: verify::lists_that_python_shares_are_refused, verify::random_functions_with_lists_do_what_python_does
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from sfumato.errors import InputError

Wrong = Callable[[ast.AST, str], InputError]


def list_names(function: ast.FunctionDef, types: dict[str, str]) -> set[str]:
    """Names that may hold a list: parameters of a list type, and whatever is assigned from one, a literal or a sum."""
    lists = {name for name, written in types.items() if "list" in written}
    nested = {name for name, written in types.items() if "list" in written and "^" in written}
    lists |= {name for name, written in types.items() if "^" in written}
    while True:
        found = {name for name, value in _assignments(function) if is_list(value, lists) or _is_element(value, nested)}
        found |= {str(_name(loop.target)) for loop in _loops(function) if _name(loop.iter) in nested}
        if found <= lists:
            return lists
        lists |= found


def is_list(node: ast.expr, lists: set[str]) -> bool:
    """Whether an expression may be a list."""
    match node:
        case ast.List() | ast.Tuple():
            return True
        case ast.Name(id=name):
            return name in lists
        case ast.BinOp(left=left, right=right):
            return is_list(left, lists) or is_list(right, lists)
        case ast.IfExp(body=body, orelse=other):
            return is_list(body, lists) or is_list(other, lists)
        case ast.Call(func=ast.Name(id="Uniform"), args=[_]):
            return True  # a list of bits
    return False


def check_sharing(function: ast.FunctionDef, lists: set[str], wrong: Wrong) -> None:
    """Refuse a function in which a list that is changed in place may have a second name."""
    changed = set(_changed(function, lists))
    if not changed:
        return
    for value in _second_names(function):
        if isinstance(value, ast.Name) and value.id in lists:
            raise wrong(
                value, f"the list `{value.id}` to have one name only, because the function changes lists in place"
            )
    for name, value in _assignments(function):
        for side in _sides(value):
            if name in changed and not isinstance(side, ast.List | ast.BinOp):
                raise wrong(side, f"a new list for `{name}`, which the function changes in place")
    for loop in _loops(function):
        if _name(loop.target) in changed:
            raise wrong(loop, f"a loop that does not change its elements (`{_name(loop.target)}`)")
        if _name(loop.iter) in set(_changed(ast.Module(loop.body, []), lists)):
            raise wrong(loop, f"a loop that does not change its list (`{_name(loop.iter)}`)")


def _name(node: ast.expr) -> str | None:
    return node.id if isinstance(node, ast.Name) else None


def _assignments(function: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(function):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AugAssign(target=ast.Name(id=name), value=value)
            ):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
                yield name, value


def _loops(function: ast.AST) -> Iterator[ast.For]:
    return (node for node in ast.walk(function) if isinstance(node, ast.For) and isinstance(node.target, ast.Name))


def _is_element(node: ast.expr, nested: set[str]) -> bool:
    return isinstance(node, ast.Subscript) and _name(node.value) in nested


def _changed(function: ast.AST, lists: set[str]) -> Iterator[str]:
    """Lists that are changed in place."""
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append")):
                yield name
            case ast.AugAssign(target=ast.Name(id=name)) if name in lists:
                yield name


def _second_names(function: ast.AST) -> Iterator[ast.expr]:
    """Values that get a name, or a place in another list or tuple."""
    for _, value in _assignments(function):
        yield from _sides(value)
    for node in ast.walk(function):
        match node:
            case ast.List(elts=items) | ast.Tuple(elts=items):
                yield from items
            case ast.Call(func=ast.Attribute(attr="append"), args=[item]):
                yield item


def _sides(value: ast.expr) -> Iterator[ast.expr]:
    if isinstance(value, ast.IfExp):
        yield from (*_sides(value.body), *_sides(value.orelse))
    else:
        yield value
