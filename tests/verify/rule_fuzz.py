"""Rules of the kernel about turned coins, redrawn noise, two answers, draws that are made last and formulas for delta,
against laws that are computed here: small programs, proofs that a person might try or nearly, and truths. As a script:
the first contradiction ends it with 1.
"""

import itertools
import math
import random
import re
import sys
from collections import Counter

from sfumato.verify.kernel.check import covers, is_proved
from sfumato.verify.kernel.proof import Proof
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.parse import read_program, read_proof

RULES = ("coins", "redrawn", "two answers", "last", "bell")
TRIES = 4
REACH = 40
SURE = 1 + 1e-6


def accepts(tree, proof):
    """What `--check` asks, without the documents."""
    try:
        return covers(tree, (proof,)) and is_proved(tree, (proof,))
    except NoProofRule:
        return False


def law(pairs):
    total = Counter()
    for output, mass in pairs:
        total[output] += mass
    return total


def worst(first, second):
    """The greatest loss of a listed law against another; infinite where the second has no mass."""
    return max(math.log(mass / second[out]) if second[out] else math.inf for out, mass in first.items() if mass > 1e-9)


# ---- coins that are turned


def coins(dice):
    """One or two coins that choose what is shown of a private number."""
    values = range(dice.choice((2, 2, 2, 2, 3)))
    chances = [dice.choice((0.25, 0.5, 0.75, 0.8)) for _ in range(dice.choice((1, 2)))]
    said = {0.25: "1/4", 0.5: "1/2", 0.75: "3/4", 0.8: "1 - 1/5"}
    pairs = [("x", "1 - x")] * 5 + [("1 - x", "x"), ("x", "0"), ("1", "2 - x"), ("0", "1"), ("x", "x")]
    items = [item for _ in chances for item in dice.choice(pairs)]
    listed = dice.random() < 0.6
    lines, shown = ["r := [];"] if listed else [], []
    for k, p in enumerate(chances):
        lines.append(f"b{k} :=$ Bernoulli({said[p]});")
        first, second = items[2 * k], items[2 * k + 1]
        if listed:
            lines.append(f"if (b{k} = 1) {{ r := r ++ [{first}] }} else {{ r := r ++ [{second}] }}")
        else:
            lines.append(f"if (b{k} = 1) {{ v{k} := {first} }} else {{ v{k} := {second} }}")
            shown.append(f"v{k}")
    claim, k = dice.choice((("ln 3", 3), ("ln 3", 3), ("2*ln 3", 9), ("ln 4", 4), ("0", 1), ("ln 2", 2), ("ln 12", 12)))
    out = "r" if listed else f"[{', '.join(shown)}]"
    text = (
        f"P(x : private {{0..{max(values)}}}) : public int list adjacent any; claim {claim};\n"
        + "\n".join(lines)
        + f"\nreturn {out}"
    )
    tests = ["#shift(x) != 0"] * 6 + ["x = 1", "true", "#shift(x) > 0", "#two(x) = 0"]

    def proof():
        shifts = {n + 1: "0" if dice.random() < 0.15 else f"#turn({dice.choice(tests)})" for n in range(len(chances))}
        return Proof("both", shifts={n: read_proof(node) for n, node in shifts.items()})

    def outputs(x):
        for tosses in itertools.product((0, 1), repeat=len(chances)):
            mass = math.prod(p if b else 1 - p for b, p in zip(tosses, chances, strict=True))
            yield tuple(eval(items[2 * n + (not b)], {"x": x}) for n, b in enumerate(tosses)), mass  # noqa: S307  texts of this file

    def false():
        laws = {x: law(outputs(x)) for x in values}
        return any(worst(laws[x], laws[y]) > math.log(k) + 1e-9 for x in values for y in values)

    return text, proof, false


# ---- noise that is drawn until something holds; epsilon is ln 2


