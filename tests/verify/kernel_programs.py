"""Random programs for the kernel: draws of every law in branches, loops and after returns, with parameters that may be
negative or at the edge of what a law allows. Most of them leak somewhere; some do not. Nothing of the verifier is used.

A program is a tree of tuples. Expressions: ("num", q), ("var", name), (operator, left, right). Scales of real noise are
(m)/eps and ratios exp(-eps/m), so that with epsilon = ln 4 chances of discrete laws are fractions.
"""

from dataclasses import dataclass, field
from fractions import Fraction

LAWS = ("Laplace", "Exponential", "Gauss", "Geometric", "TruncGeometric", "Bernoulli", "Choice", "Uniform")
PLACES = ("top", "then", "else", "loop", "after a return", "both branches")
CLAIMS = {"0": 0, "eps/2": Fraction(1, 2), "eps": 1, "3*eps/2": Fraction(3, 2), "2*eps": 2, "0-eps": -1, "n*eps": None}
"""Claims as multiples of epsilon; n*eps depends on the parameter."""
DELTAS = {
    "(eps/2, 1 - exp(-eps/4))": (Fraction(1, 2), "Laplace", Fraction(1, 4)),
    "(0, 1 - exp(-eps/2))": (0, "Laplace", Fraction(1, 2)),
    "(eps/2, 1 - exp(-eps/5))": (Fraction(1, 2), "Laplace", Fraction(1, 5)),
    "(eps/2, 1 - exp(-eps/8))": (Fraction(1, 2), "Laplace", Fraction(1, 8)),
    "(eps/2, (1 - exp(-eps/2))/(1 + exp(-eps)))": (Fraction(1, 2), "Geometric", 1),
    "(0, (1 - exp(-eps))/(1 + exp(-eps)))": (0, "Geometric", 1),
    "(eps/2, (1 - exp(-eps/2))/2)": (Fraction(1, 2), "Geometric", 2),
}
"""Claims with a delta: the multiple of epsilon, and what kernel_truth.py makes a number of."""
KINDS = {"int": (-1, 0, 1, 2), "{0..2}": (0, 1, 2), "real": (Fraction(-1, 2), 0, Fraction(1, 2), 1)}
N = ("var", "n")


def num(value):
    return ("num", Fraction(value))


