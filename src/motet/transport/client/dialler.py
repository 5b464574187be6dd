"""Opens authenticated channels to one server."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from motet.domain.errors import AuthenticationFailed
from motet.transport.authentication import Identity, prove_client
from motet.transport.channel import ClientChannel, Connector
from motet.transport.endpoint import Endpoint
from motet.transport.sealed_channel import SealedChannel

ATTEMPT_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class Dialler:
    """Connects and authenticates. `connectors`: tried in order until one reaches the server."""

    endpoint: Endpoint
    secret: bytes
    identity: Identity
    connectors: Sequence[Connector]

    def dial(self, timeout_s: float = ATTEMPT_TIMEOUT_S) -> ClientChannel:
        """Return an authenticated channel, sealed if it leaves the host.

        Raises OSError or AuthenticationFailed.
        """
        deadline_s = time.monotonic() + timeout_s
        channel = self._connect(timeout_s)
        try:
            keys = prove_client(channel, self.secret, self.identity, deadline_s)
        except AuthenticationFailed as error:
            channel.close()
            raise AuthenticationFailed(f"{self.endpoint}: {error}") from None
        except BaseException:
            channel.close()
            raise
        return channel if keys is None else SealedChannel(channel, keys, is_server=False)

    def _connect(self, timeout_s: float) -> ClientChannel:
        *preferred, last = self.connectors
        for connector in preferred:
            try:
                return connector.connect(timeout_s)
            except OSError:
                continue
        return last.connect(timeout_s)
