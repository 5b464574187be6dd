"""The file of spilled data: what was written is read, and a failing disk is one clear error."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from motet.domain.errors import JobFailed
from motet.runtime.spilling.section_image import PAGE_BYTES
from motet.runtime.spilling.section_transfer import new_buffer
from motet.runtime.spilling.spill_file import SpillFile

MEGABYTE = 1 << 20


def filled(nbytes: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    view = np.frombuffer(new_buffer(nbytes), np.uint8)
    view[:] = np.random.default_rng(seed).integers(0, 256, nbytes, np.uint8)
    return view


def read(file: SpillFile, place: int, nbytes: int) -> bytes:
    buffer = new_buffer(nbytes)
    file.read(place, buffer)
    return bytes(buffer)


@pytest.fixture(params=["/var/tmp", "/dev/shm"])
def folder(request: pytest.FixtureRequest) -> Path:
    """On a disk, and where direct I/O may be refused."""
    return Path(request.param)


def test_data_come_back_from_their_places(folder: Path) -> None:
    file = SpillFile(folder)
    sizes = [PAGE_BYTES, 3 * MEGABYTE, 2 * PAGE_BYTES]
    data = [filled(size, seed) for seed, size in enumerate(sizes)]
    places = [file.reserve(size) for size in sizes]
    for place, each in reversed(list(zip(places, data, strict=True))):
        file.write(place, memoryview(each))
    for place, each in zip(places, data, strict=True):
        assert read(file, place, len(each)) == each.tobytes()
    part = filled(PAGE_BYTES, 9)
    file.write(places[1] + MEGABYTE, memoryview(part))
    changed = read(file, places[1], sizes[1])
    assert changed[MEGABYTE : MEGABYTE + PAGE_BYTES] == part.tobytes()
    assert changed[:MEGABYTE] == data[1].tobytes()[:MEGABYTE]
    file.close()


def test_a_file_has_no_name_that_a_killed_process_could_leave(tmp_path: Path) -> None:
    file = SpillFile(tmp_path)
    file.reserve(PAGE_BYTES)
    assert list(tmp_path.iterdir()) == []
    file.close()


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


@contextmanager
def largest_file(nbytes: int) -> Iterator[None]:
    """The system refuses to make files larger: as a full disk does, but for the number."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_without_room_is_an_error_before_anything_is_written(tmp_path: Path) -> None:
    file = SpillFile(tmp_path)
    with largest_file(MEGABYTE), pytest.raises(JobFailed, match=r"spilling data to .*--spill-dir"):
        file.reserve(2 * MEGABYTE)


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(JobFailed, match="No such file or directory; create it"):
        SpillFile(tmp_path / "missing")


def test_a_file_that_becomes_shorter_is_an_error(tmp_path: Path) -> None:
    file = SpillFile(tmp_path)
    place = file.reserve(2 * PAGE_BYTES)
    os.ftruncate(file.fileno(), PAGE_BYTES)
    with pytest.raises(JobFailed, match="has become shorter"):
        file.read(place, new_buffer(2 * PAGE_BYTES))