def redrawn(dice):
    """A whole number with noise that is redrawn; sometimes it is the noise, or the number, that decides."""
    low, high = dice.randint(-1, 1), dice.randint(1, 3)
    test, keep = dice.choice(
        [
            (f"y < {low}", lambda c, z: c + z >= low),
            (f"y < {low} || y > {high}", lambda c, z: low <= c + z <= high),
            (f"y > {high}", lambda c, z: c + z <= high),
            (f"z > {high}", lambda c, z: z <= high),
            (f"c + y > {high}", lambda c, z: 2 * c + z <= high),
        ]
    )
    shown, show = dice.choice(
        [("y", lambda c, z: c + z)] * 4 + [("z", lambda c, z: z), ("max(y, 0)", lambda c, z: max(c + z, 0))]
    )
    form = dice.choice(
        [
            "z :=$ {law}; y := c + z; while ({test}) {{ z :=$ {law}; y := c + z }}",
            "ok := false; y := 0; while (!ok) {{ z :=$ {law}; y := c + z; if (!({test})) {{ ok := true }} }}",
            "go := true; y := 0; while (go) {{ z :=$ {law}; y := c + z; go := {test} }}",
        ]
    )
    claim, k = dice.choice((("eps", 1), ("2*eps", 2), ("2*eps", 2), ("0", 0), ("3*eps/2", 1.5)))
    text = (
        f"P(c : private {{0..1}}) : public int adjacent one; claim {claim};\n"
        + form.format(law="Geometric(exp(-eps))", test=test)
        + f"\nreturn {shown}"
    )

    def proof():
        shift = dice.choice(["-#shift(c)"] * 6 + ["0", "#shift(c)", "-2*#shift(c)", "#if(#noise >= 1, -#shift(c), 0)"])
        sites = (1, 2) if form.startswith("z") else (1,)
        return Proof("both", shifts=dict.fromkeys(sites[:1], read_proof(shift)), redrawn=dice.random() < 0.95)

    def outputs(c):
        kept = [(show(c, z), 2.0 ** -abs(z)) for z in range(-REACH, REACH + 1) if keep(c, z)]
        total = sum(mass for _, mass in kept)
        return [(out, mass / total) for out, mass in kept]

    def false():
        laws = {c: law(outputs(c)) for c in (0, 1)}
        return any(worst(laws[c], laws[1 - c]) > k * math.log(2) * SURE + 1e-6 for c in (0, 1))

    return text, proof, false


# ---- two answers; epsilon is ln 2


def two_answers(dice):
    """Two noisy numbers, of which two things are told."""
    tests = {
        "a + x >= b + y": lambda a, b, x, y: a + x >= b + y,
        "a + x >= 1": lambda a, b, x, y: a + x >= 1,
        "b + y >= 1": lambda a, b, x, y: b + y >= 1,
        "b + y >= 0": lambda a, b, x, y: b + y >= 0,
        "b >= 1": lambda a, b, x, y: b >= 1,
        "x >= 0": lambda a, b, x, y: x >= 0,
    }
    first, second = dice.choice(list(tests)), dice.choice(list(tests))
    claim, k = dice.choice((("eps", 1), ("2*eps", 2), ("4*eps", 4), ("3*eps", 3), ("0", 0)))
    text = (
        f"P(a : private {{0..1}}, b : private {{0..1}}) : public (bool, bool) adjacent all; claim {claim};\n"
        f"x :=$ Geometric(exp(-eps)); y :=$ Geometric(exp(-eps));\nreturn ({first}, {second})"
    )
    pieces = ["#answer = 1", "#second = 1", "#answer = 0", "#second = 0", "#answer = 1 && #second = 0", "true"]

    def proof():
        shifts = {}
        for n, name in ((1, "a"), (2, "b")):
            moved = dice.choice([f"-#shift({name})"] * 3 + [f"1 - #shift({name})", f"-1 - #shift({name})", "1", "0"])
            other = dice.choice(["0", "0", "1", "-1", f"-#shift({name})"])
            shifts[n] = read_proof(f"#if({dice.choice(pieces)}, {moved}, {other})")
        return Proof("both", pointwise=True, shifts=shifts)

    def outputs(a, b):
        for x in range(-12, 13):
            for y in range(-12, 13):
                out = (tests[first](a, b, x, y), tests[second](a, b, x, y))
                yield out, (1 / 3) ** 2 * 2.0 ** (-abs(x) - abs(y))

    def false():
        laws = {ab: law(outputs(*ab)) for ab in itertools.product((0, 1), repeat=2)}
        return any(worst(laws[one], laws[two]) > k * math.log(2) + 0.02 for one in laws for two in laws)

    return text, proof, false


