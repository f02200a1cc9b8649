"""Verify: programs written as Python functions. Comes in: a function. Goes out: the same tree as from a `.sfp` text.

The subset: parameters with annotations such as `"private real list"`, `x = e`, `x = Laplace(b, c)` and the other
laws, `x += e`, `if`, `while`, `return`, `pass`, and expressions of numbers, truths, `and or not`, comparisons, `+ - *
/ % **`, indices, lists and tuples (`r + [x]` joins lists), and the language's functions. The function is read, never
called.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from sfumato.errors import InputError
from sfumato.verify.parse import LAWS, read_program
from sfumato.verify.tree import Program

_OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Mod: "mod", ast.Pow: "^",
    ast.BitXor: "xor", ast.BitAnd: "and", ast.BitOr: "or", ast.And: "&&", ast.Or: "||",
    ast.Eq: "=", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip


def read_function(function: Callable[..., Any], header: dict[str, str]) -> Program:
    """The program of a function, with the directives of its decorator."""
    try:
        source = textwrap.dedent(inspect.getsource(function))
    except OSError as error:
        hint = "Write it into a file, or give the text of the language."
        raise InputError("the source of the function is not to be had", hint=hint) from error
    return read_program(translated(source, header))


def translated(source: str, header: dict[str, str]) -> str:
    """The text of the language for a Python function; lines stay where they are."""
    tree = ast.parse(source)
    function = next((node for node in tree.body if isinstance(node, ast.FunctionDef)), None)
    if function is None:
        raise InputError("expected a Python function")
    params = [f"{arg.arg} : {_annotation(arg.annotation, arg)}" for arg in function.args.args]
    directives = [f"{word} {text};" for word, text in header.items()]
    lines = [""] * len(source.splitlines())
    head = f"{function.name}({', '.join(params)}) : {_annotation(function.returns, function)} {' '.join(directives)}"
    lines[0] = head
    lists = {arg.arg for arg in function.args.args if "list" in _annotation(arg.annotation, arg)}
    lists |= _lists(function)
    for statement in function.body:
        _Writer(lines, lists).statement(statement)
    return "\n".join(lines)


def _lists(function: ast.FunctionDef) -> set[str]:
    """Variables that begin as a list: `+` joins them."""
    found = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List) and isinstance(node.targets[0], ast.Name):
            found.add(node.targets[0].id)
    return found


def _annotation(node: ast.expr | None, where: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise _wrong(where, 'an annotation in quotes, such as "private real list"')


def _wrong(node: ast.AST, expected: str) -> InputError:
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1
    return InputError(f"expected {expected}, line {line} column {column}")


class _Writer:
    """Writes each statement into its own line."""

    def __init__(self, lines: list[str], lists: set[str]) -> None:
        self.lines = lines
        self.lists = lists

    def put(self, node: ast.AST, text: str, *, end: bool = False) -> None:
        line = (getattr(node, "end_lineno", None) if end else getattr(node, "lineno", None)) or 1
        self.lines[line - 1] += f" {text}"

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id=law), args=args)) if (
                law in LAWS
            ):
                self.put(node, f"{name} :=$ {law}({self.law(law, args)});")
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.put(node, f"{name} := {self.expression(value)};")
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                left = ast.copy_location(ast.Name(id=name), node)
                self.put(node, f"{name} := {self.expression(ast.copy_location(ast.BinOp(left, op, value), node))};")
            case ast.Return(value=value) if value is not None:
                self.put(node, f"return {self.expression(value)};")
            case ast.If(test=test, body=body, orelse=other):
                self.put(node, f"if ({self.expression(test)}) {{")
                self.block(body)
                self.put(body[-1], "}", end=True)
                if other:
                    self.put(body[-1], "else {", end=True)
                    self.block(other)
                    self.put(other[-1], "}", end=True)
            case ast.While(test=test, body=body, orelse=[]):
                self.put(node, f"while ({self.expression(test)}) {{")
                self.block(body)
                self.put(body[-1], "}", end=True)
            case ast.Pass() | ast.Expr(value=ast.Constant(value=str())):
                return
            case _:
                raise _wrong(node, "an assignment, a draw, if, while, return or pass")

    def block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def law(self, law: str, args: list[ast.expr]) -> str:
        texts = [self.expression(arg) for arg in args]
        if law == "Uniform":
            return " .. ".join(texts) if len(texts) == 2 else f"{{0,1}}^({texts[0]})"
        return ", ".join(texts)

    def expression(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=bool() as truth):
                return "true" if truth else "false"
            case ast.Constant(value=int() | float() as number):
                return repr(number)
            case ast.Name(id=name):
                return name
            case ast.UnaryOp(op=ast.Not(), operand=inside):
                return f"(!({self.expression(inside)}))"
            case ast.UnaryOp(op=ast.USub(), operand=inside):
                return f"(-({self.expression(inside)}))"
            case ast.BoolOp(op=op, values=values):
                return "(" + f" {_OPERATORS[type(op)]} ".join(self.expression(value) for value in values) + ")"
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPERATORS:
                return f"({self.expression(left)} {_OPERATORS[type(op)]} {self.expression(right)})"
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                sign = (
                    "++"
                    if isinstance(op, ast.Add) and (self.is_list(left) or self.is_list(right))
                    else _OPERATORS[type(op)]
                )
                return f"({self.expression(left)} {sign} {self.expression(right)})"
            case ast.Subscript(value=value, slice=index):
                return f"{self.expression(value)}[{self.expression(index)}]"
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                name = {"len": "size"}.get(name, name)
                return f"{name}({', '.join(self.expression(arg) for arg in args)})"
            case ast.List(elts=items):
                return f"[{', '.join(self.expression(item) for item in items)}]"
            case ast.Tuple(elts=items) if len(items) > 1:
                return f"({', '.join(self.expression(item) for item in items)})"
        raise _wrong(node, "an expression of the language")

    def is_list(self, node: ast.expr) -> bool:
        match node:
            case ast.List():
                return True
            case ast.Name(id=name):
                return name in self.lists
            case ast.BinOp(left=left, right=right):
                return self.is_list(left) or self.is_list(right)
        return False
