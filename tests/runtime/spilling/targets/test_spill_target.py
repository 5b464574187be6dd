"""What every target promises: a file, and remote memory with and without lenders."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest

from motet.domain.errors import JobFailed
from motet.runtime.core.options import SpillLenders
from motet.runtime.spilling.section_image import PAGE_BYTES
from motet.runtime.spilling.section_transfer import new_buffer
from motet.runtime.spilling.targets.remote_spill import RemoteSpill
from motet.runtime.spilling.targets.spill_file import SpillFile
from motet.runtime.spilling.targets.spill_target import SpillTarget
from remote_memory_parts import SECRET, SLAB_BYTES, lending

MEGABYTE = 1 << 20
DISK, MEMORY = Path("/var/tmp"), Path("/dev/shm")
"""A disk, and a file system where direct I/O may be refused."""
MakeTarget: TypeAlias = "Callable[[Path], SpillTarget]"
NO_LENDER, FEW_SLABS, ENOUGH = -1, 3, 1000


@pytest.fixture(params=["file", NO_LENDER, 0, FEW_SLABS, ENOUGH])
def make_target(request: pytest.FixtureRequest) -> Iterator[MakeTarget]:
    """A file; or with a lender, which has so many slabs."""
    if request.param == "file":
        yield SpillFile
        return
    if request.param == NO_LENDER:
        alone = SpillLenders((), SECRET, SLAB_BYTES)
        yield lambda folder: RemoteSpill(folder, alone, 0.0)
        return
    with lending(request.param) as lender:
        lenders = SpillLenders((lender.endpoint,), SECRET, SLAB_BYTES)
        yield lambda folder: RemoteSpill(folder, lenders, 10.0)


def filled(nbytes: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    view = np.frombuffer(new_buffer(nbytes), np.uint8)
    view[:] = np.random.default_rng(seed).integers(0, 256, nbytes, np.uint8)
    return view


def read(target: SpillTarget, place: int, nbytes: int) -> bytes:
    buffer = new_buffer(nbytes)
    target.read(place, buffer)
    return bytes(buffer)


@pytest.mark.parametrize("folder", [DISK, MEMORY])
def test_data_come_back_from_their_places(make_target: MakeTarget, folder: Path) -> None:
    target = make_target(folder)
    sizes = [PAGE_BYTES, 3 * MEGABYTE, 2 * PAGE_BYTES]
    data = [filled(size, seed) for seed, size in enumerate(sizes)]
    places = [target.reserve(size) for size in sizes]
    for place, each in reversed(list(zip(places, data, strict=True))):
        target.write(place, memoryview(each))
    for place, each in zip(places, data, strict=True):
        assert read(target, place, len(each)) == each.tobytes()
    part = filled(PAGE_BYTES, 9)
    target.write(places[1] + MEGABYTE, memoryview(part))
    for _ in range(2):  # The second time it may come from elsewhere.
        changed = read(target, places[1], sizes[1])
        assert changed[MEGABYTE : MEGABYTE + PAGE_BYTES] == part.tobytes()
        assert changed[:MEGABYTE] == data[1].tobytes()[:MEGABYTE]
    target.close()


def test_a_killed_process_leaves_no_file(make_target: MakeTarget, tmp_path: Path) -> None:
    target = make_target(tmp_path)
    target.reserve(PAGE_BYTES)
    assert list(tmp_path.iterdir()) == []
    target.close()


def test_nothing_keeps_a_buffer_that_was_read_in_memory(make_target: MakeTarget) -> None:
    target, buffer = make_target(DISK), new_buffer(MEGABYTE)
    place = target.reserve(MEGABYTE)
    target.write(place, buffer)
    target.read(place, buffer)
    buffer.resize(MEGABYTE)  # BufferError: something has a view of it.
    target.close()


@contextmanager
def largest_file(nbytes: int) -> Iterator[None]:
    """The system refuses to make files larger: as a full disk does, but for the number."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_without_room_is_an_error_before_anything_is_written(
    make_target: MakeTarget, tmp_path: Path
) -> None:
    target = make_target(tmp_path)
    with largest_file(MEGABYTE), pytest.raises(JobFailed, match=r"spilling data to .*--spill-dir"):
        target.reserve(2 * MEGABYTE)
    target.close()


def test_a_missing_folder_is_an_error(make_target: MakeTarget, tmp_path: Path) -> None:
    with pytest.raises(JobFailed, match="No such file or directory; create it"):
        make_target(tmp_path / "missing")
