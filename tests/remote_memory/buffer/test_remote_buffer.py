"""An array larger than its memory against a plain one, with a lender and with the disk alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import motet
from motet.domain.errors import BadInput
from motet.remote_memory.buffer.remote_buffer import RemoteBuffer
from motet.remote_memory.core.head_room import PoolLimits
from motet.remote_memory.lender.lender import Lender, LenderSettings
from motet.transport import write_secret
from remote_memory_parts import MACHINE_BYTES, SECRET, lending
from waiting import wait_until

ROWS, COLUMNS = 40_000, 64
"""20 MB, in 6 MB of local memory."""


@pytest.fixture(scope="module")
def lender() -> Iterator[Lender]:
    limits = PoolLimits(MACHINE_BYTES, 0, 4 << 20, 8)
    with Lender(LenderSettings(limits), SECRET, lambda: MACHINE_BYTES // 2) as found:
        yield found


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("secret") / "secret"
    write_secret(path, SECRET)
    return path


@pytest.fixture(scope="module")
def buffer(
    lender: Lender, secret: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RemoteBuffer]:
    with motet.RemoteBuffer(
        (ROWS, COLUMNS),
        "float64",
        memory=1,
        lenders=[str(lender.endpoint)],
        secret_file=secret,
        backup_dir=tmp_path_factory.mktemp("backup"),
        slab="4M",
    ) as found:
        yield found


@pytest.fixture(scope="module")
def plain(buffer: RemoteBuffer) -> np.ndarray[Any, Any]:
    """The same content as the buffer's."""
    content = np.random.default_rng(0).normal(size=(ROWS, COLUMNS))
    for start in range(0, ROWS, 7_000):
        buffer[start : start + 7_000] = content[start : start + 7_000]
    return content


INDEXES = st.one_of(
    st.integers(-ROWS, ROWS - 1),
    st.slices(ROWS).filter(lambda each: abs(each.step or 1) < 500),
    st.lists(st.integers(-ROWS, ROWS - 1), max_size=20).map(lambda each: np.array(each, int)),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(INDEXES, st.booleans())
def test_every_index_reads_and_writes_what_numpy_does(
    buffer: RemoteBuffer, plain: np.ndarray[Any, Any], index: Any, writes: bool
) -> None:
    if isinstance(index, slice) and abs(index.step or 1) > 1:
        index = slice(index.start, index.stop, (index.step or 1) * 400)
    if isinstance(index, slice) and (index.step or 1) == -1:
        index = slice(index.start, index.stop, -400)
    if writes:
        plain[index] = buffer[index] = plain[index] + 1
    np.testing.assert_array_equal(buffer[index], plain[index])


def test_a_pass_over_all_rows_gets_them_in_order_and_reads_ahead(
    buffer: RemoteBuffer, plain: np.ndarray[Any, Any]
) -> None:
    before = buffer.statistics
    total = np.zeros(COLUMNS)
    for block in buffer.blocks(1_000):
        total += block.sum(axis=0)
    np.testing.assert_allclose(total, plain.sum(axis=0))
    after = buffer.statistics
    assert after["read_ahead"] - before["read_ahead"] > 10
    assert after["hits"] - before["hits"] > 3 * (after["misses"] - before["misses"])


def test_a_scalar_fills_rows(buffer: RemoteBuffer, plain: np.ndarray[Any, Any]) -> None:
    buffer[100:200] = 3
    plain[100:200] = 3
    np.testing.assert_array_equal(buffer[90:210], plain[90:210])


def test_busy_slabs_go_to_the_lender(
    buffer: RemoteBuffer, plain: np.ndarray[Any, Any], lender: Lender
) -> None:
    del plain

    def is_remote() -> bool:
        buffer[:] = 1
        buffer.flush()
        return buffer.statistics["remote_pages"] > 1000

    wait_until(is_remote)
    assert lender.view().mapped_slabs > 0
    assert buffer[ROWS - 1,].sum() == COLUMNS


def test_without_lenders_the_disk_has_the_array(tmp_path: Path, secret: Path) -> None:
    with RemoteBuffer(
        1_000_000, "int32", memory=1, lenders=[], secret_file=secret, backup_dir=tmp_path
    ) as numbers:
        numbers[:] = np.arange(1_000_000)
        assert (numbers[999_999], numbers[-2]) == (999_999, 999_998)
        assert len(numbers) == 1_000_000
        assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="closed"):
        numbers[0]


@pytest.mark.parametrize("index", [ROWS, -ROWS - 1, [0, ROWS], 1.5, "a"])
def test_an_index_outside_of_the_array_is_an_error(buffer: RemoteBuffer, index: Any) -> None:
    with pytest.raises(IndexError):
        buffer[index]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((0,), "float32"), "lengths from 1 on"),
        (((3,), "object"), "Python objects"),
        (((3,), "float32", {"memory": "many"}), "not a size"),
        (((3,), "float32", {"replicas": 3}), "replicas=3: give 1 or 2"),
        (((3,), "float32", {"lenders": ["nowhere"]}), "HOST:PORT"),
        (((3,), "float32", {"backup_dir": "/no/such"}), "backup_dir=/no/such"),
    ],
)
def test_arguments_that_make_no_sense_are_told(
    secret: Path, tmp_path: Path, arguments: Any, message: str
) -> None:
    shape, dtype, *more = arguments
    given = {"lenders": [], "secret_file": secret, "backup_dir": tmp_path}
    devices = device_threads()
    with pytest.raises(BadInput, match=message):
        RemoteBuffer(shape, dtype, **given | (more[0] if more else {}))
    assert device_threads() == devices
    assert list(tmp_path.iterdir()) == []


def device_threads() -> int:
    return sum(thread.name == "motet-device" for thread in threading.enumerate())


def test_without_a_size_of_slabs_the_lenders_size_is_used(
    lender: Lender, secret: Path, tmp_path: Path
) -> None:
    with motet.RemoteBuffer(
        (1 << 20,),
        "float64",
        memory=1,
        lenders=[str(lender.endpoint)],
        secret_file=secret,
        backup_dir=tmp_path,
    ) as found:

        def is_remote() -> bool:
            found[:] = 1.0
            found.flush()
            return bool(found.statistics["remote_pages"])

        wait_until(is_remote)


@pytest.mark.parametrize("slab", [None, "4M", "1M"])
def test_lenders_whose_slabs_have_another_size_are_refused(
    lender: Lender, secret: Path, tmp_path: Path, slab: str | None
) -> None:
    with lending() as other, pytest.raises(BadInput, match=r"slabs of \d+ bytes there, \d+ here"):
        RemoteBuffer(
            (3,),
            "float32",
            lenders=[str(lender.endpoint), str(other.endpoint)],
            secret_file=secret,
            backup_dir=tmp_path,
            slab=slab,
        )
    assert list(tmp_path.iterdir()) == []


def test_indexes_of_several_axes_are_refused(buffer: RemoteBuffer) -> None:
    for index in [(0, 1), (slice(2), 0), ()]:
        with pytest.raises(IndexError, match="only the first axis"):
            buffer[index]
        with pytest.raises(IndexError, match="only the first axis"):
            buffer[index] = 0
