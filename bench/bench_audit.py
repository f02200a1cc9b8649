"""CPU time of an audit with 100,000 samples, of every mechanism and of some that are known to be wrong.

Samples are the certifying runs of each side; the search for a pair and an event comes on top. The aim is 2 s each.
"""

from __future__ import annotations

import time
from fractions import Fraction

from tests.attacks import wrong

from sfumato.audit import AuditVerdict, Subject, audit, of_function, of_mechanism
from sfumato.mechanisms import MECHANISMS

SAMPLES, AIM = 100_000, 2.0
WITH_DELTA = {"Gaussian", "KeySelection", "GaussianKeySelection"}


def timed(subject: Subject, claim: Fraction, delta: Fraction = Fraction(0)) -> tuple[float, AuditVerdict]:
    start = time.process_time()
    verdict = audit(subject, claim, delta, SAMPLES)
    return time.process_time() - start, verdict


def line(name: str, seconds: float, verdict: AuditVerdict) -> None:
    word = "refuted" if verdict.refuted else "consistent"
    print(f"{name:32} {seconds:6.2f} s  {seconds / AIM:5.2f} of the aim  {word:10}  epsilon >= {verdict.epsilon:.3f}")


def main() -> None:
    for name in MECHANISMS:
        delta = Fraction(1, 100) if name in WITH_DELTA else Fraction(0)
        line(name, *timed(of_mechanism(name, Fraction(1), delta), Fraction(1), delta))
    print()
    others = {
        "Laplace at 0.9 of its scale": (wrong.laplace(0.9), "number", 1),
        "noisy max that returns the value": (wrong.noisy_max_value(2), "all", 1),
        **{name: (function, "all", claim) for name, (function, claim) in wrong.SPARSE.items()},
    }
    for name, (function, adjacent, claim) in others.items():
        line(name, *timed(of_function(function, adjacent), Fraction(claim)))


if __name__ == "__main__":
    main()
