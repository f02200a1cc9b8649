"""Verify: a tree as text. Comes in: expressions and programs. Goes out: text that reads back as the same tree."""

from __future__ import annotations

from fractions import Fraction

from sfumato.verify.tree import Assign as Assigned
from sfumato.verify.tree import (
    Binary,
    Draw,
    Expr,
    FunctionCall,
    If,
    Index,
    Num,
    Return,
    SequenceLiteral,
    Skip,
    Stmt,
    TruthLiteral,
    Unary,
    Var,
    While,
)

_STRENGTH = {
    "||": 1, "&&": 2, "=": 4, "!=": 4, "<": 4, "<=": 4, ">": 4, ">=": 4, "++": 5, "xor": 6, "and": 6, "or": 6,
    "+": 7, "-": 7, "*": 8, "/": 8, "mod": 8, "^": 10,
}  # fmt: skip


def show(node: Expr, around: int = 0) -> str:
    """An expression, in brackets where something stronger stands around it.

    >>> from sfumato.verify.parse import read_proof
    >>> show(read_proof("(a + b) * -c[i + 1] <= 1/2 && !(x || y)"))
    '(a + b) * -c[i + 1] <= 1 / 2 && !(x || y)'
    """
    match node:
        case Num(value=value):
            return _number(value, around)
        case TruthLiteral(value=value):
            return "true" if value else "false"
        case Var(name=name):
            return name
        case FunctionCall(name=name, args=args):
            return f"{name}({', '.join(show(arg) for arg in args)})"
        case Index(base=base, index=index):
            return f"{show(base, 12)}[{show(index)}]"
        case SequenceLiteral(items=items):
            return f"[{', '.join(show(item) for item in items)}]"
        case Unary(op="!", arg=arg):
            text, strength = f"!{show(arg, 3 if isinstance(arg, Unary) else 11)}", 3
        case Unary(arg=arg):
            inside = show(arg, 9)
            text, strength = f"-({inside})" if inside.startswith("-") else f"-{inside}", 9  # `--` begins a comment
        case Binary(op=op, left=left, right=right):
            strength = _STRENGTH[op]
            first, second = (strength + 1, 9) if op == "^" else (strength + (strength == 4), strength + 1)
            text = f"{show(left, first)} {op} {show(right, second)}"
    return f"({text})" if strength < around else text


def _number(value: Fraction, around: int) -> str:
    if value.denominator == 1 and value >= 0:
        return str(value)
    text, strength = (f"-{-value}", 8) if value < 0 else (str(value), 8)
    text = text.replace("/", " / ")
    return f"({text})" if strength < around else text


def show_body(body: tuple[Stmt, ...], indent: str = "  ") -> list[str]:
    """Statements, a line each."""
    lines: list[str] = []
    for statement in body:
        match statement:
            case Assigned(name=name, value=value):
                lines.append(f"{indent}{name} := {show(value)};")
            case Draw():
                lines.append(f"{indent}{show_draw(statement)};")
            case Return(value=value):
                lines.append(f"{indent}return {show(value)};")
            case Skip():
                lines.append(f"{indent}skip;")
            case While(test=test, body=inner):
                lines += [f"{indent}while ({show(test)}) {{", *show_body(inner, indent + "  "), f"{indent}}}"]
            case If(test=test, then=then, other=other):
                lines += [f"{indent}if ({show(test)}) {{", *show_body(then, indent + "  "), f"{indent}}}"]
                if other:
                    lines += [f"{indent}else {{", *show_body(other, indent + "  "), f"{indent}}}"]
    return lines


def show_draw(draw: Draw) -> str:
    """`z :=$ Laplace(1 / eps, 0)`."""
    if draw.law == "Uniform":
        inside = (
            f"{{0,1}}^{show(draw.args[0], 12)}" if len(draw.args) == 1 else " .. ".join(show(arg) for arg in draw.args)
        )
    else:
        inside = ", ".join(show(arg) for arg in draw.args)
    return f"{draw.name} :=$ {draw.law}({inside})"
