"""`make console`: bundle the editor from console/ into the package, with the licences of what is in it and its hash.

Comes in: console/package-lock.json, which names every package by its hash. Goes out: static/vendor/codemirror.js, the
same bytes each time; LICENCES.txt; hashes.json, which a test compares with the files.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
WORK = ROOT / "console"
VENDOR = ROOT / "src" / "sfumato" / "server" / "console" / "static" / "vendor"
BUNDLE = "codemirror.js"


def run(*words: str) -> None:
    """A command in console/, whose failure ends this."""
    subprocess.run(words, cwd=WORK, check=True, stdout=subprocess.DEVNULL)  # noqa: S603  words of this file


def licences() -> str:
    """The licence of each package that the bundle is made of."""
    locked = json.loads((WORK / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    parts = ["What codemirror.js is made of, each with its licence.\n"]
    for path, package in sorted(locked.items()):
        if not path or package.get("dev"):
            continue
        name = path.removeprefix("node_modules/")
        text = (WORK / path / "LICENSE").read_text(encoding="utf-8").strip()
        parts.append(f"{name} {package['version']} ({package['license']}), {package['integrity']}\n\n{text}\n")
    return ("\n" + "-" * 80 + "\n\n").join(parts)


def main() -> None:
    """Install as locked, bundle, write down."""
    run("npm", "ci", "--no-audit", "--no-fund", "--silent")
    made = VENDOR / BUNDLE
    run("npx", "esbuild", BUNDLE, "--bundle", "--minify", "--format=esm", "--target=es2022", "--charset=utf8",
        "--legal-comments=none", "--log-level=warning", f"--outfile={made}")  # fmt: skip
    (VENDOR / "LICENCES.txt").write_text(licences(), encoding="utf-8")
    files = sorted(path for path in VENDOR.iterdir() if path.name != "hashes.json")
    hashes = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    (VENDOR / "hashes.json").write_text(json.dumps(hashes, indent=2) + "\n", encoding="utf-8")
    print(f"{BUNDLE} {hashes[BUNDLE]}")


if __name__ == "__main__":
    main()
