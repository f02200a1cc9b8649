"""Signed task files: a device that knows the owner's public key reports on the owner's tasks only.

The signature is the first line of the file, over all bytes after it: ECDSA on P-256 with SHA-256, as browsers have it.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

from sfumato.errors import ClaimError, InputError

_MARK = 'signature = "'
_ALGORITHM = ec.ECDSA(hashes.SHA256())


def sign_task(text: str, private_pem: bytes) -> str:
    """The text with a signature as its first line; an old signature is replaced."""
    key = _loaded(serialization.load_pem_private_key, private_pem, None)
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.curve.name != "secp256r1":
        raise InputError("a task is signed with a private key on the curve P-256")
    body = _body(text)[0]
    r, s = utils.decode_dss_signature(key.sign(body.encode(), _ALGORITHM))
    raw = base64.b64encode(r.to_bytes(32, "big") + s.to_bytes(32, "big")).decode()
    return f'{_MARK}{raw}"\n{body}'


def check_signature(text: str, public_pem: bytes) -> None:
    """Raise unless the file is signed by the holder of this key."""
    key = _loaded(serialization.load_pem_public_key, public_pem)
    body, raw = _body(text)
    if not isinstance(key, ec.EllipticCurvePublicKey) or key.curve.name != "secp256r1":
        raise InputError("a task is checked with a public key on the curve P-256")
    if raw is None:
        raise ClaimError("the task file is not signed")
    try:
        packed = base64.b64decode(raw, validate=True)
        if len(packed) != 64:
            raise InvalidSignature
        numbers = int.from_bytes(packed[:32], "big"), int.from_bytes(packed[32:], "big")
        key.verify(utils.encode_dss_signature(*numbers), body.encode(), _ALGORITHM)
    except (InvalidSignature, binascii.Error, ValueError):
        raise ClaimError("the signature of the task file is not valid") from None


def _loaded(read: Callable[..., Any], *given: Any) -> Any:
    """A key, or one clear error for a file that holds none, or one that wants a password."""
    try:
        return read(*given)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise InputError(
            "the key is not an unencrypted PEM key",
            hint="`openssl ecparam -name prime256v1 -genkey -noout -out KEY` makes one, `openssl ec -in KEY -pubout`"
            " gives its public half.",
        ) from None


def _body(text: str) -> tuple[str, str | None]:
    """The signed text, and the signature of its first line, if there is one."""
    first, _, rest = text.partition("\n")
    if first.startswith(_MARK) and first.endswith('"'):
        return rest, first[len(_MARK) : -1]
    return text, None
