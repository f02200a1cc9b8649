"""Anonymised releases: time, memory and loss of sfumato beside anjana and pycanon, on the same rows in the same run.

    python bench/bench_anonymity.py [FOLDER]

FOLDER has adult.csv and its adult_hierarchy_*.csv, as ARX distributes them (UCI Adult, CC BY 4.0); else the sample
in docs/adult is measured; SFUMATO_ADULT names the folder for `make bench`. Larger tables are made of these rows: each
drawn with replacement, and each cell with one chance in ten drawn anew from its column. CPU seconds of one process with
one thread; memory is the most that it held.
Peers run in an environment of their own below .venv-peers, or in the interpreter that PEERS_PYTHON names.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SAMPLE = Path(__file__).parents[1] / "docs" / "adult"
QUASI = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
SECRET = "salary-class"
NEEDS = ("anjana==1.2.3", "pycanon==1.3.5")
"""They pin old versions of what we need, too: they get an environment of their own."""


def measured(words: list[str], python: str = sys.executable) -> dict:
    """One measurement in a process of its own, so that memory and caches are its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([python, __file__, "--one", *words], capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1:]}
    total = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {**json.loads(done.stdout.splitlines()[-1]), "process": total}


def one(what: str, data: str, folder: str, *more: str) -> None:
    """Run in the child: print what was measured."""
    start = time.process_time()
    kinds = {"ours": ours, "check": check, "anjana": anjana, "pycanon": pycanon, "enlarge": enlarge}
    found = kinds[what](data, Path(folder), *more)
    found["cpu"] = found.get("cpu") or time.process_time() - start
    found["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps(found))


def ours(data: str, folder: Path, out: str, *words: str) -> dict:
    from sfumato.anonymity import AnonymizeRequest, anonymize

    given = dict(word.split("=") for word in words)
    start = time.process_time()
    done = anonymize(AnonymizeRequest(data, QUASI, SECRET, hierarchies=folder, **given), None if out == "-" else out)
    cpu = time.process_time() - start
    return {"cpu": cpu, "loss": float(done.loss), "suppressed": done.suppressed, "classes": done.measures.classes,
            "checks": done.checks, "optimal": done.optimal, "rows": done.rows}  # fmt: skip


def check(data: str, folder: Path, out: str) -> dict:
    from sfumato.anonymity import check_release

    start = time.process_time()
    report = check_release(out, data, QUASI, SECRET, hierarchies=folder)
    kinds = sorted({fault.kind for fault in report.faults})
    return {"cpu": time.process_time() - start, "k": report.k, "t": float(report.t["equal"]), "faults": kinds}


def _frame(data: str):
    import pandas as pd

    return pd.read_csv(data, sep=";", dtype=str)


def anjana(data: str, folder: Path, out: str, model: str) -> dict:
    import pandas as pd
    from anjana.anonymity import k_anonymity, l_diversity, t_closeness

    frame = _frame(data)
    ladders = {}
    for name in QUASI:
        rows = pd.read_csv(folder / f"adult_hierarchy_{name}.csv", sep=";", header=None, dtype=str)
        ladders[name] = {level: rows[level].to_numpy() for level in rows.columns}
    start = time.process_time()
    if model == "k":
        done = k_anonymity(frame, [], list(QUASI), 5, 5, ladders)
    elif model == "l":
        done = l_diversity(frame, [], list(QUASI), SECRET, 5, 2, 5, ladders)
    else:
        done = t_closeness(frame, [], list(QUASI), SECRET, 5, 0.3, 5, ladders)
    cpu = time.process_time() - start
    done.to_csv(out, sep=";", index=False)
    return {"cpu": cpu, "loss": _loss(done, folder, len(frame)), "suppressed": len(frame) - len(done),
            "classes": len(done.groupby(list(QUASI)))}  # fmt: skip


def _loss(released, folder: Path, rows: int) -> float:
    """The loss of a release by our definition: the share of the domain that a label hides, 1 for a row left out."""
    import pandas as pd

    total = float((rows - len(released)) * len(QUASI))
    for name in QUASI:
        ladder = pd.read_csv(folder / f"adult_hierarchy_{name}.csv", sep=";", header=None, dtype=str)
        sizes = {label: (ladder[level] == label).sum() for level in ladder.columns for label in set(ladder[level])}
        total += float(sum((sizes[label] - 1) / (len(ladder) - 1) for label in released[name]))
    return total / (rows * len(QUASI))


def pycanon(_: str, __: Path, out: str, model: str) -> dict:
    from pycanon.anonymity import k_anonymity, l_diversity, t_closeness

    frame = _frame(out)
    start = time.process_time()
    if model == "k":
        found = k_anonymity(frame, list(QUASI))
    elif model == "l":
        found = l_diversity(frame, list(QUASI), [SECRET])
    else:
        found = t_closeness(frame, list(QUASI), [SECRET])
    return {"cpu": time.process_time() - start, "value": float(found)}


def enlarge(data: str, _: Path, target: str, size: str) -> dict:
    """The larger table: rows drawn with replacement, cells in part drawn anew; in a child, whose memory is its own."""
    import duckdb
    import numpy as np

    with duckdb.connect() as engine:
        engine.execute("SET threads = 1")
        engine.execute(f"CREATE TABLE a AS SELECT * FROM read_csv('{data}', delim = ';', all_varchar = true)")
        found = engine.execute("SELECT * FROM a").fetchnumpy()
        chance, many, rows = np.random.default_rng(7), len(found[SECRET]), int(size)
        base, drawn = chance.integers(0, many, rows), {}
        for column in found.values():
            values, codes = np.unique(column.astype(str), return_inverse=True)
            chosen, anew = codes[base], chance.random(rows) < 0.1
            chosen[anew] = codes[chance.integers(0, many, int(anew.sum()))]
            drawn[f"c{len(drawn)}"] = chosen
            engine.execute(f"CREATE TYPE e{len(drawn) - 1} AS ENUM ({', '.join(repr(str(v)) for v in values)})")
        engine.register("drawn", drawn)
        kinds = [f'CAST(enum_range(NULL::e{i})[c{i} + 1] AS VARCHAR) AS "{name}"' for i, name in enumerate(found)]
        engine.execute(f"COPY (SELECT {', '.join(kinds)} FROM drawn) TO '{target}' (FORMAT parquet)")
    return {}


def show(name: str, found: dict) -> None:
    if "failed" in found:
        print(f"{name:44} failed: {' '.join(found['failed'])[:100]}")
        return
    parts = [f"{found['cpu']:7.2f} s CPU", f"{found['megabytes']:5} MB"]
    parts += [f"{key} {found[key]:.4f}" for key in ("loss", "t", "value") if key in found]
    plain = ("suppressed", "classes", "checks", "optimal", "k", "faults")
    parts += [f"{key} {found[key]}" for key in plain if key in found]
    print(f"{name:44} {', '.join(parts)}", flush=True)


def peers() -> str | None:
    """An interpreter that has the peers: the one that is named, or an environment of theirs below .venv-peers."""
    if os.environ.get("PEERS_PYTHON"):
        return os.environ["PEERS_PYTHON"]
    place = Path(__file__).parents[1] / ".venv-peers" / "anonymity"
    stamp, python = place / "stamp", str(place / "bin" / "python")
    if not stamp.exists() or stamp.read_text() != "\n".join(NEEDS):
        pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *NEEDS]
        for line in ([sys.executable, "-m", "venv", "--clear", str(place)], pip):
            done = subprocess.run(line, capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"anjana and pycanon cannot be installed here: {done.stderr.strip().splitlines()[-1:]}")
                return None
        stamp.write_text("\n".join(NEEDS))
    return python


