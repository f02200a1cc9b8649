"""What the exact laws prove of random programs over a list is true, by an interpreter that shares nothing with them."""

import random
import sys
from collections import Counter

import pytest

from sfumato.errors import InputError
from sfumato.verify.attempt import attempted
from sfumato.verify.faults import check_inputs
from sfumato.verify.finite import paper, rounds
from sfumato.verify.parse import read_program
from sfumato.verify.tree import FunctionCall
from tests.verify.list_programs import INDICES, LAWS, Random, Skip, contradiction

CELLS = [
    *(("index", index) for index in INDICES),
    *(("law", law) for law in LAWS),
    *(("part", part) for part in ("return", "shadow", "branch")),
]


def fuzz(seeds):
    """Programs that are said to be proved and are false; and what was made and proved."""
    made_cells, proved_cells, counts, false = Counter(), Counter(), Counter(), []
    for seed in seeds:
        made = Random(random.Random(seed))
        made_cells.update(made.cells)
        tree = read_program(made.text)
        counts["programs"] += 1
        for kind in ("rounds", "inputs"):
            found = attempted(lambda kind=kind, tree=tree: paper.listed(tree, kind), None)
            if found is None or not found.holds:
                continue
            counts[kind] += 1
            proved_cells.update(made.cells)
            try:
                wrong = contradiction(made, tree)
                if wrong is not None and len(wrong) == 3 and isinstance(wrong[2], str):
                    check_inputs(tree)  # a program that fails is an error before anything is proved
            except Skip:
                counts["not followed"] += 1
            except InputError:
                counts["an error"] += 1
            else:
                if wrong is not None:
                    false.append((seed, kind, made.text, wrong))
    said = [f"{cell}: {made_cells[cell]}/{proved_cells[cell]}" for cell in CELLS]
    sys.stdout.write("\n".join([str(dict(counts)), *said]) + "\n")
    return made_cells, counts, false


def test_what_is_proved_of_lists_is_true():
    made, counts, false = fuzz(range(50))
    assert false == []
    assert counts["inputs"] > 5
    assert [cell for cell in CELLS if not made[cell]] == []


@pytest.mark.slow
def test_what_is_proved_of_many_lists_is_true():
    made, counts, false = fuzz(range(1_000, 3_000))
    assert false == []
    assert counts["rounds"] > 50
    assert counts["not followed"] < counts["inputs"] // 4
    assert [cell for cell in CELLS if not made[cell]] == []


def test_an_index_that_reads_the_list_is_found_out(monkeypatch):
    """The check that was missing: a look may not learn from the list where to look."""
    sees = rounds._sees
    monkeypatch.setattr(rounds, "_sees", lambda node, param: not isinstance(node, FunctionCall) and sees(node, param))
    _, _, false = fuzz(range(3_325, 3_335))  # known to hold such a program
    assert false
