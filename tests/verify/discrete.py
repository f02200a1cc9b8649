"""Random small programs over whole numbers, and their true losses by enumeration: nothing of the verifier is used here.

epsilon is ln 4, so that e^-epsilon = 1/4 and e^-(epsilon/2) = 1/2, and every chance is a fraction. Noise is
enumerated up to REACH; what lies beyond is a rest that is known too.
"""

import itertools
from fractions import Fraction

REACH = 7
RATIOS = {"exp(-eps)": Fraction(1, 4), "exp(-eps/2)": Fraction(1, 2)}
CLAIMS = {"eps/2": 2, "eps": 4, "3*eps/2": 8, "2*eps": 16, "3*eps": 64}


class Maker:
    """Makes one program as nested tuples, from a source of choices."""

    def __init__(self, random):
        self.random = random
        self.names = ["a", "b"]
        self.draws = 0

    def program(self):
        body = self.block(depth=0, size=self.random.randint(2, 5))
        return body, self.output(), self.random.choice(list(CLAIMS)), self.random.choice(["one", "all"])

    def mechanism(self):
        """A number with noise, shown or compared with another one: true for some claims, false for others."""
        a, b = ("name", "a"), ("name", "b")
        inner = self.random.choice([a, ("+", a, b), ("-", a, b), ("+", a, a)])
        body = [("draw", "z1", self.random.choice(list(RATIOS))), ("assign", "x1", ("+", inner, ("name", "z1")))]
        if self.random.random() < 0.5:
            test = (self.random.choice([">=", "<"]), ("name", "x1"), ("int", self.random.randint(-1, 2)))
            body.append(("if", test, [("assign", "x1", ("int", 1))], [("assign", "x1", ("int", 0))]))
        return body, [("name", "x1")], self.random.choice(list(CLAIMS)), self.random.choice(["one", "all"])

    def block(self, depth, size):
        return [self.statement(depth) for _ in range(size)]

    def statement(self, depth):
        kind = self.random.choice(["draw", "draw", "noisy", "assign", "if", "loop"])
        if kind in ("draw", "noisy") and self.draws < 3:
            self.draws += 1
            name = f"z{self.draws}"
            law = ("draw", name, self.random.choice(list(RATIOS)))
            self.names.append(name)
            if kind == "draw":
                return law
            target = self.fresh()
            return ("seq", [law, ("assign", target, ("+", self.number(), ("name", name)))])
        if kind == "if" and depth < 2:
            test = (self.random.choice(["<", "<=", ">", ">=", "="]), self.number(), self.number())
            known = list(self.names)
            target = self.random.choice(["x1", "x2"])
            then = ("assign", target, self.number())
            other = ("assign", target, self.number())
            if self.random.random() < 0.3 and self.draws < 3:
                self.draws += 1
                then = ("draw", target, self.random.choice(list(RATIOS)))
            self.names = [*known, target]
            return ("if", test, [then], [other])
        if kind == "loop" and depth == 0 and self.draws < 3:
            known = list(self.names)
            start = ("assign", "x3", self.number())
            self.names = [*known, "x3", "i"]
            inner = [("assign", "x3", ("+", ("name", "x3"), self.number()))]
            if self.random.random() < 0.4 and self.draws < 2:
                self.draws += 2  # it is drawn twice
                inner.insert(0, ("draw", "zz", self.random.choice(list(RATIOS))))
                inner.append(("assign", "x3", ("+", ("name", "x3"), ("name", "zz"))))
            self.names = [*known, "x3"]
            return ("seq", [start, ("loop", 2, inner)])
        value = self.number()
        return ("assign", self.fresh(), value)

    def fresh(self):
        name = self.random.choice(["x1", "x2"])
        if name not in self.names:
            self.names.append(name)
        return name

    def number(self):
        kind = self.random.choice(["name", "name", "name", "int", "+", "-", "-"])
        if kind == "name":
            return ("name", self.random.choice(self.names))
        if kind == "int":
            return ("int", self.random.randint(-1, 2))
        return (kind, ("name", self.random.choice(self.names)), ("name", self.random.choice(self.names)))

    def output(self):
        return [self.number() for _ in range(self.random.choice([1, 1, 2]))]


