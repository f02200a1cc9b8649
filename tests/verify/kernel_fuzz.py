"""The kernel against exact laws: programs of kernel_programs.py, proofs that a person might try, truths of
kernel_truth.py. As a script: the first contradiction ends it with exit code 1.
"""

import random
import sys
from collections import Counter

from sfumato.verify.kernel.check import conditions_of, covers, first_open, is_possible
from sfumato.verify.kernel.proof import Proof
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.parse import read_program, read_proof
from tests.verify.kernel_programs import CLAIMS, DELTAS, LAWS, PLACES, Random, _noises, show
from tests.verify.kernel_truth import EPS, Bad, Skip, ball, contradiction

TRIES = 2


def proof_of(made, dice):
    """One proof, as the kernel takes it."""
    shifts, invariants = made.proof(dice)
    pointwise = dice.random() < 0.25
    unrolled = frozenset(range(1, made.loops + 1)) if dice.random() < 0.5 else frozenset()
    ranks = {}
    for part in made.body:
        if part[0] == "while":
            most = part[4]
            ranks[int(part[3][1:])] = read_proof(f"{show(most)} - {part[3]}")
    return Proof(
        "both",
        pointwise,
        {number: read_proof(text) for number, text in shifts.items()},
        invariants={loop: tuple(map(read_proof, texts)) for loop, texts in invariants.items()},
        ranks=ranks,
        unrolled=unrolled,
        curve=curve_of(made, dice) if made.claim.startswith("(") and not pointwise else None,
    )


def curve_of(made, dice):
    """A draw that is paid with delta, what others cost, and how far it is moved; None now and then."""
    noises = [(number, law) for number, law, noise in _noises(made.body) if noise]
    if not noises or dice.random() < 0.1:
        return None
    number, law = dice.choice(noises)
    pure, most = dice.choice(["0"] * 8 + ["eps/2", "eps"]), dice.choice(["eps"] * 6 + ["eps/2", "2*eps", "0"])
    return number, read_proof(pure), read_proof(f"-ln(exp(-{most}))" if law == "Geometric" else most)


def limits_of(claim, n):
    """e^k of a claim, and its delta."""
    if claim not in DELTAS:
        return (EPS * ball(n if claim == "n*eps" else CLAIMS[claim])).exp(), None
    multiple, law, part = DELTAS[claim]
    if law == "Laplace":
        return (EPS * ball(multiple)).exp(), 1 - (-EPS * ball(part)).exp()
    above = 1 - (EPS * ball(multiple - 1)).exp()
    return (EPS * ball(multiple)).exp(), above / 2 if part == 2 else above / (1 + (-EPS).exp())


class Claimed(Random):
    """A program that knows what it claims."""

    def limits(self, n):
        return limits_of(self.claim, n)


def accepts(tree, proof):
    """Whether the kernel takes a proof: what `--check` asks, without the documents."""
    try:
        product = conditions_of(tree, proof)
        return covers(tree, (proof,)) and first_open(product) is None and is_possible(product)
    except NoProofRule:
        return False


def fuzz(seeds, *, first_only=False):
    """Programs that were accepted and are false; how many of each kind were made and accepted."""
    made_cells, proved_cells, counts, false = Counter(), Counter(), Counter(), []
    for seed in seeds:
        dice = random.Random(seed)
        made = Claimed(dice)
        made_cells.update(made.cells)
        counts["programs"] += 1
        tree = read_program(made.text())
        proof = next((proof for _ in range(TRIES) if accepts(tree, proof := proof_of(made, dice))), None)
        counts["with delta"] += made.claim.startswith("(")
        if proof is None:
            continue
        counts["proved"] += 1
        counts["paid with delta"] += proof.curve is not None
        proved_cells.update(made.cells)
        try:
            found = contradiction(made)
        except Bad as error:
            found = f"the program fails: {error}"
        except Skip:
            counts["not followed"] += 1
            continue
        if found is not None:
            false.append((seed, made.text(), found))
            if first_only:
                break
    return made_cells, proved_cells, counts, false


def report(made_cells, proved_cells, counts):
    """The coverage as a table: made/proved for each law in each place."""
    lines = [f"{dict(counts)}", "law             " + "".join(f"{place:>18}" for place in PLACES)]
    for law in LAWS:
        cells = (f"{made_cells[law, place]}/{proved_cells[law, place]}" for place in PLACES)
        lines.append(f"{law:<16}" + "".join(f"{cell:>18}" for cell in cells))
    return "\n".join(lines)


if __name__ == "__main__":
    first, last = map(int, sys.argv[1:3])
    *cells, false = fuzz(range(first, last), first_only=True)
    said = [report(*cells), *(f"{seed} {found}\n{text}" for seed, text, found in false)]
    sys.stdout.write("\n".join(said) + "\n")
    sys.exit(1 if false else 0)
