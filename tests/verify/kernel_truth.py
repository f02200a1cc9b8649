"""The true laws of the programs in kernel_programs.py on small inputs, with certified numbers: nothing of the verifier
is used here. epsilon is ln 4.

Whole-number noise is enumerated up to REACH, and the rest is known. Real noise is kept as a letter: a test of it
narrows the interval in which it lies, whose chance is known in closed form as a ball (python-flint), and an output that
still holds it has a density. A comparison of balls holds only where it is certain.
"""

from fractions import Fraction
from itertools import pairwise

from flint import arb

from tests.verify.kernel_programs import KINDS

REACH = 7
REAL = ("Laplace", "Exponential", "Gauss")
EPS = arb(4).log()


class Bad(Exception):
    """An input on which the program fails."""


class Skip(Exception):
    """Something that is not followed here."""


def ball(value):
    value = Fraction(value)
    return arb(value.numerator) / value.denominator


class Affine:
    """a * z + b for a real noise z."""

    def __init__(self, noise, a, b):
        self.noise, self.a, self.b = noise, a, b


def _add(left, right, sign):
    if isinstance(right, Affine):
        right = Affine(right.noise, sign * right.a, sign * right.b)
        if isinstance(left, Affine):
            if left.noise != right.noise:
                raise Skip
            a = left.a + right.a
            return Affine(left.noise, a, left.b + right.b) if a else left.b + right.b
        return Affine(right.noise, right.a, left + right.b)
    if isinstance(left, Affine):
        return Affine(left.noise, left.a, left.b + sign * right)
    return left + sign * right


def value(node, env):
    match node:
        case ("num", number):
            return number
        case ("var", name):
            if name not in env:
                raise Bad(f"{name} has no value")
            return env[name]
        case ("+" | "-" as op, left, right):
            return _add(value(left, env), value(right, env), 1 if op == "+" else -1)
        case ("*", left, right):
            a, b = value(left, env), value(right, env)
            if isinstance(a, Affine) or isinstance(b, Affine):
                raise Skip
            return a * b
    raise AssertionError(node)


# ---- laws


def outcomes(law, args, env):  # noqa: C901  one case for each law
    """(value, chance) of a law that can be listed, and the chance of what is not."""
    if law == "Choice":
        read = [value(w[1] if w[0] == "power" else w, env) for w in args]
        if any(isinstance(number, Affine) for number in read):
            raise Skip
        weights = [Fraction(2) ** int(w) if arg[0] == "power" else w for arg, w in zip(args, read, strict=True)]
        if any(w < 0 for w in weights) or not any(weights):
            raise Bad("weights")
        return [(Fraction(k), ball(w / sum(weights))) for k, w in enumerate(weights) if w], None
    args = [value(arg, env) for arg in args]
    if any(isinstance(arg, Affine) for arg in args):
        raise Skip
    if law == "Bernoulli":
        if not 0 <= args[0] <= 1:
            raise Bad("a probability")
        return [(Fraction(k), ball(p)) for k, p in ((1, args[0]), (0, 1 - args[0])) if p], None
    if law == "Uniform":
        low, high = args
        if low > high or low.denominator > 1 or high.denominator > 1:
            raise Bad("ends")
        return [(Fraction(k), ball(1 / (high - low + 1))) for k in range(int(low), int(high) + 1)], None
    alpha = Fraction(1, 4) if args[0] == 1 else Fraction(1, 2)
    if law == "Steps":  # heads before the first tail, of a coin with exp(-eps/m)
        return [(Fraction(k), ball((1 - alpha) * alpha**k)) for k in range(2 * REACH)], None
    listed = [(Fraction(k), (1 - alpha) / (1 + alpha) * alpha ** abs(k)) for k in range(-REACH, REACH + 1)]
    if law == "Geometric":
        return [(k, ball(p)) for k, p in listed], None
    low, high, centre = args[1:]
    if low > high:
        raise Bad("ends")
    tail = alpha ** (REACH + 1) / (1 + alpha)
    found = {}
    for k, p in [*listed, (Fraction(10**6), tail), (Fraction(-(10**6)), tail)]:
        if centre + REACH < high or centre - REACH > low:
            raise Skip
        at = min(max(centre + k, low), high)
        found[at] = found.get(at, 0) + p
    return [(at, ball(p)) for at, p in found.items()], None


