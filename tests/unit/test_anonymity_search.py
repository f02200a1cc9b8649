"""The search of the lattice against enumeration by definition, for every model and combinations of them."""

import itertools
import random
from collections import Counter
from types import SimpleNamespace

import pytest

from sfumato.anonymity import columns, lattice
from sfumato.anonymity.hierarchies import from_rows
from sfumato.anonymity.lattice import Checker, search
from sfumato.anonymity.models import MODELS, EntropyDiversity, KAnonymity
from sfumato.errors import InputError
from tests.unit.anonymity_cases import KINDS, case, evaluate, nodes_of, tuples_of

PAIRS = [*((kind,) for kind in KINDS), *itertools.combinations(KINDS, 2)]


def best_by_definition(hierarchies, rows, population, conditions, limit):
    found = []
    for node in nodes_of(hierarchies):
        suppressed, loss, everybody = evaluate(hierarchies, rows, population, node, conditions)
        if suppressed <= limit and everybody:
            found.append(loss)
    return min(found, default=None)


def agree(seed, kinds):
    """Whether a release exists; the search finds the least loss, by either way of searching."""
    hierarchies, rows, population, tuples, models, limit = case(seed, kinds)
    wanted = best_by_definition(hierarchies, rows, population, [c for _, c in models], limit)
    try:
        found = search(tuples, [m for m, _ in models], limit)
    except InputError:
        assert wanted is None, (seed, kinds)
        return "none"
    assert wanted is not None
    assert found.optimal
    scale = len(rows) * tuples.unit * len(hierarchies)
    assert abs(found.best.loss / scale - float(wanted)) < 1e-8, (seed, kinds, found.best.node)
    suppressed, loss, everybody = evaluate(hierarchies, rows, population, found.best.node, [c for _, c in models])
    assert everybody
    assert suppressed == found.best.suppressed <= limit
    assert abs(float(loss) - float(wanted)) < 1e-8
    return "found"


def sample(count, start=0):
    outcome = Counter()
    for kinds in PAIRS:
        for seed in range(start, start + count):
            outcome[kinds, agree(seed, kinds)] += 1
    return outcome


@pytest.mark.parametrize("whole", [True, False], ids=["arrays", "columns"])
def test_the_search_agrees_with_enumeration(whole, monkeypatch):
    monkeypatch.setattr(lattice, "WHOLE", 10**6 if whole else 0)
    outcome = sample(6)
    print({" ".join(kinds): n for (kinds, what), n in outcome.items() if what == "found"})  # noqa: T201  what it covers
    assert all(outcome[kinds, "found"] for kinds in PAIRS)
    assert sum(n for (_, what), n in outcome.items() if what == "none") > 10


@pytest.mark.slow
@pytest.mark.parametrize("whole", [True, False], ids=["arrays", "columns"])
def test_the_search_agrees_with_enumeration_in_full(whole, monkeypatch):
    monkeypatch.setattr(lattice, "WHOLE", 10**6 if whole else 0)
    everything = [*PAIRS, *itertools.combinations(KINDS, 3), KINDS]
    outcome = Counter((kinds, agree(seed, kinds)) for kinds in everything for seed in range(100, 160))
    assert all(outcome[kinds, "found"] for kinds in everything)


def test_every_model_is_tried():
    _, _, _, _, models, _ = case(1, KINDS)
    assert {model.name for model, _ in models} == set(MODELS)


def test_no_finer_node_suppresses_less_than_the_bound():
    """`must` of a node is at most what any node below it suppresses, by definition, for every model."""
    pairs = strict = 0
    for kinds in [*((kind,) for kind in KINDS), ("k", "distinct", "equal"), ("k", "entropy", "ordered", "beta")]:
        for seed in range(6):
            hierarchies, rows, population, tuples, models, _ = case(seed, kinds)
            checker = Checker(tuples, [m for m, _ in models], len(rows))
            real = {
                node: evaluate(hierarchies, rows, population, node, [c for _, c in models])
                for node in nodes_of(hierarchies)
            }
            for node, below in itertools.product(real, real):
                if all(a <= b for a, b in zip(below, node, strict=True)):
                    checked = checker.check(node)
                    assert checked.must <= real[below][0], (kinds, seed, node, below)
                    assert checked.suppressed == real[node][0]
                    pairs += 1
                    strict += checked.must > 0
    assert pairs > 2000
    assert strict > 200


def test_a_search_that_is_ended_early_has_a_bound_below_the_optimum(monkeypatch):
    """Anytime: interrupted after n checks, the bound is at most the optimum and the release is feasible."""
    for whole, n in itertools.product((10**6, 0), (1, 3, 6)):
        monkeypatch.setattr(lattice, "WHOLE", whole)
        for seed in range(12):
            _, _, _, tuples, models, limit = case(seed, ("equal",))
            asked = [m for m, _ in models]
            best = search(tuples, asked, limit).best.loss
            with monkeypatch.context() as patch:
                count = itertools.count()
                check = Checker.check

                def stop(self, node, count=count, check=check, n=n):
                    if next(count) >= n:
                        raise KeyboardInterrupt
                    return check(self, node)

                patch.setattr(Checker, "check", stop)
                early = search(tuples, asked, limit)
            assert early.bound <= best <= early.best.loss
            assert early.best.suppressed <= limit


