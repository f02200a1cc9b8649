"""SCRAM-SHA-256, the server's side (RFC 5802, RFC 7677): a password is proved and never sent or stored.

Comes in: a verifier (salt and two keys) or None for a name that is not known, and the client's words. Goes out: the
server's words. Somebody who is not known gets the same exchange with a salt that is a keyed hash of the name.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
import stringprep
import unicodedata
from dataclasses import dataclass

from sfumato.errors import QueryError, SfumatoError

ITERATIONS = 4096
"""PostgreSQL's own number; a client works it off at every log-in."""
PLAIN, PLUS = "SCRAM-SHA-256", "SCRAM-SHA-256-PLUS"


@dataclass(frozen=True, slots=True)
class Verifier:
    """What proves a password without being one."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int = ITERATIONS

    def to_text(self) -> str:
        """As PostgreSQL writes it: SCRAM-SHA-256$4096:salt$stored:server."""
        salt, stored, server = (_b64(part) for part in (self.salt, self.stored_key, self.server_key))
        return f"{PLAIN}${self.iterations}:{salt}${stored}:{server}"

    @classmethod
    def from_text(cls, text: str) -> Verifier:
        """The same, read back."""
        _, head, keys = text.split("$")
        iterations, salt = head.split(":")
        stored, server = keys.split(":")
        decode = base64.b64decode
        return cls(decode(salt, validate=True), decode(stored), decode(server), int(iterations))


def verifier(password: str, salt: bytes | None = None, iterations: int = ITERATIONS) -> Verifier:
    """The verifier of a password: slow on purpose."""
    salt = salt or secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", _prepared(password).encode(), salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    server_key = hmac.digest(salted, b"Server Key", "sha256")
    return Verifier(salt, hashlib.sha256(client_key).digest(), server_key, iterations)


def mock(name: str, key: bytes) -> Verifier:
    """The verifier of somebody who is not there: the same at every attempt, and no password fits."""
    salt = hmac.digest(key, b"salt" + name.encode("utf-8", "replace"), "sha256")[:16]
    return Verifier(salt, secrets.token_bytes(32), secrets.token_bytes(32))


def _prepared(password: str) -> str:
    """SASLprep (RFC 4013); a password that it forbids is taken as it is, as PostgreSQL does."""
    mapped = "".join(" " if stringprep.in_table_c12(c) else "" if stringprep.in_table_b1(c) else c for c in password)
    normal = unicodedata.ucd_3_2_0.normalize("NFKC", mapped)
    forbidden = (
        stringprep.in_table_c12, stringprep.in_table_c21_c22, stringprep.in_table_c3, stringprep.in_table_c4,
        stringprep.in_table_c5, stringprep.in_table_c6, stringprep.in_table_c7, stringprep.in_table_c8,
        stringprep.in_table_c9, stringprep.in_table_a1,
    )  # fmt: skip
    if not normal or any(test(c) for c in normal for test in forbidden):
        return password
    sides = [stringprep.in_table_d1(c) for c in normal]
    if any(sides) and (any(map(stringprep.in_table_d2, normal)) or not sides[0] or not sides[-1]):
        return password
    return normal


class ScramExchange:
    """One log-in: the client's first words, then its proof."""

    def __init__(self, known: Verifier, *, genuine: bool, binding: bytes | None = None) -> None:
        self._known, self._genuine, self._binding = known, genuine, binding
        self._gs2, self._signed, self._nonce = b"", "", ""

    @property
    def offers(self) -> tuple[str, ...]:
        """The mechanisms, the better one first."""
        return (PLUS, PLAIN) if self._binding is not None else (PLAIN,)

    def first(self, mechanism: str, message: bytes) -> bytes:
        """The client's nonce in, ours with the salt out."""
        if mechanism not in self.offers:
            raise _malformed("the mechanism is not one of those offered")
        flag, _, rest = _ascii(message).partition(",")
        name, _, bare = rest.partition(",")
        bound = flag == "p=tls-server-end-point"
        if bound != (mechanism == PLUS) or (not bound and flag not in ("n", "y")):
            raise _malformed("channel binding does not match the mechanism")
        if flag == "y" and self._binding is not None:
            raise _malformed("the client did not see that channel binding is offered")
        if name:
            raise QueryError("an authorization identity is not supported", sqlstate="0A000")
        fields = bare.split(",")
        nonce = next((field[2:] for field in fields if field.startswith("r=")), "")
        if not nonce or not nonce.isprintable() or not fields[0].startswith("n="):
            raise _malformed("the client's first message is not SCRAM")
        self._gs2 = f"{flag},{name},".encode() + (self._binding or b"" if bound else b"")
        self._nonce = nonce + secrets.token_urlsafe(18)
        words = f"r={self._nonce},s={_b64(self._known.salt)},i={self._known.iterations}"
        self._signed = f"{bare},{words}"
        return words.encode()

    def final(self, message: bytes) -> bytes | None:
        """The client's proof in, ours out; None where the proof is wrong."""
        without, marker, proof = _ascii(message).rpartition(",p=")
        fields = without.split(",")
        if not marker or len(fields) < 2 or fields[0] != f"c={_b64(self._gs2)}" or fields[1] != f"r={self._nonce}":
            raise _malformed("the client's final message does not match its first")
        try:
            given = base64.b64decode(proof, validate=True)
        except binascii.Error:
            raise _malformed("the proof is not base64") from None
        signed = f"{self._signed},{without}".encode()
        signature = hmac.digest(self._known.stored_key, signed, "sha256")
        client_key = bytes(a ^ b for a, b in zip(given, signature, strict=False))
        fits = hmac.compare_digest(hashlib.sha256(client_key).digest(), self._known.stored_key)
        if not (fits and len(given) == len(signature) and self._genuine):
            return None
        return b"v=" + base64.b64encode(hmac.digest(self._known.server_key, signed, "sha256"))


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _ascii(message: bytes) -> str:
    try:
        return message.decode("utf-8")
    except UnicodeDecodeError:
        raise _malformed("it is not text") from None


def _malformed(why: str) -> SfumatoError:
    return QueryError("malformed SCRAM message", detail=f"{why[0].upper()}{why[1:]}.", sqlstate="08P01")
