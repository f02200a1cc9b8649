"""The sample clinic: three tables and a policy, made up, the same on every machine.

Comes in: a directory. Goes out: patient.parquet, visit.csv, region.csv and sfumato.toml in it. Nobody here is real:
every number of a person starts with 000, which no office has ever given out. The rows come from SHA-256 in counter
mode, so that they depend on no library's version.
"""

from __future__ import annotations

import csv
import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path

from sfumato.errors import InputError
from sfumato.ledger import accept_loss, place_of_last_head
from sfumato.server.classroom import student
from sfumato.server.users import USERS_FILE
from sfumato.types import string

PEOPLE = 4000
DISEASES = ("Cold", "Flu", "Asthma", "Diabetes", "Migraine")
AREAS = ("north", "east", "south", "west")
CITIES = ("Paris", "Lyon", "Nice")

PATIENT = ("ssn", "age", "disease", "salary", "zipcode", "admitted", "area", "street")
VISIT = ("patient_ssn", "cost", "day", "city", "note")
REGION = ("area", "name", "inhabitants")
POLICY_FILE = "sfumato.toml"
PROGRAM_FILE = "noisy_count.sfp"
FILES = (POLICY_FILE, "patient.parquet", "visit.csv", "region.csv", PROGRAM_FILE)
PROGRAM = """\
-- How many have it? One person changes one entry: `sfumato verify noisy_count.sfp --explain` proves the claim.
NoisyCount(ill : private {0,1} list) : public real
adjacent one;
claim eps;
  i := 0; n := 0;
  while (i < size(ill)) {
    n := n + ill[i];
    i := i + 1
  }
  z :=$ Laplace(1/eps, 0);
  return n + z
"""
LEDGER = "clinic.ledger"
TYPES = ("VARCHAR", "SMALLINT", "VARCHAR", "DECIMAL(9, 2)", "INTEGER", "DATE", "VARCHAR", "VARCHAR")
"""Of the columns of `patient` in its Parquet file."""

_STREETS = ("Mill Lane", "Lime Walk", "Harbour Street", "Orchard Road", "Station Square", "Well Alley", "Rope Walk")
_NOTES = ("check-up", "follow-up", "blood test", "prescription renewed", "")
_REGIONS = (
    ("north", "Northern heights", 41_200),
    ("east", "Eastern plain", 38_900),
    ("south", "Southern shore", 52_300),
    ("west", "Western woods", 29_700),
)

POLICY = """\
# What the owner of the sample clinic decided. Written by `sfumato demo`.
[source]
engine = "duckdb"
files  = { patient = "patient.parquet", visit = "visit.csv", region = "region.csv" }

[data]
id = "clinic"                              # the budget belongs to this id
version = "2024-11"                        # named by the owner (or "daily", "monthly", UTC): never read from the data
ledger = "clinic.ledger"                   # every charge, hash-chained

[privacy]
epsilon = 4                                # the total privacy budget of all analysts
delta = 1e-6                               # divided once: delta_selection (default half) and the zCDP conversion
adjacency = "add-remove"                   # or "replace"
composition = "best"                       # "pure" | "zcdp" | "best"
query_epsilon = 0.1                        # what a query costs by default
query_delta = 1e-8

[analysts.ana]
epsilon = 1                                # a share of the total, under the same composition

[tables.patient]
unit = "ssn"
rows_per_unit = 1
[tables.patient.columns]
ssn      = { type = "text", max_length = 11 }
age      = { type = "integer", min = 0, max = 120 }
disease  = { values = ["Cold", "Flu", "Asthma", "Diabetes", "Migraine"] }
salary   = { type = "decimal", min = 0, max = 200_000, grid = 1 }
zipcode  = { type = "integer", min = 75000, max = 75999 }
admitted = { type = "date", min = 2015-01-01, max = 2030-12-31 }
area     = { values = ["north", "east", "south", "west"] }
street   = { type = "text", max_length = 40 }       # no declared values

[tables.visit]
unit = "patient_ssn"
rows_per_unit = 20                         # the contribution bound: visits of people with more are down-weighted
groups_per_unit = 5
[tables.visit.columns]
patient_ssn = { type = "text", max_length = 11 }
cost = { type = "decimal", min = 0, max = 1000, grid = 0.01 }
day  = { type = "date", min = 2023-01-01, max = 2025-12-31 }
city = { values = ["Paris", "Lyon", "Nice"] }
note = { type = "text", max_length = 80 }

[tables.region]
public = true
"""


GUIDE = "guide"
_GUIDE = f"""
[analysts.{GUIDE}]                           # asks the queries that `sfumato demo` shows
epsilon = 1
"""

_CLASS = """\
[privacy]
epsilon = {all}                               # 1 for each student, and 4 more
delta = {all}e-7                              # as many as epsilon, so that nobody's queries use up what is another's:
delta_selection = {all}e-7                    # a share of 1 pays 1 / min_epsilon queries, of query_delta each
min_epsilon = 0.001
query_delta = 1e-10
query_epsilon = 0.1                        # what a query costs by default
adjacency = "add-remove"
composition = "pure"                       # shares add up to the total, whatever their owners ask

"""

_OURS = "# What the owner of the sample clinic decided."


