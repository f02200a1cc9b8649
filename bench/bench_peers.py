"""The twelve questions beside peers, in one run: CPU, ratio to the plain query, and the error, ours over theirs.

    python bench/bench_peers.py [--rows 100000] [--runs 20] [--seconds 90] [--peers opendp tumult]

Epsilon 1, delta 1e-7, at most five rows of a person. Each peer is a file of bench/peers and runs in an environment of
its own, made at the first time below .venv-peers; one that cannot be installed, or a question that it refuses, is said
to be so. `sd` is that of its answers, for groups the root of the mean variance; `off` the root of the mean squared
distance to the truth, with what the bound of five leaves out; a group that is not told counts as zero. `error` is the
median over runs and groups of the distance to the truth, over the truth. Ratios are ours to theirs, above one where we
are worse, with the ends of a 99 % interval (resampled). A question ends after --seconds with the runs that it has; ours
runs ten times as often.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import numpy as np
from peers.run import load
from suite import CITIES, DISEASES, QUESTIONS, make

HERE = Path(__file__).parent
PEERS = ("opendp", "pipelinedp", "smartnoise", "tumult", "qrlew", "pydp", "diffprivlib")
SLOW = ("tumult",)  # four seconds a question: only when it is named
KEYS = [key for key in QUESTIONS if key.startswith("q")]
CLEAR = 1.01  # above by less than a hundredth is not above
Told = dict[str, dict[str, Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("--peers", nargs="*", default=[peer for peer in PEERS if peer not in SLOW], choices=PEERS)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _data(folder, chosen.rows)
        plain = asked("plain", folder, 5, chosen.seconds)
        ours = asked("ours", folder, 10 * chosen.runs, chosen.seconds)
        theirs = {peer: asked(peer, folder, chosen.runs, chosen.seconds) for peer in chosen.peers}
    theirs = {peer: told for peer, told in theirs.items() if told}
    print(f"{chosen.rows:,} rows, {os.cpu_count()} cores")
    above = [line for key in KEYS for line in _question(key, plain, ours, theirs, chosen.runs)]
    print()
    fair = {peer: told for peer, told in theirs.items() if _fair(load(peer))}
    few = [
        f"{peer} {key}" for peer, told in fair.items() for key in told if 0 < len(told[key]["answers"]) < chosen.runs
    ]
    print(f"Peers that bound per person themselves, with a private length: {', '.join(fair) or 'none'}.")
    if few:
        print(f"Not judged, as they had fewer than {chosen.runs} runs: {', '.join(few)}.")
    print(f"Ours is above such a peer: {'; '.join(above) or 'nowhere'}.")


def _data(folder: Path, rows: int) -> None:
    """The same rows in two formats, and what is public about them."""
    make(folder, rows)
    with duckdb.connect() as connection:
        for table in ("visits", "users"):
            connection.execute(f"COPY (FROM '{folder}/{table}.parquet') TO '{folder}/{table}.csv' (HEADER)")
    public = {"cities": CITIES, "diseases": DISEASES, "regions": [f"region{i}" for i in range(10)]}
    facts = {**public, "rows": rows, "epsilon": 1.0, "delta": 1e-7, "bound": 5}
    (folder / "facts.json").write_text(json.dumps(facts), encoding="utf-8")


def asked(name: str, folder: Path, runs: int, seconds: float) -> Told:
    """What one side has told, by question: in a process of its own, one line each."""
    print(f"{name} ...", file=sys.stderr, flush=True)
    python = home(name, load(name))
    if python is None:
        return {}
    line = [python, "-P", str(HERE / "peers" / "run.py"), name, str(folder), str(runs), str(seconds)]
    here = os.environ | {"PYTHONPATH": "" if load(name).NEEDS else f"{HERE}:{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run(line, env=here, capture_output=True, text=True, check=False)
    found = [json.loads(text) for text in done.stdout.splitlines() if text.startswith('{"question"')]
    if not found:
        print(f"{name} does not run here: {_last(done.stderr)}")
    return {told.pop("question"): told for told in found}


def home(name: str, peer: ModuleType) -> str | None:
    """The Python of a peer's environment, made and filled when it is not there; None if that cannot be done."""
    if not peer.NEEDS:
        return sys.executable
    place = HERE.parent / ".venv-peers" / name
    stamp, python = place / "stamp", str(place / "bin" / "python")
    if not stamp.exists() or stamp.read_text() != "\n".join(peer.NEEDS):
        pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *peer.NEEDS]
        for line in ([sys.executable, "-m", "venv", "--clear", str(place)], pip):
            done = subprocess.run(line, capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"{name} cannot be installed here: {_last(done.stderr)}")
                return None
        stamp.write_text("\n".join(peer.NEEDS))
    return python


def _last(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("[notice]")]
    return lines[-1].strip()[:120] if lines else "it says nothing"


def _runs(told: Told, key: str) -> int:
    return len(told[key]["answers"]) if key in told else 0


def _fair(peer: ModuleType) -> bool:
    return peer.BOUNDS == "itself" and peer.LENGTH == "private"


