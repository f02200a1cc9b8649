"""The demo's survey: a task for the collector, and reports of made-up visitors so that there is something to see."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from sfumato.local.collecting import ID, Collection, install
from sfumato.local.kary import KAryResponse
from sfumato.local.tape import SystemTape
from sfumato.local.task import planned_task

NAME = "travel"
ANSWERS = {"on foot": 180, "by bicycle": 240, "by bus or train": 390, "by car": 190}
"""What 1,000 made-up visitors would have answered."""


def write_survey(state: Path) -> str:
    """Install the task, with the visitors' reports if there are none yet; its name."""
    task = planned_task(
        NAME,
        KAryResponse.planned(len(ANSWERS), "ln 3"),
        values=tuple(ANSWERS),
        question="How did you come here today?",
        minimum_batch=10,
    )
    install(state, task.to_toml())
    held = Collection(state / "collect" / NAME)
    if not held.stored:
        reports = task.encoder.encode(np.repeat(np.arange(len(ANSWERS)), list(ANSWERS.values())), SystemTape())
        held.commit([(os.urandom(ID), report.tobytes()) for report in reports])
    return NAME
