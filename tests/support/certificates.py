"""Certificates for tests: an authority, and what it issues."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Issued:
    """PEM files of a certificate and its key."""

    certificate: Path
    key: Path


class Authority:
    """Signs certificates; `file`: its own one, which clients trust."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder, self._name = folder, name
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"test {name}")])
        found = self._builder(self._subject, self._key.public_key()).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        self.file = folder / f"{name}.pem"
        signed = found.sign(self._key, hashes.SHA256())
        self.file.write_bytes(signed.public_bytes(serialization.Encoding.PEM))

    def issue(self, *names: str, days: int = 1) -> Issued:
        """A certificate for DNS names and addresses. `days`: until it expires."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test server")])
        builder = self._builder(subject, key.public_key(), days)
        if names:
            alternatives = x509.SubjectAlternativeName([_general(each) for each in names])
            builder = builder.add_extension(alternatives, critical=False)
        made = Issued(self._folder / f"{self._name}-server.pem", self._folder / f"{self._name}.key")
        signed = builder.sign(self._key, hashes.SHA256())
        made.certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        made.key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        made.key.chmod(0o600)
        return made

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, days: int = 1
    ) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._subject)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=30))
            .not_valid_after(now + timedelta(days=days))
        )


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