def policy_text(students: int = 0) -> str:
    """The policy of the demo: the sample's, with a share for the demo itself and one for each student of a class.

    Guarantee: whatever some students of a class ask, all others may spend the whole of their shares.
    Proof: only pure epsilon is spent, so that shares add up, to less than the total. A query costs `min_epsilon` or
        more, and `query_delta` or nothing: a share of 1 pays for 1,000 queries, which are 1e-7 of delta.
    Reference: docs/decisions/128-a-class-and-its-total.md.
    Checked by: end_to_end::no_student_spends_what_another_has,
        end_to_end::a_class_pays_in_pure_epsilon_and_not_too_little
    """
    if not students:
        return POLICY + _GUIDE
    shares = "".join(f"\n[analysts.{student(number)}]\nepsilon = 1\n" for number in range(1, students + 1))
    start, end = POLICY.index("[privacy]"), POLICY.index("[analysts.ana]")
    return POLICY[:start] + _CLASS.format(all=4 + students) + POLICY[end:] + _GUIDE + shares


def write_clinic(directory: Path, *, fresh: bool = False, students: int = 0) -> bool:
    """Write the clinic unless it is all there already, or anyway if `fresh`; True if it was written.

    The ledger stays as long as it is not `fresh`: the rows are the same ones, and so is what was learnt about them.
    """
    _check_ours(directory)
    directory.mkdir(parents=True, exist_ok=True)
    if not fresh and all((directory / name).exists() for name in FILES):
        return False
    if fresh:
        for name in (LEDGER, f"{LEDGER}-wal", f"{LEDGER}-shm"):
            (directory / name).unlink(missing_ok=True)
        head = place_of_last_head(directory / ".sfumato", "clinic")
        head.unlink(missing_ok=True)
        accept_loss(head)  # what else shows that there was a ledger stays
        (directory / ".sfumato" / USERS_FILE).unlink(missing_ok=True)  # who had an account does not get a new budget
    (directory / POLICY_FILE).write_text(policy_text(students), encoding="utf-8")
    (directory / PROGRAM_FILE).write_text(PROGRAM, encoding="utf-8")
    patients = list(make_patients())
    _write_parquet(directory / "patient.parquet", patients)
    _write_table(directory / "visit.csv", VISIT, make_visits(str(row[0]) for row in patients))
    _write_table(directory / "region.csv", REGION, _REGIONS)
    return True


def _check_ours(directory: Path) -> None:
    """Files of the same names that the demo did not write are never written over."""
    found = [name for name in FILES if (directory / name).exists()]
    policy = directory / POLICY_FILE
    if found and not (policy.exists() and policy.read_text(encoding="utf-8").startswith(_OURS)):
        raise InputError(
            f'directory "{directory}" holds files that the demo did not write',
            detail=f"Found {', '.join(found)} without the demo's own {POLICY_FILE}.",
            hint="Name an empty directory, or one that does not exist yet.",
        )


def make_patients() -> Iterator[tuple[object, ...]]:
    """One row for each person; a few salaries are not known."""
    draw = _Numbers("patient")
    for number in range(PEOPLE):
        age = (draw.below(91) + draw.below(91)) // 2 + draw.below(10)
        pay = 0 if age < 18 else 14_000 + age * draw.below(500) + draw.below(20_000)
        salary = "" if draw.below(40) == 0 else pay
        disease = DISEASES[draw.weighted((35, 25, 17, 13, 10))]
        admitted = date(2015, 1, 1) + timedelta(days=draw.below(3990))
        street = f"{1 + draw.below(120)} {draw.pick(_STREETS)}"
        zipcode = 75_000 + draw.below(1000)
        ssn = f"000-{number // 10_000:02}-{number % 10_000:04}"
        yield ssn, age, disease, salary, zipcode, admitted, draw.pick(AREAS), street


def make_visits(people: Iterable[str]) -> Iterator[tuple[object, ...]]:
    """Between no visit and sixty for each person: about one in thirty has more than the policy's twenty."""
    draw = _Numbers("visit")
    for ssn in people:
        count = draw.below(12) if draw.below(20) else 12 + draw.below(49)
        for _ in range(count):
            cents = 2_000 + draw.below(18_000) + (draw.below(75_000) if draw.below(8) == 0 else 0)
            day = date(2023, 1, 1) + timedelta(days=draw.below(1096))
            yield ssn, f"{cents // 100}.{cents % 100:02}", day, draw.pick(CITIES), draw.pick(_NOTES)


class _Numbers:
    """Whole numbers from SHA-256 of a name and a counter. They choose sample rows, never noise."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._counter = 0

    def below(self, limit: int) -> int:
        """A number from 0 to limit - 1."""
        digest = hashlib.sha256(f"{self._name} {self._counter}".encode()).digest()
        self._counter += 1
        return int.from_bytes(digest[:8], "big") % limit

    def pick(self, values: Sequence[str]) -> str:
        return values[self.below(len(values))]

    def weighted(self, weights: Sequence[int]) -> int:
        """An index, each as likely as its weight says."""
        point = self.below(sum(weights))
        return next(i for i in range(len(weights)) if point < sum(weights[: i + 1]))


def _write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def _write_parquet(path: Path, patients: Iterable[Sequence[object]]) -> None:
    """Rows as Parquet, by way of a text file and DuckDB."""
    import duckdb

    columns = ", ".join(f"{string(name)}: {string(kind)}" for name, kind in zip(PATIENT, TYPES, strict=True))
    with tempfile.TemporaryDirectory(prefix="sfumato-") as temporary, duckdb.connect() as connection:
        plain = Path(temporary) / "patient.csv"
        _write_table(plain, PATIENT, patients)
        source = f"read_csv({string(str(plain))}, header = true, columns = {{{columns}}})"
        connection.execute(f"COPY (SELECT * FROM {source}) TO {string(str(path))} (FORMAT parquet)")
