"""Two answers that are harmless each, and name a man together."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from sfumato.attacks import ATTACKS
from sfumato.attacks.base import SecretFact
from sfumato.attacks.defences import make
from sfumato.attacks.gate import table_endpoint
from sfumato.attacks.scene import set_scene
from sfumato.attacks.sheet import TABLE, read_sheet
from sfumato.design.worlds import Minimum, all_worlds, posterior, posterior_of_minima
from sfumato.errors import InputError

SIX = [("Alice", 30, 60), ("Bob", 30, 90), ("Carl", 40, 90), ("Don", 40, 100), ("Ellie", 50, 60), ("Frank", 50, 100)]


ILL = {"Don", "Frank"}


def test_two_harmless_answers_name_don():
    """The least age of the ill is 40, their least weight 100: each leaves two candidates, both leave Don."""
    half = Fraction(1, 2)
    age = Minimum(frozenset({0, 1}), frozenset({2, 3}))
    weight = Minimum(frozenset({0, 1, 2, 4}), frozenset({3, 5}))
    assert posterior_of_minima(6, half, [age])[3] == Fraction(2, 3)
    assert posterior_of_minima(6, half, [weight])[3] == Fraction(2, 3)
    both = posterior_of_minima(6, half, [age, weight])
    assert both == [0, 0, 0, 1, 0, half]


def test_minima_agree_with_all_worlds():
    """Inclusion and exclusion against the enumeration of all worlds, on many small cases."""
    rng = np.random.default_rng(11)
    for _ in range(40):
        each = Fraction(int(rng.integers(1, 10)), 10)
        columns = [rng.integers(0, 4, 7).tolist() for _ in range(3)]
        seen = []
        for values in columns:
            least = int(rng.integers(0, 4))
            seen.append(
                Minimum(
                    frozenset(i for i, v in enumerate(values) if v < least),
                    frozenset(i for i, v in enumerate(values) if v == least),
                )
            )

        def fits(world, seen=seen):
            has = {i for i, bit in enumerate(world) if bit}
            return Fraction(all(not has & m.below and has & m.there for m in seen))

        found = posterior_of_minima(7, each, seen)
        try:
            worlds = posterior(all_worlds(7, each), fits)
        except InputError:
            assert found is None
            continue
        assert found == [sum(p for world, p in worlds.items() if world[i]) for i in range(7)]


def test_intersection_names_don_in_the_raw_table_and_not_behind_the_gateway(tmp_path):
    path = tmp_path / "six.csv"
    path.write_text(
        "name,age,weight,state\n" + "".join(f"{n},{a},{w},{'ill' if n in ILL else 'well'}\n" for n, a, w in SIX)
    )
    sheet = read_sheet(path)
    knowledge, _ = set_scene(sheet.records(), TABLE, "state", None)
    knowledge = replace(knowledge, fact=SecretFact("state", "ill"))
    found = ATTACKS["intersection"].run(make("raw", sheet, "state", ()), knowledge)
    sure = {SIX[claim.person][0]: claim.has for claim in found.claims if claim.certain}
    assert sure["Don"] is True
    assert all(sure[name] is (name in ILL) for name in sure)
    with table_endpoint(sheet, "name", Fraction(1)) as gate:
        behind = ATTACKS["intersection"].run(gate, knowledge)
    assert not any(claim.certain for claim in behind.claims)
