"""`motet.RemoteBuffer`: a NumPy array larger than memory."""

from __future__ import annotations

import math
import os
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from motet.domain.arrays import Array
from motet.domain.errors import BadArgument
from motet.remote_memory.borrower.borrowed_memory import BorrowedMemory, DeviceSettings
from motet.remote_memory.buffer.block_cache import BLOCK_BYTES, BlockCache
from motet.remote_memory.core.byte_sizes import size_of
from motet.remote_memory.core.device_geometry import PAGE_BYTES, DeviceGeometry
from motet.remote_memory.device.lender_access import LenderAccess, known_access
from motet.remote_memory.device.lender_addresses import known_lenders, lender_at
from motet.remote_memory.device.memory_folder import MemoryFolder, default_memory_folder
from motet.remote_memory.device.slab_size import ask_lenders
from motet.transport import read_secret

_NAME = "buffer"


class RemoteBuffer:
    """An array in the memory of lenders, with a part of it in local memory; a context manager.

        with motet.RemoteBuffer((10_000_000, 64), "float32", memory="256M") as rows:
            rows[0:1000] = first_rows
            for block in rows.blocks(100_000):
                ...

    Indexing is along the first axis: a number, a slice, or an array of numbers. Reading copies.
    The content is zero at first, and lost at the end. Without lenders the backup file alone has it.
    Thread-safe.
    """

    def __init__(
        self,
        shape: int | tuple[int, ...],
        dtype: DTypeLike = "float64",
        *,
        memory: int | str = "64M",
        lenders: Sequence[str] | None = None,
        secret_file: Path | str | None = None,
        backup_dir: Path | str | None = None,
        slab: int | str | None = None,
        replicas: int = 1,
        prefetch: bool = False,
    ) -> None:
        """`memory`: local, in bytes or as "256M". `lenders`: addresses ("host:port"); default: in a
        job of a live cluster its lenders, else the lender of this user on this machine.
        `secret_file`: of the lenders that are given; default: this user's. `backup_dir`: on a disk
        with room for the whole array; default: the folder for temporary files. `slab`: the lenders'
        size of slabs; default: what they answer, 64M if none does. `replicas`: lenders of each
        slab, 1 or 2. `prefetch`: read ahead also where blocks are used with a stride, or backwards.
        Raises BadArgument, BadInput.
        """
        self.shape = tuple(shape) if isinstance(shape, tuple) else (shape,)
        self.dtype = np.dtype(dtype)
        if self.dtype.hasobject:
            raise BadArgument(f"dtype {self.dtype}: Python objects cannot leave this process")
        if not self.shape or min(self.shape) < 1:
            raise BadArgument(f"shape {self.shape}: give lengths from 1 on")
        if replicas not in (1, 2):
            raise BadArgument(f"replicas={replicas!r:.20}: give 1 or 2")
        self._row_shape = self.shape[1:]
        self._row_bytes = math.prod(self._row_shape) * self.dtype.itemsize
        self._lock = threading.RLock()
        blocks = size_of(memory) // BLOCK_BYTES
        access = _access(lenders, secret_file)
        self._backup = _backup_file(backup_dir)
        try:
            geometry = _geometry(self.nbytes, _slab_bytes(access, slab))
            settings = DeviceSettings(geometry, self._backup, replicas=replicas)
            place = access.lenders, access.secret, access.client or _NAME
            self._memory = BorrowedMemory(settings, *place)
        finally:
            self._backup.unlink(missing_ok=True)  # Open files stay until they are closed.
        try:
            self._cache = BlockCache(self._memory.store, blocks, prefetch=prefetch)
        except BaseException:  # There is not so much memory.
            self._memory.close(keeps=False)
            raise
        self._is_closed = False

    @property
    def nbytes(self) -> int:
        """Of the whole array."""
        return self.shape[0] * self._row_bytes

    @property
    def statistics(self) -> dict[str, int]:
        """Blocks found in local memory (`hits`) or not (`misses`), read before they were needed
        (`read_ahead`); pages that lenders have now (`remote_pages`)."""
        cache = self._cache
        return {
            "hits": cache.hits,
            "misses": cache.misses,
            "read_ahead": cache.read_ahead,
            "remote_pages": self._memory.store.remote_pages(),
        }

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Array:
        index = _first_axis(index)
        with self._lock:
            self._check_open()
            if isinstance(index, slice):
                return self._slice(index)
            if isinstance(index, int | np.integer):
                row: Array = self._rows(self._position(index), 1)[0]
                return row
            positions = self._positions(index)
            rows = [self._rows(position, 1) for position in positions.ravel().tolist()]
            joined = np.concatenate(rows) if rows else np.empty((0, *self._row_shape), self.dtype)
            return joined.reshape(positions.shape + self._row_shape)

    def __setitem__(self, index: Any, value: ArrayLike) -> None:
        index = _first_axis(index)
        with self._lock:
            self._check_open()
            if isinstance(index, slice):
                start, stop, step = index.indices(len(self))
                if step == 1:
                    self._store(start, max(stop - start, 0), value)
                    return
                positions: Array = np.arange(start, stop, step)
            elif isinstance(index, int | np.integer):
                self._store(self._position(index), 1, np.asarray(value)[np.newaxis])
                return
            else:
                positions = self._positions(index).ravel()
            values = np.broadcast_to(np.asarray(value), (len(positions), *self._row_shape))
            for position, row in zip(positions.tolist(), values, strict=True):
                self._store(position, 1, row[np.newaxis])

    def blocks(self, rows: int) -> Iterator[Array]:
        """All rows in order, so many at a time."""
        for start in range(0, len(self), rows):
            yield self[start : start + rows]

    def flush(self) -> None:
        """Write what changed in local memory to the lenders and the backup."""
        with self._lock:
            self._check_open()
            self._cache.flush()

    def close(self) -> None:
        """Return all memory; the content is lost."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            self._cache.drop()
            self._memory.close(keeps=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RemoteBuffer(shape={self.shape}, dtype={self.dtype})"

    def _slice(self, index: slice) -> Array:
        start, stop, step = index.indices(len(self))
        if step == 1:
            return self._rows(start, max(stop - start, 0))
        return self[np.arange(start, stop, step)]

    def _rows(self, start: int, count: int) -> Array:
        rows = np.empty((count, *self._row_shape), self.dtype)
        if rows.nbytes:
            self._cache.read(start * self._row_bytes, rows.reshape(-1).view(np.uint8).data)
        return rows

    def _store(self, start: int, count: int, value: ArrayLike) -> None:
        given = np.asarray(value, self.dtype)
        rows = np.ascontiguousarray(np.broadcast_to(given, (count, *self._row_shape)))
        if rows.nbytes:
            self._cache.write(start * self._row_bytes, rows.reshape(-1).view(np.uint8).data)

    def _position(self, index: int | np.integer[Any]) -> int:
        position = int(index)
        if not -len(self) <= position < len(self):
            raise IndexError(f"row {position} of {len(self)}")
        return position % len(self)

    def _positions(self, index: Any) -> Array:
        positions = np.asarray(index)
        if positions.dtype == bool and positions.shape == (len(self),):
            return np.flatnonzero(positions)
        if positions.dtype.kind not in "iu":
            raise IndexError(f"{index!r:.60}: give a number, a slice, or an array of numbers")
        if positions.size and not -len(self) <= positions.min() <= positions.max() < len(self):
            raise IndexError(f"rows {positions.min()} to {positions.max()} of {len(self)}")
        return positions % len(self)

    def _check_open(self) -> None:
        if self._is_closed:
            raise ValueError("the buffer is closed")


def _access(lenders: Sequence[str] | None, secret_file: Path | str | None) -> LenderAccess:
    """Raises BadInput."""
    folder = MemoryFolder(default_memory_folder())
    if lenders is None and secret_file is None:
        return known_access(folder, os.environ)
    found = known_lenders(folder) if lenders is None else [*map(lender_at, lenders)]
    secret = folder.secret() if secret_file is None else read_secret(Path(secret_file))
    return LenderAccess(found, secret)


def _first_axis(index: Any) -> Any:
    """Without the tuple that Python makes of `[i,]`. Raises IndexError: there are more axes."""
    if not isinstance(index, tuple):
        return index
    if len(index) != 1:
        raise IndexError(f"{index!r:.60}: only the first axis; read rows, then index them")
    return index[0]


def _slab_bytes(access: LenderAccess, slab: int | str | None) -> int:
    """Raises BadInput: what is given is no size, or not that of the lenders."""
    given = size_of(slab) if slab else None
    if access.slab_bytes:  # The server of the live cluster gives one size to all its lenders.
        return given or access.slab_bytes
    return ask_lenders(access.lenders, access.secret, given).slab_bytes


def _geometry(nbytes: int, slab_bytes: int) -> DeviceGeometry:
    return DeviceGeometry(-(-nbytes // PAGE_BYTES) * PAGE_BYTES, slab_bytes)


def _backup_file(folder: Path | str | None) -> Path:
    """Raises BadArgument."""
    try:
        file, name = tempfile.mkstemp(prefix="motet-buffer-", dir=folder)
    except OSError as error:
        raise BadArgument(f"backup_dir={folder}: {error.strerror}") from error
    os.close(file)
    return Path(name)
