"""A lender: serves devices, and follows the memory use of its machine once a second."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np

from motet.remote_memory.core.head_room import MemoryUse, PoolLimits
from motet.remote_memory.lender.cluster_terms import ClusterTerms
from motet.remote_memory.lender.eviction_round import EvictionRound
from motet.remote_memory.lender.memory_client import MemoryClient
from motet.remote_memory.lender.page_batches import PageBatches, load_page_kernel
from motet.remote_memory.lender.slab_pool import SlabPool
from motet.remote_memory.wire.memory_messages import (
    NO_SLAB,
    BadMemoryMessage,
    EvictionDone,
    FreeMem,
    MapSlab,
    MemoryMessageKind,
    QueryMem,
    ReportActivity,
)
from motet.remote_memory.wire.memory_views import LenderView, LendingTerms, MemoryCommand
from motet.remote_memory.wire.page_requests import (
    MAX_TRANSFER_BYTES,
    StaleSlab,
    decode_page_request,
)
from motet.transport import Endpoint, Request, Server

_LOG = logging.getLogger(__name__)
PERIOD_S = 1.0
_STEP_S = 0.1
FreeMemory = Callable[[], int]
"""Bytes that the machine, or the control group of this process, has left."""


@dataclass(frozen=True)
class LenderSettings:
    """`limits`: of the pool. `quota_slabs`: of each borrower. `extra`: E', owners that are asked
    beyond E; None: E. `done_within_s`: for DONE after EVICT."""

    limits: PoolLimits
    quota_slabs: int | None = None
    extra: int | None = None
    done_within_s: float = 3.0
    host: str = "127.0.0.1"
    port: int = 0


class Lender:
    """A context manager. Raises BadInput: the address is not available."""

    def __init__(
        self,
        settings: LenderSettings,
        secret: bytes,
        free_memory: FreeMemory,
        terms: ClusterTerms | None = None,
    ) -> None:
        """`terms`: of a live cluster; None: it belongs to none."""
        self._settings, self._terms = settings, terms
        self._free_memory = free_memory
        self._use = MemoryUse()
        self._used_bytes = 0
        self._evicted = self._revoked = 0
        self._clients: dict[str, MemoryClient] = {}
        self._pool = SlabPool(settings.limits.slab_bytes, settings.quota_slabs)
        self._round = EvictionRound(
            self._pool,
            self._clients.get,
            round(settings.done_within_s * 1e6),
            np.random.default_rng(),
        )
        self._handlers: dict[int, Callable[[Request], None]] = {
            MemoryMessageKind.WRITE_PAGES: self._write,
            MemoryMessageKind.READ_PAGES: self._read,
            MemoryMessageKind.QUERY_MEM: self._query,
            MemoryMessageKind.MAP: self._map,
            MemoryMessageKind.LISTEN: self._listen,
            MemoryMessageKind.ACTIVITY: self._activity,
            MemoryMessageKind.DONE: self._done,
            MemoryCommand.DESCRIBE: self._describe,
            MemoryCommand.USE_TERMS: self._use_terms,
        }
        self._is_ending = False
        self._news = threading.Event()
        self._adjusting = threading.Lock()
        load_page_kernel()
        # First: an address that cannot be had is told before memory is filled, which takes long.
        self._server = Server(
            self._handle,
            secret if terms is None else terms.secret_of,
            settings.host,
            settings.port,
            payload_limit=lambda _: MAX_TRANSFER_BYTES,
            batches=self._batches,
        )
        try:
            self.adjust()
        except BaseException:  # An interrupt.
            self._server.close()
            self._pool.close()
            raise
        self._keeper = threading.Thread(target=self._keep, name="motet-lender", daemon=True)
        self._keeper.start()

    @property
    def endpoint(self) -> Endpoint:
        """The address for devices."""
        return self._server.endpoint

    @property
    def held_bytes(self) -> int:
        """Memory of all slabs."""
        return self._pool.held_bytes

    def view(self) -> LenderView:
        """For `motet memory status`."""
        limits, counts = self._settings.limits, self._pool.counts
        return LenderView(
            address=str(self.endpoint),
            slab_bytes=limits.slab_bytes,
            total_bytes=limits.total_bytes,
            used_bytes=self._used_bytes,
            head_room_bytes=limits.head_room_bytes,
            free_slabs=counts.free,
            mapped_slabs=counts.mapped,
            evicting_slabs=counts.evicting,
            evicted=self._evicted,
            revoked=self._revoked,
            clients=dict(Counter(slab.client for slab in self._pool.mapped())),
            requested_bytes=0 if self._terms is None else self._terms.requested_bytes,
            borrowed_byte_s=self._pool.borrowed_byte_s(),
        )

    def adjust(self) -> None:
        """Measure the memory use; allocate, release or evict as it requires."""
        with self._adjusting:
            self._adjust()

    def _adjust(self) -> None:
        limits = self._settings.limits
        used_bytes = limits.total_bytes - self._free_memory() - self._pool.held_bytes
        self._used_bytes = self._use.measured(max(used_bytes, 0))
        requested_bytes = 0 if self._terms is None else self._terms.measured_bytes()
        change = limits.change(self._used_bytes + requested_bytes, self._pool.counts)
        self._pool.release(change.release)
        extra = change.evict if self._settings.extra is None else self._settings.extra
        self._round.begin(change.evict, extra, _now_us())
        try:
            for _ in range(change.allocate):
                if self._news.is_set():  # A job may have requested the memory.
                    break
                self._pool.allocate(1)
        except OSError as error:
            _LOG.warning("no memory for more slabs: %s", error)

    def close(self) -> None:
        """Disconnect all devices and return all memory."""
        self._is_ending = True
        self._news.set()
        self._keeper.join()
        self._server.close()
        self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    # -- requests --------------------------------------------------------------------------------

    def _handle(self, request: Request) -> None:
        handler = self._handlers.get(request.kind)
        if handler is None:
            raise BadMemoryMessage(f"a lender has no request of kind {request.kind}")
        handler(request)

    def _write(self, request: Request) -> None:
        _, token, generation, offset, _ = decode_page_request(request.meta)
        lent = self._pool.find(token, generation, request.client_id)
        if lent is None:
            raise StaleSlab(f"mapping {generation} has ended")
        lent.write(request, offset)

    def _read(self, request: Request) -> None:
        _, token, generation, offset, length = decode_page_request(request.meta)
        lent = self._pool.find(token, generation, request.client_id)
        if lent is None:
            raise StaleSlab(f"mapping {generation} has ended")
        lent.read(request, offset, length)

    def _batches(self, client: str) -> PageBatches:
        return PageBatches(partial(self._pool.find, client=client))

    def _query(self, request: Request) -> None:
        slab_bytes = self._pool.slab_bytes
        is_same = QueryMem.decode(request.meta).slab_bytes == slab_bytes
        free = self._pool.room_for(request.client_id) if is_same else 0
        request.reply(FreeMem.kind, FreeMem(free, slab_bytes).encode())

    def _map(self, request: Request) -> None:
        is_same = MapSlab.decode(request.meta).slab_bytes == self._pool.slab_bytes
        is_known = request.client_id in self._clients
        info = self._pool.lend(request.client_id) if is_same and is_known else NO_SLAB
        request.reply(info.kind, info.encode())

    def _listen(self, request: Request) -> None:
        client = self._clients.setdefault(
            request.client_id, MemoryClient(request.client_id, request)
        )
        client.listen(request)

    def _activity(self, request: Request) -> None:
        self._round.answer(ReportActivity.decode(request.meta), _now_us())
        request.reply()

    def _done(self, request: Request) -> None:
        for key in EvictionDone.decode(request.meta).slabs:
            self._evicted += self._pool.take_back(key, keep=False, client=request.client_id)
        request.reply()

    def _describe(self, request: Request) -> None:
        request.reply(0, self.view().encode())

    def _use_terms(self, request: Request) -> None:
        terms = self._terms
        if terms is None or not terms.may_command(request.client_id):
            raise BadMemoryMessage("this lender takes no terms from this client")
        terms.use(LendingTerms.decode(request.meta))
        self._news.set()
        last = {each for each in self._pool.idle_borrowers() if not terms.admits(each)}
        self._pool.forget_borrowers(terms.heard_accounts(request.client_id, last))
        request.reply(0, self.view().encode())

    # -- every second ----------------------------------------------------------------------------

    def _keep(self) -> None:
        next_s = time.monotonic() + PERIOD_S
        while True:
            has_news = self._news.wait(_STEP_S)
            if self._is_ending:
                return
            self._news.clear()
            try:
                self._round.advance(_now_us())
                self._forget_clients()
                self._revoke_overdue()
                if has_news or time.monotonic() >= next_s:
                    next_s = time.monotonic() + PERIOD_S
                    self.adjust()
            except Exception:
                _LOG.exception("the lender's adjustment failed; it goes on")

    def _forget_clients(self) -> None:
        """A device without its connection has no slabs any more, on its side either."""
        for client in list(self._clients.values()):
            if self._terms is not None and not self._terms.admits(client.name):
                client.disconnect()
            if not client.is_connected:
                del self._clients[client.name]
        for key in self._pool.slabs_of_others(self._clients):
            self._pool.take_back(key, keep=True)
        if self._terms is None:
            gone = set(self._pool.idle_borrowers()).difference(self._clients)
            self._pool.forget_borrowers(gone)

    def _revoke_overdue(self) -> None:
        for key in self._pool.overdue(_now_us()):
            self._revoked += self._pool.take_back(key, keep=False)


def _now_us() -> int:
    return time.monotonic_ns() // 1000
