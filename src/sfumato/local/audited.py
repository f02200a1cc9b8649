"""Tasks as subjects of an audit: the encoder of a task as a black box, and two of its inputs as neighbours.

Comes in: a task. Goes out: what `sfumato.audit` runs. A report is one number where there are few, else a list of bits;
both are post-processing, so no report can be accused that is innocent. Of reports that name one of very many hash
functions (local hashing, sketches) single bits say little: an audit of these finds less than there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.audit import Subject, of_function
from sfumato.local.tape import SystemTape
from sfumato.local.task import LocalTask

_PILOT = 2000
"""Reports from which the bits are chosen that differ most between two inputs."""
_BITS = 48
_WHOLE = 2
"""Reports of so many bytes are numbers."""


def of_task(task: LocalTask) -> Subject:
    """The encoder that a task describes, on pairs of its inputs: all inputs of a device are neighbours."""
    encoder = task.encoder
    values = _inputs(task)
    bits = _telling_bits(encoder, values)

    def report(value: Any, size: int) -> Any:
        rows = encoder.encode(_many(encoder, value, size), SystemTape())
        if encoder.width <= _WHOLE:
            return rows.astype(np.int64) @ (1 << 8 * np.arange(encoder.width))
        return np.unpackbits(rows, axis=1, bitorder="little")[:, bits].astype(np.int64)

    report.pairs = [(values[0], values[-1]), (values[-1], values[0]), (values[0], values[1])]  # type: ignore[attr-defined]
    return of_function(report, name=f"task {task.name}")


def _inputs(task: LocalTask) -> Sequence[Any]:
    """The ends of the domain and what is beside one of them; texts for an encoder that takes any."""
    encoder = task.encoder
    if encoder.takes == "strings":
        return ["a", "b", "c"]
    last = encoder.size - 1 if encoder.takes == "values" else encoder.grid
    return sorted({0, min(1, last), last})


def _many(encoder: Any, value: Any, size: int) -> Any:
    return [value] * size if encoder.takes == "strings" else np.full(size, value, np.int64)


def _telling_bits(encoder: Any, values: Sequence[Any]) -> Any:
    """Places of a report at which two inputs differ most often, from runs of their own."""
    first, last = (
        np.unpackbits(encoder.encode(_many(encoder, value, _PILOT), SystemTape()), axis=1, bitorder="little").mean(
            axis=0
        )
        for value in (values[0], values[-1])
    )
    return np.sort(np.argsort(-np.abs(first - last), kind="stable")[:_BITS])
