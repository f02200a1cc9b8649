"""TLS: a context from the owner's certificate, or from a self-signed one that is made here.

Comes in: paths, or the policy's state directory. Goes out: a context, and the hash that binds a log-in to the channel.
"""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from sfumato.errors import InputError

_YEARS = 5


@dataclass(frozen=True, slots=True)
class Tls:
    """A server's side of TLS; `binding` is tls-server-end-point (RFC 5929)."""

    context: ssl.SSLContext
    binding: bytes


def tls(state: str | Path, host: str, cert: Path | None = None, key: Path | None = None) -> Tls:
    """The owner's certificate, or one of our own that is kept in the state directory."""
    if (cert is None) != (key is None):
        raise InputError("give --cert and --key together")
    if cert is None or key is None:
        cert, key = Path(state) / "server.crt", Path(state) / "server.key"
        if not (cert.exists() and key.exists()) or _is_old(cert):
            _make(cert, key, host)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(cert, key)
        found = x509.load_pem_x509_certificate(cert.read_bytes())
    except (ssl.SSLError, ValueError) as error:
        raise InputError(f'"{cert}" and "{key}" are not a certificate and its key', detail=str(error)) from None
    return Tls(context, _binding(found))


def _binding(certificate: x509.Certificate) -> bytes:
    """The certificate, hashed by its own signature's hash; MD5 and SHA-1 are replaced by SHA-256."""
    own = certificate.signature_hash_algorithm
    strong = own is not None and not isinstance(own, hashes.MD5 | hashes.SHA1)
    return certificate.fingerprint(own if strong and own is not None else hashes.SHA256())


def _is_old(cert: Path) -> bool:
    return x509.load_pem_x509_certificate(cert.read_bytes()).not_valid_after_utc < datetime.now(UTC)


def _make(cert: Path, key: Path, host: str) -> None:
    cert.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    secret = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sfumato")])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(secret.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=365 * _YEARS))
        .add_extension(x509.SubjectAlternativeName(_names(host)), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    )
    made = builder.sign(secret, hashes.SHA256())
    pem = serialization.Encoding.PEM
    _write(key, secret.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    _write(cert, made.public_bytes(pem))


def _names(host: str) -> list[x509.GeneralName]:
    names: list[x509.GeneralName] = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
    try:
        address = ip_address(host)
        return names if address.is_unspecified else [*names, x509.IPAddress(address)]
    except ValueError:
        return [*names, x509.DNSName(host)] if host else names


def _write(path: Path, data: bytes) -> None:
    made = path.with_suffix(path.suffix + ".new")
    handle = os.open(made, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    made.replace(path)