@dataclass
class Random:
    """One program: its tree, its header, and where its draws stand."""

    dice: object
    draws: int = 0
    loops: int = 0
    cells: set = field(default_factory=set)
    right: dict = field(default_factory=dict)
    """The shift of a noise that hides what is shown."""

    def __post_init__(self):
        dice = self.dice
        self.kind = dice.choice(list(KINDS))
        self.claim = dice.choice([*CLAIMS, "eps", "eps", "2*eps"])
        if dice.random() < 0.2:
            self.claim = dice.choice(list(DELTAS))
        low = dice.randint(-4, 1)
        self.required = dice.choice([None, None, (">=", low), ("<=", low + 2), ("!=", low)])
        self.drawn = []  # side draws that have a value from here on
        self.guards = []  # tests that were made before
        self.edges = {}  # the least and the greatest value of a side draw
        body = []
        for _ in range(dice.choice((0, 1, 1, 2))):
            body += self.side()
        self.body = (*body, *self.end(deep=0))

    # ---- parts

    def bound(self):
        """A public number: often the parameter, a little moved."""
        small = self.dice.randint(-3, 3)
        if self.drawn and self.dice.random() < 0.2:
            return ("+", ("var", self.dice.choice(self.drawn)), num(small))
        if self.dice.random() < 0.04:
            return ("+", ("var", "c"), num(small))
        return self.dice.choice([num(small), N, N, ("+", N, num(small)), ("-", num(small), N)])

    def guard(self):
        """A test of something public; now and then of the private number."""
        if self.guards and self.dice.random() < 0.4:
            return self.dice.choice(self.guards)
        left = ("var", self.dice.choice(self.drawn)) if self.drawn and self.dice.random() < 0.5 else N
        left = ("var", "c") if self.dice.random() < 0.06 else left
        return (self.dice.choice([">", ">=", "<", "<=", "=", "!="]), left, num(self.dice.randint(-3, 3)))

    def side(self):
        """A draw that has nothing to do with the private number, somewhere."""
        place = self.dice.choice(PLACES)
        name = f"u{self.draws + 1}"
        guard = self.guard()
        draw = self.draw(name, self.dice.choice(LAWS), place)
        if place == "both branches":
            self.drawn.append(name)
            return [self.parted(draw)]
        if self.dice.random() < 0.5:
            guard, draw = self.matched(draw, place)
            self.guards.append(guard)
        start = ("set", name, num(0))
        self.drawn.append(name)
        self.edges[name] = _edges(draw)
        if place == "top":
            return [draw]
        if place == "then":
            return [start, ("if", guard, (draw,), ())]
        if place == "else":
            return [start, ("if", guard, (("set", name, num(1)),), (draw,))]
        if place == "after a return":
            return [("if", guard, (("return", self.dice.choice([num(0), N])),), ()), draw]
        self.loops += 1
        i = f"i{self.loops}"
        most = self.dice.choice([num(2), num(0), N, N, N, ("var", "c")])
        body = (draw, ("set", i, ("+", ("var", i), num(1))))
        return [start, ("set", i, num(0)), ("while", ("<", ("var", i), most), body, i, most)]

    def private_test(self):
        return (self.dice.choice([">", ">=", "<", "="]), ("var", "c"), num(self.dice.randint(-1, 1)))

    def twin(self, draw):
        """The draw of the other branch: mostly the same law, often with the same arguments."""
        dice, (_, name, law, args, _) = self.dice, draw
        if dice.random() < 0.15:
            law = dice.choice(LAWS)
            return self.draw(name, law, "both branches")
        other = self.draw(name, law, "both branches")
        return other if dice.random() < 0.5 else (*other[:3], args, other[4])

    def parted(self, draw):
        """A draw in both branches of a private test."""
        return ("if", self.private_test(), (draw,), (self.twin(draw),))

    def branches(self, name, private):
        """An ending whose noise is drawn in both branches of a private test: shown after them, or by each of them."""
        dice = self.dice
        whole = self.kind != "real"
        law = dice.choice(["Laplace", "Laplace", "Geometric" if whole else "Laplace", "Exponential"])
        shapes = {"-#shift(c)": private, "#shift(c)": ("-", num(1), private)}
        shift = dice.choice(["-#shift(c)", "-#shift(c)", "#shift(c)"])
        self.right[self.draws + 1] = shift
        first = self.draw(name, law, "both branches")
        if dice.random() < 0.3 and law == "Laplace":
            first = (*first[:3], (first[3][0], private), first[4])
            shapes, self.right[first[4]] = {shift: num(0)}, "#shift(c)"
        second = self.twin(first)
        shown = [("+", shapes[shift], ("var", name))] * 2
        if dice.random() < 0.25:
            shown[1] = ("+", shown[1], num(1))
        if dice.random() < 0.3:  # the branches have variables of their own
            second = (second[0], f"y{name}", *second[2:])
            shown[1] = ("+", shapes[shift], ("var", f"y{name}"))
        ends = [(draw, ("set", "r", value)) for draw, value in zip((first, second), shown, strict=True)]
        if dice.random() < 0.4:
            ends = [(draw, ("return", value)) for draw, value in zip((first, second), shown, strict=True)]
            if dice.random() < 0.5:
                return [("if", self.private_test(), ends[0], ()), *ends[1]]
            return [("if", self.private_test(), *ends)]
        return [("if", self.private_test(), *ends), ("return", ("var", "r"))]

    def matched(self, draw, place):
        """A test, and a draw whose arguments are allowed exactly where the test leads to it; of weights sometimes not
        quite there, so that one of them is negative.
        """
        _, name, law, _, number = draw
        k = self.dice.randint(-3, 2)
        width, flat = ("-", N, num(k - 1)), num(0)  # at least 1 where n >= k
        args = {
            "Uniform": (num(k), N),
            "TruncGeometric": (num(1), num(k), N, num(min(max(0, k), k + 3))),
            "Bernoulli": (num(Fraction(1, 2)),),
            "Choice": (width, num(3)),
            "Laplace": (width, flat),
            "Gauss": (width, flat),
            "Exponential": (width,),
            "Geometric": (num(1),),
        }[law]
        k -= 2 * (law == "Choice" and k % 2 == 0)
        test = ("<", N, num(k)) if place in ("else", "after a return") else (">=", N, num(k))
        return test, ("draw", name, law, args, number)

    def draw(self, name, law, place, private=None):
        """A draw; `private` is what its centre or its weights may read."""
        self.draws += 1
        self.cells.add((law, place))
        dice, zero = self.dice, private or num(0)
        match law:
            case "Laplace" | "Gauss":
                args = (dice.choice([num(1), num(1), num(1), num(2), num(2), self.bound()]), zero)
            case "Exponential":
                args = (dice.choice([num(1), num(2), num(2), self.bound()]),)
            case "Geometric":
                args = (num(dice.choice([1, 1, 2])),)
            case "TruncGeometric":
                low = dice.choice([num(-1), num(0), num(0), self.bound()])
                args = (num(dice.choice([1, 2])), low, dice.choice([num(2), num(3), num(1), self.bound()]), zero)
            case "Bernoulli":
                fixed = [num(Fraction(1, 4)), num(Fraction(1, 2)), num(0), num(1)]
                args = (dice.choice([*fixed, ("*", num(Fraction(1, 4)), self.bound())]),)
            case "Choice":
                args = tuple(
                    dice.choice([num(1), num(1), num(0), num(2), num(3), self.bound()])
                    for _ in range(dice.choice((1, 2, 2, 3)))
                )
                if private is not None:
                    args = tuple(("power", ("*", num(dice.choice((0, 1, -1))), private)) for _ in range(2))
            case _:
                low = dice.choice([num(0), num(0), num(-2), self.bound()])
                args = (low, dice.choice([num(1), num(2), num(3), self.bound()]))
        return ("draw", name, law, args, self.draws)

    def end(self, deep):  # noqa: C901, PLR0911  one way to end for each kind
        """Statements that return on every path."""
        dice = self.dice
        if not deep and self.drawn and dice.random() < 0.4:  # a leak behind a test that a draw may never pass
            name = dice.choice(self.drawn)
            edge = dice.choice(self.edges.get(name, [dice.randint(-2, 4)])) + dice.choice((0, 0, 1, -1))
            test = (dice.choice([">", ">=", "<", "<=", "="]), ("var", name), num(edge))
            return [("if", test, (("return", ("var", "c")),), ()), *self.end(deep=1)]
        if not deep and self.guards and dice.random() < 0.6:  # a leak where a draw was not made, or where it was
            op, left, right = dice.choice(self.guards)
            hidden, leak = tuple(self.end(deep=2)), (("return", ("var", "c")),)
            then, other = (hidden, leak) if (op == ">=") == (dice.random() < 0.8) else (leak, hidden)
            return [("if", (op, left, right), then, other)]
        if deep < 2 and dice.random() < 0.35:
            first, second = self.end(deep + 1), self.end(deep + 1)
            return [("if", self.guard(), tuple(first), tuple(second))] if dice.random() < 0.3 else [
                ("if", self.guard(), tuple(first), ()), *second]  # fmt: skip
        place = ("top", "then", "after a return")[min(deep, 2)]
        kind = dice.choice(
            ["noise"] * 4 + ["branches"] * 3 + ["test", "centred", "weights", "public", "public", "leak"]
        )
        private = ("var", "c")
        if kind == "leak":
            return [("return", private if deep else ("-", private, private))]
        if kind == "public":
            return [("return", dice.choice([N, num(1), ("+", N, num(1))]))]
        whole = self.kind != "real"
        name = f"z{self.draws + 1}"
        if kind == "branches":
            return self.branches(name, private)
        if kind == "centred":
            law = dice.choice(["Laplace", "TruncGeometric", "Gauss"] if whole else ["Laplace"])
            draw, shown = self.draw(name, law, place, private), ("var", name)
            if law == "Laplace" and self.draws % 3 == 0:  # the centre is added once more
                shown, self.right[self.draws] = ("+", shown, private), "-#shift(c)"
            elif law == "Laplace" and self.kind == "{0..2}":  # the scale tells what is private
                draw = (*draw[:3], (("+", private, num(1)), num(0)), draw[4])
            return [draw, ("return", shown)]
        if kind == "weights" and whole:
            return [self.draw(name, "Choice", place, private), ("return", ("var", name))]
        law = dice.choice(["Laplace", "Laplace", "Geometric" if whole else "Laplace", "Exponential"])
        shapes = {
            "-#shift(c)": [private, private, ("+", private, N)],
            "#shift(c)": [("-", num(1), private)],
            "-2 * #shift(c)": [("+", private, private)],
        }
        shift = dice.choice(["-#shift(c)"] * 4 + list(shapes))
        shown = dice.choice(shapes[shift])
        self.right[self.draws + 1] = shift
        total = ("+", shown, ("var", name))
        draw = self.draw(name, law, place)
        if kind == "test":
            test = (dice.choice([">=", "<"]), total, num(dice.randint(-1, 2)))
            return [draw, ("if", test, (("return", num(1)),), (("return", num(0)),))]
        return [draw, ("return", total)]

    # ---- text

    def text(self):
        required = f" requires n {self.required[0]} {show(num(self.required[1]))};" if self.required else ""
        head = f"P(c : private {self.kind}, n : public int) : public real{required} adjacent one; claim {self.claim};"
        return "\n".join([head, *_lines(self.body)])

    # ---- proofs that may be right

    def proof(self, dice):
        """Shifts, invariants and ranks as texts; a proof that a person would try, or nearly."""
        shifts = {}
        for number, law, noise in _noises(self.body):
            if noise:
                options = [self.right.get(number, "0")] * 18 + [
                    "0",
                    "#shift(c)",
                    "-1",
                    "1",
                    "#if(n > 0, -#shift(c), 0)",
                ]
                options += ["#if(c + #noise >= 1, 1 - #shift(c), 0)", "#if(#noise >= 0, -#shift(c), 0)"]
                shifts[number] = "0" if law in ("Choice", "Gauss") else dice.choice(options)
        loops = {}
        for k in range(1, self.loops + 1):
            wrong = [f"i{k} >= 1", f"i{k} <= 0", "#shift(c) = 0", "n >= 1", f"i{k} <= n", "n <= 0"]
            loops[k] = (f"#shift(i{k}) = 0", f"i{k} >= 0", *dice.sample(wrong, dice.choice((0, 0, 1))))
            loops[k] += tuple(f"#spent{number} = 0" for number, _, noise in _noises(self.body) if not noise)
            loops[k] += tuple(f"#same({name})" for name in self.drawn if dice.random() < 0.8)
        return shifts, loops


