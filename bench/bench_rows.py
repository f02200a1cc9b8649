"""Cost against rows: engine CPU of four questions beside the plain query, and peak memory of all, from 100,000 rows on.

    python bench/bench_rows.py [--most 1000000] [--svg FILE]

Each size and each side runs in a process of its own, over the same loaded rows. The peak is that of resident memory
while a question runs, and starts anew before each (Linux); the table has that of the four questions together, the line
below it the ratio of each to its plain query. `--most 30000000` takes ten minutes and 6 GB.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

from suite import QUESTIONS, cpu, engine_part, make, opened, plain_of

ASKED = ("q2", "q6", "q7", "q12")
ALL = ("q1", "q2", "q3", "q4", "q5", "q6", "q7", "q9", "q10", "q12", "q11", "q8")  # what takes most comes last
SIZES = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000)


def resident(name: str) -> float:
    """Megabytes, from what the kernel says of this process."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) / 1024


def side(folder: Path, which: str) -> dict[str, float]:
    """One side in this process: milliseconds of some questions, memory loaded and at the peak, and that of each."""
    if which == "plain":
        plain = plain_of(folder)
        runs = {key: (lambda sql=QUESTIONS[key]: plain.execute(sql).fetchall()) for key in ALL}
    else:
        gate = opened(folder)
        runs = {key: engine_part(gate, QUESTIONS[key]) for key in ALL}
    found = {"loaded": resident("VmRSS")}
    _anew()
    found |= {key: cpu(runs[key], 2) for key in ASKED}
    found["peak"] = resident("VmHWM")
    for key, run in runs.items():
        _anew()
        run()
        found[f"peak {key}"] = resident("VmHWM")
    return found


def _anew() -> None:
    """The peak starts here."""
    Path("/proc/self/clear_refs").write_text("5")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=1_000_000)
    parser.add_argument("--svg", type=Path)
    parser.add_argument("--side", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.side:
        print(json.dumps(side(Path(chosen.side[0]), chosen.side[1])))
        return
    found: dict[int, dict[str, dict[str, float]]] = {}
    print(
        f"{'rows':>12}"
        + "".join(f"{key + ' plain':>11}{'ours':>9}" for key in ASKED)
        + f"{'MB loaded':>10}{'ours':>10}{'peak':>10}{'ours':>10}{'/plain':>8}"
    )
    for rows in (size for size in SIZES if size <= chosen.most):
        with tempfile.TemporaryDirectory() as name:
            make(Path(name), rows)
            sides = {}
            for which in ("plain", "ours"):
                asked = [sys.executable, __file__, "--side", name, which]
                sides[which] = json.loads(subprocess.run(asked, check=True, capture_output=True, text=True).stdout)
        found[rows] = sides
        plain, ours = sides["plain"], sides["ours"]
        times = "".join(f"{plain[key]:11.1f}{ours[key]:9.1f}" for key in ASKED)
        sizes = (plain["loaded"], ours["loaded"], plain["peak"], ours["peak"])
        memory = "".join(f"{size:10.0f}" for size in sizes) + f"{ours['peak'] / plain['peak']:8.2f}"
        print(f"{rows:12,}{times}{memory}")
        print(
            "        peak/plain: "
            + ", ".join(f"{key} {ours[at] / plain[at]:.2f}" for key in ALL if (at := f"peak {key}"))
        )
    if chosen.svg:
        chosen.svg.write_text(_drawing(found), encoding="utf-8")


def _drawing(found: dict[int, dict[str, dict[str, float]]]) -> str:
    """Milliseconds and megabytes against rows, all by powers of ten; ours drawn through, plain dashed."""
    words = "Engine CPU of four questions and peak memory against rows; ours drawn through, the plain query dashed"
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 320" font-family="system-ui" font-size="12">']
    parts += [f"<title>{words}</title>", '<rect width="900" height="320" fill="#fff"/>']
    inks = dict(zip(ASKED, ("#0f62a8", "#a85a0f", "#3d7a3d", "#7a3d7a"), strict=True))
    parts += _panel(found, inks, 76, "ms") + _panel(found, {"peak": "#333"}, 530, "MB")
    return "\n".join([*parts, "</svg>", ""])


def _panel(found: dict[int, dict[str, dict[str, float]]], inks: dict[str, str], start: int, unit: str) -> list[str]:
    numbers = [sides[which][key] for sides in found.values() for which in sides for key in inks]
    low, high = math.floor(math.log10(min(numbers))), math.ceil(math.log10(max(numbers)))
    left, right = math.log10(min(found)), math.log10(max(found))

    def at(rows: float, number: float) -> tuple[float, float]:
        x = start + 320 * (math.log10(rows) - left) / max(right - left, 1e-9)
        return round(x, 1), round(280 - 250 * (math.log10(number) - low) / (high - low), 1)

    parts = []
    for power in range(low, high + 1):
        y = at(10**left, 10.0**power)[1]
        name = f'<text x="{start - 6}" y="{y}" text-anchor="end">{10.0**power:g} {unit}</text>'
        parts.append(f'<path d="M{start} {y}h320" stroke="#d9dee5"/>{name}')
    parts += [f'<text x="{at(rows, 1)[0]}" y="300" text-anchor="middle">{rows:.0e}</text>' for rows in found]
    for key, ink in inks.items():
        for which, dash in (("ours", ""), ("plain", ' stroke-dasharray="4 3"')):
            line = " ".join("{},{}".format(*at(rows, sides[which][key])) for rows, sides in found.items())
            parts.append(f'<polyline points="{line}" fill="none" stroke="{ink}" stroke-width="1.6"{dash}/>')
    for place, (key, ink) in enumerate(inks.items()):
        parts.append(f'<text x="{start + 12}" y="{44 + 16 * place}" fill="{ink}">{key}</text>')
    return parts


if __name__ == "__main__":
    main()
