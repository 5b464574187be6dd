"""The mapping table of a job from pMaster, and the worker's sign of life."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from motet.aggregation.agent.routes import TensorRoutes
from motet.aggregation.wire.job_credentials import JobCredential
from motet.aggregation.wire.pool_address import PoolAddress
from motet.aggregation.wire.pool_messages import (
    AwaitRoutes,
    JoinJob,
    LeaveJob,
    PoolFull,
    PoolRequest,
    Routes,
)
from motet.aggregation.wire.tensor_spec import TensorSpec
from motet.domain.errors import BadInput, JobFailed, MotetError, Unreachable
from motet.runtime.wire.codec import decode, encode
from motet.transport import Connection, Endpoint, Reply

_RETRY_FOR_S = 1.0
_PAUSE_S = 0.2
_REFRESH_FOR_S = 0.5
_JOIN_FOR_S, _ROOM_FOR_S = 20.0, 600.0
_LEAVE_FOR_S = 5.0


class PoolRoutes:
    """Implements RouteSource. A thread waits for newer tables until `leave`.

    While pMaster is away the last table counts; the thread connects to the next pMaster.
    """

    def __init__(
        self,
        address: Path,
        job: str,
        rank: int,
        workers: int,
        servers: int,
        *,
        loss_limit: float | None = None,
        credential: JobCredential | None = None,
    ) -> None:
        """`address`: the pool's address file. `servers`: parameter servers that the job would have
        without the pool. `loss_limit`: see JoinJob. `credential`: of a job of a live cluster.
        """
        self._address, self._loss_limit = address, loss_limit
        self._secret = None if credential is None else credential.secret
        self._client = None if credential is None else credential.client_name()
        self._job, self._rank, self._workers, self._servers = job, rank, workers, servers
        self._changed = threading.Condition()
        self._latest: Routes | None = None
        self._error: MotetError | None = None
        self._is_closed = threading.Event()
        self._connection: Connection | None = None
        self._thread = threading.Thread(target=self._watch, name="motet-routes", daemon=True)

    def routes(self, tensors: Sequence[TensorSpec]) -> TensorRoutes:
        """Enter the job. Raises BadInput, PoolFull, Unreachable, AuthenticationFailed."""
        place = self._job, self._rank, self._workers, self._servers
        request = JoinJob(*place, tuple(tensors), self._loss_limit)
        reply = self._join(request)
        self._latest = decode(Routes, reply.meta)
        self._thread.start()
        return _job_routes(self._latest)

    def refresh(self, known: TensorRoutes) -> TensorRoutes:
        """See RouteSource. Raises JobFailed: the job has ended."""
        deadline_s = time.monotonic() + _REFRESH_FOR_S
        with self._changed:
            while self._error is None:
                assert self._latest is not None, "a job was entered before"
                found = _job_routes(self._latest)
                left_s = deadline_s - time.monotonic()
                if found != known or left_s <= 0:
                    return found
                self._changed.wait(left_s)
            raise self._error

    def leave(self, steps: int) -> None:
        """Take part in no step after these. A pMaster that is away notices it later."""
        if self._is_closed.is_set():
            return
        self._is_closed.set()
        if self._latest is not None and self._connection is not None:
            message = LeaveJob(self._latest.job, self._rank, steps)
            with contextlib.suppress(MotetError, TimeoutError):
                self._ask(PoolRequest.LEAVE, message, _LEAVE_FOR_S)
        with self._changed:
            if self._connection is not None:
                self._connection.close()
        if self._thread.is_alive():
            self._thread.join()

    def _join(self, request: JoinJob) -> Reply:
        """Ask again if pMaster is started again, or hears of the job, meanwhile. A job of a live
        cluster, which has its slots, waits for room.
        """
        began_s = time.monotonic()
        deadline_s = began_s + _JOIN_FOR_S
        while True:
            try:
                self._connect()
                return self._ask(PoolRequest.JOIN, request)
            except Unreachable:
                is_no_pool = self._secret is None and self._connection is None
                if is_no_pool or time.monotonic() > deadline_s:
                    raise
            except PoolFull:
                if self._secret is None or time.monotonic() > began_s + _ROOM_FOR_S:
                    raise
            time.sleep(_PAUSE_S)

    def _connect(self) -> None:
        address = PoolAddress.read(self._address, self._secret)
        connection = Connection(
            address.endpoint, address.secret, client_id=self._client, retry_for_s=_RETRY_FOR_S
        )
        with self._changed:
            if self._connection is not None:
                self._connection.close()
            self._connection = connection
            if self._is_closed.is_set():
                connection.close()

    def _ask(self, kind: PoolRequest, message: Any, timeout_s: float | None = None) -> Reply:
        assert self._connection is not None
        head, _ = encode(message)
        return self._connection.request(kind, head, timeout_s=timeout_s)

    def _watch(self) -> None:
        while not self._is_closed.is_set():
            try:
                self._await_change()
            except (Unreachable, BadInput):
                self._is_closed.wait(_PAUSE_S)
                with contextlib.suppress(MotetError):
                    self._connect()
            except MotetError as error:
                self._fail(error)
                return

    def _await_change(self) -> None:
        assert self._latest is not None
        message = AwaitRoutes(self._latest.job, self._rank, self._latest.version)
        routes = decode(Routes, self._ask(PoolRequest.AWAIT_ROUTES, message).meta)
        with self._changed:
            self._latest = routes
            self._changed.notify_all()

    def _fail(self, error: MotetError) -> None:
        with self._changed:
            self._error = JobFailed(str(error))
            self._changed.notify_all()


def _job_routes(routes: Routes) -> TensorRoutes:
    numbers = sorted(routes.aggregators)
    position = {number: place for place, number in enumerate(numbers)}
    return TensorRoutes(
        routes.job,
        bytes.fromhex(routes.secret),
        tuple(Endpoint.decode(routes.aggregators[number]) for number in numbers),
        tuple(position[home] for home in routes.homes),
    )
