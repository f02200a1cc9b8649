"""Verify, finite laws: what a program sees of private numbers. Comes in: a program whose private numbers have no end.
Goes out: a program over the truths and remainders that it makes of them, which can be listed; or None.

Guarantee: if the program that comes out keeps a claim for any two inputs, so does the one that went in for neighbours.
Proof: every private number without end is read only inside of comparisons `a < b` and remainders `a mod m` whose parts
    are private numbers, public ones and numbers. Put each of these in place of its truth or remainder: on every input
    the two programs then do the same, with values that lie in the types of the new parameters. Two neighbours become
    two inputs of the new program, which are related by `any`.
Reference: predicate abstraction (Graf, Saïdi, CAV 1997).
Checked by: verify::what_is_seen_of_numbers_is_listed, verify::more_than_truths_is_not_listed
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

from sfumato.verify.kernel.kinds import kind_of
from sfumato.verify.run import NotRun
from sfumato.verify.tree import (
    Assign,
    Binary,
    Draw,
    Expr,
    FunctionCall,
    If,
    Index,
    Num,
    Param,
    Program,
    Return,
    SequenceLiteral,
    Stmt,
    Type,
    Unary,
    Var,
    While,
    changed,
    conjuncts,
    expressions,
    names,
    statements,
    walk,
)

_PLAIN = ("abs", "min", "max", "clamp")


def observed(program: Program) -> Program | None:
    """The program over what it sees; None if it has no private numbers without end, or sees more of them."""
    kinds = ("int", "real", "interval")
    endless = {param.name for param in program.params if param.private and param.type.kind in kinds}
    if not endless or endless & changed(program.body) or program.uses:
        return None
    given = {param.name for param in program.params} | {"eps", "delta"}
    seen = _Seen(program, frozenset(endless), frozenset(given - changed(program.body)))
    try:
        body = seen.block(program.body)
    except NotRun:
        return None
    said = [*program.claim, *(node for part in statements(body) for node in expressions(part))]
    said += [end for param in program.params for end in _ends(param.type)]
    read = {name for node in said for name in names(node)} | {"eps", "delta"}
    kept = tuple(param for param in program.params if param.name in read - endless)
    requires = tuple(node for node in conjuncts(*program.requires) if names(node) <= read - endless)
    params = (*kept, *seen.found.values())
    return replace(program, params=params, body=body, requires=requires, adjacent="any", group=1)


@dataclass(frozen=True, slots=True)
class _Seen:
    """Puts parameters in the place of what is seen."""

    program: Program
    endless: frozenset[str]
    given: frozenset[str]
    found: dict[Expr, Param] = field(default_factory=dict)

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(map(self.statement, body))

    def statement(self, statement: Stmt) -> Stmt:
        match statement:
            case Assign(value=value) | Return(value=value):
                return replace(statement, value=self.expression(value))
            case Draw(args=args):
                return replace(statement, args=tuple(map(self.expression, args)))
            case If(test=test, then=then, other=other):
                return replace(statement, test=self.expression(test), then=self.block(then), other=self.block(other))
            case While(test=test, body=body):
                return replace(statement, test=self.expression(test), body=self.block(body))
        return statement

    def expression(self, node: Expr) -> Expr:
        if not names(node) & self.endless:
            return node
        match node:
            case Binary(op=">", left=left, right=right):
                node = replace(node, op="<", left=right, right=left)
            case Binary(op="!=" | ">=" | "<=" as op, left=left, right=right):
                sides = (right, left) if op == "<=" else (left, right)
                other = Binary("=" if op == "!=" else "<", *sides, node.at)
                return Unary("!", self.expression(other), node.at)
        kind = self._kind(node)
        if kind is not None:
            param = self.found.setdefault(node, Param(f"#seen{len(self.found)}", True, kind))
            return Var(param.name, node.at)
        match node:
            case Unary(arg=arg):
                return replace(node, arg=self.expression(arg))
            case Binary(left=left, right=right):
                return replace(node, left=self.expression(left), right=self.expression(right))
            case FunctionCall(args=args):
                return replace(node, args=tuple(map(self.expression, args)))
            case Index(base=base, index=index):
                return replace(node, base=self.expression(base), index=self.expression(index))
            case SequenceLiteral(items=items):
                return replace(node, items=tuple(map(self.expression, items)))
        raise NotRun  # the number itself

    def _kind(self, node: Expr) -> Type | None:
        """The type of a truth or a remainder of given numbers."""
        if not isinstance(node, Binary) or not names(node) <= self.given or not all(map(_is_plain, walk(node.left))):
            return None
        if node.op in ("<", "=") and all(map(_is_plain, walk(node.right))):
            return Type("bool")
        if node.op == "mod" and isinstance(node.right, Num) and node.right.value >= 1:
            types = {param.name: param.type for param in self.program.params}
            kinds = {name: "int" if kind.kind in ("int", "range") else "real" for name, kind in types.items()}
            if kind_of(node.left, kinds, types) == "int" and node.right.value.denominator == 1:
                return Type("range", (Num(Fraction(0)), Num(node.right.value - 1)))
        return None


def _ends(kind: Type) -> tuple[Expr, ...]:
    return (*kind.args, *(end for item in kind.items for end in _ends(item)))


def _is_plain(node: Expr) -> bool:
    """What cannot fail."""
    match node:
        case Num() | Var() | Unary(op="-") | Binary(op="+" | "-" | "*"):
            return True
        case Binary(op="/", right=Num(value=value)) | Binary(op="mod", right=Num(value=value)):
            return value > 0
        case FunctionCall(name=name):
            return name in _PLAIN
    return False
