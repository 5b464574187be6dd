"""Where a device finds lenders: addresses of the user, or the lender of this machine."""

from __future__ import annotations

from motet.domain.errors import BadInput
from motet.remote_memory.device.memory_folder import MemoryFolder
from motet.transport import Endpoint


def known_lenders(folder: MemoryFolder) -> list[Endpoint]:
    """The lender of this user on this machine, if it runs. Raises BadInput."""
    if not folder.lender.exists():
        return []
    return [Endpoint.decode(folder.lender.read_text(encoding="utf-8"))]


def lender_at(address: str) -> Endpoint:
    """From `host:port` or `[::1]:port`. Raises BadInput."""
    host, separator, port = address.rpartition(":")
    if not separator or not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise BadInput(f"{address!r:.80} is not the address of a lender; write HOST:PORT")
    return Endpoint(host.removeprefix("[").removesuffix("]"), int(port))