def text_of(program):
    """The program in the language."""
    body, output, claim, adjacent = program
    shown = f"[{', '.join(map(show, output))}]" if len(output) > 1 else show(output[0])
    kind = "int list" if len(output) > 1 else "int"
    head = f"P(a : private int, b : private int) : public {kind} adjacent {adjacent}; claim {claim};"
    return "\n".join([head, *lines(body), f"return {shown}"])


def show(node):
    if node[0] in ("name", "int"):
        return str(node[1]) if node[0] == "name" or node[1] >= 0 else f"(0 - {-node[1]})"
    return f"({show(node[1])} {node[0]} {show(node[2])})"


def lines(body):
    for statement in body:
        match statement:
            case ("assign", name, value):
                yield f"{name} := {show(value)};"
            case ("draw", name, ratio):
                yield f"{name} :=$ Geometric({ratio});"
            case ("seq", inner):
                yield from lines(inner)
            case ("if", test, then, other):
                yield f"if ({show(test[1])} {test[0]} {show(test[2])}) {{"
                yield from lines(then)
                yield "} else {"
                yield from lines(other)
                yield "}"
            case ("loop", times, inner):
                yield f"i := 0; while (i < {times}) {{"
                yield from lines(inner)
                yield "i := i + 1 }"


def run(program, a, b, noise):  # noqa: C901  one case for each kind of statement
    """The output on one input with this noise, and the chance of that noise among what was drawn; None without
    enough.
    """
    body, output, _, _ = program
    env, left, chance = {"a": a, "b": b}, list(noise), [Fraction(1)]

    def value(node):
        if node[0] == "name":
            return env[node[1]]
        if node[0] == "int":
            return node[1]
        x, y = value(node[1]), value(node[2])
        return {"+": x + y, "-": x - y, "<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y, "=": x == y}[node[0]]

    def block(statements):
        for statement in statements:
            match statement:
                case ("assign", name, node):
                    env[name] = value(node)
                case ("draw", name, ratio):
                    env[name] = left.pop(0)
                    alpha = RATIOS[ratio]
                    chance[0] *= (1 - alpha) / (1 + alpha) * alpha ** abs(env[name])
                case ("seq", inner):
                    block(inner)
                case ("if", test, then, other):
                    block(then if value(test) else other)
                case ("loop", times, inner):
                    for env["i"] in range(times):
                        block(inner)
                    env["i"] = times

    block(body)
    return tuple(map(value, output)), chance[0], len(noise) - len(left)


def law(program, a, b, draws):
    """The chances of all outputs from noise within REACH, and the chance of the rest."""
    found = {}
    seen = set()
    for noise in itertools.product(range(-REACH, REACH + 1), repeat=draws):
        output, chance, used = run(program, a, b, noise)
        if noise[:used] not in seen:
            seen.add(noise[:used])
            found[output] = found.get(output, Fraction(0)) + chance
    return found, 1 - sum(found.values())


def neighbours(adjacent):
    steps = [(1, 0), (-1, 0), (0, 1), (0, -1)] + [(1, 1), (1, -1), (-1, 1), (-1, -1)] * (adjacent == "all")
    return [((a, b), (a + x, b + y)) for a, b in [(0, 0), (1, 0), (0, 2), (-1, 1)] for x, y in steps]


def draws_of(body):
    total = 0
    for statement in body:
        match statement:
            case ("draw", _, _):
                total += 1
            case ("seq", inner):
                total += draws_of(inner)
            case ("if", _, then, other):
                total += max(draws_of(then), draws_of(other))
            case ("loop", times, inner):
                total += times * draws_of(inner)
    return total


def breaks(program):
    """An input pair on which the claim is false for certain, or None: the worst event, the rest counted for the
    claim.
    """
    body, _, claim, adjacent = program
    factor, draws = CLAIMS[claim], draws_of(body)
    laws = {}
    for one, two in neighbours(adjacent):
        for point in (one, two):
            if point not in laws:
                laws[point] = law(program, *point, draws)
        (first, _), (second, rest) = laws[one], laws[two]
        worst = [output for output, chance in first.items() if chance > factor * second.get(output, 0)]
        if sum(first[output] for output in worst) > factor * (sum(second.get(output, 0) for output in worst) + rest):
            return one, two, worst[:3]
        single = [o for o in worst if first[o] > factor * (second.get(o, 0) + rest)]
        if single:
            return one, two, single[:1]
    return None
