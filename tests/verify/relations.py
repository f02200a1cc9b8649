"""Random small programs with private inputs, and their laws by an interpreter of their own: nothing of the verifier is
used to know what is true.

A program is a list of statements over words (bit lists of length n) or residues modulo 3; both are small enough that
all inputs and all noise can be run.
"""

from fractions import Fraction
from itertools import product


class Made:
    """One program: its text for a property, and its law on an input."""

    def __init__(self, dice, kind):
        self.dice, self.kind = dice, kind
        self.names = ["m", "o", "p"]  # two private values, one public
        self.count = 0
        self.body = self.block(dice.randint(2, 5), depth=0)
        if not any(s[0] == "draw" for s in self.body):
            self.body.insert(0, self.draw())
        outputs = dice.sample(self.names[3:] or self.names, k=min(len(self.names[3:]) or 1, dice.choice([1, 1, 1, 2])))
        self.outputs = [self.expression(1) if dice.random() < 0.5 else name for name in outputs]

    # ---- making

    def block(self, size, depth):
        return [self.statement(depth) for _ in range(size)]

    def statement(self, depth):
        roll = self.dice.random()
        if roll < 0.4:
            return self.draw()
        if roll < 0.8 or depth:
            value = self.expression(2)
            return ("set", self.fresh(), value)
        if roll < 0.93:
            test, target = self.test(), self.reserved()
            branches = []
            for _ in range(2):
                names = list(self.names)
                inner = [self.draw()] if self.dice.random() < 0.5 else []
                inner.append(("set", target, self.expression(1)))
                branches.append(inner)
                self.names = names
            self.names.append(target)
            return ("if", test, *branches)
        target = self.fresh()
        names = list(self.names)
        inner = [self.draw(), ("set", target, self.expression(1))]
        self.names = names
        return ("loop", self.dice.choice([1, 2]), [("set", target, "m"), *inner], target)

    def reserved(self):
        self.count += 1
        return f"v{self.count}"

    def fresh(self):
        self.names.append(self.reserved())
        return self.names[-1]

    def draw(self):
        biased = self.kind == "residue" and self.dice.random() < 0.15
        return ("draw", self.fresh(), "biased" if biased else "fair")

    def expression(self, depth):
        if depth == 0 or self.dice.random() < 0.2:
            return self.dice.choice(self.names)
        op = self.dice.choice(
            ["xor", "xor", "xor", "+", "-", "and", "or"] if self.kind == "word" else ["+", "+", "-", "*"]
        )
        return (op, self.expression(depth - 1), self.expression(depth - 1))

    def test(self):
        roll = self.dice.random()
        if roll < 0.5:
            return ("=", "m", "o")
        return ("=", self.dice.choice(self.names), self.dice.choice(self.names))

    # ---- as text

    def text(self, prop, limit="n >= 1 && n <= 2"):
        kind = "{0,1}^n" if self.kind == "word" else "{0..2}"
        out = kind if len(self.outputs) == 1 else f"({', '.join([kind] * len(self.outputs))})"
        head = f"Made(m : private {kind}, o : private {kind}, p : public {kind}"
        head += f", n : public int) : public {out} requires {limit};" if self.kind == "word" else f") : public {out}"
        said = [self._say(output) for output in self.outputs]
        end = said[0] if len(said) == 1 else f"({', '.join(said)})"
        return f"{head} property {prop};\n{self._text(self.body)}\nreturn {end}"

    def _text(self, body):
        return " ".join(self._line(statement) for statement in body)

    def _line(self, statement):
        match statement:
            case ("set", name, value):
                return f"{name} := {self._say(value)};"
            case ("draw", name, "biased"):
                return f"{name} :=$ Choice([1, 2, 1]);"
            case ("draw", name, _):
                return f"{name} :=$ Uniform({'{0,1}^n' if self.kind == 'word' else '0..2'});"
            case ("if", (_, left, right), then, other):
                return f"if ({left} = {right}) {{ {self._text(then)} }} else {{ {self._text(other)} }}"
            case ("loop", count, inner, name):
                start = self._line(inner[0])
                i = f"i_{name}"
                return f"{start} {i} := 0; while ({i} < {count}) {{ {self._text(inner[1:])} {i} := {i} + 1; }}"
        raise AssertionError

    def _say(self, value):
        if isinstance(value, str):
            return value
        op, left, right = value
        text = f"({self._say(left)} {op} {self._say(right)})"
        return text if self.kind == "word" else f"({text} mod 3)"

    # ---- the law

    def law(self, env, n):
        """Outputs with their chances: values are whole numbers below 2^n, or below 3."""
        top = 2**n if self.kind == "word" else 3
        law = {}
        for env_after, chance in self._run(self.body, dict(env), Fraction(1), top):
            key = tuple(self._value(output, env_after, top) for output in self.outputs)
            law[key] = law.get(key, Fraction(0)) + chance
        return law

    def _run(self, body, env, chance, top):
        if not body:
            yield env, chance
            return
        first, rest = body[0], body[1:]
        match first:
            case ("set", name, value):
                yield from self._run(rest, {**env, name: self._value(value, env, top)}, chance, top)
            case ("draw", name, law):
                for value in range(top):
                    part = Fraction(1, top) if law == "fair" else Fraction([1, 2, 1][value], 4)
                    yield from self._run(rest, {**env, name: value}, chance * part, top)
            case ("if", (_, left, right), then, other):
                yield from self._run((then if env[left] == env[right] else other) + rest, env, chance, top)
            case ("loop", count, inner, _):
                yield from self._run([inner[0], *inner[1:] * count, *rest], env, chance, top)

    def _value(self, value, env, top):
        if isinstance(value, str):
            return env[value]
        op, left, right = value
        a, b = self._value(left, env, top), self._value(right, env, top)
        return {"xor": a ^ b, "and": a & b, "or": a | b, "+": (a + b) % top, "-": (a - b) % top, "*": a * b % top}[op]

    # ---- the truth

    def sizes(self):
        return (1, 2) if self.kind == "word" else (1,)

    def is_secret(self):
        """Whether all private inputs have the same law, for each public one."""
        for n in self.sizes():
            values = range(2**n if self.kind == "word" else 3)
            for p in values:
                laws = [self.law({"m": m, "o": o, "p": p}, n) for m, o in product(values, values)]
                if any(law != laws[0] for law in laws):
                    return False
        return True

    def is_uniform(self):
        for n in self.sizes():
            values = range(2**n if self.kind == "word" else 3)
            all_outputs = list(product(values, repeat=len(self.outputs)))
            for m, o, p in product(values, values, values):
                law = self.law({"m": m, "o": o, "p": p}, n)
                if any(law.get(output) != Fraction(1, len(all_outputs)) for output in all_outputs):
                    return False
        return True

    def draws(self):
        """How many draws there are on the longest way."""
        return sum(_draws(statement) for statement in self.body)


def _draws(statement):
    match statement:
        case ("draw", *_):
            return 1
        case ("if", _, then, other):
            return max(sum(map(_draws, then)), sum(map(_draws, other)))
        case ("loop", count, inner, _):
            return count * sum(map(_draws, inner))
    return 0
