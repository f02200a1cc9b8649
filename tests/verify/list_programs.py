"""Random programs over a private list of bits, and an interpreter of their own: nothing of the verifier's runners is
used, only its parser. Indices and loop ends may read the list itself, variables may be drawn, collected and assigned
anew, parameters too, and loops may return.
"""

from collections import Counter
from fractions import Fraction
from itertools import product

from sfumato.verify import tree as t

F = Fraction
INDICES = (
    "i",
    "size(d) - 1 - i",
    "min(i, size(d) - 1)",
    "(i + 1) mod size(d)",
    "i + min(int(d), size(d) - 2)",
    "min(int(d), 2) + i",
    "size(d) - 1 - min(int(d), 2) - i",
    "x",
)
LAWS = ("Bernoulli", "Choice", "Uniform")
CLAIMS = {"0": 1, "ln 2": 2, "ln 3": 3, "2*ln 3": 9, "(ln 3, 1/8)": 3}
MOST, ROUNDS = 4000, 12
"""States of one run, and rounds of one loop, that are followed."""


class Bad(Exception):
    """What no run may do."""


class Skip(Exception):
    """A run that is too long."""


class Random:
    """One program as text, and what stands in it."""

    def __init__(self, dice):
        self.dice, self.cells = dice, set()
        self.claim = dice.choice([*CLAIMS, "ln 3", "ln 3"])
        self.size = dice.choice((2, 3, 4))
        self.adjacent = dice.choice(("one", "one", "one", "all"))
        looks = [f"y :=$ {self.look()}; o := o ++ [y];"] if dice.random() < 0.6 else []
        parts = [*looks, *(self.statement() for _ in range(dice.choice((0, 1, 1, 2) if looks else (1, 2, 3))))]
        parts.insert(dice.choice((0, len(parts), len(parts))), "i := i + 1;")
        end = dice.choice(("size(d)", "size(d)", "n", "2", "1", "size(d) - 1"))
        more = dice.choice(("", "", " && s < 2", " && y = 0"))
        last = dice.choice(("o", "o", "[s]", "[y]", "[x]", "[s, y]", "o ++ [s]"))
        self.text = (
            "P(d : private {0,1} list, n : public {0..2}) : public real list "
            f"requires size(d) = {self.size}; adjacent {self.adjacent}; claim {self.claim};\n"
            f"x := 0; s := 0; o := []; y := 0; i := 0; while (i < {end}{more}) {{ {' '.join(parts)} }} return {last}"
        )

    def element(self):
        index = self.dice.choice(INDICES)
        self.cells.add(("index", index))
        return f"d[{index}]"

    def number(self):
        found = self.dice.choice(("0", "1", "n", "x", "s", "y", "size(d)", "int(d)", "", ""))
        return found or self.element()

    def look(self):
        """A law that tells an element with a loss of ln 3, or of ln 2."""
        law, element = self.dice.choice(LAWS[:2]), self.element()
        self.cells.add(("law", law))
        if law == "Bernoulli":
            return f"Bernoulli(1/4 + {element}/2)"
        return f"Choice({self.dice.choice((f'[1 + 2*{element}, 3 - 2*{element}]', f'[2, 1 + {element}]'))})"

    def draw(self):
        kind = self.dice.randrange(4)
        if kind < 2:
            return f"y :=$ {self.look()};"
        if kind == 2:
            return f"y :=$ Bernoulli({self.dice.choice(('1/2', f'clamp({self.number()}, 1/4, 3/4)'))});"
        self.cells.add(("law", "Uniform"))
        return f"y :=$ Uniform({self.dice.choice(('0..1', '0..n', '0..i'))});"

    def statement(self, deep=0):  # noqa: PLR0911  one for each kind of statement
        dice, kind = self.dice, self.dice.random()
        if kind < 0.4:
            return self.draw()
        if kind < 0.55:
            return f"s := s + {dice.choice(('y', 'y', self.number()))};"
        if kind < 0.7:
            return f"o := o ++ [{dice.choice(('y', 'y', 'x', self.number()))}];"
        if kind < 0.8:
            return f"x := {dice.choice(('y', self.number()))};"
        if kind < 0.86:
            self.cells.add(("part", "return"))
            return f"if ({dice.choice(('y = 1', 's > 1'))}) {{ return {dice.choice(('o', '[y]', '[s]'))} }}"
        if kind < 0.9 or deep > 1:
            self.cells.add(("part", "shadow"))
            return dice.choice(("n := y;", "d := [y, 1 - y, y];", "d := d;"))
        self.cells.add(("part", "branch"))
        test = dice.choice(("y = 1", f"{self.number()} < {self.number()}"))
        return f"if ({test}) {{ {self.statement(deep + 1)} }} else {{ {self.statement(deep + 1)} }}"