def main(folder: Path) -> None:
    data, python = folder / "adult.csv", peers()
    with data.open(encoding="utf-8") as stream:
        rows = sum(1 for _ in stream) - 1
    print(f"measured: {data}, {rows:,} rows")
    if folder == SAMPLE:
        print("  a sample: for all of Adult, set SFUMATO_ADULT=FOLDER (or name FOLDER), which has adult.csv and its")
        print("  adult_hierarchy_*.csv as ARX distributes them; losses and times of the sample are not those of Adult")
    models = {"k": ["k=5"], "k,l": ["k=5", "l=2"], "k,l,t": ["k=5", "l=2", "t=0.3"]}
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        for label, words in models.items():
            out = str(home / f"{label}.csv")
            given = [str(data), str(folder)]
            show(f"Adult, {label}, 5 %: sfumato", measured(["ours", *given, out, "suppress=0.05", *words]))
            show("  its check", measured(["check", *given, out]))
            if python is not None:
                short = label[-1]
                theirs = str(home / f"anjana-{short}.csv")
                asked = "k,t" if short == "t" else label
                show(f"Adult, {asked}, 5 %: anjana", measured(["anjana", *given, theirs, short], python))
                show("  our check of it", measured(["check", *given, theirs]))
                show(f"  pycanon computes {short} of our release", measured(["pycanon", *given, out, short], python))
        out = str(home / "local.csv")
        show("Adult, k, Mondrian: sfumato", measured(["ours", str(data), str(folder), out, "k=5", "method=mondrian"]))
        show("  its check", measured(["check", str(data), str(folder), out]))
        for rows in (10**6, 10**7):
            large = home / f"{rows}.parquet"
            measured(["enlarge", str(data), str(folder), str(large), str(rows)])
            wanted = {"k": models["k"]} if rows > 10**6 else {"k": models["k"], "k,l,t": models["k,l,t"]}
            for label, words in wanted.items():
                found = measured(["ours", str(large), str(folder), str(home / "out.csv"), "suppress=0.05", *words])
                show(f"{rows:,} rows, {label}, 5 %, with output", found)
            found = measured(["ours", str(large), str(folder), str(home / "out.parquet"), "k=5", "method=mondrian"])
            show(f"{rows:,} rows, k, Mondrian, with output", found)
            found = measured(["ours", str(large), str(folder), "-", "k=5", "method=mondrian"])
            show(f"{rows:,} rows, k, Mondrian, without output", found)
            if "cpu" in found:
                print(f"{'':44} {found['rows'] / found['cpu']:,.0f} rows a second")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(*sys.argv[2:])
    elif len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        main(Path(os.environ.get("SFUMATO_ADULT") or SAMPLE))
