"""Faults that somebody might make in the kernel: a file, a text in it, and what stands there instead. `planted` makes a
copy of the package with one of them; the fuzzer has to find it.

Faults in conditions that these programs rarely need (injective shifts, invariants that are kept, negative claims, the
curve of Geometric noise) have tests of their own in test_kernel.py, test_truth.py, test_paths.py, test_curves.py; in
branches that are exchanged or draw from different laws in test_branches.py.
"""

import shutil
from pathlib import Path

import sfumato

KERNEL = "verify/kernel"
FAULTS = {
    "a fact of a path holds everywhere": (
        "facts.py",
        "premises = [part for part in path if not z3.is_true(part)]",
        "premises = []",
    ),
    "a draw forgets its path": ("evaluate.py", "self.facts.learn([*state.known, *", "self.facts.learn([*"),
    "Uniform never draws its upper end": (
        "laws.py",
        "return low.one, high.one, True",
        "return low.one, high.one - number(1), True",
    ),
    "Uniform begins one later": (
        "laws.py",
        "return low.one, high.one, True",
        "return low.one + number(1), high.one, True",
    ),
    "Bernoulli is always 0": ("laws.py", "return number(0), number(1), True", "return number(0), number(0), True"),
    "Choice never takes the last": (
        "laws.py",
        "number(len(args[0].items) - 1), True",
        "number(len(args[0].items) - 2), True",
    ),
    "Exponential begins at 1": ("laws.py", 'support = (number(0), ">=")', 'support = (number(1), ">=")'),
    "an empty Uniform is allowed": (
        "laws.py",
        'product.runs.safe("the lower end is not above the upper", draw.at, state, order)\n        return low',
        "return low",
    ),
    "a probability may be negative": (
        "laws.py",
        'product.runs.compare(numbers[0], ">=", state)',
        'product.runs.compare(numbers[0], ">=", state) and (product.runs.terms.true,) * 2',
    ),
    "a probability may be above 1": (
        "laws.py",
        'product.runs.safe("a probability is at most 1", draw.at, state, product.runs.compare(above, "<=", state))',
        "pass",
    ),
    "weights may be negative": (
        "laws.py",
        'product.runs.safe("a weight is not negative", draw.at, state, product.runs.compare(weight, ">=", state))',
        "pass",
    ),
    "a scale may be zero or negative": (
        "laws.py",
        'product.runs.safe("the scale is positive", draw.at, state, product.runs.compare(scale, ">", state))',
        "pass",
    ),
    "scales may differ between runs": (
        "laws.py",
        '"scale", "the scale is the same in both runs", at=draw.at, state=state, goal=product.runs.equal(scale)',
        '"scale", "the scale is the same in both runs", at=draw.at, state=state, goal=product.runs.terms.true',
    ),
    "laws that are not moved may differ": (
        "laws.py",
        '"scale", "the law is the same in both runs", at=draw.at, state=state, goal=product.runs.equal(arg)',
        '"scale", "the law is the same in both runs", at=draw.at, state=state, goal=product.runs.terms.true',
    ),
    "Laplace charges the centre with the wrong sign": (
        "laws.py",
        "distance = shift - (centre.two - centre.one)\n    size",
        "distance = shift + (centre.two - centre.one)\n    size",
    ),
    "Laplace forgets its centre": (
        "laws.py",
        "distance = shift - (centre.two - centre.one)\n    size",
        "distance = shift\n    size",
    ),
    "a draw costs half": (
        "laws.py",
        "state.spent[draw.number] = state.spent[draw.number] + cost.one",
        "state.spent[draw.number] = state.spent[draw.number] + cost.one * number(Fraction(1, 2))",
    ),
    "a truncated noise has the centre of the first run": (
        "laws.py",
        "noise.two + rest[0].two",
        "noise.two + rest[0].one",
    ),
    "a moved noise may leave its support": (
        "laws.py",
        'product.runs.require("support", "the moved noise is not negative", at=draw.at, state=state, goal=lands)',
        "pass",
    ),
    "outputs are not compared": (
        "product.py",
        "at=statement.at, state=state, goal=self.runs.equal(found)\n            )",
        "at=statement.at, state=state, goal=self.runs.terms.true\n            )",
    ),
    "the cost is not compared": (
        "product.py",
        'self.runs.require("cost", "what was spent is within the claim"',
        '(lambda *_, **__: None)("cost", "what was spent is within the claim"',
    ),
    "branches are exchanged": (
        "product.py",
        "(z3.Not(truth) if negated else truth for truth",
        "(truth if negated else z3.Not(truth) for truth",
    ),
    "after a loop its test holds": (
        "rounds.py",
        "    head.known.append(z3.Not(test.one))",
        "    head.known.append(test.one)",
    ),
    "invariants need not hold at the beginning": (
        "rounds.py",
        'product.runs.require("entry"',
        '(lambda *_, **__: None)("entry"',
    ),
    "branches draw with the arguments of the first": (
        "branches.py",
        "Assign(name, right, two.at)",
        "Assign(name, left, two.at)",
    ),
    "branches return what the first returns": (
        "branches.py",
        "Assign(output, yours.value, yours.at)",
        "Assign(output, mine.value, yours.at)",
    ),
    "the curve of Laplace noise is half as steep": (
        "curves.py",
        "runs.functions.exp((left - most.one) * HALF)",
        "runs.functions.exp((left - most.one) * HALF * HALF)",
    ),
    "what is paid with delta may be moved further": (
        "curves.py",
        'goals = [(moved - most * by, "<=", "the noise is moved by at most its bound")]',
        "goals = []",
    ),
    "neighbours differ by a half": (
        "inputs.py",
        'self._says(change - number(1), "<="), self._says(change + number(1), ">=")',
        'self._says(change + change - number(1), "<="), self._says(change + change + number(1), ">=")',
    ),
    "a range ends one earlier": ("inputs.py", 'self._says(found - high, "<=")', 'self._says(found - high, "<")'),
    "at least is more than": (
        "terms.py",
        '">=": lambda left, zero: left >= zero',
        '">=": lambda left, zero: left > zero',
    ),
}
DELTA_FAULTS = {
    "noise on one side loses half at its end": (
        "curves.py",
        "over = number(1) - runs.functions.exp(-most.one) - delta.one",
        "over = number(1) - runs.functions.exp(-most.one * HALF) - delta.one",
    ),
    "a range loses half": ("curves.py", "over = most.one - delta.one", "over = most.one * HALF - delta.one"),
    "a range has one value more": ("laws.py", "high - low + number(1))", "high - low + number(2))"),
    "steps may be moved further": (
        "curves.py",
        'goals = [(moved * by - most, "<=", "the steps are moved by at most their bound")]',
        "goals = []",
    ),
    "moved steps may be negative": (
        "laws.py",
        "_lands(product, draw, state, noise + shift)\n        _pay",
        "_pay",
    ),
    "steps cost nothing": ("laws.py", "_pay(product, draw, state, shift * rate.one)", "pass"),
    "the tail of Laplace noise is a quarter": ("tails.py", "most = most * number(2)", "most = most * number(4)"),
    "the tail of Geometric noise is smaller": (
        "tails.py",
        "most = most * (number(1) + runs.functions.exp(-by.one))",
        "most = most * (number(3) + runs.functions.exp(-by.one))",
    ),
    "delta need not pay for a tail": (
        "tails.py",
        ', (most - mass, "delta is at least the tail"))',
        ",)",
    ),
    "a tail begins one later": (
        "tails.py",
        "far = bound.one * by.one if whole",
        "far = (bound.one + number(1)) * by.one if whole",
    ),
    "a way is left out": (
        "returns.py",
        "sides = [_computed((*side, *rest), tests + 1) for side in (then, other)]",
        "sides = [_computed((*side, *rest), tests + 1) for side in (then, then)]",
    ),
}
"""Faults in the rules that tests/verify/delta_fuzz.py is about; it has to find each of them. Faults in the rewriting of
coins are found by test_rewritings.py, in sampling by test_sampling.py.
"""