# ---- a draw that is made last: two noisy numbers, of which the place of the greater and a combination are shown


def _below(x):
    return 0.5 * math.exp(x) if x <= 0 else 1 - 0.5 * math.exp(-x)


def _density(x):
    return 0.5 * math.exp(-abs(x))


def _shown(q, how, y):
    """The density of (0, y) for two numbers with Laplace(1) noise, of which the first is the greater."""
    if how == "b":
        return _density(y - q[0]) * _below(y - q[1])
    if how == "s":
        return _density(y - q[1]) * (1 - _below(y - q[0]))
    steps = [k / 8 for k in range(-120, 121)]
    if how == "b - s":  # the second is at t, the first y above it
        return sum(_density(t + y - q[0]) * _density(t - q[1]) for t in steps) / 8 if y > 0 else 0.0
    if how == "b + s":
        return sum(_density(t - q[0]) * _density(y - t - q[1]) for t in steps if t > y - t) / 8
    return sum(_density(y + 2 * t - q[0]) * _density(t - q[1]) for t in steps if y + 2 * t > t) / 8  # b - 2*s


def last(dice):
    """The greatest of a list with something beside it."""
    how = dice.choice(["b - s"] * 4 + ["b", "s", "b + s", "b - 2*s"])
    claim, k = dice.choice((("eps", 1), ("2*eps", 2), ("2*eps", 2), ("3*eps", 3)))
    text = (
        f"P(q : private real list) : public (int, real) requires size(q) >= 2; adjacent all; claim {claim};\n"
        "i := 0; b := 0; s := 0; m := 0;\n"
        "while (i < size(q)) { e :=$ Laplace(1/eps, 0);\n"
        " if (i = 0 || q[i] + e > b) { s := b; b := q[i] + e; m := i }\n"
        " else { if (i = 1 || q[i] + e > s) { s := q[i] + e } }\n"
        " i := i + 1 }\n"
        f"return (m, {how})"
    )
    passed, seen = "#passed", "#seen"

    said = (
        f"!(!{passed} && {seen}) || <b> = <#most>",
        f"!(!{passed} && {seen}) || <m> < i",
        f"!({passed} && {seen}) || <b> = max(<#own>, <#most>)",
        f"!({passed} && {seen} && <#own> > <#most>) || <s> = <#most>",
        f"!({passed} && {seen} && <#own> > <#most>) || <m> = #answer",
        f"!({passed} && {seen} && <#own> < <#most>) || <m> != #answer",
        f"!({passed} && !{seen}) || <b> = <#own>",
        f"!({passed} && !{seen}) || <m> = #answer",
    )
    fixed = [
        f"!{seen} || #shift(#most) <= 1", f"!{seen} || #shift(#most) >= -1", f"#same({seen})", f"#same({passed})",
        f"!{passed} || #shift(#own) - #shift(q[#answer]) = #last", f"!{passed} || i > #answer",
        f"!(!{passed}) || (i <= #answer || #answer < 0)", f"!(i >= 2) || {seen}", f"!{seen} || i > 0",
        f"!({passed} && {seen}) || i > 1", f"!{passed} || i > 0", f"!(i > 0 && !{seen}) || ({passed} && i = 1)",
        f"!(i > 0 && !{passed}) || {seen}", f"#spent1 = #if({passed}, abs(#last), 0)", "#shift(i) = 0", "i >= 0",
        "m >= 0",
    ]  # fmt: skip
    invariants = list(fixed)
    for node, form in itertools.product(said, ("{}", "#two({})")):
        invariants.append(re.sub(r"<(#most|#own|b|s|m)>", lambda name, form=form: form.format(name[1]), node))
    right = "#shift(#most) - #shift(q[#answer])"
    wrong = ["0", "#shift(#most)", "#shift(#own) - #shift(q[#answer])", "-#shift(q[#answer])", "#shift(b)", "1"]

    def proof():
        moved = dice.choice([right] * 6 + wrong)
        base = dice.choice(["q[i]"] * 8 + ["0", "b", "s"])
        shift = dice.choice(["#if(i = #answer, #last, 0)"] * 8 + ["#last", "#if(i = #answer, #last, -#shift(q[i]))"])
        return Proof(
            "both",
            True,
            {1: read_proof(shift)},
            {1: read_proof("eps")},
            invariants={1: tuple(map(read_proof, invariants))},
            ranks={1: read_proof("size(q) - i")},
            last=(1, dice.choice(["max"] * 8 + ["min"]), read_proof(base), read_proof(moved)),
        )

    def false():
        points = [y / 2 for y in range(-12, 13)]
        for one, two in (((0, 0), (1, -1)), ((0, 0), (-1, 1)), ((0, 0), (1, 1)), ((0, 0), (-1, -1)), ((0, 1), (1, 0))):
            for y in points:
                mine, yours = _shown(one, how, y), _shown(two, how, y)
                if mine > 1e-9 and mine > math.exp(k) * yours * 1.02:
                    return True
        return False

    return text, proof, false