def below(noise, t):
    """P(z <= t); t is a fraction, or None for infinity (plus)."""
    law, scale, centre = noise
    if t is None:
        return arb(1)
    x = ball(t - centre)
    if law == "Gauss":
        return (-x / (ball(scale) * arb(2).sqrt())).erfc() / 2
    y = x * EPS / ball(scale)
    if law == "Exponential":
        return 1 - (-y).exp() if t > 0 else arb(0)
    return y.exp() / 2 if t <= centre else 1 - (-y).exp() / 2


def density(noise, t):
    law, scale, centre = noise
    x = ball(t - centre)
    if law == "Gauss":
        return (-(x * x) / (2 * ball(scale) ** 2)).exp() / (ball(scale) * (2 * arb.pi()).sqrt())
    if law == "Exponential":
        return (-x * EPS / ball(scale)).exp() * EPS / ball(scale) if t > 0 else arb(0)
    return (-abs(x) * EPS / ball(scale)).exp() * EPS / (2 * ball(scale))


# ---- runs


class Runs:
    """All runs on one input: masses of outputs, pieces of densities, and the chance that is not listed."""

    def __init__(self, body, c, n):
        self.masses, self.pieces = {}, []
        self.steps = 0
        waiting = [(body, {"c": Fraction(c), "n": Fraction(n)}, arb(1), {}, 0)]
        while waiting:
            waiting += self.step(*waiting.pop())
        self.rest = 1 - sum(self.masses.values(), arb(0)) - sum((self._chance(p) for p in self.pieces), arb(0))

    def step(self, todo, env, weight, noises, rounds):
        self.steps += 1
        if self.steps > 40_000 or not todo or rounds > 12:
            raise Skip
        first, rest = todo[0], todo[1:]
        match first:
            case ("set", name, node):
                return [(rest, {**env, name: value(node, env)}, weight, noises, rounds)]
            case ("draw", name, law, args, _) if law in REAL:
                scale, centre = value(args[0], env), value(args[1], env) if len(args) > 1 else Fraction(0)
                if isinstance(scale, Affine) or isinstance(centre, Affine):
                    raise Skip
                if scale <= 0:
                    raise Bad("a scale")
                key = len(noises)
                more = {**noises, key: ((law, scale, centre), Fraction(0) if law == "Exponential" else None, None)}
                return [(rest, {**env, name: Affine(key, Fraction(1), Fraction(0))}, weight, more, rounds)]
            case ("draw", name, law, args, _):
                listed, _ = outcomes(law, args, env)
                return [(rest, {**env, name: at}, weight * p, noises, rounds) for at, p in listed]
            case ("return", node):
                self._returned(value(node, env), weight, noises)
                return []
            case ("if", test, then, other):
                ways = self._ways(test, env, noises)
                return [((*(then if t else other), *rest), env, weight, more, rounds) for t, more in ways]
            case ("while", test, inner, _, _):
                ways = self._ways(test, env, noises)
                return [((*inner, first, *rest) if t else rest, env, weight, more, rounds + t) for t, more in ways]
        raise AssertionError(first)

    def _ways(self, test, env, noises):
        """(truth, noises) for each truth that is possible."""
        op, left, right = test
        gap = _add(value(left, env), value(right, env), -1)
        if not isinstance(gap, Affine):
            return [
                (
                    {"<": gap < 0, "<=": gap <= 0, ">": gap > 0, ">=": gap >= 0, "=": gap == 0, "!=": gap != 0}[op],
                    noises,
                )
            ]
        if op in ("=", "!="):
            return [(op == "!=", noises)]
        at = -gap.b / gap.a
        noise, low, high = noises[gap.noise]
        upper = (op in (">", ">=")) == (gap.a > 0)
        found = []
        for truth in (True, False):
            above = upper == truth
            new = (
                (max(at, low) if low is not None else at, high)
                if above
                else (low, at if high is None else min(at, high))
            )
            if new[0] is None or new[1] is None or new[0] < new[1]:
                found.append((truth, {**noises, gap.noise: (noise, *new)}))
        return found

    def _between(self, entry):
        noise, low, high = entry
        return below(noise, high) - (below(noise, low) if low is not None else arb(0))

    def _returned(self, output, weight, noises):
        kept = output.noise if isinstance(output, Affine) else None
        for key, entry in noises.items():
            if key != kept and entry[1:] != ((Fraction(0) if entry[0][0] == "Exponential" else None), None):
                weight = weight * self._between(entry)
        if kept is None:
            self.masses[output] = self.masses.get(output, arb(0)) + weight
        else:
            self.pieces.append((weight, output, noises[kept]))

    def _chance(self, piece):
        weight, _, entry = piece
        return weight * self._between(entry)

    def cell(self, low, high):
        """The chance that an output with real noise in it lies between two numbers."""
        total = arb(0)
        for weight, output, (noise, least, most) in self.pieces:
            ends = [None if y is None else (y - output.b) / output.a for y in (low, high)]
            below_, above = ends if output.a > 0 else ends[::-1]
            below_ = least if below_ is None else below_ if least is None else max(below_, least)
            above = most if above is None else above if most is None else min(above, most)
            if below_ is None or above is None or below_ < above:
                total += weight * self._between((noise, below_, above))
        return total

    def density(self, y):
        total = arb(0)
        for weight, output, (noise, low, high) in self.pieces:
            z = (y - output.b) / output.a
            if (low is None or z > low) and (high is None or z < high):
                total += weight * density(noise, z) / ball(abs(output.a))
        return total


