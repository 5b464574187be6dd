"""A device's connections to one lender: control and data, reconnected for as long as it is used."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from motet.domain.errors import AuthenticationFailed, ConnectionLost, MotetError, Unreachable
from motet.remote_memory.borrower.remote_operations import LenderWrite
from motet.remote_memory.core.device_slab import SlabMapping
from motet.remote_memory.wire.memory_messages import (
    BadMemoryMessage,
    CheckActivity,
    EvictionDone,
    EvictSlabs,
    FreeMem,
    MapSlab,
    MemoryMessageKind,
    MrInfo,
    QueryMem,
    ReportActivity,
    SlabKey,
)
from motet.remote_memory.wire.page_requests import StaleSlab, encode_page_request
from motet.transport import Arena, Connection, Endpoint
from motet.transport.client.burst import Burst
from motet.transport.client.call import Call

_LOG = logging.getLogger(__name__)
ANSWER_WITHIN_S = 2.0
"""A lender that does not answer for so long counts as lost."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 5.0
_WRITE, _READ = int(MemoryMessageKind.WRITE_PAGES), int(MemoryMessageKind.READ_PAGES)


class LenderEvents(Protocol):
    """What a link tells its store, on the link's thread."""

    def activity(self, keys: Sequence[SlabKey]) -> Sequence[tuple[SlabKey, float]]:
        """CHECK_ACTIVITY: the rates of those that the device still has."""
        ...

    def evict(self, lender: str, keys: Sequence[SlabKey]) -> Sequence[SlabKey]:
        """EVICT; returns those that are drained, the others follow by `send_done`."""
        ...

    def lost(self, lender: str) -> None:
        """The lender has no slabs of this device any more."""
        ...

    def reached(self, lender: str) -> None:
        """The lender answers: it can be asked for slabs."""
        ...


@dataclass
class _Streams:
    """`broken_by`: why they were closed, if not by `LenderLink._drop`."""

    control: Connection
    data: Connection
    broken_by: str = ""

    @property
    def has_ended(self) -> bool:
        return self.data.has_ended or self.control.has_ended

    def close(self) -> None:
        self.data.close()
        self.control.close()

    def give_up(self, reason: str) -> None:
        """Close them on another thread than the link's, which notices it and does the rest."""
        self.broken_by = reason
        with contextlib.suppress(OSError):
            self.close()


