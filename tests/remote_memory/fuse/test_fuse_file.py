"""A device as a file, as the kernel sees it."""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.remote_memory.borrower.borrowed_memory import BorrowedMemory
from motet.remote_memory.fuse.fuse_file import FuseFile
from remote_memory_parts import PAGE, SLAB_BYTES, borrowing, content, lending
from swap_host import needs_root_and

SIZE = 64 * SLAB_BYTES


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[BorrowedMemory]:
    needs_root_and("/dev/fuse")
    with lending(64) as lender, borrowing(tmp_path, [lender.endpoint], 64) as found:
        yield found


@pytest.fixture
def file(memory: BorrowedMemory, tmp_path: Path) -> Iterator[FuseFile]:
    with FuseFile(tmp_path / "file", memory.store) as found:
        yield found


@pytest.fixture
def descriptor(file: FuseFile) -> Iterator[int]:
    found = os.open(file.path, os.O_RDWR)
    yield found
    os.close(found)


def aligned(data: bytes) -> memoryview:
    """Memory as the kernel's own: it divides large requests at pages of memory."""
    found = memoryview(mmap.mmap(-1, len(data)))
    found[:] = data
    return found


def test_what_was_written_is_read(descriptor: int) -> None:
    """Also in requests as large as the kernel makes them, and across slabs."""
    data = content(1, SIZE // PAGE)
    assert os.pwrite(descriptor, aligned(data), 0) == SIZE
    into = aligned(bytes(SIZE))
    assert os.preadv(descriptor, [into], 0) == SIZE
    assert into == data
    assert os.pread(descriptor, 3 * PAGE, 7 * PAGE) == data[7 * PAGE : 10 * PAGE]


def test_it_has_the_size_of_the_device_and_does_not_grow(descriptor: int) -> None:
    assert os.fstat(descriptor).st_size == SIZE
    assert os.pread(descriptor, PAGE, SIZE) == b""
    with pytest.raises(OSError, match="No space left"):
        os.pwrite(descriptor, content(2), SIZE)


def test_parts_of_pages_are_refused(descriptor: int) -> None:
    with pytest.raises(OSError, match="Invalid argument"):
        os.pwrite(descriptor, b"x", 0)


def test_after_fsync_the_disk_has_the_write(descriptor: int, memory: BorrowedMemory) -> None:
    os.pwrite(descriptor, content(3), 5 * PAGE)
    os.fsync(descriptor)
    assert memory.backup_path.read_bytes()[5 * PAGE : 6 * PAGE] == content(3)


def test_the_page_cache_is_left_out(descriptor: int, memory: BorrowedMemory) -> None:
    os.pwrite(descriptor, content(4), 0)
    memory.store.begin_write(0, memoryview(content(5))).finish()
    assert os.pread(descriptor, PAGE, 0) == content(5)


def test_direct_io_is_what_a_loop_device_asks_for(file: FuseFile) -> None:
    descriptor = os.open(file.path, os.O_RDWR | os.O_DIRECT)
    try:
        assert os.pwrite(descriptor, aligned(content(6)), PAGE) == PAGE
        into = aligned(bytes(PAGE))
        assert os.preadv(descriptor, [into], PAGE) == PAGE
        assert into == content(6)
    finally:
        os.close(descriptor)


def test_at_the_end_who_has_it_open_gets_errors(memory: BorrowedMemory, tmp_path: Path) -> None:
    with FuseFile(tmp_path / "file", memory.store) as file:
        descriptor = os.open(file.path, os.O_RDWR)
    with pytest.raises(OSError, match=r"not connected|Software caused"):
        os.pread(descriptor, PAGE, 0)
    with pytest.raises(OSError, match="not connected"):
        os.close(descriptor)
    assert not file.path.exists()


def test_a_disk_error_is_an_error_of_the_request(memory: BorrowedMemory, tmp_path: Path) -> None:
    class Broken:
        size_bytes = SIZE

        def begin_read(self, offset: int, into: memoryview) -> None:
            raise OSError(errno.EIO, "broken")

    with FuseFile(tmp_path / "file", Broken()) as file:  # type: ignore[arg-type]
        descriptor = os.open(file.path, os.O_RDONLY)
        with pytest.raises(OSError, match="Input/output error"):
            os.pread(descriptor, PAGE, 0)
        os.close(descriptor)


def test_a_place_that_cannot_be_mounted_on_is_told(memory: BorrowedMemory, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot mount the device there"):
        FuseFile(tmp_path / "none" / "file", memory.store)