# ---- claims


def contradiction(program):
    """Inputs on which what is claimed is false for certain, or on which the program fails; None if there are none."""
    laws = {}
    for n in range(-7, 6):
        if (
            program.required
            and not {">=": n >= program.required[1], "<=": n <= program.required[1], "!=": n != program.required[1]}[
                program.required[0]
            ]
        ):
            continue
        factor, delta = program.limits(n)
        values = KINDS[program.kind]
        for c in values:
            laws[c] = Runs(program.body, c, n)
        for c in values:
            for other in values:
                if abs(c - other) <= 1 or program.kind == "{0..2}":
                    found = (_breaks if delta is None else _breaks_delta)(laws[c], laws[other], factor, delta)
                    if found is not None:
                        return {"n": n, "c": c, "neighbour": other, "event": found}
    return None


def _breaks_delta(first, second, factor, delta):
    """Whether the sum over outputs, and over short stretches of outputs, of what is above e^k times is above delta."""
    total = arb(0)
    for output, mass in first.masses.items():
        gain = mass - factor * (second.masses.get(output, arb(0)) + second.rest)
        total += max(0, gain)
    edges = [None, *(Fraction(k, 8) for k in range(-96, 97)), None] if first.pieces else []
    for low, high in pairwise(edges):
        gain = first.cell(low, high) - factor * second.cell(low, high)
        total += max(0, gain)
    return f"a set with {total} above" if total > delta else None


def _breaks(first, second, factor, _):
    if arb(1) > factor:
        return "anything"
    for output, mass in first.masses.items():
        if mass > factor * (second.masses.get(output, arb(0)) + second.rest):
            return output
    for k in range(-13, 14) if first.pieces else ():
        y = Fraction(k, 2) + Fraction(1, 7)
        if first.density(y) > factor * second.density(y):
            return f"near {y}"
    return None