def test_an_interrupt_after_any_step_leaves_a_true_bound(monkeypatch):
    """Ctrl-C right after an entry is taken off the heap: what lies below that entry still counts."""
    monkeypatch.setattr(lattice, "WHOLE", 0)
    pop, stopped = columns.heapq.heappop, 0
    for seed, n in itertools.product(range(48), (1, 3)):
        _, _, _, tuples, models, limit = case(seed, ("k",))
        asked = [m for m, _ in models]
        try:
            best = search(tuples, asked, limit).best.loss
        except InputError:
            continue
        count = itertools.count(1)

        def stop(heap, count=count, n=n):
            taken = pop(heap)
            if next(count) >= n:
                raise KeyboardInterrupt
            return taken

        with monkeypatch.context() as patch:
            patch.setattr(columns.heapq, "heappop", stop)
            early = search(tuples, asked, limit)
        stopped += early.interrupted
        assert early.bound <= best <= early.best.loss, (seed, n)
    assert stopped > 10


def stars(many, rows, seed=3):
    """A table of columns without hierarchies: each value or `*`."""
    rng = random.Random(seed)
    hierarchies = {f"q{i}": from_rows(f"q{i}", [[str(v), "*"] for v in range(3)]) for i in range(many)}
    return hierarchies, [(tuple(str(rng.randrange(3)) for _ in range(many)), "a") for _ in range(rows)]


def ended_after(checks, patch, tuples, limit):
    """A search that Ctrl-C ends after so many checks."""
    count, check = itertools.count(), Checker.check

    def stop(self, node):
        if next(count) >= checks:
            raise KeyboardInterrupt
        return check(self, node)

    with patch.context() as once:
        once.setattr(Checker, "check", stop)
        return search(tuples, [KAnonymity(5)], limit)


@pytest.mark.parametrize("many", [16, 20])
def test_many_columns_without_hierarchies_have_a_release_at_once(many, monkeypatch):
    """The whole table is excluded at once, and most nodes are; six checks give a release that is not all stars."""
    tuples = tuples_of(*stars(many, 300))
    early = ended_after(6, monkeypatch, tuples, 15)
    assert early.nodes == 2**many <= lattice.WHOLE
    assert early.interrupted
    first = early.best.loss / (tuples.rows * tuples.unit * many)
    assert first < 1 - 2 / many
    assert early.bound < early.best.loss


def test_every_search_ends_by_itself(monkeypatch):
    """Without --seconds, lattices of every size are searched for 30 seconds; here each look at the clock is one."""
    tuples = tuples_of(*stars(16, 300))
    for whole in (lattice.WHOLE, 0):
        clock = itertools.count()
        with monkeypatch.context() as patch:
            patch.setattr(lattice, "time", SimpleNamespace(monotonic=lambda clock=clock: float(next(clock))))
            patch.setattr(lattice, "WHOLE", whole)
            done = search(tuples, [KAnonymity(5)], 15)
        assert done.interrupted
        assert done.checks < 40
        assert 0 <= done.bound < done.best.loss < tuples.rows * tuples.unit * 16


def test_the_bound_for_columns_without_hierarchies_is_never_above_the_optimum(monkeypatch):
    for seed in range(4):
        hierarchies, rows = stars(6, 60, seed)
        tuples = tuples_of(hierarchies, rows)
        done = search(tuples, [KAnonymity(5)], 6)
        wanted = best_by_definition(hierarchies, rows, [], [lambda counts, *_: sum(counts.values()) >= 5], 6)
        assert done.optimal
        assert abs(done.best.loss / (tuples.rows * tuples.unit * 6) - float(wanted)) < 1e-8
        for checks in range(1, done.checks):
            early = ended_after(checks, monkeypatch, tuples, 6)
            assert early.bound <= done.best.loss <= early.best.loss
            assert early.best.suppressed <= 6


@pytest.mark.parametrize("whole", [10**6, 0])
def test_a_release_may_exist_where_the_top_is_not_one(whole, monkeypatch):
    """All men have the same value: the table is not entropy-diverse, but is without them."""
    monkeypatch.setattr(lattice, "WHOLE", whole)
    hierarchies = {"sex": from_rows("sex", [["m", "*"], ["f", "*"]])}
    rows = [*([(("m",), "a")] * 10), *([(("f",), "a")] * 5), *([(("f",), "b")] * 5)]
    found = search(tuples_of(hierarchies, rows), [EntropyDiversity(2)], 10)
    assert (found.best.node, found.best.suppressed, found.optimal) == ((0,), 10, True)
    with pytest.raises(InputError, match="no release satisfies entropy l = 2"):
        search(tuples_of(hierarchies, rows), [EntropyDiversity(2)], 9)


def test_what_no_release_satisfies_is_said():
    _, _, _, tuples, _, _ = case(1, ("k",))
    with pytest.raises(InputError, match="no release satisfies k = 1000"):
        search(tuples, [KAnonymity(1000)], 0)


def test_a_broken_bound_is_noticed(monkeypatch):
    """The law above fails if rows that could remain are counted as lost."""
    monkeypatch.setattr(EntropyDiversity, "most_kept", lambda self, classes, _: classes.size * 0)
    with pytest.raises(AssertionError):
        [agree(seed, ("entropy",)) for seed in range(200)]


def test_random_tables_are_not_all_alike():
    sizes = Counter()
    for seed in range(30):
        hierarchies, rows, *_ = case(seed, ("k",))
        sizes[len(hierarchies), max(h.height for h in hierarchies.values())] += 1
        assert len(rows) >= 4
    assert len(sizes) >= 6, sizes
    assert random.Random(1).random() != random.Random(2).random()
