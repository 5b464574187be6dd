"""Writers over a block device's socket that check every page that they read."""

from __future__ import annotations

import random
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path

from nbd_client import FLUSH, READ, WRITE, NbdClient
from remote_memory_parts import PAGE

RUN_PAGES = 32
"""Most pages of one request: lenders on the host write large reads into the reply."""
_STAMP = struct.Struct("<QQ")


def page_of(page: int, version: int) -> bytes:
    """A page that says which it is, everywhere."""
    return _STAMP.pack(page, version) * (PAGE // _STAMP.size) if version else bytes(PAGE)


def _never(began_s: float) -> bool:
    del began_s
    return False


class VersionedWriter(threading.Thread):
    """Writes and reads its pages: every `writers`-th run, so it knows what is there.

    Writes may fail if `failed_since` the moment of their begin; their pages have the old or the new
    content, and never the old one again after the new one was read.
    """

    def __init__(
        self,
        socket: Path,
        number: int,
        ends: threading.Event,
        *,
        pages: int,
        writers: int,
        failed_since: Callable[[float], bool] = _never,
        version: int = 0,
    ) -> None:
        """`version`: of all pages now."""
        super().__init__(name=f"writer-{number}")
        self._socket, self._ends, self._failed_since = socket, ends, failed_since
        self._random = random.Random(number)
        self._runs = [run * RUN_PAGES for run in range(number, pages // RUN_PAGES, writers)]
        self._version = version
        self._versions = {page: {version} for page in range(pages)}
        self.wrong: list[str] = []
        self.failures: list[str] = []
        self.requests = self.failed_writes = 0
        self.longest_s = 0.0

    def run(self) -> None:
        """Until the end, or the first wrong page; then read all pages."""
        try:
            with NbdClient(self._socket) as client:
                client.go()
                while not self._ends.is_set() and not self.wrong:
                    began_s = time.monotonic()
                    self._step(client)
                    self.longest_s = max(self.longest_s, time.monotonic() - began_s)
                    self.requests += 1
                for first in self._runs:
                    self._check(client, first, RUN_PAGES)
        except (OSError, AssertionError) as error:
            self.failures.append(repr(error))

    def _step(self, client: NbdClient) -> None:
        start = self._random.choice(self._runs)
        first = start + self._random.randrange(RUN_PAGES)
        pages = range(first, first + self._random.randint(1, start + RUN_PAGES - first))
        kind = self._random.random()
        if kind < 0.5:
            self._write(client, pages)
        elif kind < 0.99:
            self._check(client, first, len(pages))
        else:
            began_s = time.monotonic()
            error, _ = client.call(FLUSH)
            assert not error or self._failed_since(began_s), f"FLUSH: error {error}"

    def _write(self, client: NbdClient, pages: range) -> None:
        self._version += 1
        data = b"".join(page_of(page, self._version) for page in pages)
        began_s = time.monotonic()
        error, _ = client.call(WRITE, pages[0] * PAGE, data=data)
        if not error:
            self._versions |= {page: {self._version} for page in pages}
            return
        assert self._failed_since(began_s), f"a write failed with error {error}"
        self.failed_writes += 1
        for page in pages:
            self._versions[page].add(self._version)

    def _check(self, client: NbdClient, first: int, pages: int) -> None:
        error, data = client.call(READ, first * PAGE, pages * PAGE)
        assert error == 0, f"a read failed with error {error}"
        for place in range(pages):
            page = first + place
            found = data[place * PAGE : (place + 1) * PAGE]
            number, version = _STAMP.unpack_from(found)
            if version not in self._versions[page] or found != page_of(page, version):
                expected = sorted(self._versions[page])
                self.wrong.append(f"page {page}: {number}, {version}, expected {expected}")
            self._versions[page] = {each for each in self._versions[page] if each >= version}


def summary(writers: list[VersionedWriter]) -> str:
    """What was measured."""
    return (
        f"{sum(writer.requests for writer in writers)} requests, longest "
        f"{max(writer.longest_s for writer in writers):.2f} s, "
        f"{sum(writer.failed_writes for writer in writers)} failed writes"
    )


def assert_right(writers: list[VersionedWriter]) -> None:
    """No page was wrong, and nothing failed that may not."""
    wrong = [each for writer in writers for each in writer.wrong]
    assert not wrong, wrong
    failures = [each for writer in writers for each in writer.failures]
    assert not failures, failures
