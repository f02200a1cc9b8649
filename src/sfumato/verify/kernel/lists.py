"""Verify, kernel: elements of lists whose length is known. Comes in: a list and a place, or a list of bits. Goes out: a
value in both runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.verify.kernel.inputs import PairedInputs
from sfumato.verify.kernel.polynomial import number
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.kernel.values import Input, PairedNumber, Value

if TYPE_CHECKING:
    from sfumato.verify.kernel.evaluate import Evaluator, State


def element_of(runs: Evaluator, items: tuple[Value, ...], place: PairedNumber, *, at: int, state: State) -> Value:
    """An element of a list of the program; where its place is not known, of a list of numbers."""
    found = place.one.constant
    if found is not None and place.two.constant == found and 0 <= found < len(items):
        return items[int(found)]
    numbers = [item for item in items if isinstance(item, PairedNumber)]
    if not numbers or len(numbers) < len(items) or runs.proving:
        raise NoProofRule("a list of the program is read by a number")
    last = number(len(items) - 1)
    low = runs.compare(place, ">=", state)
    high = runs.compare(PairedNumber(place.one - last, place.two - last, True), "<=", state)
    inside = (runs.terms.all_of((low[0], high[0])), runs.terms.all_of((low[1], high[1])))
    runs.safe("the index lies in the list", at, state, inside)
    one, two = numbers[-1].one, numbers[-1].two
    for k, item in reversed(list(enumerate(numbers[:-1]))):
        here = runs.compare(PairedNumber(place.one - number(k), place.two - number(k), True), "=", state)
        one, two = runs.terms.choose(here[0], item.one, one), runs.terms.choose(here[1], item.two, two)
    return PairedNumber(one, two, all(item.whole for item in numbers))


def number_of_bits(inputs: PairedInputs, bits: Value) -> PairedNumber:
    """The number of a bit list of the input, most significant first."""
    if not isinstance(bits, Input) or bits.type.kind != "bits":
        raise NoProofRule("int is of bit lists of the input")
    length = inputs.size(bits).one.constant
    if length is None or not 0 <= length <= 64:
        raise NoProofRule("int is of at most 64 bits")
    found = PairedNumber(number(0), number(0), True)
    for place in range(int(length)):
        bit = inputs.read(bits, PairedNumber(number(place), number(place), True))
        assert isinstance(bit, PairedNumber)
        found = PairedNumber(found.one * number(2) + bit.one, found.two * number(2) + bit.two, True)
    return found
