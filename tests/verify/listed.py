"""Random small programs whose draws can be listed, and their true losses by enumeration with fractions: nothing of the
verifier is used here.

With `HALF` for exp(-eps) every chance is a fraction; the text may say exp(-eps) or 1/2.
"""

from fractions import Fraction

HALF = Fraction(1, 2)
COINS = {"1/4": Fraction(1, 4), "2/3": Fraction(2, 3), "1/2": HALF, "RATIO": HALF, "1/(1+RATIO)": Fraction(2, 3)}
WEIGHTS = {"1": Fraction(1), "2": Fraction(2), "RATIO": HALF, "1+RATIO": Fraction(3, 2), "0": Fraction(0)}


class Maker:
    """Makes one program as nested tuples, from a source of choices."""

    def __init__(self, random):
        self.random = random
        self.names = ["x"]
        self.draws = 0

    def program(self):
        body = [self.noisy()] + [self.statement(0) for _ in range(self.random.randint(1, 4))]
        output = [self.number() for _ in range(self.random.choice([1, 1, 2]))]
        return body, output

    def noisy(self):
        """x kept or replaced by a coin: without it most programs lose everything."""
        self.draws += 2
        self.names = ["y"]
        other = ("draw", "y", self.random.choice([("Uniform", 0, 2), ("Choice", ("1", "RATIO", "2"))]))
        coin = ("draw", "b", ("Bernoulli", self.random.choice(list(COINS))))
        return ("seq", [coin, ("if", ("=", ("name", "b"), ("int", 1)), [("assign", "y", ("name", "x"))], [other])])

    def law(self):
        kind = self.random.choice(["Bernoulli", "Uniform", "Choice", "TruncGeometric"])
        if kind == "Bernoulli":
            return (kind, self.random.choice(list(COINS)))
        if kind == "Uniform":
            low = self.random.randint(-1, 1)
            return (kind, low, low + self.random.randint(0, 2))
        if kind == "Choice":
            return (kind, (*(self.random.choice(list(WEIGHTS)) for _ in range(2)), "1"))
        low = self.random.randint(-1, 1)
        return (kind, low, low + self.random.randint(0, 3), self.number())

    def statement(self, depth):
        kind = self.random.choice(["draw", "draw", "assign", "if", "loop", "again"])
        target = self.random.choice(["u", "v"])
        if kind == "draw" and self.draws < 4:
            self.draws += 1
            found = ("draw", target, self.law())
        elif kind == "if" and depth < 2:
            test = (self.random.choice(["<", "=", ">="]), self.number(), self.number())
            then = ("assign", target, self.number())
            if self.random.random() < 0.4 and self.draws < 4:
                self.draws += 1
                then = ("draw", target, self.law())
            found = ("if", test, [then], [("assign", target, self.number())])
        elif kind == "loop" and depth == 0 and self.draws < 3:
            self.draws += 2
            found = ("loop", 2, target, self.law(), self.number())
        elif kind == "again" and self.draws < 4:
            self.draws += 1
            found = ("again", target, self.random.choice([("1", "1", "RATIO"), ("2", "RATIO", "1")]))
        else:
            found = ("assign", target, self.number())
        if target not in self.names:
            self.names.append(target)
        return found

    def number(self):
        kind = self.random.choice(["name", "name", "int", "+", "-"])
        if kind == "name":
            return ("name", self.random.choice(self.names))
        if kind == "int":
            return ("int", self.random.randint(0, 2))
        return (kind, ("name", self.random.choice(self.names)), ("int", self.random.randint(0, 1)))


def text_of(program, claim, ratio, requires=""):
    """The program in the language."""
    body, output = program
    shown = f"[{', '.join(map(show, output))}]" if len(output) > 1 else show(output[0])
    kind = "int list" if len(output) > 1 else "int"
    head = f"P(x : private {{0..2}}) : public {kind} {requires} adjacent any; claim {claim};"
    return "\n".join([head, *lines(body), f"return {shown}"]).replace("RATIO", ratio)


def show(node):
    if node[0] in ("name", "int"):
        return str(node[1]) if node[0] == "name" or node[1] >= 0 else f"(0 - {-node[1]})"
    return f"({show(node[1])} {node[0]} {show(node[2])})"


