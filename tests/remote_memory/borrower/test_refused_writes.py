"""Backup files on a kernel whose asynchronous I/O does less than was asked, or nothing."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from motet.remote_memory.borrower import async_writes
from motet.remote_memory.borrower.async_writes import AsyncWrites
from motet.remote_memory.borrower.backup_file import BackupFile
from motet.remote_memory.core.pending_writes import PageBatch
from remote_memory_parts import PAGE, content

pytestmark = pytest.mark.skipif(
    not Path("/proc/sys/fs/aio-max-nr").exists(), reason="no asynchronous I/O on this machine"
)
PAGES = 64
MEMORY = content(7, PAGES)
BLOCK_COUNT_AT = async_writes._CONTROL_BLOCK.fields["count"][1]  # type: ignore[index]
SystemCall = Callable[..., int]


class Kernel:
    """Stands between a file and the kernel. `calls`: that were made, by their number in
    `async_writes`. `instead`: what one of them does, given the call itself and its arguments."""

    def __init__(self) -> None:
        self.calls: list[int] = []
        self.instead: dict[int, SystemCall] = {}

    def called(self, real: SystemCall, which: int, *arguments: int) -> int:
        self.calls.append(which)
        if which in self.instead:
            return self.instead[which](real, *arguments)
        return real(which, *arguments)

    def refuse(self, which: int, number: int, after: int = 0) -> None:
        """All calls after the first ones fail."""

        def refused(real: SystemCall, *arguments: int) -> int:
            if self.calls.count(which) <= after:
                return real(which, *arguments)
            raise OSError(number, os.strerror(number))

        self.instead[which] = refused


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    found, real = Kernel(), AsyncWrites._system_call

    def call(self: AsyncWrites, which: int, *arguments: int) -> int:
        return found.called(lambda *words: real(self, *words), which, *arguments)

    monkeypatch.setattr(AsyncWrites, "_system_call", call)
    return found


@pytest.fixture
def file(tmp_path: Path, kernel: Kernel) -> Iterator[BackupFile]:
    with BackupFile(tmp_path / "backup", 2 * PAGES * PAGE) as found:
        yield found


def write_all(file: BackupFile) -> None:
    """Two pages, then a gap of two: one request of two pieces for each pair."""
    pairs = np.arange(PAGES) // 2
    pages = 4 * pairs + np.arange(PAGES) % 2
    slots = np.arange(PAGES)[::-1]
    memory = mmap.mmap(-1, len(MEMORY))
    memory[:] = MEMORY
    file.write(memoryview(memory), PageBatch(pages, slots, PAGES))


def has_all(file: BackupFile) -> bool:
    found = file.path.read_bytes()
    pairs = [found[4 * n * PAGE : (4 * n + 2) * PAGE] for n in range(PAGES // 2)]
    expected = [MEMORY[n * PAGE : (n + 1) * PAGE] for n in reversed(range(PAGES))]
    return b"".join(pairs) == b"".join(expected)


def test_requests_that_the_kernel_does_not_take_at_once_are_submitted_again(
    file: BackupFile, kernel: Kernel
) -> None:
    kernel.instead[async_writes._SUBMIT] = lambda real, context, _, place: real(
        async_writes._SUBMIT, context, 1, place
    )
    write_all(file)
    assert has_all(file)
    assert kernel.calls.count(async_writes._SUBMIT) == PAGES // 2


def test_writes_of_a_part_are_written_again(file: BackupFile, kernel: Kernel) -> None:
    def first_piece_only(real: SystemCall, context: int, count: int, place: int) -> int:
        for each in range(count):
            block = ctypes.c_uint64.from_address(place + 8 * each).value
            ctypes.c_uint64.from_address(block + BLOCK_COUNT_AT).value = 1
        return real(async_writes._SUBMIT, context, count, place)

    kernel.instead[async_writes._SUBMIT] = first_piece_only
    write_all(file)
    assert has_all(file)
    assert file._writes is not None


def test_a_signal_during_the_wait_for_writes_changes_nothing(
    file: BackupFile, kernel: Kernel
) -> None:
    def interrupted(real: SystemCall, *arguments: int) -> int:
        if kernel.calls.count(async_writes._GET_EVENTS) % 2:
            raise InterruptedError(errno.EINTR, "Interrupted system call")
        return real(async_writes._GET_EVENTS, *arguments)

    kernel.instead[async_writes._GET_EVENTS] = interrupted
    write_all(file)
    assert has_all(file)


@pytest.mark.parametrize("after", [0, 1])
@pytest.mark.parametrize(
    ("number", "goes_on"), [(errno.EAGAIN, True), (errno.ENOMEM, True), (errno.EPERM, False)]
)
def test_pages_that_cannot_be_submitted_are_written_without_asynchronous_io(
    file: BackupFile,
    kernel: Kernel,
    caplog: pytest.LogCaptureFixture,
    number: int,
    goes_on: bool,
    after: int,
) -> None:
    """Also when earlier requests are in flight."""
    kernel.refuse(async_writes._SUBMIT, number, after)
    for _ in range(2):
        write_all(file)
        assert has_all(file)
    assert (file._writes is not None) == goes_on
    if file._writes is not None:
        assert file._writes._in_flight == 0
    told = [each for each in caplog.messages if "no asynchronous I/O" in each]
    assert len(told) == (0 if goes_on else 1)


def test_a_write_ends_with_nothing_in_flight_whatever_stops_it(
    file: BackupFile, kernel: Kernel
) -> None:
    def no_memory(real: SystemCall, *arguments: int) -> int:
        if kernel.calls.count(async_writes._SUBMIT) == 2:
            raise MemoryError
        return real(async_writes._SUBMIT, *arguments)

    kernel.instead[async_writes._SUBMIT] = no_memory
    with pytest.raises(MemoryError):
        write_all(file)
    assert file._writes is not None
    assert file._writes._in_flight == 0
    write_all(file)
    assert has_all(file)


def test_ends_that_the_kernel_does_not_tell_are_waited_for(
    file: BackupFile, kernel: Kernel
) -> None:
    kernel.refuse(async_writes._GET_EVENTS, errno.ENOSYS)
    for _ in range(2):
        write_all(file)
        assert has_all(file)
    assert kernel.calls.count(async_writes._SUBMIT) == 1
    assert file._writes is None


def test_a_kernel_without_asynchronous_io_is_logged_once(
    tmp_path: Path, kernel: Kernel, caplog: pytest.LogCaptureFixture
) -> None:
    kernel.refuse(async_writes._SETUP, errno.ENOSYS)
    with BackupFile(tmp_path / "another", 2 * PAGES * PAGE) as file:
        for _ in range(2):
            write_all(file)
        assert has_all(file)
    assert [each for each in caplog.messages if "asynchronous" in each] == [
        f"{tmp_path / 'another'}: no asynchronous I/O, writes take more CPU time: "
        "[Errno 38] Function not implemented"
    ]
