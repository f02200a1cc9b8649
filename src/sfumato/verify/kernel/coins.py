"""Verify, kernel: coins that are counted. Comes in: a program. Goes out: the same program, in which a loop that tosses
a coin until it fails, and counts, is one draw.

`Steps(p)` is the number of successes before the first failure: k = 0, 1, 2, … with chance (1 - p) p^k. It is a law of
the kernel alone; no text can name it.

Guarantee: on every input the rewritten program has outputs with the same law as the program, if 0 <= p < 1 (laws.py and
    finite/draws.py take nothing else).
Proof: the tosses are independent of each other and of all else, p does not change inside of the loop, and each toss
    that succeeds leads to the next one, counting one; so the loop ends after k counts with chance (1 - p) p^k, and with
    chance 1 after some. Afterwards the counter is greater by k, the coin shows what ends the loop, and the flag, if
    there is one, is down. Forms: (1) `b :=$ B(p); while (b = 1) { n := n + 1; b :=$ B(p) }`, in either order inside,
    with an assignment in between that neither reads nor changes what the coin reads or is; (2) `b := 1; while (b = 1) {
    b :=$ B(p); if (b = 1) { n := n + 1 } }`, also with n := n + b, and with n := n + 1 for every toss, which is one
    more; (3) `go := 1; while (go = 1) { b :=$ B(p); if (b = 1) { n := n + 1 } else { go := 0 } }`, where the flag may
    be a truth. A toss that goes on with 0 succeeds with chance 1 - p.
Reference: Canonne, Kamath, Steinke, NeurIPS 2020 (discrete Laplace noise from coins); Feller, volume I, VI.8.
Checked by: verify::counted_coins_keep_the_law_of_outputs, verify::what_the_kernel_accepts_is_true
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from sfumato.verify.tree import (
    Assign,
    Binary,
    Draw,
    Expr,
    If,
    Num,
    Program,
    Stmt,
    TruthLiteral,
    Unary,
    Var,
    While,
    names,
)

ZERO, ONE = Num(Fraction(0)), Num(Fraction(1))
UP, DOWN = TruthLiteral(True), TruthLiteral(False)


def counted_coins(program: Program) -> Program:
    """The program with one draw for each loop of coins that are counted."""
    return replace(program, body=_block(program.body))


def _block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    done: list[Stmt] = []
    for statement in body:
        match statement:
            case While():
                tosses = _tossed_before(done, statement) or _tossed_inside(done, statement) or _flagged(done, statement)
                if tosses is None:
                    done.append(replace(statement, body=_block(statement.body)))
                else:
                    done = [*tosses.before, *_drawn(tosses, statement.at)]
            case If(then=then, other=other):
                done.append(replace(statement, then=_block(then), other=_block(other)))
            case _:
                done.append(statement)
    return tuple(done)


@dataclass(frozen=True, slots=True)
class _Tosses:
    """A loop of tosses: what stands before it, the coin, the side that goes on, the counter, what is counted beside,
    and what is assigned when it ends.
    """

    before: list[Stmt]
    coin: Draw
    side: Num
    counter: str
    more: bool = False
    flag: tuple[Assign, ...] = ()


def _drawn(tosses: _Tosses, at: int) -> tuple[Stmt, ...]:
    coin, name = tosses.coin, f"#steps{tosses.coin.number}"
    chance = coin.args[0] if tosses.side == ONE else Binary("-", ONE, coin.args[0], coin.at)
    counted: Expr = Binary("+", Var(tosses.counter), Var(name), at)
    return (
        Draw(name, "Steps", (chance,), coin.number, coin.at),
        Assign(tosses.counter, Binary("+", counted, ONE, at) if tosses.more else counted, at),
        Assign(coin.name, ZERO if tosses.side == ONE else ONE, at),
        *tosses.flag,
    )


def _tossed_before(done: list[Stmt], loop: While) -> _Tosses | None:
    """`b :=$ B(p); while (b = 1) { n := n + 1; b :=$ B(p) }`."""
    side = _side(loop.test)
    coin, counts = _parts(loop.body)
    if coin is None or side is None or side[0] != coin.name:
        return None
    counter = _counter(counts)
    first = _last(done, coin)
    if counter is None or first is None or not _is_apart(coin, counter):
        return None
    place, toss = first
    if not isinstance(toss, Draw) or (toss.law, toss.args) != (coin.law, coin.args):
        return None
    return _Tosses([*done[:place], *done[place + 1 :]], toss, side[1], counter)


def _tossed_inside(done: list[Stmt], loop: While) -> _Tosses | None:
    """`b := 1; while (b = 1) { b :=$ B(p); if (b = 1) { n := n + 1 } }`."""
    side = _side(loop.test)
    coin, counts = _parts(loop.body)
    if coin is None or side is None or side[0] != coin.name:
        return None
    first = _last(done, coin)
    if first is None or first[1] != Assign(coin.name, side[1]):
        return None
    match counts:
        case If(test=test, then=(then,), other=()) if loop.body[0] == coin and _side(test) == side:
            counter, more = _counter(then), False
        case Assign(name=name, value=Binary(op="+", left=Var(name=left), right=Var(name=right))) if (
            loop.body[0] == coin and name == left and right == coin.name and side[1] == ONE
        ):
            counter, more = name, False
        case _:
            counter, more = _counter(counts), True
    if counter is None or not _is_apart(coin, counter):
        return None
    return _Tosses(done, coin, side[1], counter, more)


def _flagged(done: list[Stmt], loop: While) -> _Tosses | None:
    """`go := 1; while (go = 1) { b :=$ B(p); if (b = 1) { n := n + 1 } else { go := 0 } }`."""
    match loop.test:
        case Var(name=flag):
            up: Expr = UP
        case Unary(op="!", arg=Var(name=flag)):
            up = DOWN
        case _:
            tested = _side(loop.test)
            if tested is None:
                return None
            flag, up = tested
    coin, choice = _parts(loop.body)
    if coin is None or loop.body[0] != coin or not isinstance(choice, If):
        return None
    side = _side(choice.test)
    if side is None or side[0] != coin.name or len(choice.then) != 1 or len(choice.other) != 1:
        return None
    for counts, ends, on in (
        (choice.then[0], choice.other[0], side[1]),
        (choice.other[0], choice.then[0], ONE if side[1] == ZERO else ZERO),
    ):
        counter = _counter(counts)
        lowers = isinstance(ends, Assign) and ends.name == flag and type(ends.value) is type(up) and ends.value != up
        if counter is None or not lowers or not _is_apart(coin, counter, flag):
            continue
        assert isinstance(ends, Assign)
        first = _last(done, replace(coin, name=flag))
        if first is not None and first[1] == Assign(flag, up):
            return _Tosses(done, coin, on, counter, flag=(ends,))
    return None


def _side(test: Expr) -> tuple[str, Num] | None:
    """The variable and the number of `b = 1` or `b = 0`."""
    match test:
        case Binary(op="=", left=Var(name=name), right=Num() as side) if side in (ZERO, ONE):
            return name, side
    return None


def _parts(body: tuple[Stmt, ...]) -> tuple[Draw | None, Stmt | None]:
    """The coin and the other statement of a body of two."""
    coins = [part for part in body if isinstance(part, Draw) and part.law == "Bernoulli"]
    others = [part for part in body if not isinstance(part, Draw)]
    return (coins[0], others[0]) if len(body) == 2 and len(coins) == len(others) == 1 else (None, None)


def _counter(statement: Stmt | None) -> str | None:
    """The variable of `n := n + 1`."""
    match statement:
        case Assign(name=name, value=Binary(op="+", left=Var(name=left), right=right)) if name == left and right == ONE:
            return name
    return None


def _is_apart(coin: Draw, *others: str) -> bool:
    """Whether coin, counter and flag are different variables, and the chance reads none of them."""
    own = {coin.name, *others}
    return len(own) == 1 + len(others) and not own & names(coin.args[0])


def _last(done: list[Stmt], coin: Draw) -> tuple[int, Stmt] | None:
    """The last statement, or the one before it, if it gives the coin its first value and nothing reads or changes that,
    or what the chance reads, in between.
    """
    for place in range(len(done) - 1, max(len(done) - 3, -1), -1):
        statement = done[place]
        if not isinstance(statement, Assign | Draw):
            return None
        if statement.name == coin.name:
            return place, statement
        reads = names(statement.value) if isinstance(statement, Assign) else {coin.name}
        if coin.name in reads or statement.name in names(coin.args[0]):
            return None
    return None
