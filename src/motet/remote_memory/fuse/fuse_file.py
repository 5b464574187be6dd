"""Serves a device as a file, for a loop device on hosts without /dev/nbd.

The device's own process answers the kernel. A separate program, as nbdfuse, could not be locked
into memory, and a page of it that is paged out to the device could never be read again.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Self

from motet.domain.errors import BadInput
from motet.remote_memory.borrower.store_operation import PageStore
from motet.remote_memory.core.device_geometry import PAGE_BYTES
from motet.remote_memory.fuse.file_mount import abort_mount, mount_on_file
from motet.remote_memory.fuse.fuse_protocol import (
    CONTENT_AT,
    IN_HEADER,
    MAX_TRANSFER_BYTES,
    OUT_HEADER,
    REQUEST_BYTES,
    TRANSFER,
    WITHOUT_ANSWER,
    WRITTEN,
    FuseOperation,
    OldKernel,
    answer_to_init,
    answer_to_open,
    decode_request,
    file_attributes,
    mount_options,
)

_LOG = logging.getLogger(__name__)
FUSE_DEVICE = Path("/dev/fuse")
_THREADS = 4
"""Requests that are served at a time."""
_INODE = 1
_NOTHING = memoryview(b"")
_READ, _WRITE = int(FuseOperation.READ), int(FuseOperation.WRITE)
_INTERRUPTED = (errno.ENOENT, errno.EINTR, errno.EAGAIN)
_Answer = Callable[[memoryview], bytes]


class FuseFile:
    """A context manager, as root. Raises BadInput: the file cannot be mounted."""

    def __init__(self, path: Path, store: PageStore) -> None:
        """`path`: a file, which is created if there is none."""
        self.path, self._store = path, store
        attributes = file_attributes(_INODE, store.size_bytes)
        self._answers: dict[int, _Answer] = {
            FuseOperation.INIT: answer_to_init,
            FuseOperation.GETATTR: lambda _: attributes,
            FuseOperation.SETATTR: lambda _: attributes,
            FuseOperation.OPEN: lambda _: answer_to_open(),
            FuseOperation.RELEASE: lambda _: b"",
            FuseOperation.FLUSH: lambda _: b"",
            FuseOperation.DESTROY: lambda _: b"",
            FuseOperation.FSYNC: self._flush,
        }
        self._device = _mounted(path)
        self._threads = [
            threading.Thread(target=self._serve, name="motet-fuse", daemon=True)
            for _ in range(_THREADS)
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Unmount; who still uses the file gets I/O errors."""
        with contextlib.suppress(OSError):
            abort_mount(self.path)
        for thread in self._threads:
            thread.join()
        os.close(self._device)
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    # -- the threads -----------------------------------------------------------------------------

    def _serve(self) -> None:
        """Until the file is unmounted."""
        request = memoryview(bytearray(REQUEST_BYTES))
        room = memoryview(bytearray(MAX_TRANSFER_BYTES))
        while True:
            try:
                count = os.readv(self._device, [request])
            except OSError as error:
                if error.errno in _INTERRUPTED:
                    continue
                return
            with contextlib.suppress(OSError):  # The request was cancelled, or the file unmounted.
                self._answer(request[:count], room)

    def _answer(self, request: memoryview, room: memoryview) -> None:
        """Raises OSError: the kernel does not take the answer."""
        operation, number = decode_request(request)
        if operation in WITHOUT_ANSWER:
            return
        content: bytes | memoryview = _NOTHING
        failure = 0
        try:
            content = self._content(operation, request, room)
        except OSError as error:
            failure = error.errno or errno.EIO
        except OldKernel as error:
            _LOG.error("%s: %s", self.path, error)
            failure = errno.EPROTO
        except Exception:
            _LOG.exception("a request of the kernel failed")
            failure = errno.EIO
        head = OUT_HEADER.pack(OUT_HEADER.size + len(content), -failure, number)
        os.writev(self._device, [head, content] if content else [head])

    def _content(self, operation: int, request: memoryview, room: memoryview) -> bytes | memoryview:
        if operation == _READ:
            return self._read(request, room)
        if operation == _WRITE:
            return self._write(request)
        answer = self._answers.get(operation)
        if answer is None:
            raise OSError(errno.ENOSYS, "no such operation")
        return answer(request)

    def _read(self, request: memoryview, room: memoryview) -> memoryview:
        _, offset, size, *_ = TRANSFER.unpack_from(request, IN_HEADER.size)
        size = min(size, max(self._store.size_bytes - offset, 0), MAX_TRANSFER_BYTES)
        self._check(offset, size)
        into = room[:size]
        if size:
            self._store.begin_read(offset, into).finish()
        return into

    def _write(self, request: memoryview) -> bytes:
        _, offset, size, *_ = TRANSFER.unpack_from(request, IN_HEADER.size)
        self._check(offset, size)
        if offset + size > self._store.size_bytes:
            raise OSError(errno.ENOSPC, "the file does not grow")
        self._store.begin_write(offset, request[CONTENT_AT : CONTENT_AT + size]).finish()
        return WRITTEN.pack(size, 0)

    def _flush(self, request: memoryview) -> bytes:
        del request
        self._store.flush()
        return b""

    def _check(self, offset: int, size: int) -> None:
        if (offset | size) % PAGE_BYTES:
            raise OSError(errno.EINVAL, "not whole pages")


def _mounted(path: Path) -> int:
    """The descriptor that the kernel's requests come from. Raises BadInput."""
    try:
        device = os.open(FUSE_DEVICE, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise BadInput(f"{FUSE_DEVICE}: {error.strerror}; modprobe fuse, as root") from error
    try:
        with contextlib.suppress(OSError):  # Of a device that was killed.
            abort_mount(path)
        path.touch(mode=0o600)
        mount_on_file(path, mount_options(device))
    except OSError as error:
        os.close(device)
        raise BadInput(
            f"{path}: cannot mount the device there: {error.strerror}; this needs root and, in a "
            "container, CAP_SYS_ADMIN"
        ) from error
    return device
