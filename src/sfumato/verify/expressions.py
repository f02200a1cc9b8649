"""Verify, second step: expressions. Comes in: the words of a text. Goes out: the trees of its expressions.

`Words` are read from left to right; each rule of the grammar is read by a function of its own, from the weakest
operator to the strongest.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.verify.lexer import Token, mistake, read_tokens
from sfumato.verify.tree import Binary, Call, Expr, Index, Items, Num, Truth, Unary, Var

RESERVED = {"if", "else", "while", "return", "skip", "true", "false", "mod", "xor", "and", "or"}
_LEVELS = (("||",), ("&&",))


class Words:
    """The words of one text, read from left to right."""

    def __init__(self, source: str, *, ghosts: bool = False) -> None:
        self.source = source
        self.tokens = read_tokens(source, ghosts=ghosts)
        self.position = 0

    @property
    def next(self) -> Token:
        """The word that comes next."""
        return self.tokens[self.position]

    def fail(self, expected: str) -> Exception:
        """What to raise when something else was expected."""
        return mistake(self.source, self.next.at, f"expected {expected}, found {self.next.text!r}")

    def take(self) -> Token:
        """Read one word."""
        token = self.next
        self.position += 1
        return token

    def sees(self, *texts: str) -> bool:
        """Whether one of these words comes next."""
        return self.next.text in texts and self.next.kind in ("sign", "name")

    def skip(self, text: str) -> bool:
        """Read this word if it comes next."""
        if self.sees(text):
            self.position += 1
            return True
        return False

    def expect(self, text: str) -> Token:
        """Read this word, which must come next."""
        if not self.sees(text):
            raise self.fail(f"{text!r}")
        return self.take()

    def name(self, what: str) -> Token:
        """Read a name."""
        if self.next.kind != "name" or self.next.text in RESERVED:
            raise self.fail(what)
        return self.take()


class Expressions:
    """Reads expressions."""

    def __init__(self, words: Words) -> None:
        self.words = words

    def expression(self, level: int = 0) -> Expr:
        """`||` and `&&`."""
        if level == len(_LEVELS):
            return self.negation()
        left = self.expression(level + 1)
        while self.words.sees(*_LEVELS[level]):
            token = self.words.take()
            left = Binary(token.text, left, self.expression(level + 1), token.at)
        return left

    def negation(self) -> Expr:
        """`!x`, or one comparison."""
        if self.words.sees("!"):
            at = self.words.take().at
            return Unary("!", self.negation(), at)
        left = self.joined()
        if self.words.sees("=", "!=", "<", "<=", ">", ">="):
            token = self.words.take()
            return Binary(token.text, left, self.joined(), token.at)
        return left

    def joined(self) -> Expr:
        """`++`."""
        return self.chain(self.bits, "++")

    def bits(self) -> Expr:
        """`xor`, `and`, `or`."""
        return self.chain(self.sum, "xor", "and", "or")

    def sum(self) -> Expr:
        """`+` and `-`."""
        return self.chain(self.term, "+", "-")

    def term(self) -> Expr:
        """`*`, `/` and `mod`."""
        return self.chain(self.unary, "*", "/", "mod")

    def chain(self, below, *signs: str) -> Expr:  # type: ignore[no-untyped-def]  # noqa: ANN001  any rule of this class
        """Operators of one strength, from left to right."""
        left: Expr = below()
        while self.words.sees(*signs):
            token = self.words.take()
            left = Binary(token.text, left, below(), token.at)
        return left

    def unary(self) -> Expr:
        """`-x` and powers."""
        if self.words.sees("-"):
            at = self.words.take().at
            return Unary("-", self.unary(), at)
        base = self.postfix()
        if self.words.sees("^"):
            at = self.words.take().at
            return Binary("^", base, self.unary(), at)
        return base

    def postfix(self) -> Expr:
        """`d[i]`."""
        base = self.primary()
        while self.words.sees("["):
            at = self.words.take().at
            base = Index(base, self.expression(), at)
            self.words.expect("]")
        return base

    def primary(self) -> Expr:
        """A number, a name, a call, brackets."""
        token = self.words.next
        if token.kind == "number":
            self.words.take()
            return Num(Fraction(token.text), token.at)
        if self.words.sees("true", "false"):
            return Truth(self.words.take().text == "true", token.at)
        if self.words.sees("("):
            self.words.take()
            inside = self.several(")")
            return inside[0] if len(inside) == 1 else Items(inside, token.at)
        if self.words.sees("["):
            self.words.take()
            inside = () if self.words.skip("]") else self.several("]")
            return Items(inside, token.at)
        if token.kind not in ("name", "ghost") or token.text in RESERVED:
            raise self.words.fail("an expression")
        self.words.take()
        if token.text == "ln" and self.words.next.kind == "number":
            number = self.words.take()
            return Call("ln", (Num(Fraction(number.text), number.at),), token.at)
        if self.words.skip("("):
            return Call(token.text, self.several(")"), token.at)
        return Var(token.text, token.at)

    def several(self, end: str) -> tuple[Expr, ...]:
        """Expressions between commas, up to a closing bracket."""
        found = [self.expression()]
        while self.words.skip(","):
            found.append(self.expression())
        self.words.expect(end)
        return tuple(found)
