"""Verify, third step: words into a tree. Comes in: a program's text, or an expression of a proof. Goes out:
tree.Program.

Header and statements; expressions are read by `verify/expressions.py`. `verify/rules.py` then checks names and
directives.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.errors import InputError
from sfumato.verify.expressions import ExpressionParser, Words
from sfumato.verify.lexer import ProgramToken, begins_line, column_of, indent_of, mistake
from sfumato.verify.rules import check_depth, check_program
from sfumato.verify.tree import (
    Assign,
    Draw,
    Expr,
    FunctionCall,
    If,
    Num,
    Param,
    Program,
    Return,
    SequenceLiteral,
    Skip,
    Stmt,
    Type,
    UsesDirective,
    While,
)

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
RENYI = {"zcdp": 1, "renyi": 2}
"""Claims about Rényi divergence, with how many numbers each takes: `zcdp(rho)`, `renyi(alpha, e)`."""
ADJACENT = {"one", "all", "inc", "dec", "addremove", "moves", "any"}
NESTED = 4
"""Lists of lists of lists of lists are as far as it goes."""
_ALSO = {"Gaussian": "Gauss"}
"""Other names of laws."""
_VISIBLE = {"private": True, "priv": True, "public": False, "pub": False}
_DIRECTIVES = ("requires", "adjacent", "claim", "property", "uses")


class Parser:
    """The words of one text, read from left to right."""

    def __init__(self, source: str, *, ghosts: bool = False) -> None:
        self.words = Words(source, ghosts=ghosts)
        self.read = ExpressionParser(self.words)
        self.draws = 0
        self.loops = 0
        self.waiting: list[int] = []  # each `if` around whose `else` may still come

    # ---- header

    def program(self) -> Program:
        """The whole text."""
        title = self.words.name("the program's name")
        self.words.expect("(")
        params: list[Param] = []
        while not self.words.sees(")"):
            token = self.words.name("the name of a parameter, or ')'")
            self.words.expect(":")
            private = self.visibility()
            params.append(Param(token.text, private, self.type(), token.at))
            if not self.words.skip(","):
                break
        self.words.expect(")")
        self.words.expect(":")
        at = self.words.next.at
        if self.visibility():
            raise mistake(self.words.source, at, "expected 'public': the output is what everybody sees")
        output = self.type()
        header = Directives()
        while self.words.next.text in _DIRECTIVES and self.words.tokens[self.words.position + 1].text not in (
            ":=",
            ":=$",
        ):
            self.directive(header)
        body: list[Stmt] = []
        while self.words.next.kind != "end":
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
            self.words.source,
            header.renyi,
        )
        check_program(program)
        return program

    def visibility(self) -> bool:
        """`private` or `public`."""
        if self.words.next.text not in _VISIBLE:
            raise self.words.fail("'private' or 'public'")
        return _VISIBLE[self.words.take().text]

    def type(self) -> Type:
        """A type, with `list` after it as often as it is written."""
        at = self.words.next.at
        self.words.go_down()
        found = self.plain_type()
        while self.words.skip("list"):
            if _height(found) == NESTED:
                raise mistake(self.words.source, at, f"expected at most {NESTED} nested lists")
            found = Type("list", (), (found,))
        self.words.go_up()
        return found

    def plain_type(self) -> Type:
        """A type without `list`."""
        if self.words.next.text in ("real", "int", "bool"):
            return Type(self.words.take().text)
        if self.words.skip("data"):  # as slides say it: numbers between 0 and 1, one for each person
            return Type("list", (), (Type("interval", (Num(Fraction(0)), Num(Fraction(1)))),))
        if self.words.skip("["):
            low = self.read.expression()
            self.words.expect(",")
            high = self.read.expression()
            self.words.expect("]")
            return Type("interval", (low, high))
        if self.words.skip("("):
            items = [self.type()]
            while self.words.skip(","):
                items.append(self.type())
            self.words.expect(")")
            return Type("tuple", (), tuple(items))
        if self.words.sees("{"):
            return self.braces()
        raise self.words.fail("a type: real, int, bool, [a,b], {a..b}, {0,1}^n or a tuple")

    def braces(self) -> Type:
        """`{a..b}`, `{0,1}` or `{0,1}^n`."""
        at = self.words.expect("{").at
        low = self.read.expression()
        dots = self.words.sees("..")
        if not dots and not self.words.sees(","):
            raise self.words.fail("'..' or ','")
        self.words.take()
        high = self.read.expression()
        self.words.expect("}")
        binary = low == Num(Fraction(0)) and high == Num(Fraction(1)) and not dots
        if self.words.sees("^"):
            if not binary:
                raise mistake(self.words.source, at, "expected {0,1} before '^'")
            self.words.take()
            return Type("bits", (self.read.primary(),))
        if not dots and not binary:
            raise mistake(self.words.source, at, "expected {0,1} or a range {a..b}")
        return Type("range", (low, high))

    def directive(self, header: Directives) -> None:
        """One line of the header's promise."""
        word = self.words.take()
        match word.text:
            case "requires":
                header.requires.append(self.read.expression())
            case "adjacent":
                header.once(self, word, header.adjacent)
                header.adjacent, header.group = self.adjacency()
            case "claim":
                header.once(self, word, header.claim or header.renyi or header.property)
                claim = self.read.expression()
                if isinstance(claim, FunctionCall) and claim.name in RENYI:
                    header.renyi = claim.args
                    fits = len(claim.args) == RENYI[claim.name]
                else:
                    header.claim = claim.items if isinstance(claim, SequenceLiteral) else (claim,)
                    fits = len(header.claim) in (1, 2)
                if not fits:
                    wanted = "expected a claim k, (k, delta), zcdp(rho) or renyi(alpha, e)"
                    raise mistake(self.words.source, word.at, wanted)
            case "property":
                header.once(self, word, header.claim or header.renyi or header.property)
                if self.words.next.text not in ("secrecy", "noninterference", "uniform"):
                    raise self.words.fail("secrecy, noninterference or uniform")
                header.property = self.words.take().text
            case _:
                token = self.words.name("the name of a function")
                self.words.expect(":")
                self.words.expect("sensitivity")
                header.uses.append(UsesDirective(token.text, self.read.expression(), token.at))
        self.words.expect(";")

    def adjacency(self) -> tuple[str, int]:
        """`one`, … or `k(one)`."""
        if self.words.next.kind == "number":
            token = self.words.next
            number = self.words.number()
            if number < 1 or number.denominator != 1:
                raise mistake(self.words.source, token.at, "expected a whole number from 1")
            self.words.expect("(")
            self.words.expect("one")
            self.words.expect(")")
            return "one", int(number)
        if self.words.next.text not in ADJACENT:
            raise self.words.fail("one of one, all, inc, dec, addremove, moves, any, k(one)")
        return self.words.take().text, 1

    # ---- statements

    def block(self, outside: int) -> tuple[Stmt, ...]:
        """`{ … }`, or one statement; or, as slides are written, all lines that stand further to the right than the
        line of the word (at `outside`) that the block belongs to.
        """
        if not self.words.skip("{"):
            return self.indented(outside)
        body: list[Stmt] = []
        waiting, self.waiting = self.waiting, []
        while not self.words.sees("}"):
            if self.words.next.kind == "end":
                raise self.words.fail("a statement or '}'")
            body.append(self.statement())
        self.words.take()
        self.waiting = waiting
        return tuple(body)

    def indented(self, outside: int) -> tuple[Stmt, ...]:
        """One statement, and if it stands in a line of its own to the right, those that stand below it.

        Where the layout does not say clearly which statements belong to the body, the program is refused: a reader
        and a parser that take it for two different programs would be a proof of the wrong one.
        """
        source, first = self.words.source, self.words.next.at
        outer, left = indent_of(source, outside), column_of(source, first)
        is_laid_out = begins_line(source, first) and left > outer
        body = [self.statement()]
        while self.words.next.kind != "end" and not self.words.sees("}", "else"):
            at = self.words.next.at
            column = column_of(source, at)
            if not begins_line(source, at):
                if is_laid_out:
                    raise self.unclear(at, "a second statement in this line")
                break
            if column <= outer:
                break
            if not is_laid_out or column != left:
                raise self.unclear(at, "a line that is indented in another way")
            body.append(self.statement())
        return tuple(body)

    def unclear(self, at: int, what: str) -> InputError:
        """The refusal of a layout with two readings."""
        hint = "Write { … } around the body."
        return mistake(self.words.source, at, f"{what} leaves open where the unbraced body ends", hint=hint)

    def choice(self, at: int) -> If:
        """The rest of an `if`."""
        test = self.condition()
        self.waiting.append(at)
        then = self.block(at)
        is_mine = self.is_own_else()
        self.waiting.pop()
        return If(test, then, self.block(at) if is_mine and self.words.skip("else") else (), at)

    def is_own_else(self) -> bool:
        """Whether an `else` that follows belongs to the innermost `if` that waits for one: by its column, if several
        wait and it begins a line.
        """
        source, at = self.words.source, self.words.next.at
        if len(self.waiting) < 2 or not self.words.sees("else") or not begins_line(source, at):
            return True
        columns = [indent_of(source, each) for each in self.waiting]
        if columns.count(column_of(source, at)) != 1:
            raise mistake(source, at, "`else` lines up with no `if`, or with two of them", hint="Write { … }.")
        return columns[-1] == column_of(source, at)

    def statement(self) -> Stmt:
        """One statement, and the semicolon after it if there is one."""
        self.words.go_down()
        found = self.plain_statement()
        self.words.go_up()
        self.words.skip(";")
        return found

    def plain_statement(self) -> Stmt:
        """A statement without its semicolon."""
        at = self.words.next.at
        if self.words.skip("skip"):
            return Skip(at)
        if self.words.skip("return"):
            return Return(self.read.expression(), at)
        if self.words.skip("if"):
            return self.choice(at)
        if self.words.skip("while"):
            self.loops += 1
            number = self.loops
            test = self.condition()
            return While(test, self.block(at), number, at)
        token = self.words.name("a statement")
        if self.words.skip(":=$"):
            return self.draw(token)
        if not self.words.skip(":="):
            raise self.words.fail("':=' or ':=$'")
        return Assign(token.text, self.read.expression(), at)

    def condition(self) -> Expr:
        """`( test )`."""
        self.words.expect("(")
        test = self.read.expression()
        self.words.expect(")")
        return test

    def draw(self, token: ProgramToken) -> Draw:
        """The law after `:=$`."""
        law = _ALSO.get(self.words.next.text, self.words.next.text)
        if law not in LAWS:
            raise self.words.fail("a law: " + ", ".join(LAWS))
        word = self.words.take()
        self.draws += 1
        number = self.draws
        self.words.expect("(")
        args: list[Expr] = []
        if law == "Uniform":
            args = self.uniform()
        else:
            args.append(self.read.expression())
            while self.words.skip(","):
                args.append(self.read.expression())
        self.words.expect(")")
        least, most = LAWS[law]
        if not least <= len(args) <= most:
            raise mistake(self.words.source, word.at, f"expected {least} arguments of {law}, found {len(args)}")
        return Draw(token.text, law, tuple(args), number, token.at)

    def uniform(self) -> list[Expr]:
        """`{0,1}^n` as one argument, `lo..hi` as two."""
        if self.words.sees("{"):
            at = self.words.next.at
            found = self.braces()
            if found.kind != "bits":
                raise mistake(self.words.source, at, "expected {0,1}^n or lo..hi")
            return [found.args[0]]
        low = self.read.expression()
        self.words.expect("..")
        return [low, self.read.expression()]


def _height(kind: Type) -> int:
    """How many lists are inside of each other in a type."""
    return (kind.kind == "list") + max(map(_height, kind.items), default=0)


class Directives:
    """The directives as they are read."""

    def __init__(self) -> None:
        self.requires: list[Expr] = []
        self.adjacent: str | None = None
        self.group = 1
        self.claim: tuple[Expr, ...] = ()
        self.renyi: tuple[Expr, ...] = ()
        self.property: str | None = None
        self.uses: list[UsesDirective] = []

    @staticmethod
    def once(parser: Parser, word: ProgramToken, before: object) -> None:
        """A directive that may stand only once."""
        if before:
            raise mistake(
                parser.words.source,
                word.at,
                f"expected one claim or property and one adjacency, found another {word.text!r}",
            )


def read_program(source: str) -> Program:
    """The program of a text, checked; raises InputError with line and column."""
    return Parser(source).program()


def read_proof(text: str) -> Expr:
    """An expression of a proof, where `#` names what no program can name."""
    parser = Parser(text, ghosts=True)
    found = parser.read.expression()
    if parser.words.next.kind != "end":
        raise parser.words.fail("the end of the expression")
    check_depth(text, found)
    return found
