"""The collector: reports of devices come in by HTTP, are on the disk before they are acknowledged, and stay anonymous.

Comes in: {"reports": [{"id": …, "report": …}]}, both in base64, from anybody. Goes out: how many were new. Reports that
arrive together are stored together: one write to the disk acknowledges all of them. Nothing about the sender is kept.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from sfumato.errors import InputError, LedgerError, QueryError
from sfumato.local.collecting import HOME, ID, Collection, Record, collections
from sfumato.local.decoding import ReportTally, read_candidates
from sfumato.local.estimates import POPULATIONS, Estimated
from sfumato.local.task import NAME
from sfumato.server.http.authentication import AuthenticatedUser
from sfumato.server.http.request_bodies import check_names, parse, read_bytes
from sfumato.server.http.response_bodies import reply, wanted
from sfumato.server.http.server_state import HttpServerState

MOST = 10_000
"""Reports in one request."""
CANDIDATES = "candidates.txt"
"""In a task's directory: the texts that the console's estimate looks for, one on each line."""
TOML = "application/toml"


class Intake:
    """Waiting reports on one task. While some are written, others gather, and are written together next."""

    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        self._waiting: list[tuple[list[Record], asyncio.Future[list[bool]]]] = []
        self._writing: asyncio.Task[None] | None = None
        self._counting, self._counted = threading.Lock(), 0
        self._tally = ReportTally(collection.task)
        self._listed: int | None = None

    @property
    def searched(self) -> bool:
        """Whether its reports are on texts that an estimate has to look for."""
        return self.collection.task.encoder.takes == "strings" and self.collection.task.mechanism != "prefix"

    def estimates(self, population: str) -> list[Estimated]:
        """From all complete batches; those that were counted before are not read again, for they do not change."""
        with self._counting:
            if self.searched:
                self._list_candidates()
            for path in self.collection.paths()[self._counted :]:
                for batch in self.collection.read(path):
                    self._tally.add_bytes(batch)
                self._counted += 1
            ready = self._tally.reports and (not self.searched or self._tally.candidates)
            return self._tally.estimates(population=population) if ready else []

    def _list_candidates(self) -> None:
        """Count anew where the list of candidates was written since."""
        file = self.collection.place / CANDIDATES
        written = file.stat().st_mtime_ns if file.is_file() else None
        if written == self._listed:
            return
        listed = None if written is None else read_candidates(file)
        self._listed, self._counted, self._tally = written, 0, ReportTally(self.collection.task, listed)

    def store(self, records: list[Record]) -> asyncio.Future[list[bool]]:
        """Which were new, once they are on the disk."""
        done: asyncio.Future[list[bool]] = asyncio.get_running_loop().create_future()
        self._waiting.append((records, done))
        if self._writing is None:
            self._writing = asyncio.ensure_future(self._write())
        return done

    async def _write(self) -> None:
        try:
            while self._waiting:
                taken, self._waiting = self._waiting, []
                together = [record for records, _ in taken for record in records]
                try:
                    fresh = await asyncio.to_thread(self.collection.commit, together)
                except Exception as error:  # noqa: BLE001  whoever waits must hear of it, whatever it was
                    for _, done in taken:
                        done.set_exception(_unstored(error) if isinstance(error, OSError) else error)
                    continue
                for records, done in taken:
                    done.set_result(fresh[: len(records)])
                    fresh = fresh[len(records) :]
        finally:
            self._writing = None


def _unstored(error: OSError) -> LedgerError:
    detail = (error.strerror or type(error).__name__).capitalize()
    return LedgerError("the report could not be stored", detail=f"{detail}.", hint="Send it again, under the same id.")


_INTAKES: dict[str, tuple[int, Intake]] = {}
"""By the task's file, with the moment at which it was written: a task that was changed is read anew."""


def intake_of(office: HttpServerState, name: str) -> Intake:
    """Where reports on a task go; an error where there is none of this name."""
    file = f"{office.gate.policy.data.state}/{HOME}/{name}/task.toml"
    try:
        written = os.stat(file).st_mtime_ns if NAME.fullmatch(name) else None  # noqa: PTH116  once a report
    except OSError:
        written = None
    if written is None:
        _INTAKES.pop(file, None)
        hint = "`sfumato local collect --task FILE` adds one."
        raise QueryError("there is no such task", sqlstate="42704", hint=hint)
    if file not in _INTAKES or _INTAKES[file][0] != written:
        _INTAKES[file] = written, Intake(Collection(Path(file).parent))
    return _INTAKES[file][1]


async def collect(office: HttpServerState, request: Request) -> Response:
    """Store reports; the same id is counted once."""
    wanted(request)
    intake = intake_of(office, request.path_params["task"])
    try:
        intake.collection.task.check_open()
    except InputError as error:
        raise QueryError(error.message, sqlstate="55000") from None
    body = await read_bytes(request, office.limits.body, office.limits.body_seconds)
    records = await office.read(lambda: records_of(parse(body), intake.collection.task.encoder))
    return summary(await asyncio.shield(intake.store(records)))


def summary(fresh: list[bool]) -> Response:
    """What a device is told: which of its reports were new."""
    return reply({"accepted": sum(fresh), "repeated": len(fresh) - sum(fresh)})


def records_of(document: dict[str, Any], encoder: Any) -> list[Record]:
    """The ids and reports of a body, each looked at."""
    check_names(document, ("reports",))
    given = document.get("reports")
    if not isinstance(given, list) or not 1 <= len(given) <= MOST:
        raise InputError(f"reports must be a list of 1 to {MOST}")
    records = [_record(one, encoder.width) for one in given]
    rows = np.frombuffer(b"".join(report for _, report in records), np.uint8).reshape(len(records), encoder.width)
    if not encoder.valid(rows).all():
        raise InputError("a report is not one of this task", hint="Encode it with the task's own file.")
    return records


def _record(one: Any, width: int) -> Record:
    if not isinstance(one, dict) or set(one) != {"id", "report"}:
        raise InputError("a report must have an id and a report, and nothing else")
    return _octets(one["id"], ID, "id"), _octets(one["report"], width, "report")


def _octets(text: Any, count: int, what: str) -> bytes:
    try:
        raw = base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != count:
        raise InputError(f"{what} must be {count} bytes in base64")
    return raw


async def task_file(office: HttpServerState, request: Request) -> Response:
    """The task file, for devices."""
    intake = intake_of(office, request.path_params["task"])
    text = (intake.collection.place / "task.toml").read_bytes()
    return Response(text, media_type=TOML)


async def surveys(office: HttpServerState, request: Request, _: AuthenticatedUser) -> Response:
    """What is collected."""
    wanted(request)
    state = Path(office.gate.policy.data.state)
    return reply({"tasks": await office.look(lambda _: [held.to_dict() for held in collections(state)])})


async def survey(office: HttpServerState, request: Request, _: AuthenticatedUser) -> Response:
    """The estimate of the reports that were stored so far."""
    wanted(request)
    population = request.query_params.get("population", POPULATIONS[0])
    intake = intake_of(office, request.path_params["task"])
    return reply(await office.ask(lambda _: _estimated(intake, population)))


def _estimated(intake: Intake, population: str) -> dict[str, Any]:
    collection, task = intake.collection, intake.collection.task
    rows = intake.estimates(population)
    return {
        **collection.to_dict(),
        "question": task.question,
        "epsilon": float(task.epsilon),
        "minimum_batch": task.minimum_batch,
        "population": population,
        "candidates": f"{HOME}/{task.name}/{CANDIDATES}" if intake.searched else None,
        "estimates": [row.to_dict() for row in rows],
    }
