"""Verify, kernel: one draw for both branches. Comes in: a program. Goes out: the same program, in which branches of a
test that reads private values do not draw.

Two runs that take different branches cannot be followed while one of them draws and the other does not. Where both
branches draw from the same law, with arguments of their own, the draw is made once, after the arguments are known.

Guarantee: on every input the rewritten program has outputs with the same law as the program.
Proof: (1) Statements after a branch that always returns are the other branch. (2) Let both branches be s; x :=$
    L(a); t, without returns and loops in s, and draws of their own in neither s nor t but for those that are
    rewritten in turn. The truth of the test is kept in a new variable, each branch computes its arguments into new
    variables, one value is drawn from L of those, and each branch goes on with its own variable set to that value.
    On every input exactly one branch is taken, it draws from the same law with the same arguments, and nothing else
    reads the new variables. An argument that is the same text in both branches is computed by the draw itself,
    after s. (3) If both branches end in a return, each computes its output into a new variable, which is then
    returned.
Reference: lifting of random choices out of conditionals: Barthe, Grégoire, Zanella, POPL 2009 (code motion).
Checked by: verify::draws_of_branches_keep_the_law_of_outputs, verify::what_the_kernel_accepts_is_true
"""

from __future__ import annotations

from dataclasses import replace

from sfumato.verify.tree import (
    Assign,
    Draw,
    Expr,
    If,
    Program,
    Return,
    Stmt,
    Var,
    While,
    changed,
    expressions,
    names,
    statements,
)

_NUMBERS = ("Laplace", "Gauss", "Exponential", "Geometric", "TruncGeometric", "Bernoulli", "Uniform")
"""Laws whose arguments are numbers."""


def joined_branches(program: Program) -> Program:
    """The program with one draw for both branches of private tests, where branches draw alike."""
    private = tainted(program)
    return replace(program, body=_block(program.body, private))


def tainted(program: Program) -> set[str]:
    """Variables that private inputs may have touched; which branches are joined is a matter of taste, not of truth."""
    found = {param.name for param in program.params if param.private}
    while True:
        before = set(found)
        for part in statements(program.body):
            read = {name for node in expressions(part) for name in names(node)}
            if read & found:
                found |= changed((part,))
        if found == before:
            return found


def _block(body: tuple[Stmt, ...], private: set[str]) -> tuple[Stmt, ...]:
    done: list[Stmt] = []
    for place, statement in enumerate(body):
        if isinstance(statement, While):
            done.append(replace(statement, body=_block(statement.body, private)))
            continue
        if not isinstance(statement, If):
            done.append(statement)
            continue
        rest = body[place + 1 :]
        if names(statement.test) & private and _ends(statement.then) and not statement.other and _ends(rest):
            found = _joined(statement, statement.then, rest)
            if found is not None:
                return (*done, *found)
        found = _joined(statement, statement.then, statement.other) if names(statement.test) & private else None
        if found is not None:
            done += found
            continue
        inner = (_block(statement.then, private), _block(statement.other, private))
        done.append(replace(statement, then=inner[0], other=inner[1]))
    return tuple(done)


def _ends(body: tuple[Stmt, ...]) -> bool:
    return bool(body) and isinstance(body[-1], Return)


def _joined(statement: If, then: tuple[Stmt, ...], other: tuple[Stmt, ...]) -> list[Stmt] | None:
    """The statements that stand for a test and its branches; None if they do not draw alike."""
    returning = _ends(then) and _ends(other)
    if returning:
        mine, yours = then[-1], other[-1]
        assert isinstance(mine, Return)
        assert isinstance(yours, Return)
        output = f"#output{_first(then)}"
        then = (*then[:-1], Assign(output, mine.value, mine.at))
        other = (*other[:-1], Assign(output, yours.value, yours.at))
    mine_parted, yours_parted = _parted(then), _parted(other)
    if mine_parted is None or yours_parted is None:
        return None
    (draws, firsts), (others, seconds) = mine_parted, yours_parted
    alike = [(a.law, len(a.args)) for a in draws] == [(b.law, len(b.args)) for b in others]
    if not draws or not alike or any(draw.law not in _NUMBERS for draw in draws):
        return None
    test = f"#test{draws[0].number}"
    found: list[Stmt] = [Assign(test, statement.test, statement.at)]
    begun: tuple[tuple[Stmt, ...], tuple[Stmt, ...]] = ((), ())
    for place, (one, two) in enumerate(zip(draws, others, strict=True)):
        begun = (*begun[0], *firsts[place]), (*begun[1], *seconds[place])
        args: list[Expr] = []
        for number, (left, right) in enumerate(zip(one.args, two.args, strict=True)):
            if left == right:  # each branch has made its own variables by then
                args.append(left)
                continue
            name = f"#arg{one.number}_{number}"
            begun = (*begun[0], Assign(name, left, one.at)), (*begun[1], Assign(name, right, two.at))
            args.append(Var(name, one.at))
        found += _choice(test, begun, statement.at)
        same = one.name == two.name
        drawn = one.name if same else f"#drawn{one.number}"
        found.append(Draw(drawn, one.law, tuple(args), one.number, one.at))
        begun = ((), ()) if same else ((Assign(one.name, Var(drawn), one.at),), (Assign(two.name, Var(drawn), two.at),))
    found += _choice(test, ((*begun[0], *firsts[-1]), (*begun[1], *seconds[-1])), statement.at)
    return [*found, Return(Var(output), statement.at)] if returning else found


def _first(body: tuple[Stmt, ...]) -> int:
    return next((part.number for part in statements(body) if isinstance(part, Draw)), 0)


def _choice(test: str, blocks: tuple[tuple[Stmt, ...], tuple[Stmt, ...]], at: int) -> list[Stmt]:
    return [If(Var(test, at), blocks[0], blocks[1], at)] if blocks[0] or blocks[1] else []


def _parted(body: tuple[Stmt, ...]) -> tuple[list[Draw], list[tuple[Stmt, ...]]] | None:
    """The draws of a block and what stands before, between and after them; None if draws, returns or loops stand
    deeper.
    """
    draws: list[Draw] = []
    blocks: list[tuple[Stmt, ...]] = [()]
    for statement in body:
        if isinstance(statement, Draw):
            draws.append(statement)
            blocks.append(())
        elif any(isinstance(part, Draw | Return | While) for part in statements((statement,))):
            return None
        else:
            blocks[-1] = (*blocks[-1], statement)
    return draws, blocks
