"""The queue to the backup, on a file whose writes can be held up or fail."""

from __future__ import annotations

import errno
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import pytest

from motet.remote_memory.borrower.backup_file import BackupFile
from motet.remote_memory.borrower.write_behind import WriteBehind
from motet.remote_memory.core.pending_writes import PageBatch
from remote_memory_parts import PAGE, content
from waiting import wait_until

PAGES, ARENA_PAGES = 16, 4


class HeldFile(BackupFile):
    """`is_open`: writes wait until it is set. `is_full`: they fail. `raises`: they fail by it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, PAGES * PAGE)
        self.is_open = threading.Event()
        self.is_open.set()
        self.is_full = False
        self.raises: Exception | None = None

    def write(self, memory: memoryview, batch: PageBatch) -> None:
        self.is_open.wait()
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        if self.raises is not None:
            raise self.raises
        super().write(memory, batch)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[HeldFile]:
    with HeldFile(tmp_path / "backup") as found:
        yield found


@pytest.fixture
def queue(file: HeldFile) -> Iterator[WriteBehind]:
    found = WriteBehind(file, PAGES, ARENA_PAGES * PAGE)
    yield found
    file.is_open.set()
    file.is_full, file.raises = False, None
    found.close()


def read(queue: WriteBehind, page: int, pages: int = 1) -> bytes:
    into = bytearray(pages * PAGE)
    queue.read(page, memoryview(into))
    return bytes(into)


def put(queue: WriteBehind, page: int, data: bytes) -> int:
    return queue.put(page, memoryview(data))


def test_a_page_that_is_not_on_the_disk_yet_is_read_from_the_queue(
    file: HeldFile, queue: WriteBehind
) -> None:
    file.is_open.clear()
    put(queue, 1, content(1, 2))
    put(queue, 2, content(2))
    assert read(queue, 0, 4) == bytes(PAGE) + content(1, 2)[:PAGE] + content(2) + bytes(PAGE)
    file.is_open.set()
    queue.flush()
    assert queue.pending_pages == 0
    assert read(queue, 1, 2) == content(1, 2)[:PAGE] + content(2)


def test_writes_of_a_page_reach_the_disk_in_their_order(file: HeldFile, queue: WriteBehind) -> None:
    file.is_open.clear()
    for seed in range(ARENA_PAGES):
        put(queue, 5, content(seed))
    file.is_open.set()
    queue.flush()
    assert read(queue, 5) == content(ARENA_PAGES - 1)


def test_a_writer_waits_while_the_queue_is_full(file: HeldFile, queue: WriteBehind) -> None:
    file.is_open.clear()
    for page in range(ARENA_PAGES):
        put(queue, page, content(page))
    writer = threading.Thread(target=put, args=(queue, 9, content(9)))
    writer.start()
    assert queue.pending_pages == ARENA_PAGES
    assert read(queue, 9) == bytes(PAGE)
    file.is_open.set()
    writer.join()
    queue.flush()
    assert read(queue, 9) == content(9)


def test_flush_waits_for_the_disk(file: HeldFile, queue: WriteBehind) -> None:
    file.is_open.clear()
    put(queue, 0, content(1))
    flushed = threading.Event()
    flusher = threading.Thread(target=lambda: (queue.flush(), flushed.set()))
    flusher.start()
    assert not flushed.is_set()
    file.is_open.set()
    flusher.join()
    assert file.path.read_bytes()[:PAGE] == content(1)


def test_a_disk_error_reaches_those_that_wait_and_loses_nothing(
    file: HeldFile, queue: WriteBehind
) -> None:
    """The original ignores errors of the disk."""
    file.is_full = True
    ticket = put(queue, 0, content(1))
    with pytest.raises(OSError, match="No space left"):
        queue.wait(ticket)
    with pytest.raises(OSError, match="No space left"):
        queue.flush()
    assert read(queue, 0) == content(1)
    file.is_full = False
    wait_until(lambda: queue.disk_error is None)
    queue.flush()
    assert file.path.read_bytes()[:PAGE] == content(1)


@pytest.mark.parametrize("place", ["the write", "its preparation"])
def test_any_other_error_of_a_write_reaches_those_that_wait_and_loses_nothing(
    file: HeldFile,
    queue: WriteBehind,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
) -> None:
    error, batch = MemoryError("no room for a batch"), queue._pending.batch
    if place == "the write":
        file.raises = error
    else:
        monkeypatch.setattr(queue._pending, "batch", Mock(side_effect=error))
    ticket = put(queue, 0, content(1))
    with pytest.raises(OSError, match="no room for a batch"):
        queue.wait(ticket)
    assert [each.exc_info is not None for each in caplog.records] == [True]
    file.raises = None
    monkeypatch.setattr(queue._pending, "batch", batch)
    wait_until(lambda: queue.disk_error is None)
    queue.flush()
    assert file.path.read_bytes()[:PAGE] == content(1)


def test_a_full_queue_before_a_failing_disk_refuses_writes(
    file: HeldFile, queue: WriteBehind
) -> None:
    file.is_full = True
    for page in range(ARENA_PAGES):
        put(queue, page, content(page))
    with pytest.raises(OSError, match="No space left"):
        put(queue, 9, content(9))
    assert read(queue, 0, ARENA_PAGES) == b"".join(map(content, range(ARENA_PAGES)))


def test_what_is_pending_can_be_dropped_at_the_end(file: HeldFile) -> None:
    queue = WriteBehind(file, PAGES, ARENA_PAGES * PAGE)
    file.is_full = True
    with pytest.raises(OSError, match="No space left"):
        queue.wait(put(queue, 0, content(1)))
    file.is_full = False
    queue.close(keeps=False)
    assert file.path.read_bytes()[:PAGE] in (bytes(PAGE), content(1))
    assert file.path.read_bytes()[PAGE:] == bytes((PAGES - 1) * PAGE)


def test_nobody_waits_for_a_write_that_was_dropped(file: HeldFile, queue: WriteBehind) -> None:
    file.is_open.clear()
    later = put(queue, 0, content(0)) + ARENA_PAGES
    with ThreadPoolExecutor(2) as threads:
        waiting = threads.submit(queue.wait, later)
        closing = threads.submit(queue.close, keeps=False)
        file.is_open.set()
        closing.result()
        with pytest.raises(OSError, match="closed"):
            waiting.result()
    with pytest.raises(OSError, match="closed"):
        queue.wait(later)
