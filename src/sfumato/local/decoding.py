"""Reports in, estimates out, batch by batch: what the command line, the console and Python share.

Comes in: a task and reports in any order, in batches. Goes out: an estimate with its interval for every value. Reports
that no device can have sent are counted and left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.errors import InputError
from sfumato.local.base import Tally
from sfumato.local.estimates import Estimated, estimate_shares
from sfumato.local.means import estimate_mean
from sfumato.local.poisoning import (
    bound_mean_poisoning,
    bound_poisoning,
    bound_post_poisoning,
    bound_rappor_poisoning,
    check_fakes,
)
from sfumato.local.rappor import Rappor
from sfumato.local.sketch import CountMeanSketch, PrefixExtending
from sfumato.local.strings import discover, estimate_rappor_tally, estimate_sketch, is_screened
from sfumato.local.tape import Octets
from sfumato.local.task import LocalTask
from sfumato.types import certainty


def read_candidates(path: Path) -> list[str]:
    """The lines of a file, each once."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InputError(f'"{path.name}" is not UTF-8 text', hint="Save it as UTF-8.") from None
    return list(dict.fromkeys(line for line in lines if line))


class ReportTally:
    """What many reports add up to. Reports themselves are kept only where a decoder reads them more than once."""

    def __init__(self, task: LocalTask, candidates: Sequence[str] | None = None) -> None:
        self.task, self.candidates = task, None if candidates is None else list(candidates)
        self.reports = self.malformed = 0
        self._tally: Tally | None = None
        self._kept: list[Octets] = []
        self._keeps = isinstance(task.encoder, PrefixExtending)

    def _is_screened(self) -> bool:
        encoder = self.task.encoder
        return isinstance(encoder, Rappor) and is_screened(encoder, len(self.candidates or ()))

    def add(self, reports: Octets) -> None:
        """Count a batch, one report a row."""
        if reports.ndim != 2 or reports.shape[1] != self.task.encoder.width:
            raise InputError(f"a report of this task has {self.task.encoder.width} bytes")
        good = self.task.encoder.valid(reports)
        if not good.all():
            self.malformed += int((~good).sum())
            reports = reports[good]
        self.reports += len(reports)
        if self._keeps:
            self._kept.append(reports)
            return
        added = self.task.encoder.tally(reports)
        self._tally = added if self._tally is None else self._tally + added

    def add_bytes(self, rows: Sequence[bytes]) -> None:
        """Count reports as byte strings; those of another length are malformed."""
        width = self.task.encoder.width
        good = [row for row in rows if len(row) == width]
        self.malformed += len(rows) - len(good)
        if good:
            self.add(np.frombuffer(b"".join(good), np.uint8).reshape(len(good), width))

    def estimates(
        self,
        *,
        population: str = "fixed",
        confidence: object = 0.95,
        post: str = "none",
        correction: str = "holm",
    ) -> list[Estimated]:
        """One for every value or candidate; one for a mean."""
        encoder: Any = self.task.encoder
        if not self.reports:
            raise InputError("there are no reports")
        if correction != "holm" and not isinstance(encoder, Rappor):
            raise InputError("the correction can be chosen for rappor only")
        if encoder.takes == "strings":
            if post != "none":
                raise InputError("post-processing is for a declared list of values")
            return self._strings(encoder, population, confidence, correction)
        assert self._tally is not None
        if encoder.takes == "numbers":
            low, width = float(self.task.low or 0), float((self.task.high or 0) - (self.task.low or 0))
            ends = estimate_mean(encoder, self._tally, population=population, confidence=confidence)
            return [Estimated("mean", *(low + width * end for end in ends))]
        words: Any = {"population": population, "confidence": confidence, "post": post}
        return estimate_shares(encoder, self._tally, self.task.labels, **words)

    def moved_by(self, fake: int, post: str = "none") -> tuple[float, float]:
        """How far so many fake reports among these could have moved an estimate, down and up, after this
        post-processing.
        """
        encoder: Any = self.task.encoder
        if isinstance(encoder, PrefixExtending):  # shares are those of the longest prefixes
            n = int(encoder.tally(np.concatenate(self._kept))[-1]) if self._kept else 0
            check_fakes(self.reports, fake)
            return bound_poisoning(encoder.worth, n, min(fake, n)) if n else (0.0, 0.0)
        if encoder.takes == "numbers":
            down, up = bound_mean_poisoning(encoder, self.reports, fake)
            width = float((self.task.high or 0) - (self.task.low or 0))
            return width * down, width * up
        if not isinstance(encoder, Rappor):
            if encoder.takes == "values":
                return bound_post_poisoning(encoder, self.reports, fake, post)
            return bound_poisoning(encoder.worth, self.reports, fake)
        if self._tally is None or not self.candidates or self._is_screened():
            raise InputError(
                "the effect of fake reports is not bounded for so many candidates",
                detail="One half of the cohorts selects the candidates that the other half tests.",
                hint=f"Look for fewer than {encoder.cohorts * encoder.filter // 2} candidates.",
            )
        moved = bound_rappor_poisoning(encoder, self._tally, self.candidates, fake)
        return -moved, moved

    def _strings(self, encoder: Any, population: str, confidence: object, correction: str) -> list[Estimated]:
        if isinstance(encoder, PrefixExtending):
            return discover(
                encoder, np.concatenate(self._kept), population=population, level=1 - float(certainty(confidence))
            )
        if not self.candidates:
            raise InputError(f"{encoder.name} needs candidates to look for", hint="--candidates FILE names them.")
        words: Any = {"population": population, "confidence": confidence}
        if isinstance(encoder, CountMeanSketch):
            assert self._tally is not None
            return estimate_sketch(encoder, self._tally, self.candidates, **words)
        assert self._tally is not None
        return estimate_rappor_tally(encoder, self._tally, self.candidates, correction=correction, **words)
