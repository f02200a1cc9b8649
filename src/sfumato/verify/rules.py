"""Verify: what a text must keep to beyond its grammar. Comes in: a tree. Goes out: nothing, or an error with its place.

Names are known, functions have their arguments, every path returns, a claim has an adjacency and speaks of public
things.
"""

from __future__ import annotations

from sfumato.verify.lexer import mistake
from sfumato.verify.operands import check_kinds
from sfumato.verify.tree import (
    Expr,
    FunctionCall,
    If,
    Num,
    Program,
    Return,
    Stmt,
    TruthLiteral,
    Type,
    Var,
    While,
    changed,
    expressions,
    parts,
    promises,
    statements,
    walk,
)

FUNCTIONS = {"abs": 1, "exp": 1, "ln": 1, "sqrt": 1, "size": 1, "int": 1, "min": 2, "max": 2, "clamp": 3}
KNOWN = {"eps", "delta"}
DEEPEST = 120
"""Operators inside of each other: everything that reads an expression goes down into it."""


def check_program(program: Program) -> None:
    """Raise InputError at the first thing that is not right."""
    for node in (*_header(program), *(node for part in statements(program.body) for node in expressions(part))):
        check_depth(program.source, node)
    _check_header(program)
    names = KNOWN | {param.name for param in program.params} | changed(program.body)
    functions = set(FUNCTIONS) | {use.name for use in program.uses}
    for statement in statements(program.body):
        for found in expressions(statement):
            _check_names(program, found, names, functions)
    if not returns(program.body):
        raise mistake(program.source, len(program.source.rstrip()), "expected a return on every path")
    check_kinds(program)


def check_depth(source: str, node: Expr) -> None:
    """Refuse an expression whose operators reach deeper than everything that reads it can follow."""
    waiting = [(node, 1)]
    while waiting:
        part, depth = waiting.pop()
        if depth > DEEPEST:
            raise mistake(source, part.at, f"expected at most {DEEPEST} nested operators")
        waiting += [(inner, depth + 1) for inner in parts(part)]


def _header(program: Program) -> tuple[Expr, ...]:
    """The expressions of the header."""
    types = (*(param.type for param in program.params), program.output)
    ends = (end for kind in types for end in _bounds(kind))
    return (*ends, *program.requires, *promises(program), *(use.sensitivity for use in program.uses))


def returns(body: tuple[Stmt, ...]) -> bool:
    """Whether every path through a block returns."""
    for statement in body:
        match statement:
            case Return() | While(test=TruthLiteral(value=True)):
                return True
            case If(then=then, other=other) if returns(then) and returns(other):
                return True
    return False


def _check_header(program: Program) -> None:
    source = program.source
    seen: set[str] = set(KNOWN)
    for param in program.params:
        if param.name in seen:
            raise mistake(source, param.at, f'expected a new name, "{param.name}" is known already')
        seen.add(param.name)
    uses = [use.name for use in program.uses]
    for use in program.uses:
        if use.name in FUNCTIONS or uses.count(use.name) > 1:
            raise mistake(source, use.at, f'expected a new name, function "{use.name}" is known already')
    if not promises(program) and program.property is None:
        raise mistake(source, 0, "expected one of claim and property")
    if promises(program) and program.adjacent is None:
        raise mistake(source, 0, "expected an adjacency: a claim is about adjacent inputs")
    if program.property and program.adjacent is not None:
        raise mistake(source, 0, "expected no adjacency: a property is about all inputs")
    public = KNOWN | {param.name for param in program.params if not param.private}
    everything = KNOWN | {param.name for param in program.params}
    for param in program.params:
        for bound in _bounds(param.type):
            _check_names(program, bound, public, set(FUNCTIONS))
    for bound in _bounds(program.output):
        _check_names(program, bound, everything, set(FUNCTIONS))
    for required in program.requires:
        _check_names(program, required, everything, set(FUNCTIONS))
    for order in program.renyi[:-1]:
        if isinstance(order, Num) and order.value <= 1:
            raise mistake(source, order.at, "expected an order above 1")
    for claimed in (*promises(program), *(use.sensitivity for use in program.uses)):
        _check_names(program, claimed, everything, set(FUNCTIONS))
        _check_public(program, claimed, public)


def _bounds(kind: Type) -> tuple[Expr, ...]:
    return (*kind.args, *(bound for item in kind.items for bound in _bounds(item)))


def _check_public(program: Program, node: Expr, public: set[str]) -> None:
    """A claim reads public names, and of private ones only their size."""
    match node:
        case FunctionCall(name="size", args=(Var(),)):
            return
        case Var(name=name) if name not in public:
            raise mistake(program.source, node.at, f'expected a public name, "{name}" is private')
    for part in parts(node):
        _check_public(program, part, public)


def _check_names(program: Program, node: Expr, names: set[str], functions: set[str]) -> None:
    for part in walk(node):
        if isinstance(part, Var) and part.name not in names:
            raise mistake(program.source, part.at, f'expected a known name, found "{part.name}"')
        if isinstance(part, FunctionCall):
            if part.name not in functions:
                raise mistake(program.source, part.at, f'expected a known function, found "{part.name}"')
            wanted = FUNCTIONS.get(part.name)
            if wanted is not None and len(part.args) != wanted:
                text = f"expected {wanted} argument{'s' * (wanted > 1)} of {part.name}, found {len(part.args)}"
                raise mistake(program.source, part.at, text)
