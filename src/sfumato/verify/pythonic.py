"""Verify: programs written as Python functions. Comes in: a function. Goes out: the same tree as from a `.sfp` text.

The subset: parameters with annotations such as `"private real list"`, `x = e`, `x = Laplace(b, c)` and the other
laws, `x += e`, `r.append(e)`, `if`, `while`, `for` over `range(…)` or a list, `break`, `return`, `pass`, `a if t
else b` as a whole value, and expressions of numbers, truths, `and or not`, comparisons (also `0 < x <= 1`), `+ - *
/ % **`, indices, lists and tuples (`r + [x]` joins lists), and the language's functions. The function is read,
never called. Annotations of variables are dropped, with a warning.

In Python two names may share one list, in the language a list is a value. So a function that changes lists in place
(`append`, `+=`) must not give one a second name, hold it in another list, or change one while it goes through it.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import warnings
from collections.abc import Callable
from typing import Any

from sfumato.errors import InputError
from sfumato.verify.parse import LAWS, read_program
from sfumato.verify.pythonic_lists import check_sharing, is_list, list_names
from sfumato.verify.tree import Program

_OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Mod: "mod", ast.Pow: "^",
    ast.BitXor: "xor", ast.BitAnd: "and", ast.BitOr: "or", ast.And: "&&", ast.Or: "||",
    ast.Eq: "=", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip

_OF_LISTS = (ast.Add, ast.BitXor, ast.BitAnd, ast.BitOr)
"""Joining lists, and what is done with each bit of a list of bits."""


def read_function(function: Callable[..., Any], header: dict[str, str]) -> Program:
    """The program of a function, with the directives of its decorator."""
    try:
        source = textwrap.dedent(inspect.getsource(function))
    except OSError as error:
        hint = "Write it to a file, or pass the program as text."
        raise InputError("the source of the function is not available", hint=hint) from error
    return read_program(translated(source, header))


def translated(source: str, header: dict[str, str]) -> str:
    """The text of the language for a Python function; lines stay where they are."""
    tree = ast.parse(source)
    function = next((node for node in tree.body if isinstance(node, ast.FunctionDef)), None)
    if function is None:
        raise InputError("expected a Python function")
    params = [f"{arg.arg} : {_annotation(arg.annotation, arg)}" for arg in function.args.args]
    for word, text in header.items():
        if not _is_closed(text):
            raise InputError(f"expected one value after {word}, found {text!r}")
    directives = [f"{word} {text};" for word, text in header.items()]
    lines = [""] * len(source.splitlines())
    head = f"{function.name}({', '.join(params)}) : {_annotation(function.returns, function)} {' '.join(directives)}"
    lines[0] = head
    lists = list_names(function, {arg.arg: _annotation(arg.annotation, arg) for arg in function.args.args})
    check_sharing(function, lists, _wrong)
    _Writer(lines, lists, function).block(function.body)
    return "\n".join(lines)


def _annotation(node: ast.expr | None, where: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and _is_closed(node.value):
        return node.value
    raise _wrong(where, 'an annotation in quotes, such as "private real list"')


def _is_closed(text: str) -> bool:
    """Whether a text ends where it seems to end: nothing in it closes a bracket, a line or a statement around it."""
    depth = 0
    for sign in text:
        depth += (sign in "([{") - (sign in ")]}")
        if depth < 0:
            return False
    return depth == 0 and not any(sign in text for sign in (";", "--", "\n", "\r", ":"))


def _wrong(node: ast.AST, expected: str) -> InputError:
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1
    return InputError(f"expected {expected}, line {line} column {column}")


class _Writer:
    """Writes each statement into its own line."""

    def __init__(self, lines: list[str], lists: set[str], function: ast.FunctionDef) -> None:
        self.lines = lines
        self.lists = lists
        self.function = function
        self.new = 0
        self.going: list[str | None] = []  # for each loop around: the truth that `break` changes

    def put(self, node: ast.AST, text: str, *, end: bool = False) -> None:
        line = (getattr(node, "end_lineno", None) if end else getattr(node, "lineno", None)) or 1
        self.lines[line - 1] += f" {text}"

    def name(self, word: str) -> str:
        """A name that the function does not use."""
        used = {node.id for node in ast.walk(self.function) if isinstance(node, ast.Name)}
        self.new += 1
        return f"{word}{self.new}" if f"{word}{self.new}" not in used else self.name(word)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.assign(node, name, value)
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
                warnings.warn(f"line {node.lineno}: the annotation of {name} is not checked", stacklevel=2)
                self.assign(node, name, value)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                left = ast.copy_location(ast.Name(id=name), node)
                self.assign(node, name, ast.copy_location(ast.BinOp(left, op, value), node))
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[item], keywords=[])
            ) if name in self.lists:
                self.put(node, f"{name} := {name} ++ [{self.expression(item)}];")
            case ast.Return(value=ast.IfExp() as chosen):
                self.either(node, chosen, lambda part: self.put(node, f"return {self.expression(part)};"))
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
                self.loop(node, self.expression(test), body)
            case ast.For(orelse=[]):
                self.each(node)
            case ast.Break():
                if not self.going or self.going[-1] is None:
                    raise _wrong(node, "`break` inside a loop")
                self.put(node, f"{self.going[-1]} := false;")
            case ast.Pass() | ast.Expr(value=ast.Constant(value=str())):
                return
            case _:
                raise _wrong(node, "an assignment, a draw, if, while, for, break, return or pass")

    def assign(self, node: ast.stmt, name: str, value: ast.expr) -> None:
        match value:
            case ast.IfExp():
                self.either(node, value, lambda part: self.assign(node, name, part))
            case ast.Call(func=ast.Name(id=law), args=args, keywords=[]) if law in LAWS:
                self.put(node, f"{name} :=$ {law}({self.law(law, args)});")
            case _:
                self.put(node, f"{name} := {self.expression(value)};")

    def either(self, node: ast.stmt, chosen: ast.IfExp, write: Callable[[ast.expr], None]) -> None:
        """`a if t else b` as a whole value: a branch for each side."""
        self.put(node, f"if ({self.expression(chosen.test)}) {{")
        write(chosen.body)
        self.put(node, "} else {")
        write(chosen.orelse)
        self.put(node, "}")

    # ---- loops

    def loop(self, node: ast.stmt, test: str, body: list[ast.stmt], *, first: str = "", last: str = "") -> None:
        """`while`; what `break` leaves out of a round is left out by a truth, which also ends the loop."""
        going = self.name("_going") if _breaks(body) else None
        if going is not None:
            self.put(node, f"{going} := true;")
            test = f"{going} && ({test})"
        self.going.append(going)
        self.put(node, f"while ({test}) {{ {first}")
        self.block(body)
        self.going.pop()
        if last:
            self.put(body[-1], f"if ({going}) {{ {last} }}" if going else last, end=True)
        self.put(body[-1], "}", end=True)

    def each(self, node: ast.For) -> None:
        """`for`: the counter is the variable itself if nothing else assigns it, and nothing reads it after the loop."""
        match node:
            case ast.For(
                target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=[*ends], keywords=[])
            ) if 1 <= len(ends) <= 3:
                low = self.expression(ends[0]) if len(ends) > 1 else "0"
                step = _constant(ends[2]) if len(ends) == 3 else 1
                if not step:
                    raise _wrong(node, "a step that is a whole number and not 0")
                counter = name if self._alone(node, name) else self.name("_i")
                high = self._fixed(node, ends[min(1, len(ends) - 1)])
                self.put(node, f"{counter} := {low};")
                self.loop(
                    node,
                    f"{counter} {'<' if step > 0 else '>'} {high}",
                    node.body,
                    first="" if counter == name else f"{name} := {counter};",
                    last=f"{counter} := {counter} {'+' if step > 0 else '-'} {abs(step)};",
                )
            case ast.For(target=ast.Name(id=name), iter=ast.Name(id=items)) if items in self.lists:
                counter, high = self.name("_i"), self._fixed(node, node.iter)
                self.put(node, f"{counter} := 0;")
                first, last = f"{name} := {high}[{counter}];", f"{counter} := {counter} + 1;"
                self.loop(node, f"{counter} < size({high})", node.body, first=first, last=last)
            case _:
                raise _wrong(node, "a loop over range(…) or a list")

    def _alone(self, node: ast.For, name: str) -> bool:
        """Whether a loop's variable is assigned and read in this loop only."""
        inside = {id(part) for part in ast.walk(node)}
        found = [part for part in ast.walk(self.function) if isinstance(part, ast.Name) and part.id == name]
        if any(id(part) not in inside for part in found) or name in {arg.arg for arg in self.function.args.args}:
            return False
        return sum(isinstance(part.ctx, ast.Store) for part in found) == 1

    def _fixed(self, node: ast.For, end: ast.expr) -> str:
        """The end of a loop, which Python computes once: as it is if nothing in it changes, else in a variable."""
        text = self.expression(end)
        stored = {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
        stored |= {
            part.func.value.id
            for part in ast.walk(node)
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute)
            if isinstance(part.func.value, ast.Name)
        }
        if not stored & {part.id for part in ast.walk(end) if isinstance(part, ast.Name)}:
            return text
        kept = self.name("_end")
        self.put(node, f"{kept} := {text};")
        return kept

    def block(self, body: list[ast.stmt]) -> None:
        """Statements; after one that may `break`, the others are made only if it did not."""
        opened = 0
        for place, statement in enumerate(body):
            self.statement(statement)
            if self.going and self.going[-1] is not None and _breaks([statement]) and body[place + 1 :]:
                self.put(statement, f"if ({self.going[-1]}) {{", end=True)
                opened += 1
        if opened:
            self.put(body[-1], "}" * opened, end=True)

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
            case ast.Compare(left=left, ops=ops, comparators=rights) if all(type(op) in _OPERATORS for op in ops):
                texts = [self.expression(part) for part in (left, *rights)]
                pairs = zip(texts, ops, texts[1:], strict=False)
                said = [f"({first} {_OPERATORS[type(op)]} {second})" for first, op, second in pairs]
                return said[0] if len(said) == 1 else f"({' && '.join(said)})"
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                sign = _OPERATORS[type(op)]
                if is_list(left, self.lists) or is_list(right, self.lists):
                    if not isinstance(op, _OF_LISTS):
                        raise _wrong(node, "`+` between lists: Python has no other sum of them")
                    sign = "++" if isinstance(op, ast.Add) else sign
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


def _breaks(body: list[ast.stmt]) -> bool:
    """Whether statements have a `break` of the loop around them."""
    waiting: list[ast.AST] = [part for part in body if not isinstance(part, ast.For | ast.While)]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Break):
            return True
        waiting += [inner for inner in ast.iter_child_nodes(part) if not isinstance(inner, ast.For | ast.While)]
    return False


def _constant(node: ast.expr) -> int:
    """A whole number as it is written; 0 if it is none."""
    match node:
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as number)) if not isinstance(number, bool):
            return -number
    return 0
