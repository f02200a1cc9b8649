"""A finite channel: any matrix of probabilities, sampled exactly, and its exact epsilon under any metric."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting import Pure
from sfumato.errors import InputError
from sfumato.mechanisms.base import as_distance, as_integers, opened, pure_loss
from sfumato.mechanisms.inputs import as_rational, is_plain_number
from sfumato.mechanisms.metrics import Distance, Metric, distances, is_zero
from sfumato.pictures import heat
from sfumato.reals import Real, as_real, ln, round_up
from sfumato.sampling import CutTable, choice_table, source
from sfumato.types import Loss, as_written, show, whole

_BITS = 160


@dataclass(frozen=True, eq=False)
class Channel:
    """Return output y for input x with probability matrix[x][y]; inputs and outputs have names, or are numbered from 0.
    `approximate` says that the numbers came as floats; they are exact from there on.

    Guarantee: under the metric d, two inputs cost at most epsilon(d) times their distance; with no metric named, any
        two inputs are at distance 1.
    Proof: epsilon(d) is the largest ln(matrix[x][y] / matrix[x'][y]) / d(x, x'), over all pairs and outputs, rounded
        up.
    Reference: Chatzikokolakis, Andres, Bordenabe, Palamidessi, PETS 2013 (metric privacy).
    Checked by: laws::channel_epsilon_is_the_stated_one, laws::loss_is_sup_of_log_ratio, laws::channel_rows_are_sampled
    """

    matrix: tuple[tuple[Fraction | Real, ...], ...]
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    approximate: bool

    def __init__(
        self,
        matrix: Sequence[Sequence[Any]],
        inputs: Sequence[Any] | None = None,
        outputs: Sequence[Any] | None = None,
        *,
        approximate: bool = False,
    ) -> None:
        rows = tuple(tuple(_entry(p) for p in row) for row in matrix)
        if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
            raise InputError("a channel is a matrix: rows of one length, at least one row and one column")
        for x, row in enumerate(rows):
            _check_row(x, row)
        object.__setattr__(self, "matrix", rows)
        object.__setattr__(self, "inputs", _names(inputs, len(rows), "input"))
        object.__setattr__(self, "outputs", _names(outputs, len(rows[0]), "output"))
        object.__setattr__(self, "approximate", approximate)

    @property
    def event(self) -> Pure:
        """One release, for the accountant: any two inputs may be neighbours."""
        epsilon = self.epsilon()
        if not epsilon:
            raise InputError(
                "this channel cannot be charged",
                detail="Its epsilon is infinite." if epsilon is None else "Its rows are equal: it reveals nothing.",
            )
        return Pure(epsilon)

    def loss(self, distance: Any, metric: Metric = None) -> Loss:
        """What one release costs if neighbours are at most `distance` apart in the metric."""
        epsilon = self.epsilon(metric)
        number = as_distance(distance)
        return Loss(None, None) if epsilon is None and number else pure_loss((epsilon or Fraction(0)) * number)

    def release(self, value: Any) -> Any:
        """An output for the input, or one for each input of an array of those that are counted from 0."""
        if self._named:
            return self.outputs[self._tables[self._index(opened(value))].draw(source())]
        inputs = as_integers(value)
        if isinstance(inputs, int):
            return self._draw(inputs)
        drawn = [self._draw(x) for x in inputs.ravel().tolist()]
        return np.array(drawn, np.int64).reshape(inputs.shape)

    @cached_property
    def _named(self) -> bool:
        return self.inputs != tuple(range(len(self.inputs))) or self.outputs != tuple(range(len(self.outputs)))

    @cached_property
    def _indexes(self) -> dict[tuple[type[Any], Any], int]:
        return {_key(name): x for x, name in enumerate(self.inputs)}

    def _index(self, value: Any) -> int:
        """The row of an input by its name, which must be of the name's own type."""
        key = _key(value)
        try:
            found = self._indexes.get(key) if key[0] in {kind for kind, _ in self._indexes} else None
        except TypeError:  # a tuple of something that has no hash
            found = None
        if found is None:
            raise InputError("this is not an input of the channel", hint="They are listed in `inputs`.")
        return found

    def _draw(self, x: int) -> int:
        if not 0 <= x < len(self.matrix):
            raise InputError(f"an input of this channel is a whole number from 0 to {len(self.matrix) - 1}")
        return self._tables[x].draw(source())

    @cached_property
    def _tables(self) -> list[CutTable]:
        return [choice_table(row) for row in self.matrix]

    def mass(self, output: int, value: int) -> Real:
        """The probability of an output for an input, both counted from 0."""
        return as_real(self.matrix[whole(value, "value", 0)][whole(output, "output", 0)])

    def column(self, output: Any) -> tuple[Fraction | Real, ...]:
        """The probabilities of an output, by its name, for all inputs."""
        if output not in self.outputs:
            raise InputError(
                "this is not an output of the channel",
                detail=f"It was {output!r}; there are {len(self.outputs)}, such as {self.outputs[0]!r}.",
            )
        y = self.outputs.index(output)
        return tuple(row[y] for row in self.matrix)

    def epsilon(self, metric: Metric = None) -> Fraction | None:
        """The least epsilon under the metric, rounded up to a multiple of 1e-15; None where no finite one will do.

        The metric is a word, a function of two inputs or a matrix; two inputs at distance 0 must have equal rows.
        """
        worst = self.witness(metric)
        return Fraction(0) if worst is None else worst[3]

    def witness(self, metric: Metric = None) -> tuple[int, int, int, Fraction | None] | None:
        """(x, x', y, epsilon), counted from 0: the pair and the output that need the most; None for equal rows."""
        apart = distances(metric, self.inputs)
        found: tuple[int, int, int, Fraction | None] | None = None
        for x in range(len(self.matrix)):
            for other in range(len(self.matrix)):
                if x == other or (ratio := self.ratio(x, other)) is None:
                    continue
                y, most = ratio
                needed = None if most is None else needed_epsilon(most, apart[x][other])
                if needed is None:
                    return x, other, y, None
                if found is None or needed > (found[3] or 0):
                    found = x, other, y, needed
        return found

    def ratio(self, x: int, other: int, among: Sequence[int] | None = None) -> tuple[int, Fraction | None] | None:
        """The output with the largest matrix[x][y]/matrix[other][y] above 1, and that ratio from above; None if none
        is. Counted from 0; the ratio is None where the other cannot give this output. `among` leaves outputs out.
        """
        best: tuple[int, int, int] | None = None
        top, bottom = 1, 1
        above, below = self._ends[1][x], self._ends[0][other]
        for y in range(len(above)) if among is None else among:
            (a, b), (c, d) = above[y], below[y]
            if a == 0:
                continue
            if c == 0:
                return y, None
            high, low = a * d, b * c  # fractions are compared across, and only the largest is reduced
            if high * bottom > top * low:
                top, bottom = high, low
                best = y, high, low
        return None if best is None else (best[0], Fraction(best[1], best[2]))

    def logarithms(self) -> NDArray[np.float64]:
        """The logarithms of all entries as floats, right to about 1e-12: for looking, not for deciding."""
        return np.array([[_log(a) for a in row] for row in self._ends[1]])

    def picture(self, title: str = "A channel") -> str:
        """The matrix as a heat map, in SVG."""
        names = [[_shown(one) for one in side] for side in (self.inputs, self.outputs)]
        return heat([[float(p) for p in row] for row in self.matrix], *names, title=title)

    def _repr_html_(self) -> str:
        return self.picture()

    @cached_property
    def _ends(self) -> tuple[list[list[tuple[int, int]]], list[list[tuple[int, int]]]]:
        """Lower and upper ends of every entry, as two whole numbers; a fraction is its own."""
        ends = [[_ends(p) for p in row] for row in self.matrix]
        return (
            [[a.as_integer_ratio() for a, _ in row] for row in ends],
            [[b.as_integer_ratio() for _, b in row] for row in ends],
        )


def _log(ratio: tuple[int, int]) -> float:
    return math.log(ratio[0]) - math.log(ratio[1]) if ratio[0] else -math.inf


def _entry(p: Any) -> Fraction | Real:
    if isinstance(p, Real):
        return p
    number = as_written(p, "probability")
    if not 0 <= number <= 1:
        raise InputError(f"a probability lies between 0 and 1, but is {show(number)}")
    return number


def _check_row(x: int, row: tuple[Fraction | Real, ...]) -> None:
    rational = [p for p in row if not isinstance(p, Real)]
    if len(rational) == len(row):
        if sum(rational) != 1:
            raise InputError(f"row {x} of the channel must add up to 1, but adds up to {show(sum(rational))}")
        return
    ends = [as_real(p).enclose(_BITS) for p in row]
    if not sum(a for a, _ in ends) <= 1 << _BITS <= sum(b for _, b in ends):
        raise InputError(f"row {x} of the channel must add up to 1")


def _ends(p: Fraction | Real) -> tuple[Fraction, Fraction]:
    if not isinstance(p, Real):
        return p, p
    for bits, low, high in p.refinements():
        if high == 0 or (low > 0 and (high - low) << 120 < low):
            return Fraction(low, 1 << bits), Fraction(high, 1 << bits)
    raise AssertionError("unreachable")


def _key(name: Any) -> tuple[type[Any], Any]:
    """The name of an input, with its type: 1 and True are two names, and 1 and Fraction(1) are one."""
    if is_plain_number(name):
        return Fraction, Fraction(as_rational(name))
    return type(name), name


def _shown(name: Any) -> str:
    if isinstance(name, tuple):
        return "(" + ", ".join(_shown(part) for part in name) + ")"
    return show(name) if isinstance(name, Fraction) else str(name)


def needed_epsilon(ratio: Fraction, distance: Distance) -> Fraction | None:
    """The least epsilon that allows this ratio above 1 at this distance, rounded up; None at distance 0."""
    return None if is_zero(distance) else round_up(ln(ratio) / distance)


def _names(given: Sequence[Any] | None, count: int, what: str) -> tuple[Any, ...]:
    if given is None:
        return tuple(range(count))
    names = tuple(tuple(one) if isinstance(one, list) else one for one in given)
    if len(names) != count or len(set(names)) != count:
        raise InputError(
            f"a channel needs one name for each {what}, and no name twice",
            detail=f"It has {count} {what}s and {len(set(names))} names.",
        )
    return names
