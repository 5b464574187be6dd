"""A store that reads ahead where reads follow a trend, into a small cache of the device.

A page leaves the cache when it is read, when a write to it begins, and when newer ones need the
room. While a write begins no page of it enters, so what is cached is never older than a write that
has begun: a read that begins later than a write never gets what was read ahead before it.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from queue import SimpleQueue
from typing import NamedTuple, TypeVar

from motet.remote_memory.borrower.slab_store import LenderPort, SlabStore
from motet.remote_memory.borrower.store_operation import (
    PageWrite,
    StoreOperation,
    WriteOperation,
)
from motet.remote_memory.borrower.write_behind import WriteBehind
from motet.remote_memory.core.access_trend import Prefetcher
from motet.remote_memory.core.device_geometry import PAGE_BYTES, DeviceGeometry
from motet.remote_memory.core.device_slab import SlabMapping

A = TypeVar("A")
T = TypeVar("T")
_LOG = logging.getLogger(__name__)
CACHE_PAGES = 2048
LARGEST_READ_PAGES = 32
"""Reads of more pages are not predicted."""
_THREADS = 2


class _Run:
    """Consecutive pages that are read ahead. `content`: once `is_done`; None: it failed."""

    __slots__ = ("_done", "content", "first_page", "is_done", "pages")

    def __init__(self, first_page: int, pages: int) -> None:
        self.first_page, self.pages = first_page, pages
        self.content: memoryview | None = None
        self.is_done = False
        self._done = threading.Event()

    def finish(self, content: memoryview | None) -> None:
        self.content, self.is_done = content, True
        self._done.set()

    def page(self, page: int) -> memoryview | None:
        """Waits for it."""
        if not self.is_done:
            self._done.wait()
        if self.content is None:
            return None
        start = (page - self.first_page) * PAGE_BYTES
        return self.content[start : start + PAGE_BYTES]


class _ReadAhead(NamedTuple):
    """A run whose read has begun. `room`: for its content."""

    room: memoryview
    operation: StoreOperation


class _CachedRead:
    """A read of pages that were read ahead, or are being read."""

    def __init__(
        self,
        runs: Sequence[_Run],
        first_page: int,
        into: memoryview,
        again: Callable[[], StoreOperation],
    ) -> None:
        self._runs, self._first_page, self._into = runs, first_page, into
        self._again = again

    def finish(self) -> None:
        """See StoreOperation."""
        for place, run in enumerate(self._runs):
            content = run.page(self._first_page + place)
            if content is None:
                self._again().finish()
                return
            self._into[place * PAGE_BYTES : (place + 1) * PAGE_BYTES] = content


class PrefetchingStore(SlabStore):
    """A PageStore. Thread-safe. `issued`, `used`: pages that were read ahead, and of these read."""

    def __init__(
        self,
        geometry: DeviceGeometry,
        backup: WriteBehind,
        lenders: Mapping[str, LenderPort],
        on_drained: Callable[[SlabMapping], None],
        replicas: int = 1,
        is_lent: Callable[[memoryview], bool] = lambda _: False,
    ) -> None:
        """See SlabStore."""
        super().__init__(geometry, backup, lenders, on_drained, replicas, is_lent)
        self.issued = self.used = 0
        self._cache_lock = threading.Lock()
        self._prefetcher = Prefetcher(geometry.pages)
        self._cached: dict[int, _Run] = {}
        self._runs: deque[_Run] = deque()
        self._run_pages = 0
        self._writing: list[range] = []
        self._queue: SimpleQueue[list[_Run] | None] = SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, name="motet-prefetch", daemon=True)
            for _ in range(_THREADS)
        ]
        for thread in self._threads:
            thread.start()

    def extend(self, geometry: DeviceGeometry) -> None:
        """See SlabMap."""
        super().extend(geometry)
        with self._cache_lock:
            self._prefetcher.extend(geometry.pages)

    def begin_read(self, offset: int, into: memoryview) -> StoreOperation:
        """See PageStore."""
        first_page, pages = offset // PAGE_BYTES, len(into) // PAGE_BYTES
        if pages > LARGEST_READ_PAGES:
            return super().begin_read(offset, into)
        with self._cache_lock:
            runs = self._taken(first_page, pages)
            if runs is None:
                self._read_ahead(first_page, pages)
        if runs is None:
            return super().begin_read(offset, into)
        self.activity.count(offset // self.geometry.slab_bytes, pages)
        again = super().begin_read
        return _CachedRead(runs, first_page, into, lambda: again(offset, into))

    def begin_writes(self, writes: Sequence[PageWrite]) -> list[WriteOperation]:
        """See PageStore."""
        written = [
            range(offset // PAGE_BYTES, (offset + len(data)) // PAGE_BYTES)
            for offset, data in writes
        ]
        with self._cache_lock:
            for pages in written:
                self._drop(pages)
            self._writing += written
        try:
            return super().begin_writes(writes)
        finally:
            with self._cache_lock:
                for pages in written:
                    self._writing.remove(pages)

    def forget(self, offset: int, length: int) -> None:
        """See PageStore."""
        super().forget(offset, length)
        first_page = offset // PAGE_BYTES
        with self._cache_lock:
            self._drop(range(first_page, first_page + length // PAGE_BYTES))

    def close(self) -> None:
        """End the threads; the backup and the lenders can be closed then."""
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()

    # -- with the cache's lock -------------------------------------------------------------------

    def _taken(self, first_page: int, pages: int) -> list[_Run] | None:
        """The runs with these pages, which leave the cache; None: one of them is not there."""
        cached = self._cached
        found = [cached.get(page) for page in range(first_page, first_page + pages)]
        runs = [run for run in found if run is not None]
        if len(runs) < pages:
            return None
        for page in range(first_page, first_page + pages):
            del cached[page]
        self.used += pages
        self._prefetcher.used(first_page)
        return runs

    def _read_ahead(self, first_page: int, pages: int) -> None:
        wanted = sorted(
            page + place
            for page in self._prefetcher.missed(first_page)
            for place in range(min(pages, self.geometry.pages - page))
        )
        runs = [_Run(run.start, len(run)) for run in _runs(filter(self._is_absent, wanted))]
        for run in runs:
            self._cached |= dict.fromkeys(range(run.first_page, run.first_page + run.pages), run)
            self._runs.append(run)
            self._run_pages += run.pages
            self.issued += run.pages
        while self._run_pages > CACHE_PAGES:
            self._drop_oldest()
        if runs:
            self._queue.put(runs)

    def _is_absent(self, page: int) -> bool:
        return page not in self._cached and not any(page in pages for pages in self._writing)

    def _drop(self, pages: range) -> None:
        if self._cached:
            for page in pages:
                self._cached.pop(page, None)

    def _drop_oldest(self) -> None:
        oldest = self._runs.popleft()
        self._run_pages -= oldest.pages
        for page in range(oldest.first_page, oldest.first_page + oldest.pages):
            if self._cached.get(page) is oldest:
                del self._cached[page]

    # -- the threads -----------------------------------------------------------------------------

    def _work(self) -> None:
        while (runs := self._queue.get()) is not None:
            begun = [(run, _attempt(self._begin, run)) for run in runs]
            for run, read in begun:
                run.finish(None if read is None else _attempt(_finished, read))

    def _begin(self, run: _Run) -> _ReadAhead:
        room = memoryview(bytearray(run.pages * PAGE_BYTES))
        return _ReadAhead(room, super().begin_read(run.first_page * PAGE_BYTES, room))


def _finished(read: _ReadAhead) -> memoryview:
    read.operation.finish()
    return read.room


def _attempt(step: Callable[[A], T], argument: A) -> T | None:
    """None: it failed. A thread that ended by it would leave reads that wait for its pages."""
    try:
        return step(argument)
    except OSError:  # The program gets it if it reads these pages.
        return None
    except Exception:
        _LOG.exception("reading ahead failed; the pages are read when a program needs them")
        return None


def _runs(pages: filter[int]) -> list[range]:
    """Ascending pages as ranges; a page occurs once."""
    found = list[range]()
    for page in pages:
        if found and found[-1].stop == page:
            found[-1] = range(found[-1].start, page + 1)
        elif not found or page >= found[-1].stop:
            found.append(range(page, page + 1))
    return found
