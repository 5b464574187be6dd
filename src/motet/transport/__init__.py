"""The data plane: authenticated requests with NumPy payloads between processes, without Ray.

    server = Server(handler, secret)                 # handler(request): request.reply(...)
    with Connection(server.endpoint, secret) as connection:
        call = connection.submit(KIND, meta, [array], into=[result])
        reply = call.wait()                          # many calls may be in flight

Processes of one host and network namespace exchange requests over a unix socket and payloads in
shared memory; all others use TCP. A `DirectConnection` calls a handler of its own process.
`channel` and `payload_memory` define the port for backends.
"""

from motet.transport.backends.arena import Arena
from motet.transport.backends.shared_link import LinkUse, SharedLink
from motet.transport.client.call import Call, Reply, Requester
from motet.transport.client.connection import Connection
from motet.transport.direct import DirectConnection
from motet.transport.endpoint import Endpoint, host_identity
from motet.transport.framing import Buffer
from motet.transport.secret_file import new_secret, read_secret, write_secret
from motet.transport.server.request import Handler, Request
from motet.transport.server.server import Server
from motet.transport.switch_interval import use_short_switch_interval

__all__ = [
    "Arena",
    "Buffer",
    "Call",
    "Connection",
    "DirectConnection",
    "Endpoint",
    "Handler",
    "LinkUse",
    "Reply",
    "Request",
    "Requester",
    "Server",
    "SharedLink",
    "host_identity",
    "new_secret",
    "read_secret",
    "use_short_switch_interval",
    "write_secret",
]
