"""Memory that compiled loops copy from and to until its owner takes it back.

A loop holds no interpreter lock, so a mutex of the C library is between them.
"""

from __future__ import annotations

import ctypes

import numpy as np

from motet.transport.native.c_library import Word, copy_memory, lock_mutex, unlock_mutex
from motet.transport.native.compiled import njit

_MUTEX_WORDS = 8
_ADDRESS, _SIZE, _IS_CLOSED, _STATE_WORDS = range(4)
_STATE_AT, _STATE_BYTES = np.uint64(8 * _MUTEX_WORDS), np.uint64(8 * _STATE_WORDS)
_NOWHERE = np.uint64(0)
_LIBRARY = ctypes.CDLL(None)


class GuardedMemory:
    """`record`: the address by which loops know it, valid while this object exists."""

    __slots__ = ("_mutex", "_state", "_words", "record")

    def __init__(self, view: memoryview) -> None:
        """`view`: writable; it is not kept, so its owner can release it after `close`."""
        self._words = np.zeros(_MUTEX_WORDS + _STATE_WORDS, np.uint64)
        self._state = self._words[_MUTEX_WORDS:]
        self._state[_ADDRESS] = ctypes.addressof(ctypes.c_char.from_buffer(view))
        self._state[_SIZE] = len(view)
        self.record = np.uint64(self._words.ctypes.data)
        self._mutex = ctypes.c_void_p(self._words.ctypes.data)
        _LIBRARY.pthread_mutex_init(self._mutex, None)

    def close(self) -> None:
        """Wait for the copy in progress; no loop accesses the memory from now on."""
        _LIBRARY.pthread_mutex_lock(self._mutex)
        self._state[_IS_CLOSED] = 1
        _LIBRARY.pthread_mutex_unlock(self._mutex)


@njit(cache=True, nogil=True)
def copy_into(record: Word, offset: Word, source: Word, size: Word) -> bool:
    """Copy from an address into guarded memory; False: it is closed, or smaller."""
    lock_mutex(record)
    target = _place(record, offset, size)
    if target != _NOWHERE:
        copy_memory(target, source, size)
    unlock_mutex(record)
    return bool(target != _NOWHERE)


@njit(cache=True, nogil=True)
def copy_out(record: Word, offset: Word, target: Word, size: Word) -> bool:
    """Copy from guarded memory to an address; False: it is closed, or smaller."""
    lock_mutex(record)
    source = _place(record, offset, size)
    if source != _NOWHERE:
        copy_memory(target, source, size)
    unlock_mutex(record)
    return bool(source != _NOWHERE)


@njit(cache=True, nogil=True)
def _place(record: Word, offset: Word, size: Word) -> Word:
    """The address of a range; 0: there is none. The caller holds the mutex."""
    state = np.empty(_STATE_WORDS, np.uint64)
    copy_memory(np.uint64(state.ctypes.data), record + _STATE_AT, _STATE_BYTES)
    total = state[_SIZE]
    if state[_IS_CLOSED] != 0 or size > total or offset > total - size:
        return _NOWHERE
    place: Word = state[_ADDRESS] + offset
    return place