# ---- the interpreter


def number_of(value):
    if isinstance(value, bool | tuple):
        raise Bad("a number is expected")
    return value


def value_of(node, env):  # noqa: PLR0911  one for each kind of expression
    """The value of an expression."""
    match node:
        case t.Num(value=value):
            return value
        case t.Var(name=name):
            return env[name]
        case t.SequenceLiteral(items=items):
            return tuple(value_of(item, env) for item in items)
        case t.Index(base=base, index=index):
            inside, place = value_of(base, env), number_of(value_of(index, env))
            if place.denominator != 1 or not 0 <= place < len(inside):
                raise Bad("an index outside")
            return inside[int(place)]
        case t.FunctionCall(name=name, args=args):
            return _called(name, [value_of(arg, env) for arg in args])
        case t.Binary(op="&&", left=left, right=right):
            return value_of(left, env) and value_of(right, env)
        case t.Binary(op=op, left=left, right=right):
            return _combined(op, value_of(left, env), value_of(right, env))
    raise AssertionError(node)


def _called(name, args):
    match name, args:
        case "size", (items,):
            return F(len(items))
        case "int", (bits,):
            if any(bit not in (0, 1) for bit in bits):
                raise Bad("a bit is expected")
            return F(sum(int(bit) << place for place, bit in enumerate(reversed(bits))))
        case "clamp", (value, low, high):
            return min(max(value, low), high)
    return {"min": min, "max": max}[name](*args)


def _combined(op, left, right):
    if op == "++":
        return left + right
    if op == "=":
        return left == right
    left, right = number_of(left), number_of(right)
    if (op == "/" and right == 0) or (op == "mod" and right <= 0):
        raise Bad("a division by zero")
    return {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "/": lambda: left / right,
        "mod": lambda: left % right,
        "<": lambda: left < right,
        ">": lambda: left > right,
    }[op]()


def outcomes(draw, args):
    """The values of a law with their chances."""
    if draw.law == "Bernoulli":
        if not 0 <= args[0] <= 1:
            raise Bad("no probability")
        return [(F(1), args[0]), (F(0), 1 - args[0])]
    if draw.law == "Choice":
        if min(args[0]) < 0 or not sum(args[0]):
            raise Bad("no weights")
        return [(F(place), weight / sum(args[0])) for place, weight in enumerate(args[0])]
    low, high = args
    if low > high or low.denominator * high.denominator != 1:
        raise Bad("an empty range")
    return [(low + k, F(1, int(high - low) + 1)) for k in range(int(high - low) + 1)]


class Runs:
    """All runs of one program on one input, together."""

    def __init__(self, tree, env):
        self.law, self.left = Counter(), MOST
        self.block(tree.body, [(env, F(1))])

    def block(self, body, states):
        for statement in body:
            states = [found for env, weight in states for found in self.step(statement, env, weight)]
            self.left -= len(states)
            if self.left < 0:
                raise Skip
        return states

    def step(self, statement, env, weight):
        match statement:
            case t.Assign(name=name, value=value):
                return [({**env, name: value_of(value, env)}, weight)]
            case t.Draw(name=name, args=args):
                found = outcomes(statement, [value_of(arg, env) for arg in args])
                return [({**env, name: value}, weight * chance) for value, chance in found if chance]
            case t.Return(value=value):
                self.law[value_of(value, env)] += weight
                return []
            case t.If(test=test, then=then, other=other):
                return self.block(then if value_of(test, env) else other, [(env, weight)])
            case t.While(test=test, body=body):
                return self.loop(test, body, [(env, weight)])
        raise AssertionError(statement)

    def loop(self, test, body, states):
        out = []
        for _ in range(ROUNDS):
            out += [state for state in states if not value_of(test, state[0])]
            states = self.block(body, [state for state in states if value_of(test, state[0])])
            if not states:
                return out
        raise Skip


def contradiction(made, tree):
    """Two neighbours that break the claim, or an input on which the program fails; None if there are none."""
    delta = F(1, 8) if "," in made.claim else F(0)
    lists = list(product((F(0), F(1)), repeat=made.size))
    for n in range(3):
        laws = {}
        for d in lists:
            try:
                laws[d] = Runs(tree, {"d": d, "n": F(n), "eps": F(1), "delta": F(0)}).law
            except Bad as error:
                return n, d, str(error)
        for one, two in product(lists, repeat=2):
            apart = sum(a != b for a, b in zip(one, two, strict=True))
            if apart and (apart == 1 or made.adjacent == "all"):
                gains = [laws[one][o] - CLAIMS[made.claim] * laws[two][o] for o in laws[one]]
                if (sum(gain for gain in gains if gain > 0) if delta else max(gains)) > delta:
                    return n, one, two
    return None
