"""Verify, second step: expressions. Comes in: the words of a text. Goes out: the trees of its expressions.

`Words` are read from left to right; operators are told apart by how strongly they bind.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.verify.lexer import ProgramToken, mistake, read_tokens
from sfumato.verify.tree import Binary, Expr, FunctionCall, Index, Num, SequenceLiteral, TruthLiteral, Unary, Var

RESERVED = {"if", "else", "while", "return", "skip", "true", "false", "mod", "xor", "and", "or"}
_LEVELS = "||", "&&", "= != < <= > >=", "++", "xor and or", "+ -", "* / mod"
_STRENGTH = {sign: strength for strength, signs in enumerate(_LEVELS) for sign in signs.split()}
_COMPARED = _STRENGTH["="]
DIGITS = 400
"""Digits of a number, with those that its exponent stands for."""
NEST = 160
"""Levels of brackets, signs and blocks inside of each other; a pair of brackets is two levels."""


class Words:
    """The words of one text, read from left to right."""

    def __init__(self, source: str, *, ghosts: bool = False) -> None:
        self.source = source
        self.tokens = read_tokens(source, ghosts=ghosts)
        self.position = 0
        self.depth = 0

    @property
    def next(self) -> ProgramToken:
        """The word that comes next."""
        return self.tokens[self.position]

    def go_down(self) -> None:
        """Begin a level inside of the last one."""
        self.depth += 1
        if self.depth > NEST:
            raise mistake(self.source, self.next.at, f"expected at most {NEST} nested levels")

    def go_up(self) -> None:
        """End a level."""
        self.depth -= 1

    def fail(self, expected: str) -> Exception:
        """What to raise when something else was expected."""
        return mistake(self.source, self.next.at, f"expected {expected}, found {self.next.text!r}")

    def take(self) -> ProgramToken:
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

    def expect(self, text: str) -> ProgramToken:
        """Read this word, which must come next."""
        if not self.sees(text):
            raise self.fail(f"{text!r}")
        return self.take()

    def number(self) -> Fraction:
        """Read a number; numbers with very many digits are not taken."""
        token = self.take()
        digits, _, exponent = token.text.lower().partition("e")
        if len(digits) > DIGITS or len(exponent) > 5 or abs(int(exponent or 0)) > DIGITS:
            raise mistake(self.source, token.at, f"expected a number with at most {DIGITS} digits")
        return Fraction(token.text)

    def name(self, what: str) -> ProgramToken:
        """Read a name."""
        if self.next.kind != "name" or self.next.text in RESERVED:
            raise self.fail(what)
        return self.take()


class ExpressionParser:
    """Reads expressions: an operator takes to its right whatever binds more strongly."""

    def __init__(self, words: Words) -> None:
        self.words = words

    def expression(self, least: int = 0) -> Expr:
        """Operators that bind at least so strongly, from left to right; comparisons do not follow each other."""
        self.words.go_down()
        most, token = max(_STRENGTH.values()), self.words.next
        if self.words.sees("!") and least <= _COMPARED:
            self.words.take()
            left: Expr = Unary("!", self.expression(_COMPARED), token.at)
            most = _COMPARED - 1
        else:
            left = self.unary()
        while (strength := self.strength()) is not None and least <= strength <= most:
            token = self.words.take()
            left = Binary(token.text, left, self.expression(strength + 1), token.at)
            most = strength - (strength == _COMPARED)
        self.words.go_up()
        return left

    def strength(self) -> int | None:
        """How strongly the operator that comes next binds; None if there is none."""
        return _STRENGTH.get(self.words.next.text) if self.words.next.kind in ("sign", "name") else None

    def unary(self) -> Expr:
        """`-x`, and powers, which bind more strongly than a sign before them."""
        self.words.go_down()
        if self.words.sees("-"):
            at = self.words.take().at
            found: Expr = Unary("-", self.unary(), at)
        else:
            found = self.postfix()
            if self.words.sees("^"):
                at = self.words.take().at
                found = Binary("^", found, self.unary(), at)
        self.words.go_up()
        return found

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
            return Num(self.words.number(), token.at)
        if self.words.sees("true", "false"):
            return TruthLiteral(self.words.take().text == "true", token.at)
        if self.words.sees("("):
            self.words.take()
            inside = self.several(")")
            return inside[0] if len(inside) == 1 else SequenceLiteral(inside, token.at)
        if self.words.sees("["):
            self.words.take()
            inside = () if self.words.skip("]") else self.several("]")
            return SequenceLiteral(inside, token.at)
        if token.kind not in ("name", "ghost") or token.text in RESERVED:
            raise self.words.fail("an expression")
        self.words.take()
        if token.text == "ln" and self.words.next.kind == "number":
            at = self.words.next.at
            return FunctionCall("ln", (Num(self.words.number(), at),), token.at)
        if token.text == "size" and self.words.next.kind == "name" and not self._assigns():
            name = self.words.name("a list")
            return FunctionCall("size", (Var(name.text, name.at),), token.at)
        if self.words.skip("("):
            return FunctionCall(token.text, self.several(")"), token.at)
        return Var(token.text, token.at)

    def _assigns(self) -> bool:
        """Whether a new statement comes next, or a word that is no name: then `size` is a variable."""
        after = self.words.tokens[self.words.position + 1].text if self.words.next.kind != "end" else ""
        return self.words.next.text in RESERVED or after in (":=", ":=$")

    def several(self, end: str) -> tuple[Expr, ...]:
        """Expressions between commas, up to a closing bracket."""
        found = [self.expression()]
        while self.words.skip(","):
            found.append(self.expression())
        self.words.expect(end)
        return tuple(found)
