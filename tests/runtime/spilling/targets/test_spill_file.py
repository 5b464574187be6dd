"""The file of spilled data: it bypasses the page cache, and a file that is cut off is an error."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from motet.domain.errors import JobFailed
from motet.runtime.spilling.section_image import PAGE_BYTES
from motet.runtime.spilling.section_transfer import new_buffer
from motet.runtime.spilling.targets.spill_file import SpillFile

MEGABYTE = 1 << 20


def filled(nbytes: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    view = np.frombuffer(new_buffer(nbytes), np.uint8)
    view[:] = np.random.default_rng(seed).integers(0, 256, nbytes, np.uint8)
    return view


def read(file: SpillFile, place: int, nbytes: int) -> bytes:
    buffer = new_buffer(nbytes)
    file.read(place, buffer)
    return bytes(buffer)


def test_what_was_written_is_not_in_the_page_cache() -> None:
    """`fincore` counts the cached pages of a file."""
    file = SpillFile(Path("/var/tmp"))
    data = filled(8 * MEGABYTE, 0)
    place = file.reserve(len(data))
    file.write(place, memoryview(data))
    read(file, place, len(data))
    descriptor = file.fileno()
    found = subprocess.run(
        ["fincore", "--bytes", "--raw", "--noheadings", "-o", "RES", f"/proc/self/fd/{descriptor}"],
        capture_output=True,
        text=True,
        check=True,
        pass_fds=[descriptor],
    )
    assert int(found.stdout) <= MEGABYTE
    file.close()


def test_a_file_that_becomes_shorter_is_an_error(tmp_path: Path) -> None:
    file = SpillFile(tmp_path)
    place = file.reserve(2 * PAGE_BYTES)
    os.ftruncate(file.fileno(), PAGE_BYTES)
    with pytest.raises(JobFailed, match="has become shorter"):
        file.read(place, new_buffer(2 * PAGE_BYTES))