def _edges(draw):
    """Numbers at which the values of a draw end."""
    _, _, law, args, _ = draw
    ends = {"Bernoulli": [0, 1], "Choice": [0, len(args) - 1], "Exponential": [0]}.get(law, [0])
    if law in ("Uniform", "TruncGeometric"):
        ends = [int(arg[1]) for arg in args[-2:] if arg[0] == "num"] or [0]
    return ends


def show(node):
    match node:
        case ("num", value):
            return f"({value})" if value < 0 or value.denominator > 1 else str(value)
        case ("var", name):
            return name
        case (op, left, right):
            return f"({show(left)} {op} {show(right)})"
    raise AssertionError(node)


def _law(law, args):  # noqa: PLR0911  one line for each law
    match law, args:
        case (("Laplace" | "Gauss"), (scale, centre)):
            return f"{law}({show(scale)}{'/eps' if law == 'Laplace' else ''}, {show(centre)})"
        case "Exponential", (scale,):
            return f"Exponential({show(scale)}/eps)"
        case "Geometric", (m,):
            return f"Geometric(exp(-eps/{show(m)}))"
        case "TruncGeometric", (m, *ends):
            return f"TruncGeometric(exp(-eps/{show(m)}), {', '.join(map(show, ends))})"
        case "Choice", weights:
            said = [f"exp(eps*{show(w[1])}/2)" if w[0] == "power" else show(w) for w in weights]
            return f"Choice([{', '.join(said)}])"
        case "Uniform", (low, high):
            return f"Uniform({show(low)}..{show(high)})"
    return f"{law}({show(args[0])})"


def _lines(body):
    for part in body:
        match part:
            case ("set", name, value):
                yield f"{name} := {show(value)};"
            case ("draw", name, law, args, _):
                yield f"{name} :=$ {_law(law, args)};"
            case ("return", value):
                yield f"return {show(value)};"
            case ("if", test, then, other):
                yield f"if ({show(test)}) {{"
                yield from _lines(then)
                yield "} else {" if other else "}"
                if other:
                    yield from _lines(other)
                    yield "}"
            case ("while", test, inner, _, _):
                yield f"while ({show(test)}) {{"
                yield from _lines(inner)
                yield "}"


def _noises(body):
    for part in body:
        match part:
            case ("draw", name, law, _, number):
                yield number, law, name.startswith(("z", "yz"))
            case ("if", _, then, other):
                yield from _noises(then)
                yield from _noises(other)
            case ("while", _, inner, _, _):
                yield from _noises(inner)
