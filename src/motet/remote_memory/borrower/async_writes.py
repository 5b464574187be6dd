"""Many writes to a file by two system calls: the kernel's asynchronous I/O (io_submit(2)).

A thread that writes page by page takes the interpreter from other threads twice per page.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import sys
import time
from contextlib import suppress

import numpy as np

from motet.domain.arrays import Array, Ints
from motet.remote_memory.core.device_geometry import PAGE_BYTES
from motet.remote_memory.core.pending_writes import DiskRequests

LEAST_DEPTH, MOST_DEPTH = 4, 128
"""Requests in flight."""
HELD_S = 0.004
"""The disk has as many of them as it writes in so long: a read waits behind them."""
_PWRITEV = 8
_SETUP, _DESTROY, _GET_EVENTS, _SUBMIT = range(4)
_NUMBERS = {"x86_64": (206, 207, 208, 209), "aarch64": (0, 1, 4, 2)}
_CONTROL_BLOCK = np.dtype(
    [
        ("data", "<u8"),
        ("key", "<u4"),
        ("rw_flags", "<i4"),
        ("opcode", "<u2"),
        ("priority", "<i2"),
        ("file", "<u4"),
        ("buffer", "<u8"),
        ("count", "<u8"),
        ("offset", "<i8"),
        ("reserved", "<u8"),
        ("flags", "<u4"),
        ("event_file", "<u4"),
    ]
)
_PIECE = np.dtype([("address", "<u8"), ("nbytes", "<u8")])
_EVENT = np.dtype([("data", "<u8"), ("block", "<u8"), ("result", "<i8"), ("result2", "<i8")])


class AsyncWrites:
    """Used by one thread. Raises OSError: the kernel, or a container, has no asynchronous I/O."""

    def __init__(self) -> None:
        if sys.byteorder != "little" or platform.machine() not in _NUMBERS:
            raise OSError(errno.ENOSYS, "no asynchronous I/O on this kind of machine")
        self._numbers = _NUMBERS[platform.machine()]
        self._call = ctypes.CDLL(None, use_errno=True).syscall
        self._call.restype = ctypes.c_long
        self._events = np.zeros(MOST_DEPTH, _EVENT)
        self._depth = LEAST_DEPTH
        self._in_flight = 0
        context = ctypes.c_ulong(0)
        self._system_call(_SETUP, MOST_DEPTH, ctypes.addressof(context))
        self._context = context.value

    def write(self, file: int, address: int, requests: DiskRequests) -> bool:
        """Write all, and wait for them, also after an error; False: some were written in part.
        `address`: of the first slot. Raises OSError: the first error."""
        pieces = np.empty(len(requests.slot), _PIECE)
        pieces["address"] = address + requests.slot * PAGE_BYTES
        pieces["nbytes"] = requests.piece_pages * PAGE_BYTES
        blocks = np.zeros(len(requests.first_page), _CONTROL_BLOCK)
        blocks["data"] = np.arange(len(blocks))
        blocks["opcode"] = _PWRITEV
        blocks["file"] = file
        blocks["buffer"] = pieces.ctypes.data + requests.first_piece * _PIECE.itemsize
        blocks["count"] = requests.pieces
        blocks["offset"] = requests.first_page * PAGE_BYTES
        began_s = time.perf_counter()
        results = self._transfer(blocks)
        found = depth_for(len(blocks), time.perf_counter() - began_s)
        self._depth = max(found, self._depth // 2)  # One slow batch tells little.
        failed = results[results < 0]
        if len(failed):
            raise _error(-int(failed[0]))
        return bool((results == requests.pages * PAGE_BYTES).all())

    def close(self) -> None:
        """No write is in progress; later ones fail."""
        # A later context of the process may have the same number.
        context, self._context = self._context, 0
        self._system_call(_DESTROY, context)

    def _transfer(self, blocks: Array) -> Ints:
        """Bytes of each, or the number of its error. `blocks`, and what they point to, are in use
        until the end, also after an error. Raises OSError: they cannot be submitted."""
        addresses = blocks.ctypes.data + np.arange(len(blocks)) * _CONTROL_BLOCK.itemsize
        results = np.zeros(len(blocks), np.int64)
        submitted = 0
        try:
            while submitted < len(blocks):
                count = min(self._depth - self._in_flight, len(blocks) - submitted)
                place = addresses.ctypes.data + submitted * addresses.itemsize
                accepted = self._system_call(_SUBMIT, self._context, count, place)
                self._in_flight += accepted
                submitted += accepted
                self._await_some(results)
            while self._in_flight:
                self._await_some(results)
        finally:
            self._drain()
        return results

    def _await_some(self, results: Ints) -> None:
        count = self._await_events()
        events = self._events
        results[events["data"][:count].astype(np.int64)] = events["result"][:count]

    def _await_events(self) -> int:
        """How many requests have ended."""
        count, place = 0, self._events.ctypes.data
        while not count:
            with suppress(InterruptedError):
                count = self._system_call(_GET_EVENTS, self._context, 1, MOST_DEPTH, place, 0)
        self._in_flight -= count
        return count

    def _drain(self) -> None:
        """Nothing is in flight from now on."""
        try:
            while self._in_flight:
                self._await_events()
        except OSError:  # The end of the context waits, too; later writes fail.
            self._in_flight = 0
            self.close()
            raise

    def _system_call(self, which: int, *arguments: int) -> int:
        """Raises OSError."""
        words = [ctypes.c_long(word) for word in (self._numbers[which], *arguments)]
        result: int = self._call(*words)
        if result < 0:
            raise _error(ctypes.get_errno())
        return result


def depth_for(requests: int, took_s: float) -> int:
    """Of a disk that has written so many requests in this time."""
    return min(max(round(requests * HELD_S / max(took_s, 1e-6)), LEAST_DEPTH), MOST_DEPTH)


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))
