"""The sparse vector: many questions, few alarms, one price; with the gap, which comes free."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting import Pure
from sfumato.errors import BudgetError, InputError
from sfumato.mechanisms.base import as_count, as_distance, as_integers, has_room, pure_loss, with_noise
from sfumato.mechanisms.inputs import as_integer
from sfumato.mechanisms.parameters import AsFraction, AsWhole
from sfumato.sampling import epoch, sample_laplace
from sfumato.types import Loss, positive, whole


@dataclass(frozen=True)
class SparseVector:
    """Report for each integer whether it reaches a threshold, and by how much; stop after `positives` positive answers.

    Guarantee: if every number of the stream moves by at most `distance` between neighbours, the whole session costs
        epsilon distance / sensitivity, however many numbers are asked about, chosen one after the other.
    Proof: let d be the distance, T the noisy threshold, drawn once. Move the threshold's noise up by d: every "no"
        stays "no", as a number rises by at most d. Move the noise of each of the c numbers that said yes by d plus what
        the number fell, at most 2d: the gap, hence the yes, stays the same. Price d/scale_t + 2 c d/scale_q, both set
        so that this is epsilon at d = sensitivity. If all numbers move the same way (`monotone`), either the threshold
        stays and the noise moves by at most d, or the threshold moves by d and the noise by at most d: d/scale_t + c
        d/scale_q. All shifts are whole, so the discrete noise has them.
    Reference: Lyu, Su, Li, PVLDB 2017 (algorithm 7 and the split); Ding, Wang, Zhang, Kifer, PVLDB 2019 (the free gap).
    Checked by: laws::sparse_vector_transcripts_are_private, laws::sparse_vector_stops,
        laws::sparse_vector_does_not_survive_a_fork, laws::threads_share_the_positives,
        laws::sessions_at_once_have_the_law_of_one, verify::certificates_of_the_library_hold
    """

    sensitivity: AsFraction = AsFraction()
    epsilon: AsFraction = AsFraction()
    positives: AsWhole = AsWhole(1)
    monotone: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitivity", positive(self.sensitivity, "sensitivity"))
        object.__setattr__(self, "epsilon", positive(self.epsilon, "epsilon"))
        object.__setattr__(self, "positives", whole(self.positives, "positives", 1))

    @cached_property
    def _parts(self) -> tuple[Fraction, Fraction]:
        """Epsilon for the threshold and for the numbers, as 1 to (2c)^(2/3), or c^(2/3) if monotone, to three
        digits.
        """
        moves = self.positives if self.monotone else 2 * self.positives
        weight = 1
        while (weight + 1) ** 3 <= moves * moves * 10**9:  # 1000 (moves)^(2/3), by halving steps
            jump = 1
            while (weight + 2 * jump) ** 3 <= moves * moves * 10**9:
                jump *= 2
            weight += jump
        share = self.epsilon / (1 + Fraction(weight, 1000))
        return share, self.epsilon - share

    @property
    def threshold_scale(self) -> Fraction:
        """Scale of the noise on the threshold."""
        return self.sensitivity / self._parts[0]

    @property
    def number_scale(self) -> Fraction:
        """Scale of the noise on each number."""
        moves = self.positives if self.monotone else 2 * self.positives
        return moves * self.sensitivity / self._parts[1]

    @property
    def event(self) -> Pure:
        """One whole session, for the accountant."""
        return Pure(self.epsilon)

    def loss(self, distance: Any) -> Loss:
        """What a whole session costs if every number moves by at most `distance`."""
        return pure_loss(self.epsilon * as_distance(distance) / self.sensitivity)

    def start(self, threshold: Any) -> Session:
        """A session with this threshold, a public number."""
        return Session(self, whole(threshold, "threshold"))

    def release(self, values: Any, threshold: Any = 0, count: int | None = None) -> Any:
        """The answers to a list of numbers, as far as the session goes: None for no, the gap for yes.

        With `count`, that many sessions at once, each at its own cost: two arrays with a row for each session, the
        answers (1 yes, 0 no, -1 after its end) and the gaps (0 where the answer is not yes).
        """
        numbers, count = as_integers(values), as_count(count)
        if not isinstance(numbers, int) and numbers.ndim != 1:
            raise InputError("give a list of whole numbers")
        listed = [numbers] if isinstance(numbers, int) else numbers.tolist()
        session = Session(self, whole(threshold, "threshold"), 1 if count is None else count)
        columns = [session.ask_all(number) for number in listed]
        if count is not None:
            nothing = np.empty((count, 0), np.int64)
            return tuple(np.stack(parts, axis=1) for parts in zip(*columns, strict=True)) or (nothing, nothing)
        return [int(gap[0]) if said[0] else None for said, gap in columns if said[0] >= 0]


class Session:
    """One pass of the sparse vector: ask until it has said yes often enough; or many passes over the same numbers.

    Threads may share a session: answers are given one after the other, so that together they hear yes as often as one
    thread would. A question that interrupts another of the same thread (a signal handler) is refused.
    """

    def __init__(self, law: SparseVector, threshold: int, count: int = 1) -> None:
        self._law = law
        self._epoch = epoch()
        self._lock = threading.RLock()
        self._answering = False
        self._threshold = with_noise(_same(threshold, count), lambda n: sample_laplace(law.threshold_scale, n))
        self._left = np.full(count, min(law.positives, 1 << 62), np.int64)  # nobody hears yes so often

    @property
    def finished(self) -> bool:
        """Nothing more can be asked."""
        return not self._left.any()

    def ask(self, value: Any) -> int | None:
        """None if the number seems to be below the threshold, else by how much it seems to be above it."""
        number = as_integers(value)
        if not isinstance(number, int):
            raise InputError("ask about one number at a time")
        with self._turn():
            if self.finished:
                raise BudgetError(
                    "the session has given all of its positive answers",
                    detail=f"It was started for {self._law.positives}.",
                    hint="Start a new session, at its own cost.",
                )
            said, gap = self._answer(number)
        return int(gap[0]) if said[0] else None

    def ask_all(self, value: Any) -> tuple[NDArray[np.int8], NDArray[Any]]:
        """What each pass says (1 yes, 0 no, -1 where it has ended), and the gap where that is yes."""
        number = as_integer(value)
        with self._turn():
            return self._answer(number)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """One question at a time, in the process that started the session."""
        if epoch() is not self._epoch:  # before the lock, which a fork may have left taken
            raise InputError(
                "a session of the sparse vector cannot continue in a forked process", hint="Start a new session."
            )
        with self._lock:
            if self._answering:
                raise InputError("the session is answering another query of this thread", hint="Ask again after it.")
            self._answering = True
            try:
                yield
            finally:
                self._answering = False

    def _answer(self, number: int) -> tuple[NDArray[np.int8], NDArray[Any]]:
        """Noise is drawn for all passes, and dropped where one has ended."""
        noisy = with_noise(_same(number, self._left.size), lambda n: sample_laplace(self._law.number_scale, n))
        gap = noisy.astype(object) - self._threshold if self._is_wide(noisy) else noisy - self._threshold
        open_, above = self._left > 0, (gap >= 0).astype(bool)
        yes = open_ & above
        self._left -= yes
        return np.where(open_, yes, -1).astype(np.int8), np.where(yes, gap, 0)

    def _is_wide(self, noisy: NDArray[Any]) -> bool:
        wide = object in (noisy.dtype, self._threshold.dtype)
        return wide or not (has_room(noisy) and has_room(self._threshold))

    def __repr__(self) -> str:
        return f"<session of {self._law!r}, {int(self._left.sum())} left>"

    def __reduce__(self) -> Any:
        raise TypeError("a session holds a secret threshold and is not stored")


def _same(number: int, count: int) -> NDArray[Any]:
    return as_integers(np.full(count, number, object))  # type: ignore[no-any-return]