# ---- a formula for delta


def bell(dice):
    """Gaussian noise with a scale in epsilon and delta."""
    times, inside = dice.choice((1, 1, 1.5, 2, 0.5)), dice.choice((1.25, 1.25, 2, 1.5, 3))
    factor = dice.choice((2, 2, 1, 4))
    top, edge = dice.choice((1, 1, 2, 4)), dice.choice((1, 0.5, 0.1))
    text = (
        f"P(c : private real) : public real requires eps <= {top} && delta > 0 && delta < {edge};"
        f" adjacent one; claim (eps, delta);\n"
        f"z :=$ Gauss({times}*sqrt({factor}*ln({inside}/delta))/eps, 0);\nreturn c + z"
    )

    def proof():
        scale = f"({times}*sqrt({factor}*ln({inside}/delta))/eps)"
        shift = dice.choice(["-#shift(c)"] * 8 + ["0"])
        most = dice.choice([f"1/({scale}*{scale})"] * 8 + ["0", f"1/(4*{scale}*{scale})"])
        gauss = (read_proof("0"), read_proof(most))
        unit = {1: read_proof(f"1/({scale}*{scale})")}
        return Proof("both", shifts={1: read_proof(shift)}, units=unit, gauss=gauss, bell=True)

    def curve(sigma, eps):
        phi = lambda x: 0.5 * math.erfc(-x / math.sqrt(2))  # noqa: E731  a formula
        return phi(0.5 / sigma - eps * sigma) - math.exp(eps) * phi(-0.5 / sigma - eps * sigma)

    def false():
        for eps in (0.01, 0.1, 0.5, 1, 1.5, 2, 3, 4):
            for delta in (1e-9, 1e-6, 1e-3, 0.05, 0.0999, 0.3, 0.499, 0.7, 0.9, 0.97, 0.999):
                if eps <= top and delta < edge:
                    sigma = times * math.sqrt(factor * math.log(inside / delta)) / eps
                    if curve(sigma, eps) > delta * SURE:
                        return True
        return False

    return text, proof, false


MAKERS = {"coins": coins, "redrawn": redrawn, "two answers": two_answers, "last": last, "bell": bell}


def fuzz(seeds, rules=RULES, *, first_only=False):
    """Programs that were accepted and are false; how many of each rule were made and accepted."""
    made, proved, wrong = Counter(), Counter(), []
    for seed in seeds:
        dice = random.Random(seed)
        rule = rules[seed % len(rules)]
        text, proof, false = MAKERS[rule](dice)
        made[rule] += 1
        tree = read_program(text)
        if not any(accepts(tree, proof()) for _ in range(TRIES)):
            continue
        proved[rule] += 1
        if false():
            wrong.append((seed, text))
            if first_only:
                break
    return made, proved, wrong


if __name__ == "__main__":
    first, final = map(int, sys.argv[1:3])
    cells = fuzz(range(first, final), tuple(sys.argv[3:]) or RULES, first_only=True)
    sys.stdout.write(f"programs {dict(cells[0])} proved {dict(cells[1])}\n")
    sys.stdout.write("\n".join(f"{seed}\n{text}" for seed, text in cells[2]) + "\n")
    sys.exit(1 if cells[2] else 0)