class LenderLink:
    """Thread-safe. After a failure the lender's slabs are lost, and it is tried again."""

    def __init__(
        self, endpoint: Endpoint, secret: bytes, device: str, arena: Arena, events: LenderEvents
    ) -> None:
        """`device`: the name that the lender shows. `arena`: shared memory of this process."""
        self.name = str(endpoint)
        self._endpoint, self._secret, self._device = endpoint, secret, device
        self._arena, self._events = arena, events
        self._lock = threading.Lock()
        self._streams: _Streams | None = None
        self._ending = threading.Event()
        self.failure = ""
        self._thread = threading.Thread(target=self._run, name="motet-lender-link", daemon=True)

    def start(self) -> None:
        """Begin to connect."""
        self._thread.start()

    @property
    def is_up(self) -> bool:
        """Whether the lender answers."""
        return self._streams is not None

    # -- data path -------------------------------------------------------------------------------

    def submit_writes(self, writes: Sequence[LenderWrite]) -> Burst:
        """In their order. Raises ConnectionLost: all of them fail."""
        requests = [
            (encode_page_request(to.token, to.generation, offset, len(data)), data)
            for to, offset, data in writes
        ]
        return self._data().submit_burst(_WRITE, requests)

    def submit_read(self, mapping: SlabMapping, offset: int, into: memoryview) -> Call:
        """`offset`: in the slab. Raises ConnectionLost."""
        head = encode_page_request(mapping.token, mapping.generation, offset, len(into))
        return self._data().submit(_READ, head, (), (into,))

    def fail(self, error: MotetError) -> None:
        """A request failed: end the connections unless the lender only refused the request, or it
        was sent on earlier ones.

        On return no thread receives into the memory of a request any more.
        """
        if not isinstance(error, StaleSlab):
            self._drop(str(error), is_break=isinstance(error, ConnectionLost))

    def _data(self) -> Connection:
        streams = self._streams
        if streams is None:
            raise ConnectionLost(f"{self.name}: not connected")
        return streams.data

    # -- control ---------------------------------------------------------------------------------

    def query(self, slab_bytes: int) -> int:
        """Free slabs for this device; 0 also if the lender is away."""
        reply = self._ask(MemoryMessageKind.QUERY_MEM, QueryMem(slab_bytes).encode())
        if reply is None:
            return 0
        found = FreeMem.decode(reply)
        if found.slab_bytes != slab_bytes:
            self.failure = (
                f"slabs of {found.slab_bytes} bytes there, {slab_bytes} here; use one --slab"
            )
        return found.free_slabs

    def map_slab(self, slab_bytes: int) -> SlabMapping | None:
        """A new mapping; None: the lender has no room, or is away."""
        reply = self._ask(MemoryMessageKind.MAP, MapSlab(slab_bytes).encode())
        if reply is None:
            return None
        info = MrInfo.decode(reply)
        return SlabMapping(self.name, info.token, info.generation) if info.length else None

    def send_done(self, keys: Sequence[SlabKey]) -> None:
        """The device has left evicted slabs."""
        if keys:
            self._ask(MemoryMessageKind.DONE, EvictionDone(tuple(keys)).encode())

    def check(self, slab_bytes: int) -> Callable[[], None]:
        """Ask whether the lender answers; call the result to wait, which fails the link if not.

        Both together take ANSWER_WITHIN_S, so several lenders are checked at the same time. Neither
        takes a lock of a slab: its holder may wait for another lender that is silent.
        """
        streams = self._streams
        if streams is None:
            return _nothing
        try:
            call = streams.control.submit(
                MemoryMessageKind.QUERY_MEM, QueryMem(slab_bytes).encode()
            )
        except ConnectionLost as error:
            streams.give_up(str(error))
            return _nothing

        deadline_s = time.monotonic() + ANSWER_WITHIN_S

        def wait() -> None:
            try:
                call.wait(max(deadline_s - time.monotonic(), 0.0))
            except (TimeoutError, MotetError) as error:
                streams.give_up(f"no answer: {error}")

        return wait

    def close(self) -> None:
        """Disconnect: the lender takes back its slabs."""
        self._ending.set()
        self._drop("closed")
        if self._thread.is_alive():
            self._thread.join()

    def _ask(self, kind: MemoryMessageKind, message: bytes) -> bytes | None:
        streams = self._streams
        if streams is None:
            return None
        try:
            return streams.control.request(kind, message, timeout_s=ANSWER_WITHIN_S).meta
        except (TimeoutError, MotetError) as error:
            self._drop(f"{kind.name}: {error}", is_break=isinstance(error, ConnectionLost))
            return None

    # -- the thread ------------------------------------------------------------------------------

    def _run(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while not self._ending.is_set():
            try:
                streams = self._connect()
            except (Unreachable, AuthenticationFailed, OSError) as error:
                self.failure = str(error)
                self._ending.wait(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
                continue
            pause_s = _FIRST_PAUSE_S
            try:
                self._listen(streams)
            except MotetError as error:
                self._drop(str(error))
                self._ending.wait(pause_s)
            except Exception as error:
                _LOG.exception("lender %s: its message failed; it is tried again", self.name)
                self._drop(repr(error))
                self._ending.wait(pause_s)
            finally:
                streams.close()

    def _connect(self) -> _Streams:
        name = f"{self._device[:40]}/{os.urandom(8).hex()}"
        control = self._connection(name)
        try:
            streams = _Streams(control, self._connection(name))
        except BaseException:
            control.close()
            raise
        return streams

    def _connection(self, name: str) -> Connection:
        return Connection(
            self._endpoint, self._secret, client_id=name, arena=self._arena, retry_for_s=0.0
        )

    def _listen(self, streams: _Streams) -> None:
        """Serve the lender's messages until the connection breaks. Raises MotetError."""
        listening = streams.control.submit(MemoryMessageKind.LISTEN)
        with self._lock:
            self._streams, self.failure = streams, ""
            if self._ending.is_set():
                self._streams = None
                streams.close()
                return
        self._events.reached(self.name)
        while True:
            reply = listening.wait()
            self._answer(reply.status, reply.meta)
            listening = streams.control.submit(MemoryMessageKind.LISTEN)

    def _answer(self, kind: int, message: bytes) -> None:
        if kind == MemoryMessageKind.CHECK_ACTIVITY:
            rates = self._events.activity(CheckActivity.decode(message).slabs)
            self._ask(MemoryMessageKind.ACTIVITY, ReportActivity(tuple(rates)).encode())
        elif kind == MemoryMessageKind.EVICT:
            self.send_done(self._events.evict(self.name, EvictSlabs.decode(message).slabs))
        else:
            raise BadMemoryMessage(f"{self.name}: a lender sent a message of kind {kind}")

    def _drop(self, reason: str, *, is_break: bool = False) -> None:
        """Lose the lender's slabs, then disconnect; on return nothing uses the connections.

        `is_break`: because a connection broke; one that broke earlier was replaced meanwhile.
        """
        with self._lock:
            streams = self._streams
            if streams is None or (is_break and not streams.has_ended):
                return
            self._streams = None
            reason = streams.broken_by or reason
            if not self._ending.is_set():
                _LOG.warning("lender %s: %s", self.name, reason)
            self.failure = reason
            with contextlib.suppress(OSError):
                streams.close()
            # Before the next connection: its mappings are not lost.
            self._events.lost(self.name)


def _nothing() -> None:
    """There is nothing to wait for."""
