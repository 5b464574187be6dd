"""Connections from one process to the other executors of its job, made on first use."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from motet.domain.arrays import Array
from motet.domain.errors import ConnectionLost
from motet.transport import (
    Arena,
    Connection,
    DirectConnection,
    Endpoint,
    Handler,
    LinkUse,
    Requester,
)

RETRY_FOR_S = 20.0


class ExecutorPeers:
    """Executors by number; closing it wakes all threads that wait for one of them."""

    def __init__(
        self,
        endpoints: Mapping[int, Endpoint],
        secret: bytes,
        arena: Arena,
        retry_for_s: float = RETRY_FOR_S,
        shared_memory: bool = True,
        link_use: LinkUse | None = None,
        handlers: Mapping[int, Handler] | None = None,
    ) -> None:
        """`shared_memory`: use it with peers on this host (False: TCP with all peers); `link_use`:
        how requests use a link that jobs share; `handlers`: of executors in this process, which are
        called instead."""
        self._endpoints = dict(endpoints)
        self._secret = secret
        self._arena = arena
        self._retry_for_s = retry_for_s
        self._shared_memory = shared_memory
        self._link_use = link_use
        self._handlers = {} if handlers is None else handlers
        self._lock = threading.Lock()
        self._connections: dict[int, Requester] = {}
        self._is_closed = False

    def is_here(self, executor: int) -> bool:
        """Whether this thread carries out what it asks of the executor."""
        return executor in self._handlers

    def connection(self, executor: int) -> Requester:
        """The connection to an executor. Raises Unreachable, and ConnectionLost after `close`."""
        found = self._connections.get(executor)
        if found is not None:
            return found
        with self._lock:
            if self._is_closed:
                raise ConnectionLost(
                    f"connections were closed before executor {executor} was called"
                )
            if executor not in self._connections:
                self._connections[executor] = self._connected(executor)
            return self._connections[executor]

    def meet(self, endpoints: Mapping[int, Endpoint]) -> None:
        """Executors that joined later; one that was started anew is reached at its new address."""
        with self._lock:
            changed = [n for n, endpoint in endpoints.items() if endpoint != self._endpoints.get(n)]
            self._endpoints |= endpoints
            former = [self._connections.pop(n) for n in changed if n in self._connections]
        for connection in former:
            connection.close()

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """An array that peers on this host can fill directly."""
        return self._arena.empty(shape, dtype)

    def close(self) -> None:
        """Close every connection."""
        with self._lock:
            self._is_closed = True
            connections = list(self._connections.values())
        for connection in connections:
            connection.close()

    def _connected(self, executor: int) -> Requester:
        handler = self._handlers.get(executor)
        if handler is not None:
            return DirectConnection(handler, f"executor {executor}")
        return Connection(
            self._endpoints[executor],
            self._secret,
            arena=self._arena,
            retry_for_s=self._retry_for_s,
            shared_memory=self._shared_memory,
            use=self._link_use,
        )
