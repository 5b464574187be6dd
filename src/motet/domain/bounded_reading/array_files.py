"""NumPy's files, read after their headers were checked: no array is larger than its file says."""

from __future__ import annotations

import math
import os
import zipfile
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from motet.domain.bounded_reading.decompression import DecompressionLimit

_ZIP, _NPY = b"PK\x03\x04", b"\x93NUMPY"


class DamagedArrays(ValueError):
    """A file that is not a complete NumPy file."""


def load_arrays(
    stream: BinaryIO, limit: DecompressionLimit
) -> NDArray[Any] | dict[str, NDArray[Any]]:
    """Load one array (`.npy`), or all arrays of an archive by name (`.npz`).

    Raises TooLarge, DamagedArrays, and NumPy's errors of many types for other damage.
    """
    start = stream.read(len(_NPY))
    stream.seek(0)
    if start.startswith(_ZIP):
        _check_archive(stream, limit)
    elif start == _NPY:
        file_bytes = stream.seek(0, os.SEEK_END)
        stream.seek(0)
        _check_header(stream, file_bytes)
    stream.seek(0)
    loaded = np.load(stream, allow_pickle=False)
    if isinstance(loaded, np.ndarray):
        return loaded
    members = {name: loaded[name] for name in loaded.files}
    return {name: member for name, member in members.items() if isinstance(member, np.ndarray)}


def _check_archive(stream: BinaryIO, limit: DecompressionLimit) -> None:
    """Check the sizes that the directory announces; readers stop at these sizes."""
    archive_bytes = stream.seek(0, os.SEEK_END)
    with zipfile.ZipFile(stream) as archive:
        members = archive.infolist()
        announced_bytes = sum(member.file_size for member in members)
        if announced_bytes > archive_bytes:
            limit.check(announced_bytes)
        for member in members:
            with archive.open(member) as content:
                if content.read(len(_NPY)) == _NPY:
                    content.seek(0)
                    _check_header(content, member.file_size)


def _check_header(stream: IO[bytes], file_bytes: int) -> None:
    """Raise DamagedArrays if a header announces more bytes than follow it."""
    is_first_version = npy.read_magic(stream) == (1, 0)
    read = npy.read_array_header_1_0 if is_first_version else npy.read_array_header_2_0
    shape, _, dtype = read(stream)
    announced_bytes = math.prod(shape) * dtype.itemsize
    # np.load refuses Python objects, whose size is not in the header.
    if announced_bytes > file_bytes and not dtype.hasobject:
        raise DamagedArrays(f"{announced_bytes:,} bytes are announced, {file_bytes:,} are there")
