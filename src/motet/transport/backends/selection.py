"""The choice of backends: the only place that lists them."""

from __future__ import annotations

from motet.transport.backends.arena import Arena
from motet.transport.backends.shared_link import SharedLink
from motet.transport.backends.shared_memory import SharedMemoryConnector, SharedMemoryListener
from motet.transport.backends.tcp import TcpConnector, TcpListener
from motet.transport.channel import Connector, Listener
from motet.transport.endpoint import Endpoint


def connectors_to(
    endpoint: Endpoint, arena: Arena, *, shared_memory: bool, link: SharedLink | None = None
) -> list[Connector]:
    """Return the ways to reach a server, the fastest first.

    `shared_memory`: whether to use the same-host backend where it applies; `link`: of this machine,
    if several jobs share it.
    """
    connectors: list[Connector] = []
    if shared_memory and endpoint.is_here:
        connectors.append(SharedMemoryConnector(endpoint.unix_name, arena))
    connectors.append(TcpConnector(endpoint.host, endpoint.port, link))
    return connectors


def listeners_at(host: str, port: int, link: SharedLink | None = None) -> list[Listener]:
    """Return a listener of each backend; `link`: as above.

    Raises BadInput if the address is not available.
    """
    return [TcpListener(host, port, link), SharedMemoryListener()]
