"""The jobs of an Aggregator: which secret a client has to prove, and which job it may touch."""

from __future__ import annotations

import os
import threading
from dataclasses import replace

from motet.aggregation.aggregator.tenant import Tenant
from motet.aggregation.wire.aggregator_control import JobAccess
from motet.aggregation.wire.client_names import POOL, job_of
from motet.domain.errors import AuthenticationFailed, BadInput, NotFound
from motet.transport.framing import MAX_PAYLOAD_BYTES

_SECRET_BYTES = 32
_HEAD_ROOM_BYTES = 1 << 20


class Tenants:
    """Jobs by number. Thread-safe."""

    def __init__(self, pool_secret: bytes) -> None:
        self._pool_secret = pool_secret
        self._lock = threading.Lock()
        self._tenants: dict[int, Tenant] = {}

    def open(self, access: JobAccess) -> None:
        """Accept a job, or change its quota. Raises BadInput: it has another secret."""
        with self._lock:
            known = self._tenants.get(access.job)
            if known is None:
                self._tenants[access.job] = Tenant(access)
            elif known.access.secret != access.secret:
                raise BadInput(f"job {access.job} is open here with another secret")
            else:
                known.access = replace(known.access, memory_bytes=access.memory_bytes)

    def close(self, job: int) -> Tenant | None:
        """Forget a job."""
        with self._lock:
            return self._tenants.pop(job, None)

    def all(self) -> list[Tenant]:
        """In the order of opening."""
        with self._lock:
            return list(self._tenants.values())

    def tenant(self, job: int) -> Tenant:
        """A job by number. Raises NotFound."""
        found = self._tenants.get(job)
        if found is None:
            raise NotFound(f"job {job} is not open on this Aggregator")
        return found

    def of_agent(self, client_id: str) -> Tenant:
        """The job of an authenticated Agent. Raises NotFound, AuthenticationFailed."""
        job = job_of(client_id)
        if job is None:
            raise AuthenticationFailed(f"{client_id} is no Agent of a job")
        return self.tenant(job)

    def secret_of(self, client_id: str) -> bytes:
        """What a client with this name has to prove."""
        if _is_of_pool(client_id):
            return self._pool_secret
        job = job_of(client_id)
        tenant = None if job is None else self._tenants.get(job)
        return os.urandom(_SECRET_BYTES) if tenant is None else tenant.access.secret

    def payload_limit(self, client_id: str) -> int:
        """The largest payload of a client, in bytes."""
        if _is_of_pool(client_id):
            return MAX_PAYLOAD_BYTES
        try:
            return self.of_agent(client_id).access.memory_bytes + _HEAD_ROOM_BYTES
        except NotFound:
            return _HEAD_ROOM_BYTES

    @staticmethod
    def require_pool(client_id: str) -> None:
        """Raises AuthenticationFailed for an Agent: it has proved the secret of its job only."""
        if not _is_of_pool(client_id):
            raise AuthenticationFailed(f"{client_id} may not control this Aggregator")


def _is_of_pool(client_id: str) -> bool:
    return client_id.partition("/")[0] == POOL
