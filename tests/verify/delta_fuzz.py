"""The kernel's rules about delta, one-sided noise, counted coins and single returns against exact laws: small programs,
proofs that a person might try, truths of kernel_truth.py. As a script: the first contradiction ends it with 1.
"""

import random
import sys
from collections import Counter
from fractions import Fraction

from sfumato.verify.kernel.proof import Proof
from sfumato.verify.parse import read_program, read_proof
from tests.verify.kernel_fuzz import accepts
from tests.verify.kernel_programs import _law, num, show
from tests.verify.kernel_truth import EPS, Bad, Skip, ball, contradiction

NOISES = ("Uniform", "Exponential", "Steps", "Laplace", "Geometric")
SHAPES = ("sum", "difference", "threshold", "late threshold", "at least", "from below")
FORMS = ("before", "before, swapped", "inside", "inside, added", "every toss", "flag", "flag, turned", "by zeros")
TRIES = 4


def limits(claim):
    """A claim as text and what it is: e^k, and its delta or None."""
    k, kind, part, times = claim
    factor = (EPS * ball(k)).exp()
    if kind is None:
        return f"{k}*eps", factor, None
    decay = (-EPS * ball(part)).exp()
    said = {
        "number": (f"{part}", ball(part)),
        "rest": (f"1 - exp(-{part}*eps)", 1 - decay),
        "whole": (f"exp(-{part}*eps)", decay),
        "half": (f"exp(-{part}*eps)/2", decay / 2),
        "geometric": (f"exp(-{part}*eps)/(1 + exp(-eps))", decay / (1 + (-EPS).exp())),
    }[kind]
    return f"({k}*eps, {times}*({said[0]}))", factor, ball(times) * said[1]


class Tossed:
    """One program with a noise of one kind in one shape, its claim, and the proofs that fit nearly."""

    def __init__(self, dice):
        self.dice, self.required, self.draws = dice, None, 0
        self.shape = dice.choice((*SHAPES, "sum", "sum"))
        self.law = dice.choice(NOISES)
        if self.shape == "difference":
            self.law = dice.choice(("Steps", "Steps", "Exponential"))
        elif self.shape != "sum":
            self.law = dice.choice(("Laplace", "Laplace", "Geometric", "Geometric", "Steps", "Exponential"))
        self.kind = "real" if self.law in ("Exponential", "Laplace") and dice.random() < 0.5 else "int"
        if self.law not in ("Exponential", "Laplace") and dice.random() < 0.2:
            self.kind = "{0..2}"
        self.form = dice.choice(FORMS)
        self.edge = dice.randint(0, 3)
        less = self.law in ("Laplace", "Exponential") or self.shape == "at least"
        self.far = max(self.edge - less, 0)  # noise below this shows nobody who is alone
        self.sites = []
        self.body = self._body()
        self.said, self.factor, self.delta = limits(self._claim())

    def limits(self, _):
        """What is claimed, for kernel_truth.contradiction."""
        return self.factor, self.delta

    def noise(self, name):
        dice = self.dice
        twice = self.law == "Steps" and self.form in ("before", "before, swapped", "by zeros")
        self.draws += 1
        number = self.draws
        self.draws += twice
        self.sites.append((number, name))
        args = {
            "Uniform": (num(0), num(dice.choice((1, 2, 3)))),
            "Laplace": (num(dice.choice((1, 1, 2))), num(0)),
        }.get(self.law, (num(dice.choice((1, 1, 2))),))
        self.args = args
        return ("draw", name, self.law, args, number)

    def _body(self):
        c, z = ("var", "c"), ("var", "z1")
        total = ("+", c, z)
        if self.shape == "sum":
            return (self.noise("z1"), ("return", total))
        if self.shape == "difference":
            return (self.noise("z1"), self.noise("z2"), ("return", ("-", total, ("var", "z2"))))
        none, edge = ("if", ("<=", c, num(0)), (("return", num(0)),), ()), num(self.edge)
        if self.shape == "from below":
            total = ("-", c, z)
            ends = (("if", ("<", total, num(-self.edge)), (("return", total),), ()), ("return", num(0)))
            none = ("if", (">=", c, num(0)), (("return", num(0)),), ())
            return (self.noise("z1"), none, *ends)
        if self.shape == "at least":
            ends = (("if", (">=", total, edge), (("return", total),), (("return", num(0)),)),)
            return (self.noise("z1"), none, *ends)
        ends = (("if", ("<=", total, edge), (("return", num(0)),), ()), ("return", total))
        return (none, self.noise("z1"), *ends) if self.shape == "late threshold" else (self.noise("z1"), none, *ends)

    def _claim(self):
        dice, half = self.dice, Fraction(1, 2)
        k = dice.choice([1, 1, 1, half, 0, 2])
        if dice.random() < 0.1 or (self.shape == "difference" and dice.random() < 0.7):
            return k, None, None, 1
        if self.law == "Uniform":
            values = int(self.args[1][1]) + 1
            return dice.choice((0, 0, k)), "number", Fraction(1, dice.choice((values, values, values + 1, 2))), 1
        if self.shape in ("sum", "difference") and self.law in ("Exponential", "Steps"):
            return dice.choice((0, k)), "rest", dice.choice((1, half, Fraction(1, 3), 2)), 1
        kind = {"Laplace": "half", "Geometric": "geometric"}.get(self.law, "whole")
        return k, kind, max(self.far + dice.choice((0, 0, 0, 0, -1, 1)), 0), dice.choice((1, 1, half))

    def text(self):
        head = f"P(c : private {self.kind}) : public real adjacent one; claim {self.said};"
        return "\n".join([head, *self._lines(self.body)])

    def _lines(self, body):
        for part in body:
            match part:
                case ("draw", name, "Steps", (m,), _):
                    yield from self._coins(
                        name, f"Bernoulli(exp(-eps/{show(m)}))", f"Bernoulli(1 - exp(-eps/{show(m)}))"
                    )
                case ("draw", name, law, args, _):
                    yield f"{name} :=$ {_law(law, args)};"
                case ("return", value):
                    yield f"return {show(value)};"
                case ("if", test, then, other):
                    yield f"if ({show(test)}) {{"
                    yield from self._lines(then)
                    yield "} else {" if other else "}"
                    if other:
                        yield from self._lines(other)
                        yield "}"

    def _coins(self, n, coin, other):
        """A loop that counts coins, in one of its forms."""
        yield {
            "before": f"{n} := 0; b :=$ {coin}; while (b = 1) {{ {n} := {n} + 1; b :=$ {coin} }}",
            "before, swapped": f"b :=$ {coin}; {n} := 0; while (b = 1) {{ b :=$ {coin}; {n} := {n} + 1 }}",
            "inside": f"b := 1; {n} := 0; while (b = 1) {{ b :=$ {coin}; if (b = 1) {{ {n} := {n} + 1 }} }}",
            "inside, added": f"{n} := 0; b := 1; while (b = 1) {{ b :=$ {coin}; {n} := {n} + b }}",
            "every toss": f"{n} := 0-1; b := 1; while (b = 1) {{ b :=$ {coin}; {n} := {n} + 1 }}",
            "flag": f"{n} := 0; g := true; while (g) {{ b :=$ {coin};"
            f" if (b = 1) {{ {n} := {n} + 1 }} else {{ g := false }} }}",
            "flag, turned": f"{n} := 0; g := 1; while (g = 1) {{ b :=$ {other};"
            f" if (b = 1) {{ g := 0 }} else {{ {n} := {n} + 1 }} }}",
            "by zeros": f"{n} := 0; b :=$ {other}; while (b = 0) {{ {n} := {n} + 1; b :=$ {other} }}",
        }[self.form]

    def proof(self, dice):
        """A proof that a person would try, or nearly."""
        site = self.sites[0][0]
        right = "#shift(c)" if self.shape == "from below" else "-#shift(c)"
        up, rest = f"#if({right} >= 0, {right}, 0)", "#shift(c + z1)"
        shift = dice.choice([right] * 6 + ["0", "-1", "1", up, f"#if(c <= 0, 0, {right})"])
        shifts = {site: shift}
        if self.shape == "difference":
            shifts = {site: dice.choice([up] * 6 + [right, "0"]), self.sites[1][0]: dice.choice([rest] * 6 + ["0"])}
        curve = tail = None
        m = show(self.args[0])
        if self.delta is not None and self.law not in ("Laplace", "Geometric") and dice.random() < 0.5:
            most = {
                "Uniform": f"{{}}/({show(self.args[-1])} + {dice.choice((1, 1, 1, 2))})",
                "Exponential": f"{{}}*eps/{m}",
                "Steps": f"-{{}}*ln(exp(-eps/{m}))",
            }[self.law].format(dice.choice((1, 1, 1, 1, "1/2", 2, 0)))
            curve = (site, read_proof(dice.choice(["0"] * 6 + ["eps"])), read_proof(most))
        elif self.delta is not None and self.law != "Uniform" and dice.random() < 0.9:
            bound = max(self.far + dice.choice((0, 0, 0, 0, -1, 1)), 0)
            side = dice.choice(["below" if self.shape == "from below" else "above"] * 8 + ["above", "below"])
            tail = (site, side, read_proof(str(bound)))
        return Proof(
            "both",
            False,
            {number: read_proof(text) for number, text in shifts.items()},
            curve=curve,
            tail=tail,
            counted=self.law == "Steps",
            one_return=self.shape not in ("sum", "difference") and dice.random() < 0.9,
        )


