"""The address of a server: TCP and, for clients on the same host, a unix socket."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from motet.domain.errors import BadInput

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_NETWORK_NAMESPACE = Path("/proc/self/ns/net")


@dataclass(frozen=True)
class Endpoint:
    """A server's address.

    `unix_name`: an abstract unix socket (empty: none). Abstract names belong to a network
    namespace, so they cannot connect two hosts of a testbed that share a kernel.
    `host_identity`: see `host_identity()`.
    """

    host: str
    port: int
    unix_name: str = ""
    host_identity: str = ""

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def is_here(self) -> bool:
        """Whether this process can connect to the server's unix socket."""
        return bool(self.unix_name) and self.host_identity == host_identity()

    def encode(self) -> str:
        """Encode as one line of JSON, for files and command lines."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def decode(cls, text: str) -> Self:
        """Decode what `encode` returns. Raises BadInput."""
        try:
            fields = json.loads(text)
            return cls(
                str(fields["host"]),
                int(fields["port"]),
                str(fields.get("unix_name", "")),
                str(fields.get("host_identity", "")),
            )
        except (ValueError, TypeError, KeyError) as error:
            raise BadInput(f"{text[:80]!r} is not an endpoint: {error}") from error


def host_identity() -> str:
    """Return a text that two processes share exactly if they share kernel and network namespace."""
    try:
        boot = _BOOT_ID.read_text(encoding="ascii").strip()
        namespace = os.stat(_NETWORK_NAMESPACE)
    except OSError:
        return ""
    return f"{boot}/{namespace.st_dev:x}.{namespace.st_ino:x}"
