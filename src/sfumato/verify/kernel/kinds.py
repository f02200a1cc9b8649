"""Verify, kernel: what kind of value a variable holds wherever it is assigned. Comes in: a program. Goes out: kinds
by name.

`int` or `real` for numbers, `bool`, `list`; a variable that is assigned values of different kinds is `mixed`, and the
proof rule does not cover it.
"""

from __future__ import annotations

from sfumato.verify.tree import (
    Assign,
    Binary,
    Draw,
    Expr,
    FunctionCall,
    Index,
    Num,
    Program,
    SequenceLiteral,
    TruthLiteral,
    Type,
    Unary,
    Var,
    changed,
    statements,
)

_WHOLE_LAWS = {"Geometric", "Steps", "TruncGeometric", "Bernoulli", "Choice", "Uniform"}
_OF_TYPE = {"real": "real", "interval": "real", "int": "int", "range": "int", "bool": "bool"}


def kinds_of(program: Program) -> dict[str, str]:
    """The kind of every parameter and variable."""
    kinds = {param.name: _OF_TYPE.get(param.type.kind, "list") for param in program.params}
    kinds |= {"eps": "real", "delta": "real"}
    given = changed(program.body)  # a parameter that is assigned anew may hold elements of another kind
    types = {param.name: param.type for param in program.params if param.name not in given}
    while True:
        before = dict(kinds)
        for statement in statements(program.body):
            if isinstance(statement, Assign):
                found = kind_of(statement.value, kinds, types)
            elif isinstance(statement, Draw):
                found = "int" if statement.law in _WHOLE_LAWS else "real"
                if statement.law == "TruncGeometric":  # its ends and its centre need not be whole
                    for arg in statement.args[1:]:
                        found = _join(found, kind_of(arg, kinds, types)) or found
            else:
                continue
            kinds[statement.name] = _join(kinds.get(statement.name), found) or ""
        if kinds == before:
            return kinds


def _join(first: str | None, second: str | None) -> str | None:
    if not first or not second or first == second:
        return first or second
    return "real" if {first, second} == {"int", "real"} else "mixed"


def kind_of(node: Expr, kinds: dict[str, str], types: dict[str, Type]) -> str | None:
    """The kind of an expression; None while it is not known yet."""
    match node:
        case Num(value=value):
            return "int" if value.denominator == 1 else "real"
        case TruthLiteral() | Unary(op="!"):
            return "bool"
        case Var(name=name):
            return kinds.get(name)
        case Unary(arg=arg):
            return kind_of(arg, kinds, types)
        case SequenceLiteral():
            return "list"
        case Binary(op="++"):
            return "list"
        case Binary(op="/"):
            return "real"
        case Binary(op=op) if op in ("&&", "||", "=", "!=", "<", "<=", ">", ">="):
            return "bool"
        case Binary(left=left, right=right):
            return _join(kind_of(left, kinds, types), kind_of(right, kinds, types))
        case Index():
            return _element(node, types)
        case FunctionCall(name="size" | "int"):
            return "int"
        case FunctionCall(name="abs" | "min" | "max" | "clamp", args=args):
            found = None
            for arg in args:
                found = _join(found, kind_of(arg, kinds, types))
            return found
    return "real"


def _element(node: Expr, types: dict[str, Type]) -> str:
    """What `d[i]` or `d[i][j]` of a parameter holds; elements of other lists are not followed."""
    places: list[Expr] = []
    while isinstance(node, Index):
        places = [node.index, *places]
        node = node.base
    if not isinstance(node, Var) or node.name not in types:
        return "mixed"
    found = types[node.name]
    for place in places:
        if found.kind == "bits":
            return "int"
        if not found.items:
            return "mixed"
        if found.kind == "tuple" and not (isinstance(place, Num) and place.value in range(len(found.items))):
            return "mixed"
        found = found.items[int(place.value) if found.kind == "tuple" and isinstance(place, Num) else 0]
    return _OF_TYPE.get(found.kind, "list")
