"""Verify, second step: words into a tree. Comes in: a program's text, or an expression of a proof. Goes out:
tree.Program.

A parser that reads each rule of the grammar by a function of its own. `verify/rules.py` then checks names and
directives.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.verify.lexer import Token, mistake, read_tokens
from sfumato.verify.rules import check_program
from sfumato.verify.tree import (
    Assign,
    Binary,
    Call,
    Draw,
    Expr,
    If,
    Index,
    Items,
    Num,
    Param,
    Program,
    Return,
    Skip,
    Stmt,
    Truth,
    Type,
    Unary,
    Uses,
    Var,
    While,
)

RESERVED = {"if", "else", "while", "return", "skip", "true", "false", "mod", "xor", "and", "or"}
LAWS = {
    "Laplace": (2, 2),
    "Gauss": (2, 2),
    "Exponential": (1, 1),
    "Geometric": (1, 1),
    "TruncGeometric": (3, 4),
    "Bernoulli": (1, 1),
    "Choice": (1, 1),
    "Uniform": (1, 2),
}
"""The laws, with how many arguments each takes. Uniform has one for `{0,1}^n` and two for `lo..hi`."""
ADJACENT = {"one", "all", "inc", "dec", "addremove", "moves", "any"}
_VISIBLE = {"private": True, "priv": True, "public": False, "pub": False}
_DIRECTIVES = ("requires", "adjacent", "claim", "property", "uses")
_LEVELS = (("||",), ("&&",))


class Parser:
    """The words of one text, read from left to right."""

    def __init__(self, source: str, *, ghosts: bool = False) -> None:
        self.source = source
        self.tokens = read_tokens(source, ghosts=ghosts)
        self.position = 0
        self.draws = 0
        self.loops = 0

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

    # ---- header

    def program(self) -> Program:
        """The whole text."""
        title = self.name("the program's name")
        self.expect("(")
        params: list[Param] = []
        while not self.sees(")"):
            token = self.name("the name of a parameter, or ')'")
            self.expect(":")
            private = self.visibility()
            params.append(Param(token.text, private, self.type(), token.at))
            if not self.skip(","):
                break
        self.expect(")")
        self.expect(":")
        at = self.next.at
        if self.visibility():
            raise mistake(self.source, at, "expected 'public': the output is what everybody sees")
        output = self.type()
        header = Header()
        while self.next.text in _DIRECTIVES and self.tokens[self.position + 1].text not in (":=", ":=$"):
            self.directive(header)
        body: list[Stmt] = []
        while self.next.kind != "end":
            body.append(self.statement())
        program = Program(
            title.text,
            tuple(params),
            output,
            tuple(header.requires),
            header.adjacent,
            header.group,
            header.claim,
            header.property,
            tuple(header.uses),
            tuple(body),
            self.source,
        )
        check_program(program)
        return program

    def visibility(self) -> bool:
        """`private` or `public`."""
        if self.next.text not in _VISIBLE:
            raise self.fail("'private' or 'public'")
        return _VISIBLE[self.take().text]

    def type(self) -> Type:
        """A type, with `list` after it as often as it is written."""
        found = self.plain_type()
        while self.skip("list"):
            found = Type("list", (), (found,))
        return found

    def plain_type(self) -> Type:
        """A type without `list`."""
        if self.next.text in ("real", "int", "bool"):
            return Type(self.take().text)
        if self.skip("["):
            low = self.expression()
            self.expect(",")
            high = self.expression()
            self.expect("]")
            return Type("interval", (low, high))
        if self.skip("("):
            items = [self.type()]
            while self.skip(","):
                items.append(self.type())
            self.expect(")")
            return Type("tuple", (), tuple(items))
        if self.sees("{"):
            return self.braces()
        raise self.fail("a type: real, int, bool, [a,b], {a..b}, {0,1}^n or a tuple")

    def braces(self) -> Type:
        """`{a..b}`, `{0,1}` or `{0,1}^n`."""
        at = self.expect("{").at
        low = self.expression()
        dots = self.sees("..")
        if not dots and not self.sees(","):
            raise self.fail("'..' or ','")
        self.take()
        high = self.expression()
        self.expect("}")
        binary = low == Num(Fraction(0)) and high == Num(Fraction(1)) and not dots
        if self.sees("^"):
            if not binary:
                raise mistake(self.source, at, "expected {0,1} before '^'")
            self.take()
            return Type("bits", (self.primary(),))
        if not dots and not binary:
            raise mistake(self.source, at, "expected {0,1} or a range {a..b}")
        return Type("range", (low, high))

    def directive(self, header: Header) -> None:
        """One line of the header's promise."""
        word = self.take()
        match word.text:
            case "requires":
                header.requires.append(self.expression())
            case "adjacent":
                header.once(self, word, header.adjacent)
                header.adjacent, header.group = self.adjacency()
            case "claim":
                header.once(self, word, header.claim or header.property)
                claim = self.expression()
                header.claim = claim.items if isinstance(claim, Items) else (claim,)
                if len(header.claim) not in (1, 2):
                    raise mistake(self.source, word.at, "expected a claim k or (k, delta)")
            case "property":
                header.once(self, word, header.claim or header.property)
                if self.next.text not in ("secrecy", "noninterference", "uniform"):
                    raise self.fail("secrecy, noninterference or uniform")
                header.property = self.take().text
            case _:
                token = self.name("the name of a function")
                self.expect(":")
                self.expect("sensitivity")
                header.uses.append(Uses(token.text, self.expression(), token.at))
        self.expect(";")

    def adjacency(self) -> tuple[str, int]:
        """`one`, … or `k(one)`."""
        if self.next.kind == "number":
            token = self.take()
            number = Fraction(token.text)
            if number < 1 or number.denominator != 1:
                raise mistake(self.source, token.at, "expected a whole number from 1")
            self.expect("(")
            self.expect("one")
            self.expect(")")
            return "one", int(number)
        if self.next.text not in ADJACENT:
            raise self.fail("one of one, all, inc, dec, addremove, moves, any, k(one)")
        return self.take().text, 1

    # ---- statements

    def block(self) -> tuple[Stmt, ...]:
        """`{ … }`, or one statement."""
        if not self.skip("{"):
            return (self.statement(),)
        body: list[Stmt] = []
        while not self.sees("}"):
            if self.next.kind == "end":
                raise self.fail("a statement or '}'")
            body.append(self.statement())
        self.take()
        return tuple(body)

    def statement(self) -> Stmt:
        """One statement, and the semicolon after it if there is one."""
        found = self.plain_statement()
        self.skip(";")
        return found

    def plain_statement(self) -> Stmt:
        """A statement without its semicolon."""
        at = self.next.at
        if self.skip("skip"):
            return Skip(at)
        if self.skip("return"):
            return Return(self.expression(), at)
        if self.skip("if"):
            test = self.condition()
            then = self.block()
            return If(test, then, self.block() if self.skip("else") else (), at)
        if self.skip("while"):
            self.loops += 1
            number = self.loops
            test = self.condition()
            return While(test, self.block(), number, at)
        token = self.name("a statement")
        if self.skip(":=$"):
            return self.draw(token)
        if not self.skip(":="):
            raise self.fail("':=' or ':=$'")
        return Assign(token.text, self.expression(), at)

    def condition(self) -> Expr:
        """`( test )`."""
        self.expect("(")
        test = self.expression()
        self.expect(")")
        return test

    def draw(self, token: Token) -> Draw:
        """The law after `:=$`."""
        if self.next.text not in LAWS:
            raise self.fail("a law: " + ", ".join(LAWS))
        word = self.take()
        law = word.text
        self.draws += 1
        number = self.draws
        self.expect("(")
        args: list[Expr] = []
        if law == "Uniform":
            args = self.uniform()
        else:
            args.append(self.expression())
            while self.skip(","):
                args.append(self.expression())
        self.expect(")")
        least, most = LAWS[law]
        if not least <= len(args) <= most:
            raise mistake(self.source, word.at, f"expected {least} arguments of {law}, found {len(args)}")
        return Draw(token.text, law, tuple(args), number, token.at)

    def uniform(self) -> list[Expr]:
        """`{0,1}^n` as one argument, `lo..hi` as two."""
        if self.sees("{"):
            at = self.next.at
            found = self.braces()
            if found.kind != "bits":
                raise mistake(self.source, at, "expected {0,1}^n or lo..hi")
            return [found.args[0]]
        low = self.expression()
        self.expect("..")
        return [low, self.expression()]

    # ---- expressions, from the weakest operator to the strongest

    def expression(self, level: int = 0) -> Expr:
        """`||` and `&&`."""
        if level == len(_LEVELS):
            return self.negation()
        left = self.expression(level + 1)
        while self.sees(*_LEVELS[level]):
            token = self.take()
            left = Binary(token.text, left, self.expression(level + 1), token.at)
        return left

    def negation(self) -> Expr:
        """`!x`, or one comparison."""
        if self.sees("!"):
            at = self.take().at
            return Unary("!", self.negation(), at)
        left = self.joined()
        if self.sees("=", "!=", "<", "<=", ">", ">="):
            token = self.take()
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
        while self.sees(*signs):
            token = self.take()
            left = Binary(token.text, left, below(), token.at)
        return left

    def unary(self) -> Expr:
        """`-x` and powers."""
        if self.sees("-"):
            at = self.take().at
            return Unary("-", self.unary(), at)
        base = self.postfix()
        if self.sees("^"):
            at = self.take().at
            return Binary("^", base, self.unary(), at)
        return base

    def postfix(self) -> Expr:
        """`d[i]`."""
        base = self.primary()
        while self.sees("["):
            at = self.take().at
            base = Index(base, self.expression(), at)
            self.expect("]")
        return base

    def primary(self) -> Expr:
        """A number, a name, a call, brackets."""
        token = self.next
        if token.kind == "number":
            self.take()
            return Num(Fraction(token.text), token.at)
        if self.sees("true", "false"):
            return Truth(self.take().text == "true", token.at)
        if self.sees("("):
            self.take()
            inside = self.several(")")
            return inside[0] if len(inside) == 1 else Items(inside, token.at)
        if self.sees("["):
            self.take()
            inside = () if self.skip("]") else self.several("]")
            return Items(inside, token.at)
        if token.kind not in ("name", "ghost") or token.text in RESERVED:
            raise self.fail("an expression")
        self.take()
        if token.text == "ln" and self.next.kind == "number":
            number = self.take()
            return Call("ln", (Num(Fraction(number.text), number.at),), token.at)
        if self.skip("("):
            return Call(token.text, self.several(")"), token.at)
        return Var(token.text, token.at)

    def several(self, end: str) -> tuple[Expr, ...]:
        """Expressions between commas, up to a closing bracket."""
        found = [self.expression()]
        while self.skip(","):
            found.append(self.expression())
        self.expect(end)
        return tuple(found)


class Header:
    """The directives as they are read."""

    def __init__(self) -> None:
        self.requires: list[Expr] = []
        self.adjacent: str | None = None
        self.group = 1
        self.claim: tuple[Expr, ...] = ()
        self.property: str | None = None
        self.uses: list[Uses] = []

    @staticmethod
    def once(parser: Parser, word: Token, before: object) -> None:
        """A directive that may stand only once."""
        if before:
            raise mistake(
                parser.source, word.at, f"expected one claim or property and one adjacency, found another {word.text!r}"
            )


def read_program(source: str) -> Program:
    """The program of a text, checked; raises InputError with line and column."""
    return Parser(source).program()


def read_proof(text: str) -> Expr:
    """An expression of a proof, where `#` names what no program can name."""
    parser = Parser(text, ghosts=True)
    found = parser.expression()
    if parser.next.kind != "end":
        raise parser.fail("the end of the expression")
    return found
