"""Mechanisms that the owner proved, released on a private column: what they cost, and what is refused before that."""

from fractions import Fraction
from functools import lru_cache

import duckdb
import pytest

from sfumato.algebra.column_elements import elements
from sfumato.engines.duckdb.unit_reports import elements_sql
from sfumato.errors import BudgetError, EngineError, SfumatoError
from sfumato.gateway import open_policy
from sfumato.ledger import Ledger
from sfumato.policy import load
from sfumato.verify import program

SUM = """Total(d : private {0..5} list) : public int
adjacent addremove; claim eps;
  i := 0; s := 0;
  while (i < size(d)) { s := s + d[i]; i := i + 1 }
  z :=$ Geometric(exp(-eps/5));
  return s + z
"""
COUNT = """Count(d : private {0..5} list) : public int
adjacent addremove; claim eps;
  z :=$ Geometric(exp(-eps));
  return size(d) + z
"""
POLICY = """
[source]
engine = "duckdb"
files = { t = "t.csv" }
[data]
id = "d"
version = "one"
[privacy]
epsilon = 1000
adjacency = "ADJACENCY"
[tables.t]
unit = "u"
rows_per_unit = ROWS
[tables.t.columns]
u = { type = "text", max_length = 9 }
n = { type = "integer", min = 0, max = 5 }
x = { type = "decimal", min = 0, max = 5, grid = 0.5 }
w = { type = "text", max_length = 9 }
"""
ROWS = "u,n,x,w\n" + "".join(f"p{i},{i % 8},{i % 8},a\n" for i in range(40)) + "q,5,5,a\nq,5,5,a\nr,1,1,a\nr,,,a\n"
# of 40 single persons 5 x (0+1+2+3+4+5+5+5) = 125, numbers above the bound being clamped; q and r have two rows each


@lru_cache
def verified(text):
    return program(text).verify().certificate


@pytest.fixture(scope="module")
def certificate():
    return verified(SUM)


def write(folder, rows=1, adjacency="add-remove"):
    (folder / "t.csv").write_text(ROWS, encoding="utf-8")
    path = folder / "sfumato.toml"
    path.write_text(POLICY.replace("ROWS", str(rows)).replace("ADJACENCY", adjacency), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("rows", "adjacency", "found"),
    [
        (1, "add-remove", (125, 90)),
        (2, "add-remove", (136, 180)),
        (1, "replace", (125, 180)),
        (2, "replace", (136, 360)),
    ],
)
def test_a_program_costs_its_claim_for_every_row(tmp_path, certificate, rows, adjacency, found):
    total, price = found
    with open_policy(write(tmp_path, rows, adjacency)) as gate:
        outcome = gate.release(certificate, "t.n", 90)  # noise of 1 has a chance of e^-18
        assert outcome.value == total
        assert outcome.cost.epsilon == price == gate.budget().spent.epsilon
        assert outcome.remaining.epsilon == 1000 - price
        again = gate.release(certificate, "t.n", 90)
        assert (again.value, again.cost.epsilon, again.receipt) == (outcome.value, 0, outcome.receipt)
        assert gate.budget().spent.epsilon == price
    with Ledger.visit(tmp_path / "d.ledger") as book:
        book.verify()
        assert [entry.body["text"] for entry in book.entries() if entry.kind == "debit"] == [
            "program Total on t.n, delta = 0, eps = 90"
        ]


def test_a_proved_program_is_paid_before_it_reads(tmp_path, certificate, monkeypatch):
    with open_policy(write(tmp_path)) as gate:
        run, seen = gate._engine._paid, []

        def watched(*asked):
            with Ledger.visit(tmp_path / "d.ledger") as book:
                seen.append([entry.kind for entry in book.entries()].count("debit"))
            return run(*asked)

        monkeypatch.setattr(gate._engine, "_paid", watched)
        gate.release(certificate, "t.n", 1)
        assert seen == [1]

        def fails(*asked):
            raise RuntimeError(asked)

        monkeypatch.setattr(gate._engine, "_paid", fails)
        with pytest.raises(EngineError):
            gate.release(certificate, "t.n", 2)
        assert [entry.kind for entry in gate.ledger.entries()][-2:] == ["debit", "failed"]
        assert gate.budget().spent.epsilon == 3
        with pytest.raises(BudgetError):
            gate.release(certificate, "t.n", 2000)


def test_a_person_brings_no_more_elements_than_rows(tmp_path):
    """Whoever is taken away: what is left of the others stays, and of her there were at most C."""
    for bound in (1, 2):
        policy = load(write(tmp_path, bound))
        sql = elements_sql(elements(policy.tables["t"], policy, "n", stored=False))

        def values(who, sql=sql):
            with duckdb.connect() as connection:
                connection.execute(f"CREATE TABLE t AS FROM read_csv('{tmp_path / 't.csv'}') WHERE u <> ?", [who])
                return sorted(value for value, count in connection.execute(sql).fetchall() for _ in range(count))

        everybody = values("nobody")
        for who in ("q", "r", "p3"):
            left, here = values(who), list(everybody)
            for value in left:
                here.remove(value)  # fails if somebody else changed
            assert len(here) <= bound
            assert len(left) + len(here) == len(everybody)


REFUSED = [
    (COUNT.replace("Geometric(exp(-eps))", "Laplace(1/2/eps, 0)"), "t.n", {}, "only a program that is proved"),
    (COUNT.replace("addremove", "one"), "t.n", {}, "Count is proved for lists that are adjacent by `one`"),
    (COUNT.replace("{0..5}", "{0..4}"), "t.n", {}, "Count takes numbers from 0 to 4, and the column has bounds 0 to 5"),
    (COUNT, "t.x", {}, "Count takes whole numbers, and the column's grid is 0.5"),
    (COUNT, "t.w", {}, 'column "w" of "t" does not hold numbers on a grid'),
    (COUNT, "t.nix", {}, '"t.nix" is not a column of this policy'),
    (COUNT, "t.n", {"T": 1}, "the public parameters of Count are: none"),
    (
        COUNT.replace("list)", "list, T : public int)").replace("adjacent", "requires T > 3; adjacent"),
        "t.n", {"T": 1}, "what Count requires does not hold for these parameters",
    ),
    (COUNT.replace("list)", "list, T : public int)"), "t.n", {"T": "1/2"}, "T must be a whole number, but is 0.5"),
    (
        COUNT.replace("adjacent", "requires size(d) <= 9; adjacent"), "t.n", {},
        "`requires` and `claim` of Count refer to the private list d",
    ),
    (
        COUNT.replace("Geometric(exp(-eps))", "Laplace(1/eps, 0)").replace(": public int", ": public real"),
        "t.n", {}, "Laplace noise cannot be drawn exactly",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "column", "public", "message"), REFUSED, ids=[case[3][:40] for case in REFUSED])
def test_what_is_not_proved_is_not_released(tmp_path, text, column, public, message):
    document = verified(text)
    assert document is not None
    with open_policy(write(tmp_path)) as gate:
        with pytest.raises(SfumatoError) as error:
            gate.release(document, column, 1, public=public)
        assert error.value.message.startswith(message)
        assert gate.budget().spent.epsilon == 0


def test_a_certificate_that_was_changed_is_not_released(tmp_path, certificate):
    with open_policy(write(tmp_path)) as gate:
        for change in ({"hash": "0" * 64}, {"program": SUM.replace("/5)", "/4)")}, {"verdict": "REFUTED"}):
            with pytest.raises(SfumatoError):
                gate.release({**certificate, **change}, "t.n", 1)
        assert gate.budget().spent.epsilon == Fraction(0)
