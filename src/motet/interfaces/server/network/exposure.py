"""Where the server listens, under which names it answers, and what protects the way to it."""

from __future__ import annotations

import ipaddress
import re
import ssl
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509

from motet.domain.errors import BadInput
from motet.transport.secret_file import require_private_file

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
_EVERY_ADDRESS = ("0.0.0.0", "::")
_HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
_ROOT_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)+")


@dataclass(frozen=True)
class Exposure:
    """`host`: an address of this machine. `certificate`, `key`: PEM files; None: no TLS.

    `proxy_name`: the name under which a reverse proxy with TLS serves this server; `root_path`: the
    path below which it does. `trusts_users`: those with tokens may submit jobs, although they
    come from other machines.
    """

    host: str = "127.0.0.1"
    certificate: Path | None = None
    key: Path | None = None
    proxy_name: str | None = None
    root_path: str = ""
    trusts_users: bool = False

    def check(self) -> None:
        """Raises BadInput."""
        self._check_host()
        if (self.certificate is None) != (self.key is None):
            raise BadInput("--tls-cert and --tls-key belong together; give both")
        if self.proxy_name is not None and not _HOST_NAME.fullmatch(self.proxy_name):
            raise BadInput(f"--behind-proxy {self.proxy_name}: give the host name of the proxy")
        if self.root_path and not _ROOT_PATH.fullmatch(self.root_path):
            raise BadInput(f"--root-path {self.root_path}: write it as /motet")
        if not self.is_local and self.certificate is None and self.proxy_name is None:
            raise BadInput(
                f"--host {self.host}: tokens would travel unencrypted; give --tls-cert and "
                "--tls-key, or --behind-proxy NAME if a proxy with TLS is in front"
            )
        if self.certificate is not None and self.key is not None:
            require_private_file(self.key, "the key of the server's certificate", "", "")
            _check_pair(self.certificate, self.key)
            if not self.certified_names:
                raise BadInput(f"--tls-cert {self.certificate}: has no subjectAltName")

    @property
    def is_local(self) -> bool:
        """Whether only processes of this machine can connect."""
        return _is_loopback(self.host)

    @property
    def is_exposed(self) -> bool:
        """Whether requests come from other machines, also by a proxy on this one."""
        return not self.is_local or self.proxy_name is not None

    @property
    def is_encrypted(self) -> bool:
        """Whether browsers reach it by https."""
        return self.certificate is not None or self.proxy_name is not None

    @cached_property
    def certified_names(self) -> tuple[str, ...]:
        """Names and addresses of the certificate, as a Host header has them. Raises BadInput."""
        if self.certificate is None:
            return ()
        try:
            found = x509.load_pem_x509_certificates(self.certificate.read_bytes())[0]
            names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except x509.ExtensionNotFound:
            return ()
        except (OSError, ValueError) as error:
            raise BadInput(f"--tls-cert {self.certificate}: not a certificate ({error})") from error
        addresses = names.get_values_for_type(x509.IPAddress)
        return (*names.get_values_for_type(x509.DNSName), *map(_in_url, map(str, addresses)))

    @property
    def host_names(self) -> frozenset[str]:
        """For which the server answers; a name may begin with `*.`."""
        own = {_in_url(self.host)} - set(_EVERY_ADDRESS)
        proxy = {self.proxy_name} if self.proxy_name else set[str]()
        return frozenset({*LOOPBACK_NAMES, *self.certified_names, *own, *proxy})

    def scheme_of(self, host: str) -> str:
        """Of the URL of a request with this Host header."""
        is_proxy = self.proxy_name is not None and _name_in(host) == self.proxy_name.lower()
        return "https" if self.certificate is not None or is_proxy else "http"

    def public_url(self, port: int) -> str:
        """For users, without a slash at the end."""
        if self.proxy_name is not None:
            return f"https://{self.proxy_name}{self.root_path}"
        return self.local_url(port)

    def local_url(self, port: int) -> str:
        """For commands on this machine."""
        if self.certificate is None:
            reaches_loopback = self.is_local or self.host in _EVERY_ADDRESS
            if not reaches_loopback and self.proxy_name is not None:
                return f"https://{self.proxy_name}{self.root_path}"
            host = self.host if self.is_local else "127.0.0.1"
            return f"http://{_in_url(host)}:{port}{self.root_path}"
        return f"https://{self._certified_name()}:{port}{self.root_path}"

    def _certified_name(self) -> str:
        """At which commands on this machine reach the server, if the certificate has such a one."""
        named = [each for each in self.certified_names if not each.startswith("*")]
        local = [each for each in LOOPBACK_NAMES if each in named]
        others = [each for each in named if each not in LOOPBACK_NAMES]
        reaches_loopback = self.is_local or self.host in _EVERY_ADDRESS
        return [*(local if reaches_loopback else []), *others, _in_url(self.host)][0]

    def _check_host(self) -> None:
        try:
            ipaddress.ip_address(self.host)
        except ValueError as error:
            raise BadInput(
                f"--host {self.host}: give an address of this machine, 0.0.0.0 for all of them"
            ) from error


def _check_pair(certificate: Path, key: Path) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, lambda: "")
    except OSError as error:
        raise BadInput(
            f"--tls-cert {certificate}, --tls-key {key}: not a PEM certificate and its key without "
            f"a passphrase ({error.strerror or error})"
        ) from error


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _name_in(host: str) -> str:
    """Of a Host header, without the port."""
    return urlsplit(f"//{host}").hostname or ""


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