def _question(key: str, plain: Told, ours: Told, theirs: dict[str, Told], runs: int) -> list[str]:
    """Print one question, every side of it; goes out: where ours is clearly above a peer that can be compared."""
    truth, base = plain[key]["answers"][0], statistics.median(plain[key]["cpu"])
    print(f"\n{key}: {QUESTIONS[key]}\n  plain: {base:.2f} ms" + ("" if isinstance(truth, dict) else f", {truth:,.7g}"))
    heads = (
        (12, ""),
        (7, "runs"),
        (10, "CPU ms"),
        (8, "/plain"),
        (14, "told"),
        (9, "error"),
        (10, "sd"),
        (26, "ours/sd"),
    )
    print("".join(f"{head:>{width}}" for width, head in (*heads, (11, "off"), (26, "ours/off"))))
    above = []
    for name, told in {"ours": ours, **theirs}.items():
        here, peer = told.get(key), load(name)
        if here is None or here["error"] or ours[key]["error"]:
            print(f"  {name:12} {'not offered' if here is None else here['error'] or ''}"[:120])
            continue
        sides = Sides(truth, ours[key]["answers"], here["answers"])
        ratios = {} if name == "ours" else sides.ratios()
        cost = statistics.median(here["cpu"])
        print(
            f"  {name:12}{len(here['answers']):5}{cost:10,.1f}{cost / base:8,.1f}{sides.told:>14}{sides.error:9.2%}"
            f"{sides.sd:10,.4g}{_shown(ratios.get('sd')):>26}{sides.off:>11,.4g}{_shown(ratios.get('off')):>26}"
            + ("" if _fair(peer) else f"  bounds {peer.BOUNDS}, length {peer.LENGTH}"),
            flush=True,
        )
        if _fair(peer) and len(here["answers"]) >= runs:
            worse = [which for which, ends in ratios.items() if ends is not None and ends[1] > CLEAR]
            above += [f"{key} {name} ({which} {ratios[which][0]:.2f})" for which in worse]
    return above


def _shown(ratio: tuple[float, float, float] | None) -> str:
    return "-" if ratio is None else "{:.3g} {:.3g}-{:.3g}".format(*ratio)


class Sides:
    """The answers of us and of a peer to one question, as arrays of runs by groups; a number is one group."""

    def __init__(self, truth: Any, ours: list[Any], theirs: list[Any]) -> None:
        self.truth, self.chance = truth, np.random.default_rng(11)
        self.our, self.their = ours, theirs
        self.sd, self.off = (float(np.sqrt(mean)) for mean in (self._var(theirs, theirs), self._square(theirs)))
        exact = truth if isinstance(truth, dict) else {(): truth}
        given = [answer if isinstance(answer, dict) else {(): answer} for answer in theirs]
        self.error = statistics.median(abs(a.get(k, 0.0) - t) / abs(t) for a in given for k, t in exact.items() if t)
        if isinstance(truth, dict):
            self.told = f"{statistics.mean(len(answer) for answer in theirs):,.0f} keys"
        else:
            self.told = f"{statistics.mean(theirs):,.6g}"

    def ratios(self) -> dict[str, tuple[float, float, float] | None]:
        """Ours to theirs: the ratio and the ends of its interval."""
        measures = {"sd": self._var, "off": self._square_of}
        found: dict[str, tuple[float, float, float] | None] = {}
        for name, measure in measures.items():
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.sqrt(measure(self.our, self.their, None) / measure(self.their, self.our, None))
                many = np.sqrt(
                    measure(self.our, self.their, self._weights(len(self.our)))
                    / measure(self.their, self.our, self._weights(len(self.their)))
                )
            whole = np.isfinite(ratio) and np.isfinite(many).all()
            found[name] = (float(ratio), *map(float, np.quantile(many, [0.005, 0.995]))) if whole else None
        return found

    def _weights(self, runs: int) -> Any:
        return self.chance.multinomial(runs, np.full(runs, 1 / runs), size=1000)

    def _var(self, runs: list[Any], other: list[Any], weights: Any = None) -> Any:
        """The mean variance of groups that both have told in every run."""
        if len(runs) < 2:
            return np.float64("nan")
        if isinstance(self.truth, dict):
            keys = sorted(set.intersection(*(set(answer) for answer in [*runs, *other])))
            table = np.array([[answer[key] for key in keys] for answer in runs])
        else:
            table = np.array(runs)[:, None]
        table = table - table.mean(0)
        weights = np.ones((1, len(runs))) if weights is None else weights
        first, second = weights @ table / len(runs), weights @ table**2 / len(runs)
        found = (second - first**2).mean(1) * len(runs) / (len(runs) - 1)
        return found if len(found) > 1 else found[0]

    def _square_of(self, runs: list[Any], _: list[Any], weights: Any) -> Any:
        return self._square(runs, weights)

    def _square(self, runs: list[Any], weights: Any = None) -> Any:
        """The mean squared distance to the truth."""
        if isinstance(self.truth, dict):
            each = [statistics.fmean((answer.get(k, 0.0) - t) ** 2 for k, t in self.truth.items()) for answer in runs]
        else:
            each = [(answer - self.truth) ** 2 for answer in runs]
        return np.mean(each) if weights is None else weights @ np.array(each) / len(runs)


if __name__ == "__main__":
    main()
