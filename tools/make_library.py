"""Write the certificates of the verifier's library, beside its programs: `make docs`."""

from __future__ import annotations

import json

from sfumato.verify import program
from sfumato.verify.library import FOLDER, names, text_of


def main() -> None:
    """Prove every program."""
    for name in names():
        verdict = program(text_of(name)).verify()
        if verdict.exit_code or verdict.certificate is None:
            raise SystemExit(f"{name} is not proved")
        (FOLDER / f"{name}.json").write_text(json.dumps(verdict.certificate, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