def fuzz(seeds, *, first_only=False):
    """Programs that were accepted and are false; how many of each kind were made and accepted."""
    made_cells, proved_cells, counts, false = Counter(), Counter(), Counter(), []
    for seed in seeds:
        dice = random.Random(seed)
        made = Tossed(dice)
        cells = {(made.law, made.shape)} | ({("Steps", made.form)} if made.law == "Steps" else set())
        made_cells.update(cells)
        tree = read_program(made.text())
        proof = next((proof for _ in range(TRIES) if accepts(tree, proof := made.proof(dice))), None)
        counts["programs"] += 1
        if proof is None:
            continue
        counts["proved"] += 1
        counts["by curve"] += proof.curve is not None
        counts["by tail"] += proof.tail is not None
        try:
            found = contradiction(made)
        except Bad as error:
            found = f"the program fails: {error}"
        except Skip:
            counts["not followed"] += 1
            continue
        proved_cells.update(cells)
        if found is not None:
            false.append((seed, made.text(), found))
            if first_only:
                break
    return made_cells, proved_cells, counts, false


def report(made_cells, proved_cells, counts):
    """The coverage: made/proved for each law in each shape."""
    rows = [f"{law}, {shape}: {made_cells[law, shape]}/{proved_cells[law, shape]}" for law, shape in sorted(made_cells)]
    return "\n".join([f"{dict(counts)}", *rows])


if __name__ == "__main__":
    first, last = map(int, sys.argv[1:3])
    *cells, false = fuzz(range(first, last), first_only=True)
    said = [report(*cells), *(f"{seed} {found}\n{text}" for seed, text, found in false)]
    sys.stdout.write("\n".join(said) + "\n")
    sys.exit(1 if false else 0)
