from __future__ import annotations

import errno
import mmap
import platform
import random
from pathlib import Path

import numpy as np
import pytest

from motet.domain.errors import BadInput
from motet.remote_memory.borrower import backup_file
from motet.remote_memory.borrower.async_writes import _NUMBERS
from motet.remote_memory.borrower.backup_file import BackupFile
from motet.remote_memory.core.pending_writes import PageBatch
from remote_memory_parts import PAGE, content


def aligned(data: bytes) -> memoryview:
    memory = mmap.mmap(-1, len(data))
    memory[:] = data
    return memoryview(memory)


def write(file: BackupFile, first_page: int, data: bytes) -> None:
    count = len(data) // PAGE
    pages = np.arange(first_page, first_page + count)
    file.write(aligned(data), PageBatch(pages, np.arange(count), count))


HAS_ASYNC = Path("/proc/sys/fs/aio-max-nr").exists() and platform.machine() in _NUMBERS
needs_async = pytest.mark.skipif(not HAS_ASYNC, reason="no asynchronous I/O on this machine")


@pytest.fixture(params=[pytest.param("asynchronous", marks=needs_async), "in order"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Containers may have no asynchronous I/O."""

    def none() -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    if request.param == "in order":
        monkeypatch.setattr(backup_file, "AsyncWrites", none)
    return str(request.param)


def test_the_file_has_its_whole_size_from_the_beginning(tmp_path: Path) -> None:
    with BackupFile(tmp_path / "backup", 100 * PAGE):
        found = (tmp_path / "backup").stat()
    assert found.st_size == 100 * PAGE
    assert found.st_blocks * 512 >= 100 * PAGE
    assert found.st_mode & 0o077 == 0


def test_pages_of_any_slots_are_written_to_their_places(tmp_path: Path, way: str) -> None:
    """More than are in flight at a time, some of them neighbours on the disk or in memory."""
    rng = random.Random(1)
    pages = sorted(rng.sample(range(1000), 400))
    slots = [*range(100), *rng.sample(range(100, 600), 300)]
    memory = content(1, 600)
    with BackupFile(tmp_path / "backup", 1000 * PAGE) as file:
        file.write(aligned(memory), PageBatch(np.array(pages), np.array(slots), 0))
        assert (file._writes is not None) == (way == "asynchronous")
    expected = bytearray(1000 * PAGE)
    for page, slot in zip(pages, slots, strict=True):
        expected[page * PAGE : (page + 1) * PAGE] = memory[slot * PAGE : (slot + 1) * PAGE]
    assert (tmp_path / "backup").read_bytes() == expected


def test_an_error_of_the_disk_is_raised_and_the_file_can_be_used_again(
    tmp_path: Path, way: str
) -> None:
    memory = aligned(content(1, 100))
    batch = PageBatch(np.arange(0, 200, 2), np.arange(100), 0)
    with BackupFile(tmp_path / "backup", 200 * PAGE) as file:
        with pytest.raises(OSError, match="Invalid argument"):
            file.write(memory, PageBatch(np.array([-1, 8, 10]), np.arange(3), 0))
        file.write(memory, batch)
        into = bytearray(PAGE)
        file.read(198 * PAGE, memoryview(into))
        assert (file._writes is not None) == (way == "asynchronous")
    assert into == memory[99 * PAGE :]


def test_a_read_fills_memory_of_any_alignment(tmp_path: Path) -> None:
    into = bytearray(600 * PAGE + 1)
    with BackupFile(tmp_path / "backup", 600 * PAGE) as file:
        write(file, 0, content(4, 600))
        file.read(0, memoryview(into)[1:])
    assert bytes(into[1:]) == content(4, 600)


def test_two_devices_cannot_use_one_file(tmp_path: Path) -> None:
    path = tmp_path / "backup"
    with (
        BackupFile(path, PAGE),
        pytest.raises(BadInput, match="another device uses this backup file"),
    ):
        BackupFile(path, PAGE)


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"none/backup: cannot open the backup file: No such file"):
        BackupFile(tmp_path / "none" / "backup", PAGE)


def test_a_disk_without_room_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no room for .* name a file on another disk"):
        BackupFile(tmp_path / "backup", 1 << 60)


def test_a_file_that_grows_has_room_for_all_and_keeps_its_content(tmp_path: Path) -> None:
    path = tmp_path / "backup"
    with BackupFile(path, PAGE) as file:
        write(file, 0, content(1))
        file.extend(50 * PAGE)
        file.extend(50 * PAGE)
        write(file, 49, content(2))
        assert path.stat().st_blocks * 512 >= 50 * PAGE
    assert path.read_bytes()[:PAGE] == content(1)
    assert path.read_bytes()[49 * PAGE :] == content(2)
