"""The policies that a ledger was opened under, kept in the state directory: a ledger records their digests alone.

Comes in: the canonical text of a policy. Goes out: a file with the name of its digest, which is the SHA-256 of the
text; what is read is that text or nothing. With it the plans of earlier policies can be derived again.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

from sfumato.errors import LedgerError
from sfumato.files import make_private_directory, replace_file
from sfumato.ledger.operator_messages import AGAIN, words_of

FOLDER = "policies"


def keep_policy(state: str | Path, digest: str, document: str) -> None:
    """Keep the text that a digest is the hash of, once, durable when this returns."""
    content = document.encode()
    if sha256(content).hexdigest() != digest:
        raise LedgerError("the text of a policy has another digest than the policy")
    if read_kept_policy(state, digest) is None:
        place = _place(state, digest)
        try:
            make_private_directory(place.parent.parent)
            make_private_directory(place.parent)
            replace_file(place, content)
        except OSError as error:
            message = "the policy cannot be kept in the state directory"
            raise LedgerError(message, detail=words_of(error), hint=AGAIN) from error


def read_kept_policy(state: str | Path, digest: str) -> str | None:
    """Return the text that a digest is the hash of; None if it was not kept, or is no longer that text."""
    try:
        content = _place(state, digest).read_bytes()
    except OSError:
        return None
    return content.decode() if sha256(content).hexdigest() == digest else None


def data_sets_of_kept_policies(state: str | Path) -> set[str]:
    """Return the ids of the data sets whose policies are kept."""
    found = set()
    for place in Path(state).glob(f"{FOLDER}/*.json"):
        try:
            found.add(str(json.loads(place.read_bytes())["id"]))
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return found


def _place(state: str | Path, digest: str) -> Path:
    return Path(state) / FOLDER / f"{digest}.json"