def said(law):
    match law:
        case ("Bernoulli", chance):
            return f"Bernoulli({chance})"
        case ("Uniform", low, high):
            return f"Uniform({low}..{high})"
        case ("Choice", weights):
            return f"Choice([{', '.join(weights)}])"
        case ("TruncGeometric", low, high, centre):
            return f"TruncGeometric(RATIO, {low}, {high}, {show(centre)})"


def lines(body):
    for statement in body:
        match statement:
            case ("assign", name, value):
                yield f"{name} := {show(value)};"
            case ("draw", name, law):
                yield f"{name} :=$ {said(law)};"
            case ("seq", inner):
                yield from lines(inner)
            case ("if", test, then, other):
                yield f"if ({show(test[1])} {test[0]} {show(test[2])}) {{"
                yield from lines(then)
                yield "} else {"
                yield from lines(other)
                yield "}"
            case ("loop", times, name, law, number):
                yield f"i := 0; {name} := 0; while (i < {times}) {{ w :=$ {said(law)}; {name} := {name} + w;"
                yield f"if (w = 1) {{ {name} := {show(number)} }} i := i + 1 }}"
            case ("again", name, weights):  # drawn anew until it is not the last one
                yield f"{name} := {len(weights) - 1}; while ({name} = {len(weights) - 1}) {{"
                yield f"{name} :=$ Choice([{', '.join(weights)}]); }}"


# ---- the law, with fractions


def outcomes(law, env):
    match law:
        case ("Bernoulli", chance):
            return [(1, COINS[chance]), (0, 1 - COINS[chance])]
        case ("Uniform", low, high):
            return [(value, Fraction(1, high - low + 1)) for value in range(low, high + 1)]
        case ("Choice", weights):
            numbers = [WEIGHTS[weight] for weight in weights]
            return [(place, number / sum(numbers)) for place, number in enumerate(numbers)]
        case ("TruncGeometric", low, high, centre):
            found = {}
            for noise in range(-40, 41):
                at = min(max(value(centre, env) + noise, low), high)
                chance = HALF ** abs(noise) / 3
                if abs(noise) == 40:  # the rest of the tail
                    chance *= 2
                found[at] = found.get(at, 0) + chance
            return list(found.items())


def value(node, env):
    if node[0] == "name":
        return env[node[1]]
    if node[0] == "int":
        return node[1]
    a, b = value(node[1], env), value(node[2], env)
    return {"+": a + b, "-": a - b, "<": a < b, "=": a == b, ">=": a >= b}[node[0]]


def moved(states, statement):
    """States after one statement: (environment, chance) pairs."""
    match statement:
        case ("seq", inner):
            for part in inner:
                states = moved(states, part)
            return states
        case ("loop", times, name, law, number):
            states = [({**env, name: 0}, chance) for env, chance in states]
            rest = [("draw", "w", law), ("assign", name, ("+", ("name", name), ("name", "w"))),
                    ("if", ("=", ("name", "w"), ("int", 1)), [("assign", name, number)], [])]  # fmt: skip
            for _ in range(times):
                states = moved(states, ("seq", rest))
            return states
        case ("again", name, weights):
            numbers = [WEIGHTS[weight] for weight in weights[:-1]]
            return [
                ({**env, name: place}, chance * number / sum(numbers))
                for env, chance in states
                for place, number in enumerate(numbers)
            ]
    found = []
    for env, chance in states:
        match statement:
            case ("assign", name, node):
                found.append(({**env, name: value(node, env)}, chance))
            case ("draw", name, law):
                found += [({**env, name: drawn}, chance * part) for drawn, part in outcomes(law, env) if part]
            case ("if", test, then, other):
                found += moved([(env, chance)], ("seq", then if value(test, env) else other))
    return found


def law_of(program, x):
    body, output = program
    found = {}
    for env, chance in moved([({"x": x}, Fraction(1))], ("seq", body)):
        key = tuple(value(node, env) for node in output)
        found[key] = found.get(key, 0) + chance
    return found


def tight(program):
    """e^loss, or None if it is infinite."""
    laws = [law_of(program, x) for x in range(3)]
    worst = Fraction(1)
    for first in laws:
        for second in laws:
            for key, chance in first.items():
                if chance and not second.get(key):
                    return None
                worst = max(worst, chance / second[key] if chance else 0)
    return worst


def needed_delta(program, factor):
    """The least delta for a claim (ln factor, delta)."""
    laws = [law_of(program, x) for x in range(3)]
    return max(
        sum(max(chance - factor * second.get(key, 0), 0) for key, chance in first.items())
        for first in laws
        for second in laws
    )
