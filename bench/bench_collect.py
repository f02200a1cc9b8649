"""The collector under load: reports a second of one core, one report a request and many, and what is on the disk.

    python bench/bench_collect.py [seconds]

A server in a process of its own takes reports of many connections that are kept open. The machine may be busy with
other work: the CPU seconds of the server are counted, and reports a second are by those. Every report that was
acknowledged is then looked for on the disk, where each must be once.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from sfumato.cli.clinic import write_clinic
from sfumato.local.collecting import Collection, install
from sfumato.local.kary import KAryResponse
from sfumato.local.tape import SystemTape
from sfumato.local.task import planned_task

SERVE = """
import asyncio, sys
import sfumato
from sfumato.server.http import HttpServer
from sfumato.server.audit_log import AuditLog
from sfumato.server.users import Users
async def main(policy):
    with sfumato.open(policy) as gate:
        door = HttpServer(gate, Users(gate.policy.data.state), AuditLog(gate.policy.data.state))
        print(*await door.start("127.0.0.1", 0), flush=True)
        await asyncio.sleep(3600)
asyncio.run(main(sys.argv[1]))
"""
TICK = os.sysconf("SC_CLK_TCK")


def cpu_of(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def in_base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


async def device(where: tuple[str, int], reports: list[bytes], many: int, until: float, kept: list[bytes]) -> None:
    host, port = where
    reader, writer = await asyncio.open_connection(host, port)
    head = f"POST /api/collect/load HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: "
    while time.monotonic() < until:
        ids = [os.urandom(16) for _ in range(many)]
        rows = [{"id": in_base64(i), "report": in_base64(reports[i[0]])} for i in ids]
        body = json.dumps({"reports": rows})
        writer.write(f"{head}{len(body)}\r\n\r\n{body}".encode())
        status = await reader.readline()
        length = 0
        while (line := await reader.readline()) not in (b"\r\n", b""):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        await reader.readexactly(length)
        if b" 200 " in status:
            kept += ids
    writer.close()


async def load(where: tuple[str, int], reports: list[bytes], many: int, seconds: float, devices: int) -> list[bytes]:
    kept: list[bytes] = []
    until = time.monotonic() + seconds
    await asyncio.gather(*(device(where, reports, many, until, kept) for _ in range(devices)))
    return kept


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as place:
        home = Path(place)
        write_clinic(home, fresh=True)
        task = planned_task("load", KAryResponse.planned(4, 1), minimum_batch=1000)
        install(home / ".sfumato", task.to_toml())
        reports = [row.tobytes() for row in task.encoder.encode(np.zeros(256, np.int64), SystemTape())]
        server = subprocess.Popen(
            [sys.executable, "-c", SERVE, home / "sfumato.toml"], stdout=subprocess.PIPE, text=True
        )
        host, port = server.stdout.readline().split()
        kept: list[bytes] = []
        print("reports a request   devices   reports   wall s   server CPU s   a second of wall   a second of CPU")
        try:
            for many, devices in ((1, 64), (10, 32), (100, 8)):
                before, start = cpu_of(server.pid), time.monotonic()
                sent = asyncio.run(load((host, int(port)), reports, many, seconds, devices))
                spent, wall = cpu_of(server.pid) - before, time.monotonic() - start
                kept += sent
                print(
                    f"{many:17} {devices:9} {len(sent):9,} {wall:8.1f} {spent:14.2f}"
                    f" {len(sent) / wall:18,.0f} {len(sent) / max(spent, 1e-9):17,.0f}"
                )
        finally:
            server.kill()
            server.wait()
        held = Collection(home / ".sfumato" / "collect" / "load")
        again = held.commit([(identity, reports[identity[0]]) for identity in kept])
        print(f"{len(kept):,} acknowledged, {sum(again)} lost; stored {held.stored + held.waiting:,} after kill -9")


if __name__ == "__main__":
    main()
