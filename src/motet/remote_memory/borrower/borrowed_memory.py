"""A device without its door: store, backup and links to lenders, and what happens once a second."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np

from motet.domain.errors import BadInput
from motet.remote_memory.borrower.backup_file import BackupFile
from motet.remote_memory.borrower.lender_link import LenderLink
from motet.remote_memory.borrower.prefetching_store import PrefetchingStore
from motet.remote_memory.borrower.replica_repair import ReplicaRepair
from motet.remote_memory.borrower.slab_map import SlabPlacement
from motet.remote_memory.borrower.slab_store import SlabStore
from motet.remote_memory.borrower.write_behind import ARENA_BYTES, WriteBehind
from motet.remote_memory.core.device_geometry import DeviceGeometry
from motet.remote_memory.core.device_slab import SlabMapping
from motet.remote_memory.core.lender_choice import find_lender, on_other_machines
from motet.remote_memory.core.slab_activity import HOT_SLAB
from motet.remote_memory.wire.memory_messages import SlabKey
from motet.remote_memory.wire.memory_views import DeviceView
from motet.remote_memory.wire.page_requests import MAX_TRANSFER_BYTES
from motet.transport import Arena, Endpoint

_LOG = logging.getLogger(__name__)
PERIOD_S = 1.0
_RETRY_PLACEMENT_S = 1.0


@dataclass(frozen=True)
class DeviceSettings:
    """`hot_slab`: pages per second from which on a slab gets a lender. `arena_bytes`: memory for
    writes that the disk does not have yet. `replicas`: lenders of each slab, on different machines.
    `prefetch`: whether pages are read ahead. Raises BadInput: the memory is too little for one
    write."""

    geometry: DeviceGeometry
    backup: Path
    hot_slab: float = HOT_SLAB
    arena_bytes: int = ARENA_BYTES
    replicas: int = 1
    prefetch: bool = False

    def __post_init__(self) -> None:
        least = min(self.geometry.slab_bytes, MAX_TRANSFER_BYTES)
        if self.arena_bytes < least:
            raise BadInput(
                f"{self.arena_bytes} bytes for pending writes: one write may have {least}"
            )


class BorrowedMemory:
    """A context manager. Raises BadInput: the backup file cannot be used.

    `store`: for the doors.
    """

    def __init__(
        self,
        settings: DeviceSettings,
        lenders: Sequence[Endpoint],
        secret: bytes,
        name: str,
        rng: np.random.Generator | None = None,
    ) -> None:
        """`name`: what lenders show."""
        self.name, self._settings = name, settings
        self._rng = np.random.default_rng() if rng is None else rng
        self._geometry = settings.geometry
        self._file = BackupFile(settings.backup, self._geometry.size_bytes)
        self._backup = WriteBehind(self._file, self._geometry.pages, settings.arena_bytes)
        self._arena = Arena()
        self._links = {
            str(each): LenderLink(each, secret, name, self._arena, self) for each in lenders
        }
        kind = PrefetchingStore if settings.prefetch else SlabStore
        self.store = kind(
            *(self._geometry, self._backup, self._links, self._drained, settings.replicas),
            lambda view: self._arena.find(view) is not None,
        )
        self._repair = ReplicaRepair(self.store) if settings.replicas > 1 else None
        self._lock = threading.Lock()
        self._wake = threading.Condition(self._lock)
        self._is_awake = self._is_ending = False
        self._done: list[SlabMapping] = []
        self._no_placement_before_s = self._no_replica_before_s = 0.0
        self.store.activity.watch(settings.hot_slab, self._awake)
        self._was_reached = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="motet-device", daemon=True)
        self._ending = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="motet-lender-watch", daemon=True)
        for link in self._links.values():
            link.start()
        self._keeper.start()
        self._watcher.start()

    @property
    def backup_path(self) -> Path:
        """The backup file."""
        return self._file.path

    def new_buffer(self, size: int) -> memoryview:
        """Memory that lenders on this host read and write without a copy. A read into it may raise
        DestinationLost."""
        return self._arena.empty(size).data

    def view(self, clients: int = 0, socket: str = "") -> DeviceView:
        """For `motet memory status`."""
        store, geometry = self.store, self._geometry
        mapped = store.mapped_by_lender()
        error = self._backup.disk_error
        return DeviceView(
            name=self.name,
            size_bytes=geometry.size_bytes,
            slab_bytes=geometry.slab_bytes,
            slabs=geometry.slabs,
            mapped_slabs=store.mapped_slabs(),
            remote_pages=store.remote_pages(),
            pending_pages=self._backup.pending_pages,
            read_remote_pages=store.counters.read_remote,
            read_local_pages=store.counters.read_local,
            written_pages=store.counters.written,
            evictions=store.evictions,
            clients=clients,
            socket=socket,
            disk_error="" if error is None else str(error),
            lenders={name: mapped.get(name, 0) for name in self._links},
            away=tuple(name for name, link in self._links.items() if not link.is_up),
            replicas=self._settings.replicas,
            replicated_pages=store.replicated_pages() if self._settings.replicas > 1 else 0,
            repaired_pages=store.counters.repaired,
            prefetched_pages=store.issued if isinstance(store, PrefetchingStore) else None,
            prefetched_used=store.used if isinstance(store, PrefetchingStore) else 0,
            failures=self.failures(),
        )

    def failures(self) -> dict[str, str]:
        """By lender, why it is not used."""
        return {name: link.failure for name, link in self._links.items() if link.failure}

    def wait_for_lender(self, timeout_s: float) -> bool:
        """Whether a lender has answered since the start, or does so in this time."""
        return self._was_reached.wait(timeout_s)

    def extend(self, size_bytes: int) -> None:
        """Make the device larger; one thread at a time. Raises OSError: the disk has no room."""
        geometry = replace(self._geometry, size_bytes=size_bytes)
        self._file.extend(size_bytes)
        self._backup.extend(geometry.pages)
        with self._lock:
            self.store.extend(geometry)
        self._geometry = geometry

    def close(self, *, keeps: bool = True) -> None:
        """Return all slabs, and write what is pending, or drop it."""
        with self._wake:
            self._is_ending = True
            self._wake.notify()
        for link in self._links.values():  # It ends the requests that the keeper waits for.
            link.close()
        self._keeper.join()
        self._ending.set()  # No earlier: a request to a lender that is silent may hold a lock.
        self._watcher.join()
        if isinstance(self.store, PrefetchingStore):
            self.store.close()
        if self._repair is not None:
            self._repair.close()
        self._backup.close(keeps=keeps)
        self._file.close()
        self._arena.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    # -- LenderEvents ----------------------------------------------------------------------------

    def activity(self, keys: Sequence[SlabKey]) -> Sequence[tuple[SlabKey, float]]:
        """See LenderEvents."""
        return self.store.rates(keys)

    def evict(self, lender: str, keys: Sequence[SlabKey]) -> Sequence[SlabKey]:
        """See LenderEvents. Hot slabs get another lender at once."""
        del lender
        drained = self.store.detach(keys)
        self._awake()
        return drained

    def lost(self, lender: str) -> None:
        """See LenderEvents. Hot slabs get another lender at once."""
        self.store.detach_all(lender)
        self._awake()

    def reached(self, lender: str) -> None:
        """See LenderEvents."""
        del lender
        self._no_placement_before_s = self._no_replica_before_s = 0.0
        self._was_reached.set()
        self._awake()

    def _drained(self, mapping: SlabMapping) -> None:
        with self._wake:
            self._done.append(mapping)
            self._is_awake = True
            self._wake.notify()

    # -- the thread ------------------------------------------------------------------------------

    def _awake(self) -> None:
        with self._wake:
            self._is_awake = True
            self._wake.notify()

    def _keep(self) -> None:
        next_s = time.monotonic() + PERIOD_S
        while self._wait(next_s):
            try:
                self._send_done()
                now_s = time.monotonic()
                if now_s >= next_s:
                    with self._lock:
                        self.store.activity.advance(now_s - next_s + PERIOD_S)
                    next_s = now_s + PERIOD_S
                self.place_hot_slabs()
                self._give_pending(next_s)
            except Exception:
                _LOG.exception("a round of placement failed; it goes on")

    def _wait(self, until_s: float) -> bool:
        """Wait for an event or the time; False at the end."""
        with self._wake:
            while not (self._is_awake or self._is_ending):
                if not self._wake.wait(max(until_s - time.monotonic(), 0.0)):
                    break
            self._is_awake = False
            return not self._is_ending

    def _give_pending(self, until_s: float) -> None:
        """Give new lenders their pages, until an event or the time: both come first."""
        while self.store.give_pending():
            if self._is_awake or self._is_ending or time.monotonic() >= until_s:
                break

    def _send_done(self) -> None:
        with self._lock:
            done, self._done = self._done, []
        for mapping in done:
            link = self._links[mapping.lender]
            link.send_done([SlabKey(mapping.token, mapping.generation)])

    def _watch(self) -> None:
        """A lender that is silent is lost, also if no request is in flight to it.

        Apart from placement, which may wait for another silent lender.
        """
        while not self._ending.wait(PERIOD_S):
            try:
                waits = [link.check(self._geometry.slab_bytes) for link in self._links.values()]
                for wait in waits:
                    wait()
            except Exception:
                _LOG.exception("a check of the lenders failed; it goes on")

    def place_hot_slabs(self) -> int:
        """Find lenders for hot unmapped slabs, the hottest first, then for missing replicas.

        Returns how many lenders were found.
        """
        placed, now_s = 0, time.monotonic()
        if now_s >= self._no_placement_before_s:
            hot = self.store.activity.hot(self._settings.hot_slab)
            unmapped = [slab for slab in hot if self.store.unmapped(slab)]
            placed, has_room = self.store.place_all(unmapped, self._find_lender)
            if not has_room:
                self._no_placement_before_s = now_s + _RETRY_PLACEMENT_S
        if self._repair is not None and now_s >= self._no_replica_before_s:
            lacking = self.store.lacking_copies()
            replicas, has_room = self.store.place_all(lacking, self._find_lender)
            if not has_room:
                self._no_replica_before_s = now_s + _RETRY_PLACEMENT_S
            if replicas:
                self._repair.awake()
            placed += replicas
        return placed

    def map_slab(self, slab: int) -> bool:
        """Find a lender, or one more, for a slab that lacks one; whether it was found."""
        is_placed = self.store.place(slab, self._find_lender) is SlabPlacement.PLACED
        if is_placed:
            self._awake()  # The keeper gives the lender what the disk does not have yet.
        return is_placed

    def _find_lender(self, taken: Sequence[str]) -> SlabMapping | None:
        slab_bytes = self._geometry.slab_bytes
        return find_lender(
            on_other_machines((name for name, link in self._links.items() if link.is_up), taken),
            self.store.mapped_by_lender(),
            lambda name: self._links[name].query(slab_bytes),
            lambda name: self._links[name].map_slab(slab_bytes),
            self._rng,
        )