RULE_FAULTS = {
    "a turned coin costs nothing": (
        "coins",
        "turned.py",
        "runs.terms.choose(heads, price, -price), number(0))",
        "number(0), number(0))",
    ),
    "odds are chances": ("coins", "turned.py", 'return left, Binary("-", right, left)', "return left, right"),
    "both branches put the first item": (
        "coins",
        "items.py",
        "((choice.then, first), (choice.other, second))",
        "((choice.then, first), (choice.other, first))",
    ),
    "what is made again costs once": (
        "redrawn",
        "laws.py",
        "cost = cost * number(2) if draw.number in product.again else cost",
        "cost = cost * number(1)",
    ),
    "runs may accept by themselves": (
        "redrawn",
        "product.py",
        'self.runs.require("path", label, at=statement.at, state=state, goal=goal)\n        self.within',
        "self.within",
    ),
    "no output is an answer": (
        "two answers",
        "product.py",
        "return self.runs.terms.all_of(equal)",
        "return self.runs.terms.false",
    ),
    "a tail of a bell is half as steep": (
        "bell",
        "bell.py",
        "number(2) * most.one * needed",
        "number(Fraction(1, 2)) * most.one * needed",
    ),
}
"""Faults in the rules that tests/verify/rule_fuzz.py is about, each with its rule; it has to find each of them. Moves
of redrawn noise that read it, draws that are made last, and the middle of a bell have tests of their own in
test_new_rules.py.
"""


def planted(name, home):
    """A copy of the package with this fault; returns where Python finds it."""
    shutil.copytree(
        Path(sfumato.__file__).parent, home / "sfumato", ignore=shutil.ignore_patterns("__pycache__", "static")
    )
    file, old, new = RULE_FAULTS[name][1:] if name in RULE_FAULTS else (FAULTS | DELTA_FAULTS)[name]
    path = home / "sfumato" / KERNEL / file
    text = path.read_text()
    assert text.count(old) == 1, f"{name}: the kernel has changed, and this text occurs {text.count(old)} times"
    path.write_text(text.replace(old, new))
    return home
